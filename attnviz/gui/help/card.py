"""The help card: a name, one sentence, the formula and the source, beside what they explain."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, QRectF, Qt, QUrl, Slot
from PySide6.QtGui import QColor, QDesktopServices, QFont, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QApplication, QLabel, QMessageBox, QVBoxLayout, QWidget

from attnviz.gui.help.finder import Shown
from attnviz.gui.help.sources import Source
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import GRID, RADIUS, TEXT_PX
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.control import active_theme
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import _

WIDTH = 360
_AWAY = 12


class HelpCard(QWidget):
    """Lies over its window until a key, a click elsewhere, or another card."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.setObjectName("help_card")
        self._source: Source | None = None
        self._before: QWidget | None = None
        self.title, self.sentence, self.formula = QLabel(), QLabel(), QLabel()
        self.link = Button()
        self.link.setObjectName("help_source")
        self.link.clicked.connect(self._on_link)
        self.title.setFont(ui_font(TEXT_PX + 3, QFont.Weight.DemiBold))
        self.sentence.setFont(ui_font(TEXT_PX + 1))
        self.formula.setFont(number_font(TEXT_PX + 1))
        set_tone("accent", self.formula)
        column = QVBoxLayout(self)
        column.setContentsMargins(2 * GRID, 2 * GRID, 2 * GRID, 2 * GRID)
        column.setSpacing(GRID)
        for label in (self.title, self.sentence, self.formula):
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setWordWrap(True)
            column.addWidget(label)
        column.addWidget(self.link, 0, Qt.AlignmentFlag.AlignLeft)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.hide()

    def show_help(self, shown: Shown, at: QPoint) -> None:
        """Show a help beside a point of the window."""
        self._source = shown.source
        self.title.setText(shown.title)
        self.sentence.setText(shown.sentence)
        self.formula.setText(shown.formula)
        self.formula.setVisible(bool(shown.formula))
        self.link.setVisible(shown.source is not None)
        if shown.source is not None:
            self.link.setText(shown.source.citation.partition(",")[0].replace("&", "&&") + " ↗")
            self.link.setToolTip(shown.source.citation)
            self.link.setAccessibleName(shown.source.citation)
        self.setAccessibleName(shown.title)
        self.setAccessibleDescription(shown.sentence)
        self.setFixedWidth(WIDTH)
        self.layout().activate()  # type: ignore[union-attr]
        self.resize(WIDTH, self.heightForWidth(WIDTH))
        self._place(at)
        if not self.isVisible():
            self._before = self.window().focusWidget()
            application = QApplication.instance()
            assert application is not None
            application.installEventFilter(self)
        self.show()
        self.raise_()
        self.setFocus(Qt.FocusReason.PopupFocusReason)

    def close_card(self) -> None:
        """Hide the card; the focus returns to its former place."""
        if not self.isVisible():
            return
        application = QApplication.instance()
        assert application is not None
        application.removeEventFilter(self)
        before, self._before = self._before, None
        self.hide()
        if before is not None:
            before.setFocus(Qt.FocusReason.OtherFocusReason)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.MouseButtonPress and isinstance(watched, QWidget):
            if watched.window() is self.window() and watched is not self and not self.isAncestorOf(watched):
                self.close_card()
        return False

    def event(self, event: QEvent) -> bool:
        """Esc is the card's own, before the window's commands."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            if event.key() == Qt.Key.Key_Escape:
                event.accept()
                return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close_card()
        else:
            super().keyPressEvent(event)

    @Slot()
    def _on_link(self) -> None:
        """Open the source, if the user agrees: nothing leaves the program unasked."""
        source = self._source
        if source is None:
            return
        box = QMessageBox(self.window())
        box.setObjectName("source_box")
        box.setWindowTitle(_("Open in the browser"))
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setText(_("Open this page in the browser?") + f"\n\n{source.citation}\n{source.url}")
        box.setStandardButtons(QMessageBox.StandardButton.Open | QMessageBox.StandardButton.Cancel)
        answer = box.exec()
        box.deleteLater()
        if answer == QMessageBox.StandardButton.Open:
            QDesktopServices.openUrl(QUrl(source.url))

    def _place(self, at: QPoint) -> None:
        """Below and right of the point, or where the window has room."""
        window = self.window()
        x = min(at.x() + _AWAY, window.width() - self.width() - GRID)
        y = at.y() + _AWAY
        if y + self.height() > window.height() - GRID:
            y = at.y() - _AWAY - self.height()
        self.move(max(x, GRID), max(y, GRID))

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = active_theme(), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(theme.accent), 1.5))
        painter.setBrush(QColor(theme.panel))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), RADIUS, RADIUS)
