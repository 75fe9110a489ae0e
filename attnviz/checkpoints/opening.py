"""From what a person gives, a folder, a file or a name of the hub, to the checkpoint that it means."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from attnviz.checkpoints.hub import is_downloaded, located
from attnviz.checkpoints.presets import is_preset
from attnviz.checkpoints.reader import CONFIG, Checkpoint, CheckpointError, read_checkpoint
from attnviz.errors import FieldError, Message, about, must_be, verbatim

GGUF = ".gguf"
ARRAYS = ".npz"


def is_model(path: str | os.PathLike[str]) -> bool:
    """True for a trained model: a folder, a file of weights that is no document, or a name of the hub whose
    download is cached.
    """
    given = Path(path)
    return given.is_dir() or given.suffix.lower() == GGUF or is_downloaded(os.fspath(path))


def names_model(name: str) -> bool:
    """True for a trained model whose name is not that of a preset."""
    return is_model(name) and not is_preset(name)


def open_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """The checkpoint of a folder, of a file in it, of a GGUF file, or of a name whose download is cached.

    Raises `CheckpointError`: one sentence that names the file and its fault.
    """
    from attnviz.checkpoints.gguf.reader import read_gguf  # the window asks `is_model` as it starts

    given = located(path)
    if given.is_file() and given.suffix.lower() == GGUF:
        return read_gguf(given)
    if given.is_file() and given.suffix.lower() == ARRAYS:
        said = Message("The arrays of another program are a document and not a model: open the file as one.")
        raise CheckpointError(about(given.name, said))
    if given.is_dir() and not (given / CONFIG).exists():
        files = sorted(file for file in given.iterdir() if file.suffix.lower() == GGUF)
        if len(files) > 1:
            listed = ", ".join(file.name for file in files)
            alone = FieldError("*.gguf", verbatim(listed), must_be("the path of one file"))
            raise CheckpointError(about(given.resolve().name, alone.message))
        if files:
            return read_gguf(files[0])
    return _typed(read_checkpoint(given))


def _typed(checkpoint: Checkpoint) -> Checkpoint:
    """The checkpoint with the type that its class names, if its configuration lacks one."""
    from attnviz.checkpoints.kin import type_of_class

    if checkpoint.config.get("model_type") is not None:
        return checkpoint
    kind = type_of_class(checkpoint.config)
    return replace(checkpoint, config=checkpoint.config | {"model_type": kind}) if kind else checkpoint
