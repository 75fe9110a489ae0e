"""Edits of the masks from a form: one mask of each kind, at any place, and their combination.

Masks are combined by "and" in the list (all must let a key through) or by "or" inside the one `AnyOf`.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec.structs import replace

from attnviz.errors import InputError, Message
from attnviz.model.masks import FAMILY_OF, MASK_ORDER
from attnviz.model.spec.parts import AnyOf, Causal, FullyMaskedRow, Mask, OneMask, Prefix
from attnviz.model.spec.site import Site
from attnviz.model.spec.value import Refusal, refuse

Joining = Literal["all", "any"]

REPLACES: dict[type, type] = {Prefix: Causal, Causal: Prefix}
"""A prefix mask is causal after its prefix; beside a causal mask it would have no effect."""


def joined(site: Site) -> tuple[OneMask, ...]:
    """The masks combined by "or"; empty without an `AnyOf`."""
    return next((mask.masks for mask in site.masks if isinstance(mask, AnyOf)), ())


def side_by_side(site: Site) -> list[Any]:
    """The masks outside of `AnyOf`."""
    return [mask for mask in site.masks if not isinstance(mask, AnyOf)]


def find_mask(site: Site, kind: type) -> Any:
    """The mask of one kind, in the list or in `AnyOf`; or None."""
    return next((mask for mask in (*site.masks, *joined(site)) if isinstance(mask, kind)), None)


def put_mask(site: Site, mask: OneMask) -> Site:
    """Replace the mask of this kind in place, or add it: patterns to the masks combined by "or", if any.

    A new causal mask replaces a prefix mask, and vice versa.
    """
    kind, either = type(mask), joined(site)
    alone = side_by_side(site)
    is_alone = any(isinstance(one, kind) for one in alone)
    is_joined = not is_alone and (_has(either, kind) or bool(either) and FAMILY_OF[kind].is_pattern)
    if is_joined:
        return _with(site, alone, [*_without(either, kind), mask])
    rival = REPLACES.get(kind)
    return _with(site, [*_without(alone, kind, rival), mask], either)


def take_mask(site: Site, kind: type) -> Site:
    """Remove the masks of one kind, in the list and in `AnyOf`."""
    alone = side_by_side(site)
    return _with(site, _without(alone, kind), _without(joined(site), kind))


def fitting_mask(mask: OneMask, site: Site) -> OneMask:
    """`mask` without positions past the ends of this site, or a default one if none is left."""
    kept = mask.within(site.query_offset + site.n_queries, site.n_keys)
    return FAMILY_OF[type(mask)].fresh(site) if kept is None else kept


def joining(site: Site) -> Joining:
    """`any` if some masks are combined by "or"."""
    return "any" if joined(site) else "all"


def has_pattern(site: Site) -> bool:
    """True if any of the masks can be combined by "or"."""
    return bool(joined(site)) or any(_is_pattern(mask) for mask in site.masks)


def set_joining(site: Site, how: Joining) -> Site:
    """Combine all patterns by "or", or all masks by "and"; of two of one kind, that of `AnyOf` is dropped."""
    alone = side_by_side(site)
    if how == "all":
        more = [one for one in joined(site) if not _has(alone, type(one))]
        return _with(site, [*alone, *more], ())
    patterns = [one for one in alone if _is_pattern(one)]
    more = [one for one in joined(site) if not _has(patterns, type(one))]
    return _with(site, [one for one in alone if not _is_pattern(one)], [*patterns, *more])


USUAL_BIAS = -1e4


def set_bias(site: Site, is_added: bool) -> Site:
    """Add the usual number to blocked scores, or replace them by −∞. Raises `InputError` without effect."""
    refuse(bias_without_effect(site))
    return replace(site, mask_bias=USUAL_BIAS if is_added else None)


def bias_without_effect(site: Site) -> Refusal:
    """The refusal to choose the blocked scores of a mask that blocks weights."""
    if site.mask_placement == "before_softmax":
        return None
    return InputError(Message("A mask bias applies only before the softmax."))


def set_fully_masked_row(site: Site, weights: FullyMaskedRow) -> Site:
    """Choose the weights of a query without keys. Raises `InputError` where these are settled."""
    refuse(settled_row(site))
    return replace(site, fully_masked_row=weights)


def settled_row(site: Site) -> Refusal:
    """The refusal to choose the weights of a query without keys where another setting determines them."""
    if site.adds_to_blocked:
        return InputError(Message("With a mask bias, no row is fully masked."))
    if site.mask_placement == "before_softmax":
        return None
    return InputError(Message("With a mask after the softmax, a fully masked row is always zeros."))


def _with(site: Site, alone: Any, either: Any) -> Site:
    masks: list[Mask] = [*alone, *([AnyOf(_in_order(either))] if either else [])]
    return replace(site, masks=_in_order(masks))


def _in_order(masks: Any) -> tuple[Any, ...]:
    return tuple(sorted(masks, key=lambda mask: MASK_ORDER.index(type(mask))))


def _has(masks: Any, kind: type) -> bool:
    return any(isinstance(mask, kind) for mask in masks)


def _without(masks: Any, *kinds: type | None) -> list[Any]:
    return [mask for mask in masks if type(mask) not in kinds]


def _is_pattern(mask: Mask) -> bool:
    return not isinstance(mask, AnyOf) and FAMILY_OF[type(mask)].is_pattern
