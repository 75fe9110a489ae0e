"""One step by hand: w ← w − η g, what it makes of the target, and the map before and after it."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from attnviz.core.levels import RANGE_BY_ID, Ends
from attnviz.core.progress import Progress
from attnviz.core.text import number, signed
from attnviz.gui.live.subject import Subject
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX, Theme
from attnviz.gui.look.words import says
from attnviz.gui.widgets.boxes import in_column, in_row
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.control import Control
from attnviz.gui.widgets.heat.thumbnail import Thumbnail
from attnviz.gui.widgets.linked_text import LinkedText, line, link
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.widgets.slider_field import SliderField
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.ranges import has_first, range_ends
from attnviz.model.sites.sites import site_names
from attnviz.model.sites.titles import layer_label
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.target import LOSS
from attnviz.model.trace import SiteTrace
from attnviz.training.step import ALL

if TYPE_CHECKING:
    from attnviz.training.step import Step

RATE, LEAST_RATE, MOST_RATE = 0.1, 1e-4, 1e3
SIDE = 84
ONE, STEEPEST = "one", "steepest"
"""Addresses of the links that change one number alone, and that show the one with the largest |g|."""
_PLACES = (
    ("row", N_("row"), N_("Row of the weight")),
    ("column", N_("column"), N_("Column of the weight")),
)
_SIDES = ("left", "right", "right", "right")
"""Sides of the columns of the table."""


Picture = tuple[NDArray[np.floating], NDArray[np.bool_] | None]
"""A map and its hatched cells, both reduced to an overview."""


@dataclass(frozen=True)
class StepAsked:
    """A target of a subject, the rate, the parameters that change, and the shown map with its range.

    `number` is the chosen number of a matrix, (row, column); None: the one with the largest |g|.
    """

    subject: Subject
    target: str
    rate: float
    what: str
    site: str
    stage: str
    head: int
    range_id: str
    number: tuple[int, int] | None = None


class Listed(NamedTuple):
    """A parameter with a derivative: its name, symbol, site and shape."""

    name: str
    symbol: str
    site: str
    shape: tuple[int, int]


@dataclass(frozen=True, eq=False)
class StepAnswer:
    """The step, that of one number alone, the parameters, and the map before and after in one range of
    colours.
    """

    step: Step
    alone: Step
    parameters: tuple[Listed, ...]
    maps: tuple[Picture, Picture]
    ends: Ends
    is_signed: bool


def compute(asked: StepAsked, check: Progress) -> StepAnswer:
    """The step, in a worker."""
    from attnviz.compute.execute import execute, execute_backward
    from attnviz.training.step import having_gradient, step_along

    subject = asked.subject
    where = subject.engine, subject.device
    trace, gradient = execute_backward(subject.experiment, asked.target, *where, check.part(0.0, 0.5))
    step = step_along(gradient, asked.rate, asked.what, *where, check.part(0.5, 0.7))
    number_ = str(step.weight) if asked.number is None else f"{asked.what}{list(asked.number)}"
    alone = step_along(gradient, asked.rate, number_, *where)
    parameters = tuple(Listed(one.name, one.symbol, one.site, one.shape) for one in having_gradient(gradient))
    before, after = (of.site(asked.site) for of in (trace, execute(step.experiment, *where, check)))
    maps = _picture(before, asked), _picture(after, asked)
    ends = [range_ends(of, asked.stage, asked.range_id, (asked.head,)) for of in (before, after)]
    both = min(low for low, _high in ends), max(high for _low, high in ends)
    return StepAnswer(step, alone, parameters, maps, both, before.is_signed(asked.stage))


def _picture(site: SiteTrace, asked: StepAsked) -> Picture:
    """The overview of a map, without the first token where its range leaves that out."""
    values, hidden = site.overview(asked.stage, asked.head)
    if RANGE_BY_ID[asked.range_id].skips_first and has_first(site, asked.stage):
        hidden = np.zeros(values.shape, np.bool_) if hidden is None else hidden.copy()
        hidden[:, :1] = True
    return values, hidden


class NumberLine(Control):
    """A line with the weight before and after a step, and the arrow between them."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("step_line")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._ends = (0.0, 0.0)

    def set_ends(self, before: float, after: float) -> None:
        """Show a step of one number."""
        self._ends = before, after
        self.setAccessibleName(_("The weight before and after the step"))
        self.setAccessibleDescription(f"{number(before, 5)} → {number(after, 5)}")
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(220, 44)

    def minimumSizeHint(self) -> QSize:
        return QSize(120, 44)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, (before, after) = self._theme, self._ends
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        y, left, right = 26.0, 28.0, self.width() - 28.0
        painter.setPen(QPen(QColor(theme.line), 1))
        painter.drawLine(QPointF(4, y), QPointF(self.width() - 4, y))
        low, high = min(before, after), max(before, after)
        reach = high - low or 1.0
        start, end = (left + (right - left) * (value - low) / reach for value in self._ends)
        color = QColor(theme.error)
        painter.setPen(QPen(color, 2))
        painter.drawLine(QPointF(start, y), QPointF(end, y))
        way = 1 if end > start else -1
        head = [QPointF(end, y), QPointF(end - 8 * way, y - 4), QPointF(end - 8 * way, y + 4)]
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color)
        painter.drawPolygon(QPolygonF(head))
        painter.setBrush(QColor(theme.ink))
        painter.drawEllipse(QPointF(start, y), 3.5, 3.5)
        painter.setFont(ui_font(TEXT_PX - 1, QFont.Weight.DemiBold))
        for x, text, ink in ((start, "w", theme.ink), (end, "w − η g", theme.error)):
            self._write(painter, x, 2, text, ink)
        painter.setFont(number_font(TEXT_PX - 2))
        for x, value in ((start, before), (end, after)):
            self._write(painter, x, y + 4, number(value, 5), theme.muted)

    def _write(self, painter: QPainter, x: float, top: float, text: str, ink: str) -> None:
        """A text whose middle is at x, moved into the widget."""
        width = painter.fontMetrics().horizontalAdvance(text) + 2.0
        left = min(max(x - width / 2, 0.0), self.width() - width)
        painter.setPen(QColor(ink))
        painter.drawText(QRectF(left, top, width, 16), Qt.AlignmentFlag.AlignCenter, text)


