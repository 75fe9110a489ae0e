"""Older document files, migrated to the present version on reading.

A migration takes the parsed JSON of one version to the next. It changes the fields it knows and leaves
everything else, wrong values included, to the check of the present version.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from attnviz.model.stages import STAGE_BY_ID

KINDS = ("scores", "weights", "features")


def migrated(data: dict[str, Any]) -> dict[str, Any]:
    """Migrate a document of an older version to the present one."""
    while data["version"] in MIGRATIONS:
        data = {**MIGRATIONS[data["version"]].document(data), "version": data["version"] + 1}
    return data


def path_before(version: int, path: str) -> str:
    """Path in a file of that version of the field that the present version has at `path`."""
    for step in sorted(MIGRATIONS, reverse=True):
        path = MIGRATIONS[step].path(path) if step >= version else path
    return path


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


def _first_layer_among_layers(data: dict[str, Any]) -> dict[str, Any]:
    """Up to version 2 the fields of the first layer stood in the experiment, and `layers` held the others."""
    experiment = data.get("experiment")
    if not isinstance(experiment, dict):
        return data
    first = {key: value for key, value in experiment.items() if key in OF_A_LAYER}
    rest = {key: value for key, value in experiment.items() if key not in OF_A_LAYER}
    behind = rest.get("layers", [])
    if isinstance(behind, list):
        rest["layers"] = [first, *behind]
    return {**data, "experiment": rest}


def _path_of_layer(path: str) -> str:
    match = _LAYER.match(path)
    if match is None:
        return path
    index, field = int(match["index"]), match["field"]
    return f"$.experiment.layers[{index - 1}]{field}" if index else f"$.experiment{field}"


_LAYER = re.compile(r"\$\.experiment\.layers\[(?P<index>\d+)\](?P<field>.*)", re.DOTALL)

OF_A_LAYER = frozenset(
    "heads projections latent qk_norm position scale temperature cap masks mask_placement mask_bias "
    "fully_masked_row normaliser sinks dropout block cross".split()
)
"""The fields of a layer in version 2, which never change; those of `Layer` may."""


def _unchanged(path: str) -> str:
    return path


@dataclass(frozen=True)
class Migration:
    """The step from one version to the next.

    `document` converts the parsed JSON of a file to the next version. `path` converts the JSON path of a
    field back, from the next version to this one, for errors.
    """

    document: Callable[[dict[str, Any]], dict[str, Any]]
    path: Callable[[str], str] = _unchanged


MIGRATIONS: dict[int, Migration] = {
    1: Migration(_range_per_kind),
    2: Migration(_first_layer_among_layers, _path_of_layer),
}
"""The step from each older version to the next one."""
