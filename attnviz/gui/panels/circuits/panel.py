"""The OV and QK circuits of the selected head through the vocabulary, and the arithmetic of one pair."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QLabel, QWidget

from attnviz.gui.live.circuits import CircuitAsked
from attnviz.gui.live.subject import Subject
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX, Theme
from attnviz.gui.panels.circuits.arithmetic import explained
from attnviz.gui.panels.circuits.rows import PairRows
from attnviz.gui.panels.panel import Panel
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.control import plain_tooltip
from attnviz.gui.widgets.document_line import DocumentLine
from attnviz.gui.widgets.elided_label import ElidedLabel
from attnviz.gui.widgets.empty_state import EmptyState
from attnviz.gui.widgets.explanation_page import ExplanationPage
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.sites.titles import site_label
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import shown_head
from attnviz.model.text import shown_token
from attnviz.model.trace import Trace
from attnviz.study.circuit_texts import formula_of

if TYPE_CHECKING:
    from attnviz.study.circuits import Pair

KINDS = (
    ("qk", N_("QK"), N_("The key tokens that a query token attends to most")),
    ("ov", N_("OV"), N_("The output tokens whose logits rise most where the head attends to a source token")),
)
TOKEN_WIDTH = 140
BESIDE = 560
"""Width from which the arithmetic stands beside the list."""
MOST_KEPT = 32
"""Circuits that are kept for another look at their heads."""


class CircuitsPanel(Panel):
    """Asks for the circuit of the selected head while it is seen, and lists its pairs when they arrive."""

    asked = Signal(object)
    """A CircuitAsked, or None to stop; the answer comes through `show_pairs` or `show_problem`."""

    follows = ("site", "head")

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._asked: CircuitAsked | None = None
        self._shown: CircuitAsked | None = None
        self._kept: list[tuple[CircuitAsked, tuple[Pair, ...]]] = []
        self._problem = ""
        self._of, self._first = QLabel(), QLabel()
        self._of.setObjectName("circuit_head")
        self._kind = Segmented(_kinds(), "")
        self._kind.setObjectName("circuit_kind")
        self._kind.set_value(KINDS[0][0])
        self._kind.changed.connect(self._ask)
        self._token = DocumentLine(is_live=False)
        self._token.setObjectName("circuit_token")
        self._token.setClearButtonEnabled(True)
        self._token.setMaximumWidth(TOKEN_WIDTH)
        self._token.editingFinished.connect(self._ask)
        self._says = ElidedLabel()
        self._says.setObjectName("circuit_says")
        for label in (self._of, self._first, self._says):
            label.setFont(ui_font(TEXT_PX))
        self.rows = PairRows()
        self.rows.clicked.connect(self._on_clicked)
        self.page = ExplanationPage()
        self.page.setObjectName("circuit_arithmetic")
        self._empty = EmptyState("")
        self._empty.triggered.connect(self._ask_again)
        top = QHBoxLayout()
        top.setSpacing(GRID)
        for part in (self._of, self._kind, self._first, self._token):
            top.addWidget(part)
        top.addStretch(1)
        self._body = QWidget()
        self._box = QBoxLayout(QBoxLayout.Direction.TopToBottom, self._body)
        self._box.setContentsMargins(0, 0, 0, 0)
        self._box.setSpacing(2 * GRID)
        self._box.addWidget(clear_scroll(self.rows, sideways=False), 3)
        self._box.addWidget(self.page, 2)
        column = in_column(self, spacing=GRID // 2)
        column.addLayout(top)
        column.addWidget(self._says)
        column.addWidget(self._body, 1)
        column.addWidget(self._empty, 1)
        store.opened.connect(self._on_opened)
        set_tone("muted", self._of, self._first, self._says)

    def sizeHint(self) -> QSize:
        return QSize(480, 280)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_wide = self.width() >= BESIDE
        way = QBoxLayout.Direction.LeftToRight if is_wide else QBoxLayout.Direction.TopToBottom
        if way != self._box.direction():
            self._box.setDirection(way)

    def on_document(self, old: Document | None, new: Document) -> None:
        self._ask()

    def on_trace(self, trace: Trace) -> None:
        """Ask again if another engine computes the numbers."""
        self._ask()

    def set_seen(self, is_seen: bool) -> None:
        """Behind another tab nothing is computed: a circuit under way is requested again in front."""
        if not is_seen and self.is_seen and self._is_under_way:
            self._stop()
            self.forget()
        super().set_seen(is_seen)

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        self.page.apply_theme(theme)

    def show_pairs(self, asked: CircuitAsked, pairs: tuple[Pair, ...]) -> None:
        """List the pairs of the latest request; an earlier one is dropped."""
        if asked is self._asked:
            self._kept = [(asked, pairs), *self._kept][:MOST_KEPT]
            self._list(asked, pairs)

    def show_problem(self, asked: CircuitAsked, why: str) -> None:
        """Say why the latest request has no answer."""
        if asked is self._asked:
            self._shown, self._problem = None, why
            self._show()

    def retranslate(self) -> None:
        self.setAccessibleName(_("Circuits"))
        self.rows.setAccessibleName(_("Pairs of tokens"))
        self.page.setAccessibleName(_("Arithmetic of the pair"))
        self._kind.set_options(_kinds())
        self._kind.setAccessibleName(_("Circuit of the head"))
        self._first.setText(_("pairs from"))
        self._token.setAccessibleName(_("First token of the pairs"))
        self._token.setPlaceholderText(_("all tokens"))
        tip = _("Only pairs with this token as the first; empty is every token of the vocabulary")
        self._token.setToolTip(plain_tooltip(tip))
        self._name_head()
        if self._shown is not None:
            self._on_clicked(0)
        self._show()

    def _name_head(self) -> None:
        head = shown_head(self.store.attention, self.store.document.view, "weights")
        title = _("head {head}").format(head=head + 1)
        self._of.setText(f"{site_label(self.store.experiment, self.store.document.site)} · {title}")

    @Slot()
    def _ask(self) -> None:
        """Request the circuit of the selected head, unless it is shown, kept, or the latest request."""
        trace, experiment, view = self.store.trace, self.store.experiment, self.store.document.view
        if trace is None:
            return
        site, head = self.store.document.site, shown_head(self.store.attention, view, "weights")
        subject = Subject(experiment, trace.engine, trace.device)
        asked = CircuitAsked(subject, site, head, self._kind.value(), self._token.text())
        self._name_head()
        if experiment.vocabulary is None:
            self._stop()
            self._problem = ""
        elif not asked.is_like(self._asked):
            self._problem = ""
            kept = next((one for one in self._kept if asked.is_like(one[0])), None)
            if kept is not None:
                self._stop()
                self._asked = asked
                self._list(asked, kept[1])
            else:
                self._asked, self._shown = asked, None
                self.asked.emit(asked)
        self._show()

    @property
    def _is_under_way(self) -> bool:
        return self._asked is not None and self._shown is not self._asked and not self._problem

    def _stop(self) -> None:
        is_under_way = self._is_under_way
        self._asked, self._shown = None, None
        if is_under_way:
            self.asked.emit(None)

    def _list(self, asked: CircuitAsked, pairs: tuple[Pair, ...]) -> None:
        self._shown, self._problem = asked, ""
        vocabulary = self.store.experiment.vocabulary
        self.rows.set_pairs(
            tuple(
                replace(
                    pair,
                    first=shown_token(vocabulary, pair.first),
                    second=shown_token(vocabulary, pair.second),
                )
                for pair in pairs
            )
        )
        self._on_clicked(0)
        self._show()

    def _show(self) -> None:
        has_pairs = self._shown is not None
        has_vocabulary = self.store.experiment.vocabulary is not None
        self._body.setVisible(has_pairs)
        self._empty.setVisible(not has_pairs)
        self._says.setVisible(has_vocabulary)
        self._says.set_line(formula_of(self._kind.value(), self.store.attention))
        says = _("Circuits need a model with a vocabulary, such as those of the generation presets.")
        if has_vocabulary:
            says = _("Multiplying all pairs of tokens of the vocabulary…")
        self._empty.set_outcome(self._problem, says)

    @Slot(int)
    def _on_clicked(self, row: int) -> None:
        """Open the arithmetic of a pair."""
        if self._shown is not None and row < len(self.rows.pairs):
            self.rows.set_chosen(row)
            self.page.set_explanation(explained(self.rows.pairs[row], self._shown.kind, row))

    @Slot()
    def _ask_again(self) -> None:
        self._asked = None
        self._ask()

    @Slot()
    def _on_opened(self) -> None:
        """Hold no pairs and no numbers of another document."""
        self._stop()
        self._kept.clear()
        self.rows.set_pairs(())
        self.page.forget()


def _kinds() -> tuple[tuple[str, str, str], ...]:
    return tuple((id_, _(title), _(hint)) for id_, title, hint in KINDS)
