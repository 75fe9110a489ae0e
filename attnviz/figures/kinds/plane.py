"""Queries and keys as arrows in a plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.label_places import Label, label_places
from attnviz.core.planes import kept_share
from attnviz.core.text import elide, isolated, number, visible
from attnviz.figures.fonts import text_font, width
from attnviz.figures.kinds.matrix import titled
from attnviz.figures.layout import MARGIN
from attnviz.figures.sheet import Drawing
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject
from attnviz.i18n import _
from attnviz.model.projections import PROJECTION_BY_ID
from attnviz.model.spec.view import shown_head
from attnviz.model.stages import as_read
from attnviz.model.trace import SiteTrace

NATURAL, LEAST = 300.0, 110.0
LABEL = 8.0
LONGEST = 12
MOST_ARROWS = 64
EDGE = 26.0
"""Points between the longest arrow and the edge, for its label."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Arrow:
    """A tip in the plane, its label and its looks."""

    tip: tuple[float, float]
    label: str
    color: str
    is_strong: bool


def draw_plane(subject: Subject, style: Style) -> Drawing:
    """All keys of the head and the query in focus, as the scores read them; below, their product."""
    site, pair, view = subject.shown_site, subject.pair, subject.view
    q, k = (_matrix(site, subject, name) for name in ("q", "k"))
    vectors = np.concatenate([q, k])
    row = PROJECTION_BY_ID[view.projection]
    last = vectors.shape[1] - 1
    basis = row.basis(
        vectors, (min(view.plane[0], last), min(view.plane[1], last)), (q[pair.query], k[pair.key])
    )
    arrows = _arrows(site, (q @ basis, k @ basis), (pair.query, pair.key), style)
    side = NATURAL if style.room is None else min(style.room - 2 * MARGIN, 1.6 * NATURAL)
    if side < LEAST:
        raise style.too_narrow(LEAST + 2 * MARGIN)
    height = 0.8 * side

    def draw(axes: Any) -> None:
        _draw(axes, arrows, side, height, style)

    words = [_word(site.names("query")[pair.query]), _word(site.names("key")[pair.key])]
    share = kept_share(vectors, basis)
    kept = "–" if np.isnan(share) else f"{100 * share:.3g} %"
    says = _(row.says).format(share=kept, first=f"q {words[0]}", second=f"k {words[1]}")
    dot = float(q[pair.query] @ k[pair.key])
    product = f"q {words[0]} · k {words[1]} = {number(dot)}"
    title = _("queries and keys · head {head} of {count}").format(
        head=pair.head + 1, count=site.experiment.heads.n_heads
    )
    return Drawing(side + 2 * MARGIN, height, draw, titled(subject, title), f"{product} · {says}")


def _matrix(site: SiteTrace, subject: Subject, name: str) -> Floats:
    stage = as_read(name, site.stages)
    head = shown_head(site.experiment, subject.shown_view, stage)
    return np.asarray(site.window(stage, head), dtype=np.float64)


def _arrows(
    site: SiteTrace, tips: tuple[Floats, Floats], strong: tuple[int, int], style: Style
) -> list[_Arrow]:
    """The keys, the one in focus strong, and the query in focus."""
    queries, keys = tips
    shades, tokens = style.shades, site.names("key")
    shown = range(max(0, strong[1] + 1 - MOST_ARROWS), min(len(keys), max(MOST_ARROWS, strong[1] + 1)))
    arrows = [
        _Arrow(
            (float(keys[i, 0]), float(keys[i, 1])), f"k {_word(tokens[i])}", shades.key_mark, i == strong[1]
        )
        for i in shown
    ]
    x, y = map(float, queries[strong[0]])
    return [*arrows, _Arrow((x, y), f"q {_word(site.names('query')[strong[0]])}", shades.query, True)]


def _word(token: str) -> str:
    return isolated(elide(visible(token), LONGEST))


def _draw(axes: Any, arrows: list[_Arrow], side: float, height: float, style: Style) -> None:
    from matplotlib.collections import LineCollection
    from matplotlib.patches import FancyArrowPatch, Rectangle

    shades = style.shades
    tips = np.array([[0.0, 0.0], *(arrow.tip for arrow in arrows if np.isfinite(arrow.tip).all())])
    low, high = tips.min(axis=0), tips.max(axis=0)
    reach = np.maximum(high - low, 1e-9)
    scale = float(min((side - 2 * EDGE - 30) / reach[0], (height - 2 * EDGE) / reach[1]))
    middle_x, middle_y = (low + high) / 2

    def at(tip: tuple[float, float]) -> tuple[float, float]:
        return MARGIN + side / 2 + (tip[0] - middle_x) * scale, height / 2 - (tip[1] - middle_y) * scale

    origin = at((0.0, 0.0))
    axes.add_patch(
        Rectangle((MARGIN, 0), side, height, fill=False, edgecolor=shades.line, linewidth=0.6, zorder=0)
    )
    cross = [[(MARGIN, origin[1]), (MARGIN + side, origin[1])], [(origin[0], 0.0), (origin[0], height)]]
    axes.add_collection(LineCollection(cross, colors=shades.line, linewidths=0.6, zorder=0), autolim=False)
    drawn = [arrow for arrow in arrows if np.isfinite(arrow.tip).all()]
    drawn.sort(key=lambda one: not one.is_strong)
    labels: list[Label] = []
    for arrow in drawn:
        axes.add_patch(
            FancyArrowPatch(
                origin,
                at(arrow.tip),
                arrowstyle="-|>,head_length=5,head_width=2.4",
                color=arrow.color,
                linewidth=1.8 if arrow.is_strong else 0.9,
                alpha=1.0 if arrow.is_strong else 0.75,
                shrinkA=0,
                shrinkB=0,
                mutation_scale=1.0,
                zorder=3 if arrow.is_strong else 2,
            )
        )
        wide = width(arrow.label, text_font(LABEL, bold=arrow.is_strong))
        labels.append(Label((origin, at(arrow.tip)), wide, LABEL + 2))
    room = MARGIN, 0.0, MARGIN + side, height
    for arrow, box in zip(drawn, label_places(labels, room, [one.shaft for one in labels]), strict=True):
        if box is not None:
            font = text_font(LABEL, bold=arrow.is_strong)
            place = box[0], box[3] - 2
            axes.text(*place, arrow.label, font=font, color=arrow.color, parse_math=False, zorder=4)
