"""Spacing of labels where not all of them fit."""

from __future__ import annotations


def nice_step(least: float) -> int:
    """The smallest of 1, 2, 5, 10, 20, 50, ... that is at least `least`."""
    power = 1
    while True:
        for factor in (1, 2, 5):
            if factor * power >= least:
                return factor * power
        power *= 10
