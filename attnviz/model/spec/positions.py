"""The position encodings of an experiment, RoPE's scalings, and where their tables come from.

Each is a frozen struct that cannot hold an illegal value. What each of them changes is a row of
`model/positions.py`; the formulas are in `core/positions.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from attnviz.errors import (
    NOT_NEGATIVE,
    POSITIVE,
    POSITIVE_OR_NULL,
    FieldError,
    FieldName,
    Message,
    must_be,
    of_length,
    size,
    whole_number,
)
from attnviz.model.operands.draws import Drawn
from attnviz.model.spec.arrays import MAX_DRAWN, Matrix
from attnviz.model.spec.bounds import Index, Positive, Seed
from attnviz.model.spec.source import Source, Written
from attnviz.model.spec.value import Value, check_drawn, require, require_finite

Pairing = Literal["interleaved", "half_split"]


# --- tables of learned numbers ---------------------------------------------------------------------


class DrawnTable(Source, frozen=True, tag_field="kind", tag="seeded"):
    """Normal numbers of standard deviation `std`: `default_rng(seed).standard_normal(shape) * std`.

    A longer table of the same seed begins with the same rows.
    """

    where: ClassVar[str] = "position.table."
    is_drawn: ClassVar[bool] = True

    seed: Seed = 0
    std: float = 1.0

    def check(self) -> None:
        require(math.isfinite(self.std) and self.std >= 0, "position.table.std", self.std, NOT_NEGATIVE)

    def numbers(self, shape: tuple[int, int]) -> NDArray[np.float64]:
        return _normal(shape, self.seed, self.std)


@Drawn
def _normal(shape: tuple[int, int], seed: int, std: float) -> NDArray[np.float64]:
    return np.random.default_rng(seed).standard_normal(shape) * std


class WrittenTable(Written, frozen=True, tag_field="kind", tag="explicit"):
    """A table written out, as a trained model has it."""

    where: ClassVar[str] = "position.table."


Table = DrawnTable | WrittenTable


# --- RoPE's scalings -------------------------------------------------------------------------------


def _check_factor(factor: float) -> None:
    at_least = must_be("a finite number of at least {least}", least=1)
    require(math.isfinite(factor) and factor >= 1, "position.scaling.factor", factor, at_least)


class Stretch(Value, frozen=True):
    """What every scaling answers; most fit any base and any number of pairs."""

    def check_base(self, base: float) -> None:
        """Refuse a base that the scaling cannot have."""

    def check_pairs(self, count: int) -> None:
        """Refuse a scaling with numbers for more than `count` pairs."""

    def cut_to(self, count: int) -> Stretch:
        """The scaling of a rotation of `count` pairs."""
        return self


class NoScaling(Stretch, frozen=True, tag_field="kind", tag="none"):
    """Frequencies as the base gives them."""


class LinearScaling(Stretch, frozen=True, tag_field="kind", tag="linear"):
    """Position interpolation: every frequency divided by `factor`."""

    where: ClassVar[str] = "position.scaling."

    factor: float = 2.0

    def check(self) -> None:
        _check_factor(self.factor)


class DynamicNtk(Stretch, frozen=True, tag_field="kind", tag="dynamic_ntk"):
    """A base that grows once the sequence is longer than `original_length`.

    `length` is the sequence length that the frequencies are made for; None: the last position of this
    experiment, plus one. All tokens are turned with the same frequencies. A cache holds keys that are turned
    already, so decoding past the document's tokens fixes `length` at where it will end, and equals the full
    pass; a program that recomputes frequencies while its cache grows leaves old keys with the old ones.
    """

    where: ClassVar[str] = "position.scaling."

    factor: float = 2.0
    original_length: Positive = 2048
    length: Positive | None = None

    def check(self) -> None:
        _check_factor(self.factor)


class Yarn(Stretch, frozen=True, tag_field="kind", tag="yarn"):
    """Fast pairs as they were, slow ones divided by `factor`, a ramp between; cosines and sines lengthened.

    Pairs that turn more than `beta_fast` times over `original_length` are fast, less than `beta_slow` slow.
    Cosines and sines are multiplied by `attention_factor`, so q and k grow by it and scores by its square;
    None: 0.1 ln(factor) + 1. The ramp's ends are rounded outwards to whole pairs, unless `truncate` is false,
    as GPT-OSS has it.
    """

    where: ClassVar[str] = "position.scaling."

    factor: float = 4.0
    original_length: Positive = 2048
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    attention_factor: float | None = None
    truncate: bool = True

    def check(self) -> None:
        _check_factor(self.factor)
        slow, fast = self.beta_slow, self.beta_fast
        between = must_be("a number of at least {least} and below {most}", least="1e-6", most="1e6")
        require(1e-6 <= slow < 1e6, f"{self.where}beta_slow", slow, between)
        above = must_be(
            "a number above {least} and of at most {most}", least=f"beta_slow ({slow:g})", most="1e6"
        )
        require(slow < fast <= 1e6, f"{self.where}beta_fast", fast, above)
        factor = self.attention_factor
        is_positive = factor is None or (math.isfinite(factor) and factor > 0)
        require(is_positive, f"{self.where}attention_factor", factor, POSITIVE_OR_NULL)

    def check_base(self, base: float) -> None:
        require(base > 1, "position.base", base, must_be("a number above 1 with YaRN"))


class Llama3Scaling(Stretch, frozen=True, tag_field="kind", tag="llama3"):
    """Llama 3.1: pairs of few turns over `original_length` divided by `factor`, those of many as they were.

    Few is less than `low_freq_factor` turns, many is more than `high_freq_factor`; between, a mixture.
    """

    where: ClassVar[str] = "position.scaling."

    factor: float = 8.0
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    original_length: Positive = 8192

    def check(self) -> None:
        _check_factor(self.factor)
        low, high = self.low_freq_factor, self.high_freq_factor
        require(math.isfinite(low) and low > 0, f"{self.where}low_freq_factor", low, POSITIVE)
        above = must_be("a finite number above {least}", least=f"low_freq_factor ({low:g})")
        require(math.isfinite(high) and high > low, f"{self.where}high_freq_factor", high, above)


class LongRope(Stretch, frozen=True, tag_field="kind", tag="longrope"):
    """A divisor for each pair: of `long_factor` past the original length, of `short_factor` up to it.

    Missing divisors are 1. Cosines and sines are multiplied by `attention_factor`; None:
    sqrt(1 + ln(factor) / ln(original_length)), where `factor` is the ratio of the extended to the original
    length. `length` is the sequence length that chooses the list; see `DynamicNtk`. Ding et al. 2024 (arXiv
    2402.13753), as Phi-3 has it (`su`).
    """

    where: ClassVar[str] = "position.scaling."

    factor: float = 4.0
    short_factor: tuple[float, ...] = ()
    long_factor: tuple[float, ...] = ()
    original_length: Positive = 2048
    attention_factor: float | None = None
    length: Positive | None = None

    def check(self) -> None:
        _check_factor(self.factor)
        for name in ("short_factor", "long_factor"):
            for index, divisor in enumerate(getattr(self, name)):
                is_positive = math.isfinite(divisor) and divisor > 0
                require(is_positive, f"{self.where}{name}[{index}]", divisor, POSITIVE)
        length = self.original_length
        require(length >= 2, f"{self.where}original_length", length, whole_number(2))
        if self.attention_factor is not None:
            is_positive = math.isfinite(self.attention_factor) and self.attention_factor > 0
            require(is_positive, f"{self.where}attention_factor", self.attention_factor, POSITIVE_OR_NULL)

    def check_pairs(self, count: int) -> None:
        at_most = Message("must have length {n} or less, one number for each rotated pair", n=count)
        for name in ("short_factor", "long_factor"):
            found = len(getattr(self, name))
            require(found <= count, f"{self.where}{name}", of_length(found), at_most)

    def cut_to(self, count: int) -> LongRope:
        short, long = self.short_factor[:count], self.long_factor[:count]
        return replace(self, short_factor=short, long_factor=long)


Scaling = NoScaling | LinearScaling | DynamicNtk | Yarn | Llama3Scaling | LongRope


# --- positions -------------------------------------------------------------------------------------


def _check_base(base: float) -> None:
    require(math.isfinite(base) and base > 0, "position.base", base, POSITIVE)


@dataclass(frozen=True)
class Sizes:
    """What a position encoding must fit: `n_tokens` queries, d_model, the heads, and a latent's d_rope.

    `d_rope` is None without a latent.
    """

    n_tokens: int
    d_model: int
    n_heads: int
    d_head: int
    d_rope: int | None = None

    @property
    def turnable(self) -> tuple[str, int]:
        """The field of the features of a head that RoPE may turn, and how many they are."""
        return ("heads.d_head", self.d_head) if self.d_rope is None else ("latent.d_rope", self.d_rope)


class Encoding(Value, frozen=True):
    """What every position encoding answers; most have no tables and no end, and leave v as it is."""

    @property
    def rotates_values(self) -> bool:
        """Whether v is rotated as well as q and k."""
        return False

    @property
    def end(self) -> float:
        """How many tokens there are positions for; infinitely many where no table ends."""
        return math.inf

    def table_shapes(self, d_model: int, n_heads: int, d_head: int) -> dict[str, tuple[int, int]]:
        """(rows, columns) of each table of learned numbers, by its field."""
        return {}

    def shapes_at(self, sizes: Sizes) -> dict[str, tuple[int, int]]:
        """(rows, columns) of each table at these sizes, by its field."""
        return self.table_shapes(sizes.d_model, sizes.n_heads, sizes.d_head)

    def written_tables(self) -> Iterator[tuple[str, Matrix]]:
        """The tables that are written out, by their fields."""
        for name in self.table_shapes(1, 1, 1):
            values = getattr(self, name).written
            if values is not None:
                yield name, values

    def check_end(self, count: int) -> None:
        """Refuse `count` tokens if the last one has no position."""

    def check_at(self, sizes: Sizes) -> None:
        """Refuse sizes that this encoding cannot have."""
        for name, shape in self.shapes_at(sizes).items():
            fitting = must_be("{shape} for these vectors and heads", shape=size(shape))
            getattr(self, name).check_shape(f"position.{name}", shape, fitting)
            check_drawn(f"position.{name}", shape)

    def check_beside_latent(self, d_rope: int) -> None:
        """Refuse a latent of `d_rope` rotated features beside which this cannot stand."""

    def fitted(self, sizes: Sizes) -> Self:
        """This encoding at other sizes: what is too long is cut, what is missing in a table is zero."""
        tables = {name: getattr(self, name).fitted(shape) for name, shape in self.shapes_at(sizes).items()}
        return replace(self, **tables)

    def chosen(self, sizes: Sizes) -> Self:
        """As `fitted`, and without what cannot stand in a site that chooses this encoding."""
        return self.fitted(sizes)


def _check_count(field: str, rows: int, columns: int) -> None:
    """Refuse a number of rows with which a table is too large."""
    at_most = must_be("at most {most:,} with {n} columns", most=MAX_DRAWN // columns, n=columns)
    require(rows * columns <= MAX_DRAWN, field, rows, at_most)


class NoPosition(Encoding, frozen=True, tag_field="kind", tag="none"):
    """No position information."""


class Sinusoidal(Encoding, frozen=True, tag_field="kind", tag="sinusoidal"):
    """Sines and cosines added to the token vectors."""

    where: ClassVar[str] = "position."

    base: float = 10_000.0
    start: Index = 0

    def check(self) -> None:
        _check_base(self.base)


class Learned(Encoding, frozen=True, tag_field="kind", tag="learned"):
    """One row of a table, (length, d_model), added to each token vector; position `length` has no row.

    An experiment whose last token stands past the table's end cannot be constructed. The standard deviation
    of a drawn table is 1, that of the seeded token vectors: GPT-2 too draws both alike, each with 0.02.
    """

    where: ClassVar[str] = "position."

    length: Positive = 64
    start: Index = 0
    table: Table = DrawnTable()

    def check(self) -> None:
        if self.table.written is not None:
            rows = self.table.written.shape[0]
            as_many = must_be("the number of rows of {field} ({n})", field="position.table.values", n=rows)
            require(rows == self.length, "position.length", self.length, as_many)

    def table_shapes(self, d_model: int, n_heads: int, d_head: int) -> dict[str, tuple[int, int]]:
        """A row for each position."""
        return {"table": (self.length, d_model)}

    @property
    def end(self) -> float:
        return self.length - self.start

    def check_end(self, count: int) -> None:
        """Refuse `count` tokens where the table has no row for the last of them."""
        last = self.start + count - 1
        at_least = must_be("at least {least} for a last token at position {last}", least=last + 1, last=last)
        require(last < self.length, "position.length", self.length, at_least)

    def check_at(self, sizes: Sizes) -> None:
        """Refuse tokens past the end of the table, and a table of other columns than d_model."""
        self.check_end(sizes.n_tokens)
        _check_count("position.length", self.length, sizes.d_model)
        super().check_at(sizes)

    def resized(self, length: int) -> Learned:
        """`length` positions: rows of a table that is written out are cut, missing ones are zero."""
        values = self.table.written
        columns = 1 if values is None else values.shape[1]
        return replace(self, length=length, table=self.table.fitted((length, columns)))

    def chosen(self, sizes: Sizes) -> Learned:
        """A table that ends before the last token is made as long as the tokens need."""
        return self.resized(max(self.length, self.start + sizes.n_tokens)).fitted(sizes)


class Rope(Encoding, frozen=True, tag_field="kind", tag="rope"):
    """Rotary positions: pair i turns by position * multiplier_i * base^(-2i/n_rotated).

    `n_rotated` features of each head turn (None: all of them); `scaling` changes the frequencies for
    sequences longer than a model was trained on; `multipliers` scale the pairs' frequencies after that
    (missing ones are 1); `on_values` turns v as well.
    """

    where: ClassVar[str] = "position."

    base: float = 10_000.0
    pairing: Pairing = "interleaved"
    start: Index = 0
    n_rotated: Positive | None = None
    multipliers: tuple[float, ...] = ()
    on_values: bool = False
    scaling: Scaling = NoScaling()

    def check(self) -> None:
        _check_base(self.base)
        self.scaling.check_base(self.base)
        if self.n_rotated is not None:
            require(self.n_rotated % 2 == 0, "position.n_rotated", self.n_rotated, must_be("an even number"))
        for index, multiplier in enumerate(self.multipliers):
            require_finite(f"position.multipliers[{index}]", multiplier)

    def check_at(self, sizes: Sizes) -> None:
        """Refuse more rotated features, or numbers for more pairs, than a head has."""
        field, most = sizes.turnable
        if self.n_rotated is None and sizes.d_rope is None:
            even = must_be("an even number, unless position.n_rotated is set")
            require(most % 2 == 0, field, most, even)
        rotated = most if self.n_rotated is None else self.n_rotated
        even = must_be("an even number of at most {most} ({field})", most=most, field=FieldName(field))
        require(rotated <= most and rotated % 2 == 0, "position.n_rotated", rotated, even)
        pairs, count = rotated // 2, len(self.multipliers)
        at_most = Message("must have length {n} or less, one number for each rotated pair", n=pairs)
        require(count <= pairs, "position.multipliers", of_length(count), at_most)
        self.scaling.check_pairs(pairs)

    @property
    def rotates_values(self) -> bool:
        return self.on_values

    def check_beside_latent(self, d_rope: int) -> None:
        """A latent needs features to rotate, and has none in its values."""
        rotated = must_be("at least 2 with rotary positions, which rotate these features")
        require(d_rope >= 2, "latent.d_rope", d_rope, rotated)
        no_values = must_be("false with a latent, whose values have no rotated features")
        require(not self.on_values, "position.on_values", self.on_values, no_values)

    def fitted(self, sizes: Sizes) -> Rope:
        """No more features rotated than a head has; numbers of surplus pairs are cut."""
        field, most = sizes.turnable
        require(most >= 2, field, most, must_be("at least 2 with rotary positions"))
        even, n_rotated = most - most % 2, self.n_rotated
        if n_rotated is None or n_rotated > even:
            n_rotated = None if even == most else even
        pairs = (n_rotated or even) // 2
        multipliers, scaling = self.multipliers[:pairs], self.scaling.cut_to(pairs)
        return replace(self, n_rotated=n_rotated, multipliers=multipliers, scaling=scaling)

    def chosen(self, sizes: Sizes) -> Rope:
        """Beside a latent, values are not rotated."""
        return replace(self, on_values=self.on_values and sizes.d_rope is None).fitted(sizes)


class Alibi(Encoding, frozen=True, tag_field="kind", tag="alibi"):
    """Linear bias -slope * |i - j|; no `slopes` means the published ones, 2^(-8h/n_heads)."""

    where: ClassVar[str] = "position."

    slopes: tuple[float, ...] | None = None

    def check(self) -> None:
        for index, slope in enumerate(self.slopes or ()):
            require_finite(f"position.slopes[{index}]", slope)

    def check_at(self, sizes: Sizes) -> None:
        """Refuse slopes of another number of heads."""
        n_heads, count = sizes.n_heads, len(self.slopes or ())
        each = Message("must have length {n}, one number for each head", n=n_heads)
        require(self.slopes is None or count == n_heads, "position.slopes", of_length(count), each)

    def fitted(self, sizes: Sizes) -> Alibi:
        """Slopes of another number of heads are given up for the published ones."""
        fits = not self.slopes or len(self.slopes) == sizes.n_heads
        return self if fits else replace(self, slopes=None)


class T5Buckets(Encoding, frozen=True, tag_field="kind", tag="t5"):
    """A learned bias for each bucket of distances and each head; `table` is (n_buckets, n_heads).

    With `bidirectional`, as in T5's encoder, half of the buckets are for later keys; without, as in its
    decoder, all later keys count as distance 0. Half of a direction's buckets hold one distance each, the
    rest wider ranges up to `max_distance`.
    """

    where: ClassVar[str] = "position."

    n_buckets: Positive = 32
    max_distance: Positive = 128
    bidirectional: bool = True
    table: Table = DrawnTable()

    def check(self) -> None:
        least = 4 if self.bidirectional else 2
        even = must_be("an even number of at least {least}", least=least)
        if self.bidirectional:
            even = must_be("an even number of at least {least} in both directions", least=least)
        is_even = self.n_buckets >= least and self.n_buckets % 2 == 0
        require(is_even, "position.n_buckets", self.n_buckets, even)
        above = must_be("above {n}, the number of distances with their own bucket", n=self.n_exact)
        require(self.max_distance > self.n_exact, "position.max_distance", self.max_distance, above)
        if self.table.written is not None:
            rows = self.table.written.shape[0]
            one_each = Message("must have {n} rows, one for each bucket", n=self.n_buckets)
            require(rows == self.n_buckets, "position.table.values", Message("{n} rows", n=rows), one_each)

    def table_shapes(self, d_model: int, n_heads: int, d_head: int) -> dict[str, tuple[int, int]]:
        """A row for each bucket."""
        return {"table": (self.n_buckets, n_heads)}

    def check_at(self, sizes: Sizes) -> None:
        """Refuse a table of other columns than heads, or of too many rows."""
        _check_count("position.n_buckets", self.n_buckets, sizes.n_heads)
        super().check_at(sizes)

    def moved(self, **changes: Any) -> T5Buckets:
        """With other buckets, distance or directions; the others go where they are legal."""
        bidirectional = changes.get("bidirectional", self.bidirectional)
        n_buckets = changes.get("n_buckets", self.n_buckets)
        n_buckets = max(n_buckets - n_buckets % 2, 4 if bidirectional else 2)
        n_exact = n_buckets // (4 if bidirectional else 2)
        max_distance = max(changes.get("max_distance", self.max_distance), n_exact + 1)
        columns = 1 if self.table.written is None else self.table.written.shape[1]
        return T5Buckets(n_buckets, max_distance, bidirectional, self.table.fitted((n_buckets, columns)))

    @property
    def n_exact(self) -> int:
        """Distances from 0 on that have a bucket of their own."""
        return self.n_buckets // (4 if self.bidirectional else 2)


class Relative(Encoding, frozen=True):
    """Positions that are multiplied with q and k, feature by feature."""

    def check_beside_latent(self, d_rope: int) -> None:
        """With a latent, a part of these features is no content."""
        apart = must_be("a position encoding that is not multiplied with q and k, beside a latent")
        raise FieldError("position.kind", str(self.__struct_config__.tag), apart)


class TransformerXl(Relative, frozen=True, tag_field="kind", tag="transformer_xl"):
    """Scores plus q · r + u · k + v · r with r = (sinusoids of the distance i - j) W_R.

    `weights` is W_R, (d_model, n_heads · d_head), heads side by side; `u` and `v` are (n_heads, d_head).
    """

    where: ClassVar[str] = "position."

    base: float = 10_000.0
    weights: Table = DrawnTable(0, 0.3)
    u: Table = DrawnTable(1, 0.5)
    v: Table = DrawnTable(2, 0.5)

    def check(self) -> None:
        _check_base(self.base)

    def table_shapes(self, d_model: int, n_heads: int, d_head: int) -> dict[str, tuple[int, int]]:
        """(rows, columns) of each table."""
        return {"weights": (d_model, n_heads * d_head), "u": (n_heads, d_head), "v": (n_heads, d_head)}


class Deberta(Relative, frozen=True, tag_field="kind", tag="deberta"):
    """Scores plus q · (key of the distance's bucket) + k · (query of it), `span` buckets on each side.

    `keys` and `queries` are (2 · span, n_heads · d_head): the relative embeddings after their projections.
    DeBERTa divides the sum of the three terms by sqrt(3 · d_head): set `scale` to that.
    """

    where: ClassVar[str] = "position."

    span: Positive = 8
    max_distance: Positive = 64
    keys: Table = DrawnTable(0, 0.5)
    queries: Table = DrawnTable(1, 0.5)

    def check(self) -> None:
        even = must_be("an even number of at least {least}", least=2)
        require(self.span >= 2 and self.span % 2 == 0, "position.span", self.span, even)
        least = self.span // 2 + 1
        above = must_be("above {n} with {span} buckets on each side", n=least, span=self.span)
        require(self.max_distance > least, "position.max_distance", self.max_distance, above)

    def table_shapes(self, d_model: int, n_heads: int, d_head: int) -> dict[str, tuple[int, int]]:
        """(rows, columns) of each table."""
        return dict.fromkeys(("keys", "queries"), (2 * self.span, n_heads * d_head))


Position = NoPosition | Sinusoidal | Learned | Rope | Alibi | T5Buckets | TransformerXl | Deberta
