"""GGUF files: the same weights as `transformers` reads of them, and the same ids of a text."""

from __future__ import annotations

import json
import re
import struct
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from checkpoints.reference_models import IDS, promoted

from attnviz.analysis import head_scores
from attnviz.checkpoints import CheckpointError, import_checkpoint
from attnviz.checkpoints.gguf import blocks, rotation
from attnviz.checkpoints.gguf.architectures import (
    ARCHITECTURE_BY_ID,
    ARCHITECTURES,
    IDLE,
    as_stored,
    minus_one,
)
from attnviz.checkpoints.gguf.reader import PLAIN, GgufTensor
from attnviz.checkpoints.importing import describe
from attnviz.checkpoints.opening import open_checkpoint
from attnviz.cli import main
from attnviz.compute.estimate import estimate
from attnviz.compute.execute import execute
from attnviz.engines.engine import ITEMSIZE
from attnviz.model.io.files import matrices
from attnviz.model.spec.arrays import widened
from attnviz.model.spec.conversions import Conversions
from attnviz.model.spec.memory_map import Computed
from attnviz.study.survey.store import read_table

gguf = pytest.importorskip("gguf")
pytest.importorskip("accelerate")
import tqdm  # noqa: E402

tqdm.tqdm.monitor_interval = 0  # its thread would outlive the test

TYPES = ("F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q4_K", "Q5_K", "Q6_K")
FACTORS = {"Q4_0": (0,), "Q4_1": (0, 2), "Q8_0": (0,), "Q4_K": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,)}
"""The bytes of a block at which its numbers in float16 begin (ggml-common.h)."""
D, HIDDEN, LAYERS, WORDS, HEADS, KV = 64, 256, 2, 12, 4, 2

NUMBERS = {
    "context_length": 1024,
    "block_count": LAYERS,
    "embedding_length": D,
    "feed_forward_length": HIDDEN,
    "attention.head_count": HEADS,
    "attention.head_count_kv": KV,
    "rope.freq_base": 500.0,
    "attention.layer_norm_rms_epsilon": 1e-5,
    "attention.layer_norm_epsilon": 1e-5,
    "attn_logit_softcapping": 50.0,
    "final_logit_softcapping": 30.0,
    "attention.sliding_window": 4,
}


WORDS_OF_THE_FILE = ["<s>", "a", "b", "c", "ab", "Ġ", "Ġa", "abc", "Ġab", "é", "x", "y"]
TOKENIZER: dict[str, Any] = {
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "gpt-2",
    "tokenizer.ggml.tokens": WORDS_OF_THE_FILE,
    "tokenizer.ggml.token_type": [3] + [1] * (WORDS - 1),
    "tokenizer.ggml.merges": ["a b", "Ġ a", "ab c", "Ġ ab"],
    "tokenizer.ggml.bos_token_id": 0,
    "tokenizer.ggml.eos_token_id": 0,
}
FULL = ("general.", "split.", "tokenizer.")
"""Beginnings of keys that stand without the name of the architecture."""


def width(name: str) -> int:
    """Of a head; transformers does not read it of Qwen3, whose default it has."""
    return 128 if name == "qwen3" else D // HEADS


def shapes(name: str) -> dict[str, tuple[int, ...]]:
    """The tensors of an architecture in the order of NumPy, (out, in)."""
    d_head = width(name)
    kv = KV * d_head if "num_key_value_heads" in ARCHITECTURE_BY_ID[name].keys.values() else D
    matrices = {
        "token_embd": (WORDS, D), "position_embd": (1024, D), "token_types": (2, D), "output": (WORDS, D),
        "attn_q": (HEADS * d_head, D), "attn_k": (kv, D), "attn_v": (kv, D),
        "attn_output": (D, HEADS * d_head),
        "attn_qkv": (3 * D, D), "ffn_gate": (HIDDEN, D), "ffn_up": (HIDDEN, D), "ffn_down": (D, HIDDEN),
        "attn_q_norm": (d_head,), "attn_k_norm": (d_head,),
    }  # fmt: skip
    has_bias = name in ("gpt2", "bert")
    found: dict[str, tuple[int, ...]] = {}
    for row in ARCHITECTURE_BY_ID[name].names:
        if row == "output" and name in ("gemma", "gemma2"):
            continue
        shape = matrices.get(row.removeprefix("blk.{}."), (D,))
        stems = [row.replace("{}", str(layer)) for layer in range(LAYERS)] if "{}" in row else [row]
        for stem in stems:
            found[stem + ".weight"] = shape
            is_table = stem in ("token_embd", "position_embd", "token_types", "output")
            is_qwen = name == "qwen2" and row.endswith(("attn_q", "attn_k", "attn_v"))
            if (has_bias and not is_table) or is_qwen:
                found[stem + ".bias"] = shape[:1]
    return found


