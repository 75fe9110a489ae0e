"""The derivatives of norms: of every number of a normalised row by one number of the row before it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from attnviz.model.reading import Floats

GAINED = (
    "x_normed",
    "norm_1",
    "norm_2",
    "attention_normed",
    "ffn_normed",
    "q_latent_normed",
    "q_normed",
    "k_normed",
    "output",
    "transform_normed",
)
"""Stages that are norms of a row, times a gain."""


def _layer(x: Floats, eps: float, column: int) -> Floats:
    """(δ_ij − 1 ÷ d − n_i n_j ÷ d) ÷ σ."""
    centred, d = x - x.mean(), len(x)
    deviation = np.sqrt(np.mean(centred**2) + eps)
    n = centred / deviation
    return np.asarray((np.eye(d)[column] - 1 / d - n * n[column] / d) / deviation)


def _rms(x: Floats, eps: float, column: int) -> Floats:
    """(δ_ij − n_i n_j ÷ d) ÷ √(mean x² + ε)."""
    root, d = np.sqrt(np.mean(x**2) + eps), len(x)
    n = x / root
    return np.asarray((np.eye(d)[column] - n * n[column] / d) / root)


def _length(x: Floats, eps: float, column: int) -> Floats:
    """(δ_ij − n_i n_j) ÷ √(Σ x² + ε)."""
    root = np.sqrt(np.sum(x**2) + eps)
    n = x / root
    return np.asarray((np.eye(len(x))[column] - n * n[column]) / root)


_KINDS: dict[str, Callable[[Floats, float, int], Floats]] = {"layer": _layer, "rms": _rms, "l2": _length}


def normalised(kind: str, x: Floats, eps: float, column: int) -> Floats:
    """∂ norm(x)_j / ∂ x_column for every j, without gains; `kind` is one of `NORM_PULLS`."""
    return _KINDS[kind](x, eps, column)
