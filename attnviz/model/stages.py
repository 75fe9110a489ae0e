"""`STAGES`: the one table of computed arrays, in data-flow order.

The pipeline strip, the inspector, linked hover, figures, the command line and the tests read it.

Over 500 lines because each stage is one row with all that is known of it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

from attnviz.i18n import N_
from attnviz.operations.activation import Activated
from attnviz.operations.difference import Difference
from attnviz.operations.dropout import Dropout
from attnviz.operations.experts import Routed, Routing
from attnviz.operations.given import Given
from attnviz.operations.heads import Gate, Join
from attnviz.operations.linear import Linear
from attnviz.operations.logits import Logits
from attnviz.operations.mask import Mask
from attnviz.operations.norm import Norm
from attnviz.operations.normaliser import Normaliser
from attnviz.operations.operation import Operation
from attnviz.operations.pointwise import Cap, Factor, Plus, PlusRow, Sum, Temper
from attnviz.operations.products import DotProduct, Mixture
from attnviz.operations.relative import Relative
from attnviz.operations.rotation import Rotation
from attnviz.operations.terms import Hue

if TYPE_CHECKING:
    from attnviz.model.spec.site import Site, Surroundings

Axis = Literal[
    "head", "kv_head", "token", "memory", "query", "key", "feature", "key_feature", "vocabulary", "expert"
]
Kind = Literal["scores", "weights", "features"]
Phase = Literal["input", "heads", "scores", "weights", "state", "mixture", "block", "read-out"]
Lane = Literal["above", "middle", "below"]
Slot = tuple[str, ...] | Phase
"""The possible stages of one input; a phase stands for all of its stages."""

OF_LAYER: tuple[Phase, ...] = ("block", "read-out")
"""Phases of a layer around its mixer."""

AXIS_NAMES: dict[Axis, str] = {
    "head": N_("head"),
    "kv_head": N_("KV head"),
    "query": N_("query"),
    "token": N_("token"),
    "key": N_("key"),
    "memory": N_("key"),
    "feature": N_("feature"),
    "key_feature": N_("key feature"),
    "vocabulary": N_("next token"),
    "expert": N_("expert"),
}
"""Names of the axes, to translate where they are shown."""


def _always(owner: Any) -> bool:
    return True


def _has(*paths: str) -> Callable[[Any], bool]:
    """True for owners in which every field exists and is not False: `block.norm_2`."""

    def has(owner: Any) -> bool:
        for path in paths:
            value = owner
            for name in path.split("."):
                value = getattr(value, name)
                if value is None or value is False:
                    return False
        return True

    return has


def _position(changes: str) -> Callable[[Site], bool]:
    return lambda site: site.position.changes == changes


def _of(path: str) -> Callable[[Site], int]:
    of: Callable[[Site], int] = attrgetter(path)
    return of


D_MODEL = _of("d_model")
"""The width of the vectors that pass from layer to layer."""


def _in_place(layer: Surroundings) -> str:
    return ""


def _behind(stage: str) -> Callable[[Surroundings], str]:
    """Of a norm: behind a residual connection in a post-norm block, before a parallel attention."""

    def after(layer: Surroundings) -> str:
        placement = "" if layer.block is None else layer.block.placement
        return stage if placement == "post" else _before_attention(layer)

    return after


def _before_attention(layer: Surroundings) -> str:
    """Of the feed-forward layer of a parallel block: it reads what the attention reads."""
    return "norm_1" if layer.block is not None and layer.block.placement == "parallel" else ""


@dataclass(frozen=True)
class Stage:
    """One named array of a trace.

    `axes` names its dimensions in public order: those of a matrix come last, those in front number its
    matrices. `width` is the number of its features in a site; `reads` lists the possible stages of every
    input: the last one in the trace before this stage is the input.

    A site has the stage if `when`, which is asked of its layer in the phases of `OF_LAYER`, else of the site.
    It stands where the table has it, or behind the stage that `after` names.
    `signed` values get a diverging colour map; `has_sums` says that rows are shares of one, so that their
    sums inform; `is_infinite` that −∞ marks blocked cells.

    `operation` is the short label of the step that leads here; `formula` and it are messages if they contain
    words. `symbols` are the names of the inputs in the formula, in the order of `reads`; of several, it has
    one: "x c_Q". `symbol` is its own name there, if that is shorter than the title. `wraps` is the stage in
    the formula of a whole site: {0} is the expression of the first input, {1:v} the second one as a letter,
    {op} a word of `explain/formulas/symbols.py`.

    `lane` is its place across the flow in the diagram of a block. In a narrow strip, stages with the lowest
    `fold` go first, all of one number together, and those with 0 stay.

    `made_by` is its operation, and `operands` names the parameters of that (see `model/binding.py`).

    `help` is a sentence about it, with the key of a source in `cites`; empty: that of its operation.
    """

    id: str
    phase: Phase
    axes: tuple[Axis, ...]
    title: str
    formula: str
    operation: str
    reads: tuple[Slot, ...]
    when: Callable[[Any], bool] = _always
    after: Callable[[Surroundings], str] = _in_place
    width: Callable[[Site], int] = D_MODEL
    hue: Hue = ""
    signed: bool = True
    has_sums: bool = False
    is_infinite: bool = False
    symbols: tuple[str, ...] = ()
    symbol: str = ""
    wraps: str = ""
    lane: Lane = "middle"
    fold: int = 0
    help: str = ""
    cites: str = ""
    made_by: type[Operation] = Operation
    operands: str = ""

    def is_in(self, site: Site) -> bool:
        """True if a site has the stage."""
        return self.when(site.layer if self.phase in OF_LAYER else site)

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
        return bool(self.axes[:-2])

    @cached_property
    def by_token(self) -> bool:
        """True if each head has a matrix for every token: it is computed where it is shown, never stored."""
        return "token" in self.axes[:-2]

    @cached_property
    def letter(self) -> str:
        """Its letter in formulas: what its own one defines, or what another one calls it."""
        defined, is_defined, _how = self.formula.partition(" = ")
        return defined if is_defined else self.symbols[0] if self.symbols else self.formula.partition("[")[0]

    def input(self, slot: int, before: Iterable[str]) -> str:
        """The input of a slot in a trace that has the stages `before`; empty without one."""
        possible = self.reads[slot]
        is_phase = isinstance(possible, str)
        for stage in reversed(tuple(before)):
            if (STAGE_BY_ID[stage].phase == possible) if is_phase else (stage in possible):
                return stage
        return ""


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

STAGES: tuple[Stage, ...] = (
    Stage(
        "tokens_embedded",
        "input",
        _TF,
        N_("token vectors"),
        "e[t]",
        "",
        (),
        when=_has("inputs.begins"),
        width=_of("d_embedding"),
        symbol="e",
        help=N_("One vector for each token, before anything is computed."),
        made_by=Given,
        operands="vectors",
    ),
    Stage(
        "layer_input",
        "input",
        _TF,
        N_("layer input"),
        "x",
        "",
        (),
        when=lambda site: not site.inputs.begins,
        help=N_("The output vectors of the previous layer."),
        made_by=Given,
        operands="previous layer",
    ),
    Stage(
        "x",
        "input",
        _TF,
        N_("x"),
        N_("x = e + position"),
        N_("+ pos"),
        (("layer_input", "tokens_embedded"),),
        when=_position("vectors"),
        width=_of("d_embedding"),
        symbols=("e",),
        fold=3,
        help=N_("The token vectors with their additive position encoding."),
        cites="attention",
        made_by=PlusRow,
        operands="position of vectors",
    ),
    Stage(
        "x_normed",
        "input",
        _TF,
        N_("x normed"),
        "norm(x)",
        N_("norm"),
        (("x", "tokens_embedded"),),
        when=_has("layer.embedding_norm"),
        width=_of("d_embedding"),
        symbols=("x",),
        fold=3,
        made_by=Norm,
        operands="embedding_norm",
    ),
    Stage(
        "x_projected",
        "input",
        _TF,
        N_("x projected"),
        "x W_X",
        "×W_X",
        (("x_normed", "x", "tokens_embedded"),),
        when=_has("inputs.begins", "layer.embedding_projection"),
        symbols=("x",),
        fold=3,
        made_by=Linear,
        operands="embedding_projection.weights",
    ),
    Stage(
        "norm_1",
        "block",
        _QF,
        N_("norm 1"),
        "norm(x)",
        N_("norm"),
        ((*_AFTER_ATTENTION, *SITE_INPUTS),),
        when=_has("block.norm_1"),
        after=_behind("residual_1"),
        symbols=("x y o o′",),
        wraps="norm({0})",
        fold=3,
        made_by=Norm,
        operands="block.norm_1",
    ),
    Stage(
        "memory",
        "input",
        ("memory", "feature"),
        N_("memory"),
        "m[t]",
        "",
        (),
        when=_has("memory"),
        width=_of("d_keys"),
        lane="below",
        fold=14,
        help=N_("The memory sequence, which cross-attention reads its keys and values from."),
        cites="attention",
        made_by=Given,
        operands="memory.vectors",
    ),
    Stage(
        "q_latent",
        "heads",
        _QF,
        N_("q latent"),
        "c_Q = x W_DQ",
        "×W_DQ",
        (_X,),
        when=_has("latent.d_q"),
        width=_of("latent.d_q"),
        hue="query",
        symbols=("x",),
        lane="above",
        fold=4,
        made_by=Linear,
        operands="latent.query_down",
    ),
    Stage(
        "q_latent_normed",
        "heads",
        _QF,
        N_("q latent normed"),
        "norm(c_Q)",
        N_("norm"),
        (("q_latent",),),
        when=_has("latent.d_q", "latent.query_norm"),
        width=_of("latent.d_q"),
        hue="query",
        symbols=("c_Q",),
        lane="above",
        fold=4,
        made_by=Norm,
        operands="latent.query_norm",
    ),
    Stage(
        "q",
        "heads",
        _HQD,
        N_("q"),
        "q = x W_Q",
        "×W_Q",
        (("q_latent_normed", "q_latent", *_X),),
        width=_of("d_qk"),
        hue="query",
        symbols=("x c_Q",),
        lane="above",
        fold=17,
        help=N_("Queries: each token vector projected to the question that it asks."),
        cites="attention",
        made_by=Linear,
        operands="projections.query",
    ),
    Stage(
        "latent_projected",
        "heads",
        _KF,
        N_("latent projected"),
        "x W_DKV",
        "×W_DKV",
        (_KV,),
        when=_has("latent.norm"),
        width=_of("latent.d_c"),
        hue="key",
        symbols=("x",),
        fold=5,
        made_by=Linear,
        operands="latent.down",
    ),
    Stage(
        "latent",
        "heads",
        _KF,
        N_("latent"),
        "c = x W_DKV",
        "×W_DKV",
        (("latent_projected", *_KV),),
        when=_has("latent"),
        width=_of("latent.d_c"),
        hue="key",
        symbols=("x c",),
        fold=5,
        help=N_("The latent: the vector that a cache keeps instead of all keys and values."),
        cites="mla",
        made_by=Linear,
        operands="latent.norm latent.down",
    ),
    Stage(
        "rope_key",
        "heads",
        _KF,
        N_("RoPE key"),
        "kᴿ = x W_KR",
        "×W_KR",
        (_KV,),
        when=lambda site: site.latent is not None and site.latent.d_rope > 0,
        width=_of("latent.d_rope"),
        hue="key",
        symbols=("x",),
        lane="below",
        fold=5,
        made_by=Linear,
        operands="latent.rope_key",
    ),
    Stage(
        "k",
        "heads",
        _HKD,
        N_("k"),
        "k = x W_K",
        "×W_K",
        (("latent", *_KV), ("rope_key",)),
        width=_of("d_qk"),
        hue="key",
        symbols=("x c", "kᴿ"),
        fold=11,
        help=N_("Keys: each token vector projected to the description that queries are compared with."),
        cites="attention",
        made_by=Linear,
        operands="projections.key latent.up_key",
    ),
    Stage(
        "v",
        "heads",
        _HKD,
        N_("v"),
        "v = x W_V",
        "×W_V",
        (("latent", *_KV),),
        width=_of("heads.d_head"),
        hue="value",
        symbols=("x c",),
        lane="below",
        fold=11,
        help=N_("Values: each token vector projected to the content that is mixed."),
        cites="attention",
        made_by=Linear,
        operands="projections.value latent.up_value",
    ),
    Stage(
        "q_normed",
        "heads",
        _HQD,
        N_("q normed"),
        "q̂ = norm(q)",
        N_("norm"),
        (("q",),),
        when=_has("qk_norm"),
        after=lambda site: "q",
        width=_of("d_qk"),
        hue="query",
        symbols=("q",),
        symbol="q̂",
        lane="above",
        fold=6,
        help=N_("Queries of equal length, so that scores stay bounded."),
        cites="qk_norm",
        made_by=Norm,
        operands="qk_norm",
    ),
    Stage(
        "k_normed",
        "heads",
        _HKD,
        N_("k normed"),
        "k̂ = norm(k)",
        N_("norm"),
        (("k",),),
        when=_has("qk_norm"),
        width=_of("d_qk"),
        hue="key",
        symbols=("k",),
        symbol="k̂",
        fold=6,
        help=N_("Keys of equal length, so that scores stay bounded."),
        cites="qk_norm",
        made_by=Norm,
        operands="qk_norm",
    ),
    Stage(
        "q_rotated",
        "heads",
        _HQD,
        N_("q rotated"),
        N_("q′ = R(position) q"),
        "⟳ RoPE",
        (_Q,),
        when=_position("rotation"),
        after=lambda site: "q",
        width=_of("d_qk"),
        hue="query",
        symbols=("q",),
        symbol="q′",
        lane="above",
        fold=16,
        help=N_("Each pair of features of a query is rotated by an angle that grows with its position."),
        cites="rope",
        made_by=Rotation,
        operands="position of queries",
    ),
    Stage(
        "q_tempered",
        "heads",
        _HQD,
        N_("q tempered"),
        N_("q″ = τ(position) q"),
        "× τ",
        (("q_rotated", *_Q),),
        when=_has("position_temperature"),
        after=lambda site: "q",
        width=_of("d_qk"),
        hue="query",
        symbols=("q",),
        symbol="q″",
        lane="above",
        fold=16,
        help=N_("Queries times a factor that grows with their position: weights stay sharp."),
        cites="scalable",
        made_by=Temper,
        operands="position_temperature",
    ),
    Stage(
        "k_rotated",
        "heads",
        _HKD,
        N_("k rotated"),
        N_("k′ = R(position) k"),
        "⟳ RoPE",
        (_K,),
        when=_position("rotation"),
        width=_of("d_qk"),
        hue="key",
        symbols=("k",),
        symbol="k′",
        fold=16,
        help=N_("Each pair of features of a key is rotated by an angle that grows with its position."),
        cites="rope",
        made_by=Rotation,
        operands="position of keys",
    ),
    Stage(
        "v_rotated",
        "heads",
        _HKD,
        N_("v rotated"),
        N_("v′ = R(position) v"),
        "⟳ RoPE",
        (("v",),),
        when=lambda site: site.position.rotates_values,
        width=_of("heads.d_head"),
        hue="value",
        symbols=("v",),
        symbol="v′",
        lane="below",
        fold=11,
        made_by=Rotation,
        operands="position of keys",
    ),
    Stage(
        "scores",
        "scores",
        _HQK,
        N_("scores"),
        "s = q · k",
        "q · kᵀ",
        (_Q_READ, ("k_rotated", *_K)),
        symbols=("q", "k"),
        wraps="{0:q} {1:kᵀ}",
        fold=18,
        help=N_("The dot product of each query with each key: large where they point the same way."),
        cites="attention",
        made_by=DotProduct,
        operands="heads.group_size",
    ),
    Stage(
        "relative",
        "scores",
        _HQK,
        N_("relative"),
        "s + q · r + k · r",
        N_("+ rel"),
        ("scores", _Q_READ, ("k_rotated", *_K)),
        when=_position("relative"),
        symbols=("s", "q", "k"),
        wraps="({0} {op})",
        fold=9,
        help=N_("Scores with terms that depend on the distance of query and key."),
        cites="transformer_xl",
        made_by=Relative,
        operands="relative position",
    ),
    Stage(
        "scaled",
        "scores",
        _HQK,
        N_("scaled"),
        N_("s × scale ÷ temperature"),
        "÷√d",
        ("scores",),
        when=_has("score_factor"),
        symbols=("s",),
        wraps="{0}{scale}",
        fold=13,
        help=N_("Scores divided by √d_head, so that their spread does not grow with the head width."),
        cites="attention",
        made_by=Factor,
        operands="scale",
    ),
    Stage(
        "capped",
        "scores",
        _HQK,
        N_("capped"),
        "cap · tanh(s ÷ cap)",
        N_("cap"),
        ("scores",),
        when=_has("cap"),
        symbols=("s",),
        wraps="{op}({0})",
        fold=9,
        help=N_("Scores limited smoothly to a range by tanh."),
        cites="gemma",
        made_by=Cap,
        operands="cap",
    ),
    Stage(
        "biased",
        "scores",
        _HQK,
        N_("biased"),
        N_("s + bias(i − j)"),
        N_("+ bias"),
        ("scores",),
        when=_position("bias"),
        symbols=("s",),
        wraps="{0} {op}",
        fold=9,
        help=N_("Scores lowered by the distance of query and key."),
        cites="alibi",
        made_by=Plus,
        operands="position",
    ),
    Stage(
        "added",
        "scores",
        _HQK,
        N_("added"),
        "s + M[i, j]",
        "+ M",
        ("scores",),
        when=_has("additive_mask"),
        is_infinite=True,
        symbols=("s",),
        wraps="{0} {op}",
        fold=9,
        help=N_("Scores plus a free number for each query and key; −∞ leaves a key without weight."),
        cites="attention",
        made_by=Plus,
        operands="additive_mask",
    ),
    Stage(
        "masked",
        "scores",
        _HQK,
        N_("masked"),
        N_("s, or −∞ where blocked"),
        N_("mask"),
        ("scores",),
        when=lambda site: bool(site.masks) and site.mask_placement == "before_softmax",
        is_infinite=True,
        symbols=("s",),
        wraps="{op}({0})",
        fold=15,
        help=N_("Scores with −∞ where a query must not attend, so that the weight there is 0."),
        cites="attention",
        made_by=Mask,
        operands="masks",
    ),
    Stage(
        "weights",
        "weights",
        _HQK,
        N_("weights"),
        "w = exp(s) ÷ Σ exp(s)",
        "softmax",
        ("scores",),
        signed=False,
        has_sums=True,
        symbols=("s",),
        wraps="{normaliser}({0})",
        help=N_("The softmax of each row: shares of attention that are positive and sum to 1."),
        cites="attention",
        made_by=Normaliser,
        operands="normaliser",
    ),
    Stage(
        "dropped",
        "weights",
        _HQK,
        N_("dropped"),
        N_("w × keep ÷ (1 − p)"),
        "dropout",
        ("weights",),
        when=_has("dropout.active"),
        signed=False,
        has_sums=True,
        symbols=("w",),
        wraps="dropout({0})",
        fold=10,
        help=N_("Weights of which a random share is set to 0 in training."),
        cites="dropout",
        made_by=Dropout,
        operands="dropout",
    ),
    Stage(
        "combined",
        "weights",
        _HQK,
        N_("combined"),
        "w₁ − λ w₂",
        "− λ w₂",
        ("weights",),
        when=_has("differential"),
        symbols=("w₁ w₂",),
        wraps="({0} − λ w₂)",
        fold=10,
        help=N_("The weights of a head minus λ times those of its partner head; both use the difference."),
        cites="differential",
        made_by=Difference,
        operands="differential",
    ),
    Stage(
        "mixed",
        "mixture",
        _HQD,
        N_("mixed"),
        "y = Σ w v",
        "· v",
        ("weights", ("v_rotated", "v")),
        width=_of("heads.d_head"),
        symbols=("w", "v"),
        wraps="{0} {1:v}",
        fold=19,
        help=N_("For each query the sum of all values, each times its weight."),
        cites="attention",
        made_by=Mixture,
        operands="heads.off",
    ),
    Stage(
        "mixed_normed",
        "mixture",
        _HQD,
        N_("mixed normed"),
        "(1 − λ₀) · norm(y)",
        N_("norm"),
        (("mixed",),),
        when=_has("differential"),
        width=_of("heads.d_head"),
        symbols=("y",),
        wraps="(1 − λ₀) norm({0})",
        fold=7,
        help=N_("The mixtures of two partner heads, normalised together and multiplied by 1 − λ₀."),
        cites="differential",
        made_by=Norm,
        operands="differential",
    ),
    Stage(
        "gate",
        "mixture",
        _HQD,
        N_("head gate"),
        "g = x W_G",
        "×W_G",
        (_X,),
        when=_has("gate"),
        width=_of("gate_width"),
        symbols=("x",),
        lane="above",
        fold=7,
        help=N_("The input projected to a gate for each head's output, before its sigmoid."),
        cites="output_gate",
        made_by=Linear,
        operands="gate.weights",
    ),
    Stage(
        "gated",
        "mixture",
        _HQD,
        N_("gated"),
        "y′ = y · σ(g)",
        "· σ(g)",
        (("mixed_normed", "mixed"), ("gate",)),
        when=_has("gate"),
        width=_of("heads.d_head"),
        symbols=("y", "g"),
        wraps="({0}) · {1:σ(g)}",
        fold=7,
        help=N_("Each head's mixture times the sigmoid of its gate, from 0 to 1."),
        cites="output_gate",
        made_by=Gate,
        operands="gate",
    ),
    Stage(
        "concatenated",
        "mixture",
        _QF,
        N_("concatenated"),
        N_("heads side by side"),
        N_("join"),
        (_MIXED,),
        width=_of("heads.width"),
        wraps="{0}",
        fold=8,
        help=N_("The mixtures of all heads side by side."),
        cites="attention",
        made_by=Join,
        operands="heads.d_head",
    ),
    Stage(
        "attention_output",
        "mixture",
        _QF,
        N_("attention output"),
        "o = y W_O",
        "×W_O",
        (("concatenated",),),
        symbols=("y",),
        wraps="{0} W_O",
        help=N_("The concatenated heads projected back to the model width."),
        cites="attention",
        made_by=Linear,
        operands="projections.output",
    ),
    Stage(
        "attention_dropped",
        "block",
        _QF,
        N_("output dropped"),
        N_("o′ = o × keep ÷ (1 − p)"),
        "dropout",
        (("attention_output",),),
        when=_has("block.dropout.active"),
        symbols=("o",),
        wraps="dropout({0})",
        fold=1,
        help=N_("The attention's output, of which a random share is set to 0 in training."),
        cites="dropout",
        made_by=Dropout,
        operands="block.dropout behind the attention",
    ),
    Stage(
        "attention_normed",
        "block",
        _QF,
        N_("output normed"),
        "norm(o)",
        N_("norm"),
        (_ATTENDED,),
        when=_has("block.after_1"),
        symbols=("o o′",),
        wraps="norm({0})",
        fold=1,
        made_by=Norm,
        operands="block.after_1",
    ),
    Stage(
        "residual_1",
        "block",
        _QF,
        N_("residual 1"),
        "y = x + o",
        "+ x",
        (SITE_INPUTS, ("attention_normed", *_ATTENDED)),
        when=_has("block.residual"),
        symbols=("x", "o o′"),
        wraps="{0:x} + {factor}{1}",
        fold=1,
        help=N_("The input of the layer plus the output of its attention."),
        cites="residual",
        made_by=Sum,
        operands="block.residual_scale",
    ),
    Stage(
        "norm_2",
        "block",
        _QF,
        N_("norm 2"),
        "norm(y)",
        N_("norm"),
        ((*_AFTER_FFN, *_AFTER_ATTENTION, *SITE_INPUTS),),
        when=_has("block.norm_2", "block.feed_forward"),
        after=_behind("residual_2"),
        symbols=("x y z o f o′ f′",),
        wraps="norm({0})",
        fold=1,
        made_by=Norm,
        operands="block.norm_2",
    ),
    Stage(
        "router",
        "block",
        _QE,
        N_("router"),
        "r = x W_router",
        "×W_router",
        (_FFN_INPUT,),
        when=_has("block.feed_forward.experts"),
        after=_before_attention,
        symbols=("x",),
        lane="below",
        fold=1,
        help=N_("One number for each expert: the larger, the more the token needs it."),
        cites="experts",
        made_by=Linear,
        operands="block.feed_forward.router",
    ),
    Stage(
        "routing",
        "block",
        _QE,
        N_("routing"),
        N_("G = share, or 0 of experts not chosen"),
        N_("choose"),
        (("router",),),
        when=_has("block.feed_forward.experts"),
        after=_before_attention,
        signed=False,
        symbols=("r",),
        lane="below",
        fold=1,
        help=N_("The weight of each expert: 0 for all but the chosen ones."),
        cites="experts",
        made_by=Routing,
        operands="experts",
    ),
    Stage(
        "ffn_gate",
        "block",
        _QF,
        N_("gate"),
        "g = x W_gate",
        "×W_gate",
        (_FFN_INPUT,),
        when=_has("block.feed_forward.gated"),
        after=_before_attention,
        width=_of("layer.block.feed_forward.width"),
        symbols=("x",),
        wraps="{entered} W_gate",
        lane="above",
        fold=1,
        help=N_("The gate, which multiplies the hidden features of the feed-forward layer."),
        cites="glu",
        made_by=Linear,
        operands="block.feed_forward.gate",
    ),
    Stage(
        "ffn_up",
        "block",
        _QF,
        N_("up"),
        "u = x W_up",
        "×W_up",
        (_FFN_INPUT,),
        when=_has("block.feed_forward"),
        after=_before_attention,
        width=_of("layer.block.feed_forward.width"),
        symbols=("x",),
        wraps="{entered} W_up",
        fold=1,
        made_by=Linear,
        operands="block.feed_forward.up",
    ),
    Stage(
        "ffn_gate_routed",
        "block",
        _QF,
        N_("gate routed"),
        "g′ = g · G",
        "· G",
        (("ffn_gate",), ("routing",)),
        when=_has("block.feed_forward.scales_inputs", "block.feed_forward.gated"),
        after=_before_attention,
        width=_of("layer.block.feed_forward.width"),
        symbols=("g", "G"),
        symbol="gate′",
        wraps="{0} · G",
        lane="above",
        fold=1,
        help=N_("The gate of every expert times the expert's weight: its input is scaled."),
        cites="experts",
        made_by=Routed,
        operands="experts of gate",
    ),
    Stage(
        "ffn_up_routed",
        "block",
        _QF,
        N_("up routed"),
        "u′ = u · G",
        "· G",
        (("ffn_up",), ("routing",)),
        when=_has("block.feed_forward.scales_inputs"),
        after=_before_attention,
        width=_of("layer.block.feed_forward.width"),
        symbols=("u", "G"),
        symbol="up′",
        wraps="{0} · G",
        fold=1,
        help=N_("The up projection of every expert times the expert's weight: its input is scaled."),
        cites="experts",
        made_by=Routed,
        operands="experts of up",
    ),
    Stage(
        "ffn_hidden",
        "block",
        _QF,
        N_("hidden"),
        "h = act(u)",
        N_("act"),
        (("ffn_gate_routed", "ffn_gate"), ("ffn_up_routed", "ffn_up")),
        when=_has("block.feed_forward"),
        after=_before_attention,
        width=_of("layer.block.feed_forward.width"),
        symbols=("gate gate′", "up up′"),
        wraps="{activation}({0}, {1})",
        fold=1,
        help=N_("The hidden features of the feed-forward layer after its activation."),
        cites="attention",
        made_by=Activated,
        operands="block.feed_forward.activation",
    ),
    Stage(
        "ffn_routed",
        "block",
        _QF,
        N_("routed"),
        "h · G",
        "· G",
        (("ffn_hidden",), ("routing",)),
        when=_has("block.feed_forward.scales_outputs"),
        after=_before_attention,
        width=_of("layer.block.feed_forward.routed_width"),
        symbols=("h", "G"),
        wraps="{0} · G",
        fold=1,
        help=N_("The hidden features of every expert times the expert's weight."),
        cites="experts",
        made_by=Routed,
        operands="experts of hidden",
    ),
    Stage(
        "ffn_output",
        "block",
        _QF,
        N_("FFN output"),
        "f = h W_down",
        "×W_down",
        (("ffn_routed", "ffn_hidden"),),
        when=_has("block.feed_forward"),
        after=_before_attention,
        symbols=("h",),
        wraps="{0} W_down",
        fold=1,
        made_by=Linear,
        operands="block.feed_forward.down",
    ),
    Stage(
        "ffn_dropped",
        "block",
        _QF,
        N_("FFN dropped"),
        N_("f′ = f × keep ÷ (1 − p)"),
        "dropout",
        (("ffn_output",),),
        when=_has("block.dropout.active", "block.feed_forward"),
        after=_before_attention,
        symbols=("f",),
        wraps="dropout({0})",
        fold=1,
        help=N_("The feed-forward layer's output, of which a random share is set to 0 in training."),
        cites="dropout",
        made_by=Dropout,
        operands="block.dropout behind the feed-forward layer",
    ),
    Stage(
        "ffn_normed",
        "block",
        _QF,
        N_("FFN normed"),
        "norm(f)",
        N_("norm"),
        (_FED_FORWARD,),
        when=_has("block.after_2"),
        symbols=("f f′",),
        wraps="norm({0})",
        fold=1,
        made_by=Norm,
        operands="block.after_2",
    ),
    Stage(
        "residual_2",
        "block",
        _QF,
        N_("residual 2"),
        "z = y + f",
        "+ y",
        (("norm_1", "residual_1"), ("ffn_normed", *_FED_FORWARD)),
        when=_has("block.residual", "block.feed_forward"),
        symbols=("y", "f f′"),
        wraps="{0:y} + {factor}{1}",
        fold=1,
        help=N_("The vectors after the attention plus the output of the feed-forward layer."),
        cites="residual",
        made_by=Sum,
        operands="block.residual_scale",
    ),
    Stage(
        "output",
        "read-out",
        _QF,
        N_("output"),
        "norm(z)",
        N_("norm"),
        (_RESULT,),
        when=_has("final_norm"),
        symbols=("z y o f o′ f′",),
        fold=12,
        help=N_("The output vectors of the layer, after its last norm."),
        made_by=Norm,
        operands="final_norm",
    ),
    Stage(
        "transform",
        "read-out",
        _QF,
        N_("transform"),
        "t = o W_T",
        "×W_T",
        (("output", *_RESULT),),
        when=_has("transform"),
        width=_of("logit_features"),
        symbols=("o",),
        fold=2,
        made_by=Linear,
        operands="vocabulary.transform.weights",
    ),
    Stage(
        "transform_hidden",
        "read-out",
        _QF,
        N_("transform hidden"),
        "h = act(t)",
        N_("act"),
        (("transform",),),
        when=_has("transform"),
        width=_of("logit_features"),
        symbols=("t",),
        fold=2,
        made_by=Activated,
        operands="vocabulary.transform.activation",
    ),
    Stage(
        "transform_normed",
        "read-out",
        _QF,
        N_("transform normed"),
        "norm(h)",
        N_("norm"),
        (("transform_hidden",),),
        when=_has("transform.norm"),
        width=_of("logit_features"),
        symbols=("h",),
        fold=2,
        made_by=Norm,
        operands="vocabulary.transform.norm",
    ),
    Stage(
        "logits",
        "read-out",
        _QV,
        N_("logits"),
        "l = o · eᵀ",
        "· eᵀ",
        ((*_TRANSFORMED, "output", *_RESULT), ("tokens_embedded",)),
        when=lambda layer: layer.readout != "none",
        symbols=("o h", "e"),
        fold=12,
        help=N_("One number for each possible next token, or class: the larger, the more probable."),
        made_by=Logits,
        operands="readout",
    ),
    Stage(
        "probabilities",
        "read-out",
        _QV,
        N_("probabilities"),
        "p = softmax(l)",
        "softmax",
        (("logits",),),
        when=_has("reads_distribution"),
        signed=False,
        has_sums=True,
        symbols=("l",),
        help=N_("The softmax of the logits: the probability of each next token, or class."),
        made_by=Normaliser,
        operands="softmax",
    ),
)

EMBEDDED = "tokens_embedded"

STAGE_BY_ID = {stage.id: stage for stage in STAGES}


def of_phase(*phases: Phase) -> tuple[str, ...]:
    """The stages of some phases, in data-flow order."""
    return tuple(stage for stage, row in STAGE_BY_ID.items() if row.phase in phases)


def made_by(operation: type[Operation], *phases: Phase) -> tuple[str, ...]:
    """The stages of some phases that an operation makes, in data-flow order."""
    return tuple(stage for stage in of_phase(*phases) if STAGE_BY_ID[stage].made_by is operation)


def since(first: str) -> tuple[str, ...]:
    """The score-shaped stages from `first` on: what a mask there has reached."""
    shaped = [stage for stage, row in STAGE_BY_ID.items() if row.score_shaped]
    return tuple(shaped[shaped.index(first) :])


def kept_for_later() -> tuple[str, ...]:
    """The stages, as they are made first, whose rows of earlier tokens a later token reads."""
    slots = [(row.id, slot) for row in STAGES for slot in row.made_by.kept]
    return tuple(dict.fromkeys(_possible(*slot)[-1] for slot in slots))


def as_read(name: str, present: Container[str]) -> str:
    """The stage of `name` (q, k or v) that scores and mixture read in a trace that has `present`."""
    for stage in _READ_AS[name]:
        if stage in present:
            return stage
    return ""


def _possible(reader: str, slot: int) -> tuple[str, ...]:
    """The stages that a slot of a stage can read, the latest first."""
    reads = STAGE_BY_ID[reader].reads[slot]
    stages = [row.id for row in STAGES if (row.phase == reads if isinstance(reads, str) else row.id in reads)]
    return tuple(reversed(stages))


_READ_AS = {"q": _possible("scores", 0), "k": _possible("scores", 1), "v": _possible("mixed", 1)}


@lru_cache(maxsize=1024)
def inputs(stage_id: str, present: tuple[str, ...]) -> tuple[str, ...]:
    """The stages that `stage_id` reads in a trace that has the stages `present`, in data-flow order.

    Cached: the highlight of a hovered cell needs the inputs of every stage in every picture.
    """
    before = present[: present.index(stage_id)] if stage_id in present else present
    row = STAGE_BY_ID[stage_id]
    sources = (row.input(slot, before) for slot in range(len(row.reads)))
    return tuple(source for source in sources if source)


def result_of(present: tuple[str, ...]) -> str:
    """The stage of a site that is the input of the next one, or of the reader."""
    return next(stage for stage in reversed(present) if stage in _RESULTS)


_RESULTS = frozenset(("output", *_RESULT))
