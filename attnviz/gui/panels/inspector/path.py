"""The line above the arithmetic: the way down to the present cell, and whether it is locked."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QToolButton, QWidget

from attnviz.gui.look.theme import GRID, LIGHT, Theme
from attnviz.gui.look.words import says
from attnviz.gui.widgets.boxes import in_row
from attnviz.gui.widgets.control import MOUSE_ONLY
from attnviz.gui.widgets.elided_label import WholeLabel
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _

MOST_CRUMBS = 5
"""Steps of the way that are shown; of a longer one, the last."""


class LockMark(QWidget):
    """A small closed padlock."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = LIGHT
        self.setFixedSize(12, 14)

    def apply_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self._theme.accent), 1.5))
        painter.drawArc(QRectF(3.5, 1.5, 5, 8), 0, 180 * 16)
        painter.setBrush(QColor(self._theme.accent))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.drawRoundedRect(QRectF(2, 6, 8, 6.5), 1.5, 1.5)


class InspectorPath(QWidget):
    """Back, the stages passed on the way, the present one, and a hint."""

    back_wanted = Signal()
    crumb_wanted = Signal(int)
    """The number of the step to go back to."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        name = N_("Return to the previous cell")
        self._back = says(QToolButton(), id="inspector_back", name=name, tip=True)
        self._back.setArrowType(Qt.ArrowType.LeftArrow)
        self._back.setAutoRaise(True)
        self._back.clicked.connect(self.back_wanted)
        self._crumbs: list[QToolButton] = []
        for place in range(MOST_CRUMBS - 1):
            crumb = QToolButton()
            crumb.setObjectName(f"inspector_crumb_{place}")
            crumb.setAutoRaise(True)
            crumb.clicked.connect(self._on_crumb)
            self._crumbs.append(crumb)
        self._title, self._hint = WholeLabel(), QLabel()
        self._title.setObjectName("inspector_title")
        self._title.elide = Qt.TextElideMode.ElideLeft  # stage and head stand last
        self._hint.setObjectName("inspector_hint")
        self._hint.setTextFormat(Qt.TextFormat.PlainText)
        self._lock = LockMark()
        for part in (self._back, self._hint, self._lock):
            part.setProperty(MOUSE_ONLY, True)
        self._lock.setObjectName("inspector_lock")
        row = in_row(self, self._back, *self._crumbs, self._title, spacing=GRID // 2)
        row.addStretch(1)
        row.addWidget(self._lock)
        row.addWidget(self._hint)
        self.setFixedHeight(24)
        # A long way down does not widen the dock.
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._first = 0
        set_tone("muted", self._hint)
        set_tone("title", self._title)

    def set_path(self, passed: tuple[str, ...], title: str, is_locked: bool) -> None:
        """The stages `passed` on the way to the present one, whose `title` stands last."""
        self._back.setVisible(bool(passed))
        self._first = max(0, len(passed) - len(self._crumbs))
        shown = passed[self._first :]
        for place, crumb in enumerate(self._crumbs):
            crumb.setVisible(place < len(shown))
            if place < len(shown):
                text = f"{shown[place]} ›"
                crumb.setText(text.replace("&", "&&"))
                crumb.setAccessibleName(shown[place])
        self._title.set_line(title)
        self._lock.setVisible(is_locked)
        self._hint.setText(_("Esc unlocks") if is_locked else _("click to lock"))
        self._lock.setToolTip(self._hint.text())
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Leave the hint out where the title needs its room: the status bar says the same."""
        parts = [self._back, *self._crumbs, self._title, self._lock, self._hint]
        shown = [part for part in parts if part is self._hint or not part.isHidden()]
        needed = sum(part.sizeHint().width() + GRID // 2 for part in shown)
        self._hint.setVisible(needed <= self.width())

    def apply_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`."""
        for crumb in self._crumbs:
            crumb.setStyleSheet(f"QToolButton {{ color: {theme.muted}; padding: 1px; }}")

    def sizeHint(self) -> QSize:
        return QSize(320, 24)

    @Slot()
    def _on_crumb(self) -> None:
        sender = self.sender()
        if isinstance(sender, QToolButton):
            self.crumb_wanted.emit(self._first + self._crumbs.index(sender))
