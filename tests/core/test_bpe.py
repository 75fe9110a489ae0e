"""Byte-pair encoding: a library makes the same ids, and no byte is shown as what it is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz.core.bpe import BytePairs, merged, shown_bytes
from attnviz.core.piece_kinds import ALPHABET, SPACE, TEXT_BYTES, WORDS, byte_token

LEARNT_FROM = [
    "Once upon a time, there was a little girl named Lily. She'd found 12 red apples; it's a lot!",
    "the cat sat on the mat, and the dog sat on the cat, they're low lower lowest newest widest",
    "从前，有一个女孩，名字叫小红。小红很喜欢红苹果，小红说：“你好！”",
    "naïve café Ünïcödé Привет мир 日本語 한국어 🦊🦊 🤖",
] * 3

TEXTS = [
    "",
    " ",
    "   ",
    "the cat",
    " the cat",
    "  the   cat  ",
    "the\ncat\n\n  sat\t\tdown \r\n x",
    "It's what they'LL do, isn't it? 'tis '90s don't''s",
    "1234567890 12,345.67 x2y3 ½ Ⅷ ② ٣",
    "你好，世界！小红说：“我有两个苹果。”",
    "日本語テキスト 한국어 𠀀𠮷 Привет",
    "🦊 👩‍👩‍👧 🇨🇳 é é naïve \u00a0 nbsp \u3000 wide \u2028 line",
    "\x00\x01\x1c\x1f\x7f\x85",
    "<|end|> ▁▁ Ġ <0xE4> def __init__(self):\n    return  None",
    "\ufffd\ufeff",
]

_ONE = st.characters(exclude_categories=["Cs", "Cn"])
ANY_TEXT = st.text(_ONE, max_size=60) | st.text("ab 's12\n\t好的é🦊 ▁Ġ", max_size=60)


def library_for(kind: str, leading: str = "never") -> Any:
    """A small tokenizer of the library's own training, set up as checkpoints of that kind are."""
    tokenizers = pytest.importorskip("tokenizers")
    from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

    byte_tokens = [byte_token(byte) for byte in range(256)]
    if kind == "byte_level":
        made = tokenizers.Tokenizer(models.BPE())
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=leading == "unless_there")
        made.decoder = decoders.ByteLevel()
        alphabet, special = pre_tokenizers.ByteLevel.alphabet(), ["<|end|>"]
    else:
        made = tokenizers.Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
        replace = normalizers.Replace(" ", SPACE)
        parts = [normalizers.Prepend(SPACE), replace] if leading == "always" else [replace]
        made.normalizer = normalizers.Sequence(parts)
        made.decoder = decoders.Sequence(
            [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
        )
        alphabet, special = [], ["<unk>", *byte_tokens]
        if leading == "unless_there":
            made.normalizer = None
            made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    trainer = trainers.BpeTrainer(
        vocab_size=700,
        initial_alphabet=alphabet,
        special_tokens=special,
        limit_alphabet=300 if alphabet else 60,
        show_progress=False,
    )
    texts = (
        [word for text in LEARNT_FROM for word in text.split(" ")] if kind != "byte_level" else LEARNT_FROM
    )
    made.train_from_iterator([f" {t}" for t in texts], trainer)
    # The characters of a text are text: no special token is searched for in it.
    data = json.loads(made.to_str())
    data["added_tokens"] = []
    return tokenizers.Tokenizer.from_str(json.dumps(data))


def ours_for(library: Any, kind: str, leading: Any, whole: bool = False) -> BytePairs:
    data = json.loads(library.to_str())["model"]
    tokens = tuple(sorted(data["vocab"], key=data["vocab"].__getitem__))
    merges = tuple((left, right) for left, right in data["merges"])
    special = frozenset({"<unk>", "<|end|>"} & set(tokens))
    return BytePairs(tokens, merges, kind, whole, leading, special)


SETUPS = (
    ("byte_level", "never"),
    ("byte_level", "unless_there"),
    ("metaspace", "never"),
    ("metaspace", "always"),
    ("metaspace", "unless_there"),
)


@pytest.fixture(scope="module", params=SETUPS, ids=["-".join(setup) for setup in SETUPS])
def both(request: pytest.FixtureRequest) -> tuple[Any, BytePairs]:
    kind, leading = request.param
    library = library_for(kind, leading)
    return library, ours_for(library, kind, leading)


def test_the_library_makes_the_same_ids(both: tuple[Any, BytePairs]) -> None:
    library, ours = both
    assert len(ours.merges) > 100
    for text in (*TEXTS, *LEARNT_FROM, " ".join(LEARNT_FROM)):
        assert ours.encode(text) == library.encode(text).ids, text


@settings(max_examples=150, deadline=None)
@given(text=ANY_TEXT)
def test_the_library_makes_the_same_ids_of_any_text(both: tuple[Any, BytePairs], text: str) -> None:
    library, ours = both
    assert ours.encode(text) == library.encode(text).ids


@settings(max_examples=150, deadline=None)
@given(text=ANY_TEXT)
def test_every_text_comes_back(both: tuple[Any, BytePairs], text: str) -> None:
    _library, ours = both
    expected = text.replace(SPACE, " ") if ours.kind == "metaspace" else text
    if ours.leading_space == "unless_there" and expected[:1] == " ":
        expected = expected[1:]  # the space that is put before other texts
    assert ours.decode(ours.encode(text)) == expected
    assert "\ufffd" not in "".join(map(ours.shown, ours.encode(text.replace("\ufffd", ""))))


def test_whole_words_come_before_merges() -> None:
    tokens = ("a", "b", "c", "ab", "bc", "abc", *map(byte_token, range(256)))
    merges = (("b", "c"), ("a", "b"))
    assert [tokens[i] for i in BytePairs(tokens, merges, "words").encode("abc")] == ["a", "bc"]
    assert [tokens[i] for i in BytePairs(tokens, merges, "words", True).encode("abc")] == ["abc"]
    special = BytePairs(tokens, merges, "words", True, special=frozenset({"abc"}))
    assert [tokens[i] for i in special.encode("abc")] == ["a", "bc"] and special.token_bytes(5) == b""


def test_words_have_their_space_before_them() -> None:
    tokens = (*map(chr, range(0x20, 0x7F)), *map(byte_token, range(256)))
    made = BytePairs(tokens, (), "words")
    found = [made.shown(i) for i in made.encode('A "b" 1')]
    assert "".join(found) == 'A "b" 1'
    import re

    assert re.findall(WORDS, 'It is 12 "é"\n') == ["It", " is", " 1", "2", ' "', "é", '"', "\n"]


def test_a_piece_of_a_character_is_shown_as_its_bytes() -> None:
    tokens = tuple(ALPHABET) + ("ä½",)
    made = BytePairs(tokens, (("ä", "½"),), "byte_level")
    ids = made.encode("你")
    assert [made.shown(i) for i in ids] == ["⟨E4⟩⟨BD⟩", "⟨A0⟩"]
    assert [made.token_bytes(i) for i in ids] == [b"\xe4\xbd", b"\xa0"]
    assert made.decode(ids) == "你" and made.decode(ids[:1]) == "⟨E4⟩⟨BD⟩"
    assert shown_bytes(b"a\xe4\xbd\xa0\xe4\xbdb\xff") == "a你⟨E4⟩⟨BD⟩b⟨FF⟩"


def test_control_characters_are_shown_as_bytes() -> None:
    made = BytePairs(tuple(ALPHABET), (), "byte_level")
    assert [made.shown(i) for i in made.encode("\0\t\n\x7f ")] == ["⟨00⟩", "⟨09⟩", "\n", "⟨7F⟩", " "]


@pytest.mark.parametrize("kind", ["words", "metaspace", "byte_level"])
def test_half_a_surrogate_pair_is_refused_in_one_sentence(kind: str) -> None:
    tokens = tuple(ALPHABET) if kind == "byte_level" else tuple(map(byte_token, range(256)))
    with pytest.raises(
        ValueError, match=r"text must consist of whole characters; got U\+D83E, half of a character\."
    ):
        BytePairs(tokens, (), kind).encode("a\ud83e")


def test_what_could_not_encode_every_text_is_refused() -> None:
    every = tuple(map(byte_token, TEXT_BYTES))
    with pytest.raises(
        ValueError, match=r"merges\[0\] must join tokens of the vocabulary into one of them; got 'ab'\."
    ):
        BytePairs((*every, "a", "b"), (("a", "b"),), "words")
    with pytest.raises(
        ValueError, match=r"tokens must have a token for every byte of a text; got none for the byte F4\."
    ):
        BytePairs(every[:-1], (), "words")
    with pytest.raises(ValueError, match=r"token id must be a whole number from 0 to 242; got -1\."):
        BytePairs(every, (), "words").token_bytes(-1)


def test_merging_is_quick_however_long_the_text_is() -> None:
    """300,000 parts: with a search through all pairs for every merge this would take hours."""
    ranks = {("a", "a"): 0, ("aa", "aa"): 1, ("aaaa", "aaaa"): 2}
    assert merged("a" * 300_000, ranks) == ["a" * 8] * 37_500


def test_the_leftmost_of_equal_pairs_is_merged_first() -> None:
    assert merged("aaa", {("a", "a"): 0}) == ["aa", "a"]
    assert merged("abab", {("b", "a"): 1, ("a", "b"): 0}) == ["ab", "ab"]


def test_stories_ids_are_the_reference() -> None:
    folder = Path(__file__).parents[3] / "shared" / "models" / "stories260k"
    if not folder.is_dir():
        pytest.skip("the small trained models are not there")
    import numpy as np

    data = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    tokens = tuple(sorted(data["vocab"], key=data["vocab"].__getitem__))
    merges = tuple((left, right) for left, right in data["merges"])
    special = frozenset({"<unk>", "<s>", "</s>"})
    made = BytePairs(tokens, merges, "metaspace", leading_space="always", special=special)
    reference = np.load(folder / "reference.npz")
    assert [1, *made.encode(str(reference["prompt"]))] == reference["ids"].tolist()
    assert made.decode(reference["greedy"].tolist()) == str(reference["greedy_text"]).removeprefix("<s> ")
