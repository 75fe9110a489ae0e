"""`FIELDS`: each field is described once; what is said of it is translated, checked and in the schema."""

from __future__ import annotations

import math
from typing import Any, Literal, get_args, get_origin

import msgspec
import pytest

from attnviz import i18n
from attnviz.errors import FieldError
from attnviz.model.fields import FIELDS, STRUCTS, FieldRow, field_at, rows_of
from attnviz.model.io.schema import document_schema
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.field import bounds_of, is_nullable
from attnviz.model.spec.value import Value

FIELD = pytest.mark.parametrize("row", FIELDS, ids=lambda row: row.path)
SCHEMA = document_schema()["$defs"]


def filler(annotation: Any) -> Any:
    """A legal value of a required field."""
    plain = [get_args(annotation)[0]] if hasattr(annotation, "__metadata__") else [annotation]
    kind = plain[0]
    if get_origin(kind) is Literal:
        return get_args(kind)[0]
    if get_origin(kind) is tuple:
        return (filler(get_args(kind)[0]),)
    if isinstance(kind, type) and issubclass(kind, Value):
        return made(kind)
    if get_args(kind):
        return filler(get_args(kind)[0])
    return {int: 1, float: 1.0, str: "weights", Matrix: [[1.0]]}[kind]


def made(owner: type[Value], **given: Any) -> Value:
    required = {
        field.name: filler(field.type)
        for field in msgspec.structs.fields(owner)
        if field.required and field.name not in given
    }
    return owner(**required, **given)


def past(row: FieldRow) -> list[float]:
    """Numbers just past the range of a field."""
    said, (least, most) = row.field, bounds_of(row.annotation)
    if row.kind is int:
        odd = [(least or 0) + 1 if (least or 0) % 2 == 0 else (least or 0) + 2] if said.even else []
        return [*([least - 1] if least is not None else []), *([most + 1] if most is not None else []), *odd]
    found = [math.nan, math.inf, -math.inf]
    found += [] if said.least is None else [math.nextafter(said.least, -math.inf)]
    found += [] if said.most is None else [math.nextafter(said.most, math.inf)]
    found += [float(limit) for limit in (said.above, said.below) if limit is not None]
    return found


def is_row(row: FieldRow) -> bool:
    """True if the field is a row of real numbers."""
    return get_origin(row.kind) is tuple and get_args(row.kind)[0] is float


NUMBERS = [row for row in FIELDS if row.kind in (int, float) or is_row(row)]


def test_there_are_numbers_of_every_part() -> None:
    parts = {row.path.partition(".")[0] for row in NUMBERS}
    assert parts >= {"heads", "masks", "position", "dropout", "norm", "latent", "sampling", "cache", "cap"}


@pytest.mark.parametrize(
    "owner", [one for one in STRUCTS if one is not Experiment], ids=lambda owner: owner.__name__
)
def test_every_field_of_every_part_is_described(owner: type[Value]) -> None:
    described = [row.name for row in rows_of(owner)]
    assert described == list(owner.__struct_fields__)


@FIELD
def test_title_and_hint_are_translated(row: FieldRow) -> None:
    catalogue = i18n._load("zh_CN")._catalog  # type: ignore[attr-defined]
    said = row.field
    options = [text for option in said.options for text in option[1:]]
    assert said.title and said.hint
    for text in (said.title, said.hint, *options):
        is_symbol = text.isascii() and ("_" in text or text.isupper()) or len(text) < 3 or text == "NaN"
        assert is_symbol or text in catalogue, text


@FIELD
def test_the_schema_says_the_same(row: FieldRow) -> None:
    stated = SCHEMA[row.owner.__name__]["properties"][row.name]
    assert stated["title"] == row.field.title
    assert stated["description"].startswith(row.field.hint)


@pytest.mark.parametrize("row", NUMBERS, ids=lambda row: row.path)
def test_a_number_past_its_range_is_refused(row: FieldRow) -> None:
    assert past(row)
    for number in past(row):
        with pytest.raises(FieldError) as caught:
            made(row.owner, **{row.name: (number,) if is_row(row) else number})
        error = caught.value
        assert error.path == (f"{row.path}[0]" if is_row(row) else row.path)
        assert error.value is number or error.value == number or math.isnan(number)
        assert str(error) == f"{error.path} {error.requirement}; got {number!r}."
        limits = (row.field.least, row.field.above, row.field.most, row.field.below)
        said = [limit for limit in (*limits, *bounds_of(row.annotation)) if limit is not None]
        assert not said or row.field.even or any(f"{limit:,}" in str(error) for limit in said), str(error)
        if row.kind is not int:
            assert not any(ok(number) for ok in schema_of(row))


def schema_of(row: FieldRow) -> list[Any]:
    """Real numbers that the schema allows, without NaN and the infinities, which JSON does not have."""
    stated = SCHEMA[row.owner.__name__]["properties"][row.name]
    stated = stated["items"] if is_row(row) and "items" in stated else stated
    return [
        lambda number: (
            math.isfinite(number)
            and number >= stated.get("minimum", -math.inf)
            and number > stated.get("exclusiveMinimum", -math.inf)
            and number <= stated.get("maximum", math.inf)
            and number < stated.get("exclusiveMaximum", math.inf)
        )
    ]


@FIELD
def test_null_is_legal_where_the_type_says_so(row: FieldRow) -> None:
    if is_nullable(row.annotation):
        assert getattr(made(row.owner, **{row.name: None}), row.name) is None


def test_a_field_is_found_from_where_it_stands() -> None:
    for path, own in (
        ("block.feed_forward.d_hidden", "feed_forward.d_hidden"),
        ("latent.norm.eps", "norm.eps"),
        ("layers[3].block.after_1.eps", "norm.eps"),
        ("position.weights.std", "position.table.std"),
        ("encoder[0].masks.window.left", "masks.window.left"),
    ):
        found = field_at(path)
        assert found is not None and found.path == own
    # A window and a dilated window call it by different names; the path does not say which it is.
    assert field_at("masks[0].left") is None and field_at("nothing.here") is None
