"""The choices before a run: the task, its text, and the settings, each with its range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, QSignalBlocker, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QDragEnterEvent, QDropEvent, QFont, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QLabel, QSizePolicy, QWidget

from attnviz.errors import InputError, Message, about, message_of
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, RADIUS, TEXT_PX
from attnviz.gui.look.words import says
from attnviz.gui.widgets.boxes import in_column, in_row
from attnviz.gui.widgets.button import Button, PaintedButton, rove
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.control import draw_focus_ring
from attnviz.gui.widgets.local_files import TextBox, accept_copy, has_files
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.widgets.paragraph import broken
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.io.regular_file import read_text
from attnviz.training.optimiser import OPTIMISERS, Settings
from attnviz.training.record import Course
from attnviz.training.tasks import LINES, TASKS, task_of
from attnviz.training.words import MOST_BYTES, task_for, words_of_task

if TYPE_CHECKING:
    from attnviz.model.spec.experiment import Experiment
    from attnviz.training.record import Record
    from attnviz.training.tasks import Sampler, Task

MEASURED = 10
"""Steps from one kept state to the next, which is measured."""
HEIGHT = 58
"""Height of a card in pixels."""
TITLE_PX = 18
"""Height of its title."""
OPTIMISER_PX = 112
"""Width of the list of optimisers."""
SPEEDS = (
    ("0", N_("full speed"), N_("As many steps as there can be, with ten pictures a second")),
    ("10", N_("10 steps/s"), N_("Ten steps in a second")),
    ("1", N_("1 step/s"), N_("One step in a second")),
)
"""Speeds of a run that plays: steps in a second, title, hint."""
SPEED_PX = 96
"""Width of their list."""
SIZE_HINT = N_("A size of the task; another one starts anew")


@dataclass(frozen=True)
class NumberRow:
    """One number of a run: `title` and `hint` are messages, `least` and `most` its range.

    One that `begins` a run holds for the whole of it; the others act from the next step on.
    """

    id: str
    title: str
    hint: str
    value: float
    least: float
    most: float
    decimals: int = 0
    is_logarithmic: bool = False
    begins: bool = False


_USUAL, _COURSE = Settings(), Course()
_PLAYED = Course(measured=MEASURED, kept=MEASURED)
NUMBERS: tuple[NumberRow, ...] = (
    NumberRow(
        "rate", N_("Rate"), N_("Learning rate η: how far a step goes"), _USUAL.rate, 1e-6, 1e3, 4, True
    ),
    NumberRow("batch", N_("Batch"), N_("Texts in each step"), _COURSE.batch, 1, 512),
    NumberRow("steps", N_("Steps"), N_("Steps after which the run ends"), _USUAL.steps, 1, 200_000, 0, True),
    NumberRow(
        "decay", N_("Decay"), N_("Weight decay λ: the share η λ that weights lose"), _USUAL.decay, 0, 10, 3
    ),
    NumberRow(
        "seed", N_("Seed"), N_("Selects the texts; another one starts anew"), 0, 0, 2**31 - 1, begins=True
    ),
)


class TaskCard(PaintedButton):
    """A task: its name, and what it asks."""

    def __init__(self, task: Task) -> None:
        super().__init__()
        self.id = task.id
        says(self, task.title, id=f"training_task_{task.id}", tip=task.help)
        self._help = task.help
        self.setCheckable(True)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def nextCheckState(self) -> None:
        """A click only emits; the owner chooses."""

    def sizeHint(self) -> QSize:
        return QSize(200, HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(120, HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme, rect = QPainter(self), self._theme, QRectF(self.rect())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        is_chosen = self.isChecked()
        painter.setPen(QPen(QColor(theme.accent if is_chosen else theme.line), 1.5 if is_chosen else 1))
        painter.setBrush(QColor(theme.hover if is_chosen or self.underMouse() else theme.panel))
        painter.drawRoundedRect(rect.adjusted(1, 1, -1, -1), RADIUS, RADIUS)
        room = rect.adjusted(GRID + 2, 5, -GRID, -5)
        painter.setFont(ui_font(TEXT_PX, QFont.Weight.DemiBold))
        painter.setPen(QColor(theme.accent if is_chosen else theme.ink))
        painter.drawText(room, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft, self.text())
        font = ui_font(TEXT_PX - 1)
        painter.setFont(font)
        painter.setPen(QColor(theme.muted))
        pitch = (room.height() - TITLE_PX) / 2
        for number, line in enumerate(broken(_(self._help), font, room.width(), 2)):
            place = QRectF(room.left(), room.top() + TITLE_PX + number * pitch, room.width(), pitch)
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, line.text)
        if self.hasFocus():
            draw_focus_ring(painter, rect, theme)


class LinesBox(TextBox):
    """The user's text; a file that is dropped on it is read by its owner."""

    dropped = Signal(Path)

    def canInsertFromMimeData(self, source: object) -> bool:
        return has_files(source) or super().canInsertFromMimeData(source)  # type: ignore[arg-type]

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if has_files(event.mimeData()):
            accept_copy(event)
        else:
            super().dragEnterEvent(event)

    def dropEvent(self, event: QDropEvent) -> None:
        files = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
        if files:
            accept_copy(event)
            self.dropped.emit(Path(files[0]))
        else:
            super().dropEvent(event)


