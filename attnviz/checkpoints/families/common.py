"""Common parts of several family tables: names of activations, tied logits, the last norm."""

from __future__ import annotations

from collections.abc import Callable

from attnviz.checkpoints.families.family import Around, Config
from attnviz.errors import FieldError, must_be
from attnviz.model.spec.block import ActivationKind, Norm, NormKind

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

QKV = ("projections.query", "projections.key", "projections.value")
"""The places of a fused projection's three matrices."""

QKV_BIAS = tuple(f"{place}_bias" for place in QKV)
"""The places of its three biases."""


def is_tied(config: Config) -> bool:
    """True if logits use the embedding."""
    return bool(config["tie_word_embeddings"])


def is_untied(config: Config) -> bool:
    """True if logits use a matrix of their own."""
    return not is_tied(config)


def has_attention_bias(config: Config) -> bool:
    """True if the attention's projections have biases."""
    return bool(config["attention_bias"])


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
