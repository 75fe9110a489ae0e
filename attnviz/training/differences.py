"""`DIFFERENCES`: a second run that differs from a first one in one thing, on the same texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from msgspec import structs

from attnviz.i18n import N_
from attnviz.model.edit.block import LastSeen, set_placement, set_residual
from attnviz.model.edit.edits import set_heads
from attnviz.model.edit.layers import set_n_layers
from attnviz.model.edit.switching import set_position
from attnviz.model.sites.sites import at, put, site_names
from attnviz.model.spec.block import NormPlacement
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import NoPosition, NoScale, SqrtDHead
from attnviz.model.spec.site import Site
from attnviz.training.optimiser import Settings

WARM_UP = 100
"""Steps in which the rate of the row of the warm-up rises."""


@dataclass(frozen=True)
class Difference:
    """One difference; `title` is a message that says what the second run has or lacks.

    `model(experiment)` and `settings(settings)` are those of the second run, equal ones where nothing
    differs; the model raises `ValueError` where it cannot have it.
    """

    id: str
    title: str
    model: Callable[[Experiment], Experiment] = lambda experiment: experiment
    settings: Callable[[Settings], Settings] = lambda settings: settings


def _everywhere(edit: Callable[[Site], Site]) -> Callable[[Experiment], Experiment]:
    """The edit of every site that it can change."""

    def edited(experiment: Experiment) -> Experiment:
        for name in site_names(experiment):
            experiment = put(experiment, edit(at(experiment, name)))
        return experiment

    return edited


def _scaled(is_on: bool, site: Site) -> Site:
    if isinstance(site.scale, NoScale) != is_on:
        return site
    return structs.replace(site, scale=SqrtDHead() if is_on else NoScale())


def _residual(is_on: bool, site: Site) -> Site:
    return site if site.layer.block is None else set_residual(site, is_on)


def _placed(placement: NormPlacement, site: Site) -> Site:
    block = site.layer.block
    if block is None or block.norm_1 is None or {block.placement, placement} != {"pre", "post"}:
        return site
    return set_placement(site, placement, LastSeen())


def _shared(n_sharing: int, site: Site) -> Site:
    """`n_sharing` query heads for each key/value head; 1 has one for each."""
    return set_heads(site, n_kv_heads=max(site.heads.n_heads // n_sharing, 1))


def _layers(n: int, experiment: Experiment) -> Experiment:
    return set_n_layers(experiment, n)


DIFFERENCES: tuple[Difference, ...] = (
    Difference("no_scale", N_("without ÷ √d"), _everywhere(partial(_scaled, False))),
    Difference("scale", N_("with ÷ √d"), _everywhere(partial(_scaled, True))),
    Difference(
        "no_position", N_("without positions"), _everywhere(lambda site: set_position(site, NoPosition()))
    ),
    Difference("no_residual", N_("without the residual connection"), _everywhere(partial(_residual, False))),
    Difference("residual", N_("with the residual connection"), _everywhere(partial(_residual, True))),
    Difference("post_norm", N_("with norms after the sums"), _everywhere(partial(_placed, "post"))),
    Difference("pre_norm", N_("with norms before the sublayers"), _everywhere(partial(_placed, "pre"))),
    Difference("one_layer", N_("with one layer"), partial(_layers, 1)),
    Difference("two_layers", N_("with two layers"), partial(_layers, 2)),
    Difference("shared", N_("with two heads for each key/value head"), _everywhere(partial(_shared, 2))),
    Difference("own", N_("with a key/value head for each head"), _everywhere(partial(_shared, 1))),
    Difference(
        "warm_up",
        N_("with a warm-up of 100 steps"),
        settings=lambda settings: replace(settings, warmup=WARM_UP),
    ),
)
"""Every row is one difference; those that change nothing in a run are none of it."""
DIFFERENCE_BY_ID = {row.id: row for row in DIFFERENCES}


def differences_of(experiment: Experiment, settings: Settings) -> tuple[Difference, ...]:
    """The rows that make another run of this one."""
    found = []
    for row in DIFFERENCES:
        try:
            made, other = row.model(experiment), row.settings(settings)
        except ValueError:
            continue
        if made is not experiment and made != experiment or other != settings:
            found.append(row)
    return tuple(found)
