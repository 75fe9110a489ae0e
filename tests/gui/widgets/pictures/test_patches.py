"""The image of a document under the weights of a query: painted colours, clicks and keys."""

from __future__ import annotations

import io

import numpy as np
import pytest
from desk import picture
from experiments import small
from PIL import Image as Pixels
from pointer import move
from PySide6.QtCore import QPointF, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

import attnviz
from attnviz.core.color_maps import color_table
from attnviz.gui.look.theme import LIGHT
from attnviz.gui.widgets.pictures.patches import KEYS, QUERIES, VEIL, PatchesView
from attnviz.model.links import word_lines
from attnviz.model.spec.image import Image
from attnviz.model.spec.parts import Heads, SeededVectors
from attnviz.model.spec.view import Lines, View

GREY = 200
SITE = attnviz.run(
    small(
        tokens=("[CLS]", *(f"{row},{column}" for row in (1, 2) for column in (1, 2, 3))),
        vectors=SeededVectors(7, 8, 1),
        heads=Heads(2, 2, 4),
    )
).only


def grey_image() -> Image:
    file = io.BytesIO()
    Pixels.new("RGB", (30, 20), (GREY, GREY, GREY)).save(file, "PNG")
    return Image(file.getvalue(), rows=2, columns=3, begin=1)


@pytest.fixture
def view(qtbot: QtBot) -> PatchesView:
    widget = PatchesView()
    qtbot.addWidget(widget)
    widget.resize(500, 320)
    widget.apply_theme(LIGHT)
    widget.set_image(word_lines(SITE, View(), "weights"), grey_image(), "weights")
    widget.set_chosen(4)
    widget.show()
    qtbot.waitExposed(widget)
    return widget


def near_corner(view: PatchesView, side: int, token: int) -> QPointF:
    """A point of a patch outside its number and its frame."""
    place = view.token_rect(side, token)
    return place.topLeft() + QPointF(place.width() / 6, place.height() / 6)


def test_each_patch_has_the_colour_of_its_weight(view: PatchesView) -> None:
    shown, weights = picture(view), SITE["weights"][0, 4]
    table = color_table("sequential", False).astype(float)
    for token in range(1, 7):
        color = table[round(255 * float(weights[token] / weights.max()))]
        expected = (1 - VEIL) * GREY + VEIL * color
        painted = shown.pixelColor(near_corner(view, KEYS, token).toPoint()).getRgb()[:3]
        np.testing.assert_allclose(painted, expected, atol=3)
        plain = shown.pixelColor(near_corner(view, QUERIES, token).toPoint()).getRgb()[:3]
        np.testing.assert_allclose(plain, (GREY,) * 3, atol=1)


def test_several_heads_are_their_mean(view: PatchesView) -> None:
    all_heads = View(lines=Lines(heads="all"))
    view.set_image(word_lines(SITE, all_heads, "weights"), grey_image(), "weights")
    np.testing.assert_allclose(view.weights, SITE["weights"][:, 4].mean(axis=0), rtol=1e-6)


def test_clicks_select_queries_at_the_left_and_keys_at_the_right(view: PatchesView) -> None:
    queries: list[int] = []
    keys: list[tuple[int, int]] = []
    hovered: list[tuple[int, int]] = []
    view.query_clicked.connect(queries.append)
    view.key_clicked.connect(lambda query, key: keys.append((query, key)))
    view.key_hovered.connect(lambda query, key: hovered.append((query, key)))
    for token in range(7):
        for side in (QUERIES, KEYS):
            at = view.token_rect(side, token).center().toPoint()
            QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=at)
    assert queries == list(range(7))
    assert keys == [(4, token) for token in range(7)]
    move(view, view.token_rect(KEYS, 3).center().toPoint(), held=False)
    assert hovered[-1] == (4, 3)
    assert view.toolTip().startswith("<qt>1,3: ")


def test_arrows_walk_over_the_patches_and_to_the_word_above(view: PatchesView) -> None:
    chosen: list[int] = []
    view.query_clicked.connect(chosen.append)
    view.setFocus(Qt.FocusReason.TabFocusReason)
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Return, Qt.Key.Key_Up, Qt.Key.Key_Return):
        QTest.keyClick(view, key)
    QTest.keyClick(view, Qt.Key.Key_Up)
    QTest.keyClick(view, Qt.Key.Key_Return)
    assert chosen == [5, 2, 0]  # begins at the query, in the second row
    best = int(SITE["weights"][0, 4].argmax())
    said = view.accessibleDescription()
    assert said.index(SITE.labels("query")[4]) < said.index(SITE.labels("key")[best], said.index("→"))
