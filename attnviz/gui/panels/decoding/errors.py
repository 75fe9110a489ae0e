"""The error that a cache causes: in its rows, in the output computed from them, in the probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from attnviz.compute.decoding import Decoded
from attnviz.compute.storage import StoredError, step_errors
from attnviz.core.text import isolated, number
from attnviz.engines.decode.step import SiteStep
from attnviz.gui.forms.rows import Note
from attnviz.gui.look.fonts import number_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.look.words import plain_tooltip, says
from attnviz.gui.panels.decoding.counts import plain_label
from attnviz.gui.panels.decoding.names import names_of
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _

ROWS = ("first", "second", "output", "next")
"""The cached rows, in two arrays, and the results computed from them."""

COLUMNS: tuple[tuple[str, str], ...] = (
    ("greatest", N_("max |Δ|")),
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
            found_next = errors.greatest[index], errors.rms[index]
            self._show("next", _("probabilities"), found_next, following)

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
