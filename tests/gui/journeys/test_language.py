"""Language and colours, switched while the window is open: nothing of the old ones is left anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest
from babel.messages.pofile import read_po
from desk import Desk, MakeDesk, count_color, picture
from half_width import half_width_marks
from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication, QEvent, QPoint, Qt
from PySide6.QtGui import QAction
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QDockWidget,
    QLabel,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QTabBar,
    QToolButton,
    QWidget,
)

from attnviz import resources
from attnviz.gui.look.theme import DARK, LIGHT, Theme
from attnviz.gui.panels.table import PANEL_BY_ID
from attnviz.gui.settings import Settings
from attnviz.gui.widgets.heat.thumbnail import Thumbnail
from attnviz.gui.widgets.numbers.grid import NumberGrid
from attnviz.gui.window.window import Window
from attnviz.gui.workspaces.table import WORKSPACES
from attnviz.i18n import current_language, set_language
from attnviz.model.io.presets import load_preset

Place = tuple[str, str]
MEASURED = re.compile(r"[\d.]+(?= ms)|(?<=ms，每步 )[\d.]+ / [\d.]+|(?<=ms per step )[\d.]+ / [\d.]+")


def see_everything(desk: Desk) -> None:
    """Bring every panel to the front in the first workspace that has it; end in the first workspace."""
    seen: set[str] = set()
    for row in WORKSPACES:
        desk.go(row.id)
        for panel in sorted(set(row.panels) - seen):
            seen.add(panel)
            desk.window.workspaces.open_here(panel)
            QApplication.processEvents()
            assert desk.window.panels[panel].is_seen, panel
        # Where the player rests, the step is made without a cache, and what is said of it changes.
        desk.qtbot.waitUntil(
            lambda: not desk.window.uncached_live.is_waiting and desk.window.services.schedulers.answers.idle
        )
    desk.go(WORKSPACES[0].id)


def open_menus(desk: Desk) -> None:
    """Let every menu fill itself, as it does when it opens."""
    for menu in desk.window.findChildren(QMenu):
        menu.aboutToShow.emit()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)  # type: ignore[arg-type]


def texts(desk: Desk, *, only_in_sight: bool = False) -> dict[Place, str]:
    """Every text of the window by (object names from the window down, which text); no measured times."""
    open_menus(desk)
    found: dict[Place, str] = {}
    for item in (desk.window, *desk.window.findChildren(QWidget), *desk.window.findChildren(QAction)):
        if not is_ours(item) or item.objectName().startswith("count_milliseconds_"):
            continue
        is_hidden = isinstance(item, QWidget) and not isinstance(item, QMenu) and not item.isVisible()
        for which, text in texts_of(item):
            if text and not (only_in_sight and is_hidden):
                place, count = path(item), 0
                while (f"{place}#{count}", which) in found:
                    count += 1
                found[f"{place}#{count}", which] = MEASURED.sub("-", text)
    return found


def texts_of(item: QWidget | QAction) -> Iterator[tuple[str, str]]:
    yield "toolTip", item.toolTip()
    yield "statusTip", item.statusTip()
    if isinstance(item, QAction | QAbstractButton | QLabel):
        yield "text", item.text()
    if isinstance(item, QWidget):
        yield "accessibleName", item.accessibleName()
        yield "accessibleDescription", item.accessibleDescription()
        yield "windowTitle", item.windowTitle()
    if isinstance(item, QMenu):
        yield "title", item.title()
    if isinstance(item, QLineEdit):
        yield "placeholder", item.placeholderText()
    if isinstance(item, QTabBar):
        for index in range(item.count()):
            yield f"tab {index}", item.tabText(index)
            yield f"tool tip {index}", item.tabToolTip(index)
    if isinstance(item, QPlainTextEdit):
        yield "placeholder", item.placeholderText()
    if isinstance(item, QComboBox):
        for index in range(item.count()):
            yield f"item {index}", item.itemText(index)
    if isinstance(item, Thumbnail):
        yield "caption", item.caption


def is_ours(item: QWidget | QAction) -> bool:
    """Not Qt's own buttons, which are named once, nor what the plotting library never shows."""
    own = item.objectName() or isinstance(item.parent(), QWidget)
    return bool(own) and not item.objectName().startswith(("qt_dockwidget", "Scroll"))


def path(item: QWidget | QAction) -> str:
    names = []
    owner: object = item
    while isinstance(owner, QWidget | QAction):
        names.append(owner.objectName() or type(owner).__name__)
        owner = owner.parent()
    return "/".join(reversed(names))


Filled = tuple[str, str, re.Pattern[str]]
"""A message, its longest literal part, and a pattern of its filled-in forms."""


