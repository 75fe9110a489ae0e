"""Sequences of pictures: the steps of a decoding, the layers, a number through a range."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from attnviz.checkpoints.stories import record_of
from attnviz.core.progress import Check, progress_of
from attnviz.errors import FieldError, must_be
from attnviz.figures.kinds.table import KIND_BY_ID, KINDS
from attnviz.figures.sequences.frames import frames
from attnviz.figures.sequences.outputs import LEAST_FPS, MOST_FPS, OUTPUTS, Files, Output
from attnviz.figures.sequences.sequence import FPS, Sequence, sequence_files
from attnviz.gui.export.choices import DECODE, LAYERS, NUMBER
from attnviz.gui.export.source import Choice, Leaves, Made, Source

FRAMES_SHARE = 0.4
"""Part of the progress in which the frames are computed; the rest draws them."""

SWEEP = ("first", "last", "count", "spacing")
MOVING = ("gif", "mp4")
"""Formats with a pace."""


def sequence(source: Source, choice: Choice, check: Check) -> Made:
    """The files of a sequence, which carry the document; the preview plays its pictures."""
    progress, row = progress_of(check), _output(choice.format)
    fps, kind, style = _fps(choice), choice.text("picture"), choice.style
    subject = choice.subject(source, check)
    made = frames(over_of(choice), subject, source.engines, progress.part(0.0, FRAMES_SHARE), kind)
    files = sequence_files(
        Sequence(made, kind, style),
        row,
        progress.part(FRAMES_SHARE, 1.0),
        fps=fps,
        dpi=style.dpi if choice.text("dpi") else None,
        record=record_of(subject.document(source.document)),
        is_shown=True,
    )
    return Made(files.contents, Leaves(files.pictures, fps), write=partial(_write, row))


def _write(row: Output, contents: tuple[bytes, ...], path: Path) -> tuple[Path, ...]:
    return (row.write(Files(contents), path),)


def _output(format_id: str) -> Output:
    """The kind of file of a format."""
    return next(row for row in OUTPUTS if row.suffix == f".{format_id}")


def over_of(choice: Choice) -> str:
    """The change from picture to picture as `attnviz animate` takes it."""
    over = choice.text("over")
    if over in (DECODE, LAYERS):
        return over
    path = choice.text("path") if over == NUMBER else over
    first, last, count = (choice.text(name) for name in SWEEP[:3])
    return f"{path}={first}:{last}:{count}{':log' if choice.text('spacing') == 'ratios' else ''}"


def _fps(choice: Choice) -> float:
    """The pictures per second. Raises `FieldError` for a text that is no number."""
    text = choice.text("fps")
    try:
        return float(text) if text else FPS
    except ValueError:
        between = must_be("a number from {least} to {most}", least=LEAST_FPS, most=MOST_FPS)
        raise FieldError("fps", text, between) from None


def idle_options(value: Callable[[str], str]) -> set[str]:
    """Options that do nothing for the chosen change, format and kind of picture."""
    over, picture = value("over"), value("picture")
    idle = set() if over == NUMBER else {"path"}
    if over in (DECODE, LAYERS):
        idle |= set(SWEEP)
    if over == LAYERS:
        idle.add("site")
    if value("format") not in MOVING:
        idle.add("fps")
    drawn = KIND_BY_ID[picture].options if picture else ()
    return idle | {name for row in KINDS for name in row.options if name not in drawn}
