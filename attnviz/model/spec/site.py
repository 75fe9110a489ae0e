"""One mixer of an experiment: its parts, its place, the sequences that it reads, and its layer around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import replace

from attnviz.errors import FieldError, Message, must_be, size
from attnviz.model.spec.attention import Mixer, edits_beside_latent
from attnviz.model.spec.block import Block, FeedForward, Norm
from attnviz.model.spec.edit import Edit
from attnviz.model.spec.experts import Experts
from attnviz.model.spec.generation import Writing
from attnviz.model.spec.latent import Latent, tie_beside_latent
from attnviz.model.spec.parts import (
    ROLES,
    DType,
    Heads,
    Memory,
    Readout,
    References,
    Role,
    Vectors,
    check_tokens,
    is_transposed,
    tie_beside_tie,
    vectors_shape,
)
from attnviz.model.spec.positions import Learned, Position, Sinusoidal, Sizes
from attnviz.model.spec.rows import check_row
from attnviz.model.spec.value import Refusal, Value, check_drawn, refuse
from attnviz.model.spec.vocabulary import EmbeddingProjection, Transform, Vocabulary

Stack = Literal["layers", "encoder", "decoder"]
Kind = Literal["self", "cross"]


class Place(Value, frozen=True):
    """Place of a site: its stack, its layer, and which of its attentions.

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
    def field(self) -> Literal["layers", "encoder"]:
        """Field of the experiment that holds the layers of its stack."""
        return "encoder" if self.stack == "encoder" else "layers"

    @property
    def path(self) -> str:
        """Path of this attention in a document, such as `layers[0].cross`."""
        return f"{self.field}[{self.layer}]" + (".cross" if self.is_second else "")

    @property
    def precedes_cross(self) -> bool:
        """True if a second attention of the same layer follows, which reads the memory."""
        return self.stack == "decoder" and self.kind == "self"

    def refused(self, error: FieldError) -> FieldError:
        """An error of this site, its field named from the document's root."""
        return error.below(self.path)


class Inputs(Value, frozen=True):
    """The inputs of a site: outputs of other sites, each by its name; empty: vectors of the document.

    `tokens` is its token input, and `embedded` the site that begins with the token vectors behind that input;
    `memory` is the site whose output replaces the vectors of the memory.
    """

    tokens: str = ""
    embedded: str = ""
    memory: str = ""

    @property
    def begins(self) -> bool:
        """True if the token input are vectors of the document."""
        return not self.tokens


def sizes(n_tokens: int, d_model: int, heads: Heads, latent: Latent | None) -> Sizes:
    """Sizes that a position encoding must fit beside these heads and this latent."""
    d_rope = None if latent is None else latent.d_rope
    return Sizes(n_tokens, d_model, heads.n_heads, heads.d_head, d_rope)


class Surroundings(Value, frozen=True, kw_only=True):
    """All that surrounds a mixer in its layer: before the first layer, in the block, behind the last layer.

    Attributes:
        embedding_norm: None, or a norm before the first layer.
        embedding_projection: None, or a map of the token vectors to d_model features before the first layer.
        block: None, or norms, residual connections and a feed-forward layer.
        final_norm: None, or a norm after the last layer of the stack.
        vocabulary: The vocabulary, at the last site.
        readout: The read-out of the last site; `none` at all others.
        writing: The generation, at the last site.
    """

    embedding_norm: Norm | None = None
    embedding_projection: EmbeddingProjection | None = None
    block: Block | None = None
    final_norm: Norm | None = None
    vocabulary: Vocabulary | None = None
    readout: Readout = "none"
    writing: Writing | None = None

    @property
    def feed_forward(self) -> FeedForward | None:
        """The feed-forward layer of the block, if it has one."""
        return None if self.block is None else self.block.feed_forward

    @property
    def output_vocabulary(self) -> Vocabulary | None:
        """The vocabulary whose logits are computed; None for another read-out, or none."""
        return self.vocabulary if self.readout == "vocabulary" else None

    @property
    def transform(self) -> Transform | None:
        """The transform between the output and the logits of a vocabulary."""
        return None if self.output_vocabulary is None else self.output_vocabulary.transform

    @property
    def reads_distribution(self) -> bool:
        """True if the logits are those of one choice, so that they have probabilities."""
        classes = None if self.output_vocabulary is None else self.output_vocabulary.classes
        return self.readout != "none" and (classes is None or classes.distribution)


