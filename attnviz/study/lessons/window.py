"""Parts of the window that a lesson may name; the tables of the window have the same (see the tests)."""

from __future__ import annotations

BESIDE: tuple[str, ...] = (
    "stage",
    "inspector",
    "vectors",
    "tokens",
    "mechanism",
    "heads",
    "plane",
    "positions",
    "matrices",
    "axes",
    "block",
    "architecture",
    "gradients",
    "cost",
)
"""Panels that can stand beside a lesson."""

HIDDEN: tuple[str, ...] = (
    *BESIDE,
    *("pipeline", "head", "text", "next", "sampling", "draws", "caches", "cache", "counters"),
    *("compare", "failures", "claims", "lens", "patching", "circuits", "rollout", "survey", "grid"),
)
"""Panels that a lesson can hide: all but the lesson itself."""

SECTIONS: tuple[str, ...] = (
    *("heads", "score", "mask", "position", "weights", "projections"),
    *("block", "layers", "by_hand", "memory", "dtype"),
)
"""Sections of Mechanism."""

CURVES: tuple[str, ...] = (
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

WORKSPACES: tuple[str, ...] = ("explore", "generate", "compare", "model")
"""Workspaces that a step can offer."""
