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

from attnviz.checkpoints.importing import describe
from attnviz.cli import main
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

ENCODER = {
    "vocab_size": 20, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2,
    "intermediate_size": 12, "max_position_embeddings": 16,
}  # fmt: skip
ROBERTA = transformers.RobertaConfig(**ENCODER, pad_token_id=4)
XLM_ROBERTA = transformers.XLMRobertaConfig(**ENCODER, pad_token_id=4)
ELECTRA = transformers.ElectraConfig(**ENCODER, embedding_size=8)
MODERNBERT = transformers.ModernBertConfig(
    **ENCODER, pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2
)
DISTILBERT = transformers.DistilBertConfig(
    vocab_size=20, dim=8, n_layers=2, n_heads=2, hidden_dim=12, max_position_embeddings=16
)
T5 = transformers.T5Config(
    vocab_size=20, d_model=8, d_kv=4, d_ff=12, num_layers=2, num_heads=2, relative_attention_num_buckets=8,
    relative_attention_max_distance=7,
)  # fmt: skip

CLASSIFIERS: tuple[tuple[str, Any, str], ...] = (
    ("BertForSequenceClassification", BERT, "bert"),
    ("BertForTokenClassification", BERT, "bert"),
    ("BertForQuestionAnswering", BERT, "bert"),
    ("GPT2ForSequenceClassification", GPT2, "transformer"),
    ("LlamaForSequenceClassification", LLAMA, "model"),
    ("LlamaForQuestionAnswering", LLAMA, "transformer"),
    ("BertForNextSentencePrediction", BERT, "bert"),
    ("RobertaForSequenceClassification", ROBERTA, "roberta"),
    ("XLMRobertaForSequenceClassification", XLM_ROBERTA, "roberta"),
    ("XLMRobertaModel", XLM_ROBERTA, ""),
    ("DistilBertForSequenceClassification", DISTILBERT, "distilbert"),
    ("ElectraForPreTraining", ELECTRA, "electra"),
    ("ElectraForMultipleChoice", ELECTRA, "electra"),
    ("ModernBertForSequenceClassification", MODERNBERT, "model"),
    ("T5EncoderModel", T5, ""),
    ("T5ForTokenClassification", T5, "transformer"),
)


@pytest.mark.parametrize(("name", "config", "below"), CLASSIFIERS, ids=[row[0] for row in CLASSIFIERS])
def test_the_model_below_a_classifier_has_its_numbers(
    tmp_path: Path, name: str, config: Any, below: str
) -> None:
    with promoted(), torch.no_grad():
        model = random_model(getattr(transformers, name), config)
        wanted = expected_of(getattr(model, below) if below else model, IDS)
    experiment = imported(model, tmp_path)
    assert experiment.readout == "none"
    for stage, difference in run_and_compare(NumpyEngine("float64"), experiment, wanted).items():
        assert difference < 1e-12, stage


def test_the_head_that_is_not_read_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    random_model(transformers.DistilBertForSequenceClassification, DISTILBERT).save_pretrained(tmp_path)
    names = "classifier.bias, classifier.weight, pre_classifier.bias, pre_classifier.weight"
    assert ", ".join(describe(tmp_path).left_out) == names
    made = tmp_path / "made.safetensors"
    assert main(["import", str(tmp_path), "--ids", "1,2,3", "-o", str(made)]) == 0
    assert f"The head for classes is not read: {names}." in capfd.readouterr().err
    assert made.exists()
