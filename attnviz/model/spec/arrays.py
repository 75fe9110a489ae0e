"""`Matrix`: the one array type that a document holds: two-dimensional, finite, never changed.

Over 500 lines because numbers in memory, in a file and as codes are one type with one interface.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnviz.errors import FINITE, FieldError, Message, must_be, of_length
from attnviz.model.spec.codes import Codes, most_bytes
from attnviz.model.spec.conversions import CODES, CONVERSIONS, Memory
from attnviz.model.spec.memory_map import Computed, Lasting, Strip, View, file_of, slices

if TYPE_CHECKING:
    from attnviz.model.spec.origin import Origin

MAX_NUMBERS = 2**31
"""Largest number of entries that a document's matrix may have (4 GiB in 16 bits)."""

MAPPED_NUMBERS = 2**14
"""Numbers of a matrix from which on it stays in its file; smaller ones are held in memory."""

MAX_DRAWN = 2**28
"""Largest number of entries of a seeded matrix (2 GB in float64)."""

COMPARED_AT_ONCE = 2**15
"""Numbers of two matrices that are compared before it is asked whether some differ."""

SAMPLES = 8
"""Rows and columns, about, whose numbers make the hash of a matrix."""

Order = Literal["K", "C", "F"]

WHERE = "matrix"
"""Name of a matrix in errors until its field is known."""

ROWS_OF_NUMBERS = must_be("a list of rows, each a list of numbers")

PART_NUMBERS = 2**20
"""Numbers that are checked or written at a time."""

BAND_NUMBERS = 2**18
"""Numbers, about, that are converted together for one use: they stay in the fast memory."""

BFLOAT16 = np.dtype([("bfloat16", "<u2")])
"""The upper half of a float32, which NumPy does not have; no arithmetic takes a record for a number."""

STORED_DTYPES: dict[str, np.dtype[Any]] = {
    "F16": np.dtype("<f2"),
    "BF16": BFLOAT16,
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
}
"""NumPy dtype of the storage of each precision."""

STORED_NAMES = {dtype: name for name, dtype in STORED_DTYPES.items()}

_REAL_KINDS = "iuf"
"""Dtypes of whole numbers and of floating-point numbers, as NumPy abbreviates their kinds."""

_NO_NUMBERS = (bool, np.bool_, str, complex, dict, list, tuple)


