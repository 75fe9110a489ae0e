"""`STAGES`: the one table of computed arrays, in data-flow order.

The pipeline strip, the inspector, linked hover, figures, the command line and the tests read it.
Adding a stage is one row here and one assignment in `engines/program.py`.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

from attnviz.i18n import N_

Axis = Literal["head", "kv_head", "token", "memory", "query", "key", "feature", "vocabulary", "expert"]
Rule = Literal[
    "given",
    "same_cell",
    "projection",
    "latent_key",
    "pair",
    "qd,kd->qk",
    "relative",
    "row",
    "qk,kd->qd",
    "join_heads",
    "gated",
    "partners",
    "qd,wd->qw",
    "routed",
]
Hue = Literal["", "query", "key", "value"]
Kind = Literal["scores", "weights", "features"]

AXIS_NAMES: dict[Axis, str] = {
    "head": N_("head"),
    "kv_head": N_("KV head"),
    "query": N_("query"),
    "token": N_("token"),
    "key": N_("key"),
    "memory": N_("key"),
    "feature": N_("feature"),
    "vocabulary": N_("next token"),
    "expert": N_("expert"),
}
"""Names of the axes, to translate where they are shown."""


@dataclass(frozen=True)
class Stage:
    """One named array of a trace.

    `axes` names its dimensions in public order; `reads` lists the possible stages of every input: the last
    one in the trace before this stage is the input. `rule` selects the cells of the inputs that compute one
    cell (see `model/provenance.py`). `signed` values get a diverging colour map. `operation` is the short
    label of the step that leads here; `formula` and it are messages if they contain words. `symbols` are the
    names of the inputs in the formula, in the order of `reads`; of several, it has one: "x c_Q".
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
    symbols: tuple[str, ...] = ()

    @cached_property
    def score_shaped(self) -> bool:
        """True if the array is (head, query, key)."""
        return self.axes == ("head", "query", "key")

    @cached_property
    def kind(self) -> Kind:
        """Kind of the numbers: one for each query and key or token, shares of one, or features of vectors.

        Stages of one kind share a colour range.
        """
        if not self.signed:
            return "weights"
        return "scores" if self.score_shaped or self.axes[-1] in ("vocabulary", "expert") else "features"

    @cached_property
    def token_axis(self) -> Literal[0, 1]:
        """Axis of one head's matrix along which a range may leave the first token out: keys, else tokens."""
        return 1 if self.score_shaped else 0

    @cached_property
    def per_head(self) -> bool:
        """True if the first axis counts heads."""
        return len(self.axes) == 3


_TF: tuple[Axis, ...] = ("token", "feature")
_HQD: tuple[Axis, ...] = ("head", "query", "feature")
_HKD: tuple[Axis, ...] = ("kv_head", "key", "feature")
_HQK: tuple[Axis, ...] = ("head", "query", "key")
_QF: tuple[Axis, ...] = ("query", "feature")
_KF: tuple[Axis, ...] = ("key", "feature")
_QV: tuple[Axis, ...] = ("query", "vocabulary")
_QE: tuple[Axis, ...] = ("query", "expert")

SITE_INPUTS = ("x_projected", "x_normed", "x", "layer_input", "tokens_embedded")
"""Input stages of a site, latest form first: the first residual connection adds the last existing one."""

_X = ("norm_1", *SITE_INPUTS)
_Q, _K = ("q_normed", "q"), ("k_normed", "k")
_Q_READ = ("q_tempered", "q_rotated", *_Q)
_KV = ("memory", *_X)
_ATTENDED = ("attention_dropped", "attention_output")
_AFTER_ATTENTION = ("residual_1", "attention_normed", *_ATTENDED)
_FED_FORWARD = ("ffn_dropped", "ffn_output")
_AFTER_FFN = ("residual_2", "ffn_normed", *_FED_FORWARD)
_FFN_INPUT = ("norm_2", "norm_1", *_AFTER_ATTENTION, *SITE_INPUTS)
_RESULT = ("norm_2", *_AFTER_FFN, "norm_1", *_AFTER_ATTENTION)
_MIXED = ("gated", "mixed_normed", "mixed")
_TRANSFORMED = ("transform_normed", "transform_hidden")
_BEFORE_SOFTMAX = ("masked", "added", "biased", "capped", "scaled", "relative", "scores")

