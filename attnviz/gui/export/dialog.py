"""The export dialog: what is exported and its options at the left, the file as it will be at the right."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtGui import QColor, QGuiApplication, QImage, QPalette, QStandardItemModel
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
    QProgressBar,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from attnviz.compute.scheduler import Cancelled, CancelToken, Scheduler
from attnviz.errors import FieldError
from attnviz.figures.options import OPTIONS, Option
from attnviz.figures.sequences.outputs import MOVING_DPI
from attnviz.figures.style import DPI, WIDTHS
from attnviz.figures.subject import ALL_SITES
from attnviz.gui.dialogs.layout import column_of
from attnviz.gui.export.choices import CHOICE_BY_NAME, CHOICES, At, ChoiceRow
from attnviz.gui.export.kinds.sequence import MOVING
from attnviz.gui.export.names import file_name
from attnviz.gui.export.preview import Preview
from attnviz.gui.export.shell import Command, command_of
from attnviz.gui.export.source import Choice, Leaves, Made, Source
from attnviz.gui.export.table import EXPORT_BY_ID, EXPORTS, PIXELS, Export, FileKind
from attnviz.gui.failure import failure_message, is_expected
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.settings import Settings
from attnviz.gui.widgets.combo import DropDown
from attnviz.gui.widgets.control import active_theme
from attnviz.gui.widgets.window_keys import LineEdit
from attnviz.i18n import N_, _
from attnviz.model.errors.titles import in_words

WIDTH, HEIGHT, ROUND = 920, 680, 60
"""Size of the dialog, and the room that a screen keeps around it."""
FORM_WIDTH = 330
WAIT_MS = 180
"""Time without a change before the preview is drawn."""
KEY, SAVING_KEY = "preview", "export"
"""Of a drawing to be seen, and of the file to be saved."""
REMEMBERED = ("fps", "digits", "slides")
"""Options of the state that the next export begins with."""
_TITLES = {"light": N_("Light"), "dark": N_("Dark")}
_POLL_MS, _PARTS = 80, 1000


@dataclass(frozen=True, eq=False)
class _Field:
    """A row of the form: its label, its control, and the line for its error."""

    label: QLabel
    control: QWidget
    error: QLabel


Ask = Callable[[QWidget, FileKind, str], Path | None]
"""Asks for a file of a kind, whose proposed name is a text; None: not now."""


class ExportDialog(QDialog):
    """Makes a file of a state. Once it is accepted, `made` is the file and `path` where it goes."""

    made: Made | None = None
    path: Path | None = None

    def __init__(
        self,
        window: QWidget,
        source: Source,
        scheduler: Scheduler,
        settings: Settings,
        ask: Ask,
        proposed: str,
        options: Mapping[str, str],
    ) -> None:
        super().__init__(window)
        self.setObjectName("export_dialog")
        self.setWindowTitle(_("Export"))
        self.resize(WIDTH, min(HEIGHT, window.screen().availableGeometry().height() - ROUND))
        self._source, self._scheduler, self._settings, self._ask = source, scheduler, settings, ask
        self._is_done = False
        self._shown: tuple[Export, Choice, Made] | None = None
        self._is_saving = False
        self._token: CancelToken | None = None
        self._fields: dict[str, _Field] = {}
        self._formats: dict[str, str] = {}
        """The last format of each row."""
        self._widths: dict[str, str] = {}
        """The last width of each command: a film has not that of a column of a paper."""
        self._what, self._format = _combo("what", _("Export")), _combo("format", _("Format"))
        self._preview = Preview()
        self._note, self._bar = QLabel(), QProgressBar()
        self._later, self._poll = QTimer(self), QTimer(self)
        self._make_form()
        self._lay_out()
        self._offer(proposed)
        self._restore()
        self._connect()
        self._on_what()
        for name in sorted(options, key=list(CHOICE_BY_NAME).index):
            self._select(name, options[name])
        self._order_tabs()

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
        idle = self.export.idle(self._value)
        idle |= set() if self._format.currentData() in PIXELS else {"dpi"}
        idle |= set() if len(self._source.trace.sites) > 1 else {"site"}
        idle |= set() if self._source.document.caption else {"caption"}
        return tuple(name for name in self.export.options if name not in idle)

    def _value(self, name: str) -> str:
        """The text of an option, or of the format."""
        if name == "format":
            return str(self._format.currentData() or "")
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
            self._add_field(row.name, _(row.title), _chooser(row))
        for option in OPTIONS:
            self._add_field(option.field, _(option.title), _control(option), _(option.hint))

    def _add_field(self, name: str, title: str, control: QWidget, hint: str = "") -> None:
        control.setObjectName(f"export_{name}_box")
        control.setAccessibleName(title)
        if hint:
            control.setToolTip(plain_tooltip(hint))
        if isinstance(control, QCheckBox):
            control.setText(title)
            control.setParent(self)
        label, error = QLabel(title, self), QLabel(self)
        label.setHidden(isinstance(control, QCheckBox))
        error.hide()
        label.setBuddy(control)
        error.setObjectName(f"export_{name}_error")
        error.setTextFormat(Qt.TextFormat.PlainText)
        error.setWordWrap(True)
        _ink(error, active_theme().error)
        self._fields[name] = _Field(label, control, error)

    def _lay_out(self) -> None:
        form = self._form = QFormLayout()
        form.setHorizontalSpacing(2 * GRID)
        form.setVerticalSpacing(GRID)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        form.addRow(_("Export"), self._what)
        form.addRow(_("Format"), self._format)
        checks = self._checks = QGridLayout()
        checks.setVerticalSpacing(GRID)
        for one in self._fields.values():
            if not isinstance(one.control, QCheckBox):
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
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        row = QHBoxLayout()
        row.setSpacing(3 * GRID)
        row.addWidget(scroll)
        row.addLayout(self._preview_side(), 1)
        whole = column_of(self)
        whole.addLayout(row, 1)
        whole.addWidget(self._buttons())

    def _preview_side(self) -> QVBoxLayout:
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
        column.addWidget(self._preview, 1)
        column.addWidget(self._note)
        column.addWidget(self._bar)
        return column

    def _order_tabs(self) -> None:
        """Tab goes down the form, lists and texts first, as it is laid out."""
        controls = [one.control for one in self._fields.values()]
        switches = [control for control in controls if isinstance(control, QCheckBox)]
        others = [control for control in controls if not isinstance(control, QCheckBox)]
        chain: list[QWidget] = [self._what, self._format, *others, *switches]
        for one, following in itertools.pairwise(chain):
            QWidget.setTabOrder(one, following)
        self._what.setFocus(Qt.FocusReason.TabFocusReason)

    def _buttons(self) -> QDialogButtonBox:
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self._copy = buttons.addButton(_("Copy"), QDialogButtonBox.ButtonRole.ActionRole)
        self._copy.setObjectName("export_copy_button")
        self._copy_shell = buttons.addButton(_("Copy as shell"), QDialogButtonBox.ButtonRole.ActionRole)
        self._copy_shell.setObjectName("export_shell_button")
        self._save = buttons.addButton(_("Save…"), QDialogButtonBox.ButtonRole.ActionRole)
        self._save.setObjectName("export_save_button")
        for button in (self._copy, self._copy_shell):
            button.setAutoDefault(False)
        self._save.setDefault(True)
        self._copy.clicked.connect(self._on_copy)
        self._copy_shell.clicked.connect(self._on_copy_shell)
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
        self._preview.missing.connect(self._on_missing)
        self._what.currentIndexChanged.connect(self._on_what)
        self._format.currentIndexChanged.connect(self._on_format)
        for name, one in self._fields.items():
            row = CHOICE_BY_NAME.get(name)
            changed = partial(self._on_place, name) if row is not None and row.decides else self._on_change
            if isinstance(one.control, QCheckBox):
                one.control.toggled.connect(changed)
            elif isinstance(one.control, QLineEdit):
                one.control.textChanged.connect(changed)
            elif isinstance(one.control, QComboBox) and one.control.isEditable():
                one.control.editTextChanged.connect(changed)
            elif isinstance(one.control, QComboBox):
                one.control.currentIndexChanged.connect(changed)
        width = self._fields["width"].control
        assert isinstance(width, QComboBox)
        width.editTextChanged.connect(self._on_width)

    @Slot(str)
    def _on_width(self, text: str) -> None:
        self._widths[self.export.words[0]] = text

    @Slot()
    def _on_what(self) -> None:
        """Offer the formats of the row, and first the last one that was saved of it."""
        chosen = self._formats.get(self.export.id, str(self._format.currentData()))
        self._format.blockSignals(True)
        self._format.clear()
        for row in self.export.formats:
            self._format.addItem(_(row.title), row.id)
        self._format.setCurrentIndex(max(0, self._format.findData(self.export.format(chosen).id)))
        self._format.blockSignals(False)
        self._select("width", self._widths.get(self.export.words[0], ""))
        self._on_place("")

    @Slot()
    def _on_format(self) -> None:
        self._show_offered()
        self._on_change()

    def _on_place(self, decided: str, *_value: object) -> None:
        """Offer the values beside what was decided; a chosen value stays where it still exists."""
        for row in CHOICES:
            control = self._fields[row.name].control
            if row.name == decided:
                continue
            if isinstance(control, QComboBox):
                self._offer_values(row, control, is_kept=row.name != "spacing")
            elif isinstance(control, QLineEdit) and (decided == "over" or not control.text()):
                control.blockSignals(True)
                control.setText(row.present(self._source, self._at()))
                control.blockSignals(False)
        self._show_offered()
        self._on_change()

    def _offer_values(self, row: ChoiceRow, control: QComboBox, is_kept: bool) -> None:
        """Fill a list with the values that it has now."""
        at = self._at()
        items = row.items(self._source, at)
        kept = str(control.currentData() or "") if is_kept else ""
        control.blockSignals(True)
        control.clear()
        for value, label in items:
            control.addItem(label, value)
        control.setCurrentIndex(max(0, control.findData(row.value(self._source, at, kept))))
        control.setEnabled(len(items) > 1)
        control.blockSignals(False)

    def _at(self) -> At:
        """The place for which values are offered, as far as it is known."""
        view, trace = self._source.document.view, self._source.trace
        name, stage, picture = (self._value(one) for one in ("site", "stage", "picture"))
        site = trace.shown(name if name not in ("", ALL_SITES) else view.site)
        wanted, export = stage or view.stage, self.export.id
        known = wanted if wanted in site.stages else site.stages[-1]
        return At(picture or "stage" if export == "sequence" else export, site, known, self._value("over"))

    def _show_offered(self) -> None:
        offered, count = self._offered(), 0
        dpi = self._fields["dpi"].control
        if isinstance(dpi, QLineEdit):
            dpi.setPlaceholderText(str(MOVING_DPI if self._value("format") in MOVING else DPI))
        for name, one in self._fields.items():
            is_offered = name in offered
            if not isinstance(one.control, QCheckBox):
                self._form.setRowVisible(one.control, is_offered)
                self._form.setRowVisible(one.error, is_offered and bool(one.error.text()))
                continue
            self._checks.removeWidget(one.control)
            one.control.setVisible(is_offered)
            if is_offered:
                self._checks.addWidget(one.control, count // 2, count % 2)
                count += 1

    # --- the file

    @Slot()
    def _on_change(self) -> None:
        self._shown, self.path, self._is_saving = None, None, False
        self._say_errors({})
        self._later.start()

    @Slot()
    def _draw(self) -> None:
        """Make the file: in the worker, or here where it is painted by the window."""
        self._later.stop()
        row, choice, source = self.export, self.choice, self._source
        is_named = self.path is not None
        look, index = None if is_named else row.look, self._preview.index

        def job(token: CancelToken) -> tuple[Export, Choice, Made]:
            self._token = token
            if look is not None:
                return row, choice, look(source, choice, token.progress, index)
            return row, choice, row.make(source, choice, token.progress)

        self._bar.setRange(0, 0)
        self._bar.show()
        self._poll.start()
        if row.in_window:
            self._make_here(row, choice)
        else:
            key = SAVING_KEY if is_named else KEY
            self._scheduler.submit(job, self._on_made, self._on_failed, key=key)

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
        if self._is_saving:
            self._go_on()
        else:
            self._preview.show_file(made.shown)
            self._say("\n".join([_size(made), *(said.text() for said in made.said)]), active_theme().muted)

    @Slot(int)
    def _on_missing(self, index: int) -> None:
        """Draw a picture of the preview that it turns to."""
        leaves = None if self._shown is None else self._shown[2].shown
        if self._is_saving or not isinstance(leaves, Leaves):
            return

        def job(token: CancelToken) -> bytes:
            return leaves.draw(index, token.progress)

        def done(picture: bytes) -> None:
            leaves.drawn[index] = picture
            self._preview.arrive(leaves, index)

        self._scheduler.submit(job, done, self._on_failed, key=KEY)

    def _on_failed(self, error: BaseException) -> None:
        self._rest()
        self.path, self._is_saving = None, False
        if isinstance(error, Cancelled):
            return
        self._preview.clear()
        if isinstance(error, FieldError) and error.path in self._offered():
            self._say_errors({error.path: in_words(error)})
        else:
            self._say(in_words(failure_message(error)), active_theme().error)
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
            if not isinstance(one.control, QCheckBox):
                self._form.setRowVisible(one.error, name in errors)

    # --- acting

    @Slot()
    def _on_save(self) -> None:
        """Save the file as it is shown, or as soon as it can be shown."""
        if self.path is not None:
            return  # it is being made
        self._is_saving = True
        self._preview.pause()
        if self._shown is not None:
            self._go_on()
        elif not self._bar.isVisible():
            self._draw()

    def _go_on(self) -> None:
        """Ask for a name before a file that takes long is made; without one the dialog stays as it is."""
        assert self._shown is not None
        row, choice, made = self._shown
        if self.path is None:
            self.path = self._ask(self, row.format(choice.format), file_name(self._source, row, choice))
        if self.path is None:
            self._is_saving = False
        elif made.files:
            self.made = made
            self.accept()
        else:
            self._draw()

    @Slot()
    def _on_copy(self) -> None:
        """Copy the picture or the text that is shown."""
        if self._shown is None:
            return
        made = self._shown[2]
        if isinstance(made.shown, str):
            QGuiApplication.clipboard().setText(made.copied or made.shown)
        else:
            QGuiApplication.clipboard().setImage(QImage.fromData(self._preview.picture))
        self._note.setText(_("Copied."))

    @Slot()
    def _on_copy_shell(self) -> None:
        """Copy the command that makes the file."""
        row, choice, source = self.export, self.choice, self._source

        def job(token: CancelToken) -> Command:
            return command_of(source, row, choice)

        self._scheduler.submit(job, self._on_command, self._on_no_command, key="copy")

    def _on_command(self, command: Command) -> None:
        QGuiApplication.clipboard().setText(command.text)
        self._say(command.said, active_theme().muted)

    def _on_no_command(self, error: BaseException) -> None:
        self._say(in_words(failure_message(error)), active_theme().error)
        if not is_expected(error):
            raise error

    def _say(self, sentence: str, color: str) -> None:
        if self._is_done:
            return  # a command that is copied after the dialog is closed has no line to say so
        self._note.setText(sentence)
        _ink(self._note, color)

    def done(self, result: int) -> None:
        """Close; a file still in progress is dropped, and the settings are remembered."""
        self._is_done = True
        self._later.stop()
        self._poll.stop()
        for key in (KEY, SAVING_KEY):
            self._scheduler.submit(lambda token: None, lambda nothing: None, _ignore, key=key)
        if result == QDialog.DialogCode.Accepted:
            self._remember()
        super().done(result)

    def _remember(self) -> None:
        kept = (*(row.field for row in OPTIONS if row.field != "width"), *REMEMBERED)
        texts = {name: self._value(name) for name in kept}
        formats = {**self._formats, self.export.id: self._value("format")}
        self._settings.set_export(json.dumps({**texts, "formats": formats, "widths": self._widths}))

    def _restore(self) -> None:
        """The last settings; what is not understood is left at its default."""
        for option in OPTIONS:
            default = option.default
            if option.control == "switch":
                self._select(option.field, "on" if default else "off")
            elif option.control == "choice":
                self._select(option.field, self._source.theme if option.field == "theme" else str(default))
        try:
            found = json.loads(self._settings.export() or "{}")
        except ValueError:
            return
        if not isinstance(found, dict):
            return
        for name, value in _texts(found).items():
            if name in self._fields and (name not in CHOICE_BY_NAME or name in REMEMBERED):
                self._select(name, value)
        self._formats, self._widths = _texts(found.get("formats")), _texts(found.get("widths"))


def _size(made: Made) -> str:
    """The size of a file, or the number of pictures of one that is not made yet."""
    if not made.files:
        assert isinstance(made.shown, Leaves)
        return _("{n} pictures").format(n=made.shown.count)
    count = f"{sum(map(len, made.files)):,}"
    several = _("{n} files, {count} bytes").format(n=len(made.files), count=count)
    return several if len(made.files) > 1 else _("{count} bytes").format(count=count)


def _texts(found: object) -> dict[str, str]:
    """The texts of a record that was read from the settings."""
    return {n: v for n, v in found.items() if isinstance(v, str)} if isinstance(found, dict) else {}


def _chooser(row: ChoiceRow) -> QWidget:
    """The control of an option that is chosen of the state."""
    if row.control == "switch":
        return QCheckBox()
    if row.control == "choice":
        return _combo(row.name, "")
    line = _line(row.name)
    line.setPlaceholderText(_(row.hint) if row.hint else "")
    return line


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
        line.setPlaceholderText(str(row.default or _("automatic")))
        return line
    combo = _combo(row.field, "")
    combo.setEditable(True)
    combo.setLineEdit(LineEdit())
    combo.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # a click begins to type, as in any line
    combo.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
    for width in WIDTHS:
        combo.addItem(width.text)
        combo.setItemData(combo.count() - 1, _(width.title), Qt.ItemDataRole.ToolTipRole)
    combo.setEditText("")
    edit = combo.lineEdit()
    assert edit is not None
    edit.setPlaceholderText(_("automatic"))
    return combo


def _combo(name: str, title: str) -> QComboBox:
    combo = DropDown()
    combo.setObjectName(f"export_{name}_box")
    combo.setAccessibleName(title)
    combo.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
    combo.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    combo.setMinimumContentsLength(8)
    return combo


def _line(name: str) -> QLineEdit:
    line = LineEdit()
    line.setObjectName(f"export_{name}_box")
    return line


def _ink(label: QLabel, color: str) -> None:
    palette = label.palette()
    palette.setColor(QPalette.ColorRole.WindowText, QColor(color))
    label.setPalette(palette)


def _ignore(error: BaseException) -> None:
    """Ignore the error of a replaced preview."""
