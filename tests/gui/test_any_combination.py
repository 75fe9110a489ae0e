"""A walk at random over everything that can be clicked and typed: no combination raises or is refused.

`ATTNVIZ_WALKS=7,8,9` walks with these seeds, `ATTNVIZ_STEPS` says how far; a failure prints its seed and
the way that led there.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, get_args

import numpy as np
import pytest
from desk import WAIT_MS, Desk, MakeDesk
from draw import Drawn
from experiments import STACKS, small
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QStandardItemModel
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QComboBox,
    QDialog,
    QFileDialog,
    QLineEdit,
    QMessageBox,
    QTabBar,
    QWidget,
)
from refusals import refusal

from attnviz.checkpoints.presets import PRESETS, load_preset
from attnviz.core.levels import RANGES
from attnviz.explain.arithmetic.cell import explain
from attnviz.gui.forms.rows import ChoiceRow, NumberRow, Row, SliderRow, SwitchRow
from attnviz.gui.panels.table import PANELS
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.control import Availability
from attnviz.gui.widgets.heat.stages import stage_content
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.widgets.numbers.grid import NumberGrid
from attnviz.gui.widgets.pictures.dial import Dial
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.slider_field import Track
from attnviz.model.edit.layers import set_n_layers
from attnviz.model.errors.titles import reason_in_words
from attnviz.model.sites.sites import put, site_names
from attnviz.model.spec.document import Document
from attnviz.model.spec.site import Site
from attnviz.model.spec.view import Cell, Orientation, Ranges, View

SEEDS = tuple(int(seed) for seed in os.environ.get("ATTNVIZ_WALKS", "1,2,3").split(","))
STEPS = int(os.environ.get("ATTNVIZ_STEPS", "60"))

UNREAD = "'vocabulary' or 'none' behind an embedding of other features"
"""Why a text behind a narrow embedding is not continued: without a vocabulary it has no read-out."""

TEXTS = ("", "0", "1", "0, 2", "2-1")

ROUNDING = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}
MOST = {
    "n_tokens_field": 7,
    "d_model_field": 8,
    "n_layers_field": 3,
    "n_encoder_layers_field": 2,
}
"""Numbers that only slow the walk down are kept small; other whole numbers go up to 12."""


@pytest.fixture(autouse=True)
def nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dialogs, and questions about files and pages, are cancelled at once."""
    monkeypatch.setattr(QDialog, "exec", QDialog.reject)
    for name in ("getOpenFileName", "getSaveFileName"):
        monkeypatch.setattr(QFileDialog, name, lambda *_given, **_named: ("", ""))
    monkeypatch.setattr(QMessageBox, "exec", lambda _box: QMessageBox.StandardButton.Cancel)


