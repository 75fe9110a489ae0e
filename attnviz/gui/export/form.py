"""The form of the export dialog: a row for each option, with its label, control and the line of its error.

An option is a row of `CHOICES`, whose values follow from the state, or of `OPTIONS`, a field of the style.
The value of each is a text, as the shell takes it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFormLayout,
    QGridLayout,
    QLabel,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from attnviz.figures.options import OPTIONS, Control, Option
from attnviz.figures.style import WIDTHS, Style
from attnviz.gui.export.choices import CHOICES, At, ChoiceRow
from attnviz.gui.export.source import Source
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import says
from attnviz.gui.widgets.combo import DropDown
from attnviz.gui.widgets.control import active_theme
from attnviz.gui.widgets.window_keys import LineEdit
from attnviz.i18n import N_, _

_TITLES = {"light": N_("Light"), "dark": N_("Dark")}


class Field:
    """One row: `control` with a label before it, and a line for the error below. `hears` connects a slot."""

    has_label = True
    control: QWidget

    def __init__(self, name: str, title: str, hint: str, parent: QWidget) -> None:
        says(self.control, id=f"export_{name}_box", name=title, tip=hint)
        self.label, self.error = says(QLabel(parent), title), QLabel(parent)
        self.label.setVisible(self.has_label)
        self.label.setBuddy(self.control)
        self.error.hide()
        self.error.setObjectName(f"export_{name}_error")
        self.error.setTextFormat(Qt.TextFormat.PlainText)
        self.error.setWordWrap(True)
        ink(self.error, active_theme().error)

    def value(self) -> str:
        """The chosen text."""
        raise NotImplementedError

    def select(self, value: str) -> None:
        """Choose a text; one that is not offered changes nothing."""
        raise NotImplementedError

    def hears(self, slot: Callable[..., object]) -> None:
        """Call `slot` after each change."""
        raise NotImplementedError

    def offer(self, row: ChoiceRow, source: Source, at: At, decided: str) -> None:
        """Offer the values that the option has at a place, after `decided` was chosen."""

    def hint(self, text: str) -> None:
        """Say what holds where nothing is typed."""


class SwitchField(Field):
    """A box to check, which is its own label."""

    has_label = False

    def __init__(self, name: str, title: str, hint: str, parent: QWidget) -> None:
        self.control = self._check = QCheckBox(parent)
        super().__init__(name, title, hint, parent)
        says(self._check, title)

    def value(self) -> str:
        return "on" if self._check.isChecked() else "off"

    def select(self, value: str) -> None:
        self._check.setChecked(value == "on")

    def hears(self, slot: Callable[..., object]) -> None:
        self._check.toggled.connect(slot)


class ByWidthField(SwitchField):
    """A box that follows the width until it is clicked; its value is then empty."""

    def __init__(self, name: str, title: str, hint: str, parent: QWidget) -> None:
        super().__init__(name, title, hint, parent)
        self._is_chosen = False
        self._check.toggled.connect(self._choose)

    def value(self) -> str:
        return super().value() if self._is_chosen else ""

    def select(self, value: str) -> None:
        super().select(value)
        self._is_chosen = bool(value)

    def follow(self, is_on: bool) -> None:
        """Show what the width decides."""
        if not self._is_chosen:
            with QSignalBlocker(self._check):
                self._check.setChecked(is_on)

    def _choose(self) -> None:
        self._is_chosen = True


class TextField(Field):
    """A line of text."""

    def __init__(self, name: str, title: str, hint: str, parent: QWidget) -> None:
        self.control = self._line = LineEdit()
        super().__init__(name, title, hint, parent)

    def value(self) -> str:
        return self._line.text().strip()

    def select(self, value: str) -> None:
        self._line.setText(value)

    def hears(self, slot: Callable[..., object]) -> None:
        self._line.textChanged.connect(slot)

    def offer(self, row: ChoiceRow, source: Source, at: At, decided: str) -> None:
        if decided == "over" or not self._line.text():
            with QSignalBlocker(self._line):
                self._line.setText(row.present(source, at))

    def hint(self, text: str) -> None:
        self._line.setPlaceholderText(text)


class ListField(Field):
    """One of several values; one that is chosen stays where it still exists."""

    def __init__(self, name: str, title: str, hint: str, parent: QWidget) -> None:
        self.control = self.combo = drop_down()
        super().__init__(name, title, hint, parent)

    def value(self) -> str:
        return str(self.combo.currentData() or "")

    def select(self, value: str) -> None:
        if self.combo.findData(value) >= 0:
            self.combo.setCurrentIndex(self.combo.findData(value))

    def hears(self, slot: Callable[..., object]) -> None:
        self.combo.currentIndexChanged.connect(slot)

    def offer(self, row: ChoiceRow, source: Source, at: At, decided: str) -> None:
        items = row.items(source, at)
        kept = self.value() if row.name != "spacing" else ""
        with QSignalBlocker(self.combo):
            self.combo.clear()
            for value, label in items:
                self.combo.addItem(label, value)
            self.select(row.value(source, at, kept))
            self.combo.setEnabled(len(items) > 1)


class WidthField(Field):
    """A width to type, or one of those of papers."""

    def __init__(self, name: str, title: str, hint: str, parent: QWidget) -> None:
        self.control = self._combo = combo = drop_down()
        combo.setEditable(True)
        self._edit = LineEdit()
        combo.setLineEdit(self._edit)
        combo.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # a click begins to type, as in any line
        combo.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        for width in WIDTHS:
            combo.addItem(width.text)
            combo.setItemData(combo.count() - 1, _(width.title), Qt.ItemDataRole.ToolTipRole)
        combo.setEditText("")
        super().__init__(name, title, hint, parent)

    def value(self) -> str:
        return self._combo.currentText().strip()

    def select(self, value: str) -> None:
        self._combo.setEditText(value)

    def hears(self, slot: Callable[..., object]) -> None:
        self._combo.editTextChanged.connect(slot)

    def hint(self, text: str) -> None:
        self._edit.setPlaceholderText(text)


_KINDS: dict[Control, type[Field]] = {"switch": SwitchField, "text": TextField, "choice": ListField}


class ExportForm(QWidget):
    """The rows: lists and texts one below the other, then the switches, two in a line."""

    changed = Signal(str)
    """An option has another value, by its name."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.format = says(drop_down(), id="export_format_box", name=N_("Format"))
        self.room = QLabel()
        self.room.setObjectName("export_room")
        self.room.setTextFormat(Qt.TextFormat.PlainText)
        self.room.setWordWrap(True)
        ink(self.room, active_theme().muted)
        self.fields: dict[str, Field] = {row.name: self._of_state(row) for row in CHOICES}
        self.fields |= {row.field: self._of_style(row) for row in OPTIONS}
        for name, field in self.fields.items():
            field.hears(partial(self._tell, name))
        self._lay_out()

    def _of_state(self, row: ChoiceRow) -> Field:
        """An option that is chosen of the state."""
        field = _KINDS[row.control](row.name, row.title, "", self)
        field.hint(_(row.hint) if row.hint else "")
        return field

    def _of_style(self, row: Option) -> Field:
        """An option of the style."""
        kind = WidthField if row.field == "width" else _KINDS[row.control]
        kind = ByWidthField if row.is_by_width else kind
        field = kind(row.field, row.title, row.hint, self)
        field.hint(_("automatic") if row.field == "width" else str(row.default or _("automatic")))
        if isinstance(field, ListField):
            for choice in row.choices:
                field.combo.addItem(_(_TITLES[choice]), choice)
        return field

    def _lay_out(self) -> None:
        form = self._form = QFormLayout()
        form.setHorizontalSpacing(2 * GRID)
        form.setVerticalSpacing(GRID)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        form.addRow(_("Format"), self.format)
        checks = self._checks = QGridLayout()
        checks.setVerticalSpacing(GRID)
        for field in self._labelled:
            form.addRow(field.label, field.control)
            form.addRow(field.error)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, GRID, 0)
        column.setSpacing(2 * GRID)
        column.addLayout(form)
        column.addLayout(checks)
        column.addWidget(self.room)
        column.addStretch(1)

    def _tell(self, name: str, *_value: object) -> None:
        self.changed.emit(name)

    @property
    def _labelled(self) -> list[Field]:
        return [field for field in self.fields.values() if field.has_label]

    @property
    def _switches(self) -> dict[str, Field]:
        return {name: field for name, field in self.fields.items() if not field.has_label}

    def value(self, name: str) -> str:
        """The text of an option, or of the format."""
        return str(self.format.currentData() or "") if name == "format" else self.fields[name].value()

    def show_offered(self, names: Collection[str]) -> None:
        """Show the rows of these options alone."""
        for name, field in self.fields.items():
            if field.has_label:
                self._form.setRowVisible(field.control, name in names)
                self._form.setRowVisible(field.error, name in names and bool(field.error.text()))
        for field in self._switches.values():
            self._checks.removeWidget(field.control)
        shown = [field for name, field in self._switches.items() if name in names]
        for field in self._switches.values():
            field.control.setVisible(field in shown)
        for index, field in enumerate(shown):
            self._checks.addWidget(field.control, index // 2, index % 2)

    def follow(self, style: Style) -> None:
        """Show in the switches by width what the width decides."""
        for field in self.fields.values():
            if isinstance(field, ByWidthField):
                field.follow(style.shows(None))

    def tell_room(self, sentences: Sequence[str], part: str) -> None:
        """Say what has no room, in the place of the switch of that part."""
        self.room.setText("\n".join(sentences))
        self.room.setVisible(bool(sentences))
        if sentences:
            self.fields[part].control.hide()

    def mark(self, errors: Mapping[str, str]) -> None:
        """Write one sentence below each option that has an error."""
        for name, field in self.fields.items():
            field.error.setText(errors.get(name, ""))
            if field.has_label:
                self._form.setRowVisible(field.error, name in errors)

    def order_tabs(self) -> None:
        """Tab goes down the form, lists and texts first, as it is laid out."""
        fields = (*self._labelled, *self._switches.values())
        chain = [self.format, *(field.control for field in fields)]
        for one, following in itertools.pairwise(chain):
            QWidget.setTabOrder(one, following)


def drop_down() -> QComboBox:
    """A list as wide as the form."""
    combo = DropDown()
    combo.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
    combo.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    combo.setMinimumContentsLength(8)
    return combo


def ink(label: QLabel, color: str) -> None:
    """Write a label in a colour."""
    palette = label.palette()
    palette.setColor(QPalette.ColorRole.WindowText, QColor(color))
    label.setPalette(palette)
