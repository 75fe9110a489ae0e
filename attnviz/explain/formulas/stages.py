"""The formula and the operation of a stage, if they depend on the site."""

from __future__ import annotations

from attnviz.i18n import N_, _
from attnviz.model.binding import bind
from attnviz.model.operands.latent import latent_letters
from attnviz.model.sites.stages import Stages, site_stages
from attnviz.model.spec.site import Site
from attnviz.model.stages import STAGE_BY_ID, Axis, inputs
from attnviz.model.weights import bias_symbol
from attnviz.operations.operation import Operation

AXIS_TITLES: dict[Axis, str] = {
    "head": N_("head"),
    "kv_head": N_("KV head"),
    "token": N_("token"),
    "memory": N_("token"),
    "query": N_("query"),
    "key": N_("key"),
    "feature": N_("feature"),
    "key_feature": N_("key feature"),
    "vocabulary": N_("vocabulary"),
    "expert": N_("expert"),
}
"""Names of the dimensions of a stage: messages."""


def stage_formula(site: Site, stage: str) -> str:
    """Formula of a stage in this site; its words are in the active language."""
    present = site_stages(site)
    letters = (_letter(stage, source, present) for source in inputs(stage, present))
    own = STAGE_BY_ID[stage].formula.partition(" = ")[0]
    made = _operation(site, stage).formula(own, *letters)
    return made or _texts(site, stage)[0]


def _letter(stage: str, source: str, present: Stages) -> str:
    """Letter of an input of a stage: x, what the formula of the input defines, that of another norm, or the
    last one that the stage has for it.
    """
    row = STAGE_BY_ID[source]
    made, is_defined, _how = row.formula.partition(" = ")
    if row.phase == "input" or is_defined:
        return "x" if row.phase == "input" else made
    if row.wraps:
        return f"norm({_letter(source, inputs(source, present)[0], present)})"
    return STAGE_BY_ID[stage].symbols[0].split()[-1]


def stage_operation(site: Site, stage: str) -> str:
    """The short label of the step that leads to a stage, in the present language."""
    return _operation(site, stage).title or _texts(site, stage)[1]


def _texts(site: Site, stage: str) -> tuple[str, str]:
    """(formula, operation) of the row of a stage, with the latent and the bias of a map."""
    row = STAGE_BY_ID[stage]
    formula, operation = latent_letters(site, stage) or (_(row.formula), _(row.operation))
    bias = bias_symbol(site, row)
    return (f"{formula} + {bias}", f"{operation} + b") if bias else (formula, operation)


def _operation(site: Site, stage: str) -> Operation:
    """The operation of a stage; one that says nothing where the site lacks the stage."""
    row = STAGE_BY_ID[stage]
    return bind(site, stage) if row.is_in(site) else Operation()


def stage_axes(stage: str) -> str:
    """The dimensions of a stage in their public order, in the present language: `(head, query, key)`."""
    return f"({', '.join(_(AXIS_TITLES[axis]) for axis in STAGE_BY_ID[stage].axes)})"
