"""The vocabulary of an experiment: its embedding, the read-out of its logits, and a head for classes."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, ClassVar, Literal

from attnviz.errors import FieldError, Message, must_be, size, twice
from attnviz.i18n import N_
from attnviz.model.memo import WeakMemo
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.block import ActivationKind, Norm, Weights
from attnviz.model.spec.bounds import LONGEST_NAME, LONGEST_TOKEN, Positive
from attnviz.model.spec.field import Field
from attnviz.model.spec.parts import BIAS, Seeded
from attnviz.model.spec.pieces import Pieces, writes_alike
from attnviz.model.spec.rows import Row, check_row
from attnviz.model.spec.tokenizer_file import LONGEST
from attnviz.model.spec.value import Value, check_drawn, check_texts, require

__all__ = [
    "Classes",
    "EmbeddingProjection",
    "Transform",
    "Vocabulary",
]

ClassReading = Literal["first", "last", "each"]


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
