"""The arithmetic of a pair: the products over the features of the head whose sum is its number."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from attnviz.core.text import isolated, visible
from attnviz.i18n import N_, _
from attnviz.model.spec.view import Cell
from attnviz.operations.terms import Explanation, Line, Pieces, Series, Text, constant, product, words

if TYPE_CHECKING:
    from attnviz.study.circuits import Pair

LETTERS = {"qk": ("q", "k"), "ov": ("v", "w")}
"""The names of the two factors by the kind of circuit."""
NOTES = {
    "qk": N_(
        "q is the query of “{first}” with the scale, k the key of “{second}”: each token's vector without "
        "position, as the first layer reads it, through the norm of the layer and the matrices of the head. "
        "Largest products first."
    ),
    "ov": N_(
        "v is the value of “{first}”, w the weight of each of its features in the logit of “{second}”: "
        "W_O of the head, the gain of the last norm, and the read-out. Largest products first."
    ),
}


def explained(pair: Pair, kind: str, row: int) -> Explanation:
    """The sum of the products, the largest first; `row` is the place of the pair among its list."""
    left, right = (np.asarray(side, dtype=np.float64) for side in (pair.left, pair.right))
    order = np.argsort(-np.abs(left * right), kind="stable")
    one, other = LETTERS[kind]

    def item(index: int) -> Pieces:
        at = int(order[index])
        return product(constant(left[at], f"{one}[{at}]"), constant(right[at], f"{other}[{at}]"))

    first, second = isolated(visible(pair.first)), isolated(visible(pair.second))
    name: Pieces = (Text(f"{first} → {second}"),)
    says = words(_(NOTES[kind]).format(first=first, second=second))
    steps = (words(f"Σ {one} · {other}"), (Series(len(order), item),))
    line = Line(name, steps, pair.value, float(left @ right))
    note = replace(line, name=(), steps=(), notes=(says,))
    return Explanation(Cell("weights", row, 0), f"{first} → {second}", (line, note))
