"""The kind of cache: chosen here with its numbers, its slots drawn, its bytes measured and by formula."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QEvent, QSize, Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QGridLayout, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from attnviz.compute.decoding import Decoded
from attnviz.compute.storage import StoredError, step_errors
from attnviz.core.text import isolated, number
from attnviz.engines.decode.cost import position_bytes
from attnviz.engines.decode.step import DecodeStep, SiteStep
from attnviz.engines.engine import ITEMSIZE
from attnviz.gui.forms.marks import Mark
from attnviz.gui.forms.rows import Note
from attnviz.gui.look.fonts import number_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.look.words import composed, plain_tooltip, says
from attnviz.gui.panels.decoding.counts import grouped, plain_label
from attnviz.gui.panels.decoding.links import shown_step_site
from attnviz.gui.panels.decoding.names import names_of
from attnviz.gui.panels.decoding.part import DecodingPart
from attnviz.gui.panels.decoding.slots import Slot as Place
from attnviz.gui.panels.decoding.slots import SlotMap, slot_groups
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column, in_row
from attnviz.gui.widgets.elided_label import ElidedLabel
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.caches import CACHE_BY_ID, CACHES, Cache, FullCache, PagedCache, QuantisedCache
from attnviz.model.edit.generation import set_cache
from attnviz.model.edit.paths import putting
from attnviz.model.fields import FIELDS
from attnviz.model.operands.latent import expanded_numbers

ROWS = ("first", "second", "output", "next")
"""The cached rows, in two arrays, and the results computed from them."""

COLUMNS: tuple[tuple[str, str], ...] = (
    ("greatest", N_("largest |Δ|")),
    ("rms", N_("rms")),
    ("bound", N_("½ step")),
)

KEPT = {"k": "K", "v": "V", "latent": "c", "rope_key": "kᴿ"}
"""The symbols of what a cache keeps."""

DIGITS = 4


class ErrorTable(QWidget):
    """One step of one site. Rows that say nothing of the kind of cache are hidden."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._titles = {
            key: plain_label(f"error_{key}_title", title) for key, title in (("name", N_("error")), *COLUMNS)
        }
        says(
            self._titles["bound"],
            tip=N_(
                "The quantisation error is at most half a step of the row (plus rounding in 16-bit formats)"
            ),
        )
        self._names = {row: plain_label(f"error_{row}_name") for row in ROWS}
        self._values = {
            (row, key): plain_label(f"error_{row}_{key}") for row in ROWS for key, _title in COLUMNS
        }
        self._given_up = Note("error_given_up")
        self._lay_out()
        set_tone("muted", *self._titles.values(), *self._names.values())

    def show_step(self, decoded: Decoded, index: int, name: str, head: int) -> None:
        """Show the errors after step `index` at the site `name`; `head` is a query head."""
        self.clear()
        step = decoded.decoding.steps[index]
        site, full = step.site(name), decoded.full[name]
        rows = decoded.stored[name]
        for place, kept in zip(("first", "second"), rows, strict=False):
            stored = kept.up_to(site.seen)
            self._show(
                place,
                _("{name} as stored").format(name=KEPT[kept.name]),
                (stored.greatest, stored.rms, stored.half_step),
                self._kept_words(decoded, stored),
            )
        has_bound = any(not np.isnan(kept.half_steps).all() for kept in rows)
        self._titles["bound"].setVisible(has_bound)
        if not rows and site.experiment.memory is None:
            self._show_given_up(site, float(full.given_up[head, index]), head)
        output = step_errors([site.attention_output], full.output[index : index + 1])
        following = _("Compared with the uncached pass; includes the errors of earlier steps and layers")
        self._show("output", _("output"), (output.greatest[0], output.rms[0]), following)
        errors = decoded.next_errors
        if errors is not None:
            greatest_and_rms = errors.greatest[index], errors.rms[index]
            self._show("next", _("probabilities"), greatest_and_rms, following)

    def clear(self) -> None:
        """Show no numbers."""
        for row in ROWS:
            self._show(row, "", ())
        self._titles["bound"].hide()
        self._given_up.hide()

    def _kept_words(self, decoded: Decoded, stored: StoredError) -> str:
        """Place of the greatest error, and the two numbers there."""
        token = names_of(decoded.decoding).label(decoded.decoding.steps[stored.position].token)
        text = _(
            "Largest difference of stored and computed values in all rows so far: position "
            "{position}, “{token}”, head {head}, feature {feature}, computed {made}, read {read}"
        )
        return text.format(
            position=stored.position,
            token=isolated(token),
            head=stored.head + 1,
            feature=stored.feature,
            made=number(stored.made, 6),
            read=number(stored.read, 6),
        )

    def _show_given_up(self, site: SiteStep, share: float, head: int) -> None:
        text = _("{gone} of {seen} positions evicted; they held {share} of head {head}'s attention")
        gone = site.seen - len(site.key_positions)
        shown = text.format(gone=gone, seen=site.seen, share=number(share, DIGITS), head=head + 1)
        self._given_up.setText(shown)
        words = _("The weight of these positions in the uncached pass, in this head")
        self._given_up.setToolTip(plain_tooltip(words))
        self._given_up.show()

    def _show(self, row: str, name: str, numbers: Sequence[float], words: str = "") -> None:
        """A row of numbers; those that are none, and those that are missing, are left out."""
        texts = ["" if math.isnan(one) else number(one, DIGITS) for one in numbers]
        texts += [""] * (len(COLUMNS) - len(texts))
        labels = [self._names[row], *(self._values[row, key] for key, _title in COLUMNS)]
        for label, text in zip(labels, (name, *texts), strict=True):
            label.setText(text)
            label.setToolTip(plain_tooltip(words))
            label.setVisible(bool(text))

    def _lay_out(self) -> None:
        grid = QGridLayout()
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(GRID * 3 // 2)
        grid.setVerticalSpacing(1)
        for column, title in enumerate(self._titles.values()):
            grid.addWidget(title, 0, column)
            if column:
                title.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        for place, row in enumerate(ROWS, start=1):
            grid.addWidget(self._names[row], place, 0)
            for column, (key, _title) in enumerate(COLUMNS, start=1):
                label: QLabel = self._values[row, key]
                label.setFont(number_font(TEXT_PX - 1))
                label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                grid.addWidget(label, place, column)
        column_ = in_column(self, spacing=GRID // 2)
        column_.addLayout(grid)
        column_.addWidget(self._given_up)
        column_.addStretch(1)


NUMBERS = tuple(row for row in FIELDS if row.path.startswith("cache.") and row.kind is int)
"""The whole numbers that kinds of caches have."""

BYTES: tuple[tuple[str, str], ...] = (
    ("measured", N_("bytes held, measured")),
    ("formula", N_("by formula")),
    ("full", N_("full cache")),
    ("expanded", N_("as MHA")),
    ("empty", N_("empty slots")),
)


class CachePanel(DecodingPart):
    """Edits `Experiment.writing.cache`, and shows its content at one step."""

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        kinds = [(row.id, row.title, composed("{} · {}".format, row.hint, row.source)) for row in CACHES]
        self._kind = says(Segmented(()), id="decode_cache_kind", name=N_("Cache type"), options=kinds)
        self._kind.changed.connect(self._on_kind)
        self._bits = Segmented([("8", "8", ""), ("4", "4", "")])
        says(self._bits, id="decode_cache_bits", name=N_("bits"))
        self._bits.changed.connect(self._on_bits)
        Mark(store, self._kind, "cache")
        Mark(store, self._bits, "cache.bits")
        self._numbers: dict[str, DragNumber] = {}
        self._labels = {"bits": plain_label("cache_bits_label", N_("bits"))}
        for row in NUMBERS:
            field, (least, most) = row.name, row.bounds
            control = DragNumber(minimum=least, maximum=most, integer=True)
            says(control, id=f"decode_cache_{field}", name=row.field.title)
            self._labels[field] = plain_label(f"cache_{field}_label", row.field.title)
            control.changed.connect(self._on_number)
            control.rejected.connect(store.rejected)
            control.gesture_started.connect(store.begin_gesture)
            control.gesture_finished.connect(store.end_gesture)
            Mark(store, control, f"cache.{field}")
            self._numbers[field] = control
        self._hint, self._terms = ElidedLabel(), Note("decode_cache_terms")
        self._hint.setObjectName("decode_cache_hint")
        self._slots = says(SlotMap(), id="decode_slots", name=N_("Cache slots"))
        self._errors = ErrorTable()
        self._bytes = {
            key: (plain_label(f"cache_{key}_name", title), plain_label(f"cache_{key}"))
            for key, title in BYTES
        }
        self._lay_out()
        set_tone("muted", *self._labels.values(), self._hint)
        set_tone("muted", *(name for name, _value in self._bytes.values()))

    def minimumSizeHint(self) -> QSize:
        """In a narrow place the tables stand below the slots, and where it is narrower, below one another."""
        return QSize(
            max(self._places.minimumSize().width(), *self._table_widths()), super().minimumSizeHint().height()
        )

    def _table_widths(self) -> tuple[int, int]:
        items = (self._tables.itemAt(place) for place in range(2))
        errors, held = (0 if item is None else item.minimumSize().width() for item in items)
        return errors, held

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._share_out()

    def event(self, event: QEvent) -> bool:
        """Other columns of a table need another width."""
        if event.type() == QEvent.Type.LayoutRequest:
            self._share_out()
        return super().event(event)

    def _share_out(self) -> None:
        tables = sum(self._table_widths()) + self._tables.spacing()
        whole = self._places.minimumSize().width() + self._whole.spacing() + tables
        for box, needed in ((self._tables, tables), (self._whole, whole)):
            is_wide = self.width() >= needed
            box.setDirection(
                QBoxLayout.Direction.LeftToRight if is_wide else QBoxLayout.Direction.TopToBottom
            )

    def show_step(self) -> None:
        """Show the cache as it stood after the present step."""
        decoded, index = self.decoded, self.step
        is_there = decoded is not None
        self._slots.setVisible(is_there)
        if decoded is None:
            for _name, value in self._bytes.values():
                value.setText("")
            self._terms.setText("")
            self._errors.clear()
            return
        step = decoded.decoding.steps[index]
        cache = _cache_of(decoded)
        fed = decoded.decoding.fed_together(index)
        self._slots.set_groups(slot_groups(cache, fed), self._describe)
        self._show_bytes(decoded, step, cache, fed.stop)
        view = self.store.document.view
        name = shown_step_site(decoded, view.site)
        n_heads = step.site(name).experiment.heads.n_heads
        self._errors.show_step(decoded, index, name, min(view.head, n_heads - 1))

    def refresh(self) -> None:
        """Show the document's kind of cache."""
        writing = self.store.experiment.writing
        cache = FullCache() if writing is None else writing.cache
        row = next(row for row in CACHES if row.kind is type(cache))
        self._kind.set_value(row.id)
        for field, control in self._numbers.items():
            has_it = hasattr(cache, field)
            control.setVisible(has_it)
            self._labels[field].setVisible(has_it)
            if has_it:
                control.set_value(getattr(cache, field))
        bits = getattr(cache, "bits", None)
        self._bits.setVisible(bits is not None)
        self._labels["bits"].setVisible(bits is not None)
        if bits is not None:
            self._bits.set_value(str(bits))
        words = _("{what}. {source}").format(what=_(row.hint), source=_(row.source))
        has_latent = self.store.attention.latent is not None
        latent = _("The cache holds the latent, from which keys and values are computed.")
        self._hint.set_line(latent if has_latent else words)
        self._hint.setToolTip(plain_tooltip(words))

    def retranslate(self) -> None:
        self.refresh()
        self.show_step()

    # --- content

    def _describe(self, place: Place) -> str:
        words = {
            "kept": _("position {position}, “{token}”: read"),
            "new": _("position {position}, “{token}”: appended in this step"),
            "evicted": _("position {position}, “{token}”: evicted"),
            "empty": _("empty"),
        }[place.state]
        decoded = self.decoded
        if place.position < 0 or decoded is None:
            return words
        token = isolated(names_of(decoded.decoding).label(decoded.decoding.steps[place.position].token))
        return words.format(position=place.position, token=token)

    def _show_bytes(self, decoded: Decoded, step: DecodeStep, cache: Cache, length: int) -> None:
        """The bytes after the step, or after the prefill that it is of: `length` positions were appended."""
        decoding = decoded.decoding
        itemsize = ITEMSIZE[decoding.dtype]
        own = [site for site in step.sites.values() if site.experiment.memory is None]
        rows = [position_bytes(site.experiment, cache, itemsize) for site in own]
        places = cache.capacity(length)
        positions = {name: length for name, site in step.sites.items() if site.experiment.memory is None}
        full = sum(
            position_bytes(site.experiment, FullCache(), itemsize) * positions.get(name, site.seen)
            for name, site in step.sites.items()
        )
        has_latent = any(site.experiment.latent is not None for site in own)
        expanded = sum(expanded_numbers(site.experiment) for site in own) * length * itemsize
        empty = (places - length) * sum(rows)
        share = f"{100 * (places - length) / places:.0f} %"
        self._show("measured", grouped(step.held_bytes))
        self._show("formula", grouped(step.cached.bytes_held))
        self._show("full", grouped(full))
        self._show("expanded", grouped(expanded) if has_latent else "")
        is_paged = isinstance(cache, PagedCache)
        self._show("empty", f"{grouped(empty)} · {share}" if is_paged else "")
        if len(set(rows)) == 1 and len(own) == len(step.sites):
            terms = _("attentions {sites} × slots {places} × bytes {row}")
            self._terms.setText(terms.format(sites=len(own), places=places, row=rows[0]))
        else:
            self._terms.setText(_("All attentions together"))
        is_equal = step.held_bytes == step.cached.bytes_held
        set_tone("" if is_equal else "error", self._bytes["measured"][1])

    def _show(self, key: str, text: str) -> None:
        for label in self._bytes[key]:
            label.setVisible(bool(text))
        self._bytes[key][1].setText(text)

    # --- acting

    @Slot(str)
    def _on_kind(self, id_: str) -> None:
        self.store.edit(set_cache, CACHE_BY_ID[id_].kind())
        self.refresh()

    @Slot(str)
    def _on_bits(self, bits: str) -> None:
        self.store.edit(set_cache, QuantisedCache(8 if bits == "8" else 4))

    @Slot(object)
    def _on_number(self, value: int) -> None:
        field = next(field for field, control in self._numbers.items() if control is self.sender())
        # Undo may have exchanged the cache in the middle of a drag: the edit changes what has the field.
        self.store.edit(putting(f"writing.cache.{field}"), int(value))
        self.refresh()

    # --- building

    def _lay_out(self) -> None:
        numbers = QHBoxLayout()
        numbers.setSpacing(GRID // 2)
        for name in (*self._numbers, "bits"):
            numbers.addWidget(self._labels[name])
            numbers.addWidget(self._bits if name == "bits" else self._numbers[name])
        numbers.addWidget(self._hint, 1)
        places = QVBoxLayout()
        places.setSpacing(GRID // 2)
        places.addWidget(self._kind, 0, Qt.AlignmentFlag.AlignLeft)
        places.addLayout(numbers)
        places.addWidget(self._slots, 1)
        grid = QGridLayout()
        grid.setHorizontalSpacing(GRID * 3 // 2)
        grid.setVerticalSpacing(1)
        for place, labels in enumerate(self._bytes.values()):
            for column, label in enumerate(labels):
                grid.addWidget(label, place, column)
            labels[1].setFont(number_font(TEXT_PX - 1))
            labels[1].setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        bytes_ = QVBoxLayout()
        bytes_.setSpacing(GRID // 2)
        bytes_.addLayout(grid)
        bytes_.addWidget(self._terms)
        bytes_.addStretch(1)
        self._places = places
        self._tables = in_row(None, self._errors, spacing=2 * GRID)
        self._tables.addLayout(bytes_)
        self._tables.addStretch(1)
        self._whole = in_row(self, spacing=GRID)
        self._whole.addLayout(places, 1)
        self._whole.addLayout(self._tables)


def _cache_of(decoded: Decoded) -> Cache:
    writing = decoded.decoding.experiment.writing
    return FullCache() if writing is None else writing.cache
