"""The JSON Schema of a document file: an editor completes keys and marks mistakes with it.

It states the structure: keys, kinds, types, bounds of single numbers. Requirements across several fields (a
weight matrix fits its heads, as many vectors as tokens) are checked when a document is loaded.
"""

from __future__ import annotations

from typing import Any, get_origin

import msgspec

from attnviz.model.fields import STRUCTS, FieldRow, rows_of
from attnviz.model.io.json_text import File
from attnviz.model.spec.arrays import Matrix

_MATRIX: dict[str, Any] = {
    "description": "A list of rows of equal length or, in a .safetensors file, the name of a tensor.",
    "anyOf": [
        {
            "type": "array",
            "minItems": 1,
            "items": {"type": "array", "minItems": 1, "items": {"type": "number"}},
        },
        {
            "type": "object",
            "properties": {"tensor": {"type": "string"}},
            "required": ["tensor"],
            "additionalProperties": False,
        },
    ],
}


def document_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a document file."""
    schema = msgspec.json.schema(File, schema_hook=_matrix)
    for part in schema["$defs"].values():
        part["description"] = part["description"].partition("\n\n")[0]
    for owner in STRUCTS:
        properties = schema["$defs"][owner.__name__]["properties"]
        for row in rows_of(owner):
            stated = properties[row.name]
            kinds = f". {stated['description']}" if "description" in stated else ""
            properties[row.name] = stated | _described(row, kinds)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "attnviz document", **schema}


def _described(row: FieldRow, more: str) -> dict[str, Any]:
    """Title, description (and more of it) and range of a field; a list has the range in its items."""
    said = row.field
    limits = {
        "minimum": said.least,
        "exclusiveMinimum": said.above,
        "maximum": said.most,
        "exclusiveMaximum": said.below,
        "multipleOf": 2 if said.even else None,
    }
    bounds = {key: limit for key, limit in limits.items() if limit is not None}
    words: dict[str, Any] = {"title": said.title, "description": said.hint + more}
    if get_origin(row.kind) is tuple:
        return words | ({"items": {"type": "number"} | bounds} if bounds else {})
    return words | bounds


def _matrix(kind: type) -> dict[str, Any]:
    if kind is Matrix:
        return _MATRIX
    raise NotImplementedError(f"no schema for {kind}")
