"""`KINDS`: the kinds of pictures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from attnviz.errors import InputError, Message
from attnviz.figures.kinds.arcs import draw_arcs
from attnviz.figures.kinds.comparison import draw_comparison, why_no_comparison
from attnviz.figures.kinds.cost import draw_cost
from attnviz.figures.kinds.curves import draw_curves, why_no_curves
from attnviz.figures.kinds.dials import draw_dials, why_no_dials
from attnviz.figures.kinds.layers import draw_layers
from attnviz.figures.kinds.lines import draw_lines
from attnviz.figures.kinds.matrix import draw_heads, draw_stage
from attnviz.figures.kinds.pipeline import draw_pipeline
from attnviz.figures.kinds.plane import draw_plane
from attnviz.figures.kinds.positions import (
    draw_depth,
    draw_distance,
    draw_norms,
    draw_positions,
    draw_slopes,
    draw_temperature,
)
from attnviz.figures.kinds.rollout import draw_flow, draw_rollout, why_no_rollout
from attnviz.figures.kinds.sites import draw_sites
from attnviz.figures.kinds.step import draw_step, why_no_step
from attnviz.figures.kinds.value_sum import draw_sum, why_no_sum
from attnviz.figures.sheet import Drawing
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject
from attnviz.i18n import N_


def _always(subject: Subject) -> Message | None:
    return None


@dataclass(frozen=True)
class Kind:
    """One kind of picture. `options` are the choices that change it, beside width, type and theme.

    `of_values`: the picture has no gradients.
    `why_not` says why a subject has no such picture, or None; `draw` raises `ValueError` for a choice that
    the subject lacks.
    """

    id: str
    title: str
    options: tuple[str, ...]
    draw: Callable[[Subject, Style], Drawing]
    why_not: Callable[[Subject], Message | None] = _always
    of_values: bool = False

    def check(self, subject: Subject) -> None:
        """Raise `InputError` with the reason for which a subject has no such picture."""
        if self.of_values and subject.shown_site.quantity != "value":
            raise InputError(Message("The picture “{kind}” shows values; it has no gradients.", kind=self.id))
        reason = self.why_not(subject)
        if reason is not None:
            raise InputError(reason)


_MAP = ("orientation", "range", "grey", "bar", "square")
_NAMED = (*_MAP, "names")

_CURVE = ("site", "head", "grey")

_PLACE = ("site", "head", "query")

CURVES = "curves"
"""The curves of a training run, which a file may have beside its document."""

_THROUGH = ("site", "query", "range", "grey", "bar", "square", "names")

KINDS = (
    Kind("stage", N_("Map of a head or stage"), ("site", "stage", "head", *_NAMED, "sums"), draw_stage),
    Kind("heads", N_("All heads"), ("site", "stage", *_NAMED), draw_heads),
    Kind("sites", N_("All attentions"), ("stage", "head", *_MAP), draw_sites),
    Kind("layers", N_("Layers × heads"), ("stage", "orientation", "range", "grey", "bar"), draw_layers),
    Kind("rollout", N_("Attention rollout"), _THROUGH, draw_rollout, why_no_rollout, of_values=True),
    Kind("flow", N_("Attention flow"), _THROUGH, draw_flow, why_no_rollout, of_values=True),
    Kind("pipeline", N_("Whole pipeline"), ("site", "head", "orientation", "range", "grey"), draw_pipeline),
    Kind("lines", N_("Lines between tokens"), ("stage", *_PLACE, "grey"), draw_lines, of_values=True),
    Kind("arcs", N_("Arcs over a sentence"), ("stage", *_PLACE, "grey"), draw_arcs, of_values=True),
    Kind("sum", N_("Sum of values, Σ w·v"), (*_PLACE, "part", "grey"), draw_sum, why_no_sum, of_values=True),
    Kind("plane", N_("Plane"), (*_PLACE, "grey"), draw_plane),
    Kind("positions", N_("Positions"), (*_PLACE, "grey"), draw_positions, of_values=True),
    Kind("dials", N_("RoPE dials"), (*_PLACE, "grey"), draw_dials, why_no_dials, of_values=True),
    Kind("slopes", N_("Gradient through softmax"), _CURVE, draw_slopes, of_values=True),
    Kind(
        "temperature",
        N_("Gradient through softmax and temperature"),
        _CURVE,
        draw_temperature,
        of_values=True,
    ),
    Kind("distance", N_("Gradient over distance"), _CURVE, draw_distance, of_values=True),
    Kind("depth", N_("Gradient over depth"), ("grey",), draw_depth, of_values=True),
    Kind("norms", N_("Gradient and norm placement"), ("grey",), draw_norms, of_values=True),
    Kind("cost", N_("Cost curves"), ("grey",), draw_cost, of_values=True),
    Kind(CURVES, N_("Curves of a training"), ("grey",), draw_curves, why_no_curves, of_values=True),
    Kind(
        "comparison",
        N_("Comparison"),
        ("site", "stage", "head", "orientation", "grey", "bar", "square"),
        draw_comparison,
        why_no_comparison,
    ),
    Kind(
        "step", N_("Decoding step"), ("site", "head", "step", "grey"), draw_step, why_no_step, of_values=True
    ),
)
KIND_BY_ID = {row.id: row for row in KINDS}

OF_WORDS = ("lines", "arcs")
"""Pictures of weights between words, which a view can name too."""
PAIRS = ("plane", "positions", "dials")
"""Pictures of a query with a key."""
UNFOLLOWED = ("depth", "norms", "cost", "step", CURVES)
"""Pictures that the tokens which a decoding has generated do not change."""
