"""A file of every older version is read, and shows what it showed then."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from documents import BEFORE_LAYERS, FITTING

from attnviz.core.levels import RANGES
from attnviz.model.io.files import loads
from attnviz.model.io.json_text import VERSION, document_from, write
from attnviz.model.io.migrations import MIGRATIONS
from attnviz.model.spec.parts import Causal
from attnviz.model.spec.view import Ranges, View
from attnviz.model.stages import STAGES

EXPERIMENT = {"tokens": ["a", "b"], "vectors": {"kind": "seeded", "n": 2, "d_model": 4, "seed": 0}}


def of_version(version: int, view: Any) -> dict[str, Any]:
    return {"format": "attnviz", "version": version, "experiment": EXPERIMENT, "view": view}


def test_every_version_up_to_the_present_one_is_read() -> None:
    assert sorted(MIGRATIONS) == list(range(1, VERSION))
    for version in range(1, VERSION + 1):
        document = document_from(of_version(version, {}), {})
        assert document == document_from(of_version(VERSION, {}), {})
        assert json.loads(write(document, {}))["version"] == VERSION


@pytest.mark.parametrize("range_id", [row.id for row in RANGES])
@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.id)
def test_version_1_had_one_range_for_all_stages(stage: Any, range_id: str) -> None:
    view = document_from(of_version(1, {"stage": stage.id, "range": range_id}), {}).view
    assert view.stage == stage.id and view.range_of(stage.id) == range_id
    others = {other.id: view.range_of(other.id) for other in STAGES if other.kind != stage.kind}
    for other in STAGES:
        if other.kind == stage.kind:
            continue
        is_split = range_id == "symmetric" and not other.signed
        assert others[other.id] == ("head" if is_split else range_id)


def test_version_2_had_the_first_layer_in_the_experiment() -> None:
    document = loads(BEFORE_LAYERS)
    assert document == loads(FITTING)
    assert document.experiment.layers[0].masks[0] == Causal() and len(document.experiment.layers) == 1
    data = json.loads(BEFORE_LAYERS)
    data["experiment"]["layers"] = [{"temperature": 2.0}, {"temperature": 3.0}]
    layers = document_from(data, {}).experiment.layers
    assert [layer.temperature for layer in layers] == [1.0, 2.0, 3.0]
    assert layers[0] == document.experiment.layers[0]


@pytest.mark.parametrize(
    ("layers", "path"),
    [
        ([{"temperature": -1}], "$.experiment.layers[0].temperature"),
        ([{}, {"heads": {"n_heads": 0}}], "$.experiment.layers[1].heads.n_heads"),
        (3, "$.experiment.layers"),
        ([3], "$.experiment.layers[0]"),
    ],
)
def test_an_error_names_the_field_of_the_version_that_the_file_has(layers: Any, path: str) -> None:
    data = json.loads(BEFORE_LAYERS)
    data["experiment"]["layers"] = layers
    with pytest.raises(ValueError, match="^" + re.escape(path) + " must "):
        document_from(data, {})


@pytest.mark.parametrize("view", [3, {"range": 5}, {"range": "wide"}, {"range": "log", "stage": ["x"]}])
def test_what_was_wrong_in_version_1_is_still_refused(view: Any) -> None:
    with pytest.raises(ValueError, match=r"^\$\.view"):
        document_from(of_version(1, view), {})


def test_a_range_of_version_1_is_unknown_to_the_present_version() -> None:
    with pytest.raises(
        ValueError,
        match=rf"\$\.view\.range must be one of the keys {', '.join(View.__struct_fields__)}; got 'log'\.",
    ):
        document_from(of_version(VERSION, {"range": "log"}), {})
    assert document_from(of_version(VERSION, {"ranges": {"weights": "log"}}), {}).view.ranges == Ranges(
        weights="log"
    )
