"""A stage that is added to the table before all else, and what a test knows of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

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


def add(row: stages.Stage, behind: str) -> None:
    """Put a row behind another one. Nothing may have read the table before."""
    rows = list(stages.STAGES)
    rows.insert([one.id for one in rows].index(behind) + 1, row)
    stages.STAGES = tuple(rows)
    stages.STAGE_BY_ID.clear()
    stages.STAGE_BY_ID.update({one.id: one for one in rows})


def judge(checks: str) -> NoReturn:
    """Run the tests of a file beside this one, and end the process."""
    import pytest

    file = str(Path(__file__).parent / checks)
    sys.exit(pytest.main([file, *sys.argv[1:], "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]))


def judge_score(added: NewStage) -> NoReturn:
    """Add a stage of the scores behind `capped` and judge it."""
    add(added.row, "capped")
    ADDED.append(added)
    judge("checks_of_new_stage.py")


ADDED: list[NewStage] = []
"""The stage of this process."""
