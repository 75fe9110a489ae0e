"""The lines that apply the edits of a stage, after those that compute it."""

from __future__ import annotations

from collections.abc import Iterator

from attnviz.explain.scripts.code import note
from attnviz.explain.scripts.library import Library
from attnviz.i18n import N_
from attnviz.model.sites.stages import stage_shape
from attnviz.model.spec.edit import Edit
from attnviz.model.spec.site import Site
from attnviz.model.stages import STAGE_BY_ID

BY_HAND = N_("set by hand")

_SIGNS = {"set": "=", "add": "+=", "scale": "*="}


def edited_lines(site: Site, stage: str, library: Library) -> Iterator[str]:
    """A copy of the stage, and a line for each edit of what it has."""
    shape = stage_shape(site, stage)
    applied = [edit for edit in site.edits if edit.stage == stage and edit.fits(shape)]
    if not applied:
        return
    yield f"{stage} = {library.copy(stage)}"
    for edit in applied:
        number = repr(edit.value) if isinstance(edit.value, float) else library.array(str(list(edit.value)))
        yield f"{stage}[{_index(edit)}] {_SIGNS[edit.operation]} {number}{note(BY_HAND)}"


def _index(edit: Edit) -> str:
    """The index of the edited cells in public order."""
    heads = ":" if edit.head is None else str(edit.head)
    parts = [heads] if STAGE_BY_ID[edit.stage].per_head else []
    parts.append(str(edit.position))
    return ", ".join(parts if edit.column is None else [*parts, str(edit.column)])
