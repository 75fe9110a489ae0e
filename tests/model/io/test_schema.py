"""The JSON Schema, checked by a small validator of our own: every preset fits, and mistakes do not."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from documents import FITTING

from attnviz import resources
from attnviz.model.io.presets import preset_ids
from attnviz.model.io.schema import document_schema
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.view import View

TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}
COMPARED: dict[str, Callable[[float, float], bool]] = {
    "minimum": operator.ge,
    "maximum": operator.le,
    "exclusiveMinimum": operator.gt,
    "exclusiveMaximum": operator.lt,
    "multipleOf": lambda number, divisor: number % divisor == 0,
}


def fits(value: Any, schema: dict[str, Any], definitions: dict[str, Any]) -> bool:
    """True if `value` satisfies the keywords that our schema uses; an unknown keyword fails the test."""
    for keyword, rule in schema.items():
        if keyword in ("$schema", "$defs", "title", "description", "default", "discriminator", "properties"):
            continue
        if keyword == "$ref":
            ok = fits(value, definitions[rule.removeprefix("#/$defs/")], definitions)
        elif keyword == "anyOf":
            ok = any(fits(value, choice, definitions) for choice in rule)
        elif keyword == "type":
            ok = isinstance(value, TYPES[rule]) and (rule == "boolean" or not isinstance(value, bool))
        elif keyword == "enum":
            ok = value in rule
        elif keyword == "required":
            ok = not isinstance(value, dict) or set(rule) <= set(value)
        elif keyword == "additionalProperties":
            assert rule is False
            properties = schema.get("properties", {})
            ok = set(value) <= set(properties) and all(
                fits(member, properties[key], definitions) for key, member in value.items()
            )
        elif keyword == "items":
            ok = rule is False or all(fits(item, rule, definitions) for item in value)
        elif keyword == "prefixItems":
            ok = all(fits(item, part, definitions) for item, part in zip(value, rule, strict=False))
        elif keyword in COMPARED:
            ok = value is None or COMPARED[keyword](value, rule)
        elif keyword in ("minItems", "maxItems"):
            ok = len(value) >= rule if keyword == "minItems" else len(value) <= rule
        else:
            pytest.fail(f"the schema uses {keyword!r}, which this test does not know")
        if not ok:
            return False
    return True


def valid(data: Any) -> bool:
    schema = document_schema()
    return fits(data, schema, schema["$defs"])


@pytest.mark.parametrize("preset_id", preset_ids())
def test_every_preset_fits_the_schema(preset_id: str) -> None:
    assert valid(json.loads(resources.path("presets", f"{preset_id}.json").read_text(encoding="utf-8")))


def test_a_document_by_hand_and_one_that_names_a_tensor_fit() -> None:
    data = json.loads(FITTING)
    assert valid(data)
    data["experiment"]["vectors"]["values"] = {"tensor": "vectors"}
    assert valid(data)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("format",), "other"),
        (("version",), 2),
        (("extra",), 1),
        (("experiment", "extra"), 1),
        (("experiment", "layers", 0, "heads", "n_heads"), 0),
        (("experiment", "layers", 0, "heads", "n_heads"), "2"),
        (("experiment", "dtype"), "int8"),
        (("experiment", "layers", 0, "position", "kind"), "learned"),
        (("experiment", "layers", 0, "masks"), [{"kind": "window"}]),
        (("experiment", "vectors", "values"), []),
        (("experiment", "vectors", "values"), [["a"]]),
        (("experiment", "tokens"), "a"),
        (("view", "head"), -1),
        (("view", "plane"), [1]),
    ],
)
def test_a_mistake_does_not_fit(place: tuple[Any, ...], value: object) -> None:
    data = json.loads(FITTING)
    holder = data
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    assert not valid(data)


def test_the_schema_names_every_field_and_explains_every_part() -> None:
    definitions = document_schema()["$defs"]
    for struct in (Experiment, View):
        fields = {field.name for field in msgspec.structs.fields(struct)}
        assert set(definitions[struct.__name__]["properties"]) == fields
    assert all(part["description"] and "\n\n" not in part["description"] for part in definitions.values())
