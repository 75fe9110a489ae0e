"""The window fits small screens: 1366 × 768 with the desktop's bars, and 1024 wide; numbers stay whole."""

from __future__ import annotations

import pytest
from desk import MakeDesk
from msgspec.structs import replace
from PySide6.QtWidgets import QApplication, QLabel, QTabBar

from attnviz.gui.panels.decoding.cache import CachePanel
from attnviz.gui.panels.heads.heads import SMALLEST_SIDE
from attnviz.gui.settings import Settings
from attnviz.gui.widgets.heat.thumbnail import Thumbnail
from attnviz.gui.widgets.panel_dock import NarrowScroll
from attnviz.model.io.presets import load_preset


@pytest.mark.parametrize("language", ["en", "zh_CN"])
@pytest.mark.parametrize("preset", ["fluffy-blue-creature", "encoder-decoder", "multi-head-latent"])
def test_the_window_can_be_made_small(
    make_desk: MakeDesk, settings: Settings, preset: str, language: str
) -> None:
    settings["language"] = language
    desk = make_desk(preset)
    desk.window.resize(400, 300)
    QApplication.processEvents()
    assert desk.window.width() <= 1024 and desk.window.height() <= 680


def test_in_a_small_window_numbers_and_captions_are_whole(make_desk: MakeDesk) -> None:
    desk = make_desk("fluffy-blue-creature")
    desk.window.resize(1024, 680)
    QApplication.processEvents()
    grid = desk.vectors
    assert grid.viewport().rect().contains(grid.cell_rect(0, 0)), "a row of vectors"
    head = desk.find(Thumbnail, "head_0")
    strip = head.parentWidget()
    assert strip is not None and strip.height() >= head.sizeHint().height() >= SMALLEST_SIDE
    assert strip.visibleRegion().boundingRect().contains(head.geometry()), "a head with its caption"
    facts = desk.find(QLabel, "plane_facts")
    assert facts.height() >= facts.heightForWidth(facts.width())
    cell = desk.map.layout_shown.cell_rect(0, 0)
    assert cell.height() >= 4 and desk.map.rect().contains(cell.toAlignedRect())
    before = head.sizeHint().height()
    desk.window.resize(1280, 1000)
    QApplication.processEvents()
    assert head.sizeHint().height() > before


@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_every_menu_and_every_tab_is_whole_at_each_width(
    make_desk: MakeDesk, settings: Settings, language: str
) -> None:
    settings["language"] = language
    desk = make_desk("toy-attention")
    bar, tabs = desk.window.top_bar, desk.find(QTabBar, "workspace_tabs")
    widths = []
    for width, height in ((1024, 640), (1280, 800), (1024, 640), (1600, 900)):
        desk.window.resize(width, height)
        desk.qtbot.wait(50)
        last = bar.menus.actions()[-1]
        assert bar.menus.actionGeometry(last).right() <= bar.menus.width()
        assert tabs.tabRect(0).left() >= 0
        assert tabs.tabRect(tabs.count() - 1).right() <= tabs.width()
        assert tabs.mapTo(bar, tabs.rect().topRight()).x() < bar.width()
        widths.append(tabs.width())
    assert widths[0] == widths[2] < widths[1] == widths[3]  # a wide bar gives the tabs their room again


@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_the_cache_and_the_names_of_the_map_fit_in_generate(
    make_desk: MakeDesk, settings: Settings, language: str
) -> None:
    settings["language"] = language
    desk = make_desk(replace(load_preset("causal-decode"), title="A document with a rather long name"))
    desk.go("generate")
    desk.window.workspaces.show_panel("cache")  # made at first use
    scroll = next(
        one for one in desk.window.findChildren(NarrowScroll) if isinstance(one.widget(), CachePanel)
    )
    for width, height in ((1280, 800), (1024, 640)):
        desk.window.resize(width, height)
        desk.settle()
        desk.window.workspaces.show_panel("cache")
        desk.qtbot.waitUntil(lambda: scroll.isVisible() and scroll.horizontalScrollBar().maximum() == 0)
    desk.window.resize(1280, 800)
    for id_ in ("document_name", "stage_title"):
        label = desk.find(QLabel, id_)
        desk.qtbot.waitUntil(
            lambda label=label: label.isVisible() and label.width() >= label.sizeHint().width()
        )
