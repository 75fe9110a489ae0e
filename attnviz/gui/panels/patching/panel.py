"""Activation patching: a stage of a clean text in the document at each position, and the restored share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QSize, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from attnviz.core.text import isolated, number, visible
from attnviz.gui.live.patching import PatchAsked
from attnviz.gui.live.subject import Subject
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.panels.panel import Panel
from attnviz.gui.panels.patching.canvas import PatchCanvas
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.control import plain_tooltip
from attnviz.gui.widgets.document_line import DocumentLine
from attnviz.gui.widgets.elided_label import ElidedLabel
from attnviz.gui.widgets.empty_state import EmptyState
from attnviz.gui.widgets.token_table import At, ScrolledTable
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import _
from attnviz.model.sites.sites import at as site_at
from attnviz.model.sites.titles import site_label
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.text import shown_token, written_tokens
from attnviz.model.trace import Trace

if TYPE_CHECKING:
    from attnviz.study.patching import Recovered

PATCHED_STAGES = ("layer_input", "attention_output", "ffn_output", "mixed", "q", "k", "v", "weights")
BY_HEAD = ("mixed",)
"""Stages whose heads are patched one by one: what each head adds. Others have all heads of a position."""
ANSWER_WIDTH = 120


class PatchingPanel(Panel):
    """Asks for the map while it is seen and has a clean text, and draws it when it arrives."""

    asked = Signal(object)
    """A PatchAsked, or None to stop; the answer comes through `show_recovered` or `show_problem`."""

    follows = ("site", "head", "query")

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._trace: Trace | None = None
        self._pinned: Experiment | None = None
        self._asked: PatchAsked | None = None
        self._recovered: Recovered | None = None
        self._rows: tuple[tuple[str, int], ...] = ()
        self._problem = ""
        self._of, self._in = QLabel(), QLabel()
        self._clean = self._line("patch_clean")
        self._answer, self._against = self._line("patch_answer"), self._line("patch_against")
        for line in (self._answer, self._against):
            line.setMaximumWidth(ANSWER_WIDTH)
        self._stage = Combo(_stages())
        self._stage.setObjectName("patch_stage")
        self._stage.set_value(PATCHED_STAGES[0])
        self._stage.changed.connect(self._ask)
        self.canvas = PatchCanvas()
        self.canvas.hovered.connect(self._say)
        self.canvas.chosen.connect(self._on_chosen)
        self._says = ElidedLabel()
        self._says.setObjectName("patch_says")
        for label in (self._of, self._in, self._says):
            label.setFont(ui_font(TEXT_PX))
        self._empty = EmptyState("")
        self._empty.triggered.connect(self._ask_again)
        self._scroll = ScrolledTable(self.canvas)
        self._lay_out()
        store.opened.connect(self._on_opened)
        set_tone("muted", self._of, self._in, self._says)

    def _line(self, name: str) -> DocumentLine:
        line = DocumentLine(is_live=False)
        line.setObjectName(name)
        line.setClearButtonEnabled(True)
        line.editingFinished.connect(self._ask)
        return line

    def _lay_out(self) -> None:
        top, second = QHBoxLayout(), QHBoxLayout()
        top.addWidget(self._clean, 2)
        top.addWidget(self._stage, 1)
        for part in (self._of, self._answer, self._in, self._against):
            second.addWidget(part)
        second.addStretch(1)
        column = in_column(self, spacing=GRID // 2)
        for row in (top, second):
            row.setSpacing(GRID)
            column.addLayout(row)
        column.addWidget(self._says)
        column.addWidget(self._scroll, 1)
        column.addWidget(self._empty, 1)

    @property
    def recovered(self) -> Recovered | None:
        """The map that is shown."""
        return self._recovered

    def sizeHint(self) -> QSize:
        return QSize(480, 280)

    def set_pinned(self, pinned: Experiment | None) -> None:
        """The pinned state A, whose text is the clean one while none is written."""
        self._pinned = pinned
        self._show_placeholder()
        self._ask()

    def on_document(self, old: Document | None, new: Document) -> None:
        self._mark()

    def on_trace(self, trace: Trace) -> None:
        if trace is not self._trace:
            self._trace = trace
            self._ask()

    def set_seen(self, is_seen: bool) -> None:
        """Behind another tab the panel asks for nothing, and holds no trace."""
        if not is_seen and self.is_seen:
            self._trace = None
            self._ask()
        super().set_seen(is_seen)
        if is_seen and self._trace is None and self.store.trace is not None:
            self.on_trace(self.store.trace)

    def show_recovered(self, asked: PatchAsked, found: Recovered) -> None:
        """Draw the map of the latest request; an earlier one is dropped."""
        if asked is not self._asked:
            return
        if found.clean == found.corrupted:
            self.show_problem(asked, _("The two texts must have different answers; both have the same one."))
            return
        n_tokens = asked.experiment.n_queries
        parts = {
            site: shares.reshape(-1, n_tokens)
            for site, shares in found.values.items()
            if shares.shape[-1] == n_tokens
        }
        self._recovered, self._problem = found, ""
        self._rows = tuple((site, row) for site, shares in parts.items() for row in range(len(shares)))
        titles = tuple(self._title(asked.experiment, *row, len(parts[row[0]]) > 1) for row in self._rows)
        shares = np.concatenate(list(parts.values())) if parts else np.empty((0, 0))
        words = written_tokens(asked.experiment.vocabulary, asked.experiment.tokens)
        self.canvas.show_shares(titles, words, shares)
        self._answer.setPlaceholderText(self._named(found.target.token))
        against = found.target.against
        self._against.setPlaceholderText(_("none") if against is None else self._named(against))
        self._mark()
        self._show()

    def show_problem(self, asked: PatchAsked, why: str) -> None:
        """Say why the latest request has no answer."""
        if asked is self._asked:
            self._recovered, self._problem = None, why
            self._show()

    def retranslate(self) -> None:
        self.setAccessibleName(_("Patching"))
        self.canvas.setAccessibleName(_("Map of patching"))
        self._clean.setAccessibleName(_("Clean text"))
        self._clean.setToolTip(
            plain_tooltip(_("A text with as many tokens as the document and another answer; empty is A"))
        )
        self._stage.setAccessibleName(_("Patched stage"))
        self._stage.setToolTip(plain_tooltip(_("The stage that is replaced by that of the clean text")))
        self._stage.set_options(_stages())
        self._of.setText(_("answer"))
        self._in.setText(_("instead of"))
        self._answer.setAccessibleName(_("Answer to the clean text"))
        self._against.setAccessibleName(_("Answer to the document"))
        tip = _("A token of the vocabulary; empty takes the most probable next token of each text")
        for line in (self._answer, self._against):
            line.setToolTip(plain_tooltip(tip))
        self._show_placeholder()
        self._show()

    def _show_placeholder(self) -> None:
        if self._pinned is None:
            self._clean.setPlaceholderText(_("Clean text, such as the document with one word replaced"))
            return
        tokens = written_tokens(self._pinned.vocabulary, self._pinned.tokens)
        text = _("A: {text}").format(text=isolated(visible("".join(tokens))))
        self._clean.setPlaceholderText(text)

    @Slot()
    def _ask(self) -> None:
        """Request the map of the present texts, stage and answers, unless it is the latest request."""
        trace, text = self._trace, self._clean.text()
        clean = text or self._pinned
        if trace is None or not clean or "logits" not in trace.site(trace.sites[-1]).stages:
            self._asked, self._recovered, self._problem = None, None, ""
            self.asked.emit(None)
            self._show()
            return
        stage = self._stage.value()
        asked = PatchAsked(
            Subject.of(trace), clean, stage, self._answer.text(), self._against.text(), stage in BY_HEAD
        )
        if asked != self._asked:
            self._asked, self._recovered, self._problem = asked, None, ""
            self.asked.emit(asked)
            self._show()

    @Slot()
    def _ask_again(self) -> None:
        self._asked = None
        self._ask()

    def _show(self) -> None:
        has_map = self._recovered is not None
        self._scroll.setVisible(has_map)
        self._empty.setVisible(not has_map)
        self._says.setVisible(has_map)
        if not has_map:
            self._empty.set_outcome(self._problem, self._why_empty())
        self._say(self.canvas.current)

    def _why_empty(self) -> str:
        if self._asked is not None:
            return _("Patching every site at every position…")
        if self._trace is not None and "logits" not in self._trace.site(self._trace.sites[-1]).stages:
            return _("Patching needs a model with logits, such as those of the generation presets.")
        return _("Write a clean text above, or pin it as A: the document is the corrupted text.")

    def _title(self, experiment: Experiment, site: str, head: int, has_heads: bool) -> str:
        layer = site_at(experiment, site).place
        own = str(layer.layer + 1) if layer.stack == "layers" else site_label(experiment, site)
        return f"{own}.{head + 1}" if has_heads else own

    def _mark(self) -> None:
        """The selected attention, head and query."""
        document = self.store.document
        rows = [row for row, (site, _head) in enumerate(self._rows) if site == document.site]
        if not rows:
            self._scroll.set_chosen(None)
            return
        row = rows[min(document.view.head, len(rows) - 1)]
        self._scroll.set_chosen((row, document.view.query))

    def _named(self, token: str) -> str:
        """A token of the document's vocabulary inside a sentence."""
        return isolated(shown_token(self.store.experiment.vocabulary, token))

    @Slot(object)
    def _say(self, at: At | None) -> None:
        """The share of a cell, or both targets."""
        found, asked = self._recovered, self._asked
        if found is None or asked is None:
            return
        if at is None:
            of = self._named(found.target.token)
            against = found.target.against
            target = of if against is None else f"{of} − {self._named(against)}"
            says = _("Logit {target}: clean {clean}, document {corrupted}; 1 restores the clean logit.")
            self._says.set_line(
                says.format(target=target, clean=number(found.clean, 3), corrupted=number(found.corrupted, 3))
            )
            return
        site, row = self._rows[at[0]]
        shares = found.values[site].reshape(-1, asked.experiment.n_queries)
        said = _("{site}, “{token}”: {stage} of the clean text recovers {share}").format(
            site=site_label(asked.experiment, site)
            + (f" · {_('head {head}').format(head=row + 1)}" if len(shares) > 1 else ""),
            token=self._named(asked.experiment.tokens[at[1]]),
            stage=_(STAGE_BY_ID[asked.stage].title),
            share=number(float(shares[row, at[1]]), 3),
        )
        self._says.set_line(said)
        self.canvas.setAccessibleDescription(said)

    @Slot(object)
    def _on_chosen(self, at: At) -> None:
        """Go to the attention, the position, and the head if the rows are heads."""
        site, row = self._rows[at[0]]
        is_head = self._asked is not None and self._asked.each_head
        head = row if is_head else self.store.document.view.head
        self.store.look(site=site, query=at[1], head=head)

    @Slot()
    def _on_opened(self) -> None:
        """Nothing of another document is shown under this one."""
        self._trace, self._rows = None, ()
        self._ask()


def _stages() -> tuple[tuple[str, str, str], ...]:
    return tuple((id_, _(STAGE_BY_ID[id_].title), "") for id_ in PATCHED_STAGES)
