"""The text of a decoding: hidden until it is played, shaded, walked through, and alternatives."""

from __future__ import annotations

import numpy as np
import pytest
from decoding_room import DecodingRoom
from desk import count_color
from panels import PanelBench, recolor
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLabel
from pytestqt.qtbot import QtBot

from attnviz.checkpoints.presets import load_preset
from attnviz.compute.decoding import decode_and_compare
from attnviz.engines.program import never_cancelled
from attnviz.gui.look.theme import DARK, LIGHT, TEXTS, Theme
from attnviz.gui.panels.decoding.next.rows import NextRows
from attnviz.gui.panels.decoding.story.story import SHADINGS, Alternatives
from attnviz.gui.panels.decoding.story.text import LINE_PX, Chip, StoryText, shade_color
from attnviz.gui.player import Toggle
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.toggle import Toggle as Switch
from attnviz.model.edit.generation import writing_of
from attnviz.model.spec.generation import Forced


def story(
    qtbot: QtBot, texts: tuple[str, ...], *, are_joined: bool = False, n_given: int = 2, width: int = 400
) -> StoryText:
    made = StoryText()
    qtbot.addWidget(made)
    made.resize(width, 5 * LINE_PX)
    recolor(made, LIGHT)
    chips = [Chip(text, index < n_given) for index, text in enumerate(texts)]
    made.set_chips(chips, are_joined=are_joined, describe=lambda index: f"token {index}")
    made.show()
    qtbot.waitExposed(made)
    made.clearFocus()
    return made


def luminance(color: QColor) -> float:
    """Relative luminance, WCAG 2.2."""
    channels = np.array(color.getRgbF()[:3])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def contrast(one: QColor, other: QColor) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def blended(color: QColor, ground: QColor) -> QColor:
    share = color.alphaF()
    pairs = zip(color.getRgbF()[:3], ground.getRgbF()[:3], strict=True)
    return QColor.fromRgbF(*(share * a + (1 - share) * b for a, b in pairs))


# --- the widget ------------------------------------------------------------------------------------


def test_joined_prompt_tokens_touch_and_others_stand_apart(qtbot: QtBot) -> None:
    joined = story(qtbot, ("st", "or", "y"), are_joined=True, n_given=3)
    apart = story(qtbot, ("st", "or", "y"), n_given=3)
    assert joined.token_rect(1).left() == joined.token_rect(0).right() + 1
    word = apart.fontMetrics().horizontalAdvance("st")
    assert apart.token_rect(0).width() > word + 3


def test_the_future_is_hidden_until_it_is_played_or_shown(qtbot: QtBot) -> None:
    text = story(qtbot, ("mmm",) * 6)
    text.set_current(2)
    shown = text.grab().toImage()
    assert count_color(shown, LIGHT.ink, text.token_rect(0)) > 5  # the prompt
    assert count_color(shown, LIGHT.accent, text.token_rect(2), tolerance=30) > 20  # the present step
    for hidden in (3, 4, 5):
        assert count_color(shown, LIGHT.ink, text.token_rect(hidden)) == 0
        assert count_color(shown, LIGHT.muted, text.token_rect(hidden)) == 0
        assert not text.is_shown(hidden)
    text.set_shows_rest(True)
    shown = text.grab().toImage()
    assert count_color(shown, LIGHT.muted, text.token_rect(5)) > 5
    assert count_color(shown, LIGHT.value, text.token_rect(3)) > 20  # the next token is underlined
    text.set_shows_rest(False)
    text.set_current(4)  # the last step: the last token was sampled and is never computed
    assert all(text.is_shown(index) for index in range(6))


def test_the_frame_of_a_full_stop_leaves_it_visible(qtbot: QtBot) -> None:
    text = story(qtbot, ("Lily", "."), are_joined=True)
    text.set_current(0)
    stop = text.chip_rect(1).toAlignedRect()
    before = count_color(text.grab(stop).toImage(), LIGHT.ink, tolerance=90)
    text.set_current(1)
    assert count_color(text.grab(stop).toImage(), LIGHT.ink, tolerance=90) == before > 0
    frame = text.frame_rect(1)
    assert frame.left() <= text.chip_rect(1).left() - 1 and frame.right() >= text.chip_rect(1).right() + 1


