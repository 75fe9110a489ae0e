"""Content of the panel's three maps: two sides and their difference, of any comparison, as values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attnviz.core.color_maps import Kind
from attnviz.core.contrast import greatest
from attnviz.core.levels import levels
from attnviz.core.phrases import named
from attnviz.core.text import isolated, number, signed, visible
from attnviz.gui.look.theme import Theme
from attnviz.gui.widgets.heat.content import HeatContent
from attnviz.gui.widgets.heat.stages import axis_color
from attnviz.i18n import _
from attnviz.model.spec.view import View
from attnviz.model.stages import STAGE_BY_ID
from attnviz.study.contrast.contrast import NAMED, Change, Contrast

if TYPE_CHECKING:
    from attnviz.engines.why_not import Compared

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Cell = tuple[int, int]
Labels = tuple[str, ...]

DIGITS = 3


@dataclass(frozen=True, eq=False)
class Sheet:
    """One of the three matrices: its badge, its caption, its numbers and their marks."""

    badge: str
    caption: str
    values: Floats
    absent: Bools | None
    hatched: Bools | None
    row_labels: Labels
    column_labels: Labels
    ends: tuple[float, float]
    kind: Kind
    range_id: str = "head"

    def text(self, cell: Cell) -> str:
        """The number at (row, column), or why it has none."""
        if self.absent is not None and self.absent[cell]:
            return _("absent")
        if self.hatched is not None and self.hatched[cell]:
            return _("masked")
        return number(float(self.values[cell]), DIGITS)


@dataclass(frozen=True, eq=False)
class Picture:
    """A whole comparison: A, B and B − A of one stage, and the cells that change most."""

    stage: str
    sheets: tuple[Sheet, Sheet, Sheet]
    changes: tuple[Change, ...]
    n_nan: int

    def content(self, index: int, view: View, theme: Theme, *, shares_labels: bool = False) -> HeatContent:
        """One of the three, ready to be drawn; the labels beside the first map may serve all three."""
        sheet, row = self.sheets[index], STAGE_BY_ID[self.stage]
        shown = sheet.values
        if sheet.hatched is not None:  # an absent cell is no NaN of the computation
            shown = np.where(sheet.hatched, 0.0, shown)
        rows, columns = sheet.row_labels, sheet.column_labels
        is_turned = view.orientation == "queries_as_columns"
        if shares_labels and is_turned:
            columns = self.sheets[2].column_labels if index == 0 else ("",) * len(columns)
        elif shares_labels:
            rows = self.sheets[2].row_labels if index == 0 else ("",) * len(rows)
        return HeatContent(
            values=shown,
            row_labels=rows,
            column_labels=columns,
            row_color=axis_color(row.axes[-2], theme, row.hue),
            column_color=axis_color(row.axes[-1], theme, row.hue),
            blocked=sheet.hatched,
            signed=sheet.kind == "diverging",
            range_id=sheet.range_id,
            levels=sheet.ends,
            title=f"{sheet.badge} {sheet.caption}".strip(),
            transposed=is_turned,
        )

    def has(self, cell: Cell) -> bool:
        """True if the common axes reach the cell."""
        third = self.sheets[2]
        return cell[0] < len(third.row_labels) and cell[1] < len(third.column_labels)

    def cell_text(self, cell: Cell) -> str:
        """One line about a cell: its tokens, its number in A, in B, and the difference."""
        third = self.sheets[2]
        row, column = (
            isolated(visible(names[at]))
            for names, at in zip((third.row_labels, third.column_labels), cell, strict=True)
        )
        first, second, change = (sheet.text(cell) for sheet in self.sheets)
        return named(f"{row} → {column}", f"{first} | {second} | {change}")


def change_sentence(change: Change) -> str:
    """A change in one line: `she → Lily: 0.949 → 0.113, −0.836`."""
    row, column = isolated(visible(change.row_label)), isolated(visible(change.column_label))
    first, second = number(change.first, DIGITS), number(change.second, DIGITS)
    return named(f"{row} → {column}", f"{first} → {second}, {signed(change.difference, DIGITS)}")


def of_contrast(contrast: Contrast, captions: Sequence[str], view: View) -> Picture:
    """The picture of A and B. Both sides share one range, so that equal colours are equal numbers."""
    range_id = "log" if view.range_of(contrast.stage) == "log" else "head"
    both = [(side.values, side.hatched) for side in contrast.sides]
    ends = _common_ends(both, range_id, contrast.is_signed)
    kind: Kind = "diverging" if contrast.is_signed else "sequential"
    sides = [
        Sheet(
            badge,
            caption,
            side.values,
            side.absent if side.absent.any() else None,
            side.hatched,
            side.row_labels,
            side.column_labels,
            ends,
            kind,
            range_id,
        )
        for badge, caption, side in zip("AB", captions, contrast.sides, strict=True)
    ]
    either = contrast.first.absent | contrast.second.absent
    third = Sheet(
        "B − A",
        _("blue: smaller in B, red: larger"),
        contrast.difference,
        either if either.any() else None,
        contrast.hatched,
        contrast.row_labels,
        contrast.column_labels,
        _about_zero(contrast.difference, contrast.hatched),
        "diverging",
    )
    return Picture(contrast.stage, (sides[0], sides[1], third), contrast.changes, contrast.n_nan)


def of_compared(compared: Compared) -> Picture:
    """The picture of a prepared comparison."""
    stage, change = compared.row.stage, compared.difference
    is_weights = STAGE_BY_ID[stage].axes[-1] == "key"
    labels = compared.row_labels, compared.column_labels
    sides = compared.left, compared.right
    ends = _common_ends([(side.values, side.blocked) for side in sides], "head", not is_weights)
    kind: Kind = "sequential" if is_weights else "diverging"
    two = [
        Sheet("", _(caption), side.values, None, _masked(side.values, side.blocked), *labels, ends, kind)
        for caption, side in zip((compared.row.left, compared.row.right), sides, strict=True)
    ]
    caption = _("difference, at most {greatest}").format(greatest=compared.greatest_text())
    n_nan = int(np.isnan(change).sum())
    if n_nan:
        caption = _("difference: NaN")
    size = (
        max(map(abs, ends)) if compared.is_equal else _about_zero(change, None)[1]
    )  # rounding is no picture
    third = Sheet("", caption, change, None, None, *labels, (-size, size), "diverging")
    return Picture(stage, (two[0], two[1], third), () if compared.is_equal else _changes(compared), n_nan)


def _changes(compared: Compared) -> tuple[Change, ...]:
    left, right = compared.left.values, compared.right.values
    counted = np.ones(left.shape, np.bool_)
    rows, columns = compared.row_labels, compared.column_labels
    return tuple(
        Change(r, c, rows[r], columns[c], float(left[r, c]), float(right[r, c]))
        for r, c in greatest(compared.difference, counted, NAMED)
    )


def _masked(values: Floats, blocked: Bools | None) -> Bools | None:
    """Masked cells; a NaN is shown, as it is the effect of the mask."""
    return None if blocked is None else blocked & ~np.isnan(values)


def _common_ends(
    sides: Sequence[tuple[Floats, Bools | None]], range_id: str, is_signed: bool
) -> tuple[float, float]:
    """The ends of one colour range for both sides; weights begin at 0."""
    found = [levels(values, range_id, is_signed, hidden) for values, hidden in sides]
    low, high = min(low for low, _high in found), max(high for _low, high in found)
    return (low if is_signed or range_id == "log" else min(low, 0.0)), high


def _about_zero(change: Floats, hatched: Bools | None) -> tuple[float, float]:
    return levels(change, "symmetric", True, hatched)
