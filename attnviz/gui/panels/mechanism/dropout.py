"""Dropout of weights: rate, seed, rescaling, and whether the model is in training."""

from __future__ import annotations

from functools import partial

from attnviz.gui.forms.fields import Choice
from attnviz.gui.forms.paths import row
from attnviz.gui.panels.mechanism.section import Section
from attnviz.gui.store import Store
from attnviz.i18n import N_
from attnviz.model.edit.paths import is_shown, put_at

FIELDS = (
    row("dropout.p"),
    Choice(
        name="dropout_mode_segmented",
        path="dropout.training",
        label=N_("Mode"),
        read=lambda e: "train" if e.dropout.training else "eval",
        edit=lambda e, mode: put_at(e, "dropout.training", mode == "train"),
        options=(
            ("train", N_("train"), N_("Drops weights, as in training")),
            ("eval", N_("eval"), N_("Drops nothing, as in inference")),
        ),
        shown=partial(is_shown, path="dropout.training"),
    ),
    row("dropout.seed"),
    row("dropout.rescale"),
)


class DropoutSection(Section):
    """The dropped weights."""

    id = "dropout"
    heading = N_("Dropout")

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.add_form(FIELDS)
