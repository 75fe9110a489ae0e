"""The numbers of a comparison as a table: one line per cell, with A, B and B − A."""

from __future__ import annotations

import csv
import io

from attnviz.core.progress import Check, never_cancelled, progress_of
from attnviz.core.text import spreadsheet_text
from attnviz.model.stages import STAGE_BY_ID
from attnviz.study.contrast.contrast import Contrast, Side


def contrast_csv(contrast: Contrast, check: Check = never_cancelled) -> str:
    """Every cell as CSV text: row and column by position from 1 and label, A, B, B − A; all digits.

    A side without the cell has an empty field, and a masked one its number. A token that a spreadsheet would
    compute has an apostrophe before it.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    axes = STAGE_BY_ID[contrast.stage].axes[-2:]
    writer.writerow([axes[0], f"{axes[0]} label", axes[1], f"{axes[1]} label", "A", "B", "B - A"])
    rows, columns = (
        [spreadsheet_text(label) for label in labels]
        for labels in (contrast.row_labels, contrast.column_labels)
    )
    progress = progress_of(check)
    for row, row_label in enumerate(rows):
        progress.at(row / len(rows))
        for column, column_label in enumerate(columns):
            numbers = [_field(side, row, column) for side in contrast.sides]
            change = str(contrast.difference[row, column]) if all(numbers) else ""
            writer.writerow([row + 1, row_label, column + 1, column_label, *numbers, change])
    return stream.getvalue()


def _field(side: Side, row: int, column: int) -> str:
    return "" if side.absent[row, column] else str(side.values[row, column])
