"""The document as text: it is read as it was written, and nothing invalid gets in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from documents import BEFORE_LAYERS, BY_HAND, FITTING
from experiments import SPREAD, experiments
from first_layer import stacked
from hypothesis import given
from numpy.testing import assert_array_equal

from attnviz.model.io.files import DocumentError, dumps, load, loads, save
from attnviz.model.io.json_text import document_from, parse
from attnviz.model.masks import MASKS
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import (
    Causal,
    Explicit,
    ExplicitVectors,
    Heads,
    Padding,
    Painted,
    SeededVectors,
    Window,
)
from attnviz.model.spec.view import Cell, Ranges, View

KINDS = ", ".join(repr(family.tag) for family in MASKS)


def edited(text: str = FITTING, **changes: Any) -> str:
    """The document written by hand, with fields of its experiment or of its layer replaced."""
    data = json.loads(text)
    experiment = data["experiment"]
    for name, value in changes.items():
        layers = experiment.get("layers", [experiment])
        (layers[0] if name in Layer.__struct_fields__ else experiment)[name] = value
    return json.dumps(data)


def message_of(text: str) -> str:
    with pytest.raises(DocumentError) as caught:
        loads(text, "doc.json")
    message = str(caught.value)
    assert message.startswith("doc.json: ") and "\n" not in message
    return message.removeprefix("doc.json: ")


def test_a_document_written_by_hand_loads() -> None:
    document = loads(FITTING)
    experiment = document.experiment
    assert experiment.tokens == ("a", "fluffy", "blue", "creature")
    assert experiment.layers[0].heads == Heads(2, 1, 4)
    assert experiment.layers[0].masks == (Causal(), Padding((3,)), Window(2, 0))
    assert document.view == View() and document.title == ""
    assert isinstance(experiment.layers[0].projections.value, Explicit)
    assert_array_equal(experiment.layers[0].projections.value.values.array, np.eye(2, 4))


def test_a_weight_matrix_that_does_not_fit_is_refused_with_the_shape_that_would() -> None:
    assert message_of(BY_HAND) == (
        "$.experiment.layers[0].projections.value.values must be 2x4 (in x out) "
        "for these vectors and heads; got 1x1."
    )


@pytest.mark.parametrize("name", SPREAD)
def test_every_kind_of_experiment_comes_back_equal(name: str, tmp_path: Path) -> None:
    view = View(
        "scores",
        1,
        2,
        3,
        Ranges("log", "row", "symmetric"),
        "queries_as_columns",
        (2, 0),
        Cell("scores", 1, 2, 0),
    )
    document = Document(SPREAD[name], view, f"<b>{name}</b>")
    assert loads(dumps(document)) == document
    for file_name in ("d.json", "d.safetensors"):
        assert load(save(document, tmp_path / file_name)) == document


def test_a_document_without_references_is_written_as_before_them() -> None:
    without = loads(FITTING)
    assert without.experiment.references == () and "references" not in dumps(without)
    with_one = edited(references=[[3, 0]])
    assert json.loads(dumps(loads(with_one)))["experiment"]["references"] == [[3, 0]]


@given(experiments())
def test_any_experiment_comes_back_equal(experiment: Experiment) -> None:
    assert loads(dumps(experiment)) == Document(experiment)


@pytest.mark.parametrize(
    "token", ["", "\n", '"', "<img src=x>", "\u202e", "\ud800", "😀", "\x00", "\u2028", "猫"]
)
def test_any_text_is_a_token(token: str, tmp_path: Path) -> None:
    document = Document(Experiment((token,), SeededVectors(1, 2)), title=token)
    for name in ("t.json", "t.safetensors"):
        assert load(save(document, tmp_path / name)) == document


def test_numbers_come_back_to_the_last_bit() -> None:
    values = np.array([[0.1, 1 / 3, 5e-324], [1.7976931348623157e308, -0.0, 2**53 + 2.0]])
    vectors = loads(dumps(Experiment(("a", "b"), ExplicitVectors(values)))).experiment.vectors
    assert isinstance(vectors, ExplicitVectors)
    assert vectors.values.array.tobytes() == values.tobytes()


def test_each_matrix_row_is_one_line_and_short_objects_are_too() -> None:
    lines = dumps(loads(FITTING)).splitlines()
    assert "    [0.2, 0.8]," in lines
    assert "       [1.0, 0.0, 0.0, 0.0]," in lines
    assert '    "heads": {"n_heads": 2, "n_kv_heads": 1, "d_head": 4, "off": []},' in lines
    wide = dumps(Experiment(("a",), ExplicitVectors(np.full((1, 100), 1 / 3))))
    row = max(wide.splitlines(), key=len)
    assert json.loads(row) == [1 / 3] * 100, "a row is never broken"


def test_long_lists_that_are_no_matrices_are_filled_to_the_width() -> None:
    cells = tuple((i, j) for i in range(9) for j in range(9))
    experiment = stacked(("word",) * 90, SeededVectors(90, 2), masks=(Painted(cells),))
    assert loads(dumps(experiment)).experiment == experiment
    token_lines = [line for line in dumps(experiment).splitlines() if '"word"' in line]
    assert 5 < len(token_lines) < 12 and max(map(len, token_lines)) <= 110


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"heads": {"n_heads": 0}},
            "$.experiment.heads.n_heads must be a whole number from 1 to 1,000,000; got 0.",
        ),
        (
            {"heads": {"n_heads": 4, "n_kv_heads": 3, "d_head": 4}},
            "$.experiment.heads.n_kv_heads must be a divisor of n_heads (4); got 3.",
        ),
        ({"temperature": -1}, "$.experiment.temperature must be a finite number above 0; got -1.0."),
        ({"temperature": None}, "$.experiment.temperature must be a number; got null."),
        (
            {"dtype": "int8"},
            "$.experiment.dtype must be one of 'float16', 'bfloat16', 'float32', 'float64'; got 'int8'.",
        ),
        (
            {"masks": [{"kind": "causal"}, {"kind": "window", "left": -1}]},
            "$.experiment.masks[1].left must be a whole number from 0 to 2,147,483,648; got -1.",
        ),
        (
            {"masks": [{"kind": "sliding"}]},
            f"$.experiment.masks[0].kind must be one of {KINDS}, 'any_of'; got 'sliding'.",
        ),
        (
            {"masks": [{"kind": "any_of", "masks": [{"kind": "any_of", "masks": [{"kind": "causal"}]}]}]},
            f"$.experiment.masks[0].masks[0].kind must be one of {KINDS}; got 'any_of'.",
        ),
        (
            {"masks": [{"kind": "any_of", "masks": []}]},
            "$.experiment.masks[0].masks must have at least one mask; got [].",
        ),
        (
            {"masks": [{"kind": "any_of", "masks": [{"kind": "causal"}, {"kind": "causal"}]}]},
            "$.experiment.masks[0].masks must have each kind of mask once; got 'causal' twice.",
        ),
        (
            {"masks": [{"kind": "documents", "starts": [4, 4]}]},
            "$.experiment.masks[0].starts must be ascending positions, each once; got [4, 4].",
        ),
        (
            {"masks": [{"kind": "strided", "stride": 0}]},
            "$.experiment.masks[0].stride must be a whole number from 1 to 1,000,000; got 0.",
        ),
        (
            {"masks": [{}]},
            f"$.experiment.masks[0].kind must be one of {KINDS}, 'any_of'; got nothing.",
        ),
        (
            {"masks": [{"kind": "causal"}] * 2},
            "$.experiment.masks must have each kind of mask once; got 'causal' twice.",
        ),
        ({"tokens": ["a"] * 3}, "$.experiment.vectors must have 3 rows, one for each token; got 4 rows."),
        (
            {"references": [[3, 0], [3, 4]]},
            "$.experiment.references[1] must be two different positions from 0 to 3; got [3, 4].",
        ),
        (
            {"references": [[3, 0], [1, 1]]},
            "$.experiment.references[1] must be two different positions from 0 to 3; got [1, 1].",
        ),
        (
            {"references": [[3, 0], [2, 0], [3, 0]]},
            "$.experiment.references[2] must be a pair that occurs once; got [3, 0].",
        ),
        (
            {"references": [[3]]},
            "$.experiment.references[0] must be a list of 2 in which each item is a whole number from 0 to "
            "2,147,483,648; got [3].",
        ),
        ({"tokens": [1, 2, 3, 4]}, "$.experiment.tokens[0] must be a text; got 1."),
        (
            {"memory": {"tokens": ["m"], "vectors": {"kind": "seeded", "n": 1, "d_model": 2, "seed": -1}}},
            "$.experiment.memory.vectors.seed must be a whole number from 0 to 4,294,967,295; got -1.",
        ),
        (
            {"vectors": {"kind": "explicit", "values": [[1, 2], [3]]}},
            "$.experiment.vectors.values[1] must be a row of length 2, as row 0 is; got length 1.",
        ),
        (
            {"vectors": {"kind": "explicit", "values": [[1, 2], [3, {"x": 4}]]}},
            "$.experiment.vectors.values[1][1] must be a number; got {'x': 4}.",
        ),
        (
            {"vectors": {"kind": "explicit", "values": {"tensor": "vectors"}}},
            "$.experiment.vectors.values.tensor must be in a .safetensors file; got 'vectors'.",
        ),
        (
            {"position": {"kind": "rope", "bse": 1}},
            "$.experiment.position.bse must be one of the keys kind, base, pairing, start, "
            "n_rotated, multipliers, on_values, scaling; got 1.",
        ),
    ],
)
def test_an_illegal_value_is_named_with_its_path_and_with_what_is_legal(
    changes: dict[str, Any], expected: str
) -> None:
    (name,) = changes
    in_layer = f"$.experiment.layers[0].{name}" if name in Layer.__struct_fields__ else f"$.experiment.{name}"
    assert message_of(edited(**changes)) == expected.replace(f"$.experiment.{name}", in_layer)
    assert message_of(edited(BEFORE_LAYERS, **changes)) == expected, "a path of that version"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('"version": 3', '"version": 4', "$.version must be one of 1, 2, 3; got 4."),
        ('"version": 3', '"version": true', "$.version must be one of 1, 2, 3; got true."),
        ('"version": 3,', "", "$.version must be one of 1, 2, 3; got nothing."),
        ('"attnviz"', '"other"', "The file must be an attnviz document, which begins "),
        (
            '"view": {}',
            '"view": {"head": -1}',
            "$.view.head must be a whole number from 0 to 16,777,216; got -1.",
        ),
        ('"view": {}', '"view": {}, "extra": 1', "$.extra must be one of the keys format, version, "),
        (
            '"view": {}',
            '"view": {}, "view": {}',
            "An object must have each key once; got 'view' twice.",
        ),
        ('"seed": 0}', '"seed": 0, "seed": 1}', "An object must have each key once; got 'seed' twice."),
        ("0.8]", "NaN]", "A number must be finite; got NaN."),
        ("0.8]", "-Infinity]", "A number must be finite; got -Infinity."),
        (
            "0.8]",
            "1e999]",
            "$.experiment.vectors.values[0][1] must be a finite number; got inf.",
        ),
        (
            '"p": 0.0',
            '"p": 1e999',
            "$.experiment.layers[0].dropout.p must be a number of at least 0 and below 1; got inf.",
        ),
        ('"view": {}}', '"view": {}', "must be JSON"),
        (
            "[[0.2",
            "[" * 100_000 + "[[0.2",
            "The text must be nested less deeply; got more levels than can be read.",
        ),
        ('"n_heads": 2', '"n_heads": ' + "9" * 5000, "A number must have at most 400 digits; got 5,000."),
    ],
)
def test_what_json_readers_let_pass_is_refused(old: str, new: str, expected: str) -> None:
    assert old in FITTING
    assert expected in message_of(FITTING.replace(old, new, 1))


@pytest.mark.parametrize("text", ["", "null", "[]", "3", '"attnviz"', "{}", '{"format": ["attnviz"]}'])
def test_other_json_is_not_a_document(text: str) -> None:
    message_of(text)


def test_an_unknown_key_cannot_forge_a_path() -> None:
    key = "x` - at `$.experiment.heads[7].y"
    text = FITTING.replace('"view": {}', f'"{key}": 1')
    assert message_of(text) == f"A key must not contain a backtick; got '{key}'."


def test_a_missing_view_is_the_default_view() -> None:
    data = json.loads(FITTING)
    del data["view"]
    assert loads(json.dumps(data)).view == View()


def test_a_key_given_twice_among_very_many_is_found_at_once() -> None:
    """Counted once: asked of each key, 100,000 of them take minutes."""
    keys = ", ".join(f'"k{index}": 0' for index in range(100_000))
    with pytest.raises(ValueError, match=r"An object must have each key once; got 'k99999' twice\."):
        parse("{" + keys + ', "k99999": 1}')


def test_half_a_character_in_a_key_is_a_sentence() -> None:
    with pytest.raises(
        ValueError,
        match=r"key must consist of whole characters; got U\+D800, half "
        r"of a character\.",
    ):
        document_from({"format": "attnviz", "version": 1, "\ud800": 1}, {})
