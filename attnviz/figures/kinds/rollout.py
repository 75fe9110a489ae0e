"""Attention rollout and flow: layers × input tokens for one token, as a heat map."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.color_maps import Kind
from attnviz.core.levels import levels
from attnviz.core.text import elide, visible
from attnviz.errors import Message
from attnviz.figures import heat
from attnviz.figures.content import LONGEST_LABEL, Content, Map, Scale, Side
from attnviz.figures.plan import measure
from attnviz.figures.sheet import Drawing
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject
from attnviz.i18n import N_, _
from attnviz.model.sites.sites import at
from attnviz.study.heads.rollout import layer_map

TITLES = (N_("Attention rollout"), N_("Attention flow"))
FORMULAS = (
    N_("R_l = (A_l / 2 + I / 2) R_(l−1), A the mean of the heads (Abnar and Zuidema 2020)"),
    N_("Maximum flow through (A_l / 2 + I / 2), A the mean of the heads (Abnar and Zuidema 2020)"),
)
"""The sentences about rollout and about flow."""


def _scale(range_id: str, values: NDArray[np.float64]) -> Scale:
    """The colours of the whole map; those of one head and of all heads are the same here."""
    kind: Kind = "diverging" if range_id == "symmetric" else "sequential"
    name = _("This map") if range_id in ("head", "global") else ""
    return Scale(kind, range_id, *levels(values, range_id, False), False, name)


def why_no_rollout(subject: Subject) -> Message | None:
    """The reason for which a subject has no rollout: its stack has no self-attention."""
    experiment = subject.trace.experiment
    stack = at(experiment, subject.shown_site.name).place.stack
    sites = (at(experiment, name) for name in subject.trace.sites)
    if any(site.place.stack == stack and site.memory is None for site in sites):
        return None
    return Message("Rollout needs layers with self-attention.")


def _draw(by_flow: bool, subject: Subject, style: Style) -> Drawing:
    """The rows of the layers, the last one on top, for the selected query."""
    site, query = subject.shown_site, subject.pair.query
    names, values = layer_map(subject.trace, site.name, query, by_flow=by_flow)
    labels, values = subject.trace.site(names[0]).names("key"), values[::-1]
    tokens = tuple(elide(visible(token), LONGEST_LABEL) for token in labels)
    scale = _scale(subject.view.range_of(site.raw_map), values)
    shown = Content(
        title=_("{map} of “{token}”").format(map=_(TITLES[by_flow]), token=tokens[query]),
        quantity=_(TITLES[by_flow]),
        formula=_(FORMULAS[by_flow]),
        maps=(Map("", 0, values, scale.positions(values), None, None, False),),
        down=Side(_("Layers"), tuple(str(layer) for layer in range(len(values), 0, -1)), style.shades.ink),
        across=Side(_("key"), tokens, style.shades.key),
        scale=scale,
    )
    plan = measure(shown, style)

    def draw(axes: Any) -> None:
        heat.draw(axes, plan, style.shades)

    return heat.drawing(plan, draw, shown.title)


draw_rollout = partial(_draw, False)
draw_flow = partial(_draw, True)
