"""Arrows from the origin in a plane, whose tips can be dragged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QLineF, QPointF, QRectF, QSizeF, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from attnviz.core.text import elide, visible
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import Theme
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.widgets.control import active_theme, draw_focus_ring
from attnviz.gui.widgets.plots import pg

DOT_PX, STRONG_DOT_PX = 7.0, 11.0
"""Diameters of the dots at the tips."""


class ArrowItem(pg.GraphicsObject):
    """Lines from the origin, the strong one thick, and dots at the tips.

    A single item with points: curves and scatters of the plot library prepare themselves, at every step of
    a drag, for a million points of many sizes.
    """

    def __init__(self) -> None:
        super().__init__()
        self._tips: list[QPointF] = []
        self._strong = -1
        self._color = QColor()
        self._bounds = QRectF()

    def set_arrows(self, tips: NDArray[np.float64], color: str, strong: int) -> None:
        """Draw arrows to `tips` (n, 2), `strong` the one in focus (-1: none).

        A tip that is NaN is at the origin.
        """
        self.prepareGeometryChange()
        finite = np.nan_to_num(tips)
        self._tips = [QPointF(x, y) for x, y in finite.tolist()]
        self._strong, self._color = strong, QColor(color)
        least, most = (reach(finite, axis=0, initial=0.0).tolist() for reach in (np.min, np.max))
        self._bounds = QRectF(QPointF(*least), QPointF(*most))
        self.update()

    def viewTransformChanged(self) -> None:
        self.prepareGeometryChange()  # the dots keep their size in pixels

    def boundingRect(self) -> QRectF:
        """The tips and the origin, with the dots around them."""
        x, y = (STRONG_DOT_PX * (0.0 if pixel is None else pixel.length()) for pixel in self.pixelVectors())
        return self._bounds.adjusted(-x, -y, x, y)

    def paint(self, painter: QPainter, option: object, widget: object = None) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        faint, is_quiet = QColor(self._color), self._strong >= 0
        faint.setAlphaF(0.45 if is_quiet else 0.9)
        strong = self._tips[self._strong : self._strong + 1] if is_quiet else []
        others = [tip for index, tip in enumerate(self._tips) if index != self._strong]
        for tips, color, width in ((self._tips, faint, 1.4), (strong, self._color, 3.0)):
            painter.setPen(pg.mkPen(color, width=width))
            painter.drawLines([QLineF(QPointF(), tip) for tip in tips])
        dot_color = faint if is_quiet else self._color
        for tips, color, size in ((others, dot_color, DOT_PX), (strong, self._color, STRONG_DOT_PX)):
            pen = pg.mkPen(color, width=size)
            pen.setCapStyle(Qt.PenCapStyle.RoundCap)
            painter.setPen(pen)
            painter.drawPoints(tips)


GAP = 4.0
"""Pixels between a point and its label."""

Side = tuple[float, float]
"""Direction of a label from its point: −1, 0 or 1 to the right, and down."""

ABOVE, BELOW = (0.0, -1.0), (0.0, 1.0)
_OTHERS: tuple[Side, ...] = ((1.0, 0.0), (-1.0, 0.0), (1.0, -1.0), (-1.0, -1.0), (1.0, 1.0), (-1.0, 1.0))


def label_places(
    points: Sequence[QPointF], sizes: Sequence[QSizeF], wanted: Sequence[Side], room: QRectF, n_sure: int = 0
) -> list[QRectF | None]:
    """The rectangle of every label, all in pixels; None for one that has no free place.

    A label takes the first free side of its point, the `wanted` one first. The first `n_sure` labels take
    the nearest free place in `room` where no side is free. No label leaves `room` or covers another.
    """
    taken: list[QRectF] = []
    places: list[QRectF | None] = []
    for index, (point, size, first) in enumerate(zip(points, sizes, wanted, strict=True)):
        opposite = (-first[0], -first[1])
        sides = [_beside(point, size, side, room) for side in dict.fromkeys((first, opposite, *_OTHERS))]
        free = (r for r in sides if room.contains(r) and not any(r.intersects(other) for other in taken))
        place = next(free, None)
        if place is None and index < n_sure:
            place = _nearest(sides[0], room, taken)
        if place is not None:
            taken.append(place)
        places.append(place)
    return places


def _beside(point: QPointF, size: QSizeF, side: Side, room: QRectF) -> QRectF:
    """The rectangle of `size` on one side of a point; above or below, it moves aside from an edge."""
    x = point.x() + side[0] * (GAP + size.width() / 2) - size.width() / 2
    if not side[0]:
        inside = max(room.left(), min(x, room.right() - size.width()))
        x = inside if abs(inside - x) <= size.width() / 2 else x
    y = point.y() + side[1] * (GAP + size.height() / 2) - size.height() / 2
    return QRectF(x, y, size.width(), size.height())


def _nearest(rect: QRectF, room: QRectF, taken: Sequence[QRectF]) -> QRectF | None:
    """The place nearest to `rect` that is inside `room` and free; None if no place is.

    A nearest place touches an edge of the room or another label, or is at the wanted height or width.
    """
    width, height = rect.width(), rect.height()
    if width > room.width() or height > room.height():
        return None
    lefts = [room.left(), room.right() - width, rect.left()]
    tops = [room.top(), room.bottom() - height, rect.top()]
    for other in taken:
        lefts += [other.right(), other.left() - width]
        tops += [other.bottom(), other.top() - height]
    inside = [
        QRectF(x, y, width, height)
        for x in lefts
        if room.left() <= x <= room.right() - width
        for y in tops
        if room.top() <= y <= room.bottom() - height
    ]
    free = [place for place in inside if not any(place.intersects(other) for other in taken)]
    return min(free, key=lambda place: (place.center() - rect.center()).manhattanLength(), default=None)


REACH_PX = 12
"""Distance within which the mouse grips a tip."""

MOST_LABELS = 16
"""Labels drawn at once; with more arrows only the strong one is named."""

KEY_STEP = 0.05
"""Distance that one press of an arrow key moves a tip, in the plane's units."""


