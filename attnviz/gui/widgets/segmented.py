"""An exclusive choice as joined buttons."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

from attnviz.gui.look.theme import RADIUS, Theme
from attnviz.gui.widgets.boxes import in_row
from attnviz.gui.widgets.button import rove
from attnviz.gui.widgets.control import Availability, Control, active_theme, draw_focus_ring

Option = tuple[str, str, str]
"""One choice: id, label, tooltip."""

_HEIGHT = 24
_STEPS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Up: -1, Qt.Key.Key_Right: 1, Qt.Key.Key_Down: 1}


class _Segment(Availability, QAbstractButton):
    """One of the joined buttons; `ends` marks its outer ends."""

    def __init__(self, option: Option, ends: tuple[bool, bool], parent: QWidget) -> None:
        super().__init__(parent)
        self.theme = active_theme()
        self._ends = ends
        self.id = option[0]
        self.setObjectName(f"segment_{self.id}")
        self.set_texts(option)
        self.setCheckable(True)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def set_texts(self, option: Option) -> None:
        _id, label, tooltip = option
        self.setText(label)
        self.setAccessibleName(label)
        self.set_tooltip(tooltip or label)

    def sizeHint(self) -> QSize:
        return QSize(max(self.fontMetrics().horizontalAdvance(self.text()) + 18, _HEIGHT), _HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(max(self.fontMetrics().horizontalAdvance(self.text()) + 8, _HEIGHT), _HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        theme, rect = self.theme, QRectF(self.rect())
        outline = rect.adjusted(0.5 if self._ends[0] else -0.5, 0.5, -0.5, -0.5)
        path = _joined_path(outline, self._ends)
        painter.setPen(QPen(QColor(theme.line), 1))
        painter.setBrush(self._fill())
        painter.drawPath(path)
        painter.setPen(self._ink())
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, self.text())
        if self.hasFocus():
            self._paint_focus(painter, rect)

    def _paint_focus(self, painter: QPainter, rect: QRectF) -> None:
        """Paint the ring, apart from the fill of the chosen segment by a line of the card's colour."""
        draw_focus_ring(painter, rect, self.theme, 4)
        if self.isChecked():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(self.theme.panel), 1))
            painter.drawRoundedRect(rect.adjusted(2.5, 2.5, -2.5, -2.5), 3, 3)

    def _fill(self) -> QColor:
        theme = self.theme
        if self.isChecked():
            return QColor(theme.filled if self.isEnabled() else theme.line)
        return QColor(theme.hover if self.underMouse() and self.isEnabled() else theme.panel)

    def _ink(self) -> QColor:
        theme = self.theme
        if self.isChecked() and self.isEnabled():
            return QColor(theme.on_filled)
        color = QColor(theme.ink if self.isEnabled() and self.underMouse() else theme.muted)
        color.setAlphaF(1.0 if self.isEnabled() else 0.5)
        return color

    def takes_key(self, event: QKeyEvent) -> bool:
        return Qt.Key(event.key()) in _STEPS

    def keyPressEvent(self, event: QKeyEvent) -> None:
        owner = self.parent()
        step = _STEPS.get(Qt.Key(event.key()))
        if step is not None and isinstance(owner, Segmented):
            owner.step(step)
        elif event.key() == Qt.Key.Key_Space and self.isChecked():
            event.ignore()  # it is chosen already: the window may have a use for the key
        else:
            super().keyPressEvent(event)


def _joined_path(rect: QRectF, ends: tuple[bool, bool]) -> QPainterPath:
    """A rectangle that is rounded at its outer ends only."""
    path = QPainterPath()
    path.addRoundedRect(rect, RADIUS - 1, RADIUS - 1)
    for is_outer, left in ((ends[0], rect.left()), (ends[1], rect.right() - RADIUS)):
        if not is_outer:
            corner = QPainterPath()
            corner.addRect(QRectF(left, rect.top(), RADIUS, rect.height()))
            path = path.united(corner)
    return path


class Segmented(Control):
    """Joined buttons of which exactly one is chosen; `changed` carries the id the user chose."""

    changed = Signal(str)

    def __init__(
        self, options: Sequence[Option], value: str = "", name: str = "", parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._options: tuple[Option, ...] = ()
        self._segments: dict[str, _Segment] = {}
        self._value = value
        self._row = in_row(self, spacing=0)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(name)
        self.set_options(options)

    def value(self) -> str:
        return self._value

    def set_options(self, options: Sequence[Option]) -> None:
        """Replace the choices, or their texts alone; the chosen id stays chosen where it still exists."""
        if tuple(options) == self._options:
            return
        self._options = tuple(options)
        if [id_ for id_, _label, _tooltip in options] == list(self._segments):
            for option in options:
                self._segments[option[0]].set_texts(option)
            return
        for segment in self._segments.values():
            self._row.removeWidget(segment)
            segment.hide()
            segment.setParent(None)
            segment.deleteLater()
        self._segments = {}
        for index, option in enumerate(options):
            segment = _Segment(option, (index == 0, index == len(options) - 1), self)
            segment.clicked.connect(self._on_clicked)
            segment.theme = self._theme
            segment.set_owner_unavailable(self._reason)
            self._segments[option[0]] = segment
            self._row.addWidget(segment)
        self._show(self._value)

    def set_value(self, value: str) -> None:
        """Show `value` as chosen without emitting; an id that is not an option chooses none."""
        if value != self._value:
            self._show(value)

    def _show(self, value: str) -> None:
        self._value = value
        for id_, segment in self._segments.items():
            segment.setChecked(id_ == value)
        self._rove_focus()

    def set_option_unavailable(self, id_: str, reason: str | None) -> None:
        """Disable one choice with the reason in its tooltip; `None` enables it."""
        was_usable = self._segments[id_].isEnabled()
        self._segments[id_].set_unavailable(reason)
        if was_usable != self._segments[id_].isEnabled():
            self._rove_focus()

    def set_unavailable(self, reason: str | None) -> None:
        super().set_unavailable(reason)
        for segment in self._segments.values():
            segment.set_owner_unavailable(reason)

    def step(self, delta: int) -> None:
        """Choose the next available option `delta` steps along, as the arrow keys do."""
        usable = [segment for segment in self._segments.values() if segment.isEnabled()]
        if not usable:
            return
        chosen = self._segments.get(self._value)
        index = usable.index(chosen) + delta if chosen in usable else 0
        target = usable[index % len(usable)]
        self._choose(target.id)

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        for segment in self._segments.values():
            segment.theme = theme
            segment.update()

    def _on_clicked(self) -> None:
        segment = self.sender()
        if isinstance(segment, _Segment):
            self._choose(segment.id)

    def _choose(self, id_: str) -> None:
        is_new = id_ != self._value
        self._show(id_)  # also the chosen one: a click has unchecked its button
        if is_new:
            self.changed.emit(id_)

    def _rove_focus(self) -> None:
        """One Tab stop for the whole row: the chosen segment, else the first usable one."""
        segments = list(self._segments.values())
        chosen = self._segments.get(self._value)
        rove(segments, segments.index(chosen) if chosen is not None else -1)
