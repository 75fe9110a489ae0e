"""Numbers as people type and read them: parsing with a reason on failure, and formatting."""

from __future__ import annotations

import math
import re
import unicodedata

from attnviz.core.text import number
from attnviz.errors import InputError, Message

_DECIMAL = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?"
_NUMBER = re.compile(rf"({_DECIMAL})(?:/({_DECIMAL}))?", re.IGNORECASE)
_GROUPED = re.compile(r"(?<=\d) (?=\d{3}(?!\d))")
_DASHES = str.maketrans({"\N{MINUS SIGN}": "-", "\N{EN DASH}": "-", "\N{FRACTION SLASH}": "/"})
_LONGEST = 64


_MINUS_INFINITY = frozenset(("-inf", "-infinity", "-∞"))


def parse_number(text: str, takes_minus_infinity: bool = False) -> float:
    """Parse `text` as a finite number, or as −∞ where that is a number.

    Accepted: a comma or a period as decimal mark, `1e-3`, fractions such as `1/3`, the typographic
    minus, full-width digits, and spaces between groups of three digits. Raises `ValueError` with
    one sentence for the user otherwise.
    """
    shown = text.strip()[:_LONGEST]
    plain = unicodedata.normalize("NFKC", shown).translate(_DASHES)
    plain = _GROUPED.sub("", plain.replace("\N{IDEOGRAPHIC FULL STOP}", "."))
    if not plain:
        raise InputError(Message("The value must be a number such as 0.5, 1e-3 or 1/3; got nothing."))
    if takes_minus_infinity and plain.lower() in _MINUS_INFINITY:
        return -math.inf
    if plain.lower().lstrip("+-") in ("nan", "inf", "infinity", "∞"):
        raise InputError(Message("The value must be finite; got “{text}”.", text=shown))
    if plain.count(",") == 1 and "." not in plain:
        plain = plain.replace(",", ".")
    match = _NUMBER.fullmatch(plain)
    if match is None:
        raise InputError(
            Message("The value must be a number such as 0.5, 1e-3 or 1/3; got “{text}”.", text=shown)
        )
    return _finite(match, shown)


def _finite(match: re.Match[str], shown: str) -> float:
    numerator, denominator = match.groups()
    value = float(numerator)
    if denominator is not None and float(denominator) == 0:
        raise InputError(Message("A fraction must not divide by zero; got “{text}”.", text=shown))
    value = value / float(denominator) if denominator is not None else value
    if not math.isfinite(value):
        raise InputError(Message("The value must fit float64; got “{text}”.", text=shown))
    return value


def fitting_number(value: float, characters: int, decimals: int = 2) -> str:
    """`value` with at most `decimals` decimals, fewer if the text would exceed `characters`."""
    texts = (number(value, places) for places in range(decimals, -1, -1))
    return next((text for text in texts if len(text) <= characters), number(value, 0))


def full_precision(value: float) -> str:
    """The shortest text that reads back as exactly `value`."""
    return repr(float(value)).removesuffix(".0")
