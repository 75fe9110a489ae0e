"""A small language model writes: played, scrubbed, edited in the middle, drawn and cached otherwise."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from desk import Desk, MakeDesk, count_color, picture
from first_layer import stacked
from player_hands import open_counters, player
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QSlider, QToolButton, QWidget

import attnviz
from attnviz.engines.decode.decodable import causal_experiment
from attnviz.engines.decode.run import Decoding
from attnviz.gui.panels.decoding.bars import DistributionBars
from attnviz.gui.panels.decoding.slots import SlotMap
from attnviz.gui.panels.decoding.story.text import StoryText
from attnviz.gui.widgets.chips import TokenChips
from attnviz.gui.widgets.elided_label import ElidedLabel
from attnviz.gui.widgets.pictures.row_matrix import RowMatrix
from attnviz.gui.widgets.slider_field import SliderField
from attnviz.model.caches import FullCache, QuantisedCache, RingCache
from attnviz.model.edit.edits import rename_token
from attnviz.model.edit.generation import set_cache, set_stop, writing_of
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.generation import Writing
from attnviz.model.spec.parts import Causal, ExplicitVectors, Heads, Projections, Rope, Seeded
from attnviz.model.spec.sampling import Sampling, StopConditions, Temperature
from attnviz.model.spec.vocabulary import Vocabulary

WORDS = ("a", " cat", " sat", " on", " the", " mat", ".", "⟨E7⟩", "⟨8C⟩", "⟨AB⟩", "\n", "<end>")
PROMPT = ("a", " cat", " sat", " on", " the")


def model(length: int = 100) -> Experiment:
    """Two layers with random weights and a vocabulary of twelve; five tokens are given."""
    drawn = np.random.default_rng(4).normal(size=(len(WORDS), 8))
    rows = drawn[[WORDS.index(token) for token in PROMPT]]
    layer = Layer(
        heads=Heads(2, 1, 4),
        projections=Projections(Seeded(1), Seeded(2), Seeded(3), Seeded(4)),
        masks=(Causal(),),
        position=Rope(100.0),
    )
    return stacked(
        PROMPT,
        ExplicitVectors(Matrix(rows)),
        heads=layer.heads,
        projections=Projections(Seeded(5), Seeded(6), Seeded(7), Seeded(8)),
        masks=layer.masks,
        position=layer.position,
        behind=(layer,),
        vocabulary=Vocabulary(WORDS, Matrix(drawn), end="<end>", logit_scale=0.5),
        readout="vocabulary",
        dtype="float64",
        writing=Writing(Sampling((Temperature(0.8),), 1, StopConditions(False, length))),
    )


@pytest.fixture
def desk(make_desk: MakeDesk) -> Desk:
    made = make_desk(Document(model()))
    made.go("generate")
    settle(made)
    return made


def settle(desk: Desk) -> None:
    """Until the decoding on the screen is that of the document."""
    desk.settle()

    def is_there() -> bool:
        decoded = desk.store.player.decoded
        if decoded is None:
            return False
        made, wanted = decoded.decoding, causal_experiment(desk.store.experiment)
        given = tuple(step.token for step in made.steps if not step.generated)
        is_for_it = (made.experiment.writing, given) == (wanted.writing, wanted.tokens)
        return is_for_it and desk.window.services.schedulers.answers.idle

    desk.qtbot.waitUntil(is_there, timeout=8000)


def decoding(desk: Desk) -> Decoding:
    assert desk.store.player.decoded is not None
    return desk.store.player.decoded.decoding


def tokens(desk: Desk) -> list[str]:
    return [step.token for step in decoding(desk).steps]


def said(desk: Desk) -> str:
    """The description of the text, without its lengths."""
    words = desk.find(ElidedLabel, "decode_notice").text().split(" · ")
    return " · ".join(word for word in words if not re.match("prompt|generated|提示|已生成", word))


def test_a_hundred_tokens_are_played_and_scrubbed_both_ways_without_computing_again(desk: Desk) -> None:
    open_counters(desk)
    before = decoding(desk)
    assert len(before.steps) == 5 + 99  # the hundredth is sampled and not computed
    desk.store.look(step=4)
    desk.type_number("decode_speed", "16")
    player(desk).toggle_play()
    while player(desk).is_playing:
        player(desk).playback.tick()
    assert desk.store.document.view.step == 103
    assert said(desk).startswith("stopped: the limit of 100 new tokens was reached")
    slider = desk.find(QSlider, "decode_scrubber")
    for step in (0, 60, 7, 103, 50):
        slider.setValue(step)
        assert desk.store.document.view.step == step
        assert desk.find(QLabel, "decode_where").text().startswith(f"step {step + 1} of 104")
        names = [desk.find(RowMatrix, name).accessibleName() for name in ("k_cache", "k_again")]
        made = (
            "computed" if step < 5 else "recomputed"
        )  # the prompt's keys are computed once, with a cache or without
        assert names == [f"K cache · {step} + 1", f"K {made} · {step + 1}"]
    assert decoding(desk) is before and not desk.store.can_undo
    assert desk.find(QLabel, "decode_parity").text().startswith("● equal to the full pass")


def test_what_is_written_equals_a_script_and_the_full_pass_row_by_row(desk: Desk) -> None:
    expected = attnviz.decode(model())
    assert tokens(desk) == [step.token for step in expected.steps]
    decoded = desk.store.player.decoded
    assert decoded is not None
    for step in (0, 30, 103):
        made = decoded.decoding.steps[step].site("layers.1.self")
        whole = decoded.full["layers.1.self"]
        np.testing.assert_allclose(made.attention_output, whole.output[step], rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(made.held[0], whole.keys[:, : step + 1], rtol=1e-10, atol=1e-13)


def test_a_click_on_a_token_goes_to_its_step_and_pieces_of_characters_are_bytes(desk: Desk) -> None:
    text = desk.find(StoryText, "decode_text")
    desk.store.look(step=4)
    desk.click(text, text.token_rect(2).center())
    assert desk.store.document.view.step == 2
    text.setFocus()
    desk.press_key(Qt.Key.Key_Right)
    assert desk.store.document.view.step == 3
    assert text.accessibleDescription() == "step 4 · position 3: “␣on” · id 3 · 20 6F 6E"
    byte = tokens(desk).index("⟨8C⟩")
    player(desk).go_to(byte)
    described = f"step {byte + 1} · position {byte}: “⟨8C⟩” · id 8 · 8C · p 0."
    assert text.accessibleDescription().startswith(described)
    assert all("\ufffd" not in chip.text for chip in text._chips)
    # The last token is sampled, and no step computes it: it belongs to the last one.
    desk.press_key(Qt.Key.Key_End)
    assert desk.store.document.view.step == 103


def test_a_token_changed_in_the_middle_leaves_the_steps_before_it(desk: Desk) -> None:
    desk.store.edit(rename_token, 2, " mat")
    settle(desk)
    assert decoding(desk).reused == 2
    saved = decoding(desk).total(1)[0]
    flops = f"{saved.flops:,}".replace(",", "\u202f")
    assert said(desk).startswith(
        f"2 of 104 steps reused, saved {flops} FLOPs, {saved.kv_projections} projections, "
    )
    desk.store.undo()
    settle(desk)
    assert tokens(desk) == [step.token for step in attnviz.decode(model()).steps]


def test_a_written_token_is_replaced_and_writing_goes_on_from_there(desk: Desk) -> None:
    before, text = tokens(desk), desk.find(StoryText, "decode_text")
    player(desk).go_to(50)
    text.setFocus()
    desk.press_key(Qt.Key.Key_F2)
    editor = desk.find(QLineEdit, "decode_text_editor")
    assert editor.isVisible()
    other = " mat" if before[50] != " mat" else " cat"
    editor.setText(other)
    QTest.keyClick(editor, Qt.Key.Key_Return)
    settle(desk)
    assert desk.store.experiment.tokens == (*before[:50], other)
    assert decoding(desk).reused == 50 and tokens(desk)[:51] == [*before[:50], other]
    assert said(desk).startswith("50 of 150 steps reused, saved ")
    alone = attnviz.decode(desk.store.experiment)
    assert tokens(desk) == [step.token for step in alone.steps]
    desk.store.undo()
    settle(desk)
    assert tokens(desk) == before and decoding(desk).reused >= 50


def test_the_space_of_a_written_token_is_seen_in_its_editor_and_stays(desk: Desk) -> None:
    before, text = tokens(desk), desk.find(StoryText, "decode_text")
    at = next(index for index in range(20, 100) if before[index].startswith(" "))
    player(desk).go_to(at)
    text.setFocus()
    desk.press_key(Qt.Key.Key_F2)
    editor = desk.find(QLineEdit, "decode_text_editor")
    assert editor.text() == "␣" + before[at][1:]
    other = "mat" if before[at] != " mat" else "cat"
    QTest.keyClicks(editor, other)
    QTest.keyClick(editor, Qt.Key.Key_Return)
    settle(desk)
    assert desk.store.experiment.tokens == (*before[:at], " " + other)


@pytest.mark.parametrize("place", ["text", "chips"])
def test_play_pauses_while_a_token_is_written_anew(desk: Desk, place: str) -> None:
    desk.store.look(step=0)
    player(desk).toggle_play()
    if place == "text":
        desk.find(StoryText, "decode_text").open_editor(2)
    else:
        desk.find(TokenChips, "token_chips").open_editor(1)
    before = desk.store.document.view.step
    player(desk).playback.tick()
    assert not player(desk).is_playing and desk.store.document.view.step == before
    name = "decode_text_editor" if place == "text" else "chip_editor"
    assert desk.find(QLineEdit, name).isVisible()


def test_the_bars_move_with_the_slider_and_tokens_change_only_after_the_first_other_draw(desk: Desk) -> None:
    desk.bring("sampling")
    player(desk).go_to(20)
    before, bars = tokens(desk), desk.find(DistributionBars, "decode_distributions")
    old, was = decoding(desk), bars._values.copy()
    slider = desk.find(SliderField, "slider_temperature")
    slider.number.changed.emit(1.6)
    assert decoding(desk) is old  # the model has not run
    np.testing.assert_array_equal(bars._values[:, 0], was[:, 0])  # the model's own stays
    logits = np.asarray(old.steps[20].logits)
    hot = np.exp(logits / 1.6) / np.exp(logits / 1.6).sum()
    np.testing.assert_allclose(np.sort(bars._values[:, 1]), np.sort(hot), rtol=1e-12)
    settle(desk)
    after = tokens(desk)
    shared = next(i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b)
    assert shared > 5 and decoding(desk).reused == shared
    assert f"{shared} of 104 steps reused" in said(desk)
    desk.store.undo()
    settle(desk)
    assert tokens(desk) == before and writing_of(desk.store.experiment).sampling.operations == (
        Temperature(0.8),
    )
    assert not desk.store.can_undo


def test_operations_are_switched_and_reordered_and_undone(desk: Desk) -> None:
    desk.bring("sampling")
    desk.switch("switch_top_k")
    desk.switch("switch_repetition_penalty")

    def kinds() -> list[str]:
        return [type(one).__name__ for one in writing_of(desk.store.experiment).sampling.operations]

    settle(desk)
    assert kinds() == ["RepetitionPenalty", "Temperature", "TopK"]
    rows = [desk.find(QWidget, f"operation_{id_}") for id_ in ("repetition_penalty", "temperature", "top_k")]
    assert [row.y() for row in rows] == sorted(row.y() for row in rows)
    desk.click(desk.find(QToolButton, "earlier_top_k"))
    assert kinds() == ["RepetitionPenalty", "TopK", "Temperature"]
    assert not desk.find(QToolButton, "earlier_repetition_penalty").isEnabled()
    assert not desk.find(QToolButton, "later_temperature").isEnabled()
    settle(desk)
    for _step in range(3):
        desk.store.undo()
    assert kinds() == ["Temperature"] and not desk.store.can_undo


def test_stop_conditions_end_the_text_and_say_so(desk: Desk) -> None:
    desk.bring("sampling")
    desk.type_number("decode_length", "7")
    settle(desk)
    assert len(decoding(desk).steps) == 5 + 6
    desk.store.undo()
    line = desk.find(QLineEdit, "decode_stop_strings")
    line.setFocus()
    QTest.keyClicks(line, ". cat|.")
    QTest.keyClick(line, Qt.Key.Key_Return)
    assert writing_of(desk.store.experiment).sampling.stop.strings == (". cat", ".")
    settle(desk)
    player(desk).go_to_end()
    assert said(desk).startswith("stopped: the text contains the stop string “.”")
    assert decoding(desk).steps[-1].next_token == "."
    desk.store.edit(set_stop, strings=(), end_token=True)
    settle(desk)
    player(desk).go_to_end()
    assert said(desk).startswith("stopped: the end token was generated")


def test_the_light_says_approximate_with_the_number_for_a_cache_that_loses_something(desk: Desk) -> None:
    open_counters(desk)
    desk.bring("cache")
    light = desk.find(QLabel, "decode_parity")
    desk.choose("decode_cache_kind", "quantised")
    settle(desk)
    assert desk.store.player.decoded is not None
    worst = desk.store.player.decoded.worst
    assert worst > 1e-6
    assert light.text().startswith("● approximate: up to ") and " apart, in probabilities 0." in light.text()
    shown = picture(light)
    assert count_color(shown, desk.theme.warning, tolerance=12) > 5
    assert count_color(shown, desk.theme.value, tolerance=12) == 0
    desk.choose("decode_cache_bits", "4")
    settle(desk)
    assert desk.store.player.decoded.worst > worst
    assert writing_of(desk.store.experiment).cache == QuantisedCache(4)
    held = decoding(desk).steps[50].held_bytes
    player(desk).go_to(50)
    assert desk.find(QLabel, "cache_measured").text() == desk.find(QLabel, "cache_formula").text()
    assert int(desk.find(QLabel, "cache_measured").text().replace("\u202f", "")) == held
    # Two layers, 51 positions, a key and a value: 2 bytes of two numbers each, and a step of 4.
    assert held == 2 * 51 * 2 * (2 + 4)
    desk.choose("decode_cache_kind", "paged")
    settle(desk)
    assert light.text().startswith("● equal to the full pass")
    assert desk.find(QLabel, "cache_empty").text() == f"{13 * 2 * 64:,} · 20 %".replace(",", "\u202f")
    for _step in range(3):
        desk.store.undo()
    assert writing_of(desk.store.experiment).cache == FullCache() and not desk.store.can_undo
    settle(desk)
    assert light.text().startswith("● equal to the full pass")


def test_a_ring_shows_what_lies_where_and_what_is_gone(desk: Desk) -> None:
    desk.bring("cache")
    desk.choose("decode_cache_kind", "ring")
    desk.type_number("decode_cache_window", "8")
    settle(desk)
    assert writing_of(desk.store.experiment).cache == RingCache(8)
    player(desk).go_to(20)
    slots = desk.find(SlotMap, "decode_slots")
    assert slots.accessibleDescription() == "ring: 8, evicted: 13"
    assert [slot.position for slot in slots._groups[0].slots] == [16, 17, 18, 19, 20, 13, 14, 15]
    desk.bring("caches")
    assert desk.find(RowMatrix, "k_cache").accessibleName() == "K cache · 7 + 1"
    decoded = decoding(desk).steps[20].site("layers.1.self")
    assert decoded.held[0].shape[1] == 8 and decoded.read == 7


def test_writing_is_switched_off_and_on_as_it_was(desk: Desk) -> None:
    desk.switch("decode_writes")
    settle(desk)
    assert desk.store.experiment.writing is None and tokens(desk) == list(PROMPT)
    assert decoding(desk).reused == 5
    desk.switch("decode_writes")
    settle(desk)
    assert desk.store.experiment == model() and len(tokens(desk)) == 104


def test_the_panels_are_exported_as_they_stand(desk: Desk, tmp_path: Path) -> None:
    from attnviz.gui.export.widget import widget_bytes

    open_counters(desk)
    desk.store.look(step=40)
    words = {
        "text": "sat",
        "next": "sampled: ",
        "sampling": "sampled: ",
        "counters": "equal to the full pass",
    }
    for id_, word in words.items():
        desk.bring(id_)
        panel = desk.window.panels[id_]
        assert word in widget_bytes(panel, desk.theme, "svg").decode(), id_
        assert widget_bytes(panel, desk.theme, "png")[:4] == b"\x89PNG"


def test_why_writing_stopped_is_said_again_in_the_new_language(desk: Desk) -> None:
    english = decoding(desk)
    player(desk).go_to_end()
    assert said(desk).startswith("stopped: the limit of 100 new tokens was reached")
    desk.press_key(Qt.Key.Key_L, Qt.KeyboardModifier.ControlModifier)
    assert "已达到 100 个新词元的上限" in said(desk)
    settle(desk)
    assert decoding(desk) is english  # said again, not computed again


def test_a_decoding_that_is_long_in_coming_does_not_leave_the_old_one_on_the_screen(
    make_desk: MakeDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until it arrives, nothing of the old one is shown, and the player waits at its step."""
    from attnviz.compute import decoding as decoded

    desk = make_desk(Document(model()), inline=False)
    desk.go("generate")
    settle(desk)

    made, released = decoded.decode_and_compare, threading.Event()

    def waits(*given: Any) -> Any:
        assert released.wait(8)
        return made(*given)

    monkeypatch.setattr(decoded, "decode_and_compare", waits)
    player(desk).go_to(7)
    old = desk.store.player.decoded
    desk.store.edit(set_cache, QuantisedCache(4))
    desk.qtbot.waitUntil(lambda: desk.store.player.decoded is None, timeout=4000)
    player(desk).go_to(3)
    assert desk.store.document.view.step == 7
    released.set()
    settle(desk)
    assert desk.store.player.decoded not in (None, old)
    assert desk.store.document.view.step == 7


def test_the_text_stands_first_and_has_what_the_player_leaves(desk: Desk) -> None:
    for width, height in ((1024, 640), (1280, 800), (1920, 1080)):
        desk.window.resize(width, height)
        desk.go("explore")
        desk.go("generate")
        QApplication.processEvents()
        panel, text = desk.window.panels["text"], desk.find(StoryText, "decode_text")
        assert panel.width() > width - 60 and text.width() > 0.55 * panel.width()
        player(desk).go_to_end()
        assert not text.visibleRegion().boundingRect().intersected(text.token_rect(103)).isEmpty()
        player(desk).go_to(0)
        assert not text.visibleRegion().boundingRect().intersected(text.token_rect(0)).isEmpty()
