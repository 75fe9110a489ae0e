"""Heads that are switched off and numbers set by hand: the experiment without them is intact."""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from attnviz.model.edit.by_hand import take_all
from attnviz.model.sites.sites import at, put, site_names
from attnviz.model.spec.experiment import Experiment


def off_heads(experiment: Experiment) -> tuple[tuple[str, int], ...]:
    """(site, head) of every head that is switched off, in data-flow order."""
    return tuple((name, head) for name in site_names(experiment) for head in at(experiment, name).heads.off)


def switch_off(experiment: Experiment, heads: Collection[tuple[str, int]]) -> Experiment:
    """Switch these heads, (site, head), off, and all others on. Raises `ValueError` for a strange head."""
    for name in site_names(experiment):
        site = at(experiment, name)
        off = tuple(sorted(head for place, head in heads if place == name))
        if off != site.heads.off:
            experiment = put(experiment, replace(site, heads=replace(site.heads, off=off)))
    return experiment


def switch_all_on(experiment: Experiment) -> Experiment:
    """Switch every head on."""
    return switch_off(experiment, ())


def intact(experiment: Experiment) -> Experiment:
    """The experiment with all heads on and no number by hand."""
    return switch_all_on(take_all(experiment))


def is_intact(experiment: Experiment) -> bool:
    """True if all heads are on and no number is set by hand."""
    sites = (at(experiment, name) for name in site_names(experiment))
    return not any(site.heads.off or site.edits for site in sites)
