"""BLOOM, BERT, DeBERTa-v2 and T5 against eager `transformers` with random weights, layer by layer, in
float64, on both engines.

The models are saved by `save_pretrained` and read from the disk. `reference_models.promoted` says how the
library's own casts to float32 are made float64. BLOOM's GELU there has √(2/π) to eight digits; `exact_gelu`
gives it all of them, and one test runs it as it is and finds no more than that rounding.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from checkpoints.reference_models import (  # noqa: E402  (skipped without it)
    IDS,
    Expected,
    expected,
    first_of,
    imported,
    promoted,
    random_model,
    rewrite_config,
    run_and_compare,
)
from transformers import (  # noqa: E402
    BertConfig,
    BertForMaskedLM,
    BertForPreTraining,
    BertLMHeadModel,
    BertModel,
    BloomConfig,
    BloomForCausalLM,
    BloomModel,
    DebertaV2Config,
    DebertaV2ForMaskedLM,
    DebertaV2Model,
    DistilBertConfig,
    DistilBertForMaskedLM,
    DistilBertModel,
    RobertaConfig,
    RobertaForMaskedLM,
    RobertaModel,
    T5Config,
    T5ForConditionalGeneration,
    T5Model,
    XLMRobertaConfig,
    XLMRobertaForMaskedLM,
)
from transformers.models.bloom import modeling_bloom  # noqa: E402

from attnviz.checkpoints import CheckpointError, import_checkpoint  # noqa: E402
from attnviz.cli import main  # noqa: E402
from attnviz.engines.numpy_engine import NumpyEngine  # noqa: E402
from attnviz.engines.run import run  # noqa: E402
from attnviz.engines.torch_engine import TorchEngine  # noqa: E402
from attnviz.errors import quoted  # noqa: E402
from attnviz.model.spec.experiment import Experiment  # noqa: E402
from attnviz.model.spec.parts import Padding  # noqa: E402
from attnviz.model.stages import result_of  # noqa: E402
from attnviz.model.trace import Trace  # noqa: E402

TOLERANCE = 1e-10
MEMORY_IDS = (8, 4, 4, 12, 1, 6)
"""Input of T5's encoder: six tokens, so that the attention to it is not square."""

ENGINES = pytest.mark.parametrize(
    "engine", [NumpyEngine("float64"), TorchEngine("float64", "cpu")], ids=["numpy", "torch"]
)

Case = tuple[type[Any], type[Any], dict[str, Any]]

BLOOM = {"vocab_size": 13, "hidden_size": 24, "n_layer": 3, "n_head": 4}
BERT = {
    "vocab_size": 13,
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 40,
    "max_position_embeddings": 20,
    "layer_norm_eps": 1e-3,
}
# The padding token, which no text has: positions pass over it.
ROBERTA = {**BERT, "pad_token_id": 4}
ELECTRA = {**BERT, "embedding_size": 24}
ALBERT = {**BERT, "embedding_size": 10}
CLIP = {
    "vocab_size": 13,
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "max_position_embeddings": 20,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 9,
}
DISTILBERT = {
    "vocab_size": 13,
    "dim": 24,
    "n_layers": 3,
    "n_heads": 4,
    "hidden_dim": 40,
    "max_position_embeddings": 20,
}
DEBERTA = {
    **BERT,
    "relative_attention": True,
    "pos_att_type": ["c2p", "p2c"],
    "position_buckets": 4,
    "max_relative_positions": 7,
    "position_biased_input": False,
    "norm_rel_ebd": "layer_norm",
    "share_att_key": True,
}
BART = {
    "vocab_size": 13,
    "d_model": 24,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_ffn_dim": 30,
    "decoder_ffn_dim": 40,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 4,
    "max_position_embeddings": 20,
    "pad_token_id": 1,
    "decoder_start_token_id": 0,
    "forced_eos_token_id": None,
}
MODERN = {
    **{key: value for key, value in BERT.items() if key != "layer_norm_eps"},
    "local_attention": 4,
    "num_hidden_layers": 4,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "cls_token_id": 1,
    "sep_token_id": 2,
}
XLNET = {"vocab_size": 13, "d_model": 24, "n_layer": 3, "n_head": 4, "d_inner": 40, "layer_norm_eps": 1e-3}
T5 = {
    "vocab_size": 13,
    "d_model": 24,
    "d_kv": 5,
    "d_ff": 40,
    "num_layers": 2,
    "num_decoder_layers": 3,
    "num_heads": 4,
    "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 7,
    "decoder_start_token_id": 0,
}