def test_a_hidden_token_is_neither_clicked_nor_named(qtbot: QtBot) -> None:
    text, chosen, hovered = story(qtbot, ("a", "b", "c", "d", "e")), [], []
    text.chosen.connect(chosen.append)
    text.hovered.connect(hovered.append)
    text.set_current(2)
    for index in (4, 2, 0):
        QTest.mouseMove(text, text.token_rect(index).center())
        QTest.mouseClick(text, Qt.MouseButton.LeftButton, pos=text.token_rect(index).center())
    assert chosen == [2, 0] and 4 not in hovered
    for key in (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Home, Qt.Key.Key_End):
        QTest.keyClick(text, key)
    assert chosen == [2, 0, 1, 3, 0, 4]


def test_it_is_as_high_as_its_lines(qtbot: QtBot) -> None:
    text = story(qtbot, tuple(f"word{i}" for i in range(60)), width=200)
    assert text.minimumHeight() == text.n_lines * LINE_PX > 10 * LINE_PX
    assert all(text.token_rect(i).right() <= 200 for i in range(60))
    before = text.n_lines
    text.resize(800, 100)
    assert text.n_lines < before


def test_a_deeper_shade_is_a_larger_number(qtbot: QtBot) -> None:
    text = story(qtbot, ("i", "i", "i", "i", "i"), n_given=1)
    text.set_current(4)
    text.set_shades(lambda index: {1: 0.0, 2: 0.5, 3: 1.0}.get(index), "accent")
    shown = text.grab().toImage()
    grounds = [
        shown.pixelColor(int(text.chip_rect(i).right()) - 2, int(text.chip_rect(i).center().y()))
        for i in (1, 2, 3)
    ]
    assert luminance(grounds[0]) > luminance(grounds[1]) > luminance(grounds[2])


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
@pytest.mark.parametrize("row", SHADINGS, ids=lambda row: row.id)
def test_text_on_every_shade_has_contrast(theme: Theme, row: object) -> None:
    panel = QColor(theme.panel)
    for value in np.linspace(0, 1, 11):
        ground = blended(shade_color(theme, row.hue, float(value)), panel)  # type: ignore[attr-defined]
        assert contrast(QColor(theme.ink), ground) >= 4.5, value
    assert "muted" in TEXTS and contrast(QColor(theme.muted), panel) >= 4.5  # the text behind the step


# --- in its panel ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def told() -> object:
    document = load_preset("stories-en")
    return document, decode_and_compare(document.experiment, "numpy", "cpu", never_cancelled, 0)


@pytest.fixture
def bench(qtbot: QtBot, told: tuple) -> PanelBench[DecodingRoom]:
    document, decoded = told
    made = PanelBench(qtbot, DecodingRoom, document, 1300, 900)
    made.store.set_decoded(decoded)
    return made


def test_play_begins_where_generation_begins(bench: PanelBench[DecodingRoom]) -> None:
    n = bench.store.experiment.n_queries
    bench.store.look(step=2)
    bench.store.play(Toggle())
    assert bench.store.document.view.step == n - 1 and bench.panel.is_playing
    bench.store.play(Toggle())
    bench.panel.go_to_end()
    bench.store.play(Toggle())
    assert bench.store.document.view.step == n - 1


def test_a_chip_says_what_else_it_could_have_been(bench: PanelBench[DecodingRoom]) -> None:
    decoded = bench.store.player.decoded
    assert decoded is not None
    steps, n = decoded.decoding.steps, bench.store.experiment.n_queries
    bench.panel.go_to(40)
    text, frame = bench.find(StoryText, "decode_text"), bench.find(Alternatives, "decode_alternatives")
    for index in (n, 30):
        text.hovered.emit(index)
        found = steps[index - 1].probabilities
        best = np.argsort(-found, kind="stable")[: len(frame.rows)]
        chosen = [row for row in frame.rows if row.is_chosen]
        assert len(chosen) == 1 and frame.isVisible()
        assert chosen[0].probability == pytest.approx(
            found[decoded.decoding.vocabulary.index(steps[index].token)]
        )
        assert frame.rows[0].probability == pytest.approx(found[best[0]])
        assert f"p {chosen[0].probability:.4f}"[:6] in text._describe(index)
    text.hovered.emit(-1)
    assert not frame.isVisible()


def test_tokens_are_shaded_by_the_weights_of_the_chosen_head(bench: PanelBench[DecodingRoom]) -> None:
    bench.panel.go_to(40)
    decoded = bench.store.player.decoded
    assert decoded is not None
    text = bench.find(StoryText, "decode_text")
    n = bench.store.experiment.n_queries
    step = decoded.decoding.steps[29]
    expected = step.probabilities[decoded.decoding.vocabulary.index(decoded.decoding.steps[30].token)]
    assert text._shade(30) == pytest.approx(float(expected)) and text._shade(n - 1) is None
    QTest.mouseClick(bench.find(QAbstractButton, "segment_weight"), Qt.MouseButton.LeftButton)
    for head in (0, 2):
        bench.store.look(head=head, site="layers.2.self")
        row = decoded.decoding.steps[40].site("layers.2.self").weights[head]
        assert [text._shade(i) for i in range(41)] == pytest.approx(row.tolist())
        assert text._shade(41) is None


