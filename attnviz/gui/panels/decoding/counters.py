"""The footer of a decoding: what it cost with a cache and without, and that both are equal."""

from __future__ import annotations

import math
from weakref import ref

from PySide6.QtCore import QRect, QRectF, QSize
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QWidget

from attnviz.compute.decoding import Decoded
from attnviz.compute.full_pass import UncachedStep
from attnviz.core.phrases import sequenced
from attnviz.core.text import number
from attnviz.engines.decode.cost import Cost
from attnviz.engines.decode.run import Decoding
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import GRID, RADIUS, TEXT_PX, Theme
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.panels.decoding.counts import (
    COUNTS,
    MEASURING,
    NOT_MEASURED,
    TIME,
    grouped,
    plain_label,
    verdict,
)
from attnviz.gui.panels.decoding.part import DecodingPart
from attnviz.gui.player import Player
from attnviz.gui.store import Store
from attnviz.gui.widgets.elided_label import WholeLabel
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _, ngettext
from attnviz.model.sites.sites import places

LINE_PX = 34
"""Height of one line of columns: the titles, and the numbers below them."""
_TITLE_PX = 15
_SLASH_PX = 12


class Counts(QWidget):
    """Columns of a title above two numbers, with the cache and without; as many as fit, in lines."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._has_several = False
        self._totals_of: ref[Decoding] | None = None
        self._totals: list[tuple[Cost, Cost]] = []
        self._labels: dict[str, tuple[QLabel, QLabel, QLabel]] = {}
        self._slashes: dict[str, QLabel] = {}
        self._widths: dict[str, int] = {}
        columns = (("", "", ""), *COUNTS, (TIME, "", ""))
        for key, title, words in columns:
            name = plain_label(f"count_{key}_name", title, words)
            plain = plain_label(f"count_{key}_plain", "" if key else N_("no cache"), words)
            cached = plain_label(f"count_{key}_cached", "" if key else N_("cache"), words)
            self._labels[key] = name, plain, cached
            self._slashes[key] = plain_label(f"count_{key}_slash")
            self._slashes[key].setText("/")
            for label in (*self._labels[key], self._slashes[key]):
                label.setParent(self)
            set_tone("muted", name, plain, self._slashes[key])
            name.setFont(ui_font(TEXT_PX - 1))
            for label in (plain, cached):
                label.setFont(ui_font(TEXT_PX - 1) if not key else number_font(TEXT_PX))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def sizeHint(self) -> QSize:
        return QSize(640, LINE_PX)

    def minimumSizeHint(self) -> QSize:
        return QSize(160, LINE_PX)

    def show_step(
        self, decoded: Decoded, index: int, uncached: UncachedStep | str | None, is_playing: bool
    ) -> None:
        """Show the costs up to step `index`; the times are those of one step.

        `uncached` is the step without a cache, a sentence why it is missing, or None if it was not computed.
        """
        plain, cached = self._total(decoded.decoding, index)
        for key, _title, _words in COUNTS:
            self._labels[key][1].setText(grouped(getattr(plain, key)))
            self._labels[key][2].setText(grouped(getattr(cached, key)))
        self._show_times(decoded, index, uncached, is_playing)
        self._has_several = len(places(decoded.decoding.experiment)) > 1
        self._show_heading()
        self._fit()
        self._say_all()

    def retranslate(self) -> None:
        """Say what the counts are of, and measure the room of all texts again."""
        self._show_heading()
        self._widths.clear()
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _show_heading(self) -> None:
        words = _("all steps, all attentions") if self._has_several else _("all steps so far")
        self._labels[""][0].setText(words)

    def _say_all(self) -> None:
        """Name all quantities, those without room as well."""
        keys = [key for key in self._labels if key]
        lines = [
            " ".join((name.text(), cached.text(), "/", plain.text()))
            for name, plain, cached in (self._labels[key] for key in keys)
        ]
        for label in self._labels[""]:
            label.setToolTip("\n".join(lines))
        self.setAccessibleDescription(sequenced(lines))

    def _fit(self) -> None:
        """Place the columns; those that do not fit are hidden."""
        x = y = 0
        for key, labels in self._labels.items():
            width = self._width(key)
            if x and x + width > self.width():
                x, y = 0, y + LINE_PX
            is_there = x + width <= self.width() and y + LINE_PX <= max(self.height(), LINE_PX)
            for label in (*labels, self._slashes[key]):
                label.setVisible(is_there)
            self._place(key, x, y)
            x += width + 3 * GRID if is_there else self.width()

    def _width(self, key: str) -> int:
        """Pixels of a column: it grows with its numbers and never shrinks, so that the others rest."""
        name, plain, cached = self._labels[key]
        needed = max(_advance(name), _advance(cached) + _SLASH_PX + _advance(plain)) + 2
        self._widths[key] = max(needed, self._widths.get(key, 0))
        return self._widths[key]

    def _place(self, key: str, x: int, y: int) -> None:
        name, plain, cached = self._labels[key]
        name.setGeometry(QRect(x, y, self._widths[key], _TITLE_PX))
        top, height = y + _TITLE_PX, LINE_PX - _TITLE_PX
        cached.setGeometry(QRect(x, top, _advance(cached) + 1, height))
        slash = x + _advance(cached) + 3
        self._slashes[key].setGeometry(QRect(slash, top, _SLASH_PX - 3, height))
        plain.setGeometry(QRect(x + _advance(cached) + _SLASH_PX, top, _advance(plain) + 1, height))

    def _total(self, decoding: Decoding, index: int) -> tuple[Cost, Cost]:
        """(without a cache, with one) up to a step; sums are kept for the next look."""
        if self._totals_of is None or self._totals_of() is not decoding:
            self._totals_of, self._totals = ref(decoding), []
            self._widths.clear()
        for step in decoding.steps[len(self._totals) : index + 1]:
            plain, cached = self._totals[-1] if self._totals else (Cost(), Cost())
            self._totals.append((plain.then(step.uncached), cached.then(step.cached)))
        return self._totals[index]

    def _show_times(
        self, decoded: Decoded, index: int, uncached: UncachedStep | str | None, is_playing: bool
    ) -> None:
        """Show the measured times of this step, or of its prefill: with the cache, and without."""
        steps = decoded.decoding.steps
        fed = decoded.decoding.fed_together(index)
        name = _("ms, prefill of {n}") if steps[index].prefill is not None else _("ms, one step")
        self._labels[TIME][0].setText(name.format(n=len(fed)))
        text, words = self._uncached_time(decoded, fed.stop, uncached, is_playing)
        self._labels[TIME][1].setText(text)
        self._labels[TIME][1].setToolTip(plain_tooltip(words))
        written = sum(step.seconds for step in steps[fed.start : fed.stop])
        again = uncached.cached_seconds if isinstance(uncached, UncachedStep) else math.nan
        this = _("Measured: step {step} with the cache, including the choice of the next token.")
        if steps[index].prefill is not None:
            this = _("Measured: the pass that cached tokens {first} to {last}.")
        words = this.format(step=index + 1, first=fed.start + 1, last=fed.stop)
        if not math.isnan(again):
            then = _("Measured now, beside the uncached pass; it took {ms} ms when the text was generated.")
            words = f"{words} {then.format(ms=number(1000 * written, 2))}"
        self._labels[TIME][2].setText(number(1000 * (written if math.isnan(again) else again), 2))
        self._labels[TIME][2].setToolTip(plain_tooltip(words))

    @staticmethod
    def _uncached_time(
        decoded: Decoded, n: int, uncached: UncachedStep | str | None, is_playing: bool
    ) -> tuple[str, str]:
        """The milliseconds of a pass over the first n tokens, or a placeholder; and its tooltip."""
        if isinstance(uncached, str):
            return NOT_MEASURED, uncached
        seconds = math.nan if uncached is None else uncached.seconds
        if uncached is None and n == len(decoded.decoding.steps):
            seconds = decoded.full_seconds
        if not math.isnan(seconds):
            words = ngettext(
                "Measured: a full pass over the {n} token so far on the same engine, with all logits.",
                "Measured: a full pass over the {n} tokens so far on the same engine, with all logits.",
                n,
            )
            return number(1000 * seconds, 2), words.format(n=n)
        if is_playing:
            return NOT_MEASURED, _("Pause to measure this step.")
        words = ngettext(
            "Measuring a full pass over the {n} token so far.",
            "Measuring a full pass over the {n} tokens so far.",
            n,
        )
        return MEASURING, words.format(n=n)


def _advance(label: QLabel) -> int:
    return label.fontMetrics().horizontalAdvance(label.text())


class CountersPanel(DecodingPart):
    """One line in its own frame: it has no room for a title."""

    measures = True

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._counts, self._parity = Counts(), WholeLabel()
        self._parity.setObjectName("decode_parity")
        row = QHBoxLayout(self)
        row.setContentsMargins(GRID * 3 // 2, 3, GRID * 3 // 2, 3)
        row.setSpacing(2 * GRID)
        row.addWidget(self._counts, 1)
        row.addWidget(self._parity)

    def minimumSizeHint(self) -> QSize:
        return QSize(280, LINE_PX + 6)

    def show_step(self) -> None:
        decoded, player = self.decoded, self.store.player
        self._counts.setVisible(decoded is not None)
        if decoded is None:
            self._parity.set_line(self.why_empty)
            set_tone("muted", self._parity)
            return
        self._counts.show_step(decoded, self.step, player.measured(self.step), player.is_playing)
        parity = verdict(decoded)
        self._parity.set_line("● " + parity.text)
        set_tone(parity.tone, self._parity)
        self._parity.setToolTip(parity.stages)

    def on_player(self, old: Player, new: Player) -> None:
        if (old.is_playing, old.uncached) != (new.is_playing, new.uncached):
            self.show_step()

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        self.show_step()

    def retranslate(self) -> None:
        self.show_step()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self.theme.line), 1))
        painter.setBrush(QColor(self.theme.panel))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
