"""The tokenizer: every text comes back, nothing is shown as what it is not, and a library agrees."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from make import corpus
from make.grammar import documents
from make.tokenizer import BEGIN, END, Tokenizer, load, train

from attnviz import resources

FILE = resources.path("models", "stories", "tokenizer.json")
TEXTS = st.text() | st.text('ab 好的\n"7é🦊<|end|>', max_size=40)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return load(FILE)


@given(text=TEXTS)
def test_every_text_comes_back(text: str) -> None:
    tokenizer = _SHIPPED
    ids = tokenizer.encode(text)
    assert b"".join(map(tokenizer.token_bytes, ids)) == text.encode()
    assert tokenizer.decode(ids) == text


@given(text=st.text(st.characters(categories=["Cs"]), min_size=1))
def test_lone_surrogates_are_refused(text: str) -> None:
    with pytest.raises(
        ValueError, match=r"text must consist of whole characters; got U\+D[89A-F]..?.?, half of a character"
    ):
        _SHIPPED.encode(text)


@given(ids=st.lists(st.integers(0, 1000)))
def test_pieces_of_characters_are_never_replacement_characters(ids: list[int]) -> None:
    assert "\ufffd" not in _SHIPPED.decode(ids)
    assert not any("\ufffd" in _SHIPPED.text(one) for one in ids)


def test_no_token_is_shown_as_the_replacement_character(tokenizer: Tokenizer) -> None:
    for one in range(len(tokenizer)):
        assert "\ufffd" not in tokenizer.text(one)
        assert tokenizer.text(one) in (BEGIN, END) or tokenizer.token_bytes(one)


def test_a_character_outside_the_vocabulary_is_its_bytes(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("🦊")
    assert [tokenizer.text(one) for one in ids] == ["⟨F0⟩", "⟨9F⟩", "⟨A6⟩", "⟨8A⟩"]
    assert [tokenizer.token_bytes(one) for one in ids] == [b"\xf0", b"\x9f", b"\xa6", b"\x8a"]
    assert tokenizer.decode(ids[:3]) == "⟨F0⟩⟨9F⟩⟨A6⟩"
    assert tokenizer.decode([*ids[1:], *ids]) == "⟨9F⟩⟨A6⟩⟨8A⟩🦊"


def test_a_control_character_is_shown_as_its_byte(tokenizer: Tokenizer) -> None:
    assert [tokenizer.text(one) for one in tokenizer.encode("\0\t\n\x7f")] == ["⟨00⟩", "⟨09⟩", "\n", "⟨7F⟩"]


def test_the_replacement_character_itself_is_text(tokenizer: Tokenizer) -> None:
    assert tokenizer.decode(tokenizer.encode("\ufffd")) == "\ufffd"


def test_words_and_characters_are_whole(tokenizer: Tokenizer) -> None:
    assert [tokenizer.text(one) for one in tokenizer.encode("Anna saw the red fox.")] == [
        "Anna", " saw", " the", " red", " fox", ".",
    ]  # fmt: skip
    assert [tokenizer.text(one) for one in tokenizer.encode("小明有书。")] == ["小", "明", "有", "书", "。"]


def test_special_tokens_have_no_bytes_and_no_text_makes_them(tokenizer: Tokenizer) -> None:
    assert (tokenizer.text(tokenizer.begin), tokenizer.text(tokenizer.end)) == (BEGIN, END)
    assert tokenizer.token_bytes(tokenizer.begin) == b""
    assert tokenizer.decode([tokenizer.begin, *tokenizer.encode("hi"), tokenizer.end]) == "hi"
    assert not {tokenizer.begin, tokenizer.end} & set(tokenizer.encode(BEGIN + END))


@pytest.mark.parametrize("one", [-1, 10**6])
def test_an_id_outside_the_vocabulary_is_refused(tokenizer: Tokenizer, one: int) -> None:
    with pytest.raises(
        ValueError, match=rf"token id must be a whole number from 0 to {len(tokenizer) - 1:,}; got {one}"
    ):
        tokenizer.token_bytes(one)
    with pytest.raises(ValueError, match="token id"):
        tokenizer.decode([one])


def test_the_tokenizers_library_reads_the_file_and_agrees(tokenizer: Tokenizer) -> None:
    library = pytest.importorskip("tokenizers").Tokenizer.from_file(str(FILE))
    texts = [document.text for document in islice(documents(corpus.LANGUAGES, "held_out", 3), 400)]
    texts += [
        "Yesterday I saw  3 strange machines; 你好，世界！𠀀 naïve\tcafé 🦊\r\n",
        "",
        " ",
        "日本語 text",
    ]
    for text in texts:
        ids = tokenizer.encode(text)
        assert library.encode(text).ids == ids
        assert library.decode(ids) == text


def test_saved_and_loaded_it_is_the_same(tokenizer: Tokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path / "tokenizer.json")
    assert load(tmp_path / "tokenizer.json") == tokenizer
    assert (tmp_path / "tokenizer.json").read_bytes() == FILE.read_bytes()


def test_merges_take_the_commonest_pair_first() -> None:
    """low × 5, lower × 2, newest × 6, widest × 3: the example of Sennrich et al. 2016, without word ends."""
    words = [" low"] * 5 + [" lower"] * 2 + [" newest"] * 6 + [" widest"] * 3
    learnt = train(["".join(words)], n_words=0, n_merges=4)
    # Words seen fewer than four times teach nothing, so `lower` and `widest` do not count.
    assert learnt.merges == ((" ", "n"), (" n", "e"), (" ne", "w"), (" new", "e"))
    assert [learnt.text(one) for one in learnt.encode(" newest")] == [" newe", "s", "t"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{}", "must be a tokenizer"),
        ("[1]", "must be a tokenizer"),
        ("not JSON", "must be a tokenizer"),
        ('{"model": {"vocab": {"a": 1}, "merges": []}}', "must have the ids 0, 1, 2"),
        ('{"model": {"vocab": {"a": 0}, "merges": []}}', "vocabulary must contain every byte"),
    ],
)
def test_a_file_that_holds_something_else_is_refused(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "tokenizer.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        load(file)


_SHIPPED = load(FILE)
