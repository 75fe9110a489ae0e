"""Train the bundled model; the command is in `__init__.py`.

The folder receives the weights (float16, named as in Llama checkpoints), `config.json`, `tokenizer.json`,
`training.json` with the loss curve, `measures.json` with the measurements of the heads, and the model card.
The weights are also written every few minutes, so that a run that is cut short leaves a model.

The texts never end and none is seen twice; with `--steps` instead of `--minutes` the run does not depend
on the clock.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional as F

from make import corpus
from make.decoder import Config, Decoder
from make.measure import copying, measure
from make.tokenizer import Tokenizer
from make.tokenizer import train as train_tokenizer

TOKENIZER_TEXTS = 20_000
"""Training texts that the tokenizer is learnt from."""

ENDLESS = 1_000_000
"""More minutes, and more steps, than any run has."""

CURVE_DOCUMENTS = 40
"""Held-out documents, and lines said twice, per language at each point of the loss curve."""


@dataclass(frozen=True)
class Stage:
    """A part of the run, and its texts."""

    until: float
    """End of the stage, as a share of the run."""
    rows: tuple[int, int]
    """(rows per step, tokens per row)."""
    random: float
    """The share of the texts that are lines of random tokens."""
    kinds: tuple[str, ...] = ()
    """The kinds of the other texts; without any, the whole mixture."""


@dataclass(frozen=True)
class Recipe:
    """Training recipe; `minutes` or `steps`, whichever is over first, ends the run."""

    seed: int = 0
    minutes: float = 40.0
    steps: int = ENDLESS
    stages: tuple[Stage, ...] = (
        Stage(0.10, (32, 32), 1.0, ("counting",)),
        Stage(0.21, (16, 64), 0.3, ("repetition", "counting")),
        Stage(0.32, (12, 96), 0.2, ("repetition", "counting", "naming", "owners", "pronouns")),
        Stage(1.0, (8, 256), 0.05),
    )
    """First, in short rows, counting, so that a head learns to attend to the same token before; then also
    repetition, so that heads learn to copy; then everything that needs a head; then everything.

    A head that finds what followed a token can also count it, so counting comes first.
    """
    rate: float = 3e-3
    """The greatest learning rate, after the warm-up."""
    last_rate: float = 0.02
    """The learning rate at the end, as a share of the greatest."""
    warm_up: int = 100
    weight_decay: float = 0.1
    betas: tuple[float, float] = (0.9, 0.98)
    clip: float = 1.0
    n_words: int = 640
    n_merges: int = 160

    def rate_at(self, step: int, progress: float) -> float:
        """Linear warm-up, then half a cosine over the run; `progress` goes from 0 to 1."""
        falling = self.last_rate + (1 - self.last_rate) * 0.5 * (1 + math.cos(math.pi * min(progress, 1.0)))
        return self.rate * falling * min(1.0, (step + 1) / self.warm_up)


@dataclass
class Record:
    """Record of a run: its recipe, and the losses on the way (nats per token)."""

    recipe: Recipe
    torch: str = torch.__version__
    parameters: int = 0
    steps: int = 0
    tokens: int = 0
    seconds: float = 0.0
    curve: list[dict[str, float]] = field(default_factory=list)


def main() -> None:
    """Read the command line, train, and write the folder."""
    parser = argparse.ArgumentParser(description="Train the small bilingual model.")
    parser.add_argument("--out", type=Path, required=True, help="folder that receives the model")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--minutes", type=float, help="length of the run by the clock")
    length.add_argument("--steps", type=int, help="length of the run in steps, whatever time they take")
    parser.add_argument("--seed", type=int, default=Recipe.seed)
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.steps is not None:
        recipe = Recipe(seed=given.seed, minutes=ENDLESS, steps=given.steps)
    else:
        recipe = Recipe(seed=given.seed, minutes=given.minutes or Recipe.minutes)
    train(recipe, given.out)
    measure(given.out)


def train(recipe: Recipe, out: Path) -> None:
    """Train by `recipe`, write to `out` on the way and at the end."""
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(recipe.seed)
    tokenizer = train_tokenizer(corpus.texts(recipe.seed, TOKENIZER_TEXTS), recipe.n_words, recipe.n_merges)
    tokenizer.save(out / "tokenizer.json")
    model = Decoder(Config(len(tokenizer)))
    record = Record(recipe, parameters=sum(weights.numel() for weights in model.parameters()))
    for _ in _steps(model, tokenizer, recipe, record):
        record.curve[-1].update(losses(model, tokenizer, CURVE_DOCUMENTS))
        record.curve[-1]["copied"] = copying(model, tokenizer, CURVE_DOCUMENTS)
        print(json.dumps({**record.curve[-1], "tokens": record.tokens}), flush=True)
        write(model, tokenizer, record, out)


def _steps(model: Decoder, tokenizer: Tokenizer, recipe: Recipe, record: Record) -> Iterator[None]:
    """Train, and stop at each point of the loss curve: forty times, closer together at the beginning."""
    optimizer = torch.optim.AdamW(_groups(model, recipe), lr=recipe.rate, betas=recipe.betas, fused=True)
    seen: list[float] = []
    now = time.monotonic()
    texts = [
        corpus.batches(tokenizer, recipe.seed, *_shape(stage.rows), stage.random, stage.kinds)
        for stage in recipe.stages
    ]
    for step in count():
        before, now = now, time.monotonic()
        record.seconds += now - before
        progress = max(record.seconds / 60 / recipe.minutes, step / recipe.steps)
        if progress >= 1 or progress >= ((len(record.curve) + 1) / 40) ** 1.5:
            record.curve.append(
                {"step": step, "minutes": round(record.seconds / 60, 2), "train": float(np.mean(seen))}
            )
            seen = []
            yield
            now = time.monotonic()  # Testing is not training.
        if progress >= 1:
            return
        for group in optimizer.param_groups:
            group["lr"] = recipe.rate_at(step, progress)
        stage = next(i for i, stage in enumerate(recipe.stages) if progress < stage.until)
        ids = next(texts[stage])
        seen.append(_step(model, torch.from_numpy(ids), optimizer, recipe.clip))
        record.steps, record.tokens = step + 1, record.tokens + ids.shape[0] * (ids.shape[1] - 1)


def _step(model: Decoder, ids: Tensor, optimizer: torch.optim.Optimizer, clip: float) -> float:
    """One step on rows of ids (row, token + 1), multiplied in bfloat16; returns their loss before it."""
    with torch.autocast("cpu", torch.bfloat16):
        logits = model(ids[:, :-1])
    loss = F.cross_entropy(logits.float().flatten(0, 1), ids[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return loss.item()


def _groups(model: Decoder, recipe: Recipe) -> list[dict[str, object]]:
    """The weights that decay, the matrices of the blocks, and those that do not: norms and the embedding."""
    decaying = [w for name, w in model.named_parameters() if w.dim() > 1 and "embed" not in name]
    others = [w for name, w in model.named_parameters() if w.dim() == 1 or "embed" in name]
    return [
        {"params": decaying, "weight_decay": recipe.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]


def _shape(rows: tuple[int, int]) -> tuple[int, int]:
    """(rows, ids per row): one more than the tokens that are read, for the last one's answer."""
    return rows[0], rows[1] + 1


