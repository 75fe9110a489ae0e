"""Trained models: the one in the box, the script that trains it, and weights from elsewhere.

    from attnviz.checkpoints import import_checkpoint

    document = import_checkpoint("SmolLM2-135M", text="The cat sat")

`families.py` has the kinds of checkpoints that can be read. What reads them is imported when it is first
used: the window has its first frame before.
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
