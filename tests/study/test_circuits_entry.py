"""QK circuits read what the first layer reads: scale, norm and projection of the embeddings, by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from checkpoints.reference_models import imported, promoted, random_model  # noqa: E402

from attnviz import analysis  # noqa: E402

HEADS, SIZE = 4, 24
WIDTH = SIZE // HEADS
COMMON = {
    "vocab_size": 13,
    "hidden_size": SIZE,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": HEADS,
    "max_position_embeddings": 32,
}


def bert(model: Any, layer: int) -> tuple[Any, Any]:
    """(queries, keys) of all heads, (token, feature), from the normed embeddings."""
    known = model.bert.embeddings
    own = model.bert.encoder.layer[layer].attention.self
    x = known.LayerNorm(known.word_embeddings.weight)
    return own.query(x), own.key(x)


def albert(model: Any, layer: int) -> tuple[Any, Any]:
    """The same behind the map from the narrower embeddings; both layers have the same weights."""
    known, encoder = model.albert.embeddings, model.albert.encoder
    own = encoder.albert_layer_groups[0].albert_layers[0].attention
    x = encoder.embedding_hidden_mapping_in(known.LayerNorm(known.word_embeddings.weight))
    return own.query(x), own.key(x)


def gemma(model: Any, layer: int) -> tuple[Any, Any]:
    """The same from the embeddings times √d, through the norm of the layer."""
    own = model.model.layers[layer]
    x = own.input_layernorm(model.model.embed_tokens.weight * SIZE**0.5)
    return own.self_attn.q_proj(x), own.self_attn.k_proj(x)


MODELS: dict[str, tuple[str, dict[str, Any], Callable[[Any, int], tuple[Any, Any]]]] = {
    "bert": ("BertForMaskedLM", COMMON, bert),
    "albert": ("AlbertForMaskedLM", {**COMMON, "embedding_size": 10}, albert),
    "gemma": ("GemmaForCausalLM", {**COMMON, "num_key_value_heads": HEADS, "head_dim": WIDTH}, gemma),
}


@pytest.mark.parametrize("kind", MODELS)
def test_qk_pairs_are_the_scores_of_what_the_first_layer_reads(kind: str, tmp_path: Path) -> None:
    name, fields, by_hand = MODELS[kind]
    config = getattr(transformers, name.partition("For")[0] + "Config")
    with promoted():
        model = random_model(getattr(transformers, name), config(**fields))
        experiment = imported(model, tmp_path)
        known = experiment.vocabulary
        assert known is not None
        for layer, head in ((0, 0), (1, 3)):
            part = slice(head * WIDTH, (head + 1) * WIDTH)
            with torch.no_grad():
                queries, keys = (side[:, part] for side in by_hand(model, layer))
                wanted = (queries @ keys.T / WIDTH**0.5).numpy()
            found = analysis.circuit(experiment, f"layers.{layer}.self", head, "qk", top=wanted.size)
            assert len(found) == wanted.size
            for pair in found:
                at = known.tokens.index(pair.first), known.tokens.index(pair.second)
                assert pair.value == pytest.approx(wanted[at], abs=1e-10)
