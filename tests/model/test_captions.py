"""Captions: the words that refer to tokens, and the tokens that they find."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from attnviz.errors import InputError
from attnviz.model.captions import Anchor, Piece, check_links, pieces, plain_caption
from attnviz.model.io.files import dumps, loads
from attnviz.model.io.presets import PRESETS, Preset, load_preset, preset_ids

SHE = ("<|begin|>", "By", " the", " lake", " Lily", " met", " Tom", ".", " Tom", "s", ":", " she")

READ = {
    "": (),
    "No link at all (really).": (Piece("No link at all (really)."),),
    "At [she], [Lily](key).": (
        Piece("At "),
        Piece("she", Anchor("query", "she")),
        Piece(", "),
        Piece("Lily", Anchor("key", "Lily")),
        Piece("."),
    ),
    "[the three](key cat)": (Piece("the three", Anchor("key", "cat")),),
    "[here](query 3)[x](see below)": (
        Piece("here", Anchor("query", "here", 3)),
        Piece("x", Anchor("query", "x")),
        Piece("(see below)"),
    ),
    "[[MASK]] \\[x\\] \\\\ [": (Piece("[MASK]", Anchor("query", "[MASK]")), Piece(" [x] \\ [")),
    "[] <b>[a](key )": (Piece("[] <b>"), Piece("a", Anchor("query", "a")), Piece("(key )")),
    "[她](query)说": (Piece("她", Anchor("query", "她")), Piece("说")),
}


@pytest.mark.parametrize("caption", READ)
def test_links_are_read_and_all_else_is_text(caption: str) -> None:
    assert pieces(caption) == READ[caption]
    assert plain_caption(caption) == "".join(piece.text for piece in READ[caption])


FOUND = (
    (Anchor("query", "she"), 11),
    (Anchor("key", "Lily"), 4),
    (Anchor("query", "Tom"), 8),
    (Anchor("key", "Tom"), 6),
    (Anchor("key", "Toms"), 9),
    (Anchor("key", "the lake"), 3),
    (Anchor("query", "he"), None),
    (Anchor("query", "anything", 11), 11),
    (Anchor("query", "anything", 12), None),
)


@pytest.mark.parametrize(("anchor", "position"), FOUND)
def test_an_anchor_finds_its_token(anchor: Anchor, position: int | None) -> None:
    assert anchor.position_in(SHE) == position


def test_of_equal_tokens_the_query_is_the_last_and_the_key_the_first() -> None:
    cats = ("cat", " dog", " cat", " cat")
    assert Anchor("query", "cat").position_in(cats) == 3
    assert Anchor("key", "cat").position_in(cats) == 0


ZH = tuple("佳佳看大伟她")
CHANGED = (
    (Anchor("key", "佳佳", 0), "佳佳看大伟他", 0, False),
    (Anchor("key", "佳佳", 0), "小明看大伟她", None, True),
    (Anchor("key", "大伟", 3), "佳看大伟她", None, True),
    (Anchor("key", "大伟", 3), "佳佳", None, True),
    (Anchor("query", "她"), "小佳佳看大伟她", 6, False),
    (Anchor("query", "她"), "佳佳看大伟他", None, True),
    (
        Anchor("query", "它"),
        "佳佳看大伟它",
        5,
        False,
    ),  # a word that comes is found, one that never was is not lost
    (Anchor("query", "谁"), "佳佳看大伟它", None, False),
)


@pytest.mark.parametrize(("anchor", "text", "position", "is_lost"), CHANGED)
def test_a_link_lives_while_its_token_stands_where_it_points(
    anchor: Anchor, text: str, position: int | None, *, is_lost: bool
) -> None:
    assert anchor.live_in(tuple(text), ZH) == position
    assert anchor.has_lost(tuple(text), ZH) == is_lost


def test_a_word_that_the_caption_offers_to_type_is_no_loss() -> None:
    she = Anchor("query", "她")
    assert not she.has_lost(tuple("佳佳看大伟他"), ZH, ("他",))
    assert she.has_lost(tuple("佳佳看大伟它"), ZH, ("他",))
    assert she.has_lost(tuple("佳佳"), ZH, ("他",))


@pytest.mark.parametrize("part", ["[", "[a", "[[", "[a]", "]", "\\", "[a][", "(key"])
def test_a_long_hostile_caption_is_read_in_time_that_grows_with_its_length(part: str) -> None:
    assert len(plain_caption(part * 50_000)) > 0


@pytest.mark.parametrize("preset", PRESETS, ids=preset_ids())
def test_every_link_of_a_preset_leads_somewhere(preset: Preset) -> None:
    check_links(preset.description)
    check_links(load_preset(preset.id).caption)


@pytest.mark.parametrize(
    ("written", "word", "target"),
    [
        ("Turn [T = 4](temperature 4) up.", "T = 4", "temperature 4"),
        ("[she] and [x](set)", "x", "set"),
        ("[the page](https://example.org)", "the page", "https://example.org"),
    ],
)
def test_a_stray_target_is_refused_where_it_is_written_and_text_where_it_is_read(
    written: str, word: str, target: str
) -> None:
    with pytest.raises(InputError) as raised:
        check_links(written)
    assert f"The link of '{word}' must be query, key" in str(raised.value)
    assert f"; got '{target}'." in str(raised.value)
    document = replace(load_preset("toy-attention"), caption=written)
    assert loads(dumps(document)) == document
    assert f"{word}({target})" in plain_caption(written)


@pytest.mark.parametrize(
    "written", ["[she] (Lily)", r"\[she](Lily)", "f(x) and [Lily](key)(!)", "[T](set temperature 4)"]
)
def test_what_is_no_target_stays_text(written: str) -> None:
    check_links(written)
