"""The key `?`: a card for what is under the pointer or has the focus, with the publications that it cites."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QRectF, Qt, QUrl, Slot
from PySide6.QtGui import QColor, QCursor, QDesktopServices, QFont, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QApplication, QLabel, QMainWindow, QMessageBox, QVBoxLayout, QWidget

from attnviz.explain.formulas.stages import stage_formula
from attnviz.gui.context.target import Target, found_in
from attnviz.gui.help.texts import CONTROL_HELP, HEAD_HELP, STAGE_HELP, TOKEN_HELP, Help
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import GRID, RADIUS, TEXT_PX
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.panels.table import PANEL_BY_ID
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.control import active_theme
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import _, current_language
from attnviz.model.stages import STAGE_BY_ID

if TYPE_CHECKING:
    from attnviz.gui.commands.surface import Surface


class Shown(NamedTuple):
    """The texts of a help card, in the present language."""

    title: str
    sentence: str
    formula: str = ""
    source: Source | None = None


def help_at(surface: Surface, widget: QWidget, at: QPointF | None) -> Shown | None:
    """The help for a point of a widget; that of the innermost part that has one."""
    part: QWidget | None = widget
    while part is not None and not isinstance(part, QMainWindow):
        shown = _of_control(part) or _of_target(surface, found_in(surface, part, at)) or _of_tooltip(part)
        panel = next((dock.front for dock in surface.docks.values() if dock is part), "")
        if shown is not None or panel:
            return shown or _of_target(surface, Target(panel=panel))
        at = None if at is None else QPointF(part.mapToParent(at.toPoint()))
        part = part.parentWidget()
    return None


def help_of(surface: Surface, target: Target) -> Shown | None:
    """The help for the target of a menu."""
    return _of_target(surface, target)


def stage_help(stage: str) -> Help:
    """The help of a stage: its own, or that of its operation."""
    made_by = STAGE_BY_ID[stage].made_by
    return STAGE_HELP.get(stage) or Help(made_by.help, made_by.cites)


def _of_target(surface: Surface, target: Target) -> Shown | None:
    if target.head >= 0 and target.cell is None:
        return _shown(_("Head {number}").format(number=target.head + 1), HEAD_HELP)
    if target.stage:
        formula = stage_formula(surface.store.attention, target.stage)
        return _shown(_(STAGE_BY_ID[target.stage].title), stage_help(target.stage), formula)
    if target.token >= 0:
        return _shown(_("Token"), TOKEN_HELP)
    if target.panel:
        row = PANEL_BY_ID[target.panel]
        return _shown(_(row.title), Help(row.help, row.cites))
    return None


def _of_control(widget: QWidget) -> Shown | None:
    help_ = CONTROL_HELP.get(widget.objectName())
    return None if help_ is None else _shown(widget.accessibleName(), help_)


def _of_tooltip(widget: QWidget) -> Shown | None:
    """A control whose tooltip is its sentence."""
    sentence = unescape(re.sub(r"<[^>]*>", "", widget.toolTip())).strip()
    if not sentence:
        return None
    return Shown(widget.accessibleName() or _("This control"), sentence)


def _shown(title: str, help_: Help, formula: str = "") -> Shown:
    return Shown(title, _(help_.sentence), formula, SOURCES.get(help_.source))


@dataclass(frozen=True)
class Source:
    """One publication: authors, year and title as they are cited, and its address."""

    citation: str
    url: str


def _arxiv(number: str, citation: str) -> Source:
    return Source(f"{citation}, arXiv {number}", f"https://arxiv.org/abs/{number}")


SOURCES: dict[str, Source] = {
    "attention": _arxiv("1706.03762", "Vaswani et al. 2017, Attention Is All You Need"),
    "rope": _arxiv("2104.09864", "Su et al. 2021, RoFormer"),
    "mqa": _arxiv("1911.02150", "Shazeer 2019, Fast Transformer Decoding"),
    "gqa": _arxiv("2305.13245", "Ainslie et al. 2023, GQA"),
    "mla": _arxiv("2405.04434", "DeepSeek-AI 2024, DeepSeek-V2"),
    "transformer_xl": _arxiv("1901.02860", "Dai et al. 2019, Transformer-XL"),
    "alibi": _arxiv("2108.12409", "Press et al. 2021, Train Short, Test Long"),
    "gemma": _arxiv("2408.00118", "Gemma Team 2024, Gemma 2"),
    "qk_norm": _arxiv("2010.04245", "Henry et al. 2020, Query-Key Normalization"),
    "differential": _arxiv("2410.05258", "Ye et al. 2024, Differential Transformer"),
    "output_gate": _arxiv("2505.06708", "Qiu et al. 2025, Gated Attention for Large Language Models"),
    "scalable": _arxiv("2501.19399", "Nakanishi 2025, Scalable-Softmax"),
    "layer_norm": _arxiv("1607.06450", "Ba et al. 2016, Layer Normalization"),
    "experts": _arxiv("1701.06538", "Shazeer et al. 2017, Sparsely-Gated Mixture-of-Experts"),
    "glu": _arxiv("2002.05202", "Shazeer 2020, GLU Variants Improve Transformer"),
    "residual": _arxiv("1512.03385", "He et al. 2015, Deep Residual Learning"),
    "nucleus": _arxiv("1904.09751", "Holtzman et al. 2019, Neural Text Degeneration"),
    "sinks": _arxiv("2309.17453", "Xiao et al. 2023, Attention Sinks"),
    "induction": Source(
        "Olsson et al. 2022, In-context Learning and Induction Heads",
        "https://transformer-circuits.pub/2022/in-context-learning-and-induction-heads/index.html",
    ),
    "circuits": Source(
        "Elhage et al. 2021, A Mathematical Framework for Transformer Circuits",
        "https://transformer-circuits.pub/2021/framework/index.html",
    ),
    "rollout": _arxiv("2005.00928", "Abnar and Zuidema 2020, Quantifying Attention Flow in Transformers"),
    "dropout": Source(
        "Srivastava et al. 2014, Dropout, JMLR 15", "https://jmlr.org/papers/v15/srivastava14a.html"
    ),
}
"""Key of a text of the help: its source."""


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


class WhatIsThis(QObject):
    """Shows help cards in a window, and gives tooltips to the controls of `CONTROL_HELP` without one."""

    def __init__(self, window: QWidget, surface: Surface) -> None:
        super().__init__(window)
        self._window, self._surface = window, surface
        self.card = HelpCard(window)
        self._dressed: dict[int, str] = {}
        self._language = current_language()

    def toggle(self) -> None:
        """Show the card for what is under the pointer, else for what has the focus; or close it."""
        if self.card.isVisible():
            self.card.close_card()
            return
        window = self._window
        at = window.mapFromGlobal(QCursor.pos())
        widget = window.childAt(at) if window.rect().contains(at) else None
        shown = (
            None if widget is None else help_at(self._surface, widget, QPointF(widget.mapFrom(window, at)))
        )
        focused = window.focusWidget()
        if shown is None and focused is not None and focused is not window:
            shown, at = help_at(self._surface, focused, None), focused.mapTo(window, focused.rect().center())
        self._show(shown, at)

    def explain(self, target: Target) -> None:
        """Show the card of a menu's target, at the pointer."""
        self._show(help_of(self._surface, target), self._window.mapFromGlobal(QCursor.pos()))

    def _show(self, shown: Shown | None, at: QPoint) -> None:
        if shown is None:
            sentence = _("Point at a cell, a stage, a control or a panel, and press ?")
            self._surface.services.status.say(sentence)
        else:
            self.card.show_help(shown, at)

    def dress(self, within: QWidget | None = None) -> None:
        """Set the tooltips of a part, or all, in the present language; a card in another one closes."""
        if self._language != current_language():
            self._language = current_language()
            self.card.close_card()
        for widget in (within or self._window).findChildren(QWidget):
            help_ = CONTROL_HELP.get(widget.objectName())
            if help_ is not None and widget.toolTip() in ("", self._dressed.get(id(widget))):
                text = plain_tooltip(_(help_.sentence))
                self._dressed[id(widget)] = text
                widget.setToolTip(text)
