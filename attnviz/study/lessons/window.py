"""Parts of the window's panels that a lesson may name; the window has the same (see the tests)."""

from __future__ import annotations

from typing import NamedTuple


class PanelNames(NamedTuple):
    """Panels of a window: those that a step can show beside a lesson, and those that a lesson can hide."""

    beside: tuple[str, ...]
    hidden: tuple[str, ...]


SECTIONS: tuple[str, ...] = (
    *("heads", "score", "mask", "position", "weights", "projections"),
    *("block", "layers", "by_hand", "memory", "dtype"),
)
"""Sections of Mechanism."""

CURVES: tuple[str, ...] = (
    "step",
    "softmax",
    "temperature",
    "distance",
    "depth",
    "norms",
    "stages",
    "layers",
    "tokens",
)
"""Pictures of Gradients."""

EXPERIMENT = "experiment"
"""The document itself, in the place of a published model."""

QUANTITIES: tuple[str, ...] = (
    *("cache", "fits", "parameters", "prefill", "step", "bound", "timed", "stages"),
)
"""Quantities of Cost."""

WORKSPACES: tuple[str, ...] = ("explore", "generate", "compare", "model", "train")
"""Workspaces that a step can offer."""
