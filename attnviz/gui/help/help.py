"""The key `?`: a card for what is under the pointer, or has the focus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, QPointF
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QWidget

from attnviz.gui.context.target import Target
from attnviz.gui.help.card import HelpCard
from attnviz.gui.help.finder import Shown, help_at, help_of
from attnviz.gui.help.texts import CONTROL_HELP
from attnviz.gui.look.words import plain_tooltip
from attnviz.i18n import _, current_language

if TYPE_CHECKING:
    from attnviz.gui.commands.surface import Surface


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
