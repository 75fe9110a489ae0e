"""The controls of a latent: its widths, norms and matrices, with the picture of what becomes of a token."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from attnviz.core.text import number
from attnviz.engines.engine import ITEMSIZE
from attnviz.gui.forms.fields import Slider, Switch
from attnviz.gui.forms.form import Form
from attnviz.gui.forms.paths import row
from attnviz.gui.forms.rows import Note
from attnviz.gui.forms.subject import selected_attention
from attnviz.gui.look.theme import GRID
from attnviz.gui.panels.mechanism.former_parts import SeenBySite
from attnviz.gui.panels.mechanism.latent import MOST_HEADS, LatentPicture, LatentShapes
from attnviz.gui.panels.mechanism.norm import NormLine, NormSlot
from attnviz.gui.panels.mechanism.weights import WeightLines, WeightSlot
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.tone import Tone
from attnviz.i18n import N_, _
from attnviz.model.edit.latent import latent_written_out, set_latent_norm, set_latent_size, set_latent_weights
from attnviz.model.operands.latent import cached_numbers, expanded_numbers, latent_of
from attnviz.model.positions import changes
from attnviz.model.provenance import tokens_of
from attnviz.model.spec.document import Document
from attnviz.model.spec.latent import LATENT_ROLES, Latent, LatentRole
from attnviz.model.spec.parts import Explicit, Identity, Projection, Seeded
from attnviz.model.spec.site import Site
from attnviz.model.spec.view import Cell
from attnviz.model.stages import as_read, inputs

SYMBOLS: dict[LatentRole, tuple[str, Tone]] = {
    "query_down": ("W_DQ", "query"),
    "down": ("W_DKV", "key"),
    "rope_key": ("W_KR", "key"),
    "up_key": ("W_UK", "key"),
    "up_value": ("W_UV", "value"),
}
"""Each matrix as the literature writes it, and its hue."""


def has_latent(site: Site) -> bool:
    """True if keys and values are projected from a latent."""
    return site.latent is not None


def has_query_latent(site: Site) -> bool:
    """True if queries are projected from a latent of their own."""
    return site.latent is not None and site.latent.d_q is not None


def _set_query_latent(site: Site, is_on: bool) -> Site:
    return set_latent_size(site, d_q=max(site.d_model // 2, 1) if is_on else None)


def _width(name: str) -> Slider[Site]:
    slider: Slider[Site] = row(
        f"latent.{name}", edit=lambda e, size: set_latent_size(e, **{name: int(size)}), from_start=True
    )
    return slider


FIELDS = (
    _width("d_c"),
    _width("d_rope"),
    Switch(
        name="query_latent_switch",
        path="latent.query_down",
        label=N_("Query latent"),
        hint=N_("Computes queries from a latent too, which is not cached"),
        read=has_query_latent,
        edit=_set_query_latent,
        shown=has_latent,
    ),
    _width("d_q"),
)


class LatentForm(QWidget):
    """Shown with a latent, as are `picture` and `note`, which the owner places.

    The picture follows the hovered token, else the view's query.
    """

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store, self._seen = store, SeenBySite(store)
        self.setObjectName("latent_form")
        self.picture = LatentPicture()
        self.picture.hovered.connect(self._on_hovered)
        self.note = Note("latent_note")
        self._form = Form(FIELDS, selected_attention(store), store)
        self._norms = tuple(
            NormLine(selected_attention(store), slot, store, lambda: self._seen.here)
            for slot in self._norm_slots()
        )
        self._lines = WeightLines(self, store, tuple(self._slot(role) for role in SYMBOLS))
        column = in_column(self, self._form, *self._norms, spacing=GRID - 2)
        column.addLayout(self._lines)
        for part in (self, self.picture, self.note):
            part.hide()  # a first layout must not make room for what may not apply

    def refresh(self) -> None:
        """Show the document."""
        attention = self._store.attention
        for part in (self, self.picture, self.note):
            part.setVisible(attention.latent is not None)
        if attention.latent is None:
            return
        for role in LATENT_ROLES:
            source = getattr(attention.latent, role)
            self._seen.here.note(f"{role}.{source.__struct_config__.tag}", source)
        self._form.refresh()
        for norm in self._norms:
            norm.refresh()
        self._lines.refresh(attention, attention.latent.roles().__contains__)
        self.note.setText(_said(attention))
        self.show_token()

    def show_token(self) -> None:
        """Draw the numbers of the selected token."""
        store, attention = self._store, self._store.attention
        if attention.latent is None:
            return
        stages = store.site.stages if store.trace is not None else ()
        is_there = "latent" in stages
        compressed = "latent_projected" if "latent_projected" in stages else "latent"
        source = inputs(compressed, stages)[0] if is_there else "tokens_embedded"
        key = as_read("k", stages) if is_there else "k"
        shapes = LatentShapes.of(attention, attention.d_keys, source, key)
        itemsize = ITEMSIZE[attention.dtype]
        self.picture.set_attention(attention, shapes, store.document.view.head, itemsize)
        self.picture.set_numbers(self._numbers(shapes) if is_there else {})

    def retranslate(self) -> None:
        self.refresh()

    def on_document(self, old: Document | None, new: Document) -> None:
        """The experiment changed."""
        self.refresh()

    def token(self) -> int:
        """The key position that is drawn: under the mouse, locked, or that of the view's query."""
        focus, n_keys = self._store.focus, self._store.attention.n_keys
        queries, keys = ((), ()) if focus is None else tokens_of(focus)
        token = (keys or queries or (self._store.document.view.query,))[0]
        return min(token, n_keys - 1)

    def _numbers(self, shapes: LatentShapes) -> dict[tuple[str, int], Any]:
        site = self._store.site
        token = min(self.token(), site.experiment.n_keys - 1)  # the numbers may be a frame old
        row = slice(token, token + 1)
        numbers = {}
        for stage in (shapes.source, "latent", *(("rope_key",) if "rope_key" in site.stages else ())):
            numbers[stage, 0] = site.window(stage, 0, row)[0].astype(np.float64)
        for head in range(min(site.shape("v")[0], MOST_HEADS)):
            for stage in (shapes.key, "v"):
                numbers[stage, head] = site.window(stage, head, row)[0].astype(np.float64)
        return numbers

    @Slot(object)
    def _on_hovered(self, pointed: tuple[str, int, int] | None) -> None:
        """Light the number under the mouse in every panel."""
        store = self._store
        if pointed is None or store.trace is None or pointed[0] not in store.site.stages:
            store.set_hover(None)
            return
        stage, feature, head = pointed
        store.set_hover(Cell(stage, self.token(), feature, head))

    def _norm_slots(self) -> tuple[NormSlot[Site], ...]:
        return (
            NormSlot.at(
                "latent_norm",
                "latent.norm",
                read=lambda e: latent_of(e).norm,
                edit=lambda e, norm: set_latent_norm(e, "norm", norm),
                shown=has_latent,
            ),
            NormSlot.at(
                "query_latent_norm",
                "latent.query_norm",
                read=lambda e: latent_of(e).query_norm,
                edit=lambda e, norm: set_latent_norm(e, "query_norm", norm),
                shown=has_query_latent,
            ),
        )

    def _slot(self, role: LatentRole) -> WeightSlot:
        symbol, hue = SYMBOLS[role]
        return WeightSlot(
            id=role,
            path=f"latent.{role}",
            symbol=symbol,
            short=symbol,
            hue=hue,
            read=lambda e: getattr(latent_of(e), role),
            source=partial(self._source, role),
            edit=lambda e, source: set_latent_weights(e, role, source),
        )

    def _source(self, role: LatentRole, site: Site, option: str) -> Projection:
        """The source of an option; the seed and the numbers that the matrix had before come back."""
        last = self._seen.here.last
        if option == "identity":
            return Identity()
        if option == "seeded":
            return last(f"{role}.seeded", Seeded, getattr(Latent(1), role))
        present = latent_written_out(site, role)
        source = last(f"{role}.explicit", Explicit, present)
        return source if source.values.shape == present.values.shape else present


def _said(attention: Site) -> str:
    """The cached numbers of a token beside those of MHA with the same heads; a note without RoPE."""
    kept, whole = cached_numbers(attention), expanded_numbers(attention)
    sentence = _("Cached per token: {kept} numbers; MHA caches {whole}, {times} times as many.")
    text = sentence.format(kept=f"{kept:,}", whole=f"{whole:,}", times=number(whole / kept, 1))
    latent = latent_of(attention)
    if latent.d_rope and changes(attention.position) != "rotation":
        text += " " + _("Without RoPE, the {n} features beside the content are not rotated.").format(
            n=latent.d_rope
        )
    return text
