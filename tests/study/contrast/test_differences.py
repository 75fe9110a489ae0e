"""Differences of two documents: every field of the table is found and named."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from experiments import small
from msgspec.structs import replace

from attnviz.i18n import set_language
from attnviz.model.io.presets import load_preset, preset_ids
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Causal, ExplicitVectors, Window
from attnviz.model.spec.positions import Rope
from attnviz.study.contrast.differences import MOST_TOKENS, Difference, differences

DOCUMENTS = {id_: load_preset(id_).experiment for id_ in preset_ids()}


def said(first: Experiment, second: Experiment) -> list[tuple[str, str, str]]:
    return [(one.title(), *one.texts()) for one in differences(first, second)]


def put(experiment: Experiment, index: int, **fields: object) -> Experiment:
    layers = list(experiment.layers)
    layers[index] = replace(layers[index], **fields)
    return replace(experiment, layers=tuple(layers))


@pytest.mark.parametrize("id_", DOCUMENTS)
def test_a_document_does_not_differ_from_itself(id_: str) -> None:
    again = load_preset(id_).experiment
    assert differences(DOCUMENTS[id_], again) == ()


@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_any_two_presets_differ_in_words(language: str) -> None:
    ids = list(DOCUMENTS)
    try:
        set_language(language)
        for first, second in zip(ids, ids[1:] + ids[:1], strict=True):
            lines = said(DOCUMENTS[first], DOCUMENTS[second])
            assert lines and all(all(texts) for texts in lines), (first, second)
            assert len(set(lines)) == len(lines), lines
    finally:
        set_language("en")


def test_every_field_of_a_layer_is_found() -> None:
    """Each field is changed alone; its title is the one in the table of fields."""
    plain = DOCUMENTS["toy-attention"]
    other = {
        "temperature": 3.5,
        "cap": 30.0,
        "masks": [{"kind": "causal"}],
        "mask_placement": "after_softmax",
        "mask_bias": -10000.0,
        "fully_masked_row": "nan",
        "normaliser": "sigmoid",
        "sinks": {"kind": "seeded", "seed": 3},
        "position": {"kind": "alibi"},
        "scale": {"kind": "none"},
        "qk_norm": {"kind": "rms"},
    }
    for name, value in other.items():
        field = next(row for row in msgspec.structs.fields(Layer) if row.name == name)
        changed = put(plain, 0, **{name: msgspec.convert(value, field.type)})
        found = differences(plain, changed)
        assert [one.path.split(".")[1] for one in found] == [name], name
        assert all(one.row is not None and one.title() for one in found)


def test_numbers_words_and_kinds() -> None:
    plain = DOCUMENTS["toy-attention"]
    assert said(plain, put(plain, 0, temperature=3.5)) == [("Temperature", "1", "3.5")]
    assert said(plain, put(plain, 0, cap=30.0)) == [("Soft cap", "none", "30")]
    assert said(plain, put(plain, 0, masks=(Causal(), Window(2, 0)))) == [
        ("Mask", "none", "causal + window (Window: earlier keys 2)")
    ]
    narrow, wide = put(plain, 0, masks=(Window(2, 0),)), put(plain, 0, masks=(Window(4, 0),))
    assert said(narrow, wide) == [("Mask · Window: earlier keys", "2", "4")]
    assert said(plain, replace(plain, dtype="float32")) == [("Precision", "float64", "float32")]


def test_a_part_inside_a_part_is_named_after_it() -> None:
    rope = small(position=Rope())
    other = replace(rope, layers=(replace(rope.layers[0], position=Rope(base=500.0)),))
    assert said(rope, other) == [("Position · Base θ", "10000", "500")]


def test_equal_changes_of_all_layers_are_one_and_of_some_are_numbered() -> None:
    deep = DOCUMENTS["decoder-only"]
    assert len(deep.layers) == 2
    both = put(put(deep, 0, temperature=2.0), 1, temperature=2.0)
    assert said(deep, both) == [("Temperature", "1", "2")]
    assert said(deep, put(deep, 1, temperature=2.0)) == [("Temperature · layer 2", "1", "2")]
    each = put(put(deep, 0, temperature=2.0), 1, temperature=4.0)
    assert said(deep, each) == [("Temperature · layer 1", "1", "2"), ("Temperature · layer 2", "1", "4")]


def test_tokens_are_named_one_by_one_and_many_are_counted() -> None:
    plain = DOCUMENTS["toy-attention"]
    renamed = replace(plain, tokens=(plain.tokens[0], "other", *plain.tokens[2:]))
    assert said(plain, renamed) == [("Token 2", plain.tokens[1], "other")]
    long = DOCUMENTS["long-sentence"]
    many = replace(long, tokens=tuple(f"{token}!" for token in long.tokens))
    count = len(long.tokens)
    assert count > MOST_TOKENS and said(long, many) == [("Tokens", str(count), f"{count} other tokens")]


def test_a_matrix_says_how_many_of_its_numbers_differ() -> None:
    plain = DOCUMENTS["fluffy-blue-creature"]
    assert isinstance(plain.vectors, ExplicitVectors)
    rows = np.array(plain.vectors.values.array)
    rows[0, 0] += 1
    moved = replace(plain, vectors=ExplicitVectors(Matrix(rows)))
    assert said(plain, moved) == [
        ("Token vectors · Values", "{} × {} numbers".format(*rows.shape), f"1 of {rows.size} differ")
    ]


def test_a_field_without_a_title_would_be_seen() -> None:
    assert Difference("unheard", (), None, 1, 2).title() == "unheard"
    titles = {
        one.title() for id_ in DOCUMENTS for one in differences(DOCUMENTS["toy-attention"], DOCUMENTS[id_])
    }
    assert len(titles) > 30 and not any("." in title or "[" in title for title in titles)
