"""The parts of an experiment: vectors, heads, projections, scales, masks, dropout; positions are in a file of
their own.

Over 500 lines because a part is one struct with its fields, bounds and refusals, and files import several.

Each is a frozen struct that cannot hold an invalid value. A union of structs with a `kind` tag is a
closed set of choices; the tag is what a document file names.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnviz.core.positions import temperature_factors
from attnviz.errors import A_TOKEN, FieldError, Message, must_be, of_length, size, twice
from attnviz.i18n import N_
from attnviz.model.operands.draws import Drawn
from attnviz.model.spec.arrays import MAX_DRAWN, Matrix, cut_or_filled, in_float64
from attnviz.model.spec.bounds import LONGEST_TOKEN, Index, Positive, Seed
from attnviz.model.spec.field import Field
from attnviz.model.spec.positions import Alibi as Alibi
from attnviz.model.spec.positions import NoPosition as NoPosition
from attnviz.model.spec.positions import Pairing as Pairing
from attnviz.model.spec.positions import Position as Position
from attnviz.model.spec.positions import Rope as Rope
from attnviz.model.spec.positions import Sinusoidal as Sinusoidal
from attnviz.model.spec.rows import Row as Row
from attnviz.model.spec.source import Source, Written
from attnviz.model.spec.value import Refusal, Value, check_texts, refuse, require

__all__ = [
    "AdditiveMask",
    "AnyOf",
    "Blocks",
    "Causal",
    "Dilated",
    "Documents",
    "Dropout",
    "Explicit",
    "ExplicitSinks",
    "ExplicitVectors",
    "Global",
    "Heads",
    "Identity",
    "Memory",
    "NoScale",
    "Padding",
    "Painted",
    "PositionTemperature",
    "Prefix",
    "Projections",
    "QKNorm",
    "ScaleValue",
    "Seeded",
    "SeededSinks",
    "SeededVectors",
    "SqrtDHead",
    "Strided",
    "Tied",
    "Window",
]

DType = Literal["float16", "bfloat16", "float32", "float64"]
MaskPlacement = Literal["before_softmax", "after_softmax"]
FullyMaskedRow = Literal["zeros", "nan"]
Readout = Literal["similarity", "vocabulary", "none"]
Normaliser = Literal["softmax", "sigmoid", "relu_squared"]
QKNormKind = Literal["rms", "layer", "l2"]
Generator = Literal["pcg64", "mt19937"]
Role = Literal["query", "key", "value", "output"]
References = tuple[tuple[Index, Index], ...]
"""Pairs of positions: a pronoun, and a token of the name that it refers to."""


# --- where vectors come from -----------------------------------------------------------------------


class ExplicitVectors(Value, frozen=True, tag_field="kind", tag="explicit"):
    """Explicit token vectors: `values` is (token, d_model)."""

    where: ClassVar[str] = "vectors."
    is_drawn: ClassVar[bool] = False

    values: Annotated[Matrix, Field(N_("Values"), N_("Explicit token vectors, one row per token"))]

    @property
    def shape(self) -> tuple[int, int]:
        """(tokens, d_model)."""
        return self.values.shape

    def matrix(self) -> Matrix:
        """The numbers."""
        return self.values

    def array(self) -> NDArray[np.float64]:
        """The numbers, read-only."""
        return in_float64(self.values.array)

    def drawn(self, n: int, d_model: int, seed: int) -> SeededVectors:
        """Vectors drawn in the place of these."""
        return SeededVectors(n, d_model, seed)


class SeededVectors(Value, frozen=True, tag_field="kind", tag="seeded"):
    """Token vectors drawn from a standard normal distribution, (n, d_model).

    `pcg64` is `numpy.random.default_rng(seed)`; `mt19937` is the older `numpy.random.seed(seed)`.
    n · d_model may be `MAX_DRAWN` at most.
    """

    where: ClassVar[str] = "vectors."
    is_drawn: ClassVar[bool] = True

    n: Annotated[Positive, Field(N_("Number of tokens"), N_("Number of random token vectors"))]
    d_model: Annotated[Positive, Field(N_("Model width, d_model"), N_("Width of every token vector"))]
    seed: Seed = 0
    generator: Annotated[Generator, Field(N_("Generator"), N_("Random number generator of NumPy"))] = "pcg64"

    def check(self) -> None:
        at_most = must_be("at most {most:,} with {n} tokens", most=MAX_DRAWN // self.n, n=self.n)
        require(self.n * self.d_model <= MAX_DRAWN, "vectors.d_model", self.d_model, at_most)

    @property
    def shape(self) -> tuple[int, int]:
        """(tokens, d_model)."""
        return self.n, self.d_model

    def matrix(self) -> Matrix:
        """The numbers."""
        return Matrix(self.array())

    def array(self) -> NDArray[np.float64]:
        """The numbers, read-only."""
        return _vectors(self.n, self.d_model, self.seed, self.generator)

    def drawn(self, n: int, d_model: int, seed: int) -> SeededVectors:
        """Vectors drawn in the place of these, by the same generator."""
        return SeededVectors(n, d_model, seed, self.generator)


@Drawn
def _vectors(n: int, d_model: int, seed: int, generator: Generator) -> NDArray[np.float64]:
    if generator == "mt19937":
        return np.random.RandomState(seed).standard_normal((n, d_model))
    return np.random.default_rng(seed).standard_normal((n, d_model))


Vectors = ExplicitVectors | SeededVectors


class Memory(Value, frozen=True):
    """A memory sequence, from which keys and values are projected (cross-attention)."""

    where: ClassVar[str] = "memory."

    tokens: Annotated[
        tuple[str, ...],
        Field(N_("Memory text"), N_("Tokens from which keys and values are computed")),
    ]
    vectors: Annotated[
        Vectors,
        Field(N_("Memory vectors"), N_("Vectors from which keys and values are computed")),
    ]

    def check(self) -> None:
        check_tokens("memory.tokens", self.tokens, "memory.vectors", self.vectors)


def vectors_shape(vectors: Vectors) -> tuple[int, int]:
    """(tokens, d_model) of either kind of vectors."""
    return vectors.shape


def check_tokens(field: str, tokens: tuple[str, ...], vectors_field: str, vectors: Vectors) -> None:
    """Refuse an empty sequence, a number of vectors other than the number of tokens, and texts too long."""
    rows = vectors_shape(vectors)[0]
    require(len(tokens) >= 1, field, list(tokens), A_TOKEN)
    if rows != len(tokens):
        one_each = Message("must have {n} rows, one for each token", n=len(tokens))
        raise FieldError(vectors_field, Message("{n} rows", n=rows), one_each)
    check_texts(field + "[{index}]", tokens, LONGEST_TOKEN)


def check_references(references: References, n_tokens: int) -> None:
    """Refuse a position past the end, a token that refers to itself, and a pair that occurs twice."""
    within = must_be("two different positions from 0 to {last}", last=n_tokens - 1)
    once = must_be("a pair that occurs once")
    for number, pair in enumerate(references):
        field = f"references[{number}]"
        require(max(pair) < n_tokens and pair[0] != pair[1], field, pair, within)
        require(pair not in references[:number], field, pair, once)


# --- heads and projections -------------------------------------------------------------------------


class Heads(Value, frozen=True):
    """Head layout: query head h reads key/value head h // (n_heads / n_kv_heads).

    The query heads in `off` output zeros, whatever their weights are.
    """

    where: ClassVar[str] = "heads."

    n_heads: Annotated[
        Positive, Field(N_("Query heads"), N_("Number of attention patterns computed side by side"))
    ] = 1
    n_kv_heads: Annotated[
        Positive, Field(N_("Key/value heads"), N_("Number of heads with keys and values of their own"))
    ] = 1
    d_head: Annotated[
        Positive, Field(N_("Head width, d_head"), N_("Width of a query, a key and a value"))
    ] = 4
    off: Annotated[
        tuple[Index, ...], Field(N_("Heads switched off"), N_("Query heads whose output is zero"))
    ] = ()

    def check(self) -> None:
        divisor = must_be("a divisor of n_heads ({n})", n=self.n_heads)
        require(self.n_heads % self.n_kv_heads == 0, "heads.n_kv_heads", self.n_kv_heads, divisor)
        off = list(self.off)
        ascending = must_be("ascending heads below n_heads ({n}), each once", n=self.n_heads)
        require(off == sorted(set(off)) and off[-1:] < [self.n_heads], "heads.off", off, ascending)

    @property
    def width(self) -> int:
        """Features of all query heads side by side."""
        return self.n_heads * self.d_head

    @property
    def group_size(self) -> int:
        """Query heads that share one key/value head."""
        return self.n_heads // self.n_kv_heads


class Identity(Source, frozen=True, tag_field="kind", tag="identity"):
    """Ones on the diagonal; a rectangular shape drops the surplus or fills with zeros."""

    where: ClassVar[str] = "projections."
    is_identity: ClassVar[bool] = True

    def numbers(self, shape: tuple[int, int]) -> NDArray[np.float64]:
        return _identity(shape)


class Seeded(Source, frozen=True, tag_field="kind", tag="seeded"):
    """Normal, standard deviation 1/sqrt(in): `default_rng(seed).standard_normal((in, out)) / sqrt(in)`."""

    where: ClassVar[str] = "projections."
    is_drawn: ClassVar[bool] = True

    seed: Seed = 0

    def numbers(self, shape: tuple[int, int]) -> NDArray[np.float64]:
        return _normal(shape, self.seed)


class Explicit(Written, frozen=True, tag_field="kind", tag="explicit"):
    """An explicit weight matrix, (in, out): features are rows times this."""

    where: ClassVar[str] = "projections."


class Tied(Source, frozen=True, tag_field="kind", tag="tied"):
    """The same matrix as another projection; the output projection takes its transpose."""

    where: ClassVar[str] = "projections."

    to: Annotated[Role, Field(N_("Shared matrix"), N_("The projection whose matrix is shared"))]

    @property
    def tied_to(self) -> Role | None:
        return self.to


@Drawn
def _normal(shape: tuple[int, int], seed: int) -> NDArray[np.float64]:
    return np.random.default_rng(seed).standard_normal(shape) / np.sqrt(shape[0])


@Drawn
def _identity(shape: tuple[int, int]) -> NDArray[np.float64]:
    return np.eye(*shape)


Projection = Identity | Seeded | Explicit | Tied


BIAS = Field(N_("Bias"), N_("Adds a bias to every row of the product, initialised at random"))


class Projections(Value, frozen=True):
    """W_q, W_k, W_v and W_o, and the biases of their products; a bias that is null is omitted."""

    where: ClassVar[str] = "projections."

    query: Annotated[
        Projection, Field(N_("Query projection"), N_("Source of W_q, which computes the queries"))
    ] = Identity()
    key: Annotated[Projection, Field(N_("Key projection"), N_("Source of W_k, which computes the keys"))] = (
        Identity()
    )
    value: Annotated[
        Projection, Field(N_("Value projection"), N_("Source of W_v, which computes the values"))
    ] = Identity()
    output: Annotated[
        Projection, Field(N_("Output projection"), N_("Source of W_o, which combines the heads"))
    ] = Identity()
    query_bias: Annotated[Row | None, BIAS] = None
    key_bias: Annotated[Row | None, BIAS] = None
    value_bias: Annotated[Row | None, BIAS] = None
    output_bias: Annotated[Row | None, BIAS] = None

    def check(self) -> None:
        for role in ROLES:
            to = self.tied_to(role)
            if to is not None:
                refuse(tie_beside_tie(role, to, self.tied_to(to)))

    def tied_to(self, role: Role) -> Role | None:
        """The projection whose matrix W of `role` is; None where it has its own."""
        to: Role | None = getattr(self, role).tied_to
        return to


ROLES: tuple[Role, ...] = ("query", "key", "value", "output")


def tie_beside_tie(role: Role, to: Role, further: Role | None) -> Refusal:
    """The refusal of a tie of W of `role` to one that is itself tied `further`."""
    if further is None:
        return None
    return FieldError(f"projections.{role}.to", to, must_be("a projection that is not tied itself"))


def is_transposed(role: Role, to: Role) -> bool:
    """True if a projection tied to another is its transpose: into heads and out of them."""
    return (role == "output") != (to == "output")


# --- scores ----------------------------------------------------------------------------------------


class SqrtDHead(Value, frozen=True, tag_field="kind", tag="sqrt_d_head"):
    """Scores divided by sqrt(d_head)."""

    def factor(self, d_qk: int) -> float:
        """Multiplier of the scores of queries of `d_qk` features."""
        return float(d_qk**-0.5)

    def step(self, d_qk: int) -> tuple[str, float, str]:
        """Written form: × or ÷ or nothing, the number, and the number as a text."""
        return "÷", math.sqrt(d_qk), f"√{d_qk}"


class NoScale(Value, frozen=True, tag_field="kind", tag="none"):
    """Scores as they are."""

    def factor(self, d_qk: int) -> float:
        """1."""
        return 1.0

    def step(self, d_qk: int) -> tuple[str, float, str]:
        """Nothing is written."""
        return "", 1.0, ""


class ScaleValue(Value, frozen=True, tag_field="kind", tag="value"):
    """Scores multiplied by `value`."""

    where: ClassVar[str] = "scale."

    value: Annotated[float, Field(N_("Scale factor"), N_("Multiplies the scores"), digits=4, step=0.005)]

    def factor(self, d_qk: int) -> float:
        """The value itself."""
        return self.value

    def step(self, d_qk: int) -> tuple[str, float, str]:
        """Times the value."""
        return "×", self.value, f"{self.value:g}"


Scale = SqrtDHead | NoScale | ScaleValue


EPS = Field(N_("Norm ε"), N_("Keeps a row of zeros from a division by zero"), least=0, digits=6, step=1e-6)
_QK_GAIN = Field(
    N_("Query/key gains"),
    N_("Multiplies every feature of a head by a number, initialised near 1; off: ones"),
)


class QKNorm(Value, frozen=True):
    """Queries and keys normalised over the features of each head, before their rotation.

    The gains have d_head numbers, the same for every head; null is 1 everywhere. With `across` the queries of
    all heads are one vector for the norm, and so are the keys (OLMo 2), and the gains are as wide as they.
    """

    where: ClassVar[str] = "qk_norm."

    kind: Annotated[QKNormKind, Field(N_("QK-norm"), N_("Normalises each head's queries and keys"))]
    eps: Annotated[float, EPS] = 1e-6
    query_gain: Annotated[Row | None, _QK_GAIN] = None
    key_gain: Annotated[Row | None, _QK_GAIN] = None
    across: Annotated[
        bool,
        Field(
            N_("QK-norm across heads"),
            N_("Normalises the queries of all heads as one vector, and the keys likewise, as in OLMo 2"),
        ),
    ] = False

    def gain_widths(self, heads: Heads) -> dict[str, int]:
        """Numbers of each gain, by its field."""
        n_queries, n_keys = (heads.n_heads, heads.n_kv_heads) if self.across else (1, 1)
        return {"query_gain": n_queries * heads.d_head, "key_gain": n_keys * heads.d_head}


class PositionTemperature(Value, frozen=True):
    """Queries times 1 + strength · ln(1 + ⌊(m + 1) ÷ interval⌋), m their position, after any rotation.

    The softmax over more keys stays as sharp (Nakanishi 2025, arXiv 2501.19399); Llama 4 has it in its layers
    without positions, as `floor_scale` and `attn_scale`.
    """

    where: ClassVar[str] = "position_temperature."

    interval: Annotated[
        Positive,
        Field(
            N_("Interval"),
            N_("Number of tokens after which the queries grow by another step"),
            typed=(1, 1_048_576),
        ),
    ] = 4
    strength: Annotated[
        float,
        Field(
            N_("Strength"),
            N_("Factor of the logarithm by which the queries grow"),
            least=0,
            usual=(0, 2),
            typed=(0, 1000),
            digits=3,
            step=0.01,
        ),
    ] = 0.5

    def factors(self, positions: NDArray[np.int64]) -> NDArray[np.float64]:
        """The factor of a query at each position."""
        return temperature_factors(positions, self.interval, self.strength)


class ExplicitSinks(Value, frozen=True, tag_field="kind", tag="explicit"):
    """Explicit attention sinks: one logit for each head."""

    where: ClassVar[str] = "sinks."

    values: Annotated[
        tuple[float, ...],
        Field(
            N_("Attention sinks"),
            N_("One score per head that takes a share of the softmax"),
            digits=3,
            step=0.02,
        ),
    ]

    def check_heads(self, n_heads: int) -> None:
        """Refuse another number of logits than of heads."""
        each = Message("must have length {n}, one number for each head", n=n_heads)
        require(len(self.values) == n_heads, "sinks.values", of_length(len(self.values)), each)

    def fitted(self, n_heads: int) -> ExplicitSinks:
        """For `n_heads` heads: surplus numbers are cut, missing ones are 0."""
        missing = max(0, n_heads - len(self.values))
        return ExplicitSinks((*self.values, *(0.0,) * missing)[:n_heads])

    def array(self, n_heads: int) -> NDArray[np.float64]:
        """The logits, (head,)."""
        return np.asarray(self.values)


class SeededSinks(Value, frozen=True, tag_field="kind", tag="seeded"):
    """Attention sinks drawn from a standard normal distribution: `default_rng(seed)`, one for each head."""

    where: ClassVar[str] = "sinks."

    seed: Seed = 0

    def check_heads(self, n_heads: int) -> None:
        """Any number of heads will do."""

    def fitted(self, n_heads: int) -> SeededSinks:
        """The same, for any number of heads."""
        return self

    def array(self, n_heads: int) -> NDArray[np.float64]:
        """The logits, (head,), read-only."""
        return _drawn_sinks(n_heads, self.seed)


@Drawn
def _drawn_sinks(n_heads: int, seed: int) -> NDArray[np.float64]:
    return np.random.default_rng(seed).standard_normal(n_heads)


Sinks = ExplicitSinks | SeededSinks


class MaskKind(Value, frozen=True):
    """Interface of every kind of mask."""

    def within(self, n_queries: int, n_keys: int) -> Self | None:
        """The mask without positions past the ends of the sequences; None where nothing is left of it."""
        return self


class Causal(MaskKind, frozen=True, tag_field="kind", tag="causal"):
    """A query attends to the keys at its own position and before."""


class Prefix(MaskKind, frozen=True, tag_field="kind", tag="prefix"):
    """The first `n` positions attend to each other, later ones to themselves and all before."""

    where: ClassVar[str] = "masks.prefix."

    n: Annotated[
        Index, Field(N_("Prefix length"), N_("Number of leading tokens that attend to each other both ways"))
    ]


class Padding(MaskKind, frozen=True, tag_field="kind", tag="padding"):
    """Keys at these positions are hidden from every query."""

    where: ClassVar[str] = "masks.padding."

    tokens: Annotated[
        tuple[Index, ...],
        Field(N_("Padding tokens"), N_("Positions hidden from every query, counted from 0, such as 3, 5-7")),
    ]

    def within(self, n_queries: int, n_keys: int) -> Padding | None:
        kept = tuple(position for position in self.tokens if position < n_keys)
        return Padding(kept) if kept else None


class Window(MaskKind, frozen=True, tag_field="kind", tag="window"):
    """A query attends to its own position, `left` earlier keys and `right` later ones."""

    where: ClassVar[str] = "masks.window."

    left: Annotated[
        Index, Field(N_("Window: earlier keys"), N_("Number of earlier keys that a query attends to"))
    ]
    right: Annotated[
        Index, Field(N_("Window: later keys"), N_("Number of later keys that a query attends to"))
    ] = 0


class Dilated(MaskKind, frozen=True, tag_field="kind", tag="dilated"):
    """A window of every `dilation`-th key: the query's own position, `left` such before, `right` after."""

    where: ClassVar[str] = "masks.dilated."

    left: Annotated[
        Index, Field(N_("Dilated: earlier keys"), N_("Number of earlier keys that a query attends to"))
    ]
    right: Annotated[
        Index, Field(N_("Dilated: later keys"), N_("Number of later keys that a query attends to"))
    ] = 0
    dilation: Annotated[
        Positive, Field(N_("Dilated: step"), N_("Distance between two visible keys; 1 leaves no gaps"))
    ] = 2


