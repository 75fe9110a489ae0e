"""The list of keyboard shortcuts, from `ACTIONS` and from the keys of single widgets."""

from __future__ import annotations

import re

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QKeySequence
from PySide6.QtWidgets import QDialogButtonBox, QGridLayout, QLabel, QScrollArea, QVBoxLayout, QWidget

from attnviz.core.phrases import enumerated
from attnviz.gui.commands.actions import ACTIONS, MENUS
from attnviz.gui.dialogs.dialog import Dialog
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.services.services import Services
from attnviz.i18n import N_, _

MOUSE: tuple[tuple[str, str], ...] = (
    (N_("Drag up or down on a number"), N_("change it; Shift fine, Ctrl coarse")),
    (N_("Wheel on a number"), N_("change it")),
    (N_("Double-click or F2 on a number"), N_("type it")),
    (N_("Ctrl+C, Ctrl+V on a table"), N_("copy and paste with a spreadsheet")),
    (N_("Right-click anywhere"), N_("copy, explain, lock, export")),
    (N_("Hover a cell"), N_("highlight its sources and consumers")),
    (N_("Click a cell"), N_("lock it for the inspector")),
    (N_("Wheel on a heat map"), N_("zoom; drag or Shift+wheel moves, double-click resets")),
    (N_("1, 2, 3, 4"), N_("arcs, map, mean, all rows")),
    (N_("F"), N_("colours with or without the first token")),
    (N_("Click a word of the arcs"), N_("select its query; an arc locks its cell, a row takes its head")),
    (
        N_("Space on the first glance"),
        N_("play the sum; ← → go to the frames, a drag of the track scrubs"),
    ),
    (N_("Arrow keys on a heat map"), N_("move from cell to cell; Enter locks")),
    (N_("Arrow keys on a table"), N_("move from cell to cell; Tab leaves the table")),
    (N_("Enter or Space on a button or list that Tab reached"), N_("press or open it; F5 then plays")),
    (N_("Enter or Esc in a text field"), N_("leave it; Space then plays")),
    (N_("Arrow keys on a row of pictures"), N_("choose the next one; Tab leaves the row")),
    (N_("Double-click on the title or the tab of a panel"), N_("enlarge it; Esc returns")),
    (N_("Drag the tip of an arrow"), N_("change the vector")),
)


class ShortcutsDialog(Dialog):
    """The keys of the commands and of single widgets, and what the mouse does."""

    def __init__(self, window: QWidget, services: Services) -> None:
        super().__init__(window, services, "shortcuts_dialog", N_("Keyboard shortcuts"))
        content = QWidget()
        grid = QGridLayout(content)
        grid.setHorizontalSpacing(3 * GRID)
        grid.setVerticalSpacing(GRID // 2)
        grid.setColumnStretch(1, 1)
        for menu, title in MENUS:
            rows = [row for row in ACTIONS if row.menu == menu and row.shortcuts]
            if rows:
                _section(grid, re.sub(r"\(&.\)|&", "", _(title)))  # without the letter that opens the menu
            for row in rows:
                keys = enumerated(
                    QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText)
                    for key in row.shortcuts
                )
                _line(grid, keys, _(row.text).replace("…", ""), is_key=True)
        _section(grid, _("Mouse and keys"))
        for gesture, effect in MOUSE:
            _line(grid, _(gesture), _(effect), is_key=False)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setWidget(content)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.addWidget(scroll)
        column.addWidget(buttons)
        margins = column.contentsMargins()
        bar = scroll.verticalScrollBar().sizeHint().width() + 2 * scroll.frameWidth()
        content.ensurePolished()
        self.resize(content.sizeHint().width() + bar + margins.left() + margins.right() + GRID, 620)


def _section(grid: QGridLayout, title: str) -> None:
    label = _label(title)
    label.setFont(ui_font(TEXT_PX, QFont.Weight.DemiBold))
    row = grid.rowCount()
    grid.setRowMinimumHeight(row, 3 * GRID)
    grid.addWidget(label, row, 0, 1, 2, Qt.AlignmentFlag.AlignBottom)


def _line(grid: QGridLayout, left: str, right: str, is_key: bool) -> None:
    row = grid.rowCount()
    keys = _label(left)
    if is_key:
        keys.setFont(number_font(TEXT_PX))
    grid.addWidget(keys, row, 0)
    grid.addWidget(_label(right), row, 1)


def _label(text: str) -> QLabel:
    label = QLabel(text)
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label
