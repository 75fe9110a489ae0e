"""The rows of a form: one class for each record of `fields`, label at the left, control at the right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Generic

from PySide6.QtCore import QEvent, QRectF, Qt, Slot
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QLabel, QWidget

from attnviz.errors import Message
from attnviz.gui.forms.fields import Choice, FormField, Number, Seed, Slider, Switch, Text
from attnviz.gui.forms.subject import S, Subject
from attnviz.gui.look.theme import RADIUS, Theme
from attnviz.gui.look.words import plain_tooltip, says
from attnviz.gui.store import Store
from attnviz.gui.widgets.breaking_line import BreakingLine
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.control import Availability, active_theme
from attnviz.gui.widgets.dice import HIGHEST_SEED, Dice
from attnviz.gui.widgets.document_line import DocumentLine
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.slider_field import SliderField
from attnviz.gui.widgets.toggle import Toggle
from attnviz.i18n import _
from attnviz.model.errors.titles import in_words, reason_in_words
from attnviz.model.fields import place_in_attention
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.value import Refusal

NUMBER_WIDTH = 56
"""Room for the numbers at the right end of sliders, so that the sliders end below each other."""


class Note(QLabel):
    """Muted plain text, wrapped."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        self.apply_theme(active_theme())

    def apply_theme(self, theme: Theme) -> None:
        palette = self.palette()
        palette.setColor(QPalette.ColorRole.WindowText, QColor(theme.muted))
        self.setPalette(palette)


class Row(BreakingLine, Generic[S]):
    """Base of the rows. `show_value` shows without editing; `commit` edits and shows what came of it."""

    def __init__(self, field: FormField[S], subject: Subject[S], store: Store) -> None:
        super().__init__()
        self.field, self.store = field, store
        self._subject = subject
        self._starts: tuple[S, ...] = ()
        """All that the gesture under way edits, as it was before; none if each step starts from the last."""
        self._left: Experiment | None = None
        """The experiment that the gesture under way has left behind: another one has another start."""
        self._error: Message | None = None
        self.setObjectName(f"{field.name}_row")
        self.label: QLabel | None = None

    def is_about(self, path: str) -> bool:
        """True if an error at `path` concerns this row's field, or a part of it."""
        own, place = self.field.path, place_in_attention(path)
        return bool(own) and (own == path or (place + ".").startswith(own + "."))

    def mark(self, error: Message | None) -> None:
        """Outline the row with the error of its field; None removes the outline."""
        if error is None and self._error is None:
            return
        self._error = error
        self.show_error()

    def show_error(self) -> None:
        """Say the error in the present language."""
        sentence = "" if self._error is None else in_words(self._error)
        self.setToolTip(plain_tooltip(sentence))
        self.setAccessibleDescription(sentence)
        control = getattr(self, "control", None)
        if isinstance(control, Availability):
            control.set_error(sentence)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._error is not None:
            painter = QPainter(self)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QColor(active_theme().error))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
            painter.end()

    @property
    def subject(self) -> S:
        """Argument of the field's functions: the selected attention, or the whole experiment."""
        return self._subject.now()

    def refresh(self) -> None:
        """Show the document's value, whether the row applies, and why it cannot be used."""
        edited = self._subject.edited()
        is_shown = self.field.shown(edited[0])
        self.setVisible(is_shown)
        if is_shown:
            self.show_value(self.field.read(edited[0]))
            self.show_reasons([one for one in edited if self.field.shown(one)])

    def show_value(self, value: Any) -> None:
        """Show `value` without emitting."""
        raise NotImplementedError

    def show_reasons(self, edited: Sequence[S]) -> None:
        """Disable the control with the first reason that one of the `edited` attentions has, or enable it."""
        self.show_reason(_first(self.field.reason(one) for one in edited))

    def show_reason(self, reason: str | None) -> None:
        """Disable the control with the reason, or enable it."""

    def commit(self, value: Any) -> None:
        """Write a value from the user; if it is rejected, the document's value returns.

        Undo or another document may have come between two steps of a drag: the drag goes on from there, or
        changes nothing if the row no longer applies.
        """
        if self._starts and self._left is not self.store.experiment:
            self._starts = self._subject.edited()
        starts = iter(self._starts)
        if self.field.shown(self.subject):
            self._subject.edit(lambda subject: self.field.edit(next(starts, subject), value))
            self._left = self.store.experiment
        self.refresh()

    @Slot()
    def begin(self) -> None:
        self._starts = self._subject.edited() if self.field.from_start else ()
        self._left = self.store.experiment
        self.store.begin_gesture()

    @Slot()
    def end(self) -> None:
        self._starts = ()
        self.store.end_gesture()

    def _add_label(self) -> None:
        """Begin the row with the field's label, if it has one."""
        if self.field.label:
            self.label = says(QLabel(), self.field.label, tip=self.field.hint)
            self.label.setTextFormat(Qt.TextFormat.PlainText)
            self.line.addWidget(self.label)

    def _adopt(self, control: Any) -> None:
        """Name a control and hear it."""
        says(control, id=self.field.name, name=self.field.label or self.field.hint)
        control.changed.connect(self.commit)
        if hasattr(control, "gesture_started"):
            control.gesture_started.connect(self.begin)
            control.gesture_finished.connect(self.end)
        if hasattr(control, "rejected"):
            control.rejected.connect(self.store.rejected)


