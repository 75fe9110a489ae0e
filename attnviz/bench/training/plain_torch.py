"""The model of the bench in eager torch, its gradients by autograd, its step by `torch.optim.AdamW`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.bench.training.case import BASE, EPS, SETTINGS, Shape

Ints = NDArray[np.int64]


class PlainTorch:
    """`parameters` are copied from NumPy, by the names of `training.parameters`."""

    def __init__(self, shape: Shape, parameters: dict[str, NDArray[Any]]) -> None:
        import torch

        self._torch, self.shape = torch, shape
        self.parameters = {name: torch.tensor(one, requires_grad=True) for name, one in parameters.items()}
        dtype = next(iter(self.parameters.values())).dtype
        angles = np.arange(shape.n)[:, None] * BASE ** (-2.0 * np.arange(shape.d_head // 2) / shape.d_head)
        self._cos, self._sin = (
            torch.tensor(np.cos(angles), dtype=dtype),
            torch.tensor(np.sin(angles), dtype=dtype),
        )
        self._later = torch.ones(shape.n, shape.n, dtype=torch.bool).triu(1)
        self._optimiser = torch.optim.AdamW(
            list(self.parameters.values()),
            SETTINGS.rate,
            (SETTINGS.beta_1, SETTINGS.beta_2),
            SETTINGS.epsilon,
            SETTINGS.decay,
        )

    def loss(self, ids: Ints, targets: Ints) -> Any:
        """Mean cross-entropy where a target is not negative."""
        torch, p, shape = self._torch, self.parameters, self.shape
        functional = torch.nn.functional
        x = functional.embedding(torch.from_numpy(ids), p["vocabulary.embedding"])
        for index in range(shape.layers):
            name = f"layers.{index}.self."
            normed = self._norm(x, p[name + "block.norm_1.gain"])
            q, k, v = (
                self._heads(normed @ p[f"{name}projections.{role}"]) for role in ("query", "key", "value")
            )
            scores = self._turned(q) @ self._turned(k).transpose(-1, -2) * shape.d_head**-0.5
            weights = torch.softmax(scores.masked_fill(self._later, -torch.inf), dim=-1)
            mixed = (weights @ v).transpose(1, 2).reshape(*ids.shape, shape.d_model)
            x = x + mixed @ p[name + "projections.output"]
            hidden = torch.relu(
                self._norm(x, p[name + "block.norm_2.gain"]) @ p[name + "block.feed_forward.up"]
            )
            x = x + hidden @ p[name + "block.feed_forward.down"]
        logits = self._norm(x, p[name + "final_norm.gain"]) @ p[name + "vocabulary.unembedding"]
        flat = torch.from_numpy(targets).reshape(-1)
        return functional.cross_entropy(logits.reshape(len(flat), -1), flat, ignore_index=-1)

    def step(self, ids: Ints, targets: Ints) -> float:
        """A step of AdamW, its gradient clipped."""
        self._optimiser.zero_grad()
        loss = self.loss(ids, targets)
        loss.backward()
        if SETTINGS.clip is not None:
            self._torch.nn.utils.clip_grad_norm_(list(self.parameters.values()), SETTINGS.clip)
        self._optimiser.step()
        return float(loss.detach())

    def gradients(self, ids: Ints, targets: Ints) -> dict[str, NDArray[Any]]:
        """Those of the loss by all parameters."""
        numbers = list(self.parameters.values())
        found = self._torch.autograd.grad(self.loss(ids, targets), numbers)
        return {name: one.numpy() for name, one in zip(self.parameters, found, strict=True)}

    @property
    def thread_setter(self) -> Any:
        """Reads and sets its number of threads."""
        return self._torch.get_num_threads, self._torch.set_num_threads

    def _heads(self, x: Any) -> Any:
        shape = self.shape
        return x.reshape(*x.shape[:2], shape.heads, shape.d_head).transpose(1, 2)

    def _turned(self, x: Any) -> Any:
        first, second = x.chunk(2, dim=-1)
        cos, sin = self._cos, self._sin
        return self._torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)

    def _norm(self, x: Any, gain: Any) -> Any:
        return self._torch.nn.functional.rms_norm(x, (x.shape[-1],), gain[0], EPS)