CASES: dict[str, Case] = {
    "bloom": (BloomForCausalLM, BloomConfig, BLOOM),
    "bloom, heads that are no power of two": (BloomForCausalLM, BloomConfig, {**BLOOM, "n_head": 6}),
    "bloom untied": (BloomForCausalLM, BloomConfig, {**BLOOM, "tie_word_embeddings": False}),
    "bloom without a head": (BloomModel, BloomConfig, BLOOM),
    "bert": (BertForMaskedLM, BertConfig, BERT),
    "bert untied": (BertForMaskedLM, BertConfig, {**BERT, "tie_word_embeddings": False}),
    "bert relu, one type": (
        BertForMaskedLM,
        BertConfig,
        {**BERT, "hidden_act": "relu", "type_vocab_size": 1, "num_hidden_layers": 1},
    ),
    "bert, causal": (BertLMHeadModel, BertConfig, {**BERT, "is_decoder": True}),
    "bert without a head": (BertModel, BertConfig, BERT),
    "roberta": (RobertaForMaskedLM, RobertaConfig, ROBERTA),
    "xlm-roberta": (
        XLMRobertaForMaskedLM,
        XLMRobertaConfig,
        {**ROBERTA, "type_vocab_size": 1},
    ),
    "roberta without a head": (RobertaModel, RobertaConfig, ROBERTA),
    "distilbert": (DistilBertForMaskedLM, DistilBertConfig, DISTILBERT),
    "distilbert without a head": (DistilBertModel, DistilBertConfig, DISTILBERT),
    "clip": (transformers.CLIPTextModel, transformers.CLIPTextConfig, CLIP),
    "siglip": (transformers.SiglipTextModel, transformers.SiglipTextConfig, CLIP),
    "electra": (transformers.ElectraForMaskedLM, transformers.ElectraConfig, ELECTRA),
    "electra without a head": (transformers.ElectraModel, transformers.ElectraConfig, ELECTRA),
    "electra, narrow embedding": (
        transformers.ElectraForMaskedLM,
        transformers.ElectraConfig,
        {**ELECTRA, "embedding_size": 10},
    ),
    "electra, narrow embedding without a head": (
        transformers.ElectraModel,
        transformers.ElectraConfig,
        {**ELECTRA, "embedding_size": 10},
    ),
    "albert": (transformers.AlbertForMaskedLM, transformers.AlbertConfig, ALBERT),
    "albert for pretraining": (transformers.AlbertForPreTraining, transformers.AlbertConfig, ALBERT),
    "albert without a head": (
        transformers.AlbertModel,
        transformers.AlbertConfig,
        {**ALBERT, "hidden_act": "relu", "embedding_size": 24},
    ),
    "modernbert": (transformers.ModernBertForMaskedLM, transformers.ModernBertConfig, MODERN),
    "modernbert, biases": (
        transformers.ModernBertForMaskedLM,
        transformers.ModernBertConfig,
        {**MODERN, "attention_bias": True, "mlp_bias": True, "classifier_bias": True, "decoder_bias": False},
    ),
    "deberta": (DebertaV2ForMaskedLM, DebertaV2Config, DEBERTA),
    "deberta, keys of their own": (
        DebertaV2ForMaskedLM,
        DebertaV2Config,
        {**DEBERTA, "share_att_key": False, "norm_rel_ebd": "none", "tie_word_embeddings": False},
    ),
    "deberta c2p alone": (
        DebertaV2ForMaskedLM,
        DebertaV2Config,
        {**DEBERTA, "share_att_key": False, "pos_att_type": "c2p", "legacy": False},
    ),
    "deberta p2c alone": (
        DebertaV2ForMaskedLM,
        DebertaV2Config,
        {**DEBERTA, "pos_att_type": ["p2c"], "type_vocab_size": 2},
    ),
    "deberta without buckets": (
        DebertaV2Model,
        DebertaV2Config,
        {**DEBERTA, "position_buckets": -1, "max_relative_positions": 3},
    ),
    "deberta without buckets, any distance": (
        DebertaV2Model,
        DebertaV2Config,
        {**DEBERTA, "position_buckets": -1, "max_relative_positions": -1},
    ),
    "deberta without distances": (
        DebertaV2Model,
        DebertaV2Config,
        {
            **DEBERTA,
            "relative_attention": False,
            "position_biased_input": True,
            "norm_rel_ebd": "none",
            "type_vocab_size": 1,
        },
    ),
}

