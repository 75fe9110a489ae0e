"""The ring of the focus, clicks that leave it where it is, and Space in a control that Tab reached."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from desk import Desk, MakeDesk, pixels
from PySide6.QtCore import QEvent, QPoint, Qt, QVariantAnimation
from PySide6.QtGui import QAccessible, QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QApplication,
    QDockWidget,
    QToolButton,
    QWidget,
)

from attnviz.checkpoints.presets import load_preset
from attnviz.gui.look import look
from attnviz.gui.look.theme import MOTION_PROPERTY
from attnviz.gui.settings import Settings
from attnviz.gui.widgets import roles
from attnviz.gui.widgets.control import RING_PX, transition_ms
from attnviz.gui.widgets.document_text import DocumentText
from attnviz.gui.widgets.heat.thumbnail import Thumbnail
from attnviz.gui.widgets.toggle import Toggle
from attnviz.gui.window.focus import CONTROLS


def shown_widgets(desk: Desk) -> Iterator[QWidget]:
    """Every visible, enabled widget, each panel brought to the front once."""
    seen: dict[int, QWidget] = {}  # held, as the id of a wrapper that is gone comes again
    for dock in (None, *desk.window.findChildren(QDockWidget)):
        if dock is not None:
            dock.show()
            dock.raise_()
            QApplication.processEvents()
        for widget in desk.window.findChildren(QWidget):
            if id(widget) not in seen and _is_seen(widget) and widget.isEnabled():
                seen[id(widget)] = widget
                yield widget


def _is_seen(widget: QWidget) -> bool:
    inner = widget.viewport() if isinstance(widget, QAbstractScrollArea) else widget
    return widget.isVisible() and not inner.visibleRegion().isEmpty()


def tab_stops(desk: Desk) -> Iterator[QWidget]:
    """Every widget that Tab reaches."""
    for widget in shown_widgets(desk):
        has_proxy = widget.focusProxy() is not None
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and not has_proxy and not _is_viewport(widget):
            yield widget


def _is_viewport(widget: QWidget) -> bool:
    parent = widget.parent()
    return isinstance(parent, QAbstractScrollArea) and parent.viewport() is widget


def line(desk: Desk) -> DocumentText:
    return desk.find(DocumentText, "token_line")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_tab_stop_has_the_ring(make_desk: MakeDesk, settings: Settings, theme: str) -> None:
    settings["theme"] = theme
    desk = make_desk()
    without, n_seen = [], 0
    for widget in tab_stops(desk):
        before, after = _focused(desk, widget)
        if before.shape != after.shape:  # the first focus has opened the explanation below a grid
            before, after = _focused(desk, widget)
        if not _has_ring(after & ~before):
            without.append(f"{type(widget).__name__} {widget.objectName()}")
        n_seen += 1
    assert not without and n_seen > 50


def _focused(desk: Desk, widget: QWidget) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    """The lines around a widget without the focus and with it."""
    found = []
    for one in (desk.window, widget):
        one.setFocus(Qt.FocusReason.TabFocusReason)
        QApplication.processEvents()
        found.append(_lines(desk, widget))
    return found[0], found[1]


def _lines(desk: Desk, widget: QWidget) -> np.ndarray:  # type: ignore[type-arg]
    """True where a line of about the accent's hue begins that is two pixels high: (height − 2, width)."""
    wanted = np.array(QColor(desk.theme.accent).getRgb()[:3])
    parent = widget.parentWidget()
    assert parent is not None
    # Of the parent: a button alone would be painted without its corners.
    around = pixels(parent.grab(widget.geometry()).toImage())
    accent = np.abs(around - wanted).max(axis=2) < 48
    accent = np.pad(accent, ((0, 1), (0, 0)))
    return np.asarray(accent[:-2] & accent[1:-1] & ~accent[2:])


def _has_ring(lines: np.ndarray) -> bool:  # type: ignore[type-arg]
    """A horizontal line as thick as the ring, at least 8 pixels long."""
    run = np.cumsum(lines, axis=1)
    return bool(RING_PX == 2 and (run[:, 8:] - run[:, :-8] == 8).any())


def test_no_control_takes_the_focus_by_a_click(desk: Desk) -> None:
    wrong, n_seen = [], 0
    for widget in shown_widgets(desk):
        if isinstance(widget, CONTROLS):
            n_seen += 1
            if widget.focusPolicy() & Qt.FocusPolicy.ClickFocus & ~Qt.FocusPolicy.TabFocus:
                wrong.append(f"{type(widget).__name__} {widget.objectName()}")
    assert not wrong and n_seen > 50


def test_after_a_click_on_a_control_space_plays(desk: Desk) -> None:
    """From the prompt too: the click ends typing, and no blank is typed."""
    line(desk).setFocus()
    desk.switch("cap_toggle")
    assert desk.window.focusWidget() is desk.map
    desk.settle_decoding()
    desk.press_key(Qt.Key.Key_Space)
    assert desk.store.player.is_playing
    assert desk.store.experiment.tokens == ("a", "fluffy", "blue", "creature")


