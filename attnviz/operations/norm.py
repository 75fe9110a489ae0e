"""`Norm`: every row divided by its own size, and `NORM_KINDS`, the ways to measure that."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from attnviz.core.block import layer_norm, length_norm, pull_layer_norm, pull_length, pull_rms_norm, rms_norm
from attnviz.core.dims import Array, head_axes, in_heads, over_rows, side_by_side
from attnviz.i18n import N_, _
from attnviz.operations.difference import halves, rejoined
from attnviz.operations.operation import (
    Arrays,
    At,
    Cells,
    Floats,
    Forward,
    Indices,
    Numbers,
    Operation,
    Parameter,
    Pulled,
    Reads,
    Use,
    Writer,
)
from attnviz.operations.terms import Line, Pieces, Series, Term, Text, constant, guarded, words


@dataclass(frozen=True)
class NormKind:
    """One way to normalise a row; `title`, `hint`, `formula` and `spread` are messages.

    `formula` is written for x, `spread` is the term under its root. `centred`: the mean is subtracted first;
    `divided`: the sum of squares is divided by the number of features. `function(xp, x, eps)` normalises x
    (..., d) without gains, `pull(xp, x, g, eps)` is its vector–Jacobian product, and its result again.
    """

    id: str
    title: str
    hint: str
    formula: str
    spread: str
    function: Callable[[Any, Array, float], Array]
    pull: Callable[[Any, Array, Array, float], tuple[Array, Array]]
    centred: bool = False
    divided: bool = True
    flops: int = 3
    """For each feature: squares and their sum, quotient; with a mean, two more."""

    def derivatives(self, x: Floats, eps: float, column: int) -> Floats:
        """∂ norm(x)_j / ∂ x_column for every j: (δ − [1 ÷ d] − n n_column [÷ d]) ÷ σ."""
        if self.centred:
            x = x - x.mean()
        d = len(x)
        deviation = np.sqrt((np.mean(x**2) if self.divided else np.sum(x**2)) + eps)
        n = x / deviation
        unit = np.eye(d)[column] - 1 / d if self.centred else np.eye(d)[column]
        along = n * n[column] / d if self.divided else n * n[column]
        return np.asarray((unit - along) / deviation)

    def define(self, writer: Writer) -> str:
        """Define the function in a script; returns its name."""
        centre = (f"    x = x - x.mean({writer.last()})",) if self.centred else ()
        square = f"(x * x).{'mean' if self.divided else 'sum'}({writer.last()})"
        root = f"    return x / {writer.xp}.sqrt({square} + eps)"
        return writer.define(f"{self.id}_norm", f"def {self.id}_norm(x, eps):", *centre, root, "")


NORM_KINDS: tuple[NormKind, ...] = (
    NormKind(
        "rms",
        N_("RMS"),
        N_("Divides each q and k by its root mean square"),
        "x ÷ √(Σ x² ÷ d + ε)",
        N_("mean square"),
        rms_norm,
        pull_rms_norm,
    ),
    NormKind(
        "layer",
        N_("layer"),
        N_("Subtracts the mean of each q and k and divides by its standard deviation"),
        N_("(x − mean) ÷ √(Σ (x − mean)² ÷ d + ε)"),
        N_("variance"),
        layer_norm,
        pull_layer_norm,
        centred=True,
        flops=5,
    ),
    NormKind(
        "l2",
        N_("length 1"),
        N_("Divides each q and k by its length"),
        "x ÷ √(Σ x² + ε)",
        N_("sum of squares"),
        length_norm,
        pull_length,
        divided=False,
    ),
)

"""On queries and keys: rms and layer by Dehghani et al. 2023 (ViT-22B), l2 by Henry et al. 2020."""

NORM_KIND_BY_ID = {row.id: row for row in NORM_KINDS}


@dataclass(frozen=True, eq=False)
class Norm(Operation):
    """gain · (x − mean) ÷ √(variance + ε) + bias of every row, in one of the kinds.

    A row is that of a token, or of one of its heads; of `together` it is that of several of the `n_heads`
    heads side by side: all, or a pair of head j and head j + n_heads ÷ 2. `factor` multiplies the result;
    `factor_name` are its letters. `name` ends the names of gain and bias in scripts.
    """

    kind: NormKind
    eps: float
    gain: Parameter | None = None
    bias: Parameter | None = None
    name: str = ""
    together: Literal["", "all", "pair"] = ""
    n_heads: int = 1
    factor: float = 1.0
    factor_name: str = ""

    help = N_("Each row is normalised by a quantity of the whole row.")
    cites = "layer_norm"
    statistics = ("mean", "mean square")

    @property
    def title(self) -> str:
        return "" if self.factor_name else _(self.kind.title)

    def letters_by(self, place: int) -> str:
        slope = "(δ − n n ÷ d) ÷ σ"
        return f"({self.factor_name}) {slope}" if self.factor_name else f"gain {slope}"

    @property
    def rows(self) -> tuple[Parameter, ...]:
        return tuple(one for one in (self.gain, self.bias) if one is not None)

    def formula(self, own: str, *inputs: str) -> str:
        """The norm of x, with its gain and its bias: `gain · x ÷ √(Σ x² ÷ d + ε)`; empty with a factor."""
        if self.factor_name:
            return ""
        gain = f"{_('gain')} · " if self.gain is not None else ""
        bias = f" + {_('bias')}" if self.bias is not None else ""
        return f"{gain}{_(self.kind.formula).replace('x', inputs[0])}{bias}"

    # --- heads -------------------------------------------------------------------------------------

    def _heads_of(self, head: int) -> tuple[int, ...]:
        """The heads whose features are one row with those of a head."""
        if self.together == "all":
            return tuple(range(self.n_heads))
        middle = self.n_heads // 2
        return (head % middle, head % middle + middle) if self.together == "pair" else (head,)

    def heads_with(self, head: int) -> Indices:
        return None if self.together == "all" else self._heads_of(head)

    def _joined(self, arrays: Arrays, x: Array) -> Array:
        """The rows that are normalised."""
        if self.together == "pair":
            return arrays.xp.concat(halves(arrays, x), axis=-1)
        return side_by_side(arrays.xp, x, head_axes(x.shape, self.n_heads)) if self.together else x

    def _apart(self, arrays: Arrays, rows: Array, shape: tuple[int, ...]) -> Array:
        """`_joined`, backwards."""
        if self.together == "pair":
            middle = rows.shape[-1] // 2
            return rejoined(arrays, rows[..., :middle], rows[..., middle:], shape)
        return in_heads(arrays.xp, rows, shape) if self.together else rows

    # --- arrays ------------------------------------------------------------------------------------

    def plain(self, arrays: Arrays, x: Array) -> Array:
        """x (..., token, feature) normalised, without factor, gain and bias."""
        rows = self.kind.function(arrays.xp, self._joined(arrays, x), self.eps)
        return self._apart(arrays, rows, tuple(x.shape))

    def result(self, forward: Forward) -> Array:
        arrays, x = forward.arrays, forward.input()
        made = self.kind.function(arrays.xp, self._joined(arrays, x), self.eps)
        made = made if self.factor == 1.0 else self.factor * made
        made = made if self.gain is None else made * forward.row(self.gain.path)
        made = made if self.bias is None else made + forward.row(self.bias.path)
        return self._apart(arrays, made, tuple(x.shape))

    def pull(self, g: Array, pulled: Pulled) -> None:
        """By x the pull of the kind; by gain and bias sums over the rows."""
        arrays, x = pulled.arrays, pulled.input()
        xp, shape = arrays.xp, tuple(x.shape)
        x, g = self._joined(arrays, x), self._joined(arrays, g)
        g = g if self.factor == 1.0 else self.factor * g
        if self.bias is not None:
            pulled.add_parameter(self.bias.path, over_rows(xp, g))
        by_plain = g if self.gain is None else g * pulled.row(self.gain.path)
        by_x, plain = self.kind.pull(xp, x, by_plain, self.eps)
        if self.gain is not None:
            plain *= g
            pulled.add_parameter(self.gain.path, over_rows(xp, plain))
        pulled.add(self._apart(arrays, by_x, shape))

    # --- cells -------------------------------------------------------------------------------------

    def made_of(self, place: int, cell: At) -> Cells:
        return (cell.row,), None

    def read_by(self, place: int, cell: At) -> Cells:
        return (cell.row,), None

    def flops(self, shape: tuple[int, ...], *inputs: tuple[int, ...]) -> int:
        others = (self.gain is not None) + (self.bias is not None) + (self.factor_name != "")
        return math.prod(shape) * (self.kind.flops + others)

    def derivatives(self, use: Use, reads: Reads) -> Floats:
        """gain_j (δ_ij − [1 ÷ d] − n_i n_j [÷ d]) ÷ σ."""
        cell, heads = use.cell, use.heads if self.together else (use.cell.head,)
        x = np.concatenate([reads.row(0, head, cell.row) for head in heads])
        width = len(x) // len(heads)
        by_all = self.kind.derivatives(x, self.eps, heads.index(cell.head) * width + cell.column)
        found = self.factor * (by_all if self.gain is None else by_all * self.gain.numbers())
        return found.reshape(len(heads), width)[:, list(use.columns)].reshape(use.shape)

    def lines(self, numbers: Numbers) -> tuple[Line, ...]:
        """gain · (x − mean) ÷ √(variance + ε) + bias; then mean and variance, which the whole row makes."""
        read = _Row.of(numbers, self._heads_of(numbers.cell.head), self.kind)
        at = numbers.cell.column + read.heads.index(numbers.cell.head) * read.width
        own, mean = read.term(at), read.mean
        gain, bias = (None if one is None else float(one.numbers()[at]) for one in (self.gain, self.bias))
        letters: Pieces = (Text(self._letters(read)),)
        pieces: Pieces = (*_centred(own, mean), Text(" ÷ ("), constant(read.spread, read.spread_name))
        pieces += (Text(" + "), constant(self.eps, "ε"), Text(")^0.5"))
        result = (read.row[at] - (mean or 0.0)) / np.sqrt(read.spread + self.eps)
        if gain is not None:
            pieces = (constant(gain, _("gain")), Text(" × "), *_one_factor(pieces, mean))
            result = gain * result
        if self.factor_name:
            factor = constant(self.factor, self.factor_name)
            pieces = (*guarded(factor), Text(" × "), *_one_factor(pieces, mean))
            result = factor.value * result
        if bias is not None:
            pieces += (Text(" + "), *guarded(constant(bias, _("bias"))))
            result = result + bias
        return numbers.line((letters, pieces), float(result)), *read.lines()

    def _letters(self, read: _Row) -> str:
        top = f"({read.symbol} − {_('mean')})" if self.kind.centred else read.symbol
        gain = f"{_('gain')} · " if self.gain is not None else ""
        bias = f" + {_('bias')}" if self.bias is not None else ""
        factor = f"({self.factor_name}) · " if self.factor_name else ""
        return f"{factor}{gain}{top} ÷ √({read.spread_name} + ε){bias}"

    def code(self, writer: Writer) -> tuple[str, ...]:
        (read,), stage = writer.reads, writer.stage
        if self.together == "pair":
            middle, width = self.n_heads // 2, writer.shape[-1]
            joined = writer.join((f"{read}[:{middle}]", f"{read}[{middle}:]"))
            return (
                f"pairs = {self.factor!r} * {self.kind.define(writer)}({joined}, {self.eps!r})",
                f"{stage} = {writer.heads_of((f'pairs[..., :{width}]', f'pairs[..., {width}:]'))}",
            )
        x = writer.side_by_side(read) if self.together else read
        made = f"{self.kind.define(writer)}({x}, {self.eps!r})"
        if self.gain is not None:
            made = f"{made} * {writer.given(self.gain.path, f'gain_{self.name}')}"
        if self.bias is not None:
            made = f"{made} + {writer.given(self.bias.path, f'bias_{self.name}')}"
        made = writer.split_heads(f"({made})", writer.shape[-1]) if self.together else made
        return (f"{stage} = {made}",)


class _Row(NamedTuple):
    """The numbers that a norm reads: rows of some heads, `width` numbers each, one after the other."""

    numbers: Numbers
    heads: tuple[int, ...]
    width: int
    row: Floats
    kind: NormKind
    mean: float | None
    spread: float
    """The term under the root besides ε: the variance, the mean square, or the sum of squares."""

    @staticmethod
    def of(numbers: Numbers, heads: tuple[int, ...], kind: NormKind) -> _Row:
        rows = [numbers.row_of(0, head, numbers.cell.row) for head in heads]
        row = np.concatenate(rows)
        mean = float(row.mean()) if kind.centred else None
        total = float(np.sum((row - (mean or 0.0)) ** 2))
        return _Row(
            numbers, heads, len(rows[0]), row, kind, mean, total / len(row) if kind.divided else total
        )

    @property
    def symbol(self) -> str:
        return self.numbers.symbol()

    @property
    def spread_name(self) -> str:
        return _(self.kind.spread)

    def term(self, index: int) -> Term:
        """One of the numbers."""
        head, column = divmod(index, self.width)
        return self.numbers.number_of(0, self.heads[head], self.numbers.cell.row, column, self.row[index])

    def lines(self) -> tuple[Line, ...]:
        """Σ x ÷ d, if a mean is subtracted; then Σ (x − mean)² ÷ d, term by term."""
        return (
            (self._spread_line(),) if self.mean is None else (self._mean_line(self.mean), self._spread_line())
        )

    def _mean_line(self, mean: float) -> Line:
        series = Series(len(self.row), lambda index: guarded(self.term(index)))
        pieces = (Text("("), series, Text(f") ÷ {len(self.row)}"))
        return Line(words(_("mean")), (words(f"Σ {self.symbol} ÷ d"), pieces), mean, mean)

    def _spread_line(self) -> Line:
        mean = None if self.mean is None else constant(self.mean, _("mean"))

        def item(index: int) -> Pieces:
            away: Pieces = () if mean is None else (Text(" − "), *guarded(mean))
            return (Text("("), self.term(index), *away, Text(")^2"))

        letters = f"Σ {self.symbol}²" if mean is None else f"Σ ({self.symbol} − {mean.name})²"
        series: Pieces = (Series(len(self.row), item),)
        if self.kind.divided:
            letters += " ÷ d"
            series = (Text("("), *series, Text(f") ÷ {len(self.row)}"))
        return Line(words(self.spread_name), (words(letters), series), self.spread, self.spread)


def _centred(x: Term, mean: float | None) -> Pieces:
    """(x − mean), or x without a mean."""
    if mean is None:
        return (x,)
    return (Text("("), x, Text(" − "), *guarded(constant(mean, _("mean"))), Text(")"))


def _one_factor(pieces: Pieces, mean: float | None) -> Pieces:
    """`pieces` so that they can follow a times sign: a negative number that begins them in brackets."""
    first = pieces[0]
    if mean is None and isinstance(first, Term):
        return (*guarded(first), *pieces[1:])
    return pieces