CASES |= {
    "xlnet": (transformers.XLNetLMHeadModel, transformers.XLNetConfig, XLNET),
    "xlnet, causal and untied": (
        transformers.XLNetLMHeadModel,
        transformers.XLNetConfig,
        {**XLNET, "attn_type": "uni", "tie_word_embeddings": False, "ff_activation": "relu"},
    ),
    "xlnet without a head": (transformers.XLNetModel, transformers.XLNetConfig, XLNET),
}

T5_CASES: dict[str, Case] = {
    "t5": (T5ForConditionalGeneration, T5Config, T5),
    "t5 gated": (T5ForConditionalGeneration, T5Config, {**T5, "feed_forward_proj": "gated-gelu"}),
    "t5 silu, as many layers": (
        T5ForConditionalGeneration,
        T5Config,
        {**T5, "feed_forward_proj": "gated-silu", "num_decoder_layers": None, "d_kv": 6},
    ),
    "t5 logits as they are": (
        T5ForConditionalGeneration,
        T5Config,
        {
            **T5,
            "tie_word_embeddings": False,
            "relative_attention_num_buckets": 32,
            "relative_attention_max_distance": 128,
        },
    ),
    "t5 without a head": (T5Model, T5Config, T5),
    "bart": (transformers.BartForConditionalGeneration, transformers.BartConfig, BART),
    "bart without a head": (
        transformers.BartModel,
        transformers.BartConfig,
        {**BART, "scale_embedding": True, "activation_function": "relu"},
    ),
    "marian": (
        transformers.MarianMTModel,
        transformers.MarianConfig,
        {**BART, "scale_embedding": True, "decoder_vocab_size": 13},
    ),
}


@contextmanager
def exact_gelu() -> Iterator[None]:
    """BLOOM's GELU with the root that its constant stands for."""

    def gelu(x: Any) -> Any:
        return x * 0.5 * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * x * (1 + 0.044715 * x * x)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(modeling_bloom, "bloom_gelu_forward", gelu)
        yield


@pytest.fixture(scope="module", params=CASES, ids=list(CASES))
def case(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Experiment, Expected]:
    model_type, config_type, values = CASES[request.param]
    folder: Path = tmp_path_factory.mktemp("model")
    with promoted(), exact_gelu():
        model = random_model(model_type, config_type(**values))
        wanted = expected(model)
    return imported(model, folder), wanted


@ENGINES
def test_every_layer_equals_transformers(case: tuple[Experiment, Expected], engine: Any) -> None:
    experiment, wanted = case
    assert max(float(abs(layer).max()) for layer in wanted.hidden) > 0.5
    found = run_and_compare(engine, experiment, wanted)
    assert found.keys() >= {"weights", "hidden states"}
    assert (wanted.logits is None) == ("logits" not in found)
    assert max(found.values()) < TOLERANCE, found


def test_blooms_own_gelu_differs_by_its_rounded_constant_alone(tmp_path: Path) -> None:
    with promoted():
        model = random_model(BloomForCausalLM, BloomConfig(**BLOOM))
        wanted = expected(model)
    found = run_and_compare(NumpyEngine("float64"), imported(model, tmp_path), wanted)
    assert 1e-10 < max(found.values()) < 1e-7, found


