"""The OV and QK circuits of the selected head through the vocabulary, and the arithmetic of one pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QLabel, QSizePolicy, QWidget

from attnviz.core.phrases import named
from attnviz.core.progress import Progress
from attnviz.core.text import isolated, number, visible
from attnviz.gui.live.answer import Answer
from attnviz.gui.live.subject import Subject
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import GRID, RADIUS, TEXT_PX
from attnviz.gui.look.words import says
from attnviz.gui.panels.answer import AnswerPanel
from attnviz.gui.store import Store
from attnviz.gui.widgets.along import Along
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.control import draw_focus_ring
from attnviz.gui.widgets.document_line import DocumentLine
from attnviz.gui.widgets.elided_label import ElidedLabel
from attnviz.gui.widgets.explanation_page import ExplanationPage
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.sites.titles import site_label
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import Cell, query_head
from attnviz.model.text import shown_token
from attnviz.operations.terms import Explanation, Line, Pieces, Series, Text, constant, product, words
from attnviz.study.circuit_texts import MOST_PAIRS, formula_of

if TYPE_CHECKING:
    from attnviz.study.circuits import Pair

_READ = (
    "layers",
    "encoder",
    "vocabulary",
    "embedding_norm",
    "embedding_projection",
    "encoder_embedding_norm",
    "final_norm",
)
"""Fields of an experiment that the numbers depend on."""


@dataclass(frozen=True, eq=False)
class Question:
    """An empty token asks for the pairs of all. Another text of the same model asks the same."""

    subject: Subject
    site: str
    head: int
    kind: str
    token: str = ""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Question):
            return NotImplemented
        own, others = self.subject.experiment, other.subject.experiment
        same = all(getattr(own, name) is getattr(others, name) for name in _READ)
        return same and self._chosen == other._chosen

    __hash__ = None  # type: ignore[assignment]

    @property
    def _chosen(self) -> tuple[object, ...]:
        return self.subject.engine, self.subject.device, self.site, self.head, self.kind, self.token


def compute(asked: Question, check: Progress) -> tuple[Pair, ...]:
    """The pairs with the largest numbers, in a worker."""
    from attnviz.study.circuits import circuit

    return circuit(
        asked.subject.experiment,
        asked.site,
        asked.head,
        asked.kind,
        MOST_PAIRS,
        asked.token or None,
        engine=asked.subject.engine,
        device=asked.subject.device,
        check=check,
    )


LETTERS = {"qk": ("q", "k"), "ov": ("v", "w")}
"""The names of the two factors by the kind of circuit."""
NOTES = {
    "qk": N_(
        "q is the query of “{first}” with the scale, k the key of “{second}”: each token's vector without "
        "position, as the first layer reads it, through the norm of the layer and the matrices of the head. "
        "Largest products first."
    ),
    "ov": N_(
        "v is the value of “{first}”, w the weight of each of its features in the logit of “{second}”: "
        "W_O of the head, the gain of the last norm, and the read-out. Largest products first."
    ),
}


def explained(pair: Pair, kind: str, row: int) -> Explanation:
    """The sum of the products, the largest first; `row` is the place of the pair among its list."""
    left, right = (np.asarray(side, dtype=np.float64) for side in (pair.left, pair.right))
    order = np.argsort(-np.abs(left * right), kind="stable")
    one, other = LETTERS[kind]

    def item(index: int) -> Pieces:
        at = int(order[index])
        return product(constant(left[at], f"{one}[{at}]"), constant(right[at], f"{other}[{at}]"))

    first, second = isolated(visible(pair.first)), isolated(visible(pair.second))
    name: Pieces = (Text(f"{first} → {second}"),)
    meaning = words(_(NOTES[kind]).format(first=first, second=second))
    steps = (words(f"Σ {one} · {other}"), (Series(len(order), item),))
    line = Line(name, steps, pair.value, float(left @ right))
    note = replace(line, name=(), steps=(), notes=(meaning,))
    return Explanation(Cell("weights", row, 0), f"{first} → {second}", (line, note))


ROW_PX = 24
NUMBER_PX, ARROW_PX = 60, 24
WORDS = 0.62
"""Share of the width beside the number that the two tokens have; the bar has the rest."""


class PairRows(Along):
    """`clicked` carries a row."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("circuit_rows")
        self._pairs: tuple[Pair, ...] = ()
        self._chosen = -1
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The shown pairs, the largest first."""
        return self._pairs

    def set_pairs(self, pairs: Sequence[Pair]) -> None:
        """Show other pairs; none is chosen."""
        self._pairs, self._chosen = tuple(pairs), -1
        self._current = min(self._current, len(pairs) - 1)
        self.updateGeometry()
        self.update()

    def set_chosen(self, row: int) -> None:
        """Mark the row whose arithmetic is open."""
        self._chosen = row
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(280, max(len(self._pairs), 1) * ROW_PX)

    def minimumSizeHint(self) -> QSize:
        return QSize(200, self.sizeHint().height())

    def row_rect(self, row: int) -> QRectF:
        """The whole row."""
        return QRectF(0, row * ROW_PX, self.width(), ROW_PX)

    def bar_rect(self, row: int) -> QRectF:
        """The bar of a row, relative to the largest number."""
        room = self.width() - NUMBER_PX - 3 * GRID
        left = GRID + WORDS * room
        most = max(abs(pair.value) for pair in self._pairs) or 1.0
        length = (1 - WORDS) * room * abs(self._pairs[row].value) / most
        return QRectF(left, row * ROW_PX + 7, max(length, 1.0), ROW_PX - 14)

    # --- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for row in range(len(self._pairs)):
            if self.row_rect(row).intersects(QRectF(event.rect())):
                self._paint_row(painter, row)
        if self.hasFocus() and self._pairs:
            draw_focus_ring(painter, self.row_rect(max(self._current, 0)), self._theme)
        painter.end()

    def _paint_row(self, painter: QPainter, row: int) -> None:
        theme, pair, box = self._theme, self._pairs[row], self.row_rect(row)
        if row in (self._current, self._chosen):
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.hover))
            painter.drawRoundedRect(box, RADIUS - 1, RADIUS - 1)
        if row == self._chosen:
            painter.fillRect(QRectF(0, box.top() + 4, 3, ROW_PX - 8), QColor(theme.accent))
        words = WORDS * (self.width() - NUMBER_PX - 3 * GRID) - GRID
        each = (words - ARROW_PX) / 2
        painter.setFont(ui_font(TEXT_PX))
        middle = Qt.AlignmentFlag.AlignVCenter
        for at, text, align in (
            (GRID, pair.first, Qt.AlignmentFlag.AlignRight),
            (GRID + each + ARROW_PX, pair.second, Qt.AlignmentFlag.AlignLeft),
        ):
            painter.setPen(QColor(theme.ink))
            room = QRectF(at, box.top(), each, ROW_PX)
            shown = painter.fontMetrics().elidedText(visible(text), Qt.TextElideMode.ElideRight, int(each))
            painter.drawText(room, align | middle, shown)
        painter.setPen(QColor(theme.muted))
        arrow = QRectF(GRID + each, box.top(), ARROW_PX, ROW_PX)
        painter.drawText(arrow, Qt.AlignmentFlag.AlignCenter, "→")
        bar = self.bar_rect(row)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.value_mark if pair.value >= 0 else theme.query))
        painter.drawRoundedRect(bar, 2, 2)
        painter.setFont(number_font(TEXT_PX))
        painter.setPen(QColor(theme.ink))
        room = QRectF(self.width() - NUMBER_PX - GRID, box.top(), NUMBER_PX, ROW_PX)
        painter.drawText(room, Qt.AlignmentFlag.AlignRight | middle, number(pair.value, 3))

    # --- mouse and keys

    def count(self) -> int:
        return len(self._pairs)

    def part_at(self, position: QPointF) -> int:
        row = int(position.y() // ROW_PX)
        return row if 0 <= row < len(self._pairs) else -1

    def told(self, part: int) -> str:
        """Both tokens, and the number with all digits that matter."""
        pair = self._pairs[part]
        tokens = f"{isolated(visible(pair.first))} → {isolated(visible(pair.second))}"
        return named(tokens, number(pair.value, 6))


BESIDE = 560
"""Width from which the arithmetic stands beside the list."""


class CircuitPicture(QWidget):
    """A click on a pair opens its arithmetic; the first is open at first."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._pairs: tuple[Pair, ...] | None = None
        self._kind = ""
        self.rows = says(PairRows(), name=N_("Pairs of tokens"))
        self.rows.clicked.connect(self._on_clicked)
        self.page = says(ExplanationPage(), id="circuit_arithmetic", name=N_("Arithmetic of the pair"))
        self._box = QBoxLayout(QBoxLayout.Direction.TopToBottom, self)
        self._box.setContentsMargins(0, 0, 0, 0)
        self._box.setSpacing(2 * GRID)
        self._box.addWidget(clear_scroll(self.rows, sideways=False), 3)
        self._box.addWidget(self.page, 2)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_wide = self.width() >= BESIDE
        way = QBoxLayout.Direction.LeftToRight if is_wide else QBoxLayout.Direction.TopToBottom
        if way != self._box.direction():
            self._box.setDirection(way)

    def show_answer(self, answer: Answer[Question, tuple[Pair, ...]]) -> None:
        """List other pairs."""
        if answer.result is self._pairs:
            return
        self._pairs = answer.result
        if answer.result is None or answer.of is None:
            self.rows.set_pairs(())
            self.page.forget()
            return
        self._kind, vocabulary = answer.of.kind, answer.of.subject.experiment.vocabulary
        self.rows.set_pairs(
            [
                replace(
                    pair,
                    first=shown_token(vocabulary, pair.first),
                    second=shown_token(vocabulary, pair.second),
                )
                for pair in answer.result
            ]
        )
        self._on_clicked(0)

    def retranslate(self) -> None:
        """Write the arithmetic again; the first pair is open."""
        self._on_clicked(0)

    @Slot(int)
    def _on_clicked(self, row: int) -> None:
        if row < len(self.rows.pairs):
            self.rows.set_chosen(row)
            self.page.set_explanation(explained(self.rows.pairs[row], self._kind, row))


