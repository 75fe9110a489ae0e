"""A stage that is added to the table before all else, and what a test knows of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from attnviz.model import stages
from attnviz.operations.operation import Floats


@dataclass(frozen=True)
class NewStage:
    """A stage of the scores behind `capped`, with d_head as its operand.

    `computed` and `slope` are its values and derivatives, from those before it and the operand. `formula` is
    that of the map of the document in `checks_of_new_stage.py`, `code` the last line of its script.
    """

    row: stages.Stage
    computed: Callable[[Floats, float], Floats]
    slope: Callable[[Floats, float], Floats]
    formula: str
    code: str


def run_with(added: NewStage) -> None:
    """Put the row behind `capped` and run the checks of it. Nothing may have read the table before."""
    rows = list(stages.STAGES)
    rows.insert([row.id for row in rows].index("capped") + 1, added.row)
    stages.STAGES = tuple(rows)
    stages.STAGE_BY_ID.clear()
    stages.STAGE_BY_ID.update({row.id: row for row in rows})
    ADDED.append(added)

    import pytest

    checks = str(Path(__file__).parent / "checks_of_new_stage.py")
    sys.exit(pytest.main([checks, *sys.argv[1:], "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]))


ADDED: list[NewStage] = []
"""The stage of this process."""
