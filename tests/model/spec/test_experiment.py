"""Values that cannot be constructed, and the sentence that says why."""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from experiments import sited
from first_layer import stacked, with_fields
from msgspec.structs import replace
from pace import assert_fast

from attnviz.model.edit import edits
from attnviz.model.io.files import load, save
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import (
    ROLES,
    Alibi,
    Causal,
    Dropout,
    Explicit,
    ExplicitSinks,
    ExplicitVectors,
    Heads,
    Identity,
    Memory,
    Padding,
    Painted,
    Projections,
    QKNorm,
    Rope,
    ScaleValue,
    Seeded,
    SeededSinks,
    SeededVectors,
    Sinusoidal,
    Tied,
    Window,
)
from attnviz.model.spec.view import Cell, View

TWO = SeededVectors(2, 6)


def experiment(**changes: Any) -> Experiment:
    fields: dict[str, Any] = {"tokens": ("a", "b"), "vectors": TWO, "heads": Heads(2, 1, 4)}
    return stacked(**{**fields, **changes})


ILLEGAL: list[tuple[Callable[[], object], str]] = [
    (lambda: Heads(0), "heads.n_heads must be a whole number from 1 to 1,000,000; got 0."),
    (lambda: Heads(2.5), "heads.n_heads must be a whole number from 1 to 1,000,000; got 2.5."),
    (lambda: Heads(True), "heads.n_heads must be a whole number from 1 to 1,000,000; got true."),
    (lambda: Heads(6, 4), "heads.n_kv_heads must be a divisor of n_heads (6); got 4."),
    (lambda: SeededVectors(2, 3, -1), "vectors.seed must be a whole number from 0 to 4,294,967,295; got -1."),
    (
        lambda: SeededVectors(2, 3, 0, "lcg"),
        "vectors.generator must be one of 'pcg64', 'mt19937'; got 'lcg'.",
    ),
    (
        lambda: SeededVectors(10**6, 10**6),
        "vectors.d_model must be at most 268 with 1000000 tokens; got 1000000.",
    ),
    (
        lambda: ExplicitVectors([[1, 2], [3]]),
        "vectors.values[1] must be a row of length 2, as row 0 is; got length 1.",
    ),
    (lambda: ExplicitVectors([[1, "2"]]), "vectors.values[0][1] must be a number; got '2'."),
    (
        lambda: ExplicitVectors([[1, math.nan]]),
        "vectors.values[0][1] must be a finite number; got nan.",
    ),
    (
        lambda: ExplicitVectors(np.ones(3)),
        "vectors.values must be a matrix of at least one row and one column; got shape [3].",
    ),
    (
        lambda: Tied("keys"),
        "projections.to must be one of 'query', 'key', 'value', 'output'; got 'keys'.",
    ),
    (
        lambda: Projections(query=Tied("key"), key=Tied("value")),
        "projections.query.to must be a projection that is not tied itself; got 'key'.",
    ),
    (
        lambda: Projections(query=Tied("query")),
        "projections.query.to must be a projection that is not tied itself; got 'query'.",
    ),
    (
        lambda: Projections(query="identity"),
        "projections.query must be an object whose kind is one of 'identity', 'seeded', 'explicit', "
        "'tied'; got 'identity'.",
    ),
    (lambda: Rope(base=0), "position.base must be a finite number above 0; got 0.0."),
    (lambda: Rope(base=math.inf), "position.base must be a finite number above 0; got inf."),
    (lambda: Rope(n_rotated=3), "position.n_rotated must be an even number; got 3."),
    (lambda: Rope(multipliers=(1, math.nan)), "position.multipliers[1] must be a finite number; got nan."),
    (
        lambda: Rope(pairing="both"),
        "position.pairing must be one of 'interleaved', 'half_split'; got 'both'.",
    ),
    (lambda: Sinusoidal(-1), "position.base must be a finite number above 0; got -1.0."),
    (lambda: Alibi((1, math.inf)), "position.slopes[1] must be a finite number; got inf."),
    (lambda: QKNorm("rms", -1.0), "qk_norm.eps must be a finite number of at least 0; got -1.0."),
    (lambda: QKNorm("max"), "qk_norm.kind must be one of 'rms', 'layer', 'l2'; got 'max'."),  # type: ignore[arg-type]
    (lambda: ExplicitSinks((0, math.inf)), "sinks.values[1] must be a finite number; got inf."),
    (lambda: ScaleValue(math.nan), "scale.value must be a finite number; got nan."),
    (
        lambda: Window(-1),
        "masks.window.left must be a whole number from 0 to 2,147,483,648; got -1.",
    ),
    (
        lambda: Padding((0, -2)),
        "masks.padding.tokens[1] must be a whole number from 0 to 2,147,483,648; got -2.",
    ),
    (
        lambda: Painted(((0, 1), (2,))),
        "masks.painted.cells[1] must be a list of 2 in which each item is a whole number from 0 to "
        "2,147,483,648; got [2].",
    ),
    (lambda: Dropout(1), "dropout.p must be a number of at least 0 and below 1; got 1.0."),
    (lambda: Dropout(math.nan), "dropout.p must be a number of at least 0 and below 1; got nan."),
    (lambda: Memory(("m",), TWO), "memory.vectors must have 1 rows, one for each token; got 2 rows."),
    (lambda: experiment(tokens=()), "tokens must have at least one token; got []."),
    (lambda: experiment(tokens="ab"), "tokens must be a list in which each item is a text; got 'ab'."),
    (
        lambda: experiment(tokens=("a", "b", "c")),
        "vectors must have 3 rows, one for each token; got 2 rows.",
    ),
    (
        lambda: experiment(vectors=[[1, 2]]),
        "vectors must be an object whose kind is one of 'explicit', 'seeded'; got [[1, 2]].",
    ),
    (lambda: experiment(temperature=0), "temperature must be a finite number above 0; got 0.0."),
    (lambda: experiment(temperature=math.nan), "temperature must be a finite number above 0; got nan."),
    (lambda: experiment(cap=-1), "cap must be a finite number above 0, or null; got -1.0."),
    (
        lambda: experiment(masks=(Causal(), Causal())),
        "masks must have each kind of mask once; got 'causal' twice.",
    ),
    (
        lambda: experiment(dtype="int8"),
        "dtype must be one of 'float16', 'bfloat16', 'float32', 'float64'; got 'int8'.",
    ),
    (
        lambda: experiment(projections=Projections(key=Explicit(np.eye(2)))),
        "projections.key.values must be 6x4 (in x out) for these vectors and heads; got 2x2.",
    ),
    (
        lambda: experiment(projections=Projections(query=Seeded(), key=Tied("query"))),
        "projections.key.to must name a projection of 6x4, not of 6x8; got 'query'.",
    ),
    (
        lambda: experiment(position=Rope(n_rotated=6)),
        "position.n_rotated must be an even number of at most 4 (heads.d_head); got 6.",
    ),
    (
        lambda: experiment(position=Rope(), heads=Heads(1, 1, 3)),
        "heads.d_head must be an even number, unless position.n_rotated is set; got 3.",
    ),
    (
        lambda: experiment(position=Rope(multipliers=(1, 1, 1))),
        "position.multipliers must have length 2 or less, one number for each rotated pair; got length 3.",
    ),
    (
        lambda: Heads(2, 1, 4, (0, 2)),
        "heads.off must be ascending heads below n_heads (2), each once; got [0, 2].",
    ),
    (
        lambda: Heads(2, 1, 4, (1, 0)),
        "heads.off must be ascending heads below n_heads (2), each once; got [1, 0].",
    ),
    (
        lambda: experiment(sinks=ExplicitSinks((1.0,))),
        "sinks.values must have length 2, one number for each head; got length 1.",
    ),
    (
        lambda: experiment(sinks=SeededSinks(), normaliser="sigmoid"),
        "normaliser must be 'softmax' with attention sinks; got 'sigmoid'.",
    ),
    (
        lambda: experiment(normaliser="max"),
        "normaliser must be one of 'softmax', 'sigmoid', 'relu_squared'; got 'max'.",
    ),
    (
        lambda: experiment(position=Alibi((1.0,))),
        "position.slopes must have length 2, one number for each head; got length 1.",
    ),
    (
        lambda: experiment(heads=Heads(10**6, 1, 10**6)),
        "projections.query must be a matrix of at most 268,435,456 numbers; got 6x1000000000000.",
    ),
    (lambda: Cell("weights", -1, 0), "row must be a whole number from 0 to 16,777,216; got -1."),
    (
        lambda: View(plane=(0, 1, 2)),
        "plane must be a list of 2 in which each item is a whole number from 0 to 16,777,216; got [0, 1, 2].",
    ),
]


