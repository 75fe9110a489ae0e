"""Alignment of two sequences of tokens: the positions of one beside those of the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from attnviz.i18n import N_

Pair = tuple[int | None, int | None]
"""A position of the first sequence and of the second; None if the token has no counterpart."""

Pairs = tuple[Pair, ...]
Texts = Sequence[str]


@dataclass(frozen=True)
class Alignment:
    """One way to align two sequences. `title` and `hint` are messages; `pair(first, second)` aligns."""

    id: str
    title: str
    hint: str
    pair: Callable[[Texts, Texts], Pairs]


def by_position(first: Texts, second: Texts) -> Pairs:
    """Position i beside position i; the end of the longer sequence has no counterpart."""
    shared = min(len(first), len(second))
    ends = [(i, None) for i in range(shared, len(first))], [(None, i) for i in range(shared, len(second))]
    return (*((i, i) for i in range(shared)), *ends[0], *ends[1])


def by_text(first: Texts, second: Texts) -> Pairs:
    """Equal tokens in the same order, the longest runs first; other tokens have no counterpart.

    Both sequences keep their order. Ratcliff and Metzener 1988 (`difflib`), after the common beginning and
    end, which are most of two similar texts.
    """
    start = _common(first, second)
    end = _common(first[start:][::-1], second[start:][::-1])
    pairs: list[Pair] = [(i, i) for i in range(start)]
    middle = first[start : len(first) - end], second[start : len(second) - end]
    for tag, a0, a1, b0, b1 in SequenceMatcher(None, *middle, autojunk=False).get_opcodes():
        if tag == "equal":
            pairs += [(start + a0 + i, start + b0 + i) for i in range(a1 - a0)]
        else:
            pairs += [(start + i, None) for i in range(a0, a1)]
            pairs += [(None, start + i) for i in range(b0, b1)]
    pairs += [(len(first) - i, len(second) - i) for i in range(end, 0, -1)]
    return tuple(pairs)


def _common(first: Texts, second: Texts) -> int:
    """Number of tokens with which both begin."""
    equal = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        equal += 1
    return equal


ALIGNMENTS: tuple[Alignment, ...] = (
    Alignment("position", N_("By position"), N_("Aligns token 5 of A with token 5 of B"), by_position),
    Alignment("text", N_("By text"), N_("Aligns equal tokens, also after an insertion"), by_text),
)

ALIGNMENT_BY_ID = {row.id: row for row in ALIGNMENTS}
