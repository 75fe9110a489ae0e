"""The link from a document to its checkpoint: made at import, followed when the document is opened."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from attnviz.checkpoints.halves import Part
from attnviz.checkpoints.reader import Checkpoint
from attnviz.errors import Message
from attnviz.model.io.regular_file import length_of, opened
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.origin import CheckpointMissing, Link

SAMPLES, SAMPLE_BYTES = 64, 4096
"""Parts of each file that the digest covers, besides its beginning."""

HEADER_BYTES = 2**20
"""Bytes from the beginning of each file that the digest covers."""


def link_of(
    checkpoint: Checkpoint,
    path: Path,
    attention_only: bool = False,
    ignored: Sequence[str] = (),
    part: Part = "text",
) -> Link:
    """The link to a checkpoint that was opened by `path`."""
    files = sorted({tensor.file for tensor in checkpoint.tensors.values()})
    digest, size = hashlib.sha256(), 0
    for file in files:
        with opened(file) as data:  # a mapping would bring in more than is read
            length = length_of(data)
            size += length
            digest.update(f"{file.name} {length}\n".encode())
            digest.update(data.read(HEADER_BYTES))
            for number in range(SAMPLES):
                data.seek(length * number // SAMPLES)
                digest.update(data.read(SAMPLE_BYTES))
    digest.update(repr(sorted(checkpoint.config.items(), key=str)).encode())
    return Link(os.path.abspath(path), size, digest.hexdigest(), attention_only, tuple(ignored), part)


def places(link: Link, folder: Path | None, chosen: Path | None) -> tuple[Path, ...]:
    """Paths of a checkpoint: where it was, and beside the document; or the one that somebody has chosen."""
    if chosen is not None:
        return (chosen,)
    was = Path(link.path)
    beside = () if folder is None else (folder / was.name, folder.parent / was.name)
    return tuple(path for path in (was, *beside) if path.exists())


def matrices_of(link: Link, folder: Path | None = None, chosen: Path | None = None) -> Mapping[str, Matrix]:
    """The matrices of a checkpoint by name, found again: `folder` is the document's, `chosen` a path to look
    at instead.

    Raises `CheckpointMissing` where no such checkpoint is, and `CheckpointError` where it cannot be read.
    """
    from attnviz.checkpoints.importing import weights

    candidates = places(link, folder, chosen)
    for path in candidates:
        matrices = weights(replace(link, path=os.path.abspath(path)))
        if matrices is not None:
            return matrices
    if not candidates:
        gone = Message("The checkpoint of the document must be in {path}; got none.", path=link.path)
        raise CheckpointMissing(gone, link)
    other = Message(
        "The checkpoint in {path} must be the one that the document was imported from; got another one.",
        path=str(candidates[0]),
    )
    raise CheckpointMissing(other, link)
