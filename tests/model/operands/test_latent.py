"""Multi-head latent attention as a part of a document: what is refused, and what edits keep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from experiments import MEMORY, sited, small
from first_layer import with_fields
from msgspec.structs import replace
from refusals import refusal

from attnviz.model.edit import edits
from attnviz.model.edit.latent import first_latent, set_latent, set_latent_size
from attnviz.model.edit.switching import set_n_rotated, set_position
from attnviz.model.operands.latent import cached_numbers, expanded_numbers
from attnviz.model.operands.matrices import latent_numbers, projection_array
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.block import Norm
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.latent import LATENT_ROLES, Latent
from attnviz.model.spec.parts import (
    Explicit,
    Heads,
    Identity,
    Projections,
    QKNorm,
    Rope,
    Seeded,
    SeededVectors,
    Tied,
)
from attnviz.model.spec.positions import Deberta, NoPosition, TransformerXl
from attnviz.model.spec.rows import DrawnRow, WrittenRow
from attnviz.model.weights import weights_of


def latent_experiment(**changes: Any) -> Experiment:
    fields: dict[str, Any] = {
        "heads": Heads(2, 2, 4),
        "latent": Latent(3, d_rope=2),
        "position": Rope(50.0),
        "projections": Projections(Seeded(1), output=Seeded(4)),
    }
    return small(**(fields | changes))


# --- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"heads": Heads(2, 1, 4)},
            r"heads\.n_kv_heads must be n_heads \(2\) with a latent, from which every head has its "
            r"own keys and values; got 1\.",
        ),
        (
            {"qk_norm": QKNorm("rms")},
            r"qk_norm must be null with a latent, which is normalised instead of queries and keys; "
            r"got \{…\}\.",
        ),
        (
            {"latent": Latent(3)},
            r"latent\.d_rope must be at least 2 with rotary positions, which rotate these features; got 0\.",
        ),
        (
            {"position": Rope(on_values=True)},
            r"position\.on_values must be false with a latent, whose values have no rotated "
            r"features; got true\.",
        ),
        (
            {"position": Rope(n_rotated=4)},
            r"position\.n_rotated must be an even number of at most 2 \(latent\.d_rope\); got 4\.",
        ),
        (
            {"position": TransformerXl()},
            r"position\.kind must be a position encoding that is not multiplied with q and k, "
            r"with a latent; got 'transformer_xl'\.",
        ),
        (
            {"position": Deberta()},
            r"position\.kind must be a position encoding that is not multiplied with q and k, "
            r"with a latent; got 'deberta'\.",
        ),
        (
            {"projections": Projections(key=Seeded(2))},
            r"projections\.key\.kind must be 'identity' with a latent, from which keys and values "
            r"are computed; got 'seeded'\.",
        ),
        (
            {"projections": Projections(value_bias=DrawnRow(1))},
            r"projections\.value_bias must be null with a latent; got \{…\}\.",
        ),
        (
            {"projections": Projections(output=Tied("value"))},
            r"projections\.output\.to must be 'query' or 'output' with a latent, which replaces W_K "
            r"and W_V; got 'value'\.",
        ),
        (
            {"latent": Latent(3, d_rope=2, up_key=Explicit(Matrix(np.ones((3, 4)))))},
            r"latent\.up_key\.values must be 3x8 \(in x out\) for these vectors, heads and widths; got 3x4\.",
        ),
        (
            {"latent": Latent(3, d_rope=2, norm=Norm("rms", gain=WrittenRow(Matrix(np.ones((1, 4))))))},
            r"latent\.norm\.gain\.values must have length 3; got length 4\.",
        ),
        (
            {"latent": Latent(10**6, d_rope=2), "vectors": SeededVectors(5, 100_000, 7)},
            r"latent\.down must be a matrix of at most 268,435,456 numbers; got 100000x1000000\.",
        ),
    ],
)
def test_what_cannot_stand_beside_a_latent_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        latent_experiment(**changes)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"d_c": 3, "d_rope": 3}, r"latent\.d_rope must be an even number; got 3\."),
        ({"d_c": 3, "query_norm": Norm()}, r"latent\.query_norm needs latent\.d_q; got null\."),
        ({"d_c": 0}, r"latent\.d_c must be a whole number from 1 to 1,000,000; got 0\."),
    ],
)
def test_widths_that_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Latent(**fields)


def test_a_layer_is_refused_by_its_place() -> None:
    (layer,) = latent_experiment().layers
    with pytest.raises(
        ValueError,
        match=r"layers\[1\]\.latent\.down\.values must be 6x3 \(in x out\) for these vectors, heads "
        r"and widths; got 6x2\.",
    ):
        small(behind=(replace(layer, latent=Latent(3, d_rope=2, down=Explicit(Matrix(np.ones((6, 2)))))),))


def test_forms_say_what_the_experiment_says() -> None:
    experiment = latent_experiment()
    with pytest.raises(ValueError) as refused:
        with_fields(experiment, projections=Projections(Tied("key")))
    assert str(sited(experiment).why_not_tied("query", "key")) == str(refused.value)
    assert "not multiplied with q and k" in refusal(set_position, sited(experiment), Deberta())
    none = with_fields(experiment, position=NoPosition(), latent=Latent(3))
    assert (
        refusal(set_position, sited(none), Rope())
        == "latent.d_rope must be at least 2 with rotary positions; got 0."
    )
    assert set_position(sited(experiment), Rope(on_values=True, n_rotated=8)).position == Rope()
    assert set_n_rotated(sited(latent_experiment(latent=Latent(3, d_rope=6))), 3).position == Rope(
        50.0, n_rotated=2
    )


# --- edits -----------------------------------------------------------------------------------------


def test_a_latent_is_switched_on_and_off() -> None:
    tied = small(heads=Heads(4, 2, 4), position=Rope(), projections=Projections(Tied("output"), Seeded(7)))
    plain = edits.set_projection(sited(tied), "query", Seeded(3))
    on = set_latent(plain, first_latent(plain))
    assert on.latent == Latent(8, d_rope=2, norm=Norm("rms", 1e-6))
    assert (on.heads, on.projections.key, on.projections.value) == (Heads(4, 4, 4), Identity(), Identity())
    off = set_latent(on, None, plain.projections.key, plain.projections.value)
    assert off.latent is None
    # Two key/value heads became four: what was written for two is drawn for four by the same seed.
    assert off.projections == replace(plain.projections, key=Seeded(7))
    assert first_latent(sited(small())).d_rope == 0


@pytest.mark.parametrize("tied", ["key", "output"])
def test_what_was_tied_is_written_out(tied: Any) -> None:
    plain = small(heads=Heads(1, 1, 6), projections=Projections(Tied(tied), Seeded(7), Seeded(8), Seeded(9)))
    written = projection_array(sited(plain), "query")
    on = set_latent(sited(plain), Latent(3))
    np.testing.assert_array_equal(projection_array(sited(on), "query"), written)


def test_what_cannot_stand_beside_it_is_not_taken_away_unasked() -> None:
    plain = small(heads=Heads(2, 2, 4), qk_norm=QKNorm("rms"))
    assert refusal(set_latent, sited(plain), Latent(3)).startswith("qk_norm must be null with a latent")


def test_every_head_keeps_its_features_when_the_rope_part_changes() -> None:
    values = np.arange(6 * 12.0).reshape(6, 12)
    before = latent_experiment(
        projections=Projections(Explicit(Matrix(values)), query_bias=WrittenRow(Matrix(values[:1])))
    )
    wider = set_latent_size(sited(before), d_rope=5)
    assert wider.latent is not None and wider.latent.d_rope == 4
    found = projection_array(sited(wider), "query").reshape(6, 2, 8)
    np.testing.assert_array_equal(found[:, :, :6], values.reshape(6, 2, 6))
    assert (found[:, :, 6:] == 0).all()
    back = set_latent_size(sited(wider), d_rope=2)
    np.testing.assert_array_equal(projection_array(sited(back), "query"), values)
    off = set_latent(sited(before), None)
    np.testing.assert_array_equal(
        projection_array(sited(off), "query").reshape(6, 2, 4), values.reshape(6, 2, 6)[:, :, :4]
    )


def test_a_latent_of_the_queries_comes_and_goes() -> None:
    before = latent_experiment()
    on = set_latent_size(sited(before), d_q=5)
    assert on.latent is not None and on.latent.query_norm == Norm("rms", 1e-6)
    assert on.projection_shape("query") == (5, 12)
    assert set_latent_size(sited(on), d_q=None) == sited(before)


def test_matrices_follow_heads_vectors_and_widths() -> None:
    written = {
        role: Explicit(Matrix(latent_numbers(sited(latent_experiment(latent=Latent(3, 5, 2))), role)()))  # type: ignore[arg-type]
        for role in LATENT_ROLES
    }
    one = latent_experiment(
        latent=Latent(3, 5, 2, Norm("rms", gain=WrittenRow(Matrix([[1.0, 2.0, 3.0]]))), **written)
    )
    for changed in (
        edits.set_heads(sited(one), n_heads=3),
        edits.set_heads(sited(one), d_head=7),
        sited(edits.set_d_model(one, 9)),
        sited(edits.set_memory(one, MEMORY)),
    ):
        assert changed.heads.n_kv_heads == changed.heads.n_heads
        for role in changed.latent.roles():  # type: ignore[union-attr]
            shape = changed.latent.shape(role, changed.d_model, changed.d_keys, changed.heads)  # type: ignore[union-attr]
            assert latent_numbers(changed, role)().shape == shape
    wider = set_latent_size(sited(one), d_c=4)
    assert wider.latent is not None and wider.latent.norm is not None
    np.testing.assert_array_equal(wider.latent.norm.gain.values.array, [[1, 2, 3, 0]])  # type: ignore[union-attr]
    with pytest.raises(ValueError, match=r"latent\.d_rope must be at least 2 with rotary positions; got 0\."):
        set_latent_size(sited(one), d_rope=0)


# --- numbers of it ---------------------------------------------------------------------------------


def test_what_is_kept_of_a_token() -> None:
    shape = latent_experiment(heads=Heads(128, 128, 128), latent=Latent(512, d_rope=64))
    assert cached_numbers(sited(shape)) == 576
    assert expanded_numbers(sited(shape)) == 128 * (192 + 128)
    assert (
        cached_numbers(sited(small(heads=Heads(4, 2, 4))))
        == expanded_numbers(sited(small(heads=Heads(4, 2, 4))))
        == 16
    )


def test_the_weights_are_those_of_the_latent() -> None:
    one = latent_experiment(latent=Latent(3, d_rope=2, norm=Norm("rms", gain=DrawnRow(1))))
    assert [weight.symbol for weight in weights_of(sited(one))][:6] == [
        "W_Q",
        "W_O",
        "W_DKV",
        "W_KR",
        "W_UK",
        "W_UV",
    ]
    assert {"W_K", "W_V", "W_DQ"}.isdisjoint(weight.symbol for weight in weights_of(sited(one)))
    for weight in weights_of(sited(one)):
        changed = weight.put(sited(one), weight.array(sited(one)) + 1)
        np.testing.assert_array_equal(weight.array(changed), weight.array(sited(one)) + 1)
