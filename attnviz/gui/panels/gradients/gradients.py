"""Gradients: their norms stage by stage and layer by layer, and the curves of what decides their size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from attnviz.core.text import isolated, number, visible
from attnviz.gui.live.answer import Answer
from attnviz.gui.live.subject import Subject
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, Theme
from attnviz.gui.look.words import says
from attnviz.gui.panels.gradients.step import StepAnswer, StepAsked, StepCard, compute
from attnviz.gui.panels.panel import Panel
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.pictures.bars import Bars
from attnviz.gui.widgets.plots import Plot, pg
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.ranges import shown_range
from attnviz.model.sites.titles import site_title
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.target import LOSS
from attnviz.model.spec.view import Cell, shown_head
from attnviz.model.stages import EMBEDDED, STAGE_BY_ID
from attnviz.model.trace import Trace
from attnviz.study.gradient_curves import CURVE_BY_ID, CURVES, SAYS, GradientCurve, Line, Point
from attnviz.training.step import ALL

if TYPE_CHECKING:
    from attnviz.model.gradient import Gradient

BAND_ALPHA = 0.16
CURVE_PX = 2.2


class CurvePlot(Plot):
    """The lines of a row; the shown head of the document is a dot."""

    def __init__(self) -> None:
        super().__init__(least=(120, 90))
        self._row: GradientCurve | None = None
        self.edges = tuple(
            tuple(pg.PlotCurveItem(antialias=True) for _edge in range(3)) for _line in range(2)
        )
        """Of each line the median, and the two ends of its band."""
        self._bands = tuple(pg.FillBetweenItem(low, high) for _median, low, high in self.edges)
        for band, lines in zip(self._bands, self.edges, strict=True):
            for item in (band, *lines):
                self.view.addItem(item)
        self.dot = pg.ScatterPlotItem(pxMode=True, useCache=False, size=9)
        self.dot.setZValue(20)
        self.view.addItem(self.dot)

    def set_curve(self, row: GradientCurve) -> None:
        """Draw the lines of a row."""
        if row is self._row:
            return
        self._row = row
        x, highest = np.array(row.x), 0.0
        for line, items in zip(row.lines, self.edges, strict=True):
            for item, values in zip(items, self._heights(row, line), strict=True):
                item.setData(x, values)
                highest = max(highest, float(values.max()))
        lowest = min(float(items[1].getData()[1].min()) for items in self.edges) if row.is_log else 0.0
        self._axes[1].setTicks([list(row.ticks)])
        self.view.setRange(xRange=(x[0], x[-1]), yRange=(lowest, highest), padding=0.02)
        self.apply_theme(self._theme)

    @staticmethod
    def _heights(row: GradientCurve, line: Line) -> tuple[np.ndarray, ...]:
        slopes = line.slopes()
        return tuple(row.heights(values) for values in (slopes.median, slopes.low, slopes.high))

    def set_point(self, point: Point | None) -> None:
        """Mark the document."""
        if point is None or self._row is None or not np.isfinite(point).all():
            self.dot.setData(x=[], y=[])
            return
        self.dot.setData(x=[point[0]], y=[float(self._row.heights(np.array(point[1])))])

    def apply_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`: of the first line that of queries, of the second that of keys."""
        super().apply_theme(theme)
        lines = () if self._row is None else self._row.lines
        for line, (median, *ends), band in zip(lines, self.edges, self._bands, strict=False):
            color = QColor(theme.query if line.is_first else theme.key)
            style = Qt.PenStyle.SolidLine if line.is_first else Qt.PenStyle.DashLine
            median.setPen(pg.mkPen(color, width=CURVE_PX, style=style))
            for end in ends:
                end.setPen(None)
            color.setAlphaF(BAND_ALPHA)
            band.setBrush(color)
        self.dot.setBrush(QColor(theme.ink))
        self.dot.setPen(pg.mkPen(theme.panel, width=1.5))


STEP, TOKENS = "step", "tokens"
SHOWN: tuple[tuple[str, str, str], ...] = (
    (STEP, N_("One step"), N_("One step against the gradient: w ← w − η g, before and after")),
    *((row.id, row.label, row.hint) for row in CURVES),
    ("stages", N_("Stages"), N_("The norm of the gradient with respect to each stage of this layer")),
    ("layers", N_("Layers"), N_("The norm of the gradient with respect to this stage in every layer")),
    (TOKENS, N_("Tokens"), N_("The norm of the gradient with respect to the vector of each token")),
)
"""The pictures of the panel: id, label, hint."""


