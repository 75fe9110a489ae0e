"""Checkpoints on the disk: types of numbers, several files, and a sentence for all that is wrong."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints.written import LLAMA_CONFIG, Arrays, llama_arrays, tensors_bytes, write_folder
from msgspec.structs import replace
from safetensors.numpy import save_file

import attnviz
from attnviz.checkpoints import CheckpointError, import_checkpoint
from attnviz.checkpoints.families.llama import LLAMA
from attnviz.checkpoints.families.table import FAMILIES
from attnviz.checkpoints.reader import read_checkpoint
from attnviz.cli import main
from attnviz.model.io.files import load, save
from attnviz.model.spec.arrays import STORED_DTYPES, widened
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Explicit, ExplicitVectors, Rope
from attnviz.model.spec.rows import WrittenRow
from attnviz.model.spec.scalings import LongRope

IDS = (1, 0, 6, 6)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path, llama_arrays())


def imported(folder: Path, **options: Any) -> Experiment:
    return import_checkpoint(folder, ids=IDS, **options).experiment


def refusal(folder: Path, **options: Any) -> str:
    with pytest.raises(CheckpointError) as caught:
        import_checkpoint(folder, **{"ids": IDS, **options})
    sentence = str(caught.value)
    assert "\n" not in sentence and "legal" not in sentence
    return sentence


# --- numbers ---------------------------------------------------------------------------------------


def test_every_tensor_is_where_it_belongs(folder: Path) -> None:
    arrays, experiment = llama_arrays(), imported(folder)
    second = experiment.layers[1]
    stem = "model.layers.1."
    for name, role in (("q", "query"), ("k", "key"), ("v", "value"), ("o", "output")):
        source = getattr(second.projections, role)
        assert isinstance(source, Explicit)
        np.testing.assert_array_equal(source.values.array, arrays[f"{stem}self_attn.{name}_proj.weight"].T)
    assert second.block is not None and second.block.feed_forward is not None
    for role in ("gate", "up", "down"):
        matrix = getattr(second.block.feed_forward, role).values.array
        np.testing.assert_array_equal(matrix, arrays[f"{stem}mlp.{role}_proj.weight"].T)
    assert second.block.norm_1 is not None and isinstance(second.block.norm_1.gain, WrittenRow)
    np.testing.assert_array_equal(
        second.block.norm_1.gain.values.array[0], arrays[stem + "input_layernorm.weight"]
    )
    assert isinstance(experiment.vectors, ExplicitVectors)
    np.testing.assert_array_equal(
        experiment.vectors.values.array, arrays["model.embed_tokens.weight"][list(IDS)]
    )
    assert experiment.vocabulary is not None and experiment.vocabulary.unembedding is None
    assert experiment.readout == "vocabulary"


def as_bfloat16(array: Any) -> Any:
    """The upper halves of float32 numbers, which these have no lower halves of."""
    bits = array.astype(np.float32).view(np.uint32)
    assert not (bits & 0xFFFF).any()
    return (bits >> 16).astype(np.uint16)


@pytest.mark.parametrize(
    "stored",
    [lambda a: a.astype(np.float16), as_bfloat16, lambda a: a.astype(np.float64)],
    ids=["float16", "bfloat16", "float64"],
)
def test_every_type_of_numbers_gives_the_same_experiment(
    tmp_path: Path, folder: Path, stored: Callable[[Any], Any]
) -> None:
    expected = imported(folder)
    write_folder(tmp_path, {name: stored(array) for name, array in llama_arrays().items()})
    assert imported(tmp_path) == expected


def test_bfloat16_is_what_torch_writes(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file as save_torch

    values = torch.tensor([[1.0, -3.25, 1e-30, 3e38], [0.1, 65504.0, -0.0, 7.0]], dtype=torch.bfloat16)
    (tmp_path / "config.json").write_text("{}")
    save_torch({"a": values}, tmp_path / "model.safetensors")
    found = read_checkpoint(tmp_path).tensors["a"].array()
    np.testing.assert_array_equal(widened(found), values.double().numpy())


def test_a_file_written_by_safetensors_is_read(tmp_path: Path, folder: Path) -> None:
    expected = imported(folder)
    save_file(llama_arrays(), tmp_path / "model.safetensors")
    assert imported(tmp_path) == expected
    assert imported(tmp_path / "model.safetensors") == expected
    assert imported(tmp_path / "config.json") == expected


# --- several files ---------------------------------------------------------------------------------


def sharded(folder: Path, arrays: Arrays) -> dict[str, str]:
    """The tensors in two files, and where each is."""
    (folder / "model.safetensors").unlink()
    names = list(arrays)
    places: dict[str, str] = {}
    for number, part in enumerate((names[:5], names[5:]), start=1):
        file = f"model-{number:05}-of-00002.safetensors"
        (folder / file).write_bytes(tensors_bytes({name: arrays[name] for name in part}))
        places |= dict.fromkeys(part, file)
    write_index(folder, places)
    return places


def write_index(folder: Path, places: Any) -> None:
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))


def test_several_files_are_one_checkpoint(folder: Path) -> None:
    expected = imported(folder)
    sharded(folder, llama_arrays())
    assert imported(folder) == expected


def test_an_index_that_does_not_fit_its_files(folder: Path) -> None:
    places = sharded(folder, llama_arrays())
    first, second = sorted(set(places.values()))
    write_index(folder, {**places, "extra": second})
    assert refusal(folder) == (
        f"{second}: tensor 'extra' must be in this file, as model.safetensors.index.json says; got nothing."
    )
    name = next(iter(places))
    write_index(folder, {**places, name: second})
    assert refusal(folder).startswith(
        f"{first}: tensor '{name}' must be in the file that model.safetensors.index.json names"
    )
    write_index(folder, {other: file for other, file in places.items() if other != name})
    assert "must be in the file that model.safetensors.index.json names" in refusal(folder)
    write_index(folder, {**places, name: "../elsewhere.safetensors"})
    assert "must name .safetensors files beside it" in refusal(folder)
    write_index(folder, [])
    assert "weight_map must have a file name for each tensor; got []." in refusal(folder)
    write_index(folder, places)
    (folder / second).unlink()
    assert f"got no {second}." in refusal(folder)


# --- files that are not right ----------------------------------------------------------------------


def test_what_is_not_there(tmp_path: Path) -> None:
    assert refusal(tmp_path / "no").endswith("The path must be a file or a folder; got neither.")
    assert refusal(tmp_path).startswith("config.json: The file must exist in ")
    (tmp_path / "config.json").write_text(json.dumps(LLAMA_CONFIG))
    assert "must contain model.safetensors or model.safetensors.index.json; got neither" in refusal(tmp_path)


def test_pickles_are_not_opened(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA_CONFIG))
    # A pickle that would make a file if anything opened it.
    (tmp_path / "pytorch_model.bin").write_bytes(
        b"cos\nsystem\n(S'touch " + str(tmp_path / "ran").encode() + b"'\ntR."
    )
    assert "got pytorch_model.bin, which can run code when it is opened" in refusal(tmp_path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "The file must be a complete safetensors file; got "),
        (b"\xff" * 40, "The file must be a complete safetensors file; got "),
        ((9).to_bytes(8, "little") + b'{"a": [1}', "must be JSON"),
        (
            (2).to_bytes(8, "little") + b"[]",
            "model.safetensors: The header of a safetensors file must be a JSON object; got [].",
        ),
        (
            tensors_bytes(llama_arrays())[:-1],
            f"The file is too short: it must have {len(tensors_bytes(llama_arrays())):,} bytes, as its "
            f"header says; got {len(tensors_bytes(llama_arrays())) - 1:,}, so that 1 are missing.",
        ),
        (
            tensors_bytes(llama_arrays())[:-500],
            f"got {len(tensors_bytes(llama_arrays())) - 500:,}, so that 500 are missing.",
        ),
        (
            tensors_bytes(llama_arrays()).replace(b'"F32"', b'"F64"'),
            " bytes inside the file, as its shape requires; got [",
        ),
        (
            tensors_bytes(llama_arrays()).replace(b'"shape"', b'"shap3"'),
            "must be an object with dtype, shape and data_offsets; got ",
        ),
        (
            tensors_bytes(llama_arrays()).replace(b"[7, 4]", b"[-7,4]"),
            "must be an object with dtype, shape and data_offsets; got ",
        ),
        (
            tensors_bytes(llama_arrays()).replace(b'"F32", "s', b'["F"], "s'),
            "must be an object with dtype, shape and data_offsets; got ",
        ),
    ],
)
def test_a_damaged_file(folder: Path, content: bytes, says: str) -> None:
    (folder / "model.safetensors").write_bytes(content)
    sentence = refusal(folder)
    assert sentence.startswith("model.safetensors: ") and says in sentence


@pytest.mark.parametrize(
    ("shape", "says"),
    [
        (
            [10**390] * 20_000,
            "tensor 'a' must be an object with dtype, shape and data_offsets; got "
            "{'dtype': 'F32', 'shape': [10000000000000000000000000000000….",
        ),
        ([1] * 200_000, "tensor 'a' must have at most 8 axes; got 200,000 axes."),
        (
            [2**39] * 8,
            "tensor 'a' must have 33,374,797,436,264,220,037,",
        ),
    ],
)
def test_a_crafted_header_is_refused_at_once_and_shortly(folder: Path, shape: list[int], says: str) -> None:
    text = json.dumps({"a": {"dtype": "F32", "shape": shape, "data_offsets": [0, 4]}}).encode()
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + b"0000")
    started = time.process_time()
    with pytest.raises(CheckpointError) as caught:
        import_checkpoint(folder, ids=IDS)
    assert says in str(caught.value) and len(str(caught.value)) < 300
    assert time.process_time() - started < 5  # minutes, where the sizes are multiplied


def test_a_checkpoint_given_as_a_dot_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match=f"^{folder.name}: The weights must be in model.safetensors"):
        import_checkpoint(".", ids=IDS)


@pytest.mark.parametrize("stored", ["F16", "BF16", "F32", "F64"])
def test_an_imported_and_saved_model_has_the_numbers_of_its_file(folder: Path, stored: str) -> None:
    """As many bytes as the file's own, the same ones for each matrix, and an equal experiment again."""
    arrays = llama_arrays()
    if stored == "BF16":
        bits = {name: (array.view(np.uint32) >> 16).astype(np.uint16) for name, array in arrays.items()}
        data = tensors_bytes(bits, dict.fromkeys(bits, "BF16"))
    else:
        data = tensors_bytes({name: array.astype(STORED_DTYPES[stored]) for name, array in arrays.items()})
    (folder / "model.safetensors").write_bytes(data)
    document = import_checkpoint(folder, ids=IDS)
    assert document.experiment == imported(write_folder(folder, arrays))
    path = save(document, folder / "saved.safetensors", with_weights=True)
    assert load(path) == document
    with path.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    dtypes = {name: entry["dtype"] for name, entry in header.items() if "dtype" in entry}
    assert dtypes.pop("vectors") == "F64" and set(dtypes.values()) == {stored}


