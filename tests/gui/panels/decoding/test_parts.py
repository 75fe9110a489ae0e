"""The parts of the decoding alone: the bars of a distribution, the slots and the errors of a cache."""

from __future__ import annotations

import numpy as np
import pytest
from decoding_room import DecodingRoom
from desk import count_color
from panels import PanelBench, recolor
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

import attnviz
import attnviz.checkpoints.presets
from attnviz.compute.decoding import decode_and_compare
from attnviz.core.text import number, visible
from attnviz.engines.program import never_cancelled
from attnviz.gui.look.theme import LIGHT
from attnviz.gui.panels.decoding.bars import DistributionBars, DistributionColumn, DistributionRow
from attnviz.gui.panels.decoding.caches.strip import WeightStrip
from attnviz.gui.panels.decoding.names import Names
from attnviz.gui.panels.decoding.slots import SlotMap, slot_groups
from attnviz.gui.widgets.pictures.row_matrix import RowMatrix
from attnviz.model.caches import FullCache, PagedCache, QuantisedCache, RingCache, SinkCache
from attnviz.model.edit.edits import rename_token, set_vector_cell
from attnviz.model.edit.generation import FRESH, set_cache, set_writing
from attnviz.model.io.presets import load_preset

# --- the bars --------------------------------------------------------------------------------------


COLUMNS = (
    DistributionColumn("model", "model", ""),
    DistributionColumn("top-k", "k", "The k most probable", can_move=True),
)


@pytest.fixture
def bars(qtbot: QtBot) -> DistributionBars:
    made = DistributionBars()
    qtbot.addWidget(made)
    recolor(made, LIGHT)
    rows = [DistributionRow("a", "“a” · id 0"), DistributionRow("b", "“b” · id 1", is_drawn=True)]
    values = np.array([[0.4, 0.0], [0.1, 1.0]])
    made.set_distributions(rows, COLUMNS, values, np.array([[False, True], [False, False]]))
    made.resize(400, made.sizeHint().height())
    made.show()
    qtbot.waitExposed(made)
    return made


def test_bars_have_one_scale_and_removed_tokens_have_none(bars: DistributionBars) -> None:
    assert bars.full == 1.0
    full = bars.bar_rect(1, 1).width()
    assert bars.bar_rect(0, 0).width() == pytest.approx(0.4 * full)
    assert bars.bar_rect(0, 1).width() == 0
    shown = bars.grab().toImage()
    assert count_color(shown, LIGHT.value, bars.bar_rect(1, 1)) > 500
    assert count_color(shown, LIGHT.value) == count_color(shown, LIGHT.value, bars.bar_rect(1, 1))


def test_the_drawn_token_is_marked(bars: DistributionBars) -> None:
    bars.clearFocus()
    shown = bars.grab().toImage()
    mark = bars._row_rect(1).adjusted(0, 0, 10 - bars.width(), 0)
    assert count_color(shown, LIGHT.accent, mark, tolerance=20) > 15
    assert count_color(shown, LIGHT.accent, mark.translated(0, -18), tolerance=20) == 0


def test_the_scale_is_that_of_the_largest_probability_in_steps(bars: DistributionBars) -> None:
    rows = [DistributionRow("a", "")]
    for value, full in ((0.004, 0.01), (0.03, 0.05), (0.21, 0.5), (0.51, 1.0)):
        bars.set_distributions(rows, COLUMNS[:1], np.array([[value]]), np.array([[False]]))
        assert bars.full == full


def test_a_row_is_said_with_all_its_probabilities(bars: DistributionBars) -> None:
    bars.setFocus()
    QTest.keyClick(bars, Qt.Key.Key_Down)
    assert bars.accessibleDescription() == "“a” · id 0 · model: 0.400000 · top-k: removed"


# --- the places ------------------------------------------------------------------------------------


def states(cache: object, length: int, n_new: int = 1) -> list[tuple[str, list[tuple[int, str]]]]:
    groups = slot_groups(cache, range(length - n_new, length))  # type: ignore[arg-type]
    return [(group.title, [(slot.position, slot.state) for slot in group.slots]) for group in groups]


