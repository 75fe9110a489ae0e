"""The store: one state, one signal; edits are entries, gestures are one entry, looks are none."""

from __future__ import annotations

from pathlib import Path

import pytest
from first_layer import change, with_fields
from pointer import Log
from pytestqt.qtbot import QtBot

import attnviz
from attnviz.gui.pointer import Pointer
from attnviz.gui.store import Store
from attnviz.model.edit import edits
from attnviz.model.edit.history import LIMIT
from attnviz.model.io.presets import load_preset
from attnviz.model.spec.view import Cell


@pytest.fixture
def store(qtbot: QtBot) -> Store:
    return Store(load_preset("toy-attention"))


def listen(store: Store) -> Log:
    return Log(store, "changed", "rejected", "history_changed", "pointer_changed", "player_changed")


def test_an_edit_says_once_what_was_and_what_is(store: Store) -> None:
    old, log = store.document, listen(store)
    assert change(store, temperature=2.0)
    assert log.values("changed") == [(old, store.document)]
    assert store.experiment == with_fields(old.experiment, temperature=2.0)
    assert log.events.count("history_changed") == 1
    assert store.can_undo and not store.can_redo and store.is_modified


def test_an_edit_that_changes_nothing_is_no_entry(store: Store) -> None:
    log = listen(store)
    assert change(store, temperature=store.experiment.layers[0].temperature)
    assert log.events == [] and not store.can_undo


def test_a_refused_edit_says_field_value_and_what_is_legal(store: Store) -> None:
    old, log = store.document, listen(store)
    assert not change(store, temperature=-1.0)
    (sentence,) = log.values("rejected")
    assert "temperature" in str(sentence) and "-1" in str(sentence) and "above 0" in str(sentence)
    assert store.document is old and not store.can_undo


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_no_cell_becomes_nan_or_infinite(store: Store, value: float) -> None:
    old, log = store.document, listen(store)
    assert not store.edit(edits.set_vector_cell, 0, 0, value)
    assert store.document is old and len(log.values("rejected")) == 1


def test_a_mistake_in_an_edit_is_not_hidden_as_a_refusal(store: Store) -> None:
    with pytest.raises(TypeError):
        store.edit(lambda experiment: experiment + 1)


def test_all_edits_of_a_gesture_are_one_entry(store: Store) -> None:
    first = store.document
    store.begin_gesture()
    for temperature in (1.5, 2.0, 2.5):
        change(store, temperature=temperature)
    store.end_gesture()
    change(store, temperature=3.0)
    store.undo()
    assert store.experiment.layers[0].temperature == 2.5
    store.undo()
    assert store.document == first and not store.can_undo


def test_an_empty_gesture_is_no_entry(store: Store) -> None:
    store.begin_gesture()
    store.end_gesture()
    assert not store.can_undo
    change(store, temperature=2.0)
    store.begin_gesture()
    store.end_gesture()
    store.undo()
    assert store.experiment.layers[0].temperature == 1.0


def test_an_undo_inside_a_gesture_loses_no_entry(store: Store) -> None:
    first = store.experiment
    change(store, temperature=2.0)
    store.begin_gesture()
    change(store, temperature=3.0)
    store.undo()
    change(store, temperature=4.0)
    change(store, temperature=5.0)
    store.end_gesture()
    store.undo()
    assert store.experiment.layers[0].temperature == 2.0
    store.undo()
    assert store.experiment == first


def test_an_edit_after_an_undo_forgets_what_was_undone(store: Store) -> None:
    change(store, temperature=2.0)
    store.undo()
    change(store, temperature=3.0)
    assert not store.can_redo
    store.redo()
    assert store.experiment.layers[0].temperature == 3.0


def test_a_look_changes_the_view_and_is_neither_an_entry_nor_unsaved(store: Store) -> None:
    log = listen(store)
    store.look(stage="scores", head=0)
    assert store.document.view.stage == "scores"
    assert len(log.values("changed")) == 1
    assert not store.can_undo and not store.is_modified
    store.look(stage="scores")
    assert len(log.values("changed")) == 1


def test_a_look_keeps_what_can_be_redone(store: Store) -> None:
    change(store, temperature=2.0)
    store.undo()
    store.look(stage="scores")
    store.redo()
    assert store.experiment.layers[0].temperature == 2.0


