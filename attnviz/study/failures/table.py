"""`FAILURES`: ways to break the present document, each with the property that it loses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from msgspec.structs import replace

from attnviz.i18n import N_
from attnviz.model.caches import Cache, QuantisedCache, RestartingCache, RingCache
from attnviz.model.edit.block import set_block, usual_feed_forward
from attnviz.model.edit.generation import set_cache
from attnviz.model.edit.layers import set_n_layers
from attnviz.model.masks import mask_of
from attnviz.model.operands.matrices import vectors_array
from attnviz.model.positions import changes
from attnviz.model.sites.sites import alone, at, places, put, site_names
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.block import Block, Norm
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Causal, ExplicitVectors, NoPosition, Padding, Painted
from attnviz.model.spec.site import Site
from attnviz.model.weights import weights_of
from attnviz.model.why_not import unscaled

LARGE = 512.0
"""Factor of W_Q and of W_K: each query and key stays in the range of float16, a score above ¼ leaves it."""
DEEP = 12
FEWEST_CACHED = 4
"""Fewer tokens fit into half of a cache that is worth the name."""


@dataclass(frozen=True)
class Failure:
    """One failure. `title`, `says` (what goes wrong and why) and `cure` are messages.

    `breaks(experiment, site)` is the broken experiment, or None where the failure cannot happen; `needs` says
    why. `check` is the property of `CHECKS` that is lost; `MOVED` if the keys take over the weight of a sink;
    empty if decoding no longer equals the full pass.
    """

    id: str
    title: str
    says: str
    cure: str
    check: str
    breaks: Callable[[Experiment, str], Experiment | None]
    needs: str = ""


def _edited(function: Callable[[Site], Site], experiment: Experiment, site: str) -> Experiment:
    return put(experiment, function(at(experiment, site)))


def _late_mask(site: Site) -> Site:
    masks = site.masks or (Causal(),)
    return replace(
        site, masks=masks, mask_placement="after_softmax", mask_bias=None, normaliser="softmax", sinks=None
    )


def _nothing_left(site: Site) -> Site:
    """The first key is padded under a causal mask, so that the first query sees nothing."""
    others = tuple(mask for mask in site.masks if type(mask) not in (Causal, Padding))
    known = mask_of(site, Padding) or Padding(())
    padded = Padding(tuple(sorted({0, *known.tokens})))
    return replace(
        site, masks=(Causal(), padded, *others), mask_placement="before_softmax", mask_bias=None, sinks=None
    )


def _overflow(experiment: Experiment, site: str) -> Experiment | None:
    """Large weights in float16. Normed queries and keys do not grow with them."""
    here = at(experiment, site)
    if here.qk_norm is not None:
        return None
    grown = [(row, row.array(here) * LARGE) for row in weights_of(here) if row.path in _GROWN]
    for weight, values in grown:
        here = weight.put(here, values)
    return replace(put(experiment, here), dtype="float16")


_GROWN = ("projections.query", "projections.key", "latent.up_key", "latent.rope_key")


def _without_sink(experiment: Experiment, site: str) -> Experiment | None:
    """Without learned sinks; where none are, without the first key, which later queries use as one."""
    here = at(experiment, site)
    if here.sinks is not None:
        return put(experiment, replace(here, sinks=None))
    return put(experiment, _first_key_hidden(here)) if here.n_queries > 1 and here.n_keys > 1 else None


def _first_key_hidden(site: Site) -> Site:
    painted = mask_of(site, Painted) or Painted(())
    later = tuple((query + site.query_offset, 0) for query in range(1, site.n_queries))
    cells = tuple(sorted({*painted.cells, *later}))
    others = tuple(mask for mask in site.masks if type(mask) is not Painted)
    masks = (*others, Painted(cells))
    return replace(site, masks=masks, mask_placement="before_softmax", mask_bias=None)


def _unscaled(experiment: Experiment, site: str) -> Experiment:
    return alone(unscaled(at(experiment, site)))


def _without_positions(experiment: Experiment, site: str) -> Experiment | None:
    """No positions and no masks in the first attention; the last token becomes the first one again."""
    if len(experiment.tokens) < 2:
        return None
    rows = vectors_array(experiment.vectors).copy()
    rows[-1] = rows[0]
    again = replace(
        experiment,
        tokens=(*experiment.tokens[:-1], experiment.tokens[0]),
        vectors=ExplicitVectors(Matrix(rows)),
        vocabulary=None,
        writing=None,
        readout="none",
    )
    first = at(again, site_names(again)[0])
    return put(again, replace(first, position=NoPosition(), masks=()))


def _deep_post_norm(experiment: Experiment, site: str) -> Experiment | None:
    """Twelve layers like this one, each with its norms after its sums."""
    here = at(experiment, site)
    if here.place.kind != "self" or here.d_model < 4:
        return None
    ffn = here.layer.feed_forward or usual_feed_forward(here)
    block = Block("post", norm_1=Norm(), norm_2=Norm(), feed_forward=ffn)
    only = alone(set_block(here, block))
    return set_n_layers(replace(only, vocabulary=None, writing=None, readout="none"), DEEP)


def _with_cache(cache: Callable[[int], Cache], experiment: Experiment, site: str) -> Experiment | None:
    """Decoding with a cache that does not keep everything; the full pass stays as it is."""
    here = at(experiment, site)
    if here.place.kind != "self" or here.n_queries < FEWEST_CACHED:
        return None
    return set_cache(experiment, cache(len(experiment.tokens)))


def _without_offset(experiment: Experiment, site: str) -> Experiment | None:
    """Decoding whose passes count their positions anew."""
    own = [at(experiment, place.name).position for place in places(experiment) if place.stack != "encoder"]
    has_room = all(one.end > experiment.n_queries for one in own)
    if at(experiment, site).place.kind != "self" or not has_room:
        return None
    if not any(changes(one) in _OWN for one in own):
        return None
    return set_cache(experiment, RestartingCache())


_OWN = ("vectors", "rotation")
"""Positions that the token itself carries; those in the scores are counted by the cache."""
MOVED = "moved"

FAILURES: tuple[Failure, ...] = (
    Failure(
        "late-mask",
        N_("Mask after the softmax"),
        N_("Blocked keys have already taken their share of the softmax: the other weights do not sum to 1."),
        N_("Mask the scores, before the softmax."),
        "sums",
        partial(_edited, _late_mask),
    ),
    Failure(
        "empty-row",
        N_("Fully masked row"),
        N_("The causal mask and the padding together block every key of the first query."),
        N_("Let every query attend to a key, such as its own, or define the result of an empty row."),
        "rows",
        partial(_edited, _nothing_left),
    ),
    Failure(
        "overflow",
        N_("Overflow in float16"),
        N_("float16 ends at 65,504. The product of queries and keys in the hundreds is ∞, its softmax NaN."),
        N_("Scale q before the product, keep the weights small, or use bfloat16 or float32."),
        "finite",
        _overflow,
        N_("queries and keys without a norm"),
    ),
    Failure(
        "no-scale",
        N_("No scale at d = 512"),
        N_("Scores of 512 features have a standard deviation near √512: one key gets nearly all."),
        N_("Divide the scores by √d."),
        "saturated",
        _unscaled,
    ),
    Failure(
        "no-positions",
        N_("No positions"),
        N_("Without positions and masks, a token that occurs at two positions gets the same scores at both."),
        N_("Add positions to the vectors, rotate q and k, add a bias, or mask the later tokens."),
        "order",
        _without_positions,
        N_("at least two tokens"),
    ),
    Failure(
        "no-sink",
        N_("The sink removed"),
        N_("A head that finds nothing leaves its weight on a sink: a learned one or the first token."),
        N_("Keep a learned sink, or let every query attend to the first token."),
        MOVED,
        _without_sink,
        N_("at least two tokens"),
    ),
    Failure(
        "evicted-sink",
        N_("The first tokens evicted"),
        N_("A cache of the last positions alone evicts the first ones, to which many heads attend."),
        N_("Keep the first positions too (sinks + window), or mask the positions that the cache evicts."),
        "",
        partial(_with_cache, lambda n: RingCache(n // 2)),
        N_("a self-attention over at least four tokens"),
    ),
    Failure(
        "no-offset",
        N_("A cache without positions"),
        N_("Each pass counts its positions from 0, so that every generated token is at position 0."),
        N_("Use the number of cached positions as the offset of the next token."),
        "",
        _without_offset,
        N_("positions of vectors, or of queries and keys, and room for another token"),
    ),
    Failure(
        "quantised-cache",
        N_("A cache of 4 bits"),
        N_("Cached keys and values are rounded to one of 15 steps, and the scores change with them."),
        N_("Keep 8 bits, or the dtype of the run."),
        "",
        partial(_with_cache, lambda n: QuantisedCache(4)),
        N_("a self-attention over at least four tokens"),
    ),
    Failure(
        "post-norm",
        N_("Post-norm in twelve layers"),
        N_("Each norm divides the residual path by a standard deviation above 1, twice in every layer."),
        N_("Place the norms before the sublayers, or warm the learning rate up."),
        "path",
        _deep_post_norm,
        N_("a self-attention with at least four features"),
    ),
)
FAILURE_BY_ID = {row.id: row for row in FAILURES}
