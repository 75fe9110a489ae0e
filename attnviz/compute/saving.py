"""Saving of the stages of a trace, after a check that they fit into memory on their way to the disk."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.compute import budget
from attnviz.compute.budget import Estimate, EstimateLine
from attnviz.core.progress import Check, never_cancelled, progress_of
from attnviz.errors import UnknownName, must_be
from attnviz.i18n import _
from attnviz.model.io.carriers import npz
from attnviz.model.io.carriers.record import Record
from attnviz.model.io.files import replace_file
from attnviz.model.trace import SiteTrace, Trace

COPIES = 3
"""Number of copies of the arrays in `save_npz`: themselves, the growing file, and the file's content."""


def save_npz(
    trace: Trace,
    stages: tuple[str, ...] | None,
    path: str | os.PathLike[str],
    sites: tuple[str, ...] | None = None,
    check: Check = never_cancelled,
    more: Mapping[str, NDArray[Any]] | None = None,
    record: Record | None = None,
) -> Path:
    """Write whole stages in public order, as arrays named `site.stage`, and return the path.

    `more` are further arrays by name, such as the gradients by parameters. The
    file carries `record`, from which the program opens the document.

    `stages` None: all stages of a site; `sites` None: all sites. A site without any of the stages is left
    out. Raises `KeyError` for a stage that no site has or a site that does not exist, `OSError` if writing
    fails; the old file is then unchanged.
    """
    file, progress = Path(path), progress_of(check)
    arrays: dict[str, NDArray[Any]] = {}
    chosen = chosen_stages(trace, stages, sites)
    for index, (site, stage) in enumerate(chosen):
        progress.at(index / (len(chosen) + 1))
        arrays[f"{site.name}.{stage}"] = site[stage]
    if record is not None:
        arrays[npz.NAME] = npz.array(record.packed())
    stream = io.BytesIO()
    np.savez(stream, **arrays, **(more or {}))  # type: ignore[arg-type]
    progress.at(1.0)
    replace_file(file, stream.getvalue())
    return file


def array_bytes(trace: Trace, stages: tuple[str, ...] | None, sites: tuple[str, ...] | None = None) -> int:
    """Bytes of the arrays of `save_npz`."""
    total = 0
    for site, stage in chosen_stages(trace, stages, sites):
        itemsize = site.window(stage, 0, slice(0, 1), slice(0, 1)).itemsize
        total += math.prod(site.shape(stage)) * itemsize
    return total


def chosen_stages(
    trace: Trace, stages: tuple[str, ...] | None, sites: tuple[str, ...] | None
) -> tuple[tuple[SiteTrace, str], ...]:
    """(site, stage) for each of `stages` that a site has, of `sites`; None means all. Raises `KeyError`."""
    chosen = tuple(trace.site(name) for name in sites or trace.sites)
    known = {stage for site in chosen for stage in site.stages}
    for stage in stages or ():
        if stage not in known:
            raise UnknownName(
                "stage", stage, must_be("a stage of {sites}", sites=", ".join(site.name for site in chosen))
            )
    return tuple((site, stage) for site in chosen for stage in stages or site.stages if stage in site.stages)


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
    """`save_npz` within the available memory.

    `available` is the number of available bytes (None: measured), of which half may be used. Raises
    `BudgetError`, and what `save_npz` raises.
    """
    size = array_bytes(trace, stages, sites) + sum(array.nbytes for array in (more or {}).values())
    formula = _("{copies} × {size} of arrays").format(copies=COPIES, size=budget.human_bytes(size))
    line = EstimateLine(_("file"), formula, COPIES * size)
    budget.check(Estimate(line.value, 0, (line,)), available)
    return save_npz(trace, stages, path, sites, check, more, record)
