"""Cost: parameters, operations and bytes, of this experiment or of a published model, line by line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from weakref import ref

from PySide6.QtCore import QSize, Qt, QTimer, Slot
from PySide6.QtGui import QFont, QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QLabel, QLayout, QSizePolicy, QVBoxLayout, QWidget

from attnviz.bench.cases import Size
from attnviz.bench.implementations import Timed
from attnviz.core.cost.lines import Line, rounded, valued
from attnviz.core.cost.memory_fit import sentence
from attnviz.core.cost.published_models import PUBLISHED
from attnviz.core.phrases import enumerated, named
from attnviz.core.progress import Progress
from attnviz.explain.architectures import architecture_of, stack_of
from attnviz.explain.bills import EXPERIMENT, QUANTITIES, Question, bill, of_experiment, of_published, origin
from attnviz.gui.live.answer import Answer
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.look.words import says
from attnviz.gui.panels.cost.bar import MemoryBar
from attnviz.gui.panels.cost.curve import CostCurve, Measured
from attnviz.gui.panels.cost.fields import CostFields
from attnviz.gui.panels.cost.lines import CostLines
from attnviz.gui.panels.cost.timings import timed_size, timings
from attnviz.gui.panels.panel import Panel
from attnviz.gui.services.services import Services
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.elided_label import WholeLabel
from attnviz.gui.widgets.linked_text import LinkedText, line, link
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.trace import Trace

WIDE_PX = 720
"""From here on the arithmetic and the curve stand side by side."""

NARROW_PX = 400
"""Below this width the sizes stand under the arithmetic."""

ROOM = QSize(660, 560)
"""Room of the arithmetic, beside the sizes, and of the panel that letters of the usual size fill."""

LARGEST = 1.7
"""Greatest factor by which letters grow in more room than `ROOM`."""

FIELDS_PX = 160
"""Least width of the column of sizes."""

MOST_RUNS = 400
"""Measured runs that are remembered."""

REST_MS = 120
"""A run's time is shown when no other run has followed for so long: never within a drag."""


def times(size: Size, check: Progress) -> tuple[Timed, ...]:
    """The implementations of one attention, timed in a worker."""
    from attnviz.bench.implementations import timed

    return timed(size, check)


