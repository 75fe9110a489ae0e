"""The lines of NumPy and PyTorch of the shown stage, below the arithmetic of a cell."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QGuiApplication, QTextOption
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QSizePolicy, QWidget

from attnviz.explain.scripts.library import LIBRARIES, LIBRARY_BY_ID
from attnviz.explain.scripts.stages import stage_text
from attnviz.gui.look.fonts import number_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.look.words import plain_tooltip, says
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.control import Control
from attnviz.gui.widgets.segmented import Segmented
from attnviz.i18n import N_, _
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace

HEIGHT = 132


class CodeFold(Control):
    """A title that unfolds the code of a stage; a choice of the library, and a button that copies it.

    It holds texts alone: an unfolded one asks for its stage again with `wanted`.
    """

    wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._stage = ""
        self._fold = says(Button(), id="code_fold")
        self._fold.setCheckable(True)
        self._fold.setFlat(True)
        self._fold.toggled.connect(self._on_toggled)
        self._copy = says(
            Button(),
            N_("Copy"),
            id="code_copy",
            name=N_("Copy the code"),
            tip=N_("Copy these lines to the clipboard"),
        )
        self._copy.clicked.connect(self._on_copy)
        self._library = Segmented([(row.id, row.title, "") for row in LIBRARIES], LIBRARIES[0].id)
        says(self._library, id="code_library", name=N_("Library of the code"))
        self._library.changed.connect(self._on_library)
        self.text = says(QPlainTextEdit(), id="code_text", name=N_("Code of the stage"))
        self.text.setReadOnly(True)
        self.text.setUndoRedoEnabled(False)
        self.text.setFont(number_font(TEXT_PX))
        self.text.setWordWrapMode(QTextOption.WrapMode.NoWrap)
        self.text.setTabChangesFocus(True)
        self.text.setFixedHeight(HEIGHT)
        self._lay_out()
        self._on_toggled(False)

    @property
    def is_open(self) -> bool:
        """True if the code is shown."""
        return self._fold.isChecked()

    def show_stage(self, site: SiteTrace | None, stage: str) -> None:
        """Show the code of a stage of an attention; nothing without one."""
        self._stage = stage if site is not None and stage in site.stages else ""
        self.setVisible(bool(self._stage))
        self._name()
        if site is None or not (self._stage and self.is_open):
            return
        library = LIBRARY_BY_ID[self._library.value()]  # type: ignore[index]
        text = stage_text(site.experiment, stage, library)
        if text != self.text.toPlainText():
            self.text.setPlainText(text)

    def forget(self) -> None:
        """Show nothing."""
        self._stage = ""
        self.text.clear()
        self.hide()

    def retranslate(self) -> None:
        self._name()

    def _name(self) -> None:
        title = _(STAGE_BY_ID[self._stage].title) if self._stage else ""
        mark = "▾" if self.is_open else "▸"
        text = _("Code · {stage}").format(stage=title)
        self._fold.setText(f"{mark} {text}")
        self._fold.setAccessibleName(text)
        sentence = _("Show the lines of NumPy or PyTorch that compute this stage")
        self._fold.setToolTip(plain_tooltip(sentence))

    @Slot(bool)
    def _on_toggled(self, is_open: bool) -> None:
        for part in (self.text, self._library, self._copy):
            part.setVisible(is_open)
        self._name()
        self.wanted.emit()

    @Slot(str)
    def _on_library(self, id_: str) -> None:
        self.wanted.emit()

    @Slot()
    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text.toPlainText())

    def _lay_out(self) -> None:
        controls = QHBoxLayout()
        controls.setSpacing(GRID)
        controls.addWidget(self._library)
        controls.addWidget(self._copy)
        controls.addStretch(1)
        column = in_column(self, self._fold, spacing=GRID // 2)
        column.addLayout(controls)
        column.addWidget(self.text)
        # Neither a long title nor wide lines widen the dock.
        self._fold.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._fold.setStyleSheet("text-align: left")
        self.text.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
