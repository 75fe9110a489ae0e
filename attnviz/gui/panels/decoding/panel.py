"""Decoding with a KV cache, step by step: the generated text, and three pages of details.

A page shows a step, the sampling or the cache. If the panel is wide or high enough, all of them are visible.
"""

from __future__ import annotations

from PySide6.QtCore import QSize, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QLabel, QToolButton, QVBoxLayout, QWidget

from attnviz.core.text import isolated
from attnviz.gui.live.clock import Clock
from attnviz.gui.live.playback import Playback
from attnviz.gui.live.player import END, GoBy, GoTo, Pace, Player, Toggle, Watch
from attnviz.gui.look.icons import icon
from attnviz.gui.look.theme import GRID, Theme
from attnviz.gui.panels.decoding.cache import CachePage
from attnviz.gui.panels.decoding.counts import plain_label
from attnviz.gui.panels.decoding.line import WrittenLine
from attnviz.gui.panels.decoding.links import shown_step_site
from attnviz.gui.panels.decoding.sampling import SamplingPage
from attnviz.gui.panels.decoding.step import WIDE, StepView
from attnviz.gui.panels.decoding.text import names_of, written_tokens
from attnviz.gui.panels.panel import Panel
from attnviz.gui.store import Store
from attnviz.gui.widgets.chip_editor import ChipEditor
from attnviz.gui.widgets.elided import WholeLabel
from attnviz.gui.widgets.narrow_scroll import NarrowScroll
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.slider_field import Track
from attnviz.i18n import N_, _
from attnviz.model.edit.generation import FRESH, rewrite, set_writing
from attnviz.model.sites.titles import label_among_several
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import Cell

SHOWN = ("step", "head", "site")
"""Fields of the view that the picture follows."""


PAGES: tuple[tuple[str, str], ...] = (
    ("step", N_("Step")),
    ("sampling", N_("Sampling")),
    ("cache", N_("Cache")),
)

STRETCH = {"step": 5, "sampling": 6, "cache": 4}
"""Shares of the pages in the height when all of them are visible."""

BESIDE_PX = 2360
"""Width from which the pages are side by side, each as wide as one in a window of 1280 × 800."""

BELOW_PX = 440
"""From this height on they stand below each other."""

SMALLEST = QSize(552, 132)
"""Room for one page: however many show, the panel can be made as small again."""


