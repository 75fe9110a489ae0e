"""The stack: how many layers, encoders and second attentions, and the norms before and after them."""

from __future__ import annotations

from typing import Any, Literal, get_args

from msgspec.structs import replace
from PySide6.QtCore import Slot
from PySide6.QtWidgets import QHBoxLayout

from attnviz.gui.forms.edit_all import EDIT_ALL, EditAll
from attnviz.gui.forms.fields import Number, Switch
from attnviz.gui.forms.paths import presence, row
from attnviz.gui.forms.subject import whole_experiment
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import plain_tooltip, says
from attnviz.gui.panels.mechanism.memory import has_memory
from attnviz.gui.panels.mechanism.norm import NormLine, NormSlot
from attnviz.gui.panels.mechanism.section import Section
from attnviz.gui.widgets.button import Button
from attnviz.i18n import N_, _
from attnviz.model.edit.block import LastSeen
from attnviz.model.edit.edits import change_embedding_projection, set_embedding_projection
from attnviz.model.edit.fitting import fitted_norm
from attnviz.model.edit.layers import (
    MOST_LAYERS,
    duplicate_layer,
    remove_layer,
    set_cross,
    set_n_encoder_layers,
    set_n_layers,
    why_not_removed,
)
from attnviz.model.errors.titles import reason_in_words
from attnviz.model.fields import field_at
from attnviz.model.sites.sites import place_of, places, shown_site
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.block import Norm
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import vectors_shape
from attnviz.model.spec.vocabulary import EmbeddingProjection

NormField = Literal["embedding_norm", "final_norm", "encoder_norm", "encoder_embedding_norm"]

NORM_FIELDS: tuple[NormField, ...] = get_args(NormField)


def _has_encoder(experiment: Experiment) -> bool:
    return bool(experiment.encoder)


def set_stack_norm(experiment: Experiment, name: NormField, norm: Norm | None) -> Experiment:
    """Set a norm before or after the layers, fitted to its input."""
    features = experiment.d_embedding if name == "embedding_norm" else experiment.d_model
    if name.startswith("encoder") and experiment.memory is not None:
        features = vectors_shape(experiment.memory.vectors)[1]
    return replace(experiment, **{name: fitted_norm(norm, features)})


def _is_projected(experiment: Experiment) -> bool:
    return experiment.embedding_projection is not None


def _set_projected(experiment: Experiment, is_on: bool) -> Experiment:
    projection = EmbeddingProjection(experiment.d_model) if is_on else None
    return set_embedding_projection(experiment, projection)


def _set_layer_width(experiment: Experiment, d_model: float) -> Experiment:
    return change_embedding_projection(experiment, d_model=round(d_model))


