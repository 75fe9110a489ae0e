"""Text with links: paragraphs and numbered points, whose words light cells and whose cells are real."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape, unescape

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, QUrl, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextDocumentFragment,
)
from PySide6.QtWidgets import QFrame, QSizePolicy, QTextBrowser, QWidget

from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import Theme
from attnviz.gui.widgets.control import active_theme, draw_focus_ring
from attnviz.gui.widgets.sentence import SPACE, MakeControl, room_of
from attnviz.model.controls import control_of
from attnviz.study.lessons.markup import CONTROLS, NUMBER

TEXT_PX = 15
HEAD = "head"
"""Kind of the link to a head."""
_LINE = 132
_HIGH_LINE, _HIGH_TOP = 150, 4
"""Height of a line in percent of the font's; that of one in a text with controls, and the pixels above it."""
_CONTROL = "control-"
"""Name of the place of a control, with its number."""


class LinkedText(QTextBrowser):
    """Escaped HTML with links, as high as its text. It fetches nothing: links are told by their addresses."""

    pointed = Signal(str)
    """The address under mouse or keys; empty for none."""
    chosen = Signal(str)

    def __init__(self, name: str, px: int = TEXT_PX) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFont(ui_font(px))
        self.setOpenLinks(False)
        self.setUndoRedoEnabled(False)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setStyleSheet("QTextBrowser { border: 0; padding: 0; background: transparent }")
        self.document().setDocumentMargin(0)
        self.make_control: MakeControl | None = None
        self._px = px
        self._controls: dict[tuple[int, str, str], QWidget] = {}
        """The controls in the text, by their number, their target and their words."""
        self._body = ""
        self._pressed = ""
        """The address that the mouse was pressed on; empty for none."""
        self._theme = active_theme()
        self.highlighted.connect(self._on_highlighted)
        self.anchorClicked.connect(self._on_clicked)

    def set_body(self, body: str) -> None:
        """Show the HTML inside the body."""
        if body != self._body:
            self._body = body
            self._show()

    def apply_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        self._theme = theme
        self._show()

    def loadResource(self, kind: int, name: QUrl | str) -> None:
        """No picture and no file, from nowhere."""

    def _show(self) -> None:
        theme = self._theme
        line = _HIGH_LINE if CONTROLS.search(self._body) else _LINE
        self.document().setDefaultStyleSheet(
            f"p {{ line-height: {line}%; margin: 0 0 10px 0; color: {theme.ink} }}"
            f"table.points {{ margin-top: 10px }} td {{ color: {theme.ink} }}"
            f"td.n {{ color: {theme.accent}; font-weight: 600 }}"
            ".strong { font-weight: 600 }"
            f"a.query {{ color: {theme.query} }} a.key {{ color: {theme.key} }} a {{ color: {theme.accent} }}"
            f"a.number {{ color: {theme.ink} }}"
        )
        before, self._controls = self._controls, {}
        self.setHtml(CONTROLS.sub(lambda link: self._room_of(link, before), self._body))
        for widget in before.values():
            widget.hide()
            widget.deleteLater()
        frame = self.document().rootFrame()
        form = frame.frameFormat()
        form.setTopMargin(_HIGH_TOP if self._controls else 0)
        frame.setFrameFormat(form)
        self._underline_numbers(QColor(theme.muted))
        has_links = "<a " in CONTROLS.sub("", self._body)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus if has_links else Qt.FocusPolicy.NoFocus)
        self._order_controls()
        self.setAccessibleName(_plain(self._body) if self._controls else self.toPlainText())
        self._fit()

    def _room_of(self, link: re.Match[str], before: dict[tuple[int, str, str], QWidget]) -> str:
        """The words of a control with room for it; a control that stays keeps its widget."""
        target, word = unescape(link[1]), unescape(link[2])
        if self.make_control is None:
            return link[2]
        control, key = control_of(target, word), (len(self._controls), target, word)
        widget = before.pop(key, None) or self.make_control(control, word, self._px)
        if widget.parentWidget() is not self.viewport():
            widget.setParent(self.viewport())
            policy = Qt.FocusPolicy.StrongFocus if control.is_number else Qt.FocusPolicy.TabFocus
            widget.setFocusPolicy(policy)
        widget.show()
        self._controls[key] = widget
        spaces = room_of(widget.sizeHint().width(), self.font())
        room = f'<a name="{_CONTROL}{key[0]}">{spaces}</a>'
        return f"{link[2]}{SPACE}{room}" if control.is_number else room

    def _order_controls(self) -> None:
        """Let Tab go from the links of the text to its controls, in the order in which they are read."""
        before: QWidget = self
        for widget in self._controls.values():
            QWidget.setTabOrder(before, widget)
            before = widget

    def focusNextPrevChild(self, is_next: bool) -> bool:
        """From a control Tab goes on, not back to the links of the text."""
        if any(widget.hasFocus() for widget in self._controls.values()):
            return super(QTextBrowser, self).focusNextPrevChild(is_next)
        return super().focusNextPrevChild(is_next)

    def _place_controls(self) -> None:
        """Put each control over its spaces."""
        places = {name: place for place, name in _named_places(self.document())}
        for number, widget in enumerate(self._controls.values()):
            cursor = QTextCursor(self.document())
            cursor.setPosition(places[f"{_CONTROL}{number}"])
            room, at = widget.sizeHint(), self.cursorRect(cursor)
            widget.setGeometry(
                at.left(), at.center().y() + 1 - room.height() // 2, room.width(), room.height()
            )

    def viewportEvent(self, event: QEvent) -> bool:
        """A control that has grown needs more room."""
        if event.type() == QEvent.Type.LayoutRequest and self._controls:
            self._show()
        return super().viewportEvent(event)

    def _underline_numbers(self, color: QColor) -> None:
        """A number that is a cell keeps the colour of the text, with a dotted line below."""
        style, cursor = QTextCharFormat(), QTextCursor(self.document())
        style.setUnderlineStyle(QTextCharFormat.UnderlineStyle.DotLine)
        style.setUnderlineColor(color)
        block = self.document().begin()
        while block.isValid():
            parts = block.begin()
            while not parts.atEnd():
                part = parts.fragment()
                if part.charFormat().anchorHref().startswith(f"{NUMBER}:"):
                    cursor.setPosition(part.position())
                    end = part.position() + part.length()
                    cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
                    cursor.mergeCharFormat(style)
                    parts = block.begin()
                    while not parts.atEnd() and parts.fragment().position() < end:
                        parts += 1
                else:
                    parts += 1
            block = block.next()

    def _fit(self) -> None:
        self.document().setTextWidth(self.viewport().width())
        self.setFixedHeight(max(1, round(self.document().size().height())))
        self._place_controls()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pressed = self.anchorAt(event.position().toPoint())
        super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """A drag from a link selects nothing: its dotted numbers look as if they could be dragged."""
        if not (self._pressed and event.buttons() & Qt.MouseButton.LeftButton):
            super().mouseMoveEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._fit()

    def sizeHint(self) -> QSize:
        return QSize(320, self.height())

    def minimumSizeHint(self) -> QSize:
        return QSize(160, 1)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Left and Right belong to the steps of the lesson."""
        if event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            event.ignore()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.hasFocus():
            place = QRectF(self.viewport().rect())
            draw_focus_ring(QPainter(self.viewport()), place, self._theme, 3)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.pointed.emit("")

    @Slot(QUrl)
    def _on_highlighted(self, url: QUrl) -> None:
        self.pointed.emit(url.toString())

    @Slot(QUrl)
    def _on_clicked(self, url: QUrl) -> None:
        self.chosen.emit(url.toString())


def _named_places(document: QTextDocument) -> Iterator[tuple[int, str]]:
    """(position, name) of the places of a document that have names."""
    block = document.begin()
    while block.isValid():
        parts = block.begin()
        while not parts.atEnd():
            part = parts.fragment()
            for name in part.charFormat().anchorNames():
                yield part.position(), name
            parts += 1
        block = block.next()


def _plain(body: str) -> str:
    """A body without its marks, with the words of its controls."""
    return QTextDocumentFragment.fromHtml(body).toPlainText()


def paragraphs(texts: list[str]) -> str:
    """Marked-up texts as paragraphs."""
    return "".join(f"<p>{text}</p>" for text in texts)


def points(texts: list[str]) -> str:
    """Marked-up texts as numbered points."""
    rows = "".join(
        f'<tr><td class="n" width="26"><p>{number}</p></td><td><p>{text}</p></td></tr>'
        for number, text in enumerate(texts, 1)
    )
    table = f'<table class="points" cellspacing="0" cellpadding="0" width="100%">{rows}</table>'
    return table if rows else ""


def link(address: str, text: str, kind: str = "") -> str:
    """A plain text as a link; the colour of its `kind` is that of queries or of keys."""
    of_kind = f'class="{kind}" ' if kind else ""
    return f'<a {of_kind}href="{escape(address)}">{escape(text)}</a>'


def head_link(site: str, head: int, text: str) -> str:
    """A link to a head."""
    return link(f"{HEAD}:{head}:{site}", text)


def head_of(address: str) -> tuple[str, int]:
    """The site and the head of such a link."""
    _kind, head, site = address.split(":")
    return site, int(head)


def line(text: str, style: str = "") -> str:
    """Marked-up text as a paragraph without a gap below."""
    return f'<p style="margin: 0; line-height: 118%; {style}">{text}</p>'
