"""A stage of an existing operation is one row: a process that has the row is right everywhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def test_a_stage_of_an_existing_operation_is_right_everywhere() -> None:
    command = [sys.executable, str(HERE / "clipped.py"), str(HERE / "checks_of_clipped.py")]
    made = subprocess.run(command, cwd=HERE.parent.parent, capture_output=True, text=True, timeout=300)
    assert made.returncode == 0, made.stdout[-4000:] + made.stderr[-2000:]
