"""A map of millions of cells: coloured part by part, with labels that are made when they are wanted."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from PySide6.QtGui import QFont
from pytestqt.qtbot import QtBot

from attnviz.core.levels import RANGES, levels, normalise
from attnviz.gui.look.colors import BLOCKED, to_indices
from attnviz.gui.widgets.heat import labels as module
from attnviz.gui.widgets.heat.content import BLOCK_CELLS, cell_indices

N = 2048


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    return np.random.default_rng(5).standard_normal((700, 300)).astype(np.float32)


@pytest.mark.parametrize("range_id", [row.id for row in RANGES])
@pytest.mark.parametrize("signed", [True, False])
def test_parts_have_the_colours_of_the_whole(range_id: str, signed: bool, values: np.ndarray) -> None:
    assert values.size > 3 * BLOCK_CELLS
    numbers = values if signed else np.abs(values)
    hidden = np.triu(np.ones(values.shape, dtype=np.bool_), 1)
    found, used = cell_indices(numbers, signed, range_id, None, hidden)
    assert used == levels(numbers, range_id, signed, hidden)
    whole = to_indices(normalise(numbers, range_id, used, signed, hidden))
    np.testing.assert_array_equal(found[~hidden], whole[~hidden])
    assert (found[hidden] == BLOCKED).all()


def test_colouring_takes_little_more_than_its_result() -> None:
    weights = np.random.default_rng(1).random((N, N), dtype=np.float32)
    tracemalloc.start()
    try:
        cell_indices(weights, False, "head")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * N * N, "bytes: one for a cell, and the part under way"


def test_of_thousands_of_labels_a_few_are_made(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    plain = module.visible
    monkeypatch.setattr(module, "visible", lambda text: made.append(text) or plain(text))
    tokens = tuple(f"token {index}" for index in range(N))
    labels = module.Labels(tokens, QFont(), QFont())
    assert len(made) < 20 and labels.width > 0
    assert labels.shown(7) == "token 7" and labels.shown(7) == "token 7"
    assert made.count("token 7") == 1