def test_of_very_many_empty_places_some_are_drawn_and_the_others_counted() -> None:
    (block,) = slot_groups(PagedCache(100_000), range(29, 30))
    assert (len(block.slots), block.title) == (30 + 64, "block 1 · 99,906 more empty")
    sinks, ring = slot_groups(SinkCache(90_000, 80_000), range(29, 30))
    assert (len(sinks.slots), sinks.title) == (30 + 64, "sinks · 89,906 more empty")
    assert (len(ring.slots), ring.title) == (30 + 64, "ring · 79,906 more empty")
    assert [slot.state for slot in sinks.slots[28:31]] == ["kept", "new", "empty"]


def test_every_position_has_a_place_in_a_full_cache() -> None:
    for cache in (FullCache(), QuantisedCache(4)):
        assert states(cache, 3) == [("positions", [(0, "kept"), (1, "kept"), (2, "new")])]


def test_what_one_pass_puts_in_is_new_together() -> None:
    assert states(FullCache(), 3, 3) == [("positions", [(0, "new"), (1, "new"), (2, "new")])]
    ring, gone = states(RingCache(3), 5, 2)
    assert ring == ("ring", [(3, "new"), (4, "new"), (2, "kept")]) and len(gone[1]) == 2


def test_a_ring_turns_and_gives_up_the_oldest() -> None:
    assert states(RingCache(3), 2) == [("ring", [(0, "kept"), (1, "new"), (-1, "empty")])]
    ring, gone = states(RingCache(3), 5)
    assert ring == ("ring", [(3, "kept"), (4, "new"), (2, "kept")])
    assert gone == ("evicted", [(0, "evicted"), (1, "evicted")])


def test_sinks_stay_where_they_are() -> None:
    sinks, ring, gone = states(SinkCache(2, 3), 8)
    assert sinks == ("sinks", [(0, "kept"), (1, "kept")])
    assert ring == ("ring", [(5, "kept"), (6, "kept"), (7, "new")])
    assert gone == ("evicted", [(2, "evicted"), (3, "evicted"), (4, "evicted")])


def test_the_last_block_of_pages_is_partly_empty() -> None:
    first, second = states(PagedCache(4), 6)
    assert first[1] == [(0, "kept"), (1, "kept"), (2, "kept"), (3, "kept")]
    assert second == ("block 2", [(4, "kept"), (5, "new"), (-1, "empty"), (-1, "empty")])


@pytest.mark.parametrize("length", [3, 40, 400])
def test_all_places_fit(qtbot: QtBot, length: int) -> None:
    places = SlotMap()
    qtbot.addWidget(places)
    places.resize(260, 100)
    places.set_groups(slot_groups(RingCache(16), range(length - 1, length)), lambda slot: str(slot.position))
    rects = [rect for group in places.slot_rects() for rect in group]
    assert len(rects) == 16 + max(length - 16, 0)
    assert all(rect.bottom() <= 101 and rect.right() <= 261 for rect in rects)


# --- the errors of a cache ---------------------------------------------------------------------------


def texts(bench: PanelBench[DecodingRoom], row: str) -> list[str]:
    names = ("name", "greatest", "rms", "bound")
    labels = [bench.find(QLabel, f"error_{row}_{name}") for name in names]
    assert all(label.isVisible() == bool(label.text()) for label in labels)
    return [label.text() for label in labels]


