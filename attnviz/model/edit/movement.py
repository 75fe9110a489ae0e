"""Edits by hand where tokens are inserted, moved or removed: each stays with its token."""

from __future__ import annotations

from collections.abc import Sequence as List

from msgspec.structs import replace

from attnviz.core.alignment import by_text
from attnviz.errors import Message
from attnviz.model.edit.by_hand import all_edits
from attnviz.model.operands.matrices import output_tokens
from attnviz.model.sites.links import Sequence, key_sequence, query_sequence
from attnviz.model.sites.sites import at, with_records
from attnviz.model.sites.sites import sites as all_sites
from attnviz.model.spec.edit import Edit
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import References
from attnviz.model.spec.site import Site
from attnviz.model.stages import STAGE_BY_ID

Moved = List[int | None]
"""The new position of each token; None if it is removed."""


def moved_by_text(old: List[str], new: List[str]) -> Moved:
    """The positions of tokens in another text: equal tokens in their order, and between two of them a token
    that another one replaces.
    """
    moved: list[int | None] = [None] * len(old)
    gone, added = list[int](), list[int]()
    for before, after in (*by_text(old, new), (None, None)):
        if before is not None and after is None:
            gone.append(before)
        elif after is not None and before is None:
            added.append(after)
        else:
            if len(gone) == len(added):
                for one, other in zip(gone, added, strict=True):
                    moved[one] = other
            gone, added = [], []
            if before is not None:
                moved[before] = after
    return moved


def with_moved_edits(before: Experiment, after: Experiment, sequence: Sequence, moved: Moved) -> Experiment:
    """`after`, which has other tokens than `before` in one sequence, with the edits at their tokens.

    An edit of a removed token is removed. One past the end, for a generated token, keeps its distance from
    the end.
    """
    fields = {}
    for place, site in all_sites(after).items():
        if not site.edits:
            continue
        old = at(before, place.name)
        kept = [_moved(edit, old, site, sequence, moved) for edit in site.edits]
        edits = tuple(edit for edit in kept if edit is not None)
        if edits != site.edits:
            fields[place] = {"edits": edits}
    return with_records(after, fields, {}) if fields else after


def moved_references(experiment: Experiment, tokens: List[str], moved: Moved) -> References:
    """The references of an experiment in other tokens: a pair stays if both of its texts do.

    A reference belongs to its words: "she" that becomes "he" refers to nobody yet.
    """
    places = [
        there if there is not None and tokens[there] == text else None
        for text, there in zip(experiment.tokens, moved, strict=True)
    ]
    pairs = [(places[pronoun], places[name]) for pronoun, name in experiment.references]
    return tuple((one, other) for one, other in pairs if one is not None and other is not None)


def removed_with_tokens(before: Experiment, after: Experiment) -> Message | None:
    """A notice of the edits and the references that are gone with their tokens; None if all remain."""
    if (before.tokens, before.memory) == (after.tokens, after.memory):
        return None
    n_edits = max(0, len(all_edits(before)) - len(all_edits(after)))
    n_references = max(0, len(before.references) - len(after.references))
    if n_edits and n_references:
        return Message(
            "Removed with their tokens: {n} numbers by hand and {m} links from pronouns to names",
            n=n_edits,
            m=n_references,
        )
    if n_references:
        return Message("Links from pronouns to names, removed with their words: {n}", n=n_references)
    return Message("Numbers by hand removed with their tokens: {n}", n=n_edits) if n_edits else None


def _moved(edit: Edit, before: Site, after: Site, sequence: Sequence, moved: Moved) -> Edit | None:
    """An edit at the new position of its token, and of its key; None if either is removed."""
    rows, columns = STAGE_BY_ID[edit.stage].axes[-2:]
    position, column = edit.position, edit.column
    if _sequence(after, rows) == sequence:
        row = _position(position, before, after, rows, moved)
        if row is None:
            return None
        position = row
    if column is not None and _sequence(after, columns) == sequence:
        column = _position(column, before, after, columns, moved)
    elif column is not None and columns == "vocabulary" and after.layer.readout == "similarity":
        column = _same_text(column, output_tokens(before), output_tokens(after))
    if edit.column is not None and column is None:
        return None
    return replace(edit, position=position, column=column)


def _sequence(site: Site, axis: str) -> Sequence | None:
    """The sequence whose tokens stand along an axis; None for features and others."""
    if axis in ("token", "query"):
        return query_sequence(site.place)
    if axis in ("key", "memory"):
        return key_sequence(site.place)
    return None


def _position(position: int, before: Site, after: Site, axis: str, moved: Moved) -> int | None:
    if position < len(moved):
        return moved[position]
    is_key = axis in ("key", "memory")
    return position + (after.n_keys - before.n_keys if is_key else after.n_queries - before.n_queries)


def _same_text(column: int, before: List[str], after: List[str]) -> int | None:
    """The column of a token of the read-out, which has each distinct token of the text once."""
    if column >= len(before):
        return column
    return after.index(before[column]) if before[column] in after else None