@pytest.mark.parametrize("name", ["bert", "deberta"])
def test_padding(name: str, tmp_path: Path) -> None:
    """Rows of padding are compared in BERT alone: those of DeBERTa there see nothing, not even themselves."""
    n_read = 6
    model_type, config_type, values = CASES[name]
    with promoted():
        model = random_model(model_type, config_type(**values))
        mask = torch.tensor([[one < n_read for one in range(len(IDS))]], dtype=torch.float64)
        with torch.no_grad():
            wanted = model(torch.tensor([IDS]), attention_mask=mask, output_attentions=True)
    padding = (Padding(tuple(range(n_read, len(IDS)))),)
    experiment = imported(model, tmp_path)
    layers = tuple(replace(layer, masks=padding) for layer in experiment.layers)
    trace = run(NumpyEngine("float64"), replace(experiment, layers=layers))
    rows = slice(None) if name == "bert" else slice(n_read)
    for site, of in zip(trace.sites, wanted.attentions, strict=True):
        ours, theirs = trace.site(site)["weights"][:, rows], of[0].numpy()[:, rows]
        assert not ours[..., n_read:].any()
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=TOLERANCE)
    logits = trace.site(trace.sites[-1])["logits"]
    np.testing.assert_allclose(logits[rows], wanted.logits[0].numpy()[rows], rtol=0, atol=TOLERANCE)


# --- encoder and decoder ---------------------------------------------------------------------------


def both_stacks(model: Any) -> Any:
    """Output of T5 for `IDS` while its encoder reads `MEMORY_IDS`."""
    with torch.no_grad():
        return model(
            input_ids=torch.tensor([MEMORY_IDS]),
            decoder_input_ids=torch.tensor([IDS]),
            output_attentions=True,
            output_hidden_states=True,
            use_cache=False,
        )


@pytest.fixture(scope="module", params=T5_CASES, ids=list(T5_CASES))
def t5_case(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Experiment, Any]:
    model_type, config_type, values = T5_CASES[request.param]
    with promoted():
        model = random_model(model_type, config_type(**values))
        wanted = both_stacks(model)
    folder: Path = tmp_path_factory.mktemp("model")
    return imported(model, folder, memory_ids=MEMORY_IDS), wanted


@ENGINES
def test_all_three_attentions_of_t5_equal_transformers(t5_case: tuple[Experiment, Any], engine: Any) -> None:
    experiment, wanted = t5_case
    trace = run(engine, experiment)
    found = t5_differences(trace, wanted)
    assert found.keys() >= {"encoder", "decoder", "cross", "encoder states", "decoder states"}
    assert hasattr(wanted, "logits") == ("logits" in found)
    assert max(found.values()) < TOLERANCE, found


def t5_differences(trace: Trace, wanted: Any) -> dict[str, float]:
    """The largest differences of weights and hidden states of each stack, and of logits."""
    kinds = {"encoder": "self", "decoder": "self", "cross": "cross"}
    attentions = {kind: getattr(wanted, f"{kind}_attentions") for kind in kinds}
    assert len(trace.sites) == sum(map(len, attentions.values()))
    found = {}
    for kind, of in attentions.items():
        stack = "encoder" if kind == "encoder" else "decoder"
        sites = [trace.site(f"{stack}.{layer}.{kinds[kind]}") for layer in range(len(of))]
        found[kind] = largest([site["weights"] for site in sites], of)
        if kind != "cross":
            states = getattr(wanted, f"{kind}_hidden_states")
            last = sites[-1] if kind == "encoder" else trace.site(trace.sites[-1])
            out = last[result_of(last.stages)]
            came_in = [site["layer_input" if layer else first_of(site)] for layer, site in enumerate(sites)]
            found[f"{kind} states"] = largest([*came_in, out], states)
    if hasattr(wanted, "logits"):
        found["logits"] = largest([trace.site(trace.sites[-1])["logits"]], [wanted.logits])
    return found


def largest(ours: list[NDArray[np.float64]], theirs: Any) -> float:
    assert len(ours) == len(theirs)
    return max(float(abs(a - b[0].numpy()).max()) for a, b in zip(ours, theirs, strict=True))


