"""The formula and the operation of a stage, if they depend on the site."""

from __future__ import annotations

from attnviz.explain.formulas.block import block_letters
from attnviz.i18n import N_, _
from attnviz.model.binding import bind
from attnviz.model.spec.site import Site
from attnviz.model.stages import STAGE_BY_ID, Axis
from attnviz.operations.operation import Operation

AXIS_TITLES: dict[Axis, str] = {
    "head": N_("head"),
    "kv_head": N_("KV head"),
    "token": N_("token"),
    "memory": N_("token"),
    "query": N_("query"),
    "key": N_("key"),
    "feature": N_("feature"),
    "vocabulary": N_("vocabulary"),
    "expert": N_("expert"),
}
"""Names of the dimensions of a stage: messages."""


def stage_formula(site: Site, stage: str) -> str:
    """Formula of a stage in this site; its words are in the active language."""
    return block_letters(site, stage)[0] or _(STAGE_BY_ID[stage].formula)


def stage_operation(site: Site, stage: str) -> str:
    """The short label of the step that leads to a stage, in the present language."""
    return _operation(site, stage).title or block_letters(site, stage)[1] or _(STAGE_BY_ID[stage].operation)


def _operation(site: Site, stage: str) -> Operation:
    """The operation of a stage; one that says nothing where the site lacks the stage."""
    row = STAGE_BY_ID[stage]
    return Operation() if row.made_by is None or not row.when(site) else bind(site, stage)


def stage_axes(stage: str) -> str:
    """The dimensions of a stage in their public order, in the present language: `(head, query, key)`."""
    return f"({', '.join(_(AXIS_TITLES[axis]) for axis in STAGE_BY_ID[stage].axes)})"
