"""The import dialog: a checkpoint and its input; the worker imports while the dialog is open."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QKeyEvent, QPalette
from PySide6.QtWidgets import (
    QDialogButtonBox,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QWidget,
)

from attnviz.checkpoints.halves import Part
from attnviz.checkpoints.hub import download, is_missing
from attnviz.checkpoints.importing import Described, describe, head_words, import_checkpoint
from attnviz.checkpoints.signals.reading import read_array
from attnviz.checkpoints.signals.signal import SignalKind
from attnviz.checkpoints.tokenizers.chat import turns
from attnviz.compute.scheduler import CancelToken
from attnviz.gui.dialogs.dialog import Dialog, column_of, line_with_buttons
from attnviz.gui.dialogs.unknown_keys import UnknownKeys
from attnviz.gui.failure import failure_message, is_expected
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import says
from attnviz.gui.services.services import Services
from attnviz.gui.widgets.control import active_theme
from attnviz.gui.widgets.local_files import TextBox
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.toggle import Toggle
from attnviz.gui.widgets.window_keys import PathLine
from attnviz.i18n import N_, _, ngettext
from attnviz.model.spec.document import Document
from attnviz.model.text import load_tokenizer

WIDTH = 520
TEXT_LINES = 4
FOUND_WIDTH, FOUND_LINES = 346, 2
"""Least width of the sentence on the model, and the lines that are kept free for it."""
KEY = "import"
"""The dialog's jobs in the worker: a newer one replaces an older one."""

_IDS = re.compile(r"\s*\d{1,9}(?:[\s,]+\d{1,9})*[\s,]*")


@dataclass(frozen=True)
class Reading:
    """Input of a model: a text, ids of tokens, or a message of a user."""

    text: str | None = None
    ids: tuple[int, ...] | None = None
    chat: str | None = None


NO_TEXT = Reading()

ARRAY = ".npy"


@dataclass(frozen=True)
class SignalInput:
    """The files of a kind of input: their patterns, a phrase for them, and the text that they replace."""

    patterns: tuple[str, ...]
    files: str
    replaced: str


_SIGNALS: dict[SignalKind, SignalInput] = {
    "image": SignalInput(
        ("*.png", "*.jpg", "*.jpeg", "*.webp", "*.bmp", f"*{ARRAY}"),
        N_("An image, or a .npy file of features"),
        "text",
    ),
    "sound": SignalInput((f"*{ARRAY}",), N_("A .npy file of features"), "memory"),
}


