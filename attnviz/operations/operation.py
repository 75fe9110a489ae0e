"""`Operation`: one kind of mathematical step, with all that is known of it.

An operation is a frozen record of its operands. It gets arrays and numbers, never a site, a trace or a
document: `model/binding.py` makes it for a stage of a site, engines and explanations ask it.

Over 500 lines because the base class states all questions that an operation answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array
from attnviz.core.special import NUMPY_SPECIAL, Special
from attnviz.i18n import N_
from attnviz.operations.terms import Line, Pieces, Term

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Indices = tuple[int, ...] | None
"""Some indices along one axis; None means all of them."""
Cells = tuple[Indices, Indices]
"""(rows, columns)."""


Pattern = Literal[
    "given",
    "same_cell",
    "projection",
    "latent_key",
    "pair",
    "qd,kd->qk",
    "relative",
    "row",
    "qk,kd->qd",
    "join_heads",
    "gated",
    "partners",
    "qd,wd->qw",
    "routed",
]
"""The pattern of the cells that a cell of a result reads: by name, or by the indices of a product."""

Reach = Literal["cell", "row", "heads", "tokens"]
"""The reach of a cell of a result: the same cell, its row, other heads, other tokens."""

REACHES: dict[Pattern, Reach] = {
    "same_cell": "cell",
    "partners": "heads",
    "qd,kd->qk": "tokens",
    "relative": "tokens",
    "qk,kd->qd": "tokens",
}
"""The reach of each pattern that is not a row."""

Addend = tuple[str, Pieces, float, tuple[Pieces, ...]]
"""The term that is added to a score: the sum in letters, the term with its sign, its value, notes."""


@dataclass(frozen=True, eq=False)
class Parameter:
    """A weight of the document: its path, its name in formulas, and its numbers in float64."""

    path: str
    symbol: str
    numbers: Callable[[], Floats]


class At(Protocol):
    """One cell of a stage: its head, row and column."""

    @property
    def head(self) -> int: ...
    @property
    def row(self) -> int: ...
    @property
    def column(self) -> int: ...


class Arrays(Protocol):
    """The library, precision and device of arrays: an engine."""

    @property
    def xp(self) -> Any: ...
    @property
    def special(self) -> Special: ...
    def asarray(self, array: Any) -> Array: ...
    def zeros(self, shape: tuple[int, ...]) -> Array: ...
    def to_numpy(self, array: Array) -> NDArray[Any]: ...
    def multiply_(self, array: Array, factors: Floats) -> None:
        """array *= factors, in place."""

    def fill_(self, array: Array, where: Bools, value: float) -> None:
        """array[..., where] = value, in place; `where` broadcasts against it."""

    def softmax_(self, scores: Array, is_bounded: bool = False) -> None:
        """Softmax over the last axis, in place; `is_bounded`: no exponential over- or underflows."""


class _NumPy:
    xp, special = np, NUMPY_SPECIAL

    def asarray(self, array: Any) -> Array:
        return np.asarray(array)

    def zeros(self, shape: tuple[int, ...]) -> Array:
        return np.zeros(shape)

    def to_numpy(self, array: Array) -> NDArray[Any]:
        return np.asarray(array)

    def multiply_(self, array: Array, factors: Floats) -> None:
        array *= factors

    def fill_(self, array: Array, where: Bools, value: float) -> None:
        np.copyto(array, value, where=where)

    def softmax_(self, scores: Array, is_bounded: bool = False) -> None:
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)


NUMPY: Arrays = _NumPy()
"""The arrays of explanations: NumPy's, in their own precision."""


class Seen(NamedTuple):
    """Visibility of a range of keys for some rows.

    `hidden` (..., row, key of the range) is None if they see all of it; its columns outside `touched` have no
    hidden cell, `blocked` are those inside. `empty` (..., row) are the rows that see no key at all, None
    without any.
    """

    keys: slice
    hidden: Bools | None = None
    touched: slice = slice(0, 0)
    blocked: Bools | None = None
    empty: Bools | None = None


ALL_KEYS = Seen(slice(None))
"""Nothing is hidden."""


