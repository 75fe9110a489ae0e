"""Figures as files: SVG, PDF and PNG, written completely or not at all; equal figures give equal bytes."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from attnviz.errors import FieldError, InputError, about, suffix_error, whole_number
from attnviz.figures.fonts import drawing
from attnviz.figures.sheet import BASE_DPI
from attnviz.figures.style import DPI, LEAST_DPI, MOST_DPI
from attnviz.model.io.carriers.record import Record
from attnviz.model.io.carriers.table import carrying
from attnviz.model.io.files import replace_file


def write_svg(figure: Any, stream: IO[bytes], image_dpi: float, metadata: dict[str, Any]) -> None:
    """Write a matplotlib `Figure` as SVG, one unit a point, with a text that can be searched and read aloud.

    Letters are drawn as outlines, because the viewer may lack the fonts (Chinese above all), and programs
    other than browsers ignore embedded ones. The same text lies over each outline as a transparent `<text>`.
    """
    import codecs

    import matplotlib
    from matplotlib.backends.backend_mixed import MixedModeRenderer
    from matplotlib.backends.backend_svg import RendererSVG

    class SearchableSVG(RendererSVG):
        """Draws every text twice: as outlines, and transparently as text."""

        def draw_text(
            self,
            gc: Any,
            x: float,
            y: float,
            s: str,
            prop: Any,
            angle: float,
            ismath: Any = False,
            mtext: Any = None,
        ) -> None:
            super().draw_text(gc, x, y, s, prop, angle, ismath, mtext)
            transparent = self.new_gc()
            transparent.copy_properties(gc)
            transparent.set_alpha(0.0)
            with matplotlib.rc_context({"svg.fonttype": "none"}):
                super().draw_text(transparent, x, y, s, prop, angle, ismath, mtext)
            transparent.restore()

    width, height = figure.get_size_inches()
    text = codecs.getwriter("utf-8")(stream)
    kept = figure.dpi
    figure.dpi = 72
    try:
        inner = SearchableSVG(width * 72, height * 72, text, image_dpi=image_dpi, metadata=metadata)
        renderer = MixedModeRenderer(figure, width, height, image_dpi, inner)
        figure.draw(renderer)
        renderer.finalize()
    finally:
        figure.dpi = kept


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