@cache
def english() -> tuple[frozenset[str], tuple[Filled, ...]]:
    """The messages that Chinese says differently: those without a field, and those with."""
    with resources.path("i18n", "zh_CN", "LC_MESSAGES", "attnviz.po").open("rb") as file:
        catalog = read_po(file)
    literals, filled = set(), []
    for message in catalog:
        ids = message.id if isinstance(message.id, tuple | list) else (message.id,)
        strings = message.string if isinstance(message.string, tuple | list) else (message.string,)
        for text in filter(None, ids):
            literal = re.sub(r"\{\w*(:[^}]*)?\}", "", text)
            if text not in strings and len(re.findall(r"[A-Za-z]{2,}", literal)) > ("{" in text):
                parts = re.split(r"\{\w*(?::[^}]*)?\}", text.replace("&", ""))
                if len(parts) == 1:
                    literals.add(parts[0])
                else:
                    pattern = re.compile(".*?".join(map(re.escape, parts)), re.DOTALL)
                    filled.append((text, max(parts, key=len), pattern))
    return frozenset(literals), tuple(filled)


@cache
def messages_of(text: str) -> list[str]:
    """The English messages that `text` is. A search for the literal part costs less than the pattern."""
    literals, filled = english()
    found = [text] if text in literals else []
    return found + [message for message, part, form in filled if part in text and form.fullmatch(text)]


def plain(text: str) -> str:
    """Without accelerators, keys behind tabs, tags, and key names in parentheses."""
    text = re.sub(r"<[^>]*>", "", text).split("\t")[0].replace("&", "")
    return re.sub(r"(?: ?\(|（)[^()（）]*(?:\+|F\d)[^()（）]*[)）]$", "", text)


def leftovers(desk: Desk, *, only_in_sight: bool = False) -> list[str]:
    return [
        f"{place} {which}: {text!r} is English for {message!r}"
        for (place, which), text in texts(desk, only_in_sight=only_in_sight).items()
        if "preset_" not in place
        for message in messages_of(plain(text))
    ]


def differences(one: dict[Place, str], other: dict[Place, str]) -> list[str]:
    keys = sorted(one.keys() | other.keys())
    return [f"{key}: {one.get(key)!r}, {other.get(key)!r}" for key in keys if one.get(key) != other.get(key)]


def test_every_panel_stands_in_a_workspace() -> None:
    """So that what looks at all workspaces has seen all panels."""
    assert {id_ for row in WORKSPACES for id_ in row.panels} == set(PANEL_BY_ID)


def test_switched_to_chinese_no_english_is_left(make_desk: MakeDesk) -> None:
    desk = make_desk("cross-attention")
    desk.bring("inspector")
    desk.click(desk.map, desk.map.cell_center(1, 1))
    desk.window.commands["pin"].trigger()
    see_everything(desk)
    assert leftovers(desk) != []  # the search can find something
    desk.click(desk.find(QToolButton, "language_button"))
    desk.settle()
    QTest.qWait(50)
    assert current_language() == "zh_CN"
    assert leftovers(desk, only_in_sight=True) == []
    see_everything(desk)
    assert leftovers(desk) == []  # also behind the tabs and in other workspaces
    said = {text for (place, _which), text in texts(desk).items() if "claim_" not in place}
    assert [mark for text in said for mark in half_width_marks(text)] == []
    desk.click(desk.find(QToolButton, "language_button"))
    assert current_language() == "en"


def test_a_switched_window_says_what_one_that_began_in_chinese_says(
    make_desk: MakeDesk, settings: Settings
) -> None:
    switched = make_desk("fluffy-blue-creature")
    switched.settle_decoding()
    see_everything(switched)
    switched.press_key(Qt.Key.Key_L, Qt.KeyboardModifier.ControlModifier)
    assert settings["language"] == "zh_CN"
    began = make_desk("fluffy-blue-creature")
    began.settle_decoding()
    for desk in (switched, began):
        see_everything(desk)
    assert differences(texts(switched), texts(began)) == []


def test_a_document_keeps_its_own_name_in_every_language(make_desk: MakeDesk) -> None:
    desk = make_desk(replace(load_preset("toy-attention"), title="weights"))
    desk.click(desk.find(QToolButton, "language_button"))
    desk.settle()
    assert current_language() == "zh_CN"
    assert desk.find(QLabel, "document_name").text() == "weights"
    assert desk.window.windowTitle().startswith("weights")


def test_there_and_back_is_where_it_was(make_desk: MakeDesk) -> None:
    desk = make_desk("alibi-window")
    desk.settle_decoding()
    see_everything(desk)
    before = texts(desk)
    for _count in range(2):
        desk.press_key(Qt.Key.Key_L, Qt.KeyboardModifier.ControlModifier)
        desk.settle()
        see_everything(desk)
    assert differences(before, texts(desk)) == []


