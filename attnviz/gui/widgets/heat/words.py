"""A heat map in words: for tooltips, screen readers and the clipboard."""

from __future__ import annotations

import csv
import io

import numpy as np

from attnviz.core.head_measures import effective_count, entropy_bits
from attnviz.core.matrix import windows
from attnviz.core.phrases import enumerated
from attnviz.core.progress import Check, never_cancelled, progress_of
from attnviz.core.text import isolated, number, spreadsheet_text, visible
from attnviz.gui.widgets.heat.content import Cell, HeatContent
from attnviz.i18n import _, ngettext

_NAMED = 4
"""Chosen columns that a tooltip names."""


def table_text(content: HeatContent, check: Check = never_cancelled) -> str:
    """The matrix in its orientation, as tab-separated lines with labels; every number in full precision.

    A label with a quotation mark is quoted: a sheet would read on from it to the next one.
    """
    values, rows, columns = content.values, content.row_labels, content.column_labels
    if content.transposed:
        values, rows, columns = values.T, columns, rows
    text = io.StringIO(newline="")
    table = csv.writer(text, delimiter="\t", lineterminator="\n")
    table.writerow(["", *map(spreadsheet_text, columns)])
    progress = progress_of(check)
    for part, window in windows(values):
        for index, row in enumerate(window, part.start):
            progress.at(index / len(values))
            table.writerow([spreadsheet_text(rows[index]), *map(str, row)])
    return text.getvalue()


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
        *_share_lines(content, row),
        _("Sum: {sum}").format(sum=number(float(content.row_sums[row]), 4)),
        _("Entropy: {bits} bits").format(bits=number(float(bits[0]))),
        _("Effective number of tokens: {count}").format(count=number(float(effective_count(bits)[0]), 2)),
    ]
    return "\n".join(lines)


def _share_lines(content: HeatContent, row: int) -> list[str]:
    if not content.chosen:
        return []
    share = float(content.values[row][list(content.chosen)].sum(dtype=np.float64))
    named = [isolated(visible(content.column_labels[column])) for column in content.chosen[:_NAMED]]
    more = ["\u2026"] if len(content.chosen) > _NAMED else []
    return [_("To {tokens}: {share}").format(tokens=enumerated((*named, *more)), share=number(share, 4))]


def received_text(content: HeatContent, column: int) -> str:
    """Lines about the weight of a column: its mean over all rows, and over those that may attend to it."""
    assert content.column_means is not None
    lines = [isolated(visible(content.column_labels[column]))]
    mean = number(float(content.column_means[column]), 4)
    lines.append(_("Mean weight received: {mean}").format(mean=mean))
    if content.blocked is not None and content.blocked[:, column].any():
        seen = content.values[:, column][~content.blocked[:, column]]
        if seen.size:
            of_those = number(float(seen.mean(dtype=np.float64)), 4)
            text = ngettext(
                "From the only query that may attend to it: {mean}",
                "Over the {count} queries that may attend to it: {mean}",
                seen.size,
            )
            lines.append(text.format(count=seen.size, mean=of_those))
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
