"""An experiment as an `Architecture`: one attention layer, no embedding, no feed-forward."""

from __future__ import annotations

from attnviz.core.architecture import Architecture
from attnviz.model.experiment import Experiment
from attnviz.model.materialise import is_identity
from attnviz.model.parts import ROLES, Causal, Identity, Tied, Window


def architecture_of(experiment: Experiment) -> Architecture:
    """The shapes of `experiment` that its cost follows from.

    An identity has no parameters and, where it is square, costs nothing; a tied one has none of its own.
    Causality and a window are kept, as a kernel that skips what they block has it; cells that any other mask
    blocks count as open (`counts_every_mask`).
    """
    window = next((mask for mask in experiment.masks if isinstance(mask, Window)), None)
    is_causal = any(isinstance(mask, Causal) for mask in experiment.masks)
    ahead = 0 if is_causal else None if window is None else window.right
    sources = {role: getattr(experiment.projections, role) for role in ROLES}
    is_cross = experiment.memory is not None
    return Architecture(
        layers=1,
        d_model=experiment.d_model,
        n_heads=experiment.heads.n_heads,
        n_kv_heads=experiment.heads.n_kv_heads,
        d_head=experiment.heads.d_head,
        context=experiment.n_queries,
        window=0 if window is None or is_cross else window.left + 1,
        windowed_layers=0 if window is None or is_cross else 1,
        ahead=ahead,
        n_memory=experiment.n_keys if is_cross else 0,
        d_memory=experiment.projection_shape("key")[0] if is_cross else 0,
        identities=tuple(role for role in ROLES if is_identity(experiment, role)),
        unlearned=tuple(role for role in ROLES if isinstance(sources[role], Identity | Tied)),
    )


def counts_every_mask(experiment: Experiment) -> bool:
    """Whether the pairs of `architecture_of` are exactly the cells that the masks leave open."""
    return all(isinstance(mask, Causal | Window) for mask in experiment.masks)
