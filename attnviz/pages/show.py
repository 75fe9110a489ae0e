"""`show`: a page inside a notebook cell."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from inspect import signature
from types import SimpleNamespace
from typing import Any

from msgspec.structs import replace

from attnviz import resources
from attnviz.errors import FieldError, Message, among, must_be
from attnviz.i18n import _
from attnviz.model.sites.sites import places
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
    attention: Any = None,
    encoder_attention: Any = None,
    decoder_attention: Any = None,
    cross_attention: Any = None,
    encoder_tokens: Sequence[str] | None = None,
    decoder_tokens: Sequence[str] | None = None,
    stage: str | None = None,
    layer: int | None = None,
    head: int | None = None,
    heads: Sequence[int] = (),
    height: int = HEIGHT,
    **others: Any,
) -> Shown:
    """Show a document, an experiment, a trace, or attention weights in a notebook.

    `given` may be the attention weights of another program: arrays or tensors (head, query, key), one for
    each layer, or an output of `transformers`, also of its `generate`, with the texts of the `tokens`: where
    BertViz is called as `head_view(attentions, tokens)` or `model_view(attentions, tokens)`,
    `attnviz.show(attentions, tokens)` takes the same. `attentions` and `attention` are other names of
    `given`; those of an encoder and a decoder may come apart as `encoder_attention`, `decoder_attention` and
    `cross_attention`. `memory_tokens`, or `encoder_tokens`, are the texts of the keys of a cross-attention,
    `decoder_tokens` is another name of `tokens`. `stage`, `layer` and `head` (or the first of `heads`), from
    0, are shown first; `height` is in pixels. Raises `FieldError` for weights of another shape, an unknown
    stage, layer or head, and an argument of BertViz without a meaning here.
    """
    for name, value in others.items():
        known = ", ".join(parameter for parameter in signature(show).parameters if parameter != "others")
        no_argument = Message("is no argument of attnviz.show, which has {names}", names=known)
        raise FieldError(name, value, no_argument)
    apart = {
        "encoder_attentions": encoder_attention,
        "decoder_attentions": decoder_attention,
        "cross_attentions": cross_attention,
    }
    passed = [one for one in (given, attentions, attention) if one is not None]
    if any(one is not None for one in apart.values()):
        passed.append(SimpleNamespace(**apart))
    if len(passed) > 1:
        raise FieldError("attentions", Message("several"), must_be("given once"))
    given = passed[0] if passed else None
    tokens = decoder_tokens if tokens is None else tokens
    memory_tokens = encoder_tokens if memory_tokens is None else memory_tokens
    document, trace = _computed(given, tokens, memory_tokens)
    fields: dict[str, Any] = {}
    if layer is not None:
        standing = reversed([*zip(places(trace.experiment), trace.sites, strict=True)])
        names = {place.layer: name for place, name in standing if place.stack != "encoder"}
        if layer not in names:
            raise FieldError("layer", layer, among(sorted(names)))
        fields["site"] = names[layer]
    site = trace.shown(fields.get("site", document.view.site))
    if not isinstance(heads, Sequence):
        raise FieldError("heads", heads, must_be("a list of heads"))
    head = heads[0] if head is None and heads else head
    if stage is not None:
        if stage not in site.stages:
            raise FieldError("stage", stage, among(site.stages))
        fields["stage"] = stage
    if head is not None:
        if head not in range(site.experiment.heads.n_heads):
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
