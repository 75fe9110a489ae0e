"""Parser of expressions: text to tree, by recursive descent.

either     = both {"or" both}                both  = negated {"and" negated}
negated    = "not" negated | chain           chain = sum {("<"|"<="|">"|">="|"=="|"!=") sum}
sum        = product {("+"|"-") product}     product = signed {("*"|"/"|"@") signed}
signed     = "-" signed | power              power = postfix ["^" signed]
postfix    = atom {"[" places "]" | "." name ["(" arguments ")"]}
atom       = number | text | name ["(" arguments ")"] | "(" either ")"
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NoReturn

from attnviz.errors import InputError, Message, quoted, verbatim
from attnviz.model.expressions.expression import (
    At,
    Binary,
    Call,
    Chain,
    Constant,
    Either,
    Name,
    Node,
    Signed,
    Stretch,
)
from attnviz.model.expressions.operators import COMPARISONS, NEGATIVE, NOT, POWER, PRODUCTS, SUMS, Operator

LONGEST = 400
"""Characters of an expression."""
DEEPEST = 40
"""Levels of an expression, one inside another."""

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)"
    r"|(?P<text>\"[^\"]*\")"
    r"|(?P<name>[A-Za-z_][A-Za-z_0-9]*)"
    r"|(?P<sign><=|>=|==|!=|[-+*/@^<>=()\[\],.:−×÷≤≥≠]))"
)
_SAME = {"−": "-", "×": "*", "÷": "/", "≤": "<=", "≥": ">=", "≠": "!="}
_SUMS, _PRODUCTS, _COMPARISONS = ({row.id: row for row in rows} for rows in (SUMS, PRODUCTS, COMPARISONS))
_WORDS = ("and", "or", "not")


@lru_cache(maxsize=512)
def parse(text: str) -> Node:
    """The tree of an expression. Raises `InputError`: what is expected, and where."""
    if len(text) > LONGEST:
        raise InputError(
            Message("An expression must have at most {most} characters; got {n}.", most=LONGEST, n=len(text))
        )
    return _Parser(text).whole()


def _tokens(text: str) -> list[tuple[str, str, int]]:
    """(kind, text, first character) of the signs of an expression; the kind of a sign or a word is itself."""
    tokens, at = [], 0
    end = len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            at = len(text) - len(text[at:].lstrip())
            _refuse(text, Message("a number, a name or an operator"), at, text[at])
        kind, part = str(match.lastgroup), match[str(match.lastgroup)]
        start, part = match.start(kind), _SAME.get(part, part)
        tokens.append((part if kind == "sign" or part in _WORDS else kind, part, start))
        at = match.end()
    return tokens


def _refuse(text: str, wanted: Message, at: int, got: str) -> NoReturn:
    raise InputError(
        Message(
            "The expression {text} must have {wanted} at character {n}; got {got}.",
            text=quoted(text),
            wanted=wanted,
            n=at + 1,
            got=verbatim(quoted(got)) if got else Message("the end"),
        )
    )


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [*_tokens(text), ("end", "", len(text.rstrip()))]
        self._at = 0
        self._depth = 0

    def whole(self) -> Node:
        node = self._either()
        if self._kind != "end":
            self._refuse(Message("an operator"))
        return node

    @property
    def _kind(self) -> str:
        return self._tokens[self._at][0]

    def _take(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1][1]

    def _expect(self, kind: str) -> None:
        if self._kind != kind:
            self._refuse(verbatim(quoted(kind)))
        self._at += 1

    def _refuse(self, wanted: Message) -> NoReturn:
        _kind, text, at = self._tokens[self._at]
        _refuse(self._text, verbatim(quoted("==")) if text == "=" else wanted, at, text)

    def _either(self) -> Node:
        self._depth += 1
        if self._depth > DEEPEST:
            self._refuse(Message("at most {most} levels", most=DEEPEST))
        node = self._both()
        while self._kind == "or":
            self._take()
            node = Either(False, node, self._both())
        self._depth -= 1
        return node

    def _both(self) -> Node:
        node = self._negated()
        while self._kind == "and":
            self._take()
            node = Either(True, node, self._negated())
        return node

    def _negated(self) -> Node:
        if self._kind != "not":
            return self._chain()
        self._take()
        return Signed(NOT, self._deeper(self._negated))

    def _chain(self) -> Node:
        first, rest = self._sum(), []
        while self._kind in _COMPARISONS:
            compare = _COMPARISONS[self._take()]
            rest.append((compare, self._sum()))
        return Chain(first, tuple(rest)) if rest else first

    def _sum(self) -> Node:
        return self._joined(_SUMS, self._product)

    def _product(self) -> Node:
        return self._joined(_PRODUCTS, self._signed)

    def _joined(self, signs: dict[str, Operator], below: Callable[[], Node]) -> Node:
        node = below()
        while self._kind in signs:
            operator = signs[self._take()]
            node = Binary(operator, node, below())
        return node

    def _signed(self) -> Node:
        if self._kind != "-":
            return self._power()
        self._take()
        return Signed(NEGATIVE, self._deeper(self._signed))

    def _power(self) -> Node:
        base = self._postfix()
        if self._kind != "^":
            return base
        self._take()
        return Binary(POWER, base, self._deeper(self._signed))

    def _deeper(self, below: Callable[[], Node]) -> Node:
        self._depth += 1
        if self._depth > DEEPEST:
            self._refuse(Message("at most {most} levels", most=DEEPEST))
        node = below()
        self._depth -= 1
        return node

    def _postfix(self) -> Node:
        node = self._atom()
        while self._kind in ("[", "."):
            node = self._part(node) if self._kind == "[" else self._member(node)
        return node

    def _part(self, base: Node) -> Node:
        self._take()
        places = [self._place()]
        while self._kind == ",":
            self._take()
            places.append(self._place())
        self._expect("]")
        return At(base, tuple(places))

    def _place(self) -> Node | Stretch:
        first = None if self._kind == ":" else self._either()
        if self._kind != ":":
            assert first is not None
            return first
        self._take()
        return Stretch(first, None if self._kind in (",", "]") else self._either())

    def _member(self, base: Node) -> Node:
        self._take()
        if self._kind != "name":
            self._refuse(Message("a name"))
        name = self._take()
        return Call(name, (base, *(self._arguments() if self._kind == "(" else ())))

    def _arguments(self) -> tuple[Node, ...]:
        self._expect("(")
        arguments: list[Node] = []
        while self._kind != ")":
            arguments.append(self._either())
            if self._kind != ",":
                break
            self._take()
        self._expect(")")
        return tuple(arguments)

    def _atom(self) -> Node:
        kind = self._kind
        if kind == "number":
            return Constant(float(self._take()))
        if kind == "text":
            return Constant(self._take()[1:-1])
        if kind == "(":
            self._take()
            node = self._either()
            self._expect(")")
            return node
        if kind != "name":
            self._refuse(Message("a number, a name or a bracket"))
        name = self._take()
        return Call(name, self._arguments()) if self._kind == "(" else Name(name)
