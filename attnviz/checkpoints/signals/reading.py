"""The signal of an import: from a file or an array to the features that a model reads."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnviz.checkpoints.reader import Checkpoint, CheckpointError
from attnviz.checkpoints.signals.image import fitting, preparation_of, read_image
from attnviz.checkpoints.signals.signal import Config, Floats, Signal, features_of
from attnviz.errors import FieldError, Message, about, message_of, must_be, verbatim
from attnviz.model.io.regular_file import TooLarge, opened
from attnviz.model.spec.arrays import with_bfloat16
from attnviz.model.spec.image import Image


class Given(NamedTuple):
    """The features of a signal, and the image from which they were computed."""

    features: Floats
    image: Image | None = None


NO_SIGNAL = must_be("null for a model that reads text")
AN_IMAGE = must_be("an image file, or features must be given")
FEATURES = must_be("an array of features")
MOST_BYTES = 512 * 2**20
"""Largest .npy file that is read."""


def read_signal(
    signal: Signal | None,
    config: Config,
    checkpoint: Checkpoint,
    image: str | os.PathLike[str] | None,
    features: Any,
) -> Given | None:
    """The signal that a model needs; None for one that reads text.

    Raises `FieldError` for a missing or needless signal, and `CheckpointError` for a file that is no image.
    """
    for name, given in (("image", image), ("features", features)):
        is_needless = signal is None or (name == "image" and signal.kind != "image")
        if given is not None and is_needless:
            raise FieldError(name, verbatim(Path(given).name) if name == "image" else "…", NO_SIGNAL)
    if signal is None:
        return None
    if features is not None and image is not None:
        raise FieldError("features", "…", must_be("null with an image"))
    if features is not None:
        return Given(features_of(signal, config, features))
    if image is None:
        is_image = signal.kind == "image"
        raise FieldError(*(("image", None, AN_IMAGE) if is_image else ("features", None, FEATURES)))
    return _of_image(signal, config, checkpoint, image)


def read_array(path: str | os.PathLike[str]) -> NDArray[Any]:
    """The array of a .npy file; nothing in it runs. Raises `CheckpointError` for another file."""
    file = Path(path)
    try:
        stream = opened(file, MOST_BYTES)
    except (OSError, TooLarge) as error:
        raise CheckpointError(about(file.name, message_of(error))) from None
    with stream:
        try:
            array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
        except (OSError, ValueError, EOFError, MemoryError, SyntaxError):
            numbers = Message("The file must be a .npy array of numbers.")
            raise CheckpointError(about(file.name, numbers)) from None
    return with_bfloat16(array)


def _of_image(signal: Signal, config: Config, checkpoint: Checkpoint, image: str | os.PathLike[str]) -> Given:
    shape = signal.shape(config)
    preparation = preparation_of(checkpoint.folder, shape[-1])
    if signal.prepares:
        preparation = preparation.at(shape[-1])
    seen = preparation.picture(read_image(image))
    fitting(seen, shape)
    file = io.BytesIO()
    seen.save(file, "PNG")
    n = shape[-1] // config["patch_size"]
    cut = seen.crop((0, 0, n * config["patch_size"], n * config["patch_size"]))
    if cut.size != seen.size:  # a rest that no patch covers
        file = io.BytesIO()
        cut.save(file, "PNG")
    return Given(preparation.numbers(seen), Image(file.getvalue(), n, n, begin=1))