STAGES: tuple[Stage, ...] = (
    Stage("tokens_embedded", _TF, N_("token vectors"), "e[t]", "", (), "given"),
    Stage("layer_input", _TF, N_("layer input"), "x", "", (), "given"),
    Stage(
        "x",
        _TF,
        N_("x"),
        N_("x = e + position"),
        N_("+ pos"),
        (("layer_input", "tokens_embedded"),),
        "same_cell",
        symbols=("e",),
    ),
    Stage(
        "x_normed",
        _TF,
        N_("x normed"),
        "norm(x)",
        N_("norm"),
        (("x", "tokens_embedded"),),
        "row",
        symbols=("x",),
    ),
    Stage(
        "x_projected",
        _TF,
        N_("x projected"),
        "x W_X",
        "×W_X",
        (("x_normed", "x", "tokens_embedded"),),
        "projection",
        symbols=("x",),
    ),
    Stage(
        "norm_1",
        _QF,
        N_("norm 1"),
        "norm(x)",
        N_("norm"),
        ((*_AFTER_ATTENTION, *SITE_INPUTS),),
        "row",
        symbols=("x y o o′",),
    ),
    Stage("memory", ("memory", "feature"), N_("memory"), "m[t]", "", (), "given"),
    Stage(
        "q_latent", _QF, N_("q latent"), "c_Q = x W_DQ", "×W_DQ", (_X,), "projection", "query", symbols=("x",)
    ),
    Stage(
        "q_latent_normed",
        _QF,
        N_("q latent normed"),
        "norm(c_Q)",
        N_("norm"),
        (("q_latent",),),
        "row",
        "query",
        symbols=("c_Q",),
    ),
    Stage(
        "q",
        _HQD,
        N_("q"),
        "q = x W_Q",
        "×W_Q",
        (("q_latent_normed", "q_latent", *_X),),
        "projection",
        "query",
        symbols=("x c_Q",),
    ),
    Stage(
        "latent_projected",
        _KF,
        N_("latent projected"),
        "x W_DKV",
        "×W_DKV",
        (_KV,),
        "projection",
        "key",
        symbols=("x",),
    ),
    Stage(
        "latent",
        _KF,
        N_("latent"),
        "c = x W_DKV",
        "×W_DKV",
        (("latent_projected", *_KV),),
        "projection",
        "key",
        symbols=("x c",),
    ),
    Stage(
        "rope_key", _KF, N_("RoPE key"), "kᴿ = x W_KR", "×W_KR", (_KV,), "projection", "key", symbols=("x",)
    ),
    Stage(
        "k",
        _HKD,
        N_("k"),
        "k = x W_K",
        "×W_K",
        (("latent", *_KV), ("rope_key",)),
        "latent_key",
        "key",
        symbols=("x c", "kᴿ"),
    ),
    Stage(
        "v", _HKD, N_("v"), "v = x W_V", "×W_V", (("latent", *_KV),), "projection", "value", symbols=("x c",)
    ),
    Stage(
        "q_normed", _HQD, N_("q normed"), "q̂ = norm(q)", N_("norm"), (("q",),), "row", "query", symbols=("q",)
    ),
    Stage(
        "k_normed", _HKD, N_("k normed"), "k̂ = norm(k)", N_("norm"), (("k",),), "row", "key", symbols=("k",)
    ),
    Stage(
        "q_rotated",
        _HQD,
        N_("q rotated"),
        N_("q′ = R(position) q"),
        "⟳ RoPE",
        (_Q,),
        "pair",
        "query",
        symbols=("q",),
    ),
    Stage(
        "q_tempered",
        _HQD,
        N_("q tempered"),
        N_("q″ = τ(position) q"),
        "× τ",
        (("q_rotated", *_Q),),
        "same_cell",
        "query",
        symbols=("q",),
    ),
    Stage(
        "k_rotated",
        _HKD,
        N_("k rotated"),
        N_("k′ = R(position) k"),
        "⟳ RoPE",
        (_K,),
        "pair",
        "key",
        symbols=("k",),
    ),
    Stage(
        "v_rotated",
        _HKD,
        N_("v rotated"),
        N_("v′ = R(position) v"),
        "⟳ RoPE",
        (("v",),),
        "pair",
        "value",
        symbols=("v",),
    ),
    Stage(
        "scores",
        _HQK,
        N_("scores"),
        "s = q · k",
        "q · kᵀ",
        (_Q_READ, ("k_rotated", *_K)),
        "qd,kd->qk",
        symbols=("q", "k"),
    ),
    Stage(
        "relative",
        _HQK,
        N_("relative"),
        "s + q · r + k · r",
        N_("+ rel"),
        (("scores",), _Q_READ, ("k_rotated", *_K)),
        "relative",
        symbols=("s", "q", "k"),
    ),
    Stage(
        "scaled",
        _HQK,
        N_("scaled"),
        N_("s × scale ÷ temperature"),
        "÷√d",
        (("relative", "scores"),),
        "same_cell",
        symbols=("s",),
    ),
    Stage(
        "capped",
        _HQK,
        N_("capped"),
        "cap · tanh(s ÷ cap)",
        N_("cap"),
        (("scaled", "relative", "scores"),),
        "same_cell",
        symbols=("s",),
    ),
    Stage(
        "biased",
        _HQK,
        N_("biased"),
        N_("s + bias(i − j)"),
        N_("+ bias"),
        (("capped", "scaled", "relative", "scores"),),
        "same_cell",
        symbols=("s",),
    ),
    Stage(
        "added",
        _HQK,
        N_("added"),
        "s + M[i, j]",
        "+ M",
        (("biased", "capped", "scaled", "relative", "scores"),),
        "same_cell",
        symbols=("s",),
    ),
    Stage(
        "masked",
        _HQK,
        N_("masked"),
        N_("s, or −∞ where blocked"),
        N_("mask"),
        (("added", "biased", "capped", "scaled", "relative", "scores"),),
        "same_cell",
        symbols=("s",),
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
        symbols=("s",),
    ),
    Stage(
        "dropped",
        _HQK,
        N_("dropped"),
        N_("w × keep ÷ (1 − p)"),
        "dropout",
        (("weights",),),
        "same_cell",
        signed=False,
        symbols=("w",),
    ),
    Stage(
        "combined",
        _HQK,
        N_("combined"),
        "w₁ − λ w₂",
        "− λ w₂",
        (("dropped", "weights"),),
        "partners",
        symbols=("w₁ w₂",),
    ),
    Stage(
        "mixed",
        _HQD,
        N_("mixed"),
        "y = Σ w v",
        "· v",
        (("combined", "dropped", "weights"), ("v_rotated", "v")),
        "qk,kd->qd",
        symbols=("w", "v"),
    ),
    Stage(
        "mixed_normed",
        _HQD,
        N_("mixed normed"),
        "(1 − λ₀) · norm(y)",
        N_("norm"),
        (("mixed",),),
        "row",
        symbols=("y",),
    ),
    Stage(
        "gate",
        _HQD,
        N_("head gate"),
        "g = x W_G",
        "×W_G",
        (_X,),
        "projection",
        symbols=("x",),
    ),
    Stage(
        "gated",
        _HQD,
        N_("gated"),
        "y′ = y · σ(g)",
        "· σ(g)",
        (("mixed_normed", "mixed"), ("gate",)),
        "gated",
        symbols=("y", "g"),
    ),
    Stage(
        "concatenated",
        _QF,
        N_("concatenated"),
        N_("heads side by side"),
        N_("join"),
        (_MIXED,),
        "join_heads",
    ),
    Stage(
        "attention_output",
        _QF,
        N_("attention output"),
        "o = y W_O",
        "×W_O",
        (("concatenated",),),
        "projection",
        symbols=("y",),
    ),
    Stage(
        "attention_dropped",
        _QF,
        N_("output dropped"),
        N_("o′ = o × keep ÷ (1 − p)"),
        "dropout",
        (("attention_output",),),
        "same_cell",
        symbols=("o",),
    ),
    Stage(
        "attention_normed",
        _QF,
        N_("output normed"),
        "norm(o)",
        N_("norm"),
        (_ATTENDED,),
        "row",
        symbols=("o o′",),
    ),
    Stage(
        "residual_1",
        _QF,
        N_("residual 1"),
        "x + o",
        "+ x",
        (SITE_INPUTS, ("attention_normed", *_ATTENDED)),
        "same_cell",
        symbols=("x", "o o′"),
    ),
    Stage(
        "norm_2",
        _QF,
        N_("norm 2"),
        "norm(y)",
        N_("norm"),
        ((*_AFTER_FFN, *_AFTER_ATTENTION, *SITE_INPUTS),),
        "row",
        symbols=("x y z o f o′ f′",),
    ),
    Stage(
        "router",
        _QE,
        N_("router"),
        "r = x W_router",
        "×W_router",
        (_FFN_INPUT,),
        "projection",
        symbols=("x",),
    ),
    Stage(
        "routing",
        _QE,
        N_("routing"),
        N_("G = share, or 0 of experts not chosen"),
        N_("choose"),
        (("router",),),
        "row",
        signed=False,
        symbols=("r",),
    ),
    Stage(
        "ffn_gate", _QF, N_("gate"), "g = x W_gate", "×W_gate", (_FFN_INPUT,), "projection", symbols=("x",)
    ),
    Stage("ffn_up", _QF, N_("up"), "u = x W_up", "×W_up", (_FFN_INPUT,), "projection", symbols=("x",)),
    Stage(
        "ffn_gate_routed",
        _QF,
        N_("gate routed"),
        "g′ = g · G",
        "· G",
        (("ffn_gate",), ("routing",)),
        "routed",
        symbols=("g", "G"),
    ),
    Stage(
        "ffn_up_routed",
        _QF,
        N_("up routed"),
        "u′ = u · G",
        "· G",
        (("ffn_up",), ("routing",)),
        "routed",
        symbols=("u", "G"),
    ),
    Stage(
        "ffn_hidden",
        _QF,
        N_("hidden"),
        "h = act(u)",
        N_("act"),
        (("ffn_gate_routed", "ffn_gate"), ("ffn_up_routed", "ffn_up")),
        "same_cell",
        symbols=("gate gate′", "up up′"),
    ),
    Stage(
        "ffn_routed",
        _QF,
        N_("routed"),
        "h · G",
        "· G",
        (("ffn_hidden",), ("routing",)),
        "routed",
        symbols=("h", "G"),
    ),
    Stage(
        "ffn_output",
        _QF,
        N_("FFN output"),
        "f = h W_down",
        "×W_down",
        (("ffn_routed", "ffn_hidden"),),
        "projection",
        symbols=("h",),
    ),
    Stage(
        "ffn_dropped",
        _QF,
        N_("FFN dropped"),
        N_("f′ = f × keep ÷ (1 − p)"),
        "dropout",
        (("ffn_output",),),
        "same_cell",
        symbols=("f",),
    ),
    Stage(
        "ffn_normed", _QF, N_("FFN normed"), "norm(f)", N_("norm"), (_FED_FORWARD,), "row", symbols=("f f′",)
    ),
    Stage(
        "residual_2",
        _QF,
        N_("residual 2"),
        "y + f",
        "+ y",
        (("norm_1", "residual_1"), ("ffn_normed", *_FED_FORWARD)),
        "same_cell",
        symbols=("y", "f f′"),
    ),
    Stage("output", _QF, N_("output"), "norm(z)", N_("norm"), (_RESULT,), "row", symbols=("z y o f o′ f′",)),
    Stage(
        "transform",
        _QF,
        N_("transform"),
        "t = o W_T",
        "×W_T",
        (("output", *_RESULT),),
        "projection",
        symbols=("o",),
    ),
    Stage(
        "transform_hidden",
        _QF,
        N_("transform hidden"),
        "h = act(t)",
        N_("act"),
        (("transform",),),
        "same_cell",
        symbols=("t",),
    ),
    Stage(
        "transform_normed",
        _QF,
        N_("transform normed"),
        "norm(h)",
        N_("norm"),
        (("transform_hidden",),),
        "row",
        symbols=("h",),
    ),
    Stage(
        "logits",
        _QV,
        N_("logits"),
        "l = o · eᵀ",
        "· eᵀ",
        ((*_TRANSFORMED, "output", *_RESULT), ("tokens_embedded",)),
        "qd,wd->qw",
        symbols=("o h", "e"),
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
        symbols=("l",),
    ),
)

