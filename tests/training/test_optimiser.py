"""The optimisers against torch: the same losses and weights over fifty steps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from attnviz.bench.training.case import Shape, model
from attnviz.engines.table import ENGINE_BY_ID
from attnviz.engines.torch_engine import ALONE
from attnviz.training.batch import Batch, next_tokens
from attnviz.training.optimiser import OPTIMISERS, Optimiser, Settings

SHAPE = Shape(layers=2, heads=2, d_head=4, d_hidden=16, vocabulary=11, n=9)
STEPS = 50

CASES: dict[str, Settings] = {
    "adamw": Settings(1e-2, decay=0.1),
    "adamw, warm-up and cosine": Settings(
        2e-2, beta_1=0.8, beta_2=0.95, epsilon=1e-6, warmup=7, schedule="cosine", steps=STEPS
    ),
    "adamw, unclipped": Settings(1e-2, clip=None, decay=0.0),
    "sgd": Settings(0.3, "sgd", decay=0.0),
    "sgd, decay, warm-up": Settings(0.2, "sgd", momentum=0.5, decay=0.02, clip=0.3, warmup=5),
}


class ByHand:
    """The two layers in torch."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.parameters = {name: torch.tensor(one, requires_grad=True) for name, one in parameters.items()}
        pairs = SHAPE.d_head // 2
        angles = torch.arange(SHAPE.n)[:, None] * 10_000.0 ** (
            -torch.arange(pairs, dtype=torch.float64) / pairs
        )
        self.cos, self.sin = angles.cos(), angles.sin()

    def loss(self, ids: np.ndarray) -> torch.Tensor:
        tokens = torch.tensor(ids)
        x = self.parameters["vocabulary.embedding"][tokens]
        later = torch.ones(SHAPE.n, SHAPE.n, dtype=torch.bool).triu(1)
        for layer in range(SHAPE.layers):
            of = self.of(layer)
            normed = self.norm(x, of("block.norm_1.gain"))
            q, k, v = (
                (normed @ of(f"projections.{role}")).unflatten(-1, (SHAPE.heads, -1)).transpose(1, 2)
                for role in ("query", "key", "value")
            )
            scores = self.turned(q) @ self.turned(k).mT / math.sqrt(SHAPE.d_head)
            weights = scores.masked_fill(later, -math.inf).softmax(-1)
            x = x + (weights @ v).transpose(1, 2).flatten(2) @ of("projections.output")
            hidden = (self.norm(x, of("block.norm_2.gain")) @ of("block.feed_forward.up")).relu()
            x = x + hidden @ of("block.feed_forward.down")
        of = self.of(SHAPE.layers - 1)
        logits = self.norm(x, of("final_norm.gain")) @ of("vocabulary.unembedding")
        return torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())

    def of(self, layer: int) -> Any:
        return lambda path: self.parameters[f"layers.{layer}.self.{path}"]

    def norm(self, x: torch.Tensor, gain: torch.Tensor) -> torch.Tensor:
        return x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * gain

    def turned(self, x: torch.Tensor) -> torch.Tensor:
        a, b = x.chunk(2, -1)
        return torch.cat((a * self.cos - b * self.sin, b * self.cos + a * self.sin), -1)


def theirs(settings: Settings, parameters: list[torch.Tensor]) -> tuple[Any, Any]:
    """Torch's optimiser and its schedule of the rate."""
    made: Any
    if settings.optimiser == "sgd":
        made = torch.optim.SGD(
            parameters, settings.rate, momentum=settings.momentum, weight_decay=settings.decay
        )
    else:
        betas = settings.beta_1, settings.beta_2
        made = torch.optim.AdamW(
            parameters, settings.rate, betas, settings.epsilon, weight_decay=settings.decay
        )

    def share(step: int) -> float:
        if step < settings.warmup:
            return (step + 1) / settings.warmup
        if settings.schedule == "constant":
            return 1.0
        done = (step - settings.warmup) / (settings.steps - settings.warmup)
        return (1 + math.cos(math.pi * done)) / 2

    return made, torch.optim.lr_scheduler.LambdaLR(made, share)