class LayersSection(Section):
    """Acts on the whole experiment; the two buttons act on the selected layer."""

    id = "layers"
    heading = N_("Layers")
    spoken = {
        "copy_layer_button": (
            N_("Copy layer"),
            N_("Insert a copy after the selected layer, with new seeds"),
        ),
        "remove_layer_button": (N_("Remove layer"), N_("Remove the selected layer")),
        "alike_toggle": (N_("Edit all layers"), EDIT_ALL),
    }

    def fill(self) -> None:
        self._seen = LastSeen()
        self._both: tuple[Layer, ...] = ()
        self.add_whole_form(self._fields())
        self._copy = says(
            Button(),
            N_("Copy layer"),
            id="copy_layer_button",
            name=N_("Copy layer"),
            tip=N_("Insert a copy after the selected layer, with new seeds"),
        )
        self._remove = Button()
        says(self._remove, N_("Remove layer"), id="remove_layer_button", name=N_("Remove layer"))
        self._copy.clicked.connect(self._on_copy)
        self._remove.clicked.connect(self._on_remove)
        line = QHBoxLayout()
        line.setSpacing(GRID)
        line.addWidget(self._copy, 1)
        line.addWidget(self._remove, 1)
        self.body.addLayout(line)
        self._alike = EditAll(self.store, "alike_toggle", N_("Edit all layers"))
        self.body.addWidget(self._alike)
        self._norms = tuple(self._norm_line(name) for name in NORM_FIELDS)

    def present(self, document: Document) -> str:
        """The number of layers, with those of the encoder first: "2 + 2"."""
        experiment = document.experiment
        counts = [len(experiment.encoder)] if experiment.encoder else []
        return " + ".join(str(n) for n in (*counts, len(experiment.layers)))

    def on_document(self, old: Document | None, new: Document) -> None:
        if new.experiment.has_cross:
            self._both = new.experiment.layers
        super().on_document(old, new)
        self._show_rest()

    def _show_rest(self) -> None:
        experiment, site = self.store.experiment, self.store.document.site
        reason = reason_in_words(why_not_removed(experiment, place_of(experiment, site)))
        self._remove.setEnabled(reason is None)
        tip = reason or _("Remove the selected layer")
        if plain_tooltip(tip) != self._remove.toolTip():
            self._remove.setToolTip(plain_tooltip(tip))
        self._alike.show_document(self.store.document)
        for line in self._norms:
            line.refresh()

    def _fields(self) -> tuple[Any, ...]:
        return (
            Number(
                name="n_layers_field",
                path="layers",
                label=N_("Layers"),
                read=lambda e: len(e.layers),
                edit=lambda e, n: set_n_layers(e, int(n)),
                hint=N_("New layers copy the last one, with new seeds"),
                from_start=True,
                minimum=1,
                maximum=MOST_LAYERS,
                integer=True,
            ),
            Number(
                name="n_encoder_layers_field",
                path="encoder",
                label=N_("Encoder layers"),
                read=lambda e: len(e.encoder),
                edit=lambda e, n: set_n_encoder_layers(e, int(n)),
                hint=N_("Layers that encode the memory sequence"),
                shown=has_memory,
                from_start=True,
                minimum=0,
                maximum=MOST_LAYERS,
                integer=True,
            ),
            presence("embedding_projection", _set_projected),
            row("embedding_projection.d_model", edit=_set_layer_width, shown=_is_projected),
            Switch(
                name="cross_toggle",
                path="cross",
                label=N_("Self- and cross-attention"),
                read=lambda e: e.has_cross,
                edit=self._set_cross,
                hint=N_("Every layer attends to its own tokens first, then to the memory sequence"),
                shown=has_memory,
            ),
        )

    def _norm_line(self, name: NormField) -> NormLine[Experiment]:
        row = field_at(name)
        assert row is not None
        slot = NormSlot[Experiment](
            id=name,
            label=row.field.title,
            hint=row.field.hint,
            read=lambda e: getattr(e, name),
            edit=lambda e, norm: set_stack_norm(e, name, norm),
            shown=_has_encoder if name.startswith("encoder") else lambda e: True,
        )
        line = NormLine(whole_experiment(self.store), slot, self.store, lambda: self._seen)
        self.body.addWidget(line)
        return line

    def _set_cross(self, experiment: Experiment, is_on: bool) -> Experiment:
        return set_cross(experiment, is_on, self._both)

    @Slot()
    def _on_copy(self) -> None:
        self._rearrange(duplicate_layer, 1)

    @Slot()
    def _on_remove(self) -> None:
        self._rearrange(remove_layer, 0)

    def _rearrange(self, edit: Any, step: int) -> None:
        """Edit the stack at the selected site, then select the layer `step` further, or the last."""
        here = place_of(self.store.experiment, self.store.document.site)
        if not self.store.edit(edit, here.name):
            return
        alike = [
            place
            for place in places(self.store.experiment)
            if (place.stack == "encoder") == (here.stack == "encoder") and place.kind == here.kind
        ]
        wanted = alike[min(here.layer + step, len(alike) - 1)].name if alike else ""
        self.store.look(site=shown_site(self.store.experiment, wanted))