def test_a_click_leaves_the_focus_in_the_map(desk: Desk) -> None:
    desk.map.setFocus()
    desk.switch("cap_toggle")
    assert desk.map.hasFocus()


def test_a_click_elsewhere_frees_a_control_that_tab_reached(desk: Desk) -> None:
    toggle = desk.find(Toggle, "cap_toggle")
    toggle.setFocus(Qt.FocusReason.TabFocusReason)
    desk.switch("sinks_toggle")
    assert desk.map.hasFocus()
    toggle.setFocus(Qt.FocusReason.TabFocusReason)
    desk.switch("cap_toggle")  # itself
    assert desk.map.hasFocus()


def test_a_hidden_control_gives_its_focus_to_the_map(desk: Desk) -> None:
    button = desk.find(QToolButton, "show_button")
    button.setFocus(Qt.FocusReason.TabFocusReason)
    button.hide()
    focused = desk.window.focusWidget()
    assert desk.window.panels["stage"].isAncestorOf(focused) and not isinstance(focused, QAbstractButton)


def test_a_click_inside_a_text_keeps_typing(desk: Desk) -> None:
    line(desk).setFocus()
    desk.click(line(desk), QPoint(4, 8))
    assert line(desk).hasFocus()


def test_space_answers_in_a_control_that_tab_reached_and_f5_plays(desk: Desk) -> None:
    desk.settle_decoding()
    toggle = desk.find(Toggle, "cap_toggle")
    toggle.setFocus(Qt.FocusReason.TabFocusReason)
    desk.press_key(Qt.Key.Key_Space)
    assert toggle.value() and not desk.store.player.is_playing
    desk.settle_decoding()
    desk.press_key(Qt.Key.Key_F5)
    assert toggle.value() and desk.store.player.is_playing


def test_f5_plays_from_every_tab_stop(desk: Desk) -> None:
    desk.settle_decoding()
    before = desk.store.experiment
    for widget in tab_stops(desk):
        was_playing = desk.store.player.is_playing
        widget.setFocus(Qt.FocusReason.TabFocusReason)
        QTest.keyClick(QApplication.focusWidget() or desk.window, Qt.Key.Key_F5)
        assert desk.store.player.is_playing != was_playing, widget.objectName()
    assert desk.store.experiment == before


@pytest.mark.parametrize("prefix", ["stage_", "head_"])
def test_a_strip_is_one_tab_stop_and_arrows_walk_in_it(desk: Desk, prefix: str) -> None:
    buttons = [
        button
        for button in desk.window.findChildren(Thumbnail)
        if button.isVisible() and button.objectName().startswith(prefix)
    ]
    stops = [button for button in buttons if button.focusPolicy() & Qt.FocusPolicy.TabFocus]
    assert len(buttons) > 2 and len(stops) == 1 and stops[0].isChecked()
    stops[0].setFocus(Qt.FocusReason.TabFocusReason)
    key = Qt.Key.Key_Right if prefix == "head_" else Qt.Key.Key_Left
    desk.press_key(key)
    now = desk.window.focusWidget()
    assert isinstance(now, QAbstractButton) and now.isChecked() and now is not stops[0] and now in buttons
    assert not stops[0].isChecked()


def test_every_control_has_a_name_and_a_role(make_desk: MakeDesk) -> None:
    roles.install()
    desk = make_desk(load_preset("stories-en"))  # a language model: the panels of sampling have their rows
    wrong, n_seen = [], 0
    for widget in shown_widgets(desk):
        if widget.focusPolicy() == Qt.FocusPolicy.NoFocus or widget.focusProxy() or _is_viewport(widget):
            continue
        spoken = QAccessible.queryAccessibleInterface(widget)
        name = spoken.text(QAccessible.Text.Name)
        role = spoken.role()
        n_seen += 1
        has_name = bool(name) or role == QAccessible.Role.StaticText  # a message may be empty
        if not has_name or role in (QAccessible.Role.NoRole, QAccessible.Role.Client):
            wrong.append(f"{type(widget).__name__} {widget.objectName()}: {name!r}, {role}")
    assert not wrong and n_seen > 50


def test_reduced_motion_ends_every_transition(desk: Desk, settings: Settings, qapp: QApplication) -> None:
    toggle = desk.find(Toggle, "cap_toggle")
    settings["motion"] = False
    look.apply(qapp, settings)
    assert transition_ms(toggle) == 0
    desk.switch("cap_toggle")
    QApplication.sendPostedEvents(None, QEvent.Type.MetaCall)  # type: ignore[arg-type]
    assert toggle.findChild(QVariantAnimation).state() == QVariantAnimation.State.Stopped
    qapp.setProperty(MOTION_PROPERTY, True)
