"""The sentences of the help: of stages and controls, each with its source if it has one."""

from __future__ import annotations

from typing import NamedTuple

from attnviz.i18n import N_
from attnviz.model.stages import Rule


class Help(NamedTuple):
    """One sentence, a message, and the key of its source in `SOURCES` (empty: none)."""

    sentence: str
    source: str = ""


STAGE_HELP: dict[str, Help] = {
    "tokens_embedded": Help(N_("One vector for each token, before anything is computed.")),
    "layer_input": Help(N_("The output vectors of the previous layer.")),
    "x": Help(N_("The token vectors with their additive position encoding."), "attention"),
    "memory": Help(
        N_("The memory sequence, which cross-attention reads its keys and values from."), "attention"
    ),
    "q": Help(N_("Queries: each token vector projected to the question that it asks."), "attention"),
    "k": Help(
        N_("Keys: each token vector projected to the description that queries are compared with."),
        "attention",
    ),
    "v": Help(N_("Values: each token vector projected to the content that is mixed."), "attention"),
    "latent": Help(N_("The latent: the vector that a cache keeps instead of all keys and values."), "mla"),
    "q_normed": Help(N_("Queries of equal length, so that scores stay bounded."), "qk_norm"),
    "k_normed": Help(N_("Keys of equal length, so that scores stay bounded."), "qk_norm"),
    "q_rotated": Help(
        N_("Each pair of features of a query is rotated by an angle that grows with its position."), "rope"
    ),
    "q_tempered": Help(
        N_("Queries times a factor that grows with their position: weights stay sharp."),
        "scalable",
    ),
    "k_rotated": Help(
        N_("Each pair of features of a key is rotated by an angle that grows with its position."), "rope"
    ),
    "scores": Help(
        N_("The dot product of each query with each key: large where they point the same way."), "attention"
    ),
    "relative": Help(N_("Scores with terms that depend on the distance of query and key."), "transformer_xl"),
    "scaled": Help(
        N_("Scores divided by √d_head, so that their spread does not grow with the head width."), "attention"
    ),
    "capped": Help(N_("Scores limited smoothly to a range by tanh."), "gemma"),
    "biased": Help(N_("Scores lowered by the distance of query and key."), "alibi"),
    "added": Help(
        N_("Scores plus a free number for each query and key; −∞ leaves a key without weight."), "attention"
    ),
    "masked": Help(
        N_("Scores with −∞ where a query must not attend, so that the weight there is 0."), "attention"
    ),
    "weights": Help(
        N_("The softmax of each row: shares of attention that are positive and sum to 1."), "attention"
    ),
    "dropped": Help(N_("Weights of which a random share is set to 0 in training."), "dropout"),
    "mixed": Help(N_("For each query the sum of all values, each times its weight."), "attention"),
    "combined": Help(
        N_("The weights of a head minus λ times those of its partner head; both use the difference."),
        "differential",
    ),
    "mixed_normed": Help(
        N_("The mixtures of two partner heads, normalised together and multiplied by 1 − λ₀."),
        "differential",
    ),
    "gate": Help(
        N_("The input projected to a gate for each head's output, before its sigmoid."), "output_gate"
    ),
    "gated": Help(
        N_("Each head's mixture times the sigmoid of its gate, from 0 to 1."),
        "output_gate",
    ),
    "concatenated": Help(N_("The mixtures of all heads side by side."), "attention"),
    "attention_output": Help(N_("The concatenated heads projected back to the model width."), "attention"),
    "attention_dropped": Help(
        N_("The attention's output, of which a random share is set to 0 in training."), "dropout"
    ),
    "ffn_dropped": Help(
        N_("The feed-forward layer's output, of which a random share is set to 0 in training."), "dropout"
    ),
    "residual_1": Help(N_("The input of the layer plus the output of its attention."), "residual"),
    "residual_2": Help(
        N_("The vectors after the attention plus the output of the feed-forward layer."), "residual"
    ),
    "router": Help(N_("One number for each expert: the larger, the more the token needs it."), "experts"),
    "routing": Help(N_("The weight of each expert: 0 for all but the chosen ones."), "experts"),
    "ffn_routed": Help(N_("The hidden features of every expert times the expert's weight."), "experts"),
    "ffn_gate_routed": Help(
        N_("The gate of every expert times the expert's weight: its input is scaled."), "experts"
    ),
    "ffn_up_routed": Help(
        N_("The up projection of every expert times the expert's weight: its input is scaled."), "experts"
    ),
    "ffn_gate": Help(N_("The gate, which multiplies the hidden features of the feed-forward layer."), "glu"),
    "ffn_hidden": Help(
        N_("The hidden features of the feed-forward layer after its activation."), "attention"
    ),
    "output": Help(N_("The output vectors of the layer, after its last norm.")),
    "logits": Help(N_("One number for each possible next token, or class: the larger, the more probable.")),
    "probabilities": Help(N_("The softmax of the logits: the probability of each next token, or class.")),
}
"""Stages with a sentence of their own; the others take that of their rule."""

RULE_HELP: dict[Rule, Help] = {
    "given": Help(N_("Vectors that are given and not computed.")),
    "same_cell": Help(N_("Each number is computed from the number at the same place of its inputs.")),
    "projection": Help(
        N_("Each row is the row of the input times a matrix of learned weights."), "attention"
    ),
    "latent_key": Help(
        N_("Each row is projected from the latent; the rotated part is shared by all heads."), "mla"
    ),
    "pair": Help(N_("Each pair of features is rotated by an angle that grows with the position."), "rope"),
    "qd,kd->qk": Help(N_("Each number is the dot product of a query with a key."), "attention"),
    "relative": Help(
        N_("Each score gains terms that depend on the distance between query and key."), "transformer_xl"
    ),
    "row": Help(N_("Each row is normalised by a quantity of the whole row."), "layer_norm"),
    "qk,kd->qd": Help(N_("Each row is a sum of values, each times its weight."), "attention"),
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
