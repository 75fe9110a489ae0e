"""The uppermost part of the first glance: the sentence with its arcs, the heads, and the first token."""

from __future__ import annotations

from PySide6.QtCore import QSize

from attnviz.gui.look.words import says
from attnviz.gui.panels.glance.heads import HeadChips
from attnviz.gui.panels.glance.seen import GlanceSeen
from attnviz.gui.panels.glance.sheet import Sheet
from attnviz.gui.widgets.arcs import ArcsView
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.toggle import Toggle
from attnviz.i18n import N_, _
from attnviz.model.io.titles import as_shown
from attnviz.model.ranges import WITHOUT_FIRST, why_no_first
from attnviz.model.sites.titles import layer_label
from attnviz.model.spec.document import Document


class SentenceSheet(Sheet):
    """The controls are public: the panel acts on what is chosen in them."""

    def __init__(self) -> None:
        super().__init__("glance_sentence")
        self.arcs, self.heads = ArcsView(large=True), HeadChips()
        self.first = says(Toggle(""), N_("Without the first token"), id="glance_first", tip=WITHOUT_FIRST)
        tip = N_("Fold this picture to one line and show the panels of the generation")
        self.fold = says(Button(), N_("Fold"), id="glance_fold", tip=tip)
        self.add_to_head(self.heads, self.first, self.fold)
        self.column.addWidget(self.arcs, 1)

    def show_state(self, seen: GlanceSeen, document: Document, part: float) -> None:
        """Show the sentence of a document at a part of the way."""
        experiment = seen.trace.experiment
        title = as_shown(document.title)
        said = _("“{word}” asks; a click on another word asks there").format(word=seen.asker)
        self.set_texts(title or said, said if title else "")
        self.arcs.set_content(seen.arcs(part), said)
        self.heads.set_heads(
            layer_label(experiment, seen.site.name),
            seen.site.experiment.heads.n_heads,
            seen.head,
            has_layers=len(seen.trace.sites) > 1,
        )
        self.first.set_value(seen.is_first_off)
        self.first.set_unavailable(why_no_first(seen.site, seen.site.map))

    def minimumSizeHint(self) -> QSize:
        return QSize(320, 130)
