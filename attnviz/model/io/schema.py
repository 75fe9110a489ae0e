"""The JSON Schema of a document file: an editor completes keys and marks mistakes with it.

It states the structure: keys, kinds, types, bounds of single numbers. Requirements across several fields (a
weight matrix fits its heads, as many vectors as tokens) are checked when a document is loaded.
"""

from __future__ import annotations

from typing import Any

import msgspec

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
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "attnviz document", **schema}


def _matrix(kind: type) -> dict[str, Any]:
    if kind is Matrix:
        return _MATRIX
    raise NotImplementedError(f"no schema for {kind}")
