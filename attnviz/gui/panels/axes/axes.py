"""The axes of a head: how (batch, token, d_model) becomes (batch, head, token, d_head), and the way back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QSize, Slot
from PySide6.QtWidgets import QLabel, QWidget

from attnviz.core.progress import Progress
from attnviz.core.text import elide, isolated, number, visible
from attnviz.errors import InputError, Message
from attnviz.gui.live.answer import Answer
from attnviz.gui.live.subject import Subject
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.look.words import plain_tooltip, says
from attnviz.gui.panels.axes.picture import PERMUTED, VIEW, AxesPicture, Place, Sequence, Sizes
from attnviz.gui.panels.panel import Panel
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column, in_row
from attnviz.gui.widgets.document_line import DocumentLine
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.edit.edits import permute_tokens, with_text
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.text import join_text, own_splitting
from attnviz.model.trace import SiteTrace, Trace

MOST_TOKENS, LONGEST = 64, 40
"""Tokens in the picture, and letters of a text in the note, at most."""
STAGES = ("q", "k", "v", "mixed")
JOINED, PROJECTED = 0, -1
LINE_SHARE = 100
"""The share of its row that the second text has, beside 1 of empty room."""
BATCHES = (
    ("1", "1", N_("One sequence: the text of the document")),
    ("2", "2", N_("Two sequences, whose numbers are computed side by side")),
)
"""The sizes of the batch."""


@dataclass(frozen=True)
class Step:
    """A moment of `layout` at which the picture rests; `title` and `axes` are messages, `code` is PyTorch."""

    time: int
    title: str
    axes: str
    code: str


_SPLIT = (
    Step(JOINED, N_("x W"), N_("batch, token, head · d_head"), "{name} = x @ W_{name}"),
    Step(VIEW, N_("view"), N_("batch, token, head, d_head"), "{name}.view({shape})"),
    Step(PERMUTED, N_("permute"), N_("batch, head, token, d_head"), "….permute(0, 2, 1, 3)"),
)
_JOIN = (
    Step(PERMUTED, N_("heads"), N_("batch, head, token, d_head"), "mixed = weights @ v"),
    Step(VIEW, N_("permute"), N_("batch, token, head, d_head"), "mixed.permute(0, 2, 1, 3)"),
    Step(JOINED, N_("view"), N_("batch, token, head · d_head"), "….reshape({shape})"),
    Step(PROJECTED, N_("W_O"), N_("batch, token, d_model"), "… @ W_o"),
)


def steps_of(stage: str) -> tuple[Step, ...]:
    """The steps of a stage: heads split off, or join again."""
    return _JOIN if stage == "mixed" else _SPLIT


@dataclass(frozen=True)
class Question:
    """The document, and the text of the second sequence; an empty one stands for its tokens backwards."""

    subject: Subject
    text: str

    def second(self) -> Experiment:
        """The document with the second sequence. Raises `InputError` if that has another length."""
        first = self.subject.experiment
        n = len(first.tokens)
        if not self.text:
            return permute_tokens(first, tuple(reversed(range(n))))
        second = with_text(first, self.text)
        if len(second.tokens) != n:
            as_long = Message(
                "The second sequence must have as many tokens as the first one, {n}; got {found}. Padding "
                "makes sequences of a batch equally long.",
                n=n,
                found=len(second.tokens),
            )
            raise InputError(as_long)
        return second


def compute(asked: Question, check: Progress) -> Trace:
    """The run of the second sequence, in a worker."""
    from attnviz.compute.execute import execute

    return execute(asked.second(), asked.subject.engine, asked.subject.device, check)


class AxesPanel(Panel):
    """The reader moves the picture; the cell under the mouse is the same number in every shape."""

    follows = ("site",)

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        says(self, name=N_("The axes of the heads"))
        stages = [(stage, STAGE_BY_ID[stage].title, "") for stage in STAGES]
        self._stage = says(Segmented((), STAGES[0]), id="axes_stage", name=N_("Stage"), options=stages)
        steps = [(str(step.time), step.title, "") for step in _SPLIT]
        self._step = says(Segmented(steps, "0"), id="axes_step", name=N_("Shape"))
        self._batch = says(Segmented((), "1"), id="axes_batch", name=N_("Size of the batch"), options=BATCHES)
        self._batch.changed.connect(self._on_batch)
        tip = N_("A text of as many tokens as the document; empty takes its tokens backwards")
        self._text = says(
            DocumentLine(is_live=False),
            id="axes_text",
            name=N_("Text of the second sequence"),
            tip=tip,
            placeholder=N_("The tokens backwards"),
        )
        self._text.setClearButtonEnabled(True)
        self._text.editingFinished.connect(self._ask)
        self._of_batch = says(QLabel(), N_("batch"))
        self._front = 0
        """The number of the sequence in front."""
        self._second: Answer[Question, Trace] = self.asks(Answer("axes", compute, self, in_turn=True))
        self._second.changed.connect(self._show)
        store.opened.connect(self._on_opened)
        self.picture = AxesPicture()
        self.picture.swapped.connect(self._on_swapped)
        self._shape, self._code, self._note = QLabel(), QLabel(), QLabel()
        for label, name in (
            (self._shape, "axes_shape"),
            (self._code, "axes_code"),
            (self._note, "axes_note"),
        ):
            label.setObjectName(name)
            label.setWordWrap(True)
        self._shape.setFont(ui_font(TEXT_PX))
        self._code.setFont(number_font(TEXT_PX))
        self._note.setFont(ui_font(TEXT_PX - 1))
        self._stage.changed.connect(self._on_stage)
        self._step.changed.connect(self._on_step)
        self.picture.pointed.connect(self._on_pointed)
        self.picture.moved.connect(self._on_moved)
        batch = in_row(None, self._of_batch, self._batch, spacing=GRID)
        batch.addWidget(self._text, LINE_SHARE)
        batch.addStretch(1)
        column = in_column(self, self._stage, self._step, self._code, self._shape, spacing=GRID // 2)
        column.addWidget(self.picture, 1)
        column.addLayout(batch)
        column.addWidget(self._note)
        set_tone("muted", self._note, self._of_batch)
        set_tone("accent", self._shape)

    @property
    def stage(self) -> str:
        """The stage that is shown."""
        return self._stage.value()

    def sizeHint(self) -> QSize:
        return QSize(280, 440)

    def on_trace(self, trace: Trace) -> None:
        self._ask()
        self._show()

    def on_hover(self, cell: Cell | None) -> None:
        """Outline the hovered number of the stage that is shown, of the document's sequence."""
        if self._front:
            return
        here = cell is not None and cell.stage == self.stage and cell.site in ("", self.store.document.site)
        sizes, place = self.picture.sizes, None
        if here and cell is not None and cell.row < sizes.tokens and cell.column < sizes.features:
            place = (cell.head, cell.row, cell.column)
        self._light(place)

    def _light(self, place: Place | None) -> None:
        self.picture.set_lit(place)
        self.picture.setToolTip("" if place is None else plain_tooltip(self._said(place)))

    def retranslate(self) -> None:
        self._show_steps()
        self._show()

    # --- showing

    def _sites(self) -> list[SiteTrace]:
        """The selected site of both sequences, the one in front first."""
        trace, site = self.store.trace, self.store.document.site  # not kept: a closed model would stay
        if trace is None:
            return []
        first, second = trace.shown(site), self._second.result
        if second is None or second.sites != trace.sites:
            return [first]
        other = second.shown(site)
        if other.shape(self.stage) != first.shape(self.stage):  # that of the document before an edit
            return [first]
        return [other, first] if self._front else [first, other]

    def _ask(self) -> None:
        """Ask for the second sequence of a batch of two."""
        trace = self.store.trace
        if trace is None or self._batch.value() == "1":
            self._second.clear()
        else:
            self._second.ask(Question(Subject.of(trace), self._text.text().strip()))

    def _show_steps(self) -> None:
        steps = steps_of(self.stage)
        self._step.set_options([(str(step.time), _(step.title), "") for step in steps])
        self.picture.set_steps(tuple(step.time for step in steps))
        self._step.set_value(str(round(self.picture.time)))

    def _show(self) -> None:
        self._text.setVisible(self._batch.value() != "1")
        sites = self._sites()
        if not sites:
            return
        heads, tokens, features = sites[0].shape(self.stage)
        rows = min(tokens, MOST_TOKENS)
        names = sites[0].names("key" if self.stage in ("k", "v") else "query")[:rows]
        sequences = tuple(self._sequence(site, rows) for site in sites)
        self.picture.set_numbers(sequences, Sizes(heads, rows, features), names)
        self._show_texts(sites)

    def _sequence(self, site: SiteTrace, rows: int) -> Sequence:
        heads, _tokens, features = site.shape(self.stage)
        parts = [site.window(self.stage, head, slice(0, rows), slice(0, features)) for head in range(heads)]
        after = None
        if self.stage == "mixed":
            columns = slice(0, site.shape("attention_output")[-1])
            after = np.asarray(site.window("attention_output", 0, slice(0, rows), columns))
        return Sequence(np.concatenate(parts, axis=1), after)

    def _show_texts(self, sites: list[SiteTrace]) -> None:
        site, step = sites[0], self._present()
        shape = (len(sites), *self._shape_of(site, step.time))
        self._shape.setText(f"({', '.join(map(str, shape))})  {_(step.axes)}")
        self._code.setText(step.code.format(name=self.stage, shape=", ".join(map(str, shape))))
        note = self._noted(sites)
        tokens = site.shape(self.stage)[-2]
        if tokens > MOST_TOKENS:
            note += " " + _("The first {n} of {count} tokens.").format(n=MOST_TOKENS, count=tokens)
        self._note.setText(note)

    def _noted(self, sites: list[SiteTrace]) -> str:
        problem = self._second.problem
        if problem is not None:
            return problem.text()
        if len(sites) == 1:
            return _("batch = 1: one sequence. A click on the dashed frame computes a second one.")
        trace = self._second.result if self._front else self.store.trace
        assert trace is not None
        experiment = trace.experiment
        text = isolated(visible(join_text(experiment, experiment.tokens, own_splitting(experiment))))
        said = _("In front: sequence {index} of the batch, “{text}”. A click on the other one swaps them.")
        return said.format(index=self._front, text=elide(text, LONGEST))

    def _present(self) -> Step:
        steps = steps_of(self.stage)
        return next((step for step in steps if str(step.time) == self._step.value()), steps[0])

    def _shape_of(self, site: SiteTrace, time: int) -> tuple[int, ...]:
        heads, tokens, features = site.shape(self.stage)
        return {
            PROJECTED: (tokens, site.shape("attention_output")[-1]),
            JOINED: (tokens, heads * features),
            VIEW: (tokens, heads, features),
            PERMUTED: (heads, tokens, features),
        }[time]

    def _said(self, place: Place) -> str:
        """The number of a cell with its index in each shape."""
        sites = self._sites()
        if not sites:
            return ""
        (head, row, column), site, index = place, sites[0], self._front
        features = site.shape(self.stage)[-1]
        value = float(site.window(self.stage, head, slice(row, row + 1), slice(column, column + 1))[0, 0])
        places = ((row, head * features + column), (row, head, column), (head, row, column))
        return " = ".join(
            [*(f"{self.stage}[{', '.join(map(str, (index, *one)))}]" for one in places), number(value, 6)]
        )

    # --- acting

    @Slot(str)
    def _on_stage(self, stage: str) -> None:
        self._show_steps()
        self._show()

    @Slot(str)
    def _on_step(self, step: str) -> None:
        self.picture.go(float(step))
        self._show()

    @Slot(int)
    def _on_moved(self, step: int) -> None:
        self._step.set_value(str(step))
        sites = self._sites()
        if sites:
            self._show_texts(sites)

    @Slot(object)
    def _on_pointed(self, place: Place | None) -> None:
        there = place if self.picture.time > PROJECTED / 2 else None
        if self._front:  # no other panel has its numbers
            self._light(there)
        else:
            self.store.set_hover(None if there is None else Cell(self.stage, there[1], there[2], there[0]))

    @Slot()
    def _on_opened(self) -> None:
        """Another document: one sequence again."""
        self._batch.set_value("1")
        self._text.clear()
        self._front = 0

    @Slot(str)
    def _on_batch(self, size: str) -> None:
        self._front = 0
        self._ask()
        self._show()

    @Slot()
    def _on_swapped(self) -> None:
        """The sequence behind comes in front; the first time, it is computed."""
        if self._batch.value() == "1":
            self._batch.set_value("2")
            self._ask()
        elif self._second.result is not None:
            self._front = 1 - self._front
            self._light(None)
        self._show()
