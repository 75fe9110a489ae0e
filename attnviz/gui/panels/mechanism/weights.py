"""One weight matrix in a form: where it comes from, its seed and a die, and whether it has a bias."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from attnviz.errors import Message
from attnviz.gui.forms.marks import Mark
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import says
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_row
from attnviz.gui.widgets.breaking_line import BreakingLine
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.dice import HIGHEST_SEED, Dice
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.widgets.toggle import Toggle
from attnviz.gui.widgets.tone import Tone, set_tone
from attnviz.i18n import N_
from attnviz.model.errors.titles import reason_in_words
from attnviz.model.spec.parts import Projection, Role, Seeded, Tied
from attnviz.model.spec.rows import Row
from attnviz.model.spec.site import Site
from attnviz.model.spec.value import Refusal

KINDS = (
    ("identity", N_("identity"), N_("Ones on the diagonal")),
    ("seeded", N_("seeded"), N_("Samples from a normal distribution")),
    ("explicit", N_("explicit"), N_("Your own values, edited in Matrices")),
)


@dataclass(frozen=True, kw_only=True)
class WeightSlot:
    """A matrix of the selected attention. `id` begins the controls' names, `path` is its field, `short`
    labels its bias: a symbol or a message, and `bias_path` is its field, if not `path` with "_bias"; `hue` is
    one of a theme's colours.

    `read` returns its source, `source` creates that of an option, `edit` sets one. `ties` are the matrices,
    with their symbols, that it may share; `why_not_tied` is why not. `set_bias` adds or removes its bias; a
    matrix without the two cannot have one.
    """

    id: str
    path: str
    symbol: str
    short: str
    hue: Tone = ""
    read: Callable[[Site], Projection]
    source: Callable[[Site, str], Projection]
    edit: Callable[[Site, Any], Site]
    bias: Callable[[Site], Row | None] | None = None
    bias_path: str = ""
    set_bias: Callable[[Site, bool], Site] | None = None
    ties: tuple[tuple[Role, str], ...] = ()
    why_not_tied: Callable[[Site, Role], Refusal] = lambda experiment, to: None


def option_of(source: Projection) -> str:
    """The id of the option for `source`."""
    return source.to if isinstance(source, Tied) else str(source.__struct_config__.tag)


class WeightLines(QGridLayout):
    """Lines below each other, their controls in columns, and a line of biases; `owner` has the widgets."""

    def __init__(self, owner: QWidget, store: Store, slots: tuple[WeightSlot, ...]) -> None:
        super().__init__()
        self.setHorizontalSpacing(GRID - 3)
        self.setVerticalSpacing(GRID - 2)
        self.setColumnStretch(1, 1)
        self.lines = tuple(_Line(owner, store, slot) for slot in slots)
        for row, line in enumerate(self.lines):
            for column, widget in enumerate(line.widgets):
                self.addWidget(widget, row, column, Qt.AlignmentFlag.AlignVCenter)
        self._biases = says(QLabel(owner), N_("biases"))
        self._biases.setTextFormat(Qt.TextFormat.PlainText)
        biases, toggles = BreakingLine(owner), QWidget()
        beside = in_row(toggles, spacing=GRID - 2)
        for line in self.lines:
            beside.addWidget(line.bias)
        biases.line.addWidget(self._biases)
        biases.line.addStretch(1)
        biases.line.addWidget(toggles)
        self.addWidget(biases, len(slots), 0, 1, 4)

    def refresh(self, site: Site, shown: Callable[[str], bool] = lambda id_: True) -> None:
        """Show the site in the lines whose id is in `shown`, and hide the others."""
        for line in self.lines:
            if shown(line.slot.id):
                line.show_experiment(site)
            else:
                for widget in (*line.widgets, line.bias):
                    widget.hide()
        self._biases.setVisible(any(shown(line.slot.id) for line in self.lines if line.slot.bias))


class _Line:
    """The controls of one matrix."""

    def __init__(self, owner: QWidget, store: Store, slot: WeightSlot) -> None:
        self._store, self.slot = store, slot
        self.label = QLabel(slot.symbol, owner)
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        set_tone(slot.hue, self.label)
        self.kind = says(
            Combo((), parent=owner),
            id=f"{slot.id}_projection_combo",
            name=Message("Source of {matrix}", matrix=slot.symbol),
            options=(*KINDS, *((id_, Message("as {matrix}", matrix=other), "") for id_, other in slot.ties)),
        )
        self.seed = DragNumber(minimum=0, maximum=HIGHEST_SEED, integer=True, parent=owner)
        says(self.seed, id=f"{slot.id}_seed_field", name=Message("Seed of {matrix}", matrix=slot.symbol))
        self.dice = Dice(f"{slot.id}_seed_dice", owner)
        self.bias = says(
            Toggle("", parent=owner),
            slot.short,
            id=f"{slot.id}_bias_toggle",
            name=Message("Bias of {matrix}", matrix=slot.symbol),
            tip=N_("Adds a bias to every row of the product, initialised at random"),
        )
        self.widgets = (self.label, self.kind, self.dice, self.seed)
        self.kind.changed.connect(self._on_kind)
        self.seed.changed.connect(self._on_seed)
        self.seed.rejected.connect(store.rejected)
        self.seed.gesture_started.connect(store.begin_gesture)
        self.seed.gesture_finished.connect(store.end_gesture)
        self.dice.clicked.connect(self._on_dice)
        self.bias.changed.connect(self._on_bias)
        Mark(store, self.kind, slot.path)
        Mark(store, self.seed, f"{slot.path}.seed")
        if slot.bias is not None:
            Mark(store, self.bias, slot.bias_path or f"{slot.path}_bias")

    def show_experiment(self, site: Site) -> None:
        """Show where the matrix comes from, and which other sources it could have."""
        source = self.slot.read(site)
        self.kind.set_value(option_of(source))
        for to, _symbol in self.slot.ties:
            self.kind.set_option_unavailable(to, reason_in_words(self.slot.why_not_tied(site, to)))
        for widget in (self.label, self.kind):
            widget.show()
        self.bias.setVisible(self.slot.bias is not None)
        self.seed.setVisible(source.is_drawn)
        self.dice.setVisible(source.is_drawn)
        if isinstance(source, Seeded):
            self.seed.set_value(source.seed)
        self.bias.set_value(self.slot.bias is not None and self.slot.bias(site) is not None)

    def _on_kind(self, option: str) -> None:
        self._store.edit_attention(lambda e: self.slot.edit(e, self.slot.source(e, option)))
        self.show_experiment(self._store.attention)

    def _on_seed(self, seed: Any) -> None:
        self._store.edit_attention(self.slot.edit, Seeded(int(seed)))

    @Slot()
    def _on_dice(self) -> None:
        self._on_seed(Dice.throw(int(self.seed.value())))

    def _on_bias(self, is_on: bool) -> None:
        assert self.slot.set_bias is not None  # the toggle is hidden without it
        self._store.edit_attention(self.slot.set_bias, is_on)
        self.show_experiment(self._store.attention)
