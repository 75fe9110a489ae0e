"""Tables: every number comes back from every format, and no label becomes a formula or a command."""

from __future__ import annotations

import csv
import io
import re

import numpy as np
import pytest
from cases import experiment

import attnviz
from attnviz.model.io.tables import TABLES, Table, table_bytes

HOSTILE = ("=1+1", "a|b", "50% & \\x_{1}", "two\nlines", "小", "$", "~^ ")
SITE = attnviz.run(experiment(tokens=HOSTILE)).only
TABLE = Table.of(SITE, "scores", 3)
SPECIAL = Table(("a", "b"), ("x", "y"), np.array([[np.nan, -np.inf], [-1.5e-7, 1234567.0]]))


def read_csv(data: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode("utf-8-sig"))))


def cells(format_id: str, text: str) -> list[list[str]]:
    """The numbers of a text table, as it was written, without its labels."""
    if format_id == "csv":
        return [row[1:] for row in list(csv.reader(io.StringIO(text)))[1:]]
    if format_id == "markdown":
        return [re.split(r"(?<!\\)\|", line)[2:-1] for line in text.splitlines()[2:]]
    body = [line.strip().removesuffix(r"\\").strip() for line in text.splitlines()[1:-1]]
    if format_id == "bmatrix":
        return [line.split(" & ") for line in body]
    return [re.split(r"(?<!\\)&", line)[1:] for line in body if not line.endswith("rule")][1:]


def number(text: str) -> float:
    text = text.strip().strip("$").replace(" \\times 10^{", "e").replace("}", "")
    return float(text)


TEXTS = [row.id for row in TABLES if row.is_text]


@pytest.mark.parametrize("format_id", TEXTS)
def test_every_digit_comes_back(format_id: str) -> None:
    text = table_bytes(TABLE, format_id).decode("utf-8-sig")
    found = np.array([[number(cell) for cell in row] for row in cells(format_id, text)])
    np.testing.assert_array_equal(found.astype(TABLE.values.dtype), TABLE.values)


@pytest.mark.parametrize("format_id", TEXTS)
def test_chosen_digits_are_those_of_every_number(format_id: str) -> None:
    text = table_bytes(TABLE, format_id, 2).decode("utf-8-sig")
    found = np.array([[number(cell) for cell in row] for row in cells(format_id, text)])
    np.testing.assert_allclose(found, TABLE.values, atol=0.005)
    assert "." in text and not re.search(r"\d\.\d{3}", text)


def test_arrays_have_their_labels() -> None:
    with np.load(io.BytesIO(table_bytes(TABLE, "npz")), allow_pickle=False) as read:
        np.testing.assert_array_equal(read["values"], TABLE.values)
        assert tuple(read["rows"]) == tuple(read["columns"]) == HOSTILE


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_csv_reads_back_as_the_same_numbers_with_their_tokens(dtype: str) -> None:
    tokens = ("a,b", 'say "x"', "two\nlines", "小", "=1+1", "", " ")
    site = attnviz.run(experiment(tokens=tokens, dtype=dtype)).only
    (_corner, *columns), *rows = read_csv(table_bytes(Table.of(site, "scores", 3), "csv"))
    labels = ("a,b", 'say "x"', "two␊lines", "小", "'=1+1", "", " ")
    assert tuple(columns) == labels
    assert tuple(row[0] for row in rows) == labels
    read = np.array([row[1:] for row in rows]).astype(dtype)
    np.testing.assert_array_equal(read, site.window("scores", 3))


def test_no_token_is_a_formula_in_csv_and_negative_numbers_stay() -> None:
    tokens = ("=1+1", "+1", "@SUM(A1)", '=HYPERLINK("http://x")', "=cmd|'/c calc'!A1", "\t=1", "\r=1")
    site = attnviz.run(experiment(tokens=tokens)).only
    (_corner, *columns), *rows = read_csv(table_bytes(Table.of(site, "scores", 0), "csv"))
    labels = (*(f"'{token}" for token in tokens[:5]), "␉=1", "␍=1")
    assert tuple(columns) == tuple(row[0] for row in rows) == labels
    values = site.window("scores", 0)
    assert (values < 0).any()
    assert [cell for row in rows for cell in row[1:]] == [str(value) for value in values.ravel()]


def test_csv_counts_features() -> None:
    site = attnviz.run(experiment()).only
    assert read_csv(table_bytes(Table.of(site, "k", 1), "csv"))[0] == ["", "0", "1", "2", "3"]


def test_labels_are_literal_in_latex_and_markdown() -> None:
    latex = table_bytes(TABLE, "booktabs", 2).decode()
    assert r"50\% \& \textbackslash{}x\_\{1\}" in latex and r"\textasciitilde{}\textasciicircum{}" in latex
    assert r"\textvisiblespace{}" in latex and r"two\textbackslash{}nlines" in latex
    markdown = table_bytes(TABLE, "markdown", 2).decode()
    assert r"a\|b" in markdown
    assert len({len(re.split(r"(?<!\\)\|", line)) for line in markdown.splitlines()}) == 1


LATEX_LABELS = {
    "[CLS]": r"{[}CLS]",  # else an argument of the \\ above it
    "*": r"{*}",
    "a|b": r"a\textbar{}b",
    "<s>": r"\textless{}s\textgreater{}",
    "\t\r\x7f\x01": r"\textbackslash{}t\textbackslash{}r\textbackslash{}x7f\textbackslash{}x01",
    "\u202e": r"$\langle$U+202E$\rangle$",
}


@pytest.mark.parametrize(("label", "written"), LATEX_LABELS.items())
def test_latex_compiles_every_label(label: str, written: str) -> None:
    latex = table_bytes(Table((label,), ("a",), np.zeros((1, 1))), "booktabs", 1).decode()
    assert f"\n{written} & $0.0$ \\\\\n" in latex


@pytest.mark.parametrize("columns", [10, 11])
def test_amsmath_has_room_for_every_column(columns: int) -> None:
    names = tuple(map(str, range(columns)))
    latex = table_bytes(Table(("a",), names, np.zeros((1, columns))), "bmatrix", 1).decode()
    assert latex.startswith("\\setcounter{MaxMatrixCols}{11}\n" if columns > 10 else "\\begin{bmatrix}")


def test_what_is_no_number_is_named() -> None:
    assert table_bytes(SPECIAL, "bmatrix", 3).decode() == (
        "\\begin{bmatrix}\n  \\mathrm{NaN} & -\\infty \\\\\n  -1 \\times 10^{-7} & 1.235 \\times 10^{6}\n"
        "\\end{bmatrix}\n"
    )
    assert read_csv(table_bytes(SPECIAL, "csv", 3))[1:] == [["a", "nan", "-inf"], ["b", "-1e-7", "1.235e6"]]


@pytest.mark.parametrize(
    ("format_id", "digits", "sentence"),
    [
        ("html", None, "format must be one of 'csv', 'markdown', 'bmatrix', 'booktabs', 'npz'; got 'html'."),
        ("csv", 18, "digits must be a whole number from 0 to 17; got 18."),
    ],
)
def test_what_no_table_has_is_refused(format_id: str, digits: int | None, sentence: str) -> None:
    with pytest.raises(ValueError) as refused:
        table_bytes(TABLE, format_id, digits)
    assert str(refused.value) == sentence
