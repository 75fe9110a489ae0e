"""The text of a lesson: plain words, links to tokens, cells, steps and pages, and numbers.

`[she]` names the query of that token and `[Lily](key)` its key, as in captions; `[the cell](cell 2, 1)` a
cell of the stage; `[before](#step)` another step; `[the paper](https://…)` a page. `[he](type)` is a control
(see `model/controls.py`). `{weights[2, 1] | .3f}` is the number that an expression has, in a format of
`FORMATS`. `**word**` is strong; a backslash keeps a sign.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from attnviz.errors import FieldError, InputError, Message, among, quoted
from attnviz.model.captions import Anchor
from attnviz.model.controls import CONTROLS, TARGET, Control, control_of
from attnviz.model.expressions.expression import at_place
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import Cell, shown_head
from attnviz.study.claims.cells import cell_of
from attnviz.study.claims.scope import Scope, value_of

_PIECE = re.compile(
    r"\\(?P<kept>[\[\]{}*\\])"
    r"|\{(?P<number>[^{}]+)\}"
    r"|\*\*(?P<strong>[^*]+)\*\*"
    r"|\[(?P<word>(?:[^\[\]]|\[[^\[\]]*\])+)\](?:\((?P<target>[^()]*(?:\([^()]*\)[^()]*)*)\))?"
)
_TOKEN = re.compile(r"(?P<axis>query|key)(?: (?P<token>.+))?$")
_CONTROL = re.compile(rf"(?:{TARGET})$")
_CELL = re.compile(r"cell (?P<row>.+?), *(?P<column>.+)$")


@dataclass(frozen=True)
class Plain:
    """Some text."""

    text: str
    is_strong: bool = False

    def check(self, scope: Scope, steps: Collection[str]) -> None:
        """Text names nothing."""


@dataclass(frozen=True)
class Number:
    """The value of an expression, in a format."""

    expression: str
    format: str

    def text(self, scope: Scope) -> str:
        """The number as it is shown."""
        return shown(value_of(self.expression, scope), self.format)

    def cell(self, scope: Scope) -> Cell | None:
        """The cell that the number is, such as `k[3, 0]` or `weights(1)[3, 0]`; None for a computed one."""
        return cell_of(self.expression, scope)

    def check(self, scope: Scope, steps: Collection[str]) -> None:
        """Raise `InputError` if it has no value."""
        self.text(scope)


@dataclass(frozen=True)
class TokenLink:
    """A word that lights a query or a key."""

    text: str
    anchor: Anchor

    def cell(self, scope: Scope) -> Cell:
        """The first number of the query's or the key's own vector."""
        tokens = scope.site.labels(self.anchor.axis)
        position = self.anchor.position_in(tokens)
        if position is None:
            raise InputError(
                Message("A link must name a token of the text; got {word}.", word=quoted(self.anchor.token))
            )
        stage = "q" if self.anchor.axis == "query" else "k"
        return Cell(stage, position, 0, shown_head(scope.site.experiment, scope.view, stage))

    def check(self, scope: Scope, steps: Collection[str]) -> None:
        """Raise `InputError` if the text lacks the token."""
        self.cell(scope)


@dataclass(frozen=True)
class CellLink:
    """A word that lights a cell of the shown stage; `row` and `column` are positions or tokens."""

    text: str
    row: str
    column: str

    def cell(self, scope: Scope) -> Cell:
        """The cell of the stage that the view shows. Raises `InputError`."""
        row, column = place(self.row, scope, is_row=True), place(self.column, scope, is_row=False)
        stage = scope.view.stage
        return Cell(stage, row, column, shown_head(scope.site.experiment, scope.view, stage))

    def check(self, scope: Scope, steps: Collection[str]) -> None:
        """Raise `InputError` if the stage lacks the cell."""
        self.cell(scope)


@dataclass(frozen=True)
class StepLink:
    """A word that goes to another step."""

    text: str
    step: str

    def check(self, scope: Scope, steps: Collection[str]) -> None:
        """Raise `InputError` if the lesson lacks the step."""
        if self.step not in steps:
            raise FieldError("step", self.step, among(steps))


@dataclass(frozen=True)
class PageLink:
    """A word that opens a page outside, after a question."""

    text: str
    address: str

    def check(self, scope: Scope, steps: Collection[str]) -> None:
        """Raise `InputError` if the address has signs that none has."""
        if any(sign in self.address for sign in "<>\"' "):
            raise InputError(Message("A link must be an address; got {text}.", text=quoted(self.address)))


@dataclass(frozen=True)
class ControlLink:
    """A word that acts on the document; `target` is the control as it is written."""

    text: str
    target: str
    control: Control

    def check(self, scope: Scope, steps: Collection[str]) -> None:
        """Raise `InputError` if the document of the step has nothing that it could change."""
        problem = self.control.why_not(Document(scope.trace.experiment, scope.view))
        if problem is not None:
            raise InputError(problem)


Piece = Plain | Number | TokenLink | CellLink | StepLink | PageLink | ControlLink

FORMATS: dict[str, str] = {
    ".0f": "{:,.0f}",
    ".1f": "{:,.1f}",
    ".2f": "{:,.2f}",
    ".3f": "{:,.3f}",
    ".4f": "{:,.4f}",
    ".6f": "{:,.6f}",
    "%": "{:.0%}",
    ".1%": "{:.1%}",
    "g": "{:.3g}",
}
"""The formats of numbers: decimals, percent, or three significant digits."""


def place(text: str, scope: Scope, *, is_row: bool) -> int:
    """A position along the rows or columns of the shown stage: a token, or an expression.

    Raises `InputError` if the stage does not have it.
    """
    site, stage = scope.site, scope.view.stage
    tokens = site.labels("query" if is_row else "key")
    is_token = text in tokens or text.startswith('"')
    value = text.strip('"') if is_token else value_of(text, scope)
    return at_place(value, tokens, site.shape(stage)[-2 if is_row else -1], is_row=is_row)


def shown(value: float, form: str) -> str:
    """A number in a format."""
    return FORMATS[form].format(value + 0.0).replace("-", "−").replace("inf", "∞").replace("nan", "NaN")


def pieces(text: str) -> tuple[Piece, ...]:
    """The text as its pieces, in order. Raises `InputError` for a format or a link that does not exist."""
    parts: list[Piece] = []
    plain, end = "", 0
    for match in _PIECE.finditer(text):
        plain += text[end : match.start()]
        end = match.end()
        if match["kept"] is not None:
            plain += match["kept"]
            continue
        parts += [Plain(plain)] if plain else []
        plain = ""
        parts.append(_piece(match))
    plain += text[end:]
    return (*parts, Plain(plain)) if plain else tuple(parts)


def _piece(match: re.Match[str]) -> Piece:
    if match["number"] is not None:
        return _number(match["number"])
    if match["strong"] is not None:
        return Plain(match["strong"], is_strong=True)
    return _link(match["word"], match["target"] or "query")


def _number(inside: str) -> Number:
    expression, bar, form = (part.strip() for part in inside.rpartition("|"))
    if not bar or form not in FORMATS:
        rule = among(FORMATS)
        raise InputError(Message("The format of {number} after | {rule}.", number=quoted(inside), rule=rule))
    return Number(expression, form)


def _link(word: str, target: str) -> Piece:
    token, cell = _TOKEN.match(target), _CELL.match(target)
    if token is not None:
        named = token["token"]
        position = int(named) if named is not None and named.isdecimal() and len(named) < 10 else None
        return TokenLink(word, Anchor(token["axis"], named or word, position))  # type: ignore[arg-type]
    if cell is not None:
        return CellLink(word, cell["row"].strip(), cell["column"].strip())
    if _CONTROL.match(target):
        return ControlLink(word, target, control_of(target, word))
    if target.startswith("#"):
        return StepLink(word, target[1:])
    if target.startswith("https://"):
        return PageLink(word, target)
    raise InputError(
        Message(
            "The link of {word} must be query, key, cell r, c, {controls}, #step or https://…; got {target}.",
            word=quoted(word),
            controls=", ".join(CONTROLS),
            target=quoted(target),
        )
    )
