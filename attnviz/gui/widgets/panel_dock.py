"""A dock that looks like a card: a small muted title that drags it, and the panel below."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QMargins, QObject, QPoint, QRect, QRectF, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import (
    QCloseEvent,
    QColor,
    QContextMenuEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QApplication,
    QDockWidget,
    QFrame,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from attnviz.gui.look.fonts import section_title_font
from attnviz.gui.look.theme import GRID, LIGHT, RADIUS, Theme
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.control import MOUSE_ONLY, active_theme
from attnviz.gui.widgets.enlarge_button import EnlargeButton
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.tone import set_tone


class NarrowScroll(QScrollArea):
    """The content has the height of the place, and at least its own minimum width.

    A `QScrollArea` that resizes its widget would also give it its preferred height.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # its content has the Tab stops
        self.viewport().setAutoFillBackground(False)

    def put(self, content: QWidget) -> None:
        """Show `content`; cheapest if it was made inside the viewport."""
        self.setWidget(content)
        content.setAutoFillBackground(False)
        content.installEventFilter(self)

    def minimumSizeHint(self) -> QSize:
        return QSize(64, 64)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        is_taken = super().eventFilter(watched, event)
        if watched is self.widget() and event.type() == QEvent.Type.LayoutRequest:
            self._fit()
        return is_taken

    def _fit(self) -> None:
        content, room = self.widget(), self.viewport().size()
        if content is not None:
            content.resize(max(room.width(), content.minimumSizeHint().width()), room.height())


FADED = 0.35
"""Share of the panel below that shines through."""
WIDEST = 420
"""Pixels of the card with the sentence."""
MARGIN = 2 * GRID
"""Pixels around the sentence."""
_WRAPPED = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap


