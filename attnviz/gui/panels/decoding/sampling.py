"""Sampling of the next token: the operations in their order, seed and stop conditions, and their effect.

The bars are computed here from the logits of the selected step: they follow a slider at once, while the
decoding follows when the slider rests.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QObject, QPointF, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QFontMetrics,
    QHelpEvent,
    QHideEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QLabel, QSizePolicy, QToolTip, QVBoxLayout, QWidget

from attnviz.core.text import isolated, number
from attnviz.gui.forms.marks import Mark
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import plain_tooltip, says
from attnviz.gui.panels.decoding.bars import DistributionBars, DistributionColumn, DistributionRow
from attnviz.gui.panels.decoding.names import names_of
from attnviz.gui.panels.decoding.next_token import drawn_after, sampling_of, seen_ids
from attnviz.gui.panels.decoding.operation import OperationList
from attnviz.gui.panels.decoding.part import DecodingPart
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column, in_row
from attnviz.gui.widgets.control import Control, draw_focus_ring
from attnviz.gui.widgets.dice import HIGHEST_SEED, Dice
from attnviz.gui.widgets.document_line import DocumentLine
from attnviz.gui.widgets.elided_label import ElidedLabel
from attnviz.gui.widgets.grip import SLACK_PX, gap_at, place_in
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.gui.widgets.toggle import Toggle
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.edit.generation import (
    move_operation,
    remove_operation,
    set_operation,
    set_seed,
    set_stop,
    shown_strings,
    strings_shown,
    writing_of,
)
from attnviz.model.errors.titles import in_words
from attnviz.model.spec.sampling import OPERATION_OF, SamplingOperation, Shaped, shaped

HEIGHT = 18
_PADDING = 3


class ColumnTitles(Control):
    """Stands above `bars`, with its columns; a narrow column has the short name of its operation.

    A title is dragged to another place, or chosen with Left and Right and moved with Alt and these: `moved`
    carries the old and the new index. The titles do not move by themselves: whoever has the order does that.
    """

    moved = Signal(int, int)

    def __init__(self, bars: DistributionBars, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bars = bars
        self._columns: tuple[DistributionColumn, ...] = ()
        self._chosen = -1
        self._held: tuple[int, QPointF] | None = None
        self._gap: int | None = None
        bars.installEventFilter(self)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_columns(self, columns: Sequence[DistributionColumn]) -> None:
        """Show these titles."""
        if tuple(columns) != self._columns:
            self._columns = tuple(columns)
            self._chosen = min(self._chosen, len(columns) - 1)
            # Nothing to step through is no stop of the Tab key.
            self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if columns else Qt.FocusPolicy.NoFocus)
            self._end_drag()  # what was dragged may be somewhere else now

    def sizeHint(self) -> QSize:
        return QSize(160, HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(80, HEIGHT)

    def title_rect(self, column: int) -> QRectF:
        """Rectangle of a title on the widget."""
        left, width = self._bars.column(column)
        return QRectF(left - _PADDING, 0, width - 1, self.height())

    def title_text(self, column: int) -> str:
        """The longest name that fits."""
        names = (self._columns[column].title, self._columns[column].short)
        metrics, room = QFontMetrics(ui_font(11)), int(self.title_rect(column).width()) - _PADDING
        fitting = (name for name in names if metrics.horizontalAdvance(name) <= room)
        return next(fitting, metrics.elidedText(names[1], Qt.TextElideMode.ElideRight, room))

    def gap_x(self, gap: int) -> float:
        """Position of the line that shows a gap, 1 before the first movable title."""
        if gap < len(self._columns):
            return max(self.title_rect(gap).left() - 1, 1.0)
        return min(self.title_rect(gap - 1).right(), self.width() - 1.0)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self.update()
        return super().eventFilter(watched, event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(ui_font(11))
        for column in range(len(self._columns)):
            rect = self.title_rect(column)
            is_held = self._gap is not None and self._held is not None and self._held[0] == column
            if is_held:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(QColor(self._theme.hover))
                painter.drawRoundedRect(rect, 3, 3)
            painter.setPen(QColor(self._theme.accent if is_held else self._theme.muted))
            inside = rect.adjusted(_PADDING, 0, 0, 0)
            left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(inside, left, self.title_text(column))
            if self.hasFocus() and column == max(self._chosen, 0):
                draw_focus_ring(painter, rect, self._theme, 3)
        if self._gap is not None:
            x = self.gap_x(self._gap)
            painter.setPen(QPen(QColor(self._theme.accent), 2))
            painter.drawLine(QPointF(x, 1), QPointF(x, self.height() - 1))

    # --- the pointer

    def mousePressEvent(self, event: QMouseEvent) -> None:
        column = self._column_at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and column >= 0:
            self._choose(column)
            if self._can_move(column):
                self._held = column, event.position()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._held is None:
            is_movable = self._can_move(self._column_at(event.position()))
            self.setCursor(Qt.CursorShape.OpenHandCursor if is_movable else Qt.CursorShape.ArrowCursor)
            return
        travel = event.position() - self._held[1]
        if self._gap is not None or travel.manhattanLength() > SLACK_PX:
            first = self._first_movable()
            middles = [self.title_rect(at).center().x() for at in range(first, len(self._columns))]
            self._gap = first + gap_at(middles, event.position().x())
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
            self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        held, gap = self._held, self._gap
        self._end_drag()
        if held is not None and gap is not None:
            self._move(held[0], place_in(gap, held[0]))

    def hideEvent(self, event: QHideEvent) -> None:
        self._end_drag()
        super().hideEvent(event)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            column = self._column_at(QPointF(event.pos()))
            words = self._words(column) if column >= 0 else ""
            QToolTip.showText(event.globalPos(), plain_tooltip(words), self)
            return True
        return super().event(event)

    def _words(self, column: int) -> str:
        """The full name, its effect, and its keys."""
        how = _("Drag to reorder (Alt+← and Alt+→)")
        shown = self._columns[column]
        parts = [shown.title, shown.words, how if self._can_move(column) else ""]
        return " · ".join(part for part in parts if part)

    # --- the keys

    def takes_key(self, event: QKeyEvent) -> bool:
        if event.key() == Qt.Key.Key_Escape:
            return self._gap is not None
        return event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        by = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        if event.key() == Qt.Key.Key_Escape and self._gap is not None:
            self._end_drag()
        elif by is None or not self._columns:
            super().keyPressEvent(event)
        elif event.modifiers() & Qt.KeyboardModifier.AltModifier:
            self._move(self._chosen, self._chosen + by)
        else:
            self._choose(min(max(self._chosen + by, 0), len(self._columns) - 1))

    # --- what both do

    def _first_movable(self) -> int:
        return next((at for at, column in enumerate(self._columns) if column.can_move), len(self._columns))

    def _can_move(self, column: int) -> bool:
        """True if the title can move: it belongs to an operation, and another one exists."""
        return column >= self._first_movable() and len(self._columns) - self._first_movable() > 1

    def _move(self, source: int, target: int) -> None:
        is_legal = self._first_movable() <= target < len(self._columns)
        if target != source and is_legal and self._can_move(source):
            self._chosen = target
            self.moved.emit(source, target)

    def _choose(self, column: int) -> None:
        self._chosen = column
        self.setAccessibleDescription(self._words(column))
        self.update()

    def _column_at(self, position: QPointF) -> int:
        places = range(len(self._columns))
        return next((at for at in places if self.title_rect(at).contains(position)), -1)

    def _end_drag(self) -> None:
        self._held = self._gap = None
        self.unsetCursor()
        self.update()


LEAST_HEIGHT, LEAST_BARS = 120, 60
"""Heights of the panel, which scrolls, and of the bars in it."""
MOST_ROWS = 64
MOST_TOKENS = 10_000
"""Most new tokens that can be typed; a document may ask for more."""


class SamplingPanel(DecodingPart):
    """Edits `Experiment.writing.sampling`, and shows the distributions of one step."""

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._operations = OperationList()
        self._operations.changed.connect(self._on_operation)
        self._operations.moved.connect(self._on_moved)
        Mark(store, self._operations, "sampling.operations")
        for row in self._operations.rows:
            row.slider.gesture_started.connect(store.begin_gesture)
            row.slider.gesture_finished.connect(store.end_gesture)
            row.slider.rejected.connect(store.rejected)
            Mark(store, row.slider, f"sampling.{row.row.id}")
        self._bars = DistributionBars()
        says(self._bars, id="decode_distributions", name=N_("Distribution of the next token"))
        self._titles = ColumnTitles(self._bars)
        says(self._titles, id="decode_columns", name=N_("Order of the operations"))
        self._titles.moved.connect(self._on_column_moved)
        self._drawn = ElidedLabel()
        self._drawn.setObjectName("decode_drawn")
        self._make_controls()
        self._lay_out()
        set_tone("muted", *self._labels.values(), self._drawn)

    # --- following

    def show_step(self) -> None:
        self._show_bars()

    def refresh(self) -> None:
        """Show the document's sampling, and its effect on the step at once."""
        experiment = self.store.experiment
        sampling = writing_of(experiment).sampling
        self._operations.show_operations(sampling.operations)
        self._seed.set_value(sampling.seed)
        self._length.set_value(sampling.stop.length)
        self._end.set_value(sampling.stop.end_token)
        vocabulary = experiment.vocabulary
        has_end = vocabulary is not None and vocabulary.end is not None
        self._end.set_unavailable(None if has_end else _("This model has no end token"))
        if not self._strings.isModified():
            self._strings.show_text(shown_strings(sampling.stop.strings))
        self._show_bars()

    def retranslate(self) -> None:
        self.refresh()
        self._turn()

    # --- fitting

    def minimumSizeHint(self) -> QSize:
        """Room for the operations; what stands beside them in a wider panel is below them, and scrolls."""
        bar = self._scroll.verticalScrollBar().sizeHint().width()
        return QSize(self._operations.minimumSizeHint().width() + bar, LEAST_HEIGHT)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._turn()

    def _turn(self) -> None:
        """Put the stop conditions beside the operations, and the bars beside both, where they have room."""
        gap, free = self._whole.spacing(), self.width() - self._scroll.verticalScrollBar().sizeHint().width()
        operations, stop = self._operations.minimumSizeHint().width(), self._stop.minimumSize().width()
        beside = operations + gap + stop
        fits = free >= beside + gap + self._shown.minimumSize().width()
        for layout, is_row in ((self._controls, free >= beside), (self._whole, fits)):
            sides = QBoxLayout.Direction.LeftToRight if is_row else QBoxLayout.Direction.TopToBottom
            layout.setDirection(sides)
        self._whole.setStretch(0, 5 if fits else 0)

    # --- the bars

    def _show_bars(self) -> None:
        decoded = self.decoded
        self._bars.setVisible(decoded is not None)
        self._titles.setVisible(decoded is not None)
        if decoded is None:
            self._drawn.set_line("")
            return
        step, experiment = decoded.decoding.steps[self.step], self.store.experiment
        try:
            distributions = shaped(sampling_of(experiment), step.logits, seen_ids(decoded, self.step))
            one = drawn_after(decoded, self.step, experiment)
        except ValueError as error:  # logits that are NaN have no distribution
            self._bars.hide()
            self._titles.hide()
            self._drawn.set_line(in_words(error))
            return
        names, drawn = decoded.decoding.vocabulary, one.id
        # Where the softmax of the read-out and that of the logits differ, it is by rounding alone.
        order = np.argsort(-distributions[0].probabilities, kind="stable")
        shown = order[:MOST_ROWS]
        if drawn not in shown:
            shown = np.append(shown[:-1], drawn)
        label = names_of(decoded.decoding)
        rows = [DistributionRow(label.label(names[i]), label.described(names[i]), i == drawn) for i in shown]
        applied = [OPERATION_OF[type(one.operation)] for one in distributions[1:]]
        model = DistributionColumn(_("model"), _("model"), _("The model's own distribution"))
        columns = [model, *(_column(row) for row in applied)]
        values = np.stack([one.probabilities[shown] for one in distributions], axis=1)
        self._titles.set_columns(columns)
        self._bars.set_distributions(rows, columns, values, _removed(distributions, shown))
        self._rows_scroll.setMinimumWidth(self._bars.minimumSizeHint().width())
        self._turn()
        rank = int(np.flatnonzero(order == drawn)[0]) + 1
        probability = number(float(distributions[-1].probabilities[drawn]), 4)
        text = one.words.format(token=isolated(label.label(names[drawn])), p=probability, rank=rank)
        left = int(np.isfinite(distributions[-1].logits).sum())
        full = number(self._bars.full, 2)
        more = _("{left} of {n} kept · full bar {full}").format(left=left, n=len(names), full=full)
        self._drawn.set_line(f"{text} · {more}")
        ties = _("Ties go to the lowest token id.")
        self._drawn.setToolTip(plain_tooltip(f"{text} · {more} · {ties}"))

    # --- acting

    @Slot(object, object)
    def _on_operation(self, row: SamplingOperation, operation: Any) -> None:
        if operation is None:
            self.store.edit(remove_operation, row.kind)
        else:
            self.store.edit(set_operation, operation)
        self.refresh()

    @Slot(object, int)
    def _on_moved(self, kind: type, by: int) -> None:
        self.store.edit(move_operation, kind, by)

    @Slot(int, int)
    def _on_column_moved(self, source: int, target: int) -> None:
        """A title of the bars was moved; the first column is the model's own."""
        operations = writing_of(self.store.experiment).sampling.operations
        self._on_moved(type(operations[source - 1]), target - source)

    @Slot(object)
    def _on_seed(self, seed: int) -> None:
        self.store.edit(set_seed, int(seed))
        self.refresh()

    @Slot()
    def _on_dice(self) -> None:
        self._on_seed(Dice.throw(int(self._seed.value())))

    @Slot(object)
    def _on_length(self, length: int) -> None:
        self.store.edit(set_stop, length=int(length))
        self.refresh()

    @Slot(bool)
    def _on_end(self, is_on: bool) -> None:
        self.store.edit(set_stop, end_token=is_on)

    @Slot()
    def _on_strings(self) -> None:
        self._strings.setModified(False)
        strings = strings_shown(self._strings.text())
        if strings != writing_of(self.store.experiment).sampling.stop.strings:
            self.store.edit(set_stop, strings=strings)

    # --- building

    def _make_controls(self) -> None:
        self._seed = DragNumber(minimum=0, maximum=HIGHEST_SEED, integer=True)
        self._length = DragNumber(minimum=1, maximum=MOST_TOKENS, integer=True)
        for control, id_, name, slot in (
            (self._seed, "decode_seed", N_("Seed"), self._on_seed),
            (self._length, "decode_length", N_("New tokens"), self._on_length),
        ):
            says(control, id=id_, name=name)
            control.changed.connect(slot)
            control.rejected.connect(self.store.rejected)
            control.gesture_started.connect(self.store.begin_gesture)
            control.gesture_finished.connect(self.store.end_gesture)
        self._dice = Dice("decode_dice")
        self._dice.clicked.connect(self._on_dice)
        tip = N_("Generation stops at the model's end token")
        self._end = says(Toggle(""), N_("Stop at end"), id="decode_end_token", tip=tip)
        self._end.changed.connect(self._on_end)
        self._strings = says(
            DocumentLine(is_live=False),
            id="decode_stop_strings",
            name=N_("Stop strings"),
            tip=N_(
                "Generation stops when the new text contains one of these; | separates them, "
                "\\n is a line end"
            ),
            placeholder=N_("Text, or text|text"),
        )
        self._strings.setProperty("compact", True)
        self._strings.editingFinished.connect(self._on_strings)
        for widget, field in (
            (self._seed, "seed"),
            (self._length, "stop.length"),
            (self._end, "stop.end_token"),
            (self._strings, "stop.strings"),
        ):
            Mark(self.store, widget, f"sampling.{field}")
        labels = {"seed": N_("Seed"), "length": N_("New tokens"), "strings": N_("Stop strings")}
        self._labels = {name: says(QLabel(), words) for name, words in labels.items()}

    def _lay_out(self) -> None:
        self._stop = stop = QVBoxLayout()
        stop.setSpacing(2)
        for widgets in (
            (self._labels["seed"], None, self._dice, self._seed),
            (self._labels["length"], None, self._length),
            (self._end, None),
            (self._labels["strings"], self._strings),
        ):
            line = QHBoxLayout()
            line.setSpacing(GRID // 2)
            for widget in widgets:
                if widget is None:
                    line.addStretch(1)
                else:
                    line.addWidget(widget)
            stop.addLayout(line)
        stop.addStretch(1)
        shown = QVBoxLayout()
        shown.setSpacing(0)
        shown.addWidget(self._drawn)
        shown.addWidget(self._titles)
        self._rows_scroll = clear_scroll(self._bars, sideways=False)
        self._rows_scroll.setMinimumHeight(LEAST_BARS)
        shown.addWidget(self._rows_scroll, 1)
        content = QWidget()
        self._whole, self._controls = in_row(content, spacing=GRID + 2), QHBoxLayout()
        self._shown = shown
        self._controls.setSpacing(GRID + 2)
        self._controls.addWidget(self._operations, 4)
        self._controls.addLayout(stop, 1)
        self._whole.addLayout(self._controls, 5)
        self._whole.addLayout(shown, 6)
        self._scroll = clear_scroll(content, sideways=False)
        self._scroll.setMinimumWidth(0)
        in_column(self, self._scroll, spacing=0)


def _column(row: SamplingOperation) -> DistributionColumn:
    """Title of the distribution after an operation."""
    words = f"{_(row.description)} · {_(row.formula)}"
    return DistributionColumn(_(row.title), _(row.short), words, can_move=True)


def _removed(distributions: tuple[Shaped, ...], shown: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Excluded tokens of each distribution, (token, distribution)."""
    return np.stack([np.isneginf(one.logits[shown]) for one in distributions], axis=1)
