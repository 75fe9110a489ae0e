"""What one decoding step costs with a cache of keys and values, and without one: exact counts.

Written for one attention of one layer, step t counted from 1, H query heads, G key/value heads of d features,
vectors of d_model features, `itemsize` bytes a number; a row is the K and V of one position, 2·G·d numbers.
All sites are added up.

Self-attention at step t                 with a cache            without (all t tokens again)
    K/V projections, in tokens           1                       t
    score pairs (query, key), per head   t                       t(t+1)/2
    rows written                         1                       t
    rows read                            t                       t
    rows held after the step             t                       0

Cross-attention over M memory tokens, cached before step 1 and counted there
    K/V projections, in tokens           M at step 1, then 0     M
    score pairs (query, key), per head   M                       t·M
    rows written                         M at step 1, then 0     M
    rows read                            M                       M
    rows held after the step             M                       0

An encoder runs once, at step 1, with or without a cache: for each of its sites M projections, M² pairs, M
rows written and read, none held.

With a latent a row is the latent and the RoPE key, d_c + d_rope numbers; it is projected once, and keys and
values of all heads are made of every row that is read, at every step: not the absorbed form, which is
counted by `core.cost_flops`.

Bytes are the numbers of all rows times itemsize. FLOPs count a multiplication and an addition as two:
    a token's q and output                     2·d_model·H·d each; an identity costs nothing
    a projected token's k and v                2·d_in·G·d each, d_in the width of what they are made from
    a score pair and query head                4·d + 5 (q·k, weight·v, softmax), with a latent 2·d_rope more
    a projected token's latent                 2·d_in·(d_c + d_rope), and its norm
    a latent that is read                      4·d_c·H·d
    a token's latent of the query              2·d_model·d_q, and its norm; q is then made from d_q features
    a token's norm of f features               5·f (layer) or 3·f (rms), and f each for gain and bias
    a token's feed-forward layer               2·d_model·d_hidden for each of its 2 or 3 matrices, d_hidden
                                               for the activation and, gated, as many for the product
    a token's bias, its residual connection    one for each feature
    the logits of the last token               2·d_model·V, V the vocabulary, and 5·V for the softmax
Rotations, positions, QK norms and masks are not counted. Pairs that the causal mask blocks are not counted: a
kernel that computes them in order to throw them away does t² instead of t(t+1)/2. Over T steps, without a
cache, the pairs come to T(T+1)(T+2)/6 and the projections to T(T+1)/2, per layer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from attnviz.model.block_parts import NORMS, FeedForward, Norm
from attnviz.model.experiment import Experiment
from attnviz.model.latent import cached_numbers
from attnviz.model.latent_parts import LatentRole
from attnviz.model.materialise import is_identity, output_tokens
from attnviz.model.parts import Identity, Role
from attnviz.model.sites import at, places

NORM_FLOPS = {"layer": 5, "rms": 3}
"""Operations for each feature of a norm: mean, difference, squares and their sum, quotient."""

SOFTMAX_FLOPS = 5
"""Operations for each score: maximum, difference, exponential, sum, quotient."""


@dataclass(frozen=True)
class Cost:
    """Counts of one step, or of several added up (`bytes_held` is then that of the last)."""

    kv_projections: int = 0
    score_pairs: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    """Appended to the cache or, without one, made again."""
    bytes_held: int = 0
    flops: int = 0

    @property
    def bytes_moved(self) -> int:
        """Bytes of keys and values read and written."""
        return self.bytes_read + self.bytes_written

    def then(self, later: Cost) -> Cost:
        """This and a later step together."""
        return Cost(
            self.kv_projections + later.kv_projections,
            self.score_pairs + later.score_pairs,
            self.bytes_read + later.bytes_read,
            self.bytes_written + later.bytes_written,
            later.bytes_held,
            self.flops + later.flops,
        )

    def beside(self, other: Cost) -> Cost:
        """This and what another site does in the same step."""
        return replace(self.then(other), bytes_held=self.bytes_held + other.bytes_held)


@dataclass(frozen=True)
class _SiteCost:
    """The numbers of one site that its counts follow from: pairs and tokens only have to be multiplied."""

    memory: int | None
    """Memory tokens where those are read, else None."""
    is_encoder: bool
    row: int
    """Bytes of the K and V of one position."""
    per_token: int
    per_projected: int
    per_read: int
    per_pair: int
    per_readout: int

    def step(self, t: int) -> tuple[Cost, Cost]:
        """(with a cache, without one) of step t, counted from 1."""
        m = self.memory
        if self.is_encoder:
            assert m is not None
            once = self._cost(m, m, m * m, m, m, 0) if t == 1 else Cost()
            return once, once
        if m is None:
            return self._cost(1, 1, t, t, 1, t), self._cost(t, t, t * (t + 1) // 2, t, t, 0)
        new = m if t == 1 else 0
        return self._cost(1, new, m, m, new, m), self._cost(t, m, t * m, m, m, 0)

    def _cost(self, tokens: int, projected: int, pairs: int, read: int, written: int, held: int) -> Cost:
        flops = tokens * self.per_token + projected * self.per_projected + pairs * self.per_pair
        flops += read * self.per_read
        row = self.row
        return Cost(projected, pairs, read * row, written * row, held * row, flops + self.per_readout)


class StepCosts:
    """The counts of every step of one decoding; `itemsize` are the bytes of a number."""

    def __init__(self, experiment: Experiment, itemsize: int) -> None:
        self._sites = []
        for place in places(experiment):
            site = at(experiment, place.name)
            is_encoder = place.stack == "encoder"
            memory = site.n_keys if is_encoder or site.memory is not None else None
            self._sites.append(_site_cost(site, memory, is_encoder, itemsize))

    def step(self, index: int) -> tuple[Cost, Cost]:
        """(with a cache, without one) of step `index`, counted from 0; formulas above."""
        cached, uncached = self._sites[0].step(index + 1)
        for site in self._sites[1:]:
            more_cached, more_uncached = site.step(index + 1)
            cached, uncached = cached.beside(more_cached), uncached.beside(more_uncached)
        return cached, uncached


def step_costs(experiment: Experiment, step: int, itemsize: int) -> tuple[Cost, Cost]:
    """(with a cache, without one) of decoding step `step`, counted from 0; formulas above."""
    return StepCosts(experiment, itemsize).step(step)


def _site_cost(site: Experiment, memory: int | None, is_encoder: bool, itemsize: int) -> _SiteCost:
    heads, d_model = site.heads, site.d_model
    readout = 0
    if site.readout != "none":
        readout = (2 * d_model + SOFTMAX_FLOPS) * len(output_tokens(site))
    roles: tuple[Role, Role] = ("key", "value")
    per_projected = sum(_projection(site, role) for role in roles)
    if site.latent is not None:
        per_projected = _latent_product(site, "down") + _latent_product(site, "rope_key")
        per_projected += _normed(site.latent.norm, site.latent.d_c)
    return _SiteCost(
        memory,
        is_encoder,
        row=cached_numbers(site) * itemsize,
        per_token=_query(site) + _projection(site, "output") + around(site),
        per_projected=per_projected,
        per_read=_latent_product(site, "up_key") + _latent_product(site, "up_value"),
        per_pair=heads.n_heads * (2 * site.d_qk + 2 * heads.d_head + SOFTMAX_FLOPS),
        per_readout=readout,
    )


def around(site: Experiment) -> int:
    """FLOPs of one token in everything around a site's attention: norms, residuals, feed-forward layer."""
    norms = [site.embedding_norm, site.final_norm]
    flops = 0
    if site.block is not None:
        norms += [getattr(site.block, name) for name in NORMS]
        ffn = site.block.feed_forward
        flops += 0 if ffn is None else feed_forward(ffn, site.d_model)
        flops += site.block.residual * (1 if ffn is None else 2) * site.d_model
    return flops + sum(_norm(norm, site.d_model) for norm in norms if norm is not None)


