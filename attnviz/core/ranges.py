"""Lists of positions as text: "3, 5-7" is 3, 5, 6 and 7."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from attnviz.errors import FieldError, must_be

_PART = re.compile(r"(\d+)(?:\s*[-\N{EN DASH}\N{MINUS SIGN}~]\s*(\d+))?")
_BETWEEN = re.compile(r"[,;\s\N{FULLWIDTH COMMA}\N{IDEOGRAPHIC COMMA}]+")
_AROUND_DASH = re.compile(r"\s*([-\N{EN DASH}\N{MINUS SIGN}~])\s*")


def parse_ranges(text: str, count: int) -> tuple[int, ...]:
    """The positions that `text` lists, ascending, each once; every one below `count`.

    Commas, semicolons and spaces separate; an empty text lists no positions. Raises `FieldError` with the
    wrong part.
    """
    listed: set[int] = set()
    for part in _BETWEEN.split(_AROUND_DASH.sub(r"\1", text.strip())):
        if not part:
            continue
        match = _PART.fullmatch(part)
        if match is None:
            raise FieldError("positions", part, must_be("numbers and ranges, such as 3, 5-7"))
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise FieldError(
                "positions", part, must_be("in ascending order ({first}-{last})", first=last, last=first)
            )
        if last >= count:
            raise FieldError(
                "positions", last, must_be("numbers from {least} to {most}", least=0, most=count - 1)
            )
        listed.update(range(first, last + 1))
    return tuple(sorted(listed))


def runs(positions: Iterable[int]) -> list[tuple[int, int]]:
    """Consecutive runs of positions, ascending, each as its first position and its length."""
    spans: list[tuple[int, int]] = []
    for position in sorted(set(positions)):
        if spans and position == sum(spans[-1]):
            spans[-1] = (spans[-1][0], spans[-1][1] + 1)
        else:
            spans.append((position, 1))
    return spans


def format_ranges(positions: Sequence[int]) -> str:
    """The shortest text for `positions`: runs of three or more become ranges."""
    parts: list[str] = []
    for first, length in runs(positions):
        members = range(first, first + length)
        parts += [f"{first}-{members[-1]}"] if length > 2 else map(str, members)
    return ", ".join(parts)
