"""The parts of a block: norms, the feed-forward layer, and their placement around an attention."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, ClassVar, Literal

from attnviz.errors import FieldError, Message, must_be, size, twice
from attnviz.i18n import N_
from attnviz.model.memo import WeakMemo
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.bounds import LONGEST_NAME, LONGEST_TOKEN, Positive
from attnviz.model.spec.experts import Experts
from attnviz.model.spec.field import Field
from attnviz.model.spec.parts import BIAS, EPS, Dropout, Explicit, Identity, Seeded
from attnviz.model.spec.pieces import Pieces, writes_alike
from attnviz.model.spec.rows import Row, check_row
from attnviz.model.spec.tokenizer_file import LONGEST
from attnviz.model.spec.value import (
    Refusal,
    Value,
    check_drawn,
    check_texts,
    refuse,
    require,
)

__all__ = [
    "Block",
    "Classes",
    "EmbeddingProjection",
    "FeedForward",
    "Norm",
    "Transform",
    "Vocabulary",
]

NormKind = Literal["layer", "rms"]
NormPlacement = Literal["pre", "post", "sandwich", "parallel"]
ActivationKind = Literal[
    "relu",
    "gelu",
    "gelu_tanh",
    "silu",
    "sigmoid",
    "identity",
    "clamped_swish",
    "quick_gelu",
    "tanh",
    "relu_squared",
]
ClassReading = Literal["first", "last", "each"]
FeedForwardRole = Literal["gate", "up", "down", "router"]
Weights = Identity | Seeded | Explicit


class Norm(Value, frozen=True):
    """Each row normalised over its features, then times a gain, plus a bias; see `core/block.py`.

    `gain` null is 1 everywhere, `bias` null is 0; rms has no bias.
    """

    where: ClassVar[str] = "norm."

    kind: Annotated[NormKind, Field(N_("Norm"), N_("How each row is normalised"))] = "layer"
    eps: Annotated[float, EPS] = 1e-5
    gain: Annotated[
        Row | None,
        Field(N_("gain"), N_("Multiplies every feature by a number, initialised near 1; off: ones")),
    ] = None
    bias: Annotated[
        Row | None, Field(N_("bias"), N_("Adds a number to every feature, initialised near 0; off: zeros"))
    ] = None

    def check(self) -> None:
        if self.bias is not None:
            refuse(bias_beside_kind(self.kind, self.bias))

    def check_size(self, field: str, features: int) -> None:
        """Refuse a gain or a bias of another length than `features`."""
        check_row(f"{field}.gain", self.gain, features)
        check_row(f"{field}.bias", self.bias, features)


def bias_beside_kind(kind: NormKind, bias: Row) -> Refusal:
    """The refusal of a bias that a norm of this kind does not have."""
    return FieldError("norm.bias", bias, must_be("null in a norm of kind 'rms'")) if kind == "rms" else None


class FeedForward(Value, frozen=True):
    """Two linear maps with an activation between them, for each token alone (Vaswani et al. 2017).

    h = act(x W_up + b_up), or, gated, h = act(x W_gate + b_gate) * (x W_up + b_up) (Shazeer 2020); then
    y = h W_down + b_down. W_up and W_gate are (d_model, d_hidden), W_down (d_hidden, d_model).

    With `experts` the hidden features of all stand side by side, `width` of them, and each expert's are
    multiplied by the weight that the router x W_router + b_router gives it, 0 for most; see `Experts`. With
    weighted inputs the weight multiplies x W_gate + b_gate and x W_up + b_up instead.
    """

    where: ClassVar[str] = "feed_forward."

    d_hidden: Annotated[
        Positive,
        Field(
            N_("Hidden features, d_ff"),
            N_("Width between the two linear maps"),
            usual=(1, 256),
            typed=(1, 65_536),
            digits=0,
            logarithmic=True,
            normal=16,
        ),
    ]
    activation: Annotated[
        ActivationKind, Field(N_("Activation"), N_("Function between the two linear maps"))
    ] = "gelu"
    gated: Annotated[
        bool, Field(N_("Gated"), N_("A third matrix whose activations multiply the hidden features"))
    ] = False
    up: Annotated[
        Weights, Field(N_("Up projection"), N_("Source of W_up, which computes the hidden features"))
    ] = Seeded()
    gate: Annotated[
        Weights, Field(N_("Gate projection"), N_("Source of W_gate, which computes the gates"))
    ] = Seeded(1)
    down: Annotated[
        Weights, Field(N_("Down projection"), N_("Source of W_down, which computes the output"))
    ] = Seeded(2)
    up_bias: Annotated[Row | None, BIAS] = None
    gate_bias: Annotated[Row | None, BIAS] = None
    down_bias: Annotated[Row | None, BIAS] = None
    experts: Annotated[
        Experts | None,
        Field(
            N_("Experts"), N_("Several feed-forward layers, of which a router chooses some for each token")
        ),
    ] = None
    router: Annotated[
        Weights, Field(N_("Router"), N_("Source of W_router, which computes a logit for each expert"))
    ] = Seeded(3)
    router_bias: Annotated[Row | None, BIAS] = None

    def check(self) -> None:
        refuse(gate_beside_activation(self.activation, self.gated))

    def shape(self, role: FeedForwardRole, d_model: int) -> tuple[int, int]:
        """(in, out) of one of its matrices."""
        if role == "router":
            return (d_model, 1 if self.experts is None else self.experts.n_columns)
        return (self.routed_width, d_model) if role == "down" else (d_model, self.width)

    @property
    def width(self) -> int:
        """Hidden features, those of all experts side by side."""
        experts = self.experts
        return self.d_hidden if experts is None else experts.n * self.d_hidden + experts.d_shared

    @property
    def routed_width(self) -> int:
        """Hidden features with the ones of the experts' biases, which W_down reads."""
        experts = self.experts
        return self.width + (experts.n if experts is not None and experts.biased else 0)

    @property
    def scales_inputs(self) -> bool:
        """True if the weights of experts multiply gate and up."""
        return self.experts is not None and self.experts.weighted == "input"

    @property
    def scales_outputs(self) -> bool:
        """True if the weights of experts multiply the hidden features."""
        return self.experts is not None and self.experts.weighted == "output"

    @property
    def n_weighted(self) -> int:
        """Stages that the weights of experts multiply: gate and up, or the hidden features; 0 without any."""
        return self.scales_inputs * (1 + self.gated) + self.scales_outputs

    @property
    def roles(self) -> tuple[FeedForwardRole, ...]:
        """The matrices that it uses."""
        is_used = {"gate": self.gated, "router": self.experts is not None}
        return tuple(role for role in FEED_FORWARD_ROLES if is_used.get(role, True))

    def check_size(self, field: str, d_model: int) -> None:
        """Refuse matrices and biases that do not fit `d_model` features."""
        for role in FEED_FORWARD_ROLES:
            shape, source = self.shape(role, d_model), getattr(self, role)
            check_drawn(f"{field}.{role}", shape)
            if source.written is not None:
                fitting = must_be("{shape} (in x out) for these vectors and this d_hidden", shape=size(shape))
                source.check_shape(f"{field}.{role}", shape, fitting)
            check_row(f"{field}.{role}_bias", getattr(self, f"{role}_bias"), shape[1])
        if self.experts is not None:
            self.experts.check_size(f"{field}.experts")


