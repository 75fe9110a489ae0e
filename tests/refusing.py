"""A source whose score-shaped stages are never whole past 64 tokens: read in windows, or not at all."""

from __future__ import annotations

from typing import Any

import pytest
from numpy.typing import NDArray

from attnviz.engines.backward.backward import HeldGradients
from attnviz.engines.run import HeldStages
from attnviz.model.stages import STAGE_BY_ID

SIDE = 64
"""Tokens up to which a whole stage of one head is given."""


def refuse_whole(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Have every run and every gradient refuse such arrays; the returned list names those that were read."""
    refused: list[str] = []
    for source in (HeldStages, HeldGradients):
        plain = source.window

        def window(
            self: Any, stage: str, head: int, rows: slice, columns: slice, plain: Any = plain
        ) -> NDArray[Any]:
            found: NDArray[Any] = plain(self, stage, head, rows, columns)
            if STAGE_BY_ID[stage].score_shaped and 1 not in found.shape and found.size > SIDE * SIDE:
                refused.append(f"{stage} {found.shape}")
                raise AssertionError(f"a whole array: {refused[-1]}")
            return found

        monkeypatch.setattr(source, "window", window)
        monkeypatch.setattr(source, "most_cells", SIDE * SIDE)
    return refused
