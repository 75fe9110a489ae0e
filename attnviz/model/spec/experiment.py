"""The experiment: everything that changes a number, and nothing else."""

from __future__ import annotations

from attnviz.errors import NEEDS_MEMORY, Message, must_be
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.block import Norm, Vocabulary
from attnviz.model.spec.generation import Writing
from attnviz.model.spec.parts import DType, Memory, Readout, Vectors, check_tokens, vectors_shape
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
    or what the block's norm or the layer before made of them; z is x, or the memory; R rotates pairs of
    features if the position is RoPE; `relative` are the terms of Transformer-XL or DeBERTa; query head i
    reads key/value head i // (h / g). Vaswani et al. 2017; Shazeer 2019 and Ainslie et al. 2023 for g < h.

    `model/sites/sites.py` names the attentions of an experiment and derives the `Site` of each.

    Attributes:
        tokens: The n texts, shown and never interpreted.
        vectors: Explicit or seeded, (n, d_model).
        memory: The memory sequence; None for self-attention. Without `cross` attentions, the layers
            themselves read keys and values from it.
        embedding_norm: None, or a norm of the token vectors and their position before the first layer.
        layers: The layers behind the first one, which is the experiment itself.
        final_norm: None, or a norm after the last layer.
        encoder: Layers that the memory passes through before it is read; none if it is read unchanged.
        encoder_norm: None, or a norm after the encoder's last layer.
        vocabulary: None, or the tokens that a model can write, and how it embeds them.
        readout: `similarity` adds logits, o · eᵀ over the distinct tokens, and their softmax; `vocabulary`
            the logits of the vocabulary.
        writing: None: decoding computes the document's tokens and ends. Else its continuation; see `Writing`.
        dtype: The precision of the engines; documents keep float64.

    Raises:
        FieldError: the field, its value, and the requirement that it breaks.
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
        self._check_around()
        self._check_sites()

    @property
    def n_queries(self) -> int:
        """Number of tokens."""
        return len(self.tokens)

    @property
    def d_model(self) -> int:
        """Features of a token vector."""
        return vectors_shape(self.vectors)[1]

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
            for name in ("cross", "encoder", "encoder_norm"):
                require(not getattr(self, name), name, None, NEEDS_MEMORY)
        if not self.encoder:
            require(self.encoder_norm is None, "encoder_norm", [], Message("needs encoder layers"))
        for index, layer in enumerate(self.layers):
            same = (layer.cross is None) == (self.cross is None)
            alike = must_be("null in all layers or in none")
            require(same, f"layers[{index}].cross", layer.cross, alike)
        for index, layer in enumerate(self.encoder):
            require(
                layer.cross is None, f"encoder[{index}].cross", layer.cross, must_be("null in an encoder")
            )
        self._check_vocabulary()

    def _check_vocabulary(self) -> None:
        if self.vocabulary is None:
            without = must_be("'similarity' or 'none' without a vocabulary")
            require(self.readout != "vocabulary", "readout", self.readout, without)
            return
        found = self.vocabulary.embedding.shape[1]
        as_wide = must_be("as wide as the token vectors ({n} columns)", n=self.d_model)
        require(found == self.d_model, "vocabulary.embedding", Message("{n} columns", n=found), as_wide)

    def _check_sites(self) -> None:
        """Check that every attention is valid at its place."""
        from attnviz.model.sites.sites import sites

        sites(self)
