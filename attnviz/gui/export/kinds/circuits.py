"""The circuit of a head as a picture or as a table."""

from __future__ import annotations

import csv
import io

from attnviz.checkpoints.stories import record_of
from attnviz.core.progress import Check
from attnviz.errors import Message
from attnviz.figures.files import figure_bytes
from attnviz.figures.fonts import drawing
from attnviz.figures.kinds.pairs import draw_pairs
from attnviz.figures.sheet import sheet_of
from attnviz.figures.style import LEAST_DPI
from attnviz.gui.export.kinds.figure import CSV, PREVIEW_DPI
from attnviz.gui.export.kinds.table import as_text
from attnviz.gui.export.source import Choice, Made, Source
from attnviz.gui.live.circuits import FORMULAS, MOST_PAIRS
from attnviz.i18n import N_, _
from attnviz.model.io.carriers.table import carrying
from attnviz.model.sites.titles import site_title

TITLES = {"qk": N_("QK circuit"), "ov": N_("OV circuit")}


def circuits(source: Source, choice: Choice, check: Check) -> Made:
    """The pairs of tokens with the largest numbers, on the engine of the trace."""
    from attnviz.analysis.circuits import circuit

    document, trace = source.document, source.trace
    site = choice.text("site") or document.site
    head = choice.number("head")
    kind = choice.text("circuit") or "qk"
    chosen = document.view.head if head is None else head
    engine, device = trace.engine, trace.device
    pairs = circuit(
        trace.experiment, site, chosen, kind, MOST_PAIRS, engine=engine, device=device, check=check
    )
    rows = [(pair.first, pair.second, pair.value) for pair in pairs]
    record = record_of(choice.subject(source, check).document(document))
    if choice.format == CSV:
        return as_text(_table(rows).encode("utf-8-sig", "backslashreplace"), f".{CSV}", record)
    of_head = _("head {head}").format(head=chosen + 1)
    title = f"{_(TITLES[kind])} · {site_title(trace.experiment, site)} · {of_head}"
    style = choice.style
    with drawing():
        figure = sheet_of(draw_pairs(rows, title, _(FORMULAS[kind]), style), _(document.caption), style)
    check()
    plain = figure_bytes(figure, choice.format, dpi=style.dpi)
    is_png = choice.format == "png"
    shown = plain if is_png else figure_bytes(figure, "png", dpi=max(LEAST_DPI, PREVIEW_DPI))
    return Made((carrying(plain, f".{choice.format}", record),), shown)


def _table(rows: list[tuple[str, str, float]]) -> str:
    text = io.StringIO(newline="")
    table = csv.writer(text)
    table.writerow(("first", "second", "value"))
    table.writerows((first, second, repr(value)) for first, second, value in rows)
    return text.getvalue()


def why_no_circuits(source: Source) -> Message | None:
    """The reason for which a state has no circuits, or None."""
    if source.document.experiment.vocabulary is not None:
        return None
    return Message("Circuits need a model with a vocabulary, such as those of the generation presets.")
