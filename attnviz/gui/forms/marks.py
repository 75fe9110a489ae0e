"""Marks of controls that stand outside of forms: an outline, and the error as the tooltip."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QRectF, Qt, Slot
from PySide6.QtGui import QColor, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractScrollArea, QToolTip, QWidget

from attnviz.errors import FieldError, Message, message_of
from attnviz.gui.look.theme import RADIUS
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.store import Store
from attnviz.gui.widgets.control import active_theme
from attnviz.model.errors.titles import in_words
from attnviz.model.fields import place_of_field
from attnviz.model.spec.document import Document


class Mark(QWidget):
    """Lies over a control and outlines it from an error of its field until an edit is taken.

    `paths` are the document's fields that the control edits: the parts and the items of a field belong to
    it. A control that edits one field at a time has a function instead.
    """

    _error: Message | None = None
    """Of the class: a control that is collected still asks its filter after the mark has lost its fields."""

    def __init__(self, store: Store, control: QWidget, *paths: str | Callable[[], str]) -> None:
        super().__init__(control)
        self._paths = paths
        self.setObjectName(f"{control.objectName()}_mark")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()
        self.control = control
        self._watched = [control]
        if isinstance(control, QAbstractScrollArea):
            self._watched.append(control.viewport())
        for widget in self._watched:
            widget.installEventFilter(self)
        self._store = store
        store.rejected.connect(self.mark)

    def paths(self) -> tuple[str, ...]:
        """The fields that the control edits now."""
        return tuple(path if isinstance(path, str) else path() for path in self._paths)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if self._error is not None:
            if event.type() == QEvent.Type.Resize:
                self._cover()
            if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
                QToolTip.showText(event.globalPos(), plain_tooltip(in_words(self._error)), self)
                return True
        return super().eventFilter(watched, event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QColor(active_theme().error))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS - 2, RADIUS - 2)

    def _cover(self) -> None:
        self.setGeometry(self._watched[0].rect())
        self.raise_()

    def is_about(self, path: str) -> bool:
        """True if an error at `path` concerns a field of the control, or a part or an item of it."""
        place = place_of_field(path)
        own = any(place == field or place.startswith((f"{field}.", f"{field}[")) for field in self.paths())
        return bool(place) and own

    @Slot(object)
    def mark(self, error: Exception | None) -> None:
        """Mark the control if the error is about its field, and unmark it otherwise."""
        own = error if isinstance(error, FieldError) and self.is_about(error.path) else None
        self._show_error(None if own is None else message_of(own))

    @Slot(object, object)
    def _on_changed(self, old: Document, new: Document) -> None:
        if old.experiment is not new.experiment:
            self._show_error(None)

    def _show_error(self, error: Message | None) -> None:
        """Listen to edits only while an error is shown: every control of the window has a mark."""
        if error is not None and self._error is None:
            self._store.changed.connect(self._on_changed)
        elif error is None and self._error is not None:
            self._store.changed.disconnect(self._on_changed)
        self._error = error
        self.setAccessibleDescription("" if error is None else in_words(error))
        self._cover()
        self.setVisible(error is not None)
