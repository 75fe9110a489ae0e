"""Activation patching: the stages and positions that carry the difference between the answers to two texts.

A corrupted pass is run with one stage, at one position or in one head, taken from the clean pass. Meng et al.
2022 (causal tracing); Wang et al. 2022. The effect is the recovered share of the target's difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.progress import progress_of
from attnviz.engines.engine import Engine
from attnviz.engines.patches import Patch
from attnviz.engines.program import Check, never_cancelled
from attnviz.errors import FieldError, must_be
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace
from attnviz.study.passes import FIRST_SHARE, Passes, check_alike, experiment_of, on_engine
from attnviz.study.target import Target, likeliest


@dataclass(frozen=True, eq=False)
class Recovered:
    """The target in the clean and in the corrupted pass, and with each patch.

    `values[site]` are (position,), or (head, position) of a stage with heads: 1 where the patch brings the
    clean target back, 0 where it changes nothing; NaN if both texts have the same target.
    """

    target: Target
    clean: float
    corrupted: float
    values: dict[str, NDArray[np.float64]]


def patch(
    clean: Experiment | Document,
    corrupted: Experiment | Document,
    target: Target | None = None,
    stage: str = "layer_input",
    *,
    each_head: bool = True,
    engine: str = "numpy",
    device: str = "auto",
    check: Check = never_cancelled,
) -> Recovered:
    """Patch `stage` of each site at each position, and in each head if it has heads, one by one.

    Without `each_head` all heads of a position are patched together. Without a target it is the logit of the
    clean text's most probable next token, minus that of the corrupted text's if that is another one.
    Both must be of one model, with as many tokens. The first site of a stack has no `layer_input`: there its
    `tokens_embedded` are patched. Raises `FieldError` for other lengths, an unknown stage or target.
    """
    own, other = experiment_of(clean), experiment_of(corrupted)
    check_alike("corrupted", own, other)

    def job(engine: Engine) -> Recovered:
        begun, rest = progress_of(check).part(0.0, FIRST_SHARE), progress_of(check).part(FIRST_SHARE, 1.0)
        source = Passes(engine, own, begun.part(0.0, 0.5))
        passes = Passes(engine, other, begun.part(0.5, 1.0))
        patches, shapes = _patches(source.traces, passes.traces, stage, each_head)
        if not shapes:
            raise FieldError("stage", stage, must_be("a stage of the experiment"))
        aim = target or _answers(source.traces[-1], passes.traces[-1])
        wanted = aim.read(engine, source.base[-1], aim.columns(source.traces[-1]))
        corrupted_target, changes = passes.effects(aim, list(patches.values()), rest)
        values = {name: np.zeros(shape) for name, shape in shapes.items()}
        for (name, *at), change in zip(patches, changes, strict=True):
            values[name][tuple(at)] = change
        with np.errstate(all="ignore"):
            shares = {name: np.divide(changed, wanted - corrupted_target) for name, changed in values.items()}
        return Recovered(aim, wanted, corrupted_target, shares)

    return on_engine(own, job, engine, device, passes=3)


def _answers(clean: SiteTrace, corrupted: SiteTrace) -> Target:
    """The target that the texts themselves propose."""
    token, against = likeliest(clean), likeliest(corrupted)
    return Target(token, None if against == token else against)


def _patches(
    clean: tuple[SiteTrace, ...], corrupted: tuple[SiteTrace, ...], stage: str, each_head: bool
) -> tuple[dict[tuple[Any, ...], Patch], dict[str, tuple[int, ...]]]:
    """The patches by (site, position) or (site, head, position), and the shape of each site's effects.

    Numbers that are the same in both texts, such as all before the first other token, need no pass.
    """
    patches: dict[tuple[Any, ...], Patch] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    for site, other in zip(clean, corrupted, strict=True):
        name = "tokens_embedded" if stage == "layer_input" and stage not in site.stages else stage
        if name not in site.stages:
            continue
        by_head = each_head and STAGE_BY_ID[name].per_head
        shape = site.shape(name)
        shapes[site.name] = shape[:-1] if by_head else shape[-2:-1]
        for at in np.ndindex(shapes[site.name]):
            value = _numbers(site, name, at, by_head)
            if not np.array_equal(value, _numbers(other, name, at, by_head)):
                row = value if by_head or value.ndim == 1 else value[:, None, :]
                patches[site.name, *at] = Patch(site.name, name, row, at[:-1] or None, at[-1:])
    return patches, shapes


def _numbers(site: SiteTrace, stage: str, at: tuple[int, ...], by_head: bool) -> NDArray[Any]:
    """Those of a position: of one head, of all heads, or of a stage without heads."""
    row, per_head = slice(at[-1], at[-1] + 1), STAGE_BY_ID[stage].per_head
    if by_head or not per_head:
        return np.asarray(site.window(stage, at[0] if by_head else 0, row)[0])
    return np.stack([site.window(stage, head, row)[0] for head in range(site.shape(stage)[0])])
