"""The experiment: everything that changes a number, and nothing else."""

from __future__ import annotations

import math

from attnviz.model.arrays import MAX_DRAWN
from attnviz.model.faults import FieldError, Said
from attnviz.model.parts import (
    ROLES,
    Alibi,
    Dropout,
    DType,
    Explicit,
    ExplicitSinks,
    FullyMaskedRow,
    Heads,
    Mask,
    MaskPlacement,
    Memory,
    NoPosition,
    Normaliser,
    Position,
    Projections,
    QKNorm,
    Readout,
    Role,
    Rope,
    Scale,
    Sinks,
    SqrtDHead,
    Tied,
    Vectors,
    check_kinds_once,
    check_tokens,
    vectors_shape,
)
from attnviz.model.position_parts import Deberta, Learned, T5Buckets, TransformerXl, WrittenTable
from attnviz.model.value import Value, require


class Experiment(Value, frozen=True):
    """One attention, completely specified: everything that changes a number, and nothing else.

    With n tokens of d_model features, m keys (m = n, or the number of memory tokens), h query heads and g
    key/value heads of d_head features, one head computes

        q = R(norm(x W_Q))      k = R(norm(z W_K))      v = z W_V
        s = cap((q kᵀ + relative) · scale / temperature) + bias,   -inf where a mask blocks
        w = softmax(s) over keys, or another normaliser, or with a sink, then dropout
        o = concat over heads(w v) W_O

    where x (n, d_model) are the token vectors, plus sines or a table's rows where the position is additive; z
    is x, or the memory's vectors; R turns pairs of features where the position is RoPE; `relative` are the
    terms of Transformer-XL or DeBERTa; query head i reads key/value head i // (h / g). Vaswani et al. 2017;
    Shazeer 2019 and Ainslie et al. 2023 for g < h.

    Attributes:
        tokens: The n texts, shown and never interpreted.
        vectors: Explicit or seeded, (n, d_model).
        memory: A second sequence for keys and values; None for self-attention.
        heads: `n_heads` h, `n_kv_heads` g (a divisor of h), `d_head`.
        projections: W_Q (d_model, h·d_head), W_K and W_V (features of z, g·d_head), W_O (h·d_head, d_model).
        qk_norm: None, or rms, layer or l2 of each head's q and k, before any rotation; see `QK_NORMS`.
        position: None, sinusoidal, learned, RoPE, ALiBi, T5, Transformer-XL or DeBERTa; see `POSITIONS`.
        scale: Scores times 1/sqrt(d_head), 1, or a number.
        temperature: Scores are divided by it; above 0.
        cap: None, or c > 0 for c · tanh(s / c).
        masks: Each kind once; a cell that any of them blocks is blocked. `AnyOf` joins masks by "or".
        mask_placement: Before the softmax, or after it (rows then sum to less than one).
        fully_masked_row: The weights of a query without keys: zeros, or NaN as IEEE arithmetic has it.
        normaliser: What makes scores weights: `softmax`, `sigmoid` or `relu_squared`; see `NORMALISERS`.
        sinks: None, or a logit for each head that takes a share of the softmax and has no value.
        dropout: On the weights, from a seed.
        readout: `similarity` adds logits, o · eᵀ over the distinct tokens, and their softmax.
        dtype: What engines compute in; documents keep float64.

    Raises:
        ValueError: one sentence that names the field, its value, and what would be legal.
    """

    tokens: tuple[str, ...]
    vectors: Vectors
    memory: Memory | None = None
    heads: Heads = Heads()
    projections: Projections = Projections()
    qk_norm: QKNorm | None = None
    position: Position = NoPosition()
    scale: Scale = SqrtDHead()
    temperature: float = 1.0
    cap: float | None = None
    masks: tuple[Mask, ...] = ()
    mask_placement: MaskPlacement = "before_softmax"
    fully_masked_row: FullyMaskedRow = "zeros"
    normaliser: Normaliser = "softmax"
    sinks: Sinks | None = None
    dropout: Dropout = Dropout()
    readout: Readout = "none"
    dtype: DType = "float32"

    def check(self) -> None:
        check_tokens("tokens", self.tokens, "vectors", self.vectors)
        self._check_projections()
        self._check_position()
        legal = "a finite number above 0"
        require(
            math.isfinite(self.temperature) and self.temperature > 0, "temperature", self.temperature, legal
        )
        if self.cap is not None:
            require(math.isfinite(self.cap) and self.cap > 0, "cap", self.cap, legal + ", or null")
        check_kinds_once("masks", self.masks)
        self._check_sinks()

    @property
    def n_queries(self) -> int:
        """Number of query tokens."""
        return len(self.tokens)

    @property
    def n_keys(self) -> int:
        """Number of tokens that keys and values are made from."""
        return len(self.key_tokens)

    @property
    def key_tokens(self) -> tuple[str, ...]:
        """The tokens along the key axis: the memory's, or the queries' own."""
        return self.tokens if self.memory is None else self.memory.tokens

    @property
    def d_model(self) -> int:
        """Features of a token vector."""
        return vectors_shape(self.vectors)[1]

    def projection_shape(self, role: Role) -> tuple[int, int]:
        """(in, out) of one projection."""
        d_query = self.heads.n_heads * self.heads.d_head
        d_memory = self.d_model if self.memory is None else vectors_shape(self.memory.vectors)[1]
        d_kv = self.heads.n_kv_heads * self.heads.d_head
        shapes = {
            "query": (self.d_model, d_query),
            "key": (d_memory, d_kv),
            "value": (d_memory, d_kv),
            "output": (d_query, self.d_model),
        }
        return shapes[role]

    def _check_projections(self) -> None:
        for role in ROLES:
            source = getattr(self.projections, role)
            expected = self.projection_shape(role)
            if expected[0] * expected[1] > MAX_DRAWN:
                size = Said(f"{expected[0]}x{expected[1]}")
                raise FieldError(f"projections.{role}", size, f"{MAX_DRAWN:,} numbers at most")
            if isinstance(source, Explicit):
                require(
                    source.values.shape == expected,
                    f"projections.{role}.values",
                    Said("x".join(map(str, source.values.shape))),
                    f"{expected[0]}x{expected[1]} (in x out) for these vectors and heads",
                )
            if isinstance(source, Tied):
                shape = self.projection_shape(source.to)
                if (role == "output") != (source.to == "output"):
                    shape = shape[::-1]
                require(
                    shape == expected,
                    f"projections.{role}.to",
                    source.to,
                    f"a projection of {expected[0]}x{expected[1]}; this one has {shape[0]}x{shape[1]}",
                )

    def _check_sinks(self) -> None:
        if self.sinks is None:
            return
        legal = "'softmax' where there are sinks"
        require(self.normaliser == "softmax", "normaliser", self.normaliser, legal)
        if isinstance(self.sinks, ExplicitSinks):
            count = len(self.sinks.values)
            legal = f"length {self.heads.n_heads}, one number for each head"
            require(count == self.heads.n_heads, "sinks.values", Said(f"of length {count}"), legal)

    def _check_position(self) -> None:
        d_head = self.heads.d_head
        if isinstance(self.position, Rope):
            if self.position.n_rotated is None:
                require(d_head % 2 == 0, "heads.d_head", d_head, "an even number, or set position.n_rotated")
            rotated = d_head if self.position.n_rotated is None else self.position.n_rotated
            legal = f"an even number up to d_head ({d_head})"
            require(rotated <= d_head and rotated % 2 == 0, "position.n_rotated", rotated, legal)
            count = len(self.position.multipliers)
            legal = f"length {rotated // 2} at most, one number for each rotated pair"
            require(count <= rotated // 2, "position.multipliers", Said(f"of length {count}"), legal)
        if isinstance(self.position, Alibi) and self.position.slopes is not None:
            count = len(self.position.slopes)
            legal = f"length {self.heads.n_heads}, one number for each head"
            require(count == self.heads.n_heads, "position.slopes", Said(f"of length {count}"), legal)
        if isinstance(self.position, Learned):
            self.position.check_end(self.n_queries)
            self._check_table(self.position, self.d_model, "one number for each feature of a token vector")
        if isinstance(self.position, T5Buckets):
            self._check_table(self.position, self.heads.n_heads, "one for each head")
        if isinstance(self.position, TransformerXl | Deberta):
            self._check_tables(self.position)

    def _check_tables(self, position: TransformerXl | Deberta) -> None:
        shapes = position.table_shapes(self.d_model, self.heads.n_heads, self.heads.d_head)
        for name, (rows, columns) in shapes.items():
            table = getattr(position, name)
            legal = f"{rows}x{columns} for these vectors and heads"
            if isinstance(table, WrittenTable):
                found = table.values.shape
                said = Said(f"{found[0]}x{found[1]}")
                require(found == (rows, columns), f"position.{name}.values", said, legal)
            legal = f"{MAX_DRAWN:,} numbers at most"
            require(rows * columns <= MAX_DRAWN, f"position.{name}", Said(f"{rows}x{columns}"), legal)

    def _check_table(self, position: Learned | T5Buckets, columns: int, why: str) -> None:
        if isinstance(position.table, WrittenTable):
            found = position.table.values.shape[1]
            legal = f"{columns} columns, {why}"
            require(found == columns, "position.table.values", Said(f"{found} columns"), legal)
        rows = position.length if isinstance(position, Learned) else position.n_buckets
        legal = f"{MAX_DRAWN // columns} at most for {columns} columns"
        name = "length" if isinstance(position, Learned) else "n_buckets"
        require(rows * columns <= MAX_DRAWN, f"position.{name}", rows, legal)
