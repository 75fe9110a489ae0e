"""Stages that fold behind a tile where the strip has no room for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from attnviz.model.stages import STAGES

MAY_BE_LAST = 14
"""Groups from this number on fold in a very narrow strip, also to a tile with one stage behind it."""


def folds() -> dict[int, frozenset[str]]:
    """Groups of stages by their numbers, the first to fold first; those of no group always stand."""
    numbers = sorted({stage.fold for stage in STAGES} - {0})
    return {number: frozenset(stage.id for stage in STAGES if stage.fold == number) for number in numbers}


Run = tuple[str, ...]
"""One place of the strip: a stage alone, or the stages behind a tile."""


def runs(stages: Sequence[str], folded: Iterable[str]) -> tuple[Run, ...]:
    """The places of the strip: neighbours that are folded share one."""
    hidden, parted, is_open = set(folded), list[Run](), False
    for stage in stages:
        if stage in hidden and is_open:
            parted[-1] = (*parted[-1], stage)
        else:
            parted.append((stage,))
        is_open = stage in hidden
    return tuple(parted)


def fold(
    stages: Sequence[str], measure: Callable[[frozenset[str]], int], room: int, kept: Iterable[str]
) -> frozenset[str]:
    """The stages to fold so that the strip fits into `room` pixels; `kept` ones stay.

    `measure` returns the width of the strip with some stages folded. A group folds as a whole; a stage alone
    behind a tile saves little, so that comes last.
    """
    folded: frozenset[str] = frozenset()
    groups = folds()
    early, late = ([n for n in groups if (n >= MAY_BE_LAST) == is_late] for is_late in (False, True))
    for number, may_be_alone in (*((n, False) for n in early), *((n, True) for n in (*early, *late))):
        width = measure(folded)
        if width <= room:
            return folded
        more = folded | (groups[number] & frozenset(stages)) - frozenset(kept)
        if not may_be_alone:
            more -= {run[0] for run in runs(stages, more) if len(run) == 1}
        if measure(more) < width:
            folded = more
    return folded
