"""Dropout of weights: rate, seed, rescaling, and whether the model is in training."""

from __future__ import annotations

from attnviz.gui.forms.fields import Choice, Seed, Slider, Switch, replacing
from attnviz.gui.panels.mechanism.section import Section
from attnviz.gui.store import Store
from attnviz.i18n import N_
from attnviz.model.spec.site import Site


def _set_mode(site: Site, mode: str) -> Site:
    return replacing("dropout", "training")(site, mode == "train")


def _drops(site: Site) -> bool:
    return site.dropout.p > 0


FIELDS = (
    Slider(
        name="dropout_p_field",
        path="dropout.p",
        label=N_("p"),
        read=lambda e: e.dropout.p,
        edit=replacing("dropout", "p"),
        hint=N_("The probability that a weight becomes 0"),
        minimum=0.0,
        maximum=0.9,
        lowest=0.0,
        highest=0.999,
        default=0.0,
    ),
    Choice(
        name="dropout_mode_segmented",
        label=N_("Mode"),
        read=lambda e: "train" if e.dropout.training else "eval",
        edit=_set_mode,
        options=(
            ("train", N_("train"), N_("Drops weights, as in training")),
            ("eval", N_("eval"), N_("Drops nothing, as in inference")),
        ),
        shown=_drops,
    ),
    Seed(
        name="dropout_seed_field",
        path="dropout.seed",
        label=N_("Seed"),
        read=lambda e: e.dropout.seed,
        edit=replacing("dropout", "seed"),
        shown=_drops,
    ),
    Switch(
        name="dropout_rescale_toggle",
        path="dropout.rescale",
        label=N_("Survivors ÷ (1 − p)"),
        read=lambda e: e.dropout.rescale,
        edit=replacing("dropout", "rescale"),
        hint=N_("Keeps the expected row sum at 1"),
        shown=_drops,
    ),
)


class DropoutSection(Section):
    """Which weights are dropped."""

    id = "dropout"
    heading = N_("Dropout")

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.add_form(FIELDS)
