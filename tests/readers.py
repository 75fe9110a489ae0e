"""The spread of experiments, each with a vocabulary whose words it reads and predicts."""

from __future__ import annotations

import numpy as np
from experiments import SPREAD, STACKS
from msgspec.structs import replace

from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.vocabulary import Vocabulary

WORDS = tuple("abcdefg")


def with_words(experiment: Experiment) -> Experiment:
    """With a vocabulary that it reads; without the memory that a batch cannot have."""
    rng = np.random.default_rng(5)
    known = experiment.vocabulary
    if known is None or known.classes is not None:
        d_in, d_out = experiment.d_embedding, experiment.d_model
        own = None if d_in == d_out and len(experiment.layers) == 1 else Matrix(rng.normal(size=(d_out, 7)))
        known = Vocabulary(WORDS, Matrix(rng.normal(size=(7, d_in))), 1.3, own)
    return replace(experiment, vocabulary=known, readout="vocabulary", dtype="float64")


KINDS = {name: with_words(one) for name, one in (SPREAD | STACKS).items() if one.memory is None}
