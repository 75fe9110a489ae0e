"""The lines above the grid of heads: its title, the order, the search, what the frames show."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QWidget

from attnviz.core.text import isolated
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.look.words import says
from attnviz.gui.panels.grid.frames import EFFECT, FRAMES, NO_SCORE
from attnviz.gui.widgets.boxes import in_column, in_row
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.document_line import DocumentLine
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.spec.view import HeadGrid
from attnviz.study.heads.orders import HEAD_ORDERS, HeadOrder

TOKEN_WIDTH = 160
WAYS = (
    ("zero", N_("zero"), N_("The head adds nothing")),
    ("mean", N_("mean"), N_("The head adds its mean over the positions")),
)


class EffectLine(QWidget):
    """Emits when another token or another replacement is wanted, or the same ones again."""

    changed = Signal()
    again = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._of = says(QLabel(), N_("effect on the logit of"))
        self._by = says(QLabel(), N_("replaced by"))
        for label in (self._of, self._by):
            label.setFont(ui_font(TEXT_PX))
        self._token = says(
            DocumentLine(is_live=False),
            id="effect_token",
            name=N_("Token of the logit"),
            tip=N_("A token of the vocabulary; empty is the most probable next one"),
        )
        self._token.setClearButtonEnabled(True)
        self._token.setMaximumWidth(TOKEN_WIDTH)
        self._token.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._token.editingFinished.connect(self.changed)
        self._way = Segmented((), WAYS[0][0])
        says(self._way, id="effect_way", name=N_("Replacement of the head"), options=WAYS)
        self._way.changed.connect(self.changed)
        self._again = says(Button(), N_("Compute"), id="effect_again")
        self._again.clicked.connect(self.again)
        self._again.hide()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID)
        for part in (self._of, self._token, self._by, self._way, self._again):
            row.addWidget(part)
        row.addStretch(1)
        set_tone("muted", self._of, self._by)

    @property
    def token(self) -> str:
        """The wanted token; empty for the most probable next one."""
        return self._token.text()

    @property
    def way(self) -> str:
        """The id of the replacement."""
        return self._way.value()

    def take(self, token: str, way: str) -> None:
        """Show the token and the replacement of another view."""
        if token != self.token:
            self._token.show_text(token)
        self._way.set_value(way)

    def show_likeliest(self, token: str) -> None:
        """Name the token, as it is shown, that counts while none is written."""
        self._token.setPlaceholderText(isolated(token))

    def offer_again(self, is_offered: bool) -> None:
        """Show the button that computes the effects again, or hide it."""
        self._again.setVisible(is_offered)


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
