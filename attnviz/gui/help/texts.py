"""The sentences of the help: of stages and controls, each with its source if it has one."""

from __future__ import annotations

from typing import NamedTuple

from attnviz.i18n import N_
from attnviz.model.stages import STAGES


class Help(NamedTuple):
    """One sentence, a message, and the key of its source in `SOURCES` (empty: none)."""

    sentence: str
    source: str = ""


STAGE_HELP = {stage.id: Help(stage.help, stage.cites) for stage in STAGES if stage.help}
"""Stages with a sentence of their own; the others take that of their operation."""

TOKEN_HELP = Help(N_("A token: the unit of text that has one vector. Its position counts from 0."))
HEAD_HELP = Help(
    N_("A head: one attention with projections of its own; a layer computes several side by side."),
    "attention",
)

CONTROL_HELP: dict[str, Help] = {
    "token_line": Help(N_("The text of the document; every key is an edit, Enter leaves the line.")),
    "mechanism_search": Help(N_("Show the settings whose names contain these letters.")),
    "decode_scrubber": Help(N_("The step of the player; drag it to any earlier or later token.")),
    "site_combo": Help(N_("The layer and the attention that all panels show."), "attention"),
    "matrix_choice": Help(N_("The weight matrix that the table shows.")),
    "plane_projection": Help(N_("The two directions of the vectors that the plane shows.")),
    "cost_source": Help(N_("The model whose shapes the arithmetic uses: a published one, or the document.")),
    "cost_quantity": Help(N_("The quantity that the curve shows over the context.")),
    "cost_kv": Help(
        N_("The format in which a cache keeps keys and values; it sets the bytes of each number.")
    ),
    "n_heads_field": Help(
        N_("Query heads: attentions of one layer, each with a projection of its own."), "attention"
    ),
    "d_head_field": Help(
        N_("The width of one head: the features of each query, key and value."), "attention"
    ),
    "temperature_field": Help(
        N_("Scores are divided by the temperature: above 1 weights spread, below 1 they sharpen.")
    ),
    "heads_header": Help(
        N_("The number of query heads of a layer, and of the key/value heads that they share."), "gqa"
    ),
    "score_header": Help(
        N_("The steps from a dot product to a score: norm, scale, temperature, soft cap, sinks."), "attention"
    ),
    "mask_header": Help(N_("The keys that a query may attend to."), "attention"),
    "position_header": Help(
        N_("The encoding of positions: added to the vectors, as a rotation, or as a bias."), "rope"
    ),
    "weights_header": Help(N_("The function from scores to weights, and dropout."), "attention"),
    "empty_state_action": Help(N_("The next step that the panel proposes.")),
}
"""Object name of a control: its help, which is also its tooltip if it has no other."""