def test_the_shell_sends_a_model_of_two_texts_to_the_import(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    random_model(T5ForConditionalGeneration, T5Config(**T5)).save_pretrained(tmp_path)
    capsys.readouterr()
    assert main(["heads", str(tmp_path), "--text", "a"]) == 2
    wanted = "DOC must be a document that attnviz import writes, as the input of this model is not one text"
    assert capsys.readouterr().err == f"attnviz: {wanted}; got {quoted(str(tmp_path))}.\n"


def test_t5_with_an_unembedding_of_its_own(tmp_path: Path) -> None:
    """Saved by a version of the library that does not tie what the configuration does not tie."""
    with promoted():
        model = random_model(T5ForConditionalGeneration, T5Config(**{**T5, "tie_word_embeddings": False}))
        tied = both_stacks(model)
    model.save_pretrained(tmp_path)
    rewrite_config(tmp_path, {"tie_word_embeddings": False, "scale_decoder_outputs": None})
    file = tmp_path / "model.safetensors"
    with pytest.raises(
        CheckpointError,
        match=r"model\.safetensors: tensor 'lm_head\.weight' must have the shape 13x24 of "
        r"this configuration; got nothing\.",
    ):
        import_checkpoint(tmp_path, ids=IDS, memory_ids=MEMORY_IDS)
    own = np.random.default_rng(5).standard_normal((13, 24))
    save_file({**load_file(file), "lm_head.weight": own}, file)
    experiment = import_checkpoint(tmp_path, ids=IDS, memory_ids=MEMORY_IDS, dtype="float64").experiment
    logits = run(NumpyEngine("float64"), experiment).site("decoder.2.cross")["logits"]
    np.testing.assert_allclose(
        logits, tied.decoder_hidden_states[-1][0].numpy() @ own.T, rtol=0, atol=TOLERANCE
    )


def test_a_sequence_for_each_stack(tmp_path: Path) -> None:
    model = random_model(T5Model, T5Config(**T5))
    with pytest.raises(
        CheckpointError, match=r"memory_ids must be a list of token ids, or a text must be given; got null\."
    ):
        imported(model, tmp_path)


# --- every tensor counts ---------------------------------------------------------------------------


def a_model_of(name: str) -> tuple[Any, dict[str, Any]]:
    """A model of a case, and what it is imported with besides its tokens."""
    model_type, config_type, values = {**CASES, **T5_CASES}[name]
    return random_model(model_type, config_type(**values)), (
        {"memory_ids": MEMORY_IDS} if name.startswith("t5") else {}
    )


ONE_OF_EACH = (
    "bloom untied",
    "t5",
    "t5 gated",
    "electra, narrow embedding",
    "albert",
    "modernbert, biases",
    "bert",
    "bert untied",
    "deberta",
    "deberta, keys of their own",
    "deberta c2p alone",
)


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_every_tensor_is_needed_in_its_shape(name: str, tmp_path: Path) -> None:
    model, options = a_model_of(name)
    experiment = imported(model, tmp_path, **options)
    file = tmp_path / "model.safetensors"
    tensors = load_file(file)
    for tensor in sorted(tensors):
        if model.config.tie_word_embeddings is False and tensor == "cls.predictions.bias":
            continue  # what an untied head has and never adds
        kept = {other: array for other, array in tensors.items() if other != tensor}
        save_file(kept, file)
        with pytest.raises(
            CheckpointError,
            match=re.escape(f"tensor {tensor!r} must have the shape ") + ".*; got nothing",
        ) as caught:
            import_checkpoint(tmp_path, ids=IDS, **options)
        assert repr(tensor) in str(caught.value)
        longer = np.concatenate([tensors[tensor], tensors[tensor][:1]])
        save_file({**kept, tensor: longer}, file)
        with pytest.raises(
            CheckpointError,
            match=re.escape(f"tensor {tensor!r} must have the shape ") + r".*; got \d",
        ):
            import_checkpoint(tmp_path, ids=IDS, **options)
        # Another number in any tensor makes another experiment: none is read and thrown away.
        changed = tensors[tensor].copy()
        changed.flat[0] += 1.0
        save_file({**kept, tensor: changed}, file)
        found = import_checkpoint(tmp_path, ids=IDS, dtype="float64", **options).experiment
        assert found != experiment, tensor


@pytest.mark.parametrize(
    ("name", "tensor"),
    [
        ("bloom", "transformer.h.3.input_layernorm.weight"),
        ("bloom", "transformer.h.0.self_attention.query.weight"),
        ("bert", "bert.encoder.layer.3.output.dense.bias"),
        ("bert", "bert.encoder.layer.0.crossattention.self.query.weight"),
        ("bert", "classifier.weight"),
        ("deberta", "deberta.encoder.layer.0.attention.self.pos_key_proj.weight"),
        ("deberta", "deberta.encoder.conv.conv.weight"),
        ("deberta", "deberta.embeddings.position_embeddings.weight"),
        ("t5", "encoder.block.1.layer.0.SelfAttention.relative_attention_bias.weight"),
        ("t5", "encoder.block.0.layer.1.DenseReluDense.wi_0.weight"),
        ("t5", "decoder.block.0.layer.0.SelfAttention.q.bias"),
    ],
)
def test_a_tensor_without_a_place_is_refused(name: str, tensor: str, tmp_path: Path) -> None:
    model, options = a_model_of(name)
    imported(model, tmp_path, **options)
    file = tmp_path / "model.safetensors"
    save_file({**load_file(file), tensor: np.ones((2, 2))}, file)
    said = "a tensor of this configuration; got one of shape 2x2."
    if ".3." in tensor:
        said = "in one of the layers 0 to 2 of this configuration; got layer 3."
    with pytest.raises(CheckpointError, match=re.escape(f"tensor {tensor!r} must be {said}")) as caught:
        import_checkpoint(tmp_path, ids=IDS, **options)
    assert repr(tensor) in str(caught.value)


def test_a_copy_of_the_embedding_is_one(tmp_path: Path) -> None:
    model, options = a_model_of("t5")
    experiment = imported(model, tmp_path, **options)
    file = tmp_path / "model.safetensors"
    tensors = load_file(file)
    copies = {
        name: tensors["shared.weight"].copy() for name in ("lm_head.weight", "encoder.embed_tokens.weight")
    }
    save_file({**tensors, **copies}, file)
    assert import_checkpoint(tmp_path, ids=IDS, dtype="float64", **options).experiment == experiment
    copies["encoder.embed_tokens.weight"][0, 0] += 1
    save_file({**tensors, **copies}, file)
    with pytest.raises(
        CheckpointError,
        match=r"model\.safetensors: tensor 'encoder\.embed_tokens\.weight' must equal "
        r"'shared\.weight', to which this configuration ties it; got other numbers\.",
    ):
        import_checkpoint(tmp_path, ids=IDS, **options)


def test_heads_that_are_not_read_may_be_there(tmp_path: Path) -> None:
    with promoted():
        model = random_model(BertForPreTraining, BertConfig(**BERT))
        with torch.no_grad():
            wanted = model(torch.tensor([IDS])).prediction_logits[0].numpy()
    experiment = imported(model, tmp_path)
    assert "bert.pooler.dense.weight" in load_file(tmp_path / "model.safetensors")
    rewrite_config(tmp_path, {"architectures": ["BertLMHeadModel"]})
    assert import_checkpoint(tmp_path, ids=IDS, dtype="float64").experiment == experiment
    logits = run(NumpyEngine("float64"), experiment).site("layers.2.self")["logits"]
    np.testing.assert_allclose(logits, wanted, rtol=0, atol=TOLERANCE)


def test_norms_by_their_old_names(tmp_path: Path) -> None:
    model, _options = a_model_of("bert")
    experiment = imported(model, tmp_path)
    file = tmp_path / "model.safetensors"
    tensors = load_file(file)
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): array
        for name, array in tensors.items()
    }
    assert sum(name not in tensors for name in old) == 2 * (1 + 2 * 3 + 1)
    save_file(old, file)
    assert import_checkpoint(tmp_path, ids=IDS, dtype="float64").experiment == experiment
    gain = "bert.embeddings.LayerNorm.weight"
    save_file({**old, gain: tensors[gain]}, file)
    with pytest.raises(
        CheckpointError,
        match=r"model\.safetensors: tensor 'bert\.embeddings\.LayerNorm\.weight' must have one "
        r"name; 'bert\.embeddings\.LayerNorm\.gamma' names the same numbers; got two names\.",
    ):
        import_checkpoint(tmp_path, ids=IDS)
    del old["bert.embeddings.LayerNorm.gamma"]
    save_file(old, file)
    with pytest.raises(CheckpointError, match=f"tensor '{gain}' must have the shape 24 .*; got nothing"):
        import_checkpoint(tmp_path, ids=IDS)


