"""The experiment that decoding computes: one token after the other, none of which attends to later ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from msgspec.structs import replace

from attnviz.errors import FieldError, Message, must_be, token_count, whole_number
from attnviz.model import positions
from attnviz.model.edit.edits import permute_tokens
from attnviz.model.masks import looks_ahead, sees_later
from attnviz.model.operands.matrices import classes_of
from attnviz.model.sites.sites import at, places, record_at, with_records
from attnviz.model.spec.attention import Attention
from attnviz.model.spec.edit import Edit
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Causal
from attnviz.model.spec.positions import Position
from attnviz.model.spec.site import Place
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import MASKED_STAGES

MAX_STEPS = 100_000
"""Most steps of one decoding."""


def causal_experiment(experiment: Experiment, steps: int | None = None) -> Experiment:
    """The experiment that decoding computes in `steps` steps (None: its tokens): causal, with a read-out.

    The self-attention of every layer gets a causal mask where its masks may let a query see a later key, and
    masks before the softmax: after it, a row would be divided by a sum over keys that do not exist yet. For
    the same reason blocked scores are -inf: a finite bias leaves later keys a weight. Their queries begin at
    the first key, and numbers by hand give no weight to later keys. Encoders and attentions to the memory
    keep their masks as they are, since the whole memory exists from the start. For frequencies that depend
    on the length see `at_length`. Raises `FieldError` for a classifier.
    """
    classes = classes_of(experiment)
    if classes is not None:
        found = Message("{n} classes", n=len(classes.labels))
        raise FieldError("vocabulary.classes", found, must_be("null, since a classifier generates no token"))
    steps = experiment.n_queries if steps is None else steps
    fields = {place: _causal(record_at(experiment, place), steps) for place in _causal_places(experiment)}
    readout = experiment.readout
    if readout == "none":
        readout = "similarity" if experiment.vocabulary is None else "vocabulary"
    elif not any(fields.values()):
        return experiment
    return with_records(experiment, fields, {"readout": readout})


CHANGES: dict[str, Message] = {
    "masks": Message("Decoding adds a causal mask: in the document a query attends to later keys."),
    "mask_placement": Message("Decoding masks before the softmax: later keys do not exist yet."),
    "mask_bias": Message("Decoding blocks with −∞: later keys do not exist yet and get no weight."),
    "query_offset": Message("Decoding begins queries at the first key: it has the keys of no past."),
    "edits": Message("Decoding leaves out numbers by hand of later keys: they do not exist yet."),
    "readout": Message(
        "The document has no read-out: decoding reads logits out as similarities to the token vectors, o · e."
    ),
}
"""Possible changes by `causal_experiment`, and their notices."""


def causal_changes(given: Experiment, causal: Experiment) -> frozenset[str]:
    """Fields of `CHANGES` that differ between a document and its decoded experiment.

    A mask bias counts only if the document has masks, a causal mask only if a query sees a later key, and a
    vocabulary's own read-out is not a change.
    """
    pairs = [(record_at(given, place), record_at(causal, place)) for place in _causal_places(given)]
    found = {
        field
        for field in CHANGES
        if field != "readout"
        and any(getattr(before, field) != getattr(after, field) for before, after in pairs)
    }
    if not any(before.masks for before, _after in pairs):
        found.discard("mask_bias")
    if not any(sees_later(at(given, place.name)) for place in _causal_places(given)):
        found.discard("masks")
    if given.readout == "none" and causal.readout == "similarity":
        found.add("readout")
    return frozenset(found)


def at_length(experiment: Experiment, steps: int) -> Experiment:
    """The experiment at `steps` tokens, if its frequencies depend on the number of tokens.

    Keys are cached after their rotation, so dynamic NTK must know the length at the end from the start; with
    steps within the document's tokens it does.
    """
    fields = {}
    for place in places(experiment):
        if place.stack == "encoder":
            continue
        site = at(experiment, place.name)
        position = positions.at_length(site, steps)
        if position != site.position:
            fields[place] = {"position": position}
    return with_records(experiment, fields, {}) if fields else experiment


def up_to(experiment: Experiment, length: int) -> Experiment:
    """The first `length` tokens alone, rotated as in the whole text."""
    shorter = permute_tokens(experiment, tuple(range(length)))
    return at_length(shorter, experiment.n_queries)


def step_count(experiment: Experiment, steps: int | None) -> int:
    """The number of steps: with generation, as many as its limit of new tokens allows.

    The last sampled token is not computed; a learned table ends the generation. Raises `ValueError` for
    `steps` that are no whole number from 1 to `MAX_STEPS`, and past the end of a learned table.
    """
    if steps is not None and (isinstance(steps, bool) or not isinstance(steps, int | np.integer)):
        raise FieldError("steps", steps, whole_number(1, MAX_STEPS))
    count = experiment.n_queries if steps is None else int(steps)
    if steps is None and experiment.writing is not None:
        count += experiment.writing.sampling.stop.length - 1
        count = int(min(count, table_end(experiment)))
    if not 1 <= count <= MAX_STEPS:
        if steps is not None:
            raise FieldError("steps", steps, whole_number(1, MAX_STEPS))
        at_most = must_be("at most {most:,} with the prompt", most=MAX_STEPS)
        raise FieldError("sampling.stop.length", token_count(count), at_most)
    for position in _positions(experiment):
        position.check_end(max(count, experiment.n_queries))
    return count


def table_end(experiment: Experiment) -> float:
    """The number of positions in learned tables; infinity without a table."""
    return min(map(positions.last_token, _positions(experiment)), default=math.inf)


def _positions(experiment: Experiment) -> list[Position]:
    """The positions of all attentions that read generated tokens."""
    return [record_at(experiment, p).position for p in places(experiment) if p.stack != "encoder"]


def encoder_of(experiment: Experiment) -> Experiment | None:
    """The encoder as an experiment of its own, whose layers are `layers.0.self` and so on; None without."""
    memory = experiment.memory
    if memory is None or not experiment.encoder:
        return None
    return Experiment(
        memory.tokens,
        memory.vectors,
        embedding_norm=experiment.encoder_embedding_norm,
        layers=experiment.encoder,
        final_norm=experiment.encoder_norm,
        dtype=experiment.dtype,
    )


def _causal_places(experiment: Experiment) -> tuple[Place, ...]:
    """The sites where tokens attend to generated tokens."""
    return tuple(p for p in places(experiment) if p.stack != "encoder" and p.kind == "self")


def _causal(attention: Attention, steps: int) -> dict[str, Any]:
    """Changes of one attention that make it causal."""
    changes: dict[str, Any] = {
        "mask_placement": "before_softmax",
        "mask_bias": None,
        "query_offset": 0,
        "edits": tuple(found for edit in attention.edits for found in _of_existing_keys(edit, steps)),
    }
    if looks_ahead(attention.masks):
        changes["masks"] = (*attention.masks, Causal())
    return {field: value for field, value in changes.items() if getattr(attention, field) != value}


def _of_existing_keys(edit: Edit, steps: int) -> tuple[Edit, ...]:
    """The edit without the cells of later keys; of a whole row, one edit for each key that exists."""
    is_later = edit.column is None or edit.column > edit.position
    if edit.stage not in MASKED_STAGES or not is_later or edit.position >= steps:
        return (edit,)
    blocked = -math.inf if STAGE_BY_ID[edit.stage].is_infinite else 0.0
    if edit.applied(blocked, 0) == blocked:  # as the mask leaves it
        return (edit,)
    keys = range(edit.position + 1) if edit.column is None else ()
    return tuple(replace(edit, column=key) for key in keys)
