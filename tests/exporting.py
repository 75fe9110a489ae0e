"""The controls of the export dialog, by the name of their option."""

from __future__ import annotations

from typing import Any

from PySide6.QtWidgets import QWidget

from attnviz.gui.export.dialog import ExportDialog


def box(dialog: ExportDialog, name: str) -> Any:
    """The control of an option."""
    return dialog.findChild(QWidget, f"export_{name}_box")


def pick(dialog: ExportDialog, name: str, value: str) -> None:
    """Choose a kind, or a value of a drop-down list."""
    if name == "what":
        dialog._kinds.choose(value)
        return
    combo = box(dialog, name)
    assert combo.findData(value) >= 0, [combo.itemData(i) for i in range(combo.count())]
    combo.setCurrentIndex(combo.findData(value))
