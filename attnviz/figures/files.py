"""Figures as files: SVG, PDF and PNG, written completely or not at all; equal figures give equal bytes."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnviz.errors import FieldError, InputError, about, suffix_error, whole_number
from attnviz.figures.fonts import drawing
from attnviz.figures.sheet import BASE_DPI
from attnviz.figures.style import DPI, LEAST_DPI, MOST_DPI
from attnviz.figures.svg import write_svg
from attnviz.model.io.carriers.record import Record
from attnviz.model.io.carriers.table import carrying
from attnviz.model.io.files import replace_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Format:
    """One file format: its id, which is its suffix, and its name."""

    id: str
    title: str


FORMATS = (Format("svg", "SVG"), Format("pdf", "PDF"), Format("png", "PNG"))


def save_figure(
    figure: Figure, path: str | os.PathLike[str], *, dpi: int = DPI, record: Record | None = None
) -> Path:
    """Write `figure` to `path`, whose suffix selects the format; returns the path.

    `dpi` applies to PNG. The file carries `record`, so that the document can be opened from it. Raises
    `ValueError` for another suffix, `OSError` if writing fails; the old file is then unchanged.
    """
    file = Path(path)
    format_id = format_of(file)
    data = figure_bytes(figure, format_id, dpi=dpi)
    replace_file(file, data if record is None else carrying(data, f".{format_id}", record))
    return file


def format_of(name: str | os.PathLike[str]) -> str:
    """The format of a file name. Raises `ValueError` naming the supported suffixes."""
    path = Path(name)
    format_id = path.suffix.lower().removeprefix(".")
    if format_id not in {row.id for row in FORMATS}:
        raise InputError(
            about(path.name or path, suffix_error(path.suffix, [f".{row.id}" for row in FORMATS]).message)
        )
    return format_id


def figure_bytes(figure: Figure, format_id: str, *, dpi: int = DPI) -> bytes:
    """The file's content. Raises `ValueError` for a `dpi` outside 36 to 1200.

    A PNG gets more pixels if a cell would be smaller than one, so that no cell is left out.
    """
    if not LEAST_DPI <= dpi <= MOST_DPI:
        raise FieldError("dpi", dpi, whole_number(LEAST_DPI, MOST_DPI))
    stream = io.BytesIO()
    with drawing():
        if format_id == "svg":
            write_svg(figure, stream, DPI, {"Creator": "attnviz", "Date": None})
        else:
            _print(figure, format_id, stream, dpi if figure.dpi <= BASE_DPI else max(dpi, figure.dpi))
    return stream.getvalue()


def _print(figure: Figure, format_id: str, stream: io.BytesIO, dpi: float) -> None:
    metadata: dict[str, Any] = {"Software": "attnviz"}
    if format_id == "pdf":
        metadata = {"Creator": "attnviz", "Producer": None, "CreationDate": None}
    figure.savefig(stream, format=format_id, dpi=dpi, metadata=metadata, facecolor=figure.get_facecolor())
