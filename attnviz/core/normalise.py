"""Scores to weights, besides the plain softmax, and gradients back: in place, on any array namespace.

Scores, weights and gradients are (..., q, k); scores are -inf where a mask blocks, and such cells become
exactly 0 in each of these.
"""

from __future__ import annotations

from typing import Any

from attnviz.core.dims import Array


def softmax_with_sinks_(xp: Any, scores: Array, sinks: Array) -> None:
    """Softmax with a sink: exp(s) / (exp(sink) + Σ exp(s)); the sink takes weight and contributes no value.

    `sinks` are (..., 1, 1), one logit for each head. Rows sum to less than one. The maximum of a row and its
    sink is subtracted first, so no exponential overflows. Xiao et al. 2023 ("attention sinks"); learned
    for each head in GPT-OSS (OpenAI 2025).
    """
    top = xp.maximum(xp.max(scores, axis=-1, keepdims=True), sinks)
    scores -= top
    scores[...] = xp.exp(scores)
    scores /= xp.sum(scores, axis=-1, keepdims=True) + xp.exp(sinks - top)


def sigmoid_(xp: Any, scores: Array, n_visible: Array) -> None:
    """1 / (1 + exp(-(s - log n))) elementwise; n = `n_visible`, the number of visible keys of the row, (q,
    1).

    Ramapuram et al. 2024, "Theory, Analysis, and Best Practices for Sigmoid Self-Attention": with the bias
    -log n a row of equal scores 0 sums to n / (n + 1). There n is the length of the sequence; here it is
    counted for each row, so that a decoding step equals the full pass.
    """
    scores -= xp.log(n_visible)
    scores *= -1
    scores[...] = xp.exp(scores)
    scores += 1
    scores[...] = 1 / scores


def relu_squared_(xp: Any, scores: Array, n_visible: Array) -> None:
    """max(0, s)² / n; n = `n_visible`, the number of visible keys of the row, (q, 1).

    Squared ReLU: So et al. 2021 (Primer); on scores, divided by the number of keys: Hua et al. 2022 (FLASH).
    """
    scores[...] = xp.where(scores < 0, xp.zeros_like(scores), scores)  # NaN stays NaN
    scores *= scores
    scores /= n_visible


def pull_softmax_(xp: Any, weights: Array, g: Array, n_visible: Array) -> None:
    """g = w_i (g_i − Σ_j w_j g_j): the Jacobian w_i (δ_ij − w_j) of the softmax, with a sink or without."""
    g -= xp.vecdot(weights, g)[..., None]
    g *= weights


def pull_sigmoid_(xp: Any, weights: Array, g: Array, n_visible: Array) -> None:
    """g = g w (1 − w)."""
    g *= weights
    g *= 1 - weights


def pull_relu_squared_(xp: Any, weights: Array, g: Array, n_visible: Array) -> None:
    """g = g · 2 max(0, s) / n, where max(0, s) = √(w n)."""
    g *= 2 * xp.sqrt(weights / n_visible)
