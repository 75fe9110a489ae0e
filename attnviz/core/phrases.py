"""Texts joined into a longer one, with the punctuation of the active language.

Chinese has signs of its own between words: `分数：0.5`, `窗口（左 2）`. Numbers and code keep those of ASCII.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from attnviz.i18n import _


def named(name: str, value: str) -> str:
    """A value after its name: `scores: 0.5`."""
    return _("{name}: {value}").format(name=name, value=value)


def with_remark(text: str, remark: str) -> str:
    """A text and a remark in parentheses: `window (left 2)`."""
    return _("{text} ({remark})").format(text=text, remark=remark)


def enumerated(names: Iterable[str]) -> str:
    """Members of one list: `query, key, value`."""
    return _(", ").join(names)


def phrased(parts: Iterable[str]) -> str:
    """Parts of one sentence: `head 1, 7 of 9 pairs`; empty without any."""
    return reduce(_with_comma, parts, "")


def _with_comma(text: str, part: str) -> str:
    return _("{text}, {part}").format(text=text, part=part) if text else part


def sentences(parts: Iterable[str]) -> str:
    """Parts as sentences of a paragraph; all but the first begin with a capital."""
    first, *others = parts
    joined = reduce(_with_sentence, others, first)
    return _("{text}.").format(text=joined)


def _with_sentence(text: str, part: str) -> str:
    return _("{text}. {sentence}").format(text=text, sentence=part[:1].upper() + part[1:])


def sequenced(clauses: Iterable[str]) -> str:
    """Clauses that could be sentences: `set to 0; causal: key 3 comes after query 2`."""
    return _("; ").join(clauses)
