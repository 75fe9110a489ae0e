"""A mixer, and an attention with what stands around it: everything that one layer has of its own."""

from __future__ import annotations

import math
from typing import Annotated

from attnviz.errors import FieldError, Message, must_be
from attnviz.i18n import N_
from attnviz.model.spec.block import Block, FeedForward
from attnviz.model.spec.differential import Differential
from attnviz.model.spec.edit import FROM_LATENT, Edit
from attnviz.model.spec.field import Field, Index
from attnviz.model.spec.gate import Gate
from attnviz.model.spec.latent import Latent, check_beside
from attnviz.model.spec.parts import (
    LEAST_FLOAT32,
    AdditiveMask,
    Dropout,
    FullyMaskedRow,
    Heads,
    Mask,
    MaskPlacement,
    NoPosition,
    Normaliser,
    Position,
    PositionTemperature,
    Projections,
    QKNorm,
    Scale,
    Sinks,
    SqrtDHead,
    check_kinds_once,
)
from attnviz.model.spec.value import Refusal, Value, refuse, require

USUAL_CAP = 30.0
FINITE_SCALE = Message("must leave the scale divided by it finite")


class Mixer(Value, frozen=True, kw_only=True):
    """The mixer of an attention: of the fields of `Attention`, those that no other part of a layer has."""

    heads: Annotated[
        Heads,
        Field(N_("Heads"), N_("Number and width of the heads, and which of them share keys and values")),
    ] = Heads()
    projections: Annotated[
        Projections,
        Field(N_("Projections"), N_("Matrices that compute queries, keys, values and the output")),
    ] = Projections()
    latent: Annotated[
        Latent | None,
        Field(N_("latent"), N_("Computes every head's keys and values from one cached latent")),
    ] = None
    qk_norm: Annotated[QKNorm | None, Field(N_("QK-norm"), N_("Normalises each head's queries and keys"))] = (
        None
    )
    position: Annotated[Position, Field(N_("Position"), N_("Encoding of the positions of the tokens"))] = (
        NoPosition()
    )
    query_offset: Annotated[
        Index, Field(N_("Query offset"), N_("Query i stands at position offset + i; keys begin at 0"))
    ] = 0
    scale: Annotated[Scale, Field(N_("Scale 1/√d"), N_("Factor of the scores"))] = SqrtDHead()
    temperature: Annotated[
        float,
        Field(
            N_("Temperature"),
            N_("Divides the scores: high values flatten the weights, low values sharpen them"),
            above=0,
            usual=(0.05, 20),
            typed=(1e-6, 1e6),
            logarithmic=True,
        ),
    ] = 1.0
    position_temperature: Annotated[
        PositionTemperature | None,
        Field(
            N_("Temperature by position"),
            N_("Multiplies queries by a factor that grows with their position, as in Llama 4"),
        ),
    ] = None
    cap: Annotated[
        float | None,
        Field(
            N_("Soft cap"),
            N_("cap · tanh(score ÷ cap): bounds every score by the cap"),
            above=0,
            usual=(0.1, 100),
            typed=(1e-6, 1e6),
            logarithmic=True,
            normal=USUAL_CAP,
        ),
    ] = None
    additive_mask: Annotated[
        AdditiveMask | None,
        Field(N_("Additive mask"), N_("Adds a table of free numbers to the scores; −∞ blocks a key")),
    ] = None
    masks: Annotated[tuple[Mask, ...], Field(N_("Mask"), N_("Kinds of masks, each once"))] = ()
    mask_placement: Annotated[
        MaskPlacement,
        Field(
            N_("Mask placement"),
            N_("The mask applies before or after the softmax"),
            options=(
                (
                    "before_softmax",
                    N_("before softmax"),
                    N_("Blocked scores are −∞ before the softmax: rows sum to 1"),
                ),
                ("after_softmax", N_("after"), N_("Blocked weights are 0 after it: rows no longer sum to 1")),
            ),
        ),
    ] = "before_softmax"
    mask_bias: Annotated[
        float | None,
        Field(
            N_("Mask bias"),
            N_("−10,000 is usual; in half precision it rounds scores to steps of 8"),
            least=LEAST_FLOAT32,
            below=0,
            rule=must_be(
                "a negative number of at least {least}, the least in float32, or null", least=LEAST_FLOAT32
            ),
            step=1.0,
            typed=(-1e9, -0.01),
        ),
    ] = None
    fully_masked_row: Annotated[
        FullyMaskedRow,
        Field(
            N_("Fully masked rows"),
            N_("Weights of a query without keys"),
            options=(
                ("zeros", N_("zeros"), N_("Fully masked rows get weights of 0")),
                ("nan", "NaN", N_("Fully masked rows become NaN (0 ÷ 0)")),
            ),
        ),
    ] = "zeros"
    normaliser: Annotated[
        Normaliser, Field(N_("Weights"), N_("Function that computes weights from scores"))
    ] = "softmax"
    sinks: Annotated[
        Sinks | None,
        Field(
            N_("Attention sinks"),
            N_("Adds one score per head without a value; it takes a share of the softmax"),
        ),
    ] = None
    dropout: Annotated[Dropout, Field(N_("Dropout"), N_("Sets weights to 0 at random, as in training"))] = (
        Dropout()
    )
    differential: Annotated[
        Differential | None,
        Field(
            N_("Differential"),
            N_("Subtracts λ times the weights of a partner head, and normalises the two together"),
        ),
    ] = None
    gate: Annotated[
        Gate | None,
        Field(N_("Output gate"), N_("Multiplies each head's output by a learned sigmoid")),
    ] = None

    @property
    def d_qk(self) -> int:
        """Features of one head's query, and of its key: d_head, and d_rope more beside a latent's content."""
        return self.heads.d_head + (0 if self.latent is None else self.latent.d_rope)

    @property
    def d_turnable(self) -> int:
        """Features of a query or key head that RoPE may rotate."""
        return self.heads.d_head if self.latent is None else self.latent.d_rope

    @property
    def adds_to_blocked(self) -> bool:
        """True if a mask bias is added to blocked scores, so that no weight is exactly 0."""
        return self.mask_bias is not None and self.mask_placement == "before_softmax"

    def check(self) -> None:
        check_kinds_once("masks", self.masks)
        if self.latent is not None:
            check_beside(self.latent, self.heads, self.projections, self.qk_norm, self.position)
        if self.additive_mask is not None:
            self.additive_mask.check_heads(self.heads.n_heads)
        if self.differential is not None:
            refuse(heads_beside_differential(self.heads))
        if self.sinks is not None:
            refuse(normaliser_beside_sinks(self.normaliser))
        # The engines multiply by this quotient: an infinite one would make NaN of a score of 0.
        is_finite = math.isfinite(self.scale.factor(1) / self.temperature)
        require(is_finite, "temperature", self.temperature, FINITE_SCALE)


