"""Results of all numbers of a map: computed once, by the worker, and gone with the numbers."""

from __future__ import annotations

import gc
import threading
import weakref
from functools import partial

import numpy as np
import pytest
from desk import MakeDesk

from attnviz.gui.widgets.heat import content as heat_content
from attnviz.gui.widgets.heat import kept_numbers
from attnviz.gui.widgets.heat.content import cell_indices
from attnviz.gui.widgets.heat.kept_numbers import kept
from attnviz.model.edit import edits


def fixed(*shape: int) -> np.ndarray:
    values = np.random.default_rng(0).normal(size=shape)
    values.setflags(write=False)
    return values


def test_a_result_is_kept_as_long_as_its_numbers() -> None:
    values, asked = fixed(3, 3), list[int]()

    def sums(of: np.ndarray) -> np.ndarray:
        asked.append(1)
        return np.asarray(of.sum(axis=1))

    first = kept(values, "sums", partial(sums, values))
    assert kept(values, "sums", partial(sums, values)) is first and len(asked) == 1
    gone, key = weakref.ref(first), id(values)
    assert key in kept_numbers._KEPT
    del first, values
    gc.collect()
    assert gone() is None and key not in kept_numbers._KEPT


def test_numbers_that_can_be_written_to_have_no_kept_results() -> None:
    values = np.ones((2, 2))
    assert kept(values, "sum", lambda: values.sum()) == 4.0
    values[0, 0] = 5.0
    assert kept(values, "sum", lambda: values.sum()) == 8.0


def test_the_worker_colours_the_map_of_an_edit(make_desk: MakeDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = make_desk(inline=False)
    desk.store.edit(edits.set_n_tokens, 600)  # a thumbnail of few tokens has the array of the map
    desk.settle()
    drawn: list[tuple[object, bool]] = []

    def colour(values: object, *others: object) -> object:
        drawn.append((values, threading.current_thread() is threading.main_thread()))
        return cell_indices(values, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(heat_content, "cell_indices", colour)
    desk.store.edit(edits.set_vector_cell, 0, 0, 2.0)
    desk.settle()
    content = desk.map.content
    assert [is_main for values, is_main in drawn if values is content.values] == [False]
    wanted, ends = cell_indices(
        content.values, content.signed, content.range_id, content.levels, content.blocked
    )
    np.testing.assert_array_equal(desk.map._scene.indices, wanted)
    assert desk.map._scene.ends == ends
