"""The export dialog: what is exported and its options at the left, the file as it will be at the right."""

from __future__ import annotations

import json
from dataclasses import dataclass

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtGui import QColor, QGuiApplication, QImage, QPalette, QPixmap, QStandardItemModel
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QProgressBar,
    QScrollArea,
    QSizePolicy,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from attnviz.compute.scheduler import Cancelled, CancelToken, Scheduler
from attnviz.errors import FieldError
from attnviz.figures.options import OPTIONS, Option
from attnviz.figures.style import WIDTHS
from attnviz.figures.subject import ALL_SITES
from attnviz.gui.export.choices import CHOICE_BY_NAME, CHOICES, At
from attnviz.gui.export.source import Choice, Made, Source
from attnviz.gui.export.table import EXPORT_BY_ID, EXPORTS, Export
from attnviz.gui.failure import failure_message, is_expected
from attnviz.gui.look.fonts import number_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.settings import Settings
from attnviz.gui.widgets.combo import DropDown
from attnviz.gui.widgets.control import active_theme, plain_tooltip
from attnviz.i18n import N_, _
from attnviz.model.errors.titles import in_words

WIDTH, HEIGHT = 920, 600
FORM_WIDTH = 330
WAIT_MS = 180
"""Time without a change before the preview is drawn."""
KEY = "preview"
_TITLES = {"light": N_("Light"), "dark": N_("Dark")}
_POLL_MS, _PARTS = 80, 1000


@dataclass(frozen=True, eq=False)
class _Field:
    """A row of the form: its label, its control, and the line for its error."""

    label: QLabel
    control: QWidget
    error: QLabel


