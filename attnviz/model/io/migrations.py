"""Older document files, migrated to the present version on reading.

A migration takes the parsed JSON of one version to the next. It changes the fields it knows and leaves
everything else, wrong values included, to the check of the present version.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attnviz.model.stages import STAGE_BY_ID

KINDS = ("scores", "weights", "features")


def migrated(data: dict[str, Any]) -> dict[str, Any]:
    """Migrate a document of an older version to the present one."""
    while data["version"] in MIGRATIONS:
        data = {**MIGRATIONS[data["version"]](data), "version": data["version"] + 1}
    return data


def _range_per_kind(data: dict[str, Any]) -> dict[str, Any]:
    """Version 1 had one colour range for all stages.

    Signed stages are symmetric about zero in any case. So a symmetric range goes to weights only where the
    view showed weights; everywhere else they keep the range of one head.
    """
    view = data.get("view")
    if not isinstance(view, dict) or "range" not in view:
        return data
    rest = {key: value for key, value in view.items() if key != "range"}
    ranges = dict.fromkeys(KINDS, view["range"])
    stage = view.get("stage", "weights")
    shown = STAGE_BY_ID.get(stage) if isinstance(stage, str) else None
    if view["range"] == "symmetric" and (shown is None or shown.kind != "weights"):
        ranges["weights"] = "head"
    return {**data, "view": {**rest, "ranges": ranges}}


MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {1: _range_per_kind}
"""The step from each older version to the next one."""