LATENT_STAGES = ("q_latent", "q_latent_normed", "latent_projected", "latent", "rope_key")
"""Stages of multi-head latent attention: the inputs of queries, keys and values."""

HIDDEN_STAGES = ("ffn_gate", "ffn_up", "ffn_gate_routed", "ffn_up_routed", "ffn_hidden", "ffn_routed")
"""Stages whose features are the feed-forward layer's own, all of its `width`."""

EMBEDDED = "tokens_embedded"
EMBEDDED_STAGES = (EMBEDDED, "x", "x_normed")
"""Stages of token vectors, before a projection of them to the features of the layers."""

TRANSFORM_STAGES = ("transform", "transform_hidden", "transform_normed")
"""Stages between the output and the logits."""

STAGE_BY_ID = {stage.id: stage for stage in STAGES}


def as_read(name: str, present: Container[str]) -> str:
    """The stage of `name` (q, k or v) that scores and mixture read in a trace that has `present`."""
    for stage in _LATER_FORMS[name]:
        if stage in present:
            return stage
    return name


_LATER_FORMS = {name: (f"{name}_tempered", f"{name}_rotated", f"{name}_normed") for name in ("q", "k", "v")}


@lru_cache(maxsize=1024)
def inputs(stage_id: str, present: tuple[str, ...]) -> tuple[str, ...]:
    """The stages that `stage_id` reads in a trace that has the stages `present`, in data-flow order.

    Cached: the highlight of a hovered cell needs the inputs of every stage in every picture.
    """
    before = present[: present.index(stage_id)] if stage_id in present else present
    found = []
    for candidates in STAGE_BY_ID[stage_id].reads:
        found.extend([stage for stage in reversed(before) if stage in candidates][:1])
    return tuple(found)


def result_of(present: tuple[str, ...]) -> str:
    """The stage of a site that is the input of the next one, or of the reader."""
    return next(stage for stage in reversed(present) if stage in _RESULTS)


_RESULTS = frozenset(("output", *_RESULT))
