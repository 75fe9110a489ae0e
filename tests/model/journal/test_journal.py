"""Journals: what is written is read with its history, within bounds, and each content is written once."""

from __future__ import annotations

import dataclasses
import errno
import gc
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from weakref import ref

import numpy as np
import pytest
from documents import FITTING, explicit
from experiments import SPREAD, STACKS
from hypothesis import given
from msgspec.structs import replace
from sessions import left_behind, read_only, session_of, titled
from stacks import stacks

from attnviz.model.edit.chapters import Chapter, Chapters
from attnviz.model.edit.history import History
from attnviz.model.io.files import loads
from attnviz.model.io.stamp import Stamp
from attnviz.model.journal import journal as journal_
from attnviz.model.journal.crashes import find_abandoned
from attnviz.model.journal.journal import AT_ONCE, Journal
from attnviz.model.journal.packing import Packer, Unpacker
from attnviz.model.journal.records import AT_ONCE_BYTES, STATE, JournalError, Records, content_at, scan
from attnviz.model.spec.arrays import BFLOAT16, Matrix
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.image import SIGNATURE, Image
from attnviz.model.spec.parts import ExplicitVectors
from attnviz.model.spec.view import Cell, View

DOCUMENT = loads(FITTING)
WHEN = datetime(2026, 11, 23, 9, 30, 5, 123456)


def size_after(folder: Path, *sessions: Chapters) -> int:
    journal = Journal(folder)
    for session in sessions:
        journal.write(session)
    (path,) = folder.glob("*.journal")
    size = path.stat().st_size
    journal.remove()
    return size


def vectors_of(document: Document) -> Matrix:
    vectors = document.experiment.vectors
    assert isinstance(vectors, ExplicitVectors)
    return vectors.values


def with_number(document: Document, row: int, column: int, value: float) -> Document:
    vectors = ExplicitVectors(vectors_of(document).replaced(row, column, value))
    return replace(document, experiment=replace(document.experiment, vectors=vectors))


@pytest.mark.parametrize("experiment", [*SPREAD.values(), *STACKS.values()], ids=[*SPREAD, *STACKS])
def test_a_session_is_read_as_it_was_written(tmp_path: Path, experiment: Experiment) -> None:
    view = View(stage="scores", head=1, locked=Cell("scores", 0, 1))
    steps = (*titled(Document(experiment, view, caption="why"), "a", "b", "猫\ud800\n"), DOCUMENT)
    session = session_of(steps, index=1, path=tmp_path / "größe 注意.json")
    left_behind(tmp_path, session)
    assert read_only(tmp_path) == session


def test_every_field_of_a_document_comes_back(tmp_path: Path) -> None:
    claims, image = ("weights[0].sum() == 1",), Image(SIGNATURE + b"...", 2, 3, 1)
    whole = Document(DOCUMENT.experiment, View(stage="scores"), "title", "why", claims, image, 512)
    plain = Document(whole.experiment)
    same = [name for name in Document.__struct_fields__ if getattr(whole, name) == getattr(plain, name)]
    assert same == ["experiment"], "give every field another value here"
    session = session_of(titled(whole, "a", "b"))
    left_behind(tmp_path, session)
    assert read_only(tmp_path) == session


@given(stacks())
def test_any_document_comes_back(tmp_path_factory: pytest.TempPathFactory, experiment: Experiment) -> None:
    folder = tmp_path_factory.mktemp("journal")
    session = session_of(titled(Document(experiment), "a", "b"))
    left_behind(folder, session)
    assert read_only(folder) == session


