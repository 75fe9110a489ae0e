"""The document of a step: a preset with changes, seen in a certain way."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import replace

from attnviz.errors import FieldError, among, must_be
from attnviz.model.claims.cells import cell_of
from attnviz.model.claims.scope import Scope
from attnviz.model.edit.edits import set_d_model, set_heads, set_n_tokens, set_tokens
from attnviz.model.edit.layers import set_n_layers
from attnviz.model.edit.paths import part_at, put_at
from attnviz.model.lessons.lesson import Scene, Step
from attnviz.model.lessons.text import place
from attnviz.model.sites.sites import at, put, shown_site
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.site import Site
from attnviz.model.spec.view import Cell, View, shown_head
from attnviz.model.text import MODEL, split_text

Preset = Callable[[str], Document]
"""Reads a preset by its id."""

FITTED: dict[str, Callable[[Experiment, Any], Experiment]] = {
    "tokens": lambda experiment, value: set_tokens(experiment, tuple(value)),
    "n_tokens": set_n_tokens,
    "d_model": set_d_model,
    "n_layers": set_n_layers,
}
"""Changes of the experiment that refit other fields."""

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
    look = {"locked": None} | dict(scene.look)
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
        return FITTED[path](experiment, value)
    first = path.split(".")[0]
    if first in Experiment.__struct_fields__:
        return put_at(experiment, path, value)
    site = at(experiment, name)
    if path.removeprefix("heads.") in HEADS:
        return put(experiment, set_heads(site, **{path.removeprefix("heads."): value}))
    owner, _dot, field = path.rpartition(".")
    part = part_at(site, owner)
    if not hasattr(part, field):
        known = getattr(part, "__struct_fields__", Site.__struct_fields__)
        raise FieldError("set", path, among(known))
    return put(experiment, put_at(site, path, value))


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
    found: set[tuple[int, int]] = set()
    for line in lines:
        row, _comma, column = (part.strip() for part in line.partition(","))
        rows = [place(row, scope, is_row=True)] if row else range(shape[0])
        columns = [place(column, scope, is_row=False)] if column else range(shape[1])
        found.update((r, c) for r in rows for c in columns)
    return frozenset(found)
