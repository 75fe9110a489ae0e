"""Positions: the score of the pair in focus against the distance, for every encoding on one axis."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QBoxLayout,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QSizePolicy,
    QWidget,
)

from attnviz.core.text import elide, number
from attnviz.explain.position_curves import CURVE_ROWS, Curve, curves, distances, kind_of, wave
from attnviz.explain.score_pair import Pair, distance_of, pair_in_focus
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, LIGHT, Theme, head_color
from attnviz.gui.look.words import plain_tooltip, says
from attnviz.gui.panels.panel import Panel
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.control import draw_focus_ring
from attnviz.gui.widgets.heat.thumbnail import Thumbnail
from attnviz.gui.widgets.plots import Plot, pg
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import Cell
from attnviz.model.text import shown_token
from attnviz.model.trace import SiteTrace, Trace

STRONG_PX, THIN_PX, OTHERS_ALPHA = 2.6, 1.2, 0.75


def curve_color(id_: str, is_present: bool, theme: Theme) -> QColor:
    """The present encoding has the accent, "none" is muted, the others have hues of their own."""
    if is_present:
        return QColor(theme.accent)
    hue = CURVE_ROWS[id_].hue
    color = QColor(theme.muted if hue is None else head_color(hue))
    color.setAlphaF(OTHERS_ALPHA)
    return color


def curve_pen(id_: str, is_present: bool, theme: Theme) -> QPen:
    """The line of one encoding, in the plot and in the legend."""
    pen = QPen(curve_color(id_, is_present, theme), STRONG_PX if is_present else THIN_PX)
    pen.setCosmetic(True)
    dash = CURVE_ROWS[id_].dash
    if dash and not is_present:
        pen.setDashPattern(dash)
    return pen


class DistancePlot(Plot):
    """Curves over the distance; a line and a dot show the selected pair."""

    def __init__(self) -> None:
        super().__init__()
        self._curves: tuple[Curve, ...] = ()
        self._distances = np.zeros(0)
        self._lines: dict[str, pg.PlotCurveItem] = {}
        self._mark = pg.InfiniteLine(angle=90, movable=False)
        self._dot = pg.ScatterPlotItem(pxMode=True, useCache=False)
        self.view.addItem(self._mark)
        self.view.addItem(self._dot)
        self._dot.setZValue(20)

    def set_curves(self, distances: np.ndarray, curves: tuple[Curve, ...], at: int) -> None:  # type: ignore[type-arg]
        """Draw these curves, the pair being `at` this distance."""
        self._distances, self._curves = distances.astype(np.float64), curves
        self._mark.setValue(float(at))
        for name in self._lines.keys() - {curve.id for curve in curves}:
            self._lines[name].setVisible(False)
        for curve in curves:
            if curve.id not in self._lines:
                self._lines[curve.id] = pg.PlotCurveItem(antialias=True, connect="finite")
                self.view.addItem(self._lines[curve.id])
            line = self._lines[curve.id]
            line.setVisible(True)
            line.setData(self._distances, _drawable(curve.values))
            line.setZValue(10 if curve.is_present else 1)
        present = [curve for curve in curves if curve.is_present]
        values = [float(curve.values[int(np.searchsorted(distances, at))]) for curve in present]
        dots = [value for value in values if np.isfinite(value)]
        self._dot.setData(x=[float(at)] * len(dots), y=dots)
        self._fit()
        self._paint()

    def drawn(self) -> tuple[str, ...]:
        """The ids of the curves that can be seen."""
        return tuple(id_ for id_, line in self._lines.items() if line.isVisible())

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        self._mark.setPen(pg.mkPen(theme.muted, style=Qt.PenStyle.DotLine))
        self._paint()

    def _paint(self) -> None:
        for curve in self._curves:
            self._lines[curve.id].setPen(curve_pen(curve.id, curve.is_present, self._theme))
        self._dot.setSize(8)
        self._dot.setBrush(QColor(self._theme.accent))
        self._dot.setPen(pg.mkPen(self._theme.panel, width=1.5))

    def _fit(self) -> None:
        """All curves in sight; the range is set here, since pyqtgraph's own would subsample."""
        parts = [values[np.isfinite(values)] for values in (_drawable(c.values) for c in self._curves)]
        values = np.concatenate([*parts, np.zeros(0)])
        low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
        room = 0.06 * (high - low) or 0.5
        reach = float(self._distances[-1]) if self._distances.size else 1.0
        self.view.setRange(xRange=(-reach, reach), yRange=(low - room, high + room), padding=0)