def test_using_another_token_branches_the_text_and_marks_it(bench: PanelBench[DecodingRoom]) -> None:
    n, before = bench.store.experiment.n_queries, bench.store.experiment
    bench.panel.go_to(n + 3)
    rows = bench.find(NextRows, "decode_next")
    decoded = bench.store.player.decoded
    assert decoded is not None
    found = decoded.decoding.steps[n + 3].probabilities
    second = int(np.argsort(-found, kind="stable")[1])
    wanted = decoded.decoding.vocabulary[second]
    QTest.mouseClick(rows, Qt.MouseButton.LeftButton, pos=rows.label_rect(1).center().toPoint())
    assert writing_of(bench.store.experiment).forced == (Forced(4, wanted),)
    assert bench.store.document.view.step == n + 4
    again = decode_and_compare(bench.store.experiment, "numpy", "cpu", never_cancelled, 0, decoded.decoding)
    bench.store.set_decoded(again)
    text = bench.find(StoryText, "decode_text")
    assert again.decoding.reused == n + 4 and again.decoding.steps[n + 4].token == wanted
    assert [i for i, chip in enumerate(text._chips) if chip.is_forced] == [n + 4]
    assert again.is_equal
    bench.panel.go_to(n + 3)
    assert bench.find(QLabel, "decode_others").text().startswith("forced: “")
    shown = text.grab().toImage()
    assert count_color(shown, LIGHT.key_mark, text.token_rect(n + 4)) == 0  # hidden at this step
    bench.panel.go_to(n + 6)
    shown = text.grab().toImage()
    assert count_color(shown, LIGHT.key_mark, text.token_rect(n + 4)) > 10
    assert count_color(shown, LIGHT.key_mark, text.token_rect(n + 3)) == 0
    bench.panel.go_to(n + 3)
    forced = next(place for place, row in enumerate(rows.rows) if row.is_forced)
    QTest.mouseClick(rows, Qt.MouseButton.LeftButton, pos=rows.button_rect(forced).center().toPoint())
    assert writing_of(bench.store.experiment).forced == ()
    bench.store.undo()
    assert writing_of(bench.store.experiment).forced == (Forced(4, wanted),)
    bench.store.undo()
    assert bench.store.experiment == before


def test_the_list_and_its_rest_sum_to_one(bench: PanelBench[DecodingRoom]) -> None:
    bench.panel.go_to(30)
    rows = bench.find(NextRows, "decode_next")
    decoded = bench.store.player.decoded
    assert decoded is not None
    n_all = len(decoded.decoding.vocabulary)
    said = bench.find(QLabel, "decode_others").text()
    shown = sum(row.probability for row in rows.rows)
    assert f"{n_all - len(rows.rows):,} others sum to " in said
    rest = float(said.rsplit(" ", 1)[1].replace("\N{MINUS SIGN}", "-"))
    assert shown + rest == pytest.approx(1, abs=1e-4)
    assert [row.is_chosen for row in rows.rows].count(True) == 1


def test_greedy_and_back_keep_the_temperature(bench: PanelBench[DecodingRoom]) -> None:
    choice = bench.find(Segmented, "decode_choice")
    before = writing_of(bench.store.experiment).sampling.operations
    assert choice.value() == "sample"
    QTest.mouseClick(bench.find(QAbstractButton, "segment_greedy"), Qt.MouseButton.LeftButton)
    greedy = writing_of(bench.store.experiment).sampling.operations
    assert greedy != before and [type(one) for one in greedy] == [type(one) for one in before]
    QTest.mouseClick(bench.find(QAbstractButton, "segment_sample"), Qt.MouseButton.LeftButton)
    assert writing_of(bench.store.experiment).sampling.operations == before


def test_the_switches_are_the_players(bench: PanelBench[DecodingRoom]) -> None:
    follow, rest = bench.find(Switch, "decode_follow"), bench.find(Switch, "decode_rest")
    assert follow.value() == bench.store.player.follows
    bench.store.set_following(not follow.value())
    assert follow.value() == bench.store.player.follows
    follow.click()
    assert follow.value() == bench.store.player.follows
    text = bench.find(StoryText, "decode_text")
    bench.panel.go_to(20)
    assert not text.is_shown(40)
    rest.click()
    assert text.is_shown(40)