def test_several_documents_keep_their_order_files_and_stamps(tmp_path: Path) -> None:
    file = tmp_path / "d.json"
    file.write_text("{}")
    first = Chapter(0, History(titled(DOCUMENT, "a", "b")), DOCUMENT, file, WHEN, Stamp.of(file))
    second = Chapter(1, History((explicit(3, 4),)), explicit(3, 4))
    third = Chapter(2, History(titled(explicit(5, 4), "x", "y"), 1), explicit(5, 4))
    for index in range(3):
        session = Chapters((first, second, third), index)
        left_behind(tmp_path, session)
        (found,) = find_abandoned(tmp_path)
        assert found.read() == session
        # The last edited one is named, whichever was shown at the end.
        assert (found.title, found.file, found.is_modified) == ("a", file, True)
        found.remove()
    assert sorted(tmp_path.iterdir()) == [file]


def test_the_newest_state_counts(tmp_path: Path) -> None:
    steps = titled(DOCUMENT, "a", "b", "c")
    left_behind(tmp_path, *(session_of(steps[:n]) for n in (1, 2, 3)), session_of(steps, index=0))
    assert read_only(tmp_path) == session_of(steps, index=0)


def test_steps_share_what_they_shared(tmp_path: Path) -> None:
    document = explicit(40, 8)
    left_behind(tmp_path, session_of(titled(document, "a", "b", "c")))
    entries = read_only(tmp_path).present.history.entries
    assert len({id(entry) for entry in entries}) == 3
    assert len({id(entry.experiment.vectors) for entry in entries}) == 1


def test_every_precision_comes_back_as_it_was(tmp_path: Path) -> None:
    numbers = np.arange(12.0).reshape(3, 4)
    bits = np.empty((3, 4), BFLOAT16)
    bits["bfloat16"] = np.arange(12).reshape(3, 4)
    arrays = [numbers.astype(dtype) for dtype in ("f2", "f4", "f8")] + [bits]
    documents = [
        Document(Experiment(("a", "b", "c"), ExplicitVectors(Matrix.taken(array)))) for array in arrays
    ]
    left_behind(tmp_path, session_of(documents))
    read = read_only(tmp_path).present.history.entries
    assert [vectors_of(document).stored for document in read] == ["F16", "F32", "F64", "BF16"]
    assert read == tuple(documents)


def test_an_edit_of_one_number_does_not_write_the_matrix_again(tmp_path: Path) -> None:
    large = explicit(1000, 1000)  # 8 MB
    edited = with_number(large, 500, 500, 7.0)
    both = size_after(tmp_path, session_of([large]), session_of([large, edited]))
    assert 8_000_000 < both < 8_000_000 + 200_000


def test_a_hundred_edits_of_a_small_document_stay_small(tmp_path: Path) -> None:
    steps = [DOCUMENT]
    for number in range(100):
        steps.append(replace(DOCUMENT, title=str(number)))
    journal = Journal(tmp_path)
    for n in range(1, 101):
        journal.write(session_of(steps[:n]))
    (path,) = tmp_path.glob("*.journal")
    assert path.stat().st_size < 500_000
    journal.remove()


def test_of_a_long_history_what_is_needed_most_is_written_first(tmp_path: Path) -> None:
    steps = [explicit(6, 6, seed) for seed in range(60)]
    path = left_behind(tmp_path, session_of(steps, index=30))
    with path.open("rb") as file:
        first, second = (entry for entry in scan(file) if entry.kind == STATE)
    whole = path.read_bytes()
    path.write_bytes(whole[: first.begin + first.length])
    begun = read_only(tmp_path).present.history
    assert begun.present == steps[30] and 5 < len(begun.entries) <= AT_ONCE
    assert second.begin > 2 * first.begin
    path.write_bytes(whole)
    assert read_only(tmp_path) == session_of(steps, index=30)


def test_what_is_needed_no_more_is_removed_from_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_, "SLACK_BYTES", 50_000)
    sessions = [session_of([explicit(100, 100, seed)]) for seed in range(20)]  # 80 kB each
    assert size_after(tmp_path, *sessions) < 300_000
    left_behind(tmp_path, *sessions)
    assert read_only(tmp_path) == sessions[-1]


