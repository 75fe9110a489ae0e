"""One text of a survey: the scores of every head, and the effect of its ablation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from attnviz.checkpoints import import_checkpoint
from attnviz.checkpoints.opening import names_model
from attnviz.checkpoints.stories import load_named
from attnviz.compute.execute import execute
from attnviz.core.progress import Check, never_cancelled
from attnviz.errors import FieldError, must_be
from attnviz.model.edit.edits import set_tokens
from attnviz.model.spec.experiment import Experiment
from attnviz.model.text import MODEL, split_text
from attnviz.study.ablation import ablate
from attnviz.study.heads.scores import head_scores
from attnviz.study.survey.plan import EFFECT, Plan
from attnviz.study.survey.texts import Text
from attnviz.study.target import Target, likeliest


@dataclass(frozen=True, eq=False)
class Measured:
    """The rows of a text, one for each head: `sites` and `heads` name it, `numbers` are (row,) by column."""

    text: Text
    n_tokens: int
    sites: tuple[str, ...]
    heads: NDArray[np.int16]
    numbers: dict[str, NDArray[np.float64]]


def open_model(plan: Plan) -> Experiment:
    """The model of a plan. Raises as `load` and `import_checkpoint` do."""
    name = plan.model
    if names_model(name):
        return import_checkpoint(name, "a", dtype=plan.dtype).experiment  # type: ignore[arg-type]
    known = load_named(name)
    check_vocabulary(known.experiment, name)
    return replace(known.experiment, dtype=plan.dtype)


def check_vocabulary(model: Experiment, name: str) -> None:
    """Raise `FieldError` for a model that reads no text; `name` is what the error quotes."""
    if model.vocabulary is None:
        raise FieldError("model", name, must_be("a model with a vocabulary, which splits texts into tokens"))


def measure(
    plan: Plan, model: Experiment, text: Text, check: Check = never_cancelled, reserve: int = 0
) -> Measured:
    """The rows of a text. `reserve` cores stay free; `check` is called between stages and may raise.

    Raises `ValueError` for a text that the model cannot read.
    """
    experiment = with_text(model, text.text, plan.n_tokens)
    trace = execute(experiment, plan.engine, plan.device, check, reserve=reserve)
    scores = head_scores(trace)
    sites = list(trace.sites)
    sizes = [len(scores[plan.scores[0]][site]) for site in sites]
    numbers = {id_: np.concatenate([scores[id_][site] for site in sites]) for id_ in plan.scores}
    if plan.ablate is not None:
        effects = ablate(
            experiment,
            Target(likeliest(trace.site(sites[-1]))),
            "heads",
            plan.ablate,
            engine=plan.engine,
            device=plan.device,
            check=check,
        )
        numbers[EFFECT] = np.concatenate([effects.values[site] for site in sites])
    names = tuple(site for site, size in zip(sites, sizes, strict=True) for _head in range(size))
    heads = np.concatenate([np.arange(size, dtype=np.int16) for size in sizes])
    return Measured(text, experiment.n_queries, names, heads, numbers)


def with_text(model: Experiment, text: str, n_tokens: int) -> Experiment:
    """The model with a text, of which the first `n_tokens` count."""
    return set_tokens(model, split_text(model, text, MODEL.id)[:n_tokens])
