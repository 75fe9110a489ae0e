"""Many sequences as one array: its loss and gradients are the means of single runs."""

from __future__ import annotations

import numpy as np
import pytest
from experiments import SPREAD, STACKS
from msgspec.structs import replace

import attnviz
from attnviz.engines.engine import Engine
from attnviz.engines.table import ENGINE_BY_ID
from attnviz.engines.torch_engine import ALONE
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import ExplicitVectors
from attnviz.model.spec.vocabulary import Vocabulary
from attnviz.training.batch import Batch, next_tokens
from attnviz.training.parameters import parameters_of

WORDS = tuple("abcdefg")


def engine_of(name: str) -> Engine:
    return ENGINE_BY_ID[name].make("float64", "cpu", ALONE)


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


def with_ids(experiment: Experiment, ids: np.ndarray) -> Experiment:
    known = experiment.vocabulary
    assert known is not None
    rows = known.embedding.array[ids] * known.embedding_scale
    tokens = tuple(known.tokens[index] for index in ids)
    return replace(experiment, tokens=tokens, vectors=ExplicitVectors(Matrix(rows)))


def sequences(experiment: Experiment, count: int = 3, n: int = 5) -> np.ndarray:
    assert experiment.vocabulary is not None
    return np.random.default_rng(3).integers(0, len(experiment.vocabulary.tokens), (count, n))


@pytest.mark.parametrize("engine", ENGINE_BY_ID)
@pytest.mark.parametrize("name", KINDS)
def test_a_batch_is_the_mean_of_single_runs(name: str, engine: str) -> None:
    experiment = KINDS[name]
    ids = sequences(experiment)
    made = engine_of(engine)
    batch = Batch(made, experiment, ids.shape[1])
    found = batch.loss_and_gradients(batch.parameters(), ids, next_tokens(ids))
    singles = [attnviz.backward(with_ids(experiment, one), "loss") for one in ids]
    assert found.loss == pytest.approx(np.mean([one.value for one in singles]), rel=1e-12, nan_ok=True)
    seen = set()
    for index, parameter in enumerate(parameters_of(singles[0].experiment)):
        expected = [parameters_of(one.experiment)[index].gradient(one) for one in singles]
        if any(one is None for one in expected):
            assert parameter.name not in found.gradients
            continue
        seen.add(parameter.name)
        np.testing.assert_allclose(
            made.to_numpy(found.gradients[parameter.name]),
            np.mean(expected, axis=0),
            rtol=1e-9,
            atol=1e-12,
            err_msg=parameter.name,
        )
    assert seen == set(found.gradients)
