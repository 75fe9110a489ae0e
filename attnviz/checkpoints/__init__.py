"""Trained models: the bundled one, and checkpoints from elsewhere.

    from attnviz.checkpoints import import_checkpoint

    document = import_checkpoint("SmolLM2-135M", text="The cat sat")

The folder `families` has the supported kinds of checkpoints. Their readers are imported on first use, after
the window's first frame.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnviz.checkpoints.importing import import_checkpoint as import_checkpoint
    from attnviz.checkpoints.reader import CheckpointError as CheckpointError

_HOMES = {
    "CheckpointError": "attnviz.checkpoints.reader",
    "import_checkpoint": "attnviz.checkpoints.importing",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'attnviz.checkpoints' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
