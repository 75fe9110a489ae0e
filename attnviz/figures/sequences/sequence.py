"""A sequence as a file, or as a folder of files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from attnviz.core.progress import Progress
from attnviz.errors import Message
from attnviz.figures.fonts import drawing
from attnviz.figures.kinds.table import KIND_BY_ID
from attnviz.figures.sequences.frames import Frame
from attnviz.figures.sequences.outputs import Drawn, Output, check_fps, output_of
from attnviz.figures.sheet import Drawing, is_one_line, sheet_of
from attnviz.figures.style import Style
from attnviz.model.io.carriers.record import Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FPS = 4.0
"""Pictures per second."""
DRAWN_SHARE = 0.8
"""Part of the progress in which the pictures are drawn; the rest writes them as a film."""
BESIDE = " · "
"""Divides a title from the label of a picture in the same line."""


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
        for index in range(len(self.frames)):
            progress.at(index / len(self.frames))
            yield self.figure(index)

    def figure(self, index: int) -> Figure:
        """One picture, as it is beside all others. Raises `ValueError` as `figure_of` does."""
        frame, between, style = self.frames[index], self._measured[0], self.style
        picture = self._drawing(frame)
        if frame.label and style.shows(style.title):
            picture = replace(picture, title=f"{picture.title}{between}{frame.label}")
        elif frame.label and style.title is None:  # a narrow picture: the label tells it from the others
            picture, style = replace(picture, title=frame.label), replace(style, title=True)
        with drawing():
            return sheet_of(picture, frame.subject.caption if style.caption else "", style)

    @property
    def without(self) -> Message | None:
        """The part of a picture that has no room at the set width. Raises `ValueError` as `figure` does."""
        return self._measured[1]

    @cached_property
    def _measured(self) -> tuple[str, Message | None]:
        """The separator of every title and its label, and the part without room.

        The separator is a line break if one of the titles is too long for a line.
        """
        drawings = [self._drawing(frame) for frame in self.frames]  # every one widens the shared ends
        labels = [frame.label for frame in self.frames]
        with drawing():
            whole = (
                f"{picture.title}{BESIDE}{label}" for picture, label in zip(drawings, labels, strict=True)
            )
            between = BESIDE if all(is_one_line(title, self.style) for title in whole) else "\n"
        return between, next((picture.without for picture in drawings if picture.without is not None), None)

    def _drawing(self, frame: Frame) -> Drawing:
        row = KIND_BY_ID[self.kind]
        row.check(frame.subject)
        with drawing():
            return row.draw(frame.subject, frame.styled(self.style))


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
    for a video, `OSError` if writing fails, and what `progress` raises; nothing is then written.
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
) -> tuple[bytes, ...]:
    """The content of the files of a sequence.

    Raises `InputError` as `save_sequence` does, and what `progress` raises.
    """
    check_fps(fps)
    drawn, coding = progress.part(0.0, DRAWN_SHARE), progress.part(DRAWN_SHARE, 1.0)
    return row.files(Drawn(sequence.figures(drawn), fps, dpi or row.dpi, coding), record)
