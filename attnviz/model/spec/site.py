"""One attention of an experiment: its parts, the sequences that it reads, and its place in the stack."""

from __future__ import annotations

from typing import Literal

from attnviz.errors import FieldError, FieldName, Message, must_be, of_length, size
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
from attnviz.model.spec.value import Value, check_drawn, require

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
        return error.below(self.path) if self.path else error


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
            check_drawn(f"projections.{role}", expected)
            if isinstance(source, Explicit):
                fitting = must_be("{shape} (in x out) for these vectors and heads", shape=size(expected))
                shape = source.values.shape
                require(shape == expected, f"projections.{role}.values", size(shape), fitting)
            if isinstance(source, Tied):
                shape = self.projection_shape(source.to)
                if (role == "output") != (source.to == "output"):
                    shape = shape[::-1]
                require(
                    shape == expected,
                    f"projections.{role}.to",
                    source.to,
                    Message(
                        "must name a projection of {shape}, not of {found}",
                        shape=size(expected),
                        found=size(shape),
                    ),
                )

    def _check_sinks(self) -> None:
        if isinstance(self.sinks, ExplicitSinks):
            count = len(self.sinks.values)
            require(count == self.heads.n_heads, "sinks.values", of_length(count), self._one_each())

    def _one_each(self) -> Message:
        return Message("must have length {n}, one number for each head", n=self.heads.n_heads)

    def _check_position(self) -> None:
        if self.qk_norm is not None:
            for name in ("query_gain", "key_gain"):
                check_row(f"qk_norm.{name}", getattr(self.qk_norm, name), self.heads.d_head)
        if isinstance(self.position, Rope):
            d_head, most = self.heads.d_head, self.d_turnable
            if self.position.n_rotated is None and self.latent is None:
                even = must_be("an even number, unless position.n_rotated is set")
                require(d_head % 2 == 0, "heads.d_head", d_head, even)
            rotated = most if self.position.n_rotated is None else self.position.n_rotated
            name = FieldName("heads.d_head" if self.latent is None else "latent.d_rope")
            even = must_be("an even number of at most {most} ({field})", most=most, field=name)
            require(rotated <= most and rotated % 2 == 0, "position.n_rotated", rotated, even)
            count = len(self.position.multipliers)
            at_most = Message(
                "must have length {n} or less, one number for each rotated pair", n=rotated // 2
            )
            require(count <= rotated // 2, "position.multipliers", of_length(count), at_most)
            self.position.scaling.check_pairs(rotated // 2)
        if isinstance(self.position, Alibi) and self.position.slopes is not None:
            count = len(self.position.slopes)
            require(count == self.heads.n_heads, "position.slopes", of_length(count), self._one_each())
        if isinstance(self.position, Learned):
            self.position.check_end(self.n_queries)
            d_model = self.d_model
            each = Message("must have {n} columns, one for each feature of a token vector", n=d_model)
            self._check_table(self.position, d_model, each)
        if isinstance(self.position, T5Buckets):
            n_heads = self.heads.n_heads
            each = Message("must have {n} columns, one for each head", n=n_heads)
            self._check_table(self.position, n_heads, each)
        if isinstance(self.position, TransformerXl | Deberta):
            self._check_tables(self.position)

    def _check_tables(self, position: TransformerXl | Deberta) -> None:
        shapes = position.table_shapes(self.d_model, self.heads.n_heads, self.heads.d_head)
        for name, (rows, columns) in shapes.items():
            table = getattr(position, name)
            if isinstance(table, WrittenTable):
                found = table.values.shape
                fitting = must_be("{shape} for these vectors and heads", shape=size((rows, columns)))
                require(found == (rows, columns), f"position.{name}.values", size(found), fitting)
            check_drawn(f"position.{name}", (rows, columns))

    def _check_table(self, position: Learned | T5Buckets, columns: int, one_each: Message) -> None:
        if isinstance(position.table, WrittenTable):
            found = position.table.values.shape[1]
            require(found == columns, "position.table.values", Message("{n} columns", n=found), one_each)
        rows = position.length if isinstance(position, Learned) else position.n_buckets
        at_most = must_be("at most {most:,} with {n} columns", most=MAX_DRAWN // columns, n=columns)
        name = "length" if isinstance(position, Learned) else "n_buckets"
        require(rows * columns <= MAX_DRAWN, f"position.{name}", rows, at_most)