class Veil(QWidget):
    """Covers its parent, whose middle has the sentence if that fits; the mouse goes through it.

    An effect of the parent would leave the plots in it unpainted.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._body = parent
        self.setObjectName("veil")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.reason = ""
        self._is_wrong = True
        self.hide()
        parent.installEventFilter(self)

    def show_reason(self, sentence: str, *, is_wrong: bool) -> None:
        """Lie over the parent as long as it has a reason: an error, or a run that is under way."""
        self.reason, self._is_wrong = sentence, is_wrong
        self.setAccessibleName(sentence)
        self.setVisible(bool(sentence))
        self._cover()
        self.update()

    def card(self) -> QRect:
        """The place of the sentence; empty where the parent has no room for it."""
        room = self.rect().adjusted(GRID, GRID, -GRID, -GRID)
        width = min(WIDEST, room.width()) - 2 * MARGIN
        text = self.fontMetrics().boundingRect(QRect(0, 0, width, room.height()), int(_WRAPPED), self.reason)
        card = QRect(room.topLeft(), text.size().grownBy(QMargins(MARGIN, MARGIN, MARGIN, MARGIN)))
        card.moveCenter(room.center())
        return card if room.contains(card) else QRect()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and self.reason:
            self._cover()
        return False

    def _cover(self) -> None:
        self.setGeometry(self._body.rect())
        self.raise_()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = active_theme(), QPainter(self)
        veil = QColor(theme.panel)
        veil.setAlphaF(1 - FADED)
        painter.fillRect(event.rect(), veil)
        card = self.card()
        if card.isEmpty():
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(theme.error if self._is_wrong else theme.muted), 1))
        painter.setBrush(QColor(theme.panel))
        painter.drawRoundedRect(QRectF(card).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
        words = card.adjusted(MARGIN // 2, 0, -MARGIN // 2, 0)  # wider than measured: no line breaks anew
        painter.drawText(words, int(_WRAPPED), self.reason)


PADDING = 12
_TORN_OFF = (
    Qt.WindowType.Tool
    | Qt.WindowType.CustomizeWindowHint
    | Qt.WindowType.WindowTitleHint
    | Qt.WindowType.WindowCloseButtonHint
)
"""A tool of its window: the shortcuts of the window work in it."""
CORNER = 16
"""Largest corner in pixels that Qt leaves of a dock behind others."""


@dataclass(frozen=True)
class Room:
    """The needs of a panel in its dock: a frame; to scroll sideways, so that it is never squeezed."""

    has_frame: bool = True
    may_scroll: bool = False


class Page(QWidget):
    """The place of one panel in a dock."""

    def __init__(self, room: Room) -> None:
        super().__init__()
        self._may_scroll = room.may_scroll
        self.has_frame = room.has_frame
        self._scroll: NarrowScroll | None = None
        self._veil: Veil | None = None
        self._column = in_column(self, spacing=0)
        self.header: QWidget | None = None

    @property
    def room(self) -> QWidget:
        """The parent to make the panel in: Qt styles a tree of widgets anew for every parent that it gets."""
        if self._may_scroll and self._scroll is None:  # not before: most panels are behind others at first
            self._scroll = NarrowScroll(self)
            self._column.addWidget(self._scroll)
        return self if self._scroll is None else self._scroll.viewport()

    def put(self, panel: QWidget) -> None:
        """Fill the page."""
        if self._scroll is None:
            self._column.addWidget(panel)
        else:
            self._scroll.put(panel)

    def set_stale(self, reason: str, *, is_wrong: bool) -> None:
        """Fade the panel and say why; empty: it is not faded."""
        if self._veil is None and reason:
            self._veil = Veil(self)
        if self._veil is not None:
            self._veil.show_reason(reason, is_wrong=is_wrong)


class PanelDock(QDockWidget):
    """Holds one panel, or several of which a switch shows one. Among tabs the tab is the title; alone, a
    small title above the panel is.
    """

    menu_wanted = Signal(QPoint, bool)
    """The place on the screen where a menu is to open, and whether a key requested it."""

    enlarge_wanted = Signal(str)
    """The panel whose title or tab was double-clicked, or whose button was pressed."""
    activated = Signal(str)
    """The panel whose own window came to the front."""
    seen_changed = Signal(str, bool)
    """A panel, and whether it can be seen now."""
    turned = Signal()
    """Another of the panels is shown."""

    def __init__(self, panels: Mapping[str, Room], parent: QWidget | None = None) -> None:
        """A dock in a window, its `parent`: without one, it is a window of its own and Qt takes it for
        floating. The first of its panels names it.
        """
        super().__init__(parent)
        self.panel_id = self.front = next(iter(panels))
        """The panel that names the dock, and the one that it shows."""
        self.setObjectName(f"{self.panel_id}_dock")
        self._theme = LIGHT
        self._is_current = False
        self._label = QLabel()
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self._label.setFont(section_title_font())
        bar, body = QWidget(), QWidget()
        self._bar, self._body = QHBoxLayout(bar), QVBoxLayout(body)
        self._bar.addWidget(self._label, 1)
        self.enlarge = EnlargeButton()
        self.enlarge.clicked.connect(self._on_enlarge)
        self._bar.addWidget(self.enlarge)
        self._body.setSpacing(GRID)
        self.switch: Segmented | None = None
        """The choice of the panel that is shown, if it has several."""
        if len(panels) > 1:
            self.switch = Segmented((), self.panel_id)
            self.switch.setProperty(MOUSE_ONLY, True)
            self.switch.changed.connect(self.bring)
            self._body.addWidget(self.switch, 0, Qt.AlignmentFlag.AlignLeft)
        self._pages = {id_: Page(room) for id_, room in panels.items()}
        self._closed: frozenset[str] = frozenset()
        for id_, page in self._pages.items():
            self._body.addWidget(page, 1)
            page.setVisible(id_ == self.front)  # not before: without a parent it would be a window
        self.show_title(False)
        self.setTitleBarWidget(bar)
        self.setWidget(body)
        self._is_said_visible = False
        self.visibilityChanged.connect(self._on_visible)
        set_tone("muted", self._label)

    @property
    def panels(self) -> tuple[str, ...]:
        """The panels in the order of the switch."""
        return tuple(self._pages)

    def room(self, panel: str) -> QWidget:
        """The parent to make a panel in."""
        return self._pages[panel].room

    def put(self, id_: str, panel: QWidget, header: QWidget | None) -> None:
        """Fill the room of a panel; `header` goes to the right end of the title while the panel is shown."""
        page = self._pages[id_]
        page.put(panel)
        page.header = header
        if header is not None:
            self._bar.insertWidget(self._bar.count() - 1, header)
            header.setVisible(id_ == self.front)
        self.show_title(not self._label.isHidden())

    @Slot(str)
    def bring(self, panel: str) -> None:
        """Show one of the panels in place of the others."""
        if panel == self.front or panel in self._closed:
            return
        was, self.front = self.front, panel
        for id_, page in self._pages.items():
            page.setVisible(id_ == panel)
            if page.header is not None:
                page.header.setVisible(id_ == panel)
        if self.switch is not None:
            self.switch.set_value(panel)
        self.show_title(not self._label.isHidden())
        self.update()
        if self._is_said_visible:
            self._drop_focus(self._pages[was])
            self.seen_changed.emit(was, False)
            self.seen_changed.emit(panel, True)
        self.turned.emit()

    def close_parts(self, panels: frozenset[str], reason: str) -> None:
        """Let the switch choose none of these panels, for a reason; all others it may choose again."""
        self._closed = panels & self._pages.keys()
        left = [id_ for id_ in self._pages if id_ not in self._closed]
        if self.switch is not None:
            for id_ in self._pages:
                self.switch.set_option_unavailable(id_, None if id_ in left else reason)
        if left and self.front in self._closed:
            self.bring(left[0])

    def show_title(self, is_shown: bool) -> None:
        """Show or hide the title above the panel; it is also what a person drags."""
        self._label.setVisible(is_shown)
        self.enlarge.setVisible(is_shown and not self.isFloating())
        header = self._pages[self.front].header
        has_bar = is_shown or header is not None
        self._bar.setContentsMargins(*((PADDING, GRID, PADDING, 0) if has_bar else (0, 0, 0, 0)))
        top = GRID // 2 if has_bar else GRID
        has_frame = self._pages[self.front].has_frame
        self._body.setContentsMargins(*((PADDING, top, PADDING, GRID) if has_frame else (0, 0, 0, 0)))

    @Slot()
    def _on_enlarge(self) -> None:
        self.enlarge_wanted.emit(self.front)

    @Slot(bool)
    def _on_visible(self, is_visible: bool) -> None:
        """Take the keyboard from a panel behind a tab: it shows an older document and must not edit."""
        self._is_said_visible = is_visible
        if not is_visible:
            self._drop_focus(self)
        self.seen_changed.emit(self.front, is_visible)

    @staticmethod
    def _drop_focus(part: QWidget) -> None:
        focused = QApplication.focusWidget()
        if focused is not None and part.isAncestorOf(focused):
            focused.clearFocus()

    def tell_visible(self) -> None:
        """Emit `visibilityChanged` for a dock in sight of which Qt has said last that it is hidden.

        Qt does so when a dock leaves its tabs, when an arrangement is restored, and when a window of its own
        is shown on a screen to the left of the first one or above it, where coordinates are negative.
        """
        if self.is_in_sight and not self._is_said_visible:
            self.visibilityChanged.emit(True)

    @property
    def is_front(self) -> bool:
        """True unless the dock is hidden or behind another tab; a page over the window hides none."""
        return self._is_said_visible and not self.isHidden()

    @property
    def is_in_sight(self) -> bool:
        """True unless the panel is hidden or lies behind another tab."""
        seen = self.visibleRegion().boundingRect()
        return min(seen.width(), seen.height()) > CORNER

    def set_title(self, title: str) -> None:
        """The name in the title and the tab."""
        self.setWindowTitle(title)
        self._label.setText(title.upper())
        self.setAccessibleName(title)

    def set_stale(self, panel: str, reason: str, *, is_wrong: bool = True) -> None:
        """Fade a panel, whose numbers are those of an earlier state, and say why; empty: they are not.

        The sentence has the colour of an error where something `is_wrong`.
        """
        self._pages[panel].set_stale(reason, is_wrong=is_wrong)

    @property
    def is_current(self) -> bool:
        """True if the frame is marked."""
        return self._is_current

    def set_current(self, is_current: bool) -> None:
        """Mark the frame of the panel that commands mean."""
        if is_current != self._is_current:
            self._is_current = is_current
            self.update()

    def frame_window(self) -> None:
        """Give a panel torn off the frame of a window, with a button that returns it: Qt gives it none."""
        is_bare = self.isFloating() and bool(self.windowFlags() & Qt.WindowType.FramelessWindowHint)
        if is_bare and not QApplication.mouseButtons():  # another window would end a drag
            self.setWindowFlags(_TORN_OFF)
            self.show()

    def closeEvent(self, event: QCloseEvent) -> None:
        """A panel torn off returns to its place."""
        if self.isFloating():
            event.ignore()
            self.setFloating(False)
        else:
            super().closeEvent(event)

    def apply_theme(self, theme: Theme) -> None:
        """Take the frame's colours from `theme`."""
        self._theme = theme
        self.update()

    def event(self, event: QEvent) -> bool:
        """A double click on the title enlarges, and returns a panel torn off; Qt would let it float."""
        kind = event.type()  # once: PySide makes a member of an enum each time
        if isinstance(event, QMouseEvent) and kind == QEvent.Type.MouseButtonDblClick:
            if self.titleBarWidget().geometry().contains(event.position().toPoint()):
                if self.isFloating():
                    self.setFloating(False)
                else:
                    self.enlarge_wanted.emit(self.front)
                return True
        elif kind == QEvent.Type.WindowActivate and self.isFloating():
            self.activated.emit(self.front)
        elif kind == QEvent.Type.Show and self.isFloating():
            QTimer.singleShot(0, self, self.tell_visible)
        elif kind == QEvent.Type.MouseButtonRelease and self.isFloating():
            QTimer.singleShot(0, self, self.frame_window)  # the end of a drag out of the window
        return super().event(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu_wanted.emit(event.globalPos(), event.reason() == QContextMenuEvent.Reason.Keyboard)

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._pages[self.front].has_frame:
            return
        painter = QPainter(self)
        if self.rect().adjusted(RADIUS, RADIUS, -RADIUS, -RADIUS).contains(event.rect()):
            painter.fillRect(event.rect(), QColor(self._theme.panel))  # far from the frame, and cheap
            painter.end()
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self._theme.muted if self._is_current else self._theme.line), 1))
        painter.setBrush(QColor(self._theme.panel))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
