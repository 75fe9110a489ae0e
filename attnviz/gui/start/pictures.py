"""The picture on the card of a preset: its map or its arcs, computed once and stored."""

from __future__ import annotations

import contextlib
import hashlib
import io
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen

from attnviz import resources
from attnviz.checkpoints.presets import load_preset
from attnviz.core.arcs import STRONG, Measures, Word, arrange, sentence
from attnviz.core.color_maps import Kind
from attnviz.core.levels import RANGE_BY_ID
from attnviz.core.shades import head_color
from attnviz.gui.live.trace import execute
from attnviz.gui.look.colors import Indices, pool
from attnviz.gui.look.theme import Theme
from attnviz.gui.widgets.heat.content import cell_indices, color_kind, without_first
from attnviz.model.io.files import replace_file
from attnviz.model.io.model_presets import ModelPreset
from attnviz.model.io.presets import Preset
from attnviz.model.io.regular_file import opened
from attnviz.model.links import LINED, WordLines, word_lines
from attnviz.model.ranges import has_first, overview_ends, shown_range
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import shown_head
from attnviz.model.trace import Trace
from attnviz.version import __version__

SIDE = 80
"""Side of the picture in device-independent pixels."""

MOST_CELLS = 2 * SIDE
"""Cells along a side of a stored picture: one for each pixel of a fine screen."""

_SUFFIX = ".npy"


@dataclass(frozen=True, eq=False)
class Picture:
    """The colour bytes of a map, (rows, columns), as drawn; and its colour map."""

    indices: Indices
    kind: Kind


@dataclass(frozen=True, eq=False)
class ArcsPicture:
    """The arcs of a query in one head: (letters, 1 apart or 0, weight) of each word, in each of two rows.

    `numbers` is (words, 6): three of a query, three of a key; NaN where a row has ended or a key is masked.
    `query` is that of the arcs, `head` gives the hue, and `is_first_off` leaves the first key out.
    """

    numbers: NDArray[np.float64]
    query: int
    head: int
    is_one: bool
    is_first_off: bool


def picture_of(document: Document, check: Callable[[], None]) -> Picture | ArcsPicture:
    """The map or the arcs that a document opens at, from its own run."""
    view = document.view
    site = _drawn(document, check).shown(view.site)
    stage = site.shown_stage(view.stage)
    head, range_id = shown_head(site.experiment, view, stage), shown_range(site, view, stage)
    is_first_off = has_first(site, stage) and RANGE_BY_ID[range_id].skips_first
    if view.picture == "arcs" and stage in LINED and site.quantity == "value":
        return _arcs_of(word_lines(site, view, stage), view.query, head, is_first_off)
    signed = site.is_signed(stage)
    values, hidden = site.overview(stage, head)
    ends = overview_ends(site, stage, range_id, head) if is_first_off else None
    indices, _ends = cell_indices(values, signed, range_id, ends, hidden)
    if is_first_off:
        indices = without_first(indices)
    turned = indices.T if view.orientation == "queries_as_columns" else indices
    kind = color_kind(signed, range_id)
    factors = tuple(math.ceil(length / MOST_CELLS) or 1 for length in turned.shape)
    return Picture(np.ascontiguousarray(pool(turned, (factors[0], factors[1]), kind)), kind)


def _arcs_of(lines: WordLines, query: int, head: int, is_first_off: bool) -> ArcsPicture:
    """The words of the sentences as lengths, and the weights of a query."""
    query = min(query, len(lines.queries) - 1)
    weights = np.where(lines.hidden(query), np.nan, lines.given(query)[0])
    rows = sentence(lines.queries), sentence(lines.keys)
    numbers = np.full((max(map(len, rows)), 6), np.nan)
    for side, words in enumerate(rows):
        for index, word in enumerate(words):
            numbers[index, 3 * side : 3 * side + 2] = 1 if word.is_sign else len(word.text), word.is_apart
    numbers[: len(weights), 5] = weights
    is_one = lines.site.experiment.memory is None and lines.queries == lines.keys
    return ArcsPicture(numbers, query, head, is_one, is_first_off)


def _drawn(document: Document, check: Callable[[], None]) -> Trace:
    """The values, or the gradients that the view shows in their place."""
    view = document.view
    if view.target is None or view.quantity == "value":
        return execute(document.experiment, "numpy", "auto", check=check, reserve=1)
    from attnviz.compute.execute import execute_backward

    gradient = execute_backward(document.experiment, view.target, "numpy", "auto", check)[1]
    return gradient if view.quantity == "gradient" else gradient.product