def feed_forward(ffn: FeedForward, d_model: int) -> int:
    """FLOPs of one token in a feed-forward layer."""
    flops = ffn.d_hidden * (2 if ffn.gated else 1)
    for role in ("up", "down", *(("gate",) if ffn.gated else ())):
        rows, columns = ffn.shape(role, d_model)  # type: ignore[arg-type]
        if not (rows == columns and isinstance(getattr(ffn, role), Identity)):
            flops += 2 * rows * columns
        flops += columns * (getattr(ffn, f"{role}_bias") is not None)
    return flops


def _query(site: Experiment) -> int:
    """FLOPs of one token's query, and of the latent that it is made from."""
    latent, flops = site.latent, _projection(site, "query")
    if latent is None or latent.d_q is None:
        return flops
    return flops + _latent_product(site, "query_down") + _normed(latent.query_norm, latent.d_q)


def _latent_product(site: Experiment, role: LatentRole) -> int:
    """FLOPs of one token's product with a matrix of the latent; 0 where it is not used."""
    latent = site.latent
    if latent is None or role not in latent.roles():
        return 0
    rows, columns = latent.shape(role, site.d_model, site.d_keys, site.heads)
    return 0 if rows == columns and isinstance(getattr(latent, role), Identity) else 2 * rows * columns


def _normed(norm: Norm | None, features: int) -> int:
    return 0 if norm is None else _norm(norm, features)


def _norm(norm: Norm, features: int) -> int:
    return features * (NORM_FLOPS[norm.kind] + (norm.gain is not None) + (norm.bias is not None))


def _projection(site: Experiment, role: Role) -> int:
    """FLOPs of one token's product with one weight matrix, and of its bias."""
    rows, columns = site.projection_shape(role)
    bias = columns * (getattr(site.projections, f"{role}_bias") is not None)
    return bias if is_identity(site, role) else bias + 2 * rows * columns
