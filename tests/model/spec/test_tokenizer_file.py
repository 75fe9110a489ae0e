"""A model's own tokenizer.json in a document: the package's ids, its text back, and nothing that it lacks."""

from __future__ import annotations

import json
import sys
import tracemalloc
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attnviz.model.edit import edits
from attnviz.model.io.files import load, save
from attnviz.model.operands.matrices import vectors_array
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import ExplicitVectors
from attnviz.model.spec.tokenizer_file import TokenizerFile, kept_text
from attnviz.model.spec.vocabulary import Vocabulary
from attnviz.model.text import join_text, likely_splitting, split_text, splittings

TEXTS = ("the cat sat", "12 cats", "a xylophonic mat", "the hats")


def made(kind: str) -> Any:
    """A small tokenizer of one of the ways that only the package has, padded to 32 and cut at 3."""
    return pytest.importorskip("tokenizers").Tokenizer.from_str(trained(kind))


@cache  # trained anew, a tokenizer may number its tokens in another order
def trained(kind: str) -> str:
    tokenizers = pytest.importorskip("tokenizers")
    from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

    words = ["the cat sat on the mat", "a hat is on that cat", "12 cats in 34 hats"] * 9
    letters = list("abcdefghijklmnopqrstuvwxyz0123456789")
    ends = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]
    if kind == "wordpiece":
        tokenizer = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer()
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece()
        inside = ["##" + letter for letter in letters]
        trainer = trainers.WordPieceTrainer(
            vocab_size=140, special_tokens=ends, initial_alphabet=letters, show_progress=False
        )
        tokenizer.train_from_iterator(words, trainer)
        tokenizer.add_tokens(inside)
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
        )
    elif kind == "unigram":
        tokenizer = tokenizers.Tokenizer(models.Unigram())
        tokenizer.pre_tokenizer = tokenizer.decoder = None
        tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=80,
            special_tokens=ends,
            unk_token="[UNK]",
            initial_alphabet=letters,
            show_progress=False,
        )
        tokenizer.train_from_iterator(words, trainer)
    else:
        tokenizer = tokenizers.Tokenizer(models.BPE())
        cut = pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        )
        tokenizer.pre_tokenizer, tokenizer.decoder = cut, decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=320, special_tokens=ends, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )  # fmt: skip
        tokenizer.train_from_iterator(words, trainer)
    tokenizer.enable_padding(length=32, pad_id=0, pad_token="[PAD]")
    tokenizer.enable_truncation(3)
    return str(tokenizer.to_str())


def plain(kind: str) -> Any:
    """The same tokenizer as a program has it that reads one text."""
    tokenizer = made(kind)
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def experiment(tokenizer: Any) -> Experiment:
    vocabulary = tokenizer.get_vocab()
    tokens = tuple(sorted(vocabulary, key=vocabulary.__getitem__))
    rows = np.random.default_rng(0).standard_normal((len(tokens), 4))
    known = Vocabulary(tokens, Matrix(rows), tokenizer=kept_text(json.loads(tokenizer.to_str())))
    return Experiment((tokens[5],), ExplicitVectors(Matrix(rows[5:6])), vocabulary=known)


KINDS = ("wordpiece", "unigram", "digits")


@pytest.mark.parametrize("kind", KINDS)
def test_the_text_line_makes_the_tokens_that_the_package_makes(kind: str) -> None:
    wanted, there = plain(kind), experiment(made(kind))
    assert splittings(there)[0].id == "model"
    for text in TEXTS:
        tokens = split_text(there, text, "model")
        assert list(tokens) == wanted.encode(text).tokens
        changed = edits.set_tokens(there, tokens)
        known = there.vocabulary
        assert known is not None
        rows = known.embedding.array[wanted.encode(text).ids]
        np.testing.assert_array_equal(vectors_array(changed.vectors), rows)
        assert likely_splitting(changed) == "model"


@pytest.mark.parametrize("kind", KINDS)
def test_the_text_of_the_tokens_is_the_one_that_was_read(kind: str) -> None:
    there = experiment(made(kind))
    for text in ("the cat sat", "12 cats", "the hats"):
        assert join_text(there, split_text(there, text, "model"), "model") == text


@pytest.mark.parametrize("kind", KINDS)
def test_a_word_in_the_middle_is_cut_as_the_model_would(kind: str) -> None:
    wanted, there = plain(kind), experiment(made(kind))
    renamed = edits.rename_token(there, 0, "xylophonic")
    assert list(renamed.tokens) == wanted.encode("xylophonic", add_special_tokens=False).tokens
    assert there.vocabulary is not None and set(renamed.tokens) <= set(there.vocabulary.tokens)
    for way in ("word", "character"):
        assert set(split_text(there, "the cat", way)) <= set(there.vocabulary.tokens)


