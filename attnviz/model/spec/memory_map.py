"""Numbers that stay in their file: a mapping that notices changes, and the matrices that lie in it.

A checkpoint is read where it lies. Its pages are the system's, which drops them when memory is short, and
what a conversion has read is given back at once: a model takes the memory of what was computed with, not of
its file.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from attnviz.errors import InputError, Message, about
from attnviz.model.io.regular_file import descriptor_of
from attnviz.model.spec.codes import Codes

_WILL_NOT_NEED = getattr(mmap, "MADV_DONTNEED", None)
"""Advice that the system lacks outside POSIX."""


class FileChanged(InputError):
    """A file was written to after it was opened: its numbers are no longer those of the document."""


class MappedFile(mmap.mmap):
    """A whole file, read-only, in memory that the system fills on demand.

    A file that is replaced keeps its old numbers here. One that is written to in place raises `FileChanged`
    at the next use: a shortened one would otherwise end the process.
    """

    path: Path
    _descriptor: int
    _state: tuple[int, int]

    def __new__(cls, path: Path) -> MappedFile:
        descriptor = descriptor_of(path)
        try:
            mapping = super().__new__(cls, descriptor, 0, access=mmap.ACCESS_READ)
        except BaseException:
            os.close(descriptor)
            raise
        mapping.path, mapping._descriptor, mapping._state = path, descriptor, _state(os.fstat(descriptor))
        return mapping

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        close(self._descriptor)  # held here: the module may be gone when the process ends

    def check(self) -> None:
        """Raise `FileChanged` if the file is no longer the one that was opened."""
        if _state(os.fstat(self._descriptor)) != self._state:
            changed = Message("The file must not change while it is open; it changed, so open it again.")
            raise FileChanged(about(self.path.name, changed))

    def array(self, dtype: np.dtype[Any], shape: tuple[int, ...], begin: int) -> NDArray[Any]:
        """The numbers from the byte `begin` on, read-only, where they lie."""
        return np.ndarray(shape, dtype, self, begin)

    def let_go(self, view: NDArray[Any]) -> None:
        """Give back the memory of a part that was read; it is read again where it is needed."""
        if _WILL_NOT_NEED is None or not view.size:
            return
        whole = np.ndarray((), np.uint8, self).ctypes.data
        low, high = np.lib.array_utils.byte_bounds(view)
        begin = -(-(low - whole) // mmap.PAGESIZE) * mmap.PAGESIZE
        if high - whole > begin:
            self.madvise(_WILL_NOT_NEED, begin, high - whole - begin)


def _state(state: os.stat_result) -> tuple[int, int]:
    return state.st_size, state.st_mtime_ns


_OPEN: WeakValueDictionary[tuple[Any, ...], MappedFile] = WeakValueDictionary()


def mapped(path: Path) -> MappedFile:
    """The file's mapping, one for all documents that use it. Raises `OSError`, `NotRegular` among them, and,
    if it is empty, `ValueError`.
    """
    state = path.stat()
    key = state.st_dev, state.st_ino, *_state(state)
    known = _OPEN.get(key)
    if known is None:
        known = _OPEN[key] = MappedFile(path)
    return known


def file_of(array: NDArray[Any]) -> MappedFile | None:
    """The file in which an array lies; None if it lies in memory."""
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    return owner if isinstance(owner, MappedFile) else None


Strip = tuple[slice, slice]
"""Some rows and columns of a matrix."""

STRIP = 64
"""Rows or columns of a matrix that are copied together, so that both arrays stay in the fast memory."""

MADE_TOGETHER = 2**20
"""Numbers, about, that are made together where some rows can be."""


def _strips(array: NDArray[Any], start: int = 0) -> Iterator[tuple[Strip, NDArray[Any]]]:
    """The parts of a matrix that lie together in memory; `start` is the number of its first row."""
    if array.strides[0] >= array.strides[1]:
        for row in range(0, array.shape[0], STRIP):
            yield (slice(start + row, start + row + STRIP), slice(None)), array[row : row + STRIP]
    else:
        for column in range(0, array.shape[1], STRIP):
            strip = slice(column, column + STRIP)
            yield (slice(None), strip), array[:, strip]


def slices(count: int, length: int) -> Iterator[slice]:
    """Slices of at most `length` that cover `count`."""
    return (slice(start, min(start + length, count)) for start in range(0, count, length))


class Lasting(Protocol):
    """Numbers of a matrix outside the memory, in `shape`, stored as `dtype`."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    def numbers(self) -> NDArray[Any]:
        """All numbers, as they are stored. Raises `FileChanged`."""

    def rows(self, chosen: Any) -> NDArray[Any]:
        """Some rows, by a slice or a list, in an array of their own."""

    def strips(self) -> Iterator[tuple[Strip, NDArray[Any]]]:
        """All numbers, a part that lies together at a time. Raises `FileChanged`."""

    def bands(self, axis: int, length: int) -> Iterator[tuple[slice, NDArray[Any]]] | None:
        """All numbers, `length` rows (axis 0) or columns (axis 1) at a time; None where a band takes as long
        as the whole. Raises `FileChanged`.
        """

    def let_go(self) -> None:
        """Give back what `numbers` has brought into memory."""


@dataclass(frozen=True, eq=False)
class View:
    """Numbers that lie in a file as they are, perhaps transposed or as a part of a tensor."""

    file: MappedFile
    view: NDArray[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.view.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.view.dtype

    def numbers(self) -> NDArray[Any]:
        self.file.check()
        return self.view

    def rows(self, chosen: Any) -> NDArray[Any]:
        self.file.check()
        return np.array(self.view[chosen])

    def strips(self) -> Iterator[tuple[Strip, NDArray[Any]]]:
        return _strips(self.numbers())

    def bands(self, axis: int, length: int) -> Iterator[tuple[slice, NDArray[Any]]] | None:
        if self.view.strides[axis] < self.view.strides[1 - axis]:
            return None
        numbers = self.numbers() if axis == 0 else self.numbers().T
        return (
            (band, numbers[band] if axis == 0 else numbers[band].T)
            for band in slices(self.shape[axis], length)
        )

    def let_go(self) -> None:
        self.file.let_go(self.view)


@dataclass(frozen=True, eq=False)
class Computed:
    """Numbers that are computed from a file's each time: those of a quantised or a rearranged tensor.

    `make` returns all of them; `make_rows`, where it is cheaper, some rows. `codes` returns those of a
    quantised matrix by its axis of outputs, None for the other axis.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    make: Callable[[], NDArray[Any]]
    make_rows: Callable[[Any], NDArray[Any]] | None = None
    codes: Callable[[int], Codes | None] | None = None

    def numbers(self) -> NDArray[Any]:
        return self.make()

    def rows(self, chosen: Any) -> NDArray[Any]:
        return self.make()[chosen] if self.make_rows is None else self.make_rows(chosen)

    def strips(self) -> Iterator[tuple[Strip, NDArray[Any]]]:
        if self.make_rows is None:
            yield from _strips(self.make())
            return
        step = STRIP * max(1, MADE_TOGETHER // (STRIP * self.shape[1]))
        for start in range(0, self.shape[0], step):
            yield from _strips(self.make_rows(slice(start, start + step)), start)

    def bands(self, axis: int, length: int) -> Iterator[tuple[slice, NDArray[Any]]] | None:
        make = self.make_rows
        return (
            None if axis or make is None else ((band, make(band)) for band in slices(self.shape[0], length))
        )

    def let_go(self) -> None:
        return None