class InputText(TextBox):
    """A text of several lines: Enter presses the dialog's button, and Shift with Enter starts a line."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        is_enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if is_enter and not event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            event.ignore()
        else:
            super().keyPressEvent(event)


class ImportDialog(Dialog):
    """A folder, its contents, and a text or token ids. Import stays disabled until all inputs are present."""

    document: Document | None = None
    """The imported document."""

    def __init__(self, window: QWidget, services: Services, folder: str = "") -> None:
        super().__init__(window, services, "import_dialog", N_("Import a trained model"))
        self.setMinimumWidth(WIDTH)
        self._scheduler = services.schedulers.run
        self._described: Described | None = None
        self._looked_at: tuple[str, bool, Part] | None = None
        path = N_("Folder, .gguf file or owner/model")
        self._folder = says(PathLine(folder), id="import_folder", name=N_("Model"), placeholder=path)
        tip = N_("Download this model from the hub into its cache")
        self._download = says(QPushButton(), N_("Download"), id="import_download_button", tip=tip)
        self._found = says(QLabel(), id="import_found", name=N_("Detected model"))
        self._unknown = says(UnknownKeys(), id="import_unknown", name=N_("Unknown keys"))
        self._kind = says(
            Segmented((), "text"),
            id="import_kind",
            name=N_("Input text"),
            options=(
                ("text", N_("Text"), N_("The model's tokenizer splits the text into tokens")),
                ("chat", N_("Chat"), N_("The model's chat template wraps the text as a user message")),
                ("ids", N_("Token ids"), N_("Whole numbers, separated by commas or spaces")),
            ),
        )
        self._part = says(
            Segmented((), "text"),
            id="import_part",
            name=N_("Encoder"),
            options=(
                ("text", N_("Text"), N_("Imports the text encoder")),
                ("image", N_("Image"), N_("Imports the image encoder")),
            ),
        )
        tip = N_("Enter imports; Shift+Enter starts a line")
        self._text = says(InputText(), id="import_text", tip=tip)
        self._text.setAccessibleName(self._text_title())
        self._memory = says(InputText(), id="import_memory", name=N_("Encoder text"), tip=tip)
        self._text_label = QLabel()
        self._signal = says(PathLine(), id="import_signal", name=N_("Input file"))
        tip = N_("Choose the image, or the .npy file of features")
        self._signal_button = says(QPushButton(), N_("Choose…"), id="import_signal_button", tip=tip)
        self._form, self._file = QFormLayout(), QHBoxLayout()
        self._alone = says(
            Toggle(""),
            N_("First attention only"),
            id="import_alone",
            tip=N_("Imports the attention of the first layer, without the layers after it"),
        )
        self._shape_parts()
        self._lay_out()
        self._folder.editingFinished.connect(self._look)
        self._alone.changed.connect(self._look)
        self._part.changed.connect(self._look)
        self._kind.changed.connect(self._refresh)
        self._text.textChanged.connect(self._refresh)
        self._memory.textChanged.connect(self._refresh)
        self._signal.textChanged.connect(self._refresh)
        self._unknown.changed.connect(self._refresh)
        if folder:
            self._text.setFocus()
        self._look()

    @property
    def folder(self) -> str:
        """The entered folder."""
        return self._folder.text().strip()

    def done(self, result: int) -> None:
        """Close; the dialog's job in the worker is dropped."""
        self._scheduler.submit(_nothing, _forget, _forget, key=KEY)
        super().done(result)

    # --- appearance

    def _shape_parts(self) -> None:
        self._found.setTextFormat(Qt.TextFormat.PlainText)
        self._found.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._found.setWordWrap(True)
        # Without a width, the hint of a wrapped label is that of a narrow column, and changes with the text.
        self._found.setMinimumWidth(FOUND_WIDTH)
        self._found.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        for box in (self._text, self._memory):
            box.setTabChangesFocus(True)
            box.setFixedHeight(TEXT_LINES * self.fontMetrics().lineSpacing() + 2 * GRID)

    def _lay_out(self) -> None:
        row = line_with_buttons(
            self._folder,
            (
                "import_choose_button",
                N_("Folder…"),
                N_("Choose a folder saved by transformers"),
                self._choose,
            ),
            ("import_file_button", N_("File…"), N_("Choose a GGUF file"), self._choose_file),
        )
        self._download.setAutoDefault(False)
        self._download.clicked.connect(self._get)
        self._download.hide()
        self._signal_button.setAutoDefault(False)
        self._signal_button.clicked.connect(self._choose_signal)
        self._file.addWidget(self._signal, 1)
        self._file.addWidget(self._signal_button)
        form = self._form
        form.setHorizontalSpacing(2 * GRID)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        form.addRow(_("Model"), row)
        form.addRow("", self._found)
        form.addRow("", self._download)
        form.addRow(_("Unknown keys"), self._unknown)
        form.addRow(_("Encoder"), self._part)
        form.setRowVisible(self._part, False)
        form.addRow(_("Input format"), self._kind)
        self._text_label.setBuddy(self._text)
        form.addRow(self._text_label, self._text)
        form.addRow(_("Encoder text"), self._memory)
        form.addRow(_("Input file"), self._file)
        form.addRow("", self._alone)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self._import = buttons.addButton(_("Import"), QDialogButtonBox.ButtonRole.ActionRole)
        self._import.setObjectName("import_button")
        self._import.setDefault(True)
        self._import.clicked.connect(self._start)
        buttons.rejected.connect(self.reject)
        column = column_of(self)
        column.addLayout(form)
        column.addStretch(1)
        column.addWidget(buttons)
        self._found.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.MinimumExpanding)

    def _say(self, sentence: str, is_wrong: bool = False) -> None:
        theme, palette = active_theme(), self._found.palette()
        palette.setColor(QPalette.ColorRole.WindowText, theme.error if is_wrong else theme.muted)
        self._found.setPalette(palette)
        self._found.setText(sentence)
        self._found.setMinimumHeight(0)  # of the sentence before
        height = self._found.heightForWidth(FOUND_WIDTH)
        self._found.setMinimumHeight(max(height, FOUND_LINES * self.fontMetrics().lineSpacing()))

    # --- choice

    @Slot()
    def _choose(self) -> None:
        name = QFileDialog.getExistingDirectory(self, _("Checkpoint folder"), self._folder.text())
        if name:
            self._folder.setText(name)
            self._look()

    @Slot()
    def _choose_file(self) -> None:
        name, _kind = QFileDialog.getOpenFileName(
            self,
            _("Checkpoint file"),
            self._folder.text(),
            _("GGUF files ({patterns})").format(patterns="*.gguf"),
        )
        if name:
            self._folder.setText(name)
            self._look()

    @Slot()
    def _choose_signal(self) -> None:
        kind = None if self._described is None else self._described.signal
        patterns = " ".join(_SIGNALS[kind].patterns) if kind is not None else "*"
        name, _kind = QFileDialog.getOpenFileName(
            self,
            _("Input file"),
            self._signal.text(),
            _("Inputs of the model ({patterns})").format(patterns=patterns),
        )
        if name:
            self._signal.setText(name)

    @Slot()
    def _get(self) -> None:
        """Download the model of this name; nothing is downloaded without this button."""
        name = self.folder

        def job(token: CancelToken) -> Path:
            return download(name)

        self._download.hide()
        self._say(_("Downloading…"))
        self._scheduler.submit(job, self._on_downloaded, self._on_failed, key=KEY)

    def _on_downloaded(self, folder: Path) -> None:
        self._looked_at = None
        self._look()

    @Slot()
    def _look(self) -> None:
        """Read the contents of the folder or the file."""
        folder, alone, part = self.folder, self._alone.value(), self._chosen_part()
        if self._looked_at == (folder, alone, part):
            return
        self._looked_at, self._described = (folder, alone, part), None
        self._refresh()
        if not folder:
            self._say(_("Choose a folder saved by transformers, or a GGUF file."))
            return
        self._download.setVisible(is_missing(folder))

        def job(token: CancelToken) -> Described:
            return describe(folder, alone, part=part)

        self._say(_("Reading…"))
        self._scheduler.submit(job, self._on_described, self._on_failed, key=KEY)

    def _chosen_part(self) -> Part:
        return "image" if self._part.value() == "image" else "text"

    def _on_described(self, described: Described) -> None:
        self._described = described
        layers = str(described.n_layers)
        if described.n_encoder_layers:
            layers = f"{described.n_encoder_layers} + {described.n_layers}"
        text = ngettext(
            "{family}: {layers} layer, {count} weights",
            "{family}: {layers} layers, {count} weights",
            described.n_layers + described.n_encoder_layers,
        )
        sentence = text.format(family=described.family, layers=layers, count=f"{described.n_weights:,}")
        self._say("\n".join((sentence, *head_words(described))))
        reason = None if described.reads_text else _("A text needs a tokenizer and the package tokenizers")
        self._unknown.set_keys(described.unknown)
        self._kind.set_option_unavailable("text", reason)
        if reason is not None:
            self._kind.set_value("ids")
        self._kind.set_option_unavailable(
            "chat", None if described.reads_chat else _("A chat needs a chat template and the package jinja2")
        )
        if self._kind.value() == "chat" and not described.reads_chat:
            self._kind.set_value("text" if reason is None else "ids")
        self._refresh()

    @Slot()
    def _refresh(self) -> None:
        """Show the inputs that this model needs, and enable the import when all are present."""
        needs, described = self._needs(), self._described
        if described is not None:  # it stays while another part is read
            self._form.setRowVisible(self._part, bool(described.parts))
            self._signal.setPlaceholderText(_(_SIGNALS[described.signal].files) if described.signal else "")
        self._form.setRowVisible(self._kind, bool(needs & {"text", "memory"}))
        self._form.setRowVisible(self._text, "text" in needs)
        self._text_label.setText(self._text_title())
        self._text.setAccessibleName(self._text_title())
        self._form.setRowVisible(self._memory, "memory" in needs)
        self._form.setRowVisible(self._file, "signal" in needs)
        given = self._given()
        self._form.setRowVisible(self._unknown, described is not None and bool(described.unknown))
        self._import.setEnabled(
            described is not None and self._unknown.is_complete() and all(name in given for name in needs)
        )

    def _text_title(self) -> str:
        """The title of the text that the model itself reads; beside an encoder, that is the decoder."""
        described = self._described
        has_encoder = described is not None and described.n_encoder_layers > 0
        return _("Decoder text") if has_encoder else _("Text")

    def _needs(self) -> frozenset[str]:
        """The inputs that this model reads: a text, one of its encoder, and a file."""
        described = self._described
        if described is None:
            return frozenset({"text"})
        texts = {"text", "memory"} if described.n_encoder_layers else {"text"}
        if described.signal is None:
            return frozenset(texts)
        return frozenset((texts | {"signal"}) - {_SIGNALS[described.signal].replaced})

    def _given(self) -> dict[str, Any]:
        """The inputs that are present."""
        given = {
            "text": self._reading(self._text),
            "memory": self._reading(self._memory),
            "signal": self._signal.text().strip(),
        }
        return {name: value for name, value in given.items() if value}

    def _reading(self, box: InputText) -> Reading | None:
        """Content of a box; None if it is empty or no list of ids."""
        text, kind = box.toPlainText(), self._kind.value()
        if kind != "ids":
            is_chat = kind == "chat" and box is self._text
            return None if not text else Reading(chat=text) if is_chat else Reading(text)
        if not text.isascii() or not _IDS.fullmatch(text):
            return None
        return Reading(ids=tuple(map(int, re.findall(r"\d+", text))))

    @Slot()
    def _start(self) -> None:
        """Import in the worker; the dialog closes when the document is ready."""
        needs, described = self._needs(), self._described
        given = {name: value for name, value in self._given().items() if name in needs}
        if described is None or len(given) < len(needs):
            return
        folder, alone = self.folder, self._alone.value()
        reads, memory = given.get("text", NO_TEXT), given.get("memory", NO_TEXT)
        ignored = self._unknown.ignored()
        signals = _signals(given.get("signal"), described.signal)

        def job(token: CancelToken) -> Document:
            document = import_checkpoint(
                folder,
                reads.text,
                reads.ids,
                chat=None if reads.chat is None else turns([reads.chat]),
                memory_text=memory.text,
                memory_ids=memory.ids,
                **signals(),
                attention_only=alone,
                ignore_keys=ignored,
                progress=token.progress.at,
            )
            load_tokenizer(document.experiment)  # not in the window's thread
            return document

        self._import.setEnabled(False)
        self._say(_("Importing…"))
        self._scheduler.submit(job, self._on_imported, self._on_refused, key=KEY)

    def _on_imported(self, document: Document) -> None:
        self.document = document
        self.accept()

    def _on_failed(self, error: BaseException) -> None:
        self._fail(error, failure_message(error).text())

    def _on_refused(self, error: BaseException) -> None:
        """Show the error with the title of the wrong input, and return to that, else to the model.

        While the button was disabled, Cancel may have taken its focus, and Enter with it.
        """
        wrong: QWidget = self._folder

        def title(path: str) -> str:
            nonlocal wrong
            argument = re.split(r"\W", path, maxsplit=1)[0]
            for title, box, arguments in self._inputs():
                if argument in arguments:
                    wrong = box
                    return title + path.removeprefix(argument)
            return path

        said = failure_message(error).text(title)
        wrong.setFocus()
        self._import.setDefault(True)
        self._fail(error, said)

    def _fail(self, error: BaseException, said: str) -> None:
        self._say(said, is_wrong=True)
        self._refresh()
        if not is_expected(error):
            raise error

    def _inputs(self) -> tuple[tuple[str, QWidget, tuple[str, ...]], ...]:
        """The title and the control of each input, and the arguments of the import that it fills."""
        return (
            (self._text_title(), self._text, ("text", "ids", "chat")),
            (_("Encoder text"), self._memory, ("memory_text", "memory_ids")),
            (_("Input file"), self._signal, ("image", "features")),
        )


def _signals(file: str | None, kind: SignalKind | None) -> Callable[[], dict[str, Any]]:
    """Reads a file as an argument of the import when called: features, or the image."""
    if file is None:
        return dict
    is_array = kind == "sound" or file.lower().endswith(ARRAY)
    return lambda: {"features": read_array(file)} if is_array else {"image": file}


def _nothing(token: CancelToken) -> None:
    """The job that replaces the dialog's pending one."""


def _forget(answer: object) -> None:
    """Ignore an answer that nobody waits for."""