def test_a_saved_document_keeps_the_tokenizer(tmp_path: Path) -> None:
    there = experiment(made("wordpiece"))
    opened = load(save(Document(there), tmp_path / "d.json")).experiment
    assert opened.vocabulary == there.vocabulary
    assert split_text(opened, "the hats", "model") == split_text(there, "the hats", "model")


def test_bytes_are_written_and_shown_as_bytes() -> None:
    there = experiment(made("digits"))
    assert there.vocabulary is not None and there.vocabulary.tokenizer is not None
    file = TokenizerFile(there.vocabulary.tokens, there.vocabulary.tokenizer)
    one = file.byte_id(0xC3)
    assert one is not None and file.shown(one) == "⟨C3⟩" and file.token_bytes(one) == b"\xc3"
    assert file.shown(file.encode("the cat")[1]) == " cat"


def test_without_the_package_a_text_is_refused_and_a_token_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    there = experiment(made("unigram"))
    monkeypatch.setattr("attnviz.model.spec.tokenizer_file.can_encode", lambda: False)
    assert there.vocabulary is not None and there.vocabulary.tokenizer is not None
    tokens = there.vocabulary.tokens
    other = Vocabulary(
        tokens, there.vocabulary.embedding, tokenizer=there.vocabulary.tokenizer.replace("{", "{ ", 1)
    )
    alone = Experiment(there.tokens, there.vectors, vocabulary=other)
    with pytest.raises(ValueError, match=r"needs the package tokenizers \(pip install attnviz\[models\]\)"):
        split_text(alone, "the cat", "model")
    assert edits.rename_token(alone, 0, tokens[7]).tokens == (tokens[7],)


@pytest.mark.parametrize("text", ["{}", '{"model": 1.5}', '{"model": {"type": "BPE", "vocab": {"a": 0.5}}}'])
def test_what_is_no_tokenizer_is_refused_in_a_sentence(text: str) -> None:
    pytest.importorskip("tokenizers")
    with pytest.raises(
        ValueError,
        match=r"The file must be a tokenizer as the package tokenizers "
        r"writes it; got something else\.",
    ):
        TokenizerFile(("a",), text).encode("a")


def test_an_id_past_the_vocabulary_is_refused() -> None:
    text = kept_text(json.loads(made("unigram").to_str()))
    assert text is not None
    with pytest.raises(
        ValueError,
        match=r"vocabulary\.tokenizer must give ids below 2, the size of "
        r"the vocabulary; got 8\.",
    ):
        TokenizerFile(("a", "b"), text).encode("the cat")


def test_a_field_that_is_no_file_is_refused() -> None:
    with pytest.raises(
        ValueError,
        match=r"vocabulary\.tokenizer must be the text of a "
        r"tokenizer\.json of at most 12,582,912 characters; got 'words'\.",
    ):
        Vocabulary(("a",), Matrix([[1.0]]), tokenizer="words")


def test_the_data_of_a_tokenizer_are_not_kept_beside_its_text() -> None:
    """A vocabulary of 49,152 tokens took 16 MB more as objects, as long as the document was open."""
    tokens = tuple(f"token {one}" for one in range(10_000))
    model = {"vocab": {token: one for one, token in enumerate(tokens)}}
    data = {"model": model, "decoder": {"type": "ByteLevel"}, "added_tokens": []}
    tracemalloc.start()
    try:
        read = TokenizerFile(tokens, json.dumps(data))
        before = tracemalloc.get_traced_memory()[0]
        assert read.token_bytes(1) and not read.has("another")
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    # The ids by token, and nothing of the size of the vocabulary beside them.
    assert taken < 1.2 * sys.getsizeof(read._ids) + 32 * len(tokens)


FORMS = (
    "{", "[]", '{"added_tokens": 7}', '{"added_tokens": [{"id": 1}]}', '{"decoder": {"type": []}}',
    '{"post_processor": {"type": "TemplateProcessing", "single": []}}', '{"normalizer": 3}',
    '{"post_processor": {"type": "BertProcessing"}}', '{"pre_tokenizer": {"type": "Metaspace", '
    '"prepend_scheme": []}}', "[" * 100_000,
)  # fmt: skip


@pytest.mark.parametrize("text", FORMS)
def test_tokens_are_shown_whatever_the_form_of_the_tokenizer(text: str) -> None:
    """A document may hold any text there; its tokens are shown, and no text is encoded."""
    file = TokenizerFile(("a", "b"), text)
    assert file.join(("a", "b")) == "a b" and file.shown(0) == "a" and file.token_bytes(1) == b"b"
    pytest.importorskip("tokenizers")
    with pytest.raises(ValueError, match="must be a tokenizer as the package tokenizers writes it"):
        file.encode("a")