FEED_FORWARD_ROLES: tuple[FeedForwardRole, ...] = ("gate", "up", "down", "router")


def gate_beside_activation(activation: ActivationKind, gated: bool) -> Refusal:
    """The refusal of an activation that needs a gate, without one."""
    if gated or activation != "clamped_swish":
        return None
    return FieldError("feed_forward.gated", gated, must_be("true with the activation 'clamped_swish'"))


class Block(Value, frozen=True):
    """Parts around an attention: norms, residual connections, the feed-forward layer.

    With x the input, A the attention and F the feed-forward layer, either norm omitted if it is null:

        pre:       y = x + A(norm_1(x))             z = y + F(norm_2(y))          (Xiong et al. 2020)
        post:      y = norm_1(x + A(x))             z = norm_2(y + F(y))          (Vaswani et al. 2017)
        sandwich:  y = x + after_1(A(norm_1(x)))    z = y + after_2(F(norm_2(y))) (Ding et al. 2021, Gemma 2)
        parallel:  z = x + A(norm_1(x)) + F(norm_2(x)), F of norm_1(x) where norm_2 is null (GPT-J, GPT-NeoX)

    Without `residual`: y = A(…), z = F(…). What is added to the input of each half is multiplied by
    `residual_scale` before (Granite). `dropout` acts on both outputs, A(…) and F(…), before all else (the
    P_drop of Vaswani et al. 2017, the resid_pdrop of GPT-2).
    """

    where: ClassVar[str] = "block."

    placement: Annotated[
        NormPlacement,
        Field(
            N_("Norm placement"),
            N_("Placement of the norms relative to attention and feed-forward layer"),
            options=(
                (
                    "pre",
                    N_("pre"),
                    N_("x + A(norm(x)): a norm before the attention and before the feed-forward layer"),
                ),
                (
                    "post",
                    N_("post"),
                    N_("norm(x + A(x)): a norm after each residual sum, as in the original transformer"),
                ),
                ("sandwich", N_("sandwich"), N_("x + norm(A(norm(x))): a norm on both sides")),
                ("parallel", N_("parallel"), N_("x + A(norm(x)) + F(norm(x)): both read the same input")),
            ),
        ),
    ] = "pre"
    residual: Annotated[
        bool,
        Field(
            N_("Residual connections"),
            N_("Adds the input to the output of the attention and of the feed-forward layer"),
        ),
    ] = True
    norm_1: Annotated[Norm | None, Field(N_("norm 1"), N_("The norm of the attention"))] = Norm()
    feed_forward: Annotated[
        FeedForward | None,
        Field(
            N_("Feed-forward layer"),
            N_("Two linear maps with an activation between them, applied to each token separately"),
        ),
    ] = None
    norm_2: Annotated[Norm | None, Field(N_("norm 2"), N_("The norm of the feed-forward layer"))] = None
    after_1: Annotated[
        Norm | None,
        Field(N_("post-norm 1"), N_("The norm of the attention's output, before the residual sum")),
    ] = None
    after_2: Annotated[
        Norm | None,
        Field(N_("post-norm 2"), N_("The norm of the feed-forward layer's output, before the residual sum")),
    ] = None
    residual_scale: Annotated[
        float,
        Field(
            N_("Residual factor"),
            N_("Multiplies the outputs of attention and feed-forward layer before they are added"),
            usual=(0, 2),
            typed=(-100, 100),
            digits=3,
            step=0.01,
            normal=1,
        ),
    ] = 1.0
    dropout: Annotated[
        Dropout,
        Field(
            N_("Residual dropout"),
            N_("Sets outputs of attention and feed-forward layer to 0 at random, as in training"),
        ),
    ] = Dropout()

    def check(self) -> None:
        if self.feed_forward is None:
            for name in ("norm_2", "after_2"):
                needs = Message("needs a feed-forward layer")
                require(getattr(self, name) is None, f"block.{name}", self.feed_forward, needs)
        refuse(residual_beside_placement(self.placement, self.residual))
        if self.placement != "sandwich":
            for name in ("after_1", "after_2"):
                needs = Message("needs the placement 'sandwich'")
                require(getattr(self, name) is None, f"block.{name}", self.placement, needs)

    def check_size(self, field: str, d_model: int) -> None:
        """Refuse gains, biases and matrices that do not fit `d_model` features."""
        for name in NORMS:
            norm = getattr(self, name)
            if norm is not None:
                norm.check_size(f"{field}.{name}", d_model)
        if self.feed_forward is not None:
            self.feed_forward.check_size(f"{field}.feed_forward", d_model)


