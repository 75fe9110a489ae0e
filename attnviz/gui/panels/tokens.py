"""The tokens: a text, the way it is cut, and one chip for each token."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from attnviz.core.tokens import is_unspaced
from attnviz.errors import FieldError, Message, token_count
from attnviz.gui.forms.marks import Mark
from attnviz.gui.forms.rows import Note
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import says
from attnviz.gui.panels.panel import Panel
from attnviz.gui.pointer import Pointer
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column, in_row
from attnviz.gui.widgets.chips import TokenChips
from attnviz.gui.widgets.control import Gesture
from attnviz.gui.widgets.document_text import DocumentText
from attnviz.gui.widgets.fold_button import FoldButton
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.edit import edits
from attnviz.model.provenance import tokens_of
from attnviz.model.sites.links import tokens_in
from attnviz.model.sites.sites import place_of, site_names
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.pieces import byte_pairs
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.text import faces, join_text, likely_splitting, split_text, splittings

MOST_TOKENS = 4096


class TokensPanel(Panel):
    """Typing changes the tokens live; a token that stays keeps its vector, wherever it moves to.

    If the experiment's vocabulary stores its tokenisation, that is a splitting, too.
    """

    follows = ("query",)

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._line = DocumentText()
        says(self._line, id="token_line", name=N_("Tokens as text"), placeholder=N_("Type a sentence"))
        self._line.textEdited.connect(self._on_text)
        self._line.editingFinished.connect(self._on_finished)
        self._typing = Gesture(self)
        self._typing.started.connect(store.begin_gesture)
        self._typing.finished.connect(store.end_gesture)
        self._before: Experiment | None = None
        self._is_own = False
        self._cut: tuple[tuple[str, ...], str] = ((), "")
        """The tokens that were last made here, and the way in which they were cut."""
        self._by: Literal["tokens", "text", "user"] = "tokens"
        """The one who chose the splitting: the document's tokens, the typed text, or the user."""
        self._beyond = Note("tokens_beyond")
        self.chips = says(TokenChips(), id="token_chips", name=N_("Tokens"))
        self.chips.clicked.connect(self._on_chosen)
        self.chips.hovered.connect(self._on_hovered)
        store.pointer_changed.connect(self._on_pointer)
        self.chips.renamed.connect(self._on_renamed)
        self.chips.moved.connect(self._on_moved)
        self.chips.removed.connect(self._on_removed)
        self.chips.added.connect(self._on_added)
        self._split_label = says(QLabel(), N_("split by"))
        self._splitting = says(Segmented(()), id="splitting_segmented", name=N_("Split by"))
        self._splitting.changed.connect(self._on_splitting)
        self._count = DragNumber(1, minimum=1, maximum=MOST_TOKENS, integer=True)
        says(self._count, id="n_tokens_field", name=N_("Number of tokens"))
        self._count.changed.connect(self._on_count)
        self._count.rejected.connect(store.rejected)
        self._count.gesture_started.connect(store.begin_gesture)
        self._count.gesture_finished.connect(store.end_gesture)
        self._fold = FoldButton(self)
        self._header = QWidget()
        top = in_row(self._header, spacing=GRID // 2)
        top.addStretch(1)
        top.addWidget(self._count)
        top.addWidget(self._fold)
        Mark(store, self._line, "tokens")
        Mark(store, self._count, "vectors.n")
        self._lay_out()
        set_tone("muted", self._split_label)

    def select_text(self) -> None:
        """Put the focus into the text, all of it selected: typing replaces it."""
        self._line.setFocus(Qt.FocusReason.OtherFocusReason)
        self._line.selectAll()

    def header(self) -> QWidget:
        """The number of tokens, and the fold."""
        return self._header

    def on_document(self, old: Document | None, new: Document) -> None:
        tokens = new.experiment.tokens
        if not self._is_own:
            self._before = None
        reads_anew = old is None or old.experiment.vocabulary != new.experiment.vocabulary
        if reads_anew:
            self._show_splittings(new.experiment)
        if reads_anew or old is None or old.experiment.tokens != tokens:
            self.chips.set_tokens(tokens, faces(new.experiment))
            self._count.set_value(len(tokens))
            is_chosen = self._is_own or self._cut == (tokens, self._splitting.value())
            if reads_anew or not (is_chosen or self._line.hasFocus()):
                self._splitting.set_value(likely_splitting(new.experiment))
                self._by = "tokens"
            self._show_text(new.experiment)
            self._show_beyond(new)
        if old is None or old.view.query != new.view.query:
            self.chips.set_selected(min(new.view.query, len(tokens) - 1))

    def on_hover(self, cell: Cell | None) -> None:
        elsewhere = self.store.pointer.elsewhere
        if elsewhere is not None:
            self._light_elsewhere(elsewhere)
            return
        queries, keys = tokens_of(cell) if cell is not None else ((), ())
        color = self.theme.query if queries or not keys else self.theme.key
        lit = set(queries)
        if self.store.experiment.memory is None:
            lit |= set(keys)
        self.chips.set_highlight(lit, color)

    @Slot(object, object)
    def _on_pointer(self, old: Pointer, new: Pointer) -> None:
        if old.elsewhere != new.elsewhere:
            self.on_hover(new.cell)

    def _light_elsewhere(self, cell: Cell) -> None:
        """The tokens that a cell of another attention belongs to are the same tokens."""
        lit: frozenset[int] = frozenset()
        if cell.site in site_names(self.store.experiment):
            place = place_of(self.store.experiment, cell.site)
            lit = tokens_in("tokens", place, *tokens_of(cell))
        self.chips.set_highlight(lit, self.theme.query)

    def retranslate(self) -> None:
        self._show_splittings(self.store.experiment)
        self.chips.set_tokens(self.store.experiment.tokens, faces(self.store.experiment))
        self._show_beyond(self.store.document)

    def _show_beyond(self, document: Document) -> None:
        said = document.beyond_training(document.experiment.n_queries)
        self._beyond.setText("" if said is None else said.text())
        self._beyond.setVisible(said is not None)

    def _show_splittings(self, experiment: Experiment) -> None:
        """Offer the available splittings; the chosen one stays if it is among them."""
        chosen = self._splitting.value()
        self._splitting.set_options([(row.id, _(row.title), "") for row in splittings(experiment)])
        self._splitting.set_value(chosen)
        self._fit()

    def _show_text(self, experiment: Experiment) -> None:
        splitting = self._splitting.value() or "word"
        text = join_text(experiment, experiment.tokens, splitting)
        if self._split(self._line.text(), splitting) != experiment.tokens:
            self._line.show_text(text)
            if not self._line.hasFocus():
                self._line.setCursorPosition(0)  # a long sentence is read from its beginning

    def _split(self, text: str, splitting: str) -> tuple[str, ...]:
        """The tokens of a text; empty if it has no bytes, with a message."""
        try:
            return split_text(self.store.experiment, text, splitting, keeps_ends=True)
        except ValueError as error:
            self.store.rejected.emit(error)
            return ()

    def _guess(self, text: str) -> None:
        """Cut Chinese without spaces into characters, unless the user chose another way."""
        way, cut = self._splitting.value(), is_unspaced(text)
        if self._by != "user" and way == "word" and cut:
            self._by = "text"
            self._splitting.set_value("character")
            self.services.status.say(
                _("A text without spaces is split into characters; “split by” changes it.")
            )
        elif self._by == "text" and way == "character" and not cut:
            self._by = "tokens"
            self._splitting.set_value("word")

    @Slot(str)
    def _on_text(self, text: str) -> None:
        self._guess(text)
        tokens = self._split(text, self._splitting.value())
        if not tokens:
            return  # the last tokens stay until new ones exist
        # From the tokens before the edit: words that are typed again find their vectors.
        self._before = before = self._before or self.store.experiment
        self._typing.touch()
        self._put(tokens, before)

    def _put(self, tokens: tuple[str, ...], before: Experiment) -> None:
        """Take these tokens with their vectors and edits of `before`, unless they are too many to show."""
        if len(tokens) <= MOST_TOKENS:
            self._is_own, self._cut = True, (tokens, self._splitting.value())
            self.store.edit(lambda _present: edits.set_tokens(before, tokens))
            self._is_own = False
            return
        at_most = Message("must have at most {most} tokens", most=MOST_TOKENS)
        self.store.rejected.emit(FieldError("tokens", token_count(len(tokens)), at_most))

    @Slot()
    def _on_finished(self) -> None:
        self._before = None
        self._show_text(self.store.experiment)

    @Slot(str)
    def _on_splitting(self, splitting: str) -> None:
        self._by = "user"
        experiment = self.store.experiment
        text = self._line.text() or join_text(experiment, experiment.tokens, splitting)
        tokens = self._split(text, splitting)
        if tokens:
            self._put(tokens, experiment)

    @Slot(object)
    def _on_count(self, count: int) -> None:
        self.store.edit(edits.set_n_tokens, count)

    @Slot(int)
    def _on_chosen(self, index: int) -> None:
        self.store.look(query=index)

    @Slot(int)
    def _on_hovered(self, index: int) -> None:
        """A hovered token highlights its row, through its vector."""
        stage = STAGE_BY_ID["tokens_embedded"].id
        self.store.set_hover(Cell(stage, index, 0) if index >= 0 else None)

    @Slot(int, str)
    def _on_renamed(self, index: int, text: str) -> None:
        self.store.edit(edits.rename_token, index, text)

    @Slot(int, int)
    def _on_moved(self, source: int, target: int) -> None:
        self.store.edit(edits.move_token, source, target)

    @Slot(int)
    def _on_removed(self, index: int) -> None:
        self.store.edit(edits.remove_token, index)

    @Slot()
    def _on_added(self) -> None:
        """A token more: a new word, with the space before it where a model writes it so."""
        known, text = self.store.experiment.vocabulary, _("new")
        if known is not None and text not in known.tokens and " " + text in known.tokens:
            text = " " + text
        if known is not None and byte_pairs(known) is None and text not in known.tokens:
            text = known.tokens[-1]  # nothing else is sure to be a token
        self.store.edit(edits.set_tokens, (*self.store.experiment.tokens, text))

    def minimumSizeHint(self) -> QSize:
        """A narrow panel leaves the words of the lowest line out."""
        return QSize(self._splitting.minimumSizeHint().width(), super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        words = self._split_label.sizeHint().width() + GRID
        self._split_label.setVisible(self.width() >= self._splitting.minimumSizeHint().width() + words)

    def _lay_out(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(GRID)
        row.addWidget(self._split_label)
        row.addWidget(self._splitting)
        row.addStretch(1)
        column = in_column(self, self._line, spacing=GRID)
        column.addWidget(self.chips, 1)
        column.addWidget(self._beyond)
        column.addLayout(row)
