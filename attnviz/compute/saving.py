"""Saving of the stages of a trace, after a check that they fit into memory on their way to the disk."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from attnviz.compute import budget
from attnviz.compute.budget import Estimate, EstimateLine
from attnviz.core.progress import Check, never_cancelled
from attnviz.i18n import _
from attnviz.model.io.carriers.record import Record
from attnviz.model.io.numbers import COPIES, array_bytes, save_npz
from attnviz.model.trace import Trace


def save_arrays(
    trace: Trace,
    stages: tuple[str, ...] | None,
    path: str | os.PathLike[str],
    available: int | None = None,
    *,
    sites: tuple[str, ...] | None = None,
    check: Check = never_cancelled,
    more: Mapping[str, NDArray[Any]] | None = None,
    record: Record | None = None,
) -> Path:
    """`model.numbers.save_npz` within the available memory.

    `available` is the number of available bytes (None: measured), of which half may be used. Raises
    `BudgetError`, and what `save_npz` raises.
    """
    size = array_bytes(trace, stages, sites) + sum(array.nbytes for array in (more or {}).values())
    formula = _("{copies} × {size} of arrays").format(copies=COPIES, size=budget.human_bytes(size))
    line = EstimateLine(_("file"), formula, COPIES * size)
    budget.check(Estimate(line.value, 0, (line,)), available)
    return save_npz(trace, stages, path, sites, check, more, record)
