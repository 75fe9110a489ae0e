"""Attention weights of another program as a trace, so that they are shown as our own are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.piece_kinds import plain_texts
from attnviz.errors import FieldError, must_be, size
from attnviz.model.sites.sites import at, places, site_names
from attnviz.model.spec.attention import Attention, Layer
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Heads, Memory, SeededVectors
from attnviz.model.spec.view import View
from attnviz.model.trace import ANY_CELLS, SiteTrace, Trace

Floats = NDArray[Any]


class Given:
    """The stage `weights` of one layer, (head, query, key)."""

    most_cells = ANY_CELLS

    def __init__(self, weights: Floats) -> None:
        self.stages: tuple[str, ...] = ("weights",)
        self._weights = weights

    def window(self, stage: str, head: int, rows: slice, columns: slice) -> Floats:
        """Rows and columns of one head."""
        return self._weights[head, rows, columns]

    def blocked(self, rows: slice, columns: slice) -> None:
        """No masks: a weight of 0 is drawn as 0."""
        return


FIELDS = {
    "self": ("attentions", "decoder_attentions"),
    "cross": ("cross_attentions",),
    "encoder": ("encoder_attentions",),
}
"""Fields of an output of `transformers` with the weights of each kind of attention."""


def trace_of_weights(
    given: Any, tokens: Sequence[str] | None = None, memory_tokens: Sequence[str] | None = None
) -> tuple[Document, Trace]:
    """A document and a trace of attention weights: of one head, of one layer, or of all layers.

    `given` are (query, key), (head, query, key), (1, head, query, key), or a sequence of those, one for
    each layer; NumPy arrays, or torch tensors on any device; or an output of `transformers`, whose
    `attentions`, or `encoder_attentions`, `decoder_attentions` and `cross_attentions`, are taken. Weights of
    a generation, a sequence of steps with one array for each layer, are joined. `tokens` are the texts of the
    queries, `memory_tokens` those of the keys of a cross-attention; numbers without them; after a generation
    the last token, which nothing has read, may be among them. Weights that are not square, or that come with
    `memory_tokens`, are those of a cross-attention. Raises `FieldError` for other shapes, and for another
    number of tokens.
    """
    kinds = _kinds(given)
    by_kind = {
        kind: _joined(several, kind) if _are_steps(several) else [_layer(one) for one in several]
        for kind, several in kinds.items()
    }
    if any(map(_are_steps, kinds.values())):
        tokens = _read(tokens, next(iter(by_kind.values()))[0].shape[1])
    if list(by_kind) == ["self"] and (memory_tokens is not None or not _is_square(by_kind["self"][0])):
        by_kind = {"cross": by_kind["self"]}
    elif list(by_kind) == ["encoder"]:
        by_kind, tokens = {"self": by_kind["encoder"]}, tokens if memory_tokens is None else memory_tokens
    experiment = _experiment(by_kind, tokens, memory_tokens)
    by_place = {
        name: by_kind["encoder" if place.stack == "encoder" else place.kind][place.layer]
        for place, name in zip(places(experiment), site_names(experiment), strict=True)
    }
    sites = tuple(SiteTrace(name, at(experiment, name), Given(layer)) for name, layer in by_place.items())
    trace = Trace(experiment, sites, engine="", device="", seconds=0.0)
    return Document(experiment, View(stage="weights")), trace


def _kinds(given: Any) -> dict[str, Sequence[Any]]:
    """The layers of each kind of attention that was passed."""
    fields = {kind: [getattr(given, name, None) for name in names] for kind, names in FIELDS.items()}
    by_kind = {kind: _layers(one) for kind, several in fields.items() for one in several if _has_weights(one)}
    is_output = any(hasattr(given, name) for names in FIELDS.values() for name in names)
    if not by_kind and (is_output or not _has_weights(given)):
        raise _not_computed()
    if by_kind and "self" not in by_kind and "cross" in by_kind:
        by_kind.pop("encoder", None)  # without the decoder's own weights, its layers would lack an attention
    return by_kind or {"self": _layers(given)}


def _not_computed() -> FieldError:
    """The error of weights that the model has not returned."""
    wanted = must_be(
        "computed by the model: pass output_attentions=True, and load it with {option}",
        option='attn_implementation="eager"',
    )
    return FieldError("attentions", None, wanted)


def _has_weights(given: Any) -> bool:
    """True unless an output of `transformers` leaves a field empty, or empty for each layer."""
    while isinstance(given, (list, tuple)) and given:
        given = given[0]
    return given is not None and not (isinstance(given, tuple) and not given)


def _are_steps(weights: Sequence[Any]) -> bool:
    """True for the weights of a generation: of each step, those of each layer."""
    first = weights[0]
    return isinstance(first, (list, tuple)) and any(hasattr(one, "shape") for one in first)


def _joined(steps: Sequence[Sequence[Any]], kind: str) -> list[Floats]:
    """The weights of each layer, (head, query, key), from those of the steps of a generation.

    A step has the queries that are new in it; a key that it could not see yet has the weight 0. A cache of a
    fixed size has more keys than the generation; they are empty, and cut off. Raises `FieldError` for a cache
    that has lost its first keys.
    """
    joined = []
    for number in range(len(steps[0])):
        rows = [_layer(step[number]) for step in steps]
        n_queries = sum(one.shape[1] for one in rows)
        n_keys = rows[0].shape[2] if kind == "cross" else n_queries
        whole = np.zeros((len(rows[0]), n_queries, n_keys), rows[0].dtype)
        end = 0
        for step, one in enumerate(rows):
            begin, end = end, end + one.shape[1]
            n_seen = n_keys if kind == "cross" else end
            if len(one) != len(whole) or one.shape[2] < n_seen or one[..., n_seen:].any():
                wanted = must_be(
                    "weights of {size} in step {step}",
                    size=size((len(whole), one.shape[1], n_seen)),
                    step=step,
                )
                raise FieldError("weights", size(one.shape), wanted)
            whole[:, begin:end, :n_seen] = one[..., :n_seen]
        joined.append(whole)
    return joined


def _read(tokens: Sequence[str] | None, n_queries: int) -> Sequence[str] | None:
    """The tokens that a generation has read: all but the last one, which it has returned as well."""
    return tokens[:-1] if tokens is not None and len(tokens) == n_queries + 1 else tokens


def _experiment(
    by_kind: dict[str, list[Floats]], tokens: Sequence[str] | None, memory_tokens: Sequence[str] | None
) -> Experiment:
    """An experiment with the tokens, layers and heads of the weights; its numbers mean nothing."""
    main = by_kind.get("self") or by_kind["cross"]
    n_heads, n_queries = main[0].shape[:2]
    _check_sizes(by_kind)
    keys = by_kind["cross"][0].shape[2] if "cross" in by_kind else 0
    memory = (
        Memory(_names("memory_tokens", memory_tokens, keys), SeededVectors(keys, n_heads, 0))
        if keys
        else None
    )
    cross = by_kind.get("cross") if "self" in by_kind else None
    return Experiment(
        tokens=_names("tokens", tokens, n_queries),
        vectors=SeededVectors(n_queries, n_heads, 0),
        memory=memory,
        layers=tuple(
            Layer(heads=_heads(layer), cross=None if cross is None else Attention(heads=_heads(cross[index])))
            for index, layer in enumerate(main)
        ),
        encoder=tuple(Layer(heads=_heads(layer)) for layer in by_kind.get("encoder", ())),
    )


def _check_sizes(by_kind: dict[str, list[Floats]]) -> None:
    """All layers read the same tokens. Raises `FieldError`."""
    n_queries = (by_kind.get("self") or by_kind["cross"])[0].shape[1]
    n_keys = by_kind["cross"][0].shape[2] if "cross" in by_kind else 0
    wanted = {"self": (n_queries, n_queries), "cross": (n_queries, n_keys), "encoder": (n_keys, n_keys)}
    for kind, several in by_kind.items():
        for layer in several:
            if layer.shape[1:] != wanted[kind]:
                raise FieldError(
                    "weights", size(layer.shape), must_be("{size} in every layer", size=size(wanted[kind]))
                )
    if "cross" in by_kind and "self" in by_kind and len(by_kind["cross"]) != len(by_kind["self"]):
        raise FieldError("weights", len(by_kind["cross"]), must_be("{n} layers", n=len(by_kind["self"])))


def _heads(layer: Floats) -> Heads:
    return Heads(layer.shape[0], layer.shape[0], 1)


def _is_square(layer: Floats) -> bool:
    return bool(layer.shape[1] == layer.shape[2])


def _names(field: str, texts: Sequence[str] | None, count: int) -> tuple[str, ...]:
    """The texts of the tokens; numbers without them."""
    if texts is not None and (isinstance(texts, str) or not hasattr(texts, "__iter__")):
        raise FieldError(field, texts, must_be("a list of texts"))
    names = tuple(map(str, range(count))) if texts is None else plain_texts(tuple(map(str, texts)))
    if len(names) != count:
        raise FieldError(field, len(names), must_be("{n} texts", n=count))
    return names


def _layers(weights: Any) -> Sequence[Any]:
    """One entry for each layer."""
    if isinstance(weights, (list, tuple)):
        if not weights:
            raise FieldError("weights", [], must_be("one array for each layer"))
        return weights
    return [weights]


def _layer(given: Any) -> Floats:
    """The weights of a layer as (head, query, key)."""
    if given is None:
        raise _not_computed()
    array = given.detach().cpu() if hasattr(given, "detach") else given
    if str(getattr(array, "dtype", "")) in ("torch.bfloat16", "torch.float16"):
        array = array.float()
    try:
        weights = np.asarray(array)
    except ValueError:  # lists of several lengths
        weights = np.empty(0, object)
    if weights.dtype.name == "bfloat16":  # of a package that NumPy does not know
        weights = weights.astype(np.float32)
    shape = weights.shape
    if weights.ndim == 4 and shape[0] == 1:
        weights = weights[0]
    if weights.ndim == 2:
        weights = weights[None]
    if weights.ndim != 3 or 0 in weights.shape or weights.dtype.kind != "f":
        wanted = must_be("floats of (query, key), (head, query, key) or (1, head, query, key)")
        raise FieldError("weights", size(shape) if shape else given, wanted)
    return weights.astype(np.float32) if weights.dtype == np.float16 else weights
