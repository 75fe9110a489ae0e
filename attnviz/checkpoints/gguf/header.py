"""The header of a GGUF file: its metadata, and where its tensors lie.

Layout (https://github.com/ggml-org/ggml, docs/gguf.md): the letters GGUF, a version, two counts; the metadata
as keys with typed values; of each tensor its name, its sizes, the innermost first, its type and its offset;
the numbers, aligned. All is little-endian.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from attnviz.errors import FieldError, InputError, Message, must_be
from attnviz.model.io.stand_in import N_BYTES, said_of
from attnviz.model.spec.memory_map import MappedFile, mapped

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MOST_TENSORS, MOST_KEYS, LONGEST_LIST, LONGEST_TEXT = 2**20, 2**16, 2**22, 2**24
MOST_AXES = 4

_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""Of the types of metadata that are numbers, the letter of `struct`."""

_FLOAT, _TEXT, _LIST = 6, 8, 9
ALIGNMENT = "general.alignment"


@dataclass(frozen=True)
class Entry:
    """One tensor: its shape in the order of NumPy, the number of its type, and the byte where it begins."""

    name: str
    shape: tuple[int, ...]
    kind: int
    begin: int


@dataclass(frozen=True)
class Header:
    """All that a file says of itself."""

    file: MappedFile
    metadata: dict[str, Any]
    tensors: tuple[Entry, ...]


def read_header(path: Path) -> Header:
    """Read a file's header. Raises `InputError`, one sentence, and `OSError`."""
    try:
        file = mapped(path)
    except ValueError:
        raise _damaged() from None
    reader = _Reader(file)
    if file[:4] != MAGIC:
        other = Message("The file must begin with the letters GGUF; got other bytes.")
        raise InputError(said_of(file[:N_BYTES]) or other)
    reader.at = 4
    version = reader.number("I")
    if version not in VERSIONS:
        raise InputError(Message("The version must be 2 or 3; got {version}.", version=version))
    n_tensors, n_keys = reader.count(MOST_TENSORS), reader.count(MOST_KEYS)
    metadata: dict[str, Any] = {}
    for _index in range(n_keys):
        key = reader.text()
        if key in metadata:
            raise FieldError(key, Message("two values"), must_be("one value"))
        metadata[key] = reader.value(reader.number("I"))
    entries = [_entry(reader) for _index in range(n_tensors)]
    align = metadata.get(ALIGNMENT, 32)
    if type(align) is not int or not 1 <= align <= 2**20:
        raise InputError(Message("The alignment must be a whole number of bytes; got {value}.", value=align))
    start = -(-reader.at // align) * align
    tensors = tuple(Entry(name, shape, kind, start + offset) for name, shape, kind, offset in entries)
    return Header(file, metadata, tensors)


def _entry(reader: _Reader) -> tuple[str, tuple[int, ...], int, int]:
    name, n_axes = reader.text(), reader.number("I")
    if not 0 <= n_axes <= MOST_AXES:
        raise _damaged()
    shape = tuple(reader.number("Q") for _axis in range(n_axes))[::-1]
    return name, shape, reader.number("I"), reader.number("Q")


class _Reader:
    """Values one after the other, inside the file."""

    def __init__(self, file: MappedFile) -> None:
        self._file, self.at = file, 0

    def number(self, letter: str) -> Any:
        try:
            (value,) = struct.unpack_from("<" + letter, self._file, self.at)
        except struct.error:
            raise _damaged() from None
        self.at += struct.calcsize("<" + letter)
        return value

    def count(self, most: int) -> int:
        number: int = self.number("Q")
        if number > most:
            raise _damaged()
        return number

    def text(self) -> str:
        length = self.count(LONGEST_TEXT)
        data = self._file[self.at : self.at + length]
        if len(data) < length:
            raise _damaged()
        self.at += length
        return data.decode("utf-8", "replace")

    def value(self, kind: int) -> Any:
        if kind == _TEXT:
            return self.text()
        if kind != _LIST:
            return _as_written(self.number(_letter(kind)), kind)
        inner, count = self.number("I"), self.count(LONGEST_LIST)
        if inner == _TEXT:
            return [self.text() for _index in range(count)]
        letter = _letter(inner)
        size = struct.calcsize("<" + letter) * count
        if self.at + size > len(self._file):
            raise _damaged()
        numbers = struct.unpack_from(f"<{count}{letter}", self._file, self.at)
        self.at += size
        return list(numbers)


def _as_written(value: Any, kind: int) -> Any:
    """A number of 32 bits as a person would write it, 1e-05 and not 9.999999747378752e-06."""
    return float(np.format_float_scientific(np.float32(value))) if kind == _FLOAT else value


def _letter(kind: int) -> str:
    if kind not in _NUMBERS:
        raise _damaged()
    return _NUMBERS[kind]


def _damaged() -> InputError:
    return InputError(Message("The file must be a complete GGUF file; its header is damaged."))
