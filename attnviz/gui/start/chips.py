"""The groups of presets as chips, one of them chosen; they wrap where the line is full."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QToolButton, QWidget

from attnviz.checkpoints.presets import grouped_presets
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import Theme
from attnviz.gui.look.words import says
from attnviz.gui.widgets.button import rove
from attnviz.gui.widgets.control import active_theme
from attnviz.gui.widgets.flow_layout import flow
from attnviz.i18n import N_

_HEIGHT = 28
_GAP = 6


class GroupChips(QWidget):
    """`chosen` carries a group, empty for all. Left and Right go along the chips."""

    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.group = ""
        self._groups = ("", *(group for group, _presets in grouped_presets()))
        self._chips = [QToolButton(self) for _group in self._groups]
        for group, chip in zip(self._groups, self._chips, strict=True):
            says(chip, group or N_("All"), id="group_chip")
            chip.setCheckable(True)
            chip.setFont(ui_font(12))
            chip.setCursor(Qt.CursorShape.PointingHandCursor)
            chip.clicked.connect(self._on_chip)
        self.choose("")
        self.apply_theme(active_theme())

    @Slot(str)
    def choose(self, group: str) -> None:
        """Choose a group."""
        changed, self.group = group != self.group, group
        index = self._groups.index(group)
        for chip in self._chips:
            chip.setChecked(chip is self._chips[index])
        rove(self._chips, index)
        if changed:
            self.chosen.emit(group)

    def retranslate(self) -> None:
        self._arrange()

    def apply_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        self.setStyleSheet(
            f"QToolButton {{ border: 1px solid {theme.line}; border-radius: {_HEIGHT // 2}px;"
            f" padding: 2px 9px; }}"
            f"QToolButton:checked {{ border-color: {theme.accent}; color: {theme.accent};"
            f" background: {theme.hover}; }}"
            f"QToolButton:focus {{ border: 2px solid {theme.accent}; padding: 1px 8px; }}"
        )
        self._arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def sizeHint(self) -> QSize:
        return QSize(400, self.height())

    def _arrange(self) -> None:
        widths = [chip.sizeHint().width() for chip in self._chips]
        places = flow(widths, _HEIGHT, max(self.width(), max(widths)), _GAP)
        for chip, place in zip(self._chips, places, strict=True):
            chip.setGeometry(place)
        self.setFixedHeight(places[-1].bottom() + 1)

    @Slot()
    def _on_chip(self) -> None:
        chip = self.sender()
        assert isinstance(chip, QToolButton)
        self.choose(self._groups[self._chips.index(chip)])
