"""Vocabularies from tokenizer.json, for typed texts: the library gives the same ids."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from attnviz import resources
from attnviz.checkpoints.pieces import FORM_FAULTS, read_begin, read_pieces
from attnviz.checkpoints.reader import Checkpoint, CheckpointError
from attnviz.checkpoints.texts import read_tokens, token_ids
from attnviz.core.piece_kinds import byte_token

TEXTS = ("the cat's  hat", " the", "你好 🦊", "", "x\n\ny", "nothing but words")
BOX = resources.path("models", "stories", "tokenizer.json")


def written(folder: Path, **parts: Any) -> Path:
    """A tokenizer.json of the library's own writing, trained on a few words."""
    tokenizers = pytest.importorskip("tokenizers")
    from tokenizers import models, pre_tokenizers, trainers

    bytes_there = [byte_token(byte) for byte in range(256)]
    made = tokenizers.Tokenizer(models.BPE(byte_fallback="metaspace" in parts, unk_token=None))
    for name, part in parts.items():
        if name != "metaspace":
            setattr(made, name, part)
    special = ["<s>", "</s>", *(bytes_there if "metaspace" in parts else ())]
    alphabet = [] if "metaspace" in parts else pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=560, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator(["the cat sat on the hat", "nothing but other words"] * 5, trainer)
    data = json.loads(made.to_str())
    data["added_tokens"] = data["added_tokens"][:2]
    (folder / "tokenizer.json").write_text(json.dumps(data), encoding="utf-8")
    return folder


def forms() -> dict[str, dict[str, Any]]:
    """The ways in which published tokenizers of the two kinds are written."""
    if not pytest.importorskip("tokenizers"):
        return {}
    from tokenizers import normalizers, pre_tokenizers, processors

    begin = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    replace = normalizers.Replace(" ", "▁")
    return {
        "prepend and replace": {
            "metaspace": True,
            "normalizer": normalizers.Sequence([normalizers.Prepend("▁"), replace]),
            "post_processor": begin,
        },
        "replace": {"metaspace": True, "normalizer": replace},
        "replace and split": {
            "metaspace": True,
            "normalizer": replace,
            "pre_tokenizer": pre_tokenizers.Split(" ", "merged_with_previous"),
        },
        "metaspace": {
            "metaspace": True,
            "pre_tokenizer": pre_tokenizers.Metaspace(prepend_scheme="first", split=False),
            "post_processor": begin,
        },
        "byte level": {"pre_tokenizer": pre_tokenizers.ByteLevel(add_prefix_space=False)},
        "byte level, space first": {
            "pre_tokenizer": pre_tokenizers.ByteLevel(add_prefix_space=True),
            "post_processor": processors.Sequence([processors.ByteLevel(), begin]),
        },
    }


FORMS = (
    "prepend and replace",
    "replace",
    "replace and split",
    "metaspace",
    "byte level",
    "byte level, space first",
)


@pytest.mark.parametrize("form", FORMS)
def test_the_library_reads_the_same_file_alike(tmp_path: Path, form: str) -> None:
    folder = written(tmp_path, **forms()[form])
    library = pytest.importorskip("tokenizers").Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokens = read_tokens(Checkpoint(folder, {"eos_token_id": [1, 0]}, {}), library.get_vocab_size())
    assert tokens.pieces is not None and tokens.pieces.special == ("<s>", "</s>")
    assert tokens.end == "</s>" and tokens.begin == ("<s>" if "post_processor" in forms()[form] else None)
    for text in TEXTS:
        expected = tuple(library.encode(text).ids)
        if not expected:
            continue  # no ids at all are refused
        assert token_ids(tokens, text, None, "ids") == expected, text


def test_the_tokenizer_in_the_box_begins_with_what_the_configuration_says() -> None:
    config = {"bos_token_id": 0, "eos_token_id": 1}
    size = len(json.loads(BOX.read_text(encoding="utf-8"))["model"]["vocab"])
    tokens = read_tokens(Checkpoint(BOX.parent, config, {}), size)
    assert tokens.pieces is not None and tokens.pieces.kind == "words" and tokens.pieces.whole_words
    assert (tokens.begin, tokens.end) == ("<|begin|>", "<|end|>")
    ids = token_ids(tokens, "Anna saw", None, "ids")
    assert [tokens.texts[one] for one in ids] == ["<|begin|>", "Anna", " saw"]


def test_another_kind_needs_the_library(tmp_path: Path) -> None:
    data = json.loads(BOX.read_text(encoding="utf-8"))
    names = tuple(data["model"]["vocab"])
    assert read_pieces(data, names) is not None
    split = {**data["pre_tokenizer"], "pattern": {"Regex": "(a+)+$"}}
    for changes in (
        {"pre_tokenizer": split},
        {"normalizer": {"type": "NFC"}},
        {"model": {**data["model"], "type": "Unigram"}},
        {"model": {**data["model"], "end_of_word_suffix": "</w>"}},
        {"model": {**data["model"], "dropout": 0.1}},
    ):
        assert read_pieces({**data, **changes}, names) is None
    fewer = tuple(name for name in names if name != "<0xE4>")
    assert read_pieces(data, fewer) is None  # no text with that byte could be read


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("normalizer", 3),
        ("pre_tokenizer", "words"),
        ("post_processor", [1]),
        ("post_processor", {"type": "TemplateProcessing", "single": []}),
        ("added_tokens", 7),
    ],
)
def test_a_file_of_another_form_is_refused_in_a_sentence(tmp_path: Path, key: str, value: Any) -> None:
    data = json.loads(BOX.read_text(encoding="utf-8")) | {key: value}
    (tmp_path / "tokenizer.json").write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(
        CheckpointError,
        match=r"tokenizer\.json: The file must be a tokenizer as the package tokenizers writes it; "
        r"got something else\.",
    ):
        read_tokens(Checkpoint(tmp_path, {}, {}), 10)
    assert issubclass(ValueError, FORM_FAULTS)


@pytest.mark.parametrize("ids", [True, "1", -1, 10, [], [None], None])
def test_an_end_that_is_no_id_is_none(tmp_path: Path, ids: Any) -> None:
    assert read_tokens(Checkpoint(tmp_path, {"eos_token_id": ids, "bos_token_id": ids}, {}), 10).end is None
    assert read_begin({}) is None
