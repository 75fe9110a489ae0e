"""Memory of an import and its runs: no more than was computed with, and none of it after closing."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from pathlib import Path

import pytest
from checkpoints.large import write_large
from checkpoints.written import llama_arrays, write_folder

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


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell the peak")
@pytest.mark.parametrize("stored", ["F16", "BF16"])
def test_an_import_leaves_the_numbers_in_their_file(tmp_path: Path, stored: str) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    small.mkdir(), large.mkdir()
    write_folder(small, llama_arrays())
    size = write_large(large, stored)
    command = [sys.executable, "-c", MEASURE, str(small), str(large)]
    taken = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert taken < 0.2 * size, f"{taken / size:.2f} times the file"


REOPEN = """
import gc, sys
from attnviz.checkpoints.importing import import_checkpoint
from attnviz.compute.execute import execute
def resident():
    gc.collect()
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmRSS")) * 1024
found = []
for turn in range(10):
    document = import_checkpoint(sys.argv[1 + turn % 2], ids=[1, 2])
    trace = execute(document.experiment)
    del document, trace
    found.append(resident())
print(max(found[1:]) - found[0])
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell the memory")
def test_ten_models_one_after_the_other_leave_nothing(tmp_path: Path) -> None:
    folders = tmp_path / "one", tmp_path / "two"
    for folder in folders:
        folder.mkdir()
        write_large(folder, "BF16")
    command = [sys.executable, "-c", REOPEN, *map(str, folders)]
    left = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert left < 150 * 2**20, f"{left / 2**20:.0f} MB more than after the first"


KEPT = """
import ctypes, sys
from attnviz.checkpoints.importing import import_checkpoint
def resident():
    return 1024 * next(int(one.split()[1]) for one in open("/proc/self/status") if one.startswith("RssAnon"))
document = import_checkpoint(sys.argv[1], ids=[1, 2])
before = resident()
ctypes.CDLL(None).malloc_trim(0)
print(before - resident())
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="another C library")
def test_an_import_gives_back_what_its_tokenizer_took(tmp_path: Path) -> None:
    """After SmolLM2's, 39 MB that nobody used stayed with the process."""
    write_folder(tmp_path, llama_arrays())
    pairs = [f"{one:05}" for one in range(50_000)]
    tokens = {token: one for one, token in enumerate(pairs)}
    model = {"type": "BPE", "vocab": tokens, "merges": [[one[:2], one[2:]] for one in pairs]}
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": model, "decoder": {"type": "ByteLevel"}}))
    command = [sys.executable, "-c", KEPT, str(tmp_path)]
    kept = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert kept < 2 * 2**20, f"{kept / 2**20:.0f} MB"
