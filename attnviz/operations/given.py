"""`Given`: an input of a site, which nothing in the site computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from attnviz.i18n import N_, _
from attnviz.operations.operation import Floats, Numbers, Operation, Pulled, Writer
from attnviz.operations.terms import Line, words

BEFORE = N_("the result of the previous layer")
ENCODED = N_("the result of the encoder")


@dataclass(frozen=True, eq=False)
class Given(Operation):
    """Vectors of the document, in `path`, or the result of another site, without one.

    `numbers` are the vectors, `seed` is theirs if they are drawn. In a script, `is_shared` vectors are
    defined once, before all that reads them.
    """

    path: str = ""
    numbers: Callable[[], Floats] | None = None
    seed: int | None = None
    is_shared: bool = False

    help = N_("Vectors that are given and not computed.")
    pattern = "given"

    def pull(self, g: Any, pulled: Pulled) -> None:
        """The gradient flows on to the result of another site, or to a parameter."""

    def lines(self, numbers: Numbers) -> tuple[Line, ...]:
        there = numbers.elsewhere()
        if there is not None:
            return (numbers.line(((there,),), there.value),)
        assert self.numbers is not None
        value = float(self.numbers()[numbers.cell.row, numbers.cell.column])
        if self.seed is None:
            return (numbers.line((), value, words(_("given; edit it in Vectors"))),)
        says = _("sampled with seed {seed}; edit it in Vectors").format(seed=self.seed)
        return (numbers.line((), value, words(says)),)

    def code(self, writer: Writer) -> Sequence[str]:
        if not self.path:
            made = f"result{writer.note(BEFORE)}"
        elif self.is_shared and writer.is_encoded:
            made = f"encoded{writer.note(ENCODED)}"
        else:
            made = writer.vectors(self.path)
        lines = f"{writer.stage} = {made}".split("\n")
        if not self.is_shared:
            return lines
        writer.define(writer.stage, *lines)
        return ()
