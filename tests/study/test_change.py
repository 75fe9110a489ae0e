"""The change by heads that are off and numbers by hand, against two fresh runs computed here once more."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

from attnviz.compute.execute import execute
from attnviz.engines.table import ENGINES
from attnviz.model.edit import edits
from attnviz.model.edit.by_hand import put_edit
from attnviz.model.edit.intact import intact, is_intact, off_heads
from attnviz.model.io.presets import load_preset
from attnviz.model.sites.sites import at, put
from attnviz.model.spec.edit import Edit
from attnviz.model.spec.experiment import Experiment
from attnviz.model.trace import Trace
from attnviz.study.change import change

OFF = (("layers.2.self", 2), ("layers.0.self", 1))
Floats = NDArray[np.float64]


def model() -> Experiment:
    from attnviz.checkpoints.presets import load_preset as load

    return load("stories-induction").experiment


def without(experiment: Experiment, *heads: tuple[str, int]) -> Experiment:
    for site, head in heads:
        experiment = put(experiment, edits.toggle_head(at(experiment, site), head))
    return experiment


def loss(trace: Trace) -> float:
    """−mean of the logarithm of the softmax of the logits at each token that follows."""
    last = trace.site(trace.sites[-1])
    logits = np.asarray(last["logits"], np.float64)
    names, tokens = list(last.labels("vocabulary")), trace.experiment.tokens
    losses = []
    for row, token in enumerate(tokens[1:]):
        of_row = logits[row]
        losses.append(np.log(np.exp(of_row - of_row.max()).sum()) + of_row.max() - of_row[names.index(token)])
    return float(np.mean(losses))


def induction(weights: Floats, tokens: tuple[str, ...]) -> float:
    """The mean weight on the keys after earlier occurrences, over the queries whose token has any."""
    sums = []
    for query, token in enumerate(tokens):
        keys = [key for key in range(1, query) if tokens[key - 1] == token]
        if keys:
            sums.append(sum(float(weights[query, key]) for key in keys))
    return float(np.mean(sums))


def heads(trace: Trace) -> dict[tuple[str, int], Floats]:
    return {
        (name, head): np.asarray(trace.site(name)["weights"][head], np.float64)
        for name in trace.sites
        for head in range(trace.site(name).experiment.heads.n_heads)
    }


@pytest.mark.parametrize("engine", [row.id for row in ENGINES])
@pytest.mark.parametrize("off", [OFF[:1], OFF], ids=len)
def test_every_number_is_that_of_two_fresh_runs(engine: str, off: tuple[tuple[str, int], ...]) -> None:
    experiment = model()
    found = change(execute(without(experiment, *off), engine))
    before, now = execute(experiment, engine), execute(without(experiment, *off), engine)
    last = before.sites[-1]
    rows = [np.asarray(one.site(last)["probabilities"][-1], np.float64) for one in (before, now)]
    best = {int(place) for row in rows for place in np.argsort(-row)[:3]}
    top = sorted(best, key=lambda place: -max(row[place] for row in rows))[:3]
    assert [(one.first, one.second) for one in found.tokens] == [(rows[0][at], rows[1][at]) for at in top]
    assert found.losses == pytest.approx((loss(before), loss(now)), abs=2e-6)
    assert found.n_predicted == len(experiment.tokens) - 1

    both = heads(before), heads(now)
    scores = [{place: induction(w, experiment.tokens) for place, w in side.items()} for side in both]
    on = {place: score for place, score in scores[1].items() if place not in off}
    assert found.best is not None
    for one, side in zip(found.best, (scores[0], on), strict=True):
        assert side[one.site, one.head] == max(side.values())
        assert one.value == pytest.approx(max(side.values()), abs=1e-6)

    changed = {place: float(np.abs(w - both[0][place]).max()) for place, w in both[1].items()}
    largest = sorted(changed, key=lambda place: -changed[place])[:3]
    assert [(one.site, one.head) for one in found.maps] == largest
    assert [one.value for one in found.maps] == [changed[place] for place in largest]


@pytest.mark.parametrize("engine", [row.id for row in ENGINES])
def test_the_mean_is_that_of_a_run_with_these_numbers_by_hand(engine: str) -> None:
    experiment = model()
    site, head = OFF[0]
    mean = execute(experiment, engine).site(site)["mixed"][head].mean(axis=0)
    by_hand = at(experiment, site)
    for position in range(experiment.n_queries):
        value = tuple(float(number) for number in mean)
        by_hand = put_edit(by_hand, Edit("mixed", position, value, "set", head))
    wanted = execute(put(experiment, by_hand), engine)
    found = change(execute(without(experiment, OFF[0]), engine), "mean")
    assert found.losses is not None
    assert found.losses[1] == pytest.approx(loss(wanted), abs=2e-6)
    row = np.asarray(wanted.site(wanted.sites[-1])["probabilities"][-1])
    assert [one.second for one in found.tokens] == pytest.approx(
        sorted(map(float, row), reverse=True)[:3], abs=1e-6
    )


def test_numbers_by_hand_are_undone_in_the_run_before() -> None:
    experiment = model()
    site = at(experiment, "layers.1.self")
    edited = put(experiment, put_edit(site, Edit("mixed", 4, 0.0, "set", 1)))
    assert not is_intact(edited) and off_heads(edited) == () and intact(edited) == experiment
    found = change(execute(edited))
    assert found.losses == pytest.approx((loss(execute(experiment)), loss(execute(edited))), abs=2e-6)


ABSENT = (
    ("toy-attention", "The document has no vocabulary to predict tokens from."),
    ("encoder-only", "Each token sees later ones, so the model predicts no next token."),
)


@pytest.mark.parametrize(("preset", "why"), ABSENT)
def test_what_is_absent_says_why(preset: str, why: str) -> None:
    experiment = load_preset(preset).experiment
    if preset == "encoder-only":
        experiment = replace(experiment, readout="similarity")
    found = change(execute(experiment))
    assert found.tokens == () and found.losses is None
    assert found.why_no_text is not None and found.why_no_text.text() == why


def test_a_single_token_has_neither_loss_nor_score() -> None:
    experiment = edits.set_tokens(model(), model().tokens[:1])
    found = change(execute(without(experiment, OFF[0])))
    assert found.losses is None and found.why_no_text is not None and len(found.tokens) == 3
    assert found.best is None and found.why_no_score is not None and found.maps == ()