def write(
    path: Path, name: str, kind: str = "F32", chat: str | None = None, dtype: Any = np.float32, **more: Any
) -> dict[str, np.ndarray]:
    """A file of random weights; those whose rows are long enough are of the type `kind`."""
    writer, numbers = gguf.GGUFWriter(path, name), np.random.default_rng(0)
    known = {*(key.name for key in ARCHITECTURE_BY_ID[name].keys), "rope.dimension_count"}
    widths = dict.fromkeys(("attention.key_length", "rope.dimension_count"), width(name))
    for key, value in ((key, value) for key, value in {**NUMBERS, **widths}.items() if key in known):
        if key not in more:
            add(writer, f"{name}.{key}", value)
    kept = TOKENIZER if chat is None else {**TOKENIZER, "tokenizer.chat_template": chat}
    for key, value in (kept | more).items():
        if value is not None:
            add(writer, key if key.startswith(FULL) else f"{name}.{key}", value)
    arrays = {}
    for tensor, shape in shapes(name).items():
        array = numbers.standard_normal(shape).astype(dtype)
        array = np.abs(array) if tensor == "rope_freqs.weight" else array
        arrays[tensor] = array
        if len(shape) == 2 and dtype == np.float32:
            to = gguf.GGMLQuantizationType[kind]
            writer.add_tensor(tensor, gguf.quantize(array, to), raw_dtype=to)
        else:
            writer.add_tensor(tensor, array)
    for step in (writer.write_header_to_file, writer.write_kv_data_to_file, writer.write_tensors_to_file):
        step()
    writer.close()
    return arrays


def add(writer: Any, key: str, value: Any) -> None:
    """A key with the type that its value has in Python."""
    kinds = {
        bool: "bool",
        int: "int32",
        float: "float32",
        str: "string",
        list: "array",
        np.float64: "float64",
    }
    getattr(writer, f"add_{kinds[type(value)]}")(key, value)


def test_a_conversation_by_the_file_s_template(tmp_path: Path) -> None:
    """The tokens of the template are those of the file; nothing else is put around the text."""
    write(tmp_path / "model.gguf", "llama", chat="{{ bos_token }}a{{ messages[0].content }}")
    found = import_checkpoint(tmp_path, chat=[{"role": "user", "content": "bc"}])
    assert found.experiment.tokens == ("<s>", "abc")


REFERENCED = ("llama", "qwen2", "qwen3", "gemma2", "gpt2")
"""Architectures that `transformers` reads from GGUF as well."""


