"""The document of a step: a preset with changes, seen in a certain way."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from attnviz.core.progress import Check, never_cancelled
from attnviz.errors import FieldError, must_be
from attnviz.i18n import current_language
from attnviz.model.edit.edits import set_tokens
from attnviz.model.edit.settings import with_setting
from attnviz.model.io import presets
from attnviz.model.sites.sites import at, shown_site
from attnviz.model.spec.document import Document
from attnviz.model.spec.site import Site
from attnviz.model.spec.view import Cell, View, shown_head
from attnviz.model.text import MODEL, split_text
from attnviz.study.claims.cells import cell_of
from attnviz.study.claims.scope import Scope
from attnviz.study.lessons.lesson import Scene, Step
from attnviz.study.lessons.text import place
from attnviz.study.lessons.training import trained

if TYPE_CHECKING:
    from attnviz.training.record import Measures

Preset = Callable[[str], Document]
"""Reads a preset by its id."""


def document_of(scene: Scene, preset: Preset, check: Check = never_cancelled) -> Document:
    """The document of a scene in the active language; `check` is called while it trains, and may raise.

    Raises `InputError` for a change that is not valid.
    """
    return set_up(scene, preset, check)[0]


def set_up(scene: Scene, preset: Preset, check: Check = never_cancelled) -> tuple[Document, Measures | None]:
    """The document of a scene, and the measures at the end of its training; None without one."""
    document, measures = preset(scene.preset), None
    experiment = document.experiment
    if scene.text:
        experiment = set_tokens(experiment, split_text(experiment, scene.text, MODEL.id))
    name = shown_site(experiment, str(scene.look.get("site", document.view.site)))
    here = current_language()
    own = {path: value for code, path, value in scene.translated if code == here}
    for path, value in scene.changes:
        experiment = with_setting(experiment, name, path, own.get(path, value))
    if scene.training is not None:
        experiment, measures = trained(experiment, scene.training, check)
    # A step shows cells, unless it says otherwise.
    look = {"locked": None, "picture": "map"} | dict(scene.look)
    view: View = replace(document.view, **look)
    if scene.lock:
        view = replace(view, locked=_locked(scene.lock, at(experiment, name), view))
    return Document(experiment, view, document.title), measures


def has_words(scene: Scene) -> bool:
    """True if the tokens of a scene are words of the active language."""
    return bool(scene.translated) or presets.has_words(scene.preset)


def _locked(text: str, site: Site, view: View) -> Cell:
    """The cell `row, column` of the shown stage. Raises `InputError` for anything else."""
    row, _comma, column = (part.strip() for part in text.partition(","))
    if not (row.isdecimal() and column.isdecimal() and max(len(row), len(column)) < 7):
        raise FieldError("lock", text, must_be("a row and a column, such as 2, 1"))
    return Cell(view.stage, int(row), int(column), shown_head(site, view, view.stage))


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
