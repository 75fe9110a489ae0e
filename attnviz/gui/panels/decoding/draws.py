"""Several samples side by side: the texts that the document generates with other seeds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtWidgets import QLabel, QToolButton, QVBoxLayout, QWidget

from attnviz.compute.decoding import Decoded
from attnviz.compute.draws import Draw
from attnviz.core.progress import Progress
from attnviz.core.text import number
from attnviz.gui.live.answer import Answer
from attnviz.gui.live.trace import GUI_CORES
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.look.words import plain_tooltip, says
from attnviz.gui.panels.decoding.names import Names, names_of
from attnviz.gui.panels.decoding.part import DecodingPart
from attnviz.gui.panels.decoding.story.text import Chip, StoryText
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column, in_row
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.dice import HIGHEST_SEED
from attnviz.gui.widgets.empty_state import EmptyState
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.edit.generation import set_seed, writing_of

SEED_WIDTH = 64


class DrawRow(QWidget):
    """`taken` carries the seed whose button or text was clicked."""

    taken = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._seed = 0
        self.button, self.text = QToolButton(), StoryText()
        self.button.setCheckable(True)
        self.button.setProperty("framed", "true")
        self.button.setFixedWidth(SEED_WIDTH)
        self.button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.button.clicked.connect(self._on_taken)
        self.text.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the button is the Tab stop of the row
        self.text.set_shows_rest(True)
        self.text.set_text_px(TEXT_PX)
        self.text.chosen.connect(self._on_taken)
        row = in_row(self, spacing=GRID)
        row.addWidget(self.button, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self.text, 1, Qt.AlignmentFlag.AlignTop)

    def show_draw(self, draw: Draw, names: Names, *, is_present: bool) -> None:
        """Show a sample; `is_present` marks that of the document."""
        self._seed = draw.seed
        chips = [Chip(names.written(token), ends_line=token.endswith("\n")) for token in draw.tokens]
        self.text.set_chips(chips, are_joined=names.are_joined, describe=_describer(draw, names))
        self.text.set_current(len(chips))
        self.text.set_shades(_shade(draw), "accent")
        self.button.setText(_("seed {seed}").format(seed=draw.seed))
        self.button.setChecked(is_present)
        sentence = _("Continue with the sample of seed {seed}").format(seed=draw.seed)
        self.button.setAccessibleName(sentence)
        self.button.setAccessibleDescription("".join(chip.text for chip in chips))
        self.button.setToolTip(plain_tooltip(sentence))
        self.text.setAccessibleName(sentence)

    @Slot()
    def _on_taken(self) -> None:
        self.taken.emit(self._seed)


def _shade(draw: Draw) -> Callable[[int], float | None]:
    def shade(index: int) -> float | None:
        p = draw.probabilities[index]
        return p if math.isfinite(p) else None

    return shade


def _describer(draw: Draw, names: Names) -> Callable[[int], str]:
    def describe(index: int) -> str:
        if not 0 <= index < len(draw.tokens):
            return ""
        return f"{names.described(draw.tokens[index])} · p {number(draw.probabilities[index], 4)}"

    return describe


COUNT, MOST = 4, 16


@dataclass(frozen=True, eq=False)
class Question:
    """The seeds that are wanted, on an engine and its device.

    They share the prompt of `decoded`, the decoding of the document.
    """

    decoded: Decoded
    seeds: tuple[int, ...]
    engine: str
    device: str


def compute(asked: Question, check: Progress) -> tuple[Draw, ...]:
    """The samples of the seeds, in a worker."""
    from attnviz.compute.draws import draws

    given, earlier = asked.decoded.given, asked.decoded.decoding
    return draws(given, asked.seeds, asked.engine, asked.device, check, GUI_CORES, earlier)


class DrawsPanel(DecodingPart):
    """One line for each seed; a click on one makes its text that of the document."""

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._first = -1
        """The seed of the first line; -1 before the first sample."""
        self.answer = self.asks(Answer("draws", compute, self))
        self.answer.changed.connect(self._show)
        self._rows: list[DrawRow] = []
        says(self, name=N_("Several samples"))
        self._count = DragNumber(COUNT, minimum=2, maximum=MOST, integer=True)
        says(self._count, id="draws_count", name=N_("Number of samples"))
        self._count.changed.connect(self._on_count)
        self._count.rejected.connect(store.rejected)
        tip = N_("Sample with the next seeds")
        self._others = says(Button(), N_("Other seeds"), id="draws_others", tip=tip)
        self._others.clicked.connect(self._on_others)
        label = says(QLabel(), N_("samples"))
        self._header = QWidget()
        title = in_row(self._header, label, self._count, spacing=GRID // 2)
        title.addStretch(1)
        title.addWidget(self._others)
        self._empty = EmptyState("")
        self._empty.triggered.connect(self.answer.again)
        lines = QWidget()
        self._column = in_column(lines, spacing=GRID)
        self._column.addStretch(1)
        self._scroll = clear_scroll(lines, sideways=False)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._scroll, 1)
        column.addWidget(self._empty, 1)
        set_tone("muted", label)

    def header(self) -> QWidget:
        """The number of samples, and other seeds, for the title."""
        return self._header

    def minimumSizeHint(self) -> QSize:
        return QSize(240, 92)

    @property
    def draws(self) -> tuple[Draw, ...]:
        """The samples that are shown."""
        return self.answer.result or ()

    def show_step(self) -> None:
        decoded, asked = self.decoded, self.answer.asked
        if decoded is None:
            self.answer.clear()
        elif asked is None or asked.decoded is not decoded:
            self._ask(decoded)
        else:
            self._show()

    def retranslate(self) -> None:
        self._show()

    def _ask(self, decoded: Decoded) -> None:
        """Keep the seeds while the document's is among them, so that a line that was taken stays."""
        count, seed = int(self._count.value()), writing_of(decoded.given).sampling.seed
        if not self._first <= seed < self._first + count or self._first < 0:
            self._first = min(seed, HIGHEST_SEED - count)
        self._request_seeds(decoded, count)

    def _request_seeds(self, decoded: Decoded, count: int) -> None:
        trace = self.store.trace
        if trace is not None:
            seeds = tuple(range(self._first, self._first + count))
            self.answer.ask(Question(decoded, seeds, trace.engine, trace.device))

    @Slot()
    def _show(self) -> None:
        decoded, problem = self.decoded, self.answer.problem
        is_drawn = decoded is not None and bool(self.draws)
        self._scroll.setVisible(is_drawn)
        self._empty.setVisible(not is_drawn)
        sentence = self.why_empty if decoded is None else _("Sampling…")
        self._empty.set_outcome("" if problem is None else problem.text(), sentence)
        if decoded is None or not is_drawn:
            return
        names, seed = names_of(decoded.decoding), writing_of(decoded.given).sampling.seed
        for index, draw in enumerate(self.draws):
            self._row(index).show_draw(draw, names, is_present=draw.seed == seed)
        for index, row in enumerate(self._rows):
            row.setVisible(index < len(self.draws))

    def _row(self, index: int) -> DrawRow:
        while len(self._rows) <= index:
            row = DrawRow()
            row.button.setObjectName(f"draw_{len(self._rows)}")
            row.text.setObjectName(f"draw_text_{len(self._rows)}")
            row.text.apply_theme(self.theme)
            row.taken.connect(self._on_taken)
            self._column.insertWidget(len(self._rows), row)
            self._rows.append(row)
        return self._rows[index]

    @Slot(int)
    def _on_taken(self, seed: int) -> None:
        self.store.edit(set_seed, seed)
        self._show()

    @Slot(object)
    def _on_count(self, count: int) -> None:
        if self.decoded is not None:
            self._ask(self.decoded)

    @Slot()
    def _on_others(self) -> None:
        """Sample with the next seeds; the text of the document stays."""
        decoded, count = self.decoded, int(self._count.value())
        if decoded is not None:
            self._first = (self._first + count) % (HIGHEST_SEED - count)
            self._request_seeds(decoded, count)
