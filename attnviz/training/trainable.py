"""`OBSTACLES`: what an experiment must not have to be trained on sequences of tokens, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace

from attnviz.compute.budget import available_memory
from attnviz.errors import NOTHING, FieldError, Message, must_be, of_length, whole_number
from attnviz.model.binding import bind
from attnviz.model.edit.edits import set_ids
from attnviz.model.operands.matrices import classes_of
from attnviz.model.sites.sites import sites
from attnviz.model.sites.stages import site_stages
from attnviz.model.spec.experiment import Experiment
from attnviz.operations.dropout import Dropout
from attnviz.training.parameters import parameters_of, size_of

NUMBER_BYTES = 40
"""Bytes for each number in training: its own, those of its gradient and moments, and of kept states."""


@dataclass(frozen=True)
class Obstacle:
    """One reason. `found(experiment)` is the value of the field that stands in the way, None without one."""

    field: str
    requirement: Message
    found: Callable[[Experiment], object]


def _memory(experiment: Experiment) -> object:
    memory = experiment.memory
    return None if memory is None else of_length(len(memory.tokens))


def _readout(experiment: Experiment) -> object:
    return None if experiment.readout == "vocabulary" else experiment.readout


def _vocabulary(experiment: Experiment) -> object:
    return NOTHING if experiment.vocabulary is None else None


def _classes(experiment: Experiment) -> object:
    classes = classes_of(experiment)
    return None if classes is None else Message("{n} classes", n=len(classes.labels))


def _edits(experiment: Experiment) -> object:
    count = sum(len(site.edits) for site in sites(experiment).values())
    return of_length(count) if count else None


def _size(experiment: Experiment) -> object:
    """The numbers of a document for which the memory has no room."""
    n = size_of(parameters_of(experiment))
    return Message("{n:,} numbers", n=n) if NUMBER_BYTES * n > available_memory() // 4 else None


OBSTACLES: tuple[Obstacle, ...] = (
    Obstacle("memory", must_be("null: a batch trains on one sequence alone"), _memory),
    Obstacle("vocabulary", must_be("a vocabulary, whose rows are the token vectors"), _vocabulary),
    Obstacle("readout", must_be("'vocabulary', which predicts the next token"), _readout),
    Obstacle("vocabulary.classes", must_be("null: a classifier has no next token"), _classes),
    Obstacle("edits", must_be("none: numbers by hand belong to one sequence"), _edits),
    Obstacle(
        "layers",
        must_be("so small that a quarter of the memory has {n} bytes for each number", n=NUMBER_BYTES),
        _size,
    ),
)
"""The reasons; the first one that an experiment has is told."""


def has_dropout(experiment: Experiment) -> bool:
    """True if a site drops numbers: other ones in each step and text of a training."""
    standing = sites(experiment).values()
    return any(isinstance(bind(site, stage), Dropout) for site in standing for stage in site_stages(site))


def check_trainable(experiment: Experiment) -> None:
    """Raise `FieldError` for the first obstacle of an experiment."""
    for obstacle in OBSTACLES:
        found = obstacle.found(experiment)
        if found is not None:
            raise FieldError(obstacle.field, found, obstacle.requirement)


def with_length(experiment: Experiment, n: int) -> Experiment:
    """The experiment with `n` tokens, rows of its vocabulary; all else stays.

    Raises `FieldError` for an obstacle, for no whole number of tokens from 2 on, and for more than a position
    has numbers for.
    """
    check_trainable(experiment)
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 2:
        raise FieldError("n", n, whole_number(2))
    known = experiment.vocabulary
    assert known is not None
    ids = [index % len(known.tokens) for index in range(n)]
    return replace(set_ids(experiment, ids), writing=None)