@pytest.mark.parametrize(("construct", "expected"), ILLEGAL, ids=[sentence for _, sentence in ILLEGAL])
def test_an_illegal_value_cannot_be_constructed(construct: Callable[[], object], expected: str) -> None:
    with pytest.raises(ValueError) as caught:
        construct()
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 220


MEMORY = Memory(("m",), SeededVectors(1, 3))

ILLEGAL_ENCODER: list[tuple[dict[str, Any], str]] = [
    ({"heads": Heads(1, 1, 3), "position": Rope()}, "heads.d_head must be an even number"),
    (
        {"projections": Projections(output=Explicit(np.ones((7, 3))))},
        "projections.output.values must be 2x3",
    ),
    ({"sinks": ExplicitSinks((1.0, 2.0))}, "sinks.values must have length 1"),
]


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize(("fields", "says"), ILLEGAL_ENCODER, ids=[says for _, says in ILLEGAL_ENCODER])
def test_every_layer_of_an_encoder_is_checked_and_named(
    index: int, fields: dict[str, Any], says: str, tmp_path: Path
) -> None:
    layers = [Layer(heads=Heads(1, 1, 2)), Layer(heads=Heads(1, 1, 2))]
    legal = experiment(memory=MEMORY, encoder=tuple(layers))
    layers[index] = Layer(**{"heads": Heads(1, 1, 2), **fields})
    with pytest.raises(ValueError, match=rf"^encoder\[{index}\]\.{re.escape(says)}"):
        experiment(memory=MEMORY, encoder=tuple(layers))
    file = save(Document(legal), tmp_path / "legal.json")
    plain = json.loads(file.read_text())
    plain["experiment"]["encoder"][index]["heads"] = {"n_heads": 1, "n_kv_heads": 1, "d_head": 3}
    plain["experiment"]["encoder"][index]["position"] = {"kind": "rope"}
    file.write_text(json.dumps(plain))
    with pytest.raises(ValueError, match=rf"encoder\[{index}\]\.heads\.d_head"):
        load(file)


