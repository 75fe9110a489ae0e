"""Undo and redo as a list and an index."""

from __future__ import annotations

from attnviz.model.edit.history import LIMIT, History
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import SeededVectors


def document(title: str) -> Document:
    return Document(Experiment(("a",), SeededVectors(1, 4)), title=title)


A, B, C = document("a"), document("b"), document("c")


def test_push_undo_redo() -> None:
    history = History((A,)).push(B).push(C)
    assert history.present is C and history.can_undo and not history.can_redo
    back = history.undo()
    assert back.present is B and back.can_undo and back.can_redo
    assert back.undo().present is A and not back.undo().can_undo
    assert back.redo().present is C
    assert history.present is C  # histories are values


def test_past_the_ends_nothing_happens() -> None:
    history = History((A,)).push(B)
    assert history.redo() == history
    assert history.undo().undo() == history.undo()


def test_a_push_after_an_undo_forgets_what_was_undone() -> None:
    history = History((A,)).push(B).undo().push(C)
    assert history.entries == (A, C) and not history.can_redo


def test_amending_replaces_the_present_and_keeps_both_sides() -> None:
    history = History((A,)).push(B).push(C).undo().amend(document("other"))
    assert [entry.title for entry in history.entries] == ["a", "other", "c"]
    assert history.can_undo and history.can_redo and history.present.title == "other"


def test_the_oldest_entries_are_let_go() -> None:
    history = History((document("0"),))
    for count in range(1, LIMIT + 5):
        history = history.push(document(str(count)))
    assert len(history.entries) == LIMIT
    assert history.entries[0].title == "5" and history.present.title == str(LIMIT + 4)
