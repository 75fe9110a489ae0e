"""Large documents: one safetensors file with the arrays, and the document's JSON in its metadata.

Layout (https://github.com/huggingface/safetensors): eight bytes of header length, little-endian; a JSON
header with each tensor's type, shape and offsets; the numbers. The header is read and checked against the
file's size before anything is allocated for a tensor.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnviz.errors import FieldError, InputError, Message, must_be, quoted
from attnviz.model.io.json_text import MAX_TEXT, document_from, parse, write
from attnviz.model.io.regular_file import length_of, opened
from attnviz.model.io.stand_in import N_BYTES, said_of
from attnviz.model.spec.arrays import STORED_DTYPES, Matrix
from attnviz.model.spec.document import Document
from attnviz.model.spec.origin import Link, Linked, nothing_linked

MAX_NUMBERS = 2**34
"""Largest number of entries that all arrays of a document may have together; its file has them all."""

MOST_AXES = 8
"""Largest number of axes of a tensor; those of published checkpoints have four at most."""

LONGEST_AXIS = 2**40

_KEY, _RUN, _CHECKSUMS = "attnviz", "run", "crc32"

OF_RUN = f"{_RUN}/"
"""The beginning of the names of the tensors of a run; those of a document have no slash."""

_DTYPES = STORED_DTYPES | {"U8": np.dtype(np.uint8)}
"""Those of a run, which may have a text."""
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}

Progress = Callable[[float], None]
"""Receives the completed share, 0 to 1; an exception from it ends the reading or writing."""


def no_progress(share: float) -> None:
    """Ignore the progress."""


class Attached(NamedTuple):
    """A run beside a document in its file: JSON text, and arrays (rows, columns) of floats or bytes."""

    text: str
    arrays: Mapping[str, NDArray[Any]]


class _Tensor(NamedTuple):
    """One tensor to be written; `parts()` are its numbers in order."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    parts: Callable[[], Iterable[NDArray[Any]]]

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * _DTYPES[self.dtype].itemsize


def write_tensors(
    document: Document,
    matrices: Iterable[tuple[str, Matrix]],
    progress: Progress = no_progress,
    link: Link | None = None,
    attached: Attached | None = None,
) -> Iterator[bytes]:
    """The bytes of a safetensors file, part by part; `matrices` names the document's arrays, without those of
    the checkpoint `link`. `attached` is the run beside the document.

    Arrays keep their precision. The metadata has a CRC-32 of each, which reveals a damaged file. Raises
    `ValueError` for more numbers than can be read, before the first part.
    """
    names: dict[Matrix, str] = {}
    for name, matrix in matrices:
        names.setdefault(matrix, name)
    tensors = [_Tensor(name, matrix.stored, matrix.shape, matrix.parts) for matrix, name in names.items()]
    for name, array in () if attached is None else attached.arrays.items():
        whole = np.ascontiguousarray(array)
        tensors.append(_Tensor(OF_RUN + name, _NAMES[whole.dtype], whole.shape, partial(tuple, [whole])))
    total = sum(math.prod(tensor.shape) for tensor in tensors)
    if total > MAX_NUMBERS:
        raise InputError(
            Message("The arrays must have at most {most:,} numbers; got {n:,}.", most=MAX_NUMBERS, n=total)
        )
    steps = 2 * sum(tensor.nbytes for tensor in tensors)
    # The largest items first, as safetensors has them: each tensor begins at a multiple of its item's size.
    ordered = sorted(tensors, key=lambda tensor: (-_DTYPES[tensor.dtype].itemsize, tensor.name))
    checksums, done = {}, 0
    for tensor in ordered:
        checksum = 0
        for part in tensor.parts():
            checksum = zlib.crc32(part.tobytes(), checksum)
            done += part.nbytes
            progress(done / steps)
        checksums[tensor.name] = f"{checksum:08x}"
    texts = {_KEY: write(document, names, link)} | ({} if attached is None else {_RUN: attached.text})
    yield _header(ordered, texts | {_CHECKSUMS: json.dumps(checksums)})
    for tensor in ordered:
        for part in tensor.parts():
            yield part.tobytes()
            done += part.nbytes
            progress(done / steps)


