"""One decoding step as a picture: the token's vectors, the cache, the weights, the next token, the counts."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from attnviz.compute.decoded import Decoded
from attnviz.core.text import number
from attnviz.engines.decode_cost import Cost
from attnviz.engines.decode_step import DecodeStep, SiteStep
from attnviz.gui.fonts import number_font
from attnviz.gui.store import Store
from attnviz.gui.theme import GRID, TEXT_PX, Theme
from attnviz.gui.widgets.bars import Bars
from attnviz.gui.widgets.control import active_theme
from attnviz.gui.widgets.elided import ElidedLabel
from attnviz.gui.widgets.row_matrix import RowMatrix
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.i18n import N_, _
from attnviz.model.provenance import tokens_of
from attnviz.model.sites import places, shown_site
from attnviz.model.stages import as_read
from attnviz.model.view import Cell

MOST_BARS = 64

COUNTS: tuple[tuple[str, str], ...] = (
    ("kv_projections", N_("K, V projections")),
    ("score_pairs", N_("score pairs")),
    ("flops", N_("FLOPs")),
    ("bytes_moved", N_("bytes moved")),
    ("bytes_held", N_("bytes held")),
)

TOLERANCE = {"float64": 1e-12, "float32": 1e-4, "float16": 3e-2, "bfloat16": 2e-1}
"""Differences below this are rounding of the dtype; above it the light says so."""


class StepView(QWidget):
    """Shows one `DecodeStep` of the head that the view has chosen."""

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._theme = active_theme()
        self._decoded: Decoded | None = None
        self._vectors = {name: RowMatrix() for name in ("q", "k", "v", "output")}
        self._keys, self._values = RowMatrix(), RowMatrix()
        self._keys.setObjectName("k_cache")
        self._values.setObjectName("v_cache")
        self._keys.cell_hovered.connect(self._on_key_hovered)
        self._values.cell_hovered.connect(self._on_value_hovered)
        self._weights_title, self._next_title = _label("weights_title"), _label("next_title")
        self._weights, self._next = Bars(), Bars()
        self._weights.setObjectName("decode_weights")
        self._next.setObjectName("decode_next")
        self._counts: dict[str, tuple[QLabel, QLabel, QLabel]] = {}
        self._parity, self._notice = _label("decode_parity"), ElidedLabel()
        self._notice.setObjectName("decode_notice")
        self._empty = _label("decode_empty")
        self._lay_out()

    def show_step(self, decoded: Decoded | None, index: int) -> None:
        """Show step `index` of a decoding, or that there is none."""
        self._decoded = decoded
        self._body.setVisible(decoded is not None)
        self._empty.setVisible(decoded is None)
        if decoded is None:
            return
        step = decoded.decoding.steps[index]
        name = shown_step_site(decoded, self._store.document.view.site)
        site, heads = step.site(name), step.site(name).experiment.heads
        head = min(self._store.document.view.head, heads.n_heads - 1)
        kv_head = head // heads.group_size
        self._show_vectors(step, site, head, kv_head)
        self._show_cache(decoded, name, site, kv_head)
        self._show_weights(decoded, site, head)
        self._show_next(decoded, step)
        self._show_counts(decoded, index)

    def light(self, cell: Cell | None) -> None:
        """Outline the row of the cache that the hovered cell belongs to."""
        keys = tokens_of(cell)[1] if cell is not None else ()
        for widget in (self._keys, self._values):
            widget.set_lit(keys[0] if keys else -1)

    def apply_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`."""
        self._theme = theme
        for label in (self._weights_title, self._next_title, self._empty, self._notice):
            label.setStyleSheet(f"color: {theme.muted}")
        for name, plain, cached in self._counts.values():
            name.setStyleSheet(f"color: {theme.muted}")
            plain.setStyleSheet(f"color: {theme.ink}")
            cached.setStyleSheet(f"color: {theme.ink}")

    def retranslate(self) -> None:
        """Set the texts again, in the present language."""
        self._weights_title.setText(_("new row of weights"))
        self._next_title.setText(_("next token"))
        self._empty.setText(_("No decoding yet."))
        self._weights.setAccessibleName(_("new row of weights"))
        self._next.setAccessibleName(_("next token"))
        for key, title in (("", ""), *COUNTS):
            self._counts[key][0].setText(_(title) if title else "")
        self._show_whose_counts()
        self._counts[""][1].setText(_("no cache"))
        self._counts[""][2].setText(_("cache"))

    # --- parts of the picture

    def _show_vectors(self, step: DecodeStep, site: SiteStep, head: int, kv_head: int) -> None:
        q, k, v = (site.get(as_read(name, site.stages)) for name in ("q", "k", "v"))
        rows = {
            "q": (None if q is None else q[head : head + 1], "query"),
            "k": (None if k is None else k[kv_head : kv_head + 1], "key"),
            "v": (None if v is None else v[kv_head : kv_head + 1], "value"),
            "output": (site.attention_output[None, :], "ink"),
        }
        for name, (row, hue) in rows.items():
            widget = self._vectors[name]
            widget.setVisible(row is not None)
            if row is not None:
                widget.set_rows(row, 1, 0, (step.token,))
                widget.set_title(_("output") if name == "output" else name, hue)

    def _show_cache(self, decoded: Decoded, name: str, site: SiteStep, kv_head: int) -> None:
        caches = decoded.decoding.held(name)
        letters = (("K", "key"), ("V", "value"))
        if site.experiment.latent is not None:
            kv_head, letters = 0, (("c", "key"), ("kᴿ", "key"))
        filled = site.read + (0 if site.experiment.memory is not None else site.appended)
        new_row = filled - 1 if filled > site.read else -1
        counts = {"read": site.read, "appended": site.appended}
        self._values.setVisible(len(caches) > 1)
        for widget, cache, (letter, hue) in zip((self._keys, self._values), caches, letters, strict=False):
            widget.set_rows(cache[kv_head, :filled], cache.shape[1], new_row, _key_tokens(decoded, site))
            widget.set_title(_("{name} cache · {read} + {appended}").format(name=letter, **counts), hue)
            words = _("{read} rows are read from the cache, {appended} are appended")
            widget.setAccessibleDescription(words.format(**counts))

    def _show_weights(self, decoded: Decoded, site: SiteStep, head: int) -> None:
        weights = site.weights if site.dropped is None else site.dropped
        first = max(0, weights.shape[1] - MOST_BARS)
        tokens = _key_tokens(decoded, site)[first : weights.shape[1]]
        self._weights.set_rows(
            tokens, weights[head, first:].tolist(), self._theme.accent, limit=1.0, label_color=self._theme.key
        )

    def _show_next(self, decoded: Decoded, step: DecodeStep) -> None:
        decoding = decoded.decoding
        order = np.argsort(-np.nan_to_num(step.probabilities), kind="stable")[:MOST_BARS]
        self._next.set_rows(
            [decoding.vocabulary[i] for i in order],
            step.probabilities[order].tolist(),
            self._theme.value,
            limit=1.0,
        )

    def _show_counts(self, decoded: Decoded, index: int) -> None:
        plain, cached = Cost(), Cost()
        for step in decoded.decoding.steps[: index + 1]:
            plain, cached = plain.then(step.uncached), cached.then(step.cached)
        for key, _title in COUNTS:
            self._counts[key][1].setText(_grouped(getattr(plain, key)))
            self._counts[key][2].setText(_grouped(getattr(cached, key)))
        is_equal = decoded.is_equal(TOLERANCE[decoded.decoding.dtype])
        worst = number(decoded.worst, 1)
        text = _("equal to the full pass: max |Δ| = {worst}") if is_equal else _("differs: max |Δ| = {worst}")
        self._parity.setText("● " + text.format(worst=worst))
        self._parity.setStyleSheet(f"color: {self._theme.value if is_equal else self._theme.error}")
        self._parity.setToolTip("\n".join(_worst_stages(decoded)))
        self._notice.set_line(" ".join(decoded.decoding.notices))
        self._show_whose_counts()

    def _show_whose_counts(self) -> None:
        """The counts are those of the whole model: said where one of several attentions is looked at."""
        has_several = self._decoded is not None and len(places(self._decoded.decoding.experiment)) > 1
        self._counts[""][0].setText(_("all attentions") if has_several else "")

    @Slot(int, int)
    def _on_key_hovered(self, row: int, column: int) -> None:
        self._hover("k", row, column)

    @Slot(int, int)
    def _on_value_hovered(self, row: int, column: int) -> None:
        self._hover("v", row, column)

    def _hover(self, name: str, row: int, column: int) -> None:
        """A cell of the cache is a cell of k, v or the latent: it lights what it lights everywhere."""
        trace, decoded = self._store.trace, self._decoded
        if trace is None or decoded is None or row < 0:
            self._store.set_hover(None)
            return
        looked_at = self._store.document.view.site
        shown = shown_step_site(decoded, looked_at)
        if shown not in trace.sites:
            return  # the next trace or the next decoding is on its way
        site = trace.site(shown)
        heads = site.experiment.heads
        kv_head = min(self._store.document.view.head, heads.n_heads - 1) // heads.group_size
        if row < site.experiment.n_keys:
            of = "" if trace.shown(looked_at) is site else shown
            cell = Cell(as_read(name, site.stages), row, column, kv_head, of)
            if site.experiment.latent is not None:
                # The RoPE key stands behind the content of every head's key.
                beside = Cell(as_read("k", site.stages), row, heads.d_head + column, kv_head, of)
                cell = Cell("latent", row, column, 0, of) if name == "k" else beside
            self._store.set_hover(cell)

    def _lay_out(self) -> None:
        self._body = QWidget()
        row = QHBoxLayout(self._body)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID * 3 // 2)
        vectors = QVBoxLayout()
        vectors.setSpacing(0)
        for name, widget in self._vectors.items():
            widget.setObjectName(f"decode_{name}")
            widget.setFixedHeight(32)
            vectors.addWidget(widget)
        vectors.addStretch(1)
        row.addLayout(vectors, 2)
        row.addWidget(self._keys, 3)
        row.addWidget(self._values, 3)
        row.addLayout(_titled(self._weights_title, self._weights), 4)
        row.addLayout(_titled(self._next_title, self._next), 4)
        row.addLayout(self._count_table(), 0)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._body)
        column.addWidget(self._empty, 0, Qt.AlignmentFlag.AlignCenter)

    def _count_table(self) -> QVBoxLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(2 * GRID)
        grid.setVerticalSpacing(1)
        for place, (key, _title) in enumerate((("", ""), *COUNTS)):
            labels = (
                _label(f"count_{key}_name"),
                _label(f"count_{key}_plain"),
                _label(f"count_{key}_cached"),
            )
            for column, label in enumerate(labels):
                grid.addWidget(label, place, column)
                if column:
                    label.setFont(number_font(TEXT_PX - 1))
                    label.setAlignment(Qt.AlignmentFlag.AlignRight)
            self._counts[key] = labels
        column_ = QVBoxLayout()
        column_.setSpacing(2)
        column_.addLayout(grid)
        column_.addWidget(self._parity)
        column_.addWidget(self._notice)
        column_.addStretch(1)
        return column_


