"""Ends of ranges over the stages of a run, against the extremes of its arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from experiments import small
from msgspec.structs import replace

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.core.levels import RANGES, Range
from attnviz.figures.content import content
from attnviz.figures.palette import PALETTES
from attnviz.gui.look.theme import LIGHT
from attnviz.gui.widgets.heat.stages import stage_content
from attnviz.model.ranges import overview_ends, proposed_range, range_ends, shown_range
from attnviz.model.spec.parts import Causal, Heads
from attnviz.model.spec.view import Ranges, View, shown_head
from attnviz.model.stages import STAGE_BY_ID

SITE = attnviz.run(small(heads=Heads(4, 2, 4), masks=(Causal(),))).only


def test_all_heads_have_one_range_and_each_head_its_own() -> None:
    weights = SITE["weights"]
    assert range_ends(SITE, "weights", "global", (0,)) == pytest.approx((0, weights.max()))
    for head in range(4):
        largest = np.abs(SITE["q"][head]).max()
        assert range_ends(SITE, "q", "head", (head,)) == pytest.approx((-largest, largest))
        assert range_ends(SITE, "weights", "without_first", (head,))[1] == weights[head][:, 1:].max()
        largest = np.abs(SITE["q"][head][1:]).max()
        assert range_ends(SITE, "q", "without_first", (head,)) == pytest.approx((-largest, largest))


@pytest.mark.parametrize("row", RANGES, ids=lambda row: row.id)
@pytest.mark.parametrize("stage", SITE.stages)
def test_map_thumbnail_and_figure_have_the_same_ends(row: Range, stage: str) -> None:
    range_id: Any = row.id
    view = View(stage=stage, head=1, ranges=Ranges.of_all(range_id))
    drawn = stage_content(SITE, view, stage, LIGHT)
    scale = content(SITE, view, stage, None, PALETTES[0]).scale
    assert drawn.levels == (scale.low, scale.high)
    of_one = not STAGE_BY_ID[stage].per_head and range_id in ("head", "global")
    said = "" if range_id == "head" else f" · {'This map' if of_one else row.label}"
    assert scale.named("x") == f"x{said}"
    if range_id != "global":
        assert overview_ends(SITE, stage, range_id, shown_head(SITE.experiment, view, stage)) == drawn.levels


def test_a_range_is_proposed_for_weights_alone() -> None:
    for stage in SITE.stages:
        assert proposed_range(SITE, stage, "head", 0) == ""


def test_a_choice_by_hand_comes_before_the_sink_and_the_range_of_the_view() -> None:
    """A sink is left out by itself in the range of one head; a range for all heads is taken as it is."""
    site = attnviz.run(load_preset("stories-name").experiment).site("layers.2.self")
    name = site.name
    for range_id, by_hand, head, expected in (
        ("head", None, 2, "without_first"),
        ("head", None, 0, "head"),
        ("head", False, 2, "head"),
        ("head", True, 0, "without_first"),
        ("row", None, 2, "row"),
        ("row", True, 2, "without_first"),
        ("without_first", None, 0, "without_first"),
        ("without_first", False, 2, "head"),
    ):
        view = View(ranges=Ranges.of_all(range_id), head=head)  # type: ignore[arg-type]
        if by_hand is not None:
            view = replace(view, first_tokens=view.with_first_token(name, head, by_hand))
        assert shown_range(site, view, "weights") == expected, (range_id, by_hand, head)
        assert shown_range(site, view, "scores") == range_id, "scores have their range alone"
    for row in RANGES:
        explicit = View(head=2).ranged(row.id)  # type: ignore[arg-type]
        assert shown_range(site, explicit, "weights") == row.id
