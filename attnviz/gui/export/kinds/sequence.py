"""Sequences of pictures: the steps of a decoding, the layers, a number through a range."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

from attnviz.checkpoints.stories import record_of
from attnviz.core.progress import Check, Progress, progress_of
from attnviz.errors import FieldError, Message, must_be
from attnviz.figures.files import figure_bytes
from attnviz.figures.kinds.table import KIND_BY_ID, KINDS
from attnviz.figures.sequences.frames import OVER, SUM, Frame, frames
from attnviz.figures.sequences.outputs import LEAST_FPS, MOST_FPS, MOVING_DPI, OUTPUTS, Output, check_fps
from attnviz.figures.sequences.sequence import FPS, Sequence, sequence_files
from attnviz.gui.export.choices import CHOICE_BY_NAME, LAYERS, NUMBER, over_of
from attnviz.gui.export.source import Choice, Leaves, Made, Source

FRAMES_SHARE = 0.4
"""Part of the progress in which the frames are computed; the rest draws them."""

SWEEP = ("first", "last", "count", "spacing")
MOVING = ("gif", "mp4")
"""Formats with a pace."""


def sequence(source: Source, choice: Choice, check: Check) -> Made:
    """The files of a sequence, which carry the document."""
    progress, row = progress_of(check), _output(choice.format)
    film = _sequence(source, choice, progress.part(0.0, FRAMES_SHARE))
    record = record_of(choice.subject(source, check).document(source.document))
    dpi = film.style.dpi if choice.text("dpi") else None
    rest, fps = progress.part(FRAMES_SHARE, 1.0), _fps(choice)
    files = sequence_files(film, row, rest, fps=fps, dpi=dpi, record=record)
    return Made(files, _leaves(film, fps), write=partial(_write, row), said=_said(film))


def look(source: Source, choice: Choice, check: Check, index: int) -> Made:
    """The preview of a sequence: the picture in sight alone, and others when they are turned to."""
    row, fps = _output(choice.format), _fps(choice)
    row.check_package()
    check_fps(fps)
    film = _sequence(source, choice, progress_of(check))
    leaves = _leaves(film, fps)
    at = min(index, leaves.count - 1)
    leaves.drawn[at] = leaves.draw(at, check)
    return Made((), leaves, said=_said(film))


def _leaves(film: Sequence, fps: float) -> Leaves:
    def draw(index: int, check: Check) -> bytes:
        check()
        return figure_bytes(film.figure(index), "png", dpi=MOVING_DPI)

    return Leaves(len(film.frames), draw, fps)


def _said(film: Sequence) -> tuple[Message, ...]:
    return () if film.without is None else (film.without,)


def _sequence(source: Source, choice: Choice, progress: Progress) -> Sequence:
    """The sequence; its frames are computed again only where a choice changes their numbers."""
    kind, style, over = choice.text("picture") or SUM, choice.style, over_of(choice)
    key = over, *(text for text in choice.texts if text[0] in CHOICE_BY_NAME and text[0] != "fps")
    kept = source.kept.get(key)
    if kept is None:
        subject = choice.subject(source, progress)
        if KIND_BY_ID[kind].of_values:
            subject = replace(subject, trace=source.trace)
        kept = frames(over, subject, source.engines, progress, kind)
        source.kept.clear()
        source.kept[key] = kept
    return Sequence(cast(tuple[Frame, ...], kept), kind, style)


def _write(row: Output, contents: tuple[bytes, ...], path: Path) -> tuple[Path, ...]:
    return (row.write(contents, path),)


def _output(format_id: str) -> Output:
    """The kind of file of a format."""
    return next(row for row in OUTPUTS if row.suffix == f".{format_id}")


def _fps(choice: Choice) -> float:
    """The pictures per second. Raises `FieldError` for a text that is no number."""
    text = choice.text("fps")
    try:
        return float(text) if text else FPS
    except ValueError:
        between = must_be("a number from {least} to {most}", least=LEAST_FPS, most=MOST_FPS)
        raise FieldError("fps", text, between) from None


def idle_pace(value: Callable[[str], str]) -> set[str]:
    """The pace, in a format that has none."""
    return set() if value("format") in MOVING else {"fps"}


def idle_options(value: Callable[[str], str]) -> set[str]:
    """Options that do nothing for the chosen change, format and kind of picture."""
    over, picture = value("over"), value("picture")
    idle = set() if over == NUMBER else {"path"}
    if over in OVER:
        idle |= set(SWEEP)
    if over == LAYERS:
        idle.add("site")
    idle |= idle_pace(value)
    drawn = KIND_BY_ID[picture].options if picture else ()
    return idle | {name for row in KINDS for name in row.options if name not in drawn}
