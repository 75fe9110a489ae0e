"""Tokens and numbers as they are written."""

import json
import math

import numpy as np
import pytest

from attnviz.core.text import (
    columns,
    elide,
    exposed,
    in_json,
    isolated,
    number,
    spreadsheet_text,
    upright,
    visible,
    wrapped,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("creature", "creature"),
        ("小沈阳，", "小沈阳，"),
        ("<img src=x>", "<img src=x>"),
        ("a\nb", "a\u240ab"),
        ("\t", "\u2409"),
        ("\x00\x1b\x7f", "\u2400\u241b\u2421"),
        ("\x85", "⟨U+0085⟩"),
        ("\u202eabc", "⟨U+202E⟩abc"),
        ("\u200b", "⟨U+200B⟩"),
        ("\u2028", "⟨U+2028⟩"),
        (" ", "␣"),
        ("  ", "␣␣"),
        ("\u3000", "⟨U+3000⟩"),
        (" a", "␣a"),
        ("a b ", "a b␣"),
        ("  é\n ", "␣␣é\u240a␣"),
        ("é 😀", "é 😀"),
        ("\ud800", "⟨U+D800⟩"),
        ("\ufffe\uffff", "⟨U+FFFE⟩⟨U+FFFF⟩"),
        ("\ufdd0\U0010ffff", "⟨U+FDD0⟩⟨U+10FFFF⟩"),
        ("\ufffd\ufdcf", "\ufffd\ufdcf"),
        ("", ""),
        ("\u3164\u115f", "⟨U+3164⟩⟨U+115F⟩"),
        ("\u2800a", "⟨U+2800⟩a"),
        ("\ufe0f", "⟨U+FE0F⟩"),
        ("❤\ufe0f", "❤\ufe0f"),
        ("<0xE4>", "⟨E4⟩"),
        ("<0x00>", "⟨00⟩"),
        ("<0x0A>", "\u240a"),
        ("<0x20>", "␣"),
        ("<0x41>", "A"),
        ("<0x7F>", "⟨7F⟩"),
        ("<0xe4>", "<0xe4>"),
        ("<0xE4> ", "<0xE4>␣"),
    ],
)
def test_every_character_shows(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "＝1", "＠A1"])
def test_a_spreadsheet_does_not_compute_a_token(text: str) -> None:
    assert spreadsheet_text(text) == f"'{text}"


@pytest.mark.parametrize(("text", "cell"), [("\t=1", "␉=1"), ("\r=1", "␍=1"), ("\n@a", "␊@a")])
def test_a_sheet_does_not_strip_what_stands_before_a_formula(text: str, cell: str) -> None:
    assert spreadsheet_text(text) == cell


@pytest.mark.parametrize(
    ("text", "shown"), [(" a\x1b ", " a␛ "), ("\u202e\u3000\ud800", "⟨U+202E⟩\u3000⟨U+D800⟩"), (" ", " ")]
)
def test_an_exposed_text_keeps_its_spaces(text: str, shown: str) -> None:
    assert exposed(text) == shown


def test_no_reader_of_json_sees_its_escapes() -> None:
    texts = ["".join(map(chr, range(0x300))), "\u202e\ufeff\u2028", "\U000e0041\ufffe", "小 é 😀"]
    plain = json.dumps(texts, ensure_ascii=False, indent=1)
    assert json.loads(in_json(plain)) == texts
    assert exposed(in_json(plain).replace("\n", "")) == in_json(plain).replace("\n", "")


@pytest.mark.parametrize("text", ["", "a=1", "小", "'=1", " =1", "1.5", "−1.5"])
def test_other_tokens_stay_as_they_are_in_a_spreadsheet(text: str) -> None:
    assert spreadsheet_text(text) == text


def test_only_text_that_runs_from_right_to_left_is_isolated() -> None:
    assert isolated("שלום") == "\u2068שלום\u2069"
    assert isolated("a مرحبا") == "\u2068a مرحبا\u2069"
    for text in ("creature", "小沈阳", "<s>", "1.5", "⟨U+202E⟩", ""):
        assert isolated(text) == text


def test_elide() -> None:
    assert elide("creature", 8) == "creature"
    assert elide("creature", 5) == "crea…"
    assert elide("ab", 1) == "…"
    with pytest.raises(ValueError, match=r"n must be a whole number of at least 1; got 0\."):
        elide("a", 0)


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.972845, 3, "0.973"),
        (-2.6866, 4, "−2.6866"),
        (1.0, 3, "1.000"),
        (0.0, 3, "0.000"),
        (-0.0, 3, "0.000"),
        (-0.00001, 3, "−1e−5"),
        (0.00004212, 6, "0.000042"),
        (0.00000004212, 6, "4.212e−8"),
        (0.0005, 3, "0.001"),
        (0.000499, 3, "5e−4"),
        (20.5, 0, "20"),
        (1234567.0, 3, "1.235e6"),
        (-1e30, 1, "−1.0e30"),
        (5e-324, 3, "5e−324"),
        (math.nan, 3, "NaN"),
        (math.inf, 3, "∞"),
        (-math.inf, 3, "−∞"),
        (np.float32(0.1), 3, "0.100"),
    ],
)
def test_number(value: float, digits: int, text: str) -> None:
    assert number(value, digits) == text


def test_no_number_but_zero_is_written_as_zero() -> None:
    for value in np.geomspace(1e-300, 1, 400):
        assert float(number(value, 3).replace("−", "-")) == pytest.approx(value, rel=0.51)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("two  words here", ["two words", "here"]),
        ("", [""]),
        ("一二三四五六七", ["一二三四五", "六七"]),
        ("一二三四五，六", ["一二三四", "五，六"]),
        ("缓存 read_rows 行", ["缓存", "read_rows", "行"]),
        ("unbreakable_word 一", ["unbreakable_word", "一"]),
    ],
)
def test_lines_are_as_wide_as_a_terminal_shows_them(text: str, lines: list[str]) -> None:
    assert wrapped(text, 10) == lines


def test_a_chinese_character_takes_two_columns() -> None:
    assert [columns(text) for text in ("abc", "词元", "词 a，", "")] == [3, 4, 6, 0]


@pytest.mark.parametrize(
    ("text", "characters"),
    [("a", "a"), ("小", "小"), ("门后面", "门后面"), ("门后…", "门后…"), ("ab", ""), ("小b", ""), ("", "")],
)
def test_one_letter_and_wide_characters_stand_where_others_are_rotated(text: str, characters: str) -> None:
    assert upright(text) == tuple(characters)
