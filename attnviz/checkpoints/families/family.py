"""Records of a checkpoint family: keys of the configuration, tensors, sizes.

A family's module, its own or that of its nearest kin, has its table: the configuration keys, the name of each
tensor and its field in an experiment, and two small functions that return one layer and the parts around the
layers, without weights.
`table.py` lists the families; `importing.py` follows the tables.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from attnviz.checkpoints.signals.signal import Signal
from attnviz.errors import POSITIVE, FieldError, Message, among, listed, missing, must_be, whole_number
from attnviz.model.spec.arrays import in_float64
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.block import ActivationKind, Norm, NormKind
from attnviz.model.spec.vocabulary import EmbeddingProjection, Transform

Array = NDArray[Any]
"""In the precision of the file: what computes with one takes it `in_float64`."""
Config = Mapping[str, Any]
"""A configuration as its family read it: every key of the table, with its value or its default."""
Sizes = Mapping[str, int]
Arrays = dict[tuple[str, int | None], dict[str, Array]]
"""The arrays of each layer, (stack, number), by path; under None those that are in no layer."""


# --- configuration keys ----------------------------------------------------------------------------

REQUIRED: Any = object()
"""The default of a key that has none."""

AS_MISSING: Any = object()
"""Null means a missing key for most keys."""


@dataclass(frozen=True)
class Key:
    """One key of `config.json` that changes numbers: its valid values, and its default.

    `requirement` says `is_legal` in words. A value that this program cannot compute with is invalid, so a
    configuration with it raises an error rather than being computed wrongly. `null` is the meaning of null if
    it is not the default: no window, no cap.
    """

    name: str
    default: Any
    is_legal: Callable[[Any], bool]
    requirement: Message
    null: Any = AS_MISSING

    def read(self, values: Mapping[str, Any]) -> Any:
        """The value in a configuration. Raises `FieldError`: the key, its value, the requirement."""
        value = values.get(self.name)
        if value is None and self.name in values and self.null is not AS_MISSING:
            return self.null
        if value is None:
            if self.default is REQUIRED:
                raise missing(self.name, self.requirement)
            return self.default
        if not self.is_legal(value):
            raise FieldError(self.name, value, self.requirement)
        return value


LARGEST = 2**40
"""More of anything than a checkpoint has."""


def whole(name: str, default: Any = REQUIRED, null: Any = AS_MISSING) -> Key:
    """A whole number of at least 1."""

    def is_legal(value: Any) -> bool:
        return type(value) is int and 1 <= value <= LARGEST

    return Key(name, default, is_legal, whole_number(1, LARGEST), null)


def count(name: str, default: Any = REQUIRED) -> Key:
    """A whole number of at least 0."""
    return Key(name, default, lambda value: type(value) is int and value >= 0, whole_number(0))


def positive(name: str, default: Any = REQUIRED, null: Any = AS_MISSING) -> Key:
    """A finite number above 0."""

    def is_legal(value: Any) -> bool:
        # Compared and not asked whether it is finite: that fails for a whole number past the range of floats.
        return type(value) in (int, float) and 0 < value <= sys.float_info.max

    return Key(name, default, is_legal, POSITIVE, null)


def flag(name: str, default: Any) -> Key:
    """True or false."""
    return Key(name, default, lambda value: type(value) is bool, must_be("true or false"))


def one_of(name: str, values: tuple[Any, ...], default: Any = REQUIRED) -> Key:
    """One of some values; the others that the format knows are not computed here."""
    return Key(name, default, lambda value: value in values, among(values))


def texts(name: str, values: tuple[str, ...]) -> Key:
    """A list whose members are among some strings; null if it is missing."""
    known = must_be("a list of {choices}", choices=listed(values))
    return Key(name, None, lambda value: isinstance(value, list) and all(v in values for v in value), known)


def group(name: str) -> Key:
    """An object with keys of its own; null if it is missing."""
    return Key(name, None, lambda value: isinstance(value, dict), must_be("an object, or null"))


def absent(name: str) -> Key:
    """A key without a value that can be computed here: null, or missing."""
    return Key(name, None, lambda value: False, must_be("null"))


def unread(name: str) -> Key:
    """A key that changes no number here, whatever its value."""
    return Key(name, None, lambda value: True, must_be("any value"))


ACTIVATIONS: dict[str, ActivationKind] = {
    "silu": "silu",
    "swish": "silu",
    "gelu": "gelu",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_new": "gelu_tanh",
    "relu": "relu",
    "quick_gelu": "quick_gelu",
    "tanh": "tanh",
    "relu2": "relu_squared",
    "sigmoid": "sigmoid",
    "linear": "identity",
    "gelu_python": "gelu",
}
"""The activations of `transformers` by their ids here."""


def activation_key(default: str, name: str = "hidden_act") -> Key:
    """The function of the feed-forward layer."""
    return one_of(name, tuple(ACTIVATIONS), default)


# --- tensors ---------------------------------------------------------------------------------------


def always(config: Config) -> bool:
    """The condition of a tensor that every checkpoint of a family has."""
    return True


def never(config: Config) -> bool:
    """The condition of a tensor that no checkpoint of a family has, and of logits that are never tied."""
    return False


def as_stored(array: Array, sizes: Sizes) -> tuple[Array, ...]:
    """The numbers as they are: rows, embeddings, and matrices that are stored (in, out)."""
    return (array,)


def transposed(array: Array, sizes: Sizes) -> tuple[Array, ...]:
    """A matrix stored (out, in), as `torch.nn.Linear` has it."""
    return (array.T,)


def plus_one(array: Array, sizes: Sizes) -> tuple[Array, ...]:
    """A gain stored as its difference from 1."""
    return (1.0 + in_float64(array),)


@dataclass(frozen=True)
class Tensor:
    """One tensor, or one in each layer: its name, its destination, its shape, its storage.

    `name` has `{layer}` in place of the layer's number. `place` is the path of a field: in that layer
    (`projections.query`, `block.norm_1.gain`, `block.feed_forward.up`, `sinks`), or, for a name without
    `{layer}`, in the experiment (`vocabulary.embedding`, `final_norm.gain`, or, of the first layer,
    `position.table`). A place that begins with `encoder.` belongs to the encoder's layer
    of that number; with `layers.` or `encoder.` and without `{layer}` in the name, to every layer of that
    stack, with `encoder.0.` to its first layer. A tensor for several places lists them all, and `split`
    returns as many arrays.

    `shape` consists of numbers and names of sizes. `is_there(config)` is true if a model of that
    configuration has the tensor: otherwise a tensor of this name is as unexpected as one of an unknown name.
    `{expert}` in name and place stands for the number of an expert, of which the sizes have `experts`.
    `in_layer(config, number)` is true of the layers that have it.
    """

    name: str
    place: str | tuple[str, ...]
    shape: tuple[str | int, ...]
    split: Callable[[Array, Sizes], tuple[Array, ...]] = as_stored
    is_there: Callable[[Config], bool] = always
    in_layer: Callable[[Config, int], bool] = lambda config, number: True

    @property
    def places(self) -> tuple[str, ...]:
        """Every place that it fills."""
        return (self.place,) if isinstance(self.place, str) else self.place

    @property
    def is_head(self) -> bool:
        """True if it computes logits: a checkpoint of a model without a head has none."""
        head = ("vocabulary.unembedding", "vocabulary.bias", "vocabulary.transform")
        return all(place.startswith(head) for place in self.places)

    def shape_in(self, sizes: Sizes) -> tuple[int, ...]:
        """The shape with numbers for the names."""
        return tuple(sizes[size] if isinstance(size, str) else size for size in self.shape)


def is_tied(config: Config) -> bool:
    """True if logits use the embedding."""
    return bool(config["tie_word_embeddings"])


def is_untied(config: Config) -> bool:
    """True if logits use a matrix of their own."""
    return not is_tied(config)


def has(key: str) -> Callable[[Config], bool]:
    """The condition of a tensor that exists if a key is true."""
    return lambda config: bool(config[key])


def lacks(key: str) -> Callable[[Config], bool]:
    """The condition of a tensor that exists if a key is false."""
    return lambda config: not config[key]


def has_attention_bias(config: Config) -> bool:
    """True if the attention's projections have biases."""
    return bool(config["attention_bias"])


