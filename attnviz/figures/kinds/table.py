"""`KINDS`: the kinds of pictures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from attnviz.errors import Message
from attnviz.figures.kinds.matrix import draw_heads, draw_stage
from attnviz.figures.kinds.sites import draw_sites
from attnviz.figures.kinds.words import draw_lines
from attnviz.figures.sheet import Drawing
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject
from attnviz.i18n import N_


def _always(subject: Subject) -> Message | None:
    return None


@dataclass(frozen=True)
class Kind:
    """One kind of picture. `options` are the choices that change it, beside width, type and theme.

    `why_not` says why a subject has no such picture, or None; `draw` raises `ValueError` for a choice that
    the subject lacks.
    """

    id: str
    title: str
    options: tuple[str, ...]
    draw: Callable[[Subject, Style], Drawing]
    why_not: Callable[[Subject], Message | None] = _always


_MAP = ("orientation", "range", "grey", "bar", "square")

KINDS = (
    Kind("stage", N_("Stage"), ("site", "stage", "head", *_MAP, "sums"), draw_stage),
    Kind("heads", N_("All heads"), ("site", "stage", *_MAP), draw_heads),
    Kind("sites", N_("All attentions"), ("stage", "head", *_MAP), draw_sites),
    Kind("lines", N_("Lines over words"), ("site", "stage", "head", "query"), draw_lines),
)
KIND_BY_ID = {row.id: row for row in KINDS}