def _lines(messages: str) -> str:
    """Messages, one a line, in the present language."""
    return "\n".join(map(_, messages.split("\n")))


def _first(refusals: Iterable[Refusal]) -> str | None:
    """The first refusal in words."""
    return reason_in_words(next(filter(None, refusals), None))


class NumberRow(Row[S]):
    """Label and number."""

    def __init__(self, field: Number[S], subject: Subject[S], store: Store) -> None:
        super().__init__(field, subject, store)
        self._number_field = field
        self.control = DragNumber(
            minimum=field.minimum,
            maximum=field.maximum,
            decimals=field.decimals,
            step=field.step,
            integer=field.integer,
        )
        self._adopt(self.control)
        self._add_label()
        self.line.addStretch(1)
        self.line.addWidget(self.control)

    def show_value(self, value: Any) -> None:
        if self._number_field.limits is not None:
            self.control.set_range(*self._number_field.limits(self.subject))
        self.control.set_value(value)

    def show_reason(self, reason: str | None) -> None:
        self.control.set_unavailable(reason)


class SliderRow(Row[S]):
    """Label, slider and number."""

    def __init__(self, field: Slider[S], subject: Subject[S], store: Store) -> None:
        super().__init__(field, subject, store)
        self.control = SliderField(
            "",
            field.minimum,
            field.minimum,
            field.maximum,
            default=field.default,
            decimals=field.decimals,
            logarithmic=field.logarithmic,
            lowest=field.lowest,
            highest=field.highest,
        )
        self.control.number.setMinimumWidth(NUMBER_WIDTH)
        self._adopt(self.control)
        says(self.control, field.label)
        says(self.control.track, tip=field.hint)
        self.line.addWidget(self.control)

    def show_value(self, value: Any) -> None:
        self.control.set_value(value)

    def show_reason(self, reason: str | None) -> None:
        self.control.set_unavailable(reason)

    def slider_label(self) -> QLabel:
        """The label, whose width the form makes equal to that of the sliders around it."""
        label = self.control.findChild(QLabel, "slider_label")
        assert isinstance(label, QLabel)
        return label


class SwitchRow(Row[S]):
    """A switch with its label."""

    def __init__(self, field: Switch[S], subject: Subject[S], store: Store) -> None:
        super().__init__(field, subject, store)
        self.control = Toggle("")
        self._adopt(self.control)
        says(self.control, field.label, tip=field.hint)
        self.line.addWidget(self.control)
        self.line.addStretch(1)

    def show_value(self, value: Any) -> None:
        self.control.set_value(bool(value))

    def show_reason(self, reason: str | None) -> None:
        self.control.set_unavailable(reason)


class ChoiceRow(Row[S]):
    """Label and joined buttons or a list; without a label these begin at the left."""

    def __init__(self, field: Choice[S], subject: Subject[S], store: Store) -> None:
        super().__init__(field, subject, store)
        self._choice_field = field
        self.control: Segmented | Combo = (Combo if field.as_list else Segmented)(())
        self._adopt(self.control)
        options = [(id_, label, partial(_lines, tip)) for id_, label, tip in field.options]
        says(self.control, options=options)
        self._add_label()
        if field.label and not field.as_list:
            self.line.addStretch(1)
        self.line.addWidget(self.control)
        if not field.label:
            self.line.addStretch(1)

    def show_value(self, value: Any) -> None:
        self.control.set_value(str(value))

    def show_reasons(self, edited: Sequence[S]) -> None:
        reason, why_not = self.field.reason, self._choice_field.why_not
        for id_, _label, _tooltip in self._choice_field.options:
            why = _first(reason(one) or why_not(one, id_) for one in edited)
            self.control.set_option_unavailable(id_, why)