def linear(
    stem: str,
    place: str,
    shape: tuple[str, str],
    has_bias: Callable[[Config], bool] | None = None,
    is_there: Callable[[Config], bool] = always,
) -> tuple[Tensor, ...]:
    """The matrix of a linear map, `shape` (out, in), and its bias: with the matrix, unless `has_bias` tells.

    The bias has the matrix's place and `_bias`; the matrix at `….weights` has it at `….bias`.
    """
    bias = f"{place.removesuffix('.weights')}.bias" if place.endswith(".weights") else f"{place}_bias"
    return (
        Tensor(stem + ".weight", place, shape, transposed, is_there),
        Tensor(stem + ".bias", bias, shape[:1], is_there=has_bias or is_there),
    )


def norm(
    stem: str, place: str, size: str = "d", is_there: Callable[[Config], bool] = always
) -> tuple[Tensor, ...]:
    """The gain and the bias of a norm."""
    return (
        Tensor(stem + ".weight", place + ".gain", (size,), is_there=is_there),
        Tensor(stem + ".bias", place + ".bias", (size,), is_there=is_there),
    )


QKV = ("projections.query", "projections.key", "projections.value")
"""The places of a fused projection's three matrices."""

QKV_BIAS = tuple(f"{place}_bias" for place in QKV)
"""The places of its three biases."""


