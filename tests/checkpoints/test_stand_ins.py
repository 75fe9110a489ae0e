"""Files that people have in place of a checkpoint: pointers, pages, pickles, adapters, quantised weights."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints.written import LLAMA_CONFIG, llama_arrays, tensors_bytes, write_folder

from attnviz.checkpoints import CheckpointError, import_checkpoint
from attnviz.checkpoints.importing import describe
from attnviz.cli import main
from attnviz.model.io.files import DocumentError, load

IDS = (1, 2, 3)

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
PAGE = b"\n<!DOCTYPE html><html><title>Sign in</title></html>"
OF_LFS = "The file is a pointer of Git LFS"
OF_PAGE = "The file is a web page in place of the real one"


def refusal(folder: Path, **options: Any) -> str:
    with pytest.raises(CheckpointError) as caught:
        import_checkpoint(folder, **{"ids": IDS, **options})
    return str(caught.value)


@pytest.mark.parametrize(("content", "says"), [(LFS, OF_LFS), (PAGE, OF_PAGE)], ids=["lfs", "page"])
@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_file_that_was_not_downloaded_is_told(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    folder = write_folder(tmp_path, llama_arrays())
    (folder / name).write_bytes(content)
    said = refusal(folder, ids=None, text="a") if name == "tokenizer.json" else refusal(folder)
    assert said.startswith(f"{name}: {says}") and said.endswith(".")


@pytest.mark.parametrize(("content", "says"), [(LFS, OF_LFS), (PAGE, OF_PAGE)], ids=["lfs", "page"])
@pytest.mark.parametrize("name", ["model.gguf", "document.json", "document.safetensors"])
def test_so_is_one_in_the_place_of_a_document(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises((CheckpointError, DocumentError), match=f"^{name}: {says}"):
        import_checkpoint(tmp_path / name, ids=IDS) if name.endswith("gguf") else load(tmp_path / name)


@pytest.mark.parametrize("name", ["a.npy", "a.pt", "a.pkl", "pytorch_model.bin"])
def test_arrays_and_pickles_are_named(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    torch = pytest.importorskip("torch")
    write_folder(tmp_path, llama_arrays())
    file = tmp_path / name
    if name == "a.npy":
        np.save(file, np.ones((2, 3, 3)))
    elif name == "a.pkl":
        file.write_bytes(pickle.dumps([1]))
    else:
        torch.save({"a": torch.ones(2)}, file)
    kind = "numpy.savez(file, attentions=array)" if name == "a.npy" else "can run code when it is opened"
    assert main(["run", str(file)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"attnviz: {name}: ") and kind in said and said.count("\n") == 1
    assert kind in refusal(file)


def test_the_file_with_arrays_by_name_is_read(tmp_path: Path) -> None:
    """The line that the sentence about an array gives."""
    array = np.full((2, 3, 3), 1 / 3)
    np.savez(tmp_path / "a.npz", attentions=array)
    assert load(tmp_path / "a.npz").experiment.n_queries == 3


ADAPTED = "model.layers.0.self_attn.q_proj.lora_A.weight"


@pytest.mark.parametrize("has_config", [False, True])
def test_an_adapter_is_named_with_its_model(tmp_path: Path, has_config: bool) -> None:
    weights = tensors_bytes({f"base_model.model.{ADAPTED}": np.ones((2, 4), np.float32)})
    (tmp_path / "adapter_model.safetensors").write_bytes(weights)
    (tmp_path / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "owner/base"}))
    if has_config:
        (tmp_path / "config.json").write_text(json.dumps(LLAMA_CONFIG))
    for path in (tmp_path, tmp_path / "adapter_model.safetensors"):
        said = refusal(path)
        assert said.startswith(
            f"{tmp_path.name}: The weights are those of an adapter (LoRA) of 'owner/base': "
        )


def test_weights_with_an_adapter_among_them_are_named(tmp_path: Path) -> None:
    write_folder(tmp_path, llama_arrays() | {ADAPTED: np.ones((2, 4), np.float32)})
    assert "an adapter (LoRA) of another model" in refusal(tmp_path)


@pytest.mark.parametrize("prefix", ["_orig_mod.", "module.", "base_model.model.", "module._orig_mod."])
def test_names_of_a_wrapped_model_are_those_of_the_model(tmp_path: Path, prefix: str) -> None:
    plain, wrapped = tmp_path / "plain", tmp_path / "wrapped"
    for folder in (plain, wrapped):
        folder.mkdir()
    write_folder(plain, llama_arrays())
    write_folder(wrapped, {f"{prefix}{name}": array for name, array in llama_arrays().items()})
    found = import_checkpoint(wrapped, ids=IDS).experiment
    assert found == import_checkpoint(plain, ids=IDS).experiment


def test_a_prefix_of_some_names_stays(tmp_path: Path) -> None:
    arrays = llama_arrays()
    first = next(iter(arrays))
    write_folder(tmp_path, {f"module.{first}": arrays.pop(first), **arrays})
    assert f"tensor {first!r} must have the shape" in refusal(tmp_path)


QUANTISED: tuple[tuple[str, dict[str, Any], str, str], ...] = (
    ("GPTQ", {"quantization_config": {"quant_method": "gptq", "bits": 4}}, "qweight", "I32"),
    ("AWQ", {"quantization_config": {"quant_method": "awq"}}, "qweight", "I32"),
    ("bitsandbytes", {"quantization_config": {"quant_method": "bitsandbytes"}}, "weight", "U8"),
    ("FP8", {"quantization_config": {"quant_method": "fp8"}}, "weight", "F8_E4M3"),
    ("MXFP4", {"quantization_config": {"quant_method": "mxfp4"}}, "weight_blocks", "U8"),
    (
        "compressed-tensors",
        {"quantization_config": {"quant_method": "compressed-tensors"}},
        "weight_packed",
        "I32",
    ),
    ("MLX", {"quantization": {"group_size": 64, "bits": 4}}, "weight", "U32"),
)


@pytest.mark.parametrize(("method", "keys", "ending", "dtype"), QUANTISED, ids=[row[0] for row in QUANTISED])
def test_quantised_weights_are_told_by_their_method(
    tmp_path: Path, method: str, keys: dict[str, Any], ending: str, dtype: str
) -> None:
    arrays = llama_arrays()
    name = "model.layers.0.self_attn.q_proj."
    arrays[name + ending] = np.ones((4, 4), np.int8)
    if ending != "weight":
        del arrays[name + "weight"]
    write_folder(tmp_path, arrays, LLAMA_CONFIG | keys)
    (tmp_path / "model.safetensors").write_bytes(tensors_bytes(arrays, {name + ending: dtype}))
    (key,) = keys
    said = f"config.json: {key} must be missing: weights quantised by {method} are not read, those in 16 or "
    for ignored in ([], [key]):
        assert refusal(tmp_path, ignore_keys=ignored).startswith(said)
    with pytest.raises(CheckpointError, match=f"weights quantised by {method}"):
        describe(tmp_path)


def test_quantised_weights_are_told_without_a_key(tmp_path: Path) -> None:
    arrays = llama_arrays()
    name = "model.layers.0.self_attn.q_proj."
    arrays[name + "qweight"] = arrays.pop(name + "weight").astype(np.int8)
    write_folder(tmp_path, arrays)
    assert refusal(tmp_path) == (
        f"model.safetensors: tensor '{name}qweight' must be part of weights in 16 or 32 bits: quantised ones "
        "are read from GGUF files alone; got I8."
    )


def test_more_layers_than_the_configuration_has(tmp_path: Path) -> None:
    write_folder(tmp_path, llama_arrays(), LLAMA_CONFIG | {"num_hidden_layers": 1})
    assert "must be in one of the layers 0 to 0 of this configuration; got layer 1." in refusal(tmp_path)


def test_a_missing_type_is_that_of_the_class(tmp_path: Path) -> None:
    typeless = {key: value for key, value in LLAMA_CONFIG.items() if key != "model_type"}
    expected = import_checkpoint(write_folder(tmp_path, llama_arrays()), ids=IDS).experiment
    assert import_checkpoint(write_folder(tmp_path, llama_arrays(), typeless), ids=IDS).experiment == expected
    nameless = {key: value for key, value in typeless.items() if key != "architectures"}
    assert refusal(write_folder(tmp_path, llama_arrays(), nameless)) == (
        "config.json: model_type must be a type whose computation is known: names and shapes of the tensors "
        "are those of 'llama', but its computation may differ; got nothing."
    )
