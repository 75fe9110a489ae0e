"""The additive mask: as torch adds it, past its end, from files, and by its edits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from cases import ENGINE_IDS, MEMORY, experiment
from first_layer import with_fields
from numpy.typing import NDArray

import attnviz
from attnviz.errors import FieldError
from attnviz.explain.arithmetic.cell import explain
from attnviz.explain.parameters import explain_parameter
from attnviz.explain.scripts.library import LIBRARIES, Library
from attnviz.explain.scripts.script import script
from attnviz.gui.look.theme import LIGHT
from attnviz.gui.widgets.heat.stages import stage_content
from attnviz.model.edit.additive import put_array, put_table, set_additive, set_per_head, table_of
from attnviz.model.edit.by_hand import with_text
from attnviz.model.edit.edits import set_heads
from attnviz.model.links import word_lines
from attnviz.model.normalisers import NORMALISERS
from attnviz.model.sites.by_hand import still_hidden
from attnviz.model.sites.pairs import pairs_of
from attnviz.model.sites.sites import main_site
from attnviz.model.sites.titles import attention_title
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import AdditiveMask, ExplicitSinks, Painted
from attnviz.model.spec.view import Cell, View
from attnviz.model.weights import weights_of
from attnviz.study.claims.scope import Scope, value_of
from attnviz.study.heads.tiles import facts_of

INF = np.inf
RNG = np.random.default_rng(4)


def numbers(*shape: int) -> NDArray[np.float64]:
    """Random numbers of which a third is −∞; every query keeps its first key."""
    made = np.where(RNG.random(shape) < 0.3, -INF, RNG.standard_normal(shape) * 2)
    made[..., 0] = 0.5
    return made


def with_mask(values: NDArray[np.float64], masks: str = "none", **changes: Any) -> Experiment:
    return experiment(masks, heads="mha", additive_mask=AdditiveMask.of(values), **changes)


@pytest.mark.parametrize("engine", ENGINE_IDS)
@pytest.mark.parametrize("shape", [(7, 7), (4, 7, 7)])
def test_it_is_the_float_mask_of_scaled_dot_product_attention(shape: tuple[int, ...], engine: str) -> None:
    values = numbers(*shape)
    trace = attnviz.run(with_mask(values), engine=engine)
    q, k, v = (torch.tensor(np.array(trace[stage])) for stage in ("q_rotated", "k_rotated", "v"))
    theirs = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=torch.tensor(values))
    np.testing.assert_allclose(trace["mixed"], theirs, atol=1e-13)


@pytest.mark.parametrize("engine", ENGINE_IDS)
def test_cells_past_its_end_add_nothing_in_a_pass_and_in_a_generation(engine: str) -> None:
    values = numbers(4, 3, 5)
    whole = np.zeros((4, 11, 11))
    whole[:, :3, :5] = values
    part, padded = (with_mask(table, "causal") for table in (values, whole))
    np.testing.assert_array_equal(*(attnviz.run(one, engine=engine)["weights"] for one in (part, padded)))
    steps = [attnviz.decode(one, steps=11, engine=engine).steps for one in (part, padded)]
    for index in range(11):
        np.testing.assert_array_equal(*(found[index]["added"] for found in steps))
        row = steps[0][index]["added"] - steps[0][index]["scaled"]
        np.testing.assert_allclose(row, whole[:, index, : index + 1], atol=1e-14)


@pytest.mark.parametrize(("row", "value"), [("zeros", 0.0), ("nan", np.nan)])
@pytest.mark.parametrize("normaliser", ["softmax", "sigmoid", "relu_squared"])
def test_a_row_that_it_empties_is_a_fully_masked_row(normaliser: str, row: str, value: float) -> None:
    values = numbers(4, 7, 7)
    values[1, 2] = -INF
    one = with_mask(values, normaliser=normaliser, fully_masked_row=row)
    for engine in ("numpy", "torch"):
        weights = attnviz.run(one, engine=engine)["weights"]
        np.testing.assert_array_equal(weights[1, 2], np.full(7, value))
        assert np.isfinite(np.delete(weights, 2, axis=1)).all()


def test_a_sink_takes_all_of_a_row_that_it_empties() -> None:
    values = np.full((7, 7), -INF)
    trace = attnviz.run(with_mask(values, sinks=ExplicitSinks((0.0, 1.0, 2.0, 3.0)), fully_masked_row="nan"))
    np.testing.assert_array_equal(trace["weights"], np.zeros((4, 7, 7)))


def test_the_least_float32_of_other_programs_is_minus_infinity() -> None:
    theirs = np.where(np.tri(7, dtype=bool), 0.0, torch.finfo(torch.float32).min)
    causal = attnviz.run(experiment(masks="causal", heads="mha"))
    np.testing.assert_allclose(attnviz.run(with_mask(theirs))["weights"], causal["weights"], atol=1e-15)


def test_a_cross_attention_adds_it_over_the_memory() -> None:
    values = numbers(7, 5)
    trace = attnviz.run(with_mask(values, memory=MEMORY))
    finite = np.isfinite(values)
    np.testing.assert_allclose((trace["added"] - trace["scaled"])[2][finite], values[finite], atol=1e-14)


def test_edits_keep_the_tables_of_the_heads() -> None:
    site = main_site(with_mask(numbers(7, 7)))
    by_head = set_per_head(site, True)
    assert by_head.additive_mask is not None and by_head.additive_mask.values.shape == (28, 7)
    changed = put_table(by_head, 2, np.eye(7))
    np.testing.assert_array_equal(table_of(changed, 2), np.eye(7))
    np.testing.assert_array_equal(table_of(changed, 1), table_of(site, 0))
    np.testing.assert_array_equal(table_of(set_per_head(changed, False), 3), table_of(site, 0))
    wider = set_heads(changed, n_heads=6)
    np.testing.assert_array_equal(table_of(wider, 2), np.eye(7))
    np.testing.assert_array_equal(table_of(wider, 5), np.zeros((7, 7)))
    narrow = set_heads(changed, n_heads=2)
    np.testing.assert_array_equal(table_of(narrow, 1), table_of(site, 0))
    assert set_additive(set_heads(site, n_heads=3), changed.additive_mask).additive_mask is not None


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.ones((7, 7), dtype=bool), "additive_mask must be an array of numbers; got 'bool'."),
        (
            np.zeros((3, 7, 7)),
            r"must be an array of \(query, key\) or \(4 heads, query, key\); got shape \[3, 7, 7\].",
        ),
        (
            np.tri(7),
            "additive_mask must be numbers that are added, 0 for a key that counts and −inf for a hidden "
            "one; got 0 and 1 alone.",
        ),
        (np.full((7, 7), INF), r"additive_mask.values\[0\]\[0\] must be a finite number; got inf."),
    ],
)
def test_what_is_no_additive_mask_is_refused(array: NDArray[np.float64], message: str) -> None:
    site = main_site(experiment(heads="mha"))
    with pytest.raises(FieldError, match=message):
        put_array(site, array)


def test_arrays_of_one_batch_are_read() -> None:
    site, values = main_site(experiment(heads="mha")), numbers(1, 4, 7, 7)
    np.testing.assert_array_equal(table_of(put_array(site, values), 3), values[0, 3])
    np.testing.assert_array_equal(table_of(put_array(site, values[:, :1]), 3), values[0, 0])


def test_one_row_is_that_of_every_query() -> None:
    site, row = main_site(experiment(heads="mha")), numbers(1, 7)
    for given in (row, row[0], row[None], row[None, None]):
        np.testing.assert_array_equal(table_of(put_array(site, given), 3), row.repeat(7, 0))


@pytest.mark.parametrize(
    "values", [np.tri(7, dtype=bool), [[1j]], [["a"]], [[None]], 3.0, [[1.0], [2.0, 3.0]], [[[[1.0]]]], [[]]]
)
def test_what_is_added_to_no_score_is_refused_in_python_too(values: Any) -> None:
    with pytest.raises(
        FieldError, match=r"additive_mask\.values must be numbers of \(query, key\) or \(head, "
    ):
        AdditiveMask.of(values)


def test_a_keep_mask_that_is_added_has_a_notice() -> None:
    says = "layers.0.self: the additive mask has 0 and 1 alone, which are added to the scores and hide no key"
    for values in (np.tri(7), np.tri(7)[None].repeat(4, 0)):
        (notice,) = attnviz.run(with_mask(values)).notices
        assert str(notice).startswith(says)
        assert notice in attnviz.decode(with_mask(values, "causal"), steps=3).notices
    one_cell = np.zeros((7, 7))
    one_cell[3, 2] = 1
    for values in (one_cell, np.ones((7, 7)), numbers(7, 7), np.where(np.tri(7), 0.0, -INF)):
        assert attnviz.run(with_mask(values)).notices == ()


def test_rows_must_split_into_the_heads() -> None:
    with pytest.raises(FieldError, match=r"additive_mask.values must have a multiple of 4 rows.*got 6 rows"):
        experiment(heads="mha", additive_mask=AdditiveMask(AdditiveMask.of(np.zeros((6, 7))).values, True))


def test_its_infinite_cells_are_drawn_as_blocked_in_the_heads_that_have_them() -> None:
    values = numbers(4, 7, 7)
    values[:, 6, 2] = -INF  # in every head
    site = attnviz.run(with_mask(values, "causal")).only
    later, shared = np.triu(np.ones((7, 7), dtype=bool), 1), np.isneginf(values).all(axis=0)
    for head in range(4):
        cut = np.isneginf(values[head])
        np.testing.assert_array_equal(site.hatched("added", head), cut)
        for stage in ("masked", "weights"):
            np.testing.assert_array_equal(site.hatched(stage, head), later | cut)
        np.testing.assert_array_equal(site.overview("weights", head)[1], later | cut)
        content = stage_content(site, View(head=head), "weights", LIGHT)
        np.testing.assert_array_equal(content.blocked, later | cut)
        assert site.hatched("scores", head) is None
    np.testing.assert_array_equal(site.hatched("weights"), later | shared)
    alone = attnviz.run(with_mask(values[0])).only
    np.testing.assert_array_equal(alone.hatched("weights", 3), np.isneginf(values[0]))
    assert attnviz.run(with_mask(np.zeros((7, 7)))).only.hatched("weights", 0) is None
    biased = attnviz.run(with_mask(values, "causal", mask_bias=-1e4)).only
    np.testing.assert_array_equal(biased.hatched("weights", 1), np.isneginf(values[1]))


def test_a_number_by_hand_in_a_cut_cell_is_drawn() -> None:
    values = np.zeros((7, 7))
    values[3, 1] = values[4, 1] = -INF
    edited = with_text(with_mask(values), "added[0, 3, 1] = 1.5")
    site = attnviz.run(edited).only
    for stage in ("added", "weights"):
        hidden = still_hidden(site.experiment, stage, 0, site.hatched(stage, 0))
        assert hidden is not None and not hidden[3, 1] and hidden[4, 1]


def test_its_gradient_is_that_of_the_scores_of_its_heads() -> None:
    for values in (numbers(7, 7), numbers(4, 7, 7)):
        gradient = attnviz.backward(with_mask(values), "layers.0.self.attention_output[2, 1]")
        site = gradient.site("layers.0.self")
        stored = gradient.parameters["layers.0.self.additive_mask.values"]
        weight = next(one for one in weights_of(site.experiment) if one.symbol == "M")
        assert stored.shape == weight.array(site.experiment).shape == values.reshape(-1, 7).shape
        np.testing.assert_array_equal(weight.array(site.experiment), values.reshape(-1, 7))
        for row, column in ((2, 0), (2, 3), (len(stored) - 5, 1)):
            _value, line = explain_parameter(site, weight, row, column).lines
            assert line.value == pytest.approx(stored[row, column], rel=1e-12, abs=1e-14)


# --- its −∞ is a blocked key, wherever keys are counted --------------------------------------------------

CUTS = np.where(RNG.random((4, 7, 7)) < 0.4, -INF, 0.0)
CUTS[:, :, 3] = 0.0


def painted(cuts: NDArray[np.float64], **changes: Any) -> Experiment:
    """The same cells, blocked by a mask."""
    cells = tuple((int(query), int(key)) for query, key in np.argwhere(np.isneginf(cuts)))
    return with_fields(experiment(heads="mha", **changes), masks=(Painted(cells),))


@pytest.mark.parametrize("engine", ENGINE_IDS)
@pytest.mark.parametrize("normaliser", [row.id for row in NORMALISERS])
def test_a_normaliser_does_not_count_what_it_blocks(normaliser: str, engine: str) -> None:
    by_head = with_mask(CUTS, normaliser=normaliser)
    weights = attnviz.run(by_head, engine=engine)["weights"]
    for head in range(4):
        wanted = attnviz.run(painted(CUTS[head], normaliser=normaliser), engine=engine)["weights"][head]
        np.testing.assert_allclose(weights[head], wanted, rtol=1e-13, atol=0)
        shared = attnviz.run(with_mask(CUTS[head], normaliser=normaliser), engine=engine)["weights"][head]
        np.testing.assert_allclose(shared, wanted, rtol=1e-13, atol=0)


def test_the_sigmoid_of_one_visible_key_by_hand() -> None:
    """log 1 is 0: the weight is the sigmoid of the score alone."""
    cuts = np.where(np.eye(7, dtype=bool), 0.0, -INF)
    trace = attnviz.run(with_mask(cuts, normaliser="sigmoid"))
    scores = np.diagonal(trace["scaled"], axis1=1, axis2=2)
    weights = np.diagonal(trace["weights"], axis1=1, axis2=2)
    np.testing.assert_allclose(weights, 1 / (1 + np.exp(-scores)), rtol=1e-13)


@pytest.mark.parametrize("engine", ENGINE_IDS)
@pytest.mark.parametrize("normaliser", ["sigmoid", "relu_squared"])
def test_steps_and_gradients_count_as_the_pass_does(normaliser: str, engine: str) -> None:
    cuts, target = CUTS[0], "layers.0.self.attention_output[2, 1]"
    ours, theirs = with_mask(cuts, normaliser=normaliser), painted(cuts, normaliser=normaliser)
    gradients = [attnviz.backward(one, target, engine=engine).only for one in (ours, theirs)]
    for stage in ("q", "k", "v", "weights"):
        np.testing.assert_allclose(gradients[0][stage], gradients[1][stage], atol=1e-13)
    steps = [attnviz.decode(one, engine=engine).steps for one in (ours, theirs)]
    for mine, other in zip(*steps, strict=True):
        np.testing.assert_allclose(mine["weights"], other["weights"], atol=1e-13)
        np.testing.assert_allclose(mine.logits, other.logits, atol=1e-13)


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda row: row.id)
@pytest.mark.parametrize("normaliser", ["sigmoid", "relu_squared"])
@pytest.mark.parametrize("masks", ["none", "causal"])
def test_a_script_counts_as_the_pass_does(masks: str, normaliser: str, library: Library) -> None:
    for cuts in (CUTS, CUTS[0]):
        one = with_mask(cuts, masks, normaliser=normaliser)
        found: dict[str, Any] = {}
        exec(compile(script(Document(one), library), "script", "exec"), found)
        np.testing.assert_allclose(np.asarray(found["weights"]), attnviz.run(one)["weights"], atol=1e-13)


@pytest.mark.parametrize("normaliser", ["sigmoid", "relu_squared"])
def test_the_lines_of_a_weight_say_how_many_keys_are_visible(normaliser: str) -> None:
    site = attnviz.run(with_mask(CUTS, normaliser=normaliser)).only
    for head, row in ((0, 2), (3, 5)):
        (line,) = explain(site, Cell("weights", row, 3, head)).lines[:1]
        assert line.recomputed == pytest.approx(float(site["weights"][head, row, 3]), rel=1e-12)
        n = int(np.isfinite(CUTS[head, row]).sum())
        assert f"n = {n} key" in " ".join(piece.text for note in line.notes for piece in note)


def test_scores_of_heads_links_claims_and_pairs_count_as_under_a_mask() -> None:
    cuts = np.where(np.tri(7, dtype=bool), 0.0, -INF)
    ours, theirs = attnviz.run(with_mask(cuts)), attnviz.run(painted(cuts))
    sites = ours.only, theirs.only
    assert pairs_of(sites[0].experiment) == pairs_of(sites[1].experiment)
    assert pairs_of(sites[0].experiment).visible == 28
    visible = [value_of("visible[2, 5] + visible[5, 2]", Scope(trace, View())) for trace in (ours, theirs)]
    assert visible == [1.0, 1.0]
    for head in range(4):
        scores = [facts_of(site, head).scores for site in sites]
        assert scores[0] == pytest.approx(scores[1], nan_ok=True)
        lines = [word_lines(site, View(head=head), "weights") for site in sites]
        np.testing.assert_array_equal(lines[0].hidden(2), lines[1].hidden(2))
    assert [attention_title(site.experiment.place, site.experiment) for site in sites][:1] == [
        "masked self-attention"
    ]
    assert "masks" not in attnviz.decode(with_mask(cuts)).changed
    assert "masks" in attnviz.decode(with_mask(cuts[:3, :3])).changed
