"""Many sequences as one array: its loss and gradients are the means of single runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from experiments import MEMORY, block, small
from msgspec.structs import replace
from readers import KINDS, with_words

import attnviz
from attnviz.engines.engine import Engine
from attnviz.engines.table import ENGINE_BY_ID
from attnviz.engines.torch_engine import ALONE
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.edit import Edit
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.latent import Latent
from attnviz.model.spec.parts import Causal, Dropout, ExplicitVectors, Heads, Projections, Seeded
from attnviz.model.spec.positions import Learned
from attnviz.model.spec.vocabulary import Classes
from attnviz.training import trainable
from attnviz.training.batch import Batch, next_tokens
from attnviz.training.parameters import EMBEDDING, parameters_of
from attnviz.training.trainable import OBSTACLES


def engine_of(name: str) -> Engine:
    return ENGINE_BY_ID[name].make("float64", "cpu", ALONE)


OTHERS = {
    "latent": small(
        heads=Heads(2, 2, 3), latent=Latent(6, 5, 2), projections=Projections(Seeded(2)), masks=(Causal(),)
    ),
    "five layers": small(
        block=block("pre"),
        masks=(Causal(),),
        behind=tuple(
            Layer(heads=Heads(2, 1, 2), projections=Projections(*map(Seeded, range(4))), block=block("pre"))
            for _index in range(4)
        ),
    ),
}


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
    """Of other numbers than the document had when the batch was made."""
    experiment = KINDS[name]
    ids = sequences(experiment)
    made = engine_of(engine)
    batch = Batch(made, experiment, ids.shape[1])
    parameters = batch.parameters()
    with made.active():
        for numbers in parameters.values():
            numbers *= 0.9
    found = batch.loss_and_gradients(parameters, ids, next_tokens(ids))
    documents = [batch.put(with_ids(experiment, one), parameters) for one in ids]
    singles = [attnviz.backward(one, "loss") for one in documents]
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


STORY = with_words(
    small(
        block=block("pre"),
        masks=(Causal(),),
        position=Learned(9),
        dropout=Dropout(0.4, 3),
        heads=Heads(2, 1, 4),
    )
)


def counted_loss(batch: Batch, parameters: Any, ids: np.ndarray, counted: np.ndarray) -> float:
    return batch.loss(parameters, ids, next_tokens(ids, counted)).loss


def test_gradients_are_finite_differences() -> None:
    """Of the loss at the counted positions, by the largest number of each parameter."""
    made = engine_of("numpy")
    batch, ids = Batch(made, STORY, 5), sequences(STORY)
    counted = np.random.default_rng(1).random(ids.shape) < 0.5
    parameters = batch.parameters()
    gradients = batch.loss_and_gradients(parameters, ids, next_tokens(ids, counted)).gradients
    assert set(gradients) == set(parameters)
    for name, gradient in gradients.items():
        at = np.unravel_index(np.abs(gradient).argmax(), gradient.shape)
        old, h, values = parameters[name][at], 1e-5, []
        for sign in (1, -1):
            parameters[name][at] = old + sign * h
            values.append(counted_loss(batch, parameters, ids, counted))
        parameters[name][at] = old
        assert gradient[at] == pytest.approx((values[0] - values[1]) / (2 * h), rel=1e-6), name


def test_the_loss_counts_what_is_asked() -> None:
    """The mean over single positions, as `loss[i]` has them; a target need not be the next token."""
    batch, ids = Batch(engine_of("numpy"), STORY, 5), sequences(STORY)
    counted = np.zeros(ids.shape, dtype=bool)
    counted[0, 1] = counted[2, 3] = counted[1, 4] = True
    targets = next_tokens(ids, counted)
    assert targets[1, 4] == -1 and targets[0, 1] == ids[0, 2] and (targets >= 0).sum() == 2
    found = batch.loss(batch.parameters(), ids, targets)
    single = [
        attnviz.backward(with_ids(STORY, ids[row]), f"loss[{position}]").value
        for row, position in ((0, 1), (2, 3))
    ]
    assert found.loss == pytest.approx(np.mean(single), rel=1e-12)
    assert found.losses[[0, 2], [1, 3]].tolist() == pytest.approx(single)
    assert np.count_nonzero(found.losses) == 2
    own = np.full(ids.shape, -1)
    own[:, -1] = 4
    logits = batch.loss(batch.parameters(), ids, own).logits[:, -1]
    logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    assert batch.loss(batch.parameters(), ids, own).loss == pytest.approx(-logs[:, 4].mean())


def test_predictions_are_the_most_probable_tokens() -> None:
    made = engine_of("numpy")
    batch, ids = Batch(made, STORY, 5), sequences(STORY)
    found = batch.loss(batch.parameters(), ids, next_tokens(ids)).predictions(made)
    for row, one in enumerate(ids):
        trace = attnviz.run(with_ids(STORY, one))
        np.testing.assert_array_equal(found[row], trace["logits"].argmax(axis=1))


def test_a_draw_drops_other_numbers_in_each_step_and_sequence() -> None:
    batch = Batch(engine_of("numpy"), STORY, 5)
    parameters, ids = batch.parameters(), np.repeat(sequences(STORY, 1), 3, axis=0)
    targets = next_tokens(ids)
    same = batch.loss_and_gradients(parameters, ids, targets).logits
    assert np.array_equal(same[0], same[1])
    first, again, other = (
        batch.loss_and_gradients(parameters, ids, targets, draw).logits for draw in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    rows = np.concatenate([first[:, -1], other[:, -1]])
    assert len(np.unique(rows.round(9), axis=0)) == 6


def test_numbers_return_to_a_document_of_another_text() -> None:
    batch = Batch(engine_of("numpy"), STORY, 7)
    parameters = batch.parameters()
    for numbers in parameters.values():
        numbers += 0.25
    after = batch.put(with_ids(STORY, sequences(STORY)[0]), parameters)
    assert after.n_queries == 5
    for one in parameters_of(after):
        np.testing.assert_allclose(one.numbers(), parameters[one.name], rtol=1e-12, err_msg=one.name)
    assert EMBEDDING in parameters


def test_an_embedding_returns_to_a_document_with_other_vectors() -> None:
    """Its vectors are drawn, its logits have a matrix of their own."""
    given = KINDS["two layers, pre"]
    assert EMBEDDING not in {one.name for one in parameters_of(given)}
    batch = Batch(engine_of("numpy"), given, 5)
    parameters = batch.parameters()
    parameters[EMBEDDING] += 1
    after = batch.put(given, parameters)
    assert after.vectors == given.vectors and after.vocabulary is not None
    np.testing.assert_allclose(after.vocabulary.embedding.array, parameters[EMBEDDING], rtol=1e-12)


def test_both_sides_of_tied_matrices_move() -> None:
    """Parameters that the caller changes in place are those of the next pass."""
    batch, ids = Batch(engine_of("numpy"), KINDS["tied"], 5), sequences(KINDS["tied"])
    parameters = batch.parameters()
    before = batch.loss(parameters, ids, next_tokens(ids)).loss
    parameters["layers.0.self.projections.query"] *= 0.5
    found = batch.loss(parameters, ids, next_tokens(ids)).loss
    moved = [
        attnviz.backward(batch.put(with_ids(KINDS["tied"], one), parameters), "loss").value for one in ids
    ]
    assert found == pytest.approx(np.mean(moved), rel=1e-12)
    assert found != before


REFUSED: dict[str, tuple[Experiment, str]] = {
    "memory": (
        small(memory=MEMORY),
        "memory must be null: a batch trains on one sequence alone; got length 3",
    ),
    "vocabulary": (
        small(),
        "vocabulary must be a vocabulary, whose rows are the token vectors; got nothing.",
    ),
    "readout": (
        replace(STORY, readout="none"),
        "readout must be 'vocabulary', which predicts the next token; got 'none'.",
    ),
    "vocabulary.classes": (
        replace(
            STORY,
            vocabulary=replace(
                STORY.vocabulary, classes=Classes(("yes", "no")), unembedding=Matrix(np.ones((6, 2)))
            ),
        ),
        "vocabulary.classes must be null: a classifier has no next token; got 2 classes.",
    ),
    "edits": (
        replace(
            STORY, layers=(replace(STORY.layers[0], edits=(Edit("weights", 1, 0.5, head=0, column=0),)),)
        ),
        "edits must be none: numbers by hand belong to one sequence; got length 1.",
    ),
}


def test_every_obstacle_is_refused() -> None:
    assert {*REFUSED, "layers"} == {row.field for row in OBSTACLES}


def test_too_large_a_document_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainable, "available_memory", lambda: 4 * 40 * 100)
    with pytest.raises(ValueError) as error:
        Batch(engine_of("numpy"), STORY, 4)
    sentence = "layers must be so small that a quarter of the memory has 40 bytes for each number"
    assert sentence in str(error.value)


@pytest.mark.parametrize("field", REFUSED)
def test_an_experiment_that_cannot_train_says_why(field: str) -> None:
    experiment, sentence = REFUSED[field]
    with pytest.raises(ValueError) as error:
        Batch(engine_of("numpy"), experiment, 5)
    assert sentence in str(error.value)


def test_more_tokens_than_a_learned_table_has_are_refused() -> None:
    Batch(engine_of("numpy"), STORY, 9)
    with pytest.raises(ValueError, match=r"layers\[0\]\.position\.length must be"):
        Batch(engine_of("numpy"), STORY, 10)


@pytest.mark.parametrize("n", [0, 1, 2.5, True])
def test_a_sequence_has_two_tokens_at_least(n: Any) -> None:
    with pytest.raises(ValueError, match="n must be a whole number"):
        Batch(engine_of("numpy"), STORY, n)


@pytest.mark.parametrize(
    ("ids", "targets", "sentence"),
    [
        (
            np.zeros((2, 4), int),
            np.zeros((2, 5), int),
            "ids must be 2x5: sequences of 5 tokens; got 2x4.",
        ),
        (
            np.zeros((2, 5), int),
            np.zeros((1, 5), int),
            "targets must be 2x5: sequences of 5 tokens; got 1x5",
        ),
        (
            np.zeros((2, 5), int),
            np.full((2, 5), 8),
            "targets must be ids of the vocabulary, from 0 to 6; got 8.",
        ),
        (np.full((2, 5), 7), np.zeros((2, 5), int), "ids must be ids of the vocabulary, from 0 to 6; got 7."),
        (
            np.full((2, 5), -1),
            np.zeros((2, 5), int),
            "ids must be ids of the vocabulary, from 0 to 6; got -1.",
        ),
        (
            np.zeros((2, 5), int),
            np.full((2, 5), -1),
            "targets must be counted at one position at least; got nothing.",
        ),
    ],
)
def test_sequences_that_do_not_fit_are_refused(ids: np.ndarray, targets: np.ndarray, sentence: str) -> None:
    batch = Batch(engine_of("numpy"), STORY, 5)
    with pytest.raises(ValueError) as error:
        batch.loss_and_gradients(batch.parameters(), ids, targets)
    assert sentence in str(error.value)