def residual_beside_placement(placement: NormPlacement, residual: bool) -> Refusal:
    """The refusal of a placement that is a sum, without residual connections."""
    if residual or placement != "parallel":
        return None
    return FieldError("block.residual", residual, must_be("true with the placement 'parallel'"))


NORMS = ("norm_1", "after_1", "norm_2", "after_2")
"""The norms of a block by name."""


class EmbeddingProjection(Value, frozen=True):
    """A linear map from token vectors to wider ones before the first layer: x W_X + b_X.

    W_X is (features of a token vector, d_model). It comes after the position and the first norm: the
    factorised embedding of Lan et al. 2020, ALBERT.
    """

    where: ClassVar[str] = "embedding_projection."

    d_model: Annotated[
        Positive,
        Field(
            N_("Layer width"),
            N_("Features of the vectors that the layers read, d_model"),
            usual=(1, 256),
            typed=(1, 65_536),
            digits=0,
            logarithmic=True,
            normal=16,
        ),
    ]
    weights: Annotated[
        Weights, Field(N_("Embedding projection"), N_("Source of W_X, which widens the token vectors"))
    ] = Seeded()
    bias: Annotated[Row | None, BIAS] = None

    def check_size(self, field: str, d_embedding: int) -> None:
        """Refuse a matrix and a bias that do not fit token vectors of `d_embedding` features."""
        shape = (d_embedding, self.d_model)
        check_drawn(field, shape)
        fitting = must_be("{shape} (in x out) for these vectors and this d_model", shape=size(shape))
        self.weights.check_shape(f"{field}.weights", shape, fitting)
        check_row(f"{field}.bias", self.bias, self.d_model)


