"""Slots of a cache: the position in each, empty ones, evicted ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QHelpEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from attnviz.core.phrases import named, phrased
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.widgets.control import Control
from attnviz.gui.widgets.heat.hatch import draw_blocked
from attnviz.i18n import _
from attnviz.model import caches
from attnviz.model.caches import FullCache, PagedCache, QuantisedCache, RestartingCache, RingCache, SinkCache

SIZES = (22, 18, 14, 11, 8, 6, 5, 4, 3)
"""Sides of a slot in pixels: the largest that lets all of them fit."""
_WITH_NUMBER = 18
_TITLE_PX = 14
_BETWEEN = 8

MOST_EMPTY = 64
"""Empty slots that are drawn: of a cache of 100,000 the others are counted."""

State = Literal["kept", "new", "empty", "evicted"]


@dataclass(frozen=True)
class Slot:
    """One slot: the position that it holds (−1: none), and how it stands with it."""

    position: int
    state: State


@dataclass(frozen=True)
class SlotGroup:
    """Slots that stand together, with a title."""

    title: str
    slots: tuple[Slot, ...]


def slot_groups(cache: caches.Cache, fed: range) -> tuple[SlotGroup, ...]:
    """The slots of a cache after the positions `fed` were appended just now, behind those before them."""
    return GROUPS[type(cache)](cache, fed)


def _slot(position: int, fed: range) -> Slot:
    """The slot of a position; empty where that is negative."""
    return Slot(position, "empty" if position < 0 else "new" if position in fed else "kept")


def _all(cache: caches.Cache, fed: range) -> tuple[SlotGroup, ...]:
    """One slot for each position."""
    return (SlotGroup(_("positions"), tuple(_slot(p, fed) for p in range(fed.stop))),)


def _pages(cache: PagedCache, fed: range) -> tuple[SlotGroup, ...]:
    """Blocks, the last one perhaps partly empty."""
    length, held = fed.stop, cache.capacity(fed.stop)
    drawn = range(min(held, length + MOST_EMPTY))
    places = [_slot(p if p < length else -1, fed) for p in drawn]
    blocks = [places[start : start + cache.block] for start in range(0, len(places), cache.block)]
    titles = [_("block {n}").format(n=n) for n in range(1, len(blocks) + 1)]
    titles[-1] = _with_more(titles[-1], held - len(places))
    return tuple(SlotGroup(title, tuple(block)) for title, block in zip(titles, blocks, strict=True))


def _ring(cache: RingCache | SinkCache, fed: range) -> tuple[SlotGroup, ...]:
    """Sinks, the slots that the last positions take in turn, and the evicted positions."""
    length, most, n_sinks = fed.stop, fed.stop + MOST_EMPTY, cache.n_sinks
    first, last = cache.kept(length)
    sinks = [p if p in first else -1 for p in range(min(n_sinks, most))]
    lies_at = {n_sinks + (p - n_sinks) % cache.window: p for p in last}
    ring = [lies_at.get(n_sinks + at, -1) for at in range(min(cache.window, most))]
    gone = tuple(Slot(p, "evicted") for p in range(len(first), last.start))
    groups = (
        SlotGroup(_with_more(_("sinks"), n_sinks - len(sinks)), tuple(_slot(p, fed) for p in sinks)),
        SlotGroup(_with_more(_("ring"), cache.window - len(ring)), tuple(_slot(p, fed) for p in ring)),
        SlotGroup(_("evicted"), gone),
    )
    return tuple(group for group in groups if group.slots)


GROUPS: dict[type, Callable[[Any, range], tuple[SlotGroup, ...]]] = {
    FullCache: _all,
    RingCache: _ring,
    SinkCache: _ring,
    QuantisedCache: _all,
    PagedCache: _pages,
    RestartingCache: _all,
}
"""The groups of slots of each kind of cache."""


def _with_more(title: str, more: int) -> str:
    """The title of a group with `more` empty slots that are not drawn."""
    return _("{title} · {more} more empty").format(title=title, more=f"{more:,}") if more else title


class SlotMap(Control):
    """Groups of slots, wrapped, as large as they fit."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._groups: tuple[SlotGroup, ...] = ()
        self._describe: Callable[[Slot], str] = str
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def set_groups(self, groups: Sequence[SlotGroup], describe: Callable[[Slot], str]) -> None:
        """Show these; `describe` says in words what a slot holds."""
        self._groups, self._describe = tuple(groups), describe
        counts = [named(group.title, str(len(group.slots))) for group in self._groups]
        self.setAccessibleDescription(phrased(counts[:8]))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(240, 100)

    def minimumSizeHint(self) -> QSize:
        return QSize(120, 48)

    def slot_rects(self) -> list[list[QRectF]]:
        """Rectangles of the slots of every group."""
        for size in SIZES:
            rects, bottom = self._flowed(size)
            if bottom <= self.height():
                break
        return rects

    def _flowed(self, size: int) -> tuple[list[list[QRectF]], float]:
        """The groups beside each other where they fit, each with its title above; and where they end.

        Evicted slots have no shape of their own: they take the rest of the line.
        """
        x, y, lowest = 0.0, 0.0, 0.0
        squares: list[list[QRectF]] = []
        for group in self._groups:
            room = self.width() - (x if group.slots[0].state == "evicted" else 0)
            across = max(min(len(group.slots), int(room // size)), 1)
            width, lines = max(across * size, 44), -(-len(group.slots) // across)
            if x and x + width > self.width():
                x, y = 0.0, lowest + 4
            top = y + _TITLE_PX
            places = [divmod(index, across) for index in range(len(group.slots))]
            squares.append([QRectF(x + c * size, top + r * size, size - 1, size - 1) for r, c in places])
            lowest = max(lowest, top + lines * size)
            x += width + _BETWEEN
        return squares, lowest

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        for group, rects in zip(self._groups, self.slot_rects(), strict=True):
            painter.setFont(ui_font(11))
            painter.setPen(QColor(self._theme.muted))
            painter.drawText(QPointF(rects[0].left(), rects[0].top() - 4), group.title)
            for slot, rect in zip(group.slots, rects, strict=True):
                self._paint_slot(painter, slot, rect)

    def _paint_slot(self, painter: QPainter, slot: Slot, rect: QRectF) -> None:
        theme, key = self._theme, QColor(self._theme.key)
        if slot.state == "evicted":
            draw_blocked(painter, rect, theme)
        elif slot.state == "empty":
            painter.fillRect(rect, QColor(theme.field))
            painter.setPen(QPen(QColor(theme.line), 1))
            painter.drawRect(rect.adjusted(0.5, 0.5, -0.5, -0.5))
        else:
            key.setAlphaF(1.0 if slot.state == "new" else 0.3)
            painter.fillRect(rect, key)
        if slot.position >= 0 and rect.width() + 1 >= _WITH_NUMBER:
            painter.setFont(number_font(10))
            painter.setPen(QColor(theme.panel if slot.state == "new" else theme.ink))
            painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, str(slot.position))

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            QToolTip.showText(event.globalPos(), plain_tooltip(self._words(QPointF(event.pos()))), self)
            return True
        return super().event(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self.setAccessibleDescription(self._words(event.position()))

    def _words(self, point: QPointF) -> str:
        for group, rects in zip(self._groups, self.slot_rects(), strict=True):
            for slot, rect in zip(group.slots, rects, strict=True):
                if rect.contains(point):
                    return f"{group.title} · {self._describe(slot)}"
        return ""