class Strided(MaskKind, frozen=True, tag_field="kind", tag="strided"):
    """A query attends to its own position and every `stride`-th key back from there."""

    where: ClassVar[str] = "masks.strided."

    stride: Annotated[Positive, Field(N_("Strided: step"), N_("Distance between two visible keys"))]


class Blocks(MaskKind, frozen=True, tag_field="kind", tag="blocks"):
    """A query attends to its own block of `size` positions, and to the `previous` blocks before it."""

    where: ClassVar[str] = "masks.blocks."

    size: Annotated[Positive, Field(N_("Block size"), N_("Positions per block; the first block begins at 0"))]
    previous: Annotated[Index, Field(N_("Earlier blocks"), N_("Earlier blocks that a query attends to"))] = 0


class Global(MaskKind, frozen=True, tag_field="kind", tag="global"):
    """These positions attend to all and all attend to them; no others attend to each other."""

    where: ClassVar[str] = "masks.global."

    tokens: Annotated[
        tuple[Index, ...],
        Field(
            N_("Global tokens"),
            N_("Positions that attend to all and that all attend to, counted from 0, such as 0, 5-7"),
        ),
    ]

    def within(self, n_queries: int, n_keys: int) -> Global | None:
        kept = tuple(position for position in self.tokens if position < max(n_queries, n_keys))
        return Global(kept) if kept else None


