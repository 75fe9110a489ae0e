"""The curves of a run over one axis of steps: loss, accuracy, and the scores of all heads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent
from PySide6.QtWidgets import QLabel, QWidget

from attnviz.core.text import number
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX, Theme
from attnviz.gui.look.words import says
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.control import active_theme
from attnviz.gui.widgets.plots import Plot, pg
from attnviz.i18n import N_, _
from attnviz.training.run import HeadPlace, Measures, Moment
from attnviz.training.turns import Picture

AXIS_PX = 40
"""Width of the axes at the left: all views begin at the same place."""
MOST_POINTS = 800
"""Points of the curve of the steps; of longer runs, each is a mean of some steps."""
HANDLE_PX = 9
"""From an end of the track of states to the handle there."""
TICK_PX = 6
"""Half of the height of a number at an axis."""
THIN, THICK = 1.0, 2.2
FAINT = 120
"""Opacity of the thin curves of heads, from 0 to 255."""
PALE = 150
"""Opacity of the veil over the steps behind the shown one, from 0 to 255."""
SCORES = (("previous", N_("previous token")), ("induction", N_("induction")))
"""The scores that have curves: those of queries' colour, and of keys'."""


Curve = tuple[ArrayLike, ArrayLike, QColor, float]
"""Steps, values, a colour and a width."""


class StepPlot(Plot):
    """Curves over steps, a line at the shown step, and a veil behind it; a click carries a step."""

    clicked = Signal(float)

    def __init__(self, *, has_steps: bool) -> None:
        super().__init__(least=(160, 44))
        self._axes[0].setWidth(AXIS_PX)
        self._axes[1].setVisible(has_steps)
        self._lines: list[pg.PlotCurveItem] = []
        self._veil = pg.LinearRegionItem(movable=False)
        self._veil.setZValue(10)
        self._cursor = pg.InfiniteLine(angle=90, movable=False)
        self._cursor.setZValue(11)
        self._level = pg.InfiniteLine(angle=0, movable=False)
        self._level.hide()
        # The view is as long as the way of the handle below it; the lowest number is whole.
        self.ci.layout.setContentsMargins(0, 2, HANDLE_PX, 0 if has_steps else TICK_PX)
        for item in (self._veil, self._cursor, self._level):
            self.view.addItem(item)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def set_curves(self, curves: Sequence[Curve]) -> None:
        """Draw curves, each with its steps, its values, its colour and its width."""
        while len(self._lines) < len(curves):
            self._lines.append(pg.PlotCurveItem(antialias=True))
            self.view.addItem(self._lines[-1])
        while len(self._lines) > len(curves):
            self.view.removeItem(self._lines.pop())
        for line, (steps, values, color, width) in zip(self._lines, curves, strict=True):
            line.setData(np.asarray(steps, float), np.asarray(values, float), connect="finite")
            line.setPen(pg.mkPen(color, width=width))

    def set_range(self, last: float, highest: float) -> None:
        """Show the steps up to `last` and the values from 0 to `highest`."""
        self.view.setRange(xRange=(0, last), yRange=(0, highest), padding=0.0)
        unit = 0.5 if highest < 1.5 else math.ceil(highest / 4)
        ticks = np.arange(0, highest, unit).tolist()
        self._axes[0].setTicks([[(value, f"{value:g}") for value in ticks]])

    def set_level(self, value: float | None) -> None:
        """Draw a dashed line at a value, or none."""
        self._level.setVisible(value is not None)
        if value is not None:
            self._level.setValue(value)

    def set_step(self, step: float, last: float) -> None:
        """Mark the shown step, and veil those up to `last`."""
        self._cursor.setValue(step)
        self._veil.setVisible(step < last)
        self._veil.setRegion((step, max(last, step)))

    def curves(self) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """The steps and values of every curve."""
        return [line.getData() for line in self._lines]

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        veil = QColor(theme.panel)
        veil.setAlpha(PALE)
        self._veil.setBrush(veil)
        for line in self._veil.lines:
            line.setPen(pg.mkPen(None))
        self._cursor.setPen(pg.mkPen(theme.accent, width=1.5))
        self._level.setPen(pg.mkPen(theme.muted, width=1, style=Qt.PenStyle.DashLine))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._point(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._point(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """The view moves with nothing."""

    def _point(self, event: QMouseEvent) -> None:
        at: QPointF = self.view.mapSceneToView(self.mapToScene(event.position().toPoint()))
        self.clicked.emit(at.x())


class TrainingCurves(QWidget):
    """`chosen` carries a step near which somebody has clicked."""

    chosen = Signal(float)

    def __init__(self) -> None:
        super().__init__()
        self._theme = active_theme()
        self._picture: Picture | None = None
        self._guessing, self._last = 0.0, 1
        self._head: HeadPlace | None = None
        names = (
            ("loss", N_("Loss over the steps")),
            ("accuracy", N_("Accuracy over the steps")),
            ("heads", N_("Scores of the heads over the steps")),
        )
        self.plots = {
            id_: says(StepPlot(has_steps=id_ == "heads"), id=f"training_{id_}", name=name)
            for id_, name in names
        }
        self.legends = {id_: QLabel() for id_, _name in names}
        column = in_column(self, spacing=2)
        for (id_, plot), room in zip(self.plots.items(), (4, 3, 4), strict=True):
            legend = self.legends[id_]
            legend.setObjectName(f"training_{id_}_legend")
            legend.setFont(ui_font(TEXT_PX - 1))
            legend.setTextFormat(Qt.TextFormat.RichText)
            legend.setContentsMargins(GRID // 2, 0, 0, 0)
            column.addWidget(legend)
            column.addWidget(plot, room)
            plot.clicked.connect(self.chosen)

    def set_picture(
        self, picture: Picture | None, guessing: float, n_steps: int, head: HeadPlace | None
    ) -> None:
        """Draw a run of `n_steps`; `guessing` is the loss of one who guesses, `head` the chosen head."""
        self._picture, self._guessing, self._last, self._head = picture, guessing, n_steps, head
        self._show()

    def apply_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._show()

    def retranslate(self) -> None:
        self._show()

    def _show(self) -> None:
        picture, theme = self._picture, self._theme
        moments = () if picture is None else picture.moments
        measures = () if picture is None else picture.measures
        steps = [one.step for one in measures]
        held_out = [one.loss for one in measures]
        self.plots["loss"].set_curves(
            (
                (*thinned(moments), QColor(theme.muted), THIN),
                (steps, held_out, QColor(theme.accent), THICK),
            )
        )
        trained = [one.trained_accuracy for one in measures]
        held_out = [one.accuracy for one in measures]
        self.plots["accuracy"].set_curves(
            ((steps, trained, QColor(theme.muted), THIN), (steps, held_out, QColor(theme.accent), THICK))
        )
        self.plots["heads"].set_curves(self._of_heads(measures))
        self._scale(measures, moments)
        self._say()

    def _of_heads(self, measures: Sequence[Measures]) -> list[Curve]:
        """The curves of both scores of every head: the largest one now, and the chosen head's, are thick."""
        steps, found = [one.step for one in measures], list[Curve]()
        if not measures:
            return []
        colors = {"previous": self._theme.query, "induction": self._theme.key_mark}
        for id_, _title in SCORES:
            last = {key: value for key, value in measures[-1].scores.items() if key[0] == id_}
            best = max(last, key=lambda key: np.nan_to_num(last[key]), default=None)
            for key in last:
                is_thick = key == best or key[1:] == self._head
                values = [one.scores[key] for one in measures]
                color = QColor(colors[id_])
                color.setAlpha(255 if is_thick else FAINT)
                found.append((steps, values, color, THICK if is_thick else THIN))
        return found

    def _scale(self, measures: Sequence[Measures], moments: Sequence[Moment]) -> None:
        """One axis of steps for all; the loss up to its largest one, and not past three times guessing."""
        losses = [loss for loss in [one.loss for one in measures] if math.isfinite(loss)]
        highest = min(max((*losses, self._guessing), default=1.0), 3 * self._guessing or math.inf)
        heights = {"loss": 1.08 * (highest or 1.0), "accuracy": 1.04, "heads": 1.04}
        reached = max((one.step + 1 for one in moments[-1:]), default=0)
        shown = 0 if self._picture is None else self._picture.step
        for id_, plot in self.plots.items():
            plot.set_range(max(axis_end(reached, self._last), 1), heights[id_])
            plot.set_step(shown, reached)
        self.plots["loss"].set_level(self._guessing or None)

    def _say(self) -> None:
        """Name each curve in its colour, with its value at the shown step."""
        theme, at = self._theme, self._measured()
        moment = None if self._picture is None else _moment_at(self._picture)
        loss = [
            self._part(theme.muted, _("training"), None if moment is None else moment.loss),
            self._part(theme.accent, _("held out"), None if at is None else at.loss),
        ]
        if self._guessing:
            guessing = _("guessing: {loss}").format(loss=number(self._guessing, 3))
            loss.append(self._part(theme.muted, guessing))
        accuracy = [
            self._part(theme.muted, _("training"), None if at is None else at.trained_accuracy),
            self._part(theme.accent, _("held out"), None if at is None else at.accuracy),
        ]
        scores = []
        for (id_, title), color in zip(SCORES, (theme.query, theme.key), strict=True):
            values = [] if at is None else [v for key, v in at.scores.items() if key[0] == id_ and v == v]
            scores.append(self._part(color, _(title), max(values, default=None)))
        heads = {"loss": _("Loss"), "accuracy": _("Right answers"), "heads": _("Best scores of the heads")}
        for (id_, head), parts in zip(heads.items(), (loss, accuracy, scores), strict=True):
            self.legends[id_].setText(f"<b>{escape(head)}</b> &nbsp; " + " &nbsp;·&nbsp; ".join(parts))

    def _part(self, color: str, name: str, value: float | None = None) -> str:
        shown = "" if value is None or value != value else f" {number(value, 3)}"
        return f"<span style='color: {color}'>{escape(name)}{shown}</span>"

    def _measured(self) -> Measures | None:
        """The last measures up to the shown step."""
        if self._picture is None:
            return None
        before = [one for one in self._picture.measures if one.step <= self._picture.step]
        return before[-1] if before else None


def _moment_at(picture: Picture) -> Moment | None:
    """The last step before the shown state."""
    at = min(picture.step, len(picture.moments)) - 1
    return picture.moments[at] if at >= 0 else None


def thinned(moments: Sequence[Moment]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The steps and the losses of moments; of many, means of as many steps in a row."""
    steps = np.array([one.step for one in moments], float)
    losses = np.array([one.loss for one in moments], float)
    width = -(-len(steps) // MOST_POINTS)
    if width <= 1:
        return steps, losses
    starts = np.arange(0, len(steps), width)
    counts = np.diff(np.append(starts, len(steps)))
    return np.add.reduceat(steps, starts) / counts, np.add.reduceat(losses, starts) / counts


def axis_end(reached: int, last: int) -> int:
    """The last step of the axis: it doubles as the run goes on, so that its begin is seen, up to `last`."""
    end = 200
    while end < reached:
        end *= 2
    return min(end, last)