class Transform(Value, frozen=True):
    """The transform between a model's output and its vocabulary: t = o W_T + b_T, h = act(t), then a norm of
    h.

    W_T is (d_model, features of an embedding), before classes (d_model, d_model). Models that fill in masked
    tokens have it (Devlin et al. 2019, BERT).
    """

    where: ClassVar[str] = "vocabulary.transform."

    weights: Annotated[
        Weights,
        Field(N_("Transform"), N_("Source of W_T, which transforms the output before the vocabulary")),
    ] = Seeded()
    bias: Annotated[Row | None, BIAS] = None
    activation: Annotated[ActivationKind, Field(N_("Activation"), N_("Activation after the linear map"))] = (
        "gelu"
    )
    norm: Annotated[Norm | None, Field(N_("Norm"), N_("The norm of the transform's output"))] = Norm()

    def check(self) -> None:
        needs_no_gate = self.activation != "clamped_swish"
        requirement = must_be("an activation without a gate")
        require(needs_no_gate, f"{self.where}activation", self.activation, requirement)

    def check_size(self, field: str, shape: tuple[int, int]) -> None:
        """Refuse a matrix of another shape than (in, out), and a bias and a norm that do not fit it."""
        check_drawn(field, shape)
        fitting = must_be("{shape} (in x out)", shape=size(shape))
        self.weights.check_shape(f"{field}.weights", shape, fitting)
        check_row(f"{field}.bias", self.bias, shape[1])
        if self.norm is not None:
            self.norm.check_size(f"{field}.norm", shape[1])


class Classes(Value, frozen=True):
    """The classes of a classifier, whose logits stand in the place of those of the vocabulary's tokens.

    `reads` is the position whose logits a classifier reports; the stage has those of every token. Without
    `distribution` the logits are scores by themselves (a regression, several classes at once, the ends of an
    answer), and no softmax follows.
    """

    where: ClassVar[str] = "vocabulary.classes."

    labels: Annotated[tuple[str, ...], Field(N_("Classes"), N_("Names of the classes, one for each logit"))]
    reads: Annotated[
        ClassReading, Field(N_("Reported position"), N_("Position whose logits the classifier reports"))
    ] = "each"
    distribution: Annotated[
        bool, Field(N_("Probabilities of classes"), N_("Adds the softmax of the logits"))
    ] = True

    def check(self) -> None:
        require(bool(self.labels), f"{self.where}labels", [], must_be("a list of at least one class"))
        check_texts(self.where + "labels[{index}]", self.labels, LONGEST_NAME)


