"""RoPE in the position: the scaling and its numbers, the pairs as dials, the effect of their rotation."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from msgspec.structs import replace
from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from attnviz.core.positions import rope_angles
from attnviz.core.text import elide, number
from attnviz.explain.score_pair import Pair, pair_in_focus, pair_scores
from attnviz.gui.forms.fields import FormField, Slider, Switch
from attnviz.gui.forms.marks import Mark
from attnviz.gui.forms.paths import row
from attnviz.gui.forms.rows import Note
from attnviz.gui.look.fonts import number_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.look.words import says
from attnviz.gui.store import Store
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.widgets.pictures.dial import Dial
from attnviz.i18n import N_, _
from attnviz.model.edit.edits import set_multiplier
from attnviz.model.edit.paths import put_at, value_at
from attnviz.model.fields import rows_of
from attnviz.model.positions import changes, magnitude, n_rotated, pair_frequencies, rotation
from attnviz.model.scalings import SCALINGS, row_of
from attnviz.model.spec.site import Site
from attnviz.model.text import shown_token

MOST_DIALS = 18
COLUMNS = 3


def _straight(site: Site) -> Site:
    return replace(site, position=replace(site.position, multipliers=()))


class RopeDials(QWidget):
    """Up to 18 dials from a chosen pair on; below them the pair of positions and its score."""

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("rope_dials")
        self._store = store
        self._dials: list[Dial] = []
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(2)
        self._grid.setVerticalSpacing(GRID // 2)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, GRID // 2, 0, 0)
        column.setSpacing(GRID - 2)
        column.addLayout(self._grid)
        column.addWidget(self._paging())
        Mark(store, self, "position.multipliers")
        self._reset = says(Button(), N_("All pairs × 1"), id="rope_reset_button")
        says(self._reset, name=N_("Reset to the frequencies of the base"))
        self._reset.clicked.connect(self._on_reset)
        column.addWidget(self._reset, 0, Qt.AlignmentFlag.AlignRight)
        self._pair = Note("rope_pair_label")
        column.addWidget(self._pair)
        column.addLayout(self._readout())

    def _paging(self) -> QWidget:
        self._pages = QWidget()
        self._pages_label = QLabel()
        self._first = DragNumber(minimum=0, maximum=0, integer=True)
        says(self._first, id="rope_first_pair_field", name=N_("First pair shown"))
        self._first.changed.connect(self._on_first)
        self._first.rejected.connect(self._store.rejected)
        row = QHBoxLayout(self._pages)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self._pages_label)
        row.addStretch(1)
        row.addWidget(self._first)
        return self._pages

    def _readout(self) -> QGridLayout:
        self._scores = (QLabel(), QLabel())
        grid = QGridLayout()
        grid.setColumnStretch(0, 1)
        grid.setVerticalSpacing(2)
        names = (("unrotated", N_("q·k unrotated")), ("rotated", N_("q·k rotated")))
        for line, (id_, name) in enumerate(names):
            says(self._scores[line], id=f"rope_score_{id_}", name=name)
            self._scores[line].setFont(number_font(TEXT_PX))
            self._scores[line].setContentsMargins(0, 0, 4, 0)
            grid.addWidget(says(QLabel(), name), line, 0)
            grid.addWidget(self._scores[line], line, 1, Qt.AlignmentFlag.AlignRight)
        return grid

    def refresh(self) -> None:
        """Show the document: one dial per pair, their frequencies, and the angles."""
        experiment = self._store.attention
        rope: Any = experiment.position
        is_shown = changes(rope) == "rotation"
        self.setVisible(is_shown)
        if not is_shown:
            return
        n_pairs = n_rotated(experiment) // 2
        last_first = max(n_pairs - MOST_DIALS, 0)
        self._first.set_range(0, last_first)
        self._first.set_value(min(int(self._first.value()), last_first))
        self._pages.setVisible(last_first > 0)
        first, count = int(self._first.value()), min(n_pairs, MOST_DIALS)
        if [dial.objectName() for dial in self._dials] != [_name(first + i) for i in range(count)]:
            self._make(first, count)
        self._say_pages(n_pairs)
        self._reset.setVisible(bool(rope.multipliers))
        self.show_pair()

    def show_pair(self) -> None:
        """Rotate the arms to the selected pair of positions, and show its score."""
        experiment = self._store.attention
        rope: Any = experiment.position
        if changes(rope) != "rotation":
            return
        pair = pair_in_focus(self._store.document, self._store.hovered)
        frequencies = pair_frequencies(experiment)
        positions = np.array([pair.query + experiment.query_offset, pair.key]) + rope.start
        query, key = rope_angles(positions, frequencies)
        first = int(self._first.value())
        for index, dial in enumerate(self._dials, first):
            multiplier = rope.multipliers[index] if index < len(rope.multipliers) else 1.0
            dial.set_state(float(frequencies[index]), multiplier, float(query[index]), float(key[index]))
        self._say_pair(experiment, pair, rope.start)
        self.show_scores()

    def show_scores(self) -> None:
        """Say q·k of the pair, plain and rotated, from the last run."""
        trace = self._store.trace
        pair = pair_in_focus(self._store.document, self._store.hovered)
        scores = None if trace is None else pair_scores(self._store.site, pair)
        for label, place in zip(self._scores, (0, 1), strict=True):
            label.setText("–" if scores is None else number(scores[place], 4))

    def retranslate(self) -> None:
        self.refresh()

    def _make(self, first: int, count: int) -> None:
        """Other dials instead of the present ones."""
        for dial in self._dials:
            self._grid.removeWidget(dial)
            dial.hide()
            dial.setParent(None)
            dial.deleteLater()
        self._dials = [Dial(first + index) for index in range(count)]
        for index, dial in enumerate(self._dials):
            dial.setObjectName(_name(first + index))
            dial.changed.connect(partial(self._on_turned, first + index))
            dial.gesture_started.connect(self._store.begin_gesture)
            dial.gesture_finished.connect(self._store.end_gesture)
            row, column = divmod(index, min(COLUMNS, count))
            self._grid.addWidget(dial, row, column, Qt.AlignmentFlag.AlignHCenter)

    def _say_pages(self, n_pairs: int) -> None:
        first = int(self._first.value())
        sentence = _("pairs {first}–{last} of {n}, from")
        self._pages_label.setText(sentence.format(first=first, last=first + MOST_DIALS - 1, n=n_pairs))

    def _say_pair(self, site: Site, pair: Pair, start: int) -> None:
        vocabulary = self._store.experiment.vocabulary
        query = elide(shown_token(vocabulary, site.tokens[pair.query]), 16)
        key = elide(shown_token(vocabulary, site.key_tokens[pair.key]), 16)
        sentence = _("q of “{query}” at {m}, k of “{key}” at {n}")
        at = pair.query + site.query_offset + start
        self._pair.setText(sentence.format(query=query, m=at, key=key, n=pair.key + start))

    def _on_turned(self, pair: int, multiplier: float) -> None:
        self._store.edit_attention(set_multiplier, pair, multiplier)
        self.show_pair()

    @Slot(object)
    def _on_first(self, first: int) -> None:
        self.refresh()

    @Slot()
    def _on_reset(self) -> None:
        self._store.edit_attention(_straight)


def _name(pair: int) -> str:
    return f"rope_dial_{pair}"


def _scaling(site: Site) -> Any:
    return getattr(site.position, "scaling", None)


def _length(site: Site) -> int:
    """The length that the frequencies are made for."""
    return rotation(site).made_for


def _set_own_length(site: Site, is_own: bool) -> Site:
    return put_at(site, "position.scaling.length", None if is_own else _length(site))


def _set_own_attention(site: Site, is_own: bool) -> Site:
    value = None if is_own else magnitude(site.position)  # type: ignore[arg-type]
    return put_at(site, "position.scaling.attention_factor", value)


def _divisors(name: str) -> dict[str, Any]:
    """The divisor of the slowest pair; those of the others follow in equal ratios, from 1 on."""
    path = f"position.scaling.{name}"

    def read(site: Any) -> float:
        written, pairs = value_at(site, path), n_rotated(site) // 2
        return float(written[-1]) if len(written) == pairs else 1.0

    def edit(site: Site, value: float) -> Site:
        pairs = n_rotated(site) // 2
        return put_at(site, path, tuple(value ** (pair / max(pairs - 1, 1)) for pair in range(pairs)))

    return {"kind": Slider, "read": read, "edit": edit}


def _within(limits: Callable[[Any], tuple[float, float]]) -> dict[str, Any]:
    """A number of rotations over the original length: one end of the ramp between unchanged and divided
    pairs.
    """
    return {"limits": lambda e: limits(e.position.scaling)}


_SPECIAL: dict[str, dict[str, Any]] = {
    "short_factor": _divisors("short_factor"),
    "long_factor": _divisors("long_factor"),
    "beta_fast": _within(lambda yarn: (yarn.beta_slow + 0.01, 1e6)),
    "beta_slow": _within(lambda yarn: (0.01, yarn.beta_fast - 0.01)),
    "low_freq_factor": _within(lambda llama: (0.01, llama.high_freq_factor - 0.01)),
    "high_freq_factor": _within(lambda llama: (llama.low_freq_factor + 0.01, 1e4)),
}
"""Settings of rows that no description of a field holds, by the name of the field."""

_USUAL: dict[str, Switch[Site]] = {
    "length": Switch(
        name="scaling_own_length_toggle",
        label=N_("Present length"),
        read=lambda e: e.position.scaling.length is None,
        edit=_set_own_length,
        hint=N_(
            "Computes the frequencies for the present number of positions; off: for a length of your choice"
        ),
        shown=lambda e: hasattr(_scaling(e), "length"),
    ),
    "attention_factor": Switch(
        name="scaling_own_attention_toggle",
        label=N_("Default factor"),
        read=lambda e: e.position.scaling.attention_factor is None,
        edit=_set_own_attention,
        hint=N_(
            "The attention factor multiplies cosines and sines, so scores grow by its square; off: a factor "
            "of your choice"
        ),
        shown=lambda e: hasattr(_scaling(e), "attention_factor"),
    ),
}
"""The switch above a nullable number."""


def _rows(name: str) -> tuple[FormField[Site], ...]:
    own = row(f"position.scaling.{name}", **_SPECIAL.get(name, {}))
    return (_USUAL[name], own) if name in _USUAL else (own,)


# The last scalings have the most fields: the order of theirs suits all.
_NAMES = dict.fromkeys(field.name for kind in reversed(SCALINGS) for field in rows_of(kind.record))
SCALING_FIELDS: tuple[FormField[Site], ...] = tuple(made for name in _NAMES for made in _rows(name))
"""The rows of every field of every scaling; a field that several have is one row."""


def scaling_note(site: Site) -> str:
    """Effect of the scaling on this sequence; empty if the dials suffice."""
    scaling = _scaling(site)
    return "" if scaling is None else row_of(scaling).note(rotation(site))
