"""The file to write, from the file dialog, and a question about the one that it has not asked about."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QMessageBox, QWidget

from attnviz.core.text import visible
from attnviz.i18n import _

Place = Callable[[Path], Path]
"""The path that belongs to another one."""


def _itself(path: Path) -> Path:
    return path


def ask_file_to_write(
    parent: QWidget | None, title: str, start: str, kinds: str, named: Place, placed: Place = _itself
) -> Path | None:
    """A file to write; None without one.

    `named` is the file of a typed name, such as that with a suffix, and `placed` what is written for it, such
    as a folder. The file dialog has asked about the typed name alone: where another file is replaced, that is
    asked here.
    """
    typed, _kind = QFileDialog.getSaveFileName(parent, title, start, kinds)
    if not typed:
        return None
    file = named(Path(typed))
    place = placed(file)
    if place != Path(typed) and not may_replace(parent, title, place):
        return None
    return file


def with_suffix(path: Path, suffix: str) -> Path:
    """The path with a suffix, unless it has one."""
    return path if path.suffix else path.with_name(path.name + suffix)


def may_replace(parent: QWidget | None, title: str, path: Path) -> bool:
    """True for a file that does not exist, or that is to be replaced, which is asked."""
    if not path.exists():
        return True
    buttons = QMessageBox.StandardButton
    box = QMessageBox(parent)
    box.setObjectName("replace_box")
    box.setWindowTitle(title)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(_("{file} exists. Replace it?").format(file=visible(path.name)))
    box.setStandardButtons(buttons.Save | buttons.Cancel)
    box.setDefaultButton(buttons.Cancel)
    box.button(buttons.Save).setText(_("Replace"))
    answer = box.exec()
    box.deleteLater()
    return answer == buttons.Save
