"""A titled section that opens and closes.

Not superqt's QCollapsible: that one draws its arrow with `font().pointSize()`, which is -1 for a font
that was set in pixels, as every font of this window is.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QSizePolicy, QToolButton, QVBoxLayout, QWidget

from attnviz.gui.theme import GRID
from attnviz.gui.widgets.control import Control


class Collapsible(Control):
    """A header button over `body`; `toggled` carries whether the user opened it."""

    toggled = Signal(bool)

    def __init__(self, title: str, is_open: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._header = QToolButton()
        self._header.setObjectName("collapsible_header")
        self._header.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._header.setCheckable(True)
        self._header.setAutoRaise(True)
        self._header.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._header.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._header.clicked.connect(self._on_clicked)
        self._content = QWidget()
        self.body = QVBoxLayout(self._content)
        self.body.setContentsMargins(GRID * 2, 0, 0, 0)
        self.body.setSpacing(GRID)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GRID // 2)
        layout.addWidget(self._header)
        layout.addWidget(self._content)
        self.set_title(title)
        self.set_open(is_open)

    def is_open(self) -> bool:
        return self._header.isChecked()

    def set_title(self, title: str) -> None:
        self._header.setText(title)
        self._header.setAccessibleName(title)
        self.setAccessibleName(title)

    def set_open(self, is_open: bool) -> None:
        """Open or close without emitting."""
        self._header.setChecked(is_open)
        self._header.setArrowType(Qt.ArrowType.DownArrow if is_open else Qt.ArrowType.RightArrow)
        self._content.setVisible(is_open)

    def _on_clicked(self, is_open: bool) -> None:
        self.set_open(is_open)
        self.toggled.emit(is_open)
