"""`ROLES`: what each of the window's own widgets is to a screen reader.

Qt knows the roles of its own widgets; one that paints itself is an area without a meaning.
"""

from __future__ import annotations

from functools import partial
from itertools import count

from PySide6.QtCore import QObject
from PySide6.QtGui import QAccessible, QAccessibleInterface
from PySide6.QtWidgets import QAccessibleWidget, QWidget

ROLES: dict[str, QAccessible.Role] = {
    "DragNumber": QAccessible.Role.SpinBox,
    "NumberGrid": QAccessible.Role.Table,
    "HeatMap": QAccessible.Role.Chart,
    "ArrowPlot": QAccessible.Role.Chart,
    "Bars": QAccessible.Role.List,
    "TokenChips": QAccessible.Role.List,
    "ColumnTitles": QAccessible.Role.List,
    "DistributionBars": QAccessible.Role.Table,
    "NextRows": QAccessible.Role.List,
    "StoryText": QAccessible.Role.List,
    "WeightStrip": QAccessible.Role.List,
    "GridCanvas": QAccessible.Role.Chart,
    "PairRows": QAccessible.Role.List,
    "LensCanvas": QAccessible.Role.Table,
    "PatchCanvas": QAccessible.Role.Table,
    "CaptionText": QAccessible.Role.StaticText,
    "Grip": QAccessible.Role.Grip,
    "HeadWires": QAccessible.Role.List,
    "Dial": QAccessible.Role.Dial,
    "LatentDiagram": QAccessible.Role.Chart,
    "AxesPicture": QAccessible.Role.Chart,
    "ArcsView": QAccessible.Role.Chart,
    "SumPlane": QAccessible.Role.Chart,
    "SumRows": QAccessible.Role.List,
    "NextBars": QAccessible.Role.List,
    "HeadChips": QAccessible.Role.List,
    "Scrubber": QAccessible.Role.Slider,
}
"""Name of a widget's class: its role."""


def install() -> None:
    """Tell Qt the roles; once for a process."""
    QAccessible.installFactory(_interface)


def _interface(name: str, thing: QObject | None) -> QAccessibleInterface | None:
    """The interface of one widget, requested when a screen reader meets it."""
    role = ROLES.get(name)
    if role is None or not isinstance(thing, QWidget):
        return None
    interface = QAccessibleWidget(thing, role)
    number = next(_numbers)  # an id may come again while the first widget of it still lives in Qt
    _kept[number] = interface
    thing.destroyed.connect(partial(_kept.pop, number, None))
    return interface


_numbers = count()
_kept: dict[int, QAccessibleInterface] = {}
"""Qt holds an interface without keeping its Python part alive."""