class Matrix:
    """An immutable (rows, columns) matrix of finite numbers, compared by value.

    It keeps the precision of its source, `stored`: F16, BF16, F32 or F64, as safetensors names them. `array`
    has them as NumPy floats; numbers of 16 bits become float32 on first use. The conversion of a matrix of a
    document stays; that of one which lies in a file (`lies_in_file`) stays as `CONVERSIONS` has room. All
    conversions are exact. A changed or turned copy of another matrix (`replaced`, `turned`) takes its numbers
    on first use: an edit of one cell costs the window's thread nothing that grows with the matrix.

    Raises `ValueError` with one sentence when the input is not rectangular, is empty, is not
    numeric, has more than `MAX_NUMBERS` entries, or holds NaN or an infinity.
    """

    __slots__ = ("__weakref__", "_copy", "_hash", "_held", "_lasting", "order", "origin", "stored")

    stored: str
    order: Order
    """Order in memory of numbers that are converted from a file; K is the file's."""
    origin: Origin | None
    """The checkpoint that the matrix was read from, set by the import; None of one that was made here."""
    _held: NDArray[Any] | None
    _lasting: Lasting | None
    _copy: _Copy | None

    def __init__(self, values: ArrayLike) -> None:
        self._check_and_take(_as_array(values))

    @classmethod
    def taken(cls, array: NDArray[Any]) -> Matrix:
        """The matrix of an array that nobody else holds: not copied where its rows lie one after the other.

        Raises as the constructor does.
        """
        matrix = cls.__new__(cls)
        if file_of(array) is not None:
            array = np.array(array)
        is_own = (
            type(array) is np.ndarray
            and array.base is None
            and array.flags.c_contiguous
            and array.dtype in STORED_NAMES
        )
        matrix._check_and_take(array if is_own else _as_array(array))
        return matrix

    @classmethod
    def lasting(cls, numbers: Lasting) -> Matrix:
        """The matrix of numbers that stay where they are; whoever opened them has checked that they are
        finite.

        Raises as the constructor does for a shape that a matrix cannot have.
        """
        matrix = cls.__new__(cls)
        _check_shape(numbers.shape)
        matrix._hold(None, numbers, STORED_NAMES[numbers.dtype])
        return matrix

    def _check_and_take(self, array: NDArray[Any]) -> None:
        _check_shape(array.shape)
        for start in range(0, len(array), _step(array.shape)):
            part = widened(array[start : start + _step(array.shape)])
            if not np.isfinite(part).all():
                row, column = (int(i) for i in np.argwhere(~np.isfinite(part))[0])
                raise FieldError(f"{WHERE}[{start + row}][{column}]", float(part[row, column]), FINITE)
        self._take(array)

    def _take(self, array: NDArray[Any]) -> None:
        array.setflags(write=False)
        self._hold(array, None, STORED_NAMES[array.dtype])

    def _hold(
        self, array: NDArray[Any] | None, lasting: Lasting | None, stored: str, copy: _Copy | None = None
    ) -> None:
        self._held, self._lasting, self._copy, self.stored = array, lasting, copy, stored
        self._hash: int | None = None
        self.origin, self.order = None, "K"

    @property
    def lies_in_file(self) -> bool:
        """True if the numbers stay in a file: `array` may be another one at each use."""
        return self._lasting is not None

    @property
    def array(self) -> NDArray[Any]:
        """The numbers in float32 or float64, read-only. Raises `FileChanged`."""
        if self._lasting is not None:
            return self._converted()
        held = self._numbers()
        if held.dtype.itemsize == 2:
            held = widened(held)
            held.setflags(write=False)
            self._held = held
        return held

    def _converted(self) -> NDArray[Any]:
        """Numbers of a file: where they lie if an engine can compute with them there, else converted."""
        lasting = self._lasting
        assert lasting is not None
        if _is_used_in_place(lasting):
            return lasting.numbers()

        def make(memory: Memory | None) -> NDArray[Any]:
            if self.order == "K":
                wide = widened(lasting.numbers(), memory)
                wide = np.array(wide) if file_of(wide) is not None else wide
                lasting.let_go()
            else:
                wide = np.ndarray(lasting.shape, self._converted_dtype, memory, order=self.order)
                for strip, numbers in self.strips():
                    wide[strip] = numbers
            wide.setflags(write=False)
            return wide

        converted: NDArray[Any] = CONVERSIONS.of(self, self.converted_bytes, make)
        return converted

    def strips(self) -> Iterator[tuple[Strip, NDArray[Any]]]:
        """The numbers of a file in float32 or float64, those that lie together at a time; nothing is kept.

        Raises as `array`.
        """
        assert self._lasting is not None
        for strip, numbers in self._lasting.strips():
            yield strip, widened(numbers)
        self._lasting.let_go()

    @property
    def _converted_dtype(self) -> np.dtype[Any]:
        assert self._lasting is not None
        return self._lasting.dtype if self._lasting.dtype.itemsize > 2 else np.dtype(np.float32)

    @property
    def converted_bytes(self) -> int:
        """Bytes that the numbers of a file take as an engine computes with them."""
        return math.prod(self.shape) * self._converted_dtype.itemsize

    def form(self, key: Hashable, share: Callable[[NDArray[Any]], Any]) -> Any:
        """The numbers of a file in a form that takes no memory of its own, kept as long as their conversion.

        None where they are not converted, or the conversion is not kept.
        """
        return CONVERSIONS.form_of(self, key, share)

    @property
    def bits(self) -> NDArray[np.uint16] | None:
        """The bits of numbers in F16 or BF16 where they lie in their file; None for all others.

        Raises as `array`.
        """
        lasting = self._lasting
        if not isinstance(lasting, View) or lasting.dtype.itemsize != 2:
            return None
        return lasting.numbers().view(np.uint16)

    def codes(self, axis: int) -> Codes | None:
        """The numbers of a quantised file as its codes, by outputs along an axis.

        They are made on first use and kept. None for all others, along the other axis, and where no room is
        left. Raises as `array`.
        """
        make = self._lasting.codes if isinstance(self._lasting, Computed) else None
        if make is None:
            return None
        n_bytes = most_bytes(self.shape[axis], self.shape[1 - axis])
        codes: Codes | None = CODES.kept(self, n_bytes, lambda: make(axis), axis)
        return codes

    def bands(self, axis: int) -> Iterator[tuple[slice, NDArray[Any]]] | None:
        """The numbers of a file in float32 or float64, some rows (axis 0) or columns (axis 1) at a time.

        They are parts of `array` where its conversion is kept, else nothing of them is: the same parts, so
        that products with them are equal to the last bit. None where no conversion is needed, and where a
        band takes as long as the whole. Raises as `array`.
        """
        lasting = self._lasting
        if lasting is None or _is_used_in_place(lasting):
            return None
        length = max(1, BAND_NUMBERS // self.shape[1 - axis])
        strips = lasting.bands(axis, length)
        if strips is None:
            return None
        if CONVERSIONS.goes_in_parts(self, self.converted_bytes):
            return self._widened(strips)
        array = self.array
        parts = slices(self.shape[axis], length)
        return ((band, array[band] if axis == 0 else array[:, band]) for band in parts)

    def _widened(self, bands: Iterator[tuple[slice, NDArray[Any]]]) -> Iterator[tuple[slice, NDArray[Any]]]:
        assert self._lasting is not None
        for band, numbers in bands:
            wide = widened(numbers)
            wide.setflags(write=False)
            yield band, wide
        self._lasting.let_go()

    def _numbers(self) -> NDArray[Any]:
        """The numbers as they are stored, or as they were converted."""
        if self._lasting is not None:
            return self._lasting.numbers()
        copy, held = self._copy, self._held  # in this order: another thread may be making it
        if held is None:
            assert copy is not None
            held = self._held = copy.numbers(self.stored)
            self._copy = None
        return held

    def rows(self, chosen: slice | Sequence[int]) -> NDArray[Any]:
        """Some rows in float32 or float64; of a matrix in a file, others are not read. Raises as `array`."""
        if self._lasting is not None:
            return widened(self._lasting.rows(chosen))
        copy = self._copy
        numbers: NDArray[Any] = self.array[chosen] if copy is None else copy.rows(chosen, self.stored)
        return numbers

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        copy = self._copy
        if copy is not None:
            return copy.shape
        rows, columns = self._held.shape if self._lasting is None else self._lasting.shape  # type: ignore[union-attr]
        return rows, columns

    @property
    def nbytes(self) -> int:
        """Bytes that the numbers take in the precision they came in."""
        return math.prod(self.shape) * STORED_DTYPES[self.stored].itemsize

    def parts(self) -> Iterator[NDArray[Any]]:
        """The numbers in the precision they came in, a few rows at a time."""
        step, numbers = _step(self.shape), self._numbers()
        for start in range(0, self.shape[0], step):
            yield np.ascontiguousarray(_narrowed(numbers[start : start + step], self.stored))

    def replaced(self, row: int, column: int, value: float) -> Matrix:
        """This matrix with one entry changed; in float64 where its own precision does not have the number."""
        if not math.isfinite(value):
            raise FieldError(f"{WHERE}[{row}][{column}]", float(value), FINITE)
        copy, (rows, columns) = self._copied(), self.shape
        cells = {**copy.cells, (range(rows)[row], range(columns)[column]): float(value)}
        return self._of(
            _Copy(copy.base, copy.turns, cells), self.stored if _has(self.stored, value) else "F64"
        )

    def turned(self) -> Matrix:
        """The transposed matrix."""
        copy = self._copied()
        cells = {(column, row): value for (row, column), value in copy.cells.items()}
        return self._of(_Copy(copy.base, not copy.turns, cells), self.stored)

    def _copied(self) -> _Copy:
        """This matrix as a copy: of another one as long as it is not made."""
        return self._copy or _Copy(self, False, {})

    @staticmethod
    def _of(copy: _Copy, stored: str) -> Matrix:
        matrix = Matrix.__new__(Matrix)  # its numbers have been checked
        matrix._hold(None, None, stored, copy)
        return matrix

    def fitted(self, shape: tuple[int, int]) -> Matrix:
        """Of another shape: old numbers stay where they are, new ones are zero."""
        return Matrix.taken(cut_or_filled(self.array, shape))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Matrix):
            return NotImplemented
        if self is other or self.shape != other.shape:
            return self is other
        mine, theirs = self._copied(), other._copied()
        if mine.base is theirs.base and mine.turns == theirs.turns:
            return all(mine.at(cell) == theirs.at(cell) for cell in {*mine.cells, *theirs.cells})
        return self._has_numbers_of(other)

    def _has_numbers_of(self, other: Matrix) -> bool:
        # Part by part: two that differ mostly do so early, and are compared several times for one edit.
        step = max(1, COMPARED_AT_ONCE // self.shape[1])
        mine, theirs = self._numbers(), other._numbers()
        if _is_same_place(mine, theirs):
            return True
        parts = (slice(start, start + step) for start in range(0, self.shape[0], step))
        return all(np.array_equal(widened(mine[part]), widened(theirs[part])) for part in parts)

    def __hash__(self) -> int:
        if self._hash is None:
            # A few numbers tell matrices apart. -0.0 must hash as 0.0 does: adding 0.0 removes the sign.
            rows, columns = (max(1, n // SAMPLES) for n in self.shape)
            sample = self._copied().sample(rows, columns) + 0.0
            self._hash = hash((self.shape, sample.tobytes()))
        return self._hash

    def __repr__(self) -> str:
        return f"Matrix({self.shape[0]}x{self.shape[1]})"


@dataclass(frozen=True)
class _Copy:
    """Numbers that a matrix takes from `base`, perhaps transposed, with some `cells` changed."""

    base: Matrix
    turns: bool
    cells: Mapping[tuple[int, int], float]

    @property
    def shape(self) -> tuple[int, int]:
        rows, columns = self.base.shape
        return (columns, rows) if self.turns else (rows, columns)

    def numbers(self, stored: str) -> NDArray[Any]:
        """The numbers in an array of their own, read-only, in the order of memory of the base."""
        array = self._turned(self.base.array)
        array = array.astype(np.float64 if stored == "F64" else array.dtype, order="K")
        for cell, value in self.cells.items():
            array[cell] = value
        array.setflags(write=False)
        return array

    def rows(self, chosen: slice | Sequence[int], stored: str) -> NDArray[Any]:
        """Some rows, in an array of their own."""
        numbers = self.base.array.T[chosen] if self.turns else self.base.rows(chosen)
        numbers = numbers.astype(np.float64 if stored == "F64" else numbers.dtype)
        indices = list(range(self.shape[0])[chosen] if isinstance(chosen, slice) else chosen)
        for (row, column), value in self.cells.items():
            for index in [index for index, one in enumerate(indices) if one == row]:
                numbers[index, column] = value
        return numbers

    def at(self, cell: tuple[int, int]) -> float:
        """One number."""
        row, column = cell[::-1] if self.turns else cell
        return (
            self.cells[cell] if cell in self.cells else float(self.base.rows(slice(row, row + 1))[0, column])
        )

    def sample(self, rows: int, columns: int) -> NDArray[np.float64]:
        """The numbers of each so manieth row and column, in float64."""
        numbers = np.array(widened(self._turned(self.base._numbers())[::rows, ::columns]), np.float64)
        for (row, column), value in self.cells.items():
            if row % rows == column % columns == 0:
                numbers[row // rows, column // columns] = value
        return numbers

    def _turned(self, array: NDArray[Any]) -> NDArray[Any]:
        return array.T if self.turns else array


def _is_used_in_place(lasting: Lasting) -> bool:
    """True if an engine computes with the numbers where they lie in their file."""
    return isinstance(lasting, View) and lasting.dtype.itemsize > 2 and lasting.view.flags.aligned


def _check_shape(shape: tuple[int, ...]) -> None:
    """Refuse what is no matrix, and too large a one."""
    if len(shape) != 2 or 0 in shape:
        raise _refused(
            Message("shape {shape}", shape=list(shape)),
            must_be("a matrix of at least one row and one column"),
        )
    if math.prod(shape) > MAX_NUMBERS:
        most = must_be("a matrix of at most {most:,} numbers", most=MAX_NUMBERS)
        raise _refused(Message("{n:,} numbers", n=math.prod(shape)), most)


def _is_same_place(first: NDArray[Any], second: NDArray[Any]) -> bool:
    """True if two arrays of one shape are the same numbers of a file."""
    is_alike = first.strides == second.strides and first.dtype == second.dtype
    return is_alike and first.ctypes.data == second.ctypes.data


def cut_or_filled(values: NDArray[Any], shape: tuple[int, int]) -> NDArray[np.float64]:
    """`values` in another shape: old numbers stay where they are, new ones are zero."""
    fitted = np.zeros(shape)
    rows, columns = min(shape[0], values.shape[0]), min(shape[1], values.shape[1])
    fitted[:rows, :columns] = values[:rows, :columns]
    return fitted


def widened(array: NDArray[Any], memory: Memory | None = None) -> NDArray[Any]:
    """Numbers of 16 bits in float32, in an array of their own, perhaps in `memory`; others as they are."""
    if array.dtype.itemsize != 2:
        return array
    bits = array["bfloat16"] if array.dtype == BFLOAT16 else array
    wide = _float32(bits, memory)
    if array.dtype == BFLOAT16:
        np.left_shift(bits, 16, out=wide.view(np.uint32), dtype=np.uint32)
    else:
        np.copyto(wide, bits)
    return wide


def _float32(like: NDArray[Any], memory: Memory | None) -> NDArray[Any]:
    """An array for the numbers of another, in the order of its memory: across it, a conversion takes several
    times as long.
    """
    if memory is None:
        return np.empty_like(like, np.float32)
    order: Any = "F" if like.flags.f_contiguous or like.strides[0] < like.strides[-1] else "C"
    return np.ndarray(like.shape, np.float32, memory, order=order)


def in_float64(array: NDArray[Any]) -> NDArray[np.float64]:
    """The numbers in float64, in which explanations and edits compute; float64 as it is."""
    return widened(array).astype(np.float64, copy=False)


def with_bfloat16(array: NDArray[Any]) -> NDArray[Any]:
    """An array of a NumPy file, which has bfloat16 as nameless items of two bytes: these in float32."""
    return widened(array.view(BFLOAT16)) if array.dtype == np.dtype("V2") else array


def _narrowed(array: NDArray[Any], stored: str) -> NDArray[Any]:
    """Numbers in the precision they came in, rounded where they did not come so."""
    dtype = STORED_DTYPES[stored]
    if array.dtype == dtype:
        return array
    if dtype != BFLOAT16:
        return array.astype(dtype)
    narrow = np.empty(array.shape, BFLOAT16)
    narrow["bfloat16"] = np.ascontiguousarray(array, np.float32).view(np.uint32) >> 16
    return narrow


def _has(stored: str, value: float) -> bool:
    """True if a precision represents this value exactly."""
    if stored == "F64":
        return True
    with np.errstate(over="ignore"):
        single = np.array([[value]], dtype=np.float32)
        return float(widened(_narrowed(single, stored))[0, 0]) == float(value)


def _step(shape: tuple[int, ...]) -> int:
    """Rows that are checked or written together."""
    return max(1, PART_NUMBERS // shape[1])


def _as_array(values: Any) -> NDArray[Any]:
    """A private copy of nested sequences, in float64, or of an array, in its precision if that is
    supported.
    """
    if isinstance(values, np.ndarray):
        values = _of_numbers(values)
    if not isinstance(values, np.ndarray):
        rows = list(values) if isinstance(values, Sequence) and not isinstance(values, str) else None
        if rows is None or not all(isinstance(row, Sequence | np.ndarray) for row in rows):
            raise _refused(values, ROWS_OF_NUMBERS)
        for index, row in enumerate(rows):
            if len(row) != len(rows[0]):
                as_first = must_be("a row of length {n}, as row 0 is", n=len(rows[0]))
                raise FieldError(f"{WHERE}[{index}]", of_length(len(row)), as_first)
            for column, value in enumerate(row):
                if value is None or isinstance(value, _NO_NUMBERS):
                    raise FieldError(f"{WHERE}[{index}][{column}]", value, must_be("a number"))
    try:
        dtype = values.dtype if getattr(values, "dtype", None) in STORED_NAMES else np.float64
        return np.array(values, dtype=dtype, order="C")
    except OverflowError:
        raise _refused(values, Message("must have numbers in the range of float64")) from None
    except (TypeError, ValueError):
        raise _refused(values, ROWS_OF_NUMBERS) from None


def _of_numbers(array: NDArray[Any]) -> NDArray[Any] | list[Any]:
    """The array; as lists, which are checked number by number, where its dtype is not one of real numbers.

    Raises `FieldError` for a masked element: what lies under a mask is no number of the matrix.
    """
    if np.ma.is_masked(array) and array.ndim == 2:
        row, column = (int(index) for index in np.argwhere(np.ma.getmaskarray(array))[0])
        raise FieldError(f"{WHERE}[{row}][{column}]", Message("a masked element"), must_be("a number"))
    is_real = array.dtype.kind in _REAL_KINDS or array.dtype == BFLOAT16
    return array if is_real or array.ndim != 2 else list(array.tolist())


def _refused(value: object, requirement: Message) -> FieldError:
    return FieldError(WHERE, value, requirement)
