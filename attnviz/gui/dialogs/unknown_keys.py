"""Ticks for configuration keys that a family does not know: each must be ignored by hand."""

from __future__ import annotations

import json
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QLabel, QVBoxLayout, QWidget

from attnviz.core.text import elide, visible
from attnviz.gui.look.theme import GRID
from attnviz.i18n import _

LONGEST = 40
"""Characters of a value that are shown."""


class UnknownKeys(QWidget):
    """A tick for each key; `changed` says that one was set or cleared."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._ticks: dict[str, QCheckBox] = {}
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(GRID // 2)
        heading = QLabel(_("These keys may change numbers. Tick those to ignore:"))
        heading.setWordWrap(True)
        self._column.addWidget(heading)

    def set_keys(self, keys: tuple[tuple[str, Any], ...]) -> None:
        """Show these keys with their values, all unticked; those shown before keep their ticks."""
        before = set(self.ignored())
        for tick in self._ticks.values():
            self._column.removeWidget(tick)
            tick.deleteLater()
        self._ticks = {name: self._tick(name, value, name in before) for name, value in keys}

    def ignored(self) -> tuple[str, ...]:
        """The ticked keys."""
        return tuple(name for name, tick in self._ticks.items() if tick.isChecked())

    def is_complete(self) -> bool:
        """True if no key is left unticked."""
        return all(tick.isChecked() for tick in self._ticks.values())

    def _tick(self, name: str, value: Any, is_set: bool) -> QCheckBox:
        written = json.dumps(value, ensure_ascii=False)
        tick = QCheckBox(visible(elide(f"{name}: {written}", LONGEST)).replace("&", "&&"), self)
        tick.setObjectName(f"ignore_{name}")
        tick.setAccessibleName(_("Ignore {key}").format(key=name))
        tick.setChecked(is_set)
        tick.toggled.connect(self.changed)
        self._column.addWidget(tick)
        return tick
