"""The lines above the grid of heads: its title, the order, the search, what the frames show."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel, QWidget

from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.look.words import says
from attnviz.gui.panels.grid.effect import EffectLine
from attnviz.gui.panels.grid.frames import EFFECT, FRAMES, NO_SCORE
from attnviz.gui.widgets.boxes import in_column, in_row
from attnviz.gui.widgets.document_line import DocumentLine
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.spec.view import HeadGrid
from attnviz.study.heads.orders import HEAD_ORDERS, HeadOrder

SEARCH_WIDTH = 280

BY_SCORE = HeadOrder(
    "score",
    N_("by score"),
    N_("Orders the heads of each layer by what the frames show, largest first"),
    falls=True,
)


class GridControls(QWidget):
    """`looked` carries the `HeadGrid` that is wanted, `searched` the text of the search."""

    looked = Signal(object)
    searched = Signal(str)
    entered = Signal()
    """The best match of the search is wanted."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = QLabel()
        self.title.setObjectName("grid_title")
        self.title.setFont(ui_font(TEXT_PX))
        self._color_by = says(QLabel(), N_("frames show"), id="grid_color_by")
        self._score = says(
            Segmented((), NO_SCORE),
            id="grid_score",
            name=N_("Measure of the frames"),
            options=[(row.id, row.title, row.hint) for row in FRAMES],
        )
        self._score.changed.connect(self._on_look)
        self._order = says(
            Segmented((), HEAD_ORDERS[0].id),
            id="grid_order",
            name=N_("Order of the heads"),
            options=[(row.id, row.title, row.hint) for row in (HEAD_ORDERS[0], BY_SCORE)],
        )
        self._order.changed.connect(self._on_look)
        self.effect = EffectLine()
        self.effect.hide()
        self.effect.changed.connect(self._on_look)
        self._search = says(
            DocumentLine(is_live=False),
            id="grid_search",
            name=N_("Heads where one word attends to another"),
            tip=N_(
                "Two words, a key alone, or the name of a head: “she Lily”, “Lily”; Enter selects the best "
                "match"
            ),
            placeholder=N_("Heads where … attends to …"),
        )
        self._search.setClearButtonEnabled(True)
        self._search.setMaximumWidth(SEARCH_WIDTH)
        self._search.textChanged.connect(self.searched)
        self._search.returnPressed.connect(self.entered)
        top = in_row(None, self.title, spacing=GRID)
        top.addStretch(1)
        top.addWidget(self._order)  # beside the scores both would be cut in a small window
        top.addWidget(self._search, 2)
        second = in_row(None, self._color_by, self._score, spacing=GRID)
        second.addStretch(1)
        column = in_column(self, spacing=GRID // 2)
        column.addLayout(top)
        column.addLayout(second)
        column.addWidget(self.effect)
        set_tone("muted", self._color_by)
        set_tone("title", self.title)

    @property
    def sought(self) -> str:
        """The text of the search; empty without one."""
        return self._search.text().strip()

    def take(self, grid: HeadGrid) -> None:
        """Show what the view says of the frames and of the order."""
        self._score.set_value(grid.frames)
        self._order.set_value(grid.order)
        self.effect.take(grid.token, grid.replaced_by)
        self.effect.setVisible(grid.frames == EFFECT)

    def enable(self, *, has_numbers: bool, has_references: bool) -> None:
        """Offer what has a meaning: an order of numbers, and scores of labels where the document has them."""
        self._score.set_unavailable(_("The search sets the frames") if self.sought else None)
        self._order.set_unavailable(None if has_numbers else _("Choose what the frames show first"))
        reason = _("Let a pronoun refer to its name first: right-click their cell in the map of weights")
        for row in FRAMES:
            if row.needs_references:
                self._score.set_option_unavailable(row.id, None if has_references else reason)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """The words before the scores go where the scores need their room."""
        needed = self._color_by.sizeHint().width() + GRID + self._score.sizeHint().width()
        self._color_by.setVisible(needed <= self.width())

    def retranslate(self) -> None:
        self._fit()

    @Slot()
    def _on_look(self) -> None:
        chosen = {"frames": self._score.value(), "order": self._order.value()}
        effect = {"token": self.effect.token, "replaced_by": self.effect.way}
        self.looked.emit(HeadGrid(**chosen, **effect))  # type: ignore[arg-type]
