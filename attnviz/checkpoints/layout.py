"""Layout in memory of the matrices that are converted from a checkpoint."""

from __future__ import annotations

from attnviz.model.io.files import matrices
from attnviz.model.spec.conversions import CONVERSIONS
from attnviz.model.spec.experiment import Experiment


def lay_out(experiment: Experiment) -> None:
    """Have the longer side of each W lie together, if the conversions of the whole model can be kept.

    A product x W with one row is as fast as W comes from memory: long runs take half the time of short ones.
    A model that does not fit is converted at every pass, fastest in the order of its file.
    """
    read = [matrix for _name, matrix in matrices(experiment) if matrix.lies_in_file]
    if sum(matrix.converted_bytes for matrix in read) > CONVERSIONS.limit:
        return
    for matrix in read:
        rows, columns = matrix.shape
        matrix.order = "C" if columns >= rows else "F"