@pytest.mark.parametrize("engine", ENGINE_BY_ID)
@pytest.mark.parametrize("name", CASES)
def test_fifty_steps_are_those_of_torch(name: str, engine: str) -> None:
    settings, made = CASES[name], ENGINE_BY_ID[engine].make("float64", "cpu", ALONE)
    batch = Batch(made, model(SHAPE, "float64"), SHAPE.n)
    ours = batch.parameters()
    optimiser = Optimiser(made, settings, ours)
    hand = ByHand({one: made.to_numpy(numbers) for one, numbers in ours.items()})
    others = list(hand.parameters.values())
    their_optimiser, schedule = theirs(settings, others)
    rng = np.random.default_rng(1)
    losses = []
    for _step in range(STEPS):
        ids = rng.integers(0, SHAPE.vocabulary, (4, SHAPE.n)).cumsum(1) % 5
        found = batch.loss_and_gradients(ours, ids, next_tokens(ids))
        taken = optimiser.step(ours, found.gradients)
        their_optimiser.zero_grad()
        loss = hand.loss(ids)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(others, settings.clip or math.inf)
        assert taken.rate == pytest.approx(schedule.get_last_lr()[0], rel=1e-12)
        assert taken.norm == pytest.approx(float(norm), rel=1e-6)
        their_optimiser.step()
        schedule.step()
        losses.append((found.loss, float(loss.detach())))
    np.testing.assert_allclose(*zip(*losses, strict=True), rtol=0, atol=1e-6)
    assert losses[-1][0] < 0.8 * losses[0][0]
    for one, numbers in ours.items():
        expected = hand.parameters[one].detach().numpy()
        np.testing.assert_allclose(made.to_numpy(numbers), expected, rtol=0, atol=1e-6, err_msg=one)


def test_cases_have_every_optimiser() -> None:
    assert {settings.optimiser for settings in CASES.values()} == {row.id for row in OPTIMISERS}


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"rate": 0.0}, "rate must be a finite number above 0; got 0.0."),
        ({"rate": math.nan}, "rate must be a finite number above 0; got"),
        ({"clip": -1.0}, "clip must be a finite number above 0; got -1.0."),
        ({"beta_2": 1.0}, "beta_2 must be at least 0 and less than 1; got 1.0."),
        ({"decay": -0.1}, "decay must be a finite number of at least 0; got -0.1."),
        ({"optimiser": "adam"}, "optimiser must be one of 'adamw', 'sgd'; got 'adam'."),
        ({"schedule": "step"}, "schedule must be one of 'constant', 'cosine'; got 'step'."),
        ({"steps": 0}, "steps must be a whole number"),
        ({"warmup": -1}, "warmup must be a whole number"),
    ],
)
def test_settings_that_no_training_has_are_refused(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError) as error:
        Settings(**fields)
    assert sentence in str(error.value)


def test_a_gradient_that_is_no_number_changes_nothing() -> None:
    made = ENGINE_BY_ID["numpy"].make("float64", "cpu", ALONE)
    numbers = {"w": np.ones((1, 3))}
    optimiser = Optimiser(made, Settings(), numbers)
    with pytest.raises(ValueError, match="their norm is nan at step 1 with the rate 0.002"):
        optimiser.step(numbers, {"w": np.array([[1.0, math.nan, 0.0]])})
    assert (numbers["w"] == 1).all() and optimiser.count == 0 and not optimiser.moments[0].any()


@pytest.mark.parametrize("kind", [row.id for row in OPTIMISERS])
def test_the_infinity_of_a_mask_stays(kind: str) -> None:
    made = ENGINE_BY_ID["numpy"].make("float64", "cpu", ALONE)
    numbers = {"additive_mask.values": np.array([[-math.inf, 1.0]])}
    Optimiser(made, Settings(0.1, kind), numbers).step(
        numbers, {"additive_mask.values": np.array([[0.0, 1.0]])}
    )
    assert numbers["additive_mask.values"][0, 0] == -math.inf
    assert 0.8 < numbers["additive_mask.values"][0, 1] < 1
