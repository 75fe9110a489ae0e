"""Steps that change each number by itself: a factor, a soft cap, terms that are added."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from attnviz.core.dims import Array
from attnviz.i18n import N_, _
from attnviz.operations.operation import (
    Arrays,
    Block,
    Floats,
    Forward,
    Ints,
    Numbers,
    Pointwise,
    Pulled,
    Reads,
    Use,
    Writer,
    are_shared,
    singly,
)
from attnviz.operations.terms import Line, Pieces, Text, constant, guarded, words


class Step(NamedTuple):
    """A multiplication ("×") or a division ("÷"): its number, its letters, its name, and its code."""

    sign: str
    number: float
    letters: str
    name: str
    code: str


@dataclass(frozen=True)
class Factor(Pointwise):
    """s · `value`; `steps` are the multiplications and divisions that make it, as they are written."""

    value: float
    steps: tuple[Step, ...]

    letters = "1 ÷ √d"

    @property
    def growth(self) -> float:
        return abs(self.value)

    @property
    def multiplier(self) -> float:
        return self.value

    def shape_(self, arrays: Arrays, scores: Array, block: Block) -> None:
        scores *= self.value

    def pull(self, g: Any, pulled: Pulled) -> None:
        pulled.add(g.times(self.value))

    def derivative(self, result: float) -> float:
        return self.value

    def lines(self, numbers: Numbers) -> tuple[Line, ...]:
        score = numbers.term()
        letters, result = numbers.symbol(), score.value
        pieces: Pieces = (score,)
        for step in self.steps:
            letters += f" {step.sign} {step.letters}"
            pieces += (Text(f" {step.sign} "), *guarded(constant(step.number, step.name)))
            result = result / step.number if step.sign == "÷" else result * step.number
        return (numbers.line((words(letters), pieces), result),)

    def code(self, writer: Writer) -> tuple[str, ...]:
        (read,) = writer.reads
        signs = {"×": "*", "÷": "/"}
        return (f"{writer.stage} = {read}" + "".join(f" {signs[s.sign]} {s.code}" for s in self.steps),)


@dataclass(frozen=True)
class Cap(Pointwise):
    """cap · tanh(s ÷ cap)."""

    cap: float

    help = N_("Scores limited smoothly to a range by tanh.")
    cites = "gemma"
    letters = "(1 − tanh²)"
    is_exact = False  # a vector unit's tanh differs from that of the numbers left over

    @property
    def growth(self) -> float:
        return 1.0

    def shape_(self, arrays: Arrays, scores: Array, block: Block) -> None:
        scores[...] = self.cap * arrays.xp.tanh(scores / self.cap)

    def pull(self, g: Any, pulled: Pulled) -> None:
        share = pulled.result() / self.cap
        pulled.add(g.part() * (1 - share * share))

    def derivative(self, result: float) -> float:
        return 1 - (result / self.cap) ** 2

    def lines(self, numbers: Numbers) -> tuple[Line, ...]:
        score, limit = numbers.term(), constant(self.cap, _("cap"))
        pieces: Pieces = (limit, Text(" × tanh("), score, Text(" ÷ "), limit, Text(")"))
        result = self.cap * math.tanh(score.value / self.cap)
        return (numbers.line((words("cap · tanh(s ÷ cap)"), pieces), result),)

    def code(self, writer: Writer) -> tuple[str, ...]:
        (read,) = writer.reads
        return (f"{writer.stage} = {self.cap!r} * {writer.xp}.tanh({read} / {self.cap!r})",)


@dataclass(frozen=True, eq=False)
class Plus(Pointwise):
    """s plus a number of its head, query and key.

    `at(heads, queries, keys)` returns the numbers (..., query, key) of heads (...), queries (..., query) and
    keys (..., key). `parameters(g, queries, keys)` returns the gradients by what makes them, by name, from
    that by the sums (head, query, key) of queries (query,) and keys (key,).
    """

    at: Callable[[Ints, Ints, Ints], Floats]
    parameters: Callable[[Floats, Ints, Ints], dict[str, Floats]]

    def with_numbers(self, numbers: Mapping[str, Floats]) -> None:
        """Its numbers are functions of the document."""

    def shape_(self, arrays: Arrays, scores: Array, block: Block) -> None:
        scores += arrays.asarray(self.at(block.heads, block.q_positions, block.k_positions))

    def pull(self, g: Any, pulled: Pulled) -> None:
        pulled.add(g)
        cells, positions = pulled.by_heads(g.part()), pulled.positions()
        if are_shared(positions):
            cells = cells.sum(axis=tuple(range(cells.ndim - 3)))
        for at, queries, keys in singly(cells, positions):
            for name, found in self.parameters(cells[at], queries, keys).items():
                pulled.add_parameter(name, pulled.arrays.asarray(found))

    def derivative(self, result: float) -> float:
        return 1.0

    def lines(self, numbers: Numbers) -> tuple[Line, ...]:
        score = numbers.term()
        letters, pieces, value, notes = numbers.addend()
        return (numbers.line((words(letters), (score, *pieces)), score.value + value, *notes),)

    def code(self, writer: Writer) -> tuple[str, ...]:
        (read,) = writer.reads
        return (f"{writer.stage} = {read}{writer.addend()}",)


@dataclass(frozen=True, eq=False)
class Temper(Pointwise):
    """τ q with τ = 1 + `strength` · ln(1 + ⌊(m + 1) ÷ `interval`⌋), m = i + `offset` of row i."""

    strength: float
    interval: int
    offset: int
    factors: Callable[[Ints], Floats]

    help = N_("Queries times a factor that grows with their position: weights stay sharp.")
    cites = "scalable"
    letters = "τ"
    goes_on = False

    def of(self, arrays: Arrays, x: Array, positions: Ints) -> Array:
        return x * arrays.asarray(self.factors(positions + self.offset)[..., None])

    def pull(self, g: Any, pulled: Pulled) -> None:
        pulled.add(self.of(pulled.arrays, g, pulled.token_positions()))

    def _factor(self, row: int) -> float:
        return float(self.factors(np.array([row + self.offset]))[0])

    def derivatives(self, use: Use, reads: Reads) -> Floats:
        return np.full(use.shape, self._factor(use.cell.row))

    def lines(self, numbers: Numbers) -> tuple[Line, ...]:
        q, m = numbers.term(), numbers.cell.row + self.offset
        tau = f"(1 + {self.strength!r} × ln(1 + ⌊({m} + 1) ÷ {self.interval}⌋))"
        steps = (words(f"τ · {numbers.symbol()}"), (Text(f"{tau} × "), *guarded(q)))
        return (numbers.line(steps, self._factor(numbers.cell.row) * q.value),)

    def code(self, writer: Writer) -> tuple[str, ...]:
        (read,), xp, first = writer.reads, writer.xp, self.offset + 1
        dtype = "" if writer.is_numpy else ", dtype=torch.float64"
        steps = f"{xp}.floor({xp}.arange({first}, {first + writer.shape[-2]}{dtype}) / {self.interval})"
        return (
            f"tau = 1 + {self.strength!r} * {xp}.log1p({steps})",
            f"{writer.stage} = {read} * tau[:, None]",
        )


@dataclass(frozen=True, eq=False)
class PlusRow(Pointwise):
    """x plus a row of its position. `at(positions)` returns the rows, (token, feature).

    `table` is the parameter whose rows they are: its path, its length, and the row of the first token.
    """

    at: Callable[[Ints], Floats]
    table: tuple[str, int, int] | None = None

    goes_on = False

    def with_numbers(self, numbers: Mapping[str, Floats]) -> PlusRow:
        if self.table is None:
            return self
        path, _length, start = self.table
        return replace(self, at=lambda positions: numbers[path][positions + start])

    def of(self, arrays: Arrays, x: Array, positions: Ints) -> Array:
        return x + arrays.asarray(self.at(positions))

    def pull(self, g: Array, pulled: Pulled) -> None:
        pulled.add(g)
        if self.table is not None:
            path, length, start = self.table
            by_table = pulled.arrays.zeros((length, g.shape[-1]))
            positions = pulled.token_positions()
            if positions.ndim == 1:
                g = pulled.arrays.xp.sum(g, axis=tuple(range(g.ndim - 2)))
            leading = tuple(g.shape[:-2])
            firsts = np.broadcast_to(positions, (*leading, g.shape[-2]))[..., 0] + start
            for number, at in enumerate(np.ndindex(leading)):
                rows = slice(int(firsts[at]), int(firsts[at]) + g.shape[-2])
                by_table[rows] = by_table[rows] + g[at] if number else g[at]
            pulled.add_parameter(path, by_table)

    def derivative(self, result: float) -> float:
        return 1.0

    def lines(self, numbers: Numbers) -> tuple[Line, ...]:
        return numbers.placed()

    def code(self, writer: Writer) -> tuple[str, ...]:
        return writer.of_position()


@dataclass(frozen=True)
class Sum(Pointwise):
    """The first input plus `factor` times the second one: a residual connection."""

    factor: float

    goes_on = False

    def formula(self, own: str, *inputs: str) -> str:
        factor = "" if self.factor == 1.0 else f"{self.factor:g} · "
        return f"{own} = {inputs[0]} + {factor}{inputs[1]}"

    def _times(self, made: Array) -> Array:
        return made if self.factor == 1.0 else self.factor * made

    def result(self, forward: Forward) -> Array:
        return forward.input() + self._times(forward.input(1))

    def pull(self, g: Array, pulled: Pulled) -> None:
        pulled.add(g)
        pulled.add(self._times(g), 1)

    def flops(self, shape: tuple[int, ...], *inputs: tuple[int, ...]) -> int:
        return math.prod(shape) * (1 if self.factor == 1.0 else 2)

    def derivatives(self, use: Use, reads: Reads) -> Floats:
        return np.full(use.shape, self.factor if use.place else 1.0)

    def lines(self, numbers: Numbers) -> tuple[Line, ...]:
        first, second = numbers.term(), numbers.term(1)
        sign = " + " if self.factor == 1.0 else f" + {self.factor:g} × "
        letters = words(f"{numbers.symbol(0)}{sign}{numbers.symbol(1)}")
        result = first.value + self.factor * second.value
        return (numbers.line((letters, (first, Text(sign), *guarded(second))), result),)

    def code(self, writer: Writer) -> tuple[str, ...]:
        past, made = writer.reads
        factor = "" if self.factor == 1.0 else f"{self.factor!r} * "
        return (f"{writer.stage} = {past} + {factor}{made}",)
