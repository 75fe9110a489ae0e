"""The position encodings of an experiment.

Each is a frozen struct that cannot hold an invalid value. The changed stages of each are a row of
`model/positions.py`; the formulas are in `core/positions.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

from msgspec.structs import replace

from attnviz.errors import FieldError, FieldName, Message, must_be, of_length, size
from attnviz.i18n import N_
from attnviz.model.spec.arrays import MAX_DRAWN
from attnviz.model.spec.bounds import Index, Positive
from attnviz.model.spec.field import Field
from attnviz.model.spec.scalings import NoScaling, Scaling
from attnviz.model.spec.source import DrawnTable, Table
from attnviz.model.spec.value import Refusal, Value, check_drawn, refuse, require

__all__ = [
    "Alibi",
    "Deberta",
    "Learned",
    "NoPosition",
    "Rope",
    "Sinusoidal",
    "T5Buckets",
    "TransformerXl",
]

Pairing = Literal["interleaved", "half_split"]
Changes = Literal["nothing", "vectors", "rotation", "relative", "bias"]


_BASE = Field(
    N_("Base θ"),
    N_("Pair i rotates by base^(−2i/d) radians per position"),
    above=0,
    usual=(10, 1e7),
    typed=(1e-3, 1e12),
    digits=0,
    logarithmic=True,
)
_START = Field(N_("First position"), N_("Position of the first token"))
_TABLE = Field(N_("Values"), N_("Source of the learned numbers"))
_FARTHEST = Field(N_("Maximum distance"), N_("All keys from this distance on share the last bucket"))


@dataclass(frozen=True)
class Sizes:
    """Sizes that a position encoding must fit: `n_tokens` queries, d_model, the heads, and a latent's d_rope.

    `d_rope` is None without a latent.
    """

    n_tokens: int
    d_model: int
    n_heads: int
    d_head: int
    d_rope: int | None = None

    @property
    def turnable(self) -> tuple[str, int]:
        """The path and the number of the features of a head that RoPE may rotate."""
        return ("heads.d_head", self.d_head) if self.d_rope is None else ("latent.d_rope", self.d_rope)


class Encoding(Value, frozen=True):
    """Interface of every position encoding; most have no tables, no end, and do not rotate v.

    `changes` says what it does. `vectors`: a row is added to each token vector (stage `x`). `rotation`: q and
    k are rotated (`q_rotated`, `k_rotated`). `relative`: products of q and k with vectors of the distance
    (`relative`). `bias`: a number is added to each score (`biased`).
    """

    changes: ClassVar[Changes] = "nothing"

    @property
    def rotates_values(self) -> bool:
        """True if v is rotated as q and k are."""
        return False

    @property
    def end(self) -> float:
        """Number of supported positions; infinity if no table ends."""
        return math.inf

    def table_shapes(self, d_model: int, n_heads: int, d_head: int) -> dict[str, tuple[int, int]]:
        """(rows, columns) of each table of learned numbers, by its field."""
        return {}

    def shapes_at(self, sizes: Sizes) -> dict[str, tuple[int, int]]:
        """(rows, columns) of each table at these sizes, by its field."""
        return self.table_shapes(sizes.d_model, sizes.n_heads, sizes.d_head)

    def check_end(self, count: int) -> None:
        """Refuse `count` tokens if the last one has no position."""

    def check_at(self, sizes: Sizes) -> None:
        """Refuse sizes that this encoding cannot have."""
        for name, shape in self.shapes_at(sizes).items():
            fitting = must_be("{shape} for these vectors and heads", shape=size(shape))
            getattr(self, name).check_shape(f"position.{name}", shape, fitting)
            check_drawn(f"position.{name}", shape)

    def beside_latent(self, d_rope: int) -> Refusal:
        """The refusal of this encoding, or of `d_rope` rotated features, beside a latent."""
        return None

    @classmethod
    def at_sizes(cls, sizes: Sizes) -> Refusal:
        """The refusal of every encoding of this kind at these sizes."""
        return None

    def fitted(self, sizes: Sizes) -> Self:
        """This encoding at other sizes: surplus numbers are cut, missing ones in a table are zero."""
        tables = {name: getattr(self, name).fitted(shape) for name, shape in self.shapes_at(sizes).items()}
        return replace(self, **tables)

    def chosen(self, sizes: Sizes) -> Self:
        """As `fitted`, and without parts that the choosing site excludes."""
        return self.fitted(sizes)


def _check_count(field: str, rows: int, columns: int) -> None:
    """Refuse a number of rows with which a table is too large."""
    at_most = must_be("at most {most:,} with {n} columns", most=MAX_DRAWN // columns, n=columns)
    require(rows * columns <= MAX_DRAWN, field, rows, at_most)


class NoPosition(Encoding, frozen=True, tag_field="kind", tag="none"):
    """No position information."""


class Sinusoidal(Encoding, frozen=True, tag_field="kind", tag="sinusoidal"):
    """Sines and cosines added to the token vectors."""

    changes: ClassVar[Changes] = "vectors"
    where: ClassVar[str] = "position."

    base: Annotated[float, _BASE] = 10_000.0
    start: Annotated[Index, _START] = 0


class Learned(Encoding, frozen=True, tag_field="kind", tag="learned"):
    """One row of a table, (length, d_model), added to each token vector; position `length` has no row.

    An experiment whose last token stands past the table's end cannot be constructed. The standard deviation
    of a drawn table is 1, that of the seeded token vectors: GPT-2 too draws both alike, each with 0.02.
    """

    changes: ClassVar[Changes] = "vectors"
    where: ClassVar[str] = "position."

    length: Annotated[
        Positive,
        Field(N_("Table length"), N_("The table has one row per position; a token past its end is refused")),
    ] = 64
    start: Annotated[Index, _START] = 0
    table: Annotated[Table, _TABLE] = DrawnTable()

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
        """`length` positions: rows of an explicit table are cut, missing ones are zero."""
        values = self.table.written
        columns = 1 if values is None else values.shape[1]
        return replace(self, length=length, table=self.table.fitted((length, columns)))

    def chosen(self, sizes: Sizes) -> Learned:
        """A table that ends before the last token is made as long as the tokens need."""
        return self.resized(max(self.length, self.start + sizes.n_tokens)).fitted(sizes)


class Rope(Encoding, frozen=True, tag_field="kind", tag="rope"):
    """Rotary positions: pair i rotates by position * multiplier_i * base^(-2i/n_rotated).

    `n_rotated` features of each head rotate (None: all of them); `scaling` changes the frequencies for
    sequences longer than a model was trained on; `multipliers` scale the pairs' frequencies after that
    (missing ones are 1); `on_values` rotates v as well.
    """

    changes: ClassVar[Changes] = "rotation"
    where: ClassVar[str] = "position."

    base: Annotated[float, _BASE] = 10_000.0
    pairing: Annotated[
        Pairing,
        Field(
            N_("Pairs"),
            N_("Which features of a head rotate together"),
            options=(
                (
                    "interleaved",
                    N_("neighbours"),
                    N_("Features 2i and 2i + 1, interleaved (RoFormer, GPT-J)"),
                ),
                ("half_split", N_("halves"), N_("Features i and i + d/2, half-split (GPT-NeoX, Llama)")),
            ),
        ),
    ] = "interleaved"
    start: Annotated[Index, _START] = 0
    n_rotated: Annotated[
        Positive | None,
        Field(N_("Rotated features"), N_("Number of features per head that RoPE rotates"), even=True, step=2),
    ] = None
    multipliers: Annotated[
        tuple[float, ...], Field(N_("multiplier of the pair"), N_("Multiplies the frequency of each pair"))
    ] = ()
    on_values: Annotated[bool, Field(N_("also on v"), N_("Rotates the values too"))] = False
    scaling: Annotated[
        Scaling, Field(N_("Scaling"), N_("How frequencies change beyond the trained length"))
    ] = NoScaling()

    def check(self) -> None:
        refuse(self.scaling.beside_base(self.base))

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

    def beside_latent(self, d_rope: int) -> Refusal:
        """A latent needs features to rotate, and has none in its values."""
        if d_rope >= 2:
            return values_beside_latent(self.on_values)
        rotated = must_be("at least 2 with rotary positions, which rotate these features")
        return FieldError("latent.d_rope", d_rope, rotated)

    @classmethod
    def at_sizes(cls, sizes: Sizes) -> Refusal:
        """A head needs a pair of features to rotate."""
        field, most = sizes.turnable
        return None if most >= 2 else FieldError(field, most, must_be("at least 2 with rotary positions"))

    def fitted(self, sizes: Sizes) -> Rope:
        """No more features rotated than a head has; numbers of surplus pairs are cut."""
        refuse(self.at_sizes(sizes))
        _field, most = sizes.turnable
        even, n_rotated = most - most % 2, self.n_rotated
        if n_rotated is None or n_rotated > even:
            n_rotated = None if even == most else even
        pairs = (n_rotated or even) // 2
        multipliers, scaling = self.multipliers[:pairs], self.scaling.cut_to(pairs)
        return replace(self, n_rotated=n_rotated, multipliers=multipliers, scaling=scaling)

    def chosen(self, sizes: Sizes) -> Rope:
        """Beside a latent, values are not rotated."""
        return replace(self, on_values=self.on_values and sizes.d_rope is None).fitted(sizes)


def values_beside_latent(on_values: bool) -> Refusal:
    """The refusal of rotated values from a latent."""
    if not on_values:
        return None
    no_values = must_be("false with a latent, whose values have no rotated features")
    return FieldError("position.on_values", on_values, no_values)


class Alibi(Encoding, frozen=True, tag_field="kind", tag="alibi"):
    """Linear bias -slope * |i - j|; no `slopes` means the published ones, 2^(-8h/n_heads)."""

    changes: ClassVar[Changes] = "bias"
    where: ClassVar[str] = "position."

    slopes: Annotated[
        tuple[float, ...] | None,
        Field(N_("Head slopes"), N_("Slope of each head's linear bias"), digits=4, step=0.002),
    ] = None

    def check_at(self, sizes: Sizes) -> None:
        """Refuse slopes of another number of heads."""
        n_heads, count = sizes.n_heads, len(self.slopes or ())
        each = Message("must have length {n}, one number for each head", n=n_heads)
        require(self.slopes is None or count == n_heads, "position.slopes", of_length(count), each)

    def fitted(self, sizes: Sizes) -> Alibi:
        """Slopes of another number of heads are replaced by the published ones."""
        fits = not self.slopes or len(self.slopes) == sizes.n_heads
        return self if fits else replace(self, slopes=None)


class T5Buckets(Encoding, frozen=True, tag_field="kind", tag="t5"):
    """A learned bias for each bucket of distances and each head; `table` is (n_buckets, n_heads).

    With `bidirectional`, as in T5's encoder, half of the buckets are for later keys; without, as in its
    decoder, all later keys count as distance 0. Half of a direction's buckets hold one distance each, the
    rest wider ranges up to `max_distance`.
    """

    changes: ClassVar[Changes] = "bias"
    where: ClassVar[str] = "position."

    n_buckets: Annotated[
        Positive,
        Field(
            N_("Buckets"),
            N_("Half of each direction's buckets hold one distance each, the rest wider ranges"),
            step=2,
        ),
    ] = 32
    max_distance: Annotated[Positive, _FARTHEST] = 128
    bidirectional: Annotated[
        bool,
        Field(
            N_("both directions"),
            N_("Half of the buckets serve later keys (T5's encoder); off: later keys count as distance 0"),
        ),
    ] = True
    table: Annotated[Table, _TABLE] = DrawnTable()

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
        """With other buckets, distance or directions; the others follow into their ranges."""
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

    changes: ClassVar[Changes] = "relative"

    def beside_latent(self, d_rope: int) -> Refusal:
        """With a latent, a part of these features is no content."""
        return _relative_beside_latent(type(self))

    @classmethod
    def at_sizes(cls, sizes: Sizes) -> Refusal:
        return None if sizes.d_rope is None else _relative_beside_latent(cls)


def _relative_beside_latent(kind: type[Relative]) -> FieldError:
    apart = must_be("a position encoding that is not multiplied with q and k, with a latent")
    return FieldError("position.kind", str(kind.__struct_config__.tag), apart)


class TransformerXl(Relative, frozen=True, tag_field="kind", tag="transformer_xl"):
    """Scores plus q · r + u · k + v · r with r = (sinusoids of the distance i - j) W_R.

    `weights` is W_R, (d_model, n_heads · d_head), heads side by side; `u` and `v` are (n_heads, d_head).
    """

    where: ClassVar[str] = "position."

    base: Annotated[float, _BASE] = 10_000.0
    weights: Annotated[
        Table, Field(N_("W_R"), N_("Standard deviation of the matrix that projects the distance sinusoids"))
    ] = DrawnTable(0, 0.3)
    u: Annotated[Table, Field(N_("u"), N_("Standard deviation of u, the bias multiplied with every key"))] = (
        DrawnTable(1, 0.5)
    )
    v: Annotated[
        Table, Field(N_("v"), N_("Standard deviation of v, the bias multiplied with every distance"))
    ] = DrawnTable(2, 0.5)

    def table_shapes(self, d_model: int, n_heads: int, d_head: int) -> dict[str, tuple[int, int]]:
        """(rows, columns) of each table."""
        return {"weights": (d_model, n_heads * d_head), "u": (n_heads, d_head), "v": (n_heads, d_head)}


class Deberta(Relative, frozen=True, tag_field="kind", tag="deberta"):
    """Scores plus q · (key of the distance's bucket) + k · (query of it), `span` buckets on each side.

    `keys` and `queries` are (2 · span, n_heads · d_head): the relative embeddings after their projections.
    DeBERTa divides the sum of the three terms by sqrt(3 · d_head): set `scale` to that.
    """

    where: ClassVar[str] = "position."

    span: Annotated[
        Positive,
        Field(
            N_("Buckets per side"),
            N_("Half of the buckets hold one distance each, the rest wider ranges"),
            step=2,
        ),
    ] = 8
    max_distance: Annotated[Positive, _FARTHEST] = 64
    keys: Annotated[
        Table, Field(N_("q · K_r"), N_("Content to position: standard deviation of the distance keys"))
    ] = DrawnTable(0, 0.5)
    queries: Annotated[
        Table, Field(N_("k · Q_r"), N_("Position to content: standard deviation of the distance queries"))
    ] = DrawnTable(1, 0.5)

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
