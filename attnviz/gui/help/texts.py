"""The sentences of the help: of panels, stages and controls, each with its source if it has one."""

from __future__ import annotations

from typing import NamedTuple

from attnviz.i18n import N_
from attnviz.model.stages import STAGES, Rule


class Help(NamedTuple):
    """One sentence, a message, and the key of its source in `SOURCES` (empty: none)."""

    sentence: str
    source: str = ""


PANEL_HELP: dict[str, Help] = {
    "tokens": Help(N_("The tokens of the document: type a text, drag a token, double-click to rename it.")),
    "vectors": Help(N_("The vector of each token before the first projection; every number can be edited.")),
    "pipeline": Help(
        N_("Every stage of the attention in data-flow order; a click shows it in the map."), "attention"
    ),
    "stage": Help(
        N_("The matrix of one stage and one head; a click on a cell opens its arithmetic."), "attention"
    ),
    "heads": Help(N_("The shown stage in every head of the layer; a click chooses a head."), "attention"),
    "mechanism": Help(N_("Everything that changes a number: heads, score, mask, position, weights, block.")),
    "head": Help(N_("The selected head: the key that its row attends to most, and the actions on it.")),
    "inspector": Help(N_("The arithmetic of one number, term by term; a click on a term opens its origin.")),
    "plane": Help(N_("Queries and keys, or token vectors, as arrows; drag a tip to change its vector.")),
    "positions": Help(
        N_("The score as a function of the distance of query and key, under each encoding."), "rope"
    ),
    "cost": Help(
        N_("Operations, bytes and cache of a model of any size, with the arithmetic of each."), "gqa"
    ),
    "block": Help(
        N_("The layer as a diagram: attention, residual connections, norms, feed-forward layer."), "attention"
    ),
    "matrices": Help(N_("The weight matrices of the projections; every number can be edited.")),
    "axes": Help(
        N_("The feature axis splits into heads and merges again; every cell keeps its number."), "attention"
    ),
    "lens": Help(N_("The most probable next token after each layer, computed by the model's own read-out.")),
    "circuits": Help(
        N_("The token pairs with the largest QK and OV products of a head, through the whole vocabulary."),
        "circuits",
    ),
    "rollout": Help(
        N_("How much of each input token reaches the selected token in each layer; a click shows the layer."),
        "rollout",
    ),
    "patching": Help(
        N_(
            "Replaces a stage by that of a clean text, position by position, and shows how much of "
            "the answer it restores."
        )
    ),
    "survey": Help(
        N_("Every head over many texts, and the texts that excite it most; a click on a text opens it.")
    ),
    "failures": Help(N_("Breaks the document on purpose, names the first stage that fails, and mends it.")),
    "claims": Help(
        N_("Textbook statements with the verdict of the live engine, and the claims of this document.")
    ),
    "architecture": Help(
        N_("All attentions of the document, encoder and decoder, and what each of them reads."), "attention"
    ),
    "text": Help(N_("The text token by token as the player generates it; Space plays.")),
    "next": Help(N_("The probability of each next token; a click forces one and the text goes on from it.")),
    "sampling": Help(N_("The operations that turn logits into the chosen token, in their order."), "nucleus"),
    "draws": Help(
        N_("The texts that the document generates with other seeds; a click on a line adopts its text."),
        "nucleus",
    ),
    "caches": Help(
        N_("The keys and values kept from earlier steps; the framed row is appended in this step."), "mqa"
    ),
    "cache": Help(N_("The positions that a cache holds, evicts or quantises at each step."), "sinks"),
    "counters": Help(
        N_("The operations and bytes of this step with and without a cache, counted from the shapes.")
    ),
    "compare": Help(N_("The same stage under A and B, and their difference; the greatest change is named.")),
    "lesson": Help(
        N_("A lesson: each step sets up the document, and the numbers in its text are computed from it.")
    ),
    "gradients": Help(
        N_(
            "Norms of the gradient by stage and by layer, and how ÷√d keeps the gradient of the "
            "softmax large."
        ),
        "attention",
    ),
    "grid": Help(N_("One small map for every head of every layer; a click goes there.")),
}

STAGE_HELP = {stage.id: Help(stage.help, stage.cites) for stage in STAGES if stage.help}
"""Stages with a sentence of their own; the others take that of their operation or rule."""

RULE_HELP: dict[Rule, Help] = {
    "given": Help(N_("Vectors that are given and not computed.")),
    "same_cell": Help(N_("Each number is computed from the number at the same place of its inputs.")),
    "relative": Help(
        N_("Each score gains terms that depend on the distance between query and key."), "transformer_xl"
    ),
    "row": Help(N_("Each row is normalised by a quantity of the whole row."), "layer_norm"),
    "join_heads": Help(N_("The rows of all heads stand side by side."), "attention"),
    "routed": Help(N_("Each number is a hidden feature times the weight of its expert."), "experts"),
    "qd,wd->qw": Help(N_("Each number is the dot product of an output with the vector of a token.")),
}

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
