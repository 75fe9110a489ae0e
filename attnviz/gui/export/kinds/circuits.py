"""The circuit of a head as a picture or as a table."""

from __future__ import annotations

from attnviz.checkpoints.stories import record_of
from attnviz.core.progress import Check
from attnviz.errors import Message
from attnviz.figures.files import figure_bytes
from attnviz.figures.kinds.pairs import circuit_csv, circuit_figure
from attnviz.figures.style import LEAST_DPI
from attnviz.gui.export.kinds.figure import CSV, PREVIEW_DPI
from attnviz.gui.export.kinds.table import as_text
from attnviz.gui.export.source import Choice, Made, Source
from attnviz.model.io.carriers.table import carrying
from attnviz.study.circuit_texts import MOST_PAIRS


def circuits(source: Source, choice: Choice, check: Check) -> Made:
    """The pairs of tokens with the largest numbers, on the engine of the trace."""
    from attnviz.study.circuits import circuit

    subject, trace = choice.subject(source, check), source.trace
    kind, view = choice.text("circuit") or "qk", subject.shown_view
    site, where = subject.shown_site.name, {"engine": trace.engine, "device": trace.device}
    pairs = circuit(trace.experiment, site, view.head, kind, MOST_PAIRS, check=check, **where)
    rows = [(pair.first, pair.second, pair.value) for pair in pairs]
    record = record_of(subject.document(source.document))
    if choice.format == CSV:
        return as_text(circuit_csv(rows), f".{CSV}", record)
    figure = circuit_figure(rows, kind, subject, choice.style)
    check()
    plain = figure_bytes(figure, choice.format, dpi=choice.style.dpi)
    is_png = choice.format == "png"
    shown = plain if is_png else figure_bytes(figure, "png", dpi=max(LEAST_DPI, PREVIEW_DPI))
    return Made((carrying(plain, f".{choice.format}", record),), shown)


def why_no_circuits(source: Source) -> Message | None:
    """The reason for which a state has no circuits, or None."""
    if source.document.experiment.vocabulary is not None:
        return None
    return Message("Circuits need a model with a vocabulary, such as those of the generation presets.")
