"""The axes of a head: how (batch, token, d_model) becomes (batch, head, token, d_head), and the way back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QSize, Slot
from PySide6.QtWidgets import QLabel, QWidget

from attnviz.core.text import number
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.look.words import plain_tooltip, says
from attnviz.gui.panels.axes.picture import PERMUTED, VIEW, AxesPicture, Place, Sizes
from attnviz.gui.panels.panel import Panel
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace, Trace

MOST_TOKENS = 64
STAGES = ("q", "k", "v", "mixed")
JOINED, PROJECTED = 0, -1


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
        self.picture = AxesPicture()
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
        column = in_column(self, self._stage, self._step, self._code, self._shape, spacing=GRID // 2)
        column.addWidget(self.picture, 1)
        column.addWidget(self._note)
        set_tone("muted", self._note)
        set_tone("accent", self._shape)

    @property
    def stage(self) -> str:
        """The stage that is shown."""
        return self._stage.value()

    def sizeHint(self) -> QSize:
        return QSize(280, 440)

    def on_trace(self, trace: Trace) -> None:
        self._show()

    def on_hover(self, cell: Cell | None) -> None:
        """Outline the hovered number of the stage that is shown."""
        here = cell is not None and cell.stage == self.stage and cell.site in ("", self.store.document.site)
        sizes, place = self.picture.sizes, None
        if here and cell is not None and cell.row < sizes.tokens and cell.column < sizes.features:
            place = (cell.head, cell.row, cell.column)
        self.picture.set_lit(place)
        self.picture.setToolTip("" if place is None else plain_tooltip(self._said(place)))

    def retranslate(self) -> None:
        self._show_steps()
        self._show()

    # --- showing

    def _site(self) -> SiteTrace | None:
        trace = self.store.drawn_trace  # not kept: a resting panel would keep a closed model
        return None if trace is None else trace.shown(self.store.document.site)

    def _show_steps(self) -> None:
        steps = steps_of(self.stage)
        self._step.set_options([(str(step.time), _(step.title), "") for step in steps])
        self.picture.set_steps(tuple(step.time for step in steps))
        self._step.set_value(str(round(self.picture.time)))

    def _show(self) -> None:
        site = self._site()
        if site is None:
            return
        heads, tokens, features = site.shape(self.stage)
        rows = min(tokens, MOST_TOKENS)
        parts = [site.window(self.stage, head, slice(0, rows), slice(0, features)) for head in range(heads)]
        after = None
        if self.stage == "mixed":
            after = np.asarray(
                site.window(
                    "attention_output", 0, slice(0, rows), slice(0, site.shape("attention_output")[-1])
                )
            )
        names = site.names("key" if self.stage in ("k", "v") else "query")[:rows]
        self.picture.set_numbers(np.concatenate(parts, axis=1), Sizes(heads, rows, features), names, after)
        self._show_texts(site)

    def _show_texts(self, site: SiteTrace) -> None:
        step = self._present()
        shape = self._shape_of(site, step.time)
        self._shape.setText(f"({', '.join(map(str, shape))})  {_(step.axes)}")
        self._code.setText(step.code.format(name=self.stage, shape=", ".join(map(str, shape))))
        note = _("batch = 1: one sequence. A second one would fill the dashed frame.")
        tokens = site.shape(self.stage)[-2]
        if tokens > MOST_TOKENS:
            note += " " + _("The first {n} of {count} tokens.").format(n=MOST_TOKENS, count=tokens)
        self._note.setText(note)

    def _present(self) -> Step:
        steps = steps_of(self.stage)
        return next((step for step in steps if str(step.time) == self._step.value()), steps[0])

    def _shape_of(self, site: SiteTrace, time: int) -> tuple[int, ...]:
        heads, tokens, features = site.shape(self.stage)
        return {
            PROJECTED: (1, tokens, site.shape("attention_output")[-1]),
            JOINED: (1, tokens, heads * features),
            VIEW: (1, tokens, heads, features),
            PERMUTED: (1, heads, tokens, features),
        }[time]

    def _said(self, place: Place) -> str:
        """The number of a cell with its index in each shape."""
        site = self._site()
        if site is None:
            return ""
        head, row, column = place
        features = site.shape(self.stage)[-1]
        value = float(site.window(self.stage, head, slice(row, row + 1), slice(column, column + 1))[0, 0])
        places = ((0, row, head * features + column), (0, row, head, column), (0, head, row, column))
        return " = ".join(
            [*(f"{self.stage}[{', '.join(map(str, one))}]" for one in places), number(value, 6)]
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
        site = self._site()
        if site is not None:
            self._show_texts(site)

    @Slot(object)
    def _on_pointed(self, place: Place | None) -> None:
        is_there = place is not None and self.picture.time > PROJECTED / 2
        self.store.set_hover(
            Cell(self.stage, place[1], place[2], place[0]) if place is not None and is_there else None
        )