class Attention(Mixer, frozen=True, kw_only=True):
    """One attention, apart from the sequences that it reads.

    Attributes:
        heads: `n_heads` h, `n_kv_heads` g (a divisor of h), `d_head`.
        projections: W_Q (d_model, h·d_head), W_K and W_V (features of z, g·d_head), W_O (h·d_head, d_model),
            and their biases. With a latent W_Q has h·(d_head + d_rope) output features; W_K and W_V are not
            used.
        latent: None, or the small vector of each token from which keys and values are projected instead of z.
        qk_norm: None, or rms, layer or l2 of each head's q and k, before any rotation; see `NORM_KINDS`.
        position: None, sinusoidal, learned, RoPE, ALiBi, T5, Transformer-XL or DeBERTa; see `POSITIONS`.
        query_offset: Query i stands at position `query_offset` + i, for masks, rotations and biases; key j at
            j. Over a memory of m tokens whose last n are the queries it is m − n (chunked prefill).
        scale: Scores times 1/sqrt(features of a query), 1, or a number.
        temperature: Scores are divided by it; above 0.
        position_temperature: None, or factors of the queries that grow with their positions.
        cap: None, or c > 0 for c · tanh(s / c).
        additive_mask: None, or free numbers and −∞ that are added to the scores before the masks.
        masks: Each kind once; a cell that any of them blocks is blocked. `AnyOf` joins masks by "or".
        mask_placement: Before the softmax, or after it (rows then sum to less than one).
        mask_bias: None: blocked scores are -inf. Else this negative number is *added* to them, before the
            softmax, as in many implementations: no weight is exactly 0, and a fully masked row has the
            softmax of its own scores.
        fully_masked_row: The weights of a query without keys: zeros, or NaN as in IEEE arithmetic.
        normaliser: The function from scores to weights: `softmax`, `sigmoid` or `relu_squared`; see
        `NORMALISERS`.
        sinks: None, or a logit for each head that takes a share of the softmax and has no value.
        dropout: On the weights, from a seed.
        differential: None, or the weights of a head minus those of its partner; see `Differential`. The
            number of heads is then even.
        gate: None, or a gate on the output of each head, before they are joined; see `Gate`.
        block: None for the attention alone, or norms, residual connections and a feed-forward layer.
        edits: Cells and rows of its stages that are edited by hand, in the order in which they apply.
    """

    block: Annotated[
        Block | None,
        Field(N_("Transformer block"), N_("Norms, residual connections and a feed-forward layer")),
    ] = None
    edits: Annotated[
        tuple[Edit, ...],
        Field(N_("Numbers by hand"), N_("Cells and rows of stages that are set, added to or multiplied")),
    ] = ()

    def check(self) -> None:
        super().check()
        if self.latent is not None:
            refuse(edits_beside_latent(self.edits))