def test_weights_in_another_format_are_named_with_the_way_out(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "model.onnx")
    assert refusal(folder).startswith(
        "model.onnx must be a .safetensors or .gguf file; got ONNX (save_pretrained"
    )
    (folder / "model.onnx").rename(folder / "model.h5")
    assert refusal(folder / "model.h5").startswith("model.h5 must be a .safetensors or .gguf file; got HDF5")


@pytest.mark.parametrize(
    "added",
    [
        {"unsloth_version": "2024.9"},
        {"output_past": True},
        {"pruned_heads": {}},
        {"add_cross_attention": False},
    ],
)
def test_keys_that_other_programs_leave_change_nothing(folder: Path, added: dict[str, Any]) -> None:
    before = imported(folder)
    write_folder(folder, llama_arrays(), {**LLAMA_CONFIG, **added})
    assert imported(folder) == before


@pytest.mark.parametrize("added", [{"quantization_config": {"bits": 4}}, {"pruned_heads": {"0": [1]}}])
def test_keys_that_change_numbers_are_refused(folder: Path, added: dict[str, Any]) -> None:
    write_folder(folder, llama_arrays(), {**LLAMA_CONFIG, **added})
    assert "must be a key of Llama, since it may change numbers" in refusal(folder)


def test_a_classifier_is_the_model_below_with_logits_of_classes(folder: Path) -> None:
    arrays, config = llama_arrays(), {**LLAMA_CONFIG, "tie_word_embeddings": False}
    write_folder(folder, arrays, {**config, "architectures": ["LlamaModel"]})
    below = imported(folder)
    assert below.readout == "none"
    arrays["score.weight"] = np.ones((2, 4), np.float32)
    write_folder(folder, arrays, {**config, "architectures": ["LlamaForSequenceClassification"]})
    found = imported(folder)
    assert found.vocabulary is not None and found.vocabulary.classes is not None
    assert found.vocabulary.classes.labels == ("LABEL_0", "LABEL_1")
    assert replace(found, vocabulary=None, readout="none") == below
    write_folder(folder, arrays, {**config, "architectures": ["LlamaForCausalLM"]})
    assert "lm_head.weight" in refusal(folder)


