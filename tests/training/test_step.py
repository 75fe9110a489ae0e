"""A step against the gradient: what changes, by how much, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from experiments import SPREAD, STACKS, small
from msgspec.structs import replace

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.model.operands.matrices import vectors_array
from attnviz.model.sites.sites import at
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Heads, Tied
from attnviz.model.weights import WEIGHT_BY_PATH
from attnviz.training.parameters import EMBEDDING, parameters_of
from attnviz.training.step import ALL, Step, step_along, take_step

SELF = "layers.0.self"
QUERY = f"{SELF}.projections.query"
ALL_KINDS = SPREAD | STACKS
STORY = load_preset("stories-name").experiment
PLAIN = replace(ALL_KINDS["plain"], dtype="float64")


def weight(experiment: Experiment, path: str, site: str = SELF) -> np.ndarray:
    return WEIGHT_BY_PATH[path].array(at(experiment, site)).astype(np.float64)


def gradient_of(experiment: Experiment) -> attnviz.model.gradient.Gradient:  # type: ignore[name-defined]
    """That of the loss, or where a document has none that of the last number of its last stage."""
    try:
        return attnviz.backward(experiment, "loss")
    except ValueError:
        trace = attnviz.run(experiment)
        site = trace.site(trace.sites[-1])
        stage = site.stages[-1]
        place = ", ".join("-1" for _axis in site.shape(stage))
        return attnviz.backward(experiment, f"{site.name}.{stage}[{place}]")


@pytest.mark.parametrize("name", ALL_KINDS)
def test_a_small_step_changes_the_target_as_its_gradient_says(name: str) -> None:
    """−η Σ g² is the change only if every parameter moves, by the derivative of all of its uses."""
    gradient = gradient_of(replace(ALL_KINDS[name], dtype="float64"))
    if not np.isfinite(gradient.value):
        with pytest.raises(ValueError, match="must be a number; got NaN or ∞"):
            step_along(gradient, 1e-6)
        return
    step = step_along(gradient, 1e-6)
    assert step.before == gradient.value
    assert step.change == pytest.approx(step.predicted, rel=2e-3, abs=1e-13)


def test_steps_are_those_of_plain_gradient_descent_in_torch() -> None:
    """One head by hand in torch, its optimiser, five steps."""
    experiment = replace(small(heads=Heads(1, 1, 4)), dtype="float64")
    start = [vectors_array(experiment.vectors), weight(experiment, "projections.query")]
    start.append(weight(experiment, "projections.key"))
    x, query, key = (torch.tensor(numbers, requires_grad=True) for numbers in start)
    optimiser = torch.optim.SGD([x, query, key], lr=0.7)
    for _step in range(5):
        optimiser.zero_grad()
        scores = (x @ query) @ (x @ key).T / 4**0.5
        target = torch.softmax(scores, dim=-1)[2, 0]
        target.backward()
        optimiser.step()
        step = take_step(experiment, "weights[0, 2, 0]", 0.7)
        assert step.before == pytest.approx(float(target.detach()), abs=1e-12)
        experiment = step.experiment
    np.testing.assert_allclose(weight(experiment, "projections.query"), query.detach(), atol=1e-12)
    np.testing.assert_allclose(vectors_array(experiment.vectors), x.detach(), atol=1e-12)


@pytest.mark.parametrize("what", [ALL, QUERY, f"{QUERY}[1, 2]"])
def test_both_engines_take_the_same_step(what: str) -> None:
    made = [take_step(PLAIN, "loss", 0.3, what, engine, "cpu") for engine in ("numpy", "torch")]
    assert made[0].after == pytest.approx(made[1].after, abs=1e-12)
    for parameter, other in zip(*(parameters_of(one.experiment) for one in made), strict=True):
        np.testing.assert_allclose(parameter.numbers(), other.numbers(), rtol=0, atol=1e-12)


def changed(step: Step, before: Experiment) -> dict[str, int]:
    """The number of changed numbers of each parameter that has any."""
    pairs = zip(parameters_of(before), parameters_of(step.experiment), strict=True)
    counts = {old.name: int((old.numbers() != new.numbers()).sum()) for old, new in pairs}
    return {name: count for name, count in counts.items() if count}


def test_only_what_is_chosen_changes() -> None:
    everything = changed(take_step(PLAIN, "loss", 0.1), PLAIN)
    assert {"vectors", QUERY} < set(everything)
    assert set(changed(take_step(PLAIN, "loss", 0.1, QUERY), PLAIN)) == {QUERY}
    step = take_step(PLAIN, "loss", 0.1, f"{QUERY}[1, -1]")
    assert changed(step, PLAIN) == {QUERY: 1} and step.n == 1
    slope = attnviz.backward(PLAIN, "loss").parameters[QUERY][1, -1]
    old, new = (weight(one, "projections.query")[1, -1] for one in (PLAIN, step.experiment))
    assert new == old - 0.1 * slope == step.weight.after(0.1)
    assert step.predicted == pytest.approx(-0.1 * slope**2)


def test_the_named_weight_has_the_largest_slope() -> None:
    gradient = attnviz.backward(PLAIN, "loss")
    largest = step_along(gradient, 0.1, QUERY).weight
    slopes = gradient.parameters[QUERY]
    assert abs(slopes).max() == abs(largest.slope)
    again = step_along(gradient, 0.1, str(largest))
    assert (again.n, again.weight) == (1, largest)


def test_matrices_that_are_tied_stay_equal() -> None:
    experiment = replace(ALL_KINDS["tied"], dtype="float64")
    after = take_step(experiment, "loss", 0.1).experiment
    site = at(after, SELF)
    assert isinstance(site.projections.key, Tied)
    names = [parameter.name for parameter in parameters_of(experiment)]
    assert QUERY in names and f"{SELF}.projections.key" not in names


def test_vectors_stay_rows_of_the_embedding() -> None:
    assert EMBEDDING in {parameter.name for parameter in parameters_of(STORY)}
    after = take_step(STORY, "loss", 0.1).experiment
    known = after.vocabulary
    assert known is not None and not np.array_equal(known.embedding.array, STORY.vocabulary.embedding.array)
    rows = [known.tokens.index(token) for token in after.tokens]
    expected = known.embedding.array[rows] * known.embedding_scale
    np.testing.assert_allclose(vectors_array(after.vectors), expected, rtol=1e-6)


def test_too_large_a_rate_makes_the_loss_worse() -> None:
    small_step, large_step = (take_step(STORY, "loss", rate) for rate in (0.05, 50.0))
    assert small_step.change < 0 < large_step.change


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_a_rate_is_a_positive_number(rate: float) -> None:
    with pytest.raises(ValueError, match="rate must be a positive number; got"):
        take_step(PLAIN, "loss", rate)


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("layers.0.self.projections.nothing", "what must be one of 'all', 'vectors', 'layers.0.self"),
        (f"{QUERY}[99, 0]", "what.row must be a whole number from 0 to 5; got 99"),
        ("all[0, 0]", "what must be a parameter, where one number is chosen"),
        ("", "what must be one of"),
    ],
)
def test_a_choice_that_does_not_exist_is_refused(what: str, sentence: str) -> None:
    with pytest.raises(ValueError) as error:
        take_step(PLAIN, "loss", 0.1, what)
    assert sentence in str(error.value)


@pytest.mark.parametrize("rate", [1e20, 1e308])
def test_a_step_that_ends_in_no_number_is_refused(rate: float) -> None:
    with pytest.raises(ValueError) as error:
        take_step(STORY, "loss", rate)
    assert "loss must stay a number; it is" in str(error.value)
    assert "along a gradient of norm 3.23" in str(error.value)
