"""Small pictures of the presets: the map that each opens at, computed by a worker and kept on the disk."""

from __future__ import annotations

import contextlib
import hashlib
import io
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from attnviz import resources
from attnviz.checkpoints.presets import load_preset
from attnviz.core.color_maps import Kind
from attnviz.gui.live.trace import execute
from attnviz.gui.look.colors import Indices, pool
from attnviz.gui.widgets.heat.content import cell_indices, color_kind
from attnviz.model.io.files import replace_file
from attnviz.model.io.model_presets import ModelPreset
from attnviz.model.io.presets import Preset
from attnviz.model.io.regular_file import opened
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import shown_head
from attnviz.model.trace import Trace
from attnviz.version import __version__

SIDE = 80
"""Side of the picture in device-independent pixels."""

MOST_CELLS = 2 * SIDE
"""Cells along a side of a stored picture: one for each pixel of a fine screen."""

_SUFFIX = ".npy"


@dataclass(frozen=True, eq=False)
class Picture:
    """The colour bytes of a map, (rows, columns), as drawn; and its colour map."""

    indices: Indices
    kind: Kind


def picture_of(document: Document, check: Callable[[], None]) -> Picture:
    """The map that a document opens at, from its own run."""
    view = document.view
    site = _drawn(document, check).shown(view.site)
    stage = site.shown_stage(view.stage)
    signed, range_id = site.is_signed(stage), view.range_of(stage)
    values, hidden = site.overview(stage, shown_head(site.experiment, view, stage))
    indices, _ends = cell_indices(values, signed, range_id, None, hidden)
    turned = indices.T if view.orientation == "queries_as_columns" else indices
    kind = color_kind(signed, range_id)
    factors = tuple(math.ceil(length / MOST_CELLS) or 1 for length in turned.shape)
    return Picture(np.ascontiguousarray(pool(turned, (factors[0], factors[1]), kind)), kind)


def _drawn(document: Document, check: Callable[[], None]) -> Trace:
    """The values, or the gradients that the view shows in their place."""
    view = document.view
    if view.target is None or view.quantity == "value":
        return execute(document.experiment, "numpy", "auto", check=check, reserve=1)
    from attnviz.compute.execute import execute_backward

    gradient = execute_backward(document.experiment, view.target, "numpy", "auto", check)[1]
    return gradient if view.quantity == "gradient" else gradient.product


class Pictures:
    """The pictures in a folder, each under the hash of its preset. A damaged file counts as none."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def stored(self, preset: Preset) -> Picture | None:
        """The stored picture of a preset, if the preset has not changed since."""
        for kind in ("sequential", "diverging"):
            with contextlib.suppress(OSError, ValueError, EOFError):
                with opened(self._file(preset, kind)) as file:
                    indices = np.load(file, allow_pickle=False)
                if indices.dtype == np.uint8 and indices.ndim == 2 and 0 < max(indices.shape) <= MOST_CELLS:
                    return Picture(indices, kind)  # type: ignore[arg-type]
        return None

    def made(self, preset: Preset, check: Callable[[], None]) -> Picture:
        """The picture of a preset, computed, and stored where the disk allows."""
        picture = picture_of(load_preset(preset.id), check)
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            replace_file(self._file(preset, picture.kind), _npy(picture.indices))
        return picture

    def _file(self, preset: Preset, kind: str) -> Path:
        return self._folder / f"{preset.id}-{key_of(preset)}-{kind}{_SUFFIX}"


def key_of(preset: Preset) -> str:
    """Hash of all that the picture of a preset depends on: its document, and the program."""
    content = hashlib.sha256(f"{__version__} {MOST_CELLS} {preset!r}".encode())
    if not isinstance(preset, ModelPreset):
        content.update(resources.path("presets", f"{preset.id}.json").read_bytes())
    return content.hexdigest()[:16]


def _npy(indices: Indices) -> bytes:
    """The array as the bytes of a .npy file."""
    stream = io.BytesIO()
    np.save(stream, indices, allow_pickle=False)
    return stream.getvalue()
