"""Multi-head latent attention: keys and values projected from one small vector of each token, which is
cached.

DeepSeek-AI 2024 (DeepSeek-V2, arXiv 2405.04434), section 2.1. With x the token's vector, z the input of keys
(x, or the memory), and per head i

    c  = norm(z W_down)        kR = z W_rope_key            c_q = norm(x W_query_down), or x itself
    q_i = c_q W_Q,i            k_i = [c W_up_key,i ; kR]    v_i = c W_up_value,i

RoPE rotates the last d_rope features of q_i, and kR, which all heads share. The cache of a token is c and the
rotated kR: d_c + d_rope numbers, for any number of heads.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from attnviz.errors import FieldError, FieldName, Message, must_be, size
from attnviz.i18n import N_
from attnviz.model.spec.block import Norm, Weights
from attnviz.model.spec.field import Field, Index, Positive
from attnviz.model.spec.parts import Heads, Position, Projections, QKNorm, Role, Seeded
from attnviz.model.spec.value import Refusal, Value, check_drawn, refuse, require

LatentRole = Literal["down", "up_key", "up_value", "rope_key", "query_down"]
LATENT_ROLES: tuple[LatentRole, ...] = ("down", "up_key", "up_value", "rope_key", "query_down")

TIED_BESIDE_LATENT = must_be("'query' or 'output' with a latent, which replaces W_K and W_V")


class Latent(Value, frozen=True):
    """The widths of the latents, their norms, and the matrices into and out of them.

    Attributes:
        d_c: Features of the latent of keys and values.
        d_q: Features of the query's own latent; null: queries are projected from the token vectors.
        d_rope: Features beside the content of each query and key, an even number. The key's are the same in
            every head; RoPE rotates these and no others. 0: none.
        norm, query_norm: Null, or the norm of the latent and of the query's.
        down: (features of z, d_c). `up_key`, `up_value`: (d_c, h·d_head), heads side by side.
        rope_key: (features of z, d_rope). `query_down`: (d_model, d_q). W_Q is `projections.query`, (d_q or
            d_model, h·(d_head + d_rope)), in each head the content first.
    """

    where: ClassVar[str] = "latent."

    d_c: Annotated[
        Positive,
        Field(
            "d_c",
            N_("Width of the cached latent from which keys and values are computed"),
            usual=(1, 64),
            typed=(1, 4096),
            digits=0,
        ),
    ]
    d_q: Annotated[
        Positive | None,
        Field("d_q", N_("Width of the query latent"), usual=(1, 64), typed=(1, 4096), digits=0),
    ] = None
    d_rope: Annotated[
        Index,
        Field(
            "d_rope",
            N_("Rotated features of each head beside the content; all heads share those of the key"),
            even=True,
            usual=(0, 64),
            typed=(0, 4096),
            digits=0,
        ),
    ] = 0
    norm: Annotated[
        Norm | None, Field(N_("norm of c"), N_("The norm of the latent; the cache holds its output"))
    ] = None
    query_norm: Annotated[Norm | None, Field(N_("norm of c_Q"), N_("The norm of the query latent"))] = None
    down: Annotated[Weights, Field("W_DKV", N_("Source of the matrix that computes the latent"))] = Seeded(10)
    up_key: Annotated[
        Weights, Field("W_UK", N_("Source of the matrix that computes the keys from the latent"))
    ] = Seeded(11)
    up_value: Annotated[
        Weights, Field("W_UV", N_("Source of the matrix that computes the values from the latent"))
    ] = Seeded(12)
    rope_key: Annotated[
        Weights, Field("W_KR", N_("Source of the matrix that computes the rotated features of the keys"))
    ] = Seeded(13)
    query_down: Annotated[
        Weights, Field("W_DQ", N_("Source of the matrix that computes the query latent"))
    ] = Seeded(14)

    def check(self) -> None:
        if self.d_q is None:
            needs = Message("needs {field}", field=FieldName("latent.d_q"))
            require(self.query_norm is None, "latent.query_norm", self.d_q, needs)

    def roles(self) -> tuple[LatentRole, ...]:
        """The matrices that are used."""
        absent = {"rope_key": not self.d_rope, "query_down": self.d_q is None}
        return tuple(role for role in LATENT_ROLES if not absent.get(role, False))

    def shape(self, role: LatentRole, d_model: int, d_keys: int, heads: Heads) -> tuple[int, int]:
        """(in, out) of one matrix; `d_keys` are the features of the input of keys."""
        d_heads = heads.n_heads * heads.d_head
        shapes = {
            "down": (d_keys, self.d_c),
            "up_key": (self.d_c, d_heads),
            "up_value": (self.d_c, d_heads),
            "rope_key": (d_keys, self.d_rope),
            "query_down": (d_model, self.d_q or 0),
        }
        return shapes[role]

    def check_size(self, d_model: int, d_keys: int, heads: Heads) -> None:
        """Refuse matrices and gains that do not fit these sequences and heads."""
        for role in self.roles():
            shape, source = self.shape(role, d_model, d_keys, heads), getattr(self, role)
            check_drawn(f"latent.{role}", shape)
            if source.written is not None:
                fitting = must_be("{shape} (in x out) for these vectors, heads and widths", shape=size(shape))
                source.check_shape(f"latent.{role}", shape, fitting)
        for name, features in (("norm", self.d_c), ("query_norm", self.d_q)):
            norm = getattr(self, name)
            if norm is not None and features is not None:
                norm.check_size(f"latent.{name}", features)


def check_beside(
    latent: Latent, heads: Heads, projections: Projections, qk_norm: QKNorm | None, position: Position
) -> None:
    """Raise for settings of an attention that exclude keys and values from a latent."""
    refuse(kv_heads_beside_latent(heads.n_kv_heads, heads.n_heads) or qk_norm_beside_latent(qk_norm))
    for role in ("key", "value"):
        source = getattr(projections, role)
        kind = source.__struct_config__.tag
        identity = must_be("'identity' with a latent, from which keys and values are computed")
        require(source.is_identity, f"projections.{role}.kind", kind, identity)
        bias = getattr(projections, f"{role}_bias")
        require(bias is None, f"projections.{role}_bias", bias, must_be("null with a latent"))
    used: tuple[Role, Role] = ("query", "output")
    for role in used:
        refuse(tie_beside_latent(role, projections.tied_to(role)))
    refuse(position.beside_latent(latent.d_rope))


def kv_heads_beside_latent(n_kv_heads: int, n_heads: int) -> Refusal:
    """The refusal of shared keys and values from a latent."""
    if n_kv_heads == n_heads:
        return None
    every_head = must_be(
        "n_heads ({n}) with a latent, from which every head has its own keys and values", n=n_heads
    )
    return FieldError("heads.n_kv_heads", n_kv_heads, every_head)


def qk_norm_beside_latent(qk_norm: QKNorm | None) -> Refusal:
    """The refusal of a norm of queries and keys beside a latent."""
    if qk_norm is None:
        return None
    no_norm = must_be("null with a latent, which is normalised instead of queries and keys")
    return FieldError("qk_norm", qk_norm, no_norm)


def tie_beside_latent(role: Role, to: Role | None) -> Refusal:
    """The refusal of a tie of W_Q or W_O to a matrix that a latent replaces."""
    is_replaced = to in ("key", "value")
    return FieldError(f"projections.{role}.to", to, TIED_BESIDE_LATENT) if is_replaced else None
