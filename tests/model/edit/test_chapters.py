"""The history across documents: order, limits, files, and what is let go."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from attnviz.checkpoints.presets import load_preset
from attnviz.model.edit.chapters import MOST_CHAPTERS, MOST_NUMBERS, Chapters
from attnviz.model.io.stamp import Stamp
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import ExplicitVectors, SeededVectors

NOON = datetime(2026, 1, 1, 12)


def document(title: str) -> Document:
    return Document(Experiment(("a",), SeededVectors(1, 4)), title=title)


def large(title: str, n_numbers: int) -> Document:
    values = np.full((1, n_numbers), float(len(title)))
    return Document(Experiment(("a",), ExplicitVectors(Matrix(values))), title=title)


def edited(chapters: Chapters, minutes: int = 0) -> Chapters:
    """One more entry: another seed of W_Q."""
    now = chapters.present.document
    seeded = SeededVectors(1, 4, seed=minutes + 1)
    changed = replace(now, experiment=replace(now.experiment, vectors=seeded))
    return chapters.push(changed, NOON + timedelta(minutes=minutes))


def titles(chapters: Chapters) -> list[str]:
    return [chapter.document.title for chapter in chapters.chapters]


def test_undo_and_redo_go_through_all_chapters_in_order() -> None:
    chapters = edited(Chapters.of(document("a"))).open(document("b")).open(document("c"))
    seen = []
    while chapters.can_undo:
        chapters = chapters.undo()
        seen.append((chapters.present.document.title, chapters.present.is_modified))
    assert seen == [("b", False), ("a", True), ("a", False)]
    while chapters.can_redo:
        chapters = chapters.redo()
    assert chapters.present.document.title == "c"


def test_the_oldest_unchanged_chapters_are_let_go_before_the_unsaved_ones() -> None:
    chapters = edited(Chapters.of(document("unsaved")))
    for count in range(2 * MOST_CHAPTERS):
        chapters = chapters.open(document(str(count)))
    latest = [str(count) for count in range(MOST_CHAPTERS + 1, 2 * MOST_CHAPTERS)]
    assert titles(chapters) == ["unsaved", *latest] and len(chapters.chapters) == MOST_CHAPTERS


def test_numbers_past_the_limit_are_let_go_and_shared_ones_count_once() -> None:
    half = MOST_NUMBERS // 2
    first = large("1", half)
    chapters = Chapters.of(first)
    for title in ("1 again", "and again"):
        chapters = chapters.open(replace(first, title=title))
    assert titles(chapters) == ["1", "1 again", "and again"]
    chapters = chapters.open(large("22", half)).open(large("333", half)).open(document("small"))
    assert titles(chapters) == ["22", "333", "small"]
    chapters = chapters.open(large("4444", MOST_NUMBERS + 1))
    assert titles(chapters)[-1] == "4444", "the present one stays however large it is"
    chapters = chapters.open(document("after"))
    assert "4444" not in titles(chapters) and "small" in titles(chapters)
    assert chapters.chapters[0].number_count == half


def test_presets_of_one_model_share_its_weights() -> None:
    presets = [load_preset(id_) for id_ in ("stories-en", "stories-count", "stories-owner", "stories-name")]
    chapters = Chapters.of(presets[0])
    for one in presets[1:]:
        chapters = chapters.open(one)
        assert chapters.present.document == one
    weights = [
        chapter.document.experiment.layers[0].projections.query.values  # type: ignore[union-attr]
        for chapter in chapters.chapters
    ]
    assert all(one is weights[0] for one in weights)


def test_unsaved_chapters_are_named_the_last_edit_first() -> None:
    chapters = edited(Chapters.of(document("a")), 5).open(document("b"))
    chapters = edited(chapters, 9).open(document("c")).open(document("d"))
    assert [one.document.title for one in chapters.unsaved] == ["b", "a"]
    assert [one.edited for one in chapters.unsaved] == [NOON + timedelta(minutes=n) for n in (9, 5)]
    back = chapters.go_to(chapters.unsaved[1].number)
    assert titles(back) == ["b", "c", "d", "a"] and back.present.document.title == "a"
    assert back.go_to(99) == back


def test_a_saved_file_is_that_of_every_chapter_with_its_path() -> None:
    path = Path("a.json")
    chapters = Chapters.of(document("a")).mark_saved(path, document("a"))
    chapters = edited(chapters.open(document("a"), path))
    chapters = chapters.mark_saved(path, chapters.present.document)
    assert not chapters.present.is_modified
    assert chapters.undo().undo().present.is_modified, "the file no longer has it"


def test_looks_belong_to_the_chapter_that_they_change() -> None:
    chapters = Chapters.of(document("a")).open(document("b"))
    looked = chapters.amend(chapters.present.document.looking(stage="scores"))
    assert not looked.present.is_modified and looked.present.document.view.stage == "scores"
    assert looked.undo().present.document.view.stage == "weights"


def test_the_chapters_of_an_earlier_session_follow_and_undo_leads_back() -> None:
    here = edited(Chapters.of(document("here")))
    earlier = edited(edited(Chapters.of(document("x"))).open(document("y"))).undo()
    joined = here.join(earlier)
    assert titles(joined) == ["here", "x", "y"]
    assert joined.present.document == earlier.present.document and joined.present.history.can_redo
    assert len({chapter.number for chapter in joined.chapters}) == 3
    assert titles(joined.undo()) == titles(joined) and joined.undo().present.document.title == "x"
    first = edited(Chapters.of(document("x"))).open(document("y")).undo()
    assert here.join(first).present.document.title == "x" and here.join(first).can_redo
    assert titles(Chapters.of(document("stand-in")).stand_in().join(earlier)) == ["x", "y"]


def test_a_reloaded_file_is_an_entry_and_its_own_edits_are_unsaved_again(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    path.write_text("theirs")
    stamp = Stamp.of(path)
    mine = edited(Chapters.of(document("a")).open(document("mine"), path))
    reloaded = mine.reload(document("theirs"), stamp, NOON)
    assert reloaded.present.document == document("theirs") and not reloaded.present.is_modified
    assert reloaded.present.stamp == stamp
    back = reloaded.undo()
    assert back.present.document == mine.present.document and back.present.is_modified
    assert back.present.stamp == stamp  # what saving overwrites now was seen


def test_what_is_worth_keeping_is_unsaved_or_undone() -> None:
    plain = Chapters.of(document("a"))
    assert not plain.is_worth_keeping and not plain.open(document("b")).is_worth_keeping
    changed = edited(plain)
    assert changed.is_worth_keeping and changed.open(document("b")).is_worth_keeping
    assert changed.undo().is_worth_keeping  # redo would be lost
    path = Path("d.json")
    assert not changed.mark_saved(path, changed.present.document).is_worth_keeping


def modified(chapters: Chapters) -> Chapters:
    """The present document under another title, which is work."""
    now = chapters.present.document
    return chapters.push(replace(now, title=now.title + " edited"), NOON)


def test_every_unsaved_chapter_that_leaving_lets_go_is_named() -> None:
    """Everything that `lost_by_leaving` does not name survives the opening of another document."""
    half = MOST_NUMBERS // 2
    too_large = Chapters.of(document("a")).open(large("huge", MOST_NUMBERS + 1))
    first, rest = modified(Chapters.of(large("1", half))), [large("22", half), large("333", half)]
    full = modified(modified(first.open(rest[0])).open(rest[1]))
    many = modified(Chapters.of(document("0")))
    for count in range(1, MOST_CHAPTERS):
        many = modified(many.open(document(str(count))))
    cases = {
        "saved": (too_large, []),
        "too large": (modified(too_large), ["huge edited"]),
        "undone from": (modified(too_large).undo().undo(), ["huge edited"]),
        "gone from": (modified(too_large).go_to(0), ["huge edited"]),
        "full": (full, ["1 edited"]),
        "many": (many, ["0 edited"]),
    }
    for name, (chapters, expected) in cases.items():
        lost = chapters.lost_by_leaving
        assert [one.document.title for one in lost] == expected, name
        unsaved = {one.number for one in chapters.chapters if one.history.at_end().present != one.saved}
        left = {one.number for one in chapters.open(document("next")).unsaved}
        assert unsaved - left == {one.number for one in lost}, name
