"""The curves of the positions panel against whole runs with the tokens moved to that distance."""

from __future__ import annotations

import numpy as np
import pytest
from experiments import SITES, SPREAD, STACKS, sited, small
from first_layer import stacked

from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.explain.position_curves import CURVE_ROWS, Curve, candidates, curves, distances, kind_of, wave
from attnviz.explain.score_pair import Pair
from attnviz.model.positions import POSITIONS
from attnviz.model.scalings import SCALINGS
from attnviz.model.sites.sites import alone
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import ExplicitVectors, Heads, NoScale, Rope, SeededVectors, Sinusoidal
from attnviz.model.spec.positions import Learned
from attnviz.model.spec.scalings import LinearScaling, Yarn
from attnviz.model.stages import STAGES
from attnviz.model.trace import SiteTrace

ENGINE = NumpyEngine("float64")
ON_VECTORS = tuple(row.id for row in POSITIONS if row.changes == "vectors")
"""Encodings that are added to the vectors; all others leave these alone."""
IDS = [id_ for id_, _title, _experiment in candidates(sited(small(heads=Heads(4, 2, 4))))]
BEFORE_MASKS = {stage.id for stage in STAGES if stage.phase == "scores" and not stage.is_infinite}


def site_of(experiment: Experiment) -> SiteTrace:
    return run(ENGINE, experiment).only


def final_score(site: SiteTrace, pair: Pair) -> float:
    """The score of a pair after scale, cap and bias, before masks."""
    stage = next(stage for stage in reversed(site.stages) if stage in BEFORE_MASKS)
    return float(site.window(stage, pair.head)[pair.query, pair.key])


def own(found: tuple[Curve, ...]) -> Curve:
    (curve,) = [curve for curve in found if curve.is_present]
    return curve


@pytest.mark.parametrize(("name", "at"), SITES)
def test_the_present_curve_passes_through_every_pair_of_the_trace(name: str, at: str) -> None:
    site = run(ENGINE, (SPREAD | STACKS)[name]).site(at)
    experiment = site.experiment
    away = distances(sited(experiment)).tolist()
    for head in range(experiment.heads.n_heads):
        for query in range(experiment.n_queries):
            for key in range(experiment.n_keys):
                pair = Pair(head, query, key)
                value = own(curves(site, pair)).values[away.index(key - query - experiment.query_offset)]
                assert value == pytest.approx(final_score(site, pair), rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("position", [id_ for id_ in IDS if id_ not in ON_VECTORS])
def test_other_encodings_are_what_a_run_with_them_gives(position: str) -> None:
    """Encodings that leave the vectors alone see the same q and k."""
    experiment = small(heads=Heads(4, 2, 4), cap=3.0)
    site = site_of(experiment)
    (other,) = [site_of(alone(e)) for id_, _title, e in candidates(sited(experiment)) if id_ == position]
    away = distances(sited(experiment)).tolist()
    for pair in (Pair(0, 0, 4), Pair(3, 4, 1), Pair(2, 2, 2)):
        (curve,) = [curve for curve in curves(site, pair) if curve.id == position]
        value = curve.values[away.index(pair.key - pair.query)]
        assert value == pytest.approx(final_score(other, pair), rel=1e-10)
        assert curve.is_present == (position == "none")


@pytest.mark.parametrize("name", ["pre-norm", "parallel", "biases", "qk gains", "mla no rope"])
@pytest.mark.parametrize("position", ON_VECTORS)
def test_an_encoding_on_the_vectors_goes_through_norms_biases_and_latents(name: str, position: str) -> None:
    site = site_of(SPREAD[name])
    (other,) = [site_of(alone(e)) for id_, _title, e in candidates(site.experiment) if id_ == position]
    away = distances(site.experiment).tolist()
    for pair in (Pair(0, 0, 4), Pair(1 % site.experiment.heads.n_heads, 4, 1)):
        (curve,) = [curve for curve in curves(site, pair) if curve.id == position]
        value = curve.values[away.index(pair.key - pair.query)]
        assert value == pytest.approx(final_score(other, pair), rel=1e-10)


def test_a_rotation_at_any_distance_is_a_run_with_the_key_moved_there() -> None:
    n, d = 14, 4
    vectors = np.random.default_rng(0).standard_normal((2, d))

    def placed(key: int) -> Experiment:
        rows = np.zeros((n, d))
        rows[key], rows[5] = vectors
        return stacked(
            tuple("a" * n),
            ExplicitVectors(Matrix(rows)),
            heads=Heads(1, 1, d),
            position=Rope(50.0),
            scale=NoScale(),
            dtype="float64",
        )

    start = placed(2)
    values = own(curves(site_of(start), Pair(0, 5, 2))).values
    away = distances(sited(start)).tolist()
    for key in (0, 1, 3, 9, 13):
        assert values[away.index(key - 5)] == pytest.approx(
            final_score(site_of(placed(key)), Pair(0, 5, key))
        )


def test_positions_that_do_not_exist_are_gaps() -> None:
    experiment = small(position=Learned(7, start=1))
    away = distances(sited(experiment))
    values = own(curves(site_of(experiment), Pair(0, 2, 0))).values
    np.testing.assert_array_equal(np.isfinite(values), (away >= -2) & (away < 4))
    waves = small(position=Sinusoidal())
    values = own(curves(site_of(waves), Pair(0, 2, 0))).values
    np.testing.assert_array_equal(np.isfinite(values), away >= -2)


def test_every_encoding_has_its_curve_where_the_heads_allow_it() -> None:
    assert [curve.id for curve in curves(site_of(small()), Pair(0, 0, 0))] == list(CURVE_ROWS)
    assert {row.id for row in POSITIONS} < set(CURVE_ROWS) and "rope_yarn" in CURVE_ROWS
    narrow = site_of(small(heads=Heads(1, 1, 1)))
    unturned = [row.id for row in POSITIONS if row.changes != "rotation"]
    assert [curve.id for curve in curves(narrow, Pair(0, 0, 0))] == unturned
    low = site_of(small(position=Rope(base=0.5, scaling=LinearScaling(3.0))))
    assert "rope_yarn" not in [curve.id for curve in curves(low, Pair(0, 0, 0))]
    assert kind_of(sited(small(position=Rope(scaling=Yarn())))) == "rope_yarn"


def test_every_scaling_has_a_line_of_its_own() -> None:
    assert len({row.dash for row in SCALINGS}) == len(SCALINGS), "two scalings share a dash"
    assert all(len(row.dash) % 2 == 0 and min(row.dash, default=1.0) > 0 for row in SCALINGS)
    hues = [row.hue for row in POSITIONS]
    assert len(set(hues)) == len(hues), "two encodings share a hue"


def test_distances_reach_over_the_sequence_within_bounds() -> None:
    def reach(n: int) -> int:
        return int(distances(sited(Experiment(tuple("a" * n), SeededVectors(n, 2))))[-1])

    assert [reach(n) for n in (2, 17, 40, 5000)] == [16, 16, 39, 256]


def test_the_wave_is_what_was_added() -> None:
    experiment = small(position=Sinusoidal(start=3))
    trace = run(ENGINE, experiment)
    np.testing.assert_allclose(wave(sited(experiment)), trace["x"] - trace["tokens_embedded"], atol=1e-14)
    assert wave(sited(small())) is None and wave(sited(small(position=Rope()))) is None
