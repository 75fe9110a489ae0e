"""The presets as a gallery: groups of cards under their names, filtered by group and by words."""

from __future__ import annotations

import math

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFont, QKeyEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QLabel, QScrollArea, QSizePolicy, QToolButton, QWidget

from attnviz.checkpoints.presets import grouped_presets
from attnviz.errors import Message
from attnviz.gui.look.colors import BLOCKED, indexed_image, pool
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, RADIUS, Theme
from attnviz.gui.look.words import says
from attnviz.gui.start.pictures import SIDE, ArcsPicture, Picture, paint_arcs
from attnviz.gui.widgets.button import PaintedButton
from attnviz.gui.widgets.control import active_theme, draw_focus_ring
from attnviz.gui.widgets.heat.hatch import device_scale, draw_blocked
from attnviz.gui.widgets.paragraph import Mark, broken, laid_out
from attnviz.i18n import N_, _
from attnviz.model.captions import pieces, plain_caption
from attnviz.model.io.presets import Preset

WIDTH, HEIGHT = 280, 112
_PADDING = 12
_NAME_PX, _NAME_LINE = 14, 18
_TEXT_PX, _TEXT_LINE = 12, 17
_TEXT_LEFT = 2 * _PADDING + SIDE
_HATCH = 5.0
_FLATTEST = 0.3
"""A matrix flatter or narrower than this is drawn with stretched cells, so that it stays a picture."""

ARROWS = {
    Qt.Key.Key_Left: (-1, 0),
    Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Up: (0, -1),
    Qt.Key.Key_Down: (0, 1),
}
"""Step across and down of each arrow key."""


