"""The caption of the document under its name: words that point at tokens and lock cells, and controls."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtWidgets import QToolButton, QWidget

from attnviz.core.text import visible
from attnviz.gui.forms.sentence import SentenceControls
from attnviz.gui.look.icons import icon
from attnviz.gui.look.theme import Theme
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.pointer import Pointer
from attnviz.gui.store import Store
from attnviz.gui.widgets.caption import Caption, Phrase
from attnviz.gui.widgets.control import MOUSE_ONLY
from attnviz.i18n import _
from attnviz.model.captions import Axis, pieces
from attnviz.model.controls import Typing
from attnviz.model.io.titles import translated
from attnviz.model.sites.sites import at, site_names
from attnviz.model.sites.stages import raw_map_of, score_stages
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import Cell, query_head, shown_head
from attnviz.model.stages import STAGE_BY_ID

MOST_CHARACTERS = 600
"""Characters of a caption that are shown: more than three lines of any screen."""


class DocumentCaption(Caption):
    """Follows the store. `opener` is the button that brings a hidden caption back, or begins one."""

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._cells: dict[int, tuple[str, int]] = {}
        """Axis and position of the token of each phrase that is a link."""
        self._place = -1
        """The place of the chosen one among them; -1 before the first choice."""
        self.opener = QToolButton()
        self.opener.setObjectName("caption_button")
        self.opener.setAutoRaise(True)
        self.opener.setIconSize(QSize(16, 16))
        self.opener.setProperty(MOUSE_ONLY, True)
        self.opener.clicked.connect(self._on_open)
        self.text.make_control = SentenceControls(store)
        self.text.pointed.connect(self._on_pointed)
        self.text.clicked.connect(self._on_clicked)
        self.closed.connect(self._on_closed)
        self.edited.connect(self._on_edited)
        store.changed.connect(self._on_changed)
        store.pointer_changed.connect(self._on_pointer)
        self._show()

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        self.opener.setIcon(icon("help", theme))

    def retranslate(self) -> None:
        self._show()

    # --- showing

    def _show(self) -> None:
        source = translated(self._store.document.caption)
        shown = visible(source)[:MOST_CHARACTERS]
        parts, texts = pieces(shown), self._texts()
        anchors = [piece.anchor for piece in parts if piece.anchor is not None]
        typed = [piece.control.new for piece in parts if isinstance(piece.control, Typing)]
        is_past = any(anchor.has_lost(*texts[anchor.axis], typed) for anchor in anchors)
        phrases = [Phrase(_("On the text before its edit · "))] if is_past else []
        self._cells, self._place = {}, -1
        for piece in parts:
            position = None if piece.anchor is None else piece.anchor.live_in(*texts[piece.anchor.axis])
            axis = piece.anchor.axis if piece.anchor is not None and position is not None else ""
            if position is not None:
                self._cells[len(phrases)] = axis, position
            phrases.append(Phrase(piece.text, axis, piece.control))
        self.set_caption(tuple(phrases), source, is_past=is_past)
        self._show_or_hide()

    def _texts(self) -> dict[Axis, tuple[tuple[str, ...], tuple[str, ...]]]:
        """The tokens of each axis now, and when the caption was written."""
        site, then = self._store.attention, self._store.as_described
        place = self._store.document.site
        is_known = place in site_names(then.experiment)
        before = at(then.experiment, place) if is_known else then.attention
        return {"query": (site.tokens, before.tokens), "key": (site.key_tokens, before.key_tokens)}

    def _show_or_hide(self) -> None:
        has_caption = bool(self._store.document.caption.strip())
        is_shown = self._store.pointer.shows_caption and (has_caption or self.is_edited)
        self.setVisible(is_shown)
        self.opener.setVisible(not is_shown)
        sentence = _("Show the caption") if has_caption else _("Write a caption")
        if sentence != self.opener.accessibleName():
            self.opener.setToolTip(plain_tooltip(sentence))
            self.opener.setAccessibleName(sentence)

    @Slot(object, object)
    def _on_changed(self, old: Document, new: Document) -> None:
        is_other = old.caption != new.caption or old.site != new.site
        if is_other or (old.experiment is not new.experiment and _tokens(old) != _tokens(new)):
            self._show()

    @Slot(object, object)
    def _on_pointer(self, old: Pointer, new: Pointer) -> None:
        if old.shows_caption != new.shows_caption:
            self._show_or_hide()

    # --- acting

    @Slot(int)
    def _on_pointed(self, link: int) -> None:
        """A word lights the row of its query or the column of its key in every panel."""
        axis, position = self._cells.get(link, ("", 0))
        if not axis:
            self._store.set_hover(None)
            return
        stage = STAGE_BY_ID["q" if axis == "query" else "k"].id
        site, view = self._store.attention, self._store.document.view
        self._store.set_hover(Cell(stage, position, 0, shown_head(site, view, stage)))

    def step(self, by: int) -> bool:
        """Lock the cell of the word after or before the present one; False without such a word in sight."""
        links = sorted(self._cells)
        place = self._place + by
        if self.isHidden() or not 0 <= place < len(links):
            return False
        self._place = place
        self.text.show_chosen(links[place])
        self._store.look(**self._locking(links[place]))
        return True

    @Slot(int)
    def _on_clicked(self, link: int) -> None:
        """Lock the cell of a word; a second click unlocks it."""
        look = self._locking(link)
        is_locked = look["locked"] == self._store.document.view.locked
        self._place = sorted(self._cells).index(link)
        self._store.look(**{**look, "locked": None if is_locked else look["locked"]})
        self._store.set_hover(None)  # the locked cell is in sight, no longer the word

    def _locking(self, link: int) -> dict[str, Any]:
        """Lock the cell of a query and its greatest weight, or of the selected query and a key."""
        axis, position = self._cells[link]
        view, site = self._store.document.view, self._store.attention
        stage = view.stage if STAGE_BY_ID[view.stage].score_shaped else raw_map_of(score_stages(site))
        row = position if axis == "query" else min(view.query, site.n_queries - 1)
        column = self._greatest(row) if axis == "query" else position
        return {
            "locked": Cell(stage, row, column, shown_head(site, view, stage)),
            "query": row,
            "stage": stage,
        }

    def _greatest(self, query: int) -> int:
        """The key with the greatest weight of a query."""
        if self._store.trace is None:
            return 0
        site = self._store.site
        head = query_head(site.experiment, self._store.document.view)
        row = min(query, site.experiment.n_queries - 1)
        return int(site.window(site.raw_map, head, slice(row, row + 1))[0].argmax())

    @Slot()
    def _on_open(self) -> None:
        self._store.set_caption_shown(True)
        if not self._store.document.caption.strip():
            self.begin_edit()
            self._show_or_hide()

    @Slot()
    def _on_closed(self) -> None:
        self._store.set_caption_shown(False)

    @Slot(str)
    def _on_edited(self, text: str) -> None:
        if text != translated(self._store.document.caption) and not self._store.describe(text):
            self.begin_edit(text)  # the sentence about its wrong control is in the status bar
            return
        self._show_or_hide()
        owner = self.parentWidget()
        if owner is not None:
            owner.setFocus(Qt.FocusReason.OtherFocusReason)  # so that the next Space plays


def _tokens(document: Document) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The tokens that words may refer to."""
    return document.attention.tokens, document.attention.key_tokens