class SpeedList(Combo):
    """The speed of a run that plays."""

    def __init__(self) -> None:
        super().__init__(())
        tip = N_("Steps in a second while it plays")
        says(self, id="training_speed", name=N_("Speed"), tip=tip, options=SPEEDS)
        self.set_value(SPEEDS[0][0])
        self.setFixedWidth(SPEED_PX)


class Choices(QWidget):
    """`anew` says that another run is chosen, `changed` that the next steps take other settings."""

    anew = Signal()
    changed = Signal()
    rejected = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._task = TASKS[0].id
        self._cards = [TaskCard(task) for task in TASKS]
        for card in self._cards:
            card.clicked.connect(self._on_card)
        hint = N_("Paste lines of text here, or drop a file")
        self.lines = says(LinesBox(), id="training_lines", name=N_("Lines to learn"), placeholder=hint)
        self.lines.setTabChangesFocus(True)
        self.lines.setFixedHeight(96)
        self.lines.textChanged.connect(self.anew)
        self.lines.dropped.connect(self.read)
        self.open = says(
            Button(), N_("Open a text…"), id="training_open_text", tip=N_("Learn the lines of a file")
        )
        self.open.clicked.connect(self._on_open)
        kinds = [(row.id, row.title, row.formula) for row in OPTIMISERS]
        self.optimiser = says(Combo(()), id="training_optimiser", name=N_("Optimiser"), options=kinds)
        self.optimiser.set_value(_USUAL.optimiser)
        self.optimiser.setFixedWidth(OPTIMISER_PX)
        self.optimiser.changed.connect(self.anew)
        self.numbers = {row.id: self._number(row) for row in NUMBERS}
        column = in_column(self, *self._cards, self.lines, self.open, spacing=GRID // 2)
        self.sizes: dict[tuple[str, str], DragNumber] = {}
        """The sizes of every task, by its id and their names."""
        self._size_rows: dict[str, QWidget] = {}
        for task in TASKS:
            self._size_rows[task.id] = self._sizes_of(task)
            column.addWidget(self._size_rows[task.id])
        column.addSpacing(GRID // 2)
        for row in NUMBERS:
            column.addLayout(self._labelled(row.title, row.hint, self.numbers[row.id]))
        column.addLayout(self._labelled(N_("Optimiser"), "", self.optimiser))
        self._show()

    def _number(self, row: NumberRow) -> DragNumber:
        field = DragNumber(
            row.value,
            minimum=row.least,
            maximum=row.most,
            decimals=row.decimals,
            integer=not row.decimals,
            logarithmic=row.is_logarithmic,
        )
        says(field, id=f"training_{row.id}", name=row.title, tip=row.hint)
        field.changed.connect(self.anew if row.begins else self.changed)
        field.rejected.connect(self.rejected)
        return field

    def _sizes_of(self, task: Task) -> QWidget:
        """The sizes of a task, each with a field: another one begins another run."""
        box = QWidget()
        column = in_column(box, spacing=GRID // 2)
        for size in task.sizes:
            row = NumberRow(
                f"{task.id}_{size.name}",
                size.title,
                SIZE_HINT,
                size.value,
                size.least,
                size.most,
                begins=True,
            )
            self.sizes[task.id, size.name] = self._number(row)
            column.addLayout(self._labelled(row.title, row.hint, self.sizes[task.id, size.name]))
        return box

    @staticmethod
    def _labelled(title: str, hint: str, control: QWidget) -> QHBoxLayout:
        label = says(QLabel(), title, tip=hint)
        set_tone("muted", label)
        row = in_row(None, label, spacing=GRID)
        row.addStretch(1)
        row.addWidget(control)
        return row

    # --- reading

    @property
    def task(self) -> str:
        """The id of the chosen task."""
        return self._task

    def words(self) -> Sequence[str]:
        """The words that a document needs for the task."""
        return words_of_task(self._task, self.lines.toPlainText(), **self._chosen_sizes())

    def _chosen_sizes(self) -> dict[str, int]:
        return {name: int(field.value()) for (task, name), field in self.sizes.items() if task == self._task}

    def sampler(self, experiment: Experiment) -> Sampler:
        """The task for a document. Raises `InputError` for a text that is too short or has other tokens."""
        text = self.lines.toPlainText()
        if self._task == LINES and not text.strip():
            raise InputError(Message("The text to learn must have lines; got none"))
        return task_for(experiment, self._task, text, **self._chosen_sizes())

    def course(self, of: Course = _PLAYED) -> Course:
        """The size of the batch and the seed, the rest as another course has it."""
        batch, seed = (int(self.numbers[id_].value()) for id_ in ("batch", "seed"))
        return replace(of, batch=batch, seed=seed)

    def settings(self, of: Settings = _USUAL) -> Settings:
        """The settings of the optimiser, the rest as others have it."""
        rate, decay = (float(self.numbers[id_].value()) for id_ in ("rate", "decay"))
        steps = int(self.numbers["steps"].value())
        return replace(of, rate=rate, optimiser=self.optimiser.value(), decay=decay, steps=steps)

    def take(self, record: Record) -> None:
        """Show the choices of a run that was begun before; nothing is emitted."""
        sampler, settings, course = record.sampler, record.settings, record.course
        self._task = task_of(sampler).id
        with QSignalBlocker(self.lines):
            self.lines.setPlainText(getattr(sampler, "text", ""))
        values = {**asdict(settings), **asdict(course)}
        fields = [(field, values[id_]) for id_, field in self.numbers.items()]
        fields += [
            (field, getattr(sampler, size))
            for (task, size), field in self.sizes.items()
            if task == self._task
        ]
        for field, value in fields:
            with QSignalBlocker(field):
                field.set_value(value)
        with QSignalBlocker(self.optimiser):
            self.optimiser.set_value(settings.optimiser)
        self._show()

    # --- choosing

    def choose(self, task: str) -> None:
        """Choose a task."""
        if task != self._task:
            self._task = task
            self._show()
            self.anew.emit()

    @Slot(Path)
    def read(self, path: Path) -> None:
        """Take the text of a file."""
        try:
            self.lines.setPlainText(read_text(path, MOST_BYTES))
        except (OSError, InputError) as error:
            self.rejected.emit(InputError(about(path.name, message_of(error))))

    def _show(self) -> None:
        for card in self._cards:
            card.setChecked(card.id == self._task)
            card.update()
        rove(self._cards, [card.id for card in self._cards].index(self._task))
        for part in (self.lines, self.open):
            part.setVisible(self._task == LINES)
        for task, rows in self._size_rows.items():
            rows.setVisible(task == self._task)

    @Slot()
    def _on_card(self) -> None:
        card = self.sender()
        assert isinstance(card, TaskCard)
        self.choose(card.id)

    @Slot()
    def _on_open(self) -> None:
        name, _kind = QFileDialog.getOpenFileName(self, _("Open a text"))
        if name:
            self.read(Path(name))
