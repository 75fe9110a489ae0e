"""`SOURCE_CODE`: the numbers of a weight as an expression: a seed, explicit numbers, an identity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.explain.scripts.code import Asked, shape_note
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.parts import (
    Explicit,
    ExplicitSinks,
    ExplicitVectors,
    Identity,
    Role,
    Seeded,
    SeededSinks,
    SeededVectors,
    Vectors,
    is_transposed,
)
from attnviz.model.spec.rows import DrawnRow, WrittenRow
from attnviz.model.spec.site import Site
from attnviz.model.spec.source import DrawnTable, WrittenTable
from attnviz.model.weights import WEIGHTS

WIDEST, MOST_ROWS = 100, 64
"""Characters of a row, and rows, of an array that is written in the code; a larger one is stored."""

Shape = tuple[int, ...]


def _seeded(source: Any, shape: Shape, asked: Asked, name: str) -> str:
    drawn = f"np.random.default_rng({source.seed}).standard_normal({shape}) / np.sqrt({shape[0]})"
    return asked.library.of_numpy(drawn)


def _identity(source: Any, shape: Shape, asked: Asked, name: str) -> str:
    return f"{asked.xp}.eye({shape[0]}, {shape[1]})"


def _matrix(source: Any, shape: Shape, asked: Asked, name: str) -> str:
    return written(asked, name, source.values.array)


def _drawn_row(source: Any, shape: Shape, asked: Asked, name: str) -> str:
    drawn = f"np.random.default_rng({source.seed}).standard_normal({shape[-1]})"
    return asked.library.of_numpy(_around(source.mean, _times(source.std, drawn)))


def _around(mean: float, spread: str) -> str:
    return f"{mean!r} + {spread}" if mean else spread


def _times(std: float, drawn: str) -> str:
    return drawn if std == 1.0 else f"{std!r} * {drawn}"


def _row(source: Any, shape: Shape, asked: Asked, name: str) -> str:
    return written(asked, name, source.values.array[0])


def _drawn_table(source: Any, shape: Shape, asked: Asked, name: str) -> str:
    drawn = f"np.random.default_rng({source.seed}).standard_normal({shape})"
    return asked.library.of_numpy(_times(source.std, drawn))


def _seeded_vectors(source: Any, shape: Shape, asked: Asked, name: str) -> str:
    makers = {"pcg64": "default_rng", "mt19937": "RandomState"}
    drawn = f"np.random.{makers[source.generator]}({source.seed}).standard_normal({shape})"
    return asked.library.of_numpy(drawn)


def _sinks(source: Any, shape: Shape, asked: Asked, name: str) -> str:
    return written(asked, name, np.asarray(source.values))


def _seeded_sinks(source: Any, shape: Shape, asked: Asked, name: str) -> str:
    return asked.library.of_numpy(f"np.random.default_rng({source.seed}).standard_normal({shape[0]})")


SOURCE_CODE: dict[type, Callable[[Any, Shape, Asked, str], str]] = {
    Identity: _identity,
    Seeded: _seeded,
    Explicit: _matrix,
    DrawnRow: _drawn_row,
    WrittenRow: _row,
    DrawnTable: _drawn_table,
    WrittenTable: _matrix,
    SeededVectors: _seeded_vectors,
    ExplicitVectors: _matrix,
    SeededSinks: _seeded_sinks,
    ExplicitSinks: _sinks,
}
"""By kind of source: the expression, from (source, shape, asked, name of the array)."""


def given(asked: Asked, name: str, source: Any, shape: Shape, transposed: bool = False) -> str:
    """Define the array of a source under a name; returns the name."""
    made = shape[::-1] if transposed else shape
    expression = SOURCE_CODE[type(source)](source, made, asked, name)
    return _defined(asked, name, f"({expression}).T" if transposed else expression, shape)


def explicit(asked: Asked, name: str, matrix: Matrix) -> str:
    """Define a matrix of the document under a name; returns the name."""
    return _defined(asked, name, written(asked, name, matrix.array), matrix.shape)


def table(asked: Asked, name: str, numbers: NDArray[Any]) -> str:
    """Define a table of numbers and −∞, (..., row, column), under a name; returns its expression."""
    rows = numbers.reshape(-1, numbers.shape[-1])
    _defined(asked, name, written(asked, name, rows), rows.shape)
    return f"{name}.reshape{numbers.shape}" if len(rows) > numbers.shape[-2] else name


def _defined(asked: Asked, name: str, expression: str, shape: Shape) -> str:
    *lines, last = f"{name} = {expression}".split("\n")
    return asked.define(name, *lines, last + shape_note(shape))


def projection(asked: Asked, role: Role, name: str) -> str:
    """Define the matrix of a projection, perhaps that of another one."""
    site: Site = asked.site
    to, shape = site.projections.tied_to(role), site.projection_shape(role)
    source = getattr(site.projections, to or role)
    return given(asked, name, source, shape, to is not None and is_transposed(role, to))


def parameter(asked: Asked, path: str, name: str) -> str:
    """Define a parameter of the site under a name; returns the name."""
    if path in asked.trained:
        return asked.define(name, f"{name} = {asked.trained[path]}")
    site = asked.site
    weight = next(row for row in WEIGHTS if row.path == path and row.source(site) is not None)
    if not weight.is_row and path.startswith("projections."):
        role: Any = path.removeprefix("projections.")
        return projection(asked, role, name)
    stored, transposes = weight.stored(site)
    source = weight.source(site)
    if source is stored and stored is not None:
        own = explicit(asked, "E" if transposes else name, stored)
        return f"{own}.T" if transposes else own
    rows, columns = weight.shape(site)
    shape: Shape = (columns,) if weight.is_row else (rows, columns)
    if type(source) in SOURCE_CODE:
        return given(asked, name, source, shape)
    return _defined(asked, name, written(asked, name, weight.array(site).reshape(shape)), shape)


def vectors(asked: Asked, name: str, source: Vectors) -> str:
    """The expression of token vectors."""
    return SOURCE_CODE[type(source)](source, source.shape, asked, name)


def written(asked: Asked, name: str, array: NDArray[Any]) -> str:
    """Explicit numbers, in the code where they are few, else stored."""
    rows = [row.replace("inf", f"{asked.xp}.inf") for row in _rows(array)]
    if not rows:
        return asked.library.of_numpy(asked.keep(f"{asked.site.place.name}.{name}", array))
    if array.ndim == 1:
        return asked.library.array(rows[0])
    inside = "".join(f"    {row},\n" for row in rows)
    return asked.library.array(f"[\n{inside}]" if len(rows) > 1 else f"[{rows[0]}]")


def _rows(array: NDArray[Any]) -> list[str]:
    """The rows of an array as text; none of one that is too large to be written."""
    rows = np.atleast_2d(array)
    if len(rows) > MOST_ROWS or rows.shape[1] > WIDEST // 3:
        return []
    texts = [repr(row) for row in rows.astype(np.float64).tolist()]
    return texts if max(map(len, texts)) <= WIDEST else []
