"""The input of a model that reads no text: pixels, or features of sound."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from attnviz.errors import FieldError, Message, must_be, size
from attnviz.model.spec.arrays import BFLOAT16, in_float64

Floats = NDArray[np.float64]
Weights = Mapping[str, Floats]
Config = Mapping[str, Any]
SignalKind = Literal["image", "sound"]

PLACE = "signal."
"""Beginning of the places of the tensors that turn a signal into token vectors."""


@dataclass(frozen=True)
class Signal:
    """Rules from an input signal to the tokens of a stack.

    Attributes:
        kind: `image`, which can be read from a picture, or `sound`, of which features are passed.
        stack: The stack that reads it, `layers` or `encoder`.
        shape: The shape of the features from a configuration; the last axis of a sound may be shorter.
        vectors: The vectors (token, d_model) of a signal, from the weights at places after `signal.`.
        names: Names of the tokens, by the configuration and their number.
        prepares: Whether a picture is prepared at the size of `shape` in place of the one in the folder's
            file: positions exist for that size alone, and other programs interpolate them.
    """

    kind: SignalKind
    stack: Literal["layers", "encoder"]
    shape: Callable[[Config], tuple[int, ...]]
    vectors: Callable[[Config, Weights, Floats], Floats]
    names: Callable[[Config, int], tuple[str, ...]]
    prepares: bool = False


def features_of(signal: Signal, config: Config, given: Any) -> Floats:
    """Features as float64. Raises `FieldError` for another shape, or for numbers that are not finite."""
    numbers = must_be("an array of real numbers")
    try:
        array = np.asarray(given)
    except (TypeError, ValueError):
        raise FieldError("features", type(given).__name__, numbers) from None
    if array.dtype.kind not in "biuf" and array.dtype != BFLOAT16:
        raise FieldError("features", str(array.dtype), numbers)
    features = in_float64(array)
    shape = signal.shape(config)
    if features.ndim == len(shape) + 1 and len(features) == 1:
        features = features[0]  # a batch of one
    sizes = features.shape
    is_short = signal.kind == "sound" and sizes[:-1] == shape[:-1] and 2 <= sizes[-1] <= shape[-1]
    if sizes != shape and not is_short:
        fitting = must_be("{shape} for this configuration", shape=size(shape))
        raise FieldError("features", Message("{shape}", shape=size(sizes)), fitting)
    if not np.isfinite(features).all():
        raise FieldError("features", Message("a number that is not finite"), must_be("finite numbers"))
    return features