class Vocabulary(Value, frozen=True):
    """A model's vocabulary: texts of its tokens, their embedding, and its read-out to logits.

    `embedding` is (token, features), and vectors are its rows times `embedding_scale`. Logits are output W_U
    + bias, times `logit_scale`, then cap · tanh(l / cap) with a cap; W_U (d_model, token), behind a transform
    (features, token), is the transposed embedding if `unembedding` is null.

    Each text is one token; `begin` is the one before every text, `end` the one after which a text is over,
    and `pieces` define the tokenisation; without them, `tokenizer` is the text of the model's own
    tokenizer.json, which the package tokenizers runs. With a `transform` the output passes through that
    before W_U. With `classes` W_U is (d_model, class), and no token is generated.
    """

    where: ClassVar[str] = "vocabulary."

    tokens: Annotated[tuple[str, ...], Field(N_("Tokens"), N_("Texts of the tokens, each once"))]
    embedding: Annotated[Matrix, Field(N_("Embedding"), N_("Vectors of the tokens, one row per token"))]
    embedding_scale: Annotated[
        float, Field(N_("Embedding scale"), N_("Multiplies the embedding of every token"))
    ] = 1.0
    unembedding: Annotated[
        Matrix | None,
        Field(N_("Unembedding"), N_("Matrix that computes the logits; without it, the transposed embedding")),
    ] = None
    bias: Annotated[Row | None, Field(N_("Logit bias"), N_("Adds one number per token to the logits"))] = None
    logit_scale: Annotated[float, Field(N_("Logit scale"), N_("Multiplies the logits"))] = 1.0
    cap: Annotated[
        float | None,
        Field(N_("Logit cap"), N_("cap · tanh(logit ÷ cap): bounds every logit by the cap"), above=0),
    ] = None
    begin: Annotated[str | None, Field(N_("Begin token"), N_("The token before every text"))] = None
    end: Annotated[str | None, Field(N_("End token"), N_("The token after which a text ends"))] = None
    pieces: Annotated[Pieces | None, Field(N_("Pieces"), N_("How a text is split into tokens"))] = None
    tokenizer: Annotated[str | None, Field(N_("Tokenizer"), N_("Text of the model's tokenizer.json"))] = None
    transform: Annotated[
        Transform | None,
        Field(N_("Transform"), N_("A linear map, an activation and a norm before the vocabulary")),
    ] = None
    classes: Annotated[
        Classes | None, Field(N_("Classes"), N_("Classes of a classifier, in place of the tokens"))
    ] = None

    def check(self) -> None:
        n, rows = len(self.tokens), self.embedding.shape[0]
        one_each = Message("must have {n} rows, one for each token", n=n)
        require(rows == n, "vocabulary.embedding", Message("{n} rows", n=rows), one_each)
        check_row("vocabulary.bias", self.bias, self.n_logits)
        _check_texts(self)

    @property
    def n_logits(self) -> int:
        """Number of logits of a token: of the classes, or of all tokens."""
        return len(self.tokens if self.classes is None else self.classes.labels)

    def check_size(self, d_model: int, is_read: bool) -> None:
        """Refuse matrices that do not fit an output of `d_model` features, from which logits are read."""
        wanted, own = (self.logit_features(d_model), self.n_logits), self.unembedding
        if self.transform is not None:
            self.transform.check_size("vocabulary.transform", (d_model, wanted[0]))
        if own is not None:
            require(own.shape == wanted, "vocabulary.unembedding", size(own.shape), must_be(size(wanted)))
            return
        own_one = must_be("a matrix with vocabulary.classes")
        require(self.classes is None, "vocabulary.unembedding", None, own_one)
        fits = not is_read or self.embedding.shape[1] == wanted[0]
        needed = must_be("a matrix where the embedding has other features than the {n} read", n=wanted[0])
        require(fits, "vocabulary.unembedding", None, needed)

    def logit_features(self, d_model: int) -> int:
        """Number of features that W_U reads: of the output, or of the transform of it."""
        is_wide = self.transform is None or self.classes is not None
        return d_model if is_wide else self.embedding.shape[1]


def _texts(vocabulary: Vocabulary) -> None:
    """Refuse tokens that occur twice, ends that are no tokens, and a tokenisation that does not fit them."""
    check_texts("vocabulary.tokens[{index}]", vocabulary.tokens, LONGEST_TOKEN)
    known = must_be("one of vocabulary.tokens, or null")
    for name in ("begin", "end"):
        token = getattr(vocabulary, name)
        require(token is None or token in vocabulary.tokens, f"vocabulary.{name}", token, known)
    if vocabulary.pieces is not None:
        vocabulary.pieces.check_tokens(vocabulary.tokens)
    if vocabulary.tokenizer is not None:
        text = must_be("the text of a tokenizer.json of at most {most:,} characters", most=LONGEST)
        is_text = len(vocabulary.tokenizer) <= LONGEST and vocabulary.tokenizer.startswith("{")
        require(is_text, "vocabulary.tokenizer", vocabulary.tokenizer, text)
    if len(set(vocabulary.tokens)) < len(vocabulary.tokens):
        token = next(token for token, count in Counter(vocabulary.tokens).items() if count > 1)
        raise FieldError("vocabulary.tokens", twice(token), Message("must contain each text once"))


_check_texts = WeakMemo(_texts, like=writes_alike)
"""The check of a vocabulary's texts: an edit of one number of its matrices does not repeat it."""
