"""Target of the mouse, and mode of edits: one frozen record and the functions that change it.

Every function is pure, `Pointer -> Pointer`; the store keeps the present one and emits `pointer_changed`.
None of it is saved or undone. The locked cell is, because it is part of the view.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from attnviz.model.spec.view import Cell

Gesture = Literal["none", "begun", "entered"]
"""Whether edits belong to one drag, wheel gesture or typing; `entered` once it has its history entry."""


@dataclass(frozen=True)
class Spot:
    """Cells of one stage that stay bright while the others fade; of `covered` the numbers are hidden."""

    stage: str
    site: str
    cells: frozenset[tuple[int, int]]
    covered: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True)
class Pointer:
    """Target of the mouse in some panel, its cell of the decoding, and the modes of editing."""

    cell: Cell | None = None
    """The cell under the mouse, of the selected attention."""
    elsewhere: Cell | None = None
    """The cell under the mouse, of another attention."""
    decoded: Cell | None = None
    """The number of the decoding under the mouse."""
    held: Cell | None = None
    """The number of the decoding that stays in the inspector, as a locked cell of the document does."""
    stage: str = ""
    """The stage whose picture or symbol is under the mouse; empty for none."""
    paints: bool = False
    """Whether a press on a score cell blocks or frees it."""
    edits_alike: bool = False
    """Whether an edit of one attention is made in all layers."""
    shows_caption: bool = True
    """Whether the caption of the document is shown."""
    gesture: Gesture = "none"
    spot: Spot | None = None
    """The cells that a lesson speaks of."""


def hover(pointer: Pointer, cell: Cell | None, site: str) -> Pointer:
    """The mouse is on a cell, or on none; `site` is the selected attention.

    A cell of another attention is `elsewhere`: panels that show the selected one need not know of it.
    """
    is_here = cell is None or cell.site in ("", site)
    return replace(pointer, cell=cell if is_here else None, elsewhere=None if is_here else cell)


def hover_in_decoding(pointer: Pointer, cell: Cell | None, site: str, *, is_in_document: bool) -> Pointer:
    """The mouse is on a number of the decoding, or on none; a number that the document has is
    hovered there, too.
    """
    return replace(hover(pointer, cell if is_in_document else None, site), decoded=cell)


def leave_document(pointer: Pointer) -> Pointer:
    """Another document: no cell of the one before is hovered, held or lit."""
    return replace(pointer, cell=None, elsewhere=None, decoded=None, held=None, spot=None)


def enter_history(pointer: Pointer) -> Pointer:
    """The history has an entry for the gesture under way."""
    return replace(pointer, gesture="entered") if pointer.gesture == "begun" else pointer


def split_gesture(pointer: Pointer) -> Pointer:
    """The history moved: what follows in the gesture under way is another entry."""
    return replace(pointer, gesture="begun") if pointer.gesture == "entered" else pointer
