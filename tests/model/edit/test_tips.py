"""A tip is offered where it ends at the point it was put to, and nowhere else: asked of every arrow."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
from first_layer import stacked

import attnviz
from attnviz.model.edit.tips import n_tips, why_fixed, with_tip, x_stage
from attnviz.model.operands.matrices import vectors_array
from attnviz.model.sites.sites import site_names
from attnviz.model.spec.attention import Attention, Layer
from attnviz.model.spec.block import Block, Norm, NormPlacement
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.latent import Latent
from attnviz.model.spec.parts import (
    Heads,
    Memory,
    NoPosition,
    Projections,
    QKNorm,
    Rope,
    Seeded,
    SeededVectors,
    Sinusoidal,
)
from attnviz.model.spec.positions import Learned
from attnviz.model.spec.rows import DrawnRow
from attnviz.model.stages import as_read

HEADS = Heads(2, 2, 2)
PLAIN = Projections()
BIASED = Projections(query_bias=DrawnRow(1, 0.5, 0.3), key_bias=DrawnRow(2, 0.5, 0.3))
SEEDED = Projections(Seeded(1), Seeded(2), Seeded(3), Seeded(4))
MEMORY = Memory(("m", "n", "o"), SeededVectors(3, 4, 7))
LAYER = Layer(heads=HEADS, position=NoPosition())
CROSS = Attention(heads=HEADS, position=NoPosition())

CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "biases": {"projections": BIASED},
    "seeded": {"projections": SEEDED},
    "tied": {"projections": Projections(key=attnviz.parts.Tied("query"))},
    "sines": {"position": Sinusoidal()},
    "learned": {"position": Learned(length=8)},
    "rotated": {"position": Rope()},
    "shared keys": {"heads": Heads(2, 1, 2)},
    "QK-norm": {"qk_norm": QKNorm("rms")},
    "embedding norm": {"embedding_norm": Norm()},
    **{placement: {"block": Block(placement)} for placement in get_args(NormPlacement)},
    "latent": {"latent": Latent(3), "heads": Heads(1, 1, 4)},
    "latent queries": {"latent": Latent(3, d_q=4), "heads": Heads(1, 1, 4)},
    "layers": {"behind": (LAYER, LAYER)},
    "memory": {"memory": MEMORY},
    "memory, layers": {"memory": MEMORY, "behind": (LAYER,)},
    "encoder": {"memory": MEMORY, "encoder": (LAYER, LAYER)},
    "decoder": {"memory": MEMORY, "cross": CROSS, "behind": (Layer(heads=HEADS, cross=CROSS),)},
    "both": {"memory": MEMORY, "cross": CROSS, "encoder": (LAYER,)},
}


def experiment(**changes: Any) -> Experiment:
    fields = {"heads": HEADS, "position": NoPosition(), "projections": PLAIN, "dtype": "float64"}
    return stacked(("a", "b", "c"), SeededVectors(3, 4, 5), **{**fields, **changes})


def landed(one: Experiment, site: str, name: str, row: int, head: int, dims: tuple[int, int]) -> np.ndarray:
    trace = attnviz.run(one).site(site)
    stage = x_stage(trace.stages) if name == "x" else as_read(name, trace.stages)
    return trace.window(stage, head)[row, list(dims)]


@pytest.mark.parametrize("case", CASES)
def test_a_tip_that_is_offered_ends_where_it_is_put_and_no_other_would(case: str) -> None:
    before = experiment(**CASES[case])
    trace = attnviz.run(before)
    for site in site_names(before):
        stages = trace.site(site).stages
        for name in ("x", "q", "k"):
            assert n_tips(before, site, name) == 3
            head = 0 if name == "x" or trace.site(site).shape(name)[0] == 1 else 1
            point, dims = (1.25, -0.75), (1, 0)
            reason = why_fixed(before, site, name, stages)
            try:
                after = with_tip(before, site, name, 1, head, dims, point)
                is_exact = np.allclose(landed(after, site, name, 1, head, dims), point, rtol=0, atol=1e-12)
            except (IndexError, ValueError):
                is_exact = False
            assert is_exact == (reason == ""), (site, name, reason)
            if is_exact:
                assert changed_numbers(before, after) == 2


def changed_numbers(before: Experiment, after: Experiment) -> int:
    """Number of values of the tokens and of the memory that differ."""
    count = int((vectors_array(before.vectors) != vectors_array(after.vectors)).sum())
    if before.memory is not None and after.memory is not None:
        pair = vectors_array(before.memory.vectors), vectors_array(after.memory.vectors)
        count += int((pair[0] != pair[1]).sum())
    return count