# Keys besides those that `save_pretrained` writes, as configurations of published models have them.
OLD_KEYS: dict[str, dict[str, Any]] = {
    "bloom": {
        "n_embed": 24,
        "num_attention_heads": 4,
        "attention_softmax_in_fp32": True,
        "bias_dropout_fusion": True,
        "masked_softmax_fusion": True,
        "offset_alibi": 100,
        "seq_length": 4096,
        "skip_bias_add": True,
        "skip_bias_add_qkv": False,
        "n_inner": None,
        "pretraining_tp": 1,
    },
    "bert": {
        "gradient_checkpointing": False,
        "position_embedding_type": "absolute",
        "directionality": "bidi",
        "pooler_fc_size": 768,
        "pooler_num_attention_heads": 12,
        "pooler_num_fc_layers": 3,
        "pooler_size_per_head": 128,
        "pooler_type": "first_token_transform",
    },
    "deberta": {
        "pos_att_type": "p2c|c2p",
        "attention_head_size": 6,
        "pooler_dropout": 0,
        "conv_kernel_size": 0,
    },
    "t5": {
        "n_positions": 512,
        "output_past": True,
        "task_specific_params": {"summarization": {"prefix": "summarize: "}},
        "dense_act_fn": "relu",
        "is_gated_act": False,
    },
}


