"""`STAGES`: the one table of what is computed, in data-flow order.

The pipeline strip, the inspector, linked hover, figures, the command line and the tests read it.
Adding a stage is one row here and one assignment in `engines/program.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from attnviz.i18n import N_

Axis = Literal["head", "kv_head", "token", "memory", "query", "key", "feature", "vocabulary"]
Rule = Literal[
    "given",
    "same_cell",
    "projection",
    "pair",
    "qd,kd->qk",
    "relative",
    "row",
    "qk,kd->qd",
    "join_heads",
    "qd,wd->qw",
]
Hue = Literal["", "query", "key", "value"]


@dataclass(frozen=True)
class Stage:
    """One named array of a trace.

    `axes` names its dimensions in public order; `reads` gives, for every input, the stages it may be,
    nearest first: the first one that the trace has is the input. `rule` says which cells of the inputs
    make one cell (see `model/provenance.py`). `signed` values get a diverging colour map.
    `operation` is the short label of the step that leads here.
    """

    id: str
    axes: tuple[Axis, ...]
    title: str
    formula: str
    operation: str
    reads: tuple[tuple[str, ...], ...]
    rule: Rule
    hue: Hue = ""
    signed: bool = True

    @property
    def score_shaped(self) -> bool:
        """Whether the array is (head, query, key)."""
        return self.axes == ("head", "query", "key")

    @property
    def per_head(self) -> bool:
        """Whether the first axis counts heads."""
        return len(self.axes) == 3


_TF: tuple[Axis, ...] = ("token", "feature")
_HQD: tuple[Axis, ...] = ("head", "query", "feature")
_HKD: tuple[Axis, ...] = ("kv_head", "key", "feature")
_HQK: tuple[Axis, ...] = ("head", "query", "key")
_QF: tuple[Axis, ...] = ("query", "feature")
_QV: tuple[Axis, ...] = ("query", "vocabulary")

_X = ("x", "tokens_embedded")
_Q, _K = ("q_normed", "q"), ("k_normed", "k")
_KV = ("memory", "x", "tokens_embedded")
_BEFORE_SOFTMAX = ("masked", "biased", "capped", "scaled", "relative", "scores")

STAGES: tuple[Stage, ...] = (
    Stage("tokens_embedded", _TF, N_("token vectors"), "e[t]", "", (), "given"),
    Stage("x", _TF, N_("x"), "x = e + position", "+ pos", (("tokens_embedded",),), "same_cell"),
    Stage("memory", ("memory", "feature"), N_("memory"), "m[t]", "", (), "given"),
    Stage("q", _HQD, N_("q"), "q = x W_Q", "×W_Q", (_X,), "projection", "query"),
    Stage("k", _HKD, N_("k"), "k = x W_K", "×W_K", (_KV,), "projection", "key"),
    Stage("v", _HKD, N_("v"), "v = x W_V", "×W_V", (_KV,), "projection", "value"),
    Stage("q_normed", _HQD, N_("q normed"), "q̂ = norm(q)", "norm", (("q",),), "row", "query"),
    Stage("k_normed", _HKD, N_("k normed"), "k̂ = norm(k)", "norm", (("k",),), "row", "key"),
    Stage("q_rotated", _HQD, N_("q rotated"), "q′ = R(position) q", "⟳ RoPE", (_Q,), "pair", "query"),
    Stage("k_rotated", _HKD, N_("k rotated"), "k′ = R(position) k", "⟳ RoPE", (_K,), "pair", "key"),
    Stage("v_rotated", _HKD, N_("v rotated"), "v′ = R(position) v", "⟳ RoPE", (("v",),), "pair", "value"),
    Stage(
        "scores",
        _HQK,
        N_("scores"),
        "s = q · k",
        "q · kᵀ",
        (("q_rotated", *_Q), ("k_rotated", *_K)),
        "qd,kd->qk",
    ),
    Stage(
        "relative",
        _HQK,
        N_("relative"),
        "s + q · r + k · r",
        "+ rel",
        (("scores",), ("q_rotated", *_Q), ("k_rotated", *_K)),
        "relative",
    ),
    Stage(
        "scaled", _HQK, N_("scaled"), "s × scale ÷ temperature", "÷√d", (("relative", "scores"),), "same_cell"
    ),
    Stage(
        "capped",
        _HQK,
        N_("capped"),
        "cap · tanh(s ÷ cap)",
        "cap",
        (("scaled", "relative", "scores"),),
        "same_cell",
    ),
    Stage(
        "biased",
        _HQK,
        N_("biased"),
        "s + bias(i − j)",
        "+ bias",
        (("capped", "scaled", "relative", "scores"),),
        "same_cell",
    ),
    Stage(
        "masked",
        _HQK,
        N_("masked"),
        "s, or −∞ where blocked",
        "mask",
        (("biased", "capped", "scaled", "relative", "scores"),),
        "same_cell",
    ),
    Stage(
        "weights",
        _HQK,
        N_("weights"),
        "w = exp(s) ÷ Σ exp(s)",
        "softmax",
        (_BEFORE_SOFTMAX,),
        "row",
        signed=False,
    ),
    Stage(
        "dropped",
        _HQK,
        N_("dropped"),
        "w × keep ÷ (1 − p)",
        "dropout",
        (("weights",),),
        "same_cell",
        signed=False,
    ),
    Stage(
        "mixed",
        _HQD,
        N_("mixed"),
        "y = Σ w v",
        "· v",
        (("dropped", "weights"), ("v_rotated", "v")),
        "qk,kd->qd",
    ),
    Stage("concatenated", _QF, N_("concatenated"), "heads side by side", "join", (("mixed",),), "join_heads"),
    Stage("attention_output", _QF, N_("output"), "o = y W_O", "×W_O", (("concatenated",),), "projection"),
    Stage(
        "logits",
        _QV,
        N_("logits"),
        "l = o · eᵀ",
        "· eᵀ",
        (("attention_output",), ("tokens_embedded",)),
        "qd,wd->qw",
    ),
    Stage(
        "probabilities",
        _QV,
        N_("probabilities"),
        "p = softmax(l)",
        "softmax",
        (("logits",),),
        "row",
        signed=False,
    ),
)

STAGE_BY_ID = {stage.id: stage for stage in STAGES}


def as_read(name: str, present: tuple[str, ...]) -> str:
    """The stage of `name` (q, k or v) that scores and mixture read in a trace that has `present`."""
    stages = (f"{name}_rotated", f"{name}_normed")
    return next((stage for stage in stages if stage in present), name)


def inputs(stage_id: str, present: tuple[str, ...]) -> tuple[str, ...]:
    """The stages that `stage_id` reads in a trace that has the stages `present`."""
    found = []
    for candidates in STAGE_BY_ID[stage_id].reads:
        found.extend([c for c in candidates if c in present][:1])
    return tuple(found)
