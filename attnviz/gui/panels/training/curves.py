"""The curves of a run over one axis of steps: loss, accuracy, and the scores of all heads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PySide6.QtCore import QPointF, Qt, Signal, Slot
from PySide6.QtGui import QColor, QMouseEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from attnviz.core.text import number
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX, Theme
from attnviz.gui.look.words import says
from attnviz.gui.widgets.boxes import in_column, in_row
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.control import active_theme
from attnviz.gui.widgets.plots import Plot, pg
from attnviz.i18n import N_, _
from attnviz.model.sites.titles import layer_label
from attnviz.training.record import HeadPlace, Measures, Moment
from attnviz.training.seen import thinned
from attnviz.training.turns import Beside, Picture

AXIS_PX = 40
"""Width of the axes at the left: all views begin at the same place."""
MOST_POINTS = 800
"""Points of the curve of the steps; of longer runs, each is a mean of some steps."""
HANDLE_PX = 9
"""From an end of the track of states to the handle there."""
TICK_PX = 6
"""Half of the height of a number at an axis."""
THIN, MIDDLE, THICK = 1.0, 1.6, 2.2
FAINT = 120
"""Opacity of the thin curves of heads, from 0 to 255."""
PALE = 150
"""Opacity of the veil over the steps behind the shown one, from 0 to 255."""
SCORES = (("previous", N_("previous token")), ("induction", N_("induction")))
"""The scores that have curves: those of queries' colour, and of keys'."""
THIRD = (
    (
        "scores",
        N_("Best scores"),
        N_("Weight on the word before, and on what followed last time"),
    ),
    (
        "entropy",
        N_("Entropy"),
        N_("Entropy of the weights as a share of the greatest possible one"),
    ),
    ("norms", N_("Gradient norm"), N_("Norm of the gradient by the parameters of each layer")),
)
"""The choices of the third picture: id, title, hint."""
THIRD_PX = 132
"""Width of their list."""
QUANTILE = 0.98
"""The share of the norms that the picture has room for: the first ones are often far larger."""


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
        self._beside: Beside | None = None
        self._trail, self._thin = Trail(), np.empty((0, 2))
        self._guessing, self._last = 0.0, 1
        self._head: HeadPlace | None = None
        names = (
            ("loss", N_("Loss over the steps")),
            ("accuracy", N_("Accuracy over the steps")),
            ("heads", N_("Heads or layers over the steps")),
        )
        self.third = says(Combo(()), id="training_third", name=N_("Third picture"), options=THIRD)
        self.third.set_value(THIRD[0][0])
        self.third.setFixedWidth(THIRD_PX)
        self.third.changed.connect(self._on_third)
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
            legend.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
            legend.setContentsMargins(GRID // 2, 0, 0, 0)
            if id_ == "heads":
                heading = in_row(None, self.third, spacing=GRID // 2)
                heading.addWidget(legend, 1)
                column.addLayout(heading)
            else:
                column.addWidget(legend)
            column.addWidget(plot, room)
            plot.clicked.connect(self.chosen)

    def set_picture(
        self,
        picture: Picture | None,
        guessing: float,
        n_steps: int,
        head: HeadPlace | None,
        beside: Beside | None = None,
    ) -> None:
        """Draw a run of `n_steps`, and one beside it; `guessing` is the loss of one who guesses, `head` the
        chosen head.
        """
        self._picture, self._guessing, self._last, self._head = picture, guessing, n_steps, head
        self._beside = beside
        self._show()

    @Slot(str)
    def _on_third(self, id_: str) -> None:
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
        accent, muted = QColor(theme.accent), QColor(theme.muted)
        faint = QColor(muted)
        faint.setAlpha(FAINT)
        b = () if self._beside is None else self._beside.measures
        rows = self._thin = thinned(self._trail.rows(moments), MOST_POINTS)
        loss: list[Curve] = [
            (rows[:, 0], rows[:, 1], faint, THIN),
            (*_steps(measures, "loss"), accent, THICK),
        ]
        accuracy: list[Curve] = [
            (*_steps(measures, "trained_accuracy"), faint, THIN),
            (*_steps(measures, "accuracy"), accent, THICK),
        ]
        if b:
            loss.append((*_steps(b, "loss"), muted, THICK))
            accuracy.append((*_steps(b, "accuracy"), muted, THICK))
        self.plots["loss"].set_curves(loss)
        self.plots["accuracy"].set_curves(accuracy)
        third = self._of_layers() if self.third.value() == "norms" else self._of_heads(measures)
        self.plots["heads"].set_curves(third)
        self._scale(measures, moments)
        self._say()

    def _of_heads(self, measures: Sequence[Measures]) -> list[Curve]:
        """The curves of the scores of every head: the largest one now, and the chosen head's, are thick."""
        found = list[Curve]()
        if not measures:
            return []
        measures = _few(measures)
        steps = [one.step for one in measures]
        colors = {
            "previous": self._theme.query,
            "induction": self._theme.key_mark,
            "entropy": self._theme.value,
        }
        for id_ in self._scores():
            last = {key: value for key, value in measures[-1].scores.items() if key[0] == id_}
            best = max(last, key=lambda key: np.nan_to_num(last[key]), default=None)
            for key in last:
                is_thick = (key == best and id_ != "entropy") or key[1:] == self._head
                values = [one.scores[key] for one in measures]
                color = QColor(colors[id_])
                color.setAlpha(255 if is_thick else FAINT)
                found.append((steps, values, color, THICK if is_thick else THIN))
        return found

    def _scores(self) -> tuple[str, ...]:
        """The scores of the third picture."""
        return ("entropy",) if self.third.value() == "entropy" else tuple(id_ for id_, _title in SCORES)

    def _of_layers(self) -> list[Curve]:
        """The norm of the gradient by the parameters of each layer, and of the vocabulary."""
        rows, picture = self._thin, self._picture
        parts = () if picture is None or rows.shape[1:] != (2 + len(picture.parts),) else picture.parts
        return [
            (rows[:, 0], rows[:, 2 + index], self._color_of(index), MIDDLE if part else THIN)
            for index, part in enumerate(parts)
        ]

    def _color_of(self, index: int) -> QColor:
        """The colour of a part with parameters: from that of queries to that of keys with the layers."""
        assert self._picture is not None
        parts, theme = self._picture.parts, self._theme
        layers = [part for part in parts if part]
        if not parts[index]:
            return QColor(theme.muted)
        share = layers.index(parts[index]) / max(len(layers) - 1, 1)
        first, last = QColor(theme.query), QColor(theme.key_mark)
        return QColor(
            *(
                round((1 - share) * a + share * b)
                for a, b in (
                    (first.red(), last.red()),
                    (first.green(), last.green()),
                    (first.blue(), last.blue()),
                )
            )
        )

    def _scale(self, measures: Sequence[Measures], moments: Sequence[Moment]) -> None:
        """One axis of steps for all; the loss up to its largest one, and not past three times guessing."""
        losses = [loss for loss in [one.loss for one in measures] if math.isfinite(loss)]
        highest = min(max((*losses, self._guessing), default=1.0), 3 * self._guessing or math.inf)
        heights = {"loss": 1.08 * (highest or 1.0), "accuracy": 1.04, "heads": self._third_height()}
        reached = max((one.step + 1 for one in moments[-1:]), default=0)
        shown = 0 if self._picture is None else self._picture.step
        for id_, plot in self.plots.items():
            plot.set_range(max(axis_end(reached, self._last), 1), heights[id_])
            plot.set_step(shown, reached)
        self.plots["loss"].set_level(self._guessing or None)

    def _third_height(self) -> float:
        """The largest value of the third picture."""
        norms = self._thin[:, 2:]
        if self.third.value() != "norms" or not norms.size:
            return 1.04
        return 1.08 * float(np.quantile(norms, QUANTILE)) or 1.0

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
        b = None if self._beside is None else measured_at(self._beside.measures, self._beside.step)
        if b is not None:
            loss.insert(2, self._part(theme.muted, _("run B"), b.loss))
            accuracy.append(self._part(theme.muted, _("run B"), b.accuracy))
        heads = {"loss": f"<b>{escape(_('Loss'))}</b> &nbsp; "}
        heads |= {"accuracy": f"<b>{escape(_('Right answers'))}</b> &nbsp; ", "heads": ""}
        third = self._layers_said(moment) if self.third.value() == "norms" else self._scores_said(at)
        for (id_, head), parts in zip(heads.items(), (loss, accuracy, third), strict=True):
            self.legends[id_].setText(head + " &nbsp;·&nbsp; ".join(parts))

    def _scores_said(self, at: Measures | None) -> list[str]:
        """The largest value of each score; of the entropy, the least and the largest one."""
        theme, said = self._theme, list[str]()
        if self.third.value() == "entropy":
            values = (
                [] if at is None else [v for key, v in at.scores.items() if key[0] == "entropy" and v == v]
            )
            ends = f"{number(min(values), 2)} – {number(max(values), 2)}" if values else ""
            return [self._part(theme.value, ends)]
        for (id_, title), color in zip(SCORES, (theme.query, theme.key), strict=True):
            values = [] if at is None else [v for key, v in at.scores.items() if key[0] == id_ and v == v]
            said.append(self._part(color, _(title), max(values, default=None)))
        return said

    def _layers_said(self, moment: Moment | None) -> list[str]:
        """The norm of each layer and of the vocabulary before the shown state."""
        picture = self._picture
        if picture is None:
            return []
        said = []
        for index, part in enumerate(picture.parts):
            name = layer_label(picture.experiment, part) if part else _("vocabulary")
            value = None if moment is None or not moment.norms else moment.norms[index]
            said.append(self._part(self._color_of(index).name(), name, value))
        return said

    def _part(self, color: str, name: str, value: float | None = None) -> str:
        shown = "" if value is None or value != value else f" {number(value, 3)}"
        return f"<span style='color: {color}'>{escape(name)}{shown}</span>"

    def _measured(self) -> Measures | None:
        """The last measures up to the shown step."""
        picture = self._picture
        return None if picture is None else picture.switched or measured_at(picture.measures, picture.step)


