"""The failure lab: each card breaks the present document by a click, names what fails first, and mends it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from attnviz.core.phrases import named
from attnviz.core.progress import Progress
from attnviz.gui.live.answer import Answer
from attnviz.gui.live.trace import GUI_CORES
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.look.words import says
from attnviz.gui.panels.panel import Panel
from attnviz.gui.store import Store
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.link_line import LinkLine
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.sites.titles import site_label
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import Trace
from attnviz.study.failures.checks import Finding
from attnviz.study.failures.running import mended
from attnviz.study.failures.table import FAILURE_BY_ID, FAILURES, Failure


@dataclass(frozen=True, eq=False)
class Broken:
    """A failure that was brought about: the experiment before it and right after it."""

    failure: Failure
    before: Experiment
    after: Experiment


@dataclass(frozen=True, eq=False)
class Question:
    """The first failing stage of a run with a failure."""

    trace: Trace
    broken: Broken


def first_failing(asked: Question, check: Progress) -> Finding | None:
    """The first stage that fails, in a worker; None if all are sound."""
    from attnviz.study.failures.running import first_failure

    return first_failure(asked.trace, asked.broken.failure, asked.broken.before, GUI_CORES, check)


class FailuresPanel(Panel):
    """Cards of `FAILURES`; one at a time is broken."""

    follows = ("site",)

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._broken: Broken | None = None
        self._finding: Finding | None = None
        self._search = self.asks(Answer("failures", first_failing, self))
        self._search.answered.connect(self._on_found)
        says(self, name=N_("Failure lab"))
        self._cards = {row.id: Card(row) for row in FAILURES}
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2 * GRID)
        for id_, card in self._cards.items():
            card.button.clicked.connect(partial(self._on_pressed, id_))
            card.finding.clicked.connect(self._go)
            column.addWidget(card)
        column.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(clear_scroll(content, sideways=False))
        store.opened.connect(self._on_opened)

    @property
    def broken(self) -> str:
        """The id of the failure that is in the document; empty without."""
        return "" if self._broken is None else self._broken.failure.id

    def card(self, id_: str) -> Card:
        """The card of a failure."""
        return self._cards[id_]

    def on_document(self, old: Document | None, new: Document) -> None:
        """A document from which undo took the failure out is mended."""
        if self._broken is not None and new.experiment == self._broken.before:
            self._forget()
        self._show()

    def on_trace(self, trace: Trace) -> None:
        if self._broken is not None:
            self._search.ask(Question(trace, self._broken))

    @Slot()
    def _on_found(self) -> None:
        """Name the first stage that fails in the numbers of the question; none if all are sound."""
        if self._search.problem is None:
            self._finding = self._search.result
            self._show()
        self._search.clear()  # it holds a run

    def retranslate(self) -> None:
        self._show()

    def _show(self) -> None:
        experiment, site = self.store.experiment, self.store.document.site
        for row in FAILURES:
            is_broken = row.id == self.broken
            is_possible = is_broken or row.breaks(experiment, site) is not None
            self._cards[row.id].show_state(is_broken, is_possible, self._said() if is_broken else "")

    def _said(self) -> str:
        """The finding with its place."""
        if self._finding is None:
            return ""
        title = _(STAGE_BY_ID[self._finding.stage].title)
        if self.store.trace is not None and len(self.store.trace.sites) > 1:
            title = f"{site_label(self.store.trace.experiment, self._finding.site)} · {title}"
        return _("Fails first: {stage}. {says}").format(stage=title, says=self._finding.says.text())

    def _on_pressed(self, id_: str) -> None:
        """Break the document, or mend it; another failure is mended first."""
        was = self.broken
        if self._broken is not None:
            broken = self._broken
            self._forget()
            self.store.edit(lambda present: mended(present, broken.before, broken.after))
        if id_ != was:
            self._break(FAILURE_BY_ID[id_])
        self._show()

    def _break(self, failure: Failure) -> None:
        before = self.store.experiment
        after = failure.breaks(before, self.store.document.site)
        if after is None:
            return
        self._broken = Broken(failure, before, after)
        if not self.store.edit(lambda _present: after):
            self._forget()

    def _forget(self) -> None:
        self._broken, self._finding = None, None
        self._search.clear()

    @Slot()
    def _go(self) -> None:
        """Show the stage that fails."""
        if self._finding is not None:
            self.store.look(site=self._finding.site, stage=self._finding.stage, locked=None)

    @Slot()
    def _on_opened(self) -> None:
        self._forget()


class Card(QWidget):
    """One failure: its title, its fault, its button; in a broken document also the finding and the cure."""

    def __init__(self, failure: Failure, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(f"failure_{failure.id}")
        self._failure = failure
        self._title, self._says, self._cure = QLabel(), QLabel(), QLabel()
        for label in (self._title, self._says, self._cure):
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setWordWrap(True)
            label.setFont(ui_font(TEXT_PX))
        self.finding = LinkLine()
        self.finding.setObjectName(f"failure_{failure.id}_finding")
        self.button = Button()
        self.button.setObjectName(f"failure_{failure.id}_button")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID // 2)
        for part in (self._title, self._says, self.finding, self._cure):
            column.addWidget(part)
        column.addWidget(self.button, 0, Qt.AlignmentFlag.AlignLeft)
        set_tone("muted", self._says, self._cure)
        set_tone("title", self._title)

    def show_state(self, is_broken: bool, is_possible: bool, finding: str) -> None:
        """Show the card of a broken or a sound document."""
        title = _(self._failure.title)
        self._title.setText(title)
        self._says.setText(_(self._failure.says))
        self._cure.setText(_("Cure: {cure}").format(cure=_(self._failure.cure)))
        self._cure.setVisible(is_broken)
        self.finding.set_text(finding)
        self.button.setText(_("Mend") if is_broken else _("Break"))
        self.button.setAccessibleName(named(self.button.text(), title))
        self.button.setEnabled(is_possible)
        needs = "" if is_possible else _("Needs {what}").format(what=_(self._failure.needs))
        self.button.setToolTip(needs or (_("Restore what the failure changed") if is_broken else _(_BREAKS)))


_BREAKS = N_("Cause this failure in the document; undo and Mend revert it")