@pytest.mark.parametrize("name", OLD_KEYS)
def test_keys_that_change_nothing_may_be_there(name: str, tmp_path: Path) -> None:
    model, options = a_model_of(name)
    experiment = imported(model, tmp_path, **options)
    rewrite_config(tmp_path, OLD_KEYS[name])
    assert import_checkpoint(tmp_path, ids=IDS, dtype="float64", **options).experiment == experiment


# --- what is refused -------------------------------------------------------------------------------

REFUSED: tuple[tuple[str, dict[str, Any], str], ...] = (
    (
        "bloom",
        {"apply_residual_connection_post_layernorm": True},
        "config.json: apply_residual_connection_post_layernorm must be false; got true.",
    ),
    ("bloom", {"n_head": 5}, "config.json: n_head must be a divisor of hidden_size (24); got 5."),
    ("bloom", {"n_embed": 12}, "config.json: hidden_size must be 12 (n_embed); got 24."),
    (
        "bloom",
        {"alibi_bias_max": 16},
        "config.json: alibi_bias_max must be a key of BLOOM, since it may change numbers; got 16.",
    ),
    ("bert", {"add_cross_attention": True}, "config.json: add_cross_attention must be false; got true."),
    (
        "bert",
        {"position_embedding_type": "relative_key"},
        "config.json: position_embedding_type must be 'absolute'; got 'relative_key'.",
    ),
    (
        "bert",
        {"hidden_act": "mish"},
        "config.json: hidden_act must be one of 'silu', 'swish', 'gelu', 'gelu_pytorch_tanh', "
        "'gelu_new', 'relu', 'quick_gelu', 'tanh', 'relu2', 'sigmoid', 'linear', 'gelu_python'; got 'mish'.",
    ),
    (
        "bert",
        {"num_attention_heads": 5},
        "config.json: num_attention_heads must be a divisor of hidden_size (24); got 5.",
    ),
    (
        "bert",
        {"embedding_size": 12},
        "config.json: embedding_size must be a key of BERT, since it may change numbers; got 12.",
    ),
    ("deberta", {"conv_kernel_size": 3}, "config.json: conv_kernel_size must be 0; got 3."),
    (
        "deberta",
        {"pos_att_type": "c2p|p2p"},
        "config.json: pos_att_type must be a list, or a text with bars, of 'c2p', 'p2c'; got 'c2p|p2p'.",
    ),
    (
        "deberta",
        {"norm_rel_ebd": "batch"},
        "config.json: norm_rel_ebd must be a list, or a text with bars, of 'none', 'layer_norm'; "
        "got 'batch'.",
    ),
    (
        "deberta",
        {"position_biased_input": True},
        "config.json: position_biased_input must be false with relative_attention; got true.",
    ),
    (
        "deberta",
        {"position_buckets": 5},
        "config.json: position.span must be an even number of at least 2; got 5.",
    ),
    (
        "deberta",
        {"embedding_size": 12},
        "config.json: embedding_size must be 24 for these heads and hidden_size; got 12.",
    ),
    (
        "deberta",
        {"attention_head_size": 12},
        "config.json: attention_head_size must be 6 for these heads and hidden_size; got 12.",
    ),
    ("t5", {"is_decoder": True}, "config.json: is_decoder must be false; got true."),
    (
        "t5",
        {"feed_forward_proj": "swiglu"},
        "config.json: feed_forward_proj must be one of 'relu', 'gelu', 'gelu_new', 'silu', "
        "'gated-relu', 'gated-gelu', 'gated-gelu_new', 'gated-silu'; got 'swiglu'.",
    ),
    (
        "t5",
        {"dense_act_fn": "silu"},
        "config.json: dense_act_fn must be 'relu', as feed_forward_proj says; got 'silu'.",
    ),
    (
        "t5",
        {"relative_attention_num_buckets": 7},
        "config.json: position.n_buckets must be an even number of at least 2; got 7.",
    ),
    (
        "t5",
        {"attention_scale": 0.5},
        "config.json: attention_scale must be a key of T5, since it may change numbers; got 0.5.",
    ),
)


