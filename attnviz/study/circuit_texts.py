"""The texts of a head's circuits, by kind: the name, and the sentence about its numbers."""

from __future__ import annotations

from attnviz.errors import Message
from attnviz.i18n import N_, _
from attnviz.model.spec.site import Site

NAMES = {"qk": N_("QK circuit"), "ov": N_("OV circuit")}

FORMULAS = {
    "qk": N_("Score of a query token → key token at one position: q · k ÷ √d, without positions and mask."),
    "ov": N_(
        "Source → output token: the contribution of the head to its logit if it attends to the source alone."
    ),
}

GATE = Message("The gate of the querying token, 0 to 1 for each feature of the head, is left out.")

PARTNER = Message("The norm of the head with its partner, and a gate, are left out.")


def left_out(kind: str, site: Site) -> Message | None:
    """Part of the attention that the pairs of a circuit leave out; None: nothing."""
    if kind != "ov":
        return None
    if site.differential is not None:
        return PARTNER
    return GATE if site.gate is not None else None


def formula_of(kind: str, site: Site) -> str:
    """The sentence about the numbers of a circuit, in the present language, and what they leave out."""
    without = left_out(kind, site)
    return _(FORMULAS[kind]) if without is None else f"{_(FORMULAS[kind])} {without.text()}"


MOST_PAIRS = 30
"""Pairs of tokens in a panel, a picture and a table, the largest numbers first."""
