"""Differences between two experiments: field by field, through the table of fields, never by hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from attnviz.core.phrases import enumerated, with_remark
from attnviz.core.text import elide, visible
from attnviz.errors import Message
from attnviz.i18n import N_, _
from attnviz.model.caches import CACHES
from attnviz.model.edit.by_hand import as_text
from attnviz.model.errors.titles import field_title
from attnviz.model.fields import FieldRow, rows_of
from attnviz.model.masks import MASKS
from attnviz.model.normalisers import NORMALISERS
from attnviz.model.positions import POSITIONS
from attnviz.model.scalings import SCALINGS
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.edit import Edit
from attnviz.model.spec.experiment import Experiment
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


MOST_TOKENS = 6
"""Changed tokens that are named one by one."""

_LAYER = re.compile(r"^(layers|encoder)\[(\d+)\]\.?")
_STACKS = {"layers": N_("layer {numbers}"), "encoder": N_("encoder layer {numbers}")}


@dataclass(frozen=True)
class Difference:
    """One field with two values. `path` is that of the document; `owners` are the fields around it.

    `layers` are the layers that differ alike, counted from 0, out of `n_layers`; none outside the layers.
    """

    path: str
    owners: tuple[FieldRow, ...]
    row: FieldRow | None
    first: Any
    second: Any
    layers: tuple[int, ...] = ()
    n_layers: int = 0

    def title(self) -> str:
        """The field in the active language: its title, after that of the part that holds it."""
        own = _(self.row.field.title) if self.row is not None else self._own_title()
        names = [own or self.path]
        for title in reversed([_(owner.field.title) for owner in self.owners]):
            if title.casefold() not in names[0].casefold() and names[0].casefold() not in title.casefold():
                names.insert(0, title)
        return " · ".join([*names[-2:], *([self.place()] if self.place() else [])])

    def _own_title(self) -> str:
        """A token by its number from 1, or a field of the experiment."""
        if self.path.startswith("tokens["):
            return _("Token {number}").format(number=int(self.path[7:-1]) + 1)
        return field_title(self.path)

    def place(self) -> str:
        """The layers that differ, in words; empty if they are all, or if the field belongs to none."""
        if not self.layers or len(self.layers) == self.n_layers:
            return ""
        stack = _(_STACKS["encoder" if self.path.startswith("encoder") else "layers"])
        return stack.format(numbers=enumerated(str(layer + 1) for layer in self.layers))

    def texts(self) -> tuple[str, str]:
        """The two values in the active language."""
        return value_text(self.first, self.row), value_text(self.second, self.row)


def differences(first: Experiment, second: Experiment) -> tuple[Difference, ...]:
    """Every field with two values, in the order of the document; equal changes of several layers are one."""
    by_values: dict[tuple[Any, ...], Difference] = {}
    for one in _walk("", (), None, first, second):
        match = _LAYER.match(one.path)
        if match is None:
            by_values[one.path,] = one
            continue
        stack, layer = match[1], int(match[2])
        key = stack, one.path[match.end() :], repr(one.first), repr(one.second)
        before = by_values[key].layers if key in by_values else ()
        n_layers = len(getattr(second, stack))
        path = by_values[key].path if key in by_values else one.path
        by_values[key] = Difference(
            path, one.owners, one.row, one.first, one.second, (*before, layer), n_layers
        )
    return tuple(by_values.values())


def _walk(
    path: str, owners: tuple[FieldRow, ...], row: FieldRow | None, first: Any, second: Any
) -> Iterator[Difference]:
    """The differing fields below two values at `path`, which `row` describes."""
    if first is second or first == second:
        return
    if path == "tokens" and len(first) == len(second):
        yield from _tokens(first, second)
    elif isinstance(first, Matrix) and isinstance(second, Matrix) and first.shape == second.shape:
        yield Difference(path, owners, row, *_of_matrices(first, second))
    elif isinstance(first, Value) and type(first) is type(second):
        yield from _parts(path, (*owners, row) if row is not None else owners, first, second)
    elif _are_alike(first, second):
        for index, pair in enumerate(zip(first, second, strict=True)):
            yield from _walk(f"{path}[{index}]", owners, None if path in _STACKS else row, *pair)
    elif path in ("tokens", "layers", "encoder"):
        yield Difference(path, owners, row, len(first), len(second))
    else:
        yield Difference(path, owners, row, first, second)


def _parts(path: str, owners: tuple[FieldRow, ...], first: Value, second: Value) -> Iterator[Difference]:
    rows = {row.name: row for row in rows_of(type(first))}
    for name in type(first).__struct_fields__:
        below = f"{path}.{name}" if path else name
        yield from _walk(below, owners, rows.get(name), getattr(first, name), getattr(second, name))


def _are_alike(first: Any, second: Any) -> bool:
    """True for two lists of parts of the same kinds: each part is compared with its counterpart."""
    if not (isinstance(first, tuple) and isinstance(second, tuple)) or len(first) != len(second):
        return False
    return all(isinstance(a, Value) and type(a) is type(b) for a, b in zip(first, second, strict=True))


def _tokens(first: tuple[str, ...], second: tuple[str, ...]) -> Iterator[Difference]:
    """Each changed token; beyond `MOST_TOKENS` of them, their number."""
    changed = [at for at, pair in enumerate(zip(first, second, strict=True)) if pair[0] != pair[1]]
    if len(changed) > MOST_TOKENS:
        yield Difference("tokens", (), None, len(first), Message("{n} other tokens", n=len(changed)))
        return
    for at in changed:
        yield Difference(f"tokens[{at}]", (), None, first[at], second[at])


def _of_matrices(first: Matrix, second: Matrix) -> tuple[Any, Message]:
    """A matrix, and the number of its entries that differ."""
    n = int(np.count_nonzero(first.array != second.array))
    return first, Message("{n} of {total} differ", n=n, total=first.array.size)
