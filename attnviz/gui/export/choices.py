"""`CHOICES`: the options of an export that are chosen of the state, and the values that each has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from attnviz.core.alignment import ALIGNMENTS
from attnviz.core.levels import RANGES
from attnviz.core.text import elide, visible
from attnviz.figures.kinds.sites import shared_heads, shared_stages
from attnviz.figures.kinds.table import KINDS, OF_WORDS
from attnviz.figures.options import Control
from attnviz.figures.sequences.frames import OVER, SUM, USUAL_KIND
from attnviz.figures.sequences.sequence import FPS
from attnviz.figures.subject import Subject
from attnviz.gui.export.source import ALL, Choice, Source
from attnviz.gui.panels.table import PANELS
from attnviz.i18n import N_, _
from attnviz.model.edit.sweep import swept_fields, usual_span
from attnviz.model.links import LINED
from attnviz.model.ranges import shown_range
from attnviz.model.sites.titles import site_title
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace

TEMPERATURE = "temperature"
"""Path of the number that a new sweep changes."""
DECODE, LAYERS, NUMBER = "decode", "layers", "number"
"""Changes of a sequence that are chosen: two of `OVER`, and a field by its path."""
STILL = ("comparison", "step", "cost", "curves")
"""Kinds of pictures that no sequence changes."""
COUNT = "12"
"""Pictures of a new sweep."""
MOST_TOKENS = 512
LONGEST = 20

Items = list[tuple[str, str]]
"""(value, label) pairs."""


@dataclass(frozen=True)
class At:
    """The kind of picture, the attention, the stage and the change for which values are offered."""

    export: str
    site: SiteTrace
    stage: str
    over: str = ""


def _no_items(source: Source, at: At) -> Items:
    return []


def _nothing(source: Source, at: At) -> str:
    return ""


@dataclass(frozen=True)
class ChoiceRow:
    """One option: its values in a list, and the one that the view has; a text or a switch has that alone.

    `hint` stands in an empty text. `decides`: other options offer other values for each of its own. `flag` is
    the option of the shell, if it has one of its own; `read` makes its value where that is not the text.
    """

    name: str
    title: str
    items: Callable[[Source, At], Items] = _no_items
    present: Callable[[Source, At], str] = _nothing
    control: Control = "choice"
    hint: str = ""
    decides: bool = False
    flag: str = ""
    read: Callable[[Choice], str] | None = None

    def word(self, choice: Choice) -> str:
        """The value that the shell takes; empty where the choice has none."""
        text = choice.text(self.name)
        return self.read(choice) if text and self.read is not None else text

    def value(self, source: Source, at: At, kept: str = "") -> str:
        """The value that is chosen at first: `kept`, that of the view, or the weights, if it is offered."""
        values = [value for value, _label in self.items(source, at)]
        wanted = kept if kept in values else self.present(source, at)
        return wanted if wanted in values or not values else at.site.raw_map


def _sites(source: Source, at: At) -> Items:
    return [(name, site_title(source.trace.experiment, name)) for name in source.trace.sites]


def _stages(source: Source, at: At) -> Items:
    found = at.site.stages
    if at.export in ("sites", "layers"):
        found = shared_stages(source.trace)
    elif at.export in OF_WORDS:
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
    return [*found, (ALL, _("all heads"))] if at.export in OF_WORDS and count > 1 else found


def _head(source: Source, at: At) -> str:
    row, site = STAGE_BY_ID[at.stage], at.site.experiment
    head = min(source.document.view.head, site.heads.n_heads - 1)
    has_stage = at.export in ("stage", "table", "comparison")
    if has_stage and row.axes[0] == "kv_head":
        return str(head // site.heads.group_size)
    return "0" if has_stage and not row.per_head else str(head)


def _queries(source: Source, at: At) -> Items:
    tokens = at.site.names("query")[:MOST_TOKENS]
    found = [(str(i), f"{i + 1} · {elide(visible(token), LONGEST)}") for i, token in enumerate(tokens)]
    return [*found, (ALL, _("all queries"))] if at.export == "lines" else found


def _orientations(source: Source, at: At) -> Items:
    return [("queries_as_rows", _("queries as rows")), ("queries_as_columns", _("queries as columns"))]


def _panels(source: Source, at: At) -> Items:
    return [(row.id, _(row.title)) for row in PANELS if row.id in source.panels]


def _overs(source: Source, at: At) -> Items:
    """The numbers that change from picture to picture: those of the attention, and any other one."""
    swept = [(row.path, _(row.field.title)) for row in swept_fields(at.site.experiment)]
    return [*swept, (NUMBER, _("a number by path"))]


def _over(source: Source, at: At) -> str:
    """The temperature, or the first number of an attention without one."""
    paths = [path for path, _title in _overs(source, at)]
    return TEMPERATURE if TEMPERATURE in paths else paths[0]


def _span(source: Source, at: At) -> tuple[str, str, bool]:
    """The usual range of the number that changes, and True for equal ratios."""
    row = next((row for row in swept_fields(at.site.experiment) if row.path == at.over), None)
    if row is None:
        return ("0", "1", False)
    first, last = usual_span(at.site.experiment, row)
    return f"{first:g}", f"{last:g}", row.field.logarithmic


def _pictures(source: Source, at: At) -> Items:
    subject = Subject(source.trace, source.document.view)
    rows = [row for row in KINDS if row.id not in STILL and not (row.of_values and source.drawn is not None)]
    return [(row.id, _(row.title)) for row in rows if row.why_not(subject) is None]


def _picture(source: Source, at: At) -> str:
    picture = source.document.view.picture
    if at.over in USUAL_KIND:
        return USUAL_KIND[at.over]
    return picture if picture in OF_WORDS and source.drawn is None else "stage"


def _circuits(source: Source, at: At) -> Items:
    return [("qk", _("QK: query token → key token")), ("ov", _("OV: source token → output token"))]


def _spacings(source: Source, at: At) -> Items:
    return [("steps", _("equal steps")), ("ratios", _("equal ratios"))]


def _alignments(source: Source, at: At) -> Items:
    return [(row.id, _(row.title)) for row in ALIGNMENTS]


def _parts(source: Source, at: At) -> Items:
    return [("0", _("before")), ("0.5", _("half way")), ("1", _("after"))]


def _places_of_a(source: Source, at: At) -> Items:
    return [("pinned", _("the pinned head")), ("same", _("the head of B"))]


def over_of(choice: Choice) -> str:
    """The change from picture to picture as `attnviz animate` takes it; that of a sum has no choice."""
    over = choice.text("over")
    if over in OVER:
        return over
    if not over:
        return SUM
    path = choice.text("path") if over == NUMBER else over
    first, last, count = (choice.text(name) for name in ("first", "last", "count"))
    return f"{path}={first}:{last}:{count}{':log' if choice.text('spacing') == 'ratios' else ''}"


CHOICES: tuple[ChoiceRow, ...] = (
    ChoiceRow(
        "panel", N_("Panel"), _panels, lambda source, at: next(iter(source.panels), ""), flag="--panel"
    ),
    ChoiceRow(
        "over",
        N_("Variable"),
        _overs,
        _over,
        decides=True,
        flag="--over",
        read=over_of,
    ),
    ChoiceRow("path", N_("Path"), present=lambda source, at: "vectors[0][0]", control="text"),
    ChoiceRow("first", N_("From"), present=lambda source, at: _span(source, at)[0], control="text"),
    ChoiceRow("last", N_("To"), present=lambda source, at: _span(source, at)[1], control="text"),
    ChoiceRow("count", N_("Pictures"), present=lambda source, at: COUNT, control="text"),
    ChoiceRow(
        "spacing",
        N_("Spacing"),
        _spacings,
        lambda source, at: "ratios" if _span(source, at)[2] else "steps",
    ),
    ChoiceRow("fps", N_("Pictures per second"), control="text", hint=f"{FPS:g}", flag="--fps"),
    ChoiceRow("picture", N_("Picture"), _pictures, _picture, decides=True, flag="--kind"),
    ChoiceRow("site", N_("Attention"), _sites, lambda source, at: at.site.name, decides=True, flag="--site"),
    ChoiceRow(
        "stage",
        N_("Stage"),
        _stages,
        lambda source, at: source.document.view.stage,
        decides=True,
        flag="--stage",
    ),
    ChoiceRow("head", N_("Head"), _heads, _head, flag="--head"),
    ChoiceRow(
        "query", N_("Query"), _queries, lambda source, at: str(source.document.view.query), flag="--query"
    ),
    ChoiceRow("part", N_("Part of the way"), _parts, lambda source, at: "1", flag="--part"),
    ChoiceRow("circuit", N_("Circuit"), _circuits, lambda source, at: "qk", flag="--kind"),
    ChoiceRow(
        "step",
        N_("Step"),
        present=lambda source, at: str(source.document.view.step + 1),
        control="text",
        flag="--step",
        read=lambda choice: str(choice.step),
    ),
    ChoiceRow(
        "alignment", N_("Token alignment"), _alignments, lambda source, at: ALIGNMENTS[0].id, flag="--align"
    ),
    ChoiceRow("of_a", N_("Head of A"), _places_of_a, lambda source, at: "pinned"),
    ChoiceRow(
        "orientation",
        N_("Orientation"),
        _orientations,
        lambda source, at: source.document.view.orientation,
        flag="--orientation",
    ),
    ChoiceRow(
        "range",
        N_("Range"),
        lambda source, at: [(row.id, _(row.label)) for row in RANGES],
        lambda source, at: shown_range(at.site, source.document.view, at.stage),
        flag="--range",
    ),
    ChoiceRow("digits", N_("Decimals"), control="text", hint=N_("all digits"), flag="--digits"),
    ChoiceRow("slides", N_("16:9 slides"), control="switch", flag="--slides"),
)
CHOICE_BY_NAME = {row.name: row for row in CHOICES}
