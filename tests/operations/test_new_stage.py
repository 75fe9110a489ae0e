"""A stage is one row, of an operation that exists or of one more file: it is right everywhere.

A process adds the row before anything reads the table, and runs the checks of it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.parametrize("stage", ["clipped", "bent", "state"])
def test_a_new_stage_is_right_everywhere(stage: str) -> None:
    made = subprocess.run(
        [sys.executable, str(HERE / f"{stage}.py")],
        cwd=HERE.parent.parent,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert made.returncode == 0, made.stdout[-4000:] + made.stderr[-2000:]
