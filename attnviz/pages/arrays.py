"""Attention weights of another program as a trace, so that they are shown as our own are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.errors import FieldError, must_be, size
from attnviz.model.sites.sites import at, site_names
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Heads, SeededVectors
from attnviz.model.spec.view import View
from attnviz.model.trace import SiteTrace, Trace

Floats = NDArray[Any]


class Given:
    """The stage `weights` of one layer, (head, query, key)."""

    def __init__(self, weights: Floats) -> None:
        self.stages: tuple[str, ...] = ("weights",)
        self._weights = weights

    def window(self, stage: str, head: int, rows: slice, columns: slice) -> Floats:
        """Rows and columns of one head."""
        return self._weights[head, rows, columns]

    def blocked(self, rows: slice, columns: slice) -> None:
        """No masks: a weight of 0 is drawn as 0."""
        return


def trace_of_weights(weights: Any, tokens: Sequence[str] | None = None) -> tuple[Document, Trace]:
    """A document and a trace of attention weights: of one head, of one layer, or of all layers.

    `weights` are (query, key), (head, query, key), (1, head, query, key), or a sequence of those, one for
    each layer, such as the `attentions` of an output of `transformers`; NumPy arrays, or torch tensors on any
    device. `tokens` are the texts of the queries, which are the keys as well; numbers without them.
    Raises `FieldError` for other shapes, and for another number of tokens.
    """
    layers = [_layer(one) for one in _layers(weights)]
    n_heads, n_tokens = layers[0].shape[:2]
    names = tuple(map(str, range(n_tokens))) if tokens is None else tuple(map(str, tokens))
    if len(names) != n_tokens:
        raise FieldError("tokens", len(names), must_be("{n} texts", n=n_tokens))
    heads = Heads(n_heads, n_heads, 1)
    experiment = Experiment(
        tokens=names,
        vectors=SeededVectors(n_tokens, n_heads, 0),
        layers=tuple(Layer(heads=heads) for _layer_weights in layers),
    )
    sites = tuple(
        SiteTrace(name, at(experiment, name), Given(layer))
        for name, layer in zip(site_names(experiment), layers, strict=True)
    )
    trace = Trace(experiment, sites, engine="", device="", seconds=0.0)
    return Document(experiment, View(stage="weights")), trace


def _layers(weights: Any) -> Sequence[Any]:
    """One entry for each layer."""
    if isinstance(weights, (list, tuple)):
        if not weights:
            raise FieldError("weights", [], must_be("one array for each layer"))
        return weights
    return [weights]


def _layer(given: Any) -> Floats:
    """The weights of a layer as (head, query, key)."""
    array = given.detach().cpu() if hasattr(given, "detach") else given
    if str(getattr(array, "dtype", "")) in ("torch.bfloat16", "torch.float16"):
        array = array.float()
    found = np.asarray(array)
    shape = found.shape
    if found.ndim == 4 and shape[0] == 1:
        found = found[0]
    if found.ndim == 2:
        found = found[None]
    if found.ndim != 3 or found.shape[1] != found.shape[2] or found.dtype.kind != "f":
        wanted = must_be("floats of (query, key), (head, query, key) or (1, head, query, key), square")
        raise FieldError("weights", size(shape), wanted)
    return found.astype(np.float32) if found.dtype == np.float16 else found
