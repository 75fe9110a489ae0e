"""The first glance: what is painted and listed, what a click stores, how the sum moves, and the states."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from clock import HandClock
from desk import count_color, picture
from msgspec.structs import replace
from panels import PanelBench, recolor
from pointer import move
from PySide6.QtCore import QEvent, QPointF, QRectF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLayout, QWidget
from pytestqt.qtbot import QtBot

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.core.shades import head_color
from attnviz.core.text import number
from attnviz.explain.value_sum import plane_note
from attnviz.gui.look.theme import DARK, LIGHT, MOTION_PROPERTY
from attnviz.gui.look.words import retranslate
from attnviz.gui.panels.glance.glance import STRIP_PX, GlancePanel
from attnviz.gui.panels.glance.motion import FIRST_S, eased
from attnviz.gui.panels.glance.scrubber import STOPS, Scrubber
from attnviz.gui.panels.inspector.start import InspectorStart
from attnviz.gui.store import Store
from attnviz.gui.widgets.arcs import LEAST_LARGE, MOST_LARGE
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.pictures.value_sum import SumPlane
from attnviz.gui.widgets.toggle import Toggle
from attnviz.i18n import set_language
from attnviz.model.spec.document import Document
from attnviz.model.spec.parts import SeededVectors
from attnviz.model.spec.view import Cell
from attnviz.model.trace import SiteTrace
from attnviz.model.value_sum import value_sum

SHE, LILY, HEAD, SITE = 20, 4, 2, "layers.2.self"
"""Query, key, head and attention of the preset “Who is she?”."""
SIZE = 1264, 728


@pytest.fixture
def in_motion(qapp: QApplication) -> Iterator[None]:
    before = qapp.property(MOTION_PROPERTY)
    qapp.setProperty(MOTION_PROPERTY, True)
    yield
    qapp.setProperty(MOTION_PROPERTY, before)


@pytest.fixture
def at_rest(qapp: QApplication) -> Iterator[None]:
    before = qapp.property(MOTION_PROPERTY)
    qapp.setProperty(MOTION_PROPERTY, False)
    yield
    qapp.setProperty(MOTION_PROPERTY, before)


def bench_of(
    qtbot: QtBot, what: str | Document, size: tuple[int, int] = SIZE, clock: HandClock | None = None
) -> PanelBench[GlancePanel]:
    def make(store: Store) -> GlancePanel:
        return GlancePanel(store, clock=clock or HandClock())

    document = load_preset(what) if isinstance(what, str) else what
    return PanelBench(qtbot, make, document, *size)  # type: ignore[arg-type]


def her_numbers() -> tuple[SiteTrace, np.ndarray, np.ndarray]:
    """The attention of “Who is she?”, the row of weights, and the values, from a run of their own."""
    site = attnviz.run(load_preset("stories-name").experiment).site(SITE)
    group = site.experiment.heads.group_size
    return site, site["weights"][HEAD, SHE].astype(float), site["v"][HEAD // group].astype(float)


def click(widget: QWidget, at: QPointF) -> None:
    QTest.mouseClick(widget, Qt.MouseButton.LeftButton, pos=at.toPoint())


def row_of(bench: PanelBench[GlancePanel], name: str) -> int:
    return [text[0] for text in bench.panel.values.rows.texts()].index(name)


def test_the_list_has_the_numbers_of_the_run_and_the_result_is_their_sum(qtbot: QtBot) -> None:
    bench = bench_of(qtbot, "stories-name")
    site, weights, values = her_numbers()
    lengths = np.linalg.norm(values, axis=1)
    listed = np.argsort(-weights, kind="stable")[:4].tolist()
    texts = bench.panel.values.rows.texts()
    assert [text[1:] for text in texts[:4]] == [
        (number(weights[key]), number(lengths[key], 2)) for key in listed
    ]
    assert texts[0][0] == "Lily" and texts[4][0] == "she"
    others = np.delete(weights, [*listed, SHE])
    assert texts[-2][:2] == (f"{len(others)} others", number(others.sum()))
    result = np.linalg.norm(site["mixed"][HEAD, SHE].astype(float))
    assert texts[-1] == ("result", number(weights.sum()), number(result, 2))
    bars = [bench.panel.values.rows.bar_rect(place).width() for place in (0, len(texts) - 1)]
    assert bars[0] / bars[1] == pytest.approx(weights[LILY] * lengths[LILY] / result)


def test_the_arc_and_the_result_are_painted_and_the_share_of_the_plane_is_said(qtbot: QtBot) -> None:
    bench = bench_of(qtbot, "stories-name")
    arcs = bench.panel.sentence.arcs
    assert arcs.arcs is not None
    foot = arcs.arcs.keys.places[LILY].middle
    near = QRectF(foot - 6, arcs.arcs.tops[0] - 12, 12, 10)
    assert count_color(picture(arcs), head_color(HEAD), near) > 60
    plane = bench.panel.values.plane
    assert plane.drawing is not None and plane.sum is not None
    origin, end = plane.drawing.places.origin, plane.drawing.places.ends[-1]
    middle = QRectF((origin[0] + end[0]) / 2 - 4, plane.drawing.top + (origin[1] + end[1]) / 2 - 4, 8, 8)
    assert count_color(picture(plane), LIGHT.ink, middle) > 12
    _site, weights, values = her_numbers()
    first, second = values[LILY] / np.linalg.norm(values[LILY]), values[SHE]
    second = second - first * (first @ second)
    second /= np.linalg.norm(second)
    result = weights @ values
    share = ((result @ first) ** 2 + (result @ second) ** 2) / (result @ result)
    assert f"{100 * share:.4g} %" in plane.accessibleDescription()
    assert "99.98 %" in plane.accessibleDescription()


def test_every_frame_is_a_true_sum_of_true_values(qtbot: QtBot) -> None:
    bench = bench_of(qtbot, "stories-name")
    _site, weights, values = her_numbers()
    scrubber = bench.panel.way.scrubber
    assert [part for part, _rect in scrubber.frames()] == list(STOPS)
    for part, rect in scrubber.frames():
        click(scrubber, rect.center())
        mixed = part * weights
        mixed[SHE] += 1 - part
        assert scrubber.part == part
        length = number(float(np.linalg.norm(mixed @ values)), 2)
        assert bench.panel.values.rows.texts()[-1][2] == length
        assert length in scrubber.accessibleDescription()
        content = bench.panel.sentence.arcs.content
        assert content is not None
        shown = weights if content.weights is None else content.weights[0]
        np.testing.assert_allclose(shown, mixed, atol=1e-7)


def test_frames_that_are_kept_are_those_of_a_fresh_scrubber(qtbot: QtBot) -> None:
    site, *_numbers = her_numbers()
    sums = [value_sum(site, head, SHE) for head in (1, HEAD)]
    kept = Scrubber()
    qtbot.addWidget(kept)
    kept.resize(900, 130)
    kept.show()
    drawn = np.random.default_rng(2)
    sum_, part, theme = sums[0], 1.0, LIGHT
    for _time in range(30):
        if drawn.random() < 0.3:
            sum_ = sums[drawn.integers(2)]
        if drawn.random() < 0.3:
            kept.resize(int(drawn.choice([300, 600, 900])), 130)
        if drawn.random() < 0.3:
            theme = DARK if theme is LIGHT else LIGHT
            recolor(kept, theme)
        part = float(drawn.choice([0.0, 0.3, 0.5, 0.7, 1.0]))
        kept.set_sum(sum_, "she", part)
        fresh = Scrubber()
        qtbot.addWidget(fresh)
        recolor(fresh, theme)
        fresh.resize(kept.size())
        fresh.set_sum(sum_, "she", part)
        assert kept.grab().toImage() == fresh.grab().toImage(), (part, kept.width())


def test_a_drag_of_the_track_and_the_keys_move_the_sum(qtbot: QtBot) -> None:
    bench = bench_of(qtbot, "stories-name")
    scrubber, panel = bench.panel.way.scrubber, bench.panel
    track = scrubber.track()
    middle = QPointF(scrubber.x_of(0.25), track.top())
    QTest.mousePress(scrubber, Qt.MouseButton.LeftButton, pos=middle.toPoint())
    assert scrubber.part == pytest.approx(0.25, abs=0.01)
    move(scrubber, QPointF(scrubber.x_of(0.75), track.top()))
    assert scrubber.part == pytest.approx(0.75, abs=0.01)
    QTest.mouseRelease(scrubber, Qt.MouseButton.LeftButton, pos=middle.toPoint())
    for key, part in (
        (Qt.Key.Key_Left, 0.5),
        (Qt.Key.Key_Left, 0.0),
        (Qt.Key.Key_Left, 0.0),
        (Qt.Key.Key_Right, 0.5),
        (Qt.Key.Key_End, 1.0),
        (Qt.Key.Key_Home, 0.0),
    ):
        QTest.keyClick(scrubber, key)
        assert scrubber.part == part, key
    QTest.keyClick(scrubber, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert scrubber.part == pytest.approx(0.05)
    click(panel.sentence.heads, panel.sentence.heads.chip_rects()[0].center())
    assert scrubber.part == 1.0, "another head is shown at the end of its way"


def test_a_frame_under_the_mouse_is_shown_as_long_as_it_is_there(qtbot: QtBot) -> None:
    bench = bench_of(qtbot, "stories-name")
    scrubber, rows = bench.panel.way.scrubber, bench.panel.values.rows
    at_end = rows.texts()
    _part, before = scrubber.frames()[0]
    move(scrubber, before.center())
    assert rows.texts()[row_of(bench, "she")][1] == "1.000"
    move(scrubber, QPointF(scrubber.width() / 2, before.bottom() + 2))
    QApplication.sendEvent(scrubber, QEvent(QEvent.Type.Leave))
    assert rows.texts() == at_end


def test_space_plays_pauses_and_goes_on(qtbot: QtBot, in_motion: None) -> None:
    clock = HandClock()
    bench = bench_of(qtbot, "stories-name", clock=clock)
    panel, scrubber = bench.panel, bench.panel.way.scrubber
    QTest.keyClick(scrubber, Qt.Key.Key_Space)
    assert panel.motion.is_playing and scrubber.part == 0.0
    clock.advance(FIRST_S / 2)
    assert scrubber.part == pytest.approx(0.5, abs=0.01)
    QTest.keyClick(scrubber, Qt.Key.Key_Space)
    clock.advance(FIRST_S)
    assert not panel.motion.is_playing and scrubber.part == pytest.approx(0.5, abs=0.01)
    QTest.keyClick(scrubber, Qt.Key.Key_Space)
    clock.advance(FIRST_S)
    assert scrubber.part == 1.0 and not panel.motion.is_playing
    assert clock.moment is None, "nothing is called any more"


def test_the_way_starts_and_ends_slowly_and_is_even() -> None:
    shares = np.linspace(0.0, 1.0, 101)
    parts = [eased(share) for share in shares]
    assert parts[0] == 0.0 and parts[-1] == 1.0 and parts[50] == pytest.approx(0.5)
    assert (np.diff(parts) >= 0).all() and parts[10] < 0.1 * 0.5


def test_reduced_motion_leaves_three_pictures_and_the_scrubber(qtbot: QtBot, at_rest: None) -> None:
    clock = HandClock()
    bench = bench_of(qtbot, "stories-name", clock=clock)
    panel, scrubber = bench.panel, bench.panel.way.scrubber
    shown = [scrubber.part]
    for _time in range(3):
        QTest.keyClick(scrubber, Qt.Key.Key_Space)
        shown.append(scrubber.part)
    assert shown == [1.0, 0.0, 0.5, 1.0] and clock.moment is None and not panel.motion.is_playing
    assert not panel.way.button.isEnabled() and len(scrubber.frames()) == 3
    click(scrubber, scrubber.frames()[1][1].center())
    assert scrubber.part == 0.5


def test_it_plays_once_at_the_first_start_of_all(
    qtbot: QtBot, in_motion: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = HandClock()
    bench = bench_of(qtbot, "stories-name", clock=clock)
    panel = bench.panel
    assert not panel.motion.is_playing and panel.way.scrubber.part == 1.0, "a later start"
    starts = iter((True, False))
    monkeypatch.setattr(panel.services.settings, "is_first_run", lambda: next(starts))
    panel.on_trace(bench.store.trace)  # type: ignore[arg-type]
    assert panel.motion.is_playing and panel.way.scrubber.part == 0.0
    clock.advance(FIRST_S + 0.1)
    panel.on_trace(bench.store.trace)  # type: ignore[arg-type]
    assert not panel.motion.is_playing and panel.way.scrubber.part == 1.0


@pytest.mark.parametrize("way", ["arc", "row"])
def test_a_click_on_an_arc_or_a_bar_locks_its_weight_and_asks_for_its_arithmetic(
    qtbot: QtBot, way: str
) -> None:
    bench = bench_of(qtbot, "stories-name")
    arcs, rows = bench.panel.sentence.arcs, bench.panel.values.rows
    assert arcs.arcs is not None
    peak = arcs.arcs.peak(SHE, LILY)
    assert peak is not None
    with qtbot.waitSignal(bench.panel.opened):
        if way == "arc":
            click(arcs, QPointF(*peak))
        else:
            click(rows, rows.row_rect(row_of(bench, "Lily")).center())
    view = bench.store.document.view
    assert view.locked == Cell("weights", SHE, LILY, HEAD) and view.stage == "weights"


def test_a_click_on_the_result_opens_its_stage(qtbot: QtBot) -> None:
    bench = bench_of(qtbot, "stories-name")
    for widget, at in (
        (bench.panel.values.plane, QPointF(30, 60)),
        (bench.panel.values.rows, bench.panel.values.rows.row_rect(row_of(bench, "result")).center()),
    ):
        bench.store.look(locked=None, stage="weights")
        with qtbot.waitSignal(bench.panel.opened):
            click(widget, at)
        view = bench.store.document.view
        assert view.locked == Cell("mixed", SHE, 0, HEAD) and view.stage == "mixed"


def test_the_others_together_open_nothing(qtbot: QtBot) -> None:
    bench = bench_of(qtbot, "stories-name")
    rows = bench.panel.values.rows
    click(rows, rows.row_rect(len(rows.texts()) - 2).center())
    assert bench.store.document.view.locked is None


def test_a_word_that_is_clicked_asks_and_the_last_one_writes(qtbot: QtBot) -> None:
    bench = bench_of(qtbot, "stories-name")
    arcs, write = bench.panel.sentence.arcs, bench.find(Button, "glance_write")
    assert write.text() == "Write it" and not write.isEnabled(), "no token is on its way here"
    assert arcs.following_rect().isValid() and arcs.content is not None
    assert arcs.content.following == "Lily"
    assert arcs.arcs is not None
    word = arcs.arcs.keys.places[13]
    click(arcs, QPointF(word.middle, arcs.arcs.tops[0] + 10))
    assert bench.store.document.view.query == 13
    assert bench.find(QLabel, "glance_values_title").text() == "What “he” takes over"
    assert not arcs.following_rect().isValid()
    assert write.text() == "Ask the last word" and write.isEnabled()
    write.click()
    assert bench.store.document.view.query == SHE


def test_a_word_that_is_clicked_leaves_all_words_in_their_places(qtbot: QtBot) -> None:
    bench = bench_of(qtbot, "stories-name")
    arcs = bench.panel.sentence.arcs
    assert arcs.arcs is not None
    before = arcs.arcs.keys
    bench.store.look(query=13)
    assert arcs.arcs.keys == before


def test_a_first_token_with_most_of_the_weight_is_marked_though_it_is_left_out(qtbot: QtBot) -> None:
    document = load_preset("stories-name")
    weights = attnviz.run(document.experiment).site("layers.1.self")["weights"][0]
    query = int(weights[1:, 0].argmax()) + 1
    assert weights[query, 0] > 0.5
    view = replace(document.view, site="layers.1.self", head=0, query=query, locked=None)
    bench = bench_of(qtbot, replace(document, view=view))
    arcs = bench.panel.sentence.arcs
    frames = bench.panel.way.scrubber
    bench.panel._on_first(is_off=False)
    coloured = count_color(picture(frames), head_color(0))
    bench.panel._on_first(is_off=True)
    assert arcs.content is not None and arcs.content.is_first_off and arcs.strongest == 0
    assert arcs.arcs is not None
    peak = arcs.arcs.peak(query, 0)
    assert peak is not None
    shown = picture(arcs)
    near = QRectF(peak[0] - 40, peak[1] - 12, 80, 24).toAlignedRect()
    assert count_color(shown.copy(near), LIGHT.ink) > 10, "its number stands at its arc"
    assert count_color(picture(frames), head_color(0)) < coloured / 2, "nor has it a colour in the frames"


def test_while_the_sum_moves_the_next_token_is_said_to_be_that_of_the_end(qtbot: QtBot) -> None:
    bench = bench_of(qtbot, "stories-name")
    heading = bench.find(QLabel, "glance_next_heading")
    assert heading.text() == "so the model writes"
    bench.panel._on_scrubbed(0.5)
    assert heading.text() == "at t = 1 the model expects"


def test_the_next_tokens_are_those_of_the_run(qtbot: QtBot) -> None:
    bench = bench_of(qtbot, "stories-name")
    trace = attnviz.run(load_preset("stories-name").experiment)
    probabilities = trace.site(trace.sites[-1])["probabilities"][SHE]
    shown = bench.panel.values.next.bars.rows
    assert [row.probability for row in shown] == pytest.approx(sorted(probabilities)[::-1][:4])
    assert shown[0].label == "Lily"
    bars = [bench.panel.values.next.bars.bar_rect(place).width() for place in (0, 1)]
    assert bars[0] > 20 * bars[1]


def test_the_heads_the_layers_and_the_first_token(qtbot: QtBot) -> None:
    bench = bench_of(qtbot, "stories-name")
    heads, first = bench.panel.sentence.heads, bench.find(Toggle, "glance_first")
    assert len(heads.chip_rects()) == 4 and first.value()
    click(heads, heads.chip_rects()[0].center())
    assert bench.store.document.view.head == 0
    earlier, later = heads.arrow_rects()
    click(heads, later.center())
    assert bench.store.document.site == "layers.3.self"
    click(heads, later.center())
    assert bench.store.document.site == "layers.3.self", "the last layer"
    click(heads, earlier.center())
    assert bench.store.document.site == SITE
    before = first.value()
    first.click()
    view = bench.store.document.view
    assert view.first_token(SITE, 0) is (not before) and first.value() is not before


def test_the_control_of_the_caption_is_under_the_hand(qtbot: QtBot) -> None:
    bench = bench_of(qtbot, "stories-name")
    pill = bench.find(QWidget, "sentence_pill")
    assert pill.accessibleName() == "Type he in the place of she"
    QTest.mouseClick(pill, Qt.MouseButton.LeftButton)
    assert bench.store.experiment.tokens[-1] == " he"
    strongest = bench.panel.values.rows.texts()[0]
    weights = attnviz.run(bench.store.experiment).site(SITE)["weights"][HEAD, SHE]
    assert strongest[:2] == ("Tom", number(float(weights.max())))


def test_few_words_have_colours_and_their_numbers(qtbot: QtBot) -> None:
    bench = bench_of(qtbot, "toy-attention")
    trace = attnviz.run(load_preset("toy-attention").experiment).only
    texts = bench.panel.values.rows.texts()
    assert [text[0] for text in texts] == ["one", "two", "three", "four", "result"]
    for key, text in enumerate(texts[:4]):
        assert text[1] == number(float(trace["weights"][0, 0, key]))
        assert text[2] == "(" + ", ".join(number(float(value)) for value in trace["v"][0, key]) + ")"
    assert texts[-1][2] == "(" + ", ".join(number(float(value)) for value in trace["mixed"][0, 0]) + ")"
    rows = picture(bench.panel.values.rows)
    for key in range(4):
        assert count_color(rows, head_color(key)) > 20, key
    assert "two largest directions" in bench.panel.values.plane.accessibleDescription()


def test_without_a_vocabulary_the_entropy_of_the_row_stands_there(qtbot: QtBot) -> None:
    bench = bench_of(qtbot, "toy-attention")
    weights = attnviz.run(load_preset("toy-attention").experiment).only["weights"][0, 0]
    bits = float(-(weights * np.log2(weights)).sum())
    assert number(bits) in bench.find(QLabel, "glance_next_heading").text()
    assert not bench.find(Button, "glance_write").isVisible()
    assert not bench.panel.sentence.arcs.following_rect().isValid()


def test_a_head_that_is_off_says_so_and_its_result_is_zero(qtbot: QtBot) -> None:
    bench = bench_of(qtbot, "stories-name")
    heads = bench.store.attention.heads
    bench.store.edit_attention(lambda site: replace(site, heads=replace(heads, off=(HEAD,))))
    assert "switched off" in bench.panel.values.plane.accessibleDescription()
    assert bench.panel.values.rows.texts()[-1][2] == "0.00"


def test_two_sequences_begin_with_nothing(qtbot: QtBot) -> None:
    bench = bench_of(qtbot, "cross-attention")
    scrubber = bench.panel.way.scrubber
    click(scrubber, scrubber.frames()[0][1].center())
    assert bench.panel.values.rows.texts()[-1][2] in ("0.00", "(0.000, 0.000, 0.000)")


def test_a_text_of_one_token_takes_over_itself(qtbot: QtBot) -> None:
    document = load_preset("toy-attention")
    one = attnviz.Experiment(("one",), SeededVectors(1, 8, 5))
    bench = bench_of(qtbot, replace(document, experiment=one, view=replace(document.view, locked=None)))
    texts = bench.panel.values.rows.texts()
    assert texts[0][:2] == ("one", "1.000") and texts[-1][0] == "result"
    for part, rect in bench.panel.way.scrubber.frames():
        click(bench.panel.way.scrubber, rect.center())
        assert bench.panel.values.rows.texts()[0][1] == "1.000", part


def test_weights_alone_have_no_plane_and_no_list(qtbot: QtBot, tmp_path: Path) -> None:
    weights = np.tril(np.ones((1, 1, 3, 3)))
    weights /= weights.sum(-1, keepdims=True)
    np.savez(tmp_path / "weights.npz", attentions=weights, tokens=["a", "b", "c"])
    bench = bench_of(qtbot, attnviz.load(tmp_path / "weights.npz"))
    said = bench.find(QLabel, "glance_no_values")
    assert said.isVisible() and said.text() == "This document has weights only: no values to add"
    assert not bench.panel.values.rows.isVisible() and not bench.panel.way.isVisible()
    assert bench.panel.sentence.arcs.content is not None


@pytest.mark.parametrize(
    ("size", "px", "n_frames", "has_list"),
    [
        ((1264, 728), 24, 3, True),
        ((1008, 568), LEAST_LARGE, 3, False),
        ((960, 568), LEAST_LARGE, 1, False),
        ((2544, 1368), MOST_LARGE, 3, True),
    ],
)
def test_words_and_parts_follow_the_size(
    qtbot: QtBot, size: tuple[int, int], px: int, n_frames: int, has_list: bool
) -> None:
    bench = bench_of(qtbot, "stories-name", size)
    panel = bench.panel
    arcs = panel.sentence.arcs
    assert arcs.arcs is not None and arcs.arcs.is_whole
    assert arcs._word_px == pytest.approx(px, abs=1)
    assert len(panel.way.scrubber.frames()) == n_frames
    details = bench.find(Button, "glance_details")
    assert panel.values.rows.isVisible() == has_list and details.isVisible() == (not has_list)
    if not has_list:
        details.click()
        assert panel.values.rows.isVisible() and not panel.values.plane.isVisible()


def test_a_low_panel_is_one_line_with_the_button_that_unfolds_it(qtbot: QtBot) -> None:
    bench = bench_of(qtbot, "stories-name")
    layout = bench.panel.layout()
    assert layout is not None
    layout.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)  # as in a dock
    bench.panel.setMinimumSize(0, 0)
    bench.panel.resize(1264, STRIP_PX)
    _site, weights, _values = her_numbers()
    said = bench.find(QLabel, "glance_strip_said").text()
    assert f"she → Lily {number(weights[LILY])}" in said
    wanted: list[bool] = []
    bench.panel.fold_wanted.connect(wanted.append)
    bench.find(Button, "glance_open").click()
    assert wanted == [False]
    bench.panel.resize(*SIZE)
    assert bench.panel.values.plane.isVisible()
    bench.find(Button, "glance_fold").click()
    assert wanted == [False, True]


def test_the_key_in_focus_is_lit_in_the_list_and_the_plane(qtbot: QtBot) -> None:
    bench = bench_of(qtbot, "stories-name")
    rows = bench.panel.values.rows
    place = row_of(bench, "Lily")
    before = count_color(picture(rows), LIGHT.hover, rows.row_rect(place))
    bench.store.set_hover(Cell("weights", SHE, LILY, HEAD))
    assert count_color(picture(rows), LIGHT.hover, rows.row_rect(place)) > before + 1000
    bench.store.set_hover(None)
    move(rows, rows.row_rect(place).center())
    assert bench.store.pointer.cell == Cell("weights", SHE, LILY, HEAD)


def test_the_small_sum_speaks_another_language_with_the_same_numbers(qtbot: QtBot) -> None:
    store = bench_of(qtbot, "stories-name").store
    start = InspectorStart(store)
    qtbot.addWidget(start)
    start.set_text("x")
    plane = start.findChild(SumPlane)
    assert plane is not None and plane.sum is not None
    english = plane.accessibleDescription()
    assert english.endswith(plane_note(plane.sum))
    set_language("zh_CN")
    start.set_text("x")
    retranslate(start)
    assert plane.accessibleDescription().endswith(plane_note(plane.sum)) and "plane" in english
    assert plane.accessibleDescription() != english