class Site(Mixer, frozen=True):
    """One mixer of one layer, with all inputs of its computation.

    It is derived (see `model/sites/sites.py`) and never stored. The program, provenance, explanations and
    forms work on one site and know no others. A path such as `block.norm_1` reads a field of the layer as one
    of the mixer, by its name; code reads `layer`. n, m, d_model, h, g and d_head are those of `Experiment`.

    Attributes:
        place: Its place in the stack.
        inputs: The sites that it reads.
        tokens: The n tokens along the query axis: the memory's for a site of the encoder.
        vectors: Their vectors, (n, d_model), unless `inputs.tokens` names the site whose output it reads.
        memory: The sequence of keys and values, m tokens; None: from the tokens themselves.
            The output of `inputs.memory`, if it names a site, replaces its vectors.
        layer: What stands around it in its layer.
        dtype: The precision of the engines.
        references: The pairs (pronoun, name) of positions; none in the encoder, whose tokens are others.
        edits: Cells and rows of its stages, and of those of its layer, that are edited by hand.

    Raises:
        FieldError: one sentence that names the field (from the site, see `Place.refused`), value and rule.
    """

    place: Place
    tokens: tuple[str, ...]
    vectors: Vectors
    memory: Memory | None = None
    inputs: Inputs = Inputs()
    layer: Surroundings = Surroundings()
    dtype: DType = "float32"
    references: References = ()
    edits: tuple[Edit, ...] = ()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if not hasattr(Surroundings, name):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return getattr(self.layer, name)

    def changed(self, **fields: Any) -> Site:
        """The site with other values in some fields, its own and those of its layer."""
        around = {name: fields.pop(name) for name in Surroundings.__struct_fields__ if name in fields}
        return replace(self, layer=replace(self.layer, **around), **fields)

    def check(self) -> None:
        check_tokens("tokens", self.tokens, "vectors", self.vectors)
        super().check()
        self._check_projections()
        self._check_qk_norm()
        if self.differential is not None:
            self.differential.check_size(self.heads.d_head)
        if self.gate is not None:
            self.gate.check_size(self.d_model, self.heads)
        self.position.check_at(self.sizes_for(self.position))
        if self.latent is not None:
            self.latent.check_size(self.d_model, self.d_keys, self.heads)
            refuse(edits_beside_latent(self.edits))
        if self.sinks is not None:
            self.sinks.check_heads(self.heads.n_heads)
        if self.layer.block is not None:
            self.layer.block.check_size("block", self.d_model)

    @property
    def n_queries(self) -> int:
        """Number of query tokens."""
        return len(self.tokens)

    @property
    def n_keys(self) -> int:
        """Number of tokens of keys and values."""
        return len(self.key_tokens)

    @property
    def key_tokens(self) -> tuple[str, ...]:
        """The tokens along the key axis: the memory's, or the queries' own."""
        return self.tokens if self.memory is None else self.memory.tokens

    @property
    def d_model(self) -> int:
        """Features of the vectors that the layers read."""
        widened = self.layer.embedding_projection
        return self.d_embedding if widened is None else widened.d_model

    @property
    def d_embedding(self) -> int:
        """Features of a token vector."""
        return vectors_shape(self.vectors)[1]

    def d_for(self, position: Position) -> int:
        """Features of the vectors that a position belongs to; an added one comes before the projection."""
        return self.d_embedding if isinstance(position, Learned | Sinusoidal) else self.d_model

    def sizes_for(self, position: Position) -> Sizes:
        """Sizes that a position encoding must fit in this site."""
        return sizes(self.n_queries, self.d_for(position), self.heads, self.latent)

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
        """Features of the input of keys and values: the memory's, or the tokens'."""
        return self.d_model if self.memory is None else vectors_shape(self.memory.vectors)[1]

    @property
    def score_factor(self) -> float | None:
        """The multiplier of raw scores: scale over temperature; None if neither is used."""
        is_used = self.scale.step(self.d_qk)[0] != "" or self.temperature != 1.0
        return self.scale.factor(self.d_qk) / self.temperature if is_used else None

    @property
    def gate_width(self) -> int:
        """Gates of each head. Raises `AssertionError` without any."""
        assert self.gate is not None
        return self.gate.width(self.heads)

    @property
    def logit_features(self) -> int:
        """Features that the logits are computed from."""
        known = self.layer.vocabulary
        return self.d_model if known is None else known.logit_features(self.d_model)

    def _check_projections(self) -> None:
        for role in ROLES:
            source = getattr(self.projections, role)
            expected = self.projection_shape(role)
            check_row(f"projections.{role}_bias", getattr(self.projections, f"{role}_bias"), expected[1])
            check_drawn(f"projections.{role}", expected)
            if source.written is not None and source.written.shape != expected:
                fitting = must_be("{shape} (in x out) for these vectors and heads", shape=size(expected))
                source.check_shape(f"projections.{role}", expected, fitting)
            if source.tied_to is not None:
                refuse(self._tied_shape(role, source.tied_to))

    def why_not_tied(self, role: Role, to: Role) -> Refusal:
        """Why W of `role` cannot be that of `to`; a matrix that is tied to `role` is unbound for it."""
        further = self.projections.tied_to(to)
        return (
            tie_beside_tie(role, to, None if further == role else further)
            or (None if self.latent is None else tie_beside_latent(role, to))
            or self._tied_shape(role, to)
        )

    def _tied_shape(self, role: Role, to: Role) -> Refusal:
        """The refusal of a tie between matrices of different shapes."""
        shape, expected = self.projection_shape(to), self.projection_shape(role)
        if is_transposed(role, to):
            shape = shape[::-1]
        if shape == expected:
            return None
        named = Message(
            "must name a projection of {shape}, not of {found}", shape=size(expected), found=size(shape)
        )
        return FieldError(f"projections.{role}.to", to, named)

    def _check_qk_norm(self) -> None:
        if self.qk_norm is not None:
            for name, width in self.qk_norm.gain_widths(self.heads).items():
                check_row(f"qk_norm.{name}", getattr(self.qk_norm, name), width)


NAMED = (
    *(name for name in Site.__struct_fields__ if name not in ("inputs", "layer")),
    *Surroundings.__struct_fields__,
)
"""The fields by which a path goes on from a site: its own, and those of its layer."""


def ffn_of(layer: Surroundings) -> FeedForward:
    """The feed-forward layer of a layer that has its stages."""
    assert layer.feed_forward is not None
    return layer.feed_forward


def experts_of(layer: Surroundings) -> Experts:
    """The experts of a layer that has their stages."""
    experts = ffn_of(layer).experts
    assert experts is not None
    return experts