class SeedRow(Row[S]):
    """Label, seed and die."""

    def __init__(self, field: Seed[S], subject: Subject[S], store: Store) -> None:
        super().__init__(field, subject, store)
        self.control = DragNumber(minimum=0, maximum=HIGHEST_SEED, integer=True)
        self._adopt(self.control)
        self.dice = Dice(f"{field.name.removesuffix('_field')}_dice")
        self.dice.clicked.connect(self._on_dice)
        self._add_label()
        self.line.addStretch(1)
        self.line.addWidget(self.dice)
        self.line.addWidget(self.control)

    def show_value(self, value: Any) -> None:
        self.control.set_value(value)

    def show_reason(self, reason: str | None) -> None:
        self.control.set_unavailable(reason)
        self.dice.setEnabled(reason is None)

    @Slot()
    def _on_dice(self) -> None:
        self.commit(Dice.throw(int(self.control.value())))


class TextRow(Row[S]):
    """Label and a line of text."""

    def __init__(self, field: Text[S], subject: Subject[S], store: Store) -> None:
        super().__init__(field, subject, store)
        self.control = DocumentLine()
        says(
            self.control,
            id=field.name,
            name=field.label or field.hint,
            tip=field.hint,
            placeholder=field.placeholder,
        )
        self.control.textEdited.connect(self._on_edited)
        self.control.returnPressed.connect(self._on_return)
        self.control.installEventFilter(self)
        self._is_typing = self._is_own = False
        self._known: Any = None
        self._add_label()
        self.line.addWidget(self.control, 1)

    def show_value(self, value: Any) -> None:
        is_typed = self._is_typing and (self._is_own or value == self._known)
        self._known = value
        if not is_typed:  # typed text stays until another change of the text, such as undo
            self._end_typing()
            self.control.show_text(str(value))

    def eventFilter(self, watched: Any, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusOut:
            self._leave()
        elif isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() == Qt.Key.Key_Escape and self._is_typing:
                self._leave()
                return True
        return super().eventFilter(watched, event)

    @Slot(str)
    def _on_edited(self, text: str) -> None:
        if not self._is_typing:
            self._is_typing = True
            self.begin()
        try:
            self.field.edit(self.subject, text)
        except ValueError as error:
            self._mark(in_words(error))
        else:
            self._mark("")
            self._is_own = True
            self.commit(text)
            self._is_own = False

    @Slot()
    def _on_return(self) -> None:
        if self.control.property("invalid"):
            self._reject()
        else:
            self._leave()

    def _reject(self) -> None:
        """Say in the status line, too, why the text cannot be taken."""
        try:
            self.field.edit(self.subject, self.control.text())
        except ValueError as error:
            self.store.rejected.emit(error)

    def _leave(self) -> None:
        """Typing is over: from here on the line shows the document again."""
        self._end_typing()
        self._mark("")
        self.refresh()

    def _end_typing(self) -> None:
        if self._is_typing:
            self._is_typing = False
            self.end()

    def _mark(self, complaint: str) -> None:
        """Outline an invalid line, with the reason as its tooltip; or remove both."""
        self.control.setToolTip(plain_tooltip(complaint or _(self.field.hint)))
        self.control.setAccessibleDescription(complaint)
        if bool(complaint) != bool(self.control.property("invalid")):
            self.control.setProperty("invalid", bool(complaint))
            self.control.style().polish(self.control)


ROWS: tuple[tuple[type[FormField[Any]], type[Any]], ...] = (
    (Number, NumberRow),
    (Slider, SliderRow),
    (Switch, SwitchRow),
    (Choice, ChoiceRow),
    (Seed, SeedRow),
    (Text, TextRow),
)


def make_row(field: FormField[S], subject: Subject[S], store: Store) -> Row[S]:
    """The row for a record."""
    row: Row[S] = dict(ROWS)[type(field)](field, subject, store)
    return row
