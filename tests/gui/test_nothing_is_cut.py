"""Every text in sight is whole, or elided with a tooltip, and none lies over another.

Each workspace in each size of the window, every tab, both languages and themes; and at each scale, in the
smallest window that the scale allows.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from desk import Desk, MakeDesk
from draw import Drawn
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QAbstractButton, QAbstractScrollArea, QApplication, QComboBox, QLabel, QWidget

from attnviz.gui.look.scale import rescale
from attnviz.gui.settings import Settings
from attnviz.gui.widgets.elided_label import ElidedLabel
from attnviz.gui.widgets.formula_line import FormulaLine
from attnviz.gui.widgets.panel_dock import PanelDock
from attnviz.gui.workspaces.table import WORKSPACES

SLACK = 2
"""Pixels by which a rounded advance may differ."""
ARROW = 16
"""Pixels of a combo box beside its text."""
SIZES = ((1024, 640), (1280, 800), (1366, 768), (1600, 900), (1920, 1080), (2560, 1440))
LOOKS = (("en", "light", "causal-decode"), ("zh_CN", "dark", "encoder-decoder"))


def fronts(desk: Desk) -> Iterator[PanelDock]:
    """Every panel of the workspace, in front of its place."""
    seen = [dock for dock in desk.window.docks.values() if not dock.visibleRegion().isEmpty()]
    for dock in seen:
        yield dock
        for other in desk.window.tabifiedDockWidgets(dock):
            assert isinstance(other, PanelDock)
            desk.window.workspaces.show_panel(other.panel_id)
            QApplication.processEvents()
            yield other
        dock.raise_()


def texts(dock: PanelDock) -> list[QWidget]:
    """The painted labels and controls of a panel that have a text."""
    kinds = (QLabel, QAbstractButton, QComboBox, FormulaLine)
    return [
        widget
        for widget in dock.findChildren(QWidget)
        if isinstance(widget, kinds) and widget.isVisible() and said(widget).strip()
        if not widget.visibleRegion().isEmpty()
    ]


def said(widget: QWidget) -> str:
    return widget.currentText() if isinstance(widget, QComboBox) else widget.text()  # type: ignore[attr-defined]


def advance(widget: QWidget) -> int:
    text = said(widget).replace("&", "")
    return max(QFontMetrics(widget.font()).horizontalAdvance(line) for line in text.splitlines())


def is_whole(widget: QWidget) -> bool:
    """True if a widget shows all of its text, or says it in its tooltip."""
    if isinstance(widget, ElidedLabel) or widget.property("elided"):
        return advance(widget) <= widget.width() + SLACK or bool(widget.toolTip())
    if widget.hasHeightForWidth():
        return widget.heightForWidth(widget.width()) <= widget.height() + SLACK
    is_formula = isinstance(widget, FormulaLine)
    if is_formula or (isinstance(widget, QLabel) and widget.textFormat() == Qt.TextFormat.RichText):
        return widget.sizeHint().width() <= widget.width() + SLACK
    if isinstance(widget, QComboBox):
        return advance(widget) <= widget.width() - ARROW or bool(widget.toolTip())
    return advance(widget) <= widget.width() + SLACK


def place(widget: QWidget, dock: PanelDock) -> QRect:
    return QRect(widget.mapTo(dock, QPoint()), widget.size())


def is_inside(widget: QWidget, dock: PanelDock) -> bool:
    """True if nothing cuts the widget but the edge of what scrolls."""
    parent = widget.parentWidget()
    while parent is not None and parent is not dock:
        if isinstance(parent, QAbstractScrollArea):
            return True
        parent = parent.parentWidget()
    return dock.rect().adjusted(-SLACK, -SLACK, SLACK, SLACK).contains(place(widget, dock))


def faults(desk: Desk) -> list[str]:
    """Everything that is cut or overlaps in the present workspace."""
    found = []
    for dock in fronts(desk):
        shown = texts(dock)
        where = f"{desk.window.workspaces.present.id} {desk.window.size().toTuple()} {dock.panel_id}"
        for widget in shown:
            named = f"{where}: {type(widget).__name__} {widget.objectName()} {said(widget)!r}"
            if not is_whole(widget):
                found.append(f"{named} is cut: {advance(widget)} in {widget.width()}")
            if not is_inside(widget, dock):
                found.append(f"{named} lies outside: {place(widget, dock)}")
        for index, one in enumerate(shown):
            for other in shown[index + 1 :]:
                if one.parent() is other.parent() and one.geometry().intersects(other.geometry()):
                    found.append(f"{where}: {said(one)!r} lies over {said(other)!r}")
    return found


@pytest.mark.parametrize(("language", "theme", "preset"), LOOKS, ids=lambda value: str(value))
def test_no_text_is_cut_in_any_workspace(
    make_desk: MakeDesk, settings: Settings, drawn: Drawn, language: str, theme: str, preset: str
) -> None:
    settings["language"], settings["theme"] = language, theme
    desk = make_desk(preset)
    found = []
    for size, workspace in drawn([(size, row.id) for size in SIZES for row in WORKSPACES]):
        desk.window.resize(*size)
        desk.go(workspace)
        desk.qtbot.wait(10)
        found += faults(desk)
    assert not found, "\n".join(found)


@pytest.mark.parametrize(("percent", "size"), [(125, (1024, 640)), (150, (1280, 720)), (200, (1280, 720))])
def test_no_text_is_cut_at_any_scale(make_desk: MakeDesk, percent: int, size: tuple[int, int]) -> None:
    """Sizes in points: 1280 × 800, 1920 × 1080 and 2560 × 1440 pixels."""
    desk = make_desk("causal-decode")
    assert rescale([desk.window], 100, percent)
    try:
        desk.window.resize(*size)
        desk.qtbot.wait(50)
        assert desk.window.devicePixelRatioF() == percent / 100
        found = faults(desk)
    finally:
        rescale([desk.window], percent, 100)
    assert not found, "\n".join(found)
