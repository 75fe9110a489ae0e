"""The search for heads: the weight of the trace between two words, in every head."""

from __future__ import annotations

import pytest

from attnviz.compute.execute import execute
from attnviz.model.io.presets import load_preset
from attnviz.study.heads.search import Wanted, positions, search, wanted


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", None),
        ("  ", None),
        ("Lily", Wanted("", "Lily")),
        ("she Lily", Wanted("she", "Lily")),
        ("she → Lily", Wanted("she", "Lily")),
        ("she->Lily", Wanted("she", "Lily")),
    ],
)
def test_a_line_names_a_query_and_a_key(text: str, found: Wanted | None) -> None:
    assert wanted(text) == found


def test_a_word_is_a_token_without_its_space_and_case_or_the_beginning_of_one() -> None:
    labels = ("The", " cat", " saw", " the", " cats")
    assert positions(labels, "the") == [0, 3]
    assert positions(labels, "cat") == [1]
    assert positions(labels, "ca") == [1, 4]
    assert positions(labels, "dog") == []


def test_each_head_gives_its_greatest_weight_between_the_words() -> None:
    site = execute(load_preset("grouped-query").experiment).only
    query, key = site.labels("query")[5], site.labels("key")[2]
    found = search(site, Wanted(query, key))
    assert [one.head for one in found] == list(range(8))
    for one in found:
        assert (one.query, one.key) == (5, 2)
        assert one.weight == pytest.approx(float(site["weights"][one.head, 5, 2]))
    anywhere = search(site, Wanted("", key))
    for one in anywhere:
        column = site["weights"][one.head, :, 2]
        assert one.weight == pytest.approx(float(column.max())) and one.query == int(column.argmax())
    assert search(site, Wanted("nowhere", key)) == search(site, Wanted("", "nowhere")) == ()
