"""Positions: the score of the pair in focus against the distance, for every encoding on one axis."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QLabel, QSizePolicy, QWidget

from attnviz.core.text import elide, number
from attnviz.explain.position_curves import Curve, curves, distances, kind_of, wave
from attnviz.explain.score_pair import Pair, distance_of, pair_in_focus
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import plain_tooltip, says
from attnviz.gui.panels.panel import Panel
from attnviz.gui.panels.positions.legend import COLUMNS, Legend
from attnviz.gui.panels.positions.plot import DistancePlot
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.heat.thumbnail import Thumbnail
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import Cell
from attnviz.model.text import shown_token
from attnviz.model.trace import SiteTrace, Trace

WAVE_PX = 72
WIDE, TALL = 560, 280
"""Pixels from which the legend has room beside the curves, and below them."""
LONGEST_TOKEN = 14


class PositionsPanel(Panel):
    """Real numbers: q and k of the pair at every distance, under the present encoding and the others.

    With an additive encoding, its rows are shown beside, positions down and features across.
    """

    follows = ("head", "query", "locked")

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self.plot = says(DistancePlot(), id="positions_plot", name=N_("Score by distance"))
        self.legend = Legend()
        self.legend.setObjectName("positions_legend")
        self.legend.changed.connect(self._show)
        self.wave = Thumbnail(WAVE_PX)
        self.wave.setObjectName("positions_wave")
        self.wave.clicked.connect(self._on_wave)
        self._caption = QLabel()
        self._caption.setObjectName("positions_caption")
        self._caption.setTextFormat(Qt.TextFormat.PlainText)
        self._caption.setFont(ui_font(11))
        self._caption.setWordWrap(True)
        self._caption.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
        pictures = QHBoxLayout()
        pictures.setSpacing(GRID)
        pictures.addWidget(self.plot, 1)
        pictures.addWidget(self.wave, 0, Qt.AlignmentFlag.AlignTop)
        self._body = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._body.setSpacing(GRID)
        self._body.addLayout(pictures, 1)
        self._body.addWidget(self.legend)
        column = in_column(self, self._caption, spacing=2)
        column.addLayout(self._body, 1)
        set_tone("muted", self._caption)

    def sizeHint(self) -> QSize:
        return QSize(456, 150)

    def minimumSizeHint(self) -> QSize:
        return QSize(360, 100)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """In a tall, narrow panel the legend goes below, so that the curves have the width."""
        super().resizeEvent(event)
        is_below = self.width() < WIDE and self.height() >= TALL
        direction = QBoxLayout.Direction.TopToBottom if is_below else QBoxLayout.Direction.LeftToRight
        self._body.setDirection(direction)
        self.legend.set_columns(self.legend.columns_in(self.width()) if is_below else COLUMNS)

    def on_document(self, old: Document | None, new: Document) -> None:
        if old is None or old.view != new.view:
            self._show()

    def on_trace(self, trace: Trace) -> None:
        self._show()

    def on_hover(self, cell: Cell | None) -> None:
        self._show()

    def retranslate(self) -> None:
        if self.store.trace is not None:
            self._draw(self.store.site)

    @Slot()
    def _show(self) -> None:
        if self.store.trace is not None:
            self._draw(self.store.site)

    def _draw(self, site: SiteTrace) -> None:
        pair = self._pair(site)
        all_curves = curves(site, pair)
        self.legend.set_present(kind_of(site.experiment), tuple(curve.id for curve in all_curves))
        chosen = self.legend.shown()
        drawn = tuple(curve for curve in all_curves if curve.id in chosen)
        self.plot.set_curves(distances(site.experiment), drawn, self._distance(site, pair))
        self._caption.setText(self._sentence(site, pair, all_curves))
        self._caption.setToolTip(plain_tooltip(self._caption.text()))
        self._show_wave(site)

    def _pair(self, site: SiteTrace) -> Pair:
        """The pair in focus; the trace may be a frame older than the document."""
        experiment, pair = site.experiment, pair_in_focus(self.store.document, self.store.hovered)
        return Pair(
            min(pair.head, experiment.heads.n_heads - 1),
            min(pair.query, experiment.n_queries - 1),
            min(pair.key, experiment.n_keys - 1),
        )

    def _distance(self, site: SiteTrace, pair: Pair) -> int:
        away = distances(site.experiment)
        return int(min(max(distance_of(site.experiment, pair), away[0]), away[-1]))

    def _sentence(self, site: SiteTrace, pair: Pair, all_curves: tuple[Curve, ...]) -> str:
        experiment = site.experiment
        at = distance_of(experiment, pair)
        away = distances(experiment)
        inside = away[0] <= at <= away[-1]
        values = [float(c.values[at - away[0]]) for c in all_curves if c.is_present and inside]
        sentence = _("score of q “{query}” and k “{key}” against key − query; here {at}: {value}")
        if experiment.heads.n_heads > 1:
            sentence = _(
                "head {head}: score of q “{query}” and k “{key}” against key − query; here {at}: {value}"
            )
        vocabulary = self.store.experiment.vocabulary
        return sentence.format(
            head=pair.head + 1,
            query=elide(shown_token(vocabulary, experiment.tokens[pair.query]), LONGEST_TOKEN),
            key=elide(shown_token(vocabulary, experiment.key_tokens[pair.key]), LONGEST_TOKEN),
            at=str(at).replace("-", "\N{MINUS SIGN}"),
            value=number(values[0], 4) if values else "–",
        )

    def _show_wave(self, site: SiteTrace) -> None:
        rows = wave(site.experiment)
        self.wave.setVisible(rows is not None)
        if rows is not None:
            self.wave.set_values(rows, signed=True)
            self.wave.set_caption(
                _("position vectors"),
                _("The position vector added to each token: positions down, features across"),
            )

    @Slot()
    def _on_wave(self) -> None:
        """The picture leads to the vectors that it was added to."""
        self.store.look(stage="x")
