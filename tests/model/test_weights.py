"""Every weight that an experiment uses, by its path: its numbers, and writing them out."""

from __future__ import annotations

import numpy as np
import pytest
from experiments import SPREAD, block, sited, small

from attnviz.model.io.files import number_count
from attnviz.model.operands.matrices import projection_array
from attnviz.model.sites.sites import alone
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import ROLES, Identity, Projections, Seeded, Tied
from attnviz.model.weights import WEIGHTS, weights_of


def test_one_weight_writes_its_matrix_out() -> None:
    before = sited(small(projections=Projections(Seeded(1), Identity(), Tied("query"), Seeded(4))))
    for role, weight in zip(ROLES, WEIGHTS, strict=False):
        values = weight.array(before).copy()
        assert values.tolist() == projection_array(before, role).tolist()  # type: ignore[arg-type]
        values[0, 1] = 7.0
        after = weight.put(before, values)
        np.testing.assert_array_equal(projection_array(after, role), values)  # type: ignore[arg-type]


@pytest.mark.parametrize("experiment", SPREAD.values(), ids=list(SPREAD))
def test_all_weights_written_out_are_the_same_experiment_in_numbers(experiment: Experiment) -> None:
    written = given = sited(experiment)
    for weight in weights_of(given):
        values = weight.array(written)
        assert values.ndim == 2 and not values.flags.writeable
        written = weight.put(written, values)
        np.testing.assert_array_equal(weight.array(written), values)
    assert all(weight.origin(written) == "explicit" for weight in weights_of(written))
    arrays = [weight for weight in weights_of(written) if weight.path not in ("sinks", "position.slopes")]
    count = sum(weight.array(written).size for weight in arrays)
    vocabulary = experiment.vocabulary
    known = 0 if vocabulary is None else vocabulary.embedding.array.size
    assert number_count(alone(written)) - number_count(experiment) <= count
    assert number_count(alone(written)) >= count + known


def test_a_weight_of_another_shape_is_refused_by_its_path() -> None:
    experiment = sited(small(block=block("pre")))
    for weight in weights_of(experiment):
        with pytest.raises(ValueError, match=weight.path.replace(".", r"\.")):
            weight.put(experiment, np.zeros((1, 77)))


def test_only_what_is_used_is_named() -> None:
    assert [weight.path for weight in weights_of(sited(small()))] == [f"projections.{role}" for role in ROLES]
