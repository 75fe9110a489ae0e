"""Contents of a cache beside its input: computed by hand, and by the test's own rounding."""

from __future__ import annotations

import math

import numpy as np
import pytest
from cases import ENGINE_IDS
from experiments import small
from first_layer import stacked
from msgspec.structs import replace

import attnviz
from attnviz.compute.decoding import Decoded, decode_and_compare
from attnviz.model.caches import Cache, FullCache, PagedCache, QuantisedCache, RingCache, SinkCache
from attnviz.model.io.presets import load_preset
from attnviz.model.spec import parts as p
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.generation import Writing
from attnviz.model.spec.latent import Latent
from attnviz.model.spec.sampling import Sampling, StopConditions

ROWS = np.array([[1.0, -0.5, 0.26, 0.0], [0.7, 0.3, -0.1, 0.04], [-1.4, 0.0, 0.2, 0.6]])
"""Of 4 bits: steps 1/7, 0.1 and 0.2; whole numbers 7 −4 2 0, 7 3 −1 0 and −7 0 1 3."""


def kept_in(cache: Cache, length: int = 1) -> Writing:
    return Writing(Sampling(stop=StopConditions(length=length)), cache)


def by_hand(cache: Cache) -> Decoded:
    """Three tokens of which keys and values are the vectors themselves; no token is written after them."""
    experiment = stacked(
        ("a", "b", "c"),
        p.ExplicitVectors(Matrix(ROWS)),
        heads=p.Heads(1, 1, 4),
        masks=(p.Causal(),),
        dtype="float64",
        writing=kept_in(cache),
    )
    return decode_and_compare(experiment, "numpy", "cpu", lambda: None, 1)


def test_the_error_of_what_is_kept_is_the_one_worked_out_by_hand() -> None:
    decoded = by_hand(QuantisedCache(4))
    keys, values = decoded.stored["layers.0.self"]
    assert (keys.name, values.name) == ("k", "v")
    first = keys.up_to(1)
    # −0.5 is −3.5 steps of 1/7: the even −4, half a step off; 0.26 is 1.82 of them: 2.
    assert (first.head, first.position, first.feature) == (0, 0, 1)
    assert (first.made, first.read) == (-0.5, pytest.approx(-4 / 7, rel=1e-6))
    assert first.greatest == pytest.approx(1 / 14, rel=1e-5) and first.half_step == pytest.approx(1 / 14)
    assert first.rms == pytest.approx(math.sqrt(((1 / 14) ** 2 + (2 / 7 - 0.26) ** 2) / 4), rel=1e-5)
    # The second and third rows are whole steps but for 0.04, which becomes nothing.
    for length, squares in ((2, 0.04**2), (3, 0.04**2)):
        found = values.up_to(length)
        assert (found.greatest, found.position) == (pytest.approx(1 / 14, rel=1e-5), 0)
        expected = math.sqrt(((1 / 14) ** 2 + (2 / 7 - 0.26) ** 2 + squares) / (4 * length))
        assert found.rms == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(keys.half_steps, [[1 / 14, 0.05, 0.1]])