class DecodingPanel(Panel):
    """The player, the text, and the pages. The player only ever changes `View.step`."""

    follows_player = True  # a generated token that is hovered in the map is one of its rows

    def __init__(self, store: Store, parent: QWidget | None = None, clock: Clock | None = None) -> None:
        super().__init__(store, parent)
        self.playback = Playback(store, self._is_written_in, clock, self)
        self._view = StepView(store)
        self._sampling, self._cache = SamplingPage(store), CachePage(store)
        self._page = "step"
        self._last_writing = FRESH
        self._line = WrittenLine()
        self._line.chosen.connect(self.go_to)
        self._line.rewritten.connect(self._on_rewritten)
        self._line.writes_changed.connect(self._on_writes)
        self._buttons: dict[str, QToolButton] = {}
        for name, slot in (
            ("first", self._on_first),
            ("step_back", self._on_back),
            ("play", self.toggle_play),
            ("step_forward", self._on_forward),
            ("last", self.go_to_end),
        ):
            button = QToolButton()
            button.setObjectName(f"decode_{name}")
            button.setIconSize(QSize(16, 16))
            button.setFixedWidth(24)
            button.clicked.connect(slot)
            self._buttons[name] = button
        self._slider = Track()
        self._slider.setObjectName("decode_scrubber")
        self._slider.valueChanged.connect(self.go_to)
        self._speed = DragNumber(1.0, minimum=0.25, maximum=16.0, decimals=2, step=0.05)
        self._speed.setObjectName("decode_speed")
        self._speed.changed.connect(self._on_speed)
        self._speed.rejected.connect(store.rejected)
        self._where, self._speed_label = WholeLabel(), QLabel("×")
        self._where.setObjectName("decode_where")
        self._lay_out()
        self.setMinimumSize(SMALLEST)
        self.resize(SMALLEST)
        self._arrange()
        store.player_changed.connect(self._on_player)

    def header(self) -> QWidget:
        """The player's buttons, for the title."""
        return self._player

    # --- the buttons in the title

    @Slot()
    def toggle_play(self) -> None:
        """Play to the end, or pause; from the end, play again from the start."""
        self.store.play(Toggle())

    @Slot(int)
    def go_to(self, step: int) -> None:
        """Go to a step, or the nearest existing one; without a decoding nothing changes."""
        self.store.play(GoTo(step))

    @Slot()
    def go_to_end(self) -> None:
        """To the last step."""
        self.store.play(GoTo(END))

    @property
    def is_playing(self) -> bool:
        """True if steps follow by themselves."""
        return self.store.player.is_playing

    # --- following the store

    @Slot(bool)
    def set_seen(self, is_seen: bool) -> None:
        super().set_seen(is_seen)
        self._watch()

    def start(self) -> None:
        super().start()
        self._watch()

    def _watch(self) -> None:
        self.store.play(Watch("decoding", self.is_seen, self._shows("step")))

    def on_document(self, old: Document | None, new: Document) -> None:
        if new.experiment.writing is not None:
            self._last_writing = new.experiment.writing
        if old is None or old.experiment != new.experiment:
            self._line.set_writes(new.experiment.writing is not None)
            self._sampling.refresh()
            self._cache.refresh()
        if old is None or any(getattr(old.view, name) != getattr(new.view, name) for name in SHOWN):
            self._show()

    def on_hover(self, cell: Cell | None) -> None:
        self._view.light(cell)

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        self._where.setStyleSheet(f"color: {theme.muted}")
        self._speed_label.setStyleSheet(f"color: {theme.muted}")
        self._line.apply_theme(theme)
        for title in self._titles.values():
            title.setStyleSheet(f"color: {theme.muted}")
        self._show_buttons()
        self._show()

    def retranslate(self) -> None:
        for name, text in (
            ("first", _("First step")),
            ("step_back", _("Step back")),
            ("play", _("Play or pause")),
            ("step_forward", _("Step forward")),
            ("last", _("Last step")),
        ):
            self._buttons[name].setToolTip(text if name != "play" else _("Play or pause (Space, F5)"))
            self._buttons[name].setAccessibleName(text)
        self._slider.setAccessibleName(_("Step"))
        self._speed.setAccessibleName(_("Speed"))
        self._speed.set_tooltip(_("Speed"))
        self._line.retranslate()
        self._pages.setAccessibleName(_("Page"))
        self._pages.set_options([(id_, _(title), "") for id_, title in PAGES])
        for id_, title in PAGES:
            self._titles[id_].setText(_(title))
        self._view.retranslate()
        self._sampling.retranslate()
        self._cache.retranslate()
        self._show()

    @Slot(object, object)
    def _on_player(self, old: Player, new: Player) -> None:
        if old.decoded is not new.decoded:
            self._show()
        if old.is_playing != new.is_playing:
            self._show_buttons()
        if (old.is_playing, old.uncached) != (new.is_playing, new.uncached):
            self._show_pages()

    def _step(self) -> int:
        return self.store.player.nearest(self.store.document.view.step)

    def _show(self) -> None:
        decoded, count, step = self.store.player.decoded, self.store.player.n_steps, self._step()
        self._slider.blockSignals(True)
        self._slider.setRange(0, max(0, count - 1))
        self._slider.setValue(step)
        self._slider.blockSignals(False)
        for button in self._buttons.values():
            button.setEnabled(count > 1)
        if decoded is None:
            self._where.set_line("")
        else:
            made = decoded.decoding.steps[step]
            token = isolated(names_of(decoded.decoding).label(made.token))
            text = _("step {step} of {count} · “{token}”")
            if made.prefill is not None:
                text = _("step {step} of {count} · prefill · “{token}”")
            where = text.format(step=step + 1, count=count, token=token)
            experiment = decoded.decoding.experiment
            site = label_among_several(experiment, shown_step_site(decoded, self.store.document.view.site))
            self._where.set_line(f"{where} · {site}" if site else where)
        self._line.show_step(decoded, step)
        self._show_pages()

    def _show_pages(self) -> None:
        """The step on the pages that can be seen: each takes a while for a model of many layers."""
        decoded, step = self.store.player.decoded, self._step()
        if self._shows("step"):
            self._view.show_step(decoded, step, self.store.player.measured(step), self.is_playing)
        for id_, page in (("sampling", self._sampling), ("cache", self._cache)):
            if self._shows(id_):
                page.show_step(decoded, step)

    def _shows(self, page: str) -> bool:
        return not self._holders[page].isHidden()

    def _show_buttons(self) -> None:
        for name, button in self._buttons.items():
            shown = "pause" if name == "play" and self.is_playing else name
            button.setIcon(icon(shown, self.theme))

    # --- acting

    def _is_written_in(self) -> bool:
        """True if a token is being edited, here or in another panel of the window."""
        return isinstance(self.window().focusWidget(), ChipEditor)

    @Slot(object)
    def _on_speed(self, speed: float) -> None:
        self.store.play(Pace(speed))

    @Slot(bool)
    def _on_writes(self, writes: bool) -> None:
        self.store.edit(set_writing, self._last_writing if writes else None)

    @Slot(int, str)
    def _on_rewritten(self, index: int, text: str) -> None:
        """Another text in the place of a token: what was written before it becomes the document's."""
        decoded = self.store.player.decoded
        if decoded is not None:
            tokens = names_of(decoded.decoding).tokens_of(text)
            self.store.edit(rewrite, written_tokens(decoded.decoding), index, tokens)

    @Slot(str)
    def _on_page(self, page: str) -> None:
        self._page = page
        self._arrange()
        self._show_pages()
        self._watch()

    @Slot()
    def _on_first(self) -> None:
        self.go_to(0)

    @Slot()
    def _on_back(self) -> None:
        self.store.play(GoBy(-1))

    @Slot()
    def _on_forward(self) -> None:
        self.store.play(GoBy(1))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        """Place one page, or all of them beside or below each other, as they fit."""
        is_wide, is_high = self.width() >= BESIDE_PX, self.height() >= BELOW_PX
        across = QBoxLayout.Direction.LeftToRight
        self._places.setDirection(across if is_wide else QBoxLayout.Direction.TopToBottom)
        shows_all = is_wide or is_high
        changes = shows_all == (not self._pages.isHidden())
        self._pages.setVisible(not shows_all)
        for id_, _title in PAGES:
            self._holders[id_].setVisible(shows_all or id_ == self._page)
            self._titles[id_].setVisible(shows_all and id_ != "step")
            self._places.setStretchFactor(self._holders[id_], 1 if is_wide else STRETCH[id_])
        self._view.set_room(self.width() // len(PAGES) if is_wide else self.width())
        n_lines = max(min((self.height() - 120) // 70, 4), 1)
        self._line.set_room(n_lines, is_wide=self.width() >= WIDE)
        if changes:
            self._show_pages()
            self._watch()

    def _lay_out(self) -> None:
        self._player = QWidget()
        row = QHBoxLayout(self._player)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID // 2)
        self._pages = Segmented([(id_, id_, "") for id_, _title in PAGES], self._page)
        self._pages.setObjectName("decode_pages")
        self._pages.changed.connect(self._on_page)
        row.addWidget(self._where)
        row.addWidget(self._pages)
        for button in self._buttons.values():
            row.addWidget(button)
        self._slider.setMinimumWidth(96)
        row.addWidget(self._slider)
        row.addWidget(self._speed)
        row.addWidget(self._speed_label)
        self._titles = {id_: plain_label(f"decode_{id_}_title") for id_, _title in PAGES}
        self._holders: dict[str, QWidget] = {}
        self._places = QBoxLayout(QBoxLayout.Direction.TopToBottom)
        self._places.setSpacing(GRID * 3 // 2)
        for id_, page in zip(self._titles, (self._view, self._sampling, self._cache), strict=True):
            holder = QWidget()
            inside = QVBoxLayout(holder)
            inside.setContentsMargins(0, 0, 0, 0)
            inside.setSpacing(2)
            inside.addWidget(self._titles[id_])
            # A page wider than the panel scrolls: a number that is cut off would be another number.
            inside.addWidget(NarrowScroll(page), 1)
            self._holders[id_] = holder
            self._places.addWidget(holder, STRETCH[id_])
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID // 2)
        column.addWidget(self._line)
        column.addLayout(self._places, 1)