class ExportDialog(QDialog):
    """Makes a file of a state. `made` is the file once it is accepted, `export` and `choice` what it is."""

    made: Made | None = None

    def __init__(
        self,
        window: QWidget,
        source: Source,
        scheduler: Scheduler,
        settings: Settings,
        proposed: str,
        panel: str = "",
    ) -> None:
        super().__init__(window)
        self.setObjectName("export_dialog")
        self.setWindowTitle(_("Export"))
        self.resize(WIDTH, HEIGHT)
        self._source, self._scheduler, self._settings = source, scheduler, settings
        self._shown: tuple[Export, Choice, Made] | None = None
        self._is_saving = False
        self._token: CancelToken | None = None
        self._fields: dict[str, _Field] = {}
        self._what, self._format = _combo("what", _("Export")), _combo("format", _("Format"))
        self._picture, self._text = QLabel(), QPlainTextEdit()
        self._note, self._bar = QLabel(), QProgressBar()
        self._later, self._poll = QTimer(self), QTimer(self)
        self._make_form()
        self._lay_out()
        self._offer(proposed)
        self._restore()
        if panel:
            self._select("panel", panel)
        self._connect()
        self._on_what()

    # --- what was chosen

    @property
    def export(self) -> Export:
        """The chosen row."""
        return EXPORT_BY_ID[self._what.currentData()]

    @property
    def choice(self) -> Choice:
        """The chosen format and options, as texts."""
        names = [name for name in self._fields if name in self._offered()]
        return Choice(str(self._format.currentData()), tuple((name, self._value(name)) for name in names))

    def _offered(self) -> tuple[str, ...]:
        """Names of the options of the chosen row and format."""
        is_png = self._format.currentData() == "png"
        several = len(self._source.trace.sites) > 1
        return tuple(
            name
            for name in self.export.options
            if (name != "dpi" or is_png)
            and (name != "site" or several)
            and (name != "caption" or self._source.document.caption)
        )

    def _value(self, name: str) -> str:
        control = self._fields[name].control
        if isinstance(control, QCheckBox):
            return "on" if control.isChecked() else "off"
        if isinstance(control, QLineEdit):
            return control.text().strip()
        assert isinstance(control, QComboBox)
        return control.currentText().strip() if control.isEditable() else str(control.currentData() or "")

    def _select(self, name: str, value: str) -> None:
        control = self._fields[name].control
        if isinstance(control, QCheckBox):
            control.setChecked(value == "on")
        elif isinstance(control, QLineEdit):
            control.setText(value)
        elif isinstance(control, QComboBox) and control.isEditable():
            control.setEditText(value)
        elif isinstance(control, QComboBox) and control.findData(value) >= 0:
            control.setCurrentIndex(control.findData(value))

    # --- appearance

    def _make_form(self) -> None:
        for row in CHOICES:
            control: QWidget = _line(row.name) if row.name in ("step", "digits") else _combo(row.name, "")
            self._add_field(row.name, _(row.title), control)
        if isinstance(digits := self._fields["digits"].control, QLineEdit):
            digits.setPlaceholderText(_("every digit"))
        for option in OPTIONS:
            self._add_field(option.field, _(option.title), _control(option), _(option.hint))

    def _add_field(self, name: str, title: str, control: QWidget, hint: str = "") -> None:
        control.setObjectName(f"export_{name}_box")
        control.setAccessibleName(title)
        if hint:
            control.setToolTip(plain_tooltip(hint))
        if isinstance(control, QCheckBox):
            control.setText(title)
        label, error = QLabel(title, self), QLabel(self)
        for hidden in (label, error):
            hidden.hide()
        label.setBuddy(control)
        error.setObjectName(f"export_{name}_error")
        error.setTextFormat(Qt.TextFormat.PlainText)
        error.setWordWrap(True)
        _ink(error, active_theme().error)
        self._fields[name] = _Field(label, control, error)

    def _lay_out(self) -> None:
        form = QFormLayout()
        form.setHorizontalSpacing(2 * GRID)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        form.addRow(_("Export"), self._what)
        form.addRow(_("Format"), self._format)
        checks, count = QGridLayout(), 0
        for one in self._fields.values():
            if isinstance(one.control, QCheckBox):
                checks.addWidget(one.control, count // 2, count % 2)
                count += 1
                continue
            form.addRow(one.label, one.control)
            form.addRow(one.error)
        left = QWidget()
        column = QVBoxLayout(left)
        column.setContentsMargins(0, 0, GRID, 0)
        column.setSpacing(2 * GRID)
        column.addLayout(form)
        column.addLayout(checks)
        column.addStretch(1)
        scroll = QScrollArea()
        scroll.setWidget(left)
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QScrollArea.Shape.NoFrame)
        scroll.setFixedWidth(FORM_WIDTH)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        row = QHBoxLayout()
        row.setSpacing(3 * GRID)
        row.addWidget(scroll)
        row.addLayout(self._preview_side(), 1)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(3 * GRID, 3 * GRID, 3 * GRID, 2 * GRID)
        whole.setSpacing(2 * GRID)
        whole.addLayout(row, 1)
        whole.addWidget(self._buttons())

    def _preview_side(self) -> QVBoxLayout:
        self._picture.setObjectName("export_preview")
        self._picture.setAccessibleName(_("Preview"))
        self._picture.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._picture.setMinimumSize(240, 200)
        self._text.setObjectName("export_text")
        self._text.setAccessibleName(_("Preview"))
        self._text.setReadOnly(True)
        self._text.setTabChangesFocus(True)
        self._text.setFont(number_font(TEXT_PX))
        self._text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._side = QStackedWidget()
        self._side.addWidget(self._picture)
        self._side.addWidget(self._text)
        self._note.setObjectName("export_note")
        self._note.setTextFormat(Qt.TextFormat.PlainText)
        self._note.setWordWrap(True)
        self._bar.setObjectName("export_bar")
        self._bar.setAccessibleName(_("Progress"))
        self._bar.setRange(0, 0)
        self._bar.setTextVisible(False)
        self._bar.setFixedHeight(GRID)
        policy = self._bar.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self._bar.setSizePolicy(policy)
        column = QVBoxLayout()
        column.setSpacing(GRID)
        column.addWidget(self._side, 1)
        column.addWidget(self._note)
        column.addWidget(self._bar)
        return column

    def _buttons(self) -> QDialogButtonBox:
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self._copy = buttons.addButton(_("Copy"), QDialogButtonBox.ButtonRole.ActionRole)
        self._copy.setObjectName("export_copy_button")
        self._save = buttons.addButton(_("Save…"), QDialogButtonBox.ButtonRole.ActionRole)
        self._save.setObjectName("export_save_button")
        self._copy.setAutoDefault(False)
        self._save.setDefault(True)
        self._copy.clicked.connect(self._on_copy)
        self._save.clicked.connect(self._on_save)
        buttons.rejected.connect(self.reject)
        return buttons

    # --- offers

    def _offer(self, proposed: str) -> None:
        """List every row, those without a file with their reason."""
        model = self._what.model()
        assert isinstance(model, QStandardItemModel)
        for index, row in enumerate(EXPORTS):
            self._what.addItem(_(row.title), row.id)
            reason = row.why_not(self._source)
            if reason is not None:
                model.item(index).setEnabled(False)
                model.item(index).setToolTip(plain_tooltip(reason.text()))
        self._what.setCurrentIndex(max(0, self._what.findData(proposed)))

    def _connect(self) -> None:
        self._later.setSingleShot(True)
        self._later.setInterval(WAIT_MS)
        self._later.timeout.connect(self._draw)
        self._poll.setInterval(_POLL_MS)
        self._poll.timeout.connect(self._show_share)
        self._what.currentIndexChanged.connect(self._on_what)
        self._format.currentIndexChanged.connect(self._on_format)
        for name, one in self._fields.items():
            changed = self._on_place if name in ("site", "stage") else self._on_change
            if isinstance(one.control, QCheckBox):
                one.control.toggled.connect(changed)
            elif isinstance(one.control, QLineEdit):
                one.control.textChanged.connect(changed)
            elif isinstance(one.control, QComboBox) and one.control.isEditable():
                one.control.editTextChanged.connect(changed)
            elif isinstance(one.control, QComboBox):
                one.control.currentIndexChanged.connect(changed)

    @Slot()
    def _on_what(self) -> None:
        chosen = self._format.currentData()
        self._format.blockSignals(True)
        self._format.clear()
        for row in self.export.formats:
            self._format.addItem(_(row.title), row.id)
        self._format.setCurrentIndex(max(0, self._format.findData(self.export.format(chosen).id)))
        self._format.blockSignals(False)
        self._on_place()

    @Slot()
    def _on_format(self) -> None:
        self._show_offered()
        self._on_change()

    @Slot()
    def _on_place(self) -> None:
        """Offer the values of this attention and stage; a chosen value stays where it still exists."""
        for row in CHOICES:
            control = self._fields[row.name].control
            at = self._at()
            if not isinstance(control, QComboBox):
                continue
            kept = str(control.currentData() or "")
            items = row.items(self._source, at)
            values = [value for value, _label in items]
            wanted = kept if kept in values else row.present(self._source, at)
            control.blockSignals(True)
            control.clear()
            for value, label in items:
                control.addItem(label, value)
            control.setCurrentIndex(max(0, control.findData(wanted if wanted in values else "weights")))
            control.setEnabled(len(items) > 1)
            control.blockSignals(False)
        self._show_offered()
        self._on_change()

    def _at(self) -> At:
        """The place for which values are offered, as far as it is known."""
        view, trace = self._source.document.view, self._source.trace
        name, stage = (self._value(one) for one in ("site", "stage"))
        site = trace.shown(name if name not in ("", ALL_SITES) else view.site)
        wanted = stage or view.stage
        return At(self.export.id, site, wanted if wanted in site.stages else site.stages[-1])

    def _show_offered(self) -> None:
        offered = self._offered()
        for name, one in self._fields.items():
            is_offered = name in offered
            one.control.setVisible(is_offered)
            one.label.setVisible(is_offered and not isinstance(one.control, QCheckBox))
            one.error.setVisible(is_offered and bool(one.error.text()))

    # --- the file

    @Slot()
    def _on_change(self) -> None:
        self._shown = None
        self._say_errors({})
        self._later.start()

    @Slot()
    def _draw(self) -> None:
        """Make the file: in the worker, or here where it is painted by the window."""
        self._later.stop()
        row, choice, source = self.export, self.choice, self._source

        def job(token: CancelToken) -> tuple[Export, Choice, Made]:
            self._token = token
            return row, choice, row.make(source, choice, token.progress)

        self._bar.setRange(0, 0)
        self._bar.show()
        self._poll.start()
        if row.in_window:
            self._make_here(row, choice)
        else:
            self._scheduler.submit(job, self._on_made, self._on_failed, key=KEY)

    def _make_here(self, row: Export, choice: Choice) -> None:
        try:
            made = row.make(self._source, choice, lambda: None)
        except (ValueError, OSError, MemoryError) as error:
            self._on_failed(error)
        else:
            self._on_made((row, choice, made))

    @Slot()
    def _show_share(self) -> None:
        share = None if self._token is None else self._token.share
        if share is not None:
            self._bar.setRange(0, _PARTS)
            self._bar.setValue(round(share * _PARTS))

    def _on_made(self, found: tuple[Export, Choice, Made]) -> None:
        row, choice, made = found
        if row is not self.export or choice != self.choice:
            return  # a newer one is on its way
        self._rest()
        self._shown = found
        if isinstance(made.shown, str):
            self._text.setPlainText(made.shown)
            self._side.setCurrentWidget(self._text)
        else:
            self._show_picture(made.shown)
        self._note.setText(_("{count} bytes").format(count=f"{len(made.data):,}"))
        _ink(self._note, active_theme().muted)
        if self._is_saving:
            self._accept()

    def _show_picture(self, png: bytes) -> None:
        picture = QPixmap()
        picture.loadFromData(png)
        ratio = self.devicePixelRatioF()
        room = self._side.size() * ratio
        if picture.width() > room.width() or picture.height() > room.height():
            picture = picture.scaled(
                room, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
            )
        picture.setDevicePixelRatio(ratio)
        self._picture.setPixmap(picture)
        self._side.setCurrentWidget(self._picture)

    def _on_failed(self, error: BaseException) -> None:
        self._rest()
        self._is_saving = False
        if isinstance(error, Cancelled):
            return
        self._picture.clear()
        self._side.setCurrentWidget(self._picture)
        if isinstance(error, FieldError) and error.path in self._offered():
            self._say_errors({error.path: in_words(error)})
        else:
            self._note.setText(in_words(failure_message(error)))
            _ink(self._note, active_theme().error)
        if not is_expected(error):
            raise error

    def _rest(self) -> None:
        self._bar.hide()
        self._poll.stop()
        self._token = None

    def _say_errors(self, errors: dict[str, str]) -> None:
        """Write one sentence below each field that has an error."""
        self._note.setText("")
        for name, one in self._fields.items():
            one.error.setText(errors.get(name, ""))
            one.error.setVisible(name in errors)

    # --- acting

    @Slot()
    def _on_save(self) -> None:
        """Accept the file as it is shown, or as soon as it is made."""
        self._is_saving = True
        if self._shown is not None:
            self._accept()
        elif not self._bar.isVisible():
            self._draw()

    def _accept(self) -> None:
        assert self._shown is not None
        self.made = self._shown[2]
        self.accept()

    @Slot()
    def _on_copy(self) -> None:
        """Copy the picture or the text that is shown."""
        if self._shown is None:
            return
        shown = self._shown[2]
        if isinstance(shown.shown, str):
            whole = shown.data.decode("utf-8-sig", "replace") if self.choice.format != "npz" else shown.shown
            QGuiApplication.clipboard().setText(whole)
        else:
            QGuiApplication.clipboard().setImage(QImage.fromData(shown.shown))
        self._note.setText(_("Copied."))

    def done(self, result: int) -> None:
        """Close; a file still in progress is dropped, and the settings are remembered."""
        self._later.stop()
        self._poll.stop()
        self._scheduler.submit(lambda token: None, lambda nothing: None, _ignore, key=KEY)
        if result == QDialog.DialogCode.Accepted:
            self._remember()
        super().done(result)

    def _remember(self) -> None:
        texts = {name: self._value(name) for name in (row.field for row in OPTIONS)}
        chosen = {"format": self._format.currentData(), "digits": self._value("digits"), **texts}
        self._settings.set_export(json.dumps(chosen))

    def _restore(self) -> None:
        """The last settings; what is not understood is left at its default."""
        for option in OPTIONS:
            default = option.default
            text = ("on" if default else "off") if option.control == "switch" else str(default or "")
            self._select(option.field, self._source.theme if option.field == "theme" else text)
        try:
            found = json.loads(self._settings.export() or "{}")
        except ValueError:
            return
        if not isinstance(found, dict):
            return
        known = {name: value for name, value in found.items() if isinstance(value, str)}
        for name, value in known.items():
            if name in self._fields and name not in CHOICE_BY_NAME or name == "digits":
                self._select(name, value)
        self._format.addItem("", known.get("format", ""))


