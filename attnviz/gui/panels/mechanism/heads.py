"""The heads: how many, how wide, and which of them share keys and values."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QPushButton, QSizePolicy, QWidget

from attnviz.core.dims import group_counts
from attnviz.errors import Message
from attnviz.gui.forms.fields import Choice, Number
from attnviz.gui.forms.marks import Mark
from attnviz.gui.forms.paths import row
from attnviz.gui.look.fonts import number_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.look.words import says
from attnviz.gui.panels.mechanism.former_parts import SeenBySite
from attnviz.gui.panels.mechanism.latent_form import LatentForm
from attnviz.gui.panels.mechanism.section import Section
from attnviz.gui.panels.mechanism.wires import HeadWires
from attnviz.gui.store import Store
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.toggle import Toggle
from attnviz.i18n import N_, _
from attnviz.model.edit.edits import set_heads, set_linked_heads, toggle_head
from attnviz.model.edit.latent import first_latent, set_latent, why_no_latent, why_no_projections
from attnviz.model.errors.titles import reason_in_words
from attnviz.model.positions import changes
from attnviz.model.spec.document import Document
from attnviz.model.spec.latent import Latent, kv_heads_beside_latent
from attnviz.model.spec.parts import Projections, Seeded
from attnviz.model.spec.site import Site
from attnviz.model.spec.value import Refusal
from attnviz.model.spec.view import Cell
from attnviz.model.trace import Trace

MOST_SWITCHES = 32
"""Heads with a button of their own; the dots above switch the others by a double click."""

COLUMNS = 8


class HeadSwitches(QWidget):
    """Buttons numbered like the heads; a pressed one is a head that is on. Hidden for a single head."""

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._buttons: list[QPushButton] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(2)
        self.setObjectName("head_switches")

    def refresh(self) -> None:
        """Show which heads of the document are on."""
        heads = self._store.attention.heads
        self.setVisible(heads.n_heads > 1 or bool(heads.off))
        while len(self._buttons) < min(heads.n_heads, MOST_SWITCHES):
            self._add(len(self._buttons))
        for head, button in enumerate(self._buttons):
            button.setVisible(head < heads.n_heads)
            is_off = head in heads.off
            button.setChecked(not is_off)
            font = button.font()
            font.setStrikeOut(is_off)
            button.setFont(font)

    def _add(self, head: int) -> None:
        button = says(
            Button(str(head + 1)),
            id=f"head_off_{head}",
            name=Message("Head {head} is on", head=head + 1),
            tip=Message("Switch head {head} off or on", head=head + 1),
        )
        button.setCheckable(True)
        button.setProperty("head", head)
        button.setProperty("narrow", True)
        button.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        button.clicked.connect(self._on_clicked)
        self._grid.addWidget(button, *divmod(head, COLUMNS))
        self._buttons.append(button)

    @Slot()
    def _on_clicked(self) -> None:
        self._store.edit_attention(toggle_head, self.sender().property("head"))
        self.refresh()


SEGMENTS = 5
"""More divisors than this are chosen from a list, since they have no room beside each other."""

MOST_HEADS, WIDEST_HEAD = 256, 1024


def layout_name(site: Site) -> str:
    """Name of this sharing of heads."""
    heads = site.heads
    if site.latent is not None:
        return "MLA"
    if heads.n_heads == heads.n_kv_heads:
        return "MHA"
    return "MQA" if heads.n_kv_heads == 1 else "GQA"


class HeadsSection(Section):
    """Query heads, key/value heads, d_head, d_model, and the wires between heads."""

    id = "heads"
    heading = N_("Heads")
    spoken = {
        "n_kv_heads_segmented": (N_("Key/value heads"),),
        "n_kv_heads_combo": (N_("Key/value heads"),),
        "head_switches": (N_("Switch head {head} off or on"),),
        "d_model_value": (N_("Features of a token, d_model"),),
        "d_model_link": (
            N_("Lock d_model = h · d_head"),
            N_("The number of heads and their width change together, d_model stays"),
        ),
    }

    def fill(self) -> None:
        self._chosen_head: int | None = None
        self._counts: tuple[int, ...] = ()
        self._seen = SeenBySite(self.store)
        self._link = says(
            Toggle(""),
            N_("Lock d_model = h · d_head"),
            id="d_model_link",
            tip=N_("The number of heads and their width change together, d_model stays"),
        )
        self.add_form((self._source_choice(), self._number("n_heads", MOST_HEADS)))
        label = says(QLabel(), N_("Key/value heads"))
        tip = N_("More of them repeat the keys and values of a trained model; fewer take their means")
        self._few = says(Segmented(()), id="n_kv_heads_segmented", name=N_("Key/value heads"), tip=tip)
        self._many = says(Combo(()), id="n_kv_heads_combo", name=N_("Key/value heads"), tip=tip)
        for control in (self._few, self._many):
            control.changed.connect(self._on_kv_heads)
            Mark(self.store, control, "heads.n_kv_heads")
        self.body.addLayout(_row(label, self._few, self._many))
        self.wires = HeadWires()
        self.wires.previewed.connect(self._on_previewed)
        self.wires.chosen.connect(self._on_chosen)
        self.wires.toggled.connect(self._on_toggled)
        self.body.addWidget(self.wires)
        self.latent = LatentForm(self.store)
        self.latent.picture.chosen.connect(self._on_chosen)
        self.body.addWidget(self.latent.picture)
        self.body.addWidget(self.latent.note)
        self.switches = HeadSwitches(self.store)
        self.body.addWidget(self.switches)
        Mark(self.store, self.switches, "heads.off")
        self.add_form((self._number("d_head", WIDEST_HEAD),))
        label = says(QLabel(), N_("Features of a token, d_model"))
        self._model = says(QLabel(), id="d_model_value", name=N_("Features of a token, d_model"))
        self._model.setFont(number_font(TEXT_PX))
        self._model.setContentsMargins(0, 0, 4, 0)
        self.body.addLayout(_row(label, self._model))
        self.body.addWidget(self._link)
        self.body.addWidget(self.latent)

    def present(self, document: Document) -> str:
        """The sharing of heads and their counts: "GQA · 4 q · 2 kv"."""
        site = document.attention
        heads, name = site.heads, layout_name(site)
        if site.latent is not None:
            return f"{name} · {heads.n_heads} q"
        return f"{name} · {heads.n_heads} q · {heads.n_kv_heads} kv"

    def _number(self, field: Literal["n_heads", "d_head"], most: int) -> Number[Site]:
        number: Number[Site] = row(
            f"heads.{field}",
            name=f"{field}_field",
            edit=lambda e, n: self._with_heads(e, field, n),
            maximum=most,
            from_start=True,
        )
        return number

    def _with_heads(self, site: Site, name: Literal["n_heads", "d_head"], n: int) -> Site:
        if self._link.value() and _is_linked(site):
            return set_linked_heads(site, name, n)
        return set_heads(site, **{name: n})

    def _source_choice(self) -> Choice[Site]:
        return Choice(
            name="latent_segmented",
            label="",
            hint=N_("Source of keys and values"),
            read=lambda e: "projections" if e.latent is None else "latent",
            edit=self._set_source,
            options=(
                (
                    "projections",
                    N_("MHA · GQA · MQA"),
                    N_("Projects the keys and values of each KV head by W_K and W_V"),
                ),
                (
                    "latent",
                    N_("MLA"),
                    N_("Computes every head's keys and values from one cached latent"),
                ),
            ),
            why_not=_why_not_from,
        )

    def _set_source(self, site: Site, source: str) -> Site:
        """Project keys and values from x or from a latent; the former settings are restored."""
        last = self._seen.here.last
        if source == "projections":
            if site.latent is None:
                return site
            before = last("projections", Projections, Projections(key=Seeded(1), value=Seeded(2)))
            return set_latent(site, None, before.key, before.value)
        if site.latent is not None:
            return site
        latent = last("latent", Latent, first_latent(site))
        if changes(site.position) == "rotation" and not latent.d_rope:
            latent = first_latent(site)
        return set_latent(site, latent)

    def _note_seen(self, site: Site) -> None:
        self._seen.here.note("latent", site.latent)
        if site.latent is None:
            self._seen.here.note("projections", site.projections)

    def on_document(self, old: Document | None, new: Document) -> None:
        self._note_seen(new.attention)
        super().on_document(old, new)
        heads = new.attention.heads
        counts = group_counts(heads.n_heads)
        if counts != self._counts:
            self._counts = counts
            options = [(str(d), str(d), "") for d in counts]
            is_few = len(counts) <= SEGMENTS
            self._few.set_options(options if is_few else [])
            self._many.set_options(options)
            self._few.setVisible(is_few)
            self._many.setVisible(not is_few)
        for control in (self._few, self._many):
            control.set_value(str(heads.n_kv_heads))
        for count in counts:
            shown = self._few if len(counts) <= SEGMENTS else self._many
            reason = reason_in_words(_why_not_shared(new.attention, count))
            shown.set_option_unavailable(str(count), reason)
        self.latent.on_document(old, new)
        self.wires.setVisible(new.attention.latent is None)
        self._model.setText(str(new.attention.d_model))
        self._show_link(new.attention)
        self.switches.refresh()
        self.on_view(new)

    def _show_link(self, attention: Site) -> None:
        """The link can be locked if it holds; if it does not, the lock says so."""
        heads = attention.heads
        reason = _("d_model is {d_model}; {n} heads of {width} features are {product}.").format(
            d_model=attention.d_model,
            n=heads.n_heads,
            width=heads.d_head,
            product=heads.n_heads * heads.d_head,
        )
        self._link.set_unavailable(None if _is_linked(attention) else reason)

    def on_view(self, document: Document) -> None:
        self.wires.set_heads(document.attention.heads, document.view.head)
        self.latent.show_token()

    def on_trace(self, trace: Trace) -> None:
        self.latent.show_token()

    def on_hover(self, cell: Cell | None) -> None:
        self.latent.show_token()

    @Slot(str)
    def _on_kv_heads(self, count: str) -> None:
        if not self.store.edit_attention(set_heads, n_kv_heads=int(count)):
            self.on_document(None, self.store.document)

    @Slot(int)
    def _on_previewed(self, head: int) -> None:
        """Show the head under the mouse everywhere; without one, the chosen head again."""
        if head >= 0:
            if self._chosen_head is None:
                self._chosen_head = self.store.document.view.head
            self.store.look(head=head)
        elif self._chosen_head is not None:
            chosen, self._chosen_head = self._chosen_head, None
            self.store.look(head=chosen)

    @Slot(int)
    def _on_toggled(self, head: int) -> None:
        self.store.edit_attention(toggle_head, head)

    @Slot(int)
    def _on_chosen(self, head: int) -> None:
        if self._chosen_head is not None:
            self._chosen_head = head
        self.store.look(head=head)


def _is_linked(site: Site) -> bool:
    heads = site.heads
    return heads.n_heads * heads.d_head == site.d_model


def _why_not_shared(site: Site, count: int) -> Refusal:
    """Why that number of key/value heads is impossible: with a latent every head has its own."""
    return None if site.latent is None else kv_heads_beside_latent(count, site.heads.n_heads)


def _why_not_from(site: Site, source: str) -> Refusal:
    """Why keys and values cannot be projected from x, or from a latent."""
    if (source == "latent") == (site.latent is not None):
        return None
    return why_no_latent(site) if site.latent is None else why_no_projections(site)


def _row(label: QLabel, *controls: QWidget) -> QHBoxLayout:
    row = QHBoxLayout()
    # Half a unit: five segments beside their label are the widest line of the column.
    row.setSpacing(GRID // 2)
    row.addWidget(label)
    row.addStretch(1)
    for control in controls:
        row.addWidget(control)
    return row
