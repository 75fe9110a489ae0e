"""All lessons: their titles, a sentence each, and how far the reader came."""

from __future__ import annotations

import math
from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QVBoxLayout, QWidget

from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, RADIUS
from attnviz.gui.look.words import says
from attnviz.gui.widgets.button import Button, PaintedButton
from attnviz.gui.widgets.control import draw_focus_ring
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _, current_language
from attnviz.study.lessons.lesson import Lesson

_HEIGHT, _LINE = 56, 16
_LEFT, _RIGHT = 36, 8
_BAR = 20.0
_WRAPPED = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop | Qt.TextFlag.TextWordWrap


@dataclass(frozen=True)
class Shelved:
    """A lesson, and how many of its steps are done."""

    lesson: Lesson
    done: int


class LessonButton(PaintedButton):
    """A lesson: number, title, sentence, and under the number a bar of its progress."""

    def __init__(self, number: int, shelved: Shelved) -> None:
        super().__init__()
        self._number, self.shelved = number, shelved
        self.setObjectName(f"lesson_{shelved.lesson.id}")
        self._about_font = ui_font(12)
        self.setFixedHeight(_HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        lesson, language = shelved.lesson, current_language()
        self.setAccessibleName(lesson.title(language))
        progress = _("{done} of {count} steps done").format(done=shelved.done, count=len(lesson.steps))
        self.setAccessibleDescription(f"{lesson.about(language)} {progress}")
        self.setToolTip(progress)

    def sizeHint(self) -> QSize:
        return QSize(280, _HEIGHT)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """As high as the lines of its sentence."""
        super().resizeEvent(event)
        room = QRectF(0, 0, self.width() - _LEFT - _RIGHT, 10 * _LINE)
        sentence = self.shelved.lesson.about(current_language())
        used = QFontMetricsF(self._about_font).boundingRect(room, int(_WRAPPED), sentence).height()
        self.setFixedHeight(_HEIGHT + max(0, math.ceil(used) - _LINE))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        room = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        if self.underMouse() or self.isDown():
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(self._theme.hover))
            painter.drawRoundedRect(room, RADIUS, RADIUS)
        self._draw_texts(painter, room)
        self._draw_progress(painter, room)
        if self.hasFocus():
            draw_focus_ring(painter, QRectF(self.rect()), self._theme)

    def _draw_texts(self, painter: QPainter, room: QRectF) -> None:
        lesson, language = self.shelved.lesson, current_language()
        left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.setPen(QColor(self._theme.muted))
        painter.setFont(ui_font(13))
        painter.drawText(QRectF(room.left() + 8, room.top() + 8, 24, 20), left, str(self._number))
        painter.setPen(QColor(self._theme.ink))
        painter.setFont(ui_font(15, QFont.Weight.DemiBold))
        line = QRectF(room.left() + _LEFT, room.top() + 6, room.width() - _LEFT - _RIGHT, 22)
        title = painter.fontMetrics().elidedText(
            lesson.title(language), Qt.TextElideMode.ElideRight, int(line.width())
        )
        painter.drawText(line, left, title)
        painter.setPen(QColor(self._theme.muted))
        painter.setFont(self._about_font)
        about = QRectF(_LEFT, room.top() + 31, self.width() - _LEFT - _RIGHT, self.height())
        painter.drawText(about, int(_WRAPPED), lesson.about(language))

    def _draw_progress(self, painter: QPainter, room: QRectF) -> None:
        bar = QRectF(room.left() + 8, room.top() + 36, _BAR, 4)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.line))
        painter.drawRoundedRect(bar, 2, 2)
        share = self.shelved.done / len(self.shelved.lesson.steps)
        painter.setBrush(QColor(self._theme.accent))
        painter.drawRoundedRect(QRectF(bar.left(), bar.top(), bar.width() * share, bar.height()), 2, 2)


class Library(QWidget):
    """`chosen` carries the id of a lesson; `file_wanted` asks for the file of another one."""

    chosen = Signal(str)
    file_wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._title = says(QLabel(), N_("Lessons"))
        self._hint = says(
            QLabel(),
            N_(
                "Each step sets up the document and explains one idea. "
                "Change anything; a click restores the step."
            ),
        )
        self._title.setFont(ui_font(22, QFont.Weight.DemiBold))
        self._hint.setFont(ui_font(13))
        self._hint.setWordWrap(True)
        tip = N_("Open a lesson from a text file")
        self._open = says(Button(), N_("Open a lesson file…"), id="lesson_open_file", tip=tip)
        self._open.clicked.connect(self.file_wanted)
        self._rows = QWidget()
        self._list = QVBoxLayout(self._rows)
        self._list.setContentsMargins(0, 0, 0, 0)
        self._list.setSpacing(2)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID)
        column.addWidget(self._title)
        column.addWidget(self._hint)
        column.addWidget(clear_scroll(self._rows, sideways=False), 1)
        column.addWidget(self._open, 0, Qt.AlignmentFlag.AlignLeft)
        set_tone("muted", self._hint)

    def set_shelf(self, shelf: tuple[Shelved, ...]) -> None:
        """Show these lessons."""
        while (item := self._list.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        for number, shelved in enumerate(shelf, 1):
            button = LessonButton(number, shelved)
            button.clicked.connect(self._on_chosen)
            self._list.addWidget(button)
        self._list.addStretch(1)

    def _on_chosen(self) -> None:
        button = self.sender()
        assert isinstance(button, LessonButton)
        self.chosen.emit(button.shelved.lesson.id)
