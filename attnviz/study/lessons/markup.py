"""Texts of lessons as HTML, for the window and for pages: everything in them is escaped, nothing hidden."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape

from attnviz.core.text import exposed
from attnviz.errors import InputError
from attnviz.study.claims.scope import Scope
from attnviz.study.lessons.text import (
    CellLink,
    ControlLink,
    Number,
    PageLink,
    Piece,
    Plain,
    StepLink,
    TokenLink,
    pieces,
)

_INSIDE = re.compile(r'<a class="(\w+)" href="(?:token|cell|step|number):[^"]*">(.*?)</a>')
CONTROLS = re.compile(r'<a class="control" href="control:([^"]*)">(.*?)</a>')
"""The link of a control, with its target and its words."""
NUMBER = "number"
"""Kind of the link of a number that is a cell."""
UNKNOWN = "…"
"""A number before it is computed."""


def markup(text: str, scope: Scope | None, *, is_live: bool = True) -> str:
    """The text with its numbers, which `scope` computes; links are `token:axis:n`, `cell:r:c`, `step:id`,
    of a number that is a cell `number:site:stage:head:r:c`, and of a control `control:` and its target.

    In a text that is not live, on paper, words that light cells keep their colour only, and those of controls
    are plain.
    """
    try:
        parts = pieces(text)
    except InputError:
        return escape(exposed(text))
    marked = exposed("".join(_MARKUP[type(piece)](piece, scope) for piece in parts))
    return marked if is_live else _INSIDE.sub(r'<span class="\1">\2</span>', CONTROLS.sub(r"\2", marked))


def _plain(piece: Plain, scope: Scope | None) -> str:
    return f'<span class="strong">{escape(piece.text)}</span>' if piece.is_strong else escape(piece.text)


def _number(piece: Number, scope: Scope | None) -> str:
    try:
        text = UNKNOWN if scope is None else piece.text(scope)
    except InputError:
        text = UNKNOWN
    cell = None if scope is None else piece.cell(scope)
    if cell is None:
        return f'<span class="number">{escape(text)}</span>'
    address = f"{NUMBER}:{cell.site}:{cell.stage}:{cell.head}:{cell.row}:{cell.column}"
    return f'<a class="number" href="{escape(address)}">{escape(text)}</a>'


def _token(piece: TokenLink, scope: Scope | None) -> str:
    axis = piece.anchor.axis
    return _lit(piece, scope, axis, f"token:{axis}")


def _cell(piece: CellLink, scope: Scope | None) -> str:
    return _lit(piece, scope, "cell", "cell")


def _lit(piece: TokenLink | CellLink, scope: Scope | None, kind: str, address: str) -> str:
    """A link to a place of the document; plain text without it."""
    text = escape(piece.text)
    try:
        cell = None if scope is None else piece.cell(scope)
    except InputError:
        cell = None
    return text if cell is None else f'<a class="{kind}" href="{address}:{cell.row}:{cell.column}">{text}</a>'


def _step(piece: StepLink, scope: Scope | None) -> str:
    return f'<a class="step" href="step:{escape(piece.step)}">{escape(piece.text)}</a>'


def _page(piece: PageLink, scope: Scope | None) -> str:
    return f'<a class="page" href="{escape(piece.address)}">{escape(piece.text)}</a>'


def _control(piece: ControlLink, scope: Scope | None) -> str:
    return f'<a class="control" href="control:{escape(piece.target)}">{escape(piece.text)}</a>'


_MARKUP: dict[type[Piece], Callable[..., str]] = {
    Plain: _plain,
    Number: _number,
    TokenLink: _token,
    CellLink: _cell,
    StepLink: _step,
    PageLink: _page,
    ControlLink: _control,
}
