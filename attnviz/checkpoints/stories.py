"""Documents of the model that ships, in files that carry their document: its weights are named, not written.

A record has room for a million characters, and the weights of the bundled model have twenty times as many;
but every program of this version has them. `load` and `record_of` are those of `model/io/files.py`, with
these names.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path

from attnviz.checkpoints.link import matrices_of
from attnviz.checkpoints.presets import is_preset, load_preset
from attnviz.model.io import files
from attnviz.model.io.carriers.record import MOST_INLINE, Record
from attnviz.model.io.model_presets import MODEL_PRESETS
from attnviz.model.io.tensors import Progress, no_progress
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.document import Document


@lru_cache(maxsize=1)
def matrices() -> dict[str, Matrix]:
    """The weights of the model that ships, by name; they are read once."""
    first = MODEL_PRESETS[0]
    matrices = files.matrices(load_preset(first.id).experiment)
    return {f"{first.model}:{path}": matrix for path, matrix in matrices if path != "vectors"}


def record_of(document: Document, command: str = "") -> Record:
    """The record of a document for a file that is made from it."""
    if files.number_count(document.experiment) <= MOST_INLINE:
        return files.record_of(document, command)
    return files.record_of(document, command, {matrix: name for name, matrix in matrices().items()})


def load_named(name: str) -> Document:
    """The document of a preset, or of a file. Raises `DocumentError`."""
    return load_preset(name) if is_preset(name) else load(name)


def load(
    path: str | os.PathLike[str],
    progress: Progress = no_progress,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Document:
    """Read a document: a `.safetensors` file, one that carries its document (a figure, a page,
    a table of this program), or JSON whatever else its name ends in.

    `progress` receives the read share of a large document; an exception from it ends the reading. A document
    that points at its checkpoint finds it where it was or beside itself, or else in `checkpoint`.

    Raises:
        DocumentError: the file is missing, damaged, too large, or invalid, or its checkpoint is not found;
            the cause of the latter is a `CheckpointMissing`.
    """
    chosen = None if checkpoint is None else Path(checkpoint)
    linked = partial(matrices_of, folder=Path(path).absolute().parent, chosen=chosen)
    return files.load(path, progress, _suppliers, linked)


def _suppliers() -> dict[str, Callable[[], Matrix]]:
    return {name: partial(matrices().__getitem__, name) for name in matrices()}
