"""The view: selection and display. A change of it never computes anything."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta
from msgspec.structs import replace

from attnviz.errors import among
from attnviz.model.spec.field import LONGEST_NAME, LONGEST_TOKEN
from attnviz.model.spec.site import Site
from attnviz.model.spec.target import parsed
from attnviz.model.spec.value import Value, check_texts, require
from attnviz.model.stages import STAGE_BY_ID

Count = Annotated[int, Meta(ge=0, le=2**24)]
"""A place in a document: past the ends of all that a window can show, and far below what its pixels count."""
Orientation = Literal["queries_as_rows", "queries_as_columns"]
Picture = Literal["map", "mean", "lines", "arcs", "patches"]
DRAWN: tuple[Picture, ...] = ("map", "mean", "lines", "arcs")
"""The pictures that figures have."""
Projection = Literal["features", "principal", "pair"]
Quantity = Literal["value", "gradient", "product"]
Part = Literal["formula", "entropy"]
Frames = Literal[
    "none", "previous", "same", "induction", "reference", "near", "first", "distance", "entropy", "effect"
]
"""None, an id of `HEAD_SCORES`, or the effect of each head on a logit."""
Range = Literal["row", "head", "global", "log", "symmetric", "percentile", "without_first"]

_A_STAGE = among(STAGE_BY_ID)


class Cell(Value, frozen=True):
    """One number of a trace: `trace.site(site)[stage][head, row, column]` (head 0 without heads).

    Of a stage whose heads have a matrix for each token, `head` is the number of the matrix, head · tokens +
    token. `site` is empty for the selected site.
    """

    stage: str
    row: Count
    column: Count
    head: Count = 0
    site: str = ""


class Ranges(Value, frozen=True):
    """The colour range of each kind of stage: scores and logits, weights and probabilities, features; and of
    their gradients.
    """

    scores: Range = "head"
    weights: Range = "head"
    features: Range = "head"
    gradients: Range = "head"

    @staticmethod
    def of_all(range_id: Range) -> Ranges:
        """One range for every kind."""
        return Ranges(range_id, range_id, range_id, range_id)


class Lines(Value, frozen=True):
    """Lines between words: those of one query or of all, of the selected head or of all."""

    queries: Literal["one", "all"] = "one"
    heads: Literal["one", "all"] = "one"


class FirstToken(Value, frozen=True):
    """A choice by hand for one head, or (None) for all others: whether its weights are coloured without those
    of the first token.
    """

    head: Count | None
    is_off: bool
    site: str = ""


class HeadGrid(Value, frozen=True):
    """The grid of all heads: what its frames show, the order of the heads of a layer, and, where the frames
    show the effect on a logit, its token (empty: the most probable next one) and what replaces a head.
    """

    frames: Frames = "none"
    order: Literal["number", "score"] = "number"
    token: str = ""
    replaced_by: Literal["zero", "mean"] = "zero"


class View(Value, frozen=True):
    """Display of a trace: stage, head, query, decoding step, colour ranges, orientation.

    `plane` are the two features drawn as the axes of the plane, unless `projection` is the principal plane or
    that of the pair in focus; `keys` the keys whose share of each row of weights is summed; `picture` draws
    weights as a map, as the map of their `mean` over the heads, as `lines` between words, as `arcs` over one
    sentence, or on the `patches` of the document's image; `first_tokens` are the heads for which somebody
    chose whether the first token is part of the colour scale. `locked` is the cell under inspection, `site`
    the selected attention (empty: the main one). A value past the end of the experiment (a head it does not
    have) is shown as the last one. `target` is the number whose gradient `quantity` shows in place of the
    values: a cell such as "layers.0.self.weights[0, 2, 1]", or "loss". `grid` is the look of the grid of all
    heads. `parts` are shown beside the map of a stage.
    """

    stage: str = "weights"
    head: Count = 0
    query: Count = 0
    step: Count = 0
    ranges: Ranges = Ranges()
    orientation: Orientation = "queries_as_rows"
    plane: tuple[Count, Count] = (0, 1)
    locked: Cell | None = None
    site: str = ""
    projection: Projection = "features"
    keys: tuple[Count, ...] = ()
    picture: Picture = "map"
    lines: Lines = Lines()
    target: str | None = None
    quantity: Quantity = "value"
    grid: HeadGrid = HeadGrid()
    first_tokens: tuple[FirstToken, ...] = ()
    parts: tuple[Part, ...] = ("entropy",)

    def check(self) -> None:
        check_texts("view.site", (self.site,), LONGEST_NAME)
        check_texts("view.first_tokens.site", tuple(one.site for one in self.first_tokens), LONGEST_NAME)
        check_texts("view.target", (self.target or "",), LONGEST_NAME)
        check_texts("view.grid.token", (self.grid.token,), LONGEST_TOKEN)
        require(self.stage in STAGE_BY_ID, "view.stage", self.stage, _A_STAGE)
        if self.locked is not None:
            check_texts("view.locked.site", (self.locked.site,), LONGEST_NAME)
            require(self.locked.stage in STAGE_BY_ID, "view.locked.stage", self.locked.stage, _A_STAGE)
        if self.target is not None:
            parsed(self.target, "view.target")

    def range_of(self, stage: str) -> Range:
        """The colour range of a stage: that of its kind."""
        chosen: Range = getattr(self.ranges, self._ranged(stage))
        return chosen

    def with_range(self, stage: str, range_id: Range) -> Ranges:
        """The colour ranges in which the kind of a stage has another one."""
        return replace(self.ranges, **{self._ranged(stage): range_id})

    def first_token(self, site: str, head: int) -> bool | None:
        """True if the first token of a head was left out by hand, False if it was put back, else None."""
        chosen = {(one.site, one.head): one.is_off for one in self.first_tokens}
        return chosen.get((site, head), chosen.get(("", None)))

    def ranged(self, range_id: Range) -> View:
        """The view with a range for every kind of stage and every head, which no sink changes."""
        of_all = (FirstToken(None, range_id == "without_first"),)
        return replace(self, ranges=Ranges.of_all(range_id), first_tokens=of_all)

    def with_first_token(self, site: str, head: int, is_off: bool) -> tuple[FirstToken, ...]:
        """The choices by hand with that of one head."""
        others = (one for one in self.first_tokens if (one.site, one.head) != (site, head))
        return *others, FirstToken(head, is_off, site)

    def _ranged(self, stage: str) -> str:
        """The field of `ranges` for the shown numbers of a stage."""
        return STAGE_BY_ID[stage].kind if self.quantity == "value" else "gradients"


def query_head(site: Site, view: View) -> int:
    """The query head that the view shows."""
    return min(view.head, site.heads.n_heads - 1)


def shown_head(site: Site, view: View, stage: str) -> int:
    """The head of `stage` that the view shows: the chosen query head, or the key/value head it reads.

    Of a stage by token: the number of the matrix of the chosen query.
    """
    row = STAGE_BY_ID[stage]
    if not row.per_head:
        return 0
    head = query_head(site, view)
    head = head if row.axes[0] == "head" else head // site.heads.group_size
    return head * site.n_queries + min(view.query, site.n_queries - 1) if row.by_token else head
