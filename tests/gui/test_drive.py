"""The driver of the window finds no fault in a few actions, and finds other numbers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from drive_many import differences

import attnviz
from attnviz.model.edit import edits
from attnviz.model.io.presets import load_preset

SCRIPT = Path(__file__).parents[1] / "drive_many.py"
SEED, ACTIONS = 5, 60


def test_a_moment_at_random_shows_no_fault() -> None:
    """In a process of its own, as the script replaces what every dialog returns."""
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(SEED), str(ACTIONS)],
        capture_output=True,
        text=True,
        timeout=240,
        env=dict(os.environ, QT_QPA_PLATFORM="offscreen"),
        check=False,
    )
    assert done.stdout.splitlines()[-1].endswith("actions, 0 faults"), done.stdout[-4000:] + done.stderr
    assert done.returncode == 0


def test_other_numbers_are_a_fault() -> None:
    experiment = load_preset("toy-attention").experiment
    other = edits.set_vector_cell(experiment, 0, 0, 3.0)
    assert not list(differences(attnviz.run(experiment), attnviz.run(experiment)))
    assert any("weights differs" in text for text in differences(attnviz.run(experiment), attnviz.run(other)))
