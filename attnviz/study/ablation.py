"""Ablation: the change of a target when a part is replaced by zeros, its mean, or another text's values.

Zero and mean ablation: Michel et al. 2019; Wang et al. 2022 (IOI, section 2). The part is replaced, and all
that follows is computed again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.progress import progress_of
from attnviz.engines.engine import Engine
from attnviz.engines.patches import Patch
from attnviz.engines.program import Check, never_cancelled
from attnviz.errors import FieldError, among, must_be
from attnviz.i18n import N_
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace
from attnviz.study.passes import FIRST_SHARE, Passes, check_alike, experiment_of, on_engine
from attnviz.study.target import Target

Floats = NDArray[Any]


@dataclass(frozen=True)
class Part:
    """A part of each site that can be ablated: the stage that it adds. `title` is a message."""

    id: str
    title: str
    stage: str


PARTS: tuple[Part, ...] = (
    Part("heads", N_("each head"), "mixed"),
    Part("attention", N_("each attention"), "attention_output"),
    Part("ffn", N_("each feed-forward layer"), "ffn_output"),
)
PART_BY_ID = {row.id: row for row in PARTS}


@dataclass(frozen=True)
class Replacement:
    """Numbers in the place of the ablated ones. `of(numbers, others)` are arrays (position, feature).

    `others` are the numbers of the same stage for another text, None without one. `title` is a message.
    """

    id: str
    title: str
    of: Callable[[Floats, Floats | None], Floats | float]
    needs_other: bool = False


def _of_other(numbers: Floats, others: Floats | None) -> Floats:
    assert others is not None
    return others


REPLACEMENTS: tuple[Replacement, ...] = (
    Replacement("zero", N_("zero"), lambda numbers, others: 0.0),
    Replacement("mean", N_("mean over the positions"), lambda numbers, others: numbers.mean(axis=0)),
    Replacement("other", N_("values of another text"), _of_other, needs_other=True),
)
REPLACEMENT_BY_ID = {row.id: row for row in REPLACEMENTS}


@dataclass(frozen=True, eq=False)
class Effects:
    """`base` is the target without ablation; `values[site]` its changes, (head,) or (1,)."""

    target: Target
    base: float
    values: dict[str, NDArray[np.float64]]


def ablate(
    given: Experiment | Document,
    target: Target,
    part: str = "heads",
    by: str = "zero",
    other: Experiment | Document | None = None,
    *,
    engine: str = "numpy",
    device: str = "auto",
    check: Check = never_cancelled,
) -> Effects:
    """The change of the target by the ablation of every head, attention or feed-forward layer, one by one.

    `part` is an id of `PARTS`, `by` of `REPLACEMENTS`; "other" takes the numbers of `other`, the same model
    with a text of as many tokens. `check` is called between passes, and may raise.
    Raises `FieldError` for unknown ids, and for a target that the model does not have.
    """
    if part not in PART_BY_ID:
        raise FieldError("part", part, among(PART_BY_ID))
    if by not in REPLACEMENT_BY_ID:
        raise FieldError("by", by, among(REPLACEMENT_BY_ID))
    row, stage = REPLACEMENT_BY_ID[by], PART_BY_ID[part].stage
    if row.needs_other != (other is not None):
        wanted = must_be("a document") if row.needs_other else must_be("null unless by is 'other'")
        raise FieldError("other", None if other is None else type(other).__name__, wanted)
    if other is not None:
        check_alike("other", experiment_of(given), experiment_of(other))

    def job(engine: Engine) -> Effects:
        begun, rest = progress_of(check).part(0.0, FIRST_SHARE), progress_of(check).part(FIRST_SHARE, 1.0)
        passes = Passes(engine, experiment_of(given), begun.part(0.0, 0.5))
        another = None if other is None else Passes(engine, experiment_of(other), begun.part(0.5, 1.0)).traces
        patches = _patches(passes.traces, another, stage, row)
        base, changes = passes.effects(target, patches, rest)
        effects: dict[str, list[float]] = {}
        for patch, change in zip(patches, changes, strict=True):
            effects.setdefault(patch.site, []).append(change)
        return Effects(target, base, {name: np.array(values) for name, values in effects.items()})

    return on_engine(given, job, engine, device, passes=2 if other is None else 3)


def _patches(
    sites: tuple[SiteTrace, ...], others: tuple[SiteTrace, ...] | None, stage: str, row: Replacement
) -> list[Patch]:
    """One patch for each part, in data-flow order, heads by number."""
    patches = []
    for index, site in enumerate(sites):
        if stage not in site.stages:
            continue
        per_head = STAGE_BY_ID[stage].per_head
        for head in range(site.n_matrices(stage)):
            theirs = None if others is None else others[index].window(stage, head)
            value = row.of(site.window(stage, head), theirs)
            patches.append(Patch(site.name, stage, value, (head,) if per_head else None))
    return patches
