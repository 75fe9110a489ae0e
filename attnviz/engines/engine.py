"""Interface of an engine: a namespace, a device, a dtype, transfers, and the few steps worth a fast path.

The mathematics is written once, in `program.py`; an engine only defines where arrays live and how four
in-place steps run there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array
from attnviz.core.special import Special
from attnviz.errors import MessageError

if TYPE_CHECKING:
    from attnviz.engines.on_device import OnDevice

ThreadSetter = tuple[Callable[[], int], Callable[[int], None]]
"""Reads and sets the number of threads of one library."""


ITEMSIZE = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}
"""Bytes of a number of each precision."""

SAFE_EXPONENT = 40.0
"""e to this, and to minus this, and sums and quotients of them, are far inside the range of float32."""


ForEach = Callable[[Callable[[Any], None], Iterable[Any]], None]
Holding = Callable[[Sequence[ThreadSetter]], AbstractContextManager[None]]


def one_by_one(function: Callable[[Any], None], items: Iterable[Any]) -> None:
    """Call `function` on the items in order."""
    for item in items:
        function(item)


def as_they_are(setters: Sequence[ThreadSetter]) -> AbstractContextManager[None]:
    """Leave the libraries' threads alone."""
    return nullcontext()


class Unwarned:
    """A context without warnings from NumPy, inside another one: overflow and 0/0 are results, shown as they
    are.
    """

    __slots__ = ("_errors", "_inside")

    def __init__(self, inside: AbstractContextManager[None]) -> None:
        self._inside, self._errors = inside, np.errstate(all="ignore")

    def __enter__(self) -> None:
        self._inside.__enter__()
        self._errors.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._errors.__exit__(*error)
        self._inside.__exit__(*error)


@dataclass(frozen=True)
class Workers:
    """Provides threads: `for_each` calls a function on every item, perhaps on several threads at once.

    `alone(setters)` is a context, to be entered again and again, that limits the libraries, including those
    of `setters`, to one thread each.
    """

    for_each: ForEach = one_by_one
    alone: Holding = as_they_are


SPREAD_FLOPS = 5 * 10**8
"""Operations that justify other threads: some milliseconds. The caller waits for the slowest thread, and that
one may wait for another program as long.
"""


class EngineError(MessageError, RuntimeError):
    """The engine cannot do this here: no such device, dtype not supported, memory or device lost."""


class DeviceLost(EngineError):
    """The device has failed, and fails at everything until the program is started again."""


class Engine(Protocol):
    """One place to compute. `xp` is its Python array API namespace."""

    name: str
    device: str
    dtype: str
    xp: Any
    block_cells: int | None
    """Scores to be done at a time, so that they stay in the fast memory; None: all at once."""
    block_rows: int | None
    """Rows of a product with a weight matrix that are done at a time; None: all at once."""
    spares_keys: bool
    """Whether leaving out keys that are hidden from a whole block justifies reading the masks."""
    special: Special
    on_device: OnDevice | None
    """The matrices of files in the memory of the device; None where that is the machine's own."""

    def active(self) -> AbstractContextManager[None]:
        """Context of every computation, windows included; failures leave it as `EngineError`."""

    def asarray(self, values: NDArray[Any]) -> Array:
        """A NumPy array on the engine's device, floats in its dtype."""

    def shares(self, values: NDArray[Any]) -> bool:
        """True if `asarray` of a read-only array takes no memory of its own."""

    def to_numpy(self, array: Array) -> NDArray[Any]:
        """An engine array as a NumPy array (bfloat16 as float32)."""

    def empty(self, shape: tuple[int, ...]) -> Array:
        """An uninitialised array of the engine's dtype."""

    def zeros(self, shape: tuple[int, ...]) -> Array:
        """An array of zeros of the engine's dtype."""

    def workspace(self, part: Array) -> Array:
        """Buffer for the computation of `part`: itself, or an uninitialised array of its shape."""

    def matmul(self, a: Array, b: Array) -> Array:
        """a @ b of two matrices."""

    def matmul_into(self, out: Array, a: Array, b: Array) -> None:
        """out = a @ b, over equal leading dimensions, or of heads: a (g, r, m, k) and b (g, k, n)."""

    def score_bound(self, q: Array, k: Array) -> float:
        """Upper bound of the size of a product of a row of q and a row of k; inf if the bound is
        not worth computing.
        """

    def softmax_(self, scores: Array, is_bounded: bool = False) -> None:
        """Softmax over the last axis, in place; the result of a row of -inf alone is not defined.

        `is_bounded`: every score is -inf or of size `SAFE_EXPONENT` at most, so that no exponential over- or
        underflows and the maximum of a row need not be subtracted.
        """

    def fill_(self, array: Array, where: NDArray[np.bool_], value: float) -> None:
        """array[..., where] = value, in place; `where` covers the last two axes."""

    def multiply_(self, array: Array, factors: NDArray[Any]) -> None:
        """array *= factors, in place; `factors` broadcasts against it."""

    def add_rows_(self, array: Array, rows: NDArray[np.int64], numbers: Array) -> None:
        """array[rows] += numbers, in place; a row may occur several times."""

    def for_each(self, function: Callable[[Any], None], items: Iterable[Any]) -> None:
        """Call `function` on every item, in any order, perhaps at once."""

    def synchronise(self) -> None:
        """Wait until the device has finished its work; raises `EngineError` if that failed."""


def spread(engine: Engine, function: Callable[[Any], None], items: Sequence[Any], flops: float) -> None:
    """Call `function` on every item, on several threads where all of them together are worth it."""
    (engine.for_each if flops >= SPREAD_FLOPS else one_by_one)(function, items)


def all_finite(engine: Engine, array: Array) -> bool:
    """True if every number is finite. So is their sum then, unless it overflows: one number to look into."""
    return math.isfinite(array.sum()) or bool(engine.xp.isfinite(array).all())
