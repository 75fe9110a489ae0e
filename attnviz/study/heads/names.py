"""The model that names of heads belong to, told from others by its numbers."""

from __future__ import annotations

import hashlib

from attnviz.model.edit.sharing import matrices_in
from attnviz.model.io.files import matrices
from attnviz.model.spec.experiment import Experiment

OF_THE_TEXT = ("vectors", "memory.vectors")


def model_key(experiment: Experiment) -> str:
    """A hash that every text of a model has in common.

    An imported model has that of its checkpoint. Another one has that of the names and shapes of its
    matrices, its numbers of heads, and the first row of each matrix of its vocabulary (of all its matrices
    without one), so that an edited weight of a layer leaves a language model the same.
    """
    for matrix in matrices_in(experiment, set()):
        if matrix.origin is not None:
            return matrix.origin.link.digest
    digest = hashlib.sha256(repr([layer.heads.n_heads for layer in experiment.layers]).encode())
    for name, matrix in matrices(experiment):
        if name not in OF_THE_TEXT:
            digest.update(f"{name} {matrix.shape}\n".encode())
            if experiment.vocabulary is None or name.startswith("vocabulary"):
                digest.update(matrix.rows(slice(0, 1)).tobytes())
    return digest.hexdigest()
