"""`CHOICES`: the options of an export that are chosen of the state, and the values that each has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from attnviz.core.levels import RANGES
from attnviz.core.text import elide, visible
from attnviz.figures.all_sites import shared_heads, shared_stages
from attnviz.gui.export.source import ALL, Source
from attnviz.gui.panels.table import PANELS
from attnviz.i18n import N_, _
from attnviz.model.links import LINED
from attnviz.model.sites.titles import site_title
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace

MOST_TOKENS = 512
LONGEST = 20

Items = list[tuple[str, str]]
"""(value, label) pairs."""


@dataclass(frozen=True)
class At:
    """The export, the attention and the stage for which values are offered."""

    export: str
    site: SiteTrace
    stage: str


@dataclass(frozen=True)
class ChoiceRow:
    """One option: its values (none: a text is typed), and the one that the view has."""

    name: str
    title: str
    items: Callable[[Source, At], Items]
    present: Callable[[Source, At], str]


def _sites(source: Source, at: At) -> Items:
    return [(name, site_title(source.trace.experiment, name)) for name in source.trace.sites]


def _stages(source: Source, at: At) -> Items:
    found = at.site.stages
    if at.export in ("sites", "layers"):
        found = shared_stages(source.trace)
    elif at.export == "lines":
        found = tuple(stage for stage in found if stage in LINED)
    return [(stage, _(STAGE_BY_ID[stage].title)) for stage in found]


def _heads(source: Source, at: At) -> Items:
    row = STAGE_BY_ID[at.stage]
    n_heads = at.site.experiment.heads.n_heads
    has_stage = at.export in ("stage", "table", "comparison")
    count = (at.site.shape(at.stage)[0] if row.per_head else 1) if has_stage else n_heads
    count = shared_heads(source.trace) if at.export == "sites" else count
    is_kv = has_stage and row.axes[0] == "kv_head"
    name = _("KV head {head}") if is_kv else _("head {head}")
    found = [(str(head), name.format(head=head + 1)) for head in range(count)]
    return [*found, (ALL, _("all heads"))] if at.export == "lines" and count > 1 else found


def _head(source: Source, at: At) -> str:
    row, site = STAGE_BY_ID[at.stage], at.site.experiment
    head = min(source.document.view.head, site.heads.n_heads - 1)
    has_stage = at.export in ("stage", "table", "comparison")
    if has_stage and row.axes[0] == "kv_head":
        return str(head // site.heads.group_size)
    return "0" if has_stage and not row.per_head else str(head)


def _queries(source: Source, at: At) -> Items:
    tokens = at.site.experiment.tokens[:MOST_TOKENS]
    found = [(str(i), f"{i + 1} · {elide(visible(token), LONGEST)}") for i, token in enumerate(tokens)]
    return [*found, (ALL, _("all queries"))] if at.export == "lines" else found


def _orientations(source: Source, at: At) -> Items:
    return [("queries_as_rows", _("queries as rows")), ("queries_as_columns", _("queries as columns"))]


def _panels(source: Source, at: At) -> Items:
    return [(row.id, _(row.title)) for row in PANELS if row.id in source.panels]


CHOICES: tuple[ChoiceRow, ...] = (
    ChoiceRow("panel", N_("Panel"), _panels, lambda source, at: next(iter(source.panels), "")),
    ChoiceRow("site", N_("Attention"), _sites, lambda source, at: at.site.name),
    ChoiceRow("stage", N_("Stage"), _stages, lambda source, at: source.document.view.stage),
    ChoiceRow("head", N_("Head"), _heads, _head),
    ChoiceRow("query", N_("Query"), _queries, lambda source, at: str(source.document.view.query)),
    ChoiceRow("step", N_("Step"), lambda source, at: [], lambda source, at: str(source.document.view.step)),
    ChoiceRow(
        "orientation", N_("Orientation"), _orientations, lambda source, at: source.document.view.orientation
    ),
    ChoiceRow(
        "range",
        N_("Range"),
        lambda source, at: [(row.id, _(row.label)) for row in RANGES],
        lambda source, at: source.document.view.range_of(at.stage),
    ),
    ChoiceRow("digits", N_("Digits"), lambda source, at: [], lambda source, at: ""),
)
CHOICE_BY_NAME = {row.name: row for row in CHOICES}