class CostPanel(Panel):
    """Choose whose cost and which quantity; drag the sizes; read the arithmetic and the curve."""

    follows = ()

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self.question = of_experiment(
            Question(architecture=architecture_of(store.experiment)), store.experiment
        )
        self._runs: list[tuple[object, Measured]] = []
        self._timed: dict[Size, tuple[Timed, ...]] = {}
        self._times = Answer("timed", times, self)
        self._times.changed.connect(self._on_times)
        self._make_controls()
        says(self, name=N_("Cost"))
        self.lines = says(CostLines(), id="cost_lines", name=N_("Arithmetic of the cost"))
        self.curve = says(CostCurve(), id="cost_curve", name=N_("Cost by number of tokens"))
        self.curve.n_wanted.connect(self._on_n)
        self._caption = QLabel()
        self._caption.setObjectName("cost_caption")
        self._caption.setTextFormat(Qt.TextFormat.PlainText)
        self._caption.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
        self._caption.setWordWrap(True)
        # A drag, or one run after another, asks for more than a frame can show.
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._show)
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(REST_MS)
        self._rest.timeout.connect(self._show)
        self._noted: ref[Experiment] | None = None
        """The experiment of the last run, whose shapes are `_key`."""
        self._key: object = None
        self._total = WholeLabel()
        self._total.setObjectName("cost_total")
        self._total.setFont(ui_font(TEXT_PX, QFont.Weight.DemiBold))
        self.bar = MemoryBar()
        self.bar.chosen.connect(self._on_quantity)
        self._fits = QLabel()
        self._fits.setObjectName("cost_sentence")
        self._fits.setTextFormat(Qt.TextFormat.PlainText)
        self._fits.setWordWrap(True)
        self._fits.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
        self._models = LinkedText("cost_models", TEXT_PX)
        self._models.chosen.connect(self._on_source)
        self._lay_out()
        store.traced.connect(self._note_run)
        set_tone("muted", self._caption)

    def on_document(self, old: Document | None, new: Document) -> None:
        is_first = old is None or old.experiment is not new.experiment
        if is_first and self.question.source == EXPERIMENT:
            self.question = of_experiment(self.question, self.store.experiment)
            if old is None or not new.experiment.differs_in_vectors(old.experiment):
                self._show_soon()

    def on_trace(self, trace: Trace) -> None:
        if self.question.source == EXPERIMENT:
            self._rest.start()

    def retranslate(self) -> None:
        self._timer.start()  # also under another tab: no text of the old language stays

    def sizeHint(self) -> QSize:
        return QSize(456, 150)

    def minimumSizeHint(self) -> QSize:
        return QSize(250, 100)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def choose(self, quantity: str, source: str) -> None:
        """Count a quantity of a published model, or of the document."""
        self.question = replace(self.question, quantity=quantity)
        self._on_source(source)

    def ask(self, question: Question) -> None:
        """Count something else."""
        self.question = question
        self._show_soon()

    # --- building

    def _make_controls(self) -> None:
        own = (EXPERIMENT, N_("This experiment"), N_("Tracks the document"))
        models = (own, *((m.id, m.name, m.source) for m in PUBLISHED))
        self._source = says(Combo(()), id="cost_source", name=N_("Model"), options=models)
        self._source.changed.connect(self._on_source)
        quantities = [(q.id, q.label, "") for q in QUANTITIES]
        self._quantity = says(Combo(()), id="cost_quantity", name=N_("Quantity"), options=quantities)
        self._quantity.changed.connect(self._on_quantity)
        sides = (("lines", N_("arithmetic"), ""), ("curve", N_("curve"), ""))
        self._side = says(Segmented((), "lines"), id="cost_side", name=N_("Display"), options=sides)
        self._side.changed.connect(self._arrange)
        self._reset = says(Button(), N_("Published values"), id="cost_reset")
        self._reset.clicked.connect(self._on_reset)
        tip = N_("Time the three implementations on this machine, on the same numbers")
        self._measure = says(Button(), N_("Measure"), id="cost_measure", tip=tip)
        self._measure.clicked.connect(self._on_measure)
        self._copy = says(Button(), N_("Copy"), id="cost_copy", name=N_("Copy the arithmetic"))
        self._copy.clicked.connect(self._on_copy)
        self.fields = CostFields(self.question)
        self.fields.setObjectName("cost_fields")
        self.fields.changed.connect(self.ask)
        self.fields.rejected.connect(self.store.rejected)
        self.fields.told.connect(self.store.noticed)

    def _lay_out(self) -> None:
        choices, further = QHBoxLayout(), QHBoxLayout()
        for control in (self._source, self._quantity):
            control.setMaximumWidth(220)
            choices.addWidget(control)
        further.addWidget(self._reset)
        further.addStretch(1)
        further.addWidget(self._side)
        further.addWidget(self._copy)
        self._head = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._head.addLayout(choices, 3)
        self._head.addLayout(further, 2)
        for row in (choices, further, self._head):
            row.setSpacing(GRID - 2)
        self._drawing = QWidget()
        drawing = in_column(self._drawing, self._caption, spacing=0)
        drawing.addWidget(self.curve, 1)
        self._fields_scroll = clear_scroll(self.fields, sideways=False)
        self._body = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._body.setSpacing(GRID)
        self._body.addWidget(self._fields_scroll, 2)
        self._body.addWidget(self.lines, 3)
        self._body.addWidget(self._drawing, 2)
        column = QVBoxLayout(self)
        # What does not fit a narrow dock is hidden or scrolls: the layout must not hold the dock open.
        column.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID - 2)
        column.addLayout(self._head)
        column.addWidget(self.bar)
        column.addWidget(self._fits)
        column.addWidget(self._models)
        result = QHBoxLayout()
        result.addWidget(self._total, 1)
        result.addWidget(self._measure)
        column.addLayout(result)
        column.addLayout(self._body, 1)

    @Slot()
    def _arrange(self) -> None:
        """Place the arithmetic and the curve side by side if they fit, else show the chosen one.

        In a narrow column the sizes stand under it.
        """
        is_wide, is_narrow = self.width() >= WIDE_PX, self.width() < NARROW_PX
        ways = QBoxLayout.Direction
        self._head.setDirection(ways.TopToBottom if is_narrow else ways.LeftToRight)
        self._body.setDirection(ways.BottomToTop if is_narrow else ways.LeftToRight)
        bar = self._fields_scroll.verticalScrollBar().sizeHint().width()
        least = max(self.fields.minimumSizeHint().width() + bar, FIELDS_PX)
        self._fields_scroll.setMinimumWidth(least)
        self._fields_scroll.setMaximumWidth(self.maximumWidth() if is_narrow else least)
        self._set_px(least, is_wide)
        self._side.setVisible(not is_wide)
        self._copy.setVisible(is_wide)
        self.lines.setVisible(is_wide or self._side.value() == "lines")
        self._drawing.setVisible(is_wide or self._side.value() == "curve")

    def _set_px(self, fields: int, is_wide: bool) -> None:
        """Letters that grow with the room, in the arithmetic and in what stands above it."""
        beside = (self.width() - fields) * 3 / 5 if is_wide else 0
        growth = min(beside / ROOM.width(), self.height() / ROOM.height())
        px = round(TEXT_PX * min(max(growth, 1.0), LARGEST))
        self.lines.set_px(px)
        self.bar.set_px(px - 1)
        self._total.setFont(ui_font(px, QFont.Weight.DemiBold))
        self._fits.setFont(ui_font(px))

    # --- showing

    def _show_soon(self) -> None:
        if not self._timer.isActive():
            self._timer.start()

    @Slot(object)
    def _note_run(self, trace: Trace) -> None:
        """Write down how long a run took: also one that is made while the panel cannot be seen."""
        run = Measured(trace.experiment.n_queries, trace.seconds, trace.engine)
        self._runs.append((self._key_of(trace.experiment), run))
        del self._runs[:-MOST_RUNS]

    def _key_of(self, experiment: Experiment) -> object:
        """Runs with the same key differ in n only; counting the shapes of each step of a drag is slow."""
        before = self._noted() if self._noted is not None else None
        if before is None or not (before is experiment or experiment.differs_in_vectors(before)):
            self._key = stack_of(experiment)
        self._noted = ref(experiment)
        return self._key

    @Slot()
    def _show(self) -> None:
        q = self.question
        self._source.set_value(q.source)
        self._quantity.set_value(q.quantity)
        self._reset.setVisible(q.is_edited)
        self.fields.set_question(q)
        self._arrange()
        trace = self.store.trace
        self._measure.setVisible(q.quantity == "timed")
        size = timed_size(q)
        lines = timings(size, self._timed.get(size)) if q.quantity == "timed" else bill(q, trace)
        self.lines.set_lines((*lines, *origin(q)))
        headline = _headline(lines)
        self._total.set_line(headline)
        self._total.setVisible(bool(headline))
        fit = q.fit
        self.bar.set_fit(fit)
        self._fits.setText(sentence(fit, q.n, q.batch, q.memory_gb))
        set_tone("error" if fit.free < 0 else "", self._fits)
        self._models.set_body(line(_("Or: {models}").format(models=enumerated(_other_models(q.source)))))
        key = q.stack if q.source == EXPERIMENT else None
        self.curve.set_question(q, [run for shapes, run in self._runs if shapes == key])
        self._caption.setText(self.curve.caption())
        self._caption.setToolTip("\n".join(named(one.tag, one.label) for one in self.curve.series()))

    # --- acting

    @Slot(str)
    def _on_source(self, id_: str) -> None:
        if id_ == EXPERIMENT:
            self.ask(of_experiment(self.question, self.store.experiment))
        else:
            self.ask(of_published(self.question, id_))

    @Slot(str)
    def _on_quantity(self, id_: str) -> None:
        self.ask(replace(self.question, quantity=id_))

    @Slot()
    def _on_reset(self) -> None:
        self._on_source(self.question.source)

    @Slot(int)
    def _on_n(self, n: int) -> None:
        self.ask(replace(self.question, n=n))

    def serve(self, services: Services) -> None:
        super().serve(services)
        self._times.serve(services.schedulers.answers)

    @Slot()
    def _on_measure(self) -> None:
        """Time the implementations, also once more."""
        self._times.clear()
        self._times.ask(timed_size(self.question))

    @Slot()
    def _on_times(self) -> None:
        if self._times.of is not None and self._times.result is not None:
            self._timed[self._times.of] = self._times.result
            self._show_soon()

    @Slot()
    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self.lines.plain_lines())


def _other_models(source: str) -> list[str]:
    """Links to the models known best, and to the document, but for the one whose cost is counted."""
    known = ((model.id, model.name) for model in PUBLISHED if model.known_best)
    return [link(id_, text) for id_, text in ((EXPERIMENT, _("this experiment")), *known) if id_ != source]


def _headline(lines: Sequence[Line]) -> str:
    """The totals of a bill, exact and rounded: they stand above what scrolls."""
    return " · ".join(_said(line) for line in lines if line.kind == "total")


def _said(line: Line) -> str:
    exact = valued(line.value, line.unit)
    return " = ".join(part for part in (named(line.label, exact), rounded(line.value, line.unit)) if part)
