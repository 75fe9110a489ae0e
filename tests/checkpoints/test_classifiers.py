"""Models that end in classes, as `transformers` saves them: the model below is imported, with its numbers."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("transformers")

import torch
import transformers
from checkpoints.reference_models import IDS, imported, promoted, random_model, run_and_compare
from checkpoints.reference_models import expected as expected_of

from attnviz.checkpoints.importing import describe
from attnviz.cli import main
from attnviz.engines.backward.backward import backward
from attnviz.engines.decode.run import decode
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.engines.torch_engine import TorchEngine
from attnviz.model.spec.target import LOSS

Floats = NDArray[np.float64]

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
DEBERTA = transformers.DebertaV2Config(
    **ENCODER, type_vocab_size=0, relative_attention=True, position_biased_input=False,
    pos_att_type=["p2c", "c2p"], position_buckets=4, norm_rel_ebd="layer_norm", share_att_key=True,
)  # fmt: skip
ALBERT = transformers.AlbertConfig(**ENCODER, embedding_size=6)
T5 = transformers.T5Config(
    vocab_size=20, d_model=8, d_kv=4, d_ff=12, num_layers=2, num_heads=2, relative_attention_num_buckets=8,
    relative_attention_max_distance=7,
)  # fmt: skip

XLNET = transformers.XLNetConfig(vocab_size=20, d_model=8, n_layer=2, n_head=2, d_inner=12)

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
    ("XLNetForSequenceClassification", XLNET, "transformer"),
    ("XLNetForTokenClassification", XLNET, "transformer"),
    ("XLNetForQuestionAnsweringSimple", XLNET, "transformer"),
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
    assert (experiment.readout == "none") == (name not in READ)
    for stage, difference in run_and_compare(NumpyEngine("float64"), experiment, wanted).items():
        assert difference < 1e-12, stage


def logits_of(model: Any) -> Floats:
    """(position, class), or (1, class) of a text; the ends of an answer side by side."""
    with torch.no_grad():
        found = model(torch.tensor([IDS]))
    if hasattr(found, "start_logits"):
        return np.stack((found.start_logits[0].numpy(), found.end_logits[0].numpy()), axis=1)
    return np.asarray(found.logits.numpy().reshape(-1, found.logits.shape[-1]))


READ = {
    **dict.fromkeys(
        ("BertForTokenClassification", "BertForQuestionAnswering", "LlamaForQuestionAnswering"), "each"
    ),
    **dict.fromkeys(("DebertaV2ForTokenClassification", "GPT2ForTokenClassification"), "each"),
    **dict.fromkeys(("DistilBertForQuestionAnswering", "T5ForTokenClassification"), "each"),
    **dict.fromkeys(("ModernBertForTokenClassification", "AlbertForTokenClassification"), "each"),
    "AlbertForSequenceClassification": "first",
    **dict.fromkeys(("BertForSequenceClassification", "BertForNextSentencePrediction"), "first"),
    **dict.fromkeys(("RobertaForSequenceClassification", "XLMRobertaForSequenceClassification"), "first"),
    **dict.fromkeys(("DistilBertForSequenceClassification", "ElectraForSequenceClassification"), "first"),
    **dict.fromkeys(("DebertaV2ForSequenceClassification", "ModernBertForSequenceClassification"), "first"),
    **dict.fromkeys(("GPT2ForSequenceClassification", "LlamaForSequenceClassification"), "last"),
    **dict.fromkeys(("XLNetForTokenClassification", "XLNetForQuestionAnsweringSimple"), "each"),
    "XLNetForSequenceClassification": "last",
}
"""Classifiers whose logits are read, by the position that they report."""

LABELS = ("good", "bad", "neither")
CONFIGS = {
    "Bert": BERT, "Llama": LLAMA, "DebertaV2": DEBERTA, "GPT2": GPT2, "DistilBert": DISTILBERT, "T5": T5,
    "ModernBert": MODERNBERT, "Albert": ALBERT, "Roberta": ROBERTA, "XLMRoberta": XLM_ROBERTA,
    "Electra": ELECTRA, "XLNet": XLNET,
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_the_logits_of_the_classes_are_those_of_transformers(tmp_path: Path, name: str) -> None:
    config = copy.deepcopy(CONFIGS[name.partition("For")[0]])
    has_labels = "Question" not in name and "Next" not in name
    if has_labels:
        config.id2label = dict(enumerate(LABELS))
    with promoted():
        model = random_model(getattr(transformers, name), config)
        wanted = logits_of(model)
    experiment = imported(model, tmp_path)
    assert experiment.vocabulary is not None and experiment.vocabulary.classes is not None
    classes = experiment.vocabulary.classes
    assert classes.reads == READ[name]
    assert classes.distribution == ("Question" not in name)
    assert not has_labels or classes.labels == LABELS
    assert describe(tmp_path).classes == classes and not describe(tmp_path).left_out
    for engine in (NumpyEngine("float64"), TorchEngine("float64", "cpu")):
        trace = run(engine, experiment)
        found = trace.site(trace.sites[-1])["logits"]
        rows = {"each": slice(None), "first": slice(0, 1), "last": slice(-1, None)}[classes.reads]
        np.testing.assert_allclose(found[rows], wanted, rtol=0, atol=1e-12)
        assert trace.site(trace.sites[-1]).labels("vocabulary") == classes.labels


READ_AND_WRITTEN = {
    "BartForSequenceClassification": transformers.BartConfig(
        vocab_size=20, d_model=8, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=12, decoder_ffn_dim=12, max_position_embeddings=16,
        eos_token_id=1, bos_token_id=4, pad_token_id=6, decoder_start_token_id=1,
        id2label=dict(enumerate(LABELS)),
    ),
    "T5ForSequenceClassification": transformers.T5Config(
        vocab_size=20, d_model=8, d_kv=4, d_ff=12, num_layers=2, num_heads=2,
        relative_attention_num_buckets=8, relative_attention_max_distance=7, eos_token_id=1,
        decoder_start_token_id=0, id2label=dict(enumerate(LABELS)),
    ),
}  # fmt: skip
"""Classifiers whose encoder reads the text, and whose decoder reads it again, one token later."""


@pytest.mark.parametrize("name", READ_AND_WRITTEN)
def test_an_encoder_and_a_decoder_classify_as_in_transformers(tmp_path: Path, name: str) -> None:
    config = copy.deepcopy(READ_AND_WRITTEN[name])
    assert IDS[-1] == config.eos_token_id  # the token whose vector is classified: the last one
    with promoted():
        model = random_model(getattr(transformers, name), config)
        wanted = logits_of(model)
    written = (config.decoder_start_token_id, *IDS[:-1])
    experiment = imported(model, tmp_path, written, memory_ids=IDS)
    assert experiment.vocabulary is not None and experiment.vocabulary.classes is not None
    assert experiment.vocabulary.classes.reads == "last" and experiment.vocabulary.classes.labels == LABELS
    for engine in (NumpyEngine("float64"), TorchEngine("float64", "cpu")):
        trace = run(engine, experiment)
        found = trace.site(trace.sites[-1])["logits"][-1:]
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)


def test_a_classifier_says_what_it_reads_and_generates_no_token(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    config = copy.deepcopy(GPT2)
    config.id2label = dict(enumerate(LABELS))
    experiment = imported(random_model(transformers.GPT2ForSequenceClassification, config), tmp_path)
    made = tmp_path / "made.safetensors"
    assert main(["import", str(tmp_path), "--ids", "1,2,3", "-o", str(made)]) == 0
    says = "The logits are those of the classes good, bad, neither; the classifier reports those of the last"
    assert says in capfd.readouterr().err
    sentence = "vocabulary.classes must be null, since a classifier generates no token; got 3 classes."
    with pytest.raises(ValueError, match=re.escape(sentence)):
        decode(NumpyEngine("float64"), experiment)
    with pytest.raises(ValueError, match="a classifier has no next token"):
        backward(NumpyEngine("float64"), experiment, LOSS)


def test_the_head_that_is_not_read_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    random_model(transformers.ElectraForPreTraining, ELECTRA).save_pretrained(tmp_path)
    found = describe(tmp_path).left_out
    names = ", ".join(found)
    assert found and all(name.startswith("discriminator_predictions.") for name in found)
    made = tmp_path / "made.safetensors"
    assert main(["import", str(tmp_path), "--ids", "1,2,3", "-o", str(made)]) == 0
    assert f"The head for classes is not read: {names}." in capfd.readouterr().err
    assert made.exists()
