"""Answers of a reader: read as numbers, and compared with the live value."""

from __future__ import annotations

from attnviz.errors import InputError, Message, quoted


def answer_of(text: str) -> float:
    """The number that a reader typed: `0.5`, `0,5`, `−2`, `50 %`. Raises `InputError`."""
    bare = text.strip().replace("−", "-").replace(" ", "")
    share = bare.endswith(("%", "％"))
    bare = bare.rstrip("%％")
    try:
        value = float(
            bare.replace(",", ".") if bare.count(",") == 1 and "." not in bare else bare.replace(",", "")
        )
    except ValueError:
        raise InputError(Message("The answer must be a number; got {text}.", text=quoted(text))) from None
    return value / 100 if share else value


def is_close(answer: float, value: float, tolerance: float) -> bool:
    """True if an answer lies within the tolerance; the last digit of a rounded value counts in full."""
    return abs(answer - value) <= tolerance * (1 + 1e-9)
