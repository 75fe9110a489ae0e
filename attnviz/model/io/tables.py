"""`TABLES`: the formats of a matrix with its labels: text for a sheet, a page or a paper, or arrays."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnviz.core.progress import Check, never_cancelled, progress_of
from attnviz.core.text import in_markdown, number, spreadsheet_text, visible
from attnviz.errors import FieldError, among, whole_number
from attnviz.i18n import N_
from attnviz.model.sites.stages import has_names
from attnviz.model.spec.value import require
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace

MOST_DIGITS = 17
AMSMATH_COLUMNS = 10


@dataclass(frozen=True, eq=False)
class Table:
    """A matrix (rows, columns) with the labels of both axes."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: NDArray[np.floating]

    @staticmethod
    def of(site: SiteTrace, stage: str, head: int = 0) -> Table:
        """One head of a stage. Raises `KeyError` or `IndexError` for a stage or head that does not exist."""
        rows, columns = (_labels(site, stage, axis) for axis in (-2, -1))
        return Table(rows, columns, site.window(stage, head))


def _labels(site: SiteTrace, stage: str, axis: int) -> tuple[str, ...]:
    kind, length = STAGE_BY_ID[stage].axes[axis], site.shape(stage)[axis]
    return site.labels(kind) if has_names(kind) else tuple(map(str, range(length)))


Digits = int | None
"""Decimals of every number; None: as many as restore it."""


@dataclass(frozen=True)
class TableFormat:
    """One format: its id, title and suffix, and the bytes of a table with given digits."""

    id: str
    title: str
    suffix: str
    write: Callable[[Table, Digits, Check], bytes]
    is_text: bool = True


def table_bytes(table: Table, format_id: str, digits: Digits = None, check: Check = never_cancelled) -> bytes:
    """A table in a format of `TABLES`. Raises `ValueError` for another format, or digits beyond 0 to 17."""
    if format_id not in TABLE_BY_ID:
        raise FieldError("format", format_id, among(TABLE_BY_ID))
    if digits is not None:
        require(0 <= digits <= MOST_DIGITS, "digits", digits, whole_number(0, MOST_DIGITS))
    return TABLE_BY_ID[format_id].write(table, digits, check)


def _csv(table: Table, digits: Digits, check: Check) -> bytes:
    """Labels that a spreadsheet would compute have an apostrophe; a byte order mark tells it the encoding."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(["", *map(spreadsheet_text, table.columns)])
    for label, row in _lines(table, check):
        writer.writerow([spreadsheet_text(label), *(_plain(value, digits) for value in row)])
    return stream.getvalue().encode("utf-8-sig", "backslashreplace")


def _markdown(table: Table, digits: Digits, check: Check) -> bytes:
    lines = [["", *map(in_markdown, table.columns)], ["", *("--:" for _label in table.columns)]]
    lines[1][0] = ":--"
    for label, row in _lines(table, check):
        lines.append([in_markdown(label), *(_plain(value, digits) for value in row)])
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines).encode("utf-8", "backslashreplace")


def _bmatrix(table: Table, digits: Digits, check: Check) -> bytes:
    rows = [" & ".join(_in_latex(value, digits) for value in row) for _label, row in _lines(table, check)]
    body, columns = " \\\\\n  ".join(rows), len(table.columns)
    # amsmath has room for ten columns unless it is told.
    room = f"\\setcounter{{MaxMatrixCols}}{{{columns}}}\n" if columns > AMSMATH_COLUMNS else ""
    return f"{room}\\begin{{bmatrix}}\n  {body}\n\\end{{bmatrix}}\n".encode()


def _booktabs(table: Table, digits: Digits, check: Check) -> bytes:
    head = " & ".join(["", *map(_escaped, table.columns)])
    lines = [f"\\begin{{tabular}}{{l{'r' * len(table.columns)}}}", "\\toprule", f"{head} \\\\", "\\midrule"]
    for label, row in _lines(table, check):
        cells = [_escaped(label), *(f"${_in_latex(value, digits)}$" for value in row)]
        lines.append(f"{' & '.join(cells)} \\\\")
    lines += ["\\bottomrule", "\\end{tabular}"]
    return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")


def _npz(table: Table, digits: Digits, check: Check) -> bytes:
    values = table.values if digits is None else np.round(table.values, digits)
    stream = io.BytesIO()
    np.savez(stream, values=values, rows=np.array(table.rows), columns=np.array(table.columns))
    return stream.getvalue()


TABLES = (
    TableFormat("csv", N_("CSV"), ".csv", _csv),
    TableFormat("markdown", N_("Markdown table"), ".md", _markdown),
    TableFormat("bmatrix", N_("LaTeX matrix (bmatrix)"), ".tex", _bmatrix),
    TableFormat("booktabs", N_("LaTeX table (booktabs)"), ".tex", _booktabs),
    TableFormat("npz", N_("NumPy arrays (NPZ)"), ".npz", _npz, is_text=False),
)
TABLE_BY_ID = {row.id: row for row in TABLES}


def _lines(table: Table, check: Check) -> list[tuple[str, list[np.floating]]]:
    """Each row with its label, and a check before it."""
    progress = progress_of(check)
    lines = []
    for index, (label, row) in enumerate(zip(table.rows, table.values, strict=True)):
        progress.at(index / len(table.values))
        lines.append((label, list(row)))
    return lines


def _plain(value: np.floating, digits: Digits) -> str:
    """A number that programs read: with an ASCII minus, and `inf` and `nan`."""
    if digits is None or not math.isfinite(value):
        return str(value)
    return number(float(value), digits).replace("\u2212", "-")


def _in_latex(value: np.floating, digits: Digits) -> str:
    """A number in the mathematics of LaTeX."""
    if math.isnan(value):
        return r"\mathrm{NaN}"
    if math.isinf(value):
        return r"\infty" if value > 0 else r"-\infty"
    mantissa, _e, exponent = _plain(value, digits).partition("e")
    return f"{mantissa} \\times 10^{{{int(exponent)}}}" if exponent else mantissa


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\u2423": r"\textvisiblespace{}",
    "|": r"\textbar{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    # Behind the \\ of the row above, these would be its arguments.
    **{character: f"{{{character}}}" for character in "[*"},
    # Neither what stands for control characters nor these brackets are in the usual fonts of LaTeX.
    **{chr(0x2400 + code): rf"\textbackslash{{}}x{code:02x}" for code in range(0x20)},
    "\u2409": r"\textbackslash{}t",
    "\u240a": r"\textbackslash{}n",
    "\u240d": r"\textbackslash{}r",
    "\u2421": r"\textbackslash{}x7f",
    "\u27e8": r"$\langle$",
    "\u27e9": r"$\rangle$",
}


def _escaped(label: str) -> str:
    """A label as LaTeX prints it."""
    return "".join(_LATEX.get(character, character) for character in visible(label))
