"""Arrays of another program (NPZ) as a document that computes from them.

With queries and keys the attention is computed from these vectors. A token's vector is its query of every
head, then its key and its value; W_Q, W_K and W_V select the columns. Weights alone are the softmax of their
logarithms: the queries are zero, and an additive mask has the logarithms. Nothing in the file is unpickled.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.bpe import plain_texts
from attnviz.errors import FieldError, InputError, Message, listed, must_be, size, verbatim
from attnviz.i18n import _
from attnviz.model.io.regular_file import opened
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import (
    AdditiveMask,
    DType,
    Explicit,
    ExplicitVectors,
    Heads,
    Memory,
    Projections,
    Scale,
    ScaleValue,
    SqrtDHead,
)
from attnviz.model.spec.view import View

Floats = NDArray[Any]

NAMES: dict[str, tuple[str, ...]] = {
    "q": ("q", "query"),
    "k": ("k", "key"),
    "v": ("v", "value"),
    "attentions": ("attentions", "weights"),
    "mask": ("mask", "attn_mask"),
    "scale": ("scale",),
    "tokens": ("tokens",),
    "memory_tokens": ("memory_tokens",),
}
"""Names of the arrays that are read, among them those of PyTorch and of `transformers`."""
NAMES_IN_WORDS = (
    "q (query), k (key), v (value), mask (attn_mask), scale, attentions (weights), tokens, memory_tokens"
)

OF_COMPUTED = ("q", "k", "v", "mask", "scale", "tokens", "memory_tokens")
OF_WEIGHTS = ("attentions", "tokens", "memory_tokens")

MOST_BYTES = 512 * 2**20
"""Largest size of all arrays of a file, unpacked."""
SUM_ERROR = 0.01
"""Largest difference of the sum of a row of weights from 1: bfloat16 rounds each weight to 3 digits."""

DAMAGE = (ValueError, OSError, EOFError, MemoryError, RuntimeError, zipfile.BadZipFile, zlib.error)


def document_of_arrays(path: Path) -> Document:
    """The document of the arrays in a file: `q`, `k`, perhaps `v`, `mask` and `scale`, or `attentions`.

    `q` is (head, query, feature); `k` and `v` are (key/value head, key, feature); `mask` has truth values,
    true where a query attends, or numbers that are added, (query, key) or (head, query, key); `scale`
    multiplies the scores, 1/√features without it. `attentions` are (query, key), (head, query, key) or
    (layer, head, query, key), and each row sums to 1. A batch of one text may come first. Raises
    `InputError` for other arrays.
    """
    names, arrays = _read(path)
    is_computed = "q" in arrays and "k" in arrays
    if not is_computed and "attentions" not in arrays:
        raise InputError(
            Message(
                "The file must contain a document, or as arrays q and k, or attentions; got {names}. "
                "Arrays that are read: {known}.",
                names=listed(names),
                known=NAMES_IN_WORDS,
            )
        )
    used = OF_COMPUTED if is_computed else OF_WEIGHTS
    of_file = {role: arrays[role] for role in used if role in arrays}
    experiment = _computed(of_file) if is_computed else _weighted(of_file)
    read = {name for role in of_file for name in NAMES[role]}
    return Document(experiment, View(stage="weights"), path.stem, _caption(of_file, set(names) - read))


def _caption(arrays: dict[str, Floats], others: set[str]) -> str:
    """Sentences that say where the numbers are from, and which arrays the document does not have."""
    if "attentions" in arrays:
        said = [_("The weights are given: the softmax of their logarithms, which are the additive mask.")]
        said += [_("Queries, keys and values are not in the file, and zero here.")]
    else:
        said = [_("The queries and keys are given: W_Q, W_K and W_V select them from the token vectors.")]
        said += [] if "v" in arrays else [_("Values are not in the file, and zero here.")]
    if others:
        said.append(_("Not read: {names}.").format(names=", ".join(sorted(others))))
    return " ".join(said)


# --- the file --------------------------------------------------------------------------------------


def _read(path: Path) -> tuple[tuple[str, ...], dict[str, Floats]]:
    """The names of all arrays, and the arrays that are read, by their role."""
    damaged = InputError(Message("The file must be complete and contain NumPy arrays (NPZ)."))
    try:
        with opened(path) as stream, zipfile.ZipFile(stream) as file:
            unpacked = sum(member.file_size for member in file.infolist())
        if unpacked > MOST_BYTES:
            at_most = must_be("at most {most:,} bytes", most=MOST_BYTES)
            raise FieldError("arrays", Message("{n:,} bytes", n=unpacked), at_most)
        with opened(path) as stream, np.load(stream, allow_pickle=False) as loaded:
            names = tuple(loaded.files)
            return names, {role: _array(loaded, names, role) for role in NAMES if _named(names, role)}
    except InputError:
        raise
    except DAMAGE:
        raise damaged from None


def _named(names: tuple[str, ...], role: str) -> list[str]:
    """The names in the file of one role: one, or none. Raises `FieldError` for two."""
    found = [name for name in NAMES[role] if name in names]
    if len(found) > 1:
        raise FieldError(role, verbatim(listed(found)), must_be("one array"))
    return found


def _array(loaded: Any, names: tuple[str, ...], role: str) -> Floats:
    """One array. An object would have to be unpickled, which may run code."""
    (name,) = _named(names, role)
    try:
        array = loaded[name]
    except DAMAGE:
        array = None
    if not isinstance(array, np.ndarray):
        whole = must_be("a complete array of numbers or of texts, without pickled objects")
        raise FieldError(name, Message("another one"), whole)
    return array


# --- queries, keys and values ----------------------------------------------------------------------


def _computed(arrays: dict[str, Floats]) -> Experiment:
    """An attention that computes from given queries, keys and values."""
    q, k = _vectors("q", arrays["q"]), _vectors("k", arrays["k"])
    v = _vectors("v", arrays["v"]) if "v" in arrays else np.zeros_like(k)
    _check_alike(q, k, v)
    width = max(q.shape[2], v.shape[2])
    scale = _scale(arrays, q.shape[2], width)
    q, k, v = (_widened(one, width) for one in (q, k, v))
    n_heads, n_kv_heads = len(q), len(k)
    is_self = q.shape[1] == k.shape[1] and "memory_tokens" not in arrays
    queries, others = _joined(q), np.hstack([_joined(k), _joined(v)])
    n_key = n_kv_heads * width
    before = queries.shape[1] if is_self else 0
    vectors = np.hstack([queries, others]) if is_self else queries
    features = before + others.shape[1]
    layer = Layer(
        heads=Heads(n_heads, n_kv_heads, width),
        projections=Projections(
            key=_columns(features, before, n_key), value=_columns(features, before + n_key, n_key)
        ),
        scale=scale,
        additive_mask=_mask(arrays["mask"], n_heads, q.shape[1], k.shape[1]) if "mask" in arrays else None,
    )
    return Experiment(
        tokens=_texts("tokens", arrays, q.shape[1]),
        vectors=ExplicitVectors(Matrix(vectors)),
        memory=None
        if is_self
        else Memory(_texts("memory_tokens", arrays, k.shape[1]), ExplicitVectors(Matrix(others))),
        layers=(layer,),
        dtype=_dtype(q, k, v),
    )


def _vectors(name: str, array: Floats) -> Floats:
    """Queries, keys or values as (head, token, feature)."""
    found = array
    while found.ndim > 3 and len(found) == 1:
        found = found[0]
    if found.ndim != 3 or 0 in found.shape or found.dtype.kind != "f":
        wanted = must_be("floats of (head, token, feature), of one layer and one text")
        raise FieldError(name, _described(array), wanted)
    return _at_least_float32(found)


def _check_alike(q: Floats, k: Floats, v: Floats) -> None:
    """Refuse arrays that do not belong to one attention."""
    if k.shape[2] != q.shape[2]:
        raise FieldError("k", size(k.shape), must_be("vectors of {n} features, as q", n=q.shape[2]))
    if len(q) % len(k):
        raise FieldError("k", size(k.shape), must_be("a number of heads that divides {n}", n=len(q)))
    if v.shape[:2] != k.shape[:2]:
        raise FieldError(
            "v", size(v.shape), must_be("one vector for each of the {size} keys", size=size(k.shape[:2]))
        )


def _scale(arrays: dict[str, Floats], features: int, width: int) -> Scale:
    """The factor of the scores: 1/√features, of the given ones where zeros stand behind them."""
    if "scale" not in arrays:
        return SqrtDHead() if width == features else ScaleValue(float(features**-0.5))
    if arrays["scale"].size != 1 or arrays["scale"].dtype.kind not in "fiu":
        raise FieldError("scale", _described(arrays["scale"]), must_be("one number"))
    return ScaleValue(float(arrays["scale"].reshape(())))


def _joined(heads: Floats) -> Floats:
    """(token, head · feature): the vectors of the heads side by side."""
    return heads.transpose(1, 0, 2).reshape(heads.shape[1], -1)


def _widened(heads: Floats, width: int) -> Floats:
    """Zeros behind the features: a document has one width for queries, keys and values."""
    return np.pad(heads, ((0, 0), (0, 0), (0, width - heads.shape[2])))


def _columns(features: int, start: int, count: int) -> Explicit:
    """The matrix that selects `count` columns from `start` on; zeros and ones are exact in 16 bits."""
    return Explicit(Matrix(np.eye(features, count, -start, dtype=np.float16)))


def _mask(array: Floats, n_heads: int, n_queries: int, n_keys: int) -> AdditiveMask:
    """The additive mask of truth values or of numbers."""
    found = array
    while found.ndim > 2 and len(found) == 1:
        found = found[0]
    fits = found.shape in ((n_queries, n_keys), (n_heads, n_queries, n_keys))
    if not fits or found.dtype.kind not in "bf":
        wanted = must_be(
            "truth values or floats of {size}, perhaps for each head", size=size((n_queries, n_keys))
        )
        raise FieldError("mask", _described(array), wanted)
    return AdditiveMask.of(np.where(found, 0.0, -np.inf) if found.dtype.kind == "b" else found)


# --- weights alone ---------------------------------------------------------------------------------


def _weighted(arrays: dict[str, Floats]) -> Experiment:
    """Attentions with given weights: softmax(0 + log w) is w."""
    layers = _layers(arrays["attentions"])
    n_heads, n_queries, n_keys = layers.shape[1:]
    is_self = n_queries == n_keys and "memory_tokens" not in arrays
    with np.errstate(divide="ignore"):
        masks = [AdditiveMask.of(np.log(layer.astype(np.float64))) for layer in layers]
    memory = None
    if not is_self:
        memory = Memory(
            _texts("memory_tokens", arrays, n_keys), ExplicitVectors(Matrix(np.zeros((n_keys, 1))))
        )
    return Experiment(
        tokens=_texts("tokens", arrays, n_queries),
        vectors=ExplicitVectors(Matrix(np.zeros((n_queries, 1)))),
        memory=memory,
        layers=tuple(Layer(heads=Heads(n_heads, n_heads, 1), additive_mask=mask) for mask in masks),
        dtype=_dtype(layers),
    )


def _layers(array: Floats) -> Floats:
    """(layer, head, query, key). Raises `FieldError` for weights that are not those of a softmax."""
    found = array[:, 0] if array.ndim == 5 and array.shape[1] == 1 else array
    found = found[(None,) * max(0, 4 - found.ndim)]
    if found.ndim != 4 or 0 in found.shape or array.ndim < 2 or found.dtype.kind != "f":
        wanted = must_be("floats of (query, key), (head, query, key) or (layer, head, query, key)")
        raise FieldError("attentions", _described(array), wanted)
    found = _at_least_float32(found)
    sums = found.sum(axis=-1)
    is_softmax = (abs(sums - 1) < SUM_ERROR) | (sums == 0)
    if not (is_softmax.all() and (found >= 0).all()):
        off = float(sums[~is_softmax].flat[0]) if not is_softmax.all() else float(found.min())
        wanted = must_be(
            "weights whose rows sum to 1, as those of a softmax; attnviz.show shows others as they are"
        )
        raise FieldError("attentions", off, wanted)
    return found


# --- both ------------------------------------------------------------------------------------------


def _texts(name: str, arrays: dict[str, Floats], count: int) -> tuple[str, ...]:
    """The texts of the tokens; numbers without them."""
    if name not in arrays:
        return tuple(map(str, range(count)))
    array = arrays[name]
    if array.dtype.kind not in "US" or array.shape != (count,):
        raise FieldError(name, _described(array), must_be("{n} texts", n=count))
    texts: Sequence[Any] = array.tolist()
    return plain_texts(
        tuple(one.decode("utf-8", "replace") if isinstance(one, bytes) else one for one in texts)
    )


def _at_least_float32(array: Floats) -> Floats:
    """Numbers of 16 bits in 32, exactly."""
    return array if array.dtype.itemsize > 2 else array.astype(np.float32)


def _dtype(*arrays: Floats) -> DType:
    """The precision of the widest array."""
    return "float64" if any(array.dtype.itemsize > 4 for array in arrays) else "float32"


def _described(array: Floats) -> Message:
    """An array in a message: its shape and the kind of its entries."""
    return Message("{size} of {dtype}", size=size(array.shape), dtype=str(array.dtype))
