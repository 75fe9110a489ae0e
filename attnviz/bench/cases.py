"""The measured cases, and their required results."""

from __future__ import annotations

from dataclasses import dataclass

from attnviz.model.spec.experiment import Experiment, one_layer
from attnviz.model.spec.parts import Heads, Identity, Mask, Projections, Seeded, SeededVectors

VECTORS_SEED = 0


@dataclass(frozen=True)
class Size:
    """One size of experiment: n tokens, `heads` heads of `d_head` features; d_model = heads · d_head."""

    n: int
    heads: int
    d_head: int

    @property
    def text(self) -> str:
        """ "128 · 8 · 64": tokens, heads, features of a head."""
        return f"{self.n} · {self.heads} · {self.d_head}"


SIZES = (Size(16, 4, 16), Size(128, 8, 64), Size(512, 8, 64), Size(1024, 8, 64), Size(2048, 8, 64))
WINDOW_SIZES = SIZES[:3]

PROJECTIONS = {
    "identity": Projections(Identity(), Identity(), Identity(), Identity()),
    "seeded": Projections(Seeded(1), Seeded(2), Seeded(3), Seeded(4)),
}

WANTED_FROM_N = 128
WANTED_TORCH = 1.0
"""Largest ratio of the NumPy engine to plain torch, from `WANTED_FROM_N` tokens up."""
WANTED_FLOOR = 1.5
"""Largest ratio of the NumPy engine to the floor, from `WANTED_FROM_N` tokens up."""
WANTED_CAUSAL = dict(zip(SIZES, (1.5, 1.2, 0.6, 0.45, 0.45), strict=True))
"""Largest ratio of the NumPy engine to plain torch, both causal and on one thread."""
WANTED_GRADIENT = 3.0
"""Largest ratio of a pass with its gradient to the pass alone, at (512, 8, 64)."""
WANTED_BUSY = 1.3
"""Largest ratio of the NumPy engine on all threads to one thread, while another program occupies one core."""
WANTED_P95_MS = {SIZES[0]: 16.0, SIZES[1]: 16.0, SIZES[2]: 40.0}
"""Most milliseconds from an edit to the end of its paint, in 95 of 100 cases."""
WANTED_SWITCH_MS = 100.0
"""Most milliseconds from one workspace to the next."""
WANTED_FIRST_FRAME = 1.3
"""Largest ratio of the window's first frame to that of an empty window."""
WANTED_FILLED_S = 1.0
"""Most seconds from the first frame to the one with numbers."""


def experiment(size: Size, projections: str, masks: tuple[Mask, ...] = ()) -> Experiment:
    """Self-attention in float32 over seeded vectors, scores scaled by 1/√d_head, without a position."""
    return one_layer(
        tokens=tuple(f"t{i}" for i in range(size.n)),
        vectors=SeededVectors(size.n, size.heads * size.d_head, VECTORS_SEED),
        heads=Heads(size.heads, size.heads, size.d_head),
        projections=PROJECTIONS[projections],
        masks=masks,
        dtype="float32",
    )