@pytest.mark.parametrize("name", REFERENCED)
@pytest.mark.parametrize("kind", ["F32", "F16", "Q8_0"])
def test_weights_are_those_that_transformers_reads(tmp_path: Path, name: str, kind: str) -> None:
    write(tmp_path / "model.gguf", name, kind)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path, gguf_file="model.gguf", dtype=torch.float32
    )
    other, config = tmp_path / "other", model.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    full = type(model)(config)
    full.load_state_dict(model.state_dict())
    full.save_pretrained(other)
    theirs = import_checkpoint(other, ids=IDS, ignore_keys=["feed_forward_length"]).experiment
    ours = import_checkpoint(tmp_path / "model.gguf", ids=IDS).experiment
    wanted, found = dict(matrices(theirs)), dict(matrices(ours))
    assert found.keys() == wanted.keys()
    other_paths = [path for path in wanted if found[path] != wanted[path]]
    for path in other_paths:  # theirs lose digits: 1 is subtracted in float32
        assert name == "gemma2" and path.endswith("gain")
        less = found[path].array - 1.0
        assert np.array_equal(less.astype(np.float32), (wanted[path].array - 1.0).astype(np.float32))
    assert [layer.masks for layer in ours.layers] == [layer.masks for layer in theirs.layers]
    if name == "gemma2":
        return  # its scale is not in the file; llama.cpp has that of the head's width
    first, second = (execute(one) for one in (ours, theirs))
    last = first.sites[-1]
    # It keeps 1e-05 as the nearest float32.
    assert np.allclose(first.site(last)["logits"], second.site(last)["logits"], rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("row", ARCHITECTURES, ids=lambda row: row.id)
def test_every_architecture_reads_every_tensor(tmp_path: Path, row: Any) -> None:
    write(tmp_path / "model.gguf", row.id)
    found = describe(tmp_path)
    assert (found.n_layers, found.n_weights) == (LAYERS, sum(map(np.prod, shapes(row.id).values())))
    assert import_checkpoint(tmp_path, ids=IDS).experiment.layers
    assert set(row.changes) <= set(row.names)
    assert as_stored not in row.changes.values()
    assert (minus_one in row.changes.values()) == row.id.startswith("gemma")


@pytest.mark.parametrize("kind", TYPES)
def test_numbers_of_every_type_are_those_of_the_package(tmp_path: Path, kind: str) -> None:
    to = gguf.GGMLQuantizationType[kind]
    numbers, n_bytes = gguf.GGML_QUANT_SIZES[to]
    raw = np.random.default_rng(1).integers(0, 0x40, (5, 512 // numbers * n_bytes), dtype=np.uint8)
    file = tmp_path / "numbers"
    file.write_bytes(bytes(32) + raw.tobytes())
    dtype = PLAIN.get(to.value, "F32")
    tensor = GgufTensor(file, "x", dtype, (5, 512), 32, (5, 512), to.value, (numbers, n_bytes))
    with np.errstate(all="ignore"):
        wanted = gguf.dequantize(raw, to)
    assert np.isfinite(wanted).all() and wanted.any()
    assert np.array_equal(widened(tensor.array()), wanted)
    assert np.array_equal(widened(tensor.rows([3, 1])), wanted[[3, 1]])
    made = Computed((5, 512), np.dtype(np.float32), tensor.array, tensor.rows)
    assert np.array_equal(np.concatenate([widened(rows) for _band, rows in made.bands(0, 2) or ()]), wanted)
    assert made.bands(1, 2) is None


@pytest.mark.parametrize("kind", blocks.KINDS)
def test_usual_types_are_the_packages_bit_for_bit(kind: int) -> None:
    """All bytes, factors of both signs, and more blocks than are computed together."""
    to, random = gguf.GGMLQuantizationType(kind), np.random.default_rng(2)
    numbers, n_bytes = gguf.GGML_QUANT_SIZES[to]
    raw = random.integers(0, 256, (3, blocks.AT_ONCE // numbers + 5, n_bytes), dtype=np.uint8)
    for start in FACTORS[to.name]:
        factors = random.standard_normal((*raw.shape[:2], 1)).astype(np.float16)
        raw[:, :, start : start + 2] = factors.view(np.uint8)
    raw = raw.reshape(3, -1)
    made, is_finite = blocks.numbers(raw, blocks.KINDS[kind])
    np.testing.assert_array_equal(made.view(np.uint32), gguf.dequantize(raw, to).view(np.uint32))
    assert is_finite


def test_usual_types_need_no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "model.gguf", "llama", "Q8_0")
    wanted = execute(import_checkpoint(tmp_path, ids=IDS).experiment)
    monkeypatch.setitem(sys.modules, "gguf", None)  # an import of it fails
    found = execute(import_checkpoint(tmp_path, ids=IDS).experiment)
    last = wanted.sites[-1]
    assert np.array_equal(found.site(last)["logits"], wanted.site(last)["logits"])
    for number, kind in blocks.KINDS.items():
        to = gguf.GGMLQuantizationType(number)
        assert (kind.name, kind.length, kind.n_bytes) == (to.name, *gguf.GGML_QUANT_SIZES[to])


def test_a_quantised_model_computes_the_same_as_its_numbers_in_full(tmp_path: Path, monkeypatch: Any) -> None:
    write(tmp_path / "model.gguf", "llama", "Q8_0")
    held = import_checkpoint(tmp_path, ids=IDS)
    for module in ("plan", "filling"):
        monkeypatch.setattr(f"attnviz.checkpoints.{module}.MAPPED_NUMBERS", 1)
    made = import_checkpoint(tmp_path, ids=IDS)
    assert made.experiment.layers[0].projections.query.lies_in_file
    first, second = (execute(one.experiment) for one in (held, made))
    last = first.sites[-1]
    assert np.allclose(first.site(last)["logits"], second.site(last)["logits"], rtol=1e-5, atol=1e-4)


def test_numbers_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    raw = np.full((5, 64 // 32 * 34), 0xFF, np.uint8)
    (tmp_path / "numbers").write_bytes(raw.tobytes())
    tensor = GgufTensor(tmp_path / "numbers", "x", "F32", (5, 64), 0, (5, 64), 8, (32, 34))
    with pytest.raises(
        CheckpointError, match=r"^numbers: tensor 'x' must hold finite numbers only; got nan\.$"
    ):
        tensor.array()


def test_a_text_is_cut_as_the_file_says(tmp_path: Path) -> None:
    write(tmp_path / "model.gguf", "llama")
    document = import_checkpoint(tmp_path, text="ab abc")
    assert document.experiment.tokens == ("ab", "Ġ", "abc")
    assert document.title == "model"


def test_the_shell_takes_a_file_for_a_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its heads are those of the model imported from Python."""
    file = tmp_path / "model.gguf"
    write(file, "llama")
    text = "ab abc ab abc"
    assert main(["heads", str(file), "--text", text, "--json"]) == 0
    wanted = head_scores(execute(import_checkpoint(file, text=text).experiment))["previous"]
    printed = json.loads(capsys.readouterr().out)["previous"]
    assert printed == {site: scores.tolist() for site, scores in wanted.items()}


def test_the_shell_says_that_a_model_needs_a_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "model.gguf"
    write(file, "llama")
    assert main(["heads", str(file)]) == 2
    said = "must be the text that the model reads; got nothing."
    assert capsys.readouterr().err == f"attnviz: {file}: --text {said}\n"


@pytest.mark.parametrize("given", ["model.gguf", "."])
def test_a_survey_reads_a_file_and_its_folder(tmp_path: Path, given: str) -> None:
    """Its scores are those of the model imported from Python."""
    model = tmp_path / "model"
    model.mkdir()
    write(model / "model.gguf", "llama")
    text = "ab abc ab abc"
    (tmp_path / "texts.txt").write_text(f"{text}\n")
    made = tmp_path / "made.parquet"
    assert main(["survey", str(model / given), "--texts", str(tmp_path / "texts.txt"), "-o", str(made)]) == 0
    trace = execute(import_checkpoint(model / "model.gguf", text=text).experiment)
    wanted = np.concatenate(list(head_scores(trace)["previous"].values()))
    np.testing.assert_array_equal(read_table(made)["previous"].to_numpy(), wanted)


def test_what_the_metadata_say_and_nobody_knows_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "model.gguf", "llama", expert_count=8)
    words = r"^model\.gguf: llama\.expert_count must be a key of Llama, since it may change numbers; got 8\.$"
    with pytest.raises(CheckpointError, match=words):
        import_checkpoint(tmp_path, ids=IDS)
    assert import_checkpoint(tmp_path, ids=IDS, ignore_keys=["llama.expert_count"])


@pytest.mark.parametrize("name", ["gemma", "gemma2"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gains_of_gemma_keep_their_digits(tmp_path: Path, name: str, dtype: Any) -> None:
    arrays = write(tmp_path / "model.gguf", name, dtype=dtype)
    found = dict(matrices(import_checkpoint(tmp_path / "model.gguf", ids=IDS).experiment))
    gains = {path: matrix.array[0] for path, matrix in found.items() if path.endswith("gain")}
    places = {
        "final_norm.gain": "output_norm.weight",
        "layers[1].block.norm_1.gain": "blk.1.attn_norm.weight",
        "layers[1].block.norm_2.gain": "blk.1.ffn_norm.weight",
    }
    assert len(gains) == (5 if name == "gemma" else 9)
    for path, tensor in places.items():
        np.testing.assert_allclose(gains[path], arrays[tensor].astype(np.float64), rtol=0, atol=2.3e-16)


def with_rotation(tmp_path: Path, **rope: Any) -> Any:
    """The logits in float64 that `transformers` computes of the weights of a file, with another rotation."""
    model = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path, gguf_file="model.gguf", dtype=torch.float64
    )
    config = model.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    config.rope_parameters = {"rope_theta": NUMBERS["rope.freq_base"], **rope}
    config.rms_norm_eps = NUMBERS["attention.layer_norm_rms_epsilon"]
    config._attn_implementation = "eager"
    with promoted(), torch.no_grad():
        full = type(model)(config).double()
        full.load_state_dict(model.state_dict())
        return full(torch.tensor([LONG])).logits[0].numpy()


LONG = [*IDS, *reversed(IDS)] * 3
"""As many positions as slow pairs need to turn."""

YARN = {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 64}
OF_YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}
MAGNITUDE = 0.1 * np.log(4) + 1

ROTATIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "yarn": (YARN, OF_YARN),
    "fast": ({**YARN, "rope.scaling.yarn_beta_fast": 4.0}, {**OF_YARN, "beta_fast": 4.0}),
    "slow": ({**YARN, "rope.scaling.yarn_beta_slow": 8.0}, {**OF_YARN, "beta_slow": 8.0}),
    "unset": ({**YARN, "rope.scaling.yarn_ext_factor": -1.0, "rope.scaling.yarn_attn_factor": 1.0}, OF_YARN),
    "attention": (
        {**YARN, "rope.scaling.attn_factor": 1.5},
        {**OF_YARN, "attention_factor": 1.5 * MAGNITUDE},
    ),
    "linear": (
        {"rope.scaling.type": "linear", "rope.scaling.factor": 4.0},
        {"rope_type": "linear", "factor": 4.0},
    ),
    "no type": ({"rope.scaling.factor": 4.0}, {"rope_type": "linear", "factor": 4.0}),
    "old name": ({"rope.scale_linear": 4.0}, {"rope_type": "linear", "factor": 4.0}),
    "none": ({"rope.scaling.type": "none", "rope.scaling.factor": 4.0}, {"rope_type": "default"}),
}
"""Keys of the metadata, and the rotation of `transformers` that llama.cpp computes with them."""


@pytest.mark.parametrize("name", ROTATIONS)
def test_the_rotation_is_that_of_the_metadata(tmp_path: Path, name: str) -> None:
    keys, rope = ROTATIONS[name]
    file = tmp_path / "model.gguf"
    write(file, "llama")
    plain = logits_of(file)
    wanted = with_rotation(tmp_path, **rope)
    write(file, "llama", **keys)
    np.testing.assert_allclose(logits_of(file), wanted, rtol=0, atol=1e-9)
    assert (np.abs(plain - wanted).max() > 1e-2) == (name != "none")


def logits_of(file: Path) -> np.ndarray:
    trace = execute(import_checkpoint(file, ids=LONG, dtype="float64").experiment)
    return np.array(trace.site(trace.sites[-1])["logits"])


REFUSED = (
    ("rope.scaling.type", "longrope", "one of 'none', 'linear', 'yarn'"),
    ("rope.scaling.yarn_attn_factor", 1.5, "1, since versions of llama.cpp differ about its meaning"),
    ("rope.scaling.yarn_ext_factor", 1.0, "0 or -1 with linear"),
    ("rope.scaling.attn_factor", 1.5, "1 with linear"),
    ("rope.scaling.yarn_log_multiplier", 0.5, "0"),
    ("rope.dimension_count", D // HEADS // 2, f"{D // HEADS}, the width of a head"),
    ("attention.value_length", D // HEADS // 2, f"{D // HEADS}, the width of a head"),
    ("rope.freq_base_swa", 10.0, "a key of Llama, since it may change numbers"),
    ("rope.dimension_sections", [2, 2, 4, 0], "a key of Llama, since it may change numbers"),
    ("attention.causal", False, "true"),
    ("attention.scale", 0.5, "a key of Llama, since it may change numbers"),
    ("attention.head_count", [4, 2], "a whole number from 1 to 1,099,511,627,776"),
    ("attention.head_count", "4", "a whole number from 1 to 1,099,511,627,776"),
    ("rope.freq_base", "500", "a finite number above 0"),
    ("general.type", "adapter", "'model': a file with all the weights of a language model"),
    ("tokenizer.ggml.model", ["gpt2"], "a text"),
    ("tokenizer.ggml.pre", ["gpt-2"], "a text"),
    ("tokenizer.ggml.tokens", "abc", "a list of texts"),
    ("tokenizer.ggml.token_type", ["abc"], "a list of numbers"),
    ("tokenizer.ggml.merges", [1], "a list of texts"),
    ("tokenizer.ggml.add_bos_token", "yes", "true or false"),
    ("tokenizer.chat_template", ["abc"], "a text"),
    ("split.count", 3, "1: llama-gguf-split --merge of llama.cpp joins the files of a model"),
)
"""Keys, values with which nothing here computes, and what they must be."""


@pytest.mark.parametrize(("key", "value", "needed"), REFUSED, ids=[f"{row[0]}={row[1]}" for row in REFUSED])
def test_a_key_that_nothing_here_computes_is_refused_by_name(
    tmp_path: Path, key: str, value: Any, needed: str
) -> None:
    write(tmp_path / "model.gguf", "llama", **{key: value})
    full = key if key.startswith(FULL) else f"llama.{key}"
    with pytest.raises(CheckpointError) as refused:
        import_checkpoint(tmp_path, ids=IDS)
    said = {True: "true", False: "false"}.get(value, repr(value)) if isinstance(value, bool) else repr(value)
    assert str(refused.value) == f"model.gguf: {full} must be {needed}; got {said}."


def test_bert_is_causal_if_the_file_says_so(tmp_path: Path) -> None:
    for is_causal in (False, True):
        write(tmp_path / "model.gguf", "bert", **{"attention.causal": is_causal})
        masks = import_checkpoint(tmp_path, ids=IDS).experiment.layers[0].masks
        assert bool(masks) == is_causal


def test_llama_3s_divisors_are_a_scaling(tmp_path: Path) -> None:
    write(tmp_path / "model.gguf", "llama")
    plain = import_checkpoint(tmp_path, ids=IDS).experiment.layers[0].position
    divisors = np.linspace(1, 8, D // HEADS // 2).astype(np.float32)
    known = dict(shapes("llama"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gguf, "quantize", lambda array, to: array)
        patch.setitem(globals(), "shapes", lambda name: {**known, "rope_freqs.weight": divisors.shape})
        write(tmp_path / "model.gguf", "llama")
    position = import_checkpoint(tmp_path, ids=IDS).experiment.layers[0].position
    assert position != plain and len(position.scaling.short_factor) == len(divisors)


@pytest.mark.parametrize("cut", [3, 11, 40, 200, 0.5, 0.99])
def test_a_file_that_ends_early_is_refused_in_a_sentence(tmp_path: Path, cut: float) -> None:
    file = tmp_path / "model.gguf"
    write(file, "llama")
    whole = file.read_bytes()
    file.write_bytes(whole[: int(cut if cut > 1 else cut * len(whole))])
    with pytest.raises(CheckpointError, match=r"^model\.gguf: .*\.$"):
        import_checkpoint(file, ids=IDS)


def test_several_files_need_a_choice(tmp_path: Path) -> None:
    for name in ("a.gguf", "b.gguf"):
        write(tmp_path / name, "llama")
    with pytest.raises(CheckpointError, match=r"must be the path of one file; got a\.gguf, b\.gguf\.$"):
        import_checkpoint(tmp_path, ids=IDS)
    assert import_checkpoint(tmp_path / "b.gguf", ids=IDS).title == "b"


def test_codes_are_kept_as_half_of_the_free_memory_allows(tmp_path: Path, monkeypatch: Any) -> None:
    """Without room for them every product is made from the numbers, and is the same."""
    write(tmp_path / "model.gguf", "llama", "Q4_1")
    for module in ("plan", "filling"):
        monkeypatch.setattr(f"attnviz.checkpoints.{module}.MAPPED_NUMBERS", 1)
    monkeypatch.setattr("attnviz.compute.execute.LIMIT", 0)
    logits, kept = [], []
    for free in (200_000, 20_000, 0):
        codes = Conversions()
        for module in ("compute.execute", "model.spec.arrays"):
            monkeypatch.setattr(f"attnviz.{module}.CODES", codes)
        experiment = import_checkpoint(tmp_path, ids=IDS).experiment
        run = estimate(experiment, ITEMSIZE[experiment.dtype]).bytes
        trace = execute(experiment, budget=2 * run + 2 * free)
        assert codes.limit == free
        logits.append(trace.site(trace.sites[-1])["logits"])
        kept.append(codes.nbytes)
    assert 200_000 > kept[0] > 20_000 > kept[1] > kept[2] == 0
    for other in logits[1:]:
        np.testing.assert_allclose(other, logits[0], rtol=1e-5, atol=1e-4)


def test_the_name_of_the_architecture_is_a_text(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    write(file, "llama")
    data, name = file.read_bytes(), struct.pack("<IQ", 8, 5) + b"llama"
    listed = struct.pack("<IIQQ", 9, 8, 1, 5) + b"llama"
    file.write_bytes(data.replace(name, listed, 1))
    with pytest.raises(CheckpointError, match=r"general\.architecture must be one of .*; got \['llama'\]\.$"):
        import_checkpoint(file, ids=IDS)


@pytest.mark.parametrize("shape", [(D // HEADS // 2, 1), (3,), ()])
def test_divisors_of_another_shape_are_refused(
    tmp_path: Path, shape: tuple[int, ...], monkeypatch: Any
) -> None:
    known = dict(shapes("llama"))
    monkeypatch.setattr(sys.modules[__name__], "shapes", lambda name: {**known, "rope_freqs.weight": shape})
    write(tmp_path / "model.gguf", "llama")
    said = "tensor 'rope_freqs.weight' must have the shape 8 of this configuration; got "
    with pytest.raises(CheckpointError, match=said):
        import_checkpoint(tmp_path, ids=IDS)


def test_divisors_past_the_end_of_the_file_are_refused(tmp_path: Path, monkeypatch: Any) -> None:
    known, name = dict(shapes("llama")), b"rope_freqs.weight"
    monkeypatch.setattr(sys.modules[__name__], "shapes", lambda _name: {**known, name.decode(): (8,)})
    file = tmp_path / "model.gguf"
    write(file, "llama")
    data = bytearray(file.read_bytes())
    struct.pack_into("<Q", data, data.index(name) + len(name) + 4 + 8 + 4, 2**40)
    file.write_bytes(data)
    with pytest.raises(CheckpointError, match=r"freqs\.weight' must have \d+ bytes inside the file"):
        import_checkpoint(file, ids=IDS)


ODD: tuple[Any, ...] = ("x", "", True, -1, 0, 1, -0.5, 1e30, float("nan"), float("inf"), [1, 2], ["x"])


@pytest.mark.parametrize("name", ["llama", "gemma2", "bert"])
def test_odd_values_end_in_a_sentence(tmp_path: Path, name: str) -> None:
    """Every key of an architecture with a value of each type: it opens, or is refused by its name."""
    row, file = ARCHITECTURE_BY_ID[name], tmp_path / "model.gguf"
    keys = [*(key.name for key in row.keys), *(key.name for key in rotation.KEYS), *TOKENIZER, *IDLE]
    ends = Counter[str]()
    for key, value in ((key, value) for key in dict.fromkeys(keys) for value in ODD):
        write(file, name, **{key: value})
        try:
            import_checkpoint(file, ids=IDS)
            ends["opened"] += 1
        except CheckpointError as error:
            said = str(error)
            assert re.fullmatch(r"model\.gguf: [^\n]{20,350}\.", said), said
            ends["refused"] += 1
    assert min(ends["refused"], ends["opened"]) > 100


def test_the_configuration_has_what_the_file_says_and_nothing_else(tmp_path: Path) -> None:
    """The link of a saved document depends on every key of it."""
    write(tmp_path / "model.gguf", "llama")
    assert open_checkpoint(tmp_path).config == {
        "model_type": "llama", "max_position_embeddings": 1024, "num_hidden_layers": LAYERS,
        "hidden_size": D, "intermediate_size": HIDDEN, "num_attention_heads": HEADS,
        "num_key_value_heads": KV, "head_dim": D // HEADS, "rms_norm_eps": 1e-5, "rope_theta": 500.0,
        "vocab_size": WORDS, "tie_word_embeddings": False, "bos_token_id": 0, "eos_token_id": 0,
    }  # fmt: skip
