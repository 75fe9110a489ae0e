"""What an import and its runs hold: no more than was computed with, and none of it when it is closed."""

from __future__ import annotations

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
