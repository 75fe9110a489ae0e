"""Granite: Llama whose embedding, scores, residual connections and logits each have a factor.

IBM Research 2024 (github.com/ibm-granite/granite-3.0-language-models), after Yang et al. 2022,
arXiv:2203.03466; keys and names as in `transformers`, models/granite.
"""

from __future__ import annotations

from attnviz.checkpoints.families.common import is_tied
from attnviz.checkpoints.families.decoder import IGNORED, Decoder, activation_key, rms, size_keys, sizes
from attnviz.checkpoints.families.family import Around, Config, Family, flag, positive, whole
from attnviz.checkpoints.families.llama import TENSORS
from attnviz.checkpoints.rotary import ROPE_KEYS
from attnviz.model.spec.parts import ScaleValue

KEYS = (
    *size_keys(),
    *ROPE_KEYS,
    whole("max_position_embeddings", 2048),
    activation_key("silu"),
    positive("rms_norm_eps", 1e-6),
    flag("attention_bias", False),
    flag("mlp_bias", False),
    positive("attention_multiplier", 1.0),
    positive("embedding_multiplier", 1.0),
    positive("logits_scaling", 1.0),
    positive("residual_multiplier", 1.0),
    flag("tie_word_embeddings", False),
)


def around(config: Config) -> Around:
    """A norm after the last layer, and the factors of the embedding and of the logits."""
    return Around(
        final_norm=rms(config),
        embedding_scale=config["embedding_multiplier"],
        logit_scale=1.0 / config["logits_scaling"],
    )


GRANITE = Family(
    "Granite",
    ("granite",),
    "model.",
    KEYS,
    TENSORS,
    sizes,
    Decoder(
        scale=lambda config: ScaleValue(config["attention_multiplier"]),
        residual_scale=lambda config: float(config["residual_multiplier"]),
    ).layer,
    around,
    is_tied,
    IGNORED,
)
