"""The prepared comparisons as cards: the title, and small pictures of both sides, before one is chosen."""

from __future__ import annotations

import math
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QLabel, QScrollArea, QSizePolicy, QWidget

from attnviz.core.color_maps import Kind
from attnviz.core.progress import Progress
from attnviz.errors import InputError
from attnviz.gui.live.answer import Answer
from attnviz.gui.look.colors import Indices, indexed_image, pool
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, RADIUS, TEXT_PX, Theme
from attnviz.gui.look.words import says
from attnviz.gui.panels.compare.picture import of_compared
from attnviz.gui.panels.compare.requests import PreparedAsked
from attnviz.gui.store import Store
from attnviz.gui.widgets.button import PaintedButton
from attnviz.gui.widgets.control import draw_focus_ring
from attnviz.gui.widgets.flow_layout import flow
from attnviz.gui.widgets.heat.content import cell_indices
from attnviz.gui.widgets.heat.hatch import device_scale
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.spec.experiment import Experiment
from attnviz.model.why_not import WHY_NOTS, WhyNot

SIDE = 72
"""Side of a small picture in pixels."""
_ARROW = 24
_CAPTION = 16
WIDTH, HEIGHT = 288, 3 * GRID + 18 + SIDE + _CAPTION
MOST_TOKENS = 64
"""Tokens up to which all comparisons are computed for their pictures."""


@dataclass(frozen=True, eq=False)
class Small:
    """Both sides of a comparison as colour bytes."""

    before: Indices
    after: Indices
    kind: Kind


@dataclass(frozen=True)
class CardsAsked:
    """All prepared comparisons of one state, at one place, on one engine."""

    experiment: Experiment
    site: str
    head: int
    engine: str
    device: str

    @classmethod
    def of(cls, store: Store) -> CardsAsked | None:
        """Those of the present state; None for a long text, which has no pictures before one is chosen."""
        site, view = store.attention, store.document.view
        if max(site.n_queries, site.n_keys) > MOST_TOKENS:
            return None
        return cls(store.experiment, view.site, view.head, store.engine, store.device)

    def answer(self, check: Progress) -> dict[str, Small]:
        """The pictures of the comparisons that the state has, by their rows."""
        pictures = {}
        for index, row in enumerate(WHY_NOTS):
            check.at(index / len(WHY_NOTS))
            asked = PreparedAsked(row, self.experiment, self.site, self.head, 0, self.engine, self.device)
            try:
                compared = asked.answer(check)
            except InputError:
                continue
            sheets = of_compared(compared).sheets[:2]
            before, after = (
                cell_indices(
                    sheet.values, sheet.kind == "diverging", sheet.range_id, sheet.ends, sheet.hatched
                )[0]
                for sheet in sheets
            )
            pictures[row.id] = Small(before, after, sheets[0].kind)
        return pictures