def _header(tensors: Iterable[_Tensor], texts: Mapping[str, str]) -> bytes:
    """The length and the JSON before the numbers; spaces make it a multiple of eight bytes."""
    header: dict[str, Any] = {"__metadata__": texts}
    end = 0
    for tensor in tensors:
        begin, end = end, end + tensor.nbytes
        header[tensor.name] = {
            "dtype": tensor.dtype,
            "shape": list(tensor.shape),
            "data_offsets": [begin, end],
        }
    data = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
    data += b" " * (-len(data) % 8)
    return len(data).to_bytes(8, "little") + data


def read_tensors(path: Path, progress: Progress = no_progress, linked: Linked = nothing_linked) -> Document:
    """The document in a safetensors file; `linked` supplies the matrices of its checkpoint.

    The arrays of a run beside it are not read. Raises `ValueError` (one sentence) and `OSError`.
    """
    opened_ = _Opened(path)
    text = opened_.metadata.get(_KEY)
    if not isinstance(text, str):
        raise InputError(
            Message(
                "The metadata must contain {key}, an attnviz document; got tensors alone.", key=repr(_KEY)
            )
        )
    used: set[str] = set()
    own = [name for name in opened_.places if not (opened_.has_run and name.startswith(OF_RUN))]

    def read(name: str) -> Matrix:
        used.add(name)
        array = opened_.read(name)
        progress(len(used) / len(own))
        return Matrix.taken(array)

    tensors: dict[str, Callable[[], Matrix]] = {name: partial(read, name) for name in own}
    document = document_from(parse(text), tensors, linked)
    unused = [name for name in own if name not in used]
    if unused:
        raise InputError(
            Message(
                "Every tensor must belong to the document; got {name}, which it does not mention.",
                name=quoted(unused[0]),
            )
        )
    return document


class AttachedFile(NamedTuple):
    """The run beside a document in its file, as it is stored: JSON text, and the shapes of arrays by name.

    `read(name)` returns an array. Raises `FieldError` for a damaged one, and `OSError`.
    """

    text: str
    shapes: Mapping[str, tuple[int, int]]
    read: Callable[[str], NDArray[Any]]


def read_attached(path: Path) -> AttachedFile | None:
    """The run beside the document in a safetensors file; None without one.

    Raises `ValueError` (one sentence) and `OSError`.
    """
    opened_ = _Opened(path)
    if not opened_.has_run:
        return None
    names = [name for name in opened_.places if name.startswith(OF_RUN)]
    shapes = {name.removeprefix(OF_RUN): opened_.places[name][1] for name in names}
    return AttachedFile(opened_.metadata[_RUN], shapes, lambda name: opened_.read(OF_RUN + name))


class _Opened:
    """The checked header of a safetensors file: its metadata, and the places of its tensors."""

    def __init__(self, path: Path) -> None:
        with opened(path) as file:
            size = length_of(file)
            header, self._start = read_header(file, size)
        metadata = header.pop("__metadata__", {})
        self._path, self.metadata = path, metadata if isinstance(metadata, dict) else {}
        self._checksums = _checksums(self.metadata.get(_CHECKSUMS))
        self.places = {name: _place(name, entry) for name, entry in header.items()}
        _check_places(self.places, size - self._start)

    @property
    def has_run(self) -> bool:
        """True if a run stands beside the document."""
        return isinstance(self.metadata.get(_RUN), str)

    def read(self, name: str) -> NDArray[Any]:
        """The numbers of a tensor. Raises `FieldError` for others than were saved."""
        dtype, shape, begin = self.places[name]
        array = read_array(self._path, dtype, shape, self._start + begin)
        if array is None:
            raise _tensor_error(
                name, Message("fewer"), Message("must have {n:,} numbers", n=math.prod(shape))
            )
        if name in self._checksums and self._checksums[name] != zlib.crc32(array.data):
            saved = Message("must have the numbers that were saved, by its checksum")
            raise _tensor_error(name, Message("other numbers"), saved)
        return array


