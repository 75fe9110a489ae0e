"""A checkpoint of about 130 MB with random numbers, written for tests."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from checkpoints.written import LLAMA_CONFIG

D, HIDDEN, WORDS, LAYERS = 512, 1536, 40_000, 10
CONFIG = {
    **LLAMA_CONFIG,
    "vocab_size": WORDS,
    "hidden_size": D,
    "intermediate_size": HIDDEN,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
}


def shapes() -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (WORDS, D), "model.norm.weight": (D,)}
    for layer in range(LAYERS):
        stem = f"model.layers.{layer}."
        for name, rows in (("q_proj", D), ("k_proj", D // 2), ("v_proj", D // 2), ("o_proj", D)):
            found[f"{stem}self_attn.{name}.weight"] = (rows, D)
        found |= {f"{stem}mlp.{name}_proj.weight": (HIDDEN, D) for name in ("gate", "up")}
        found[f"{stem}mlp.down_proj.weight"] = (D, HIDDEN)
        found |= {f"{stem}{name}_layernorm.weight": (D,) for name in ("input", "post_attention")}
    return found


def write_large(folder: Path, stored: str) -> int:
    """Write the checkpoint with numbers of 16 bits, F16 or BF16, and give its bytes."""
    (folder / "config.json").write_text(json.dumps(CONFIG))
    header, end = {}, 0
    for name, shape in shapes().items():
        begin, end = end, end + 2 * int(np.prod(shape))
        header[name] = {"dtype": stored, "shape": list(shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    numbers = np.random.default_rng(0)
    with (folder / "model.safetensors").open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for shape in shapes().values():
            bits = numbers.integers(0, 0x3C00, int(np.prod(shape)), dtype=np.uint16)
            file.write(bits.tobytes())
    return end
