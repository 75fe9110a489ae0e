"""One decoding step as a picture: the new row of weights, the cache with the appended row, both ways.

Without a cache the keys and values of all tokens are computed again; with one they are read, and one row is
appended. Both give the same output row, up to the rounding shown beside it.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from attnviz.compute.decoding import Decoded
from attnviz.compute.full_pass import UncachedStep
from attnviz.core.text import isolated, number
from attnviz.engines.decode.step import DecodeStep, Numbers, SiteStep
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import says
from attnviz.gui.panels.decoding.caches.strip import HEIGHT, HIGH, WeightStrip
from attnviz.gui.panels.decoding.counts import plain_label, taken_over
from attnviz.gui.panels.decoding.links import Links, StepCells, shown_step_site
from attnviz.gui.panels.decoding.names import names_of
from attnviz.gui.panels.decoding.part import DecodingPart
from attnviz.gui.player import Player
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.elided_label import WholeLabel
from attnviz.gui.widgets.pictures.row_matrix import RowMatrix
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _, ngettext
from attnviz.model.caches import FullCache, PagedCache
from attnviz.model.provenance import tokens_of
from attnviz.model.sites.titles import label_among_several
from attnviz.model.spec.view import Cell
from attnviz.model.stages import as_read
from attnviz.model.text import written_tokens

MOST_EMPTY = 16
"""Places that are drawn from the start; from there on, twice as many whenever they are full."""

ROW_PX = 32
"""Height of one vector."""

GROUPS = (
    ("cache", N_("cache"), N_("Keys and values read from the cache, and the appended row")),
    ("again", N_("no cache"), N_("Keys and values computed again in every step without a cache")),
    ("token", N_("vectors"), N_("The query, key and value of the new token")),
)
"""Parts of the picture below the weights."""

ROOM = {"cache": 0, "again": 640, "token": 900}
"""Width from which a part stands beside those before it; in a narrower panel one part is chosen."""

WITH_OUTPUT_PX, TALL_PX = 200, 300
"""Heights from which the output row stands below the caches, and from which the weights are higher."""


class CachesPanel(DecodingPart):
    """Shows the selected head of the selected attention at the present step."""

    measures = True
    follows_player = True  # a generated token that is hovered in the map is one of its rows

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._vectors = {name: RowMatrix() for name in ("q", "k", "v", "output", "output_again")}
        self._keys, self._values = RowMatrix(), RowMatrix()
        self._keys.setObjectName("k_cache")
        self._values.setObjectName("v_cache")
        self._keys_again, self._values_again = RowMatrix(), RowMatrix()
        self._keys_again.setObjectName("k_again")
        self._values_again.setObjectName("v_again")
        self._weights = says(
            WeightStrip(),
            id="decode_weights",
            name=N_("new row of weights"),
            tip=N_("A step with one token has earlier keys only: a causal mask hides none of them"),
        )
        self._chosen = Segmented((), "cache")
        says(self._chosen, id="decode_part", name=N_("Part of the step"), options=GROUPS)
        self._chosen.changed.connect(self._arrange)
        self._where, self._header = WholeLabel(), QWidget()
        self._where.setObjectName("decode_head")
        title = QHBoxLayout(self._header)
        title.setContentsMargins(0, 0, 0, 0)
        title.addWidget(self._where, 1)
        title.addWidget(self._chosen)
        self._empty = plain_label("decode_caches_empty")
        self._cells = StepCells(store)
        self._link()
        self._lay_out()
        self._arrange()
        set_tone("muted", self._empty, self._where)

    def header(self) -> QWidget:
        """The attention and its head, and the choice of the part where not all fit, for the title."""
        return self._header

    def minimumSizeHint(self) -> QSize:
        return QSize(280, 160)

    def on_player(self, old: Player, new: Player) -> None:
        if old.uncached != new.uncached:
            self.show_step()

    def show_step(self) -> None:
        decoded, index = self.decoded, self.step
        self._cells.decoded, self._cells.index = decoded, index
        self._body.setVisible(decoded is not None)
        self._empty.setText(self.why_empty)
        self._empty.setVisible(decoded is None)
        if decoded is None:
            self._where.set_line("")
            return
        step, view = decoded.decoding.steps[index], self.store.document.view
        name = shown_step_site(decoded, view.site)
        site, heads = step.site(name), step.site(name).experiment.heads
        head = min(view.head, heads.n_heads - 1)
        kv_head = head // heads.group_size
        label = label_among_several(decoded.decoding.experiment, name)
        words = _("head {head}").format(head=head + 1)
        self._where.set_line(f"{label} · {words}" if label else words)
        self._show_vectors(step, site, head, kv_head)
        self._show_outputs(decoded, step, name, self.store.player.measured(index))
        fed = decoded.decoding.fed_together(index) if site.experiment.memory is None else range(0)
        self._show_again(decoded, name, site, kv_head, len(fed) > 1)
        self._show_cache(decoded, site, kv_head, fed)
        self._show_weights(decoded, site, head)
        self._arrange()

    def on_hover(self, cell: Cell | None) -> None:
        """Outline the row of the cache that the hovered cell belongs to."""
        keys = tokens_of(cell)[1] if cell is not None else ()
        for widget in (self._keys, self._values):
            widget.set_lit(keys[0] if keys else -1)

    def retranslate(self) -> None:
        self.show_step()

    # --- parts of the picture

    def _show_vectors(self, step: DecodeStep, site: SiteStep, head: int, kv_head: int) -> None:
        q, k, v = (site.get(as_read(name, site.stages)) for name in ("q", "k", "v"))
        rows = {
            "q": (None if q is None else q[head : head + 1], "query"),
            "k": (None if k is None else k[kv_head : kv_head + 1], "key"),
            "v": (None if v is None else v[kv_head : kv_head + 1], "value"),
        }
        for name, (row, hue) in rows.items():
            widget = self._vectors[name]
            widget.setVisible(row is not None)
            if row is not None:
                widget.set_rows(row, 1, 0, (step.token,))
                widget.set_title(name, hue)

    def _show_outputs(
        self, decoded: Decoded, step: DecodeStep, name: str, uncached: UncachedStep | str | None
    ) -> None:
        """The output row of the step, computed both ways, and how far they are apart.

        Without a cache it is the last row of the pass over the tokens so far; until that is computed, the
        same row of the pass over the whole text, of which later tokens change nothing.
        """
        cached, full = step.site(name).attention_output, decoded.full.get(name)
        whole = None if full is None else full.output[step.index]
        words = _("Row {n} of a full pass over all {count} tokens; later tokens do not change it")
        if isinstance(uncached, UncachedStep) and uncached.index == step.index:
            whole = uncached.outputs[name]
            words = ngettext(
                "Last row of a full pass over the {n} token so far",
                "Last row of a full pass over the {n} tokens so far",
                step.index + 1,
            )
        self._vectors["output_again"].setAccessibleDescription(
            words.format(n=step.index + 1, count=len(decoded.decoding.steps))
        )
        title = _("output, cache")
        if whole is not None:
            apart = number(float(np.max(np.abs(cached.astype(np.float64) - whole), initial=0.0)), 1)
            title = _("output, cache · at most {worst} apart").format(worst=apart)
        for widget, row, words in (
            (self._vectors["output_again"], whole, _("output, no cache")),
            (self._vectors["output"], cached, title),
        ):
            widget.setVisible(row is not None)
            if row is not None:
                widget.set_rows(row[None, :], 1, 0, (step.token,))
                widget.set_title(words, "ink")

    def _show_again(
        self, decoded: Decoded, name: str, site: SiteStep, kv_head: int, is_prefill: bool
    ) -> None:
        """Without a cache: the keys and values of all tokens so far, computed again by the full pass.

        The prefill computes them for the first time, with a cache as without.
        """
        full = decoded.full.get(name)
        n_made = site.index + 1 if site.experiment.memory is None else site.experiment.n_keys
        for widget, array, letter, hue in (
            (self._keys_again, None if full is None else full.keys, "K", "key"),
            (self._values_again, None if full is None else full.values, "V", "value"),
        ):
            widget.setVisible(array is not None)
            if array is None:
                continue
            places = _places(n_made, array.shape[1])
            widget.set_rows(array[kv_head, :n_made], places, -1, _key_tokens(decoded, site))
            widget.set_marks(is_new=True)
            title = _("{name} computed · {count}") if is_prefill else _("{name} recomputed · {count}")
            widget.set_title(title.format(name=letter, count=n_made), hue)
            words = ngettext(
                "Without a cache, {count} row is computed again",
                "Without a cache, {count} rows are computed again",
                n_made,
            )
            if is_prefill:
                words = ngettext(
                    "The prefill computes {count} row", "The prefill computes {count} rows", n_made
                )
            widget.setAccessibleDescription(words.format(count=n_made))

    def _show_cache(self, decoded: Decoded, site: SiteStep, kv_head: int, fed: range) -> None:
        """Show the cache after the step. `fed` was appended by one pass; empty if a memory is read."""
        caches = [_at_their_positions(site, rows) for rows in site.held]
        writing = decoded.decoding.experiment.writing
        kind = FullCache() if writing is None or site.experiment.memory is not None else writing.cache
        block = kind.block if isinstance(kind, PagedCache) else 0
        letters = (("K", "key"), ("V", "value"))
        if site.experiment.latent is not None:
            kv_head, letters = 0, (("c", "key"), ("kᴿ", "key"))
        filled, there = site.seen, set(site.key_positions.tolist())
        # Rows appended by one pass are not read from the cache; earlier ones are.
        new = there if site.appended and not fed else set()
        if fed:
            new = set(range(fed.start, site.index + 1))
            new -= set(taken_over(decoded.decoding)) if len(fed) > 1 else set()
        counts = {"read": len(there - new), "appended": len(new)}
        self._values.setVisible(len(caches) > 1)
        for widget, cache, (letter, hue) in zip((self._keys, self._values), caches, letters, strict=False):
            places = max(_places(filled, site.cache.length), kind.capacity(filled))
            new_row = site.index if fed and site.index in new else -1
            widget.set_rows(cache[kv_head, :filled], places, new_row, _key_tokens(decoded, site))
            gone = set(range(filled)) - there
            widget.set_marks(there - new, gone, block, is_new=len(new) == filled > 1)
            widget.set_title(_("{name} cache · {read} + {appended}").format(name=letter, **counts), hue)
            words = _("{read} rows read from the cache, {appended} appended")
            widget.setAccessibleDescription(words.format(**counts))

    def _show_weights(self, decoded: Decoded, site: SiteStep, head: int) -> None:
        weights = site.weights if site.dropped is None else site.dropped
        names = _key_tokens(decoded, site)
        tokens = [names[position] for position in site.key_positions]
        token = names_of(decoded.decoding).label(decoded.decoding.steps[site.index].token)
        title = _("new row · “{token}” attends to").format(token=isolated(token))
        self._weights.set_rows(title, tokens, weights[head].tolist())

    def _link(self) -> None:
        """Every number opens in the inspector."""
        cells, store = self._cells, self.store
        for name, kept, picture in (
            ("k", self._keys, self._keys_again),
            ("v", self._values, self._values_again),
        ):
            Links(store, kept, partial(cells.kept, name))
            Links(store, picture, partial(cells.made, name))
        for name, row in self._vectors.items():
            Links(store, row, partial(cells.own, name))
        Links(store, self._weights, cells.weight)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    @Slot()
    def _arrange(self) -> None:
        """Place the parts that fit beside one another, or the chosen one."""
        width, is_high = self.width(), self.height() >= WITH_OUTPUT_PX
        self._chosen.setVisible(width < max(ROOM.values()))
        fitting = {id_ for id_, least in ROOM.items() if width >= least}
        chosen = self._chosen.value()
        shown = fitting if chosen in fitting else {chosen}
        for id_, part in self._parts.items():
            part.setVisible(id_ in shown)
        self._weights.setFixedHeight(HIGH if self.height() >= TALL_PX else HEIGHT)
        for name in ("output", "output_again"):
            self._vectors[name].setMaximumHeight(ROW_PX if is_high else 0)

    def _lay_out(self) -> None:
        for name, widget in self._vectors.items():
            widget.setObjectName(f"decode_{name}")
            widget.setMaximumHeight(ROW_PX)
        again, cached = self._vectors["output_again"], self._vectors["output"]
        vectors = QVBoxLayout()
        vectors.setSpacing(0)
        for name in ("q", "k", "v"):
            vectors.addWidget(self._vectors[name])
        vectors.addStretch(1)
        layouts = {
            "cache": _way(self._keys, self._values, cached),
            "again": _way(self._keys_again, self._values_again, again),
            "token": vectors,
        }
        self._parts = {id_: QWidget() for id_ in layouts}
        parts = QHBoxLayout()
        parts.setSpacing(2 * GRID)
        for id_, part in self._parts.items():
            layouts[id_].setContentsMargins(0, 0, 0, 0)
            part.setLayout(layouts[id_])
            parts.addWidget(part, 1 if id_ == "token" else 3)
        self._body = QWidget()
        body = in_column(self._body, self._weights, spacing=2)
        body.addSpacing(GRID // 2)
        body.addLayout(parts, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._body)
        column.addWidget(self._empty, 0, Qt.AlignmentFlag.AlignCenter)


def _way(keys: RowMatrix, values: RowMatrix, output: RowMatrix) -> QVBoxLayout:
    """One way to the output row: keys and values beside each other, the row below."""
    pair = QHBoxLayout()
    pair.setSpacing(GRID)
    pair.addWidget(keys, 1)
    pair.addWidget(values, 1)
    column = QVBoxLayout()
    column.setSpacing(2)
    column.addLayout(pair, 1)
    column.addWidget(output)
    return column


def _key_tokens(decoded: Decoded, site: SiteStep) -> tuple[str, ...]:
    """The tokens whose keys a site reads, as a text has them: the memory's, or all so far."""
    memory, experiment = site.experiment.memory, decoded.decoding.experiment
    return written_tokens(experiment.vocabulary, experiment.tokens if memory is None else memory.tokens)


def _places(filled: int, most: int) -> int:
    """Places to draw for rows that fill up to `most`: few sizes, so that the picture seldom changes scale."""
    return min(max(MOST_EMPTY, 1 << (filled - 1).bit_length()), most)


def _at_their_positions(site: SiteStep, rows: Numbers) -> Numbers:
    """Rows of a cache after a step, (g, row, d), each at its position; NaN where it was evicted."""
    positions = site.key_positions
    if len(positions) == site.seen:
        return rows
    whole = np.full((rows.shape[0], site.seen, rows.shape[2]), np.nan, rows.dtype)
    whole[:, positions] = rows
    return whole
