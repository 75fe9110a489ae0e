"""The line over the map that chooses between a stage's values and their gradients, and of which number."""

from __future__ import annotations

from msgspec.structs import replace
from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QToolButton, QWidget

from attnviz.core.text import isolated, number
from attnviz.errors import FieldError
from attnviz.gui.look.icons import icon
from attnviz.gui.look.theme import GRID, Theme
from attnviz.gui.look.words import says
from attnviz.gui.store import Store
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.elided_label import WholeLabel
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.gradient import Target, cell_at, located
from attnviz.model.sites.sites import at
from attnviz.model.sites.stages import head_and_token
from attnviz.model.spec.target import LOSS, TargetCell, TargetLoss, parsed
from attnviz.model.spec.view import Cell, shown_head
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.text import shown_token

QUANTITIES: tuple[tuple[str, str, str], ...] = (
    ("value", N_("Value"), N_("The numbers of each stage")),
    (
        "gradient",
        N_("Gradient"),
        N_("The derivative of the target with respect to each number, shown in its cell"),
    ),
    (
        "product",
        N_("Value × gradient"),
        N_("The contribution of each number to the target, to first order"),
    ),
)
"""The numbers that pictures draw: the id in the view, its label and its hint."""


class GradientBar(QWidget):
    """Hidden without a target. `target_chosen` carries its text, or None."""

    quantity_chosen = Signal(str)
    target_chosen = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._of = says(QLabel(), N_("Gradient of"), id="gradient_of")
        self._target = says(
            Combo(()),
            id="gradient_target",
            name=N_("Target of the gradient"),
            tip=N_("The number whose gradient is shown; right-click a cell to choose another"),
        )
        self._target.setMinimumContentsLength(18)
        self._target.changed.connect(self._on_target)
        self._says = WholeLabel()
        self._says.setObjectName("gradient_says")
        self._says.setTextFormat(Qt.TextFormat.PlainText)
        self._quantity = Segmented(())
        says(self._quantity, id="gradient_quantity", name=N_("Shown numbers"), options=QUANTITIES)
        self._quantity.changed.connect(self.quantity_chosen)
        name = N_("Show the values, without a target")
        self._close = says(QToolButton(), id="gradient_close", name=name, tip=True)
        self._close.setAutoRaise(True)
        self._close.clicked.connect(self._on_close)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, GRID // 2)
        row.setSpacing(GRID)
        row.addWidget(self._of)
        row.addWidget(self._target)
        row.addWidget(self._says, 1)
        row.addWidget(self._quantity)
        row.addWidget(self._close)
        self.hide()
        set_tone("muted", self._of, self._says)

    def show_choice(self, store: Store) -> None:
        """The target and the quantity of the view, and the value of the target or why it has no gradient."""
        view = store.document.view
        self.setVisible(view.target is not None)
        if view.target is None:
            return
        self._target.set_options(targets(store))
        self._target.set_value(view.target)
        self._quantity.set_value(view.quantity)
        self._says.set_line(_answer(store))

    def apply_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        self._close.setIcon(icon("close", theme))

    @Slot(str)
    def _on_target(self, target: str) -> None:
        self.target_chosen.emit(target)

    @Slot()
    def _on_close(self) -> None:
        self.target_chosen.emit(None)


def targets(store: Store) -> list[tuple[str, str, str]]:
    """The loss, the present target and the locked cell: each id is the text of a target."""
    present, locked = store.document.view.target, store.document.locked_here
    texts = [LOSS, str(TargetLoss(_position(store))), present or LOSS]
    if locked is not None:
        texts.append(target_of(store, replace(locked, site=locked.site or store.document.site)))
    return [(text, target_name(store, text), "") for text in dict.fromkeys(texts)]


def _position(store: Store) -> int | None:
    """The selected query, if a token follows it."""
    query = store.document.view.query
    return query if query < store.experiment.n_queries - 1 else None


def likely_target(store: Store) -> str:
    """The locked cell, else the loss if the document has logits, else a number of the shown stage."""
    locked, site = store.document.locked_here, store.document.site
    if locked is not None:
        return target_of(store, replace(locked, site=locked.site or site))
    if store.trace is not None and "logits" in store.trace.site(store.trace.sites[-1]).stages:
        return LOSS
    view, here = store.document.view, store.shown_site
    stage = here.shown_stage(view.stage)
    return target_of(
        store,
        Cell(
            stage,
            min(view.query, here.shape(stage)[-2] - 1),
            0,
            shown_head(here.experiment, view, stage),
            site,
        ),
    )


def target_of(store: Store, cell: Cell) -> str:
    """A cell, with its site, as the text of a target."""
    in_front = head_and_token(at(store.experiment, cell.site), cell.stage, cell.head)
    count = len(STAGE_BY_ID[cell.stage].axes) - 2
    return str(TargetCell(cell.site, cell.stage, (*in_front[:count], cell.row, cell.column)))


def target_name(store: Store, text: str) -> str:
    """The target as a reader knows it: `weights[creature, fluffy], head 2`."""
    cell = parsed(text)
    if isinstance(cell, TargetLoss):
        return _loss_name(store, cell)
    trace = store.trace
    try:
        if trace is not None:
            name, index = located(cell, {name: trace.site(name) for name in trace.sites})
            site = trace.site(name)
            return Target(text, 0.0, site, cell_at(site, cell.stage, index)).name(store.document.site)
    except FieldError:
        pass  # the document has no such cell: its text says which
    return text


def _loss_name(store: Store, loss: TargetLoss) -> str:
    tokens = store.experiment.tokens
    if loss.position is None or not 0 <= loss.position < len(tokens):
        return _("loss of the next token")
    token = isolated(shown_token(store.experiment.vocabulary, tokens[loss.position]))
    return _("loss of the next token at “{token}”").format(token=token)


def _answer(store: Store) -> str:
    """`= 2.303`, or in words why the target has no gradient here."""
    if store.why_no_gradient is not None:
        return store.why_no_gradient.text()
    if store.followed is not None:
        return _("no gradient while the player shows generated tokens")
    gradient = store.gradient
    if gradient is None or gradient.target != store.document.view.target:
        return _("computing…")
    return f"= {number(gradient.value, 4)}"
