"""A GGUF file as a checkpoint: its configuration and its tensors under the names of `transformers`."""

from __future__ import annotations

import importlib.util
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.checkpoints.gguf import blocks
from attnviz.checkpoints.gguf.architectures import (
    ARCHITECTURE_BY_ID,
    Architecture,
    Change,
    Config,
    as_stored,
    check_metadata,
    transposed,
)
from attnviz.checkpoints.gguf.header import Entry, Header, read_header
from attnviz.checkpoints.gguf.rotation import DIVISORS, WIDTHS, scaling
from attnviz.checkpoints.gguf.vocabulary import read_chat, read_tokenizer
from attnviz.checkpoints.reader import (
    Checkpoint,
    CheckpointError,
    StoredTensor,
    check_finite,
    shape_text,
    tensor_error,
)
from attnviz.errors import FieldError, Message, about, among, message_of, must_be
from attnviz.model.spec.arrays import STORED_DTYPES, widened
from attnviz.model.spec.codes import Codes
from attnviz.model.spec.memory_map import MappedFile, mapped

PLAIN = {0: "F32", 1: "F16", 30: "BF16", 28: "F64"}
"""Types that engines compute with as they are, by the number that the format gives them."""


@dataclass(frozen=True)
class GgufTensor(StoredTensor):
    """A tensor of a GGUF file: `kind` is the number of its type; `change` undoes what the conversion did.

    `stored_shape` is that before the change. `block` are the numbers of a block of the type, and its bytes.
    """

    stored_shape: tuple[int, ...] = ()
    kind: int = 0
    block: tuple[int, int] = (1, 4)
    change: Callable[[NDArray[Any]], NDArray[Any]] | None = None

    @property
    def is_made(self) -> bool:
        return self.kind not in PLAIN

    def array(self) -> NDArray[Any]:
        plain = replace(self, shape=self.stored_shape, change=None)
        array = self._dequantised(slice(None)) if self.is_made else StoredTensor.array(plain)
        return array if self.change is None else self.change(array)

    def rows(self, chosen: Any) -> NDArray[Any]:
        return self._dequantised(chosen) if self.change is None else self.array()[chosen]

    def whole_rows(self, part: Callable[[NDArray[Any]], NDArray[Any]], axis: int) -> NDArray[Any] | None:
        shape = self.stored_shape
        if self.kind not in blocks.KINDS or len(shape) != 2:
            return None
        # The places of the stored numbers, rows and columns, go the way of the numbers.
        places = (np.broadcast_to(one, shape) for one in np.indices(shape, np.int32, sparse=True))
        rows, columns = (part(one if self.change is None else self.change(one)) for one in places)
        rows, columns = (rows, columns) if axis == 0 else (rows.T, columns.T)
        in_order = np.array_equal(columns[0], np.arange(shape[1]))
        return rows[:, 0] if in_order and _are_alike(rows.T) and _are_alike(columns) else None

    def codes(self, rows: NDArray[Any]) -> Codes | None:
        file, raw = self._raw()
        codes = blocks.codes(raw[rows], blocks.KINDS[self.kind])
        file.let_go(raw)
        return codes

    def _raw(self) -> tuple[MappedFile, NDArray[np.uint8]]:
        """The file, and the bytes of the rows of a quantised tensor."""
        file = mapped(self.file)
        numbers, n_bytes = self.block
        *rows, last = self.stored_shape
        return file, file.array(np.dtype(np.uint8), (math.prod(rows), last // numbers * n_bytes), self.begin)

    def _dequantised(self, chosen: Any) -> NDArray[Any]:
        """Rows of a quantised tensor, in float32. Raises `CheckpointError` where one is not finite."""
        file, raw = self._raw()
        with np.errstate(all="ignore"):
            numbers, is_finite = _numbers(raw[chosen], self.kind)
        file.let_go(raw[chosen] if isinstance(chosen, slice) else raw)
        if not is_finite:
            check_finite(self, numbers)
        return numbers if len(self.stored_shape) == 2 else numbers.reshape(self.stored_shape)


def _are_alike(rows: NDArray[Any]) -> bool:
    """True if all rows are equal."""
    return rows.strides[0] == 0 or bool((rows == rows[0]).all())


def _numbers(raw: NDArray[Any], kind: int) -> tuple[NDArray[Any], bool]:
    """(the numbers of rows of a quantised tensor in float32, whether they are known to be finite)."""
    simple = blocks.KINDS.get(kind)
    if simple is not None:
        return blocks.numbers(raw, simple)
    from gguf import GGMLQuantizationType
    from gguf.quants import dequantize

    return dequantize(raw, GGMLQuantizationType(kind)).astype(np.float32, copy=False), False


def read_gguf(path: Path) -> Checkpoint:
    """The checkpoint in a GGUF file.

    Raises `CheckpointError`: one sentence that names the file and its fault.
    """
    try:
        header = read_header(path)
        check_metadata(header.metadata)
        architecture = _architecture(header.metadata)
        config = _config(path, architecture, header)
        tensors = _tensors(path, architecture, header, config)
        tokenizer = read_tokenizer(header.metadata)
        chat = read_chat(header.metadata)
    except CheckpointError:
        raise
    except (OSError, ValueError) as error:
        raise CheckpointError(about(path.name, message_of(error))) from error
    return Checkpoint(path.parent, config, tensors, path.stem, path.name, tokenizer, chat)


def _architecture(metadata: Mapping[str, Any]) -> Architecture:
    name = metadata.get("general.architecture")
    if not isinstance(name, str) or name not in ARCHITECTURE_BY_ID:
        raise FieldError("general.architecture", name, among(ARCHITECTURE_BY_ID))
    return ARCHITECTURE_BY_ID[name]


# --- the configuration -----------------------------------------------------------------------------


def _config(path: Path, architecture: Architecture, header: Header) -> Config:
    """The configuration as `transformers` writes it; keys without a counterpart keep their names."""
    metadata, stem = header.metadata, architecture.id + "."
    own = {key.removeprefix(stem): _one(value) for key, value in metadata.items() if key.startswith(stem)}
    config: Config = {"model_type": architecture.model_type, **architecture.fixed}
    try:
        config |= _given(architecture, own)
        if architecture.rotates:
            width = config.get("head_dim") or max(1, config["hidden_size"] // config["num_attention_heads"])
            _check_widths(own, width)
            if "rope.dimension_count" in own:
                config.setdefault("head_dim", width)
            if (record := scaling(own, _divisors(path, header, width))) is not None:
                config["rope_scaling"] = record
    except FieldError as error:
        raise error.below(architecture.id) from None
    # llama.cpp takes 0 for a missing key.
    config |= {
        stem + key: value for key, value in own.items() if not architecture.knows(key) and _is_set(value)
    }
    n_rows = {entry.name: entry.shape[0] if entry.shape else None for entry in header.tensors}
    config["vocab_size"] = n_rows.get("token_embd.weight")
    config["tie_word_embeddings"] = "output.weight" not in n_rows
    if (n_types := n_rows.get("token_types.weight")) is not None:
        config["type_vocab_size"] = n_types
    for name in ("bos_token_id", "eos_token_id"):
        config[name] = metadata.get(f"tokenizer.ggml.{name}")
    architecture.finish(config)
    return config


def _given(architecture: Architecture, own: Mapping[str, Any]) -> Config:
    """The configuration's keys that the metadata give; no others, since links depend on all of them."""
    read = {name: key.read(own) for key, name in architecture.keys.items()}
    config = {name: value for name, value in read.items() if name and value not in (None, False)}
    if architecture.rotates:
        config.setdefault("num_key_value_heads", config["num_attention_heads"])
    return config


def _check_widths(own: Mapping[str, Any], width: int) -> None:
    """Refuse a rotation of a part of each head, and values of another width than queries and keys."""
    for key in WIDTHS:
        stated = key.read(own)
        if stated not in (None, width):
            raise FieldError(key.name, stated, must_be("{n}, the width of a head", n=width))


def _one(value: Any) -> Any:
    """The value of a key; a list of equal ones, one for each layer, is one."""
    return value[0] if isinstance(value, list) and value and all(one == value[0] for one in value) else value


def _is_set(value: Any) -> bool:
    """True for a value that is no zero, nothing, or a list of these."""
    return any(map(_is_set, value)) if isinstance(value, list) else bool(value)


def _divisors(path: Path, header: Header, width: int) -> list[float] | None:
    """The divisors of the pairs' frequencies, if the file has them."""
    entry = next((one for one in header.tensors if one.name == DIVISORS), None)
    if entry is None:
        return None
    if entry.shape != (width // 2,):
        each = Message("must have the shape {shape} of this configuration", shape=width // 2)
        raise tensor_error(path, entry.name, shape_text(entry.shape), each)
    tensor = _tensor(path, header, entry, entry.name, as_stored, {})
    return [float(one) for one in widened(tensor.array())]


# --- tensors ---------------------------------------------------------------------------------------


def _tensors(
    path: Path, architecture: Architecture, header: Header, config: Config
) -> dict[str, StoredTensor]:
    tensors: dict[str, StoredTensor] = {}
    for entry in header.tensors:
        if entry.name == DIVISORS and architecture.rotates:
            continue
        name, change = _named(architecture, entry.name)
        if name in tensors:
            raise tensor_error(path, entry.name, Message("two names"), must_be("a tensor of its own"))
        tensors[name] = _tensor(path, header, entry, name, change, config)
    return tensors


def _named(architecture: Architecture, name: str) -> tuple[str, Change]:
    """A tensor's name in `transformers`, and what undoes its conversion; an unknown name stays."""
    match = re.fullmatch(r"(.+)\.(weight|bias)", name)
    stem, ending = match.groups() if match else (name, "")
    layer = re.fullmatch(r"blk\.(\d{1,6})\.(.+)", stem)
    row = stem if layer is None else f"blk.{{}}.{layer[2]}"
    if row not in architecture.names:
        return name, as_stored
    number = "" if layer is None else layer[1]
    change = architecture.changes.get(row, as_stored)
    return f"{architecture.names[row].replace('{}', number)}.{ending}", change


def _tensor(
    path: Path,
    header: Header,
    entry: Entry,
    name: str,
    change: Change,
    config: Config,
) -> StoredTensor:
    """One tensor, checked against the file's size and the blocks of its type."""
    numbers, n_bytes = _block(path, entry)
    count = math.prod(entry.shape)
    is_whole = bool(entry.shape) and entry.shape[-1] % numbers == 0
    if not is_whole or entry.begin + count // numbers * n_bytes > len(header.file):
        needs = Message("must have {n} bytes inside the file, as its shape requires", n=f"{count:,}"[:60])
        raise tensor_error(path, entry.name, entry.begin, needs)
    if change is transposed and len(entry.shape) == 1:
        change = as_stored
    shape = entry.shape[::-1] if change is transposed else entry.shape
    undone = None if change is as_stored else partial(_undone, change, config)
    dtype, block = PLAIN.get(entry.kind, "F32"), (numbers, n_bytes)
    return GgufTensor(path, name, dtype, shape, entry.begin, entry.shape, entry.kind, block, undone)


def _undone(change: Change, config: Config, array: NDArray[Any]) -> NDArray[Any]:
    return change(array, config)


def _block(path: Path, entry: Entry) -> tuple[int, int]:
    """The numbers of a block of a type, and its bytes."""
    if entry.kind in PLAIN:
        return 1, STORED_DTYPES[PLAIN[entry.kind]].itemsize
    if entry.kind in blocks.KINDS:
        usual = blocks.KINDS[entry.kind]
        return usual.length, usual.n_bytes
    if importlib.util.find_spec("gguf") is None:
        needed = Message(
            "must be {choices} without the package gguf (pip install attnviz[models])",
            choices=", ".join((*PLAIN.values(), *(usual.name for usual in blocks.KINDS.values()))),
        )
        raise tensor_error(path, entry.name, entry.kind, needed)
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
    from gguf.quants import _type_traits as known

    try:
        kind = GGMLQuantizationType(entry.kind)
    except ValueError:
        raise tensor_error(path, entry.name, entry.kind, must_be("a type of GGUF")) from None
    if kind not in known:
        legal = among(sorted(one.name for one in known))
        raise tensor_error(path, entry.name, kind.name, legal)
    numbers, n_bytes = GGML_QUANT_SIZES[kind]
    return int(numbers), int(n_bytes)
