"""What an import holds: the file's numbers once, in the precision of the file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
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

MEASURE = """
import resource, sys
from attnviz.checkpoints.importing import import_checkpoint
def peak():  # of this process alone, in bytes: what the system counts for a child begins with its parent's
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) * 1024
import_checkpoint(sys.argv[1], ids=[1])
before = peak()
document = import_checkpoint(sys.argv[2], ids=[1, 2])
print(peak() - before)
"""


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
    """A checkpoint of about 100 MB with random numbers of 16 bits; gives its bytes."""
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


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell the peak")
@pytest.mark.parametrize("stored", ["F16", "BF16"])
def test_an_import_never_holds_much_more_than_its_file(tmp_path: Path, stored: str) -> None:
    from checkpoints.written import llama_arrays, write_folder

    small, large = tmp_path / "small", tmp_path / "large"
    small.mkdir(), large.mkdir()
    write_folder(small, llama_arrays())
    size = write_large(large, stored)
    command = [sys.executable, "-c", MEASURE, str(small), str(large)]
    taken = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert 0.9 * size < taken < 1.5 * size, f"{taken / size:.2f} times the file"
