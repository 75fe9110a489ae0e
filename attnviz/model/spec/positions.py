"""The position encodings of an experiment, RoPE's scalings, and where their tables come from.

Each is a frozen struct that cannot hold an illegal value. What each of them changes is a row of
`model/positions.py`; the formulas are in `core/positions.py`.
"""

from __future__ import annotations

import math
from typing import ClassVar, Literal

from msgspec.structs import replace

from attnviz.model.errors.faults import FieldError, Said
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
        legal = "a finite number of 0 or more"
        require(math.isfinite(self.std) and self.std >= 0, "position.table.std", self.std, legal)


class WrittenTable(Value, frozen=True, tag_field="kind", tag="explicit"):
    """A table written out, as a trained model has it."""

    where: ClassVar[str] = "position.table."

    values: Matrix


Table = DrawnTable | WrittenTable


# --- RoPE's scalings -------------------------------------------------------------------------------


def _check_factor(factor: float) -> None:
    legal = "a finite number of at least 1"
    require(math.isfinite(factor) and factor >= 1, "position.scaling.factor", factor, legal)


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
        require(1e-6 <= slow < 1e6, f"{self.where}beta_slow", slow, "a number from 1e-6 to less than 1e6")
        legal = f"a number above beta_slow ({slow:g}), up to 1e6"
        require(slow < fast <= 1e6, f"{self.where}beta_fast", fast, legal)
        if self.attention_factor is not None:
            legal = "a finite number above 0, or null"
            is_legal = math.isfinite(self.attention_factor) and self.attention_factor > 0
            require(is_legal, f"{self.where}attention_factor", self.attention_factor, legal)

    def check_base(self, base: float) -> None:
        require(base > 1, "position.base", base, "a number above 1 with YaRN")


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
        legal = "a number above 0"
        require(math.isfinite(low) and low > 0, f"{self.where}low_freq_factor", low, legal)
        legal = f"a finite number above low_freq_factor ({low:g})"
        require(math.isfinite(high) and high > low, f"{self.where}high_freq_factor", high, legal)


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
        legal = "a finite number above 0"
        for name in ("short_factor", "long_factor"):
            for index, divisor in enumerate(getattr(self, name)):
                is_legal = math.isfinite(divisor) and divisor > 0
                require(is_legal, f"{self.where}{name}[{index}]", divisor, legal)
        length = self.original_length
        require(length >= 2, f"{self.where}original_length", length, "a whole number of at least 2")
        if self.attention_factor is not None:
            is_legal = math.isfinite(self.attention_factor) and self.attention_factor > 0
            legal = "a finite number above 0, or null"
            require(is_legal, f"{self.where}attention_factor", self.attention_factor, legal)

    def check_pairs(self, count: int) -> None:
        legal = f"length {count} at most, one number for each rotated pair"
        for name in ("short_factor", "long_factor"):
            found = len(getattr(self, name))
            require(found <= count, f"{self.where}{name}", Said(f"of length {found}"), legal)

    def cut_to(self, count: int) -> LongRope:
        short, long = self.short_factor[:count], self.long_factor[:count]
        return replace(self, short_factor=short, long_factor=long)


Scaling = NoScaling | LinearScaling | DynamicNtk | Yarn | Llama3Scaling | LongRope


# --- positions -------------------------------------------------------------------------------------


def _check_base(base: float) -> None:
    require(math.isfinite(base) and base > 0, "position.base", base, "a number above 0")


class Encoding(Value, frozen=True):
    """What every position encoding answers; most have no tables and no end."""

    def check_end(self, count: int) -> None:
        """Refuse `count` tokens where there is no position for the last of them."""

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
            legal = f"the number of rows of position.table.values ({rows})"
            require(rows == self.length, "position.length", self.length, legal)

    def table_shapes(self, d_model: int, n_heads: int, d_head: int) -> dict[str, tuple[int, int]]:
        """A row for each position."""
        return {"table": (self.length, d_model)}

    def check_end(self, count: int) -> None:
        """Refuse `count` tokens where the table has no row for the last of them."""
        last = self.start + count - 1
        if last >= self.length:
            legal = f"{last + 1} at least: the last token stands at position {last}, past the table's end"
            raise FieldError("position.length", self.length, legal)


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
            require(self.n_rotated % 2 == 0, "position.n_rotated", self.n_rotated, "an even number")
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
        legal = f"an even number of at least {least}"
        if self.bidirectional:
            legal += " in both directions"
        is_legal = self.n_buckets >= least and self.n_buckets % 2 == 0
        require(is_legal, "position.n_buckets", self.n_buckets, legal)
        legal = f"more than {self.n_exact}, the distances with a bucket of their own"
        require(self.max_distance > self.n_exact, "position.max_distance", self.max_distance, legal)
        if isinstance(self.table, WrittenTable):
            rows = self.table.values.shape[0]
            legal = f"{self.n_buckets} rows, one for each bucket"
            require(rows == self.n_buckets, "position.table.values", Said(f"{rows} rows"), legal)

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
        legal = "an even number of at least 2"
        require(self.span >= 2 and self.span % 2 == 0, "position.span", self.span, legal)
        legal = f"more than {self.span // 2 + 1} with {self.span} buckets on each side"
        is_legal = self.max_distance > self.span // 2 + 1
        require(is_legal, "position.max_distance", self.max_distance, legal)

    def table_shapes(self, d_model: int, n_heads: int, d_head: int) -> dict[str, tuple[int, int]]:
        """(rows, columns) of each table."""
        return dict.fromkeys(("keys", "queries"), (2 * self.span, n_heads * d_head))


Position = NoPosition | Sinusoidal | Learned | Rope | Alibi | T5Buckets | TransformerXl | Deberta
