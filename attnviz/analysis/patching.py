"""Activation patching: which places carry what makes one text's answer differ from another's.

A corrupted pass is run with one stage, at one position or in one head, taken from the clean pass. Meng et al.
2022 (causal tracing); Wang et al. 2022. The effect is the recovered share of the target's difference.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnviz.analysis.passes import Passes, experiment_of, on_engine
from attnviz.analysis.target import Target
from attnviz.engines.engine import Engine
from attnviz.engines.patches import Patch
from attnviz.engines.program import Check, never_cancelled
from attnviz.errors import FieldError, must_be
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.stages import STAGE_BY_ID


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
    target: Target,
    stage: str = "layer_input",
    *,
    engine: str = "numpy",
    device: str = "auto",
    check: Check = never_cancelled,
) -> Recovered:
    """Patch `stage` of each site at each position, and in each head if it has heads, one by one.

    Both must be of one model, with as many tokens. The first site of a stack has no `layer_input`: there its
    `tokens_embedded` are patched. Raises `FieldError` for other lengths, an unknown stage or target.
    """
    own, other = experiment_of(clean), experiment_of(corrupted)
    if own.n_queries != other.n_queries or len(own.layers) != len(other.layers):
        alike = must_be("{n} tokens through {layers} layers", n=own.n_queries, layers=len(own.layers))
        raise FieldError("corrupted", other.n_queries, alike)

    def job(made: Engine) -> Recovered:
        source, passes = Passes(made, own, check), Passes(made, other, check)
        patches, shapes = [], {}
        for site in source.traces:
            name = "tokens_embedded" if stage == "layer_input" and stage not in site.stages else stage
            if name not in site.stages:
                continue
            shapes[site.name] = site.shape(name)[:-1]
            for head, position in np.ndindex(_heads_and_rows(shapes[site.name])):
                value = site.window(name, head)[position]
                heads = (head,) if STAGE_BY_ID[name].per_head else None
                patches.append(Patch(site.name, name, value, heads, (position,)))
        if not patches:
            raise FieldError("stage", stage, must_be("a stage of the experiment"))
        columns = target.columns(source.traces[-1])
        wanted = target.read(made, source.base[-1], columns)
        base, changes = passes.effects(target, patches, check)
        with np.errstate(all="ignore"):
            shares = iter(
                np.divide(changes, wanted - base) if wanted != base else np.full(len(changes), np.nan)
            )
        values = {
            name: np.array([next(shares) for _ in range(int(np.prod(shape)))]).reshape(shape)
            for name, shape in shapes.items()
        }
        return Recovered(target, wanted, base, values)

    return on_engine(own, job, engine, device, passes=3)


def _heads_and_rows(shape: tuple[int, ...]) -> tuple[int, int]:
    return (1, shape[0]) if len(shape) == 1 else (shape[0], shape[1])
