"""`CLASS_HEADS`: the heads of classifiers that are linear maps of each token, perhaps of a transform of it.

Names as in `transformers`; a head with other tensors beside these is not read, and said so. Of a text, a
classifier reports the logits of one position; those of the others are computed alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from attnviz.checkpoints.families.family import ACTIVATIONS, Array
from attnviz.checkpoints.filling import in_memory, matrix_of
from attnviz.checkpoints.plan import architecture, left_out
from attnviz.checkpoints.reader import Checkpoint
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.block import ActivationKind, Norm
from attnviz.model.spec.parts import Explicit
from attnviz.model.spec.rows import WrittenRow
from attnviz.model.spec.vocabulary import Classes, ClassReading, Transform

Settings = Mapping[str, Any]

TOKENS = r"For(TokenClassification|QuestionAnswering(Simple)?)$"
TEXTS = r"For(SequenceClassification|NextSentencePrediction)$"
IMAGES = r"ForImageClassification$"


def _always(activation: ActivationKind) -> Callable[[Settings], ActivationKind | None]:
    return lambda config: activation


def _named(key: str, default: str) -> Callable[[Settings], ActivationKind | None]:
    return lambda config: ACTIVATIONS.get(str(config.get(key, default)))


@dataclass(frozen=True)
class ClassHead:
    """One kind of head: the classes that have it, the stems of its maps, the position that it reports.

    `out` is the map to the logits; `dense` that of a transform before it, `norm` the norm behind that;
    `model_types` are those that have it; none: all. `activation(config)` is None for an unknown one.
    `is_read(config)` is false for settings with which the logits are no map of one token.
    """

    architectures: str
    out: str
    reads: ClassReading
    model_types: tuple[str, ...] = ()
    dense: str = ""
    activation: Callable[[Settings], ActivationKind | None] = _always("tanh")
    norm: str = ""
    is_read: Callable[[Settings], bool] = lambda config: True

    @property
    def stems(self) -> tuple[str, ...]:
        """The stems of all its tensors."""
        return tuple(stem for stem in (self.dense, self.norm, self.out) if stem)


_ROBERTA = ("roberta", "xlm-roberta")

CLASS_HEADS: tuple[ClassHead, ...] = (
    ClassHead(TOKENS, "classifier", "each"),
    ClassHead(TOKENS, "score", "each"),
    ClassHead(TOKENS, "qa_outputs", "each"),
    ClassHead(TEXTS, "classifier", "first", ("bert",), "bert.pooler.dense"),
    ClassHead(TEXTS, "classifier", "first", ("albert",), "albert.pooler"),
    ClassHead(TEXTS, "cls.seq_relationship", "first", ("bert",), "bert.pooler.dense"),
    ClassHead(TEXTS, "classifier.out_proj", "first", _ROBERTA, "classifier.dense"),
    ClassHead(TEXTS, "classifier.out_proj", "first", ("electra",), "classifier.dense", _always("gelu")),
    ClassHead(TEXTS, "classifier", "first", ("distilbert",), "pre_classifier", _always("relu")),
    ClassHead(
        TEXTS, "classifier", "first", ("deberta-v2",), "pooler.dense", _named("pooler_hidden_act", "gelu")
    ),
    ClassHead(
        r"For(Sequence|Token)Classification$",
        "classifier",
        "first",
        ("modernbert",),
        "head.dense",
        _named("classifier_activation", "gelu"),
        "head.norm",
        lambda config: config.get("classifier_pooling", "cls") == "cls",
    ),
    ClassHead(TEXTS, "classification_head.out_proj", "last", ("bart", "t5"), "classification_head.dense"),
    ClassHead(
        TEXTS,
        "logits_proj",
        "last",
        ("xlnet",),
        "sequence_summary.summary",
        _named("summary_activation", "tanh"),
        is_read=lambda config: config.get("summary_type", "last") == "last",
    ),
    ClassHead(TEXTS, "score", "last"),
    ClassHead(IMAGES, "classifier", "first", ("vit",)),
)
"""Heads in the order in which they are tried."""

SPANS = ("start", "end")
"""The two logits of a model that answers questions: of the first and of the last token of an answer."""


def class_head(checkpoint: Checkpoint) -> ClassHead | None:
    """The head of a checkpoint; None if it has none, or one that is no map of each token."""
    config, there = checkpoint.config, set(checkpoint.tensors)
    for head in CLASS_HEADS:
        fits = not head.model_types or config.get("model_type") in head.model_types
        if not (fits and re.search(head.architectures, architecture(config)) and head.is_read(config)):
            continue
        has_all = all(f"{stem}.weight" in there for stem in head.stems)
        if has_all and not unread(checkpoint, head) and head.activation(config) is not None:
            return head
    return None


def unread(checkpoint: Checkpoint, head: ClassHead | None) -> tuple[str, ...]:
    """The tensors of a classifier's head that this one does not have."""
    own = (
        () if head is None else tuple(f"{stem}.{kind}" for stem in head.stems for kind in ("weight", "bias"))
    )
    return tuple(name for name in left_out(checkpoint) if name not in own)


def classes_of(checkpoint: Checkpoint, head: ClassHead) -> Classes:
    """The classes by the names that the configuration has for them."""
    n, config = checkpoint.tensors[f"{head.out}.weight"].shape[0], checkpoint.config
    is_span = "ForQuestionAnswering" in architecture(config)
    named = config.get("id2label")
    names = named if isinstance(named, dict) else {}
    labels = tuple(str(names.get(str(index), f"LABEL_{index}")) for index in range(n))
    reads: ClassReading = "each" if architecture(config).endswith("TokenClassification") else head.reads
    kind = config.get("problem_type")
    is_one_of = n > 1 and not is_span and kind not in ("regression", "multi_label_classification")
    return Classes(SPANS if is_span and n == len(SPANS) else labels, reads, is_one_of)


def class_fields(checkpoint: Checkpoint, head: ClassHead) -> dict[str, Any]:
    """The fields of a vocabulary that ends in the classes. Raises `ValueError` for a shape that fits none."""

    def array(stem: str, kind: str) -> Array | None:
        tensor = checkpoint.tensors.get(f"{stem}.{kind}")
        return None if tensor is None else tensor.array()

    def row(stem: str, kind: str) -> WrittenRow | None:
        numbers = array(stem, kind)
        return None if numbers is None else WrittenRow(Matrix.taken(in_memory(numbers.reshape(1, -1))))

    def matrix(stem: str) -> Matrix:
        numbers = array(stem, "weight")
        assert numbers is not None
        return matrix_of(numbers.T)

    fields = {"unembedding": matrix(head.out), "bias": row(head.out, "bias")}
    if not head.dense:
        return {**fields, "classes": classes_of(checkpoint, head)}
    activation, norm = head.activation(checkpoint.config), None
    assert activation is not None
    if head.norm:
        eps = float(checkpoint.config.get("norm_eps", 1e-5))
        norm = Norm("layer", eps, row(head.norm, "weight"), row(head.norm, "bias"))
    transform = Transform(Explicit(matrix(head.dense)), row(head.dense, "bias"), activation, norm)
    return {**fields, "transform": transform, "classes": classes_of(checkpoint, head)}
