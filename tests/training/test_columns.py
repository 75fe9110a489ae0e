"""Records as columns: whatever a field has comes back, and numbers that do not fit are refused."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from attnviz.training.columns import columns_of, records_of


class Plain(NamedTuple):
    step: int
    loss: float


class Rich(NamedTuple):
    """All that a later field may be."""

    step: int
    norms: tuple[float, ...]
    scores: dict[tuple[str, str, int], float]
    said: str | None
    losses: NDArray[np.float32]
    parts: dict[str, tuple[int, float]] = {}


RICH = [
    Rich(0, (), {}, None, np.zeros((0, 3), np.float32)),
    Rich(1, (1.0, float("nan")), {("a", "b", 1): 0.5}, "yes", np.arange(6, dtype=np.float32).reshape(2, 3)),
    Rich(2, (2.0, 3.0), {("a", "b", 1): float("inf")}, "yes", np.ones((2, 3), np.float32), {"x": (7, 0.1)}),
    Rich(3, (2.0, 4.0), {("a", "b", 1): 1.5, ("a", "b", 2): 0.1}, "no", np.ones((2, 3), np.float32)),
]


@pytest.mark.parametrize(("kind", "records"), [(Rich, RICH), (Plain, [Plain(0, 0.1), Plain(1, 1 / 3)])])
def test_records_come_back(kind: type[Any], records: list[Any]) -> None:
    said, rows = columns_of(records, kind)
    read = records_of(kind, json.loads(json.dumps(said)), rows, "run")
    assert [type(one) for one in read] == [kind] * len(records)
    np.testing.assert_equal([one._asdict() for one in read], [one._asdict() for one in records])
    assert isinstance(read[1].step, int)
    assert {row.shape[0] for row in rows.values()} == {1} and all(row.size for row in rows.values())


def test_a_field_that_is_kept_elsewhere_is_given() -> None:
    said, rows = columns_of(RICH, Rich, ("losses",))
    assert "losses" not in said["fields"] and "losses" not in rows
    given = {"losses": [one.losses for one in RICH]}
    read = records_of(Rich, said, rows, "run", given=given)
    np.testing.assert_equal([one._asdict() for one in read], [one._asdict() for one in RICH])
    with pytest.raises(ValueError, match=r"run.count must be 3; got 4"):
        records_of(Rich, said, rows, "run", given={"losses": given["losses"][:3]})


def test_none_are_none() -> None:
    said, rows = columns_of([], Plain)
    assert rows == {} and records_of(Plain, said, rows, "run") == ()


def test_a_field_that_a_file_does_not_have_has_its_default_or_is_missing() -> None:
    said, rows = columns_of(RICH, Rich)
    del said["fields"]["parts"], rows["parts"]
    assert records_of(Rich, said, rows, "run")[2].parts == {}
    del said["fields"]["norms"], rows["norms"]
    with pytest.raises(ValueError, match=r"run.fields.norms must be a field of each record; got nothing"):
        records_of(Rich, said, rows, "run")


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        ({"text": "x"}, r"run.norms must be the values of 4 records; got 6 numbers for 4 records"),
        ({"keys": [{"a": 1}], "values": ["number"]}, r"run.norms.forms must be a form of numbers; got"),
        ({"keys": ["a"], "values": []}, r"run.norms.forms must be a form of numbers; got"),
        (
            {"shape": [-1], "dtype": "<f4"},
            r"run.norms.forms must be a shape of at most four axes; got \[-1\]",
        ),
        ({"shape": [10**9], "dtype": "<f4"}, r"run.norms.forms must be a shape of at most four axes; got"),
        (
            {"shape": [10**6], "dtype": "<f4"},
            r"run.norms must be as many numbers as its forms have; got fewer",
        ),
        ({"shape": [2], "dtype": "O"}, r"run.norms.forms must be a form of numbers; got"),
        (
            {"items": ["number", "number", None]},
            r"run.norms\[1\] must be of the type tuple\[float, ...\]; got",
        ),
        (7, r"run.norms.forms must be a form of numbers; got 7"),
    ],
)
def test_a_wrong_form_is_one_sentence(form: Any, sentence: str) -> None:
    said, rows = columns_of(RICH, Rich)
    assert said["fields"]["norms"]["runs"] == [[0, 1], [1, 3]]
    said["fields"]["norms"]["forms"][1] = form
    with pytest.raises(ValueError, match=sentence):
        records_of(Rich, said, rows, "run")
