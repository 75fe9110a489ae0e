"""Heads in an order, and where the row in focus looks in each."""

from __future__ import annotations

import numpy as np
import pytest
from panels import PanelBench
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

import attnviz
from attnviz.gui.look.words import speak
from attnviz.gui.panels.heads.heads import HeadsPanel
from attnviz.gui.panels.heads.picture import Fit, HeadPicture
from attnviz.gui.widgets.combo import Combo
from attnviz.model.edit.edits import set_heads
from attnviz.model.spec.view import Cell
from attnviz.study.heads.orders import HEAD_ORDERS


@pytest.fixture
def bench(qtbot: QtBot) -> PanelBench[HeadsPanel]:
    made: PanelBench[HeadsPanel] = PanelBench(qtbot, HeadsPanel, "grouped-query", 1400, 84)
    made.store.look(stage="weights")
    qtbot.wait(10)
    return made


def shown(bench: PanelBench[HeadsPanel]) -> list[HeadPicture]:
    found = [picture for picture in bench.panel.findChildren(HeadPicture) if picture.isVisible()]
    return sorted(found, key=lambda picture: picture.mapTo(bench.panel, QPoint()).x())


def order(bench: PanelBench[HeadsPanel], qtbot: QtBot, id_: str) -> list[int]:
    combo = bench.find(Combo, "heads_order")
    combo.set_value(id_)
    combo.changed.emit(id_)
    qtbot.wait(10)
    return [picture.property("head") for picture in shown(bench)]


def test_every_order_can_be_chosen(bench: PanelBench[HeadsPanel]) -> None:
    combo = bench.find(Combo, "heads_order")
    assert [combo.itemData(i) for i in range(combo.count())] == [row.id for row in HEAD_ORDERS]


def test_the_sharpest_and_the_nearest_head_stand_first(qtbot: QtBot, bench: PanelBench[HeadsPanel]) -> None:
    weights = attnviz.run(bench.store.experiment)["weights"].astype(np.float64)
    logs = np.log2(np.where(weights > 0, weights, 1.0))
    entropy = -(weights * logs).sum(axis=2).mean(axis=1)
    i, j = np.indices(weights.shape[1:])
    distance = (weights * np.abs(i - j)).sum(axis=2).mean(axis=1)
    assert order(bench, qtbot, "number") == list(range(8))
    assert order(bench, qtbot, "entropy") == np.argsort(entropy, kind="stable").tolist()
    assert [p.note for p in shown(bench)] == [f"{bits:.2f} bit" for bits in np.sort(entropy)]
    assert order(bench, qtbot, "locality") == np.argsort(distance, kind="stable").tolist()
    assert [p.caption for p in shown(bench)][0].startswith(f"head {int(distance.argmin()) + 1} ")


@pytest.mark.parametrize("id_", ["entropy", "similarity"])
def test_the_gradient_of_more_heads_is_shown_by_number_until_the_next_one(
    qtbot: QtBot, bench: PanelBench[HeadsPanel], id_: str
) -> None:
    order(bench, qtbot, id_)
    target = "weights[7, 1, 0]"
    bench.store.look(target=target, quantity="gradient", head=7)
    bench.store.set_gradient(attnviz.backward(bench.store.experiment, target))
    bench.store.edit_attention(set_heads, n_heads=2)
    speak()
    qtbot.wait(10)
    assert [picture.property("head") for picture in shown(bench)] == list(range(8))


def test_the_selected_head_is_most_like_itself(qtbot: QtBot, bench: PanelBench[HeadsPanel]) -> None:
    weights = attnviz.run(bench.store.experiment)["weights"]
    for head in (5, 2):
        bench.store.look(head=head)
        likeness = np.minimum(weights, weights[head]).sum(axis=2).mean(axis=1)
        assert order(bench, qtbot, "similarity") == np.argsort(-likeness, kind="stable").tolist()
        assert shown(bench)[0].isChecked() and shown(bench)[0].note == "overlap 1.00"


def test_arrows_walk_in_the_shown_order(qtbot: QtBot, bench: PanelBench[HeadsPanel]) -> None:
    heads = order(bench, qtbot, "entropy")
    bench.store.look(head=heads[0])
    QTest.keyClick(shown(bench)[0], Qt.Key.Key_Right)
    assert bench.store.document.view.head == heads[1]


def test_key_value_heads_keep_the_order_of_their_numbers(qtbot: QtBot, bench: PanelBench[HeadsPanel]) -> None:
    order(bench, qtbot, "entropy")
    bench.store.look(stage="k")
    qtbot.wait(10)
    assert [picture.property("head") for picture in shown(bench)] == [0, 1]
    assert {(picture.look, picture.note) for picture in shown(bench)} == {("", "")}


def test_every_head_says_where_the_row_in_focus_looks(bench: PanelBench[HeadsPanel]) -> None:
    store = bench.store
    weights, tokens = attnviz.run(store.experiment)["weights"], store.experiment.tokens
    for row in (3, 5):
        store.set_hover(Cell("weights", row, 0, 1))
        for picture in shown(bench):
            head = picture.property("head")
            key = int(weights[head, row].argmax())
            assert picture.look == f"{tokens[row]} → {tokens[key]} {weights[head, row, key]:.3f}"
    store.set_hover(None)
    store.look(locked=Cell("weights", 2, 0))
    assert all(picture.look.startswith(f"{tokens[2]} → ") for picture in shown(bench))
    assert not any(" w " in picture.look for picture in shown(bench))
    store.look(stage="scores", locked=None)
    assert all(" w 0." in picture.look or " w 1." in picture.look for picture in shown(bench))


def test_the_sentence_is_painted_beside_or_below(qtbot: QtBot, bench: PanelBench[HeadsPanel]) -> None:
    picture = shown(bench)[0]
    for fit in (Fit(63, 110), Fit(63, 60), Fit(40, 0)):
        picture.set_fit(fit)
        picture.resize(picture.sizeHint())
        picture.set_look("", "", "")
        without = picture.grab().toImage()
        picture.set_look("she", "Lily", "0.949")
        image = picture.grab().toImage()
        area = picture.caption_rect().toRect().intersected(picture.rect())
        changed = [
            (x, y)
            for x in range(image.width())
            for y in range(image.height())
            if image.pixelColor(x, y) != without.pixelColor(x, y)
        ]
        assert len(changed) > 30
        assert all(area.contains(x, y) for x, y in changed)


@pytest.mark.parametrize(
    ("count", "width", "height", "fit"),
    [
        (4, 600, 84, Fit(63, 69)),
        (2, 600, 84, Fit(63, 120)),
        (8, 600, 84, Fit(48, 0)),
        (40, 600, 84, Fit(38, 0)),
        (1, 600, 40, Fit(34, 120)),
        (4, 470, 60, Fit(45, 54)),
        (8, 470, 65, Fit(33, 0, 1)),
        (8, 470, 58, Fit(26, 0, 1)),
    ],
)
def test_the_layout_of_the_strip(count: int, width: int, height: int, fit: Fit) -> None:
    assert Fit.of(count, width, height, 63, 34) == fit