class Walk:
    """One way through the window. Every action is printed before it is done."""

    def __init__(self, desk: Desk, seed: int) -> None:
        self.desk, self.store = desk, desk.store
        self.chance = random.Random(seed)
        refused: list[str] = []
        self.refused = refused
        failed: list[str] = []
        self.failed = failed
        # Not over `self`: a signal keeps its lambda.
        self.store.rejected.connect(lambda error: error is None or refused.append(str(error)))
        desk.window.live.failed.connect(lambda error: failed.append(str(error)))
        desk.window.decode_live.failed.connect(
            lambda error: None if UNREAD in str(error) else failed.append(str(error))
        )

    # --- doing

    def step(self) -> None:
        """Do something at random that can be done, and wait for the numbers."""
        kinds: tuple[tuple[int, Callable[[], None]], ...] = (
            (14, self.touch_any),
            (2, self.look),
            (1, self.tab),
            (1, self.undo),
        )
        chosen = self.chance.choices([act for _weight, act in kinds], [weight for weight, _act in kinds])[0]
        chosen()
        self.wait()

    def visit(self, id_: str) -> None:
        """Act on one control of the panel, wherever it stands, and wait for the numbers."""
        self.desk.bring(id_)
        self.note(f"visit {id_}")
        self.touch([self.desk.window.panels[id_]])
        self.wait()

    def wait(self) -> None:
        self.desk.qtbot.waitUntil(self.is_done, timeout=WAIT_MS)

    def is_done(self) -> bool:
        return bool(self.failed) or self.desk._has_settled()

    @property
    def is_alike(self) -> bool:
        """True if another layer may refuse what this one takes; the sentence names that layer then."""
        return self.store.pointer.edits_alike

    def touch_any(self) -> None:
        """Act on a control of some panel in view; a form has more of them and is taken more often."""
        panels = [self.desk.window.panels[row.id] for row in PANELS]
        seen = [panel for panel in panels if panel.isVisible()]
        shares = [3 if panel.findChildren(Row) else 1 for panel in seen]
        self.touch(self.chance.choices(seen, shares))

    def touch(self, panels: Sequence[QWidget]) -> None:
        """Act on one control; each kind of control has its share, whatever its number."""
        kinds: dict[type, list[QWidget]] = {}
        for panel in panels:
            for control in enabled(panel):
                kinds.setdefault(type(control), []).append(control)
        if kinds:
            control = self.chance.choice(self.chance.choice(list(kinds.values())))
            act = next((act for kind, act in ACTS.items() if isinstance(control, kind)), Walk.press)
            act(self, control)

    def look(self) -> None:
        """Look at another site, stage, head, query, or from another side."""
        site = self.chance.choice(site_names(self.store.experiment))
        stage = self.chance.choice(self.store.trace.shown(site).stages)
        seen = {
            "site": site,
            "stage": stage,
            "head": self.chance.randrange(4),
            "query": self.chance.randrange(7),
            "orientation": self.chance.choice(get_args(Orientation)),
            "ranges": Ranges(*(self.chance.choice([row.id for row in RANGES]) for _kind in range(3))),
        }
        self.note(f"look at {site} {stage}")
        self.store.look(**seen)

    def tab(self) -> None:
        name = self.chance.choice([row.id for row in PANELS])
        self.note(f"tab {name}")
        self.desk.bring(name)

    def undo(self) -> None:
        times = self.chance.randrange(1, 4)
        self.note(f"undo and redo {times}")
        for back in (self.store.undo, self.store.redo)[: self.chance.choice([1, 2])]:
            for _time in range(times):
                back()

    def press(self, button: QAbstractButton) -> None:
        too_many = len(site_names(self.store.experiment)) > 4
        if not (too_many and button.objectName() == "copy_layer_button"):
            self.note(f"press {name_of(button)}")
            button.click()

    def choose(self, combo: QComboBox) -> None:
        index = self.chance.choice([i for i in range(combo.count()) if is_usable(combo, i)])
        self.note(f"choose {name_of(combo)} {combo.itemData(index) or combo.itemText(index)}")
        combo.setCurrentIndex(index)
        combo.activated.emit(index)

    def segment(self, segmented: Segmented) -> None:
        usable = [b for b in segmented.findChildren(QAbstractButton) if b.isEnabled() and b.isVisible()]
        if usable:
            self.press(self.chance.choice(usable))

    def number(self, number: DragNumber) -> None:
        value = self.chance.choice(values(number))
        self.note(f"type {name_of(number)} {value}")
        number.open_editor(f"{value}")
        editor = number.findChild(QLineEdit, "number_editor")
        assert editor is not None
        QTest.keyClick(editor, Qt.Key.Key_Return)

    def slide(self, track: Track) -> None:
        place = QPoint(self.chance.randrange(max(track.width(), 1)), track.height() // 2)
        self.note(f"slide {name_of(track)} {place.x()}")
        QTest.mouseClick(track, Qt.MouseButton.LeftButton, pos=place)

    def turn(self, dial: Dial) -> None:
        self.note(f"turn {name_of(dial)}")
        QTest.keyClick(dial, self.chance.choice([Qt.Key.Key_Up, Qt.Key.Key_PageDown, Qt.Key.Key_Home]))

    def cell(self, grid: NumberGrid) -> None:
        rows, columns = grid.values().shape
        if rows and columns:
            row, column = self.chance.randrange(rows), self.chance.randrange(columns)
            self.note(f"cell {name_of(grid)} {row} {column}")
            grid.set_current_cell(row, column)
            key = self.chance.choice([Qt.Key.Key_Up, Qt.Key.Key_Down])
            QTest.keyClick(grid, key, Qt.KeyboardModifier.AltModifier)

    def write(self, line: QLineEdit) -> None:
        words = ["a b c", "b a", "x", "a b c d e"] if line.objectName() == "token_line" else TEXTS
        text = self.chance.choice(words)
        self.note(f"write {name_of(line)} {text!r}")
        line.setFocus()
        line.selectAll()
        QTest.keyClick(line, Qt.Key.Key_Backspace)
        QTest.keyClicks(line, text)
        line.clearFocus()

    def note(self, what: str) -> None:
        print(f"{what}  [{self.store.document.site}]", flush=True)

    # --- judging

    def check(self, site: str | None = None) -> None:
        """Laws that hold after every action, in one site or in all."""
        refused = [sentence for sentence in self.refused if not is_meant(sentence)]
        assert refused == [], refused
        self.refused.clear()
        assert self.failed == []
        trace = self.store.trace
        assert trace is not None and trace.experiment == self.store.experiment
        for name in trace.sites if site is None else {site} & set(trace.sites):
            self.check_site(name)
        self.check_rows()
        self.check_reasons()
        self.desk.map.grab()

    def check_site(self, name: str) -> None:
        """Every stage can be drawn, and a cell of each explained."""
        site = self.store.trace.site(name)
        view = self.store.document.view
        for stage in site.stages:
            content = stage_content(site, view, stage, self.desk.theme)
            assert content.values.size
            heads, rows, columns = (1, *site.shape(stage))[-3:]
            place = [self.chance.randrange(size) for size in (heads, rows, columns)]
            cell = Cell(stage, place[1], place[2], place[0])
            explanation = explain(site, cell)
            whole = site.window(stage, place[0])
            value = float(whole[place[1], place[2]])
            size = max(1.0, float(np.abs(np.where(np.isfinite(whole), whole, 0)).max()))
            # A product of one row may round otherwise in its last places than one of all rows.
            rounding = 16 * ROUNDING[site.experiment.dtype]
            same = pytest.approx(value, rel=rounding, abs=rounding * size, nan_ok=True)
            assert explanation.value == same, cell
            if site.experiment.dtype == "float64":
                close = pytest.approx(value, rel=1e-9, abs=1e-11 * size, nan_ok=True)
                assert explanation.recomputed == close, (name, cell)

    def edited(self, edit: Callable[[Any, Any], Any], subject: Any, value: Any) -> object:
        """The edited subject, an attention in its place: some conditions are those of the layer."""
        after = edit(subject, value)
        return put(self.store.experiment, after) if isinstance(after, Site) else after

    def check_rows(self) -> None:
        """An option is disabled exactly if it is refused, with the words of its tooltip.

        Qt counts a panel behind another tab as visible, which hears of the document when it comes in front.
        """
        panels = [self.desk.window.panels[row.id] for row in PANELS]
        in_sight = [panel for panel in panels if not panel.visibleRegion().isEmpty()]
        for row in [row for panel in in_sight for row in panel.findChildren(Row)]:
            if not row.isVisible():
                continue
            field, subject = row.field, row.subject
            whole = reason_in_words(field.reason(subject))
            for value, reason in options(row):
                refused = refusal(partial(self.edited, field.edit), subject, value)
                if field.path == "dtype":  # the engine computes in some only
                    assert refused == "", value
                elif whole or reason:
                    assert refused == (whole or reason), (field.name, value)
                else:
                    assert refused == "" or is_meant(refused), (field.name, value)

    def check_reasons(self) -> None:
        """Whatever cannot be used says why."""
        for control in self.desk.window.findChildren(QWidget):
            is_control = isinstance(control, Availability | QAbstractButton | QLineEdit)
            if is_control and control.isVisible() and not control.isEnabled() and is_ours(control):
                reason = getattr(control, "_reason", "") or getattr(control, "_owner_reason", "")
                assert reason or control.toolTip() or above(control), name_of(control)
            if isinstance(control, Combo) and control.isVisible():
                for index in range(control.count()):
                    tip = control.itemData(index, Qt.ItemDataRole.ToolTipRole)
                    assert is_usable(control, index) or tip, (name_of(control), index)


def enabled(panel: QWidget) -> Iterator[Any]:
    """The controls of a panel that can be acted on now."""
    for widget in panel.findChildren(QWidget):
        if not (widget.isVisible() and widget.isEnabled()) or isinstance(widget.parent(), Segmented):
            continue
        if isinstance(widget, QLineEdit):
            if widget.objectName() != "number_editor" and not widget.isReadOnly():
                yield widget
        elif isinstance(widget, QAbstractButton | Segmented | DragNumber | Track | Dial | NumberGrid):
            yield widget
        elif isinstance(widget, QComboBox) and any(is_usable(widget, i) for i in range(widget.count())):
            yield widget


ACTS: dict[type, Callable[[Walk, Any], None]] = {
    QComboBox: Walk.choose,
    Segmented: Walk.segment,
    DragNumber: Walk.number,
    Track: Walk.slide,
    Dial: Walk.turn,
    NumberGrid: Walk.cell,
    QLineEdit: Walk.write,
}


def values(number: DragNumber) -> list[float]:
    """Legal values of a number: its limits where they are near, and some between."""
    limits, present = number._range, number.value()
    low, high = limits.minimum, limits.maximum
    if limits.is_integer:
        most = MOST.get(number.objectName(), 12 if high < 2**31 else 10_000)
        high = min(high, max(most, low))
        return sorted({low, high, min(low + 1, high), (low + high) // 2, min(max(present, low), high)})
    found = {0.0, 1.0, 0.25, -0.5, 2.5, present, 1e-3, *(v for v in (low, high) if abs(v) <= 1e6)}
    return sorted(value for value in found if low <= value <= high)


def options(row: Row) -> Iterator[tuple[Any, str]]:
    """The values that can be entered in a row, each with the reason why it cannot be at present."""
    field: Any = row.field
    if isinstance(row, ChoiceRow):
        for id_, _label, _tooltip in field.options:
            yield id_, reason_in_words(field.why_not(row.subject, id_)) or ""
    elif isinstance(row, SwitchRow):
        yield not field.read(row.subject), ""
    elif isinstance(row, NumberRow | SliderRow):
        number = row.control if isinstance(row, NumberRow) else row.control.number
        for value in values(number):
            yield int(value) if field.__class__.__name__ == "Number" and field.integer else value, ""


MEANT = (
    "for a last token at position",  # a table of positions that ends too early
    "at least 2 with rotary positions",  # a head too narrow to rotate
    "a number above 1 with YaRN",
    "must be even with differential attention",  # an odd number of heads, beside partner heads
    "behind an embedding of other features",  # scores of similarity, with an embedding of another width
    "must be a token of the vocabulary",  # a word that a model's vocabulary does not have
    "(n_routed)",  # fewer experts than a token passes through
    "must be a matrix where the embedding has other features",  # a tied read-out of a wider model
    "must leave the scale divided by it finite",  # a scale near the largest number, as one failure sets it
)
"""Sentences that refuse a typed value which is valid only beside other values."""


def is_meant(sentence: str) -> bool:
    return any(part in sentence for part in MEANT)


def is_usable(combo: QComboBox, index: int) -> bool:
    model = combo.model()
    assert isinstance(model, QStandardItemModel)
    return model.item(index).isEnabled()


def is_ours(control: QWidget) -> bool:
    """Not a part that Qt made, such as the arrow of a scroll bar or of a row of tabs."""
    is_named = bool(control.objectName()) and not control.objectName().startswith("qt_")
    return is_named and not isinstance(control.parent(), QTabBar)


def above(control: QWidget) -> str:
    """The tooltip of what the control is a part of."""
    parent = control.parentWidget()
    while parent is not None and not parent.toolTip():
        parent = parent.parentWidget()
    return "" if parent is None else parent.toolTip()


def name_of(widget: QWidget) -> str:
    """The names on the way to a control."""
    names: list[str] = []
    at_: Any = widget
    while at_ is not None and not at_.objectName().endswith("_panel"):
        names.append(at_.objectName() or type(at_).__name__)
        at_ = at_.parentWidget()
    return "/".join(reversed(names[:2]))


DOCUMENTS = (
    Document(small(), title="one"),
    Document(STACKS["encoder and decoder"], View(stage="scores"), title="encoder and decoder"),
    Document(set_n_layers(set_n_layers(STACKS["two layers, post"], 1), 2), title="stack"),
)


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_is_done_in_any_order_is_legal(make_desk: MakeDesk, seed: int) -> None:
    desk = make_desk(DOCUMENTS[seed % len(DOCUMENTS)])
    walk = Walk(desk, seed)
    print(f"seed {seed}")
    for _step in range(STEPS):
        with desk.qtbot.captureExceptions() as raised:
            walk.step()
            walk.check()
        assert raised == []


PARTS = 8
"""Number of windows that share the presets; each has about one of those with a trained model."""


@pytest.mark.parametrize("part", range(PARTS))
def test_every_panel_can_be_used_on_every_site_of_every_preset(
    make_desk: MakeDesk, part: int, drawn: Drawn
) -> None:
    documents = {preset.id: load_preset(preset.id) for preset in PRESETS[part::PARTS]}
    visits = drawn(
        [
            (preset, site, row.id)
            for preset, document in documents.items()
            for site in site_names(document.experiment)
            for row in PANELS
        ],
        share=8,
    )
    desk = make_desk(DOCUMENTS[0])
    walk = Walk(desk, seed=part)
    for (preset, site), panels in itertools.groupby(visits, key=lambda visit: visit[:2]):
        print(f"preset {preset}, site {site}")
        desk.store.open(documents[preset])
        desk.store.look(site=site)
        walk.wait()
        for _preset, _site, panel in panels:
            with desk.qtbot.captureExceptions() as raised:
                walk.visit(panel)
            assert raised == []
        # A lesson opens another document, and a failure may leave one attention alone.
        if site in site_names(desk.store.experiment):
            walk.check(site)
