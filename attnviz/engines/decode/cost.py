"""Cost of one decoding step with a cache of keys and values, and without one: exact counts.

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

The prefill reads its tokens in one pass, with a cache as without: the counts above for self-attention at step
t become 1 projection, t pairs, 1 row written and 1 read for the t-th of them, because the pass projects and
reads every row once; all its rows are held from the first token on. A cache that evicts rows during the
prefill is read by every token in its turn: n(t) rows. The rows of a memory are projected and read once, by
the first token.

Of a cache that keeps fewer positions, n(t) of the t, the pairs with it and the rows read are n(t); the rows
held are the allocated slots, `model.caches.capacity`. A quantised cache's rows have fewer bytes,
`core.quantise.quantised_bytes`; quantising and dequantising are not counted.

An encoder runs once, at step 1, with or without a cache: for each of its sites M projections, M² pairs, M
rows written and read, none held.

With a latent a row is the latent and the RoPE key, d_c + d_rope numbers; it is projected once, and keys and
values of all heads are projected from every row that is read, at every step: not the absorbed form, which is
counted by `core/cost/flops.py`.

Bytes are the numbers of all rows times itemsize; FLOPs are those of `engines/flops.py`, with the logits of
one token. Pairs that the causal mask blocks are not counted: a kernel that computes them in order to throw
them away does t² instead of t(t+1)/2. Over T steps, without a cache, the pairs come to T(T+1)(T+2)/6 and the
projections to T(T+1)/2, per layer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from attnviz.core.quantise import quantised_bytes
from attnviz.engines.flops import SiteFlops, site_flops
from attnviz.model.caches import Cache, FullCache, QuantisedCache
from attnviz.model.operands.latent import cached_numbers
from attnviz.model.sites.sites import at, places
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.site import Site


@dataclass(frozen=True)
class Cost:
    """Counts of one step, or of several added up (`bytes_held` is then that of the last)."""

    kv_projections: int = 0
    score_pairs: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    """Appended to the cache or, without one, recomputed."""
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
    """Bytes of the keys and values, or the latent, of one position."""
    cached_row: int
    """Bytes of the cached rows."""
    cache: Cache
    flops: SiteFlops

    def of_prefill(self, t: int, length: int) -> tuple[Cost, Cost]:
        """(with a cache, without one) of the t-th of `length` tokens that are read in one pass."""
        m = self.memory
        if self.is_encoder:
            return self.of_step(t)
        if m is None:
            kept = _kept(self.cache, t)
            read = 1 if _kept(self.cache, length) == length else kept
            cached = self._cost(1, 1, kept, read, 1, self.cache.capacity(length), self.cached_row)
            return cached, self._cost(1, 1, t, 1, 1, 0)
        new = m if t == 1 else 0
        return self._cost(1, new, m, new, new, m), self._cost(1, new, m, new, new, 0)

    def of_step(self, t: int) -> tuple[Cost, Cost]:
        """(with a cache, without one) of step t, counted from 1."""
        m = self.memory
        if self.is_encoder:
            assert m is not None
            once = self._cost(m, m, m * m, m, m, 0) if t == 1 else Cost()
            return once, once
        if m is None:
            kept = _kept(self.cache, t)
            cached = self._cost(1, 1, kept, kept, 1, self.cache.capacity(t), self.cached_row)
            return cached, self._cost(t, t, t * (t + 1) // 2, t, t, 0)
        new = m if t == 1 else 0
        return self._cost(1, new, m, m, new, m), self._cost(t, m, t * m, m, m, 0)

    def _cost(
        self,
        tokens: int,
        projected: int,
        pairs: int,
        read: int,
        written: int,
        held: int,
        row: int | None = None,
    ) -> Cost:
        flops = self.flops.of(tokens, projected, read, pairs, 1)
        row = self.row if row is None else row
        return Cost(projected, pairs, read * row, written * row, held * row, flops)


def _kept(cache: Cache, length: int) -> int:
    """Number of positions, of `length`, that a cache keeps."""
    return sum(map(len, cache.kept(length)))


class StepCosts:
    """The counts of every step of one decoding, whose first `n_prefill` tokens are read in one pass.

    `itemsize` are the bytes of a number. What an earlier decoding had made already is counted too: the
    counts are those of the text, from its beginning.
    """

    def __init__(self, experiment: Experiment, itemsize: int, n_prefill: int = 0) -> None:
        self._n_prefill = n_prefill
        self._sites = []
        for place in places(experiment):
            site = at(experiment, place.name)
            is_encoder = place.stack == "encoder"
            memory = site.n_keys if is_encoder or site.memory is not None else None
            row = cached_numbers(site) * itemsize
            kind = (
                FullCache() if experiment.writing is None or memory is not None else experiment.writing.cache
            )
            cached_row = position_bytes(site, kind, itemsize)
            self._sites.append(_SiteCost(memory, is_encoder, row, cached_row, kind, site_flops(site)))

    def step(self, index: int) -> tuple[Cost, Cost]:
        """(with a cache, without one) of step `index`, counted from 0; formulas above."""
        t = index + 1
        cached, uncached = Cost(), Cost()
        is_prefill = index < self._n_prefill
        for site in self._sites:
            more_cached, more_uncached = (
                site.of_prefill(t, self._n_prefill) if is_prefill else site.of_step(t)
            )
            cached, uncached = cached.beside(more_cached), uncached.beside(more_uncached)
        return cached, uncached


def position_bytes(site: Site, cache: Cache, itemsize: int) -> int:
    """Bytes that a cache keeps of one position of a site: its numbers times `itemsize`, unless quantised.

    Quantised rows are a key and a value for each key/value head, or the latent and the RoPE key.
    """
    if not isinstance(cache, QuantisedCache):
        return cached_numbers(site) * itemsize
    heads, latent = site.heads, site.latent
    if latent is None:
        return 2 * quantised_bytes(heads.n_kv_heads, heads.d_head, cache.bits)
    widths = (latent.d_c, latent.d_rope) if latent.d_rope else (latent.d_c,)
    return sum(quantised_bytes(1, width, cache.bits) for width in widths)
