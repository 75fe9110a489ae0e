"""The experiment: everything that changes a number, and nothing else."""

from __future__ import annotations

from attnviz.model.errors.faults import FieldError, Said
from attnviz.model.spec.arrays import MAX_DRAWN
from attnviz.model.spec.attention import Layer
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
from attnviz.model.spec.value import require


class Experiment(Layer, frozen=True, weakref=True):
    """Attention, completely specified: everything that changes a number, and nothing else.

    An experiment is a layer (see `Attention` and `Layer`) with the sequences that it reads, and perhaps more
    layers behind it. With n tokens of d_model features, m keys (m = n, or the number of memory tokens), h
    query heads and g key/value heads of d_head features, one head of one attention computes

        q = R(norm(x W_Q))      k = R(norm(z W_K))      v = z W_V     (from a latent: see `latent_parts`)
        s = cap((q kᵀ + relative) · scale / temperature) + bias,   -inf where a mask blocks
        w = softmax(s) over keys, or another normaliser, or with a sink, then dropout
        o = concat over heads(w v) W_O

    where x (n, d_model) are the token vectors, plus sines or a table's rows where the position is additive,
    or what the block's norm or the layer before made of them; z is x, or the memory; R turns pairs of
    features where the position is RoPE; `relative` are the terms of Transformer-XL or DeBERTa; query head i
    reads key/value head i // (h / g). Vaswani et al. 2017; Shazeer 2019 and Ainslie et al. 2023 for g < h.

    `model/sites/sites.py` names the attentions of an experiment and takes each out as an experiment.

    Attributes:
        tokens: The n texts, shown and never interpreted.
        vectors: Explicit or seeded, (n, d_model).
        memory: A second sequence; None for self-attention. Without `cross` attentions, the layers themselves
            read keys and values from it.
        embedding_norm: None, or a norm of the token vectors and their position before the first layer.
        layers: The layers behind the first one, which is the experiment itself.
        final_norm: None, or a norm after the last layer.
        encoder: Layers that the memory passes through before it is read; none where it is read as it is.
        encoder_norm: None, or a norm after the encoder's last layer.
        vocabulary: None, or the tokens that a model can write, and how it embeds them.
        readout: `similarity` adds logits, o · eᵀ over the distinct tokens, and their softmax; `vocabulary`
            the logits of the vocabulary.
        writing: None: decoding feeds the document's tokens and ends. Else how it goes on; see `Writing`.
        dtype: What engines compute in; documents keep float64.

    Raises:
        ValueError: one sentence that names the field, its value, and what would be legal.
    """

    tokens: tuple[str, ...]
    vectors: Vectors
    memory: Memory | None = None
    embedding_norm: Norm | None = None
    layers: tuple[Layer, ...] = ()
    final_norm: Norm | None = None
    encoder: tuple[Layer, ...] = ()
    encoder_norm: Norm | None = None
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
        self._check_around()
        self._check_sites()

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
        return self.tokens if self.read_memory is None else self.read_memory.tokens

    @property
    def read_memory(self) -> Memory | None:
        """The sequence that the first layer's own attention reads; None where it reads the tokens."""
        return self.memory if self.cross is None else None

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
        memory = self.read_memory
        return self.d_model if memory is None else vectors_shape(memory.vectors)[1]

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

    def _check_around(self) -> None:
        """Norms before and after the layers, the vocabulary, and whether what reads a memory has one."""
        d_memory = self.d_model if self.memory is None else vectors_shape(self.memory.vectors)[1]
        for name, features in (
            ("embedding_norm", self.d_model),
            ("final_norm", self.d_model),
            ("encoder_norm", d_memory),
        ):
            norm = getattr(self, name)
            if norm is not None:
                norm.check_size(name, features)
        if self.memory is None:
            for name in ("cross", "encoder_norm"):
                require(getattr(self, name) is None, name, "there", "null where there is no memory")
            require(not self.encoder, "encoder", Said("there"), "[] where there is no memory")
        if not self.encoder:
            require(self.encoder_norm is None, "encoder_norm", "there", "null where there is no encoder")
        for index, layer in enumerate(self.layers):
            same = (layer.cross is None) == (self.cross is None)
            legal = "null or not in all layers alike"
            require(same, f"layers[{index}].cross", Said("null" if self.cross else "there"), legal)
        for index, layer in enumerate(self.encoder):
            require(layer.cross is None, f"encoder[{index}].cross", "there", "null in an encoder")
        self._check_vocabulary()

    def _check_vocabulary(self) -> None:
        if self.vocabulary is None:
            require(
                self.readout != "vocabulary", "readout", self.readout, "'similarity' or 'none' without one"
            )
            return
        found = self.vocabulary.embedding.shape[1]
        legal = f"{self.d_model}, as the vectors have"
        require(found == self.d_model, "vocabulary.embedding", Said(f"{found} columns"), legal)

    def _check_sites(self) -> None:
        """Every attention but the experiment's own, which is checked with it, is legal as an experiment."""
        from attnviz.model.sites.sites import SiteError, at, places

        for place in places(self) if self._has_several else ():
            if not place.path:
                continue
            try:
                at(self, place.name)
            except FieldError as error:
                raise SiteError(self, place.name, error) from None

    @property
    def _has_several(self) -> bool:
        return bool(self.layers or self.encoder or self.cross)

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
