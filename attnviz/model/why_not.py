"""`WHY_NOTS`: wrong or surprising computations, each beside the right one, from the same live state.

A row defines the two compared experiments and the stage, or another result of them (see
`engines/why_not.py`); the panel, the presets and the tests iterate over it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
from msgspec.structs import replace

from attnviz.i18n import N_
from attnviz.model.masks import blocked, mask_of
from attnviz.model.operands.matrices import vectors_array
from attnviz.model.positions import changes
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import (
    Causal,
    Dropout,
    ExplicitVectors,
    Heads,
    NoPosition,
    NoScale,
    Padding,
    Projections,
    Seeded,
    SeededVectors,
    SqrtDHead,
)
from attnviz.model.spec.site import Place, Site

Pair = tuple[Site, Site]
S = TypeVar("S", Site, Experiment)
How = Literal["stage", "product", "rounded", "permuted"]

MASK_BIAS = -1e4
WIDE = 512
"""Features of a head where the missing scale is seen."""


@dataclass(frozen=True)
class WhyNot:
    """One comparison. All texts are messages.

    `pair` makes the left (right) and the right (other) attention from the selected one; `how` is the
    comparison: one `stage` of both; softmax(QKᵀ)V with softmax(QKᵀV); -inf with a number added in float16; or
    the output with its rows moved, and the output of moved tokens. `sentence` explains the difference,
    `when_equal` its absence; both contain numbers. With `is_alone` both are compared apart from the document.
    `opens`: the sides that can become the document; `shows_nan`: the right side is NaN on purpose.
    """

    id: str
    title: str
    left: str
    right: str
    sentence: str
    when_equal: str
    pair: Callable[[Site], Pair]
    stage: str = "weights"
    how: How = "stage"
    is_alone: bool = False
    opens: tuple[bool, bool] = (True, True)
    shows_nan: bool = False


def has_empty_row(site: Site) -> bool:
    """True if the masks leave some query without a key."""
    hidden = blocked(site, np.arange(site.n_queries), np.arange(site.n_keys))
    return hidden is not None and bool(hidden.all(axis=1).any())


def permuted(experiment: S, order: tuple[int, ...]) -> S:
    """The tokens and their vectors in another order; everything that counts positions stays."""
    vectors = ExplicitVectors(Matrix(vectors_array(experiment.vectors)[list(order)]))
    return replace(experiment, tokens=tuple(experiment.tokens[i] for i in order), vectors=vectors)


def _masked(site: Site) -> Site:
    """With the existing masks, or a causal one; blocked scores are -inf, before the softmax."""
    masks = site.masks or (Causal(),)
    return replace(site, masks=masks, mask_placement="before_softmax", mask_bias=None)


def _with_empty_row(site: Site) -> Site:
    """Some query sees nothing: as it is, or because the first key is padded under a causal mask."""
    site = replace(
        site,
        mask_placement="before_softmax",
        mask_bias=None,
        fully_masked_row="zeros",
        normaliser="softmax",
        sinks=None,
    )
    if has_empty_row(site):
        return site
    others = tuple(mask for mask in site.masks if type(mask) not in (Causal, Padding))
    padding = mask_of(site, Padding) or Padding(())
    padded = tuple(sorted({0, *padding.tokens}))
    return replace(site, masks=(Causal(), Padding(padded), *others))


def _product(site: Site) -> Pair:
    """Without masks: −∞ times V has no value, so the right side has none."""
    plain = replace(
        site, normaliser="softmax", sinks=None, dropout=Dropout(), masks=(), additive_mask=None, edits=()
    )
    return plain, plain


def _late(site: Site) -> Pair:
    early = _masked(site)
    return early, replace(early, mask_placement="after_softmax")


def _added(site: Site) -> Pair:
    infinite = _with_empty_row(site)
    return infinite, replace(infinite, mask_bias=MASK_BIAS)


def _empty(site: Site) -> Pair:
    zeros = _with_empty_row(site)
    return zeros, replace(zeros, fully_masked_row="nan")


def _scaled(site: Site) -> Site:
    """As many tokens with 512 drawn features of variance one."""
    n = site.n_queries
    return Site(
        Place("layers", 0, "self"),
        tokens=site.tokens,
        vectors=SeededVectors(n, WIDE, 9),
        heads=Heads(1, 1, WIDE),
        projections=Projections(Seeded(120), Seeded(121), Seeded(122), Seeded(123)),
        scale=SqrtDHead(),
        dtype=site.dtype,
    )


def unscaled(site: Site) -> Site:
    """As many tokens with 512 drawn features of variance one, and scores that nothing divides."""
    return replace(_scaled(site), scale=NoScale())


def _unscaled(site: Site) -> Pair:
    """Nothing but the scale differs."""
    return _scaled(site), unscaled(site)


def _bare(site: Site) -> Pair:
    """Whatever depends on the place of a token is gone."""
    bare = replace(
        site,
        position=NoPosition(),
        position_temperature=None,
        masks=(),
        additive_mask=None,
        dropout=Dropout(),
        edits=(),
    )
    return bare, bare


def _ordered(site: Site) -> Pair:
    told = replace(site, dropout=Dropout())
    if changes(told.position) == "nothing" and not told.masks:
        told = replace(told, masks=(Causal(),))
    return told, told


def _alone_or_shared(site: Site) -> Pair:
    shared = replace(site, normaliser="softmax", sinks=None)
    return shared, replace(shared, normaliser="sigmoid")


WHY_NOTS: tuple[WhyNot, ...] = (
    WhyNot(
        "product",
        N_("softmax(QKᵀ) V, not softmax(QKᵀV)"),
        "softmax(QKᵀ) V",
        "softmax(QKᵀV)",
        N_(
            "Left, {n} × {m} weights: each row sums to 1 and mixes tokens. Right, {n} × {d}: the "
            "features of each row sum to 1 whatever V contains; features compete, and no token has a "
            "weight."
        ),
        "",
        _product,
        stage="mixed",
        how="product",
        opens=(True, False),
    ),
    WhyNot(
        "late-mask",
        N_("Mask before the softmax, not after"),
        N_("before"),
        N_("after"),
        N_(
            "Masked after the softmax, rows sum to {least} to {most}: the weight of blocked keys is "
            "lost, in “{token}” {lost} of 1."
        ),
        N_("These masks block nothing that had a weight."),
        _late,
    ),
    WhyNot(
        "added-mask",
        N_("−∞, not −10000 in float16"),
        "−∞",
        N_("−10000 in float16"),
        N_(
            "“{token}” attends to no key: −∞ leaves zeros. −10000 lowers all its scores alike, so "
            "blocked keys get all its weight; in float16, steps of 8 leave {after} of {before} "
            "distinct scores. In float32, {single}."
        ),
        N_("Every query has a visible key, and no blocked score is large enough to come through."),
        _added,
        how="rounded",
    ),
    WhyNot(
        "empty-row",
        N_("A fully masked row: zeros, not NaN"),
        N_("zeros"),
        "NaN",
        N_(
            "“{token}” attends to no key, and 0 ÷ 0 is NaN. {count} of {n} output rows become NaN; "
            "in the next layer every query reads them."
        ),
        "",
        _empty,
        shows_nan=True,
    ),
    WhyNot(
        "scale",
        N_("÷√d at d = 512, not without"),
        N_("÷√512"),
        N_("unscaled"),
        N_(
            "Independent features: the scores' standard deviation is {wide} without ÷√d (√512 = 22.6), "
            "{narrow} with it. Rows have {left_bits} bits of entropy with it and {right_bits} without, of "
            "{most_bits}."
        ),
        N_("With one key, the only weight is 1."),
        _unscaled,
        is_alone=True,
    ),
    WhyNot(
        "order-lost",
        N_("No position: order is lost"),
        N_("Y(X), rows moved"),
        N_("Y of moved tokens"),
        N_("They differ by {difference}, more than rounding."),
        N_(
            "“{text}”: the rows of the output move with their words and are otherwise the same, to "
            "{difference}. Y(PX) = P·Y(X)."
        ),
        _bare,
        stage="attention_output",
        how="permuted",
        is_alone=True,
    ),
    WhyNot(
        "order-told",
        N_("Masks and positions reveal the order"),
        N_("Y(X), rows moved"),
        N_("Y of moved tokens"),
        N_(
            "“{text}”: the output changes by up to {difference}. {what} reveals the order; a causal "
            "mask alone suffices."
        ),
        N_("This order gives the same output to {difference}: no query's visible keys changed."),
        _ordered,
        stage="attention_output",
        how="permuted",
        is_alone=True,
    ),
    WhyNot(
        "both-near-one",
        N_("Two weights cannot both be near 1"),
        "softmax",
        N_("sigmoid"),
        N_(
            "“{token}” gives its two best keys {first} and {second}: the weights of a row share 1, two "
            "equal ones have one half each at most. Sigmoid gives each its own: {own_first}, {own_second}."
        ),
        "",
        _alone_or_shared,
    ),
)

WHY_NOT_BY_ID = {row.id: row for row in WHY_NOTS}
