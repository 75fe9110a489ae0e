"""Arrays of another program (NPZ) as a document that computes from them.

With queries and keys the attention is computed from these vectors. A token's vector is its query of every
head, then its key and its value; W_Q, W_K and W_V select the columns. Weights alone are the softmax of their
logarithms: the queries are zero, and an additive mask has the logarithms. Nothing in the file is unpickled.
"""

from __future__ import annotations

import sys
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.piece_kinds import plain_texts
from attnviz.errors import NOTHING, FieldError, InputError, Message, among, listed, must_be, size, verbatim
from attnviz.i18n import _
from attnviz.model.io.regular_file import opened
from attnviz.model.keep_mask import GIVEN, is_keep_mask
from attnviz.model.sites.sites import main_site
from attnviz.model.spec.arrays import Matrix, with_bfloat16
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import (
    AdditiveMask,
    Causal,
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
    "is_causal": ("is_causal",),
    "scale": ("scale", "softmax_scale"),
    "layout": ("layout",),
    "tokens": ("tokens",),
    "memory_tokens": ("memory_tokens",),
}
"""Names of the arrays that are read, among them those of PyTorch and of `transformers`."""
NAMES_IN_WORDS = (
    "q (query), k (key), v (value), mask (attn_mask), is_causal, scale (softmax_scale), "
    "layout, attentions (weights), tokens, memory_tokens"
)

OF_COMPUTED = ("q", "k", "v", "mask", "is_causal", "scale", "layout", "tokens", "memory_tokens")
OF_WEIGHTS = ("attentions", "tokens", "memory_tokens")

_AS_MASK = must_be("given as mask: true where a query attends, or numbers that are added")
_ABSENT = must_be("left out: it changes the weights and is not read")
CHANGING = {
    **dict.fromkeys(("attention_mask", "key_padding_mask", "attn_bias", "bias"), _AS_MASK),
    **dict.fromkeys(("dropout_p", "softcap", "window_size", "alibi_slopes"), _ABSENT),
}
"""Arguments of PyTorch, `transformers` and FlashAttention that change the weights, and are not read."""

LAYOUTS = {"head token feature": (0, 1, 2), "token head feature": (1, 0, 2)}
"""Orders of the axes of q, k and v, PyTorch's and FlashAttention's, and how each becomes PyTorch's."""

TEXTS = ("tokens", "memory_tokens")

MOST_BYTES = 512 * 2**20
"""Largest size of all arrays of a file, unpacked."""
SUM_ERROR = 0.01
"""Largest difference of the sum of a row of weights from 1: bfloat16 rounds each weight to 3 digits."""

DAMAGE = (ValueError, OSError, EOFError, MemoryError, RuntimeError, zipfile.BadZipFile, zlib.error)


