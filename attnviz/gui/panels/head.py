"""The card of the selected head: where its row attends, and what a user does with a head."""

from __future__ import annotations

from PySide6.QtCore import QSize, Slot
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QHBoxLayout, QWidget

from attnviz.core.text import isolated, number, visible
from attnviz.gui.head_names import LONGEST
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import says
from attnviz.gui.panels.panel import Panel
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.document_line import DocumentLine
from attnviz.gui.widgets.elided_label import WholeLabel
from attnviz.gui.widgets.linked_text import LinkedText, line, link
from attnviz.i18n import N_, _
from attnviz.model.edit import edits
from attnviz.model.looks import look_of, query_in_focus
from attnviz.model.sites.titles import site_label
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import Cell, query_head
from attnviz.model.trace import Trace

TITLE_PX, SENTENCE_PX = 15, 13
NAME_WIDTH = 200


class HeadPanel(Panel):
    """Follows the selected head of the shown numbers."""

    follows = ("site", "head", "query", "locked")
    follows_player = True

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._named = ("", 0)
        self._title, self._sentence = WholeLabel(), LinkedText("head_sentence", SENTENCE_PX)
        self._title.setObjectName("head_title")
        self._title.setFont(ui_font(TITLE_PX, QFont.Weight.DemiBold))
        self._sentence.chosen.connect(self._on_word)
        says(self, name=N_("Selected head"))
        self._name = says(
            DocumentLine(is_live=False),
            id="head_name",
            name=N_("Name of the selected head"),
            tip=N_("A name for this head, kept with the model"),
            placeholder=N_("Name this head"),
        )
        self._name.setMaxLength(LONGEST)
        self._name.setMaximumWidth(NAME_WIDTH)
        self._name.editingFinished.connect(self._on_named)
        store.head_names.changed.connect(self._show)
        store.opened.connect(self._on_opened)
        self._switch = says(Button(), id="head_switch")
        tip = N_("Show this head in the workspace Explore")
        self._explore = says(Button(), N_("Open in Explore"), id="head_explore", tip=tip)
        tip = N_("Keep the present state as A, and compare later changes with it")
        self._pin = says(Button(), N_("Pin as A"), id="head_pin", tip=tip)
        buttons = (
            (self._switch, self._on_switch),
            (self._explore, self._on_explore),
            (self._pin, self._on_pin),
        )
        row = QHBoxLayout()
        row.setSpacing(GRID)
        for button, act in buttons:
            button.clicked.connect(act)
            row.addWidget(button)
        row.addStretch(1)
        column = in_column(self, spacing=GRID)
        top = QHBoxLayout()
        top.addWidget(self._title, 1)
        top.addWidget(self._name, 1)
        column.addLayout(top)
        column.addWidget(self._sentence)
        column.addStretch(1)
        column.addLayout(row)

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), 112)

    def on_document(self, old: Document | None, new: Document) -> None:
        self._show()

    def on_trace(self, trace: Trace) -> None:
        self._show()

    def on_hover(self, cell: Cell | None) -> None:
        self._show()

    def retranslate(self) -> None:
        self._show()

    def edit_name(self) -> None:
        """Put the caret into the name of the selected head."""
        self._name.setFocus()
        self._name.selectAll()

    @Slot()
    def _show(self) -> None:
        if self.store.trace is None:
            return
        site, view = self.store.shown_site, self.store.document.view
        heads, head = site.experiment.heads, query_head(site.experiment, view)
        assert self.store.shown_trace is not None
        place = site_label(self.store.shown_trace.experiment, site.name)
        named = _("head {head}").format(head=head + 1)
        self._title.set_line(f"{place} · {named}")
        self._show_name((site.name, head))
        self._sentence.set_body(line(self._words(head)))
        is_off = head in heads.off
        sentence = _("Switch head {head} on") if is_off else _("Switch head {head} off")
        self._switch.setText(sentence.format(head=head + 1))
        is_only = heads.n_heads == 1
        self._switch.setEnabled(not is_only)
        self._switch.setToolTip(
            _("The only head stays on") if is_only else _("Leave this head out of the sum")
        )

    def _words(self, head: int) -> str:
        """The key to which the query in focus attends most, in a sentence whose words are links."""
        site = self.store.shown_site
        query = query_in_focus(site, self.store.shown_view, self.store.focus)
        look = look_of(site, head, query)
        token = link(f"query:{query}", isolated(visible(site.names("query")[query])), "query")
        if look is None:
            return _("“{query}” attends to no token.").format(query=token)
        key = link(f"key:{look.key}", isolated(visible(site.names("key")[look.key])), "key")
        sentence = _("“{query}” attends most to “{key}”: {weight}.")
        return sentence.format(query=token, key=key, weight=number(look.weight, 3))

    def _show_name(self, at: tuple[str, int]) -> None:
        """The name of the head; one that is being written belongs to the head before."""
        if at != self._named:
            self._on_named()
            self._named = at
        elif self._name.hasFocus():
            return
        self._name.setText(self.store.head_names.name(self.store.experiment, *at))

    @Slot()
    def _on_opened(self) -> None:
        """Keep a name that is being written with the model that is left."""
        self._on_named()
        self._named = ("", 0)

    @Slot()
    def _on_named(self) -> None:
        site, head = self._named
        if site:
            self.store.head_names.rename(self.store.experiment, site, head, self._name.text())

    @Slot(str)
    def _on_word(self, address: str) -> None:
        """Select the query of the sentence, or lock its cell of the key."""
        kind, _colon, place = address.partition(":")
        if kind == "query":
            self.store.look(query=int(place), locked=None)
            return
        site, view = self.store.shown_site, self.store.shown_view
        query = query_in_focus(site, view, self.store.document.locked_here)
        self.store.look_at(Cell(site.raw_map, query, int(place), query_head(site.experiment, view)))

    @Slot()
    def _on_explore(self) -> None:
        self.command_wanted.emit("workspace_explore")

    @Slot()
    def _on_pin(self) -> None:
        self.command_wanted.emit("pin")

    @Slot()
    def _on_switch(self) -> None:
        view = self.store.document.view
        self.store.edit_attention(edits.toggle_head, query_head(self.store.attention, view))
