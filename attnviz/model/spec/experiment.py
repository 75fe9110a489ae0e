"""The experiment: everything that changes a number, and nothing else."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import StructMeta

from attnviz.errors import NEEDS_MEMORY, FieldError, Message, must_be, of_length
from attnviz.i18n import N_
from attnviz.model.notebook import html
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.block import Norm
from attnviz.model.spec.field import Field
from attnviz.model.spec.generation import Writing
from attnviz.model.spec.parts import (
    DType,
    Memory,
    Readout,
    References,
    Vectors,
    check_references,
    check_tokens,
    vectors_shape,
)
from attnviz.model.spec.value import Refusal, Value, refuse, require
from attnviz.model.spec.vocabulary import EmbeddingProjection, Vocabulary


class _Constructor(StructMeta):
    """Calls the constructor of an experiment, and names that of one layer to a script for version 0.1."""

    def __call__(cls, *args: Any, **fields: Any) -> Any:
        of_layer = [name for name in fields if name in Layer.__struct_fields__]
        if of_layer:
            given = ", ".join(f"{name}=…" for name in of_layer)
            raise TypeError(f"Fields of a layer must go to attnviz.one_layer(tokens, vectors, {given}).")
        return super().__call__(*args, **fields)


class Experiment(Value, frozen=True, metaclass=_Constructor):
    """Attention, completely specified: everything that changes a number, and nothing else.

    An experiment has one layer or more (see `Layer` and `Attention`) and the sequences that they read. With n
    tokens of d_model features, m keys (m = n, or the number of memory tokens), h query heads and g key/value
    heads of d_head features, one head of one attention computes

        q = R(norm(x W_Q))      k = R(norm(z W_K))      v = z W_V     (from a latent: see `latent_parts`)
        s = cap((q kᵀ + relative) · scale / temperature) + bias,   -inf where a mask blocks
        w = softmax(s) over keys, or another normaliser, or with a sink, then dropout
        o = concat over heads(w v) W_O

    where x (n, d_model) are the token vectors, plus sines or a table's rows where the position is additive,
    or the result of the block's norm or of the previous layer; z is x, or the memory; R rotates pairs of
    features if the position is RoPE; `relative` are the terms of Transformer-XL or DeBERTa; query head i
    reads key/value head i // (h / g). Vaswani et al. 2017; Shazeer 2019 and Ainslie et al. 2023 for g < h.

    `model/sites/sites.py` names the attentions of an experiment and derives the `Site` of each.

    Attributes:
        tokens: The n texts, shown and never interpreted.
        vectors: Explicit or seeded, (n, d_model), or narrower before an `embedding_projection`.
        memory: The memory sequence; None for self-attention. Without `cross` attentions, the layers
            themselves read keys and values from it.
        embedding_norm: None, or a norm of the token vectors and their position before the first layer.
        embedding_projection: None, or a linear map of the token vectors to d_model features, after that norm.
        layers: The layers that read the tokens, one or more, from the first to the last.
        final_norm: None, or a norm after the last layer.
        encoder: Layers that the memory passes through before it is read; none if it is read unchanged.
        encoder_norm: None, or a norm after the encoder's last layer.
        encoder_embedding_norm: None, or a norm of the memory's vectors and their position before the encoder.
        vocabulary: None, or the tokens that a model can generate, and how it embeds them.
        readout: `similarity` adds logits, o · eᵀ over the distinct tokens, and their softmax; `vocabulary`
            the logits of the vocabulary.
        writing: None: decoding computes the document's tokens and ends. Else its continuation; see `Writing`.
        dtype: The precision of the engines; documents keep float64.
        references: Pairs (pronoun, token of the name that it refers to) of positions, which a score of the
            heads reads. A name of several tokens has a pair for each.

    Raises:
        FieldError: the field, its value, and the requirement that it breaks.
        TypeError: a field of a layer, which `one_layer` takes.
    """

    tokens: Annotated[tuple[str, ...], Field(N_("Tokens"), N_("Texts of the tokens, in order"))]
    vectors: Annotated[Vectors, Field(N_("Token vectors"), N_("Vector of each token"))]
    memory: Annotated[
        Memory | None, Field(N_("Memory sequence"), N_("Sequence that cross-attention reads"))
    ] = None
    embedding_norm: Annotated[
        Norm | None,
        Field(N_("Embedding norm"), N_("Normalises the token vectors before the first layer")),
    ] = None
    layers: Annotated[tuple[Layer, ...], Field(N_("Layers"), N_("Layers that read the tokens, in order"))] = (
        Layer(),
    )
    final_norm: Annotated[
        Norm | None, Field(N_("Final norm"), N_("Normalises the output of the last layer"))
    ] = None
    encoder: Annotated[
        tuple[Layer, ...],
        Field(
            N_("Encoder layers"), N_("Layers that encode the memory sequence before cross-attention reads it")
        ),
    ] = ()
    encoder_norm: Annotated[
        Norm | None, Field(N_("Encoder norm"), N_("Normalises the output of the encoder"))
    ] = None
    vocabulary: Annotated[
        Vocabulary | None, Field(N_("Vocabulary"), N_("Tokens that the model can generate, with embeddings"))
    ] = None
    readout: Annotated[
        Readout,
        Field(N_("Similarity read-out"), N_("Computes logits and probabilities from the output")),
    ] = "none"
    writing: Annotated[
        Writing | None, Field(N_("Generation"), N_("How the text continues after the prompt"))
    ] = None
    dtype: Annotated[DType, Field(N_("Precision"), N_("Number format of the engine"))] = "float32"
    encoder_embedding_norm: Annotated[
        Norm | None,
        Field(
            N_("Encoder embedding norm"),
            N_("Normalises the vectors of the memory sequence before the encoder's first layer"),
        ),
    ] = None
    embedding_projection: Annotated[
        EmbeddingProjection | None,
        Field(N_("Embedding projection"), N_("A linear map of token vectors before the first layer")),
    ] = None
    references: Annotated[
        References,
        Field(
            N_("References"),
            N_("Pairs of positions, counted from 0: a pronoun, and a token of the name that it refers to"),
        ),
    ] = ()

    def check(self) -> None:
        require(bool(self.layers), "layers", of_length(0), must_be("a list of at least one layer"))
        check_tokens("tokens", self.tokens, "vectors", self.vectors)
        check_references(self.references, len(self.tokens))
        self._check_around()
        self._check_sites()

    def _repr_html_(self) -> str | None:
        return html(self)

    @property
    def n_queries(self) -> int:
        """Number of tokens."""
        return len(self.tokens)

    @property
    def d_model(self) -> int:
        """Features of the vectors that the layers read."""
        widened = self.embedding_projection
        return self.d_embedding if widened is None else widened.d_model

    @property
    def d_embedding(self) -> int:
        """Features of a token vector."""
        return vectors_shape(self.vectors)[1]

    @property
    def has_cross(self) -> bool:
        """True if each layer has a second attention, which reads the memory."""
        return self.layers[0].cross is not None

    def differs_in_vectors(self, other: Experiment) -> bool:
        """True if it is another experiment whose vectors alone have other numbers, as in a drag of one."""
        if self is other or vectors_shape(self.vectors) != vectors_shape(other.vectors):
            return False
        others = (name for name in self.__struct_fields__ if name != "vectors")
        pairs = ((getattr(self, name), getattr(other, name)) for name in others)
        return all(one is another or one == another for one, another in pairs)

    def _check_around(self) -> None:
        """Norms before and after the layers, the vocabulary, and whether what reads a memory has one."""
        d_memory = self.d_model if self.memory is None else vectors_shape(self.memory.vectors)[1]
        for name, features in (
            ("embedding_norm", self.d_embedding),
            ("final_norm", self.d_model),
            ("encoder_norm", d_memory),
            ("encoder_embedding_norm", d_memory),
        ):
            norm = getattr(self, name)
            if norm is not None:
                norm.check_size(name, features)
        if self.embedding_projection is not None:
            self.embedding_projection.check_size("embedding_projection", self.d_embedding)
        if self.memory is None:
            require(not self.has_cross, "layers[0].cross", None, NEEDS_MEMORY)
            for name in ("encoder", "encoder_norm", "encoder_embedding_norm"):
                require(not getattr(self, name), name, None, NEEDS_MEMORY)
        if not self.encoder:
            for name in ("encoder_norm", "encoder_embedding_norm"):
                require(getattr(self, name) is None, name, [], Message("needs encoder layers"))
        for index, layer in enumerate(self.layers):
            same = (layer.cross is None) == (not self.has_cross)
            alike = must_be("null in all layers or in none")
            require(same, f"layers[{index}].cross", layer.cross, alike)
        for index, layer in enumerate(self.encoder):
            require(
                layer.cross is None, f"encoder[{index}].cross", layer.cross, must_be("null in an encoder")
            )
        self._check_vocabulary()

    def _check_vocabulary(self) -> None:
        if self.readout == "similarity":
            refuse(similarity_beside_projection(self.d_embedding, self.d_model))
        if self.vocabulary is None:
            without = must_be("'similarity' or 'none' without a vocabulary")
            require(self.readout != "vocabulary", "readout", self.readout, without)
            return
        columns = self.vocabulary.embedding.shape[1]
        if columns != self.d_embedding:
            as_wide = must_be("as wide as the token vectors ({n} columns)", n=self.d_embedding)
            raise FieldError("vocabulary.embedding", Message("{n} columns", n=columns), as_wide)
        self.vocabulary.check_size(self.d_model, self.readout == "vocabulary")

    def _check_sites(self) -> None:
        """Check that every attention is valid at its place."""
        from attnviz.model.sites.sites import sites

        sites(self)


def similarity_beside_projection(d_embedding: int, d_model: int) -> Refusal:
    """The refusal of a similarity of outputs and token vectors of different widths."""
    if d_embedding == d_model:
        return None
    alike = must_be("'vocabulary' or 'none' behind an embedding of other features")
    return FieldError("readout", "similarity", alike)


def one_layer(tokens: tuple[str, ...], vectors: Vectors, **fields: Any) -> Experiment:
    """An experiment of one layer: `fields` of `Layer` belong to that layer, the others to the experiment.

    Raises `FieldError` as `Experiment` does, and `TypeError` for a field that neither has.
    """
    of_layer = {name: fields.pop(name) for name in Layer.__struct_fields__ if name in fields}
    return Experiment(tokens, vectors, layers=(Layer(**of_layer),), **fields)
