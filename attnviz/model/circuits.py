"""The texts of a head's circuits, by kind: the name, and the sentence about its numbers."""

from __future__ import annotations

from attnviz.i18n import N_

NAMES = {"qk": N_("QK circuit"), "ov": N_("OV circuit")}

FORMULAS = {
    "qk": N_("Score of a query token → key token at one position: q · k ÷ √d, without positions and mask."),
    "ov": N_(
        "Source → output token: the contribution of the head to its logit if it attends to the source alone."
    ),
}

MOST_PAIRS = 30
"""Pairs of tokens in a panel, a picture and a table, the largest numbers first."""
