"""`Architecture`: the numbers of a transformer decoder that determine its cost, and nothing else.

Symbols, in this file and in every line of arithmetic: L layers, d_model features of a token, h query heads,
g key/value heads, d_head features of a head, d_ff width of the feed-forward layer, V entries of the
vocabulary, w keys of a window (including the query's own position, as in the published configurations), n
tokens of context, b sequences in a batch.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal, NamedTuple

from attnviz.errors import FieldError, Message, must_be, whole_number

Norm = Literal["layer", "rms"]


class Learned(NamedTuple):
    """Parameters beside the matrices: `label` is a message id, `counts` are summed."""

    label: str
    counts: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Latent:
    """Multi-head latent attention (DeepSeek-AI 2024, arXiv 2405.04434): K and V are projected from one
    latent.

    `d_c` is the width of the cached latent, `d_rope` that of the one rotated key that all heads share and
    that is cached too, an even number, as pairs rotate; a head's query and key have `d_nope` + `d_rope`
    features, its value `d_v`. `d_q_c` is the width of the query's own latent (0: queries are projected from
    x directly). `norm` and `q_norm` are the number of parameters per feature in the norms of the two: 1 is a
    gain, as in DeepSeek; 0 is none.
    """

    d_c: int
    d_rope: int
    d_nope: int
    d_v: int
    d_q_c: int = 0
    norm: int = 1
    q_norm: int = 1

    @classmethod
    def of_heads(cls, d_head: int) -> Latent:
        """The latent with the ratios of DeepSeek-V2 and V3, d_c = 4·d_head and d_rope = d_head/2, which is
        rounded down to an even number, 2 at least.
        """
        return cls(d_c=4 * d_head, d_rope=2 * max(d_head // 4, 1), d_nope=d_head, d_v=d_head)


@dataclass(frozen=True, kw_only=True)
class Experts:
    """Mixture of experts in place of the feed-forward layer, from layer `dense_layers` on.

    A token passes through `n_shared` experts and through `n_active` of the `n_routed`, each gated and
    `d_expert` wide. `router_bias` adds one number per routed expert (the load-balancing correction of
    DeepSeek-V3).
    """

    n_routed: int
    n_active: int
    n_shared: int
    d_expert: int
    dense_layers: int = 0
    router_bias: bool = False


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """Shapes of a decoder, from which this program counts parameters, FLOPs and bytes.

    Attributes:
        layers, d_model, n_heads, n_kv_heads, d_head: L, d_model, h, g, d_head.
        d_ff: Width of the feed-forward layer; 0 without one. `gated`: three matrices instead of two.
        vocabulary: V; 0 without an embedding. `tied`: the output head is the transposed embedding.
        biases: Whether each matrix of attention and feed-forward layer has one.
        norm, norms_per_layer: `layer` has a gain and a bias per feature, `rms` a gain. One more norm follows
            the last layer if a layer has any.
        n_positions: Rows of a learned position table.
        context: Tokens that the model was trained for, the initial value in the form; 1 is not known.
        window, windowed_layers: w, and how many of the L layers attend to w keys only.
        ahead: Number of later keys that a query attends to: 0 is causal, None all.
        latent: Set for MLA; g and d_head then do not determine the cache.
        gates: Gates on the outputs of all heads of a layer; 0 is none.
        d_key, d_value: Features of a head's query and key, and of its value, without a latent; 0 is d_head.
        experts: Set for a mixture of experts.
        n_memory, d_memory: Keys of a memory sequence (cross-attention) and the width of its vectors.
        identities, unlearned: Roles whose product costs nothing; roles without parameters of their own:
            `query`, `key`, `value`, `output`; of MLA `query_down`, `down`, `rope_key`, `up_key`, `up_value`;
            of the feed-forward layer `ffn_up`, `ffn_gate`, `ffn_down`.
        of_layer, of_stack: Parameters that the fields above do not count, those of each layer and those of
            the whole stack; with them, `biases`, `norm` and `n_positions` keep their defaults.
        transform: Whether a matrix precedes the output head, (d_model, d_embedding) where that is set.
        d_embedding: Features of a token's embedding if they are projected to d_model; 0 is d_model.
        logits: Entries that have logits; None is V.
        n_tokens: Tokens of an encoder's own sequence, which runs once; 0 is the requested n tokens.
        name: Names these attentions among several architectures; None if they are all.

    Raises:
        ValueError: a sentence with the field, its value, and the requirement.
    """

    layers: int
    d_model: int
    n_heads: int
    n_kv_heads: int
    d_head: int
    d_ff: int = 0
    gated: bool = False
    vocabulary: int = 0
    tied: bool = False
    biases: bool = False
    norm: Norm = "rms"
    norms_per_layer: int = 0
    n_positions: int = 0
    context: int = 1
    window: int = 0
    windowed_layers: int = 0
    ahead: int | None = 0
    latent: Latent | None = None
    gates: int = 0
    d_key: int = 0
    d_value: int = 0
    experts: Experts | None = None
    n_memory: int = 0
    d_memory: int = 0
    identities: tuple[str, ...] = ()
    unlearned: tuple[str, ...] = ()
    of_layer: tuple[Learned, ...] = ()
    of_stack: tuple[Learned, ...] = ()
    transform: bool = False
    d_embedding: int = 0
    logits: int | None = None
    n_tokens: int = 0
    name: Message | None = None

    def __post_init__(self) -> None:
        for part in (self, self.latent, self.experts):
            for field in fields(part) if part is not None else ():
                value = getattr(part, field.name)
                if isinstance(value, int) and value < 0:
                    raise FieldError(field.name, value, whole_number(0))
        for name in ("layers", "d_model", "n_heads", "n_kv_heads", "d_head", "context"):
            _require(getattr(self, name) >= 1, name, getattr(self, name), whole_number(1))
        divides = self.n_heads % self.n_kv_heads == 0
        _require(
            divides, "n_kv_heads", self.n_kv_heads, must_be("a divisor of n_heads ({n})", n=self.n_heads)
        )
        in_layers = must_be("at most {most} (layers)", most=self.layers)
        _require(self.windowed_layers <= self.layers, "windowed_layers", self.windowed_layers, in_layers)
        _require(self.window >= 1 or not self.windowed_layers, "window", self.window, whole_number(1))
        if self.latent is not None:
            d_rope = self.latent.d_rope
            _require(d_rope % 2 == 0, "latent.d_rope", d_rope, must_be("an even number"))
        if self.experts is not None:
            most, active = self.experts.n_routed, self.experts.n_active
            _require(active <= most, "n_active", active, must_be("at most {most} (n_routed)", most=most))
            dense = self.experts.dense_layers
            _require(dense <= self.layers, "dense_layers", dense, in_layers)

    @property
    def d_qk(self) -> int:
        """Features of one head's query, and of its key."""
        return self.d_key or self.d_head if self.latent is None else self.latent.d_nope + self.latent.d_rope

    @property
    def d_v(self) -> int:
        """Features of one head's value."""
        return self.d_value or self.d_head if self.latent is None else self.latent.d_v

    @property
    def full_layers(self) -> int:
        """Layers without a window."""
        return self.layers - self.windowed_layers

    @property
    def expert_layers(self) -> int:
        """Layers whose feed-forward is a mixture of experts."""
        return 0 if self.experts is None else self.layers - self.experts.dense_layers

    @property
    def ffn_matrices(self) -> tuple[str, ...]:
        """Roles of the feed-forward's matrices."""
        return ("ffn_up", "ffn_gate", "ffn_down") if self.gated else ("ffn_up", "ffn_down")

    def keys(self, n: int) -> int:
        """Number of keys for n tokens: the n themselves, or the memory's."""
        return self.n_memory or n


def _require(holds: bool, field: str, value: int, requirement: Message) -> None:
    if not holds:
        raise FieldError(field, value, requirement)


def band_pairs(n: int, left: int, right: int) -> int:
    """Count the (query, key) pairs of n tokens that attend to `left` earlier and `right` later keys and their
    own.

    n + Σ_{k=1..left} (n − k) + Σ_{k=1..right} (n − k), each sum ending at n − 1, in closed form: O(n ·
    window). Causal attention is `left` = n − 1, `right` = 0: n(n + 1)/2 pairs.
    """

    def side(reach: int) -> int:
        m = min(reach, n - 1)
        return m * n - m * (m + 1) // 2

    return n + side(left) + side(right) if n > 0 else 0


def pairs(architecture: Architecture, n: int, *, windowed: bool) -> int:
    """Count the pairs that one head of one layer computes for n tokens: those that causality and the window
    allow.
    """
    if architecture.n_memory:
        return n * architecture.n_memory
    right = n - 1 if architecture.ahead is None else architecture.ahead
    return band_pairs(n, architecture.window - 1 if windowed else n - 1, right)
