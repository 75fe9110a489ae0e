"""The picture with which a document opens: arcs where its caption names a pair, unless it says otherwise."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from attnviz.checkpoints.presets import PRESETS, load_preset
from attnviz.model.first_picture import MOST_TOKENS, first_picture
from attnviz.model.io.files import dumps
from attnviz.model.io.json_text import document_from
from attnviz.model.io.presets import Preset
from attnviz.model.spec.document import Document
from attnviz.model.spec.parts import SeededVectors
from attnviz.model.spec.view import View

PAIRS = {
    "stories-zh",
    "stories-name",
    "stories-name-zh",
    "stories-count",
    "stories-induction",
    "stories-owner",
    "fluffy-blue-creature",
    "half-each",
    "sigmoid",
    "cross-attention",
    "encoder-only",
    "encoder-decoder",
}
"""Presets whose sentence says which word attends to which, of the weights that they show."""


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.id)
def test_a_preset_opens_with_arcs_where_its_sentence_names_a_pair(preset: Preset) -> None:
    document = load_preset(preset.id)
    assert document.view.picture == ("arcs" if preset.id in PAIRS else "map")
    as_map = replace(document, view=replace(document.view, picture="map"))
    assert first_picture(as_map) == document.view.picture, "the file says what the sentence asks for"


def test_a_file_that_names_a_picture_keeps_it_and_one_that_names_none_opens_by_its_sentence() -> None:
    document = load_preset("fluffy-blue-creature")
    data = json.loads(dumps(document)) | {"view": {"query": 3}}
    read = document_from(data, {})
    assert read.view == View(query=3, picture="arcs")
    for picture in ("map", "mean", "lines"):
        data["view"] = {"query": 3, "picture": picture}
        assert document_from(data, {}).view.picture == picture
    data |= {"caption": "A [creature] alone.", "view": {}}
    assert document_from(data, {}).view.picture == "map"


def test_a_long_text_other_numbers_and_words_that_are_not_there_open_as_a_map() -> None:
    document = load_preset("fluffy-blue-creature")
    document = replace(document, view=replace(document.view, picture="map", locked=None))
    assert first_picture(document) == "arcs"
    for stage in ("scores", "q", "dropped"):
        assert first_picture(replace(document, view=replace(document.view, stage=stage))) == "map"
    assert first_picture(replace(document, caption="[dog] attends to [cat](key).")) == "map"
    n = MOST_TOKENS + 1
    tokens = (*document.experiment.tokens, *("more",) * (n - 4))
    width = document.attention.d_embedding
    longer = replace(document.experiment, tokens=tokens, vectors=SeededVectors(n, width))
    assert first_picture(Document(longer, document.view, caption=document.caption)) == "map"
