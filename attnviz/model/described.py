"""An experiment as an `Architecture`: one attention layer, no embedding, no feed-forward."""

from __future__ import annotations

from attnviz.core.architecture import Architecture, Latent
from attnviz.model import latent_parts as parts
from attnviz.model.block_parts import Norm
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
    sources: dict[str, object] = {role: getattr(experiment.projections, role) for role in ROLES}
    if experiment.latent is not None:
        sources |= {role: getattr(experiment.latent, role) for role in experiment.latent.roles()}
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
        latent=None if experiment.latent is None else _latent(experiment.latent, experiment.heads.d_head),
        n_memory=experiment.n_keys if is_cross else 0,
        d_memory=experiment.d_keys if is_cross else 0,
        identities=(*(role for role in ROLES if is_identity(experiment, role)), *_free(experiment)),
        unlearned=tuple(role for role, source in sources.items() if isinstance(source, Identity | Tied)),
    )


def _latent(latent: parts.Latent, d_head: int) -> Latent:
    """The widths of a latent, and how many numbers its norms have learned for each feature."""

    def learned(norm: Norm | None) -> int:
        return 0 if norm is None else (norm.gain is not None) + (norm.bias is not None)

    return Latent(
        d_c=latent.d_c,
        d_rope=latent.d_rope,
        d_nope=d_head,
        d_v=d_head,
        d_q_c=latent.d_q or 0,
        norm=learned(latent.norm),
        q_norm=learned(latent.query_norm),
    )


def _free(experiment: Experiment) -> tuple[str, ...]:
    """The latent's matrices that pass their input on unchanged."""
    latent = experiment.latent
    if latent is None:
        return ()
    shapes = {
        role: latent.shape(role, experiment.d_model, experiment.d_keys, experiment.heads)
        for role in latent.roles()
    }
    return tuple(
        role
        for role, (rows, columns) in shapes.items()
        if rows == columns and isinstance(getattr(latent, role), Identity)
    )


def counts_every_mask(experiment: Experiment) -> bool:
    """Whether the pairs of `architecture_of` are exactly the cells that the masks leave open."""
    return all(isinstance(mask, Causal | Window) for mask in experiment.masks)