class Block(NamedTuple):
    """Part of the score arrays (..., query, key): the numbers of its heads (...), the positions of its
    queries (..., query) and keys (..., key), what its rows see. All broadcast against each other.

    `qk` are q (g, r, q, d) and k (g, k, d), which relative positions read besides the scores. `is_bounded`:
    no score is so large that its exponential could overflow. `is_edited`: by hand, so that a row may have a
    score or none whatever the masks say.
    """

    heads: Ints
    q_positions: Ints
    k_positions: Ints
    seen: Seen = ALL_KEYS
    qk: tuple[Array, ...] = ()
    is_bounded: bool = False
    is_edited: bool = False


class Numbers(Protocol):
    """The numbers around one cell of a trace, as its arithmetic writes them."""

    @property
    def cell(self) -> At: ...

    def term(self, place: int = 0) -> Term:
        """The number at the same place of input `place`."""

    def term_of(self, head: int) -> Term:
        """The number of another head at the same place of the first input."""

    def number_of(self, place: int, head: int, row: int, column: int, value: float) -> Term:
        """A number of input `place`, which has been read."""

    def named(self, place: int, head: int, row: int, column: int) -> Term:
        """A number of input `place`, by its name."""

    def same(self) -> Term:
        """The number at the same place of the first input, by its name."""

    def row_of(self, place: int, head: int, row: int) -> Floats:
        """A row of input `place`."""

    def column_of(self, place: int, head: int, column: int) -> Floats:
        """A column of input `place`."""

    def own_row(self, head: int, row: int) -> Floats:
        """A row of the stage itself."""

    def row(self) -> Floats:
        """The row of the cell in the first input."""

    def term_at(self, column: int, value: float) -> Term:
        """A number of that row, which has been read."""

    def link(self, place: int, column: int) -> Term:
        """A number of that row of an input, by its name."""

    def symbol(self, place: int = 0) -> str:
        """The name of input `place` in formulas."""

    def letter(self, place: int = 0) -> str:
        """The letter of input `place` in the formula of the stage."""

    def line(self, steps: tuple[Pieces, ...], result: float, *notes: Pieces) -> Line:
        """The line of the cell; `result` is what its terms give in float64."""

    def addend(self) -> Addend:
        """The term that is added to a score."""

    def placed(self) -> tuple[Line, ...]:
        """The lines of a token's vector to which a row of its position is added."""

    def elsewhere(self) -> Term | None:
        """The number in another site of which this one is the copy; None for one of this site."""


class Use(Protocol):
    """The cells of a stage that read a cell as input number `place`: every head, row and column of these."""

    @property
    def place(self) -> int: ...
    @property
    def cell(self) -> At: ...
    @property
    def heads(self) -> tuple[int, ...]: ...
    @property
    def rows(self) -> tuple[int, ...]: ...
    @property
    def columns(self) -> tuple[int, ...]: ...
    @property
    def shape(self) -> tuple[int, int, int]: ...
    def at(self, index: int) -> At:
        """The cell at an index of the flattened use."""


class Reads(Protocol):
    """The numbers around a use."""

    def result(self, cell: At) -> float:
        """The number of one cell of the use."""

    def own_row(self, head: int, row: int) -> Floats:
        """A row of the stage itself."""

    def row(self, place: int, head: int, row: int) -> Floats:
        """A row of input `place`."""

    def column(self, place: int, head: int, column: int) -> Floats:
        """A column of input `place`."""


class Gradient(Protocol):
    """The gradient by a stage, which may not be stored."""

    def part(self) -> Array:
        """All of its numbers."""

    def times(self, factor: float) -> Gradient:
        """The same times a number."""


class Inputs(Protocol):
    """The reads of an operation in a pass: the numbers of its inputs, and its weights by path."""

    @property
    def arrays(self) -> Arrays: ...

    def input(self, place: int = 0) -> Array:
        """The numbers of input `place`: (token, feature) or (g[, r], …)."""

    def row(self, path: str) -> Array:
        """A weight that is one row: a gain, a bias."""


class Forward(Inputs, Protocol):
    """The reads of a step forward."""

    def times(self, x: Array, path: str) -> Array:
        """x (token, in) times a matrix (in, out) among the weights; x itself where that is no weight."""

    @property
    def counted(self) -> Ints:
        """Numbers of the tokens as the encoding of positions counts them."""

    def token_positions(self) -> Ints:
        """Numbers of the tokens in the whole text."""