class ComparisonCard(PaintedButton):
    """One comparison. `picture` is None until it is computed, or where the state has none."""

    def __init__(self, row: WhyNot, parent: QWidget) -> None:
        super().__init__(parent)
        self.row = row
        self.picture: Small | None = None
        says(self, id=f"compare_card_{row.id}", name=row.title, tip=row.title)

    def set_picture(self, picture: Small | None) -> None:
        """Show the small pictures."""
        self.picture = picture
        self.update()

    def boxes(self) -> tuple[QRectF, QRectF]:
        """The places of both pictures."""
        top, left = 2 * GRID + 18, (self.width() - 2 * SIDE - _ARROW) / 2
        return QRectF(left, top, SIDE, SIDE), QRectF(left + SIDE + _ARROW, top, SIDE, SIDE)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self._theme
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QColor(theme.line))
        painter.setBrush(QColor(theme.hover if self.underMouse() else theme.field))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.setFont(ui_font(TEXT_PX + 1))
        painter.setPen(QColor(theme.accent))
        room = QRectF(GRID, GRID, self.width() - 2 * GRID, 18)
        title = QFontMetricsF(painter.font()).elidedText(
            _(self.row.title), Qt.TextElideMode.ElideRight, room.width()
        )
        painter.drawText(room, Qt.AlignmentFlag.AlignCenter, title)
        self._paint_sides(painter, theme)
        if self.hasFocus():
            draw_focus_ring(painter, QRectF(self.rect()), theme)
        painter.end()

    def _paint_sides(self, painter: QPainter, theme: Theme) -> None:
        before, after = self.boxes()
        painter.setFont(ui_font(TEXT_PX - 1))
        sides = None if self.picture is None else (self.picture.before, self.picture.after)
        for index, (box, caption) in enumerate(
            zip((before, after), (self.row.left, self.row.right), strict=True)
        ):
            painter.fillRect(box, QColor(theme.ground))
            if sides is not None and self.picture is not None:
                _paint(painter, sides[index], box, self.picture.kind, theme)
            painter.setPen(QColor(theme.muted))
            wide = QRectF(0, box.bottom() + 2, self.width() / 2 - 4, _CAPTION)
            wide.moveLeft(4 if index == 0 else self.width() / 2)
            text = QFontMetricsF(painter.font()).elidedText(
                _(caption), Qt.TextElideMode.ElideRight, wide.width()
            )
            painter.drawText(wide, Qt.AlignmentFlag.AlignCenter, text)
        arrow = QRectF(before.right(), before.top(), _ARROW, SIDE)
        painter.drawText(arrow, Qt.AlignmentFlag.AlignCenter, "→")


def _paint(painter: QPainter, indices: Indices, box: QRectF, kind: Kind, theme: Theme) -> None:
    pixels = SIDE * device_scale(painter)
    rows, columns = (math.ceil(length / pixels) or 1 for length in indices.shape)
    painter.drawImage(box, indexed_image(pool(indices, (rows, columns), kind), kind, theme))


class Cards(QScrollArea):
    """All comparisons in reading order. `chosen` carries the row."""

    chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("compare_cards")
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.viewport().setAutoFillBackground(False)
        content = self._content = QWidget()
        self._heading = says(QLabel(content), N_("Or compare this state with a prepared change:"))
        set_tone("muted", self._heading)
        self.cards = tuple(ComparisonCard(row, content) for row in WHY_NOTS)
        for card in self.cards:
            card.clicked.connect(self._on_card)
        self._answer: Answer[CardsAsked, dict[str, Small]] | None = None
        self.setWidget(content)
        content.setAutoFillBackground(False)

    def follow(self, answer: Answer[CardsAsked, dict[str, Small]]) -> None:
        """Show the pictures of this answer from now on."""
        self._answer = answer
        answer.changed.connect(self._show)

    @Slot()
    def _show(self) -> None:
        pictures = (None if self._answer is None else self._answer.result) or {}
        for card in self.cards:
            card.set_picture(pictures.get(card.row.id))

    def sizeHint(self) -> QSize:
        return QSize(3 * (WIDTH + GRID), 2 * (HEIGHT + GRID))

    def minimumSizeHint(self) -> QSize:
        return QSize(WIDTH // 2, 64)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        width, gap = self.viewport().width(), 2 * GRID
        columns = max(1, min((width + gap) // (WIDTH + gap), len(self.cards)))
        each = min((width - (columns - 1) * gap) // columns, WIDTH + WIDTH // 2)
        left = (width - columns * each - (columns - 1) * gap) // 2
        top = self._heading.sizeHint().height() + GRID
        self._heading.setGeometry(QRect(left, 0, width - left, top - GRID))
        places = flow([each] * len(self.cards), HEIGHT, columns * (each + gap), gap)
        for card, place in zip(self.cards, places, strict=True):
            card.setGeometry(place.translated(QPointF(left, top).toPoint()))
        self._content.resize(width, top + places[-1].bottom() + GRID)

    @Slot()
    def _on_card(self) -> None:
        card = self.sender()
        assert isinstance(card, ComparisonCard)
        self.chosen.emit(card.row.id)
