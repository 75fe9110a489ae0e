"""A stage `clipped` of the existing operation `Cap`."""

from __future__ import annotations

import numpy as np
from new_stage import NewStage, judge_score

from attnviz.i18n import N_
from attnviz.model.stages import Stage
from attnviz.operations.pointwise import Cap

CLIPPED = Stage(
    "clipped",
    "scores",
    ("head", "query", "key"),
    N_("clipped"),
    "c · tanh(s ÷ c)",
    N_("clip"),
    ("scores",),
    when=lambda site: site.position_temperature is None,
    symbols=("s",),
    wraps="clip({0})",
    fold=9,
    made_by=Cap,
    operands="heads.d_head",
)

if __name__ == "__main__":
    judge_score(
        NewStage(
            CLIPPED,
            lambda s, c: c * np.tanh(s / c),
            lambda s, c: 1 - np.tanh(s / c) ** 2,
            "softmax(clip(cap(q kᵀ ÷ √3)) + bias) v W_O",
            "clipped = 3 * {xp}.tanh(capped / 3)",
        )
    )
