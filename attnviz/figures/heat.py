"""Drawing of heat maps: cells, or one image for large matrices; numbers, labels, sums, marks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.color_maps import Kind, takes_black_ink
from attnviz.core.matrix import by_rows, taken
from attnviz.core.phrases import sentences
from attnviz.core.shades import Shades, head_color
from attnviz.core.text import number, upright
from attnviz.figures import bar, marks
from attnviz.figures.content import Content, Map, Side
from attnviz.figures.fonts import middle, number_font, text_font, width
from attnviz.figures.layout import BAR, CAPTION, GAP, NAME, Cells
from attnviz.figures.palette import colors, rgb_bytes
from attnviz.figures.plan import SUM_SIZE, Plan
from attnviz.figures.sheet import Drawing, Note
from attnviz.i18n import _

NAME_SIZE = 8.0
DRAWN_CELLS = 2048
"""Largest number of cells drawn one by one in a figure; larger maps are one image each."""
MOST_CELLS = 2048
"""Largest number of cells along a side of that image; beyond it, each block shows its most salient cell."""
PICTURE_PPI = 200
"""Minimum pixels per inch of such an image: viewers may blur a coarse one."""
SQUARE_EM = 0.6
"""Width of a character of the number font, in ems."""
LEAST_NUMBER, MOST_NUMBER = 5.0, 9.0
_UNDER_NUMBER = 0.35
"""Opacity of the bar of a share under its number."""


def draw(axes: Any, plan: Plan, shades: Shades) -> None:
    """Draw the maps into axes whose unit is a point, y downwards, at the places of `plan`."""
    sheet, label, around, content = plan.sheet, plan.label, plan.sizes.around, plan.content
    plot_w, plot_h = sheet.plot_size(*content.maps[0].values.shape)
    for index, (one, (x, y)) in enumerate(zip(content.maps, sheet.corners, strict=True)):
        draw_map(axes, content, one, (x, y, plot_w, plot_h), sheet, shades)
        if index < sheet.n_columns:
            across_labels(axes, content.across, x, y, sheet, label, around.gap)
        if index % sheet.n_columns == 0:
            down_labels(axes, content.down, x, y, sheet, label, around.gap)
        if len(content.maps) > 1:
            _caption(axes, one, x + plot_w / 2, y + plot_h + CAPTION / 2, shades)
        else:
            _sums(axes, plan, (x, y, plot_w, plot_h), shades)
    left, top = sheet.corners[0]
    right, bottom = max(x for x, _y in sheet.corners) + plot_w, max(y for _x, y in sheet.corners) + plot_h
    if plan.names:
        axis_name(axes, content.across, (left + right) / 2, 0, 0, shades)
        axis_name(axes, content.down, around.margin + NAME / 4, (top + bottom) / 2, 90, shades)
    if sheet.bar is None:
        return
    after = None
    if around.bar < BAR:
        after = around.tick + bar.ends_width(content.scale)
        bar.draw_thin(axes, content.scale, sheet.bar, shades, around.tick)
    else:
        bar.draw_bar(axes, content.scale, sheet.bar, shades)
    if plan.names:
        bar.draw_name(axes, content.scale, content.quantity, sheet.bar, shades, after)


def drawing(plan: Plan, draw: Callable[[Any], None], title: str) -> Drawing:
    """The picture of a plan; a figure without names says in its text what the hatching means."""
    sheet = plan.sheet
    notes = footnotes(plan.content.marks)
    return Drawing(
        sheet.width,
        sheet.height,
        draw,
        title,
        plan.content.formula,
        notes if plan.names else tuple(note for note in notes if note[0] != "masked"),
        min(sheet.cell_w, sheet.cell_h),
        plan.without,
        plan.checks,
        plan.sizes.around.margin,
        _caption_of(plan, title),
    )


def _caption_of(plan: Plan, title: str) -> str:
    """A caption with the title, the names of the axes and the meaning of the hatching and of grey bars."""
    shown = plan.content
    rows = _("Rows: {rows}; columns: {columns}").format(rows=shown.down.name, columns=shown.across.name)
    hatched = _("Hatched: masked") if shown.marks["masked"] else ""
    bars = _("Grey bars: {what}").format(what=_first_share()) if shown.marks["first"] else ""
    return sentences(part for part in (title, rows, hatched, bars) if part)


def _first_share() -> str:
    return _("share of the first token, left out of the colours")


def footnotes(counts: dict[str, int]) -> tuple[Note, ...]:
    """(kind of mark, its meaning and its count), for the marks in the figure."""
    texts = {
        "masked": _("masked"),
        "later": _("not yet generated"),
        "nan": _("NaN: {count}").format(count=counts["nan"]),
        "infinite": _("infinite: {count}").format(count=counts["infinite"]),
        "edited": _("edited by hand: {count}").format(count=counts.get("edited", 0)),
        "first": _first_share(),
    }
    return tuple((kind, text) for kind, text in texts.items() if counts.get(kind))


def cell_numbers(one: Map, cell_w: float, cell_h: float) -> tuple[int, float] | None:
    """(decimals, size in points) of the numbers in cells, or None if they do not fit."""
    if one.values.size > DRAWN_CELLS or one.hidden.all():
        return None
    shown = taken(one.values)[~one.hidden]
    for digits in (3, 2):
        longest = max(len(number(value, digits)) for value in shown.ravel().tolist())
        size = min(MOST_NUMBER, 0.5 * cell_h, 0.8 * cell_w / (SQUARE_EM * longest))
        if size >= LEAST_NUMBER:
            return digits, size
    return None


def draw_map(axes: Any, content: Content, one: Map, rect: marks.Rect, sheet: Cells, shades: Shades) -> None:
    """Draw one matrix in `rect`: cells or an image, hatched where masked, with a frame.

    A first key that is left out has no hatching: it is not masked.
    """
    from matplotlib.patches import Rectangle

    x, y, plot_w, plot_h = rect
    draw_ground(axes, one, rect, shades)
    if one.values.size * len(content.maps) > DRAWN_CELLS:
        pixels = picture(one, content.scale.kind, min(sheet.cell_w, sheet.cell_h), shades)
        axes.imshow(
            pixels, extent=(x, x + plot_w, y + plot_h, y), aspect="auto", interpolation="none", zorder=1
        )
    else:
        _draw_cells(axes, content, one, x, y, sheet, shades)
    draw_shares(axes, one, rect, shades)
    for down, across in one.covered:
        cell = x + across * sheet.cell_w, y + down * sheet.cell_h, sheet.cell_w, sheet.cell_h
        marks.question(axes, cell, shades)
    for down, across in one.edited - one.covered:
        cell = x + across * sheet.cell_w, y + down * sheet.cell_h, sheet.cell_w, sheet.cell_h
        marks.corner(axes, cell, shades)
    axes.add_patch(
        Rectangle((x, y), plot_w, plot_h, fill=False, edgecolor=shades.line, linewidth=0.6, zorder=3)
    )


def draw_ground(axes: Any, one: Map, rect: marks.Rect, shades: Shades) -> None:
    """Draw the ground of one matrix in `rect`, below its coloured cells."""
    if one.blocked is not None and one.blocked.any():
        marks.hatch(axes, rect, shades)
        if one.is_first_off:
            marks.blank(axes, _slabs(one.first_off, rect), shades)
    if one.later is not None:
        marks.blank(axes, _slabs(one.later, rect), shades)


def _cell_of(one: Map, rect: marks.Rect) -> tuple[float, float]:
    """Width and height of the cells of a matrix in `rect`."""
    return rect[2] / one.values.shape[1], rect[3] / one.values.shape[0]


def draw_shares(axes: Any, one: Map, rect: marks.Rect, shades: Shades) -> None:
    """The shares of a first key that is left out: grey bars, and their numbers where the others have some."""
    from matplotlib.patches import Rectangle

    (x, y, *_size), (w, h), shares = rect, _cell_of(one, rect), one.shares
    fitting = cell_numbers(one, w, h) if shares else None
    for down, across, share in shares:
        part = min(1.0, max(0.0, share))
        left, top = x + across * w, y + down * h
        size = (w, h * part) if one.sums_below else (w * part, h)
        corner = (left, top + h - size[1]) if one.sums_below else (left, top)
        bar_alpha = 1.0 if fitting is None else _UNDER_NUMBER
        color = marks.share_color(shades)
        axes.add_patch(Rectangle(corner, *size, facecolor=color, alpha=bar_alpha, linewidth=0, zorder=2))
        if fitting is not None:
            digits, points = fitting
            font, said = number_font(points), number(share, digits)
            at = left + w / 2, middle(top + h / 2, font)
            axes.text(*at, said, font=font, color=shades.ink, ha="center", zorder=4, parse_math=False)


def _slabs(mask: NDArray[np.bool_], rect: marks.Rect) -> list[marks.Rect]:
    """Rectangles that cover the cells of a mask in `rect`; equal rows below each other share them."""
    slabs, top = [], 0
    x, y, w, h = rect[0], rect[1], rect[2] / mask.shape[1], rect[3] / mask.shape[0]
    changes = np.flatnonzero((mask[1:] != mask[:-1]).any(axis=1)) + 1
    for bottom in [*changes.tolist(), len(mask)]:
        edges = np.flatnonzero(np.diff(mask[top].astype(np.int8), prepend=0, append=0)).tolist()
        for left, right in zip(edges[::2], edges[1::2], strict=True):
            slabs.append((x + left * w, y + top * h, (right - left) * w, (bottom - top) * h))
        top = bottom
    return slabs


def _draw_cells(
    axes: Any, content: Content, one: Map, x: float, y: float, sheet: Cells, shades: Shades
) -> None:
    from matplotlib.collections import PolyCollection

    w, h = sheet.cell_w, sheet.cell_h
    rgb, hidden, values = colors(one.positions, content.scale.kind, shades), one.hidden, taken(one.values)
    quads, faces = [], []
    for down, across in np.argwhere(np.isfinite(values) & ~hidden).tolist():
        left, top = x + across * w, y + down * h
        quads.append([(left, top), (left + w, top), (left + w, top + h), (left, top + h)])
        faces.append(rgb[down, across] / 255)
    # A thin line of the same colour around each cell; otherwise viewers show the ground between neighbours.
    axes.add_collection(
        PolyCollection(quads, facecolors=faces, edgecolors="face", linewidths=0.25, zorder=1), autolim=False
    )
    for down, across in np.argwhere(~np.isfinite(values) & ~hidden).tolist():
        mark = marks.cross if np.isnan(values[down, across]) else marks.rule
        mark(axes, (x + across * w, y + down * h, w, h), shades)
    fitting = cell_numbers(one, w, h)
    if fitting is not None:
        _draw_numbers(axes, one, hidden, rgb, fitting, (x, y, w, h))


def _draw_numbers(
    axes: Any,
    one: Map,
    hidden: NDArray[np.bool_],
    rgb: NDArray[np.uint8],
    fitting: tuple[int, float],
    first: tuple[float, float, float, float],
) -> None:
    x, y, w, h = first
    digits, size = fitting
    font, black, values = number_font(size), takes_black_ink(rgb), taken(one.values)
    for down, across in np.argwhere(np.isfinite(values) & ~hidden).tolist():
        axes.text(
            x + (across + 0.5) * w,
            middle(y + (down + 0.5) * h, font),
            number(float(values[down, across]), digits),
            font=font,
            color="#000000" if black[down, across] else "#ffffff",
            ha="center",
            zorder=4,
            parse_math=False,
        )


def picture(one: Map, kind: Kind, cell: float, shades: Shades) -> NDArray[np.uint8]:
    """A map as RGBA bytes, masked cells transparent; cells are `cell` points large."""
    positions, is_infinite = one.positions, by_rows(np.isinf, one.values)
    is_whole = one.blocked is None and not one.covered and not one.is_first_off
    blocked = None if is_whole else one.hidden
    step = -(-max(positions.shape) // MOST_CELLS)
    if step > 1:
        is_finite = by_rows(np.isfinite, one.values)
        rows, columns = _outstanding(positions, ~is_finite, blocked, kind == "diverging", step)
        positions, is_infinite = positions[rows, columns], is_infinite[rows, columns]
        blocked = None if blocked is None else blocked[rows, columns]
    pixels = np.full((*positions.shape, 4), 255, dtype=np.uint8)
    pixels[..., :3] = colors(positions, kind, shades)
    pixels[is_infinite, :3] = rgb_bytes(shades.warning)
    if blocked is not None:
        pixels[blocked] = 0
    repeat = max(1, math.ceil(cell * step * PICTURE_PPI / 72))
    return np.repeat(np.repeat(pixels, repeat, axis=0), repeat, axis=1)


def _outstanding(
    positions: NDArray[np.float32],
    is_special: NDArray[np.bool_],
    blocked: NDArray[np.bool_] | None,
    is_diverging: bool,
    step: int,
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """For each block of `step` by `step` cells, the (row, column) of its most salient cell."""
    weight = np.abs(positions - 0.5) if is_diverging else positions.copy()
    weight[is_special] = 2.0
    if blocked is not None:
        weight[blocked] = -1.0
    rows, columns = weight.shape
    padded = np.pad(weight, ((0, -rows % step), (0, -columns % step)), constant_values=-2.0)
    n_rows, n_columns = padded.shape[0] // step, padded.shape[1] // step
    blocks = padded.reshape(n_rows, step, n_columns, step).transpose(0, 2, 1, 3)
    best = blocks.reshape(n_rows, n_columns, -1).argmax(axis=2)
    down, across = np.divmod(best, step)
    return down + np.arange(n_rows)[:, None] * step, across + np.arange(n_columns)[None, :] * step


def across_labels(
    axes: Any, side: Side, x: float, y: float, sheet: Cells, label: float, gap: float = GAP
) -> None:
    """The labels above a map whose top left corner is (x, y), `label` points high, at a distance of `gap`.

    One letter is upright; wide characters are, where other labels are rotated by 90°.
    """
    font = text_font(label)
    sides = {0: ("center", "baseline"), 45: ("left", "baseline"), 90: ("center", "bottom")}
    for index in range(0, len(side.labels), sheet.across_step):
        text = side.labels[index]
        column = upright(text) if sheet.across_angle == 90 or len(text) == 1 else ()
        angle = 0 if column else sheet.across_angle
        for lift, part in enumerate(reversed(column or (text,))):
            axes.text(
                x + (index + 0.5) * sheet.cell_w,
                y - gap - lift * label,
                part,
                font=font,
                color=side.color,
                rotation=angle,
                rotation_mode="anchor" if angle == 45 else "default",
                ha=sides[angle][0],
                va=sides[angle][1],
                parse_math=False,
            )


def down_labels(
    axes: Any, side: Side, x: float, y: float, sheet: Cells, label: float, gap: float = GAP
) -> None:
    """The labels to the left of a map whose top left corner is (x, y), `label` points high, `gap` from it."""
    font = text_font(label)
    for index in range(0, len(side.labels), sheet.down_step):
        axes.text(
            x - gap,
            middle(y + (index + 0.5) * sheet.cell_h, font),
            side.labels[index],
            font=font,
            color=side.color,
            ha="right",
            parse_math=False,
        )


def axis_name(axes: Any, side: Side, x: float, y: float, angle: int, shades: Shades) -> None:
    """Name of an axis around the point (x, y), rotated by `angle` degrees."""
    axes.text(
        x,
        y,
        side.name,
        font=text_font(NAME_SIZE),
        color=shades.muted,
        rotation=angle,
        ha="center",
        va="center" if angle else "top",
        parse_math=False,
    )


def _sums(axes: Any, plan: Plan, rect: marks.Rect, shades: Shades) -> None:
    content, gap = plan.content, plan.sizes.around.gap
    x, y, plot_w, plot_h = rect
    texts, sheet, font = plan.sums, plan.sheet, number_font(SUM_SIZE)
    below = middle(y + plot_h + gap + SUM_SIZE / 2, font)
    for index, text in enumerate(texts):
        if content.maps[0].sums_below:
            at, side = (x + (index + 0.5) * sheet.cell_w, below), "center"
        else:
            at, side = (x + plot_w + gap, middle(y + (index + 0.5) * sheet.cell_h, font)), "left"
        axes.text(*at, text, font=font, color=shades.muted, ha=side, parse_math=False)
    if texts and content.maps[0].sums_below:
        axes.text(x - gap, below, "Σ", font=font, color=shades.muted, ha="right", parse_math=False)


def _caption(axes: Any, one: Map, x: float, y: float, shades: Shades) -> None:
    """The head of a map, with a spot in the head's hue."""
    from matplotlib.patches import Rectangle

    font = text_font(NAME_SIZE)
    half = (width(one.title, font) + 10) / 2
    hue = head_color(one.head)
    axes.add_patch(Rectangle((x - half, y - 3), 6, 6, facecolor=hue, linewidth=0))
    axes.text(x - half + 10, middle(y, font), one.title, font=font, color=shades.muted, parse_math=False)
