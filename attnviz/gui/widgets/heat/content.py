"""Content and highlight of a heat map: two frozen values, passed as a whole."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QImage

from attnviz.core.color_maps import Kind
from attnviz.core.levels import RANGE_BY_ID, levels, normalise
from attnviz.core.matrix import AnyMatrix, windows
from attnviz.core.overview import reduced
from attnviz.gui.look.colors import BLOCKED, LEVELS, MINUS_INF, PLUS_INF, Indices, furthest, pool, to_indices
from attnviz.gui.widgets.heat.kept_numbers import kept

Cell = tuple[int, int]
Pictures = Callable[[int], QImage | None]
"""The picture of a row or column by its number; None: its label."""


@dataclass(frozen=True, eq=False)
class HeatContent:
    """A matrix with its labels and the way it is coloured.

    `values` is (rows, columns); rows are drawn downwards unless `transposed`, which exchanges axes, labels
    and sums together, while every index of the widget's interface stays (row, column) of `values`. `blocked`
    cells are hatched. `row_sums` is (rows,), if the rows are distributions; then `column_means` may be
    (columns,), and `chosen` columns whose share of each row is shown. `levels` are the ends of the
    colour map if they cover more than this matrix (range "global"); None measures `values`. `range_name` is
    the name of the range where that of its row does not apply; `quantity` names the numbers before it.
    `row_axis` and `column_axis` name the axes; `title` is read by screen readers. `row_pictures` and
    `column_pictures` give small pictures that stand for labels, such as the patches of an image. `edited`
    cells have a mark in a corner. With `is_first_off` the first column is hatched, with its shares as grey
    bars. Without `shows_entropy` rows have no bars of their entropy.
    """

    values: AnyMatrix
    row_labels: tuple[str, ...]
    column_labels: tuple[str, ...]
    row_color: str
    column_color: str
    blocked: NDArray[np.bool_] | None = None
    signed: bool = False
    range_id: str = "head"
    range_name: str = ""
    levels: tuple[float, float] | None = None
    row_sums: NDArray[np.floating] | None = None
    column_means: NDArray[np.floating] | None = None
    chosen: tuple[int, ...] = ()
    title: str = ""
    transposed: bool = False
    row_axis: str = ""
    column_axis: str = ""
    quantity: str = ""
    row_pictures: Pictures | None = None
    column_pictures: Pictures | None = None
    edited: frozenset[Cell] = frozenset()
    is_first_off: bool = False
    shows_entropy: bool = True

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.values.dtype.kind != "f":
            raise ValueError(f"values: {self.values.dtype} {self.values.shape}; floats (rows, columns)")
        rows, columns = self.values.shape
        if (len(self.row_labels), len(self.column_labels)) != (rows, columns):
            raise ValueError(
                f"labels: {len(self.row_labels)} and {len(self.column_labels)} for {rows} x {columns} values"
            )
        if self.blocked is not None and self.blocked.shape != self.values.shape:
            raise ValueError(f"blocked: shape {self.blocked.shape}; values have {self.values.shape}")
        if self.row_sums is not None and self.row_sums.shape != (rows,):
            raise ValueError(f"row_sums: shape {self.row_sums.shape}; one for each of {rows} rows")
        if self.column_means is not None and self.column_means.shape != (columns,):
            raise ValueError(f"column_means: shape {self.column_means.shape}; {columns} columns")
        if any(not 0 <= column < columns for column in self.chosen):
            raise ValueError(f"chosen: {self.chosen} of {columns} columns")

    @property
    def kind(self) -> Kind:
        """The colour map: diverging if zero is the middle of the range."""
        return color_kind(self.signed, self.range_id)

    def is_blocked(self, cell: Cell) -> bool:
        """True if (row, column) is masked and shown as masked: NaN is shown as NaN."""
        return self.blocked is not None and bool(self.blocked[cell]) and not np.isnan(self.values[cell])


BLOCK_CELLS = 2**16
"""Number of cells coloured at a time: four million at once take ten times as long each."""


@dataclass(frozen=True)
class Highlight:
    """Highlighted cells, in (row, column) of the values: one cell, whole rows and columns, and
    source cells; `newest` is the framed row of the step that is played (-1: none). Where `spot` has cells,
    all others fade; the numbers and the colours of `covered` are hidden.
    """

    cell: Cell | None = None
    rows: frozenset[int] = field(default_factory=frozenset)
    columns: frozenset[int] = field(default_factory=frozenset)
    cells: frozenset[Cell] = field(default_factory=frozenset)
    locked: bool = False
    newest: int = -1
    spot: frozenset[Cell] = field(default_factory=frozenset)
    covered: frozenset[Cell] = field(default_factory=frozenset)


NO_HIGHLIGHT = Highlight()


def color_kind(signed: bool, range_id: str) -> Kind:
    """The colour map of data that are `signed` or not, in range `range_id`."""
    return "diverging" if signed or range_id == "symmetric" else "sequential"


def same_numbers(one: AnyMatrix | None, other: AnyMatrix | None) -> bool:
    """True if both are the same object, or arrays with the same numbers; a NaN equals a NaN."""
    if one is other:
        return True
    if not isinstance(one, np.ndarray) or not isinstance(other, np.ndarray):
        return False
    return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def cell_indices(
    values: AnyMatrix,
    signed: bool,
    range_id: str,
    ends: tuple[float, float] | None = None,
    blocked: NDArray[np.bool_] | None = None,
) -> tuple[Indices, tuple[float, float]]:
    """Colour bytes of `values` (rows, columns), marks included, and the ends of the range that was used."""
    used = levels(values, range_id, signed, blocked) if ends is None else ends
    indices = np.empty(values.shape, np.uint8)
    for part, window in windows(values, BLOCK_CELLS):  # intermediate arrays stay in a core's cache
        hidden = None if blocked is None else blocked[part]
        indices[part] = to_indices(normalise(window, range_id, used, signed, hidden))
        _mark(indices[part], window, hidden)
    return indices, used


def _mark(indices: Indices, values: NDArray[np.floating], blocked: NDArray[np.bool_] | None) -> None:
    """Write the bytes of infinite and of blocked cells over their colours."""
    is_finite = not values.size or bool(np.isfinite(values.max()) and np.isfinite(values.min()))
    if not is_finite:
        indices[values == np.inf] = PLUS_INF
        indices[values == -np.inf] = MINUS_INF
    if blocked is not None:
        # The NaN of a fully masked row is shown: it is the effect of the mask.
        has_nan = not is_finite and bool(np.isnan(values.max()))
        indices[blocked & ~np.isnan(values) if has_nan else blocked] = BLOCKED


def colored(content: HeatContent) -> tuple[Indices, tuple[float, float]]:
    """`cell_indices` of a content."""
    values, blocked = content.values, content.blocked
    # The mask is kept with its result: as long as it lives, nothing else has its identity.
    is_off = content.is_first_off
    key = "indices", content.signed, content.range_id, content.levels, id(blocked), is_off

    def compute() -> tuple[Indices, tuple[float, float], object]:
        indices, ends = cell_indices(values, content.signed, content.range_id, content.levels, blocked)
        return (without_first(indices) if is_off else indices), ends, blocked

    indices, ends, _mask = kept(values, key, compute)
    return indices, ends


def without_first(indices: Indices) -> Indices:
    """The bytes with a first column that has no colours; a NaN in it stays visible."""
    indices[:, :1][indices[:, :1] < LEVELS] = BLOCKED
    return indices


def pooled_indices(
    values: NDArray[np.floating],
    signed: bool,
    range_id: str,
    factors: tuple[int, int],
    ends: tuple[float, float] | None = None,
    blocked: NDArray[np.bool_] | None = None,
) -> Indices:
    """The bytes of `cell_indices`, with each block of `factors` (rows, columns) pooled.

    A colour rises with its value, so that the blocks of finite numbers are pooled before they are coloured:
    few cells are left. Each row of range "row" has colours of its own.
    """
    kind = color_kind(signed, range_id)
    if max(factors) > 1 and values.size and range_id != "row":
        indices = _pooled_first(values, kind, range_id, signed, factors, ends, blocked)
        if indices is not None:
            return indices
    return pool(cell_indices(values, signed, range_id, ends, blocked)[0], factors, kind)


def _pooled_first(
    values: NDArray[np.floating],
    kind: Kind,
    range_id: str,
    signed: bool,
    factors: tuple[int, int],
    ends: tuple[float, float] | None,
    blocked: NDArray[np.bool_] | None,
) -> Indices | None:
    """Bytes of the most salient value of each block; None where a number is not finite."""
    is_diverging, nothing = kind == "diverging", 0.0
    # About zero, the ends that no cell lies beyond are those of the pooled values: these are few.
    is_measured_late = ends is None and is_diverging and not RANGE_BY_ID[range_id].clips
    if ends is None and not is_measured_late:
        ends = levels(values, range_id, signed, blocked)
    if ends is not None and not is_diverging:
        nothing = ends[0]
    held = values if blocked is None else np.where(blocked, values.dtype.type(nothing), values)
    kept, lowest = reduced(np.maximum, held, factors), held
    rows = len(kept)
    if is_diverging:
        lowest = reduced(np.minimum, held, factors)
        kept = np.concatenate((kept, lowest))
    is_finite = math.isfinite(kept.max()) and math.isfinite(lowest.min())
    if not is_finite or (blocked is not None and math.isnan(values.min())):  # a NaN below a mask is shown
        return None
    used = levels(kept, range_id, signed) if ends is None else ends
    indices = to_indices(normalise(kept, range_id, used, signed))
    if is_diverging:
        indices = furthest(indices[:rows], indices[rows:])
    if blocked is not None:
        indices[reduced(np.logical_and, blocked, factors)] = BLOCKED
    return indices