class Pulled(Inputs, Protocol):
    """The reads of a vector–Jacobian product, and the place of the gradients."""

    def result(self) -> Array:
        """The numbers of the stage as they were computed."""

    def add(self, gradient: Gradient | Array, place: int = 0) -> None:
        """Add to the gradient by input `place`."""

    def add_outer(self, rows: Array, columns: Array) -> None:
        """Add rows (g, r, q, d) times columns (g, k, d) transposed to the gradient by the first input."""

    def over_keys(self, cells: Any, columns: Array) -> Array:
        """Cells (g, r, q, k) times columns (g, k, d): (g, r, q, d)."""

    def over_queries(self, cells: Any, rows: Array, without: tuple[int, ...] = ()) -> Array:
        """The transpose of cells (g, r, q, k) times rows (g, r, q, d), summed over the heads of a group but
        those `without`: (g, k, d).
        """

    def matrix(self, path: str) -> Array:
        """A matrix among the weights, as a whole."""

    def product(self, path: str, x: Array, g: Array) -> Array:
        """Add xᵀ g, the gradient by a matrix, from that by x W; returns g Wᵀ."""

    def add_parameter(self, name: str, gradient: Any) -> None:
        """Add to the gradient by a parameter."""

    def by_heads(self, array: Array) -> Floats:
        """(..., g, r, row, column) as (..., head, row, column), in float64."""

    def positions(self) -> tuple[Ints, Ints]:
        """Numbers of the queries (..., query) and of the keys (..., key)."""

    def block(self) -> Block:
        """All queries and keys of all heads (g, r)."""

    @property
    def is_edited(self) -> bool:
        """True if a stage of queries and keys is edited by hand, so that a hidden cell may count."""

    def in_tiles(
        self, made: Array, g: Gradient | Array, pull_: Callable[[Array, Array, Block], None]
    ) -> Array:
        """Of each tile of the pass, the gradient after `pull_(numbers, gradient, block)` in place; numbers
        are those of `made`. 0 where a tile has no key.
        """

    @property
    def is_from_weights(self) -> bool:
        """True if the gradient comes through the weights, so that it is 0 already in unseen cells."""

    def token_positions(self) -> Ints:
        """Numbers of the tokens (..., token) of a stage of vectors."""


class Writer(Protocol):
    """The code of a stage while it is written."""

    @property
    def stage(self) -> str: ...
    @property
    def reads(self) -> tuple[str, ...]: ...
    @property
    def xp(self) -> str: ...
    @property
    def is_numpy(self) -> bool: ...
    @property
    def shape(self) -> tuple[int, ...]: ...

    def define(self, name: str, *lines: str) -> str:
        """Add a definition before the lines; returns its name."""

    def of_numpy(self, expression: str) -> str:
        """The expression of an array that NumPy makes."""

    def given(self, path: str, name: str) -> str:
        """Define a parameter of the document under a name; returns that."""

    def note(self, text: str, **named: Any) -> str:
        """A comment behind a line; `text` is a message."""

    def split_heads(self, product: str, width: int) -> str:
        """The expression of heads of some width that stand side by side, as an axis of their own."""

    def side_by_side(self, array: str) -> str:
        """The expression of heads of the stage that stand side by side."""

    def in_every_head(self, array: str) -> str:
        """The expression of an array that all heads share."""

    def angles(self, first: int) -> None:
        """Define cos and sin of the angles of the tokens, which are numbered from `first` on."""

    def copy(self, array: str) -> str:
        """The expression of a copy."""

    def blank(self, array: str, where: str, value: str) -> str:
        """The expression of an array with one value in the cells of another one."""

    def last(self, keeps: bool = True) -> str:
        """The arguments of a sum over the last axis."""

    def table(self, name: str, numbers: Floats) -> str:
        """Define a table of numbers and −∞, (..., row, column); returns its expression."""

    def softmax(self, array: str) -> str:
        """The expression of the softmax over the last axis."""

    def sigmoid(self) -> str:
        """Define the sigmoid; returns its name."""

    def blocked(self) -> str:
        """Define the cells that the masks hide; returns their name."""

    def in_groups(self, array: str) -> str:
        """The expression of keys or values as every query head reads them."""

    def join(self, parts: tuple[str, ...]) -> str:
        """The expression of arrays joined along their features."""

    def of_position(self) -> tuple[str, ...]:
        """The lines of the stage that the position of the document adds."""

    def heads_of(self, parts: tuple[str, ...]) -> str:
        """The expression of the heads of arrays, one array after the other."""

    def addend(self) -> str:
        """Define what is added to a score; returns its expression with its sign."""

    def activated(self, kind: str, array: str) -> str:
        """The expression of an activation, by its id."""

    def gated(self, kind: str, gate: str, up: str) -> str:
        """The expression of a gated unit, by its id."""

    @property
    def is_encoded(self) -> bool:
        """True if the memory is the result of an encoder."""

    def vectors(self, path: str) -> str:
        """The expression of vectors of the document, perhaps in several lines."""


