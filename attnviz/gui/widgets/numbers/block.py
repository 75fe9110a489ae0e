"""Blocks of numbers on the clipboard: to and from tab-, comma- and space-separated text."""

from __future__ import annotations

import math
import re

import numpy as np
from numpy.typing import NDArray

from attnviz.errors import InputError, Message
from attnviz.gui.widgets.numbers.text import full_precision, parse_number

LARGEST_TEXT = 8_000_000
"""Longest pasted text, in characters; a longer one is rejected unread."""


def format_block(values: NDArray[np.floating]) -> str:
    """`values` (rows, columns) as tab-separated lines that read back exactly."""
    return "\n".join("\t".join(full_precision(value) for value in row) for row in values.tolist())


def parse_block(text: str, takes_minus_infinity: bool = False) -> NDArray[np.float64]:
    """The rectangle of finite numbers in `text`, shape (rows, columns); perhaps with −∞.

    Cells are separated by tabs, semicolons, commas or spaces, rows by line breaks; brackets as Python
    and NumPy print them are skipped. Raises `ValueError` with a sentence that names the cell, its text
    and the requirement.
    """
    if len(text) > LARGEST_TEXT:
        too_long = Message(
            "The text must have at most {most:,} characters; got {n:,}.", most=LARGEST_TEXT, n=len(text)
        )
        raise InputError(too_long)
    rows = [_split(line, text) for line in _lines(text)]
    if not rows:
        raise InputError(Message("The clipboard must hold rows of numbers; got none."))
    for index, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise InputError(
                Message(
                    "Row {row} must have {first} numbers, as row 1 has; got {count}.",
                    row=index + 1,
                    first=len(rows[0]),
                    count=len(row),
                )
            )
    cells = [
        [_cell(cell, r, c, takes_minus_infinity) for c, cell in enumerate(row)] for r, row in enumerate(rows)
    ]
    return np.array(cells)


def laid_over(
    values: NDArray[np.float64], row: int, column: int, block: NDArray[np.float64]
) -> tuple[NDArray[np.float64], InputError | None]:
    """A copy of `values` (rows, columns) with `block` from (row, column) on, and a notice if it is cut."""
    changed = values.copy()
    part = block[: values.shape[0] - row, : values.shape[1] - column]
    changed[row : row + part.shape[0], column : column + part.shape[1]] = part
    if part.shape == block.shape:
        return changed, None
    rows, columns = values.shape[0] - row, values.shape[1] - column
    return changed, InputError(
        Message(
            "The pasted block must fit into {rows} × {columns} cells; got {n} × {m}, and the rest "
            "was left out.",
            rows=rows,
            columns=columns,
            n=block.shape[0],
            m=block.shape[1],
        )
    )


def _lines(text: str) -> list[str]:
    text = re.sub(r"\]\s*,?\s*\[", "\n", text)
    text = re.sub(r"[\[\]]", "", text)
    return [line.strip(" \r") for line in text.split("\n") if line.strip()]


def _split(line: str, text: str) -> list[str]:
    """The cells of one line. A comma separates unless it must be a decimal mark."""
    if "\t" in text:
        return line.strip("\n").split("\t")
    if ";" in text:
        return line.rstrip(";").split(";")
    has_spaces = bool(re.search(r"[^\s,]\s+[^\s,]", line))
    is_one_number = "\n" not in text.strip() and line.count(",") == 1 and not re.search(r",\s", line)
    if "," in line and not has_spaces and not is_one_number:
        return line.rstrip(",").split(",")
    return line.split()


def _cell(text: str, row: int, column: int, takes_minus_infinity: bool) -> float:
    try:
        return _number(text, takes_minus_infinity)
    except InputError as error:
        raise InputError(
            Message(
                "Row {row}, column {column}: {problem}", row=row + 1, column=column + 1, problem=error.message
            )
        ) from None


def _number(text: str, takes_minus_infinity: bool) -> float:
    try:
        value = float(text) if "_" not in text else math.nan
    except ValueError:
        value = math.nan
    return value if math.isfinite(value) else parse_number(text, takes_minus_infinity)
