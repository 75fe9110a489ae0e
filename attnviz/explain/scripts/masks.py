"""`MASK_CODE`: the blocked cells of each kind of mask, in the positions i of the query and j of the key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from attnviz.core.phrases import named
from attnviz.explain.scripts.code import NOTE, Asked, note
from attnviz.i18n import N_, _
from attnviz.model.masks import FAMILY_OF
from attnviz.model.spec.parts import (
    AnyOf,
    Blocks,
    Causal,
    Dilated,
    Documents,
    Global,
    Mask,
    Padding,
    Painted,
    Prefix,
    Strided,
    Window,
)

NOTHING, EVERYTHING = "j < 0", "j >= 0"
"""No cell, and all cells."""

ANY_OF = N_("blocked where all of these block")


def _prefix(mask: Any, asked: Asked) -> str:
    return f"(j > i) & (j >= {mask.n})"


def _padding(mask: Any, asked: Asked) -> str:
    return _one_of(asked, "j", mask.tokens)


def _window(mask: Any, asked: Asked) -> str:
    return f"(i - j > {mask.left}) | (j - i > {mask.right})"


def _dilated(mask: Any, asked: Asked) -> str:
    step = mask.dilation
    return f"((i - j) % {step} != 0) | (i - j > {mask.left * step}) | (j - i > {mask.right * step})"


def _strided(mask: Any, asked: Asked) -> str:
    return f"(j > i) | ((i - j) % {mask.stride} != 0)"


def _blocks(mask: Any, asked: Asked) -> str:
    query, key = f"i // {mask.size}", f"j // {mask.size}"
    return f"({key} > {query}) | ({query} - {key} > {mask.previous})"


def _global(mask: Any, asked: Asked) -> str:
    if not mask.tokens:
        return EVERYTHING
    return f"~({_one_of(asked, 'i', mask.tokens)} | {_one_of(asked, 'j', mask.tokens)})"


def _documents(mask: Any, asked: Asked) -> str:
    if not mask.starts:
        return NOTHING
    begun = [f"sum({letter} >= start for start in {list(mask.starts)})" for letter in "ij"]
    return " != ".join(begun)


def _painted(mask: Any, asked: Asked) -> str:
    if not mask.cells:
        return NOTHING
    width = 1 + max(asked.site.n_keys - 1, *(key for _query, key in mask.cells))
    numbers = sorted({query * width + key for query, key in mask.cells})
    return _one_of(asked, f"i * {width} + j", numbers)


def _one_of(asked: Asked, letter: str, numbers: Sequence[int]) -> str:
    if not numbers:
        return NOTHING
    listed = str(list(numbers))
    listed = listed if asked.library.is_numpy else asked.library.array(listed)
    return f"{asked.xp}.isin({letter}, {listed})"


def _any_of(mask: Any, asked: Asked) -> str:
    return "(\n    " + "\n    & ".join(f"({blocked(one, asked)})" for one in mask.masks) + "\n)"


MASK_CODE: dict[type, Callable[[Any, Asked], str]] = {
    Causal: lambda mask, asked: "j > i",
    Prefix: _prefix,
    Padding: _padding,
    Window: _window,
    Dilated: _dilated,
    Strided: _strided,
    Blocks: _blocks,
    Global: _global,
    Documents: _documents,
    Painted: _painted,
    AnyOf: _any_of,
}


def blocked(mask: Mask, asked: Asked) -> str:
    """The cells that a mask blocks, as an expression in i and j."""
    return MASK_CODE[type(mask)](mask, asked)


def grid(asked: Asked) -> None:
    """Define i and j, the positions of the query and of the key of each cell."""
    cells = asked.library.grid(asked.site.n_queries, asked.site.n_keys)
    offset = asked.site.query_offset
    behind = (f"i = i + {offset}{note(N_('queries begin behind keys'))}",) if offset else ()
    asked.define("i, j", f"i, j = {cells}{note(N_('position of the query, of the key'))}", *behind)


def row_of_query(asked: Asked) -> str:
    """The row of each cell, from the position of its query."""
    return f"i - {asked.site.query_offset}" if asked.site.query_offset else "i"


def define_blocked(asked: Asked) -> str:
    """Define the cells that the masks of the site block together."""
    grid(asked)
    first, *others = asked.site.masks
    lines = [f"blocked = {blocked(first, asked)}{_description(first)}"]
    lines += [f"blocked |= {blocked(mask, asked)}{_description(mask)}" for mask in others]
    return asked.define("blocked", *"\n".join(lines).split("\n"))


def _description(mask: Mask) -> str:
    family = FAMILY_OF.get(type(mask))
    return note(ANY_OF) if family is None else NOTE + named(_(family.title), _(family.description))
