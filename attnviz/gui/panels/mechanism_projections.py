"""Where W_q, W_k, W_v and W_o come from; their numbers are edited in the panel of matrices."""

from __future__ import annotations

from typing import Any, get_args

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QGridLayout, QLabel

from attnviz.gui.field_rows import HIGHEST_SEED, Dice
from attnviz.gui.panels.mechanism_section import Section
from attnviz.gui.store import Store
from attnviz.gui.theme import GRID, Theme
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.drag_number import DragNumber
from attnviz.gui.widgets.segmented import Option
from attnviz.i18n import N_, _
from attnviz.model.arrays import Matrix
from attnviz.model.document import Document
from attnviz.model.edits import set_projection
from attnviz.model.experiment import Experiment
from attnviz.model.materialise import projection_array
from attnviz.model.parts import ROLES, Explicit, Identity, Projection, Role, Seeded, Tied
from attnviz.model.switching import Remembered, fits, why_not_tied

SYMBOLS = {"query": "W_q", "key": "W_k", "value": "W_v", "output": "W_o"}
_HUES = {"query": "query", "key": "key", "value": "value", "output": "ink"}
KINDS = (
    ("identity", N_("identity"), N_("Ones on the diagonal")),
    ("seeded", N_("seeded"), N_("Drawn from a normal distribution")),
    ("explicit", N_("written out"), N_("Numbers of your own, edited under Matrices")),
)


def option_of(source: Projection) -> str:
    """The id of the option that stands for `source`."""
    return source.to if isinstance(source, Tied) else str(source.__struct_config__.tag)


class ProjectionsSection(Section):
    """One line for each matrix: its kind and, where it is drawn, its seed and a die."""

    id = "projections"
    heading = N_("Projections")

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        grid = QGridLayout()
        grid.setHorizontalSpacing(GRID)
        grid.setVerticalSpacing(GRID - 2)
        grid.setColumnStretch(1, 1)
        self.body.addLayout(grid)
        self._lines = tuple(_Line(self, store, role) for role in ROLES)
        for row, line in enumerate(self._lines):
            for column, widget in enumerate((line.label, line.kind, line.dice, line.seed)):
                grid.addWidget(widget, row, column)

    def on_document(self, old: Document | None, new: Document) -> None:
        for line in self._lines:
            line.show_experiment(new.attention)

    def retranslate(self) -> None:
        super().retranslate()
        for line in self._lines:
            line.retranslate()

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        for line in getattr(self, "_lines", ()):
            line.apply_theme(theme)


class _Line:
    """The controls of one matrix, which are children of the section."""

    def __init__(self, section: ProjectionsSection, store: Store, role: Role) -> None:
        self._store, self._role = store, role
        self._sources = Remembered()
        self.label = QLabel(SYMBOLS[role], section)
        self.kind = Combo((), parent=section)
        self.kind.setObjectName(f"{role}_projection_combo")
        self.seed = DragNumber(minimum=0, maximum=HIGHEST_SEED, integer=True, parent=section)
        self.seed.setObjectName(f"{role}_seed_field")
        self.dice = Dice(f"{role}_seed_dice", section)
        self.kind.changed.connect(self._on_kind)
        self.seed.changed.connect(self._on_seed)
        self.seed.rejected.connect(store.rejected)
        self.seed.gesture_started.connect(store.begin_gesture)
        self.seed.gesture_finished.connect(store.end_gesture)
        self.dice.clicked.connect(self._on_dice)
        self.apply_theme(section._theme)

    def show_experiment(self, experiment: Experiment) -> None:
        """Show where the matrix comes from, and which other sources it could have."""
        source = getattr(experiment.projections, self._role)
        self._sources.note(source)
        self.kind.set_value(option_of(source))
        for to in get_args(Role):
            if to != self._role:
                self.kind.set_option_unavailable(to, why_not_tied(experiment, self._role, to) or None)
        is_seeded = isinstance(source, Seeded)
        self.seed.setVisible(is_seeded)
        self.dice.setVisible(is_seeded)
        if isinstance(source, Seeded):
            self.seed.set_value(source.seed)

    def retranslate(self) -> None:
        symbol = SYMBOLS[self._role]
        ties: list[Option] = [
            (role, _("as {matrix}").format(matrix=SYMBOLS[role]), "") for role in ROLES if role != self._role
        ]
        self.kind.set_options([(id_, _(label), _(tip)) for id_, label, tip in KINDS] + ties)
        self.kind.setAccessibleName(_("Source of {matrix}").format(matrix=symbol))
        self.seed.setAccessibleName(_("Seed of {matrix}").format(matrix=symbol))
        self.seed.retranslate()
        self.dice.retranslate()
        self.show_experiment(self._store.attention)

    def apply_theme(self, theme: Theme) -> None:
        palette = self.label.palette()
        palette.setColor(self.label.foregroundRole(), getattr(theme, _HUES[self._role]))
        self.label.setPalette(palette)

    def _on_kind(self, option: str) -> None:
        self._store.edit_attention(self._with_kind, option)
        self.show_experiment(self._store.attention)

    def _on_seed(self, seed: Any) -> None:
        self._store.edit_attention(set_projection, self._role, Seeded(int(seed)))

    @Slot()
    def _on_dice(self) -> None:
        self._on_seed(Dice.throw(int(self.seed.value())))

    def _with_kind(self, experiment: Experiment, option: Any) -> Experiment:
        """The experiment with this source; the seed and the numbers that it had before come back."""
        if option in ROLES:
            return set_projection(experiment, self._role, Tied(option))
        source: Projection = Identity()
        if option == "seeded":
            source = self._sources.last(Seeded, Seeded(ROLES.index(self._role)))
        if option == "explicit":
            present = Explicit(Matrix(projection_array(experiment, self._role)))
            source = self._sources.last(Explicit, present)
            source = source if fits(experiment, self._role, source) else present
        return set_projection(experiment, self._role, source)