def test_a_damaged_configuration(folder: Path) -> None:
    for text, says in (
        ("{", "The text must be JSON; "),
        ("[]", "must be a JSON object; got []"),
        ('{"a": NaN}', "must be finite; got NaN"),
        ('{"a": 1, "a": 2}', "got 'a' twice"),
    ):
        (folder / "config.json").write_text(text)
        sentence = refusal(folder)
        assert sentence.startswith("config.json: ") and says in sentence
    (folder / "config.json").write_bytes(b"\xfe\xff")
    assert refusal(folder) == "config.json: The text must be UTF-8; byte 0 is not."


def test_numbers_that_are_not_finite(folder: Path) -> None:
    arrays = llama_arrays()
    arrays["model.norm.weight"][2] = np.nan
    write_folder(folder, arrays)
    assert refusal(folder) == (
        "model.safetensors: tensor 'model.norm.weight' must hold finite numbers only; got nan."
    )


# --- tensors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", llama_arrays())
def test_every_tensor_is_needed(folder: Path, name: str) -> None:
    arrays = llama_arrays()
    shape = "x".join(map(str, arrays.pop(name).shape))
    write_folder(folder, arrays)
    assert refusal(folder) == (
        f"model.safetensors: tensor '{name}' must have the shape {shape} of this configuration; got nothing."
    )