class Documents(MaskKind, frozen=True, tag_field="kind", tag="documents"):
    """Documents begin at these positions, and no query attends across them."""

    where: ClassVar[str] = "masks.documents."

    starts: Annotated[
        tuple[Index, ...],
        Field(N_("Document starts"), N_("Positions of first tokens, counted from 0, such as 0, 12, 20")),
    ]

    def check(self) -> None:
        ascending = must_be("ascending positions, each once")
        starts = list(self.starts)
        require(starts == sorted(set(starts)), "masks.documents.starts", starts, ascending)

    def within(self, n_queries: int, n_keys: int) -> Documents | None:
        kept = tuple(position for position in self.starts if position < max(n_queries, n_keys))
        return Documents(kept) if kept else None


class Painted(MaskKind, frozen=True, tag_field="kind", tag="painted"):
    """Cells blocked by hand, each (query position, key position)."""

    where: ClassVar[str] = "masks.painted."

    cells: Annotated[tuple[tuple[Index, Index], ...], Field(N_("Painted cells"), N_("Cells blocked by hand"))]


OneMask = Causal | Prefix | Padding | Window | Dilated | Strided | Blocks | Global | Documents | Painted


LEAST_FLOAT32 = -3.4028234663852886e38
"""The least number of float32, which many programs add to a score in the place of −∞."""


