"""Round steps for labels."""

from __future__ import annotations

from attnviz.core.label_spacing import nice_step


def test_steps_are_round() -> None:
    least = (0.1, 0.2, 1, 1.1, 1.5, 3, 7, 11, 21, 60, 120)
    assert [nice_step(x) for x in least] == [1, 1, 1, 2, 2, 5, 10, 20, 50, 100, 200]
