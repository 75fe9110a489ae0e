"""A stage `bent` of a new operation, `Bend`."""

from __future__ import annotations

import numpy as np
from bend import Bend
from new_stage import NewStage, judge_score

from attnviz.i18n import N_
from attnviz.model.stages import Stage

BENT = Stage(
    "bent",
    "scores",
    ("head", "query", "key"),
    N_("bent"),
    "l · arctan(s ÷ l)",
    N_("bend"),
    ("scores",),
    when=lambda site: site.position_temperature is None,
    symbols=("s",),
    wraps="{op}({0})",
    fold=9,
    made_by=Bend,
    operands="heads.d_head",
)

if __name__ == "__main__":
    judge_score(
        NewStage(
            BENT,
            lambda s, c: c * np.arctan(s / c),
            lambda s, c: 1 / (1 + (s / c) ** 2),
            "softmax(bend(cap(q kᵀ ÷ √3)) + bias) v W_O",
            "bent = 3 * {xp}.arctan(capped / 3)",
        )
    )
