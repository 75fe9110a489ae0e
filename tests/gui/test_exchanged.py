"""A drag goes on safely when its document, or the part that it edits, is exchanged under it."""

from __future__ import annotations

from itertools import cycle

import pytest
from desk import Desk, MakeDesk
from msgspec.structs import replace
from pointer import move, press, release
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QApplication, QWidget

from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.widgets.slider_field import Track
from attnviz.model.caches import CACHES
from attnviz.model.edit.generation import set_cache
from attnviz.model.io.presets import load_preset

PRESETS = ("decoder-only", "multi-head-latent", "experts", "yarn")
BY = QPoint(0, -40)


def controls(desk: Desk, panel: str) -> list[QWidget]:
    """The numbers and sliders of a panel that can be dragged now."""
    found = desk.window.panels[panel].findChildren(QWidget)
    return [
        one for one in found if isinstance(one, DragNumber | Track) and one.isVisible() and one.isEnabled()
    ]


def begin(control: QWidget) -> QPoint:
    at = control.rect().center()
    press(control, at)
    move(control, at + BY / 2 if isinstance(control, DragNumber) else at + QPoint(9, 0))
    return at


def go_on(control: QWidget, at: QPoint) -> None:
    for to in (at + BY, at + QPoint(20, 30)):
        move(control, to)
    release(control, at + BY)


@pytest.mark.parametrize(("name", "other"), list(zip(PRESETS, [*PRESETS[1:], PRESETS[0]], strict=True)))
def test_another_document_opens_in_the_middle_of_any_drag(make_desk: MakeDesk, name: str, other: str) -> None:
    desk = make_desk(name)
    desk.bring("mechanism")
    desk.window.panels["mechanism"].open_all()
    QApplication.processEvents()
    first, second = desk.store.document, load_preset(other)
    names = [control.objectName() for control in controls(desk, "mechanism")]
    assert len(names) > 8
    for control in controls(desk, "mechanism"):
        desk.store.open(first)
        if not control.isVisible():
            continue
        at = begin(control)
        dragged = desk.store.chapters.present
        desk.store.open(second)
        go_on(control, at)
        kept = [one for one in desk.store.chapters.chapters if one.number == dragged.number]
        assert [one.document for one in kept] in ([], [dragged.document]), control.objectName()


def test_undo_in_the_middle_of_any_drag(make_desk: MakeDesk) -> None:
    desk = make_desk("decoder-only")
    desk.bring("mechanism")
    desk.window.panels["mechanism"].open_all()
    QApplication.processEvents()
    first = desk.store.document
    for control in controls(desk, "mechanism"):
        at = begin(control)
        while desk.store.can_undo:
            desk.store.undo()
        assert desk.store.document == first
        go_on(control, at)
        while desk.store.can_undo:
            desk.store.undo()
        assert desk.store.document.experiment == first.experiment, control.objectName()


def test_the_cache_becomes_another_in_the_middle_of_a_drag(make_desk: MakeDesk) -> None:
    desk = make_desk("causal-decode")
    desk.go("generate")
    desk.bring("cache")
    desk.settle_decoding()
    desk.go("generate")
    desk.bring("cache")
    kinds = cycle(CACHES)
    for row in CACHES:
        desk.store.edit(set_cache, row.kind())
        desk.settle()
        for control in controls(desk, "cache"):
            desk.store.edit(set_cache, row.kind())
            at = begin(control)
            for _other in CACHES:
                wanted = next(kinds).kind()
                desk.store.edit(set_cache, wanted)
                move(control, at + BY)
                move(control, at)
                writing = desk.store.experiment.writing
                assert writing is not None and type(writing.cache) is type(wanted)
            release(control, at)


def test_a_drag_that_edits_all_layers_starts_from_each_of_them(make_desk: MakeDesk) -> None:
    desk = make_desk("decoder-only")
    desk.bring("mechanism")
    desk.window.panels["mechanism"].open_all()
    store = desk.store
    layers = [replace(layer, temperature=1.0 + n) for n, layer in enumerate(store.experiment.layers)]
    store.edit(lambda experiment: replace(experiment, layers=tuple(layers)))
    store.set_edits_alike(True)
    desk.settle()
    number = desk.find(DragNumber, "n_heads_field")
    at = begin(number)
    go_on(number, at)
    found = store.experiment.layers
    assert len({layer.heads.n_heads for layer in found}) == 1
    assert found[0].heads.n_heads != layers[0].heads.n_heads
    assert [layer.temperature for layer in found] == [1.0, 2.0]
