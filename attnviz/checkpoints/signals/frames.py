"""Frames of a log-mel spectrogram as tokens: two convolutions over time, each with a GELU.

Radford et al. 2022, arXiv:2212.04356, section 2.2: both have width 3, the second one a step of 2, so that a
token stands for 20 ms.
"""

from __future__ import annotations

import numpy as np

from attnviz.checkpoints.signals.signal import Config, Floats, Signal, Weights
from attnviz.core.block import ACTIVATION_BY_ID
from attnviz.core.special import NUMPY_SPECIAL

FRAME_S = 0.02
"""Seconds between two tokens."""


def spectrogram_shape(config: Config) -> tuple[int, ...]:
    """(band, frame of 10 ms)."""
    return (config["num_mel_bins"], 2 * config["max_source_positions"])


def vectors(config: Config, weights: Weights, spectrogram: Floats) -> Floats:
    """The vectors (token, d) of a spectrogram (band, frame): two frames make one token."""
    narrow = _convolved(spectrogram, weights["narrow"], weights["narrow_bias"], step=1)
    return _convolved(narrow, weights["wide"], weights["wide_bias"], step=2).T


def _convolved(x: Floats, kernel: Floats, bias: Floats, step: int) -> Floats:
    """GELU of a convolution of width 3 over x (channel, time), with a zero at each end; (out, time)."""
    padded = np.pad(x, ((0, 0), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, kernel.shape[-1], axis=1)[:, ::step]
    sums = np.einsum("ctw,dcw->dt", windows, kernel, optimize=True) + bias[:, None]
    return np.asarray(ACTIVATION_BY_ID["gelu"].apply(np, sums, NUMPY_SPECIAL))


def names(config: Config, n_tokens: int) -> tuple[str, ...]:
    """The seconds at which the tokens begin."""
    return tuple(f"{index * FRAME_S:.2f}s" for index in range(n_tokens))


SOUND = Signal("sound", "encoder", spectrogram_shape, vectors, names)