class StepCard(QWidget):
    """`asked` says that the rate or the parameters changed; `taken` carries the experiment after a step."""

    asked = Signal()
    taken = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        says(self, id="step_card", name=N_("One step"))
        self._answer: StepAnswer | None = None
        self._experiment: Experiment | None = None
        self._parameters: tuple[Listed, ...] = ()
        self.number: tuple[int, int] | None = None
        """The number of the chosen matrix that is shown; None: the one with the largest |g|."""
        self.what = says(
            Combo(()),
            id="step_what",
            name=N_("Parameters that change"),
            tip=N_("All parameters, or one matrix; a step moves each number against its derivative"),
        )
        self.what.changed.connect(self._on_what)
        self.rate = SliderField("η", RATE, LEAST_RATE, MOST_RATE, default=RATE, decimals=4, logarithmic=True)
        says(
            self.rate,
            id="step_rate",
            name=N_("Learning rate η"),
            tip=N_("How far the step goes along the gradient; too far, and the target gets worse"),
        )
        self.rate.changed.connect(self._on_rate)
        self.place = tuple(DragNumber(0, minimum=0, maximum=0, integer=True) for _axis in range(2))
        self._placed = QWidget()
        places = in_row(self._placed, spacing=GRID)
        for field, (id_, text, name) in zip(self.place, _PLACES, strict=True):
            label = says(QLabel(), text, id=f"step_{id_}_label")
            set_tone("muted", label)
            places.addWidget(label)
            places.addWidget(says(field, id=f"step_{id_}", name=name, tip=True))
            field.changed.connect(self._on_place)
        places.addStretch(1)
        self.said, self.table = (LinkedText(f"step_{name}", TEXT_PX) for name in ("said", "table"))
        self.said.chosen.connect(self._on_link)
        self.line = NumberLine()
        self.maps = tuple(Thumbnail(SIDE) for _side in range(2))
        for picture, name in zip(self.maps, ("before", "after"), strict=True):
            picture.setObjectName(f"step_map_{name}")
            picture.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            picture.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        tip = N_("Move the weights of the document; undo takes the step back")
        self.button = says(Button(), N_("Take one step"), id="take_step", tip=tip)
        self.button.setProperty("primary", True)
        self.button.clicked.connect(self._on_take)
        pictures = in_row(None, *self.maps, spacing=GRID)
        pictures.addStretch(1)
        column = in_column(self, self.what, self._placed, self.rate, spacing=GRID // 2)
        for part in (self.line, self.said, self.table):
            column.addWidget(part)
        column.addLayout(pictures)
        column.addLayout(in_row(None, self.button, spacing=GRID))
        column.addStretch(1)

    def apply_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`."""
        self._show()

    def retranslate(self) -> None:
        self._parameters = ()
        self._show()

    @property
    def has_parameters(self) -> bool:
        """True once a step of this document was computed, so that another rate or matrix can be chosen."""
        return bool(self._parameters)

    @Slot()
    def forget(self) -> None:
        """Another document opens: its parameters are others."""
        self._answer, self._experiment = None, None
        self._parameters, self.number = (), None
        self.what.set_options(())

    def set_answer(
        self, answer: StepAnswer | None, experiment: Experiment | None, theme: Theme, *, is_due: bool
    ) -> None:
        """Show a step of an experiment, or without one the controls; the button waits for a new answer."""
        self._answer, self._theme = answer, theme
        self._experiment = self._experiment if experiment is None else experiment
        self.button.setEnabled(answer is not None and not is_due)
        self._show()

    def _show(self) -> None:
        answer = self._answer
        for part in (self.line, self.said, self.table, *self.maps):
            part.setVisible(answer is not None)
        if answer is not None:
            self._show_answer(answer)
        for control in (self.what, self.rate, self.button):
            control.setVisible(self.has_parameters)
        self._placed.setVisible(self.has_parameters and self.what.value() != ALL)

    def _show_answer(self, answer: StepAnswer) -> None:
        self._list_parameters(answer)
        weight = answer.alone.weight
        shape = next((one.shape for one in self._parameters if one.name == weight.name), (1, 1))
        for field, place, size in zip(self.place, (weight.row, weight.column), shape, strict=True):
            field.set_range(0, size - 1)
            field.set_value(place)
        self.line.set_ends(weight.number, weight.after(answer.step.rate))
        self.said.set_body(self._arithmetic(answer))
        self.table.set_body(self._table(answer))
        captions = _("now"), _("after the step")
        for picture, (values, hidden), caption in zip(self.maps, answer.maps, captions, strict=True):
            picture.set_values(values, answer.is_signed, hidden, levels=answer.ends)
            picture.set_caption(caption)

    def _list_parameters(self, answer: StepAnswer) -> None:
        if answer.parameters != self._parameters:
            self._parameters = answer.parameters
            options = [(one.name, self._title(one.symbol, one.site), "") for one in answer.parameters]
            chosen = self.what.value() or ALL
            self.what.set_options([(ALL, _("All weights"), ""), *options])
            self.what.set_value(chosen)

    def _title(self, symbol: str, site: str) -> str:
        experiment = self._experiment
        if not site or experiment is None or len(site_names(experiment)) == 1:
            return symbol
        return f"{symbol} · {layer_label(experiment, site)}"

    def _arithmetic(self, answer: StepAnswer) -> str:
        """The number by name, and its w − η g in numbers."""
        step, weight, theme = answer.step, answer.alone.weight, self._theme
        found = next(one for one in answer.parameters if one.name == weight.name)
        at = self._title(f"{found.symbol}[{weight.row}, {weight.column}]", found.site)
        is_steepest = abs(weight.slope) == abs(step.weight.slope)
        remark = f"({_('largest |g|')})" if is_steepest else ""
        heading = line(f"{escape(at)} <span style='color: {theme.muted}'>{escape(remark)}</span>")
        after, slope = number(weight.after(step.rate), 5), number(weight.slope, 5)
        if weight.slope < 0:
            slope = f"({slope})"
        sum_ = (
            f"<span style='color: {theme.error}'>{after}</span> = {number(weight.number, 5)} − "
            f"<span style='color: {theme.accent}'>{number(step.rate, 4)}</span> × {slope}"
        )
        links = [link(ONE, _("Change this number alone"))]
        if not is_steepest:
            links.append(link(STEEPEST, _("largest |g|")))
        return heading + line(sum_) + line(" &nbsp; ".join(links))

    def _table(self, answer: StepAnswer) -> str:
        """The target now, with the steepest number changed, and with all that are chosen."""
        step, alone = answer.step, answer.alone
        moved = _("all weights") if self.what.value() in ("", ALL) else self.what.currentText()
        rows = [(_("this number"), alone), (moved, step)]
        heads = ("", _("loss") if step.target == LOSS else step.target, _("change"), "−η Σ g²")
        cells = [self._row(heads, [self._theme.muted] * 4)]
        cells.append(self._row((_("now"), number(step.before, 5), "", ""), [self._theme.ink] * 4))
        for name, one in rows:
            color = self._theme.error if one.change * one.predicted < 0 else self._theme.value
            texts = name, number(one.after, 5), signed(one.change), signed(one.predicted)
            cells.append(self._row(texts, [self._theme.ink, self._theme.ink, color, self._theme.muted]))
        table = f"<table cellspacing='0' cellpadding='1' width='100%'>{''.join(cells)}</table>"
        if step.change * step.predicted >= 0:
            return table
        worse = _("The step is too long: the target moves the other way than the gradient says.")
        return table + line(escape(worse), f"color: {self._theme.error}")

    @staticmethod
    def _row(texts: tuple[str, ...], colors: list[str]) -> str:
        cells = (
            f"<td align='{side}' style='color: {color}'>{escape(text)}&nbsp;</td>"
            for side, text, color in zip(_SIDES, texts, colors, strict=True)
        )
        return f"<tr>{''.join(cells)}</tr>"

    @Slot(str)
    def _on_what(self, what: str) -> None:
        self.number = None
        self.asked.emit()

    @Slot(object)
    def _on_place(self, place: int) -> None:
        row, column = (int(field.value()) for field in self.place)
        self.number = row, column
        self.asked.emit()

    @Slot(object)
    def _on_rate(self, rate: float) -> None:
        self.asked.emit()

    @Slot()
    def _on_take(self) -> None:
        if self._answer is not None:
            self.taken.emit(self._answer.step.experiment)

    @Slot(str)
    def _on_link(self, address: str) -> None:
        if self._answer is not None and address == ONE:
            self.taken.emit(self._answer.alone.experiment)
        elif address == STEEPEST:
            self.number = None
            self.asked.emit()
