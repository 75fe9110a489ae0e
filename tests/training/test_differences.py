"""Second runs that differ in one thing, and the sentence about both."""

from __future__ import annotations

import pytest
from two_layers import COURSE, TASK, model

from attnviz.checkpoints.presets import load_preset
from attnviz.model.sites.sites import at, site_names
from attnviz.model.spec.experiment import Experiment
from attnviz.study.contrast.differences import differences
from attnviz.training.differences import DIFFERENCE_BY_ID, DIFFERENCES, differences_of
from attnviz.training.optimiser import Settings
from attnviz.training.record import Measures
from attnviz.training.seen import compared, parted
from attnviz.training.turns import begin

PATHS = {
    "no_scale": {"scale"},
    "no_position": {"position"},
    "no_residual": {"block.residual"},
    "post_norm": {"block.placement"},
    "one_layer": {"layers"},
    "two_layers": {"layers"},
    "shared": {"heads.n_kv_heads"},
    "own": {"heads.n_kv_heads"},
}


def changed(first: Experiment, second: Experiment) -> set[str]:
    return {one.path.split("].", 1)[-1].split("[")[0] for one in differences(first, second)}


def test_a_document_has_the_differences_that_change_it() -> None:
    given = load_preset("induction-birth").experiment
    rows = [row.id for row in differences_of(given, Settings())]
    assert rows == ["no_scale", "no_position", "no_residual", "one_layer", "shared", "warm_up"]
    for row in differences_of(given, Settings()):
        expected = PATHS.get(row.id, set())
        assert changed(given, row.model(given)) == expected, row.id
    assert DIFFERENCE_BY_ID["warm_up"].settings(Settings()) == Settings(warmup=100)


def test_the_way_back_is_a_difference_too() -> None:
    given = model()
    for there, back in (("no_scale", "scale"), ("no_residual", "residual"), ("post_norm", "pre_norm")):
        other = DIFFERENCE_BY_ID[there].model(given)
        assert back in {row.id for row in differences_of(other, Settings())}
        assert there not in {row.id for row in differences_of(other, Settings())}
        assert DIFFERENCE_BY_ID[back].model(other) == given
    shared = DIFFERENCE_BY_ID["shared"].model(given)
    assert all(at(shared, name).heads.n_kv_heads == 1 for name in site_names(shared))
    assert "own" in {row.id for row in differences_of(shared, Settings())}


@pytest.mark.parametrize("row", DIFFERENCES, ids=lambda row: row.id)
def test_every_difference_trains_on_the_same_texts(row: object) -> None:
    given = model()
    if row.id not in {one.id for one in differences_of(given, Settings())}:  # type: ignore[attr-defined]
        opposite = {"scale": "no_scale", "residual": "no_residual", "pre_norm": "post_norm", "own": "shared"}
        before = opposite.get(row.id)  # type: ignore[attr-defined]
        given = DIFFERENCE_BY_ID[before].model(given) if before else model(1)
    one, other = (
        begin(made, TASK, COURSE, settings)
        for made, settings in (
            (given, Settings(steps=10)),
            (row.model(given), row.settings(Settings(steps=10))),  # type: ignore[attr-defined]
        )
    )
    first, second = one.turn(most=10), other.turn(most=10)
    assert (one.training.texts(3, 4).ids == other.training.texts(3, 4).ids).all()
    assert first.moments != second.moments


def measured(step: int, accuracy: float) -> Measures:
    return Measures(step, 1.0, accuracy, accuracy, {})


def run(*accuracies: float) -> list[Measures]:
    return [measured(10 * index, accuracy) for index, accuracy in enumerate(accuracies)]


def test_the_step_by_which_two_runs_part() -> None:
    first, second = run(0.1, 0.2, 0.4, 0.95), run(0.1, 0.15, 0.2, 0.2)
    assert parted(first, second) == (first[2], second[2])
    assert parted(first[:2], second) is None
    assert parted(first, [measured(5, 0.9)]) is None, "only what both have measured is compared"


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (run(0.1), run(0.1), "Neither run has taken a step: press Space."),
        (run(0.1, 0.2), run(0.1, 0.2), "A and B are alike up to step 10. Neither passes 0.9 in 10 steps."),
        (
            run(0.1, 0.5, 0.95, 1.0),
            run(0.1, 0.1, 0.2, 0.91),
            "A and B part by step 10: 50% and 10% right. A passes 0.9 first, by step 20; B by step 30.",
        ),
        (
            run(0.1, 0.5, 0.8),
            run(0.1, 0.95, 0.95),
            "A and B part by step 10: 50% and 95% right. "
            "B passes 0.9 first, by step 10; A has not in 20 steps.",
        ),
        (run(0.1, 0.95), run(0.1, 0.95), "A and B are alike up to step 10. Both pass 0.9 by step 10."),
    ],
)
def test_the_sentence_of_two_runs(first: list[Measures], second: list[Measures], said: str) -> None:
    assert compared(first, second) == said
