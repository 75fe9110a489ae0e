"""Models that end in classes, as `transformers` saves them: the model below is imported, with its numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers")

import torch
import transformers
from checkpoints.reference_models import IDS, imported, promoted, random_model, run_and_compare
from checkpoints.reference_models import expected as expected_of

from attnviz.engines.numpy_engine import NumpyEngine

BERT = transformers.BertConfig(
    vocab_size=20, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12,
    max_position_embeddings=16,
)  # fmt: skip
GPT2 = transformers.GPT2Config(vocab_size=20, n_embd=8, n_layer=2, n_head=2, n_positions=16, pad_token_id=0)
LLAMA = transformers.LlamaConfig(
    vocab_size=20, hidden_size=8, intermediate_size=12, num_hidden_layers=2, num_attention_heads=2,
    num_key_value_heads=1, max_position_embeddings=16, pad_token_id=0,
)  # fmt: skip

CLASSIFIERS: tuple[tuple[str, Any, str], ...] = (
    ("BertForSequenceClassification", BERT, "bert"),
    ("BertForTokenClassification", BERT, "bert"),
    ("BertForQuestionAnswering", BERT, "bert"),
    ("GPT2ForSequenceClassification", GPT2, "transformer"),
    ("LlamaForSequenceClassification", LLAMA, "model"),
)


@pytest.mark.parametrize(("name", "config", "below"), CLASSIFIERS, ids=[row[0] for row in CLASSIFIERS])
def test_the_model_below_a_classifier_has_its_numbers(
    tmp_path: Path, name: str, config: Any, below: str
) -> None:
    with promoted(), torch.no_grad():
        model = random_model(getattr(transformers, name), config)
        wanted = expected_of(getattr(model, below), IDS)
    experiment = imported(model, tmp_path)
    assert experiment.readout == "none"
    for stage, difference in run_and_compare(NumpyEngine("float64"), experiment, wanted).items():
        assert difference < 1e-12, stage