class PresetCard(PaintedButton):
    """Opens a preset. `walked` carries the step of an arrow key."""

    walked = Signal(int, int)

    def __init__(self, preset: Preset) -> None:
        super().__init__()
        self.preset = preset
        says(self, id=f"card_{preset.id}", name=preset.title)
        self._picture: Picture | ArcsPicture | None = None
        self.retranslate()

    def retranslate(self) -> None:
        self.setAccessibleDescription(plain_caption(_(self.preset.description)))

    @property
    def has_picture(self) -> bool:
        """True if the card shows its picture already."""
        return self._picture is not None

    def set_picture(self, picture: Picture | ArcsPicture) -> None:
        """Show the map or the arcs."""
        self._picture = picture
        self.update()

    def matches(self, words: str) -> bool:
        """True if every one of `words` is in the name, the group or the sentence, in any language shown."""
        preset = self.preset
        english = (preset.title, preset.group, preset.description)
        text = " ".join((*english, *(_(part) for part in english), preset.id))
        return all(word in text.casefold() for word in words.casefold().split())

    def sizeHint(self) -> QSize:
        return QSize(WIDTH, HEIGHT)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows walk."""
        if event.key() in ARROWS:
            self.walked.emit(*ARROWS[Qt.Key(event.key())])
        else:
            super().keyPressEvent(event)

    def picture_rect(self) -> QRectF:
        """Rectangle of the picture on the card."""
        frame = QRectF(_PADDING, (self.height() - SIDE) / 2, SIDE, SIDE)
        if not isinstance(self._picture, Picture):
            return frame
        rows, columns = self._picture.indices.shape
        aspect = min(max(columns / rows, _FLATTEST), 1 / _FLATTEST)
        size = QSize(round(SIDE * min(1.0, aspect)), round(SIDE * min(1.0, 1 / aspect)))
        top = frame.top() + (SIDE - size.height()) // 2
        return QRectF(frame.left() + (SIDE - size.width()) // 2, top, size.width(), size.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        is_under = self.underMouse()
        painter.setPen(QPen(QColor(self._theme.accent if is_under else self._theme.line), 1))
        painter.setBrush(QColor(self._theme.hover if self.isDown() else self._theme.panel))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
        self._paint_picture(painter)
        self._paint_texts(painter)
        if self.hasFocus():
            draw_focus_ring(painter, QRectF(self.rect()), self._theme)

    def _paint_picture(self, painter: QPainter) -> None:
        place, picture = self.picture_rect(), self._picture
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        if picture is None:
            painter.fillRect(place, QColor(self._theme.field))
            return
        if isinstance(picture, ArcsPicture):
            paint_arcs(painter, place, picture, self._theme)
            return
        if (picture.indices == BLOCKED).any():
            draw_blocked(painter, place, self._theme, _HATCH)
        scale = device_scale(painter)
        rows, columns = picture.indices.shape
        factors = (math.ceil(rows / (place.height() * scale)), math.ceil(columns / (place.width() * scale)))
        small = pool(picture.indices, factors, picture.kind)
        painter.drawImage(place, indexed_image(small, picture.kind, self._theme))

    def _paint_texts(self, painter: QPainter) -> None:
        """Name and sentence from the top of the map; words that refer to tokens have the tokens' colours."""
        top, width = (self.height() - SIDE) / 2 - 3, self.width() - _TEXT_LEFT - _PADDING
        name_font, font = ui_font(_NAME_PX, QFont.Weight.DemiBold), ui_font(_TEXT_PX)
        painter.setPen(QColor(self._theme.ink))
        for line in broken(_(self.preset.title), name_font, width, 2):
            laid_out(line, name_font, ()).draw(painter, QPointF(_TEXT_LEFT, top))
            top += _NAME_LINE
        most = int((self.height() - GRID - top) // _TEXT_LINE)
        painter.setPen(QColor(self._theme.muted))
        text, marks = self._sentence()
        for line in broken(text, font, width, most):
            laid_out(line, font, marks).draw(painter, QPointF(_TEXT_LEFT, top))
            top += _TEXT_LINE

    def _sentence(self) -> tuple[str, list[Mark]]:
        text, marks = "", []
        for piece in pieces(_(self.preset.description)):
            if piece.anchor is not None:
                color = self._theme.query if piece.anchor.axis == "query" else self._theme.key
                marks.append(Mark(len(text), len(text) + len(piece.text), color, is_underlined=False))
            text += piece.text
        return text, marks


GAP = 2 * GRID
_HEADING = 36
_LINE = 24
FIRST_ROWS, MORE_ROWS = 2, 1
"""Rows of cards of the first group, and of each other one, while all groups are shown."""


class Section(QWidget):
    """One group: its name, a link to all of it, and its cards."""

    all_wanted = Signal(str)

    def __init__(self, group: str, presets: tuple[Preset, ...], n_rows: int) -> None:
        super().__init__()
        self.group, self._n_rows = group, n_rows
        self._heading = says(QLabel(self), group)
        self._all = says(
            QToolButton(self),
            Message("all {n}", n=len(presets)),
            name=Message("All presets of {group}", group=Message(group)),
        )
        self._heading.setFont(ui_font(14, QFont.Weight.DemiBold))
        self._heading.setTextFormat(Qt.TextFormat.PlainText)
        self._all.setAutoRaise(True)
        self._all.setCursor(Qt.CursorShape.PointingHandCursor)
        self._all.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._all.clicked.connect(self._on_all)
        self.cards = [PresetCard(preset) for preset in presets]
        for card in self.cards:
            card.setParent(self)
        self.apply_theme(active_theme())

    def apply_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        self._all.setStyleSheet(f"color: {theme.accent}; text-decoration: underline")

    def arrange(self, width: int, words: str, is_whole: bool) -> int:
        """Place the cards that match in `width` pixels; returns the height, 0 without a match.

        All of them if the group `is_whole`, else its first rows.
        """
        matching = [card for card in self.cards if card.matches(words)]
        columns = max(1, (width + GAP) // (WIDTH + GAP))
        shown = matching if is_whole else matching[: columns * self._n_rows]
        card_width = (width - (columns - 1) * GAP) // columns
        for card in self.cards:
            card.setVisible(card in shown)
        for index, card in enumerate(shown):
            row, column = divmod(index, columns)
            left, top = column * (card_width + GAP), _HEADING + row * (HEIGHT + GRID)
            card.setGeometry(left, top, card_width, HEIGHT)
        size = self._all.sizeHint()
        self._heading.setGeometry(0, 0, width - size.width() - GAP, _HEADING - GRID // 2)
        self._all.setGeometry(width - size.width(), 4, size.width(), _LINE)
        self._all.setVisible(len(shown) < len(matching))
        n_rows = -(-len(shown) // columns)
        return _HEADING + n_rows * (HEIGHT + GRID) + GRID if shown else 0

    @Slot()
    def _on_all(self) -> None:
        self.all_wanted.emit(self.group)


class Gallery(QScrollArea):
    """All groups. `chosen` carries the id of a preset, `group_wanted` the group whose whole is wanted.

    The cards have one Tab stop; arrows go from card to card.
    """

    chosen = Signal(str)
    group_wanted = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("gallery")
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._words, self._group = "", ""
        self._content = content = QWidget()
        content.setObjectName("gallery_content")
        self._sections: list[Section] = []
        for index, (group, presets) in enumerate(grouped_presets()):
            section = Section(group, presets, FIRST_ROWS if index == 0 else MORE_ROWS)
            section.setParent(content)
            section.all_wanted.connect(self.group_wanted)
            self._sections.append(section)
        self._nothing = says(QLabel(content), N_("No preset has these words."), id="gallery_empty")
        self.cards = [card for section in self._sections for card in section.cards]
        for card in self.cards:
            card.clicked.connect(self._on_card)
            card.walked.connect(self._on_walk)
        self.setWidget(content)
        self.viewport().setAutoFillBackground(False)
        content.setAutoFillBackground(False)
        self._arrange()

    @property
    def shown(self) -> list[PresetCard]:
        """The cards that are shown, in order."""
        sections = [section for section in self._sections if not section.isHidden()]
        return [card for section in sections for card in section.cards if not card.isHidden()]

    def show_only(self, words: str, group: str) -> None:
        """Show the cards with these words, of one group or (empty) of all."""
        if (words, group) != (self._words, self._group):
            self._words, self._group = words, group
            self.verticalScrollBar().setValue(0)
            self._arrange()

    def focus_first(self) -> None:
        """Give the focus to the first card."""
        if self.shown:
            self.shown[0].setFocus(Qt.FocusReason.TabFocusReason)

    def retranslate(self) -> None:
        self._arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def sizeHint(self) -> QSize:
        return QSize(3 * WIDTH + 2 * GAP, 600)

    def _arrange(self) -> None:
        width, top = max(WIDTH, self.viewport().width() - GRID), 0
        for section in self._sections:
            is_wanted = self._group in ("", section.group)
            is_whole = bool(self._group or self._words)
            height = section.arrange(width, self._words, is_whole) if is_wanted else 0
            section.setVisible(height > 0)
            section.setGeometry(0, top, width, height)
            top += height
        self._nothing.setVisible(not top)
        self._nothing.setGeometry(0, GRID, width, _LINE)
        self._content.resize(width, max(top, 2 * _LINE))
        self._rove(self.shown[0] if self.shown else None)

    def _rove(self, stop: PresetCard | None) -> None:
        for card in self.cards:
            policy = Qt.FocusPolicy.TabFocus if card is stop else Qt.FocusPolicy.NoFocus
            card.setFocusPolicy(policy)

    @Slot()
    def _on_card(self) -> None:
        card = self.sender()
        assert isinstance(card, PresetCard)
        self.chosen.emit(card.preset.id)

    @Slot(int, int)
    def _on_walk(self, across: int, down: int) -> None:
        """The next card on the row, or the nearest one on the row above or below."""
        cards, here = self.shown, self.sender()
        if here not in cards:
            return
        assert isinstance(here, PresetCard)
        if across:
            index = min(max(cards.index(here) + across, 0), len(cards) - 1)
            self._go(cards[index])
            return
        places = {card: card.mapTo(self._content, card.rect().center()) for card in cards}
        beyond = [card for card in cards if (places[card].y() - places[here].y()) * down > 0]
        if beyond:
            nearest = min(abs(places[card].y() - places[here].y()) for card in beyond)
            row = [card for card in beyond if abs(places[card].y() - places[here].y()) == nearest]
            self._go(min(row, key=lambda card: abs(places[card].x() - places[here].x())))

    def _go(self, card: PresetCard) -> None:
        self._rove(card)
        card.setFocus(Qt.FocusReason.TabFocusReason)
        self.ensureWidgetVisible(card, 0, _HEADING)
