"""The logit lens: the most probable token after each layer, tinted by its probability; a click goes there."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QColor, QFontMetricsF, QPainter
from PySide6.QtWidgets import QWidget

from attnviz.core.progress import Progress
from attnviz.core.text import number
from attnviz.gui.live.answer import Answer
from attnviz.gui.live.subject import Subject
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.look.words import says
from attnviz.gui.panels.answer import AnswerPanel, has_logits
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.elided_label import ElidedLabel
from attnviz.gui.widgets.token_table import At, ScrolledTable, TokenTable
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.sites.titles import row_title, site_label
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.text import shown_token, written_tokens
from attnviz.study.lens import Lens

TILES = "grid"
"""The job of the grid of heads beside it."""

DEEPEST = 0.45
"""Share of the accent in the cell of a certain token, on which ink is still readable."""


class LensPanel(AnswerPanel[Subject, Lens]):
    """Asks for the lens of the run, after the tiles of the grid, whose worker it takes for seconds."""

    follows = ("site", "query")

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        says(self, name=N_("Logit lens"))
        self.picture = LensPicture()
        self.picture.canvas.chosen.connect(self._on_chosen)
        empty = self.shows(Answer("lens", compute, self, after=TILES), self.picture)
        in_column(self, self.picture, empty, spacing=0)

    def question(self) -> Subject | None:
        trace = self.store.trace
        return Subject.of(trace) if trace is not None and has_logits(trace) else None

    def why_empty(self) -> str:
        trace = self.store.trace
        if trace is None or not has_logits(trace):
            return _("The logit lens needs a model with logits, such as those of the generation presets.")
        return _("Computing the logit lens…")

    def on_document(self, old: Document | None, new: Document) -> None:
        self.show_answer()

    def show_answer(self) -> None:
        self.picture.show_answer(self.store.document, self.answer)

    @Slot(object)
    def _on_chosen(self, at: At) -> None:
        """Go to the layer and the query."""
        if self.answer.result is not None:
            self.store.look(site=self.answer.result.sites[at[0]], query=at[1])


def compute(subject: Subject, check: Progress) -> Lens:
    """The lens of the subject's experiment, in a worker."""
    from attnviz.study.lens import logit_lens

    return logit_lens(subject.experiment, engine=subject.engine, device=subject.device, check=check)


class LensPicture(QWidget):
    """The table, and above it the first tokens of a cell with their probabilities."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._lens: Lens | None = None
        self._of: Experiment | None = None
        self.canvas = LensCanvas()
        self.canvas.hovered.connect(self._say)
        self._scroll = ScrolledTable(self.canvas)
        self._says = ElidedLabel()
        self._says.setObjectName("lens_says")
        self._says.setFont(ui_font(TEXT_PX))
        in_column(self, self._says, spacing=GRID // 2).addWidget(self._scroll, 1)
        set_tone("muted", self._says)

    def show_answer(self, document: Document, answer: Answer[Subject, Lens]) -> None:
        """Draw the lens over the tokens of its experiment, and mark the selected layer and query."""
        self._lens, self._of = answer.result, None if answer.of is None else answer.of.experiment
        self.canvas.show_lens(self._lens, self._of)
        if self._lens is not None and document.site in self._lens.sites:
            at = self._lens.sites.index(document.site), document.view.query
            self._scroll.set_chosen(at if document.view.query < self._lens.tokens.shape[1] else None)
        self._say(self.canvas.current)

    @Slot(object)
    def _say(self, at: At | None) -> None:
        if at is None or self._lens is None or self._of is None:
            self._says.set_line(
                _("Most probable token after each layer; a frame marks the one that follows in the text.")
            )
            return
        shares, experiment = self._lens.probabilities[at], self._of
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


class LensCanvas(TokenTable):
    """Layers upwards, tokens across; a frame marks the token that follows in the text."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("lens_canvas")
        self._lens: Lens | None = None
        self._of: Experiment | None = None

    def show_lens(self, lens: Lens | None, of: Experiment | None) -> None:
        """Show another lens over the tokens of its experiment; None for none."""
        self.setAccessibleName(_("Logit lens"))
        self._lens, self._of = lens, of
        rows = () if lens is None or of is None else tuple(row_title(of, site) for site in lens.sites)
        self.set_table(rows, () if of is None else written_tokens(of.vocabulary, of.tokens))

    def text_at(self, at: At) -> str:
        """The token that is shown in a cell."""
        assert self._lens is not None and self._of is not None
        return shown_token(self._of.vocabulary, self._lens.vocabulary[self._lens.tokens[at][0]])

    def is_right(self, at: At) -> bool:
        """True if the cell's token is the one that follows in the text."""
        assert self._lens is not None and self._of is not None
        following = self._of.tokens[at[1] + 1 : at[1] + 2]
        return following == (self._lens.vocabulary[self._lens.tokens[at][0]],)

    def _paint_cell(self, painter: QPainter, metrics: QFontMetricsF, at: At) -> None:
        assert self._lens is not None
        box, theme = self.cell(at), self._theme
        tint = QColor(theme.accent)
        tint.setAlphaF(DEEPEST * min(1.0, float(self._lens.probabilities[at][0])))
        painter.fillRect(box, tint)
        painter.setPen(QColor(theme.ink))
        inside = box.adjusted(4, 0, -4, 0)
        text = metrics.elidedText(self.text_at(at), Qt.TextElideMode.ElideRight, inside.width())
        painter.drawText(inside, Qt.AlignmentFlag.AlignVCenter, text)
        if self.is_right(at):
            self._outline(painter, box, theme.value, 2.0)
