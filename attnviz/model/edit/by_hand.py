"""Edits of stages by hand: adding and removing them, and one as text, such as `mixed[1, 3, 2] = 0.8`."""

from __future__ import annotations

import re
from typing import Any

from msgspec.structs import replace

from attnviz.errors import FieldError, among, must_be, size
from attnviz.model.sites.sites import at, place_of, put, site_names
from attnviz.model.sites.stages import site_stages, stage_shape
from attnviz.model.spec.edit import Edit, Operation
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.site import Site
from attnviz.model.stages import STAGE_BY_ID

SIGNS: dict[str, Operation] = {"=": "set", "+=": "add", "*=": "scale"}
_SIGN_OF = {operation: sign for sign, operation in SIGNS.items()}

_TEXT = re.compile(
    r"(?:(?P<site>[a-z]+\.\d+\.[a-z]+)\.)?(?P<stage>[a-z_0-9]+)\s*\[(?P<index>[^\]]*)\]\s*"
    r"(?P<sign>[+*]?=)\s*(?P<value>.+)"
)
_NUMBERS = re.compile(r"\d+|:")


def put_edit(site: Site, edit: Edit) -> Site:
    """Add an edit, or replace the one of the same cells."""
    there = find_edit(site, edit)
    if there is None:
        return replace(site, edits=(*site.edits, edit))
    return replace(site, edits=tuple(edit if one is there else one for one in site.edits))


def take_edit(site: Site, edit: Edit) -> Site:
    """Remove the edit of the same cells."""
    return replace(site, edits=tuple(one for one in site.edits if _cells(one) != _cells(edit)))


def find_edit(site: Site, edit: Edit) -> Edit | None:
    """The edit of the same cells as another one; None if these are not edited together."""
    return next((one for one in site.edits if _cells(one) == _cells(edit)), None)


def take_all(experiment: Experiment) -> Experiment:
    """Remove the edits of every attention."""
    for name in dict(all_edits(experiment)):
        experiment = put(experiment, replace(at(experiment, name), edits=()))
    return experiment


def all_edits(experiment: Experiment) -> tuple[tuple[str, Edit], ...]:
    """Every edit with the name of its site, in data-flow order."""
    return tuple((name, edit) for name in site_names(experiment) for edit in at(experiment, name).edits)


def as_text(edit: Edit) -> str:
    """`mixed[1, 3, 2] = 0.8`, as `with_text` reads it; of a row of numbers, the first ones."""
    heads = [":" if edit.head is None else str(edit.head)] if STAGE_BY_ID[edit.stage].per_head else []
    column = ":" if edit.column is None else str(edit.column)
    index = ", ".join([*heads, str(edit.position), column])
    numbers = (edit.value,) if isinstance(edit.value, float) else edit.value
    said = ", ".join(f"{number:.6g}" for number in numbers[:3]) + (", …" if len(numbers) > 3 else "")
    return f"{edit.stage}[{index}] {_SIGN_OF[edit.operation]} {said}"


def with_text(experiment: Experiment, text: str) -> Experiment:
    """The experiment with one more edit: `layers.0.self.mixed[1, 3, 2] = 0.8`, `+=` to add, `*=` to multiply.

    The indices are those of the stage in public order, from 0; `:` stands for all heads or the whole row,
    whose numbers are separated by commas. Without a site it is that of the only attention.
    Raises `FieldError` for another text, and for a cell that the experiment does not have.
    """
    match = _TEXT.fullmatch(text.strip())
    parts = [] if match is None else [part.strip() for part in match["index"].split(",")]
    value = None if match is None else _value(match["value"])
    if match is None or value is None or not all(_NUMBERS.fullmatch(part) for part in parts):
        raise FieldError("edit", text, must_be("such as layers.0.self.mixed[1, 3, 2] = 0.8, += or *="))
    names = site_names(experiment)
    name = match["site"] or (names[0] if len(names) == 1 else "")
    if name not in names:
        raise FieldError("edit", name, among(names))
    site = at(experiment, name)
    if match["stage"] not in STAGE_BY_ID:
        raise FieldError("edit", match["stage"], among(site_stages(site)))
    edit = _edit(match["stage"], parts, SIGNS[match["sign"]], value)
    _check(site, edit, text)
    try:
        return put(experiment, put_edit(site, edit))
    except FieldError as error:
        raise place_of(experiment, name).refused(error) from None


def _edit(stage: str, parts: list[str], operation: Operation, value: float | tuple[float, ...]) -> Edit:
    """An edit from the parts of its text. Raises `FieldError`."""
    numbers = [None if part == ":" else int(part) for part in parts]
    per_head = STAGE_BY_ID[stage].per_head
    wanted = must_be("3 indices: head, row, column") if per_head else must_be("2 indices: row, column")
    if len(numbers) != 2 + per_head or numbers[-2] is None:
        raise FieldError("edit", f"{stage}[{', '.join(parts)}]", wanted)
    return Edit(stage, numbers[-2], value, operation, numbers[0] if per_head else None, numbers[-1])


def _check(site: Site, edit: Edit, text: str) -> None:
    """Refuse what the site does not compute: in a text it is a mistake."""
    if edit.stage not in site_stages(site):
        raise FieldError("edit", edit.stage, among(site_stages(site)))
    shape = stage_shape(site, edit.stage)
    if not edit.fits(shape):
        raise FieldError("edit", text, must_be("inside the stage's {size} numbers", size=size(shape)))


def _value(text: str) -> float | tuple[float, ...] | None:
    """The number, or the row of numbers, of a text; None if it is none."""
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        return None
    return numbers[0] if len(numbers) == 1 else numbers


def _cells(edit: Edit) -> tuple[Any, ...]:
    """The place of the cells that an edit changes."""
    return edit.stage, edit.position, edit.head, edit.column
