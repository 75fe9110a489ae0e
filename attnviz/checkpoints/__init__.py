"""Trained models: the one in the box, the script that trains it, and weights from elsewhere.

    from attnviz.checkpoints import import_checkpoint

    document = import_checkpoint("SmolLM2-135M", text="The cat sat")

`families.py` has the kinds of checkpoints that can be read.
"""

from attnviz.checkpoints.importing import import_checkpoint as import_checkpoint
from attnviz.checkpoints.reader import CheckpointError as CheckpointError