def _moment_at(picture: Picture) -> Moment | None:
    """The last step before the shown state."""
    at = min(picture.step, len(picture.moments)) - 1
    return picture.moments[at] if at >= 0 else None


def measured_at(measures: Sequence[Measures], step: int) -> Measures | None:
    """The last measures up to a step."""
    return next((one for one in reversed(measures) if one.step <= step), None)


def _few(measures: Sequence[Measures]) -> Sequence[Measures]:
    """Measures, of many every second or third and the last: a pixel has no room for two."""
    every = -(-len(measures) // MOST_POINTS)
    return measures if every <= 1 else (*measures[:-1:every], measures[-1])


def _steps(measures: Sequence[Measures], name: str) -> tuple[list[int], list[float]]:
    """The steps of measures, and one of their numbers."""
    few = _few(measures)
    return [one.step for one in few], [getattr(one, name) for one in few]


class Trail:
    """The numbers of moments as rows: step, loss, and the norm of each part; only new moments are read."""

    def __init__(self) -> None:
        self._rows = np.empty((0, 2))
        self._count = 0
        self._last: Moment | None = None

    def rows(self, moments: Sequence[Moment]) -> NDArray[np.float64]:
        """The rows (moment, number) of a run that has gone on, or of another one."""
        count = self._count
        if count > len(moments) or (count and moments[count - 1] is not self._last):
            count = 0
        new = [(one.step, one.loss, *one.norms) for one in moments[count:]]
        if new:
            rows = np.array(new)
            if count == 0 or len(moments) > len(self._rows):
                room = np.empty((len(moments), rows.shape[1]))
                self._rows = (
                    np.concatenate([self._rows[:count], rows, room]) if count else np.vstack([rows, room])
                )
            self._rows[count : len(moments)] = rows
        self._count, self._last = len(moments), moments[-1] if moments else None
        return self._rows[: self._count]


def axis_end(reached: int, last: int) -> int:
    """The last step of the axis: it doubles as the run goes on, so that its begin is seen, up to `last`."""
    end = 200
    while end < reached:
        end *= 2
    return min(end, last)
