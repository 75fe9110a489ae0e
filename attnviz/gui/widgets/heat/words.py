"""A heat map in words: for tooltips, screen readers and the clipboard."""

from __future__ import annotations

from attnviz.core.entropy import effective_count, entropy_bits
from attnviz.core.progress import Check, never_cancelled, progress_of
from attnviz.core.text import isolated, number, spreadsheet_text, visible
from attnviz.gui.widgets.heat.content import Cell, HeatContent
from attnviz.i18n import _


def table_text(content: HeatContent, check: Check = never_cancelled) -> str:
    """The matrix in its orientation, as tab-separated lines with labels; every number in full precision."""
    values, rows, columns = content.values, content.row_labels, content.column_labels
    if content.transposed:
        values, rows, columns = values.T, columns, rows
    lines = ["\t".join(["", *map(_label, columns)])]
    progress = progress_of(check)
    for index, (label, row) in enumerate(zip(rows, values, strict=True)):
        progress.at(index / len(values))
        lines.append("\t".join([_label(label), *map(str, row)]))
    return "\n".join(lines) + "\n"


def _label(token: str) -> str:
    return spreadsheet_text(visible(token))


def exact_text(content: HeatContent, cell: Cell) -> str:
    """One line: the labels of (row, column) and its value in full precision, or that it is masked."""
    return _("{row} \u00d7 {column}: {value}").format(
        row=isolated(visible(content.row_labels[cell[0]])),
        column=isolated(visible(content.column_labels[cell[1]])),
        value=_("masked") if content.is_blocked(cell) else str(content.values[cell]),
    )


def spread_text(content: HeatContent, row: int) -> str:
    """Lines about the distribution in a row: its sum, its entropy, and the number of tokens it amounts to."""
    assert content.row_sums is not None
    bits = entropy_bits(content.values[row : row + 1])
    lines = [
        isolated(visible(content.row_labels[row])),
        _("Sum: {sum}").format(sum=number(float(content.row_sums[row]), 4)),
        _("Entropy: {bits} bits").format(bits=number(float(bits[0]))),
        _("Effective number of tokens: {count}").format(count=number(float(effective_count(bits)[0]), 2)),
    ]
    return "\n".join(lines)


def spoken_text(content: HeatContent, cell: Cell | None) -> str:
    """Text for a screen reader: the cell under the cursor, or the size of the matrix."""
    if cell is None:
        rows, columns = content.values.shape
        return _("{rows} rows, {columns} columns").format(rows=rows, columns=columns)
    return _("row {row}, column {column}, {value}").format(
        row=isolated(visible(content.row_labels[cell[0]])),
        column=isolated(visible(content.column_labels[cell[1]])),
        value=_("masked") if content.is_blocked(cell) else number(float(content.values[cell])),
    )
