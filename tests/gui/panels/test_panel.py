"""All panels: each receives the changes that concern it, and none shows an outdated state."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from desk import MakeDesk
from draw import Drawn, Rows
from experiments import STACKS
from first_layer import with_fields
from msgspec.structs import replace
from panels import PanelBench
from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QCursor, QImage
from PySide6.QtWidgets import QApplication, QScrollBar, QWidget
from pytestqt.qtbot import QtBot
from written import Written

from attnviz.checkpoints import presets
from attnviz.gui.forms.rows import Row
from attnviz.gui.panels import table
from attnviz.gui.panels.answer import AnswerPanel
from attnviz.gui.panels.cost.cost import REST_MS
from attnviz.gui.panels.mechanism.mechanism import MechanismPanel
from attnviz.gui.panels.mechanism.section import Section
from attnviz.gui.panels.panel import Panel
from attnviz.gui.store import Store
from attnviz.gui.widgets.pictures.arrow_plot import ArrowPlot
from attnviz.model.io.presets import load_preset
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import Cell, FirstToken, HeadGrid, Lines, Ranges, View
from attnviz.model.trace import Trace

ROWS = {row.id: row for row in table.PANELS}
PANEL_IDS = tuple(ROWS)

LOOKS: dict[str, Any] = {
    "first_tokens": tuple(FirstToken(head, True, f"layers.{n}.self") for n in (0, 1) for head in (0, 1)),
    "stage": "scores",
    "head": 1,
    "query": 2,
    "step": 2,
    "ranges": Ranges.of_all("global"),
    "orientation": "queries_as_columns",
    "plane": (1, 2),
    "projection": "principal",
    "keys": (1,),
    "picture": "lines",
    "lines": Lines("all", "all"),
    "locked": Cell("weights", 2, 1, 1),
    "site": "layers.1.self",
    "target": "layers.1.self.weights[0, 2, 1]",
    "quantity": "gradient",
    "grid": HeadGrid("entropy", "score"),
    "parts": ("formula",),
}
"""Another value of every field of the view."""


@pytest.fixture(autouse=True)
def far_away(qapp: QApplication) -> None:
    """The mouse, wherever a test before this one has left it: what appears below it is pointed at."""
    QCursor.setPos(qapp.primaryScreen().geometry().bottomRight())


def bench_of(qtbot: QtBot, id_: str, document: Document) -> PanelBench[Panel]:
    def make(store: Store) -> Panel:
        panel = ROWS[id_].make(store)
        panel.setObjectName(f"{id_}_panel")
        return panel

    return PanelBench(qtbot, make, document, 900, 420)  # type: ignore[arg-type]


def image(qtbot: QtBot, bench: PanelBench[Panel]) -> QImage:
    """The panel as it is painted once it has come to rest: without the focus, scrolled to its beginning."""
    focused = QApplication.focusWidget()
    if focused is not None:
        focused.clearFocus()
    for plot in bench.panel.findChildren(ArrowPlot):
        plot.fit()
    if bench.header is not None:
        bench.header.setGeometry(0, 0, 900, bench.header.sizeHint().height())  # as a dock does
    qtbot.wait(2 * REST_MS if bench.panel.objectName() == "cost_panel" else 5)
    found = bench.panel.grab().toImage()
    equal = 0
    while equal < 3:  # two frames of a transition that has just begun may look alike
        for bar in bench.panel.findChildren(QScrollBar):
            bar.setValue(bar.minimum())
        qtbot.wait(10)
        before, found = found, bench.panel.grab().toImage()
        equal = equal + 1 if found == before else 0
    return found


def document() -> Document:
    return Document(STACKS["two layers, pre"])


def test_every_field_of_the_view_is_looked_at_here() -> None:
    assert set(LOOKS) == set(View.__struct_fields__)
    assert all(value != getattr(View(), name) for name, value in LOOKS.items())


@pytest.fixture(scope="module")
def looks(drawn: Drawn) -> Rows:
    """(panel, name of a look)."""
    return drawn(list(itertools.product(PANEL_IDS, LOOKS)))


@pytest.mark.parametrize("id_", PANEL_IDS)
def test_a_panel_shows_every_look_that_it_follows_and_no_other_matters_to_it(
    qtbot: QtBot, id_: str, looks: Rows
) -> None:
    """A panel that has seen the look is painted like one that is made afterwards."""
    bench = bench_of(qtbot, id_, document())
    for name in [name for panel, name in looks if panel == id_]:
        bench.store.look(**{name: LOOKS[name]})
        fresh = bench_of(qtbot, id_, bench.store.document)
        assert image(qtbot, bench) == image(qtbot, fresh), name
        fresh.panel.hide()


@pytest.mark.parametrize("id_", PANEL_IDS)
def test_under_another_tab_a_panel_does_nothing_and_then_it_catches_up(qtbot: QtBot, id_: str) -> None:
    bench = bench_of(qtbot, id_, document())
    image(qtbot, bench)
    told: list[str] = []
    for name in ("on_document", "on_trace", "on_hover", "on_stage_hover"):
        setattr(bench.panel, name, noted(told, name, getattr(bench.panel, name)))
    bench.panel.set_seen(False)
    written = Written(bench.panel)
    bench.store.edit(with_fields, temperature=3.0)
    bench.store.edit(lambda e: replace(e, tokens=("other", *e.tokens[1:])))
    bench.store.look(stage="scores", query=2, head=1, step=1)
    bench.store.set_hover(Cell("weights", 1, 1))
    bench.store.set_stage_hover("k")
    qtbot.wait(20)
    assert told == []
    assert written.log == []
    written.stop()
    bench.panel.set_seen(True)
    assert told == ["on_document", "on_trace", "on_hover", "on_stage_hover"]
    bench.store.set_hover(None)
    bench.store.set_stage_hover("")
    fresh = bench_of(qtbot, id_, bench.store.document)
    assert image(qtbot, bench) == image(qtbot, fresh)


@pytest.mark.parametrize("id_", PANEL_IDS)
def test_the_pointer_is_told_after_the_numbers_that_it_points_at(qtbot: QtBot, id_: str) -> None:
    """Another panel, told first of new numbers, may find the mouse on one of them."""
    bench = bench_of(qtbot, id_, Document(STACKS["two layers, pre"]))
    store, told = bench.store, list[str]()
    for name in ("on_trace", "on_hover"):
        setattr(bench.panel, name, noted(told, name, getattr(bench.panel, name)))

    def set_trace(trace: Trace) -> None:
        store.trace = trace
        store.set_hover(Cell("weights", 0, 0))
        store.traced.emit(trace)

    store.set_trace = set_trace  # type: ignore[method-assign]
    store.open(load_preset("toy-attention"))  # of one head, and of fewer tokens
    assert [name for name in told if name == "on_hover"] == ["on_hover"]
    assert told[0] == "on_trace"


@pytest.mark.parametrize("id_", ["lens", "rollout", "circuits"])
def test_what_is_under_way_as_another_tab_comes_in_front_is_asked_for_again(qtbot: QtBot, id_: str) -> None:
    panel = bench_of(qtbot, id_, presets.load_preset("stories-induction")).panel
    assert isinstance(panel, AnswerPanel)
    asked = panel.answer.asked
    assert asked is not None
    panel.set_seen(False)
    assert panel.answer.asked is None
    panel.set_seen(True)
    assert panel.answer.asked == asked


def test_claims_behind_another_tab_are_checked_again_in_front(qtbot: QtBot) -> None:
    bench = bench_of(qtbot, "claims", presets.load_preset("stories-induction"))
    bench.store.claim(("max(weights) < 2",))
    (own,) = bench.panel.answers
    assert own.asked is not None and own.asked.claims == ("max(weights) < 2",)
    bench.panel.set_seen(False)
    assert own.asked is own.of is None
    bench.panel.set_seen(True)
    assert own.asked is not None


def test_every_panel_is_made_once(make_desk: MakeDesk) -> None:
    """Also one that another brings into sight while the first ones are made."""
    desk = make_desk()
    desk.window.complete()
    names = sorted(panel.objectName() for panel in desk.window.findChildren(Panel))
    assert names == sorted(f"{id_}_panel" for id_ in PANEL_IDS)


class Windows(QObject):
    """Notes what is shown as a window of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Show and isinstance(watched, QWidget) and watched.isWindow():
            self.names.append(watched.objectName() or type(watched).__name__)
        return False


