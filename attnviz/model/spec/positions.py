"""The position encodings of an experiment, RoPE's scalings, and where their tables come from.

Each is a frozen struct that cannot hold an illegal value. What each of them changes is a row of
`model/positions.py`; the formulas are in `core/positions.py`.
"""

from __future__ import annotations

import math
from typing import ClassVar, Literal

from msgspec.structs import replace

from attnviz.errors import (
    NOT_NEGATIVE,
    POSITIVE,
    POSITIVE_OR_NULL,
    FieldError,
    Message,
    must_be,
    of_length,
    whole_number,
)
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.bounds import Index, Positive, Seed
from attnviz.model.spec.value import Value, require, require_finite

Pairing = Literal["interleaved", "half_split"]


# --- tables of learned numbers ---------------------------------------------------------------------


class DrawnTable(Value, frozen=True, tag_field="kind", tag="seeded"):
    """Normal numbers of standard deviation `std`: `default_rng(seed).standard_normal(shape) * std`.

    A longer table of the same seed begins with the same rows.
    """

    where: ClassVar[str] = "position.table."

    seed: Seed = 0
    std: float = 1.0

    def check(self) -> None:
        require(math.isfinite(self.std) and self.std >= 0, "position.table.std", self.std, NOT_NEGATIVE)


class WrittenTable(Value, frozen=True, tag_field="kind", tag="explicit"):
    """A table written out, as a trained model has it."""

    where: ClassVar[str] = "position.table."

    values: Matrix


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


class Encoding(Value, frozen=True):
    """What every position encoding answers; most have no tables and no end."""

    def check_end(self, count: int) -> None:
        """Refuse `count` tokens if the last one has no position."""

    def table_shapes(self, d_model: int, n_heads: int, d_head: int) -> dict[str, tuple[int, int]]:
        """(rows, columns) of each table of learned numbers, by its field."""
        return {}


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
        if isinstance(self.table, WrittenTable):
            rows = self.table.values.shape[0]
            as_many = must_be("the number of rows of {field} ({n})", field="position.table.values", n=rows)
            require(rows == self.length, "position.length", self.length, as_many)

    def table_shapes(self, d_model: int, n_heads: int, d_head: int) -> dict[str, tuple[int, int]]:
        """A row for each position."""
        return {"table": (self.length, d_model)}

    def check_end(self, count: int) -> None:
        """Refuse `count` tokens where the table has no row for the last of them."""
        last = self.start + count - 1
        if last >= self.length:
            at_least = must_be(
                "at least {least} for a last token at position {last}", least=last + 1, last=last
            )
            raise FieldError("position.length", self.length, at_least)


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


class Alibi(Encoding, frozen=True, tag_field="kind", tag="alibi"):
    """Linear bias -slope * |i - j|; no `slopes` means the published ones, 2^(-8h/n_heads)."""

    where: ClassVar[str] = "position."

    slopes: tuple[float, ...] | None = None

    def check(self) -> None:
        for index, slope in enumerate(self.slopes or ()):
            require_finite(f"position.slopes[{index}]", slope)


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
        if isinstance(self.table, WrittenTable):
            rows = self.table.values.shape[0]
            one_each = Message("must have {n} rows, one for each bucket", n=self.n_buckets)
            require(rows == self.n_buckets, "position.table.values", Message("{n} rows", n=rows), one_each)

    def table_shapes(self, d_model: int, n_heads: int, d_head: int) -> dict[str, tuple[int, int]]:
        """A row for each bucket."""
        return {"table": (self.n_buckets, n_heads)}

    @property
    def n_exact(self) -> int:
        """Distances from 0 on that have a bucket of their own."""
        return self.n_buckets // (4 if self.bidirectional else 2)


class TransformerXl(Encoding, frozen=True, tag_field="kind", tag="transformer_xl"):
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


class Deberta(Encoding, frozen=True, tag_field="kind", tag="deberta"):
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