def _drawable(values: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    """Infinite scores, and those too large for a screen's arithmetic, as gaps."""
    return np.where(np.abs(values) < 1e30, values, np.nan)


HEIGHT, LINE, TEXT = 17, 20, 11
COLUMNS = 2


class Entry(QAbstractButton):
    """One curve: checked while it is drawn, bold while it is the present encoding."""

    def __init__(self, id_: str) -> None:
        super().__init__()
        self.id, self._theme = id_, LIGHT
        self._is_present = False
        row = CURVE_ROWS[id_]
        says(self, row.title, id=f"curve_{id_}", name=row.title, tip=row.description)
        self.setProperty("elided", True)
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setChecked(True)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def set_present(self, is_present: bool) -> None:
        if is_present != self._is_present:
            self._is_present = is_present
            self.update()

    @property
    def is_present(self) -> bool:
        """True if the experiment uses this encoding; its curve is always drawn."""
        return self._is_present

    def apply_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(LINE + 6 + QFontMetrics(self._font()).horizontalAdvance(self.text()) + 4, HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(LINE + 20, HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        is_drawn = self.isChecked() or self._is_present
        painter.setOpacity(1.0 if is_drawn else 0.35)
        painter.setPen(curve_pen(self.id, self._is_present, self._theme))
        middle = self.height() / 2
        painter.drawLine(QPointF(1, middle), QPointF(LINE, middle))
        painter.setOpacity(1.0)  # the name stays legible
        painter.setFont(self._font())
        is_strong = self._is_present or self.underMouse()
        painter.setPen(QColor(self._theme.ink if is_strong else self._theme.muted))
        room = QRectF(LINE + 6, 0, self.width() - LINE - 6, self.height())
        metrics = QFontMetrics(self._font())
        text = metrics.elidedText(self.text(), Qt.TextElideMode.ElideRight, int(room.width()))
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, text)
        if self.hasFocus():
            draw_focus_ring(painter, QRectF(self.rect()), self._theme, 3)
        painter.end()

    def _font(self) -> QFont:
        return ui_font(TEXT, QFont.Weight.DemiBold if self._is_present else QFont.Weight.Normal)


class Legend(QWidget):
    """All curves, in two columns at first; `changed` after one was shown or hidden."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.entries = {id_: Entry(id_) for id_ in CURVE_ROWS}
        self._grid = grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(GRID)
        grid.setVerticalSpacing(0)
        for entry in self.entries.values():
            entry.toggled.connect(self.changed)
        self._columns = 0
        self.set_columns(COLUMNS)

    def set_columns(self, columns: int) -> None:
        """Arrange the curves in columns, from the top to the bottom."""
        if columns == self._columns:
            return
        rows = -(-len(self.entries) // columns)
        for row in range(self._grid.rowCount()):
            self._grid.setRowStretch(row, 0)
        for index, entry in enumerate(self.entries.values()):
            self._grid.removeWidget(entry)
            self._grid.addWidget(entry, index % rows, index // rows)
        self._grid.setRowStretch(rows, 1)
        self._columns = columns

    def columns_in(self, width: int) -> int:
        """Number of columns that show whole names in a width in pixels."""
        widest = max(entry.sizeHint().width() for entry in self.entries.values())
        return max(1, (width + GRID) // (widest + GRID))

    def shown(self) -> tuple[str, ...]:
        """The ids of the curves to draw."""
        return tuple(id_ for id_, entry in self.entries.items() if entry.isChecked() or entry.is_present)

    def set_present(self, present: str, possible: tuple[str, ...]) -> None:
        """Set the experiment's curve, and the curves that can be drawn."""
        for id_, entry in self.entries.items():
            entry.set_present(id_ == present)
            entry.setEnabled(id_ in possible)


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
        return QSize(200, 100)

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