@pytest.mark.parametrize("name", [name for name, a in llama_arrays().items() if a.shape != a.T.shape])
def test_no_tensor_may_lie_on_its_side(folder: Path, name: str) -> None:
    arrays = llama_arrays()
    arrays[name] = arrays[name].T
    rows, columns = arrays[name].shape
    write_folder(folder, arrays)
    assert refusal(folder) == (
        f"model.safetensors: tensor '{name}' must have the shape {columns}x{rows} of this configuration; "
        f"got {rows}x{columns}."
    )


@pytest.mark.parametrize(
    "name",
    ["model.layers.0.self_attn.q_proj.bias", "score.weight"],
)
def test_a_tensor_without_a_place(folder: Path, name: str) -> None:
    write_folder(folder, llama_arrays() | {name: np.ones((4, 2), np.float32)})
    assert refusal(folder) == (
        f"model.safetensors: tensor '{name}' must be a tensor of this configuration; got one of shape 4x2."
    )


def test_what_needs_no_place(folder: Path) -> None:
    expected, arrays = imported(folder), llama_arrays()
    frequencies = {"model.layers.1.self_attn.rotary_emb.inv_freq": np.ones(1, np.float32)}
    write_folder(folder, arrays | frequencies)
    assert imported(folder) == expected
    copy = {"lm_head.weight": arrays["model.embed_tokens.weight"]}
    write_folder(folder, arrays | copy)
    assert imported(folder) == expected
    write_folder(folder, arrays | {"lm_head.weight": copy["lm_head.weight"] + 1})
    assert refusal(folder) == (
        "model.safetensors: tensor 'lm_head.weight' must equal 'model.embed_tokens.weight', to which this "
        "configuration ties it; got other numbers."
    )


def test_quantised_weights(folder: Path) -> None:
    arrays = llama_arrays()
    arrays["model.layers.0.mlp.up_proj.weight"] = np.zeros((6, 4), np.int8)
    write_folder(folder, arrays)
    assert refusal(folder).endswith("must have a dtype of F16, BF16, F32, F64; got 'I8'.")