KINDS = (
    ("qk", N_("QK"), N_("The key tokens that a query token attends to most")),
    ("ov", N_("OV"), N_("The output tokens whose logits rise most where the head attends to a source token")),
)
TOKEN_WIDTH = 140
MOST_KEPT = 32
"""Circuits that are kept for another look at their heads."""


class CircuitsPanel(AnswerPanel[Question, "tuple[Pair, ...]"]):
    """Asks for the circuit of the selected head, unless it is kept."""

    follows = ("site", "head")

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._kept: list[tuple[Question, tuple[Pair, ...]]] = []
        says(self, name=N_("Circuits"))
        self._of, self._first = says(QLabel(), id="circuit_head"), says(QLabel(), N_("pairs from"))
        self._kind = Segmented((), KINDS[0][0])
        says(self._kind, id="circuit_kind", name=N_("Circuit of the head"), options=KINDS)
        self._kind.changed.connect(self.ask)
        self._token = says(
            DocumentLine(is_live=False),
            id="circuit_token",
            name=N_("First token of the pairs"),
            tip=N_("Only pairs with this token as the first; empty is every token of the vocabulary"),
            placeholder=N_("all tokens"),
        )
        self._token.setClearButtonEnabled(True)
        self._token.setMaximumWidth(TOKEN_WIDTH)
        self._token.editingFinished.connect(self.ask)
        self._says = ElidedLabel()
        self._says.setObjectName("circuit_says")
        for label in (self._of, self._first, self._says):
            label.setFont(ui_font(TEXT_PX))
        self.picture = CircuitPicture()
        top = QHBoxLayout()
        top.setSpacing(GRID)
        for part in (self._of, self._kind, self._first, self._token):
            top.addWidget(part)
        top.addStretch(1)
        column = in_column(self, spacing=GRID // 2)
        column.addLayout(top)
        column.addWidget(self._says)
        column.addWidget(self.picture, 1)
        column.addWidget(self.shows(Answer("circuits", compute, self, keeps=False), self.picture), 1)
        store.opened.connect(self._on_opened)
        set_tone("muted", self._of, self._first, self._says)

    def question(self) -> Question | None:
        """That of the document, computed where its run was; None without a vocabulary."""
        trace, experiment = self.store.trace, self.store.experiment
        if trace is None or experiment.vocabulary is None:
            return None
        subject = Subject(experiment, trace.engine, trace.device)
        return Question(subject, self.store.document.site, self._head, self._kind.value(), self._token.text())

    @property
    def _head(self) -> int:
        return query_head(self.store.attention, self.store.document.view)

    @Slot()
    def ask(self) -> None:
        asked = self.question()
        kept = next((pairs for one, pairs in self._kept if one == asked), None)
        if asked is not None and asked != self.answer.asked and kept is not None:
            self.answer.take(asked, kept)
        else:
            self.answer.ask(asked)
        self.show_state()

    def why_empty(self) -> str:
        if self.store.experiment.vocabulary is None:
            return _("Circuits need a model with a vocabulary, such as those of the generation presets.")
        return _("Multiplying all pairs of tokens of the vocabulary…")

    def on_document(self, old: Document | None, new: Document) -> None:
        self.ask()

    @Slot()
    def show_answer(self) -> None:
        listed, of = self.answer.result, self.answer.of
        if listed is not None and of is not None and all(pairs is not listed for _one, pairs in self._kept):
            self._kept = [(of, listed), *self._kept[: MOST_KEPT - 1]]
        self.picture.show_answer(self.answer)
        title = _("head {head}").format(head=self._head + 1)
        self._of.setText(f"{site_label(self.store.experiment, self.store.document.site)} · {title}")
        self._says.setVisible(self.store.experiment.vocabulary is not None)
        self._says.set_line(formula_of(self._kind.value(), self.store.attention))

    @Slot()
    def _on_opened(self) -> None:
        """Hold no numbers of another document."""
        self._kept.clear()
