"""A, B and B − A of one stage: numbers of the two traces, aligned, absent, masked and NaN."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from attnviz.compute.execute import execute
from attnviz.errors import InputError
from attnviz.model.io.presets import load_preset
from attnviz.model.operands.matrices import vectors_array
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Causal, ExplicitVectors, Padding
from attnviz.study.contrast import contrast as module
from attnviz.study.contrast.contrast import Contrast, Shown, contrast, nearest_common
from attnviz.study.contrast.next_tokens import next_tokens

TOY = load_preset("toy-attention").experiment


def with_fields(experiment: Experiment, **fields: object) -> Experiment:
    return replace(experiment, layers=(replace(experiment.layers[0], **fields),))


def compared(
    first: Experiment, second: Experiment, stage: str = "weights", alignment: str = "position", head: int = 0
) -> Contrast:
    shown = [Shown(execute(one).only, head) for one in (first, second)]
    return contrast(shown[0], shown[1], stage, alignment)


def longer(experiment: Experiment, at: int, token: str) -> Experiment:
    """With one more token, whose vector is that of the first one."""
    rows = vectors_array(experiment.vectors)
    tokens = (*experiment.tokens[:at], token, *experiment.tokens[at:])
    vectors = ExplicitVectors(Matrix(np.insert(rows, at, rows[0], axis=0)))
    return replace(experiment, tokens=tokens, vectors=vectors)


def test_the_difference_is_that_of_the_two_traces() -> None:
    warm = with_fields(TOY, temperature=2.0)
    found = compared(TOY, warm)
    expected = execute(warm)["weights"][0].astype(float) - execute(TOY)["weights"][0]
    np.testing.assert_array_equal(found.difference, expected)
    top = found.changes[0]
    at = np.unravel_index(np.argmax(np.abs(expected)), expected.shape)
    assert (top.row, top.column) == at and top.difference == expected[at]
    assert found.n_changed == np.count_nonzero(expected) and found.n_nan == 0 and found.hatched is None


def test_an_inserted_token_is_absent_in_a_and_the_others_keep_their_counterparts() -> None:
    more = longer(TOY, 1, "new")
    found = compared(TOY, more, alignment="text")
    assert found.first.rows == (0, None, 1, 2, 3)
    assert found.first.absent[1].all() and found.first.absent[:, 1].all()
    assert not found.second.absent.any() and np.isnan(found.difference[1]).all()
    assert found.hatched is not None and found.hatched[1].all() and not found.hatched[0, 0]
    assert found.first.row_labels[1] == "" and found.row_labels[1] == "new"
    assert all(1 not in (one.row, one.column) for one in found.changes) and found.n_nan == 0
    np.testing.assert_array_equal(
        np.delete(np.delete(found.first.values, 1, 0), 1, 1), execute(TOY)["weights"][0]
    )


def test_tokens_that_stand_at_one_position_are_both_named() -> None:
    renamed = replace(TOY, tokens=("other", *TOY.tokens[1:]))
    found = compared(TOY, renamed)
    assert found.row_labels[0] == f"{TOY.tokens[0]}|other" and found.row_labels[1] == TOY.tokens[1]
    assert found.changes == () and found.n_changed == 0


def test_a_cell_masked_on_both_sides_is_hatched_and_on_one_is_a_change() -> None:
    causal = with_fields(TOY, masks=(Causal(),))
    both = compared(causal, with_fields(causal, temperature=2.0), "masked")
    assert both.hatched is not None and both.hatched[0, 1] and both.n_nan == 0
    one = compared(with_fields(TOY, masks=(Padding((3,)),)), causal, "masked")
    assert one.hatched is not None and not one.hatched[0, 1]
    assert one.difference[0, 1] == -np.inf and abs(one.changes[0].difference) == np.inf


def test_nan_of_a_fully_masked_row_is_counted_and_never_a_change() -> None:
    empty = with_fields(TOY, masks=(Causal(), Padding((0,))), fully_masked_row="nan")
    found = compared(with_fields(TOY, masks=(Causal(),)), empty)
    n = len(TOY.tokens)
    assert np.isnan(found.second.values[0]).all() and found.n_nan == n
    assert all(np.isfinite(one.difference) for one in found.changes)
    assert found.second.blocked is not None and not found.second.blocked[0].any()


def test_a_stage_that_one_side_lacks_is_named() -> None:
    causal = with_fields(TOY, masks=(Causal(),))
    with pytest.raises(InputError, match="A has no stage “masked”"):
        compared(TOY, causal, "masked")
    with pytest.raises(InputError, match="B has no stage “masked”"):
        compared(causal, TOY, "masked")


def test_the_nearest_stage_of_both_is_the_earlier_of_two() -> None:
    causal = with_fields(TOY, masks=(Causal(),))
    a, b = (execute(one).only.stages for one in (TOY, causal))
    assert b[b.index("masked") - 1] == "scaled" and "masked" not in a
    assert nearest_common("masked", a, b) == "scaled"
    assert nearest_common("masked", ("q", "weights"), b) == "weights"
    assert nearest_common("weights", a, b) == "weights"


def test_another_number_of_heads_shows_the_last_one() -> None:
    few, many = (load_preset(id_).experiment for id_ in ("toy-attention", "grouped-query"))
    found = compared(few, many, head=7)
    assert (found.first.head, found.second.head) == (len(execute(few)["weights"]) - 1, 7)
    np.testing.assert_array_equal(found.second.values[:8, :8], execute(many)["weights"][7])
    keys = compared(many, many, "k", head=7)
    assert keys.first.head == many.layers[0].heads.n_kv_heads - 1 and keys.n_changed == 0


def test_features_are_aligned_by_number_though_tokens_are_by_text() -> None:
    found = compared(TOY, longer(TOY, 1, "new"), "tokens_embedded", "text")
    assert found.first.columns == tuple(range(found.difference.shape[1])) and found.first.rows[1] is None


def test_too_large_a_comparison_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CELLS", 8)
    with pytest.raises(InputError, match="at most 8 cells; got 16"):
        compared(TOY, TOY)


def test_next_tokens_of_both_by_the_greater_probability() -> None:
    first = load_preset("causal-decode").experiment
    second = with_fields(first, temperature=0.2)
    traces = execute(first), execute(second)
    found = next_tokens(*traces, 3)
    rows = [trace["probabilities"][-1] for trace in traces]
    labels = traces[0].only.labels("vocabulary")
    best = np.argsort(-np.maximum(*rows), kind="stable")[:3]
    assert [one.token for one in found] == [labels[at] for at in best]
    assert [(one.first, one.second) for one in found] == [(rows[0][at], rows[1][at]) for at in best]
    assert next_tokens(traces[0], execute(TOY), 3) == ()


def test_a_token_that_cannot_follow_is_none() -> None:
    first = load_preset("causal-decode").experiment
    other = replace(first, tokens=("unheard", *first.tokens[1:]))
    found = {one.token: one for one in next_tokens(execute(first), execute(other), 20)}
    assert found["unheard"].first is None and found["unheard"].second is not None
