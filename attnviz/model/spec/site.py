"""One attention of an experiment: its parts, the sequences that it reads, and its place in the stack."""

from __future__ import annotations

from typing import Literal

from attnviz.model.errors.faults import FieldError, Said
from attnviz.model.spec.arrays import MAX_DRAWN
from attnviz.model.spec.attention import Attention
from attnviz.model.spec.block import Norm, Vocabulary
from attnviz.model.spec.generation import Writing
from attnviz.model.spec.parts import (
    ROLES,
    Alibi,
    DType,
    Explicit,
    ExplicitSinks,
    Memory,
    Readout,
    Role,
    Rope,
    Tied,
    Vectors,
    check_tokens,
    vectors_shape,
)
from attnviz.model.spec.positions import Deberta, Learned, T5Buckets, TransformerXl, WrittenTable
from attnviz.model.spec.rows import check_row
from attnviz.model.spec.value import Value, require

Stack = Literal["layers", "encoder", "decoder"]
Kind = Literal["self", "cross"]


class Place(Value, frozen=True):
    """Where a site stands: in which stack, at which layer, which of its attentions.

    `is_second` marks the attention to the memory of a layer that has one of each.
    """

    stack: Stack
    layer: int
    kind: Kind
    is_second: bool = False

    @property
    def name(self) -> str:
        """The public name."""
        return f"{self.stack}.{self.layer}.{self.kind}"

    @property
    def path(self) -> str:
        """Where a document has this attention, such as `layers[0].cross`; empty for the first layer's own."""
        if self.stack == "encoder":
            return f"encoder[{self.layer}]"
        layer = f"layers[{self.layer - 1}]" if self.layer else ""
        return ".".join(part for part in (layer, "cross" if self.is_second else "") if part)

    def refused(self, error: FieldError) -> FieldError:
        """An error of this site, its field named from the document's root."""
        field = f"{self.path}.{error.field}" if self.path else error.field
        return FieldError(field, error.value, error.legal)


class Site(Attention, frozen=True, weakref=True):
    """One attention of an experiment, with all that it needs of the experiment to be computed.

    It is derived (see `model/sites/sites.py`) and never stored. The program, provenance, explanations and
    forms work on one site and know no others. n, m, d_model, h, g and d_head are those of `Experiment`.

    Attributes:
        place: Where it stands in the stack.
        tokens: The n tokens along the query axis: the memory's for a site of the encoder.
        vectors: Their vectors, (n, d_model). A site behind another one reads that one's result instead.
        memory: The sequence that keys and values come from, m tokens; None: from the tokens themselves.
            Behind an encoder, the encoder's result stands in for its vectors.
        embedding_norm: None, or a norm before the first layer.
        final_norm: None, or a norm after the last layer of the stack.
        vocabulary: The vocabulary, at the last site.
        readout: What the last site reads out; `none` at all others.
        writing: How the text goes on, at the last site.
        dtype: What engines compute in.

    Raises:
        FieldError: one sentence that names the field (from the site, see `Place.refused`), value and rule.
    """

    place: Place
    tokens: tuple[str, ...]
    vectors: Vectors
    memory: Memory | None = None
    embedding_norm: Norm | None = None
    final_norm: Norm | None = None
    vocabulary: Vocabulary | None = None
    readout: Readout = "none"
    writing: Writing | None = None
    dtype: DType = "float32"

    def check(self) -> None:
        check_tokens("tokens", self.tokens, "vectors", self.vectors)
        super().check()
        self._check_projections()
        self._check_position()
        if self.latent is not None:
            self.latent.check_size(self.d_model, self.d_keys, self.heads)
        self._check_sinks()
        if self.block is not None:
            self.block.check_size("block", self.d_model)

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
        heads, latent = self.heads, self.latent
        if role == "query":
            d_query_in = self.d_model if latent is None else latent.d_q or self.d_model
            return d_query_in, heads.n_heads * self.d_qk
        if role == "output":
            return heads.n_heads * heads.d_head, self.d_model
        return self.d_keys, heads.n_kv_heads * heads.d_head

    @property
    def d_keys(self) -> int:
        """Features of what keys and values are made from: the memory's, or the tokens'."""
        return self.d_model if self.memory is None else vectors_shape(self.memory.vectors)[1]

    def _check_projections(self) -> None:
        for role in ROLES:
            source = getattr(self.projections, role)
            expected = self.projection_shape(role)
            check_row(f"projections.{role}_bias", getattr(self.projections, f"{role}_bias"), expected[1])
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
        if isinstance(self.sinks, ExplicitSinks):
            count = len(self.sinks.values)
            legal = f"length {self.heads.n_heads}, one number for each head"
            require(count == self.heads.n_heads, "sinks.values", Said(f"of length {count}"), legal)

    def _check_position(self) -> None:
        if self.qk_norm is not None:
            for name in ("query_gain", "key_gain"):
                check_row(f"qk_norm.{name}", getattr(self.qk_norm, name), self.heads.d_head)
        if isinstance(self.position, Rope):
            d_head, most = self.heads.d_head, self.d_turnable
            if self.position.n_rotated is None and self.latent is None:
                require(d_head % 2 == 0, "heads.d_head", d_head, "an even number, or set position.n_rotated")
            rotated = most if self.position.n_rotated is None else self.position.n_rotated
            name = "d_head" if self.latent is None else "latent.d_rope"
            legal = f"an even number up to {name} ({most})"
            require(rotated <= most and rotated % 2 == 0, "position.n_rotated", rotated, legal)
            count = len(self.position.multipliers)
            legal = f"length {rotated // 2} at most, one number for each rotated pair"
            require(count <= rotated // 2, "position.multipliers", Said(f"of length {count}"), legal)
            self.position.scaling.check_pairs(rotated // 2)
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
