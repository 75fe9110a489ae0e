"""Floating-point operations of one site, from which those of a pass, a step or a whole decoding follow.

A multiplication and an addition count as two. Written for H query heads, G key/value heads of d features and
vectors of d_model features: a token's q and output                     2·d_model·H·d each; an identity costs
nothing a projected token's k and v                2·d_in·G·d each, d_in the width of their input a score pair
and query head                4·d + 5 (q·k, weight·v, softmax), with a latent 2·d_rope more a projected
token's latent                 2·d_in·(d_c + d_rope), and its norm a latent that is read
4·d_c·H·d a token's latent of the query              2·d_model·d_q, and its norm; q is then projected from d_q
features a token's norm of f features               5·f (layer) or 3·f (rms), and f each for gain and bias a
token's feed-forward layer               2·d_model·d_hidden for each of its 2 or 3 matrices, d_hidden for the
activation and, gated, as many for the product a token's gates
2·d_model for each, one for its sigmoid, and one for each feature of the heads; with differential
attention one more for each score pair and query head, and 4 for each feature of the heads a token's bias,
its residual connection    one for each feature
a token's logits                           2·d_model·V, V the vocabulary, and 5·V for the softmax; with a
transform 2·d_model² more, its bias, activation, norm Rotations, positions, QK norms and masks are not
counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from attnviz.model.operands.matrices import is_identity, output_tokens, transform_shape
from attnviz.model.spec.block import NORMS, FeedForward, Norm
from attnviz.model.spec.latent import LatentRole
from attnviz.model.spec.parts import Identity, Role
from attnviz.model.spec.site import Site

NORM_FLOPS = {"layer": 5, "rms": 3}
"""Operations for each feature of a norm: mean, difference, squares and their sum, quotient."""

SOFTMAX_FLOPS = 5
"""Operations for each score: maximum, difference, exponential, sum, quotient."""


@dataclass(frozen=True)
class SiteFlops:
    """FLOPs of one attention and its block for each kind of input.

    A token that passes through; one that keys and values are projected from; a latent that is read; a (query,
    key) pair, all heads together; a token with logits.
    """

    per_token: int
    per_projected: int
    per_read: int
    per_pair: int
    per_readout: int

    def of(self, tokens: int, projected: int, read: int, pairs: int, readouts: int) -> int:
        """All together."""
        return (
            tokens * self.per_token
            + projected * self.per_projected
            + read * self.per_read
            + pairs * self.per_pair
            + readouts * self.per_readout
        )


def site_flops(site: Site) -> SiteFlops:
    """The FLOPs of a site."""
    heads, d_model = site.heads, site.d_model
    is_different = site.differential is not None  # two operations for each two heads
    readout = 0
    if site.readout != "none":
        known = site.vocabulary
        read = d_model if known is None else known.logit_features(d_model)
        readout = (2 * read + SOFTMAX_FLOPS) * len(output_tokens(site)) + _transform(site)
    roles: tuple[Role, Role] = ("key", "value")
    per_projected = sum(_projection(site, role) for role in roles)
    if site.latent is not None:
        per_projected = _latent_product(site, "down") + _latent_product(site, "rope_key")
        per_projected += _normed(site.latent.norm, site.latent.d_c)
    return SiteFlops(
        per_token=_query(site) + _gate(site) + _pairs(site) + _projection(site, "output") + around(site),
        per_projected=per_projected,
        per_read=_latent_product(site, "up_key") + _latent_product(site, "up_value"),
        per_pair=heads.n_heads * (2 * site.d_qk + 2 * heads.d_head + SOFTMAX_FLOPS + is_different),
        per_readout=readout,
    )


def around(site: Site) -> int:
    """FLOPs of one token in everything around a site's attention: norms, residuals, feed-forward layer."""
    norms, widened = [site.final_norm], site.embedding_projection
    flops = _normed(site.embedding_norm, site.d_embedding)
    if widened is not None and site.place.begins:
        flops += 2 * site.d_embedding * site.d_model + (widened.bias is not None) * site.d_model
    if site.block is not None:
        norms += [getattr(site.block, name) for name in NORMS]
        ffn = site.block.feed_forward
        flops += 0 if ffn is None else feed_forward(ffn, site.d_model)
        per_feature = 1 if site.block.residual_scale == 1.0 else 2
        flops += site.block.residual * (1 if ffn is None else 2) * per_feature * site.d_model
    return flops + sum(_norm(norm, site.d_model) for norm in norms if norm is not None)


def feed_forward(ffn: FeedForward, d_model: int) -> int:
    """FLOPs of one token in a feed-forward layer."""
    flops = ffn.width * (2 if ffn.gated else 1) + ffn.width * ffn.n_weighted
    for role in ffn.roles:
        rows, columns = ffn.shape(role, d_model)
        if not (rows == columns and isinstance(getattr(ffn, role), Identity)):
            flops += 2 * rows * columns
        flops += columns * (getattr(ffn, f"{role}_bias") is not None)
    return flops


def _query(site: Site) -> int:
    """FLOPs of one token's query, and of its latent."""
    latent, flops = site.latent, _projection(site, "query")
    if latent is None or latent.d_q is None:
        return flops
    return flops + _latent_product(site, "query_down") + _normed(latent.query_norm, latent.d_q)


def _pairs(site: Site) -> int:
    """FLOPs of one token's norms of partner heads, and of their factor."""
    return (
        0 if site.differential is None else (NORM_FLOPS["rms"] + 1) * site.heads.n_heads * site.heads.d_head
    )


def _gate(site: Site) -> int:
    """FLOPs of one token's gates, of their sigmoids, and of the products with all features."""
    if site.gate is None:
        return 0
    rows, columns = site.gate.shape(site.d_model, site.heads)
    product = 0 if rows == columns and site.gate.weights.is_identity else 2 * rows * columns
    bias = columns * (site.gate.bias is not None)
    return product + bias + columns + site.heads.n_heads * site.heads.d_head


def _latent_product(site: Site, role: LatentRole) -> int:
    """FLOPs of one token's product with a matrix of the latent; 0 if it is unused."""
    latent = site.latent
    if latent is None or role not in latent.roles():
        return 0
    rows, columns = latent.shape(role, site.d_model, site.d_keys, site.heads)
    return 0 if rows == columns and isinstance(getattr(latent, role), Identity) else 2 * rows * columns


def _transform(site: Site) -> int:
    """FLOPs of one token in the transform before a vocabulary's matrix."""
    known = site.vocabulary
    if site.readout != "vocabulary" or known is None or known.transform is None:
        return 0
    transform = known.transform
    rows, columns = transform_shape(site)
    product = 0 if rows == columns and isinstance(transform.weights, Identity) else 2 * rows * columns
    return product + columns * (1 + (transform.bias is not None)) + _normed(transform.norm, columns)


def _normed(norm: Norm | None, features: int) -> int:
    return 0 if norm is None else _norm(norm, features)


def _norm(norm: Norm, features: int) -> int:
    return features * (NORM_FLOPS[norm.kind] + (norm.gain is not None) + (norm.bias is not None))


def _projection(site: Site, role: Role) -> int:
    """FLOPs of one token's product with one weight matrix, and of its bias."""
    rows, columns = site.projection_shape(role)
    bias = columns * (getattr(site.projections, f"{role}_bias") is not None)
    return bias if is_identity(site, role) else bias + 2 * rows * columns
