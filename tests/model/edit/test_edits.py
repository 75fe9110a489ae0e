"""Edits: the right numbers move, everything else stays, and what comes out is always legal."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from experiments import SPREAD, sited
from first_layer import stacked
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import attnviz
from attnviz.model.edit import edits
from attnviz.model.masks import mask_of
from attnviz.model.operands.matrices import projection_array, vectors_array
from attnviz.model.sites.sites import put
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.experiment import Experiment, one_layer
from attnviz.model.spec.parts import (
    ROLES,
    Alibi,
    Causal,
    Explicit,
    ExplicitVectors,
    Heads,
    Identity,
    Memory,
    Padding,
    Painted,
    Projections,
    QKNorm,
    Rope,
    Seeded,
    SeededVectors,
    Sinusoidal,
    Tied,
    Window,
)
from attnviz.model.spec.rows import WrittenRow
from attnviz.model.spec.vocabulary import EmbeddingProjection, Vocabulary

VALUES = np.arange(12.0).reshape(4, 3)


def make(**changes: object) -> Experiment:
    fields = {
        "tokens": ("a", "b", "a", "c"),
        "vectors": ExplicitVectors(VALUES),
        "heads": Heads(1, 1, 4),
        "projections": Projections(Seeded(1), Seeded(2), Seeded(3), Seeded(4)),
    }
    return stacked(**{**fields, **changes})  # type: ignore[arg-type]


def vectors(experiment: Experiment) -> list[list[float]]:
    return vectors_array(experiment.vectors).tolist()


# --- tokens ----------------------------------------------------------------------------------------


def test_one_number_changes_and_nothing_else() -> None:
    before = make()
    after = edits.set_vector_cell(before, 2, 1, -5.0)
    expected = VALUES.copy()
    expected[2, 1] = -5.0
    assert vectors(after) == expected.tolist() and vectors(before) == VALUES.tolist()
    assert after.tokens == before.tokens and after.layers[0].projections == before.layers[0].projections


def test_a_number_of_seeded_vectors_writes_them_out() -> None:
    before = make(vectors=SeededVectors(4, 3, 9))
    after = edits.set_vector_cell(before, 0, 0, 1.0)
    assert isinstance(after.vectors, ExplicitVectors)
    expected = np.random.Generator(np.random.PCG64(9)).standard_normal((4, 3))
    np.testing.assert_array_equal(vectors_array(after.vectors)[1:], expected[1:])


@given(st.permutations(range(4)))
def test_a_permutation_of_tokens_is_one_of_vectors(order: list[int]) -> None:
    tokens = ("w", "x", "y", "z")
    after = edits.set_tokens(make(tokens=tokens), tuple(tokens[i] for i in order))
    assert vectors(after) == VALUES[order].tolist()


def test_equal_tokens_keep_their_order() -> None:
    after = edits.set_tokens(make(), ("c", "a", "b", "a"))
    assert vectors(after) == VALUES[[3, 0, 1, 2]].tolist()


def test_a_renamed_token_in_place_keeps_its_vector_and_a_new_one_gets_numbers() -> None:
    assert vectors(edits.set_tokens(make(), ("a", "B", "a", "c"))) == VALUES.tolist()
    longer = edits.set_tokens(make(), ("a", "b", "a", "c", "d"))
    assert vectors(longer)[:4] == VALUES.tolist()
    assert np.isfinite(vectors(longer)[4]).all() and any(vectors(longer)[4])


def test_what_is_left_out_goes_with_its_vector() -> None:
    assert vectors(edits.set_tokens(make(), ("b", "c"))) == VALUES[[1, 3]].tolist()
    assert vectors(edits.remove_token(make(), 1)) == VALUES[[0, 2, 3]].tolist()
    assert edits.remove_token(make(), 1).tokens == ("a", "a", "c")


@pytest.mark.parametrize(("source", "target"), [(0, 3), (3, 0), (1, 2), (2, 2)])
def test_a_moved_token_takes_its_vector(source: int, target: int) -> None:
    order = [0, 1, 2, 3]
    order.insert(target, order.pop(source))
    after = edits.move_token(make(), source, target)
    assert vectors(after) == VALUES[order].tolist()
    assert after.tokens == tuple(make().tokens[i] for i in order)


def test_the_last_token_stays() -> None:
    single = make(tokens=("a",), vectors=SeededVectors(1, 3))
    with pytest.raises(ValueError, match=r"tokens must have at least one token; got \[\]\."):
        edits.remove_token(single, 0)
    with pytest.raises(ValueError, match=r"tokens must have at least one token; got \[\]\."):
        edits.set_tokens(single, ())


def test_a_count_repeats_tokens_and_cuts_them() -> None:
    assert edits.set_n_tokens(make(), 6).tokens == ("a", "b", "a", "c", "a", "b")
    assert vectors(edits.set_n_tokens(make(), 6))[:4] == VALUES.tolist()
    assert vectors(edits.set_n_tokens(make(), 2)) == VALUES[:2].tolist()


def test_seeded_vectors_stay_seeded_where_a_seed_can_say_it() -> None:
    seeded = make(vectors=SeededVectors(4, 3, 5))
    assert edits.set_n_tokens(seeded, 6).vectors == SeededVectors(6, 3, 5)
    assert edits.rename_token(seeded, 0, "x").vectors == SeededVectors(4, 3, 5)
    assert edits.reseed_vectors(seeded, 8).vectors == SeededVectors(4, 3, 8)
    assert edits.reseed_vectors(make(), 8).vectors == SeededVectors(4, 3, 8)


def test_the_memory_is_edited_by_the_same_edits() -> None:
    before = make(memory=Memory(("x", "y"), ExplicitVectors([[1.0, 2, 3], [4, 5, 6]])))
    after = edits.set_vector_cell(before, 1, 0, 9.0, "memory")
    assert after.memory is not None and vectors(after) == VALUES.tolist()
    assert vectors_array(after.memory.vectors).tolist() == [[1, 2, 3], [9, 5, 6]]
    assert edits.move_token(before, 0, 1, "memory").memory.tokens == ("y", "x")  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="memory"):
        edits.rename_token(make(), 0, "x", "memory")


# --- shapes ----------------------------------------------------------------------------------------


def test_other_widths_cut_and_fill_what_is_written_out() -> None:
    weights = np.arange(12.0).reshape(3, 4)
    before = make(projections=Projections(Explicit(Matrix(weights)), Seeded(2), Tied("key"), Tied("query")))
    wider = edits.set_d_model(before, 5)
    assert vectors_array(wider.vectors)[:, :3].tolist() == VALUES.tolist()
    query = projection_array(sited(wider), "query")
    assert query.shape == (5, 4) and query[:3].tolist() == weights.tolist() and not query[3:].any()
    assert wider.layers[0].projections.value == Tied("key") and wider.layers[0].projections.output == Tied(
        "query"
    )
    narrower = edits.set_d_model(before, 2)
    assert projection_array(sited(narrower), "query").tolist() == weights[:2].tolist()


def test_another_width_cuts_and_fills_the_vocabulary() -> None:
    rows = Matrix([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    before = make(vocabulary=Vocabulary(("a", "b"), rows, unembedding=Matrix(rows.array.T * 2)))
    wider, narrower = edits.set_d_model(before, 4).vocabulary, edits.set_d_model(before, 2).vocabulary
    assert wider is not None and narrower is not None
    assert wider.embedding.array.tolist() == [[1, 2, 3, 0], [4, 5, 6, 0]]
    assert wider.unembedding is not None and narrower.unembedding is not None
    assert wider.unembedding.array.tolist() == [[2, 8], [4, 10], [6, 12], [0, 0]]
    assert narrower.embedding.array.tolist() == [[1, 2], [4, 5]]
    assert narrower.unembedding.array.tolist() == [[2, 8], [4, 10]]


def test_key_value_heads_go_to_the_nearest_divisor_below() -> None:
    before = make(heads=Heads(8, 4, 2))
    assert edits.set_heads(sited(before), n_heads=6).heads == Heads(6, 3, 2)
    assert edits.set_heads(sited(before), n_heads=2).heads == Heads(2, 2, 2)
    assert edits.set_heads(sited(before), n_kv_heads=3).heads == Heads(8, 2, 2)
    assert edits.set_heads(sited(before), n_heads=7).heads == Heads(7, 1, 2)


@pytest.mark.parametrize("n_heads", [1, 2, 6, 8])
def test_heads_with_keys_of_their_own_keep_them(n_heads: int) -> None:
    before = make(heads=Heads(n_heads, n_heads, 2))
    for wanted in (1, 3, 8, 16):
        assert edits.set_heads(sited(before), n_heads=wanted).heads == Heads(wanted, wanted, 2)
    through_one = edits.set_heads(edits.set_heads(sited(before), n_heads=1), n_heads=n_heads)
    assert through_one.heads == before.layers[0].heads
    assert edits.set_heads(sited(make(heads=Heads(8, 1, 2))), n_heads=4).heads == Heads(4, 1, 2), (
        "MQA stays MQA"
    )


@pytest.mark.parametrize(
    ("name", "wanted", "expected"),
    [("n_heads", 5, (6, 2)), ("n_heads", 3, (3, 4)), ("n_heads", 99, (12, 1)), ("d_head", 5, (2, 6))],
)
def test_linked_heads_keep_the_model_width(
    name: Literal["n_heads", "d_head"], wanted: int, expected: tuple[int, int]
) -> None:
    before = edits.set_d_model(make(heads=Heads(4, 4, 3), position=Sinusoidal()), 12)
    after = edits.set_linked_heads(sited(before), name, wanted)
    assert (after.heads.n_heads, after.heads.d_head) == expected
    assert after.d_model == 12


def test_linked_heads_skip_what_the_position_cannot_rotate() -> None:
    before = edits.set_d_model(make(heads=Heads(2, 2, 6), position=Rope()), 12)
    assert edits.set_linked_heads(sited(before), "n_heads", 12).heads == Heads(6, 6, 2), (
        "one feature has no pair"
    )


def test_a_tie_that_no_longer_fits_is_written_out() -> None:
    before = make(
        heads=Heads(2, 2, 2), projections=Projections(Seeded(1), Tied("query"), Seeded(3), Seeded(4))
    )
    weights = projection_array(sited(before), "key")
    after = edits.set_heads(sited(before), n_kv_heads=1)
    assert isinstance(after.projections.key, Explicit)
    assert projection_array(sited(after), "key").tolist() == weights[:, :2].tolist()


def test_who_was_tied_to_a_matrix_that_is_tied_itself_is_written_out() -> None:
    before = make(projections=Projections(Seeded(1), Tied("query"), Seeded(3), Seeded(4)))
    weights = projection_array(sited(before), "key")
    after = edits.set_projection(sited(before), "query", Tied("value"))
    assert projection_array(sited(after), "key").tolist() == weights.tolist()
    assert after.why_not_tied("key", "query")


def test_rope_follows_the_heads() -> None:
    before = make(heads=Heads(1, 1, 6), position=Rope(multipliers=(1.0, 2.0, 3.0)))
    smaller = edits.set_heads(sited(before), d_head=4).position
    assert isinstance(smaller, Rope) and smaller.multipliers == (1.0, 2.0)
    odd = edits.set_heads(sited(before), d_head=5).position
    assert isinstance(odd, Rope) and odd.n_rotated == 4
    with pytest.raises(ValueError, match="d_head"):
        edits.set_heads(sited(before), d_head=1)


def test_slopes_of_other_heads_are_forgotten() -> None:
    before = make(heads=Heads(2, 2, 2), position=Alibi((0.5, 0.25)))
    assert edits.set_heads(sited(before), n_heads=4).position == Alibi()
    assert edits.set_heads(sited(before), d_head=4).position == Alibi((0.5, 0.25))


@given(
    st.integers(1, 6),
    st.integers(1, 6),
    st.integers(1, 5),
    st.integers(1, 6),
    st.integers(1, 5),
    st.booleans(),
)
def test_any_change_of_shape_is_legal(
    n_heads: int, n_kv: int, d_head: int, d_model: int, n: int, is_rotary: bool
) -> None:
    weights = Explicit(Matrix(np.ones((3, 4))))
    position = Rope(multipliers=(1.0, 2.0)) if is_rotary else Sinusoidal()
    experiment = make(
        projections=Projections(weights, Tied("query"), Identity(), Tied("value")), position=position
    )
    experiment = edits.set_d_model(edits.set_n_tokens(experiment, n), d_model)
    try:
        site = edits.set_heads(sited(experiment), n_heads=n_heads, n_kv_heads=n_kv, d_head=d_head)
    except ValueError:
        assert is_rotary and d_head == 1
        return
    assert site.heads.n_heads == n_heads and site.heads.n_kv_heads <= max(n_kv, 1)
    for role in ROLES:
        shape = projection_array(site, role).shape  # type: ignore[arg-type]
        assert shape == site.projection_shape(role)  # type: ignore[arg-type]


# --- positions and masks ---------------------------------------------------------------------------


def test_a_dial_that_is_back_at_one_is_forgotten() -> None:
    before = make(position=Rope())
    turned = edits.set_multiplier(sited(before), 1, 2.5)
    assert turned.position.multipliers == (1.0, 2.5)  # type: ignore[union-attr]
    assert edits.set_multiplier(turned, 1, 1.0) == sited(before)
    with pytest.raises(ValueError, match="position.kind"):
        edits.set_multiplier(sited(make()), 0, 2.0)


def test_what_an_additive_position_puts_on_a_vector() -> None:
    experiment = make(
        tokens=("a", "b"), vectors=SeededVectors(2, 4), position=Sinusoidal(), heads=Heads(1, 1, 4)
    )
    np.testing.assert_allclose(
        edits.added_position(sited(experiment), "tokens", 1),
        [0.841471, 0.540302, 0.010000, 0.999950],
        atol=1e-6,
    )
    assert not edits.added_position(sited(make()), "tokens", 1).any()


def test_masks_stand_in_one_order_and_each_kind_once() -> None:
    site = sited(make())
    for mask in (Painted(((0, 1),)), Window(1, 0), Causal(), Padding((2,)), Window(2, 1)):
        site = edits.set_mask(site, mask)
    assert site.masks == (Causal(), Padding((2,)), Window(2, 1), Painted(((0, 1),)))
    assert mask_of(site, Window) == Window(2, 1)
    assert edits.remove_mask(site, Window).masks == (Causal(), Padding((2,)), Painted(((0, 1),)))
    assert edits.remove_mask(sited(make()), Window) == sited(make())


def test_painting_blocks_and_frees_single_cells() -> None:
    painted = edits.paint(edits.paint(sited(make()), 3, 1, True), 0, 2, True)
    assert mask_of(painted, Painted) == Painted(((0, 2), (3, 1)))
    assert edits.paint(painted, 0, 2, True) == painted
    freed = edits.paint(edits.paint(painted, 0, 2, False), 3, 1, False)
    assert freed == sited(make())


def test_padding_marks_and_frees_single_keys() -> None:
    padded = edits.set_padding(edits.set_padding(sited(make()), 3, True), 0, True)
    assert mask_of(padded, Padding) == Padding((0, 3))
    assert edits.set_padding(edits.set_padding(padded, 3, False), 0, False) == sited(make())


def test_a_vocabulary_gives_the_vectors_of_new_tokens() -> None:
    rows = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    vocabulary = Vocabulary(("a", "b", "c"), Matrix(rows), embedding_scale=10.0)
    before = Experiment(("a", "x"), ExplicitVectors(Matrix([[7.0, 8.0], [9.0, 9.0]])), vocabulary=vocabulary)

    def vectors(experiment: Experiment) -> list[list[float]]:
        found: list[list[float]] = vectors_array(experiment.vectors).tolist()
        return found

    longer = edits.set_tokens(before, ("c", "a", "x", "b"))
    assert vectors(longer) == [[50, 60], [7, 8], [9, 9], [30, 40]]
    assert vectors(edits.set_tokens(before, ("a", "b"))) == [[7, 8], [30, 40]]
    assert vectors(edits.rename_token(before, 1, "c")) == [[7, 8], [50, 60]]
    for refused in (lambda: edits.rename_token(before, 0, "z"), lambda: edits.set_tokens(before, ("a", "z"))):
        with pytest.raises(
            ValueError,
            match=r"token must be a token of the vocabulary, which has "
            r"no rule to split it; got 'z'\.",
        ):
            refused()  # it would keep the vector of what stood there
    assert vectors(edits.set_n_tokens(before, 3))[2] == [10, 20]


def test_a_projection_of_the_embedding_gives_the_layers_a_width_of_their_own() -> None:
    given = SPREAD["wide embedding"]
    plain = replace(given, embedding_projection=None)
    kept = edits.set_embedding_projection(plain, EmbeddingProjection(plain.d_model, Identity()))
    assert attnviz.run(kept).only["q"].tolist() == attnviz.run(plain).only["q"].tolist()
    wider = edits.change_embedding_projection(kept, d_model=9)
    assert (wider.d_embedding, wider.d_model) == (plain.d_model, 9)
    made = attnviz.run(wider).only
    assert made["x"].shape[1] == plain.d_model
    assert made["x_projected"].shape == made["attention_output"].shape == (5, 9)
    narrow = edits.set_d_model(wider, 2)
    assert (narrow.d_embedding, narrow.d_model) == (2, 9)
    assert attnviz.run(narrow).only["x_projected"].shape == (5, 9)
    assert edits.set_embedding_projection(narrow, None).d_model == 2
    with pytest.raises(ValueError, match="embedding_projection must be a projection of the token vectors"):
        edits.change_embedding_projection(plain, d_model=3)
    with pytest.raises(ValueError, match="readout must be 'vocabulary' or 'none' behind an embedding"):
        replace(wider, readout="similarity")
    with pytest.raises(ValueError, match=r"embedding_projection.weights.values must be 6x9 .*; got 1x1."):
        one = Explicit(Matrix([[1.0]]))
        replace(wider, embedding_projection=EmbeddingProjection(9, one))


def trained(n_kv: int) -> Experiment:
    """Explicit weights and biases of 4 query heads and `n_kv` key/value heads."""
    drawn = np.random.default_rng(6)
    shapes = {"query": (6, 12), "key": (6, 3 * n_kv), "value": (6, 3 * n_kv), "output": (12, 6)}
    weights = {role: Explicit(Matrix(drawn.standard_normal(shape))) for role, shape in shapes.items()}
    biases = {
        f"{role}_bias": WrittenRow(Matrix(drawn.standard_normal((1, 3 * n_kv)))) for role in ("key", "value")
    }
    return one_layer(
        ("a", "b", "c"),
        SeededVectors(3, 6),
        heads=Heads(4, n_kv, 3),
        projections=Projections(**weights, **biases),
        qk_norm=QKNorm("rms", key_gain=WrittenRow(Matrix(drawn.uniform(1, 2, (1, 3 * n_kv)))), across=True),
        dtype="float64",
    )


def test_more_key_value_heads_repeat_those_of_a_trained_model() -> None:
    before = trained(2)
    after = put(before, edits.set_heads(sited(before), n_kv_heads=4))
    run, again = attnviz.run(before), attnviz.run(after)
    for stage in ("k", "k_normed", "v"):
        np.testing.assert_allclose(again[stage], run[stage].repeat(2, axis=0), rtol=1e-13)
    np.testing.assert_allclose(again["attention_output"], run["attention_output"], rtol=1e-12)


@pytest.mark.parametrize("n_kv", [1, 2])
def test_fewer_key_value_heads_are_the_means_of_those_of_a_trained_model(n_kv: int) -> None:
    before = trained(4)
    after = put(before, edits.set_heads(sited(before), n_kv_heads=n_kv))
    for stage in ("k", "v"):
        mean = attnviz.run(before)[stage].reshape(n_kv, 4 // n_kv, 3, 3).mean(axis=1)
        np.testing.assert_allclose(attnviz.run(after)[stage], mean, rtol=1e-12)