def test_the_cache_page_says_what_the_cache_is_off_by_at_the_step_that_is_shown(qtbot: QtBot) -> None:
    bench = PanelBench(qtbot, DecodingRoom, "causal-decode", 1300, 900)
    bench.store.edit(set_cache, QuantisedCache(4))
    decoded = decode_and_compare(bench.store.experiment, "numpy", "cpu", never_cancelled, 0)
    bench.store.set_decoded(decoded)
    trace, steps = attnviz.run(decoded.decoding.experiment), decoded.decoding.steps
    shown = []
    for step in (0, 4, 9):
        bench.panel.go_to(step)
        for row, name, stage in (("first", "K as stored", "k_rotated"), ("second", "V as stored", "v")):
            made = trace[stage][:, : step + 1]  # one attention: what goes in is what the full pass makes
            width = np.abs(made).max(axis=-1, keepdims=True) / 7
            apart = np.abs(np.rint(made / width) * width - made)
            head, position, _feature = np.unravel_index(apart.argmax(), apart.shape)
            half, rms = width[head, position, 0] / 2, np.sqrt((apart**2).mean())
            assert texts(bench, row) == [name, *(f"{one:.4f}" for one in (apart.max(), rms, half))]
            assert (
                f"position {position}, “{steps[position].token}”"
                in bench.find(QLabel, f"error_{row}_greatest").toolTip()
            )
        output = np.abs(steps[step].attention_output - trace["attention_output"][step])
        expected = [output.max(), np.sqrt((output**2).mean())]
        assert texts(bench, "output") == ["output", *(number(one, 4) for one in expected), ""]
        following = np.abs(steps[step].probabilities - trace["probabilities"][step])
        assert texts(bench, "next")[1] == number(following.max(), 4)
        shown.append(texts(bench, "output"))
    assert shown[0] != shown[1] != shown[2]
    assert not bench.find(QLabel, "error_given_up").isVisible()


def test_a_ring_says_what_it_has_no_more_and_how_much_of_the_attention_that_was(qtbot: QtBot) -> None:
    bench = PanelBench(qtbot, DecodingRoom, "causal-decode", 1300, 900)
    bench.store.edit(set_cache, RingCache(4))
    decoded = decode_and_compare(bench.store.experiment, "numpy", "cpu", never_cancelled, 0)
    bench.store.set_decoded(decoded)
    weights = attnviz.run(decoded.decoding.experiment)["weights"]
    for head in (0, 1):
        bench.store.look(head=head, step=9)
        share = number(float(weights[head, 9, :6].sum()), 4)
        said = bench.find(QLabel, "error_given_up").text()
        assert said == f"6 of 10 positions evicted; they held {share} of head {head + 1}'s attention"
        assert texts(bench, "first") == [""] * 4 and texts(bench, "output")[0] == "output"
    bench.panel.go_to(3)
    assert (
        bench.find(QLabel, "error_given_up").text().startswith("0 of 4 positions evicted; they held 0.0000")
    )


def test_the_weights_of_a_ring_have_the_names_of_the_positions_that_are_left(qtbot: QtBot) -> None:
    bench = PanelBench(qtbot, DecodingRoom, "causal-decode", 1300, 900)
    bench.store.edit(set_cache, RingCache(3))
    bench.store.set_decoded(decode_and_compare(bench.store.experiment, "numpy", "cpu", never_cancelled, 0))
    bench.store.look(step=9)
    bars, said = bench.find(WeightStrip, "decode_weights"), []
    for _row in range(3):
        QTest.keyClick(bars, Qt.Key.Key_Right)
        said.append(bars.accessibleDescription())
    for token, line in zip(bench.store.experiment.tokens[7:10], said, strict=True):
        assert visible(token) in line


def test_the_largest_new_weights_are_named_whole_or_not_at_all(qtbot: QtBot) -> None:
    strip = WeightStrip()
    qtbot.addWidget(strip)
    strip.set_rows("new row", ["first", "second", "third"], [0.5, 0.25, 0.125])
    metrics = strip.fontMetrics()
    all_of_them = "   ".join(strip.named())
    width = metrics.horizontalAdvance(all_of_them)
    assert strip.named_within(width, metrics) == all_of_them
    assert strip.named_within(width - 1, metrics) == "   ".join(strip.named()[:2])
    assert strip.named_within(10, metrics) == strip.named()[0]


# --- the caches -------------------------------------------------------------------------------------


def test_rows_that_are_gone_are_hatched_at_the_step_that_is_shown(qtbot: QtBot) -> None:
    bench = PanelBench(qtbot, DecodingRoom, "causal-decode", 1300, 900)
    bench.store.edit(set_cache, RingCache(4))
    decoded = decode_and_compare(bench.store.experiment, "numpy", "cpu", never_cancelled, 0)
    bench.store.set_decoded(decoded)
    keys, n = bench.find(RowMatrix, "k_cache"), bench.store.experiment.n_queries
    whole = attnviz.run(decoded.decoding.experiment)["k_rotated"][0]
    for step in (n, n + 3):
        bench.panel.go_to(step)
        assert keys._gone == [(0, step - 3)] and keys._read == {step - 3, step - 2, step - 1}
        assert np.isnan(keys._values[: step - 3]).all()
        np.testing.assert_allclose(keys._values[step - 3 : step + 1], whole[step - 3 : step + 1], rtol=1e-9)


