"""Numbers as people type them, and blocks as they paste them."""

import math

import numpy as np
import pytest

from attnviz.gui.widgets.numbers.block import format_block, parse_block
from attnviz.gui.widgets.numbers.text import fitting_number, full_precision, parse_number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.5", 0.5),
        ("0,5", 0.5),
        (" -1e-3 ", -0.001),
        ("−2", -2.0),
        ("1/3", 1 / 3),
        ("-1/4", -0.25),
        ("10 000", 10000.0),
        ("１．５", 1.5),
        (".25", 0.25),
        ("3.", 3.0),
        ("1½".replace("1½", "½"), 0.5),
    ],
)
def test_parse_number_accepts(text: str, value: float) -> None:
    assert parse_number(text) == value


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "got nothing"),
        ("abc", "must be a number such as 0.5, 1e-3 or 1/3; got “abc”"),
        ("nan", "must be finite"),
        ("-inf", "must be finite"),
        ("∞", "must be finite"),
        ("1/0", "must not divide by zero"),
        ("1e999", "must fit float64"),
        ("1,234.5", "must be a number"),
        ("1_000", "must be a number"),
        ("1 2", "must be a number"),
        ("0x10", "must be a number"),
        ("1e308/1e-308", "must fit float64"),
    ],
)
def test_parse_number_refuses_with_one_sentence(text: str, part: str) -> None:
    with pytest.raises(ValueError, match=".") as caught:
        parse_number(text)
    assert part in str(caught.value)
    assert str(caught.value).count(".") >= 1


def test_full_precision_reads_back_exactly() -> None:
    for value in (0.1, 1 / 3, 1e-300, -2.5e20, 3.0):
        assert float(full_precision(value)) == value


def test_fitting_number_gives_up_decimals_before_digits() -> None:
    assert fitting_number(-0.279, 5) == "−0.28"
    assert fitting_number(-12.345, 5) == "−12.3"
    assert fitting_number(-123.456, 5) == "−123"
    assert fitting_number(0.001, 5) == "1e−3"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("1\t2\r\n3\t4\r\n", [[1, 2], [3, 4]]),
        ("1,5\t2\n3\t4", [[1.5, 2], [3, 4]]),
        ("0.1, 0.2\n0.3, 0.4", [[0.1, 0.2], [0.3, 0.4]]),
        ("1,2\n3,4", [[1, 2], [3, 4]]),
        ("1,5;2\n3;4", [[1.5, 2], [3, 4]]),
        ("1 2   3", [[1, 2, 3]]),
        ("0,5 0,25", [[0.5, 0.25]]),
        ("1,5", [[1.5]]),
        ("[[1. 2.]\n [3. 4.]]", [[1, 2], [3, 4]]),
        ("[[1, 2], [3, 4]]", [[1, 2], [3, 4]]),
    ],
)
def test_parse_block(text: str, rows: list[list[float]]) -> None:
    np.testing.assert_array_equal(parse_block(text), np.array(rows))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("1\t2\n3\tx", ["Row 2, column 2", "“x”", "must be"]),
        ("1\tnan", ["Row 1, column 2", "must be finite"]),
        ("1\t2\n3", ["Row 2 must have 2 numbers, as row 1 has; got 1.", "must have 2 numbers"]),
        ("1\t\t3", ["Row 1, column 2", "got nothing"]),
        ("  \n", ["must hold rows of numbers"]),
        ("1" * 8_000_001, ["8,000,001"]),
    ],
)
def test_parse_block_names_the_cell(text: str, parts: list[str]) -> None:
    with pytest.raises(ValueError, match=".") as caught:
        parse_block(text)
    for part in parts:
        assert part in str(caught.value)


def test_blocks_read_back_exactly() -> None:
    values = np.random.default_rng(3).normal(size=(5, 7)) * 10.0 ** np.arange(-3, 4)
    np.testing.assert_array_equal(parse_block(format_block(values)), values)
    assert math.isclose(parse_block("1/3")[0, 0], 1 / 3)