def test_a_model_without_its_head(folder: Path) -> None:
    arrays = {name.removeprefix("model."): array for name, array in llama_arrays().items()}
    config = {**LLAMA_CONFIG, "architectures": ["LlamaModel"]}
    with_head = imported(folder)
    write_folder(folder, arrays, config)
    assert imported(folder).readout == "none"
    assert imported(folder).layers == with_head.layers
    write_folder(folder, arrays, {**config, "tie_word_embeddings": False})
    assert imported(folder).vocabulary is None


# --- configurations --------------------------------------------------------------------------------


def test_what_programs_write_beside_the_numbers_is_passed_over(folder: Path) -> None:
    """Keys that Transformers 4.48 to 5 wrote: names, versions, and how a product is computed."""
    written = {
        "_attn_implementation": "sdpa",
        "_attn_implementation_autoset": True,
        "_commit_hash": None,
        "_flash_attn_2_enabled": False,
        "_model_name_or_path": "SmolLM2 135M",
        "_name_or_path": "SmolLM2-135M",
        "attn_implementation": "eager",
        "transformers_version": "4.48.1",
    }
    plain = import_checkpoint(folder, ids=[1, 2, 3])
    write_folder(folder, llama_arrays(), {**LLAMA_CONFIG, **written})
    assert import_checkpoint(folder, ids=[1, 2, 3]).experiment == plain.experiment


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"model_type": "bigbird"},
            "config.json: model_type must be a type whose computation is known: names and shapes of the "
            "tensors are those of 'llama', but its computation may differ; got 'bigbird'.",
        ),
        (
            {"hidden_act": "gelu_10"},
            "config.json: hidden_act must be one of 'silu', 'swish', 'gelu', 'gelu_pytorch_tanh', "
            "'gelu_new', 'relu', 'quick_gelu', 'tanh', 'relu2', 'sigmoid', "
            "'linear', 'gelu_python'; got 'gelu_10'.",
        ),
        ({"hidden_size": 4.5}, "config.json: hidden_size must be a whole number from 1 to "),
        ({"hidden_size": None}, "config.json: hidden_size must be a whole number from 1 to "),
        ({"attention_bias": 1}, "config.json: attention_bias must be true or false; got 1."),
        ({"rms_norm_eps": -1}, "config.json: rms_norm_eps must be a finite number above 0; got -1."),
        (
            {"num_key_value_heads": 3},
            "config.json: heads.n_kv_heads must be a divisor of n_heads (2); got 3.",
        ),
        (
            {"new_trick": 3},
            "config.json: new_trick must be a key of Llama, since it may change numbers; got 3.",
        ),
        (
            {"quantization_config": {"bits": 4}},
            "config.json: quantization_config must be a key of Llama, since it may change numbers; "
            "got {'bits': 4}.",
        ),
        ({"rope_scaling": {"type": "axial"}}, "config.json: rope_scaling.type must be one of "),
        ({"rope_scaling": {"type": "su"}}, "config.json: rope_scaling.short_factor must be "),
        (
            {"rope_scaling": {"type": "su", "short_factor": [1, 0]}},
            "config.json: rope_scaling.short_factor must be a list of finite numbers above 0; got [1, 0].",
        ),
        (
            {"rope_scaling": {"type": "linear"}},
            "config.json: rope_scaling.factor must be a number with linear; got nothing.",
        ),
        (
            {"rope_scaling": {"type": "linear", "x": 1}},
            "config.json: rope_scaling.x must be one of the keys ",
        ),
        ({"rope_parameters": 3}, "config.json: rope_parameters must be an object, or null; got 3."),
        (
            {"rope_parameters": {"rope_theta": 2.0}, "rope_scaling": {"type": "linear", "factor": 2.0}},
            "config.json: rope_parameters must be null with rope_scaling; got {'rope_theta': 2.0}.",
        ),
        (
            {"partial_rotary_factor": 0.5},
            "config.json: partial_rotary_factor must be 1 for a model that rotates whole heads; got 0.5.",
        ),
        ({"rope_interleaved": True}, "config.json: rope_interleaved must be false; got true."),
    ],
)
def test_what_a_configuration_may_not_say(folder: Path, changes: dict[str, Any], says: str) -> None:
    write_folder(folder, llama_arrays(), {**LLAMA_CONFIG, **changes})
    sentence = refusal(folder)
    assert sentence.startswith("config.json: ") and says in sentence


