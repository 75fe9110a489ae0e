"""Lists of records as columns of numbers, field by field: what a run file keeps of the curves.

A field of plain numbers is one row. Any other one has its numbers in a row, too, and beside it their forms:
each form, JSON, says how the numbers of a record belong together. So a record may get further fields, or
tuples, tables by names and arrays in them, and files have them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby, islice
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar, get_args, get_type_hints

import msgspec
import numpy as np
from numpy.typing import NDArray

from attnviz.errors import NOTHING, FieldError, Message, among, missing, must_be, verbatim, whole_number

Row = NDArray[np.float64]
"""Numbers (1, number)."""
Record = TypeVar("Record")

_PLAIN = (int, float)
_ITEMS, _KEYS, _VALUES, _SHAPE = "items", "keys", "values", "shape"
MOST_RECORDS = 10**7
"""Records, at most: as many steps as a run may have."""
MOST_NODES, DEEPEST = 4, 8
"""Parts that the values of a field may have, for each of its numbers and records, and their levels."""


class Columns(NamedTuple):
    """Records as columns: what JSON says of them, and the rows by field."""

    said: dict[str, Any]
    rows: dict[str, Row]


def columns_of(records: Sequence[Any], kind: type[Any], without: Collection[str] = ()) -> Columns:
    """The columns of records, named tuples of one `kind`, `without` some of their fields.

    The others are numbers, texts, tuples, dictionaries, arrays, or None.
    """
    fields: dict[str, Any] = {}
    rows: dict[str, Row] = {}
    for name, hint in _hints(kind, without).items():
        values = [getattr(one, name) for one in records]
        numbers: list[float] = values
        fields[name] = None
        if hint not in _PLAIN:
            numbers, fields[name] = _taken_apart(values)
        if numbers:
            rows[name] = np.array(numbers, np.float64)[None]
    return Columns({"count": len(records), "fields": fields}, rows)


def records_of(
    kind: type[Record],
    said: Any,
    rows: Mapping[str, Row],
    path: str,
    *,
    is_finite: bool = False,
    given: Mapping[str, Sequence[Any]] = MappingProxyType({}),
) -> tuple[Record, ...]:
    """The records of columns, and of the fields that are `given`; `path` begins the fields of errors. With
    `is_finite`, NaN and ±∞ are refused.

    Raises `FieldError` for fields that the kind does not have, or that are missing, and for numbers that do
    not fit their form or their field.
    """
    if not isinstance(said, dict) or said.keys() != {"count", "fields"}:
        raise FieldError(path, said, must_be("an object with count and fields"))
    count, fields, hints = said["count"], said["fields"], _hints(kind, given)
    defaults = getattr(kind, "_field_defaults", {})
    if type(count) is not int or not 0 <= count <= MOST_RECORDS:
        raise FieldError(f"{path}.count", count, whole_number(0, MOST_RECORDS))
    if not isinstance(fields, dict):
        raise FieldError(f"{path}.fields", fields, must_be("an object with the fields of the records"))
    strange = next((name for name in (*fields, *rows) if name not in hints), None)
    if strange is not None:
        raise FieldError(f"{path}.fields", strange, among(hints))
    wrong = next((values for values in given.values() if len(values) != count), None)
    if wrong is not None:
        raise FieldError(f"{path}.count", count, must_be(verbatim(str(len(wrong)))))
    columns = dict(given)
    for name, hint in hints.items():
        at = f"{path}.{name}"
        if name in fields:
            row = rows.get(name, np.zeros((1, 0)))
            if is_finite and not np.isfinite(row).all():
                place = int(np.argmin(np.isfinite(row)))
                raise FieldError(at, float(row.flat[place]), must_be("finite numbers"))
            columns[name] = _column(hint, fields[name], row, count, at)
        elif name in defaults or not count:
            columns[name] = [defaults.get(name)] * count
        else:
            raise missing(f"{path}.fields.{name}", must_be("a field of each record"))
    return tuple(
        kind(**dict(zip(columns, values, strict=True))) for values in zip(*columns.values(), strict=True)
    )


def _hints(kind: type[Any], without: Collection[str]) -> dict[str, Any]:
    """The types of the fields of records, without some."""
    return {name: hint for name, hint in get_type_hints(kind).items() if name not in without}


def _column(hint: Any, said: Any, row: Row, count: int, path: str) -> Sequence[Any]:
    """The values of one field."""
    if row.ndim != 2 or row.shape[0] != 1 or row.dtype != np.float64:
        raise FieldError(path, row, must_be("one row of float64 numbers"))
    if hint not in _PLAIN:
        values = list(_put_together(said, row[0].tolist(), count, path))
    elif said is not None or row.size != count:
        raise FieldError(path, Message("{n:,} numbers", n=row.size), must_be("{n:,} plain numbers", n=count))
    else:
        values = row[0].tolist()
        if hint is int:
            values = [_whole(value) for value in values]
    for index, value in enumerate(values):
        if not _is_of(hint, value):
            raise FieldError(f"{path}[{index}]", value, must_be("of the type {type}", type=_named(hint)))
    return values


def _is_of(hint: Any, value: Any) -> bool:
    """True if a value has the type of its field."""
    if hint in _PLAIN:
        return type(value) is hint
    try:
        msgspec.convert(value, hint, dec_hook=_array_of)
    except (msgspec.ValidationError, ValueError):
        return False
    return True


def _named(hint: Any) -> str:
    """A type as code has it."""
    return hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint)


def _array_of(_hint: Any, value: Any) -> Any:
    """An array as it is. Raises `ValueError` for another value."""
    if not isinstance(value, np.ndarray):
        raise ValueError("Expected an array")
    return value


def _whole(value: float) -> int | float:
    return int(value) if value.is_integer() else value


# --- forms -----------------------------------------------------------------------------------------


def _taken_apart(values: Sequence[Any]) -> tuple[list[float], dict[str, Any]]:
    """The numbers of the values in a row, and what JSON says of them: the forms, and the runs of each."""
    numbers: list[float] = []
    known: dict[str, int] = {}
    forms: list[Any] = []
    order: list[int] = []
    before: list[Any] = []
    for value in values:
        # Tables of numbers under the same names follow each other: their form is that of the one before.
        if isinstance(value, dict) and list(value) == before and set(map(type, value.values())) == {float}:
            numbers.extend(value.values())
            order.append(order[-1])
            continue
        form = _form(value, numbers)
        is_table = isinstance(value, dict) and set(map(type, value.values())) == {float}
        before = list(value) if is_table else []
        text = json.dumps(form)
        if text not in known:
            known[text] = len(forms)
            forms.append(form)
        order.append(known[text])
    return numbers, {"forms": forms, "runs": [[form, len(list(run))] for form, run in groupby(order)]}


def _form(value: Any, numbers: list[float]) -> Any:
    """The form of a value, whose numbers are appended in order."""
    if value is None:
        return None
    if isinstance(value, str):
        return {"text": value}
    if isinstance(value, dict):
        keys = list(value)
        return {_KEYS: keys, _VALUES: [_form(one, numbers) for one in value.values()]}
    if isinstance(value, tuple | list):
        return {_ITEMS: [_form(one, numbers) for one in value]}
    if isinstance(value, np.ndarray):
        numbers.extend(value.ravel().tolist())
        return {_SHAPE: list(value.shape), "dtype": value.dtype.str}
    numbers.append(float(value))
    return "whole" if isinstance(value, int | np.integer) else "number"


def _put_together(said: Any, numbers: list[float], count: int, path: str) -> Iterator[Any]:
    """The values of `_taken_apart`."""
    if not isinstance(said, dict) or said.keys() != {"forms", "runs"}:
        raise FieldError(path, NOTHING if said is None else said, must_be("an object with forms and runs"))
    forms, runs, given, n = said["forms"], said["runs"], iter(numbers), 0
    if not isinstance(forms, list) or not isinstance(runs, list):
        raise FieldError(path, said, must_be("an object with lists of forms and runs"))
    sizes = [_size(form, path) for form in forms]
    room = MOST_NODES * (len(numbers) + count)
    for run in runs:
        is_run = isinstance(run, list) and len(run) == 2 and all(type(one) is int for one in run)
        if not is_run or not 0 <= run[0] < len(forms) or not 1 <= run[1] <= count - n:
            raise FieldError(f"{path}.runs", run, must_be("[form, count] of {n:,} records in all", n=count))
        room -= sizes[run[0]] * run[1]
        if room < 0:
            raise FieldError(
                f"{path}.forms", forms[run[0]], must_be("a form of numbers, with few other parts")
            )
        for _again in range(run[1]):
            yield _value(forms[run[0]], given, path)
        n += run[1]
    if n != count or next(given, None) is not None:
        fitting = must_be("the values of {n:,} records", n=count)
        raise FieldError(
            path, Message("{n:,} numbers for {count:,} records", n=len(numbers), count=n), fitting
        )


def _size(form: Any, path: str, level: int = 0) -> int:
    """The parts of a form. Raises `FieldError` for one with more than `DEEPEST` levels."""
    if level > DEEPEST:
        raise FieldError(f"{path}.forms", form, must_be("a form of at most {n} levels", n=DEEPEST))
    inner = form.get(_ITEMS, form.get(_VALUES)) if isinstance(form, dict) else None
    return 1 + sum(_size(one, path, level + 1) for one in inner) if isinstance(inner, list) else 1


def _value(form: Any, given: Iterator[float], path: str) -> Any:
    """The value of a form, which takes its numbers."""
    if form is None:
        return None
    if form in ("whole", "number"):
        number = next(given, None)
        if number is None:
            raise FieldError(path, Message("fewer"), must_be("as many numbers as its forms have"))
        return _whole(number) if form == "whole" else number
    match form:
        case {"text": str(text)}:
            return text
        case {"items": list(items)}:
            return tuple(_value(one, given, path) for one in items)
        case {"keys": list(keys), "values": list(values)} if len(keys) == len(values):
            if not any(isinstance(key, dict) for key in _flat(keys)):
                return {_key(key): _value(one, given, path) for key, one in zip(keys, values, strict=True)}
        case {"shape": list(shape), "dtype": ("<f4" | "<f8" | "<i8") as dtype}:
            return _array(shape, dtype, given, path)
    raise FieldError(f"{path}.forms", form, must_be("a form of numbers"))


def _key(key: Any) -> Any:
    """A key of a table: lists are tuples."""
    return tuple(map(_key, key)) if isinstance(key, list) else key


def _flat(keys: Any) -> Iterator[Any]:
    """The texts and numbers of which keys consist."""
    for key in keys:
        yield from _flat(key) if isinstance(key, list) else (key,)


def _array(shape: list[Any], dtype: str, given: Iterator[float], path: str) -> NDArray[Any]:
    if not all(type(n) is int and 0 <= n <= MOST_RECORDS for n in shape) or len(shape) > 4:
        raise FieldError(f"{path}.forms", shape, must_be("a shape of at most four axes"))
    n = int(np.prod(shape, dtype=object))
    numbers = list(islice(given, n))
    if len(numbers) != n:
        raise FieldError(path, Message("fewer"), must_be("as many numbers as its forms have"))
    return np.array(numbers, dtype).reshape(shape)
