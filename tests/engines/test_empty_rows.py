"""A query that attends to nothing is said in a run, from masks, numbers and files; others are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import ENGINE_IDS, MEMORY, experiment
from experiments import SPREAD, STACKS
from first_layer import with_fields

import attnviz
from attnviz.cli import main
from attnviz.model.sites.sites import sites
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.edit import Edit
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import AdditiveMask, Causal, Heads, Padding, Painted

ONE = "Query 3 attends to nothing; is the mask inverted?"
POSITIVE = [
    name
    for name, one in (SPREAD | STACKS).items()
    if all(site.sinks is None and site.normaliser != "relu_squared" for site in sites(one).values())
]
"""Experiments in which a visible key has a weight above 0."""


def blocking(visible: Any) -> tuple[Painted]:
    return (Painted(tuple((int(q), int(k)) for q, k in np.argwhere(~np.asarray(visible)))),)


def without_row(row: int) -> np.ndarray:
    visible = np.ones((7, 7), dtype=bool)
    visible[row] = False
    return visible


def said(one: Experiment, engine: str = "numpy") -> list[str]:
    return [str(notice) for notice in attnviz.run(one, engine=engine).notices]


@pytest.mark.parametrize("engine", ENGINE_IDS)
def test_a_row_that_masks_or_numbers_empty_is_named(engine: str) -> None:
    painted = with_fields(experiment(heads="mha"), masks=blocking(without_row(2)))
    assert said(painted, engine) == [ONE]
    added = np.where(without_row(2), 0.0, -np.inf)
    assert said(experiment("none", heads="mha", additive_mask=AdditiveMask.of(added)), engine) == [ONE]
    by_head = np.zeros((4, 7, 7))
    by_head[3] = added
    assert said(experiment("none", heads="mha", additive_mask=AdditiveMask.of(by_head)), engine) == [ONE]
    both = with_fields(painted, masks=(Causal(), *blocking(~np.tri(7, k=-1, dtype=bool))))
    assert said(both, engine) == []
    assert said(with_fields(both, masks=(Causal(), *blocking(~np.tri(7, dtype=bool)))), engine) == [
        "7 of 7 queries attend to nothing, query 1 first; is the mask inverted?"
    ]


def test_weights_that_are_left_need_no_notice() -> None:
    empty = with_fields(experiment(heads="mha"), masks=blocking(without_row(2)))
    assert said(with_fields(empty, mask_bias=-1e4)) == []
    assert said(with_fields(empty, mask_bias=-1e4, mask_placement="after_softmax")) == [ONE]
    assert said(with_fields(empty, edits=(Edit("masked", 2, 1.0, column=0),))) == []
    assert said(with_fields(empty, edits=(Edit("masked", 2, 1.0, head=0, column=0),))) == [ONE]
    assert said(experiment("causal")) == said(experiment("window")) == []
    assert said(with_fields(experiment(), masks=(Causal(), Padding((0,))))) == []
    every = Padding((0, 1, 2, 3, 4))
    assert said(with_fields(experiment(heads="mha", memory=MEMORY), masks=(every,))) == [
        "7 of 7 queries attend to nothing, query 1 first; is the mask inverted?"
    ]


@pytest.mark.parametrize("name", POSITIVE)
def test_a_notice_is_given_exactly_where_a_row_of_weights_is_empty(name: str) -> None:
    """Held against the weights themselves: zeros or NaN as a whole, of a query that is no padding."""
    trace = attnviz.run((SPREAD | STACKS)[name])
    empty = False
    for site in map(trace.site, trace.sites):
        rows = (~(np.nan_to_num(site["weights"]) > 0)).all(axis=2).any(axis=0)
        padded = {
            token for mask in site.experiment.masks if isinstance(mask, Padding) for token in mask.tokens
        }
        counted = set(np.flatnonzero(rows) + site.experiment.query_offset)
        empty = empty or bool(counted - padded if site.experiment.memory is None else counted)
    assert any("attend" in str(notice) for notice in trace.notices) == empty


def test_the_layer_is_named_in_a_stack() -> None:
    second = Layer(heads=Heads(2, 2, 4), masks=blocking(without_row(2)))
    one = with_fields(experiment(heads="mha"), behind=(second, second))
    assert said(one) == [f"layer 2 of 3 · {ONE}"]


def test_an_imported_mask_that_is_inverted_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """That of torch's MultiheadAttention, where True blocks, in a file where True is visible."""
    draw = np.random.default_rng(3)
    arrays = {name: draw.standard_normal((4, 7, 8)) for name in "qkv"}
    path = tmp_path / "activations.npz"
    np.savez(path, **arrays, mask=np.triu(np.ones((7, 7), dtype=bool), 1))
    assert main(["run", str(path)]) == 0
    heard = capsys.readouterr()
    assert "Query 7 attends to nothing; is the mask inverted?" in heard.err + heard.out
