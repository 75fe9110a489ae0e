"""Explanations as text, and their formulas worked out.

The text is read by a small translator of signs and Python's own arithmetic, so nothing of the package
takes part in the sum.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

import numpy as np

from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.model.spec.experiment import Experiment
from attnviz.model.trace import SiteTrace
from attnviz.operations.terms import Explanation, Gap, Line, Series, Term, Text, flat, plain


def site_of(experiment: Experiment, dtype: str = "float64") -> SiteTrace:
    return run(NumpyEngine(dtype), experiment).only


def shown(explanation: Explanation) -> list[str]:
    lines = []
    for line in explanation.lines:
        parts = [plain(line.name), *map(plain, line.steps)]
        notes = "; ".join(map(plain, line.notes))
        lines.append(" = ".join(parts) + (f" ({notes})" if notes else ""))
    return lines


# --- reading a formula -----------------------------------------------------------------------------

_SIGNS = {"−": "-", "×": "*", "÷": "/", "^": "**", ")(": ")*(", "∞": "inf", "NaN": "nan"}
_SIGNS |= {"⌊": "floor(", "⌋": ")"}
_NAMES = {name: getattr(np, name) for name in ("exp", "tanh", "sin", "cos", "inf", "nan")} | {
    "abs": abs,
    "max": np.maximum,
    "min": np.minimum,
    "erf": math.erf,
    "ln": np.log,
    "floor": np.floor,
}


def worked_out(formula: str, m: float) -> float:
    """The value of a formula in the notation of the inspector; `m` is what its `m` stands for."""
    text = re.sub(r"\|([^|]*)\|", r"abs(\1)", formula)
    for sign, python in _SIGNS.items():
        text = text.replace(sign, python)
    # Numbers become float64 scalars: 0 / 0 is NaN here, not an exception.
    text = re.sub(r"(?<![\w.])(\d+\.?\d*(?:e-?\d+)?)", r"f(\1)", text)
    with np.errstate(all="ignore"):
        return float(eval(text, {"__builtins__": {}, "f": np.float64, "m": m, **_NAMES}))


def formulas(line: Line) -> Iterator[list[Text | Term | Gap]]:
    """The steps of a line that are arithmetic, with whole sums."""
    for step in line.steps:
        pieces = list(flat(step, True))
        has_numbers = any(isinstance(piece, Term | Series) for piece in step)
        if has_numbers and not any("Σ" in piece.text for piece in pieces):
            yield pieces


def exact(pieces: Iterable[Text | Term | Gap]) -> str:
    """The formula with every number in full."""
    return "".join(repr(p.value).replace("-", "−") if isinstance(p, Term) else p.text for p in pieces)


def maximum(line: Line) -> float:
    """The number that the line's notes call m."""
    for note in line.notes:
        terms = [piece for piece in note if isinstance(piece, Term)]
        if plain(note).startswith("m = "):
            return terms[0].value
    return math.nan
