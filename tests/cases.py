"""Experiments that several tests run: every mask, position and head layout, small and seeded."""

from __future__ import annotations

from typing import Any

import pytest
from first_layer import stacked

from attnviz.engines.table import ENGINES
from attnviz.model.spec import parts as p
from attnviz.model.spec import positions as pp
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.scalings import DynamicNtk, LinearScaling, Llama3Scaling, LongRope, Yarn
from attnviz.model.spec.source import DrawnTable

TOKENS = ("the", "dog", "bites", "the", "man", "again", "today")

MASKS: dict[str, tuple[Any, ...]] = {
    "none": (),
    "causal": (p.Causal(),),
    "padding": (p.Padding((0, 3)),),
    "window": (p.Window(2, 1),),
    "prefix": (p.Prefix(3),),
    "dilated": (p.Dilated(2, 1, 2),),
    "strided": (p.Strided(3),),
    "blocks": (p.Blocks(2, 1),),
    "global": (p.Global((0, 4)),),
    "documents": (p.Documents((0, 3)),),
    "any_of": (p.Causal(), p.AnyOf((p.Window(1), p.Global((0,))))),
    "any_of_strided": (p.AnyOf((p.Window(1), p.Strided(3))),),
    "painted": (p.Painted(((0, 1), (2, 2), (5, 0), (6, 6))),),
    "all": (p.Causal(), p.Padding((1,)), p.Window(3), p.Painted(((4, 4),))),
    "nothing_left": (p.Causal(), p.Padding((0,)), p.Painted(((2, 1), (2, 2)))),
}

POSITIONS: dict[str, Any] = {
    "none": p.NoPosition(),
    "sinusoidal": p.Sinusoidal(base=50.0, start=2),
    "rope": p.Rope(base=100.0),
    "rope_half_split": p.Rope(base=100.0, pairing="half_split", start=5, on_values=True),
    "rope_partial": p.Rope(base=100.0, n_rotated=2, multipliers=(1.5,)),
    "rope_linear": p.Rope(base=100.0, scaling=LinearScaling(3.0)),
    "rope_dynamic": p.Rope(base=100.0, start=1, scaling=DynamicNtk(3.0, original_length=5)),
    "rope_yarn": p.Rope(base=100.0, scaling=Yarn(4.0, 12, 2.0, 0.1), on_values=True),
    "rope_llama3": p.Rope(base=100.0, scaling=Llama3Scaling(8.0, 0.2, 3.0, 12)),
    "rope_longrope": p.Rope(base=100.0, scaling=LongRope(3.0, (1.0, 1.5), (2.0, 5.0), 5)),
    "learned": pp.Learned(length=20, start=3, table=DrawnTable(5, 0.7)),
    "t5": pp.T5Buckets(n_buckets=8, max_distance=6, table=DrawnTable(3)),
    "t5_one_way": pp.T5Buckets(n_buckets=4, max_distance=5, bidirectional=False, table=DrawnTable(4)),
    "transformer_xl": pp.TransformerXl(base=50.0),
    "deberta": pp.Deberta(span=4, max_distance=6),
    "alibi": p.Alibi(),
    "alibi_slopes": p.Alibi((0.5, 0.0, -0.25, 1.0)),
}

HEADS = {"mha": p.Heads(4, 4, 4), "gqa": p.Heads(4, 2, 4), "mqa": p.Heads(4, 1, 4)}

ENGINE_IDS = [
    pytest.param(row.id, marks=pytest.mark.skipif(bool(row.unavailable()), reason=row.unavailable()))
    for row in ENGINES
]
"""Values of a parameter: every engine, skipped where it cannot be had."""

MEMORY = p.Memory(("ein", "Hund", "beißt", "ihn", "heute"), p.SeededVectors(5, 6, seed=21))


SHORT: dict[str, Any] = {"tokens": TOKENS[:2], "vectors": p.SeededVectors(2, 8, seed=7)}
"""Changes of an experiment: its first two tokens, which are fewer than the lengths of `POSITIONS`."""


def experiment(
    masks: str = "causal", position: str = "rope", heads: str | p.Heads = "gqa", **changes: Any
) -> Experiment:
    """A seeded experiment of seven tokens, one of them twice, with four different weight matrices."""
    fields: dict[str, Any] = {
        "tokens": TOKENS,
        "vectors": p.SeededVectors(len(TOKENS), 8, seed=7),
        "heads": HEADS[heads] if isinstance(heads, str) else heads,
        "projections": p.Projections(p.Seeded(1), p.Seeded(2), p.Seeded(3), p.Seeded(4)),
        "position": POSITIONS[position],
        "masks": MASKS[masks],
        "readout": "similarity",
        "dtype": "float64",
    }
    return stacked(**{**fields, **changes})
