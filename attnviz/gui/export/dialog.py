"""The export dialog: what is exported and its options at the left, the file as it will be at the right."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtGui import QGuiApplication, QImage, QStandardItemModel
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from attnviz.compute.scheduler import Cancelled, CancelToken
from attnviz.errors import FieldError
from attnviz.figures.options import OPTIONS
from attnviz.figures.sequences.outputs import MOVING_DPI
from attnviz.figures.style import DPI
from attnviz.figures.subject import ALL_SITES
from attnviz.gui.dialogs.dialog import Dialog, column_of
from attnviz.gui.export.choices import CHOICE_BY_NAME, CHOICES, At
from attnviz.gui.export.form import ExportForm, ink
from attnviz.gui.export.kinds.sequence import MOVING
from attnviz.gui.export.names import file_name
from attnviz.gui.export.preview import Preview
from attnviz.gui.export.shell import Command, command_of
from attnviz.gui.export.source import Choice, Leaves, Made, Source
from attnviz.gui.export.table import EXPORT_BY_ID, EXPORTS, PIXELS, Export, FileKind
from attnviz.gui.failure import failure_message, is_expected
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.services.services import Services
from attnviz.gui.widgets.control import active_theme
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
_POLL_MS, _PARTS = 80, 1000


Ask = Callable[[QWidget, FileKind, str], Path | None]
"""Asks for a file of a kind, whose proposed name is a text; None: not now."""


class ExportDialog(Dialog):
    """Makes a file of a state. Once it is accepted, `made` is the file and `path` where it goes."""

    made: Made | None = None
    path: Path | None = None

    def __init__(
        self,
        window: QWidget,
        services: Services,
        source: Source,
        ask: Ask,
        proposed: str,
        options: Mapping[str, str],
    ) -> None:
        super().__init__(window, services, "export_dialog", N_("Export"))
        self.resize(WIDTH, min(HEIGHT, window.screen().availableGeometry().height() - ROUND))
        self._source, self._ask = source, ask
        self._scheduler, self._settings = services.schedulers.run, services.settings
        self._is_done = False
        self._shown: tuple[Export, Choice, Made] | None = None
        self._is_saving = False
        self._token: CancelToken | None = None
        self._formats: dict[str, str] = {}
        """The last format of each row."""
        self._widths: dict[str, str] = {}
        """The last width of each command: a film has not that of a column of a paper."""
        self._form = ExportForm(self)
        self._what, self._format = self._form.what, self._form.format
        self._preview = Preview()
        self._note, self._bar = QLabel(), QProgressBar()
        self._later, self._poll = QTimer(self), QTimer(self)
        self._lay_out()
        self._offer(proposed)
        self._restore()
        self._connect()
        self._on_what()
        for name in sorted(options, key=list(CHOICE_BY_NAME).index):
            self._form.fields[name].select(options[name])
        self._form.order_tabs()

    # --- what was chosen

    @property
    def export(self) -> Export:
        """The chosen row."""
        return EXPORT_BY_ID[self._what.currentData()]

    @property
    def choice(self) -> Choice:
        """The chosen format and options, as texts."""
        names = [name for name in self._form.fields if name in self._offered()]
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
        return self._form.value(name)

    # --- appearance

    def _lay_out(self) -> None:
        scroll = QScrollArea()
        scroll.setWidget(self._form)
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
        self._form.changed.connect(self._on_option)

    @Slot(str)
    def _on_option(self, name: str) -> None:
        if name == "width":
            self._widths[self.export.words[0]] = self._value("width")
        row = CHOICE_BY_NAME.get(name)
        if row is not None and row.decides:
            self._on_place(name)
        else:
            self._on_change()

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
        self._form.fields["width"].select(self._widths.get(self.export.words[0], ""))
        self._on_place("")

    @Slot()
    def _on_format(self) -> None:
        self._show_offered()
        self._on_change()

    def _on_place(self, decided: str) -> None:
        """Offer the values beside what was decided; a chosen value stays where it still exists."""
        for row in CHOICES:
            if row.name != decided:
                self._form.fields[row.name].offer(row, self._source, self._at(), decided)
        self._show_offered()
        self._on_change()

    def _at(self) -> At:
        """The place for which values are offered, as far as it is known."""
        view, trace = self._source.document.view, self._source.trace
        name, stage, picture = (self._value(one) for one in ("site", "stage", "picture"))
        site = trace.shown(name if name not in ("", ALL_SITES) else view.site)
        wanted, export = stage or view.stage, self.export.id
        known = wanted if wanted in site.stages else site.stages[-1]
        return At(picture or "stage" if export == "sequence" else export, site, known, self._value("over"))

    def _show_offered(self) -> None:
        dpi = MOVING_DPI if self._value("format") in MOVING else DPI
        self._form.fields["dpi"].hint(str(dpi))
        self._form.show_offered(self._offered())

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
        self._form.mark(errors)

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
        ink(self._note, color)

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
        fields = self._form.fields
        for option in OPTIONS:
            default = option.default
            if option.control == "switch":
                fields[option.field].select("on" if default else "off")
            elif option.control == "choice":
                fields[option.field].select(self._source.theme if option.field == "theme" else str(default))
        try:
            found = json.loads(self._settings.export() or "{}")
        except ValueError:
            return
        if not isinstance(found, dict):
            return
        for name, value in _texts(found).items():
            if name in fields and (name not in CHOICE_BY_NAME or name in REMEMBERED):
                fields[name].select(value)
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


def _ignore(error: BaseException) -> None:
    """Ignore the error of a replaced preview."""