class Pictures:
    """The pictures in a folder, each under the hash of its preset. A damaged file counts as none."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def stored(self, preset: Preset) -> Picture | ArcsPicture | None:
        """The stored picture of a preset, if the preset has not changed since."""
        with contextlib.suppress(OSError, ValueError, EOFError, IndexError):
            with opened(self._file(preset, "arcs")) as file:
                return _unpacked(np.load(file, allow_pickle=False))
        for kind in ("sequential", "diverging"):
            with contextlib.suppress(OSError, ValueError, EOFError):
                with opened(self._file(preset, kind)) as file:
                    indices = np.load(file, allow_pickle=False)
                if indices.dtype == np.uint8 and indices.ndim == 2 and 0 < max(indices.shape) <= MOST_CELLS:
                    return Picture(indices, kind)  # type: ignore[arg-type]
        return None

    def made(self, preset: Preset, check: Callable[[], None]) -> Picture | ArcsPicture:
        """The picture of a preset, computed, and stored where the disk allows."""
        picture = picture_of(load_preset(preset.id), check)
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            if isinstance(picture, Picture):
                replace_file(self._file(preset, picture.kind), _npy(picture.indices))
            else:
                replace_file(self._file(preset, "arcs"), _npy(_packed(picture)))
        return picture

    def _file(self, preset: Preset, kind: str) -> Path:
        return self._folder / f"{preset.id}-{key_of(preset)}-{kind}{_SUFFIX}"


def key_of(preset: Preset) -> str:
    """Hash of all that the picture of a preset depends on: its document, and the program."""
    content = hashlib.sha256(f"{__version__} {MOST_CELLS} {preset!r}".encode())
    if not isinstance(preset, ModelPreset):
        content.update(resources.path("presets", f"{preset.id}.json").read_bytes())
    return content.hexdigest()[:16]


def _packed(picture: ArcsPicture) -> NDArray[np.float64]:
    """The whole picture as one array: its four single numbers come first."""
    first = (picture.query, picture.head, picture.is_one, picture.is_first_off, 0, 0)
    return np.vstack([np.array(first, np.float64), picture.numbers])


def _unpacked(packed: NDArray[np.float64]) -> ArcsPicture:
    """`_packed` read back. Raises `ValueError` for another array."""
    rows = len(packed) - 1 if packed.dtype == np.float64 and packed.ndim == 2 else 0
    if not 0 < rows <= MOST_WORDS or packed.shape[1] != 6 or not np.isfinite(packed[0]).all():
        raise ValueError("no arcs")
    query, head, is_one, is_first_off = packed[0, :4].astype(int).tolist()
    if not 0 <= query < np.count_nonzero(np.isfinite(packed[1:, 0])) or head < 0:
        raise ValueError("no arcs")
    return ArcsPicture(packed[1:], query, head, bool(is_one), bool(is_first_off))


def _npy(array: NDArray[np.generic]) -> bytes:
    """The array as the bytes of a .npy file."""
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


_LETTER, _WORD_HEIGHT, _LEAST_BAR = 2.0, 3.0, 2.0
MOST_WORDS = 512
"""Words of a stored picture."""


def paint_arcs(painter: QPainter, place: QRectF, picture: ArcsPicture, theme: Theme) -> None:
    """Arcs over words that are bars, in the hue of their head; query and key have their colours."""
    rows = [picture.numbers[np.isfinite(picture.numbers[:, column])] for column in (0, 3)]
    words = [
        tuple(
            Word("·" * int(letters), bool(apart)) for letters, apart in row[:, column : column + 2].tolist()
        )
        for row, column in zip(rows, (0, 3), strict=True)
    ]
    weights = rows[1][:, 5]
    counted = np.nan_to_num(weights, nan=-1.0)
    if picture.is_first_off:
        counted[0] = -1.0
    strongest = int(counted.argmax())
    total = max(sum(len(word.text) + 1 for word in each) for each in words)
    letter = min(_LETTER * 3, place.width() / max(1, total))
    widths = [[max(_LEAST_BAR / 2, letter * len(word.text)) for word in each] for each in words]
    room = max(place.width(), *(sum(each) + len(each) * letter + 1 for each in widths))
    measures = Measures(_WORD_HEIGHT, letter, 0.7 * place.height(), 5.0, 0.0, 3 * letter, letter / 3)
    keys = None if picture.is_one else words[1]
    chosen = picture.query, strongest
    arcs = arrange(words[0], keys, (widths[0], widths[1]), chosen, 0.0, room, measures)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    scale = min(1.0, place.width() / room)
    painter.translate(place.left(), place.center().y() - scale * arcs.height / 2)
    painter.scale(scale, scale)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for key in np.argsort(counted, kind="stable").tolist():
        curve = arcs.curve(picture.query, key)
        if curve is None or counted[key] < 0:
            continue
        is_strong = counted[key] >= STRONG
        color = QColor(head_color(picture.head) if is_strong else theme.line)
        painter.setPen(QPen(color, arcs.thickness(float(counted[key]))))
        start, one, two, end = (QPointF(*point) for point in curve.tolist())
        path = QPainterPath(start)
        path.cubicTo(one, two, end)
        painter.drawPath(path)
    for row, is_queries in ((arcs.queries, True), (arcs.keys, False)):
        for index, at in enumerate(row.places, row.first):
            is_query = index == picture.query and (is_queries or picture.is_one)
            color = QColor(theme.query if is_query else theme.muted)
            if index == strongest and not is_query and not (is_queries and not picture.is_one):
                color = QColor(theme.key_mark)
            painter.fillRect(QRectF(at.left, arcs.tops[at.row] + 1, at.right - at.left, _WORD_HEIGHT), color)
    painter.restore()
