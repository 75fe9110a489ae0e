"""Arrow tips: the vectors of an attention that can be dragged exactly, and the resulting experiment.

The plane draws x, q and k of one attention. A tip moves its token vector, so it can only be dragged if every
feature of the arrow is one feature of a token vector plus a constant.
"""

from __future__ import annotations

from attnviz.i18n import N_
from attnviz.model.binding import bind
from attnviz.model.edit.edits import Sequence, added_position, set_vectors, vectors_of
from attnviz.model.operands.matrices import is_selection, vectors_array
from attnviz.model.positions import changes
from attnviz.model.sites.sites import at, place_of
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Role
from attnviz.model.spec.rows import row_array
from attnviz.model.stages import SITE_INPUTS, inputs

ROLES: dict[str, Role] = {"q": "query", "k": "key"}
"""The projection that computes the arrows of a name; x has none."""


def x_stage(stages: tuple[str, ...]) -> str:
    """The stage that the plane calls x: the input of the site, with its position added and without a norm."""
    behind = ("x_normed", "x_projected")
    return next(stage for stage in SITE_INPUTS if stage in stages and stage not in behind)


def why_fixed(experiment: Experiment, site: str, name: str, stages: tuple[str, ...]) -> str:
    """Why the tips of x, q or k of a site cannot be dragged, as a message; empty if they can.

    `stages` are those of the site in the trace.
    """
    read = x_stage(stages) if name == "x" else inputs(name, stages)[-1]
    if read == "memory":
        if experiment.encoder:
            return N_("This arrow follows from the encoder's layers; it cannot be dragged.")
    elif "tokens_embedded" not in stages:
        return N_("This arrow follows from earlier layers; arrows of the first layer can be dragged.")
    if name == "x":
        return ""
    attention, role = at(experiment, site), ROLES[name]
    if read not in ("memory", "norm_1", *SITE_INPUTS) or not is_selection(attention, role):
        return N_("This arrow depends on x and its weights; with an identity projection it can be dragged.")
    if bind(attention, read).pattern in ("projection", "row"):
        return N_("This arrow follows from a norm of x; without that norm it can be dragged.")
    if attention.qk_norm is not None:
        return N_("This arrow is normalised; without QK-norm it can be dragged.")
    if changes(attention.position) == "rotation":
        return N_("RoPE rotates this arrow by its position; without RoPE it can be dragged.")
    return ""


def n_tips(experiment: Experiment, site: str, name: str) -> int:
    """The number of arrows of one name."""
    attention = at(experiment, site)
    return attention.n_keys if name == "k" else attention.n_queries


def with_tip(
    experiment: Experiment,
    site: str,
    name: str,
    row: int,
    head: int,
    dims: tuple[int, int],
    tip: tuple[float, float],
) -> Experiment:
    """The experiment in which one arrow of a site ends at `tip` in the features `dims` of its head.

    `head` counts key/value heads for k and is ignored for x. The position and the bias that the arrow
    contains are subtracted; `why_fixed` must be empty.
    """
    attention = at(experiment, site)
    reads_memory = name == "k" and attention.memory is not None
    added = added_position(attention, "memory" if reads_memory else "tokens", row)
    bias = None if name == "x" else getattr(attention.projections, f"{ROLES[name]}_bias")
    if bias is not None:
        added = added + row_array(bias, len(added))
    sequence: Sequence = "memory" if reads_memory or _is_encoder(experiment, site) else "tokens"
    offset = 0 if name == "x" else head * attention.d_qk
    values = vectors_array(vectors_of(experiment, sequence)).copy()
    for dim, value in zip(dims, tip, strict=True):
        values[row, offset + dim] = value - added[offset + dim]
    return set_vectors(experiment, values, sequence)


def _is_encoder(experiment: Experiment, site: str) -> bool:
    """True if the tokens of a site are those of the document's memory."""
    return place_of(experiment, site).stack == "encoder"
