"""Numbers by hand stay with their tokens, or go with them and say so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.cli.shell import main
from attnviz.compute.estimate import estimate
from attnviz.model.edit.by_hand import all_edits, as_text, with_text
from attnviz.model.edit.edits import (
    move_token,
    permute_tokens,
    remove_token,
    rename_token,
    reseed_vectors,
    set_d_model,
    set_n_tokens,
    set_tokens,
    toggle_reference,
)
from attnviz.model.edit.movement import moved_by_text, removed_with_tokens
from attnviz.model.io.files import save
from attnviz.model.sites.by_hand import edited_shapes
from attnviz.model.sites.sites import main_site, put
from attnviz.model.spec.experiment import Experiment, one_layer
from attnviz.model.spec.parts import Heads, Memory, SeededVectors

TOKENS = ("the", "cat", "sat", "on", "it")
PLAIN = one_layer(TOKENS, SeededVectors(5, 8), heads=Heads(2, 2, 4))
EDITED = with_text(with_text(PLAIN, "mixed[1, 2, 3] = 0.8"), "scores[0, 2, 3] += 2")
"""A feature of "sat", and its score with "on"."""

Change = Callable[[Experiment], Experiment]
CHANGES: dict[str, tuple[Change, list[str]]] = {
    "a token before": (
        lambda e: set_tokens(e, ("oh", *TOKENS)), ["mixed[1, 3, 3] = 0.8", "scores[0, 3, 4] += 2"]
    ),
    "a token between": (
        lambda e: set_tokens(e, (*TOKENS[:3], "up", *TOKENS[3:])),
        ["mixed[1, 2, 3] = 0.8", "scores[0, 2, 4] += 2"],
    ),
    "another first word": (
        lambda e: set_tokens(e, ("a", *TOKENS[1:])), ["mixed[1, 2, 3] = 0.8", "scores[0, 2, 3] += 2"]
    ),
    "its word replaced": (
        lambda e: rename_token(e, 2, "lay"), ["mixed[1, 2, 3] = 0.8", "scores[0, 2, 3] += 2"]
    ),
    "an earlier one removed": (
        lambda e: remove_token(e, 0), ["mixed[1, 1, 3] = 0.8", "scores[0, 1, 2] += 2"]
    ),
    "its key removed": (lambda e: remove_token(e, 3), ["mixed[1, 2, 3] = 0.8"]),
    "itself removed": (lambda e: remove_token(e, 2), []),
    "moved": (lambda e: move_token(e, 2, 0), ["mixed[1, 0, 3] = 0.8", "scores[0, 0, 3] += 2"]),
    "turned round": (
        lambda e: permute_tokens(e, (4, 3, 2, 1, 0)), ["mixed[1, 2, 3] = 0.8", "scores[0, 2, 1] += 2"]
    ),
    "cut": (lambda e: set_n_tokens(e, 3), ["mixed[1, 2, 3] = 0.8"]),
    "longer": (lambda e: set_n_tokens(e, 7), ["mixed[1, 2, 3] = 0.8", "scores[0, 2, 3] += 2"]),
    "another text": (lambda e: set_tokens(e, ("x", "y")), []),
}  # fmt: skip


@pytest.mark.parametrize(("change", "wanted"), CHANGES.values(), ids=CHANGES)
def test_an_edit_stays_with_its_token(change: Change, wanted: list[str]) -> None:
    made = change(EDITED)
    assert [as_text(edit) for _site, edit in all_edits(made)] == wanted
    notice = removed_with_tokens(EDITED, made)
    gone = 2 - len(wanted)
    assert (None if notice is None else str(notice)) == (
        f"Numbers by hand removed with their tokens: {gone}" if gone else None
    )
    trace, plain = attnviz.run(made), attnviz.run(change(PLAIN))
    for text in wanted[:1]:
        row = int(text[9])
        assert trace["mixed"][1, row, 3] == pytest.approx(0.8)
        np.testing.assert_array_equal(np.delete(trace["v"], row, 1), np.delete(plain["v"], row, 1))


REFERRING = replace(PLAIN, references=((4, 1), (4, 2)))
"""“it” refers to “cat” and to “sat”."""

REFERENCES: dict[str, tuple[Change, tuple[tuple[int, int], ...]]] = {
    "a token before": (lambda e: set_tokens(e, ("oh", *TOKENS)), ((5, 2), (5, 3))),
    "a token between": (lambda e: set_tokens(e, (*TOKENS[:2], "up", *TOKENS[2:])), ((5, 1), (5, 3))),
    "another pronoun": (lambda e: set_tokens(e, (*TOKENS[:4], "he")), ()),
    "the pronoun renamed": (lambda e: rename_token(e, 4, "he"), ()),
    "one name renamed": (lambda e: rename_token(e, 1, "dog"), ((4, 2),)),
    "another word renamed": (lambda e: rename_token(e, 0, "a"), ((4, 1), (4, 2))),
    "one name removed": (lambda e: remove_token(e, 2), ((3, 1),)),
    "the pronoun removed": (lambda e: remove_token(e, 4), ()),
    "turned round": (lambda e: permute_tokens(e, (4, 3, 2, 1, 0)), ((0, 3), (0, 2))),
    "cut": (lambda e: set_n_tokens(e, 3), ()),
    "longer": (lambda e: set_n_tokens(e, 9), ((4, 1), (4, 2))),
    "another width": (lambda e: set_d_model(e, 16), ((4, 1), (4, 2))),
    "other vectors": (lambda e: reseed_vectors(e, 5), ((4, 1), (4, 2))),
    "one more": (lambda e: toggle_reference(e, 3, 0), ((4, 1), (4, 2), (3, 0))),
    "one less": (lambda e: toggle_reference(e, 4, 1), ((4, 2),)),
}  # fmt: skip


@pytest.mark.parametrize(("change", "wanted"), REFERENCES.values(), ids=REFERENCES)
def test_a_reference_stays_with_its_words(change: Change, wanted: tuple[tuple[int, int], ...]) -> None:
    made = change(REFERRING)
    assert made.references == wanted
    notice = removed_with_tokens(REFERRING, made)
    n_gone = max(0, 2 - len(wanted)) if made.tokens != REFERRING.tokens else 0
    assert (None if notice is None else str(notice)) == (
        f"Links from pronouns to names, removed with their words: {n_gone}" if n_gone else None
    )


def test_one_notice_names_edits_and_references() -> None:
    before = replace(EDITED, references=((4, 1), (4, 2)))
    notice = removed_with_tokens(before, set_tokens(before, ("x", "y")))
    assert str(notice) == "Removed with their tokens: 2 numbers by hand and 2 links from pronouns to names"


def test_an_edit_past_the_end_keeps_its_distance() -> None:
    later = with_text(PLAIN, "mixed[0, 4, 0] = 1")
    (edit,) = main_site(later).edits
    past = put(later, replace(main_site(later), edits=(replace(edit, position=6),)))
    assert main_site(set_tokens(past, ("oh", *TOKENS))).edits[0].position == 7
    assert main_site(remove_token(past, 0)).edits[0].position == 5


def test_keys_of_a_memory_move_with_the_memory_alone() -> None:
    crossed = replace(PLAIN, memory=Memory(("le", "chat"), SeededVectors(2, 8)))
    crossed = with_text(with_text(crossed, "scores[0, 2, 1] = 3"), "k[0, 1, 0] = 2")
    moved = set_tokens(crossed, ("oh", "le", "chat"), "memory")
    assert [as_text(edit) for _site, edit in all_edits(moved)] == ["scores[0, 2, 2] = 3", "k[0, 2, 0] = 2"]
    moved = remove_token(crossed, 0)
    assert [as_text(edit) for _site, edit in all_edits(moved)] == ["scores[0, 1, 1] = 3", "k[0, 1, 0] = 2"]
    assert not all_edits(remove_token(crossed, 1, "memory"))


def test_a_column_of_the_similarity_follows_its_text() -> None:
    read = with_text(replace(PLAIN, readout="similarity"), "logits[4, 1] = 5")
    moved = remove_token(read, 0)
    assert [as_text(edit) for _site, edit in all_edits(moved)] == ["logits[3, 0] = 5"]


@pytest.mark.parametrize(
    ("old", "new", "moved"),
    [
        ("abc", "abc", [0, 1, 2]),
        ("abc", "xabc", [1, 2, 3]),
        ("abc", "axc", [0, 1, 2]),
        ("abc", "axyc", [0, None, 3]),
        ("aab", "ab", [0, None, 1]),
        ("abcd", "xycd", [0, 1, 2, 3]),
        ("ab", "xyz", [None, None]),
    ],
)
def test_tokens_of_two_texts(old: str, new: str, moved: list[Any]) -> None:
    assert list(moved_by_text(old, new)) == moved


def test_a_run_counts_the_stages_that_it_keeps_twice() -> None:
    assert edited_shapes(main_site(EDITED), 5, 5) == {"mixed": (2, 5, 4), "scores": (2, 5, 5)}
    more = estimate(EDITED, 4).bytes - estimate(PLAIN, 4).bytes
    trace = attnviz.run(PLAIN)
    assert more == trace["mixed"].astype(np.float32).nbytes + trace["scores"].astype(np.float32).nbytes
    assert any(line.label == "stages before their edits" for line in estimate(EDITED, 4).lines)


def test_the_shell_says_that_an_edit_went_with_its_token(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = load_preset("stories-en")
    edited = with_text(model.experiment, "layers.0.self.mixed[0, 2, 0] = 1")
    path = tmp_path / "edited.safetensors"
    save(replace(model, experiment=edited), path)
    assert main(["run", str(path), "--text", "Tom", "--stages", "weights"]) == 0
    assert "Numbers by hand removed with their tokens: 1" in capsys.readouterr().err