def test_no_part_of_a_panel_is_ever_a_window(qapp: QApplication, make_desk: MakeDesk) -> None:
    """One that is shown before it has a parent takes the keyboard from the window."""
    windows = Windows()
    qapp.installEventFilter(windows)
    desk = make_desk()
    desk.window.complete()
    qapp.removeEventFilter(windows)
    assert windows.names == ["window"]


def noted(told: list[str], name: str, function: Any) -> Any:
    """`function`, writing down that it was called."""

    def call(*args: Any) -> None:
        told.append(name)
        function(*args)

    return call


def test_the_mechanism_writes_only_what_an_edit_has_changed(qtbot: QtBot) -> None:
    """It has some two hundred controls, and is told everything after every edit."""
    bench = bench_of(qtbot, "mechanism", document())
    assert isinstance(bench.panel, MechanismPanel)
    bench.panel.open_all()
    bench.panel.resize(900, 600)  # so that the temperature is in sight
    image(qtbot, bench)
    written = Written(bench.panel)
    bench.panel.on_document(None, bench.store.document)
    qtbot.wait(5)
    assert written.log == []
    bench.store.edit(with_fields, temperature=1.5)
    qtbot.wait(5)
    written.stop()
    (changed,) = bench.panel.findChildren(Row, "temperature_field_row")
    assert {type(widget).__name__ for widget in written_of(written, Section)} == {"ScoreSection"}
    assert written_of(written, Row) == {changed}
    # The factor beside the title is new as well; that it has another width moves nothing.
    assert {kind for _widget, kind in written.log} <= {"UpdateRequest", "Paint", "LayoutRequest"}


def written_of(written: Written, kind: type[QWidget]) -> set[QObject]:
    """The widgets of a kind that were written to, or that hold such a one."""
    found: set[QObject] = set()
    for widget, _event in written.log:
        part: QObject | None = widget
        while part is not None and not isinstance(part, kind):
            part = part.parent()
        found |= set() if part is None else {part}
    return found
