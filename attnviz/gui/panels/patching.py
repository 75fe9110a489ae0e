"""Activation patching: a stage of a clean text in the document at each position, and the restored share."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QColor, QFocusEvent, QFontMetricsF, QPainter
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from attnviz.core.progress import Progress
from attnviz.core.text import isolated, number, visible
from attnviz.errors import InputError, Message
from attnviz.gui.live.answer import Answer
from attnviz.gui.live.subject import Subject
from attnviz.gui.look.colors import LEVELS, cell_colors, inks
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.look.words import says
from attnviz.gui.panels.answer import AnswerPanel, has_logits
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.document_line import DocumentLine
from attnviz.gui.widgets.elided_label import ElidedLabel
from attnviz.gui.widgets.token_table import At, ScrolledTable, TokenTable
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.edit.edits import with_text
from attnviz.model.looks import look_of, query_in_focus
from attnviz.model.sites.sites import at as site_at
from attnviz.model.sites.titles import site_label
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.view import query_head
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.text import join_text, own_splitting, shown_token, written_tokens
from attnviz.model.trace import Trace
from attnviz.study.patching import Recovered


@dataclass(frozen=True)
class Question:
    """The subject, which is corrupted, and the clean experiment or its text.

    An empty answer takes the most probable next token of each text.
    """

    subject: Subject
    clean: Experiment | str
    stage: str
    answer: str
    against: str
    each_head: bool

    @property
    def experiment(self) -> Experiment:
        return self.subject.experiment

    def clean_experiment(self) -> Experiment:
        """The document with the clean text, cut by the model's own rule where it has one.

        Raises `InputError` if it has not as many tokens as the document.
        """
        clean = self.clean if isinstance(self.clean, Experiment) else with_text(self.experiment, self.clean)
        if clean.n_queries != self.experiment.n_queries:
            as_long = Message(
                "The clean text must have as many tokens as the document, {n}; got {found}.",
                n=self.experiment.n_queries,
                found=clean.n_queries,
            )
            raise InputError(as_long)
        return clean


def compute(asked: Question, check: Progress) -> Recovered:
    """The shares of every site and position, in a worker. Raises as `patch`, and for texts of one answer."""
    from attnviz.study.patching import patch
    from attnviz.study.target import Target

    patched = patch(
        asked.clean_experiment(),
        asked.experiment,
        Target(asked.answer, asked.against or None) if asked.answer else None,
        asked.stage,
        each_head=asked.each_head,
        engine=asked.subject.engine,
        device=asked.subject.device,
        check=check,
    )
    if patched.clean == patched.corrupted:
        raise InputError(Message("The two texts must have different answers; both have the same one."))
    return patched


_MIDDLE = (LEVELS - 1) // 2


class PatchPicture(QWidget):
    """Sites upwards, or their heads one by one, tokens across."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.canvas = PatchCanvas()
        self.canvas.hovered.connect(self._say)
        self._scroll = ScrolledTable(self.canvas)
        self._says = ElidedLabel()
        self._says.setObjectName("patch_says")
        self._says.setFont(ui_font(TEXT_PX))
        self._found: Recovered | None = None
        self._of: Question | None = None
        self.rows: tuple[tuple[str, int], ...] = ()
        """(site, number of the row in it) of each row."""
        in_column(self, self._says, spacing=GRID // 2).addWidget(self._scroll, 1)
        set_tone("muted", self._says)

    def show_answer(self, document: Document, answer: Answer[Question, Recovered]) -> None:
        """Draw the shares, and mark the selected attention, head and query."""
        self._found, self._of = answer.result, answer.of
        self.canvas.setAccessibleName(_("Map of patching"))
        if self._found is None or self._of is None:
            self.rows = ()
            return
        experiment, n_tokens = self._of.experiment, self._of.experiment.n_queries
        parts = {
            site: shares.reshape(-1, n_tokens)
            for site, shares in self._found.values.items()
            if shares.shape[-1] == n_tokens
        }
        self.rows = tuple((site, row) for site, shares in parts.items() for row in range(len(shares)))
        titles = tuple(_title(experiment, *row, len(parts[row[0]]) > 1) for row in self.rows)
        shares = np.concatenate(list(parts.values())) if parts else np.empty((0, 0))
        words = written_tokens(experiment.vocabulary, experiment.tokens)
        self.canvas.show_shares(titles, words, shares)
        rows = [row for row, (site, _head) in enumerate(self.rows) if site == document.site]
        chosen = rows[min(document.view.head, len(rows) - 1)] if rows else None
        self._scroll.set_chosen(None if chosen is None else (chosen, document.view.query))
        self._say(self.canvas.current)

    @Slot(object)
    def _say(self, at: At | None) -> None:
        """The share of a cell, or both targets."""
        patched, of = self._found, self._of
        if patched is None or of is None:
            return
        if at is None:
            target, against = _named(of, patched.target.token), patched.target.against
            sentence = _(
                "Logit {target}: clean {clean}, document {corrupted}. The document runs; "
                "1 restores the clean logit."
            )
            self._says.set_line(
                sentence.format(
                    target=target if against is None else f"{target} − {_named(of, against)}",
                    clean=number(patched.clean, 3),
                    corrupted=number(patched.corrupted, 3),
                )
            )
            return
        site, row = self.rows[at[0]]
        shares = patched.values[site].reshape(-1, of.experiment.n_queries)
        said = _("{site}, “{token}”: {stage} of the clean text recovers {share}").format(
            site=site_label(of.experiment, site)
            + (f" · {_('head {head}').format(head=row + 1)}" if len(shares) > 1 else ""),
            token=_named(of, of.experiment.tokens[at[1]]),
            stage=_(STAGE_BY_ID[of.stage].title),
            share=number(float(shares[row, at[1]]), 3),
        )
        self._says.set_line(said)
        self.canvas.setAccessibleDescription(said)


class PatchCanvas(TokenTable):
    """A number on its colour: diverging from −1 over 0 to 1, shares beyond in the last one."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("patch_canvas")
        self._shares: NDArray[np.float64] = np.empty((0, 0))

    def show_shares(
        self, titles: tuple[str, ...], tokens: tuple[str, ...], shares: NDArray[np.float64]
    ) -> None:
        """Show other shares (row, token)."""
        self._shares = shares
        self.set_table(titles, tokens)

    def color_at(self, at: At) -> QColor:
        """The colour of a cell."""
        return QColor(*cell_colors("diverging", self._theme)[self._level(at)][:3])

    def _level(self, at: At) -> int:
        share = float(self._shares[at])
        inside = 0.0 if math.isnan(share) else min(max(share, -1.0), 1.0)
        return round(_MIDDLE * (1 + inside))

    def _paint_cell(self, painter: QPainter, metrics: QFontMetricsF, at: At) -> None:
        box = self.cell(at)
        painter.fillRect(box, self.color_at(at))
        painter.setPen(QColor(inks("diverging", self._theme)[self._level(at)]))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, number(float(self._shares[at]), 2))


def _title(experiment: Experiment, site: str, head: int, has_heads: bool) -> str:
    place = site_at(experiment, site).place
    own = str(place.layer + 1) if place.stack == "layers" else site_label(experiment, site)
    return f"{own}.{head + 1}" if has_heads else own


def _named(of: Question, token: str) -> str:
    """A token of the vocabulary inside a sentence."""
    return isolated(shown_token(of.experiment.vocabulary, token))


PATCHED_STAGES = ("layer_input", "attention_output", "ffn_output", "mixed", "q", "k", "v", "weights")
BY_HEAD = ("mixed",)
"""Stages whose heads are patched one by one: what each head adds. Others have all heads of a position."""
ANSWER_WIDTH = 120


class CleanLine(DocumentLine):
    """The clean text. It begins as the document's own, with the word to change selected."""

    def __init__(self) -> None:
        super().__init__(is_live=False)
        self.setClearButtonEnabled(True)
        self._given = ""
        self._word = (0, 0)

    @Slot()
    def reset(self) -> None:
        """Discard a text of the user."""
        self.setText(self._given)

    @property
    def written(self) -> str:
        """The text of the user; empty while it is that of the document."""
        return "" if self.text() == self._given else self.text()

    def give(self, text: str, word: tuple[int, int]) -> None:
        """Show the document's text, unless the user has another; `word` are its first letter and length."""
        if self.written or (text, word) == (self._given, self._word):
            return
        self._given, self._word = text, word
        self.setText(text)
        self._select()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._select()

    def _select(self) -> None:
        if not self.written and self.text():
            self.setSelection(*self._word)


class PatchingPanel(AnswerPanel[Question, Recovered]):
    """Asks for the map while it has a clean text, its own or that of the pinned state A."""

    follows = ("site", "head", "query")

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._pinned: Experiment | None = None
        says(self, name=N_("Patching"))
        self._of, self._in = says(QLabel(), N_("answer")), says(QLabel(), N_("instead of"))
        for label in (self._of, self._in):
            label.setFont(ui_font(TEXT_PX))
        tip = N_("A text with as many tokens as the document and another answer; empty is A")
        self._clean = says(CleanLine(), id="patch_clean", name=N_("Clean text"), tip=tip)
        self._clean.editingFinished.connect(self.ask)
        store.opened.connect(self._clean.reset)
        tip = N_("A token of the vocabulary; empty takes the most probable next token of each text")
        self._answer = says(self._line(), id="patch_answer", name=N_("Answer to the clean text"), tip=tip)
        self._against = says(self._line(), id="patch_against", name=N_("Answer to the document"), tip=tip)
        for line in (self._answer, self._against):
            line.setMaximumWidth(ANSWER_WIDTH)
        self._stage = says(
            Combo(()),
            id="patch_stage",
            name=N_("Patched stage"),
            tip=N_("The stage of the document that is replaced by that of the clean text"),
            options=[(id_, STAGE_BY_ID[id_].title, "") for id_ in PATCHED_STAGES],
        )
        self._stage.set_value(PATCHED_STAGES[0])
        self._stage.changed.connect(self.ask)
        self.picture = PatchPicture()
        self.picture.canvas.chosen.connect(self._on_chosen)
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
        column.addWidget(self.picture, 1)
        column.addWidget(self.shows(Answer("patching", compute, self, keeps=False), self.picture), 1)
        set_tone("muted", self._of, self._in)

    def _line(self) -> DocumentLine:
        line = DocumentLine(is_live=False)
        line.setClearButtonEnabled(True)
        line.editingFinished.connect(self.ask)
        return line

    def set_pinned(self, pinned: Experiment | None) -> None:
        """The pinned state A, whose text is the clean one while none is written."""
        self._pinned = pinned
        self._show_placeholder()
        self._give()
        if self.is_seen and self._is_started:
            self.ask()
        else:
            self.forget()

    def question(self) -> Question | None:
        trace, clean, stage = self.store.trace, self._clean.written or self._pinned, self._stage.value()
        if trace is None or not clean or not has_logits(trace):
            return None
        answers = self._answer.text(), self._against.text()
        return Question(Subject.of(trace), clean, stage, *answers, stage in BY_HEAD)

    def why_empty(self) -> str:
        if self.answer.asked is not None:
            return _("Patching every site at every position…")
        if self.store.trace is not None and not has_logits(self.store.trace):
            return _("Patching needs a model with logits, such as those of the generation presets.")
        return _(
            "Change a word of the text above, or pin a text as A: that is the clean text. The document is "
            "the corrupted one, which runs."
        )

    def on_document(self, old: Document | None, new: Document) -> None:
        self.show_answer()

    def on_trace(self, trace: Trace) -> None:
        self._give()
        super().on_trace(trace)

    def _give(self) -> None:
        """Begin with the document's text; the word to change is the key of most weight, else the last."""
        trace = self.store.trace
        if trace is None or self._pinned is not None or trace.experiment.vocabulary is None:
            self._clean.give("", (0, 0))
            return
        experiment, view = trace.experiment, self.store.document.view
        way = own_splitting(experiment)
        text = join_text(experiment, experiment.tokens, way)
        site = trace.shown(view.site)
        look = look_of(site, query_head(site.experiment, view), query_in_focus(site, view, None))
        is_own = site.experiment.memory is None and site.experiment.n_queries == experiment.n_queries
        at = look.key if look is not None and is_own else len(experiment.tokens) - 1
        begin, end = (len(join_text(experiment, experiment.tokens[:stop], way)) for stop in (at, at + 1))
        word = text[begin:end]
        begin += len(word) - len(word.lstrip())
        self._clean.give(text, (begin, len(word.strip())))

    @Slot()
    def show_answer(self) -> None:
        self.picture.show_answer(self.store.document, self.answer)
        patched, of = self.answer.result, self.answer.of
        if patched is not None and of is not None:
            token, against = (
                None if one is None else isolated(shown_token(of.experiment.vocabulary, one))
                for one in (patched.target.token, patched.target.against)
            )
            self._answer.setPlaceholderText(token or "")
            self._against.setPlaceholderText(_("none") if against is None else against)

    def retranslate(self) -> None:
        self._show_placeholder()
        super().retranslate()

    def _show_placeholder(self) -> None:
        if self._pinned is None:
            self._clean.setPlaceholderText(_("Clean text, such as the document with one word replaced"))
            return
        tokens = written_tokens(self._pinned.vocabulary, self._pinned.tokens)
        text = _("A: {text}").format(text=isolated(visible("".join(tokens))))
        self._clean.setPlaceholderText(text)

    @Slot(object)
    def _on_chosen(self, at: At) -> None:
        """Go to the attention, the position, and the head if the rows are heads."""
        site, row = self.picture.rows[at[0]]
        is_head = self.answer.of is not None and self.answer.of.each_head
        head = row if is_head else self.store.document.view.head
        self.store.look(site=site, query=at[1], head=head)