def _control(row: Option) -> QWidget:
    """The control of an option of the style."""
    if row.control == "switch":
        return QCheckBox()
    if row.control == "choice":
        combo = _combo(row.field, "")
        for choice in row.choices:
            combo.addItem(_(_TITLES[choice]), choice)
        return combo
    if row.field != "width":
        line = _line(row.field)
        line.setPlaceholderText(str(row.default or _("as the picture needs")))
        return line
    combo = _combo(row.field, "")
    combo.setEditable(True)
    combo.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
    for width in WIDTHS:
        combo.addItem(width.text)
        combo.setItemData(combo.count() - 1, _(width.title), Qt.ItemDataRole.ToolTipRole)
    combo.setEditText("")
    edit = combo.lineEdit()
    assert edit is not None
    edit.setPlaceholderText(_("as the picture needs"))
    return combo


def _combo(name: str, title: str) -> QComboBox:
    combo = DropDown()
    combo.setObjectName(f"export_{name}_box")
    combo.setAccessibleName(title)
    combo.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
    return combo


def _line(name: str) -> QLineEdit:
    line = QLineEdit()
    line.setObjectName(f"export_{name}_box")
    return line


def _ink(label: QLabel, color: str) -> None:
    palette = label.palette()
    palette.setColor(QPalette.ColorRole.WindowText, QColor(color))
    label.setPalette(palette)


def _ignore(error: BaseException) -> None:
    """Ignore the error of a replaced preview."""