@dataclass(frozen=True)
class Ignored:
    """Tensors that may exist and are not needed: a pattern of their names, and the reason.

    `{layer}` stands for a number. `same_as` names a tensor that they must equal. `is_there(config)` is true
    if a model of that configuration may have them. `says` is a message about a part of the model that is
    left out with them, for whoever imports.
    """

    name: str
    reason: str
    same_as: str | None = None
    is_there: Callable[[Config], bool] = always
    says: str = ""


# --- families --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Around:
    """Parts before and after the layers, without weights; see `Experiment` and `Vocabulary`."""

    embedding_norm: Norm | None = None
    final_norm: Norm | None = None
    encoder_norm: Norm | None = None
    embedding_scale: float = 1.0
    logit_scale: float = 1.0
    logit_cap: float | None = None
    transform: Transform | None = None
    encoder_embedding_norm: Norm | None = None
    embedding_projection: EmbeddingProjection | None = None


@dataclass(frozen=True)
class Family:
    """Import rules for checkpoints of some model types.

    Attributes:
        title: The name in messages and titles.
        model_types: `model_type` of the configurations.
        prefix: Prefix of the names of the model's own tensors, which is missing if a model without a head was
        saved.
        keys: The configuration keys that are read; any other key raises an error, unless it is known to have
        no effect.
        tensors: The tensors; each is used exactly once.
        ignored: The tensors that may exist and are not used.
        endings: Endings of tensor names in old files, and in the tables.
        sizes: The sizes in the shapes, from a configuration; "layers" is the number of layers,
            "encoder_layers" that of an encoder.
        layer: One layer of a configuration by its number, without weights.
        around: The parts around the layers.
        is_tied: Whether logits use the embedding.
        encoder_layer: One layer of the encoder, if any.
        prepare: Computations on several tensors, before any field is filled: changes the arrays,
            by stack and layer (None: in no layer) and then by path, so that every path is one that the
            experiment has. Arrays at the place `vectors` of no layer are added to the token vectors.
        architectures: The saved classes that this table is for, before another one of the same model types;
            none: all.
        signal: The input of a model that reads an image or sound in place of a text.
    """

    title: str
    model_types: tuple[str, ...]
    prefix: str
    keys: tuple[Key, ...]
    tensors: tuple[Tensor, ...]
    sizes: Callable[[Config], Sizes]
    layer: Callable[[Config, int], Layer]
    around: Callable[[Config], Around]
    ignored: tuple[Ignored, ...] = ()
    encoder_layer: Callable[[Config, int], Layer] | None = None
    prepare: Callable[[Config, Sizes, Arrays], None] | None = None
    endings: tuple[tuple[str, str], ...] = ()
    architectures: tuple[str, ...] = ()
    is_tied: Callable[[Config], bool] = is_tied
    signal: Signal | None = None


def share_of_each_head(d: int, n_heads: int, d_name: str, n_heads_name: str) -> int:
    """The features of one head where all share `d` evenly. Raises `ValueError` by the keys' names."""
    if d % n_heads:
        raise FieldError(n_heads_name, n_heads, must_be("a divisor of {number}", number=f"{d_name} ({d})"))
    return d // n_heads


def norm_after_layers(kind: NormKind, eps: str) -> Callable[[Config], Around]:
    """A norm after the last layer and nothing else around the layers; `eps` is the key of its epsilon."""

    def around(config: Config) -> Around:
        return Around(final_norm=Norm(kind, config[eps]))

    return around
