"""Runs A and B: what differs, a table of both, and the sentence that says by which step they part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from html import escape

import numpy as np
from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QWidget

from attnviz.core.text import number
from attnviz.gui.live.training import Other, Plan
from attnviz.gui.look.theme import GRID, TEXT_PX, Theme
from attnviz.gui.look.words import says
from attnviz.gui.panels.training.choices import NUMBERS
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.control import active_theme
from attnviz.gui.widgets.linked_text import LinkedText, line
from attnviz.i18n import N_, _
from attnviz.model.spec.experiment import Experiment
from attnviz.study.contrast.differences import differences
from attnviz.training.differences import DIFFERENCE_BY_ID, Difference, differences_of
from attnviz.training.optimiser import OPTIMISER_BY_ID, Settings
from attnviz.training.parameters import parameters_of, size_of
from attnviz.training.record import Measures, first_above
from attnviz.training.seen import SOLVED, compared
from attnviz.training.turns import Beside, Picture

BEFORE = "before"
"""The choice of the run before as run B."""
HALF = 0.5
FAR = 25
"""Steps that run B may be behind without a word."""
OTHERS = {"optimiser": N_("Optimiser"), "warmup": N_("Warm-up steps")}
"""Titles of settings that are no numbers of the choices."""
MOST_NAMED = 2
"""Differences of the run before that are named."""


class VersusCard(QWidget):
    """`chosen` carries a difference; None: the run before."""

    chosen = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("training_versus")
        self._theme = active_theme()
        self._plan: Plan | None = None
        self._other: Other | None = None
        self._counts: list[int] = []
        self._differ = ""
        self._rows: tuple[Difference, ...] = ()
        self._of: Experiment | None = None
        self._picture: Picture | None = None
        self._beside: Beside | None = None
        tip = N_("Run B: the same texts and the same beginning, with one difference")
        self.choice = says(Combo(()), id="training_compare", name=N_("Compare with"), tip=tip)
        self.choice.changed.connect(self._on_choice)
        self.table, self.said = (LinkedText(f"training_{name}", TEXT_PX) for name in ("both", "parts"))
        column = in_column(self, self.choice, self.table, self.said, spacing=GRID)
        column.addStretch(1)

    def set_model(self, experiment: Experiment, settings: Settings) -> None:
        """Offer the differences of a model; found once for each, as a number is dragged from run to run."""
        if experiment is not self._of:
            self._of, self._rows = experiment, differences_of(experiment, settings)
            self._offer()

    def forget(self) -> None:
        """Hold no model."""
        self._of, self._rows = None, ()
        self.set_runs(None, None, None, None)

    def set_runs(
        self, plan: Plan | None, picture: Picture | None, other: Other | None, beside: Beside | None
    ) -> None:
        """Show run A, and run B or none."""
        before = self._plans
        self._plan, self._other, self._picture, self._beside = plan, other, picture, beside
        if self._plans != before:
            self._counts = [0 if one is None else _size(one) for one in self._plans]
            self._differ = self._difference()
        self._show()

    def apply_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._show()

    def retranslate(self) -> None:
        self._differ = self._difference()
        self._offer()
        self._show()

    def _offer(self) -> None:
        before = BEFORE, _("the run before"), _("The last run, once another one begins with the same texts")
        self.choice.set_options((before, *((row.id, _(row.title), "") for row in self._rows)))
        self.choice.set_value(BEFORE if self._other is None else self._other.difference or BEFORE)

    def _show(self) -> None:
        other, beside, picture = self._other, self._beside, self._picture
        self.choice.set_value(BEFORE if other is None else other.difference or BEFORE)
        self.table.setVisible(other is not None)
        if other is None:
            hint = _("Choose a difference: run B learns the same texts, and both are drawn over each other.")
            self.said.set_body(line(escape(hint), f"color: {self._theme.muted}"))
            return
        first = () if picture is None else picture.measures
        second = () if beside is None else beside.measures
        self.table.set_body(self._table(first, second))
        self.said.set_body("".join(map(line, map(escape, self._sentences(first, second)))))

    def _sentences(self, first: Sequence[Measures], second: Sequence[Measures]) -> list[str]:
        """The difference, the step by which the runs part, and why B has ended or waits."""
        said = [self._differ] if self._differ else []
        said.append(compared(first, second))
        beside, picture = self._beside, self._picture
        if beside is not None and beside.reason is not None:
            said.append(_("Run B has ended: {reason}").format(reason=beside.reason.text()))
        elif beside is not None and picture is not None and beside.step + FAR < picture.steps[-1]:
            said.append(_("Run B is at step {step}; it catches up first.").format(step=beside.step))
        return said

    def _table(self, first: Sequence[Measures], second: Sequence[Measures]) -> str:
        """Numbers to learn, the first steps over a half and 0.9, loss and score at the last common step."""
        known = {one.step: one for one in second}
        both = next(((one, known[one.step]) for one in reversed(first) if one.step in known), None)
        theme = self._theme
        rows = [(_("numbers to learn"), [f"{count:,}" for count in self._counts])]
        for share in (HALF, SOLVED):
            steps = [_step(of, share) for of in (first, second)]
            rows.append((_("over {share} by step").format(share=share), steps))
        if both is not None:
            at = both[0].step
            rows += [
                (_("loss at step {step}").format(step=at), [number(one.loss) for one in both]),
                (_("best induction score"), [number(_best(one), 2) for one in both]),
            ]
        head = (
            f"<tr><td></td><td align='right' style='color: {theme.accent}'><b>A</b></td>"
            f"<td align='right' style='color: {theme.muted}'><b>B</b></td></tr>"
        )
        cells = (
            f"<tr><td style='color: {theme.muted}'>{escape(name)}</td><td align='right'>{escape(a)}</td>"
            f"<td align='right'>{escape(b)}</td></tr>"
            for name, (a, b) in rows
        )
        return f"<table cellspacing='0' cellpadding='2' width='100%'>{head}{''.join(cells)}</table>"

    @property
    def _plans(self) -> tuple[Plan | None, Plan | None]:
        return self._plan, None if self._other is None else self._other.plan

    def _difference(self) -> str:
        """The difference of run B in words; empty without it."""
        return "" if self._plan is None or self._other is None else _difference(self._plan, self._other)

    @Slot(str)
    def _on_choice(self, id_: str) -> None:
        self.chosen.emit(DIFFERENCE_BY_ID.get(id_))


def _size(plan: Plan) -> int:
    return size_of(parameters_of(plan.experiment))


def _step(measures: Sequence[Measures], share: float) -> str:
    found = first_above(measures, share)
    return "–" if found is None else str(found)


def _best(one: Measures) -> float:
    """The largest induction score of a head."""
    found = [value for (score, *_place), value in one.scores.items() if score == "induction"]
    return float(np.nanmax(found)) if found else float("nan")


def _said(value: object) -> str:
    """A setting in words."""
    row = OPTIMISER_BY_ID.get(str(value))
    return str(value) if row is None else _(row.title)


def _difference(plan: Plan, other: Other) -> str:
    """The difference of run B in words."""
    row = DIFFERENCE_BY_ID.get(other.difference)
    if row is not None:
        return _("B is A {difference}.").format(difference=_(row.title))
    titles = {one.id: one.title for one in NUMBERS} | OTHERS
    found = [
        _("{field}: {a} and {b}").format(
            field=_(titles[one.name]), a=_said(getattr(mine, one.name)), b=_said(getattr(theirs, one.name))
        )
        for mine, theirs in ((plan.settings, other.plan.settings), (plan.course, other.plan.course))
        for one in fields(mine)
        if one.name in titles and one.name != "steps" and getattr(mine, one.name) != getattr(theirs, one.name)
    ]
    if plan.experiment is not other.plan.experiment:
        found += [
            _("{field}: {a} and {b}").format(field=one.title(), a=one.texts()[0], b=one.texts()[1])
            for one in differences(plan.experiment, other.plan.experiment)[:MOST_NAMED]
        ]
    said = "; ".join(found[:MOST_NAMED])
    return _("B is the run before. {differences}").format(differences=said).strip()
