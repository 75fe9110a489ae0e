"""RoPE's pairs as dials: the angle of the query's position and of the key's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from attnviz.core.positions import rope_angles
from attnviz.core.text import elide, number, visible
from attnviz.errors import Message
from attnviz.explain.score_pair import pair_scores
from attnviz.figures.fonts import number_font
from attnviz.figures.kinds.matrix import titled
from attnviz.figures.layout import MARGIN
from attnviz.figures.sheet import Drawing
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject
from attnviz.i18n import _
from attnviz.model.positions import changes, pair_frequencies

DIAL, LEAST = 64.0, 34.0
CAPTION = 14.0
SPACE = 14.0
NATURAL_COLUMNS = 8
MOST_DIALS = 64
REACH = 0.92
"""Length of an arm, as a share of the radius."""
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def why_no_dials(subject: Subject) -> Message | None:
    """The reason for which an attention has no dials: it does not rotate."""
    if changes(subject.shown_site.experiment.position) == "rotation":
        return None
    return Message("The dials need an attention with RoPE.")


def draw_dials(subject: Subject, style: Style) -> Drawing:
    """A dial for each pair of features, with its frequency; the title has the score before and after."""
    site, pair = subject.shown_site, subject.pair
    rope: Any = site.experiment.position
    frequencies = pair_frequencies(site.experiment)[:MOST_DIALS]
    first = rope.start + site.experiment.query_offset
    positions = np.array([first + pair.query, rope.start + pair.key])
    angles = rope_angles(positions, frequencies)
    columns = min(len(frequencies), NATURAL_COLUMNS)
    if style.room is not None:
        columns = min(len(frequencies), int((style.room - 2 * MARGIN + SPACE) // (LEAST + SPACE + 18)))
    if columns < 1:
        raise style.too_narrow(2 * MARGIN + LEAST + 18)
    step = DIAL + SPACE
    if style.room is not None:
        step = min((style.room - 2 * MARGIN + SPACE) / columns, 2 * DIAL)
    side = step - SPACE
    rows = -(-len(frequencies) // columns)

    def draw(axes: Any) -> None:
        for index, frequency in enumerate(frequencies):
            row, column = divmod(index, columns)
            center = MARGIN + column * step + side / 2, row * (side + CAPTION + SPACE) + side / 2
            _draw_dial(axes, center, side / 2 - 1, (float(angles[0, index]), float(angles[1, index])), style)
            font = number_font(7.0)
            text = f"θ{str(index).translate(_SUBSCRIPTS)} {float(frequency):.3g}".replace("-", "\u2212")
            y = center[1] + side / 2 + CAPTION - 3
            axes.text(center[0], y, text, font=font, color=style.shades.muted, ha="center", parse_math=False)

    words = site.names("query")[pair.query], site.names("key")[pair.key]
    query, key = (elide(visible(word), 16) for word in words)
    says = _("q of “{query}” at {m}, k of “{key}” at {n}").format(
        query=query,
        m=first + pair.query,
        key=key,
        n=pair.key + rope.start,
    )
    scores = pair_scores(site, pair)
    if scores is not None:
        plain, rotated = (number(value, 4) for value in scores)
        says += f" · {_('q·k unrotated')} {plain} · {_('q·k rotated')} {rotated}"
    width = 2 * MARGIN + columns * step - SPACE
    height = rows * (side + CAPTION + SPACE) - SPACE
    return Drawing(width, height, draw, titled(subject, _("RoPE: angles of the pairs")), says)


def _draw_dial(
    axes: Any, center: tuple[float, float], radius: float, angles: tuple[float, float], style: Style
) -> None:
    """A circle, the arm of the query and that of the key, counter-clockwise from the right."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Circle, Wedge

    shades, (x, y) = style.shades, center
    looks = {"facecolor": shades.ground, "edgecolor": shades.line, "linewidth": 0.8}
    axes.add_patch(Circle(center, radius, zorder=1, **looks))
    between = math.remainder(angles[1] - angles[0], math.tau)
    first, last = sorted((-angles[0], -angles[0] - between))
    sector = math.degrees(first), math.degrees(last)
    axes.add_patch(Wedge(center, radius * 0.45, *sector, facecolor=shades.hatch, alpha=0.5, linewidth=0))
    for angle, color, dashes in ((angles[1], shades.key_mark, (2.5, 1.5)), (angles[0], shades.query, ())):
        end = x + REACH * radius * math.cos(angle), y - REACH * radius * math.sin(angle)
        arm = Line2D([x, end[0]], [y, end[1]], color=color, linewidth=1.8, zorder=3)
        if shades.is_grey and dashes:
            arm.set_dashes(dashes)
        axes.add_line(arm)