def in_groups(head: int, group_size: int) -> tuple[int, ...]:
    """The query heads that share a head of keys and values."""
    return tuple(range(head * group_size, (head + 1) * group_size))


def are_shared(positions: tuple[Ints, Ints]) -> bool:
    """True if all that stands in front has the same queries and keys."""
    return all(one.ndim == 1 for one in positions)


def singly(cells: Floats, positions: tuple[Ints, Ints]) -> Iterator[tuple[tuple[int, ...], Ints, Ints]]:
    """The indices of the leading axes of cells (..., head, query, key), with the queries and keys there."""
    leading = cells.shape[:-3]
    queries, keys = (np.broadcast_to(one, (*leading, one.shape[-1])) for one in positions)
    for at in np.ndindex(leading):
        yield at, queries[at], keys[at]


class Operation:
    """An operation. Methods that a kind of operation has no use for raise.

    Arrays may have any number of leading axes; gradients by parameters are summed over them.
    """

    help: ClassVar[str] = ""
    """One sentence, a message."""
    cites: ClassVar[str] = ""
    """The key of its source."""
    letters: ClassVar[str] = ""
    """Its derivative in letters; empty where that is a number alone."""
    pattern: ClassVar[Pattern] = "row"
    """The pattern of the cells that a cell reads."""
    leaves_inputs: ClassVar[bool] = False
    """True if it may read fewer than the stages that its row names: `n_inputs`."""
    is_exact: ClassVar[bool] = True
    """True if the last bit of a cell does not depend on the cells that are computed beside it."""

    statistics: ClassVar[tuple[str, ...]] = ()
    """The quantities of a row that a window of it needs beside the same window of its input. Scores without
    any are recomputed where they are shown, others are stored.
    """
    kept: ClassVar[tuple[int, ...]] = ()
    """The inputs whose rows of earlier tokens a later token reads: they grow with the text."""
    is_of_row: ClassVar[bool] = False
    """True if its derivative by a row is written with two numbers of its own: w_i (δ_ij − w_j)."""

    goes_on: ClassVar[bool] = False
    """True if the lines of the cell that it reads follow its own; a sum's terms lead on instead."""

    @property
    def reach(self) -> Reach:
        """The part of its inputs that a cell reads."""
        return REACHES.get(self.pattern, "row")

    def letters_by(self, place: int) -> str:
        """Its derivative by one of its inputs in letters."""
        return self.letters

    @property
    def title(self) -> str:
        """The name of the step in this site; empty: that of the row."""
        return ""

    @property
    def label(self) -> str:
        """The short label of the step with its numbers; empty: that of the row."""
        return ""

    @property
    def n_inputs(self) -> int:
        """The number of inputs that it reads, of those that its row names."""
        raise NotImplementedError

    @property
    def rows(self) -> tuple[Parameter, ...]:
        """Its weights of one row."""
        return ()

    @property
    def matrices(self) -> tuple[str, ...]:
        """The paths of its matrices."""
        return ()

    def formula(self, own: str, *inputs: str) -> str:
        """Its formula with the letters of the stage and of its inputs; empty: that of the row."""
        return ""

    def made_of_heads(self, place: int, cell: At) -> Indices:
        """The heads of input `place`, which has heads, that make a cell; None: all of them."""
        return self.heads_with(cell.head)

    def read_by_heads(self, place: int, cell: At) -> Indices:
        """The heads of the result that read a cell of input `place`, which both have heads; None: all."""
        return self.heads_with(cell.head)

    @property
    def growth(self) -> float:
        """The largest ratio of a result's size to that of the score that it is made of; of q · k it is 1."""
        return math.inf

    @property
    def multiplier(self) -> float | None:
        """The number by which it multiplies, if it does nothing else."""
        return None

    def shape_(self, arrays: Arrays, scores: Array, block: Block) -> None:
        """The scores of a block (..., query, key), in place."""
        raise NotImplementedError

    def heads_with(self, head: int) -> Indices:
        """The heads that a head of query heads is computed from, and that are computed from it."""
        return (head,)

    def window(self, arrays: Arrays, parts: Sequence[Array], block: Block) -> Array:
        """A block of one head, from the same block of the heads that it is computed from, in their order."""
        made = arrays.xp.asarray(parts[0], copy=True)
        self.shape_(arrays, made, block)
        return made

    def of_heads(self, arrays: Arrays, numbers: Array, block: Block) -> Array:
        """The numbers (g, r, query, key) of all heads, from those of its input."""
        return self.window(arrays, (numbers,), block)

    def of(self, arrays: Arrays, x: Array, positions: Ints) -> Array:
        """The numbers (token, feature) of tokens at some positions, from those of its input."""
        raise NotImplementedError

    def result(self, forward: Forward) -> Array:
        """The numbers of a stage of tokens or heads, from those of its inputs."""
        return self.of(forward.arrays, forward.input(), forward.counted)

    def at_token(self, arrays: Arrays, inputs: tuple[Array, ...], token: int) -> Array:
        """The matrix (..., row, column) of one token, from all of its inputs (..., token, feature)."""
        raise NotImplementedError

    def pull(self, g: Any, pulled: Pulled) -> None:
        """The vector–Jacobian product: from the gradient by the result to those by inputs and parameters."""
        raise NotImplementedError

    def with_numbers(self, numbers: Mapping[str, Floats]) -> Operation | None:
        """The same with other numbers of the weights that it holds itself, (rows, columns) by path.

        None if the document has to make it.
        """
        return self

    def flops(self, shape: tuple[int, ...], *inputs: tuple[int, ...]) -> int:
        """Floating-point operations of a result of a public shape, from inputs of theirs; 0: not counted."""
        return 0

    def made_of(self, place: int, cell: At) -> Cells | None:
        """The cells of input `place` that make a cell; None: none."""
        raise NotImplementedError

    def read_by(self, place: int, cell: At) -> Cells | None:
        """The cells that read a cell of input `place`; None: none."""
        raise NotImplementedError

    def lines(self, numbers: Numbers) -> tuple[Line, ...]:
        """The arithmetic of one cell."""
        raise NotImplementedError

    def passes_on(self, cell: At) -> bool:
        """True if a cell is the one that it reads, so that a line of its own would say nothing."""
        return False

    def derivatives(self, use: Use, reads: Reads) -> Floats:
        """The derivative of every cell of a use by the cell that they read."""
        raise NotImplementedError

    def stops(self, derivatives: Floats) -> bool:
        """True if a derivative of 0, of these by one cell, passes nothing, not even NaN."""
        return False

    def corner(self, place: int, cell: At, reads: Reads) -> str:
        """Why it has no derivative by a cell of an input, and which one is taken; empty if it has one."""
        return ""

    def code(self, writer: Writer) -> Sequence[str]:
        """Its lines of NumPy or PyTorch."""
        raise NotImplementedError


class Pointwise(Operation):
    """Each number follows from the number at the same place."""

    help = N_("Each number is computed from the number at the same place of its inputs.")
    goes_on = True
    pattern: ClassVar[Pattern] = "same_cell"

    def derivative(self, result: float) -> float:
        """The derivative of a cell, whose value is `result`, by the cell that it reads."""
        raise NotImplementedError

    def derivatives(self, use: Use, reads: Reads) -> Floats:
        return np.full(use.shape, self.derivative(reads.result(use.at(0))))

    def made_of(self, place: int, cell: At) -> Cells | None:
        return (cell.row,), (cell.column,)

    def read_by(self, place: int, cell: At) -> Cells | None:
        return (cell.row,), (cell.column,)
