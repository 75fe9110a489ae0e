"""Attention rollout: how much of each input token reaches each token of a layer, through all layers below.

Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers", section 3: with the mean A of the heads
and a residual connection counted as half, R_l = (A_l / 2 + I / 2) R_(l−1), rows normalised.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from attnviz.model.sites.sites import at
from attnviz.model.trace import Trace


def rollout(trace: Trace) -> dict[str, NDArray[np.float64]]:
    """R of every self-attention, (token, input token), by site; each stack begins anew.

    A row that attends to nothing keeps its own token alone.
    """
    found: dict[str, NDArray[np.float64]] = {}
    below: dict[str, NDArray[np.float64]] = {}
    for name in trace.sites:
        site = at(trace.experiment, name)
        if site.memory is not None:
            continue
        mean = np.asarray(trace.site(name)["weights"], dtype=np.float64).mean(axis=0)
        mixed = mean / 2 + np.eye(len(mean)) / 2
        mixed /= mixed.sum(axis=1, keepdims=True)
        stack = site.place.stack
        below[stack] = mixed @ below[stack] if stack in below else mixed
        found[name] = below[stack]
    return found