@pytest.mark.parametrize(("name", "changes", "words"), REFUSED)
def test_what_would_change_numbers_is_refused(
    name: str, changes: dict[str, Any], words: str, tmp_path: Path
) -> None:
    model, options = a_model_of(name)
    imported(model, tmp_path, **options)
    rewrite_config(tmp_path, changes)
    with pytest.raises(CheckpointError) as caught:
        import_checkpoint(tmp_path, ids=IDS, **options)
    assert str(caught.value).startswith(f"config.json: {words.removeprefix('config.json: ')}")
    assert "\n" not in str(caught.value)


# --- the attention alone ---------------------------------------------------------------------------


def test_the_first_attention_of_t5s_decoder_alone(tmp_path: Path) -> None:
    with promoted():
        model = random_model(T5ForConditionalGeneration, T5Config(**T5))
        outputs: list[Any] = []
        first = model.decoder.block[0].layer[0].SelfAttention
        first.register_forward_hook(lambda module, given, out: outputs.append(out[0][0].numpy()))
        wanted = both_stacks(model)
    trace = run(NumpyEngine("float64"), imported(model, tmp_path, attention_only=True))
    assert trace.sites == ("layers.0.self",)
    weights = wanted.decoder_attentions[0][0].numpy()
    np.testing.assert_allclose(trace["weights"], weights, rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(trace["attention_output"], outputs[0], rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("name", ["bloom", "bert", "deberta"])
def test_the_first_attention_alone(name: str, tmp_path: Path) -> None:
    model_type, config_type, values = CASES[name]
    with promoted():
        model = random_model(model_type, config_type(**values))
        wanted = expected(model)
    trace = run(NumpyEngine("float64"), imported(model, tmp_path, attention_only=True))
    np.testing.assert_allclose(trace["weights"], wanted.weights[0], rtol=0, atol=TOLERANCE)
