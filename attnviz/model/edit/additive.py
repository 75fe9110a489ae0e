"""Edits of the additive mask: on and off, one table or one for each head, its numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from attnviz.errors import FieldError, Message, must_be
from attnviz.model.keep_mask import GIVEN, NUMBERS, is_keep_mask
from attnviz.model.spec.parts import AdditiveMask
from attnviz.model.spec.site import Site

Floats = NDArray[np.float64]


def zeros(site: Site) -> AdditiveMask:
    """One table of zeros for the present text."""
    return AdditiveMask.of(np.zeros((site.n_queries, site.n_keys)))


def set_additive(site: Site, mask: AdditiveMask | None) -> Site:
    """Add this mask, for the heads that the attention has, or remove it."""
    rows = 0 if mask is None else mask.values.shape[0]
    if mask is not None and mask.per_head and rows % site.heads.n_heads:
        mask = zeros(site)
    return replace(site, additive_mask=mask)


def table_of(site: Site, head: int) -> Floats:
    """The numbers of a head with −∞, as far as the text goes, (query, key)."""
    assert site.additive_mask is not None
    tables = site.additive_mask.fitted(site.heads.n_heads, site.n_queries, site.n_keys)
    return tables[head if len(tables) > 1 else 0]


def set_per_head(site: Site, is_per_head: bool) -> Site:
    """A table for each head, alike at first, or that of the first head for all."""
    if site.additive_mask is None:  # another layer, edited alike
        return site
    tables = site.additive_mask.array(site.heads.n_heads)
    chosen = np.repeat(tables[:1], site.heads.n_heads, axis=0) if is_per_head else tables[0]
    return replace(site, additive_mask=AdditiveMask.of(chosen))


def put_table(site: Site, head: int, values: Floats) -> Site:
    """The numbers of a head, (query, key); without `per_head`, of all heads. Raises `FieldError`."""
    if site.additive_mask is None:
        return site
    tables = site.additive_mask.fitted(site.heads.n_heads, site.n_queries, site.n_keys)
    if not site.additive_mask.per_head:
        return replace(site, additive_mask=AdditiveMask.of(values))
    tables[head] = values
    return replace(site, additive_mask=AdditiveMask.of(tables))


def put_array(site: Site, array: NDArray[Any]) -> Site:
    """The numbers of a file: (query, key), or (head, query, key), perhaps behind axes of length one.

    One row for several queries is that of all. Raises `FieldError` for another shape, for truth values, which
    say block or allow and are no numbers, and for 0 and 1 alone, which are such truth values.
    """
    n_heads, given = site.heads.n_heads, array.shape
    if array.dtype.kind not in "iuf":
        raise FieldError("additive_mask", str(array.dtype), must_be("an array of numbers"))
    if array.ndim == 1:
        array = array[None]
    while array.ndim > 2 and len(array) == 1:
        array = array[0]
    if array.ndim not in (2, 3) or array.ndim == 3 and len(array) != n_heads:
        tables = must_be("an array of (query, key) or ({n} heads, query, key)", n=n_heads)
        raise FieldError("additive_mask", Message("shape {shape}", shape=list(given)), tables)
    if array.size and is_keep_mask(array):
        raise FieldError("additive_mask", GIVEN, NUMBERS)
    if array.shape[-2] == 1:
        array = np.repeat(array, site.n_queries, axis=-2)
    return replace(site, additive_mask=AdditiveMask.of(array))
