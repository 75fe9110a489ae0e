"""Tiny models of `transformers` with random weights in float64, and what they make of some tokens.

The library casts to float32 inside (RMSNorm, softmax, rotary tables, GPT-J's scores). `promoted` makes
float64 of those casts, by handing out `torch.float64` under the name of `torch.float32` while a model is made
and run, so that what is left of a difference is ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from numpy.typing import NDArray

from attnviz.checkpoints import import_checkpoint
from attnviz.engines.engine import Engine
from attnviz.engines.run import run
from attnviz.model.spec.experiment import Experiment
from attnviz.model.stages import result_of
from attnviz.model.trace import Trace

Floats = NDArray[np.float64]

transformers.logging.disable_progress_bar()  # its bars leave a thread behind
transformers.logging.set_verbosity_error()

IDS = (5, 2, 7, 7, 0, 11, 3, 9, 1)
"""Nine tokens, one of them twice in a row."""


@dataclass(frozen=True)
class Expected:
    """Arrays of `transformers`: weights of each layer (head, query, key), what came into each layer and out
    of the last one after its norm (token, feature), logits (token, vocabulary) or None."""

    weights: tuple[Floats, ...]
    hidden: tuple[Floats, ...]
    logits: Floats | None


@contextmanager
def promoted() -> Iterator[None]:
    """float64 wherever the library asks for float32."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("float32", "float"):
            patch.setattr(torch, name, torch.float64)
        patch.setattr(torch.Tensor, "float", torch.Tensor.double)
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            yield
        finally:
            torch.set_default_dtype(before)


def random_model(model: type[Any], config: Any, seed: int = 0) -> Any:
    """A model whose weights are all drawn, biases, gains and sinks among them, large enough to matter."""
    torch.manual_seed(seed)
    config._attn_implementation = config._experts_implementation = "eager"
    made = model(config).double().eval()
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            is_gain = "norm" in name.lower() or ".ln_" in name
            if not parameter.requires_grad:
                continue  # computed, not learned
            torch.nn.init.normal_(parameter, mean=0.0, std=0.3 if parameter.dim() > 1 else 0.5)
            if is_gain and name.endswith("weight") and "gemma" not in config.model_type:
                parameter += 1.0
        for name, buffer in made.named_buffers():
            if name.endswith("correction_bias"):
                torch.nn.init.normal_(buffer, mean=0.0, std=0.3)
        made.tie_weights()
    return made


def expected(model: Any, ids: tuple[int, ...] = IDS) -> Expected:
    """Arrays that the model computes for the tokens."""
    with torch.no_grad():
        found = model(torch.tensor([ids]), output_attentions=True, output_hidden_states=True, use_cache=False)
    states = found.hidden_states
    if hasattr(found, "last_hidden_state"):  # CLIP's last state has no norm, this has
        states = (*states[:-1], found.last_hidden_state)
    return Expected(
        tuple(layer[0].numpy() for layer in found.attentions),
        tuple(state[0].numpy() for state in states),
        found.logits[0].numpy() if hasattr(found, "logits") else None,
    )


def imported(model: Any, folder: Path, ids: tuple[int, ...] = IDS, **options: Any) -> Experiment:
    """The model saved by `transformers`, and read from the disk."""
    model.save_pretrained(folder)
    return import_checkpoint(folder, ids=ids, dtype="float64", **options).experiment


def rewrite_config(folder: Path, changes: dict[str, Any]) -> None:
    """Other values for some keys of a saved configuration."""
    file = folder / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def differences(trace: Trace, wanted: Expected) -> dict[str, float]:
    """The largest difference of weights, hidden states and logits; checks the number of layers."""
    sites = [trace.site(name) for name in trace.sites]
    assert len(sites) == len(wanted.weights)
    assert len(wanted.hidden) == len(sites) + 1
    came_in = [site["layer_input" if "layer_input" in site.stages else first_of(site)] for site in sites]
    out = sites[-1][result_of(sites[-1].stages)]
    found = {
        "weights": max(
            float(abs(site["weights"] - w).max()) for site, w in zip(sites, wanted.weights, strict=True)
        ),
        "hidden states": max(
            float(abs(a - b).max()) for a, b in zip([*came_in, out], wanted.hidden, strict=True)
        ),
    }
    if wanted.logits is not None:
        found["logits"] = float(abs(sites[-1]["logits"] - wanted.logits).max())
    return found


def first_of(site: Any) -> str:
    """The stage that `transformers` counts as what the first layer reads: vectors with positions, normed."""
    return next(
        stage for stage in ("x_projected", "x_normed", "x", "tokens_embedded") if stage in site.stages
    )


def run_and_compare(engine: Engine, experiment: Experiment, wanted: Expected) -> dict[str, float]:
    """The differences of a run on an engine."""
    return differences(run(engine, experiment), wanted)
