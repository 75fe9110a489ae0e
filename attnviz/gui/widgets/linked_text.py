"""Text with links: paragraphs and numbered points, whose words light cells and whose cells are real."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import QEvent, QSize, Qt, QUrl, Signal, Slot
from PySide6.QtGui import QColor, QKeyEvent, QResizeEvent, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QFrame, QSizePolicy, QTextBrowser

from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import Theme
from attnviz.gui.widgets.control import active_theme
from attnviz.study.lessons.markup import NUMBER

TEXT_PX = 15
HEAD = "head"
"""Kind of the link to a head."""
_LINE = 132
"""Height of a line in percent of the font's."""


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
        self._body = ""
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
        self.document().setDefaultStyleSheet(
            f"p {{ line-height: {_LINE}%; margin: 0 0 10px 0; color: {theme.ink} }}"
            f"table.points {{ margin-top: 10px }} td {{ color: {theme.ink} }}"
            f"td.n {{ color: {theme.accent}; font-weight: 600 }}"
            ".strong { font-weight: 600 }"
            f"a.query {{ color: {theme.query} }} a.key {{ color: {theme.key} }} a {{ color: {theme.accent} }}"
            f"a.number {{ color: {theme.ink} }}"
        )
        self.setHtml(self._body)
        self._underline_numbers(QColor(theme.muted))
        has_links = "<a " in self._body
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus if has_links else Qt.FocusPolicy.NoFocus)
        self.setAccessibleName(self.toPlainText())
        self._fit()

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

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.pointed.emit("")

    @Slot(QUrl)
    def _on_highlighted(self, url: QUrl) -> None:
        self.pointed.emit(url.toString())

    @Slot(QUrl)
    def _on_clicked(self, url: QUrl) -> None:
        self.chosen.emit(url.toString())


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