def test_the_errors_that_follow_are_those_of_a_softmax_over_rounded_rows() -> None:
    decoded = by_hand(QuantisedCache(4))
    kept = np.array([[1, -4 / 7, 2 / 7, 0], [0.7, 0.3, -0.1, 0], ROWS[2]])

    def written(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(output, probabilities) of the third token: read out by similarity to the vectors."""
        scores = np.exp(keys @ ROWS[2] / 2)
        output = scores / scores.sum() @ keys
        logits = np.exp(ROWS @ output)
        return output, logits / logits.sum()

    output = decoded.decoding.steps[2].attention_output
    np.testing.assert_allclose(output, written(kept)[0], rtol=1e-6)
    np.testing.assert_allclose(decoded.full["layers.0.self"].output[2], written(ROWS)[0], rtol=1e-12)
    apart = np.abs(written(kept)[1] - written(ROWS)[1])
    assert decoded.next_errors is not None and apart.max() > 1e-4
    assert decoded.next_errors.greatest[2] == pytest.approx(apart.max(), rel=1e-4)
    assert decoded.next_errors.rms[2] == pytest.approx(math.sqrt((apart**2).mean()), rel=1e-4)


@pytest.mark.parametrize("cache", [FullCache(), PagedCache(2)])
def test_what_is_kept_as_it_was_made_has_no_error_and_no_bound(cache: Cache) -> None:
    for kept in by_hand(cache).stored["layers.0.self"]:
        found = kept.up_to(3)
        assert (found.greatest, found.rms) == (0.0, 0.0) and math.isnan(found.half_step)


@pytest.mark.parametrize("engine", ENGINE_IDS)
@pytest.mark.parametrize("bits", [4, 8])
def test_every_row_of_every_head_and_site_is_within_half_of_its_own_step(engine: str, bits: int) -> None:
    heads = p.Heads(4, 2, 4)
    layer = Layer(heads=heads, projections=small().layers[0].projections)
    experiment = small(heads=heads, behind=(layer,), writing=kept_in(QuantisedCache(bits), 6))
    decoded = decode_and_compare(experiment, engine, "cpu", lambda: None, 1)
    largest = 2 ** (bits - 1) - 1
    assert len(decoded.stored) == 2
    for name, stored in decoded.stored.items():
        steps = [step.site(name) for step in decoded.decoding.steps]
        made = {
            "k": np.stack([step["k_rotated" if "k_rotated" in step.stages else "k"] for step in steps], 1),
            "v": np.stack([step["v"] for step in steps], 1),
        }
        for kept in stored:
            rows = made[kept.name].astype(np.float64)
            step = np.abs(rows).max(axis=-1, keepdims=True) / largest
            apart = np.abs(np.rint(rows / step) * step - rows)
            np.testing.assert_allclose(np.abs(kept.read - kept.made), apart.max(axis=-1), rtol=1e-3)
            assert (np.abs(kept.read - kept.made) <= kept.half_steps * (1 + 1e-5)).all()
            assert kept.up_to(3).greatest == pytest.approx(apart[:, :3].max(), rel=1e-3)
            assert kept.up_to(3).rms == pytest.approx(math.sqrt((apart[:, :3] ** 2).mean()), rel=1e-3)


def test_with_a_latent_it_is_the_latent_and_the_rope_key_that_are_off() -> None:
    preset = load_preset("multi-head-latent").experiment
    experiment = replace(preset, writing=kept_in(QuantisedCache(8)), dtype="float64")
    decoded = decode_and_compare(experiment, "numpy", "cpu", lambda: None, 1)
    latent, rope_key = decoded.stored["layers.0.self"]
    assert (latent.name, rope_key.name) == ("latent", "rope_key")
    trace = attnviz.run(decoded.decoding.experiment)
    assert isinstance(experiment.layers[0].latent, Latent)
    behind = trace["k_rotated"][0, :, experiment.layers[0].heads.d_head :]
    assert behind.shape[-1] == experiment.layers[0].latent.d_rope
    for kept, rows in ((latent, trace["latent"]), (rope_key, behind)):
        step = np.abs(rows).max(axis=-1, keepdims=True) / 127
        apart = np.abs(np.rint(rows / step) * step - rows)
        assert kept.up_to(len(rows)).greatest == pytest.approx(apart.max(), rel=1e-4)
        assert kept.up_to(len(rows)).rms == pytest.approx(math.sqrt((apart**2).mean()), rel=1e-4)


@pytest.mark.parametrize(("cache", "first"), [(RingCache(3), 0), (SinkCache(2, 3), 2)])
def test_what_was_given_up_had_that_share_of_the_full_pass_s_weights(cache: Cache, first: int) -> None:
    decoded = decode_and_compare(small(writing=kept_in(cache, 6)), "numpy", "cpu", lambda: None, 1)
    assert decoded.stored["layers.0.self"] == ()
    weights = attnviz.run(decoded.decoding.experiment)["weights"]
    for step in range(len(decoded.decoding.steps)):
        gone = [j for j in range(step + 1) if first <= j <= step - 3]
        expected = weights[:, step, gone].sum(axis=-1)
        found = decoded.full["layers.0.self"].given_up[:, step]
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert found.max() > 0.01
