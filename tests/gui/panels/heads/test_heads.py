"""The heads as small multiples: all of them, coloured on one scale on request."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from desk import picture
from first_layer import change
from panels import PanelBench
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

import attnviz
from attnviz.gui.panels.heads.heads import HeadsPanel
from attnviz.gui.widgets.heat.thumbnail import Thumbnail
from attnviz.model.edit.edits import set_heads
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.parts import Heads
from attnviz.model.spec.view import Cell, Ranges


@pytest.fixture
def bench(qtbot: QtBot) -> PanelBench[HeadsPanel]:
    return PanelBench(qtbot, HeadsPanel, "grouped-query", 900, 110)


def shown(bench: PanelBench[HeadsPanel]) -> list[Thumbnail]:
    found = [t for t in bench.panel.findChildren(Thumbnail) if t.isVisible()]
    return sorted(found, key=lambda t: t.property("head"))


def test_captions_say_which_key_value_head_is_shared(bench: PanelBench[HeadsPanel]) -> None:
    bench.store.look(stage="weights")
    assert [t.caption for t in shown(bench)] == [
        f"head {head} · KV {1 + (head - 1) // 4}" for head in range(1, 9)
    ]
    shares = "Head 5 reads the keys and values of KV head 2, which serves 4 heads"
    assert shares in shown(bench)[4].accessibleDescription()
    bench.store.edit_attention(set_heads, n_kv_heads=8)
    assert "KV" not in shown(bench)[4].accessibleDescription()
    assert [t.caption for t in shown(bench)] == [f"head {head}" for head in range(1, 9)]
    bench.store.edit_attention(set_heads, n_heads=3)
    assert len(shown(bench)) == 3


def test_a_click_on_a_key_value_head_chooses_its_first_query_head(bench: PanelBench[HeadsPanel]) -> None:
    bench.store.look(stage="v", head=0)
    assert len(shown(bench)) == 2
    QTest.mouseClick(shown(bench)[1], Qt.MouseButton.LeftButton)
    assert bench.store.document.view.head == 4
    assert [t.isChecked() for t in shown(bench)] == [False, True]
    bench.store.look(stage="weights")
    assert [t.property("head") for t in shown(bench) if t.isChecked()] == [4]


def test_key_value_heads_are_counted_in_the_layer_that_is_looked_at(bench: PanelBench[HeadsPanel]) -> None:
    layer = Layer(heads=Heads(6, 3, 2))
    change(bench.store, layers=(*bench.store.experiment.layers, layer))
    bench.store.look(site="layers.1.self", stage="v", head=0)
    assert len(shown(bench)) == 3
    QTest.mouseClick(shown(bench)[2], Qt.MouseButton.LeftButton)
    assert bench.store.document.view.head == 4, "two query heads read each"


def test_a_stage_without_heads_is_shown_by_its_weights(bench: PanelBench[HeadsPanel]) -> None:
    bench.store.look(stage="weights")
    before = [picture(t) for t in shown(bench)]
    bench.store.look(stage="attention_output")
    assert [picture(t) for t in shown(bench)] == before


def test_on_one_scale_for_all_heads_equal_numbers_have_equal_colours(bench: PanelBench[HeadsPanel]) -> None:
    bench.store.look(stage="scores", ranges=Ranges.of_all("head"))
    each = [picture(t) for t in shown(bench)]
    bench.store.look(ranges=Ranges.of_all("global"))
    together = [picture(t) for t in shown(bench)]
    scores = attnviz.run(bench.store.experiment)["scores"]
    largest = int(np.abs(scores).max(axis=(1, 2)).argmax())
    # The head with the largest score spans the common scale, so it alone looks the same.
    assert [a == b for a, b in zip(each, together, strict=True)] == [h == largest for h in range(8)]


def test_only_the_head_of_a_hovered_cell_is_outlined_whole(bench: PanelBench[HeadsPanel]) -> None:
    bench.store.look(stage="weights", locked=None)
    before = [picture(t) for t in shown(bench)]
    bench.store.set_hover(Cell("mixed", 2, 0, 5))
    lit = [a != b for a, b in zip(before, [picture(t) for t in shown(bench)], strict=True)]
    assert lit[5]


def test_behind_a_tab_it_may_miss_that_heads_left_and_another_query_is_selected(
    bench: PanelBench[HeadsPanel],
) -> None:
    bench.store.look(stage="weights")
    bench.panel.set_seen(False)
    bench.store.edit_attention(set_heads, n_heads=2, n_kv_heads=1)
    bench.store.look(query=1)
    bench.panel.set_seen(True)
    assert len(shown(bench)) == 2


def test_a_tall_panel_has_its_pictures_in_rows_below_the_controls(bench: PanelBench[HeadsPanel]) -> None:
    bench.store.look(stage="weights")
    bench.panel.resize(280, 480)
    QTest.qWait(30)
    places = [t.geometry().translated(t.parentWidget().mapTo(bench.panel, QPoint())) for t in shown(bench)]
    assert len(places) == 8 and len({place.left() for place in places}) == 3
    assert [place.top() for place in places] == sorted(place.top() for place in places)
    assert min(place.top() for place in places) > bench.panel.side.geometry().bottom()
    assert all(bench.panel.rect().contains(place) for place in places)
    assert not any(one.intersects(other) for one, other in itertools.combinations(places, 2))
    bench.panel.resize(900, 110)
    QTest.qWait(30)
    assert len({t.geometry().top() for t in shown(bench)}) == 1
    assert bench.panel.side.geometry().right() < shown(bench)[0].mapTo(bench.panel, QPoint()).x()