@torch.no_grad()
def losses(model: Decoder, tokenizer: Tokenizer, number: int) -> dict[str, float]:
    """Mean loss per token, in nats, on `number` held-out texts of each language, each read alone."""
    found = {}
    length = model.config.max_position_embeddings
    for language in corpus.LANGUAGES:
        sequences = corpus.test_documents(tokenizer, language, number, length)
        total, tokens = 0.0, 0
        for first in range(0, len(sequences), 25):
            ids, held = map(torch.from_numpy, corpus.padded(sequences[first : first + 25], tokenizer.end))
            loss = F.cross_entropy(model(ids[:, :-1]).transpose(1, 2), ids[:, 1:], reduction="none")
            total += float(loss[held[:, 1:]].double().sum())
            tokens += int(held[:, 1:].sum())
        found[language.id] = total / tokens
    return found


def write(model: Decoder, tokenizer: Tokenizer, record: Record, out: Path) -> None:
    """Write the weights in float16, the configuration, and the record of the run."""
    tensors = {name: weights.detach().half().contiguous() for name, weights in model.named_parameters()}
    save_file(tensors, out / "model.safetensors", metadata={"format": "pt"})
    config = model.config.document(tokenizer.begin, tokenizer.end)
    (out / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    (out / "training.json").write_text(json.dumps(asdict(record), indent=1) + "\n", encoding="utf-8")
