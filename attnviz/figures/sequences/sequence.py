"""A sequence as a file, or as a folder of files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from attnviz.core.progress import Progress
from attnviz.errors import InputError
from attnviz.figures.fonts import drawing
from attnviz.figures.kinds.table import KIND_BY_ID
from attnviz.figures.sequences.frames import Frame
from attnviz.figures.sequences.outputs import Drawn, Files, Output, check_fps, output_of
from attnviz.figures.sheet import Drawing, sheet_of
from attnviz.figures.style import Style
from attnviz.model.io.carriers.record import Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FPS = 4.0
"""Pictures per second."""


@dataclass(frozen=True)
class Sequence:
    """The frames of a sequence, and the kind and the style of their pictures."""

    frames: tuple[Frame, ...]
    kind: str
    style: Style

    def figures(self, progress: Progress) -> Iterator[Figure]:
        """The pictures one after the other, with the same ends of their colours.

        Raises `ValueError` as `figure_of` does, and what `progress` raises.
        """
        drawings = [self._drawing(frame) for frame in self.frames]  # every one widens the shared ends
        for index, frame in enumerate(self.frames):
            progress.at(index / len(drawings))
            with drawing():
                caption = frame.subject.caption if self.style.caption else ""
                yield sheet_of(self._drawing(frame), caption, self.style)

    def _drawing(self, frame: Frame) -> Drawing:
        row = KIND_BY_ID[self.kind]
        reason = row.why_not(frame.subject)
        if reason is not None:
            raise InputError(reason)
        with drawing():
            made = row.draw(frame.subject, frame.styled(self.style))
        return replace(made, title=f"{made.title} · {frame.label}") if frame.label else made


def save_sequence(
    sequence: Sequence,
    path: str | os.PathLike[str],
    progress: Progress,
    *,
    fps: float = FPS,
    dpi: int | None = None,
    record: Record | None = None,
) -> Path:
    """Write a sequence; the suffix selects one of `OUTPUTS`. Returns the file or the folder.

    `fps` are the pictures per second, `dpi` the pixels per inch; None: what is usual for the kind of file.
    `record` is carried by every file that can. Raises `InputError` for another suffix or without the package
    for a film, `OSError` if writing fails, and what `progress` raises; nothing is then written.
    """
    row = output_of(path)
    row.check(Path(path))
    return row.write(sequence_files(sequence, row, progress, fps=fps, dpi=dpi, record=record), Path(path))


def sequence_files(
    sequence: Sequence,
    row: Output,
    progress: Progress,
    *,
    fps: float = FPS,
    dpi: int | None = None,
    record: Record | None = None,
    is_shown: bool = False,
) -> Files:
    """The content of the files of a sequence; `is_shown`: with its pictures as PNG.

    Raises `InputError` as `save_sequence` does, and what `progress` raises.
    """
    check_fps(fps)
    return row.files(Drawn(sequence.figures(progress), fps, dpi or row.dpi, is_shown), record)