class AdditiveMask(Value, frozen=True):
    """Free numbers that are added to the scores, (query, key), or one such table for each head.

    With `per_head` the tables of the heads stand one below another, (head · query, key). A number of
    `LEAST_FLOAT32` or below is −∞: the key gets no weight. Row 0 is the first query. Cells past the end of
    the table add 0, in a generation too; rows and columns past the end of the text are not used.
    """

    where: ClassVar[str] = "additive_mask."

    values: Annotated[
        Matrix,
        Field(N_("Values"), N_("Number added to each score; −3.4e38, the least of float32, or less is −∞")),
    ]
    per_head: Annotated[
        bool, Field(N_("One table per head"), N_("The tables of the heads stand one below another"))
    ] = False

    @classmethod
    def of(cls, values: ArrayLike, per_head: bool = False) -> Self:
        """From (query, key) or (head, query, key), where −∞ may stand.

        Raises `FieldError` for another shape, and for what is added to no score, truth values among them.
        """
        try:
            array = np.asarray(values)
        except ValueError:  # rows of several lengths
            array = np.empty((), object)
        if array.dtype.kind not in "iuf" or array.ndim not in (2, 3) or 0 in array.shape:
            given = Message("{size} of {dtype}", size=size(array.shape), dtype=str(array.dtype))
            numbers = must_be("numbers of (query, key) or (head, query, key)")
            raise FieldError("additive_mask.values", given, numbers)
        array = array.astype(np.float64)
        array = np.where(array == -np.inf, LEAST_FLOAT32, array)
        rows: Any = array.reshape(-1, array.shape[-1])  # errors name the field
        return cls(rows, per_head or array.ndim == 3)

    def check_heads(self, n_heads: int) -> None:
        """Refuse rows that do not split into a table for each head."""
        rows = self.values.shape[0]
        multiple = Message("must have a multiple of {n} rows, as many for each head", n=n_heads)
        is_split = not self.per_head or rows % n_heads == 0
        require(is_split, "additive_mask.values", Message("{n} rows", n=rows), multiple)

    def array(self, n_heads: int) -> NDArray[np.float64]:
        """The numbers with −∞, (head, query, key); (1, query, key) where all heads share them."""
        values = in_float64(self.values.array)
        rows, columns = values.shape
        count = n_heads if self.per_head else 1
        return np.where(values <= LEAST_FLOAT32, -np.inf, values).reshape(count, rows // count, columns)

    def fitted(self, n_heads: int, n_queries: int, n_keys: int) -> NDArray[np.float64]:
        """As `array`, of these sizes: the rest is cut, and missing numbers are 0."""
        table = self.array(n_heads)
        return np.stack([cut_or_filled(head, (n_queries, n_keys)) for head in table])

    def of_heads(self, before: int, after: int) -> Self:
        """For another number of heads: surplus tables are cut, missing ones are zero."""
        if not self.per_head or before == after:
            return self
        table = self.array(before)
        tables = np.zeros((after, *table.shape[1:]))
        tables[: min(before, after)] = table[:after]
        return self.of(tables)


class AnyOf(Value, frozen=True, tag_field="kind", tag="any_of"):
    """A query attends to a key that at least one of these masks allows: masks joined by "or"."""

    where: ClassVar[str] = "masks.any_of."

    masks: Annotated[
        tuple[OneMask, ...],
        Field(N_("Combined masks"), N_("A query attends to a key that at least one pattern allows")),
    ]

    def check(self) -> None:
        a_mask = Message("must have at least one mask")
        require(len(self.masks) >= 1, "masks.any_of.masks", list(self.masks), a_mask)
        check_kinds_once("masks.any_of.masks", self.masks)


Mask = OneMask | AnyOf


def check_kinds_once(field: str, masks: tuple[Mask, ...]) -> None:
    """Refuse two masks of one kind beside each other."""
    kinds = [mask.__struct_config__.tag for mask in masks]
    if len(set(kinds)) < len(kinds):
        kind = next(kind for kind in kinds if kinds.count(kind) > 1)
        raise FieldError(field, twice(str(kind)), Message("must have each kind of mask once"))


def _drops(dropout: Any) -> bool:
    return bool(dropout.p > 0)


class Dropout(Value, frozen=True):
    """Each number becomes 0 with probability p; survivors are divided by 1 - p if `rescale`.

    Off when `training` is false, as it is when a model is used rather than trained.
    """

    where: ClassVar[str] = "dropout."

    p: Annotated[
        float,
        Field(
            N_("Dropout rate"),
            N_("The probability that a number becomes 0"),
            least=0,
            below=1,
            usual=(0, 0.9),
            typed=(0, 0.999),
            normal=0,
        ),
    ] = 0.0
    seed: Annotated[Seed, Field(N_("Seed"), N_("Selects the dropped numbers"), is_seed=True, when=_drops)] = 0
    rescale: Annotated[
        bool, Field(N_("Survivors ÷ (1 − p)"), N_("Keeps the expected sum unchanged"), when=_drops)
    ] = True
    training: Annotated[bool, Field(N_("Training"), N_("Drops numbers, as in training"), when=_drops)] = True

    @property
    def active(self) -> bool:
        """True if any number can be dropped."""
        return self.training and self.p > 0.0
