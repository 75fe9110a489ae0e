"""`Bend`: an arctangent of each score, which no stage of the program needs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from attnviz.core.dims import Array
from attnviz.operations.operation import Arrays, Block, Numbers, Pointwise, Pulled, Writer
from attnviz.operations.terms import Line, Pieces, Text, constant, words


@dataclass(frozen=True)
class Bend(Pointwise):
    """limit · arctan(s ÷ limit)."""

    limit: float

    help = "Scores bent towards a range by an arctangent."
    cites = "gemma"
    letters = "cos²"
    is_exact = False

    @property
    def growth(self) -> float:
        return 1.0

    def shape_(self, arrays: Arrays, scores: Array, block: Block) -> None:
        scores[...] = self.limit * arrays.xp.atan(scores / self.limit)

    def pull(self, g: Any, pulled: Pulled) -> None:
        cosine = pulled.arrays.xp.cos(pulled.result() / self.limit)
        pulled.add(g.part() * cosine * cosine)

    def derivative(self, result: float) -> float:
        return math.cos(result / self.limit) ** 2

    def lines(self, numbers: Numbers) -> tuple[Line, ...]:
        score, limit = numbers.term(), constant(self.limit, "l")
        pieces: Pieces = (limit, Text(" × arctan("), score, Text(" ÷ "), limit, Text(")"))
        result = self.limit * math.atan(score.value / self.limit)
        return (numbers.line((words("l · arctan(s ÷ l)"), pieces), result),)

    def code(self, writer: Writer) -> tuple[str, ...]:
        (read,) = writer.reads
        return (f"{writer.stage} = {self.limit!r} * {writer.xp}.arctan({read} / {self.limit!r})",)
