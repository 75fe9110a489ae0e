"""The left end of the heads: their order, and the attention that they belong to."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import says
from attnviz.gui.panels.heads.sites import SiteChooser
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.combo import Combo
from attnviz.i18n import N_
from attnviz.model.spec.document import Document
from attnviz.study.heads.orders import HEAD_ORDERS

WIDTH, WIDEST = 190, 248
"""Pixels, and those for attentions with long labels."""


class HeadsSide(QWidget):
    """`order_chosen` carries the id of an order."""

    order_chosen = Signal(str)

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.setFixedWidth(WIDTH)
        self.order = says(
            Combo(()),
            id="heads_order",
            name=N_("Order of the heads"),
            tip=N_("Order of the heads; each head keeps its number"),
            options=[(row.id, row.title, row.hint) for row in HEAD_ORDERS],
        )
        self.order.set_value(HEAD_ORDERS[0].id)
        self.order.changed.connect(self.order_chosen)
        self.sites = SiteChooser(store)
        top = QHBoxLayout()
        top.setSpacing(GRID)
        top.addWidget(self.order, 1)
        top.addWidget(self.sites.alike)
        column = in_column(self, spacing=2)
        column.addLayout(top)
        column.addWidget(self.sites)
        column.addStretch(1)

    def show_document(self, document: Document) -> None:
        """Show the sites, and the order where it makes a difference."""
        self.sites.show_document(document)
        self.setFixedWidth(min(max(WIDTH, self.sites.wanted_width()), WIDEST))
        self.order.setVisible(document.attention.heads.n_heads > 1)

    def retranslate(self) -> None:
        self.setFixedWidth(min(max(WIDTH, self.sites.wanted_width()), WIDEST))
