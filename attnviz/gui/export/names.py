"""The proposed name of a file."""

from __future__ import annotations

from attnviz.core.text import visible
from attnviz.gui.export.source import Choice, Source
from attnviz.gui.export.table import Export
from attnviz.model.sites.sites import place_of


def file_name(source: Source, row: Export, choice: Choice) -> str:
    """A name with its suffix: the lesson, the panel, or the place, the stage and the kind of picture."""
    return f"{_stem(source, row, choice)}{row.format(choice.format).suffix}"


def _stem(source: Source, row: Export, choice: Choice) -> str:
    if row.id == "lesson" and source.lesson is not None:
        return visible(source.lesson.id)
    if choice.text("panel"):
        return choice.text("panel")
    over = choice.text("over")
    kind = over.replace(".", "-") if over else row.id if row.id not in ("stage", "table") else ""
    stage = choice.text("stage") or _stage(source)
    parts = _place(source, choice), stage if "stage" in row.options else "", kind
    return "-".join(part for part in parts if part)


def _place(source: Source, choice: Choice) -> str:
    """The attention and the head as the window counts them, from 1: `layer-3-head-3`, `decoder-1-cross`."""
    words, site, head = list[str](), source.document.view.site, choice.text("head")
    if choice.text("site") in source.trace.sites:
        site = choice.text("site")
        place = place_of(source.trace.experiment, site)
        words += ["layer" if place.stack == "layers" else place.stack, str(place.layer + 1)]
        words += ["cross"] if place.kind == "cross" else []
    if head.isdecimal() and source.trace.shown(site).experiment.heads.n_heads > 1:
        words += ["head", str(int(head) + 1)]
    return "-".join(words)


def _stage(source: Source) -> str:
    """The stage of the view, or the weights where the attention lacks it."""
    view = source.document.view
    return source.trace.shown(view.site).shown_stage(view.stage)