def test_the_steps_farthest_away_are_left_out_of_a_full_journal(tmp_path: Path) -> None:
    steps = [explicit(100, 100, seed) for seed in range(10)]
    journal = Journal(tmp_path, most=400_000)  # four or five matrices of 80 kB
    whole = session_of(steps, index=5)
    journal.write(Chapters((replace_saved(whole.present, steps[5]),)))
    journal.leave()
    history = read_only(tmp_path).present.history
    assert history.present == steps[5]
    assert history.entries == tuple(steps[2:6])
    too_large = session_of([explicit(300, 300)])
    small = Journal(tmp_path / "other", most=400_000)
    small.write(session_of([DOCUMENT]))
    with pytest.raises(JournalError, match="to be saved automatically"):
        small.write(too_large)
    small.leave()
    assert read_only(tmp_path / "other") == session_of([DOCUMENT])


def replace_saved(chapter: Chapter, saved: Document) -> Chapter:
    return dataclasses.replace(chapter, saved=saved)


def test_after_a_full_disk_the_session_of_before_is_there_and_the_next_one_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path)
    first, second, third = (session_of([explicit(50, 50, seed)]) for seed in range(3))
    journal.write(first)
    plain = Records.commit
    written = []

    def full(records: Records, state: bytes) -> None:
        written.append(state)
        plain(records, state[: len(state) // 2])  # torn
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Records, "commit", full)
        for _again in range(2):
            with pytest.raises(OSError, match="No space"):
                journal.write(second)
    journal.write(third)
    journal.leave()
    assert len(written) == 2
    assert read_only(tmp_path) == third


def test_a_journal_that_somebody_removed_is_begun_anew(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    session = session_of([explicit(50, 50)])
    journal.write(session)
    for path in tmp_path.iterdir():
        path.unlink()
    journal.write(session)
    journal.leave()
    assert read_only(tmp_path) == session


def test_a_clean_end_leaves_nothing(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.remove()  # before the first write
    journal.write(session_of([DOCUMENT]))
    assert len(list(tmp_path.iterdir())) == 2
    journal.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_ends_before_the_first_state_leaves_nothing(tmp_path: Path) -> None:
    """Its pieces alone are no session: a start would say that one is lost, beside the one that has it."""
    records = Records(tmp_path / "d.journal")
    records.put(bytes(3 * AT_ONCE_BYTES))
    (begun,) = tmp_path.iterdir()
    assert begun.stat().st_size > 3 * AT_ONCE_BYTES
    records.close()
    assert find_abandoned(tmp_path) == ()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "end", [lambda journal: None, Journal.remove, Journal.leave], ids=["open", "removed", "left"]
)
def test_a_journal_keeps_no_document_in_the_memory(tmp_path: Path, end: Callable[[Journal], None]) -> None:
    """A closed model may have gigabytes, and the next state may be far away."""
    journal = Journal(tmp_path)
    session = session_of(titled(explicit(3, 4), "a", "b"))
    gone = [ref(session.present.document), ref(vectors_of(session.present.document))]
    journal.write(session)
    assert all(one() is not None for one in gone)
    end(journal)
    del session
    gc.collect()
    assert [one() for one in gone] == [None, None]
    journal.remove()


def test_a_part_with_the_address_of_one_that_has_gone_is_written(tmp_path: Path) -> None:
    """Documents that share nothing, each gone before the next: the system uses their addresses again."""
    records = Records(tmp_path / "d.journal")
    packer, keys = Packer(records), list[str]()
    packer.begin(2**20)
    for number in range(40):
        document = explicit(1, 2 + number)
        keys.append(packer.document(document))
        del document
    records.commit(b"{}")
    records.close()
    with records.path.open("rb") as file:
        contents = {entry.key: content_at(file, entry) for entry in scan(file)}
    widths = [vectors_of(Unpacker(contents.__getitem__).document(key)).shape[1] for key in keys]
    assert widths == list(range(2, 42))
