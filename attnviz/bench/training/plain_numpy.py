"""The model of the bench and its step as one writes them by hand in NumPy: no stage has a name."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.bench.training.case import BASE, EPS, SETTINGS, Shape

Floats = NDArray[Any]
Ints = NDArray[np.int64]
ROLES = "projections.query", "projections.key", "projections.value"


class PlainNumpy:
    """`parameters` by the names of `training.parameters`, changed in place by `step`."""

    def __init__(self, shape: Shape, parameters: dict[str, Floats]) -> None:
        self.shape, self.parameters = shape, parameters
        dtype = next(iter(parameters.values())).dtype
        angles = np.arange(shape.n)[:, None] * BASE ** (-2.0 * np.arange(shape.d_head // 2) / shape.d_head)
        angles = np.concatenate((angles, angles), axis=-1)
        self._cos, self._sin = np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)
        self._mask = np.where(np.tri(shape.n, dtype=bool), 0.0, -np.inf).astype(dtype)
        self._moments = {name: (np.zeros_like(one), np.zeros_like(one)) for name, one in parameters.items()}
        self._count = 0

    def loss_and_gradients(self, ids: Ints, targets: Ints) -> tuple[float, dict[str, Floats]]:
        """Mean cross-entropy where a target is not negative, and the gradients by all parameters."""
        p, shape = self.parameters, self.shape
        n_rows, scale = ids.size, shape.d_head**-0.5
        x = p["vocabulary.embedding"][ids.ravel()]
        kept, kept_ffn = [], []
        for index in range(shape.layers):
            name = f"layers.{index}.self."
            normed, inverse_1, plain_1 = self._norm(x, p[name + "block.norm_1.gain"])
            q, k, v = (
                self._heads(normed @ p[f"{name}projections.{role}"]) for role in ("query", "key", "value")
            )
            q, k = self._turned(q), self._turned(k)
            weights = q @ k.swapaxes(-1, -2)
            weights *= scale
            weights += self._mask
            weights -= weights.max(axis=-1, keepdims=True)
            np.exp(weights, out=weights)
            weights /= weights.sum(axis=-1, keepdims=True)
            mixed = self._joined(weights @ v)
            y = x + mixed @ p[name + "projections.output"]
            normed_2, inverse_2, plain_2 = self._norm(y, p[name + "block.norm_2.gain"])
            hidden = normed_2 @ p[name + "block.feed_forward.up"]
            np.maximum(hidden, 0, out=hidden)
            kept.append((normed, inverse_1, plain_1, q, k, v, weights, mixed))
            kept_ffn.append((normed_2, inverse_2, plain_2, hidden))
            x = y + hidden @ p[name + "block.feed_forward.down"]
        last = f"layers.{shape.layers - 1}.self."
        normed, inverse, plain = self._norm(x, p[last + "final_norm.gain"])
        logits = normed @ p[last + "vocabulary.unembedding"]
        logits -= logits.max(axis=-1, keepdims=True)
        powers = np.exp(logits)
        sums = powers.sum(axis=-1, keepdims=True)
        rows = np.arange(n_rows)
        is_counted = targets.ravel() >= 0
        count = int(is_counted.sum())
        columns = np.maximum(targets.ravel(), 0)
        losses = np.log(sums)[:, 0] - logits[rows, columns]
        powers /= sums
        powers[rows, columns] -= 1
        powers *= (is_counted / count).astype(powers.dtype)[:, None]
        found: dict[str, Floats] = {last + "vocabulary.unembedding": normed.T @ powers}
        g = powers @ p[last + "vocabulary.unembedding"].T
        g, found[last + "final_norm.gain"] = self._pull_norm(g, inverse, plain, p[last + "final_norm.gain"])
        for index in reversed(range(shape.layers)):
            name = f"layers.{index}.self."
            normed, inverse_1, plain_1, q, k, v, weights, mixed = kept[index]
            normed_2, inverse_2, plain_2, hidden = kept_ffn[index]
            found[name + "block.feed_forward.down"] = hidden.T @ g
            by_hidden = g @ p[name + "block.feed_forward.down"].T
            by_hidden *= hidden > 0
            found[name + "block.feed_forward.up"] = normed_2.T @ by_hidden
            by_normed = by_hidden @ p[name + "block.feed_forward.up"].T
            gain = p[name + "block.norm_2.gain"]
            by_y, found[name + "block.norm_2.gain"] = self._pull_norm(by_normed, inverse_2, plain_2, gain)
            g += by_y
            found[name + "projections.output"] = mixed.T @ g
            by_mixed = self._heads(g @ p[name + "projections.output"].T)
            by_v = weights.swapaxes(-1, -2) @ by_mixed
            by_scores = by_mixed @ v.swapaxes(-1, -2)
            by_scores -= np.einsum("...k,...k->...", by_scores, weights)[..., None]
            by_scores *= weights
            by_scores *= scale
            by_q, by_k = by_scores @ k, by_scores.swapaxes(-1, -2) @ q
            by_normed = np.zeros_like(g)
            pulled = self._turned(by_q, -1), self._turned(by_k, -1), by_v
            for role, by_heads in zip(ROLES, pulled, strict=True):
                flat = self._joined(by_heads)
                found[name + role] = normed.T @ flat
                by_normed += flat @ p[name + role].T
            gain = p[name + "block.norm_1.gain"]
            by_x, found[name + "block.norm_1.gain"] = self._pull_norm(by_normed, inverse_1, plain_1, gain)
            g += by_x
        by_embedding = np.zeros_like(p["vocabulary.embedding"])
        np.add.at(by_embedding, ids.ravel(), g)
        found["vocabulary.embedding"] = by_embedding
        return float(losses[is_counted].mean()), found

    def step(self, ids: Ints, targets: Ints) -> float:
        """A step of AdamW, its gradient clipped."""
        loss, found = self.loss_and_gradients(ids, targets)
        norm = np.sqrt(sum(float(np.vdot(one, one)) for one in found.values()))
        clip = min(1.0, SETTINGS.clip / (norm + 1e-6)) if SETTINGS.clip is not None else 1.0
        beta_1, beta_2, rate = SETTINGS.beta_1, SETTINGS.beta_2, SETTINGS.rate
        self._count += 1
        first, second = 1 - beta_1**self._count, 1 - beta_2**self._count
        for name, numbers in self.parameters.items():
            g = found[name] * clip
            mean, square = self._moments[name]
            mean *= beta_1
            mean += (1 - beta_1) * g
            square *= beta_2
            g *= g
            g *= 1 - beta_2
            square += g
            numbers *= 1 - rate * SETTINGS.decay
            np.sqrt(square, out=g)
            g /= second**0.5
            g += SETTINGS.epsilon
            np.divide(mean, g, out=g)
            g *= rate / first
            numbers -= g
        return loss

    def _heads(self, x: Floats) -> Floats:
        shape = self.shape
        return x.reshape(-1, shape.n, shape.heads, shape.d_head).transpose(0, 2, 1, 3)

    def _joined(self, x: Floats) -> Floats:
        return x.transpose(0, 2, 1, 3).reshape(-1, self.shape.d_model)

    def _turned(self, x: Floats, sign: int = 1) -> Floats:
        half = x.shape[-1] // 2
        other = np.concatenate((-x[..., half:], x[..., :half]), axis=-1)
        turned = x * self._cos
        turned += other * (self._sin if sign == 1 else -self._sin)
        return turned

    def _norm(self, x: Floats, gain: Floats) -> tuple[Floats, Floats, Floats]:
        inverse = 1 / np.sqrt(np.einsum("rf,rf->r", x, x)[:, None] / x.shape[1] + x.dtype.type(EPS))
        plain = x * inverse
        return plain * gain, inverse, plain

    def _pull_norm(self, g: Floats, inverse: Floats, plain: Floats, gain: Floats) -> tuple[Floats, Floats]:
        by_gain = np.einsum("rf,rf->f", g, plain)[None]
        g = g * gain
        g -= plain * (np.einsum("rf,rf->r", g, plain)[:, None] / g.shape[1])
        g *= inverse
        return g, by_gain
