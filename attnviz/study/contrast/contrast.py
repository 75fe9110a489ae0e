"""A stage of one run beside the same stage of another: A, B and B − A on common axes.

Rows and columns are aligned token by token. What exists on one side alone is absent on the other: it has no
number there, and none in the difference.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from attnviz.core.alignment import ALIGNMENT_BY_ID, Pairs, by_position, by_text
from attnviz.core.contrast import Bools, Floats, Positions, difference, greatest, placed
from attnviz.core.matrix import taken
from attnviz.core.progress import Check, never_cancelled, progress_of
from attnviz.core.text import spreadsheet_text, visible
from attnviz.errors import InputError, Message
from attnviz.model.sites.stages import has_names
from attnviz.model.spec.site import Site
from attnviz.model.stages import STAGE_BY_ID, Axis
from attnviz.model.text import written_tokens
from attnviz.model.trace import SiteTrace

MOST_CELLS = 2**22
"""Largest number of cells of a comparison: its matrices then take 150 MB."""

NAMED = 24
"""Number of greatest changes that are kept by name."""


@dataclass(frozen=True, eq=False)
class Side:
    """One side on the common axes, (rows, columns).

    `rows` and `columns` are its own positions, None where it has no such token. `absent` cells do not exist;
    `blocked` ones exist and are masked, unless they are NaN by the mask. Absent cells of `values` are NaN.
    """

    site: Site
    head: int
    values: Floats
    absent: Bools
    blocked: Bools | None
    rows: Positions
    columns: Positions
    row_labels: tuple[str, ...]
    column_labels: tuple[str, ...]

    @cached_property
    def hatched(self) -> Bools | None:
        """Cells without a number to show: absent or masked; None if all have one."""
        hidden = self.absent if self.blocked is None else self.absent | self.blocked
        return hidden if hidden.any() else None


@dataclass(frozen=True)
class Change:
    """One changed cell, at (row, column) of the common axes: its two numbers and its labels."""

    row: int
    column: int
    row_label: str
    column_label: str
    first: float
    second: float

    @property
    def difference(self) -> float:
        """second − first; ∞ − ∞ is NaN."""
        return self.second - self.first


@dataclass(frozen=True, eq=False)
class Contrast:
    """A, B and B − A of one stage. Labels name a token of both sides once, and two tokens as `a|b`.

    `hatched` cells of the difference are absent on a side, or masked on both. `n_nan` counts the others whose
    difference is not a number.
    """

    stage: str
    first: Side
    second: Side
    difference: Floats
    hatched: Bools | None
    row_labels: tuple[str, ...]
    column_labels: tuple[str, ...]
    changes: tuple[Change, ...]
    n_nan: int
    n_changed: int
    called: str = ""
    """The name of the numbers in B: of the stage, or of a gradient by it."""
    is_signed: bool = True

    @property
    def sides(self) -> tuple[Side, Side]:
        """A, then B."""
        return self.first, self.second


@dataclass(frozen=True, eq=False)
class Shown:
    """One of the two states that are compared: an attention, and the head of each of its stages."""

    site: SiteTrace
    head: int

    def head_of(self, stage: str) -> int:
        """The head of `stage`: the chosen query head or the last one, or the key/value head it reads."""
        heads = self.site.experiment.heads
        head = min(self.head, heads.n_heads - 1)
        return head // heads.group_size if STAGE_BY_ID[stage].axes[0] == "kv_head" else head

    def labels(self, axis: Axis, length: int) -> tuple[str, ...]:
        """Labels of an axis: tokens, or numbers from 0."""
        if not has_names(axis):
            return tuple(map(str, range(length)))
        return self.site.labels(axis)

    def names(self, axis: Axis, length: int) -> tuple[str, ...]:
        """The labels as they are written in a text."""
        return written_tokens(self.site.vocabulary, self.labels(axis, length))


def contrast(first: Shown, second: Shown, stage: str, alignment: str) -> Contrast:
    """Compare `stage` of two states; tokens are aligned by a row of `ALIGNMENTS`.

    Raises `InputError` if a side lacks the stage, and for more than `MOST_CELLS` cells.
    """
    for name, one in (("A", first), ("B", second)):
        if stage not in one.site.stages:
            raise InputError(
                Message("{side} has no stage “{stage}”.", side=name, stage=Message(STAGE_BY_ID[stage].title))
            )
    rows, columns = (_pairs(first, second, stage, axis, alignment) for axis in (-2, -1))
    if len(rows) * len(columns) > MOST_CELLS:
        raise InputError(
            Message(
                "A comparison must have at most {most:,} cells; got {n:,}.",
                most=MOST_CELLS,
                n=len(rows) * len(columns),
            )
        )
    sides = tuple(_side(one, stage, index, rows, columns) for index, one in enumerate((first, second)))
    compared = _compared(stage, sides[0], sides[1])
    return replace(compared, called=second.site.called(stage), is_signed=second.site.is_signed(stage))


def nearest_common(stage: str, lacking: Sequence[str], having: Sequence[str]) -> str:
    """The stage of both sides nearest to `stage`, in the order of the side that has it; of two the earlier.

    Raises `ValueError` if `stage` is not among `having`, or if both have no stage in common.
    """
    place = having.index(stage)
    return min((one for one in having if one in lacking), key=lambda one: abs(having.index(one) - place))


def _pairs(first: Shown, second: Shown, stage: str, axis: int, alignment: str) -> Pairs:
    """Tokens by the chosen way; features by their number, a vocabulary by its texts."""
    kind = STAGE_BY_ID[stage].axes[axis]
    labels = [one.labels(kind, one.site.shape(stage)[axis]) for one in (first, second)]
    if kind == "vocabulary":
        return by_text(*labels)
    return ALIGNMENT_BY_ID[alignment].pair(*labels) if has_names(kind) else by_position(*labels)


def _side(shown: Shown, stage: str, index: int, rows: Pairs, columns: Pairs) -> Side:
    """One of the two on the common axes; `index` is its place in each pair."""
    site, axes = shown.site, STAGE_BY_ID[stage].axes
    own_rows, own_columns = (tuple(pair[index] for pair in pairs) for pairs in (rows, columns))
    n_rows, n_columns = site.shape(stage)[-2:]
    head = shown.head_of(stage) if STAGE_BY_ID[stage].per_head else 0
    numbers = taken(site.matrix(stage, head, keep=False))  # of at most `MOST_CELLS`
    values, absent = placed(numbers, own_rows, own_columns)
    hidden = site.hatched(stage, head)
    blocked = None
    if hidden is not None:
        blocked = (placed(hidden, own_rows, own_columns)[0] == 1.0) & ~np.isnan(values)
    return Side(
        site=site.experiment,
        head=head,
        values=values,
        absent=absent,
        blocked=blocked,
        rows=own_rows,
        columns=own_columns,
        row_labels=_named(shown.names(axes[-2], n_rows), own_rows),
        column_labels=_named(shown.names(axes[-1], n_columns), own_columns),
    )


def _named(labels: tuple[str, ...], own: Positions) -> tuple[str, ...]:
    """The label of each place; empty where the side has no token."""
    return tuple("" if at is None else labels[at] for at in own)


def _compared(stage: str, first: Side, second: Side) -> Contrast:
    change = difference(first.values, second.values)
    hidden = first.absent | second.absent
    if first.blocked is not None and second.blocked is not None:
        hidden |= first.blocked & second.blocked
    rows = tuple(map(_joint, first.row_labels, second.row_labels))
    columns = tuple(map(_joint, first.column_labels, second.column_labels))
    changes = tuple(
        Change(r, c, rows[r], columns[c], float(first.values[r, c]), float(second.values[r, c]))
        for r, c in greatest(change, ~hidden, NAMED)
    )
    return Contrast(
        stage=stage,
        first=first,
        second=second,
        difference=change,
        hatched=hidden if hidden.any() else None,
        row_labels=rows,
        column_labels=columns,
        changes=changes,
        n_nan=int(np.count_nonzero(np.isnan(change) & ~hidden)),
        n_changed=int(np.count_nonzero((change != 0) & ~hidden)),
    )


def _joint(one: str, other: str) -> str:
    """The label of a token of both sides, or of the two that stand there."""
    if not one or not other or one == other:
        return one or other
    return f"{visible(one)}|{visible(other)}"


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
