"""`PROJECTIONS`: the ways in which vectors of many features are drawn in a plane."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnviz.core.planes import feature_plane, pair_plane, principal_plane
from attnviz.i18n import N_
from attnviz.model.spec.view import Projection

Floats = NDArray[np.float64]
Basis = Callable[[Floats, tuple[int, int], tuple[Floats, Floats]], Floats]
"""The basis (d, 2): from all vectors (n, d), the chosen features, and the two vectors in focus."""


@dataclass(frozen=True)
class ProjectionRow:
    """One way. `says` is a message with the fields `{share}`, `{first}` and `{second}`."""

    id: Projection
    title: str
    hint: str
    says: str
    basis: Basis


PROJECTIONS: tuple[ProjectionRow, ...] = (
    ProjectionRow(
        "features",
        N_("two features"),
        N_("Draws two features; tips can be dragged"),
        N_("keep {share} of the squared length"),
        lambda vectors, dims, pair: feature_plane(vectors.shape[1], *dims),
    ),
    ProjectionRow(
        "principal",
        N_("PCA"),
        N_("Draws the plane that keeps most of the squared length of all arrows"),
        N_("The principal plane keeps {share} of the squared length."),
        lambda vectors, dims, pair: principal_plane(vectors),
    ),
    ProjectionRow(
        "pair",
        N_("plane of the pair"),
        N_("Draws the plane of the two vectors in focus, which keeps their dot product, lengths and angle"),
        N_("{first} · {second} is exact; all arrows keep {share} of their squared length."),
        lambda vectors, dims, pair: pair_plane(*pair),
    ),
)
PROJECTION_BY_ID = {row.id: row for row in PROJECTIONS}