def read_array(path: Path, dtype: np.dtype[Any], shape: tuple[int, ...], begin: int) -> NDArray[Any] | None:
    """The numbers from the byte `begin` of a file on, in an array of their own; None if it ends early."""
    array: NDArray[Any] = np.empty(shape, dtype)
    flat = array.reshape(-1).view(np.uint8)
    with opened(path) as file:
        file.seek(begin)
        read = file.readinto(flat.data) if flat.size else 0
    return array if read == flat.size else None


def _checksums(text: object) -> dict[str, int]:
    """The CRC-32 of each tensor; empty for a file without them."""
    if text is None:
        return {}
    try:
        parsed = parse(text) if isinstance(text, str) else None
        return {name: int(value, 16) for name, value in parsed.items()}  # type: ignore[union-attr]
    except (ValueError, TypeError, AttributeError):
        checksums = must_be("an object with the CRC-32 of each tensor")
        raise FieldError(_CHECKSUMS, text, checksums) from None


def read_header(file: BinaryIO, size: int) -> tuple[dict[str, Any], int]:
    """The header of a safetensors file of `size` bytes, and where the numbers start. Raises `ValueError`."""
    beginning = file.read(8)
    length = int.from_bytes(beginning, "little")
    if size < 8 or length > size - 8:
        raise InputError(
            said_of(beginning + file.read(N_BYTES))
            or Message("The file must be a complete safetensors file; got {size:,} bytes.", size=size)
        )
    if length > 2 * MAX_TEXT:
        raise InputError(
            Message("The header must have at most {most:,} bytes; got {n:,}.", most=2 * MAX_TEXT, n=length)
        )
    try:
        header = parse(file.read(length).decode("utf-8"))
    except UnicodeDecodeError:
        raise InputError(
            Message("The header of a safetensors file must be UTF-8; got other bytes.")
        ) from None
    if not isinstance(header, dict):
        raise InputError(
            Message(
                "The header of a safetensors file must be a JSON object; got {value}.", value=quoted(header)
            )
        )
    return header, 8 + length


_Place = tuple[np.dtype[Any], tuple[int, int], int]


def _place(name: str, entry: Any) -> _Place:
    """(dtype, shape, first byte) of one tensor."""
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise _tensor_error(name, entry, must_be("an object with dtype, shape and data_offsets"))
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    known = _DTYPES if name.startswith(OF_RUN) else STORED_DTYPES
    if not isinstance(dtype, str) or dtype not in known:
        raise _tensor_error(name, dtype, Message("must have a dtype of {choices}", choices=", ".join(known)))
    if not _two_counts(shape) or 0 in shape:
        raise _tensor_error(name, shape, Message("must have a shape of [rows, columns], both at least 1"))
    length = math.prod(shape) * known[dtype].itemsize
    if not _two_counts(offsets) or offsets[1] - offsets[0] != length:
        raise _tensor_error(
            name,
            offsets,
            Message("must have data_offsets {n:,} bytes apart, as its shape requires", n=length),
        )
    return known[dtype], (shape[0], shape[1]), offsets[0]


def _two_counts(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(type(x) is int and x >= 0 for x in value)


def _check_places(places: dict[str, _Place], size: int) -> None:
    """Raise for too many numbers, and for tensors that overlap, leave gaps, or do not end with the file."""
    total = sum(math.prod(shape) for _dtype, shape, _begin in places.values())
    if total > MAX_NUMBERS:
        raise InputError(
            Message("The arrays must have at most {most:,} numbers; got {n:,}.", most=MAX_NUMBERS, n=total)
        )
    end = 0
    for name, (dtype, shape, begin) in sorted(places.items(), key=lambda item: item[1][2]):
        if begin != end:
            raise _tensor_error(name, begin, Message("must begin at byte {n:,}, without a gap", n=end))
        end += math.prod(shape) * dtype.itemsize
    if end != size:
        raise InputError(
            Message(
                "The file must have {n:,} bytes of numbers, as its header says; got {found:,}.",
                n=end,
                found=size,
            )
        )


def _tensor_error(name: str, value: object, requirement: Message) -> FieldError:
    return FieldError(f"tensor {name!r:.200}", value, requirement)
