"""The logit lens: the answer of each layer after each token; a click goes to the layer."""

from __future__ import annotations

from PySide6.QtCore import QSize, Signal, Slot
from PySide6.QtWidgets import QWidget

from attnviz.core.text import number
from attnviz.gui.live.subject import Subject
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.panels.lens.canvas import LensCanvas
from attnviz.gui.panels.panel import Panel
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.elided_label import ElidedLabel
from attnviz.gui.widgets.empty_state import EmptyState
from attnviz.gui.widgets.token_table import At, ScrolledTable
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import _
from attnviz.model.sites.titles import site_label
from attnviz.model.spec.document import Document
from attnviz.model.text import shown_token
from attnviz.model.trace import Trace
from attnviz.study.lens import Lens


class LensPanel(Panel):
    """Asks for the lens of what it shows, and draws it when it arrives."""

    asked = Signal(object)
    """The `Subject` whose lens is wanted, or None when the panel is hidden; the answer comes through
    `show_lens` or `show_problem`.
    """

    follows = ("site", "query")

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._lens: Lens | None = None
        self._of: Subject | None = None
        """The subject of the lens."""
        self._asked: Subject | None = None
        self._problem, self._lacks_logits = "", False
        self.canvas = LensCanvas()
        self.canvas.hovered.connect(self._on_hovered)
        self.canvas.chosen.connect(self._on_chosen)
        self._says = ElidedLabel()
        self._says.setObjectName("lens_says")
        self._says.setFont(ui_font(TEXT_PX))
        self._empty = EmptyState("")
        self._empty.triggered.connect(self._ask_again)
        self._scroll = ScrolledTable(self.canvas)
        column = in_column(self, self._says, spacing=GRID // 2)
        column.addWidget(self._scroll, 1)
        column.addWidget(self._empty, 1)
        store.opened.connect(self._on_opened)
        set_tone("muted", self._says)

    @property
    def lens(self) -> Lens | None:
        """The lens that is shown."""
        return self._lens

    def sizeHint(self) -> QSize:
        return QSize(480, 280)

    def on_document(self, old: Document | None, new: Document) -> None:
        self._mark()

    def on_trace(self, trace: Trace) -> None:
        """Ask again for other numbers; a document without logits has no lens."""
        self._lacks_logits = "logits" not in trace.site(trace.sites[-1]).stages
        subject = Subject.of(trace)
        if self._lacks_logits:
            self._asked, self._lens, self._of, self._problem = None, None, None, ""
            self.asked.emit(None)
        elif subject != self._asked:
            self._ask(subject)
        self._show()

    def _ask(self, subject: Subject) -> None:
        self._asked, self._problem = subject, ""
        self.asked.emit(subject)

    def set_seen(self, is_seen: bool) -> None:
        """Behind another tab nothing is computed: a lens under way is requested again in front."""
        is_under_way = self._asked is not None and self._asked is not self._of and not self._problem
        if not is_seen and self.is_seen and is_under_way:
            self._asked = None
            self.asked.emit(None)
            self.forget()
        super().set_seen(is_seen)

    def show_lens(self, answered: tuple[Subject, Lens]) -> None:
        """Draw the lens of the latest request; an earlier one is dropped."""
        subject, lens = answered
        if subject is self._asked:
            self._lens, self._of = lens, subject
            self.canvas.show_lens(lens, subject.experiment)
            self._mark()
            self._show()

    def show_problem(self, subject: Subject, why: str) -> None:
        """Say why the latest request has no answer; the lens of an earlier one is shown no more."""
        if subject is self._asked:
            self._lens, self._of, self._problem = None, None, why
            self._show()

    @Slot()
    def _ask_again(self) -> None:
        if self._asked is not None:
            self._ask(self._asked)
            self._show()

    def retranslate(self) -> None:
        self.setAccessibleName(_("Logit lens"))
        self.canvas.setAccessibleName(_("Logit lens"))
        self._show()

    def _show(self) -> None:
        has_lens = self._lens is not None
        self._scroll.setVisible(has_lens)
        self._says.setVisible(has_lens)
        self._empty.setVisible(not has_lens)
        self._empty.set_outcome(self._problem, self._why_empty())
        self._say(self.canvas.current)

    def _why_empty(self) -> str:
        if self._lacks_logits or self.store.trace is None:
            return _("The logit lens needs a model with logits, such as those of the generation presets.")
        return _("Computing the logit lens…")

    def _mark(self) -> None:
        """The selected layer and query."""
        document = self.store.document
        if self._lens is not None and document.site in self._lens.sites:
            at = self._lens.sites.index(document.site), document.view.query
            self._scroll.set_chosen(at if document.view.query < self._lens.tokens.shape[1] else None)

    @Slot(object)
    def _on_hovered(self, at: At | None) -> None:
        self._say(at)

    def _say(self, at: At | None) -> None:
        """The first tokens of a cell with their probabilities, or what the table shows."""
        if at is None or self._lens is None or self._of is None:
            self._says.set_line(
                _("Most probable token after each layer; a frame marks the one that follows in the text.")
            )
            return
        shares, experiment = self._lens.probabilities[at], self._of.experiment
        parts = [
            f"{shown_token(experiment.vocabulary, self._lens.vocabulary[token])} {number(float(share), 3)}"
            for token, share in zip(self._lens.tokens[at], shares, strict=True)
        ]
        said = _("{site}, “{token}”: {tokens}").format(
            site=site_label(experiment, self._lens.sites[at[0]]),
            token=shown_token(experiment.vocabulary, experiment.tokens[at[1]]),
            tokens=" · ".join(parts),
        )
        self._says.set_line(said)
        self.canvas.setAccessibleDescription(said)

    @Slot(object)
    def _on_chosen(self, at: At) -> None:
        """Go to the layer and the query."""
        if self._lens is not None:
            self.store.look(site=self._lens.sites[at[0]], query=at[1])

    @Slot()
    def _on_opened(self) -> None:
        self._asked, self._lens, self._of = None, None, None
        self._problem, self._lacks_logits = "", False
        self.canvas.show_lens(None, None)
        self._show()