def test_old_and_new_ways_to_write_a_rotation(folder: Path) -> None:
    old = {"rope_theta": 77.0, "rope_scaling": {"type": "linear", "factor": 2.0}}
    new = {"rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 77.0}}
    write_folder(folder, llama_arrays(), {**LLAMA_CONFIG, **old})
    by_old = imported(folder)
    write_folder(folder, llama_arrays(), {**LLAMA_CONFIG, **new})
    assert imported(folder) == by_old
    assert by_old.layers[0].position.base == 77.0  # type: ignore[union-attr]


JUNK = (None, 0, -1, 1, 1.5, 1e300, True, "x", [], [1], {}, {"a": 1}, 10**9, 10**30, 10**350, "\n")


@pytest.mark.parametrize("key", [key.name for key in LLAMA.keys])
def test_any_value_of_any_key_is_read_or_refused_in_a_sentence(folder: Path, key: str) -> None:
    for value in JUNK:
        write_folder(folder, llama_arrays(), {**LLAMA_CONFIG, key: value})
        try:
            experiment = imported(folder)
        except CheckpointError as error:
            assert str(error).startswith(("config.json: ", "model.safetensors: ", folder.name)), value
            assert "\n" not in str(error)
        else:
            assert len(experiment.layers) > 1, value


def test_tables_name_nothing_twice() -> None:
    types = [name for family in FAMILIES if not family.architectures for name in family.model_types]
    assert len(set(types)) == len(types)
    for family in FAMILIES:
        keys = [key.name for key in family.keys]
        names = [tensor.name for tensor in family.tensors]
        assert len(set(keys)) == len(keys), family.title
        assert len(set(names)) == len(names), family.title
        assert all(ignored.reason for ignored in family.ignored)


# --- tokens ----------------------------------------------------------------------------------------


def test_ids_and_texts(folder: Path) -> None:
    assert refusal(folder, ids=None) == (
        "ids must be a list of token ids, or a text must be given; got null."
    )
    assert refusal(folder, ids=[]) == "ids must have at least one token; got []."
    assert refusal(folder, ids=[7]) == "ids[0] must be a whole number from 0 to 6; got 7."
    assert refusal(folder, ids=[-1]) == "ids[0] must be a whole number from 0 to 6; got -1."
    assert refusal(folder, ids=[1.5]) == "ids[0] must be a whole number from 0 to 6; got 1.5."
    assert refusal(folder, ids=5) == "ids must be a list of token ids; got 5."
    assert refusal(folder, ids="12") == "ids must be a list of token ids; got '12'."
    assert refusal(folder, ids=np.array([1.5])) == "ids[0] must be a whole number from 0 to 6; got 1.5."
    assert refusal(folder, ids=np.array([[1, 2]])) == "ids[0] must be a whole number from 0 to 6; got [1, 2]."
    assert "memory_ids must be null for Llama" in refusal(folder, memory_ids=np.array([1]))
    listed = import_checkpoint(folder, ids=[1, 2])
    assert import_checkpoint(folder, ids=np.array([1, 2])) == listed  # type: ignore[arg-type]
    assert import_checkpoint(folder, ids=list(np.array([1, 2]))) == listed
    assert refusal(folder, text="a").startswith("ids must be null with a text; got ")
    assert "tokenizer.json: The tokenizer in" in refusal(folder, ids=None, text="a")
    assert "memory_ids must be null for Llama, which has no encoder; got [1]." in refusal(
        folder, memory_ids=[1]
    )
    assert imported(folder).tokens == ("‹1›", "‹0›", "‹6›", "‹6›")


def write_tokenizer(folder: Path, model: Any, added: Any = ()) -> None:
    text = json.dumps({"version": "1.0", "model": model, "added_tokens": list(added)})
    (folder / "tokenizer.json").write_text(text)


def test_texts_of_tokens_are_those_of_the_tokenizer_and_unique(folder: Path) -> None:
    vocabulary = {"<s>": 0, "Ġthe": 1, "cat": 2, "‹6›": 3}
    write_tokenizer(folder, {"type": "BPE", "vocab": vocabulary}, [{"id": 5, "content": "cat"}])
    experiment = imported(folder)
    assert experiment.vocabulary is not None
    assert experiment.vocabulary.tokens == ("<s>", "Ġthe", "cat", "‹6›", "‹4›", "cat‹5›", "‹6›‹6›")
    assert experiment.tokens[:2] == ("Ġthe", "<s>")
    write_tokenizer(folder, {"type": "Unigram", "vocab": [["<s>", 0], ["▁a", -1.5]]})
    assert imported(folder).tokens[:2] == ("▁a", "<s>")


@pytest.mark.parametrize("model", [3, {}, {"vocab": 3}, {"vocab": {"a": "b"}}, {"vocab": [3]}])
def test_a_broken_tokenizer(folder: Path, model: Any) -> None:
    write_tokenizer(folder, model)
    assert refusal(folder).startswith("tokenizer.json: ")


def test_a_text_is_encoded(folder: Path) -> None:
    pytest.importorskip("tokenizers")
    model = {"type": "WordLevel", "vocab": {"cat": 3, "sat": 5, "?": 0}, "unk_token": "?"}
    write_tokenizer(folder, model)
    text = json.loads((folder / "tokenizer.json").read_text())
    (folder / "tokenizer.json").write_text(json.dumps({**text, "pre_tokenizer": {"type": "Whitespace"}}))
    document = import_checkpoint(folder, text="sat cat dog")
    assert document.experiment == import_checkpoint(folder, ids=[5, 3, 0]).experiment
    assert document.experiment.tokens == ("sat", "cat", "?")


def test_a_text_without_the_package(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tokenizer(folder, {"type": "WordLevel", "vocab": {"cat": 3}})
    monkeypatch.setattr("attnviz.checkpoints.texts.can_encode", lambda: False)
    monkeypatch.setattr("attnviz.model.spec.tokenizer_file.can_encode", lambda: False)
    assert "pip install attnviz[models]" in refusal(folder, ids=None, text="cat")


def test_what_is_saved_can_be_read_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = import_checkpoint(folder, ids=IDS)
    file = attnviz.save(document, tmp_path / "made.safetensors", with_weights=True)
    assert attnviz.load(file) == document
    monkeypatch.setattr("attnviz.model.io.tensors.MAX_NUMBERS", 200)
    more = tmp_path / "more.safetensors"
    for action in (lambda: attnviz.load(file), lambda: attnviz.save(document, more, with_weights=True)):
        with pytest.raises(ValueError, match=r"The arrays must have at most 200 numbers; got 304\."):
            action()
    assert not more.exists()


def test_the_first_phi_3_calls_longrope_su(folder: Path) -> None:
    lists = {"short_factor": [1.5], "long_factor": [8]}
    lengths = {"max_position_embeddings": 128, "original_max_position_embeddings": 16}
    write_folder(folder, llama_arrays(), {**LLAMA_CONFIG, **lengths, "rope_scaling": {"type": "su", **lists}})
    position = imported(folder).layers[0].position
    assert isinstance(position, Rope) and position.scaling == LongRope(8.0, (1.5,), (8.0,), 16)


def test_a_text_longer_than_those_of_the_training_is_told(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_folder(folder, llama_arrays(), {**LLAMA_CONFIG, "max_position_embeddings": 4})
    said = "The model was trained on texts of up to 4 tokens; this one has 5."
    short, long = (import_checkpoint(folder, ids=[1] * n) for n in (4, 5))
    assert short.trained_length == long.trained_length == 4 and long.caption == ""
    assert [short.beyond_training(4), long.beyond_training(5)] == [None, said]
    made = tmp_path / "made.safetensors"
    assert main(["import", str(folder), "--ids", "1,1,1,1,1", "-o", str(made)]) == 0
    assert capsys.readouterr().err == f"{said}\n"
    assert attnviz.load(made) == replace(long, title=attnviz.load(made).title)
