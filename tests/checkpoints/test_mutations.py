"""Mutated configurations, headers and tokenizers end in a sentence; the whole run is a script."""

from __future__ import annotations

from collections import Counter

from checkpoints.mutations import outcomes


def test_what_is_wrong_ends_in_a_sentence() -> None:
    found = Counter(outcomes(150))
    assert found.keys() == {"opened", "refused"}
    assert found["refused"] > 60
