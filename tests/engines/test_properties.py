"""Laws of every experiment, over the whole space of experiments."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from experiments import MASK_OF_KIND, PROJECTIONS, SCALES, experiments, sited
from first_layer import stacked, with_fields
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.model.operands.matrices import projection_array, vectors_array
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import (
    Alibi,
    Causal,
    Dropout,
    Explicit,
    ExplicitVectors,
    Global,
    Heads,
    Mask,
    NoPosition,
    Padding,
    Painted,
    Projections,
    QKNorm,
    Rope,
    Seeded,
    SeededSinks,
    SeededVectors,
)
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import Trace

Array = NDArray[Any]

TIGHT = {"rtol": 1e-9, "atol": 1e-10}
NO_DROPOUT = Dropout()


def traced(experiment: Experiment, block_cells: int | None = None) -> Trace:
    engine = NumpyEngine("float64")
    if block_cells is not None:
        engine.block_cells = block_cells
    return run(engine, experiment)


def changed(experiment: Experiment, **fields: Any) -> Experiment:
    return with_fields(experiment, **fields)


# --- rows ------------------------------------------------------------------------------------------


@given(
    experiments(
        mask_bias=None,
        mask_placement="before_softmax",
        normaliser="softmax",
        sinks=None,
        differential=None,  # the row of a partner is not empty
    )
)
def test_weights_are_shares_of_what_is_not_masked(experiment: Experiment) -> None:
    trace, layer = traced(experiment), experiment.layers[0]
    weights, hidden = trace["weights"], trace.only.blocked()
    shut = np.zeros(weights.shape, dtype=bool) if hidden is None else np.broadcast_to(hidden, weights.shape)
    if layer.additive_mask is not None:
        shut = shut | np.isneginf(layer.additive_mask.fitted(*weights.shape))
    empty = shut.all(axis=-1)
    np.testing.assert_array_equal(trace.only.fully_masked(), empty.any(axis=0))
    np.testing.assert_allclose(weights[~empty].sum(axis=-1), 1.0, rtol=1e-12)
    assert (weights[~empty] >= 0).all()
    assert (weights[shut & ~empty[..., None]] == 0).all()
    expected = np.nan if layer.fully_masked_row == "nan" else 0.0
    np.testing.assert_array_equal(weights[empty], np.full_like(weights[empty], expected))
    for head, mixed in enumerate(trace["mixed"]):
        rows = mixed[empty[head]]
        wanted = 0.0 if head in layer.heads.off else expected
        np.testing.assert_array_equal(rows, np.full_like(rows, wanted))


@given(experiments(mask_placement="after_softmax"))
def test_a_mask_after_the_softmax_takes_shares_away(experiment: Experiment) -> None:
    trace, free = traced(experiment), traced(changed(experiment, masks=()))
    hidden = trace.only.blocked()
    kept = np.ones(free["weights"].shape[1:]) if hidden is None else ~hidden
    np.testing.assert_array_equal(trace["weights"], free["weights"] * kept)
    assert "masked" not in trace.only.stages


@given(
    experiments(
        mask_placement="before_softmax",
        fully_masked_row="zeros",
        mask_bias=None,
        normaliser="softmax",
        sinks=None,
        dropout=NO_DROPOUT,
    )
)
def test_masking_before_is_masking_after_and_dividing_by_what_is_left(experiment: Experiment) -> None:
    before = traced(experiment)["weights"]
    after = traced(changed(experiment, mask_placement="after_softmax"))["weights"]
    left = after.sum(axis=-1, keepdims=True)
    clear = np.broadcast_to(left > 1e-6, after.shape)
    np.testing.assert_allclose(
        before[clear], (after / np.where(left == 0, 1, left))[clear], rtol=1e-7, atol=1e-12
    )


@given(experiments(normaliser="softmax", fully_masked_row="zeros"), st.integers(0, 50))
def test_a_sink_takes_its_share_from_all_keys_alike(experiment: Experiment, seed: int) -> None:
    free = changed(experiment, sinks=None)
    without, trace = traced(free), traced(changed(experiment, sinks=SeededSinks(seed)))
    # Multiplied together with a key of score `sink`: what is left for the others is one minus its weight.
    stages = [
        s for s in ("masked", "added", "biased", "capped", "scaled", "scores") if s in trace.only.stages
    ]
    raised = np.exp(trace[stages[0]]).sum(axis=-1, keepdims=True)
    sinks = np.random.default_rng(seed).standard_normal(experiment.layers[0].heads.n_heads)
    share = np.exp(sinks)[:, None, None] / (np.exp(sinks)[:, None, None] + raised)
    np.testing.assert_allclose(trace["weights"], without["weights"] * (1 - share), rtol=1e-7, atol=1e-12)
    assert (trace["weights"].sum(axis=-1) <= 1 + 1e-12).all()


@given(
    experiments(sinks=None, fully_masked_row="zeros", mask_bias=None),
    st.sampled_from(["sigmoid", "relu_squared"]),
)
def test_other_normalisers_leave_blocked_cells_at_exactly_zero(
    experiment: Experiment, normaliser: str
) -> None:
    trace = traced(changed(experiment, normaliser=normaliser))
    hidden = trace.only.blocked()
    assert (trace["weights"] >= 0).all()
    if hidden is not None:
        assert (trace["weights"][:, hidden] == 0).all()


@given(experiments(qk_norm=QKNorm("l2", 0.0), position=NoPosition()))
def test_scores_of_vectors_of_length_one_are_cosines(experiment: Experiment) -> None:
    trace = traced(experiment)
    plain = traced(changed(experiment, qk_norm=None))
    lengths = [np.linalg.norm(plain[stage], axis=-1) for stage in ("q", "k")]
    assume(min(length.min() for length in lengths) > 1e-6)
    k_lengths = np.repeat(lengths[1], experiment.layers[0].heads.group_size, axis=0)
    cosines = plain["scores"] / (lengths[0][:, :, None] * k_lengths[:, None, :])
    np.testing.assert_allclose(trace["scores"], cosines, rtol=1e-9, atol=1e-9)


@given(experiments(), st.floats(0.1, 3))
def test_a_cap_bounds_the_scores(experiment: Experiment, cap: float) -> None:
    capped = traced(changed(experiment, cap=cap))["capped"]
    assert (np.abs(capped) <= cap).all()


# --- order -----------------------------------------------------------------------------------------


@st.composite
def permuted(draw: st.DrawFn) -> tuple[Experiment, Experiment, list[int]]:
    """A self-attention without positions, the same with its tokens in another order, and that order."""
    plain = {
        "position": NoPosition(),
        "dropout": NO_DROPOUT,
        "masks": (),
        "additive_mask": None,
        "query_offset": 0,
        "position_temperature": None,
    }
    one = draw(experiments(memory=None, readout="none", **plain))
    order = draw(st.permutations(range(one.n_queries)))
    to = {old: new for new, old in enumerate(order)}
    by_name = [MASK_OF_KIND[kind] for kind in (Padding, Global, Painted)]
    masks = draw(st.lists(st.one_of(by_name), max_size=3, unique_by=type))
    one = changed(one, masks=tuple(masks))
    vectors = vectors_array(one.vectors)[order]
    other = changed(
        one,
        tokens=tuple(one.tokens[old] for old in order),
        vectors=ExplicitVectors(Matrix(vectors)),
        masks=tuple(_moved(mask, to) for mask in masks),
    )
    return one, other, order


def _moved(mask: Mask, to: dict[int, int]) -> Mask:
    if isinstance(mask, Padding | Global):
        return type(mask)(tuple(to.get(token, token) for token in mask.tokens))
    assert isinstance(mask, Painted)
    return Painted(tuple((to.get(query, query), to.get(key, key)) for query, key in mask.cells))


@given(permuted())
def test_without_positions_attention_is_equivariant(pair: tuple[Experiment, Experiment, list[int]]) -> None:
    one, other, order = pair
    first, second = traced(one), traced(other)
    np.testing.assert_allclose(second["weights"], first["weights"][:, order][:, :, order], **TIGHT)
    np.testing.assert_allclose(second["attention_output"], first["attention_output"][order], **TIGHT)


@given(st.integers(3, 7), st.integers(0, 1000))
def test_a_causal_mask_alone_leaks_order(n: int, seed: int) -> None:
    vectors = np.random.default_rng(seed).standard_normal((n, 4))
    outputs = []
    for rows in (vectors, vectors[::-1]):
        one = stacked(tuple("abcdefg"[:n]), ExplicitVectors(Matrix(rows)), masks=(Causal(),), dtype="float64")
        outputs.append(traced(one)["attention_output"])
    assert np.abs(outputs[1][::-1] - outputs[0]).max() > 1e-3


@given(
    experiments(mask_bias=None, memory=None, mask_placement="before_softmax", readout="none", query_offset=0),
    st.data(),
)
def test_with_a_causal_mask_the_past_does_not_know_the_future(
    experiment: Experiment, data: st.DataObject
) -> None:
    others = tuple(mask for mask in experiment.layers[0].masks if not isinstance(mask, Causal))
    whole = changed(experiment, masks=(*others, Causal()))
    n = data.draw(st.integers(1, experiment.n_queries))
    vectors = ExplicitVectors(Matrix(vectors_array(whole.vectors)[:n]))
    prefix = traced(changed(whole, tokens=whole.tokens[:n], vectors=vectors))
    full = traced(whole)
    np.testing.assert_allclose(prefix["weights"], full["weights"][:, :n, :n], **TIGHT)
    np.testing.assert_allclose(prefix["attention_output"], full["attention_output"][:n], **TIGHT)


# --- positions -------------------------------------------------------------------------------------


ROPES = st.builds(
    Rope,
    base=st.sampled_from([10.0, 10_000.0]),
    pairing=st.sampled_from(["interleaved", "half_split"]),
    start=st.integers(0, 500),
    n_rotated=st.sampled_from([2, 4, 6, None]),
    multipliers=st.lists(st.floats(-2, 2), max_size=1).map(tuple),
)


@given(experiments(heads=Heads(4, 2, 6), position=NoPosition()), ROPES, st.integers(0, 5000))
def test_rope_scores_depend_on_distance_alone(experiment: Experiment, rope: Rope, shift: int) -> None:
    here = traced(changed(experiment, position=rope))
    there = traced(changed(experiment, position=changed_start(rope, shift)))
    np.testing.assert_allclose(there["scores"], here["scores"], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(there["weights"], here["weights"], rtol=1e-7, atol=1e-9)


def changed_start(rope: Rope, shift: int) -> Rope:
    return msgspec.structs.replace(rope, start=rope.start + shift)


@given(experiments(heads=Heads(4, 2, 6), position=NoPosition()), ROPES)
def test_rope_keeps_the_length_of_every_vector(experiment: Experiment, rope: Rope) -> None:
    trace = traced(changed(experiment, position=msgspec.structs.replace(rope, on_values=True)))
    for stage in ("q", "k", "v"):
        before = stage if experiment.layers[0].qk_norm is None or stage == "v" else f"{stage}_normed"
        lengths = [np.linalg.norm(trace[name], axis=-1) for name in (before, f"{stage}_rotated")]
        np.testing.assert_allclose(lengths[1], lengths[0], rtol=1e-12, atol=1e-15)


@given(experiments(heads=Heads(4, 2, 6), position=NoPosition()), st.integers(0, 500))
def test_rope_whose_pairs_stand_still_is_no_position(experiment: Experiment, start: int) -> None:
    still = traced(
        changed(experiment, position=Rope(start=start, multipliers=(0.0, 0.0, 0.0), on_values=True))
    )
    np.testing.assert_array_equal(still["attention_output"], traced(experiment)["attention_output"])


@given(experiments(heads=Heads(2, 1, 3)))
def test_alibi_with_slopes_of_zero_is_no_position(experiment: Experiment) -> None:
    flat = traced(changed(experiment, position=Alibi((0.0, 0.0))))
    np.testing.assert_array_equal(
        flat["weights"], traced(changed(experiment, position=NoPosition()))["weights"]
    )


# --- heads -----------------------------------------------------------------------------------------


@given(
    experiments(heads=Heads(4, 2, 3), fully_masked_row="zeros", differential=None), st.sets(st.integers(0, 3))
)
def test_heads_that_are_off_are_what_an_output_projection_ignores(
    experiment: Experiment, off: set[int]
) -> None:
    whole = traced(experiment)
    trace = traced(changed(experiment, heads=Heads(4, 2, 3, tuple(sorted(off)))))
    np.testing.assert_array_equal(trace["weights"], whole["weights"])
    matrix = projection_array(sited(experiment), "output").copy()
    for head in off:
        assert (trace["mixed"][head] == 0).all()
        matrix[3 * head : 3 * head + 3] = 0
    np.testing.assert_allclose(trace["attention_output"], whole["concatenated"] @ matrix, **TIGHT)


@given(experiments(latent=None))
def test_shared_heads_equal_repeated_ones(experiment: Experiment) -> None:
    """Grouped-query attention is multi-head attention with repeated key/value heads."""
    heads = experiment.layers[0].heads
    matrices = {}
    for role in ("query", "key", "value", "output"):
        matrix = projection_array(sited(experiment), role)  # type: ignore[arg-type]
        if role in ("key", "value"):
            apart = matrix.reshape(len(matrix), heads.n_kv_heads, heads.d_head)
            matrix = np.repeat(apart, heads.group_size, axis=1).reshape(len(matrix), -1)
        matrices[role] = Explicit(Matrix(matrix))
    repeated = changed(
        experiment,
        heads=Heads(heads.n_heads, heads.n_heads, heads.d_head, heads.off),
        projections=Projections(**matrices),
    )
    shared, written_out = traced(experiment), traced(repeated)
    for stage in ("weights", "mixed", "attention_output"):
        np.testing.assert_allclose(written_out[stage], shared[stage], err_msg=stage, **TIGHT)


@given(experiments(memory=None, position=NoPosition(), position_temperature=None), st.integers(0, 50))
def test_tied_query_and_key_make_raw_scores_symmetric(experiment: Experiment, seed: int) -> None:
    heads = Heads(
        experiment.layers[0].heads.n_heads,
        experiment.layers[0].heads.n_heads,
        experiment.layers[0].heads.d_head,
    )
    tied = msgspec.structs.replace(experiment.layers[0].projections, query=Seeded(seed), key=Seeded(seed))
    scores = traced(changed(experiment, heads=heads, projections=tied))["scores"]
    np.testing.assert_allclose(scores, scores.transpose(0, 2, 1), rtol=1e-12, atol=1e-13)


@given(PROJECTIONS, SCALES, st.integers(0, 100))
def test_every_head_of_a_layer_is_a_layer_of_one_head(
    projections: Projections, scale: Any, seed: int
) -> None:
    d_head, n_heads = 3, 3
    vectors = SeededVectors(4, 5, seed)
    many = stacked(
        tuple("abcd"),
        vectors,
        heads=Heads(n_heads, n_heads, d_head),
        projections=projections,
        scale=scale,
        dtype="float64",
    )
    trace = traced(many)
    for head in range(n_heads):
        columns = slice(head * d_head, (head + 1) * d_head)
        alone = Projections(
            **{
                role: Explicit(Matrix(projection_array(sited(many), role)[:, columns]))
                for role in ("query", "key", "value")
            }  # type: ignore[arg-type]
        )
        one = traced(changed(many, heads=Heads(1, 1, d_head), projections=alone))
        np.testing.assert_allclose(one["weights"][0], trace["weights"][head], **TIGHT)
        np.testing.assert_allclose(one["mixed"][0], trace["mixed"][head], **TIGHT)


# --- windows, blocks, dtypes -----------------------------------------------------------------------


@st.composite
def slices(draw: st.DrawFn, size: int) -> slice:
    start = draw(st.integers(0, size))
    return slice(start, draw(st.integers(start, size)))


@given(experiments(), st.data())
def test_a_window_is_a_slice(experiment: Experiment, data: st.DataObject) -> None:
    site = traced(experiment).only
    whole = traced(experiment)
    stage = data.draw(st.sampled_from(site.stages))
    shape = (1, *site.shape(stage))[-3:]
    head = data.draw(st.integers(0, shape[0] - 1))
    rows, columns = data.draw(slices(shape[1])), data.draw(slices(shape[2]))
    array = whole[stage][head] if STAGE_BY_ID[stage].per_head else whole[stage]
    window = site.window(stage, head, rows, columns)
    np.testing.assert_allclose(window, array[rows, columns], **TIGHT)


@given(experiments(), st.integers(1, 60))
def test_blocks_change_no_value(experiment: Experiment, block_cells: int) -> None:
    small, large = traced(experiment, block_cells), traced(experiment, 1 << 30)
    for stage in large.only.stages:
        np.testing.assert_allclose(small[stage], large[stage], err_msg=stage, **TIGHT)


@given(st.sampled_from([None, -3.0]).flatmap(lambda bias: experiments(mask_bias=bias)))
def test_float32_is_near_float64(experiment: Experiment) -> None:
    fine, coarse = traced(experiment), run(NumpyEngine("float32"), experiment)
    assert coarse.only.stages == fine.only.stages
    for stage in fine.only.stages:
        found, expected = coarse[stage], fine[stage]
        finite = np.isfinite(expected)
        np.testing.assert_array_equal(np.isfinite(found), finite)
        size = np.abs(expected[finite]).max(initial=1.0)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * size, err_msg=stage)


# --- dropout ---------------------------------------------------------------------------------------


@given(experiments(dropout=NO_DROPOUT), st.floats(0.05, 0.95), st.integers(0, 2**32 - 1))
@example(Experiment(("a",), SeededVectors(1, 1), dtype="float64"), 0.5, 2**32 - 1)
def test_survivors_are_scaled_and_the_rest_is_zero(experiment: Experiment, p: float, seed: int) -> None:
    trace = traced(changed(experiment, dropout=Dropout(p, seed)))
    plain = traced(changed(experiment, dropout=Dropout(p, seed, rescale=False)))
    weights, dropped, kept = trace["weights"], trace["dropped"], plain["dropped"]
    np.testing.assert_array_equal(weights, traced(experiment)["weights"])
    seen = weights > 0
    survivors = (kept == weights) & seen
    assert (kept[seen & ~survivors] == 0).all()
    np.testing.assert_allclose(dropped[seen], (kept / (1 - p))[seen], rtol=1e-12)
    np.testing.assert_allclose(plain["mixed"] / (1 - p), trace["mixed"], **TIGHT)


@given(experiments(dropout=Dropout(0.5, 3), fully_masked_row="zeros"), st.data())
def test_a_window_has_the_zeros_of_the_whole(experiment: Experiment, data: st.DataObject) -> None:
    head = data.draw(st.integers(0, experiment.layers[0].heads.n_heads - 1))
    rows, columns = data.draw(slices(experiment.n_queries)), data.draw(slices(sited(experiment).n_keys))
    window = traced(experiment, 1).window("dropped", head, rows, columns)
    whole = traced(experiment)["dropped"][head][rows, columns]
    np.testing.assert_array_equal(window == 0, whole == 0)
    np.testing.assert_allclose(window, whole, **TIGHT)


@settings(max_examples=5)
@given(st.sampled_from([0.1, 0.3, 0.5, 0.7]), st.integers(0, 1000))
def test_dropout_keeps_the_output_on_average(p: float, first_seed: int) -> None:
    one = stacked(tuple("abcdefgh"), SeededVectors(8, 4, 2), masks=(Causal(),), dtype="float64")
    n = 400
    outputs = [traced(changed(one, dropout=Dropout(p, first_seed + seed)))["mixed"][0] for seed in range(n)]
    mean, error = np.mean(outputs, axis=0), np.std(outputs, axis=0) / np.sqrt(n)
    assert (np.abs(mean - traced(one)["mixed"][0]) <= 5 * error + 1e-12).all()


@given(experiments(memory=None, dropout=NO_DROPOUT, mask_placement="before_softmax"))
def test_dropped_rows_no_longer_sum_to_one(experiment: Experiment) -> None:
    assume(experiment.n_queries >= 2)
    trace = traced(changed(experiment, masks=(), dropout=Dropout(0.5, 1)))
    sums = trace["dropped"].sum(axis=-1)
    share = (trace["dropped"] > 0).mean()
    assert not np.allclose(sums, 1.0) or share in (0.0, 1.0)
