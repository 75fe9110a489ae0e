"""Patches of an image as tokens: a convolution whose step is its width, one product per patch.

Dosovitskiy et al. 2021, arXiv:2010.11929, equation 1: vector = W · pixels + b, and a learned vector first.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from attnviz.checkpoints.signals.signal import Config, Floats, Signal, Weights

FIRST = "[CLS]"
"""Name of the learned first token, whose output stands for the image."""


def n_side(config: Config) -> int:
    """Patches along one side of the image."""
    return int(config["image_size"] // config["patch_size"])


def pixels_shape(config: Config) -> tuple[int, ...]:
    """(channel, row, column)."""
    return (config["num_channels"], config["image_size"], config["image_size"])


def vectors(config: Config, weights: Weights, pixels: Floats) -> Floats:
    """The vectors (token, d) of an image (channel, row, column), from `patches` (d, channel, p, p)."""
    p, n = config["patch_size"], n_side(config)
    kernel = weights["patches"]
    used = pixels[:, : n * p, : n * p].reshape(-1, n, p, n, p)
    patches = np.einsum("crpsq,dcpq->rsd", used, kernel, optimize=True).reshape(n * n, -1)
    patches += weights.get("patches_bias", 0.0)
    first = weights.get("first")
    return patches if first is None else np.concatenate([first.reshape(1, -1), patches])


def names(config: Config, n_tokens: int) -> tuple[str, ...]:
    """`[CLS]`, for one token more than patches, then "row,column" of each patch, from 1."""
    n = n_side(config)
    patches = tuple(f"{row},{column}" for row in range(1, n + 1) for column in range(1, n + 1))
    return (FIRST, *patches)[-n_tokens:]


IMAGE = Signal("image", "layers", pixels_shape, vectors, names)
RESIZED = replace(IMAGE, prepares=True)
