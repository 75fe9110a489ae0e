"""One attention and what stands around it: everything that one layer has of its own."""

from __future__ import annotations

import math

from attnviz.errors import POSITIVE, POSITIVE_OR_NULL, must_be
from attnviz.model.spec.block import Block
from attnviz.model.spec.latent import Latent, check_beside
from attnviz.model.spec.parts import (
    Dropout,
    FullyMaskedRow,
    Heads,
    Mask,
    MaskPlacement,
    NoPosition,
    Normaliser,
    Position,
    Projections,
    QKNorm,
    Scale,
    Sinks,
    SqrtDHead,
    check_kinds_once,
)
from attnviz.model.spec.value import Value, require

LEAST_FLOAT32 = -3.4028234663852886e38


class Attention(Value, frozen=True, kw_only=True):
    """One attention, apart from the sequences that it reads.

    Attributes:
        heads: `n_heads` h, `n_kv_heads` g (a divisor of h), `d_head`.
        projections: W_Q (d_model, h·d_head), W_K and W_V (features of z, g·d_head), W_O (h·d_head, d_model),
            and their biases. With a latent W_Q makes h·(d_head + d_rope) features; W_K and W_V are not used.
        latent: None, or what keys and values are made from instead of z: a small vector of each token.
        qk_norm: None, or rms, layer or l2 of each head's q and k, before any rotation; see `QK_NORMS`.
        position: None, sinusoidal, learned, RoPE, ALiBi, T5, Transformer-XL or DeBERTa; see `POSITIONS`.
        scale: Scores times 1/sqrt(features of a query), 1, or a number.
        temperature: Scores are divided by it; above 0.
        cap: None, or c > 0 for c · tanh(s / c).
        masks: Each kind once; a cell that any of them blocks is blocked. `AnyOf` joins masks by "or".
        mask_placement: Before the softmax, or after it (rows then sum to less than one).
        mask_bias: None: blocked scores are -inf. Else this negative number is *added* to them, before the
            softmax, as many implementations have it: nothing is taken away, and a row whose keys are all
            blocked has the softmax of its own scores.
        fully_masked_row: The weights of a query without keys: zeros, or NaN as IEEE arithmetic has it.
        normaliser: What makes scores weights: `softmax`, `sigmoid` or `relu_squared`; see `NORMALISERS`.
        sinks: None, or a logit for each head that takes a share of the softmax and has no value.
        dropout: On the weights, from a seed.
        block: None for the attention alone, or norms, residual connections and a feed-forward layer.
    """

    heads: Heads = Heads()
    projections: Projections = Projections()
    latent: Latent | None = None
    qk_norm: QKNorm | None = None
    position: Position = NoPosition()
    scale: Scale = SqrtDHead()
    temperature: float = 1.0
    cap: float | None = None
    masks: tuple[Mask, ...] = ()
    mask_placement: MaskPlacement = "before_softmax"
    mask_bias: float | None = None
    fully_masked_row: FullyMaskedRow = "zeros"
    normaliser: Normaliser = "softmax"
    sinks: Sinks | None = None
    dropout: Dropout = Dropout()
    block: Block | None = None

    @property
    def d_qk(self) -> int:
        """Features of one head's query, and of its key: d_head, and d_rope more beside a latent's content."""
        return self.heads.d_head + (0 if self.latent is None else self.latent.d_rope)

    @property
    def d_turnable(self) -> int:
        """Features of a query or key head that RoPE may turn."""
        return self.heads.d_head if self.latent is None else self.latent.d_rope

    @property
    def adds_to_blocked(self) -> bool:
        """Whether blocked scores are lowered by a number, so that nothing is really taken away."""
        return self.mask_bias is not None and self.mask_placement == "before_softmax"

    def check(self) -> None:
        is_positive = math.isfinite(self.temperature) and self.temperature > 0
        require(is_positive, "temperature", self.temperature, POSITIVE)
        if self.cap is not None:
            require(math.isfinite(self.cap) and self.cap > 0, "cap", self.cap, POSITIVE_OR_NULL)
        if self.mask_bias is not None:
            negative = must_be(
                "a negative number of at least {least}, the least in float32, or null", least=LEAST_FLOAT32
            )
            require(LEAST_FLOAT32 <= self.mask_bias < 0, "mask_bias", self.mask_bias, negative)
        check_kinds_once("masks", self.masks)
        if self.latent is not None:
            check_beside(self.latent, self.heads, self.projections, self.qk_norm, self.position)
        if self.sinks is not None:
            softmax = must_be("'softmax' with attention sinks")
            require(self.normaliser == "softmax", "normaliser", self.normaliser, softmax)


class Layer(Attention, frozen=True, kw_only=True):
    """One layer: an attention and its block, and after it, perhaps, a second one that reads the memory.

    `cross` is null, or an attention of the layer's tokens to the memory, between the layer's own and its
    feed-forward layer: the feed-forward layer is then `cross.block`'s (Vaswani et al. 2017, figure 1, right).
    """

    cross: Attention | None = None

    def check(self) -> None:
        super().check()
        if self.cross is not None and self.block is not None:
            behind = must_be("null in a layer with cross-attention, which has the feed-forward layer")
            require(self.block.feed_forward is None, "block.feed_forward", self.block.feed_forward, behind)
