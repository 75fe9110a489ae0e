"""Rows of forms by path: the record of a row, built from the description in `FIELDS`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, get_origin

import msgspec

from attnviz.core.ranges import format_ranges, parse_ranges
from attnviz.gui.forms.fields import Choice, Edit, FormField, Number, Seed, Slider, Switch, Text, always
from attnviz.model.edit.paths import is_shown, put_at, putting, value_at
from attnviz.model.fields import FieldRow, field_at
from attnviz.model.spec.site import Site

_SUFFIXES = {Switch: "toggle", Choice: "segmented"}


def row(path: str, kind: type[FormField[Any]] | None = None, **special: Any) -> Any:
    """The record of the row of the field at `path`; `special` are its settings outside the table.

    The control is named after the last two names of the path. The kind of the row follows from the type
    of the field.
    """
    described = field_at(path)
    assert described is not None, path
    record = kind or _kind(described)
    said = described.field
    usual: dict[str, Any] = {
        "name": f"{'_'.join(path.split('.')[-2:])}_{_SUFFIXES.get(record, 'field')}",
        "path": path,
        "label": said.title,
        "hint": said.hint,
        "read": partial(value_at, path=path),
        "edit": putting(path),
        "shown": partial(is_shown, path=path),
    }
    return record(**(usual | _OWN.get(record, lambda row: {})(described) | special))


def presence(path: str, edit: Edit[Any], **special: Any) -> Switch[Any]:
    """The switch of a nullable part; `edit` adds it or removes it."""
    switch: Switch[Any] = row(
        path,
        Switch,
        **{"read": lambda e: value_at(e, path) is not None, "edit": edit, "shown": always} | special,
    )
    return switch


def positions(path: str, count: Callable[[Site], int]) -> Text[Site]:
    """The row of a list of positions, written as ranges; `count` is the number of positions."""

    def edit(site: Site, text: str) -> Site:
        return put_at(site, path, parse_ranges(text, count(site)))

    line: Text[Site] = row(
        path, read=lambda e: format_ranges(value_at(e, path)), edit=edit, placeholder="3, 5-7"
    )
    return line


def _kind(row: FieldRow) -> type[FormField[Any]]:
    if row.field.is_seed:
        return Seed
    if row.kind is bool:
        return Switch
    if row.kind in (int, float):
        return Slider if row.field.usual else Number
    return Choice if get_origin(row.kind) is Literal else Text


def _number(row: FieldRow) -> dict[str, Any]:
    minimum, maximum = row.bounds
    return {
        "minimum": minimum,
        "maximum": maximum,
        "decimals": row.field.digits,
        "step": row.field.step,
        "integer": row.kind is int,
    }


def _slider(row: FieldRow) -> dict[str, Any]:
    lowest, highest = row.bounds
    assert row.field.usual is not None
    minimum, maximum = row.field.usual
    usual = (
        row.default if row.field.normal is None and row.default is not msgspec.NODEFAULT else row.field.normal
    )
    return {
        "minimum": minimum,
        "maximum": maximum,
        "lowest": lowest,
        "highest": highest,
        "default": usual,
        "decimals": row.field.digits,
        "logarithmic": row.field.logarithmic,
    }


_OWN: dict[type, Callable[[FieldRow], dict[str, Any]]] = {
    Number: _number,
    Slider: _slider,
    Choice: lambda row: {"options": row.field.options},
}
