"""Content of a figure as plain values: matrices in their orientation, their labels and their colours.

Without drawing and without matplotlib, so that it can be used and tested alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from attnviz.core.color_maps import Kind
from attnviz.core.levels import RANGE_BY_ID, Ends, normalise
from attnviz.core.matrix import AnyMatrix, by_rows, windows
from attnviz.core.shades import Shades
from attnviz.core.text import elide, visible
from attnviz.errors import FieldError, among, must_be
from attnviz.explain.formulas.stages import stage_formula
from attnviz.i18n import _
from attnviz.model.links import LINED
from attnviz.model.ranges import bar_name, range_ends, range_name, shown_range
from attnviz.model.sites.by_hand import edited_cells, still_hidden
from attnviz.model.sites.stages import has_names
from attnviz.model.spec.view import View, shown_head
from attnviz.model.stages import STAGE_BY_ID, Axis, Stage
from attnviz.model.text import written_tokens
from attnviz.model.trace import SiteTrace
from attnviz.study.heads.mean import mean_ends


class SharedEnds:
    """The ends of the colours of each stage, widened by every picture that shares them."""

    def __init__(self) -> None:
        self._found: dict[str, Ends] = {}

    def widened(self, stage: str, ends: Ends) -> Ends:
        """The ends of all pictures so far, this one included."""
        low, high = self._found.get(stage, ends)
        self._found[stage] = min(low, ends[0]), max(high, ends[1])
        return self._found[stage]


Head = int | Literal["all"] | None
"""A head counted from 0, all of them, or the one that the view selects."""

LONGEST_LABEL = 24


@dataclass(frozen=True)
class Side:
    """One axis of the drawing: its name, the label of every position, and its colour.

    `room` are the labels for which room is left; empty: its own. `is_counted`: the labels are numbers.
    """

    name: str
    labels: tuple[str, ...]
    color: str
    room: tuple[str, ...] = ()
    is_counted: bool = False


@dataclass(frozen=True, eq=False)
class Scale:
    """The colours of a figure: the map's kind, the range's id and its ends."""

    kind: Kind
    range_id: str
    low: float
    high: float
    signed: bool
    range_name: str = ""
    """Name of the range where that of its row does not apply."""

    def positions(self, values: AnyMatrix, blocked: NDArray[np.bool_] | None = None) -> NDArray[np.float32]:
        """Positions 0..1 of a matrix on the colour map; "row" measures each row by itself."""
        ends = self.low, self.high
        parts = [
            normalise(window, self.range_id, ends, self.signed, None if blocked is None else blocked[rows])
            for rows, window in windows(values)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def named(self, quantity: str) -> str:
        """Name of the colour bar: the quantity and the range."""
        return bar_name(quantity, self.range_id, self.range_name)


@dataclass(frozen=True, eq=False)
class Map:
    """One matrix as drawn, (down, across). `sums` go beside the rows, or below if `sums_below`.

    `later` are the blocked cells that are not generated yet, `edited` those set by hand; `covered` ones hide
    their numbers, and so do the sums of their rows. With `is_first_off` the cells of the first key have no
    colours, but bars of their shares.
    """

    title: str
    head: int
    values: AnyMatrix
    positions: NDArray[np.float32]
    blocked: NDArray[np.bool_] | None
    sums: NDArray[np.floating] | None
    sums_below: bool
    later: NDArray[np.bool_] | None = None
    edited: frozenset[tuple[int, int]] = frozenset()
    covered: frozenset[tuple[int, int]] = frozenset()
    is_first_off: bool = False

    @property
    def shares(self) -> list[tuple[int, int, float]]:
        """(down, across, share) of the cells of a first key that is left out."""
        if not self.is_first_off:
            return []
        cells, seen = self._first_key, self.first_off
        shares = self.values[cells][seen[cells]].tolist()
        found = zip(np.argwhere(seen).tolist(), shares, strict=True)
        return [(*cell, share) for cell, share in found if tuple(cell) not in self.covered]

    @property
    def first_off(self) -> NDArray[np.bool_]:
        """Visible cells of a first key that is left out, (down, across)."""
        seen = np.zeros(self.values.shape, np.bool_)
        if self.is_first_off:
            seen[self._first_key] = True if self.blocked is None else ~self.blocked[self._first_key]
        return seen

    @property
    def _first_key(self) -> tuple[slice, slice]:
        return (slice(0, 1), slice(None)) if self.sums_below else (slice(None), slice(0, 1))

    @property
    def hidden(self) -> NDArray[np.bool_]:
        """Cells without a number to show in their colour, (down, across): blocked, covered or left out."""
        hidden = np.zeros(self.values.shape, np.bool_) if self.blocked is None else self.blocked.copy()
        for cell in self.covered:
            hidden[cell] = True
        if self.is_first_off:
            hidden[self._first_key] = True
        return hidden

    @property
    def unsummed(self) -> frozenset[int]:
        """Rows whose sum would tell a covered number."""
        return frozenset(cell[1 if self.sums_below else 0] for cell in self.covered)


@dataclass(frozen=True, eq=False)
class Content:
    """A whole figure: its maps share axes and one scale."""

    title: str
    quantity: str
    """Quantity of the colours: the title of the stage."""
    formula: str
    maps: tuple[Map, ...]
    down: Side
    across: Side
    scale: Scale

    @property
    def marks(self) -> dict[str, int]:
        """Number of cells without a colour; each counts once, and first as not generated, then as masked.

        Beside them those that are edited by hand, and those of a first key that is left out.
        """
        counts = {"masked": 0, "later": 0, "nan": 0, "infinite": 0, "edited": 0, "first": 0}
        for one in self.maps:
            shown = np.ones(one.values.shape, dtype=np.bool_) if one.blocked is None else ~one.blocked
            later = 0 if one.later is None else int(one.later.sum())
            counts["later"] += later
            counts["edited"] += len(one.edited)
            counts["first"] += len(one.shares)
            counts["masked"] += one.values.size - int(shown.sum()) - later
            for rows, values in windows(one.values):
                counts["nan"] += int((np.isnan(values) & shown[rows]).sum())
                counts["infinite"] += int((np.isinf(values) & shown[rows]).sum())
        return counts


def content(
    site: SiteTrace,
    view: View,
    stage: str,
    head: Head,
    shades: Shades,
    scale: Scale | None = None,
    shared: SharedEnds | None = None,
) -> Content:
    """Content of the figure of `stage`; with `scale` None, the colours cover this stage alone.

    `shared` widens them to those of the other frames of a sequence.

    Raises `ValueError` for a stage or head that the trace lacks.
    """
    if stage not in site.stages:
        raise FieldError("stage", stage, among(site.stages))
    row = STAGE_BY_ID[stage]
    heads = chosen_heads(site, view, row, head)
    scale = scale or _scale(site, view, row, heads, shared)
    turned = view.orientation == "queries_as_columns"
    on_rows, on_columns = (_side(site, row, axis, shades) for axis in (-2, -1))
    return Content(
        title=figure_title(site, row, heads),
        quantity=site.called(stage),
        formula=stage_formula(site.experiment, stage) if site.quantity == "value" else "",
        maps=tuple(
            _map(
                site.matrix(stage, one),
                row,
                site.head_and_token(stage, one)[0],
                scale,
                _hidden(site, stage, one),
                turned,
                edited_cells(site.experiment, stage, one),
            )
            for one in heads
        ),
        down=on_columns if turned else on_rows,
        across=on_rows if turned else on_columns,
        scale=scale,
    )


def _hidden(
    site: SiteTrace, stage: str, head: int
) -> tuple[NDArray[np.bool_] | None, NDArray[np.bool_] | None]:
    """The blocked cells of one head, and those of them that are not generated yet."""
    return still_hidden(site.experiment, stage, head, site.hatched(stage, head)), site.later(stage)


def covering(one: Content, cells: frozenset[tuple[int, int]], view: View) -> Content:
    """`one` with covered cells (row, column)."""
    if view.orientation == "queries_as_columns":
        cells = frozenset(cell[::-1] for cell in cells)
    return replace(one, maps=tuple(replace(each, covered=cells) for each in one.maps))


def mean_content(
    site: SiteTrace, view: View, stage: str, shades: Shades, shared: SharedEnds | None = None
) -> Content:
    """Content of the figure of the mean of the heads of `stage`."""
    row, turned = STAGE_BY_ID[stage], view.orientation == "queries_as_columns"
    range_id = shown_range(site, view, stage, is_mean=True)
    ends = mean_ends(site, stage, range_id)
    low, high = ends if shared is None else shared.widened(stage, ends)
    one = content(site, view, stage, None, shades)
    named = range_name(stage, range_id, is_mean=True)
    scale = replace(one.scale, range_id=range_id, low=low, high=high, range_name=named)
    return replace(
        one,
        title=_("{stage} · mean of {count} heads").format(stage=_(row.title), count=site.shape(stage)[0]),
        maps=(_map(site.mean(stage), row, 0, scale, (site.hatched(stage), site.later(stage)), turned),),
        scale=scale,
    )


def chosen_heads(site: SiteTrace, view: View, stage: Stage, head: Head) -> tuple[int, ...]:
    """The matrices of the heads that `head` names, of a stage by token those of the query of the view.

    Raises `ValueError` for a head that the stage lacks.
    """
    count = site.shape(stage.id)[0] if stage.per_head else 1
    if head is None:
        return (shown_head(site.experiment, view, stage.id),)
    if head == "all":
        return tuple(site.number_of(stage.id, one, view.query) for one in range(count))
    if isinstance(head, bool) or not isinstance(head, int) or not 0 <= head < count:
        of_stage = must_be("a head of {stage}, 0 to {most}, or 'all'", stage=stage.id, most=count - 1)
        raise FieldError("head", head, of_stage)
    return (site.number_of(stage.id, head, view.query),)


def _scale(
    site: SiteTrace, view: View, stage: Stage, heads: tuple[int, ...], shared: SharedEnds | None
) -> Scale:
    range_id: str = view.range_of(stage.id)
    if len(heads) == 1:
        range_id = shown_range(site, view, stage.id, heads[0])
    elif range_id == "head":
        range_id = "global"  # one colour bar for all
    ends = range_ends(site, stage.id, range_id, heads)
    low, high = ends if shared is None else shared.widened(stage.id, ends)
    kind: Kind = "diverging" if site.is_signed(stage.id) or range_id == "symmetric" else "sequential"
    return Scale(kind, range_id, low, high, site.is_signed(stage.id), range_name(stage.id, range_id))


def _map(
    values: AnyMatrix,
    stage: Stage,
    head: int,
    scale: Scale,
    hidden: tuple[NDArray[np.bool_] | None, NDArray[np.bool_] | None],
    turned: bool,
    edited: frozenset[tuple[int, int]] = frozenset(),
) -> Map:
    """One matrix with its blocked cells, and those of them that are not generated yet."""
    blocked, later = hidden
    positions = scale.positions(values, blocked)
    return Map(
        title=_head_title(stage, head),
        head=head,
        values=values.T if turned else values,
        positions=positions.T if turned else positions,
        blocked=blocked.T if turned and blocked is not None else blocked,
        sums=by_rows(lambda rows: rows.sum(axis=1), values) if stage.has_sums and not scale.signed else None,
        sums_below=turned,
        later=later.T if turned and later is not None else later,
        edited=frozenset(cell[::-1] for cell in edited) if turned else edited,
        is_first_off=RANGE_BY_ID[scale.range_id].skips_first and stage.id in LINED and not scale.signed,
    )


def _side(site: SiteTrace, stage: Stage, axis: int, shades: Shades) -> Side:
    kind, length = stage.axes[axis], site.shape(stage.id)[axis]
    color = side_color(kind, stage.hue, shades)
    if not has_names(kind):
        return Side(site.axis_name(kind), tuple(map(str, range(length))), color, is_counted=True)
    in_the_end = written_tokens(site.vocabulary, site.all_labels(kind))
    return Side(site.axis_name(kind), _drawn(site.names(kind)), color, _drawn(in_the_end))


def _drawn(labels: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(elide(visible(label), LONGEST_LABEL) for label in labels)


def side_color(axis: Axis, hue: str, shades: Shades) -> str:
    """Queries, keys and values have the same colours as in the window."""
    if axis == "query":
        return shades.query
    if axis in ("key", "memory"):
        return shades.value if hue == "value" else shades.key
    return shades.ink if has_names(axis) else shades.muted


def figure_title(site: SiteTrace, stage: Stage, heads: tuple[int, ...]) -> str:
    """The name of the numbers and the shown head, or their number."""
    title = site.called_at(stage.id, heads[0])
    if not stage.per_head:
        return title
    count = site.shape(stage.id)[0]
    is_kv = stage.axes[0] == "kv_head"
    if len(heads) == 1:
        text = _("{stage} · KV head {head} of {count}") if is_kv else _("{stage} · head {head} of {count}")
        head = site.head_and_token(stage.id, heads[0])[0] + 1
        return text.format(stage=title, head=head, count=count)
    text = _("{stage} · all {count} KV heads") if is_kv else _("{stage} · all {count} heads")
    return text.format(stage=title, count=count)


def _head_title(stage: Stage, head: int) -> str:
    if not stage.per_head:
        return ""
    return (_("KV head {head}") if stage.axes[0] == "kv_head" else _("head {head}")).format(head=head + 1)