class GradientsPanel(Panel):
    """A click on a bar shows its stage and its layer, or opens the largest number of its token."""

    follows = ("stage", "head", "site", "target")
    draws_gradients = True

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._choice = says(Combo(()), id="gradients_shown", name=N_("Picture"), options=SHOWN)
        self._choice.set_value(STEP)
        self._choice.changed.connect(self._on_choice)
        self._says = QLabel()
        self._says.setObjectName("gradients_says")
        self._says.setTextFormat(Qt.TextFormat.PlainText)
        self._says.setFont(ui_font(11))
        self._says.setWordWrap(True)
        self._says.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
        self.plot = CurvePlot()
        self.plot.setObjectName("gradient_curve")
        self.bars = says(Bars(), id="gradient_norms", name=N_("Norms of the gradient"))
        self.bars.clicked.connect(self._on_bar)
        self._places: tuple[tuple[str, str], ...] = ()
        self._tokens: tuple[tuple[str, int], ...] = ()
        self._scroll = clear_scroll(self.bars, sideways=False)
        self.answer: Answer[StepAsked, StepAnswer] = self.asks(Answer("step", compute, self, in_turn=True))
        self.answer.changed.connect(self._show)
        self.step = StepCard()
        self.step.asked.connect(self._ask)
        self.step.taken.connect(self._on_taken)
        store.opened.connect(self.step.forget)
        self.step.rate.rejected.connect(store.rejected)
        for field in self.step.place:
            field.rejected.connect(store.rejected)
        column = in_column(self, self._choice, self._says, self.step, spacing=GRID // 2)
        column.addWidget(self.plot, 1)
        column.addWidget(self._scroll, 1)
        set_tone("muted", self._says)

    def choose(self, id_: str) -> None:
        """Show one of `SHOWN`; another id changes nothing."""
        if id_ in {row[0] for row in SHOWN}:
            self._choice.set_value(id_)
            self._show()

    def sizeHint(self) -> QSize:
        return QSize(360, 240)

    def on_document(self, old: Document | None, new: Document) -> None:
        self._ask()
        self._show()

    def on_trace(self, trace: Trace) -> None:
        self._ask()
        self._show()

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        self._show()

    def retranslate(self) -> None:
        self._show()

    @Slot()
    def _show(self) -> None:
        curve, is_step = CURVE_BY_ID.get(self._choice.value()), self._choice.value() == STEP
        self.plot.setVisible(curve is not None)
        self._scroll.setVisible(curve is None and not is_step)
        self.step.setVisible(is_step)
        if self.store.trace is None:
            return
        if is_step:
            self._show_step()
            return
        if curve is not None:
            self._show_curve(curve)
        else:
            self._show_norms(self.store.gradient)

    @Slot()
    def _ask(self) -> None:
        """Ask for the step of the present numbers, while it is shown: of the chosen target, else the loss."""
        trace, view = self.store.current_trace, self.store.document.view
        if trace is None or self._choice.value() != STEP:
            self.answer.ask(None)
            return
        site = trace.site(self.store.document.site)
        stage = site.shown_stage(view.stage)
        asked = StepAsked(
            Subject.of(trace),
            view.target or LOSS,
            float(self.step.rate.value()),
            self.step.what.value() or ALL,
            site.name,
            stage,
            shown_head(site.experiment, view, stage),
            shown_range(site, view, stage),
            self.step.number,
        )
        self.answer.ask(asked)

    def _show_step(self) -> None:
        """The step, or why it has none."""
        answer = self.answer
        experiment = None if answer.of is None else answer.of.subject.experiment
        self.step.set_answer(answer.result, experiment, self.theme, is_due=answer.is_due)
        if answer.problem is not None:
            said = answer.problem.text()
            if self.store.document.view.target is None and not self.step.has_parameters:
                hint = _("Choose a target with ∂ over the map: a cell, or the loss.")
                said = _("{sentence} {next_one}").format(sentence=said, next_one=hint)
        elif answer.result is not None:
            said = _("For each weight: w ← w − η g")
        else:
            said = _("Computing the step…")
        self._says.setText(said)

    @Slot(object)
    def _on_taken(self, experiment: Experiment) -> None:
        """Give the document its new weights, if they are those of the present ones."""
        of = self.answer.of
        if of is not None and of.subject.experiment == self.store.experiment:
            self.store.edit(lambda _present: experiment)

    def _show_curve(self, curve: GradientCurve) -> None:
        """The lines, and the shown head among them."""
        self.plot.set_curve(curve)
        self.plot.setAccessibleName(_(curve.title))
        point = curve.point(self.store.shown_site, self.store.document.view)
        self.plot.set_point(None if point is None else point[0])
        sentence = _(curve.says).format(**SAYS)
        if point is not None and curve.dot:
            dot = _(curve.dot).format(at=f"{point[1]:g}", norm=number(point[0][1], 3))
            sentence = _("{sentence} {next_one}").format(sentence=sentence, next_one=dot)
        self._says.setText(sentence)

    def _show_norms(self, gradient: Gradient | None) -> None:
        if gradient is None:
            self._places, self._tokens = (), ()
            self.bars.set_rows((), ())
            self._says.setText(_("Choose a target with ∂ over the map: a cell, or the loss."))
            return
        if self._choice.value() == TOKENS:
            self._show_tokens(gradient)
            return
        self._places, self._tokens = self._chosen(gradient), ()
        labels = [self._label(gradient, *place) for place in self._places]
        self.bars.set_rows(labels, [gradient.norms[place] for place in self._places], self.theme.accent)
        sentence = _("Norm √(Σ g²) of the gradient of {target}")
        self._says.setText(sentence.format(target=gradient.of.name()))

    def _show_tokens(self, gradient: Gradient) -> None:
        """The token that would change the target most, in words, and a bar for each."""
        norms = gradient.token_norms
        self._places, self._tokens = (), tuple(norms)
        labels = [isolated(visible(gradient.site(site).names("token")[at])) for site, at in norms]
        self.bars.set_rows(labels, list(norms.values()), self.theme.accent)
        earlier = _before_the_loss(gradient)
        largest = max(earlier or norms, key=lambda place: norms[place])
        sentence = (
            _("Of the earlier tokens, “{token}” changes {target} most: norm {norm}. A click opens a number.")
            if earlier
            else _("The token “{token}” changes {target} most: norm {norm}. A click opens a number.")
        )
        named = labels[self._tokens.index(largest)]
        at = number(norms[largest], 4)
        self._says.setText(sentence.format(token=named, target=gradient.of.name(), norm=at))

    def _chosen(self, gradient: Gradient) -> tuple[tuple[str, str], ...]:
        """(site, stage) of the bars: the stages of this layer, or this stage of every layer."""
        view, site = self.store.document.view, gradient.shown(self.store.document.view.site)
        if self._choice.value() == "stages":
            return tuple(place for place in gradient.norms if place[0] == site.name)
        stage = site.shown_stage(view.stage)
        return tuple(place for place in gradient.norms if place[1] == stage)

    def _label(self, gradient: Gradient, site: str, stage: str) -> str:
        if self._choice.value() == "stages":
            return _(STAGE_BY_ID[stage].title)
        return site_title(gradient.experiment, site)

    @Slot(str)
    def _on_choice(self, choice: str) -> None:
        self._ask()
        self._show()

    @Slot(int)
    def _on_bar(self, bar: int) -> None:
        if 0 <= bar < len(self._places):
            site, stage = self._places[bar]
            self.store.look(site=site, stage=stage)
        elif 0 <= bar < len(self._tokens):
            self._open(*self._tokens[bar])

    def _open(self, site: str, token: int) -> None:
        """Lock the number of a token by which the gradient is largest: the inspector then explains it."""
        if self.store.gradient is None:
            return
        row = self.store.gradient.site(site)[EMBEDDED][token]
        cell = Cell(EMBEDDED, token, int(np.abs(row).argmax()), 0)
        self.store.look(site=site, stage=EMBEDDED, query=token, locked=cell)


def _before_the_loss(gradient: Gradient) -> list[tuple[str, int]]:
    """The tokens before the one position whose loss is the target; none for another target."""
    of = gradient.of
    if of.cell is not None or len(of.positions) != 1:
        return []
    return [(site, at) for site, at in gradient.token_norms if at < of.positions[0]]
