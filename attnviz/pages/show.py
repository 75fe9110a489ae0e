"""`show`: a page inside a notebook cell."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from msgspec.structs import replace

from attnviz import resources
from attnviz.errors import FieldError, among
from attnviz.i18n import _
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.trace import Trace
from attnviz.pages.arrays import trace_of_weights
from attnviz.pages.page import page_and_rest

HEIGHT = 760
"""Pixels of a cell's output."""


class Shown:
    """A page for Jupyter: a cell shows `html` in a frame of its own, and holds `rest` beside the frame.

    `rest` are the numbers that the first picture does not need. A browser reads a frame's text as a whole,
    twice, before the frame draws: the text is kept short, and the frame asks for a block of `rest` by number.
    """

    def __init__(self, html: str, rest: str, height: int) -> None:
        self.html, self.rest, self.height = html, rest, height

    def _repr_html_(self) -> str:
        # A frame keeps the notebook's styles and scripts apart from the page's.
        source = escape(self.html, quote=True)
        style = f"width: 100%; height: {self.height}px; border: 0"
        # A notebook that is not trusted drops the frame and keeps the text in it, which no browser shows.
        said = _("The picture runs in the browser: trust this notebook to see it.")
        # The frame cannot read the notebook, which therefore tells it the theme, and the numbers in `rest`.
        loaded = escape(resources.path("page", "frame.js").read_text(encoding="utf-8"), quote=True)
        attributes = f'style="{style}" sandbox="allow-scripts" onload="{loaded}"'
        return f'<div><iframe srcdoc="{source}" {attributes}>{said}</iframe>\n{self.rest}</div>'


def show(
    given: Any = None,
    tokens: Sequence[str] | None = None,
    memory_tokens: Sequence[str] | None = None,
    *,
    attentions: Any = None,
    stage: str | None = None,
    head: int | None = None,
    height: int = HEIGHT,
) -> Shown:
    """Show a document, an experiment, a trace, or attention weights in a notebook.

    `given` may be the attention weights of another program: arrays or tensors (head, query, key), one for
    each layer, or an output of `transformers`, with the texts of the `tokens`: where BertViz is called as
    `head_view(attentions, tokens)` or `model_view(attentions, tokens)`, `attnviz.show(attentions, tokens)`
    takes the same. `attentions` is another name of `given`. `memory_tokens` are the texts of the keys of a
    cross-attention. `stage` and `head`, from 0, are shown first; `height` is in pixels. Raises `FieldError`
    for weights of another shape, and an unknown stage or head.
    """
    given = attentions if given is None else given
    document, trace = _computed(given, tokens, memory_tokens)
    site = trace.shown(document.view.site)
    fields: dict[str, Any] = {}
    if stage is not None:
        if stage not in site.stages:
            raise FieldError("stage", stage, among(site.stages))
        fields["stage"] = stage
    if head is not None:
        if not 0 <= head < site.experiment.heads.n_heads:
            raise FieldError("head", head, among(range(site.experiment.heads.n_heads)))
        fields["head"] = head
    shown = replace(document, view=replace(document.view, **fields))
    return Shown(*page_and_rest(shown, trace), height)


def _computed(
    given: Any, tokens: Sequence[str] | None, memory_tokens: Sequence[str] | None
) -> tuple[Document, Trace]:
    """The document and its trace, computed where it is none."""
    if isinstance(given, Trace):
        return Document(given.experiment), given
    if isinstance(given, (Document, Experiment)):
        from attnviz.compute.execute import execute

        document = given if isinstance(given, Document) else Document(given)
        return document, execute(document.experiment)
    return trace_of_weights(given, tokens, memory_tokens)