def test_saved_is_what_the_disk_has(store: Store) -> None:
    change(store, temperature=2.0)
    store.mark_saved(Path("a.json"), store.document)
    assert not store.is_modified and store.path == Path("a.json")
    store.undo()
    assert store.is_modified
    store.redo()
    assert not store.is_modified


def test_opening_begins_a_chapter_and_undo_returns_to_the_one_before(store: Store) -> None:
    store.begin_gesture()
    change(store, temperature=2.0)
    edited = store.document
    store.set_hover(Cell("scores", 0, 0))
    document = load_preset("dog-bites-man")
    log = Log(store, "opened", "changed")
    store.open(document, Path("b.json"))
    assert store.document is document and store.pointer.cell is None
    assert store.can_undo and not (store.can_redo or store.is_modified)
    change(store, temperature=3.0)
    later = store.document
    store.undo()
    assert store.document == document and store.path == Path("b.json")
    store.undo()
    assert store.document == edited and store.path is None and store.is_modified
    store.redo()
    store.redo()
    assert store.document == later and store.path == Path("b.json") and not store.can_redo
    told = [event if isinstance(event, str) else event[0] for event in log.events]
    assert told == "opened changed changed changed opened changed opened changed changed".split()


def test_edits_after_going_back_keep_the_unsaved_document_behind(store: Store) -> None:
    other = load_preset("dog-bites-man")
    store.open(other)
    change(store, temperature=3.0)
    edited = store.document
    store.open(load_preset("sigmoid"))
    for _step in range(3):
        store.undo()
    assert store.document == load_preset("toy-attention")
    change(store, temperature=2.0)
    assert not store.can_redo, "the edit ends what could be redone"
    (unsaved,) = store.chapters.unsaved
    assert unsaved.document == edited
    store.undo()
    store.undo()
    assert store.document == edited
    store.undo()
    assert store.document == other


def test_a_stand_in_leaves_no_chapter_unless_it_is_edited(store: Store) -> None:
    store.stand_in()
    store.open(load_preset("sigmoid"))
    assert not store.can_undo
    store.stand_in()
    change(store, temperature=2.0)
    store.open(load_preset("dog-bites-man"))
    assert store.can_undo


def test_opening_the_same_document_again_begins_a_chapter_too(store: Store) -> None:
    change(store, temperature=2.0)
    document = store.document
    store.open(document)
    assert store.document is document and not store.is_modified
    store.undo()
    assert store.document is document and store.is_modified


def test_the_history_is_bounded(store: Store) -> None:
    for step in range(LIMIT + 20):
        change(store, temperature=1.0 + (step + 1) / 1000)
    count = 0
    while store.can_undo:
        store.undo()
        count += 1
    assert count == LIMIT - 1
    assert store.experiment.layers[0].temperature == pytest.approx(1.0 + 21 / 1000)


def test_hover_says_changes_only_and_the_locked_cell_is_the_focus_without_it(store: Store) -> None:
    log = listen(store)
    here, locked = Cell("scores", 0, 1), Cell("weights", 1, 1)
    store.look(locked=locked)
    assert store.focus == locked
    store.set_hover(here)
    store.set_hover(Cell("scores", 0, 1))
    assert store.focus == here
    store.set_hover(None)
    assert log.values("pointer_changed") == [
        (Pointer(), Pointer(cell=here)),
        (Pointer(cell=here), Pointer()),
    ]
    assert store.focus == locked
    assert not store.can_undo


def test_paint_mode_says_changes_only(store: Store) -> None:
    log = listen(store)
    store.set_paint_mode(True)
    store.set_paint_mode(True)
    store.set_paint_mode(False)
    painting = Pointer(paints=True)
    assert log.values("pointer_changed") == [(Pointer(), painting), (painting, Pointer())]
    assert not store.can_undo


def test_a_trace_is_kept_and_told(store: Store, qtbot: QtBot) -> None:
    trace = attnviz.run(store.experiment)
    with qtbot.waitSignal(store.traced) as told:
        store.set_trace(trace)
    assert told.args == [trace] and store.trace is trace