def document_of_arrays(path: Path) -> Document:
    """The document of the arrays in a file: `q`, `k`, perhaps `v`, `mask`, `is_causal` and `scale`, or
    `attentions`.

    `q` is (head, query, feature); `k` and `v` are (key/value head, key, feature); or the token comes first in
    all three, which `layout` says where the sizes fit both. `mask` has truth values, true where a query
    attends, or numbers that are added, (head, query, key) or of fewer or shorter axes that broadcast to it;
    with `is_causal` query i attends to the keys 0 to i; `scale` multiplies the scores, 1/√features without
    it. `attentions` are (query, key), (head, query, key) or (layer, head, query, key), and each row sums to
    1. A batch of one text may come first. Raises `InputError` for other arrays.
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
    experiment = _computed(of_file, arrays.get("attentions")) if is_computed else _weighted(of_file)
    read = {name for role in of_file for name in NAMES[role]}
    caption = _caption(experiment, of_file, set(names) - read)
    return Document(experiment, View(stage="weights"), path.stem, caption)


def _caption(experiment: Experiment, arrays: dict[str, Floats], others: set[str]) -> str:
    """Sentences that say where the numbers are from, their sizes as they were read, and which arrays the
    document does not have.
    """
    if "attentions" in arrays:
        said = [_("The weights are given: the softmax of their logarithms, which are the additive mask.")]
        said += [_("Queries, keys and values are not in the file, and zero here.")]
    else:
        said = [_("The queries and keys are given: W_Q, W_K and W_V select them from the token vectors.")]
        said += [] if "v" in arrays else [_("Values are not in the file, and zero here.")]
    site = main_site(experiment)
    n_queries, n_keys = site.n_queries, site.n_keys
    sizes = _("Heads: {heads}, queries: {queries}, keys: {keys}.")
    said.append(sizes.format(heads=site.heads.n_heads, queries=n_queries, keys=n_keys))
    if n_queries != n_keys and _is_causal(arrays):
        said.append(
            _("is_causal begins at the first key, as PyTorch's does: query i attends to the keys up to i.")
        )
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
            arrays = {role: _array(loaded, names, role) for role in NAMES if _named(names, role)}
            if "q" in arrays and "k" in arrays:
                _refuse_changing(loaded, names)
            return names, arrays
    except InputError:
        raise
    except DAMAGE:
        raise damaged from None


def _named(names: tuple[str, ...], role: str) -> list[str]:
    """The names in the file of one role: one, or none. Raises `FieldError` for two."""
    present = [name for name in NAMES[role] if name in names]
    if len(present) > 1:
        raise FieldError(role, verbatim(listed(present)), must_be("one array"))
    return present


def _array(loaded: Any, names: tuple[str, ...], role: str) -> Floats:
    """One array. An object would have to be unpickled, which may run code."""
    (name,) = _named(names, role)
    try:
        array = loaded[name]
    except DAMAGE:
        array = None
    if not isinstance(array, np.ndarray):
        whole = must_be("a complete array of numbers or of texts, without pickled objects")
        if role in TEXTS:
            whole = must_be("an array of texts, np.array({name}, dtype=str), without objects", name=name)
        raise FieldError(name, Message("another one"), whole)
    return with_bfloat16(array)


def _refuse_changing(loaded: Any, names: tuple[str, ...]) -> None:
    """Raise `FieldError` for an array that changes the weights, and is not read.

    0 and −1 are the values by which other programs leave such an argument out.
    """
    for name in (name for name in CHANGING if name in names):
        try:
            array = loaded[name]
        except DAMAGE:
            array = np.ones(1)
        is_mask = CHANGING[name] is _AS_MASK
        if is_mask or array.dtype.kind not in "biuf" or not np.isin(array, (0, -1)).all():
            raise FieldError(name, _described(array), CHANGING[name])


# --- queries, keys and values ----------------------------------------------------------------------


def _computed(arrays: dict[str, Floats], attentions: Floats | None) -> Experiment:
    """An attention that computes from given queries, keys and values; `attentions` tell of their layout."""
    q, k, v = _laid_out(arrays, attentions)
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
        masks=(Causal(),) if is_self and _is_causal(arrays) else (),
        additive_mask=_additive(arrays, n_heads, q.shape[1], k.shape[1], is_self),
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


def _laid_out(arrays: dict[str, Floats], attentions: Floats | None) -> tuple[Floats, Floats, Floats]:
    """Queries, keys and values as (head, token, feature): in the layout that is given, or alone fits.

    Raises `FieldError` where none fits, and where both do and could mean something.
    """
    given = {role: _vectors(role, arrays[role]) for role in ("q", "k", "v") if role in arrays}
    said = _said_layout(arrays)
    fitting: dict[str, tuple[Floats, Floats, Floats]] = {}
    faults: list[FieldError] = []
    for name, order in LAYOUTS.items():
        if said not in (None, name):
            continue
        turned = {role: one.transpose(order) for role, one in given.items()}
        q, k = turned["q"], turned["k"]
        v = turned.get("v", np.zeros_like(k))
        try:
            _check_alike(q, k, v)
            _check_others(arrays, attentions, len(q), q.shape[1], k.shape[1])
            fitting[name] = q, k, v
        except FieldError as error:
            faults.append(error)
    if not fitting:
        raise faults[0]
    # One key has all the weight, whatever the numbers are: nobody saves that.
    likely = [fit for fit in fitting.values() if fit[1].shape[1] > 1] or [*fitting.values()][:1]
    if len(likely) > 1:
        both = Message(
            "must be one of {choices}, since the sizes {size} fit both",
            choices=listed(LAYOUTS),
            size=size(given["q"].shape),
        )
        raise FieldError("layout", NOTHING, both)
    return likely[0]


def _said_layout(arrays: dict[str, Floats]) -> str | None:
    if "layout" not in arrays:
        return None
    said = arrays["layout"]
    text = str(said) if said.shape == () and said.dtype.kind == "U" else None
    if text not in LAYOUTS:
        raise FieldError("layout", _described(said) if text is None else text, among(LAYOUTS))
    return text


def _check_others(
    arrays: dict[str, Floats], attentions: Floats | None, n_heads: int, n_queries: int, n_keys: int
) -> None:
    """Refuse sizes that the other arrays of the file do not have."""
    _texts("tokens", arrays, n_queries)
    _texts("memory_tokens", arrays, n_keys)
    if "mask" in arrays:
        _check_mask(arrays["mask"], n_heads, n_queries, n_keys)
    if attentions is not None and attentions.shape[-2:] != (n_queries, n_keys):
        wanted = must_be("weights of {size}", size=size((n_queries, n_keys)))
        raise FieldError("attentions", size(attentions.shape), wanted)


def _is_causal(arrays: dict[str, Floats]) -> bool:
    """True for a causal mask. Raises `FieldError` for what is no truth value."""
    if "is_causal" not in arrays:
        return False
    given = arrays["is_causal"]
    if given.size != 1 or given.dtype.kind not in "biu":
        raise FieldError("is_causal", _described(given), must_be("true or false"))
    return bool(given.reshape(()))


def _vectors(name: str, array: Floats) -> Floats:
    """Queries, keys or values with three axes."""
    vectors = array
    while vectors.ndim > 3 and len(vectors) == 1:
        vectors = vectors[0]
    if vectors.ndim != 3 or 0 in vectors.shape or vectors.dtype.kind != "f":
        wanted = must_be("floats of (head, token, feature), of one layer and one text")
        raise FieldError(name, _described(array), wanted)
    return _at_least_float32(vectors)


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


def _additive(
    arrays: dict[str, Floats], n_heads: int, n_queries: int, n_keys: int, is_self: bool
) -> AdditiveMask | None:
    """The additive mask of truth values or of numbers, and of `is_causal` between two sequences.

    That of PyTorch begins at the top left: query i attends to the keys 0 to i.
    """
    sees = np.tri(n_queries, n_keys, dtype=bool) if _is_causal(arrays) and not is_self else None
    if "mask" not in arrays:
        return None if sees is None else AdditiveMask.of(np.where(sees, 0.0, -np.inf))
    mask = _check_mask(arrays["mask"], n_heads, n_queries, n_keys)
    if mask.dtype.kind == "b":
        mask = np.where(mask, 0.0, -np.inf)
    elif is_keep_mask(mask):
        wanted = must_be("truth values, true where a query attends, or numbers that are added")
        raise FieldError("mask", GIVEN, wanted)
    per_head = mask.ndim == 3 and len(mask) > 1
    whole = np.broadcast_to(mask, (n_heads, n_queries, n_keys))
    whole = whole if per_head else whole[0]
    return AdditiveMask.of(whole if sees is None else np.where(sees, whole, -np.inf))


def _check_mask(array: Floats, n_heads: int, n_queries: int, n_keys: int) -> Floats:
    """The mask, which broadcasts to (head, query, key), without the axis of a batch."""
    mask, whole = array, (n_heads, n_queries, n_keys)
    while mask.ndim > 3 and len(mask) == 1:
        mask = mask[0]
    pairs = zip(mask.shape[::-1], whole[::-1], strict=False)
    fits = 1 <= mask.ndim <= 3 and all(one in (1, of_whole) for one, of_whole in pairs)
    if not fits or mask.dtype.kind not in "bf":
        wanted = must_be(
            "truth values or floats of {size}, perhaps for each head", size=size((n_queries, n_keys))
        )
        raise FieldError("mask", _described(array), wanted)
    return mask


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
    weights = array[:, 0] if array.ndim == 5 and array.shape[1] == 1 else array
    weights = weights[(None,) * max(0, 4 - weights.ndim)]
    if weights.ndim != 4 or 0 in weights.shape or array.ndim < 2 or weights.dtype.kind != "f":
        wanted = must_be("floats of (query, key), (head, query, key) or (layer, head, query, key)")
        raise FieldError("attentions", _described(array), wanted)
    weights = _at_least_float32(weights)
    sums = weights.sum(axis=-1)
    is_softmax = (abs(sums - 1) < SUM_ERROR) | (sums == 0)
    if not (is_softmax.all() and (weights >= 0).all()):
        off = float(sums[~is_softmax].flat[0]) if not is_softmax.all() else float(weights.min())
        wanted = must_be(
            "weights whose rows sum to 1, as those of a softmax; attnviz.show shows others as they are"
        )
        raise FieldError("attentions", off, wanted)
    return weights


# --- both ------------------------------------------------------------------------------------------


def _texts(name: str, arrays: dict[str, Floats], count: int) -> tuple[str, ...]:
    """The texts of the tokens; numbers without them."""
    if name not in arrays:
        return tuple(map(str, range(count)))
    array = arrays[name]
    if array.dtype.kind not in "USiu" or array.shape != (count,):
        raise FieldError(name, _described(array), must_be("{n} texts", n=count))
    if array.dtype.kind == "U" and (_code_points(array) > sys.maxunicode).any():
        raise FieldError(name, Message("another one"), must_be("texts of characters up to U+10FFFF"))
    texts: Sequence[Any] = array.tolist()
    return plain_texts(
        tuple(one.decode("utf-8", "replace") if isinstance(one, bytes) else str(one) for one in texts)
    )


def _code_points(texts: NDArray[np.str_]) -> NDArray[np.uint32]:
    """The characters of texts by their numbers; 0 behind the end of a text."""
    of_order = np.dtype(np.uint32).newbyteorder(texts.dtype.byteorder)
    return np.ascontiguousarray(texts).view(of_order)


def _at_least_float32(array: Floats) -> Floats:
    """Numbers of 16 bits in 32, exactly."""
    return array if array.dtype.itemsize > 2 else array.astype(np.float32)


def _dtype(*arrays: Floats) -> DType:
    """The precision of the widest array."""
    return "float64" if any(array.dtype.itemsize > 4 for array in arrays) else "float32"


def _described(array: Floats) -> Message:
    """An array in a message: its shape and the kind of its entries."""
    return Message("{size} of {dtype}", size=size(array.shape), dtype=str(array.dtype))
