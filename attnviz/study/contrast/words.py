"""Values of a document's fields in a few words, for a comparison of two documents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from attnviz.core.phrases import enumerated, with_remark
from attnviz.core.text import elide, visible
from attnviz.errors import Message
from attnviz.i18n import N_, _
from attnviz.model.caches import CACHES
from attnviz.model.edit.by_hand import as_text
from attnviz.model.fields import FieldRow, rows_of
from attnviz.model.masks import MASKS
from attnviz.model.normalisers import NORMALISERS
from attnviz.model.positions import POSITIONS
from attnviz.model.scalings import SCALINGS
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.edit import Edit
from attnviz.model.spec.sampling import SAMPLING_OPERATIONS
from attnviz.model.spec.value import Value
from attnviz.operations.norm import NORM_KINDS

LONGEST = 48
"""Characters of a value; the rest is elided."""

_BY_TAG = {
    "none": N_("none"),
    "identity": N_("identity"),
    "seeded": N_("seeded"),
    "explicit": N_("explicit"),
    "tied": N_("tied"),
    "sqrt_d_head": N_("on"),
    "value": N_("explicit"),
    "any_of": N_("any of"),
}
"""Kinds without a table: of matrices and rows, and of the scale."""

_BY_RECORD: dict[type, str] = {
    **{mask.kind: mask.title for mask in MASKS},
    **{cache.kind: cache.title for cache in CACHES},
    **{operation.kind: operation.title for operation in SAMPLING_OPERATIONS},
    **{position.record: position.title for position in POSITIONS},
    **{scaling.record: scaling.title for scaling in SCALINGS},
}
"""Titles of the kinds that have a row in a table."""

_BY_ID: dict[str, str] = {
    **{normaliser.id: normaliser.title for normaliser in NORMALISERS},
    **{norm.id: norm.title for norm in NORM_KINDS},
}


def value_text(value: Any, row: FieldRow | None = None) -> str:
    """A value of the field `row` in the active language: at most `LONGEST` characters."""
    if row is not None and isinstance(value, str):
        options = {id_: title for id_, title, _hint in row.field.options}
        value = _(options[value]) if value in options else value
    text = next(say(value) for kind, say in _SAYS if isinstance(value, kind))
    return elide(visible(text), LONGEST)


def kind_title(value: Value) -> str:
    """The kind of a part: causal, RoPE, seeded; empty if it has no kinds."""
    tag = value.__struct_config__.tag
    if type(value) in _BY_RECORD:
        return _(_BY_RECORD[type(value)])
    return "" if tag is None else _(_BY_TAG.get(str(tag), str(tag)))


def _part(value: Value) -> str:
    """A part by its kind and its numbers: `window (window: earlier keys 2)`."""
    if isinstance(value, Edit):
        return as_text(value)
    said = [_titled(row, getattr(value, row.name)) for row in rows_of(type(value)) if _is_said(value, row)]
    kind = kind_title(value)
    if not kind:
        return enumerated(said) or _("on")
    return with_remark(kind, enumerated(said)) if said else kind


def _is_said(value: Value, row: FieldRow) -> bool:
    """True for a field that differs from its default, unless its value is a part or a matrix."""
    present = getattr(value, row.name)
    return present != row.default and not isinstance(present, Value | Matrix)


def _titled(row: FieldRow, value: Any) -> str:
    return f"{_(row.field.title)} {value_text(value, row)}"


def _list(values: tuple[Any, ...]) -> str:
    return (
        " + ".join(map(value_text, values)) if any(isinstance(v, Value) for v in values) else _plain(values)
    )


def _plain(values: tuple[Any, ...]) -> str:
    return enumerated(map(value_text, values)) or _("none")


def _matrix(values: Matrix) -> str:
    rows, columns = values.shape
    return _("{rows} × {columns} numbers").format(rows=rows, columns=columns)


def _float(value: float) -> str:
    return f"{value:.6g}".replace("-", "\N{MINUS SIGN}")


def _text(value: str) -> str:
    return _(_BY_ID[value]) if value in _BY_ID else value


_SAYS: tuple[tuple[Any, Callable[[Any], str]], ...] = (
    (type(None), lambda value: _("none")),
    (bool, lambda value: _("on") if value else _("off")),
    (int, lambda value: str(value).replace("-", "\N{MINUS SIGN}")),
    (float, _float),
    (str, _text),
    (Message, lambda value: value.text()),
    (Matrix, _matrix),
    (tuple, _list),
    (msgspec.Struct, _part),
)
"""Words for each type of value; the first that fits."""