def test_a_change_of_a_valid_experiment_is_checked_too() -> None:
    with pytest.raises(ValueError, match=r"temperature must be a finite number above 0; got -1\.0\."):
        with_fields(experiment(), temperature=-1.0)


@pytest.mark.parametrize(
    ("field", "value"), [("layers", Layer()), ("masks", Causal()), ("masks", (Causal(), Rope()))]
)
def test_a_row_of_records_is_neither_one_record_nor_one_of_others(field: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{field}"):
        Experiment(("a", "b"), SeededVectors(2, 4), layers=value) if field == "layers" else Layer(masks=value)


def test_lists_and_numpy_values_become_what_is_meant() -> None:
    assert Heads(np.int64(4), np.int32(2), 4) == Heads(4, 2, 4)
    assert Padding(np.array([1, 2])) == Padding((1, 2))
    assert experiment(temperature=np.float32(0.5)).layers[0].temperature == 0.5
    assert experiment(tokens=["a", "b"]) == experiment()
    assert hash(experiment(tokens=["a", "b"], masks=[Causal()])) == hash(experiment(masks=(Causal(),)))


def test_an_experiment_never_changes() -> None:
    source = np.eye(2)
    vectors = ExplicitVectors(source)
    source[0, 0] = 7
    assert vectors.values.array[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        vectors.values.array[0, 0] = 7
    with pytest.raises(AttributeError):
        experiment().layers[0].temperature = 2.0  # type: ignore[misc]


NO_REAL_NUMBERS: list[tuple[Any, str]] = [
    ([[1.0 + 2.0j]], "matrix[0][0] must be a number; got (1+2j)."),
    ([["1"]], "matrix[0][0] must be a number; got '1'."),
    ([[False]], "matrix[0][0] must be a number; got false."),
    ([[0.5, None]], "matrix[0][1] must be a number; got null."),
]


@pytest.mark.parametrize(("values", "says"), NO_REAL_NUMBERS, ids=[says for _, says in NO_REAL_NUMBERS])
def test_an_array_is_refused_where_the_same_in_lists_is(values: list[Any], says: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for given in (values, np.array(values), [np.array(row) for row in values]):
            with pytest.raises(ValueError) as caught:
                Matrix(given)
            assert str(caught.value) == says


def test_a_number_under_a_mask_is_none() -> None:
    array = np.ma.masked_array([[1.0, 2.0]], mask=[[False, True]])
    with pytest.raises(ValueError, match=r"matrix\[0\]\[1\] must be a number; got a masked element\."):
        Matrix(array)
    assert Matrix(np.ma.masked_array([[1.0, 2.0]])) == Matrix([[1.0, 2.0]])
    assert Matrix(np.array([[1, 2]], dtype=object)) == Matrix(np.array([[1, 2]], dtype=np.uint8))


def test_matrices_that_are_equal_hash_alike() -> None:
    zero, minus_zero = Matrix([[0.0, 1.0]]), Matrix([[-0.0, 1.0]])
    assert zero == minus_zero and hash(zero) == hash(minus_zero)
    assert zero != zero.replaced(0, 0, 2.0)
    assert Matrix([[1.0, 2.0]]) != Matrix([[1.0], [2.0]])


def test_long_matrices_are_compared_to_their_last_number_and_changed_alone() -> None:
    long = Matrix(np.random.default_rng(0).standard_normal((700, 100)))
    for row, column in ((0, 0), (350, 99), (699, 99)):
        changed = long.replaced(row, column, 9.0)
        assert changed != long and changed == long.replaced(row, column, 9.0)
        assert np.argwhere(changed.array != long.array).tolist() == [[row, column]]
        assert not changed.array.flags.writeable
    assert long == Matrix(long.array) and long != Matrix(long.array[:-1])
    with pytest.raises(ValueError, match=r"matrix\[3\]\[2\] must be a finite number; got inf\."):
        long.replaced(3, 2, math.inf)


def test_shapes_of_the_four_projections() -> None:
    memory = Memory(("m",) * 3, SeededVectors(3, 5))
    made = sited(experiment(memory=memory, heads=Heads(4, 2, 3)))
    shapes = {role: made.projection_shape(role) for role in ROLES}
    assert shapes == {"query": (6, 12), "key": (5, 6), "value": (5, 6), "output": (12, 6)}
    assert (made.n_queries, made.n_keys, made.d_model) == (2, 3, 6)
    assert experiment(projections=Projections(Seeded(), Identity(), Identity(), Tied("query")))


def test_other_vectors_are_told_from_other_parts() -> None:
    one = experiment()
    other = edits.set_vector_cell(one, 0, 0, 2.0)
    assert other.differs_in_vectors(one) and one.differs_in_vectors(other)
    assert not one.differs_in_vectors(one)
    for changed in (
        with_fields(one, temperature=2.0),
        with_fields(one, dtype="float64"),
        replace(one, tokens=("a", "c")),
        replace(one, vectors=SeededVectors(2, 12)),
        replace(other, layers=(*one.layers, Layer(heads=Heads(2, 1, 4)))),
    ):
        assert not changed.differs_in_vectors(one), changed


def test_construction_is_cheap_enough_for_every_frame_of_a_drag() -> None:
    parts = {"heads": Heads(8, 2, 4), "position": Rope(), "masks": (Causal(), Padding((1,)))}
    experiment(**parts)

    def make_a_hundred() -> None:
        for _ in range(100):
            experiment(**parts)

    assert_fast(make_a_hundred, most=60)  # 0.2 ms each, where a step of plain work takes 30 ns


def test_a_change_checks_what_is_new_and_not_again_what_has_checked_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every edit, and every edit that is only tried, makes an experiment anew."""
    made = experiment(behind=(Layer(),) * 12, masks=(Causal(), Padding((1,))), position=Rope())
    converted: list[object] = []
    convert = msgspec.convert

    def noted(value: object, *args: Any, **named: Any) -> object:
        converted.append(value)
        return convert(value, *args, **named)

    monkeypatch.setattr(msgspec, "convert", noted)
    first, *behind = made.layers
    changed = replace(made, layers=(replace(first, temperature=2.0), *behind))
    # The tokens and the number for itself and for each of the twelve other layers; no record, no default.
    assert set(converted) == {made.tokens, 2.0}
    assert changed.layers[0].temperature == 2.0 and changed.layers[1:] == made.layers[1:]