def test_qts_own_buttons_speak_the_language_too(desk: Desk) -> None:
    desk.press_key(Qt.Key.Key_L, Qt.KeyboardModifier.ControlModifier)
    assert QCoreApplication.translate("QPlatformTheme", "Cancel") == "取消"
    desk.press_key(Qt.Key.Key_L, Qt.KeyboardModifier.ControlModifier)
    assert QCoreApplication.translate("QPlatformTheme", "Cancel") == "Cancel"


def test_switching_neither_runs_nor_edits(make_desk: MakeDesk) -> None:
    desk = make_desk("causal-decode")  # nothing has been said about it that must be said in another language
    desk.settle_decoding()
    trace, document = desk.store.trace, desk.store.document
    desk.press_key(Qt.Key.Key_L, Qt.KeyboardModifier.ControlModifier)
    desk.press_key(Qt.Key.Key_D, Qt.KeyboardModifier.ControlModifier)
    QTest.qWait(30)
    assert desk.store.trace is trace and desk.store.document == document and not desk.store.can_undo


def test_only_another_language_sets_the_texts_again(
    make_desk: MakeDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_in: list[str] = []
    plain = Window.retranslate

    def retranslate(window: Window) -> None:
        set_in.append(current_language())
        plain(window)

    desk = make_desk("toy-attention")
    monkeypatch.setattr(Window, "retranslate", retranslate)
    desk.press_key(Qt.Key.Key_D, Qt.KeyboardModifier.ControlModifier)
    assert desk.window.settings["theme"] == "dark" and not set_in
    desk.press_key(Qt.Key.Key_L, Qt.KeyboardModifier.ControlModifier)
    assert set_in == ["zh_CN"]


def share(desk: Desk, color: str, widget: QWidget) -> float:
    image = picture(widget)
    return count_color(image, color) / (image.width() * image.height())


def test_light_to_dark_and_back(desk: Desk) -> None:
    before = picture(desk.window)
    check_colors(desk, LIGHT, DARK)
    desk.press_key(Qt.Key.Key_D, Qt.KeyboardModifier.ControlModifier)
    assert desk.window.settings["theme"] == "dark"
    assert desk.window.commands["dark"].isChecked()
    check_colors(desk, DARK, LIGHT)
    desk.press_key(Qt.Key.Key_D, Qt.KeyboardModifier.ControlModifier)
    check_colors(desk, LIGHT, DARK)
    QTest.qWait(350)  # the handles of the switches arrive
    assert desk.window.settings["theme"] == "light"
    assert picture(desk.window).size() == before.size()


def check_colors(desk: Desk, theme: Theme, other: Theme) -> None:
    """The ground and the panels have the theme's colours, everywhere."""
    assert share(desk, theme.panel, desk.window) > 0.3
    assert share(desk, other.ground, desk.window) < 0.02
    for panel in desk.window.panels.values():
        if panel.isVisible() and not panel.visibleRegion().isEmpty():
            name = panel.objectName()
            ground = share(desk, theme.panel, panel) + share(desk, theme.ground, panel)
            assert ground > 0.2, name
            # White of a diverging map's middle and of inks on cells is not the other theme's panel.
            assert share(desk, other.panel, panel) < 0.25, name


def test_the_layout_is_remembered_from_one_window_to_the_next(
    make_desk: MakeDesk, settings: Settings
) -> None:
    first = make_desk("toy-attention")
    left, right = Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea
    first.window.docks["heads"].close()
    first.window.addDockWidget(right, first.window.docks["tokens"])
    first.close()
    # The size itself is the screen's business: the offscreen one is smaller than the window.
    assert settings.geometry() != b""
    second = make_desk("toy-attention").window
    assert second.docks["heads"].isHidden() and second.docks["tokens"].isVisible()
    assert second.dockWidgetArea(second.docks["tokens"]) == right
    second.commands["reset_layout"].trigger()
    QApplication.processEvents()
    assert second.docks["heads"].isVisible()
    assert second.dockWidgetArea(second.docks["tokens"]) == left


def test_everything_fits_1280_by_800_at_first(desk: Desk) -> None:
    desk.window.resize(1280, 800)
    QApplication.processEvents()
    assert (desk.window.width(), desk.window.height()) == (1280, 800)
    for dock in desk.window.findChildren(QDockWidget):
        if not dock.visibleRegion().isEmpty():
            assert dock.width() >= 176 and dock.height() >= 68, dock.objectName()
    desk.bring("vectors")
    cell = desk.find(NumberGrid, "vectors_grid").cell_rect(0, 0)
    assert cell.width() >= 40
    assert desk.map.layout_shown.cell_h >= 16


def test_the_program_follows_the_stored_language(make_desk: MakeDesk, settings: Settings) -> None:
    settings["language"] = "zh_CN"
    desk = make_desk("toy-attention")
    assert desk.window.docks["tokens"].windowTitle() == "词元"
    desk.hover(desk.map, QPoint(1, 1))
    set_language("en")