def heads_beside_differential(heads: Heads) -> Refusal:
    """The refusal of a number of heads that has no partners, with differential attention."""
    if heads.n_heads % 2 == 0:
        return None
    return FieldError("heads.n_heads", heads.n_heads, must_be("even with differential attention"))


def normaliser_beside_sinks(normaliser: Normaliser) -> Refusal:
    """The refusal of a function from scores to weights in which sinks have no part."""
    if normaliser == "softmax":
        return None
    return FieldError("normaliser", normaliser, must_be("'softmax' with attention sinks"))


def edits_beside_latent(edits: tuple[Edit, ...]) -> Refusal:
    """The refusal of a number by hand in a stage that every step computes anew from the latent."""
    for index, edit in enumerate(edits):
        if edit.stage in FROM_LATENT:
            from_latent = must_be("'latent' or 'rope_key', from which every step computes keys and values")
            return FieldError(f"edits[{index}].stage", edit.stage, from_latent)
    return None


def feed_forward_beside_cross(feed_forward: FeedForward | None) -> Refusal:
    """The refusal of a feed-forward layer between a layer's own attention and the one to the memory."""
    if feed_forward is None:
        return None
    behind = must_be("null in a layer with cross-attention, which has the feed-forward layer")
    return FieldError("block.feed_forward", feed_forward, behind)


class Layer(Attention, frozen=True, kw_only=True):
    """One layer: an attention and its block, and after it, perhaps, a second one that reads the memory.

    `cross` is null, or an attention of the layer's tokens to the memory, between the layer's own and its
    feed-forward layer: the feed-forward layer is then `cross.block`'s (Vaswani et al. 2017, figure 1, right).
    """

    cross: Annotated[
        Attention | None,
        Field(
            N_("Self- and cross-attention"),
            N_("Every layer attends to its own tokens first, then to the memory sequence"),
        ),
    ] = None

    def check(self) -> None:
        super().check()
        if self.cross is not None and self.block is not None:
            refuse(feed_forward_beside_cross(self.block.feed_forward))
