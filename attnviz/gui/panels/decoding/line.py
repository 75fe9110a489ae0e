"""The line of text above the pages: whether generation is on, the text, why it ends, and the light."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from attnviz.compute.decoding import Decoded
from attnviz.gui.look.theme import GRID, Theme
from attnviz.gui.panels.decoding.counts import plain_label, reuse_words, verdict
from attnviz.gui.panels.decoding.sampling import n_given_tokens
from attnviz.gui.panels.decoding.text import LINE_PX, TextLine, names_of, written_tokens
from attnviz.gui.widgets.control import active_theme
from attnviz.gui.widgets.elided import WholeLabel
from attnviz.gui.widgets.toggle import Toggle
from attnviz.i18n import _

NOTICE_PX, NARROW_NOTICE_PX = 720, 204
"""Most room for the words beside the text, in a wide panel and in another: why it stopped fits both."""


class WrittenLine(QWidget):
    """`chosen` carries the selected token, `rewritten` a token and its replacement.

    `writes_changed` carries whether to generate.
    """

    chosen = Signal(int)
    rewritten = Signal(int, str)
    writes_changed = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = active_theme()
        self._shown: Decoded | None = None
        self._writes, self._text = Toggle(""), TextLine()
        self._writes.setObjectName("decode_writes")
        self._writes.changed.connect(self.writes_changed)
        self._text.setObjectName("decode_text")
        self._text.chosen.connect(self.chosen)
        self._text.rewritten.connect(self.rewritten)
        self._text.wrapped.connect(self._fit)
        self._most_lines = 1
        self._notice, self._parity = WholeLabel(), plain_label("decode_parity")
        self._notice.setObjectName("decode_notice")
        self._first, self._below = QHBoxLayout(), QHBoxLayout()
        self._below.addStretch(1)
        for row in (self._first, self._below):
            row.setSpacing(GRID * 3 // 2)
        for part in (self._writes, self._notice, self._parity):
            part.setFixedHeight(LINE_PX)
        self._first.addWidget(self._writes, 0, Qt.AlignmentFlag.AlignTop)
        self._first.addWidget(self._text, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(self._first)
        column.addLayout(self._below)
        self._put_words(self._first)

    def set_writes(self, writes: bool) -> None:
        """Show whether the document generates."""
        self._writes.set_value(writes)

    def _put_words(self, row: QHBoxLayout) -> None:
        """Place the notice and the parity light beside the single line of text, or below its lines."""
        for part in (self._notice, self._parity):
            row.addWidget(part, 0, Qt.AlignmentFlag.AlignTop)

    def set_room(self, n_lines: int, *, is_wide: bool) -> None:
        """Set the largest number of lines of text, and whether words fit beside a single one.

        A text of several lines has the whole width: the words stand below it.
        """
        if (n_lines > 1) != (self._most_lines > 1):
            self._put_words(self._below if n_lines > 1 else self._first)
        beside = NOTICE_PX if is_wide else NARROW_NOTICE_PX
        self._notice.setMaximumWidth(beside if n_lines == 1 else self.maximumWidth())
        self._most_lines = n_lines
        self._fit()

    @Slot()
    def _fit(self) -> None:
        """Show as many lines as the text needs, at most those that fit."""
        self._text.setFixedHeight(LINE_PX * min(self._text.n_lines, self._most_lines))

    def show_step(self, decoded: Decoded | None, step: int) -> None:
        """The text up to the step, why it ends, and whether it equals the full pass."""
        self.setVisible(decoded is not None)
        if decoded is None:
            self._shown = None
            self._text.set_tokens((), 0, are_joined=False, describe=str)
            self._parity.setText("")
            return
        self._show_text(decoded)
        self._text.set_current(step)
        decoding, found = decoded.decoding, verdict(decoded)
        is_last, stopped = step == len(decoding.steps) - 1, ""
        if is_last and decoding.stopped is not None:
            stopped = _("stopped: {why}").format(why=decoding.stopped.text())
        notices = (notice.text() for notice in decoding.notices)
        words = [word for word in (stopped, reuse_words(decoded), *notices) if word]
        self._notice.set_line(" · ".join(words))
        self._notice.setVisible(bool(words))
        self._parity.setText("● " + found.text)
        # By its name: the tooltip, a label too, keeps its own ink.
        self._parity.setStyleSheet(f"#decode_parity {{ color: {found.color(self._theme)} }}")
        self._parity.setToolTip(found.stages)

    def _show_text(self, decoded: Decoded) -> None:
        if decoded is self._shown:
            return
        self._shown, decoding = decoded, decoded.decoding
        tokens, names = written_tokens(decoding), names_of(decoding)

        def describe(index: int) -> str:
            text = _("step {step} · position {index}: {token}")
            if index >= len(decoding.steps):  # sampled, not computed
                text = _("position {index}: {token}")
            return text.format(step=index + 1, index=index, token=names.described(tokens[index]))

        written = [names.written(token) for token in tokens]
        n_given = n_given_tokens(decoding)
        self._text.set_tokens(written, n_given, are_joined=names.are_joined, describe=describe)

    def apply_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`; those of the light come with the next step."""
        self._theme = theme
        self._notice.setStyleSheet(f"color: {theme.muted}")

    def retranslate(self) -> None:
        """Set the texts again, in the present language; those of the step come with it."""
        self._writes.set_label(_("Generate"))
        self._writes.set_tooltip(_("Generate after the document's tokens: each step feeds the sampled token"))
        self._text.setAccessibleName(_("Text"))
        self._shown = None