_MARGIN, _ROOM = 1.25, 2.5
"""Visible range, as a multiple of the longest arrow: when fitted, and its limit before it is fitted again."""


@dataclass(frozen=True, eq=False)
class Arrows:
    """One family of arrows; `tips` is (n, 2).

    `strong` is the arrow in focus (-1: none); `fixed` is the reason why tips cannot be dragged; with
    `names_strong_only` the others have no label.
    """

    name: str
    color: str
    tips: NDArray[np.float64]
    labels: tuple[str, ...]
    strong: int = -1
    fixed: str = ""
    names_strong_only: bool = False
    start: int = 0
    """Number of the first arrow: signals count from it, `strong` and `labels` do not."""


class ArrowPlot(pg.PlotWidget):
    """Draws families of arrows; drag a tip, or focus the plot and move the strong tip with the arrow keys."""

    tip_moved = Signal(str, int, float, float)
    """(family, index, x, y): the tip was moved there."""
    tip_hovered = Signal(str, int)
    """(family, index), or ("", -1)."""
    tip_clicked = Signal(str, int)
    gesture_started = Signal()
    gesture_finished = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, enableMenu=False)
        self._theme = active_theme()
        self._families: dict[str, Arrows] = {}
        self._items: dict[str, ArrowItem] = {}
        self._texts: list[pg.TextItem] = []
        self._written: list[Label | None] = []
        self._tips: list[tuple[Label, QPointF]] = []
        """The named arrows, the strong ones first, and their tips in the plane."""
        self._n_sure = 0
        self._held: tuple[str, int] | None = None
        self._hovered: tuple[str, int] = ("", -1)
        self._chosen: tuple[str, int] | None = None
        self._reach = 0.0
        """Distance from the origin that the plot last showed; 0 before the first arrows."""
        self._is_users = False
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAspectLocked(True)
        self.hideButtons()
        self.getPlotItem().hideAxis("left")
        self.getPlotItem().hideAxis("bottom")
        self._cross = [pg.InfiniteLine(angle=angle, movable=False) for angle in (0, 90)]
        for line in self._cross:
            self.addItem(line)
        self.viewport().setMouseTracking(True)
        self.getPlotItem().vb.sigResized.connect(self._on_resized)
        self.getPlotItem().vb.sigRangeChanged.connect(self._place_labels)
        self.getPlotItem().vb.sigRangeChangedManually.connect(self._on_zoomed)

    def set_arrows(self, families: tuple[Arrows, ...]) -> None:
        """Draw these families and no others."""
        for name in set(self._families) - {family.name for family in families}:
            self._items[name].setVisible(False)
        self._families = {family.name: family for family in families}
        for family in families:
            self._draw(family)
        self._draw_labels()
        longest = self._longest()
        if self._held is None and not self._is_users and not longest < self._reach < _ROOM * longest:
            self.fit()

    def fit(self) -> None:
        """Show all arrows, with the origin in view, and continue to do so until the user zooms."""
        self._is_users = False
        self._reach = _MARGIN * self._longest()
        self.setRange(xRange=(-self._reach, self._reach), yRange=(-self._reach, self._reach), padding=0)

    def _longest(self) -> float:
        """The largest coordinate of a tip."""
        tips = [np.abs(family.tips[np.isfinite(family.tips)]) for family in self._families.values()]
        return max(1e-3, *(float(np.max(part, initial=0.0)) for part in tips)) if tips else 1e-3

    @Slot(object)
    def _on_resized(self, box: object) -> None:
        if self._reach and not self._is_users:
            self.fit()

    @Slot(object)
    def _on_zoomed(self, axes: object) -> None:
        """Keep the user's zoom and position, whatever the arrows and the window do."""
        self._is_users = True

    def apply_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`."""
        self._theme = theme
        self.setBackground(theme.panel)
        for line in self._cross:
            line.setPen(pg.mkPen(theme.line))
        for family in self._families.values():
            self._draw(family)
        self._draw_labels()

    def tip_position(self, name: str, index: int) -> QPointF:
        """Position of a tip on the widget, in pixels."""
        x, y = self._families[name].tips[index]
        scene = self.getPlotItem().vb.mapViewToScene(QPointF(float(x), float(y)))
        return QPointF(self.mapFromScene(scene))

    # --- drawing

    def _draw(self, family: Arrows) -> None:
        if family.name not in self._items:
            self._items[family.name] = ArrowItem()
            self.addItem(self._items[family.name], ignoreBounds=True)
        self._items[family.name].set_arrows(family.tips, family.color, family.strong)
        self._items[family.name].setVisible(True)

    def _draw_labels(self) -> None:
        wanted = []
        many = sum(len(family.tips) for family in self._families.values()) > MOST_LABELS
        for family in self._families.values():
            for index, (x, y) in enumerate(np.nan_to_num(family.tips).tolist()):
                if index == family.strong or not (many or family.names_strong_only):
                    label = Label(f"{family.name} {visible(family.labels[index])}", family.color, y >= 0)
                    wanted.append((label, QPointF(x, y), index == family.strong))
        wanted.sort(key=lambda one: not one[2])
        self._tips = [(label, tip) for label, tip, _is_strong in wanted]
        self._n_sure = sum(is_strong for _label, _tip, is_strong in wanted)
        while len(self._texts) < len(wanted):
            text = pg.TextItem()
            text.setFont(ui_font(11))
            self.addItem(text, ignoreBounds=True)
            self._texts.append(text)
            self._written.append(None)
        for place, item in enumerate(self._texts):
            item.setVisible(place < len(wanted))
            if place < len(wanted):
                label = wanted[place][0]
                if label != self._written[place]:  # in a drag only the places are new
                    self._written[place] = label
                    item.setPlainText(elide(label.words, 18))
                    item.setColor(QColor(label.color))
                    item.setAnchor((0, 0))
        self._place_labels()

    @Slot()
    def _place_labels(self) -> None:
        """Put every label beside its tip, inside the plot and on no other one; without a place it hides."""
        box = self.getPlotItem().vb
        tips = [box.mapViewToScene(tip) for _label, tip in self._tips]
        items = self._texts[: len(tips)]
        sizes = [item.textItem.boundingRect().size() for item in items]
        sides = [ABOVE if label.is_above else BELOW for label, _tip in self._tips]
        places = label_places(tips, sizes, sides, box.sceneBoundingRect(), self._n_sure)
        for item, place in zip(items, places, strict=True):
            item.setVisible(place is not None)
            if place is not None:
                item.setPos(box.mapSceneToView(place.topLeft()))

    # --- mouse and keys

    def mousePressEvent(self, event: QMouseEvent) -> None:
        tip = self._near(event.position())
        if tip is None or event.button() != Qt.MouseButton.LeftButton:
            super().mousePressEvent(event)
            return
        self._chosen = tip
        self.tip_clicked.emit(*self._numbered(tip))
        if not self._families[tip[0]].fixed:
            self._held = tip
            self.gesture_started.emit()
        event.accept()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._held is not None:
            place = self._plane_point(event.position())
            self.tip_moved.emit(*self._numbered(self._held), place.x(), place.y())
            event.accept()
            return
        tip = self._near(event.position())
        self._hover(tip or ("", -1))
        if event.buttons() != Qt.MouseButton.NoButton or tip is None:
            super().mouseMoveEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._held is not None:
            self._held = None
            self.gesture_finished.emit()
            event.accept()
            return
        super().mouseReleaseEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.fit()

    def leaveEvent(self, event: QEvent) -> None:
        self._hover(("", -1))
        super().leaveEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.hasFocus():
            painter = QPainter(self.viewport())
            draw_focus_ring(painter, QRectF(self.viewport().rect()), self._theme)
            painter.end()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {
            Qt.Key.Key_Left: (-1, 0),
            Qt.Key.Key_Right: (1, 0),
            Qt.Key.Key_Up: (0, 1),
            Qt.Key.Key_Down: (0, -1),
        }
        step = steps.get(Qt.Key(event.key()))
        held = self._chosen
        if step is None or held is None or held[0] not in self._families:
            super().keyPressEvent(event)
            return
        family = self._families[held[0]]
        if held[1] < len(family.tips) and not family.fixed:
            x, y = family.tips[held[1]]
            self.tip_moved.emit(
                *self._numbered(held), float(x) + step[0] * KEY_STEP, float(y) + step[1] * KEY_STEP
            )

    def _hover(self, tip: tuple[str, int]) -> None:
        if tip == self._hovered:
            return
        self._hovered = tip
        family = self._families.get(tip[0])
        self.setToolTip(plain_tooltip(family.fixed) if family else "")
        shape = Qt.CursorShape.ArrowCursor
        if family is not None:
            shape = Qt.CursorShape.ForbiddenCursor if family.fixed else Qt.CursorShape.OpenHandCursor
        self.viewport().setCursor(shape)
        self.tip_hovered.emit(*self._numbered(tip))

    def _numbered(self, tip: tuple[str, int]) -> tuple[str, int]:
        """A tip by its number, as signals carry it."""
        family = self._families.get(tip[0])
        return tip if family is None else (tip[0], tip[1] + family.start)

    def _near(self, position: QPointF) -> tuple[str, int] | None:
        """The tip within reach; one that can be dragged is preferred to one that cannot."""
        best: tuple[bool, float, str, int] | None = None
        for family in self._families.values():
            for index in range(len(family.tips)):
                tip = self.tip_position(family.name, index)
                distance = float(np.hypot(tip.x() - position.x(), tip.y() - position.y()))
                candidate = (bool(family.fixed), distance, family.name, index)
                if distance <= REACH_PX and (best is None or candidate < best):
                    best = candidate
        return None if best is None else best[2:]

    def _plane_point(self, position: QPointF) -> QPointF:
        scene = self.mapToScene(position.toPoint())
        point: QPointF = self.getPlotItem().vb.mapSceneToView(scene)
        return point


class Label(NamedTuple):
    """Label of a tip, with its colour and whether it is above."""

    words: str
    color: str
    is_above: bool
