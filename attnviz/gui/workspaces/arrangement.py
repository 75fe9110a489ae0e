"""Places of panels as a tree: panels in tabs, side by side, or one above the other; pure geometry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

GAP = 8
"""Pixels between two places."""


@dataclass(frozen=True)
class Stack:
    """One panel, or several in tabs; the first is in front.

    `size` is the extent in pixels along the direction of the split around it, in a window of the first size;
    `grows` is the share of the pixels that a larger window has, or of those that a smaller one lacks.
    A `closed` stack opens on request. One that `widens` has the width that the panel in front needs; any
    other keeps its own, whichever tab is in front.
    """

    panels: tuple[str, ...]
    size: int = 0
    grows: float = 0.0
    closed: bool = False
    widens: bool = False


@dataclass(frozen=True)
class Split:
    """Several places beside one another (`across`) or below one another (`down`); see `Stack`."""

    direction: Literal["across", "down"]
    parts: tuple[Node, ...]
    size: int = 0
    grows: float = 0.0


Node = Stack | Split


def first_panel(node: Node) -> str:
    """The panel at the upper left of a place."""
    return node.panels[0] if isinstance(node, Stack) else first_panel(node.parts[0])


def stacks(node: Node) -> Iterator[Stack]:
    """All stacks below a node, from left to right and from the top down."""
    if isinstance(node, Stack):
        yield node
    else:
        for part in node.parts:
            yield from stacks(part)


def placed(node: Node) -> frozenset[str]:
    """All panels below a node."""
    return frozenset(panel for stack in stacks(node) for panel in stack.panels)


def extents(split: Split, length: int) -> tuple[int, ...]:
    """Pixels of each part of a split that has `length` pixels, gaps included."""
    free = length - GAP * (len(split.parts) - 1)
    missing = free - sum(part.size for part in split.parts)
    weight = sum(part.grows for part in split.parts) or 1.0
    return tuple(max(1, round(part.size + missing * part.grows / weight)) for part in split.parts)


def splits(node: Node, width: int, height: int) -> Iterator[tuple[Split, tuple[int, ...]]]:
    """Every split of a tree with the pixels of its parts, the outermost first."""
    if isinstance(node, Stack):
        return
    lengths = extents(node, width if node.direction == "across" else height)
    yield node, lengths
    for part, length in zip(node.parts, lengths, strict=True):
        inner = (length, height) if node.direction == "across" else (width, length)
        yield from splits(part, *inner)
