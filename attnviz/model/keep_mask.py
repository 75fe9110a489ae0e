"""A mask of 0 and 1 in the place of numbers that are added to the scores: it hides nothing.

Other programs mean by it the keys that count, 1, and those that are hidden, 0. Nobody can tell from the
numbers, so it is said, or the reading of such a file is refused.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from attnviz.errors import Message, must_be
from attnviz.model.memo import WeakMemo
from attnviz.model.sites.sites import sites
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import AdditiveMask

GIVEN = Message("0 and 1 alone")
"""The value of a mask whose numbers nobody can tell from truth values."""
NUMBERS = must_be("numbers that are added, 0 for a key that counts and −inf for a hidden one")


def is_keep_mask(values: NDArray[Any]) -> bool:
    """True for numbers (…, key) that are 0 or 1, both occur, and about each row has a 1."""
    ones = values == 1
    n_rows = values.size // values.shape[-1]
    return bool(n_rows <= ones.sum() < values.size and (ones | (values == 0)).all())


def added_keep_masks(experiment: Experiment) -> tuple[Message, ...]:
    """A notice for each attention that adds such a mask."""
    return tuple(
        Message(
            "{site}: the additive mask has 0 and 1 alone, which are added to the scores and hide no key; −∞ "
            "hides one.",
            site=site.place.name,
        )
        for site in sites(experiment).values()
        if site.additive_mask is not None and _IS_KEEP_MASK(site.additive_mask)
    )


def _is_in(mask: AdditiveMask) -> bool:
    return is_keep_mask(mask.values.array)


_IS_KEEP_MASK = WeakMemo[AdditiveMask, bool](_is_in)
