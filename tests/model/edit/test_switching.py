"""Other kinds of a part, and the way back."""

from __future__ import annotations

import pytest
from experiments import sited
from first_layer import stacked

from attnviz.model.edit.switching import LastOfKind, scale_of_kind, set_n_rotated, set_position, set_slope
from attnviz.model.positions import n_rotated, slopes_of
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import (
    Alibi,
    Heads,
    NoScale,
    Projections,
    Rope,
    ScaleValue,
    Seeded,
    SeededVectors,
    SqrtDHead,
    Tied,
)
from attnviz.model.spec.positions import Sizes


def experiment(**fields: object) -> Experiment:
    return stacked(tokens=("a", "b"), vectors=SeededVectors(2, 8), **fields)  # type: ignore[arg-type]


def test_the_last_of_each_kind_is_remembered() -> None:
    seen = LastOfKind()
    assert seen.last(Rope, Rope()) == Rope()
    seen.note(Rope(base=500.0))
    seen.note(Alibi())
    assert seen.last(Rope, Rope()) == Rope(base=500.0)


@pytest.mark.parametrize(
    ("kept", "d_head", "expected"),
    [
        (Rope(multipliers=(1.0, 2.0, 3.0)), 4, Rope(multipliers=(1.0, 2.0))),
        (Rope(n_rotated=8), 4, Rope()),
        (Rope(n_rotated=2, base=7.0), 4, Rope(n_rotated=2, base=7.0)),
        (Rope(), 5, Rope(n_rotated=4)),
        (Rope(n_rotated=2), 7, Rope(n_rotated=2)),
    ],
)
def test_a_remembered_rope_is_cut_to_the_heads(kept: Rope, d_head: int, expected: Rope) -> None:
    assert kept.fitted(Sizes(2, 8, 2, d_head)) == expected


def test_rope_needs_two_features() -> None:
    with pytest.raises(ValueError, match=r"heads\.d_head must be at least 2 with rotary positions; got 1\."):
        set_position(sited(experiment(heads=Heads(1, 1, 1))), Rope())


def test_slopes_of_other_heads_are_published_ones_again() -> None:
    assert Alibi((0.1, 0.2, 0.3)).fitted(Sizes(2, 8, 2, 4)) == Alibi()


def test_rotated_features_go_by_pairs_and_all_is_none() -> None:
    start = experiment(heads=Heads(1, 1, 8), position=Rope())
    assert n_rotated(sited(start)) == 8
    assert n_rotated(set_n_rotated(sited(start), 5)) == 4
    assert set_n_rotated(sited(start), 8).position == Rope()
    assert n_rotated(set_n_rotated(sited(start), 1)) == 2


def test_the_first_written_slope_writes_out_the_published_ones() -> None:
    # 8 heads: 1/2, 1/4 ... 1/256 (Press et al. 2022).
    start = experiment(heads=Heads(8, 8, 4), position=Alibi())
    assert slopes_of(sited(start)) == tuple(2.0**-h for h in range(1, 9))
    assert set_slope(sited(start), 1, 0.0).position == Alibi((0.5, 0.0, *(2.0**-h for h in range(3, 9))))


def test_a_scale_of_ones_own_begins_as_what_the_scale_is() -> None:
    seen = LastOfKind()
    assert scale_of_kind(sited(experiment(heads=Heads(1, 1, 16))), "value", seen) == ScaleValue(0.25)
    assert scale_of_kind(sited(experiment(scale=NoScale())), "value", seen) == ScaleValue(1.0)
    seen.note(ScaleValue(3.0))
    assert scale_of_kind(sited(experiment()), "value", seen) == ScaleValue(3.0)
    assert scale_of_kind(sited(experiment()), "sqrt_d_head", seen) == SqrtDHead()


def test_why_a_matrix_cannot_be_tied() -> None:
    grouped = experiment(heads=Heads(2, 1, 4))
    assert sited(grouped).why_not_tied("key", "value") is None
    assert sited(grouped).why_not_tied("output", "query") is None
    reason = "projections.key.to must name a projection of 8x4, not of 8x8; got 'query'."
    assert str(sited(grouped).why_not_tied("key", "query")) == reason
    with pytest.raises(ValueError, match=reason):
        experiment(heads=Heads(2, 1, 4), projections=Projections(key=Tied("query")))
    tied = experiment(projections=Projections(query=Seeded(0), key=Tied("query")))
    assert "tied itself" in str(sited(tied).why_not_tied("value", "key"))
