"""Words and colours of a sum of weighted values, the same in every picture of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from attnviz.core.shades import Shades, head_color
from attnviz.core.text import elide, isolated, number, visible
from attnviz.i18n import _
from attnviz.model.value_sum import ValueSum

LONGEST = 14
"""Characters of a word inside a sentence."""


def word(token: str) -> str:
    """A token inside a sentence, without the spaces around it."""
    return isolated(elide(visible(token.strip() or token), LONGEST))


def plane_note(summed: ValueSum) -> str:
    """The plane of the picture, and the share of the result that it holds."""
    if summed.is_off:
        return _("This head is switched off: its result is 0, whatever its weights are")
    share = f"{100 * summed.share:.4g} %" if math.isfinite(summed.share) else number(summed.share)
    if summed.through is None:
        said = _("plane of the two largest directions of v; it holds {share} of the result’s squared length")
        return said.format(share=share)
    first, second = (word(summed.keys[key]) for key in summed.through)
    said = _(
        "plane through v of “{first}” and v of “{second}”; it holds {share} of the result’s squared length"
    )
    return said.format(first=first, second=second, share=share)


@dataclass(frozen=True, eq=False)
class Hues:
    """The colour of each key: its own where few are summed, else that of its role; in greys, muted."""

    sum: ValueSum
    shades: Shades

    def value(self, key: int) -> str:
        """The colour of the arrow of a value."""
        if self.shades.is_grey:
            return self.shades.muted
        if self.sum.has_few:
            return head_color(key)
        if key == self.sum.own:
            return self.shades.query
        return self.shades.value_mark if key == self.sum.strongest else self.shades.hatch

    def step(self, key: int) -> str:
        """The colour of its part of the sum: brown for the small steps of many."""
        if self.sum.has_few or key in (self.sum.own, self.sum.strongest):
            return self.value(key)
        return self.shades.key_mark
