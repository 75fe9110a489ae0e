"""Queries that begin behind keys: the last tokens of a text over all of it are the end of a whole pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import ENGINE_IDS, MASKS, POSITIONS, experiment
from first_layer import with_fields

import attnviz
from attnviz.engines.decode.decodable import causal_changes, causal_experiment
from attnviz.model.edit.edits import paint
from attnviz.model.masks import visible_pairs, why_blocked
from attnviz.model.operands.matrices import vectors_array
from attnviz.model.positions import is_additive
from attnviz.model.sites.sites import main_site
from attnviz.model.spec import parts as p
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.experiment import Experiment

PAST = 4
SCORES = ("relative", "scaled", "biased", "masked", "weights", "mixed")
BETWEEN = [id_ for id_, position in POSITIONS.items() if not is_additive(position)]


def chunk(whole: Experiment) -> Experiment:
    """The tokens behind `PAST` as queries over the keys of all tokens."""
    vectors = vectors_array(whole.vectors)
    return with_fields(
        whole,
        tokens=whole.tokens[PAST:],
        vectors=p.ExplicitVectors(Matrix(vectors[PAST:])),
        memory=p.Memory(whole.tokens, p.ExplicitVectors(Matrix(vectors))),
        query_offset=PAST,
    )


def judge(whole: Experiment, engine: str) -> None:
    ours, theirs = attnviz.run(chunk(whole), engine=engine), attnviz.run(whole, engine=engine)
    for stage in SCORES:
        if stage in theirs.only.stages:
            np.testing.assert_allclose(ours[stage], theirs[stage][:, PAST:], atol=1e-13, err_msg=stage)


@pytest.mark.parametrize("engine", ENGINE_IDS)
@pytest.mark.parametrize("position", BETWEEN)
def test_a_chunk_is_the_end_of_the_pass_at_every_position(position: str, engine: str) -> None:
    judge(experiment("causal", position), engine)


@pytest.mark.parametrize("masks", MASKS)
def test_a_chunk_is_the_end_of_the_pass_under_every_mask(masks: str) -> None:
    whole = experiment(masks, "alibi")
    judge(whole, "numpy")
    ours, theirs = main_site(chunk(whole)), main_site(whole)
    for query, key in np.ndindex(len(whole.tokens) - PAST, len(whole.tokens)):
        assert why_blocked(ours, query, key) == why_blocked(theirs, query + PAST, key)
    upper = with_fields(whole, tokens=whole.tokens[:PAST], vectors=p.SeededVectors(PAST, 8))
    upper = with_fields(upper, memory=chunk(whole).memory)
    assert visible_pairs(ours) + visible_pairs(main_site(upper)) == visible_pairs(theirs)


def test_a_painted_cell_is_the_one_under_the_brush() -> None:
    site = main_site(chunk(experiment("none")))
    painted = paint(site, 1, 2, True)
    assert painted.masks == (p.Painted(((PAST + 1, 2),)),)
    assert why_blocked(painted, 1, 2) and not why_blocked(painted, PAST + 1, 2)
    assert paint(painted, 1, 2, False).masks == ()


def test_decoding_begins_at_the_first_key_and_says_so() -> None:
    own = experiment("causal", query_offset=3)
    made = causal_experiment(own)
    assert main_site(made).query_offset == 0 and "query_offset" in causal_changes(own, made)
    across = chunk(experiment("causal", "alibi"))
    steps: Any = attnviz.decode(across, steps=3).steps
    whole = attnviz.run(across)["weights"]
    for index, step in enumerate(steps):
        np.testing.assert_allclose(step["weights"], whole[:, index], atol=1e-14)
