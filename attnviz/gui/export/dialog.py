"""The export dialog: the kinds at the left, then the file as it will be, and its options at the right."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtGui import QGuiApplication, QImage, QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QLabel,
    QListWidgetItem,
    QProgressBar,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from attnviz.compute.scheduler import Cancelled, CancelToken
from attnviz.errors import FieldError
from attnviz.figures.options import OPTIONS
from attnviz.figures.sequences.outputs import MOVING_DPI
from attnviz.figures.style import DPI, Style, length
from attnviz.figures.subject import ALL_SITES
from attnviz.gui.dialogs.dialog import Dialog, column_of
from attnviz.gui.export.choices import CHOICE_BY_NAME, CHOICES, At
from attnviz.gui.export.form import ExportForm, ink
from attnviz.gui.export.kind_list import KindList
from attnviz.gui.export.kinds.sequence import MOVING
from attnviz.gui.export.memory import Memory
from attnviz.gui.export.names import file_name
from attnviz.gui.export.preview import Preview
from attnviz.gui.export.remarks import Remarks
from attnviz.gui.export.shell import Command, command_of
from attnviz.gui.export.source import Choice, Leaves, Made, Source
from attnviz.gui.export.table import EXPORT_BY_ID, PIXELS, Export
from attnviz.gui.failure import failure_message, is_expected
from attnviz.gui.look.theme import GRID
from attnviz.gui.services.services import Services
from attnviz.gui.widgets.control import active_theme
from attnviz.gui.widgets.file_to_write import may_replace
from attnviz.i18n import N_, _
from attnviz.model.errors.titles import in_words

WIDTH, HEIGHT, ROUND = 1160, 720, 60
"""Size of the dialog, and the room that a screen keeps around it."""
FORM_WIDTH = 290
WAIT_MS = 180
"""Time without a change before the preview is drawn."""
KEY, SAVING_KEY = "preview", "export"
"""Of a drawing to be seen, and of the file to be saved."""
REMEMBERED = (*(row.field for row in OPTIONS), "fps", "digits", "slides")
"""Options that the next export of a kind begins with."""
_POLL_MS, _PARTS = 80, 1000


Ask = Callable[[QWidget, Export, str, str], Path | None]
"""Asks for a file of a row, whose format has an id and whose proposed name is a text; None: not now."""


class ExportDialog(Dialog):
    """Makes a file of a state. Once it is accepted, `made` is the file and `path` where it goes.

    `format_by_name` is the title of a format that the name has chosen, in place of the chosen one.
    """

    made: Made | None = None
    path: Path | None = None
    format_by_name = ""

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
        screen = window.screen().availableGeometry()
        self.resize(min(WIDTH, screen.width() - ROUND), min(HEIGHT, screen.height() - ROUND))
        self._source, self._ask = source, ask
        self._scheduler, self._settings = services.schedulers.run, services.settings
        self._is_done = False
        self._shown: tuple[Export, Choice, Made] | None = None
        self._is_saving = False
        self._token: CancelToken | None = None
        self._memory = Memory.read(self._settings.export())
        self._usual: dict[str, str] = {}
        """The options of a kind that was never exported."""
        self._kinds, self._form = KindList(source, self), ExportForm(self)
        self._format = self._form.format
        self._preview, self._remarks = Preview(), Remarks()
        self._note, self._bar = QLabel(), QProgressBar()
        self._later, self._poll = QTimer(self), QTimer(self)
        self._lay_out()
        self._kinds.choose(proposed)
        self._begin()
        self._connect()
        self._show_kind()
        for name in sorted(options, key=list(CHOICE_BY_NAME).index):
            self._form.fields[name].select(options[name])
        self._form.order_tabs()
        QWidget.setTabOrder(self._kinds, self._format)
        self._kinds.setFocus(Qt.FocusReason.TabFocusReason)

    # --- what was chosen

    @property
    def export(self) -> Export:
        """The chosen row."""
        return self._kinds.chosen

    @property
    def choice(self) -> Choice:
        """The chosen format and options, as texts."""
        names = [name for name in self._form.fields if name in self._offered()]
        texts = tuple((name, self._value(name)) for name in names)
        return Choice(str(self._format.currentData()), (*self.export.fixed, *texts))

    def _offered(self) -> tuple[str, ...]:
        """Names of the options of the chosen row and format."""
        idle = self.export.idle(self._value)
        idle |= set() if self._format.currentData() in PIXELS else {"dpi"}
        idle |= set() if len(self._source.trace.sites) > 1 else {"site"}
        idle |= set() if self._source.document.caption else {"caption"}
        return tuple(name for name in self.export.options if name not in idle)

    def _value(self, name: str) -> str:
        """The text of an option, or of the format."""
        return dict(self.export.fixed).get(name) or self._form.value(name)

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
        row.addWidget(self._kinds)
        row.addLayout(self._preview_side(), 1)
        row.addWidget(scroll)
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
        column.addWidget(self._remarks)
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
        self._save.setShortcut(QKeySequence.StandardKey.Save)
        for button in (self._copy, self._copy_shell):
            button.setAutoDefault(False)
        self._save.setDefault(True)
        self._copy.clicked.connect(self._on_copy)
        self._copy_shell.clicked.connect(self._on_copy_shell)
        self._save.clicked.connect(self._on_save)
        buttons.rejected.connect(self.reject)
        return buttons

    # --- offers

    def _connect(self) -> None:
        self._later.setSingleShot(True)
        self._later.setInterval(WAIT_MS)
        self._later.timeout.connect(self._draw)
        self._poll.setInterval(_POLL_MS)
        self._poll.timeout.connect(self._show_share)
        self._preview.missing.connect(self._on_missing)
        self._kinds.currentItemChanged.connect(self._on_kind)
        self._remarks.copied.connect(self._on_copy_caption)
        self._format.currentIndexChanged.connect(self._on_format)
        self._form.changed.connect(self._on_option)

    @Slot(str)
    def _on_option(self, name: str) -> None:
        if name == "width":
            self._follow_width()
        row = CHOICE_BY_NAME.get(name)
        if row is not None and row.decides:
            self._on_place(name)
        else:
            self._on_change()

    @Slot(QListWidgetItem, QListWidgetItem)
    def _on_kind(self, _item: QListWidgetItem, before: QListWidgetItem | None) -> None:
        """Leave the options of the kind before as they are, and take those of the new one."""
        if before is not None:
            self._keep(KindList.id_of(before))
        self._show_kind()

    def _show_kind(self) -> None:
        """Offer the formats of the row, and first the remembered one, with the remembered options."""
        row, own = self.export, self._memory.options_of(self.export)
        chosen = self._memory.format_of(row, str(self._format.currentData()))
        self._format.blockSignals(True)
        self._format.clear()
        for one in row.formats:
            self._format.addItem(_(one.title), one.id)
        self._format.setCurrentIndex(max(0, self._format.findData(row.format(chosen).id)))
        self._format.blockSignals(False)
        for name, usual in self._usual.items():
            self._form.fields[name].select(own.get(name, usual))
        self._follow_width()
        self._on_place("")

    def _keep(self, id_: str) -> None:
        """Remember the present options as those of a row."""
        texts = {name: self._value(name) for name in ("format", *REMEMBERED)}
        self._memory.keep(EXPORT_BY_ID[id_], texts)

    def _follow_width(self) -> None:
        """Show the parts that a figure of this width has; a text that is no width has its error elsewhere."""
        text = self._value("width")
        with suppress(ValueError):
            self._form.follow(Style(width=length(text) if text else None))

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
        return At(
            picture or "stage" if "picture" in self.export.options else export,
            site,
            known,
            self._value("over"),
        )

    def _show_offered(self) -> None:
        dpi = MOVING_DPI if self._value("format") in MOVING else DPI
        self._form.fields["dpi"].hint(str(dpi))
        title = self.export.format(self._value("format")).of_file
        self._save.setText(_("Save as {format}…").format(format=_(title)))
        self._form.show_offered(self._offered())

    # --- the file

    @Slot()
    def _on_change(self) -> None:
        self._shown, self.path, self._is_saving = None, None, False
        self._say_errors({})
        self._remarks.show_made(None)
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
            self._remarks.show_made(made)
            self._form.show_offered(self._offered())
            self._form.tell_room([said.text() for said in made.said], "sums")
            self._say(_size(made), active_theme().muted)

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
        """Ask for a name first, then make the file; without a name the dialog stays as it is."""
        if self.path is not None:
            return  # it is being made
        row, choice = self.export, self.choice
        self._preview.pause()
        path = self._ask(self, row, choice.format, self._memory.start(file_name(self._source, row, choice)))
        if path is None:
            return
        self._memory.folder = str(path.absolute().parent)
        by_name = row.format_of(path, choice.format)
        is_other = by_name is not row.format(choice.format)
        self.format_by_name = _(by_name.title) if is_other else ""
        self._format.setCurrentIndex(self._format.findData(by_name.id))
        self.path, self._is_saving = path, True
        if self._shown is not None:
            self._go_on()
        elif not self._bar.isVisible():
            self._draw()

    def _go_on(self) -> None:
        """Close with the file, or make it where only its preview is."""
        assert self._shown is not None and self.path is not None
        made = self._shown[2]
        if not made.files:
            self._draw()
        elif made.beside and not may_replace(self, _("Export"), self.path.with_suffix(made.beside)):
            self.path, self._is_saving = None, False
            self._on_made(self._shown)
        else:
            self.made = made
            self.accept()

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

    @Slot(str)
    def _on_copy_caption(self, text: str) -> None:
        QGuiApplication.clipboard().setText(text)
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
        self._keep(self.export.id)
        self._memory.use(self.export.id, self._value("format"))
        self._settings.set_export(self._memory.text)

    def _begin(self) -> None:
        """The options of a kind that was never exported."""
        self._usual = dict.fromkeys(REMEMBERED, "") | {"theme": Style().theme, "slides": "off"}
        for option in OPTIONS:
            if option.control == "switch" and not option.is_by_width:
                self._usual[option.field] = "on" if option.default else "off"


def _size(made: Made) -> str:
    """The size of a file, or the number of pictures of one that is not made yet."""
    if not made.files:
        assert isinstance(made.shown, Leaves)
        return _("{n} pictures").format(n=made.shown.count)
    count = f"{sum(map(len, made.files)):,}"
    several = _("{n} files, {count} bytes").format(n=len(made.files), count=count)
    return several if len(made.files) > 1 else _("{count} bytes").format(count=count)


def _ignore(error: BaseException) -> None:
    """Ignore the error of a replaced preview."""