def test_what_the_prefill_puts_in_is_not_read_from_the_cache(qtbot: QtBot) -> None:
    bench = PanelBench(qtbot, DecodingRoom, "causal-decode", 1300, 900)
    bench.store.edit(set_writing, FRESH)
    first = decode_and_compare(bench.store.experiment, "numpy", "cpu", never_cancelled, 0)
    bench.store.set_decoded(first)
    keys, again = bench.find(RowMatrix, "k_cache"), bench.find(RowMatrix, "k_again")
    n, where = bench.store.experiment.n_queries, bench.find(QLabel, "decode_where")
    bench.panel.go_to(5)
    assert (keys.accessibleName(), again.accessibleName()) == ("K cache · 0 + 6", "K computed · 6")
    assert keys._read == frozenset() and where.text().startswith(f"step 6 of {n + 31} · prefill · “")
    bench.panel.go_to(n)
    assert (keys.accessibleName(), again.accessibleName()) == (
        f"K cache · {n} + 1",
        f"K recomputed · {n + 1}",
    )
    assert keys._read == set(range(n)) and "prefill" not in where.text()
    # Four of its tokens were computed before: the prefill of the others reads them.
    bench.store.edit(rename_token, 4, "otherwise")
    bench.store.edit(set_vector_cell, 4, 0, 1.5)
    second = decode_and_compare(bench.store.experiment, "numpy", "cpu", never_cancelled, 0, first.decoding)
    bench.store.set_decoded(second)
    bench.panel.go_to(6)
    assert second.decoding.reused == 4 and second.decoding.steps[6].prefill == range(n)
    assert (keys.accessibleName(), keys._read) == ("K cache · 4 + 3", {0, 1, 2, 3})
    bench.panel.go_to(2)
    assert (keys.accessibleName(), keys._read) == ("K cache · 3 + 0", {0, 1, 2})
    # What was taken over took its time at another moment than the rest: neither stands for both.
    took = 1000 * sum(step.seconds for step in second.decoding.steps[:n])
    assert bench.find(QLabel, "count_milliseconds_cached").text() == number(took, 2)


def test_the_bytes_of_the_prefill_are_those_after_it(qtbot: QtBot) -> None:
    bench = PanelBench(qtbot, DecodingRoom, "causal-decode", 1300, 900)
    bench.store.edit(set_writing, FRESH)
    bench.store.set_decoded(decode_and_compare(bench.store.experiment, "numpy", "cpu", never_cancelled, 0))
    n, heads = bench.store.experiment.n_queries, bench.store.experiment.layers[0].heads
    row = 2 * heads.n_kv_heads * heads.d_head * {"float32": 4, "float64": 8}[bench.store.experiment.dtype]
    slots = bench.find(SlotMap, "decode_slots")
    for step, length, n_new in ((0, n, n), (n - 1, n, n), (n, n + 1, 1)):
        bench.panel.go_to(step)
        shown = [bench.find(QLabel, f"cache_{name}").text() for name in ("measured", "formula", "full")]
        assert shown == [f"{length * row:,}".replace(",", "\u202f")] * 3
        assert f"slots {length} × bytes {row}" in bench.find(QLabel, "decode_cache_terms").text()
        assert [slot.state for slot in slots._groups[0].slots].count("new") == n_new


def test_names_of_tokens_without_a_model_are_what_they_are() -> None:
    decoding = attnviz.decode(load_preset("causal-decode").experiment)
    names = Names(decoding)
    assert names.label("cat") == names.written("cat") == "cat" and not names.are_joined
    assert names.described("cat") == f"“cat” · id {names.ids['cat']} · 63 61 74"
    assert names.tokens_of("new words") == ("new words",)
