"""Checkpoints written for tests: a tiny Llama in NumPy, and safetensors bytes of any type."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]

LLAMA_CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 7,
    "hidden_size": 4,
    "intermediate_size": 6,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": 16,
    "rms_norm_eps": 1e-5,
    "hidden_act": "silu",
    "tie_word_embeddings": True,
}

_ATTENTION = {"q_proj": (4, 4), "k_proj": (2, 4), "v_proj": (2, 4), "o_proj": (4, 4)}
_MLP = {"gate_proj": (6, 4), "up_proj": (6, 4), "down_proj": (4, 6)}


def llama_arrays() -> Arrays:
    """The tensors of `LLAMA_CONFIG`, in float32; halves and wholes, which every float type has exactly."""
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (7, 4), "model.norm.weight": (4,)}
    for layer in range(2):
        stem = f"model.layers.{layer}."
        shapes |= {f"{stem}self_attn.{name}.weight": shape for name, shape in _ATTENTION.items()}
        shapes |= {f"{stem}mlp.{name}.weight": shape for name, shape in _MLP.items()}
        shapes |= {f"{stem}{name}_layernorm.weight": (4,) for name in ("input", "post_attention")}
    numbers = np.random.default_rng(4)
    return {name: (numbers.integers(-4, 5, shape) / 2).astype(np.float32) for name, shape in shapes.items()}


def write_folder(
    folder: Path, arrays: Mapping[str, NDArray[Any]], config: Mapping[str, Any] = LLAMA_CONFIG
) -> Path:
    """A checkpoint folder with these tensors and this configuration."""
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").write_bytes(tensors_bytes(arrays))
    return folder


def tensors_bytes(arrays: Mapping[str, NDArray[Any]], dtypes: Mapping[str, str] | None = None) -> bytes:
    """A safetensors file; `dtypes` names the types that NumPy does not have."""
    names = {"float16": "F16", "float32": "F32", "float64": "F64", "uint16": "BF16", "int8": "I8"}
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, array in arrays.items():
        numbers = np.ascontiguousarray(array).tobytes()
        header[name] = {
            "dtype": (dtypes or {}).get(name, names[array.dtype.name]),
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + len(numbers)],
        }
        data += numbers
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # as the library aligns the numbers
    return len(text).to_bytes(8, "little") + text + data
