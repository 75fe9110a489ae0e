"""The pairs of a site: the counts are those of the text, counted cell by cell."""

from __future__ import annotations

import attnviz
from attnviz.model.io.presets import load_preset
from attnviz.model.sites.pairs import Pairs, pairs_of, sum_of_pairs


def test_the_three_attentions_have_n_squared_m_squared_and_n_times_m_pairs() -> None:
    experiment = load_preset("encoder-decoder").experiment
    trace = attnviz.run(experiment)
    counted = [pairs_of(trace.site(name).experiment) for name in trace.sites]
    assert [pairs.product for pairs in counted] == [
        "6 × 6 = 36 pairs",
        "4 × 4 = 16 pairs",
        "4 × 6 = 24 pairs",
    ]
    assert [pairs.visible_of_total for pairs in counted] == ["", "10 of 16 visible", ""]
    assert sum_of_pairs(counted) == "36 + 16 + 24 = 76 pairs, 70 visible"
    for name, pairs in zip(trace.sites, counted, strict=True):
        weights = trace.site(name)["weights"][0]
        assert (weights.size, int((weights > 0).sum())) == (pairs.total, pairs.visible)


def test_equal_layers_are_counted_once_and_multiplied() -> None:
    assert sum_of_pairs([Pairs(6, 6, 36)] * 12) == "12 × 36 = 432 pairs"
    assert (
        sum_of_pairs([Pairs(6, 6, 21), Pairs(6, 6, 21), Pairs(4, 6, 24)])
        == "2 × 36 + 24 = 96 pairs, 66 visible"
    )
