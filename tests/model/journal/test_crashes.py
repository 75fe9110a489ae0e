"""Abandoned journals: only those of ended processes; damaged ones end in a sentence or an earlier state."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pytest
from documents import BEFORE_LAYERS, FITTING, explicit
from sessions import left_behind, read_only, session_of, titled

from attnviz.model.edit.chapters import Chapter, Chapters
from attnviz.model.edit.history import History
from attnviz.model.io.files import loads, save
from attnviz.model.io.stamp import Stamp
from attnviz.model.journal.crashes import find_abandoned
from attnviz.model.journal.journal import Journal
from attnviz.model.journal.records import FIRST_LINE, JournalError, LaterVersion, Records

DOCUMENT = loads(FITTING)
STEPS = titled(explicit(20, 8), "a", "b", "c")


def test_the_journal_of_a_living_process_is_not_found(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.write(session_of(STEPS))
    assert find_abandoned(tmp_path) == ()
    journal.leave()
    (found,) = find_abandoned(tmp_path)
    assert find_abandoned(tmp_path) == ()  # another start does not offer it while this one does
    found.release()
    assert len(find_abandoned(tmp_path)) == 1


def test_the_newest_is_first_and_empty_ones_vanish(tmp_path: Path) -> None:
    left_behind(tmp_path / "a", session_of(titled(DOCUMENT, "old")))
    left_behind(tmp_path / "b", session_of(titled(DOCUMENT, "new")))
    for folder in ("b", "a"):
        (path,) = (tmp_path / folder).glob("*.journal")
        path.rename(tmp_path / f"{folder}.journal")
    (tmp_path / "begun.journal").write_bytes(FIRST_LINE)
    (tmp_path / "nothing.journal").write_bytes(b"")
    found = find_abandoned(tmp_path)
    assert [journal.title for journal in found] == ["new", "old"]
    assert sorted(path.name for path in tmp_path.glob("*.journal")) == ["a.journal", "b.journal"]
    for journal in found:
        journal.remove()


def test_what_a_process_was_writing_when_it_ended_is_removed(tmp_path: Path) -> None:
    path = left_behind(tmp_path, session_of(STEPS))
    living = Journal(tmp_path / "living")
    living.write(session_of(STEPS))
    (name,) = (file.stem for file in (tmp_path / "living").glob("*.journal"))
    (tmp_path / "living" / f".{name}.journal.0123456789ab.tmp").write_bytes(b"now")
    (tmp_path / f".{path.name}.0123456789ab.tmp").write_bytes(bytes(1000))
    (tmp_path / ".gone.journal.0123456789ab.tmp").write_bytes(bytes(1000))
    (tmp_path / "begun.lock").touch()
    (found,) = find_abandoned(tmp_path)
    found.release()
    assert sorted(file.name for file in tmp_path.iterdir()) == [path.name, "living"]
    assert find_abandoned(tmp_path / "living") == ()
    assert len(list((tmp_path / "living").iterdir())) == 3
    living.leave()


def test_what_a_process_was_saving_when_it_ended_is_removed(tmp_path: Path) -> None:
    file = save(DOCUMENT, tmp_path / "d.json")
    chapter = Chapter(0, History(STEPS), DOCUMENT, file, None, Stamp.of(file))
    left_behind(tmp_path / "state", Chapters((chapter,), 0))
    names = (".d.json.0123456789ab.tmp", ".d.json.0123456789ab.old", ".e.json.0123456789ab.tmp")
    for name in names:
        (tmp_path / name).write_text("half")
        os.utime(tmp_path / name, (0, 0))
    (found,) = find_abandoned(tmp_path / "state")
    found.remove()
    assert {one.name for one in tmp_path.iterdir()} == {"d.json", "state", *names[1:]}


def test_no_folder_has_no_journals(tmp_path: Path) -> None:
    assert find_abandoned(tmp_path / "none") == ()


def test_cut_anywhere_it_has_an_earlier_state_or_is_kept(tmp_path: Path) -> None:
    sessions = [session_of(STEPS[:n]) for n in (1, 2, 3)]
    path = left_behind(tmp_path, *sessions)
    whole, first = path.read_bytes(), len(FIRST_LINE)
    found = []
    for end in [*range(1, first + 60), *range(first + 60, len(whole), 7)]:
        path.write_bytes(whole[:end])
        journals = find_abandoned(tmp_path)
        if end == first:
            assert journals == () and not path.exists()  # its process had written nothing
            continue
        (journal,) = journals
        if journal.problem is None:
            found.append(sessions.index(journal.read()))
            journal.retire()  # a torn tail is no damage
            assert list(tmp_path.iterdir()) == []
        else:
            assert not found and "\n" not in str(journal.problem)
            journal.set_aside()
            assert journal.aside.read_bytes() == whole[:end]
            journal.aside.unlink()
    assert found == sorted(found) and set(found) == {0, 1}


def test_any_flipped_bit_is_told_and_kept_and_nothing_lost_counts_as_saved(tmp_path: Path) -> None:
    sessions = [session_of(STEPS[:n]) for n in (1, 2, 3)]
    path = left_behind(tmp_path, *sessions)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    found = []
    for place in rng.permutation(len(whole))[:1200]:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        (journal,) = find_abandoned(tmp_path)
        if journal.problem is not None:
            assert place < len(FIRST_LINE)  # all states are intact but one
            assert str(journal.problem).endswith((" got 3.", " got 5.", " got 9.", "something else."))
            journal.release()
            continue
        try:
            session = journal.read()
        except JournalError as error:
            assert "\n" not in str(error) and str(error).startswith(path.name)
            found.append("sentence")
            journal.release()
            continue
        if session == sessions[2]:
            found.append("whole")
            assert session.present.is_modified and not journal.is_damaged
            journal.retire()
            continue
        found.append("part")
        history = session.present.history
        assert all(entry in STEPS for entry in history.entries) and journal.is_damaged
        assert session.present.is_modified == (history.present != STEPS[0] or session.present.saved is None)
        journal.retire()
        assert journal.aside.read_bytes() == damaged and not path.exists()
    assert {name: found.count(name) > 20 for name in ("whole", "part", "sentence")} == dict.fromkeys(
        ("whole", "part", "sentence"), True
    )


def test_a_document_whose_saved_content_is_damaged_is_not_saved(tmp_path: Path) -> None:
    saved, present = explicit(30, 30, 0), explicit(30, 30, 1)
    chapter = Chapter(0, History((present,)), saved, tmp_path / "d.json")
    path = left_behind(tmp_path, Chapters((chapter,)))
    number = np.asarray(np.random.default_rng(0).standard_normal((30, 30))).tobytes()[:64]
    content = path.read_bytes()
    assert content.count(number) == 1
    path.write_bytes(content.replace(number, bytes(64)))
    (found,) = find_abandoned(tmp_path)
    restored = found.read().present
    assert restored.document == present and restored.is_modified and found.is_damaged
    found.retire()
    assert os.listdir(tmp_path) == [found.aside.name]


def test_a_document_whose_saved_content_has_no_room_is_not_saved(tmp_path: Path) -> None:
    saved, present = explicit(30, 30, 0), explicit(30, 30, 1)
    journal = Journal(tmp_path, most=12_000)  # room for one of them
    journal.write(Chapters((Chapter(0, History((present,)), saved),)))
    journal.leave()
    (found,) = find_abandoned(tmp_path)
    assert found.read().present.is_modified and not found.is_damaged
    found.remove()


@pytest.mark.parametrize("content", [b"{}", b"\0" * 500, b"attn", FIRST_LINE + b"P"])
def test_another_file_is_one_sentence_and_is_set_aside(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.journal"
    path.write_bytes(content)
    (found,) = find_abandoned(tmp_path)
    assert found.problem is not None
    with pytest.raises(JournalError, match=r"^x\.journal: (The file must be a journal|Every record)"):
        found.read()
    found.set_aside()
    assert found.aside.read_bytes() == content and os.listdir(tmp_path) == ["x.damaged"]
    assert find_abandoned(tmp_path) == ()


def test_a_journal_of_a_newer_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "x.journal"
    path.write_bytes(b"attnviz journal 2\n" + bytes(40))
    (found,) = find_abandoned(tmp_path)
    assert isinstance(found.problem, LaterVersion) and str(found.problem).endswith("program reads; got 2.")
    found.release()
    assert os.listdir(tmp_path) == ["x.journal"] and path.read_bytes() == b"attnviz journal 2\n" + bytes(40)


def test_of_a_history_with_a_damaged_step_the_steps_around_the_present_are_read(tmp_path: Path) -> None:
    steps = [explicit(30, 30, seed) for seed in range(5)]
    path = left_behind(tmp_path, session_of(steps, index=3))
    whole = path.read_bytes()
    number = np.asarray(np.random.default_rng(1).standard_normal((30, 30))).tobytes()[:64]
    assert whole.count(number) == 1
    path.write_bytes(whole.replace(number, bytes(64)))
    history = read_only(tmp_path).present.history
    assert history.entries == tuple(steps[2:]) and history.present == steps[3]


def journal_of(folder: Path, *contents: object) -> Path:
    """A journal whose records have their digests, whatever they say; the last one is its only document."""
    folder.mkdir(exist_ok=True)
    records = Records(folder / "made.journal")
    keys = [
        records.put(content if isinstance(content, bytes) else json.dumps(content).encode())
        for content in contents
    ]
    chapter = {"entries": keys[-1:], "index": 0, "saved": keys[-1]}
    records.commit(json.dumps({"chapters": [chapter], "index": 0, "title": "t", "time": 0.0}).encode())
    records.close()
    return records.path


def test_documents_of_an_older_version_are_migrated(tmp_path: Path) -> None:
    old = json.loads(BEFORE_LAYERS)
    part = json.dumps(old["experiment"].pop("vectors")).encode()
    old["experiment"]["vectors"] = {"record": hashlib.blake2b(part, digest_size=16).hexdigest()}
    journal_of(tmp_path, part, {key: old[key] for key in ("version", "experiment", "view")})
    assert read_only(tmp_path).present.document == loads(BEFORE_LAYERS)


DOCUMENT_DATA = {"version": 3, "title": "", "view": {}}
NO_DOCUMENTS: tuple[object, ...] = (
    b"\xff\xfe",
    b"{",
    b"[" * 100_000,
    [],
    {},
    {**DOCUMENT_DATA, "experiment": 3},
    {**DOCUMENT_DATA, "experiment": {}},
    {**DOCUMENT_DATA, "experiment": {"tokens": {"record": "00"}}},
    {**DOCUMENT_DATA, "experiment": {"tokens": {"record": ["00"]}}},
    {**DOCUMENT_DATA, "experiment": {"tokens": ["a"], "vectors": {"record": {"record": 1}}}},
    {
        **DOCUMENT_DATA,
        "experiment": {"tokens": ["a"], "vectors": {"kind": "explicit", "values": {"tensor": 5}}},
    },
    {**DOCUMENT_DATA, "version": 99, "experiment": {"tokens": ["a"]}},
    {**DOCUMENT_DATA, "version": 3.5, "experiment": {"tokens": ["a"]}},
)


@pytest.mark.parametrize("content", NO_DOCUMENTS, ids=map(str, range(len(NO_DOCUMENTS))))
def test_records_that_say_something_else_are_one_sentence(tmp_path: Path, content: object) -> None:
    path = journal_of(tmp_path, content)
    (found,) = find_abandoned(tmp_path)
    with pytest.raises(JournalError) as caught:
        found.read()
    assert str(caught.value).startswith(f"{path.name}: ") and "\n" not in str(caught.value)
    found.remove()


@pytest.mark.parametrize(
    "matrix",
    [
        [],
        {"stored": "F99", "shape": [1, 1], "chunks": []},
        {"stored": "F64", "shape": [1], "chunks": []},
        {"stored": "F64", "shape": [2**40, 2**40], "chunks": []},
        {"stored": "F64", "shape": [-1, -1], "chunks": []},
        {"stored": "F64", "shape": ["a", "b"], "chunks": []},
        {"stored": "F64", "shape": [1, 1], "chunks": 5},
        {"stored": "F64", "shape": [1, 1], "chunks": [[5]]},
        {"stored": "F64", "shape": [1, 1], "chunks": []},
        {"stored": ["F64"], "shape": [1, 1], "chunks": []},
        {"stored": "F64", "shape": [1.5, 2], "chunks": []},
    ],
    ids=map(str, range(11)),
)
def test_a_matrix_that_is_none_is_one_sentence(tmp_path: Path, matrix: object) -> None:
    content = json.dumps(matrix).encode()
    values = {"tensor": hashlib.blake2b(content, digest_size=16).hexdigest()}
    vectors = {"kind": "explicit", "values": values}
    experiment = {"tokens": ["a"], "vectors": vectors}
    for part in (vectors, None):  # as a record of its own, and inside the document
        if part is not None:
            data = json.dumps(part).encode()
            experiment["vectors"] = {"record": hashlib.blake2b(data, digest_size=16).hexdigest()}
        else:
            data, experiment["vectors"] = b"{}", vectors
        journal_of(tmp_path, content, data, {**DOCUMENT_DATA, "experiment": experiment})
        (found,) = find_abandoned(tmp_path)
        with pytest.raises(JournalError):
            found.read()
        found.remove()


@pytest.mark.parametrize(
    "state", [b"{}", b"[]", b"\xff", b'{"chapters": [], "index": 0, "title": "", "time": 0}']
)
def test_a_state_that_is_none_is_one_sentence(tmp_path: Path, state: bytes) -> None:
    records = Records(tmp_path / "made.journal")
    records.commit(state)
    records.close()
    (found,) = find_abandoned(tmp_path)
    assert (found.title, found.file) == ("", None) and found.time > 0
    with pytest.raises(JournalError):
        found.read()
    found.remove()
