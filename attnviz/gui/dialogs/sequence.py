"""The dialog of a sequence: what changes from picture to picture, and how fast."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QDialogButtonBox,
    QDoubleSpinBox,
    QFormLayout,
    QLineEdit,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from attnviz.figures.sequences.outputs import LEAST_FPS, MOST_FPS
from attnviz.figures.sequences.sequence import FPS
from attnviz.gui.look.theme import GRID
from attnviz.gui.widgets.combo import DropDown
from attnviz.i18n import _
from attnviz.model.edit.paths import is_shown, value_at
from attnviz.model.edit.sweep import MOST_FRAMES
from attnviz.model.fields import FIELDS, FieldRow
from attnviz.model.spec.site import Site

DECODE, LAYERS = "decode", "layers"
COUNT = 12
"""Pictures of a new sweep."""

_SIZES = ("heads.", "vectors.", "memory.")
"""Fields that fit no other size of the document by themselves."""


def swept_fields(site: Site) -> tuple[FieldRow, ...]:
    """The numbers of an attention that a sweep can change alone."""
    return tuple(
        row
        for row in FIELDS
        if row.kind in (int, float)
        and not row.field.is_seed
        and not row.path.startswith(_SIZES)
        and is_shown(site, row.path)
    )


class SequenceDialog(QDialog):
    """Chooses a sequence of the document; `over` and `fps` are what `attnviz animate` takes."""

    def __init__(self, window: QWidget, site: Site, has_layers: bool) -> None:
        super().__init__(window)
        self.setObjectName("sequence_dialog")
        self.setWindowTitle(_("Export a sequence"))
        self._site = site
        self._rows = {row.path: row for row in swept_fields(site)}
        self._over = DropDown()
        self._over.addItem(_("the steps of decoding"), DECODE)
        if has_layers:
            self._over.addItem(_("the layers"), LAYERS)
        for row in self._rows.values():
            self._over.addItem(_(row.field.title), row.path)
        self._first, self._last = QLineEdit(), QLineEdit()
        self._count, self._ratios = QSpinBox(), QCheckBox(_("Equal ratios instead of equal steps"))
        self._count.setRange(2, MOST_FRAMES)
        self._count.setValue(COUNT)
        self._fps = QDoubleSpinBox()
        self._fps.setRange(LEAST_FPS, MOST_FPS)
        self._fps.setDecimals(1)
        self._fps.setValue(FPS)
        self._lay_out()
        self._over.currentIndexChanged.connect(self._on_over)
        self._on_over()

    @property
    def over(self) -> str:
        """The change from picture to picture: `decode`, `layers`, or a sweep."""
        path = str(self._over.currentData())
        if path not in self._rows:
            return path
        ratios = ":log" if self._ratios.isChecked() else ""
        return (
            f"{path}={self._first.text().strip()}:{self._last.text().strip()}:{self._count.value()}{ratios}"
        )

    @property
    def fps(self) -> float:
        """Pictures per second."""
        return self._fps.value()

    @Slot()
    def _on_over(self) -> None:
        """Offer the usual range of a number."""
        row = self._rows.get(str(self._over.currentData()))
        for part in (self._first, self._last, self._count, self._ratios):
            part.setEnabled(row is not None)
        if row is None:
            return
        first, last = row.field.usual or _around(value_at(self._site, row.path), row)
        self._first.setText(f"{first:g}")
        self._last.setText(f"{last:g}")
        self._ratios.setChecked(row.field.logarithmic)

    def _lay_out(self) -> None:
        form = QFormLayout()
        form.setHorizontalSpacing(2 * GRID)
        controls: tuple[tuple[str, str, QWidget], ...] = (
            ("sequence_over", _("Over"), self._over),
            ("sequence_first", _("From"), self._first),
            ("sequence_last", _("To"), self._last),
            ("sequence_count", _("Pictures"), self._count),
            ("sequence_ratios", _("Spacing"), self._ratios),
            ("sequence_fps", _("Pictures per second"), self._fps),
        )
        for name, label, control in controls:
            control.setObjectName(name)
            control.setAccessibleName(label)
            form.addRow(label, control)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        buttons.addButton(_("Save…"), QDialogButtonBox.ButtonRole.AcceptRole).setDefault(True)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(3 * GRID, 3 * GRID, 3 * GRID, 2 * GRID)
        column.setSpacing(2 * GRID)
        column.addLayout(form)
        column.addWidget(buttons)


def _around(value: float, row: FieldRow) -> tuple[float, float]:
    """From half of the present value to twice as much, within the bounds of the field."""
    least, most = row.bounds
    whole = row.kind is int
    return max(least, value // 2 if whole else value / 2), min(most, 2 * value or (8 if whole else 1.0))
