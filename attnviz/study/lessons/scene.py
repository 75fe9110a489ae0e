"""The document of a step: a preset with changes, seen in a certain way."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from attnviz.errors import FieldError, among, must_be
from attnviz.model.edit.edits import set_d_model, set_heads, set_n_tokens, set_tokens
from attnviz.model.edit.layers import MOST_LAYERS, set_n_layers
from attnviz.model.edit.paths import fields_at, part_at, put_at
from attnviz.model.errors.conversion import field_error
from attnviz.model.sites.sites import at, put, shown_site
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.site import Site
from attnviz.model.spec.view import Cell, View, shown_head
from attnviz.model.text import MODEL, split_text
from attnviz.study.claims.cells import cell_of
from attnviz.study.claims.scope import Scope
from attnviz.study.lessons.lesson import Scene, Step
from attnviz.study.lessons.text import place

Preset = Callable[[str], Document]
"""Reads a preset by its id."""

Tokens = tuple[str, ...]
Size = Annotated[int, Meta(ge=1, le=2**16)]

FITTED: dict[str, tuple[Any, Callable[[Experiment, Any], Experiment]]] = {
    "tokens": (Tokens, set_tokens),
    "n_tokens": (Size, set_n_tokens),
    "d_model": (Size, set_d_model),
    "n_layers": (Annotated[int, Meta(ge=1, le=MOST_LAYERS)], set_n_layers),
}
"""Changes of the experiment that refit other fields, with the type of their values."""

HEADS = ("n_heads", "n_kv_heads", "d_head")


def document_of(scene: Scene, preset: Preset) -> Document:
    """The document of a scene. Raises `InputError` for a change that is not valid."""
    document = preset(scene.preset)
    experiment = document.experiment
    if scene.text:
        experiment = set_tokens(experiment, split_text(experiment, scene.text, MODEL.id))
    name = shown_site(experiment, str(scene.look.get("site", document.view.site)))
    for path, value in scene.changes:
        experiment = _changed(experiment, name, path, value)
    look = {"locked": None, "picture": "map"} | dict(
        scene.look
    )  # a step shows cells, unless it says otherwise
    view: View = replace(document.view, **look)
    if scene.lock:
        view = replace(view, locked=_locked(scene.lock, at(experiment, name), view))
    return Document(experiment, view, document.title)


def _locked(text: str, site: Site, view: View) -> Cell:
    """The cell `row, column` of the shown stage. Raises `InputError` for anything else."""
    row, _comma, column = (part.strip() for part in text.partition(","))
    if not (row.isdecimal() and column.isdecimal() and max(len(row), len(column)) < 7):
        raise FieldError("lock", text, must_be("a row and a column, such as 2, 1"))
    return Cell(view.stage, int(row), int(column), shown_head(site, view, view.stage))


def _changed(experiment: Experiment, name: str, path: str, value: Any) -> Experiment:
    """The experiment with another value at a path, from the experiment or its selected attention on."""
    if path in FITTED:
        kind, edit = FITTED[path]
        return edit(experiment, _converted(path, value, kind))
    site = at(experiment, name)
    own = path.removeprefix("heads.")
    if own in HEADS:
        return put(experiment, set_heads(site, **{own: _converted(path, value, Size)}))
    of_experiment = path.split(".")[0] in Experiment.__struct_fields__
    subject: Experiment | Site = experiment if of_experiment else site
    owner, _dot, field = path.rpartition(".")
    part = part_at(subject, owner)
    if field not in fields_at(part):
        raise FieldError("set", path, among(fields_at(part) or fields_at(site)))
    return put_at(experiment, path, value) if of_experiment else put(experiment, put_at(site, path, value))


def _converted(path: str, value: Any, kind: Any) -> Any:
    """A value as its type. Raises `FieldError`."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise field_error(error, kind, value, path) from None


def covered_cells(step: Step, scope: Scope) -> frozenset[tuple[int, int]]:
    """The cells of the shown stage that are hidden until the answer: the predicted one, and those of
    `cover`.
    """
    asked = cell_of(step.predict, scope) if step.predict else None
    is_shown = asked is not None and (asked.stage, asked.site) == (scope.view.stage, "")
    own = {(asked.row, asked.column)} if asked is not None and is_shown else set()
    return cells_of(step.scene.cover, scope) | own


def lit_cells(scene: Scene, scope: Scope) -> frozenset[tuple[int, int]]:
    """The cells that a scene speaks of."""
    return cells_of(scene.light, scope)


def cells_of(lines: Iterable[str], scope: Scope) -> frozenset[tuple[int, int]]:
    """Cells of the shown stage: a line `2, 1` is a cell, `2` a row, `, 1` a column."""
    shape = scope.site.shape(scope.view.stage)[-2:]
    cells: set[tuple[int, int]] = set()
    for line in lines:
        row, _comma, column = (part.strip() for part in line.partition(","))
        rows = [place(row, scope, is_row=True)] if row else range(shape[0])
        columns = [place(column, scope, is_row=False)] if column else range(shape[1])
        cells.update((r, c) for r in rows for c in columns)
    return frozenset(cells)