def _titled(title: QLabel, bars: Bars) -> QVBoxLayout:
    column = QVBoxLayout()
    column.setSpacing(GRID // 2)
    column.addWidget(title)
    column.addWidget(clear_scroll(bars, sideways=False), 1)
    return column


def _grouped(count: int) -> str:
    """Thousands apart, by thin spaces as in the text."""
    return f"{count:,}".replace(",", "\u202f")


def _label(name: str) -> QLabel:
    label = QLabel()
    label.setObjectName(name)
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label


def shown_step_site(decoded: Decoded, looked_at: str) -> str:
    """The site whose steps are shown: the one looked at, or the main one where that is an encoder's."""
    experiment = decoded.decoding.experiment
    name = shown_site(experiment, looked_at)
    return name if name in decoded.decoding.steps[0].sites else shown_site(experiment, "")


def _key_tokens(decoded: Decoded, site: SiteStep) -> tuple[str, ...]:
    """The tokens whose keys a site reads: the memory's, or all that were fed."""
    memory = site.experiment.memory
    return decoded.decoding.experiment.tokens if memory is None else memory.tokens


def _worst_stages(decoded: Decoded) -> list[str]:
    """Each stage with its difference; where there are several attentions, the worst stage of each."""
    found = decoded.differences
    if len(places(decoded.decoding.experiment)) == 1:
        return [f"{stage}: {number(worst, 2)}" for stage, worst in found.items()]
    worst_of: dict[str, str] = {}
    for name in found:
        site = name.rpartition(".")[0]
        if site not in worst_of or found[name] > found[worst_of[site]]:
            worst_of[site] = name
    return [f"{name}: {number(found[name], 2)}" for name in worst_of.values()]
