"""Why a mask blocks a cell, in words: one function for each family, called for cells that it blocks."""

from __future__ import annotations

from bisect import bisect_right

from attnviz.i18n import _
from attnviz.model.spec.parts import (
    Blocks,
    Causal,
    Dilated,
    Documents,
    Global,
    Padding,
    Painted,
    Prefix,
    Strided,
    Window,
)


def causal(mask: Causal, query: int, key: int) -> str:
    return _("causal: key {key} comes after query {query}").format(query=query, key=key)


def prefix(mask: Prefix, query: int, key: int) -> str:
    text = _("prefix: key {key} comes after query {query} and is not among the first {n}")
    return text.format(query=query, key=key, n=mask.n)


def padding(mask: Padding, query: int, key: int) -> str:
    return _("padding: key {key} is hidden from every query").format(key=key)


def window(mask: Window, query: int, key: int) -> str:
    if query > key:
        text = _("window: key {key} is {n} before query {query}; the limit is {most}")
        return text.format(query=query, key=key, n=query - key, most=mask.left)
    text = _("window: key {key} is {n} after query {query}; the limit is {most}")
    return text.format(query=query, key=key, n=key - query, most=mask.right)


def dilated(mask: Dilated, query: int, key: int) -> str:
    distance, step = abs(query - key), mask.dilation
    if distance % step:
        text = _("dilated: key {key} is {n} away from query {query}; only multiples of {step} are visible")
        return text.format(query=query, key=key, n=distance, step=step)
    if query > key:
        text = _("dilated: key {key} is {n} before query {query}; the limit is {most}")
        return text.format(query=query, key=key, n=distance, most=mask.left * step)
    text = _("dilated: key {key} is {n} after query {query}; the limit is {most}")
    return text.format(query=query, key=key, n=distance, most=mask.right * step)


def strided(mask: Strided, query: int, key: int) -> str:
    if key > query:
        return _("strided: key {key} comes after query {query}").format(query=query, key=key)
    text = _("strided: key {key} is {n} before query {query}; only multiples of {step} are visible")
    return text.format(query=query, key=key, n=query - key, step=mask.stride)


def blocks(mask: Blocks, query: int, key: int) -> str:
    text = _("blocks: query {query} is in block {a}, which does not attend to block {b} of key {key}")
    return text.format(query=query, key=key, a=query // mask.size, b=key // mask.size)


def global_tokens(mask: Global, query: int, key: int) -> str:
    text = _("global: neither query {query} nor key {key} is a global token")
    return text.format(query=query, key=key)


def documents(mask: Documents, query: int, key: int) -> str:
    text = _("documents: query {query} is in document {a}, key {key} in document {b}")
    first = 0 if mask.starts[0] == 0 else 1
    a, b = (bisect_right(mask.starts, position) + first for position in (query, key))
    return text.format(query=query, key=key, a=a, b=b)


def painted(mask: Painted, query: int, key: int) -> str:
    return _("painted: blocked by hand")
