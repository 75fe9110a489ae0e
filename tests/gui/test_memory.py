"""A model that was closed is freed: the window takes no more memory than before it was opened."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from checkpoints.large import write_large

from attnviz.checkpoints import import_checkpoint
from attnviz.model.io.files import save

MOST_LEFT = 100 * 2**20
"""Bytes that may stay of a model that was closed."""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell the memory")
def test_a_closed_model_gives_its_memory_back(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    size = write_large(folder, "F16")
    path = save(import_checkpoint(folder, ids=range(12)), tmp_path / "large.safetensors")
    script = Path(__file__).parent / "closed_model.py"
    command = [sys.executable, str(script), str(path), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr[-2000:]
    opened, left, matrices = map(int, done.stdout.split())
    assert opened > size, "the model was in the memory"
    assert left < MOST_LEFT and matrices == 0, f"{left / 2**20:.0f} MB and {matrices} matrices stay"
