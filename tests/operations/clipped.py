"""A stage `clipped` after `capped`, of the existing operation `Cap`: added to the table before all else."""

from __future__ import annotations

from attnviz.i18n import N_
from attnviz.model import stages
from attnviz.operations.pointwise import Cap

CLIPPED = stages.Stage(
    "clipped",
    "scores",
    ("head", "query", "key"),
    N_("clipped"),
    "c · tanh(s ÷ c)",
    N_("clip"),
    ("scores",),
    "same_cell",
    when=lambda site: site.position_temperature is None,
    symbols=("s",),
    wraps="clip({0})",
    fold=9,
    made_by=Cap,
    operands="heads.d_head",
)


def add() -> None:
    """Put the row behind `capped`. Nothing may have read the table before."""
    rows = list(stages.STAGES)
    rows.insert([row.id for row in rows].index("capped") + 1, CLIPPED)
    stages.STAGES = tuple(rows)
    stages.STAGE_BY_ID.clear()
    stages.STAGE_BY_ID.update({row.id: row for row in rows})


if __name__ == "__main__":
    add()

    import sys

    import pytest

    sys.exit(pytest.main([*sys.argv[1:], "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]))
