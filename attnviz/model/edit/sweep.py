"""A sweep: one number of a document through a range of values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from attnviz.errors import FINITE, FieldError, must_be, whole_number
from attnviz.model.edit.edits import set_vector_cell
from attnviz.model.edit.paths import fields_at, is_shown, part_at, put_at, value_at
from attnviz.model.fields import FIELDS, FieldRow, field_at
from attnviz.model.sites.sites import at, places, put
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.site import Place, Site

MOST_FRAMES = 1000
"""Largest number of values of a sweep."""

_SWEEP = re.compile(r"([^=]+)=([^:=]+):([^:=]+):([^:=]+?)(:log)?")
_CELL = re.compile(r"(.*?)((?:\[\d+\])*)")
_VECTOR = re.compile(r"(?:(memory)\.)?vectors(?:\.values)?\[(\d+)\]\[(\d+)\]")
_EXAMPLE = "temperature=0.1:2:20"


@dataclass(frozen=True)
class Sweep:
    """A field by its path, and its values. A path without a layer belongs to the selected attention."""

    path: str
    values: tuple[float, ...]

    @staticmethod
    def parsed(text: str) -> Sweep:
        """`FIELD=a:b:n`, n values from a to b in equal steps; `FIELD=a:b:n:log` in equal ratios.

        Raises `FieldError` for another text, and for a range that has no such values.
        """
        match = _SWEEP.fullmatch(text)
        if match is None:
            raise FieldError(
                "over", text, must_be("decode, layers or a sweep such as {sweep}", sweep=_EXAMPLE)
            )
        first, last = (_number(match[group]) for group in (2, 3))
        for end in (first, last):
            if not math.isfinite(end):
                raise FieldError("over", end, FINITE)
        if not match[4].isdigit() or not 2 <= int(match[4]) <= MOST_FRAMES:
            raise FieldError("frames", match[4], whole_number(2, MOST_FRAMES))
        count = int(match[4])
        if match[5] and not (first > 0 and last > 0):
            raise FieldError("over", text, must_be("a range above 0 with equal ratios"))
        spaced = np.geomspace(first, last, count) if match[5] else np.linspace(first, last, count)
        return Sweep(match[1].strip(), tuple(float(f"{value:.12g}") for value in spaced))

    def frames(self, experiment: Experiment, site: str) -> Iterator[tuple[float, Experiment]]:
        """Each value with its experiment; whole numbers are rounded, and equal ones stand once.

        Raises `FieldError` for a field that the document lacks or that is no number, and for a value that the
        document refuses.
        """
        rounded = _is_whole(experiment, site, self.path)
        values = dict.fromkeys(round(value) for value in self.values) if rounded else self.values
        for value in values:
            yield value, with_number(experiment, site, self.path, value)


_SIZES = ("heads.", "vectors.", "memory.")
"""Fields that fit no other size of the document by themselves."""


def swept_fields(site: Site) -> tuple[FieldRow, ...]:
    """The numbers of an attention that a sweep can change alone."""
    return tuple(
        row
        for row in FIELDS
        if row.kind in (int, float)
        and not row.field.is_seed
        and not row.path.startswith(_SIZES)
        and is_shown(site, row.path)
    )


def usual_span(site: Site, row: FieldRow) -> tuple[float, float]:
    """The usual range of a number, else from half of its value to twice as much, within its bounds."""
    if row.field.usual is not None:
        return row.field.usual
    value, (least, most), is_whole = value_at(site, row.path), row.bounds, row.kind is int
    half = value // 2 if is_whole else value / 2
    return max(least, half), min(most, 2 * value or (8 if is_whole else 1.0))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise FieldError("over", text, must_be("a number")) from None


def with_number(experiment: Experiment, site: str, path: str, value: float) -> Experiment:
    """The experiment with another number at a path such as `temperature`, `layers[1].position.base`,
    `masks.window.left`, `position.slopes[0]`, `projections.query.values[0][1]` or `vectors[3][0]`.

    Raises `FieldError` as `Sweep.frames` does.
    """
    vector = _VECTOR.fullmatch(path)
    if vector is not None:
        return _with_vector(experiment, path, value, vector)
    subject, inner = _subject(experiment, site, path)
    split = _CELL.fullmatch(inner)
    assert split is not None
    indices = [int(index) for index in re.findall(r"\d+", split[2])]
    old = value_at(subject, split[1])
    changed = put_at(subject, split[1], _replaced(old, indices, value, path, _has_number(subject, split[1])))
    return put(experiment, changed) if isinstance(changed, Site) else changed


def _with_vector(experiment: Experiment, path: str, value: float, match: re.Match[str]) -> Experiment:
    sequence: Any = match[1] or "tokens"
    vectors = experiment.memory.vectors if match[1] and experiment.memory else experiment.vectors
    row, column = int(match[2]), int(match[3])
    if (match[1] and experiment.memory is None) or row >= vectors.shape[0] or column >= vectors.shape[1]:
        raise _no_number(path)
    return set_vector_cell(experiment, row, column, value, sequence)


def _subject(experiment: Experiment, site: str, path: str) -> tuple[Site | Experiment, str]:
    """The attention or the experiment that a path belongs to, and the path from there on."""
    place = _named_place(experiment, path)
    if place is not None:
        return at(experiment, place.name), path[len(place.path) + 1 :]
    name = re.split(r"[.\[]", path)[0]
    if name in Experiment.__struct_fields__:
        return experiment, path
    return at(experiment, site), path


def _named_place(experiment: Experiment, path: str) -> Place | None:
    """The attention whose path begins this one: the longest, as one of a layer holds the other."""
    around = [place for place in places(experiment) if path.startswith(f"{place.path}.")]
    return max(around, key=lambda place: len(place.path), default=None)


def _replaced(old: Any, indices: list[int], value: float, path: str, has_number: bool) -> Any:
    """A number, a row of numbers or a matrix with one number replaced."""
    if not indices and has_number and not isinstance(old, bool):
        return value
    if isinstance(old, tuple) and len(indices) == 1 and indices[0] < len(old):
        return (*old[: indices[0]], value, *old[indices[0] + 1 :])
    if isinstance(old, Matrix):
        row, column = indices if len(indices) == 2 else (0, *indices) if len(indices) == 1 else (-1, -1)
        if 0 <= row < old.shape[0] and 0 <= column < old.shape[1]:
            return old.replaced(row, column, value)
    raise _no_number(path)


def _has_number(subject: Site | Experiment, path: str) -> bool:
    """True if the field at a path is a number, or null in the place of one."""
    old = value_at(subject, path)
    if old is not None:
        return isinstance(old, int | float)
    part, _dot, name = path.rpartition(".")
    row = field_at(path)
    return name in fields_at(part_at(subject, part)) and row is not None and row.kind in (int, float)


def _is_whole(experiment: Experiment, site: str, path: str) -> bool:
    """True if the field counts something."""
    if _VECTOR.fullmatch(path) is not None:
        return False
    subject, inner = _subject(experiment, site, path)
    old, row = value_at(subject, inner), field_at(inner)
    return isinstance(old, int) or (old is None and row is not None and row.kind is int)


def _no_number(path: str) -> FieldError:
    return FieldError("over", path, must_be("the path of a number of the document"))
