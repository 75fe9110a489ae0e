"""The circuits of the selected head on the screen: the pairs of the library, and the arithmetic of each."""

from __future__ import annotations

import csv
import io
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from desk import Desk, MakeDesk
from msgspec.structs import replace
from PySide6.QtCore import QPointF, Qt
from pytestqt.qtbot import QtBot

from attnviz import analysis
from attnviz.checkpoints.presets import load_preset
from attnviz.cli.shell import main
from attnviz.core.progress import never_cancelled
from attnviz.gui.export.source import Choice
from attnviz.gui.export.table import EXPORT_BY_ID
from attnviz.gui.look.words import speak
from attnviz.gui.panels.circuits import LETTERS, CircuitsPanel, PairRows, explained
from attnviz.gui.widgets.empty_state import EmptyState
from attnviz.gui.widgets.explanation_page import ExplanationPage
from attnviz.model.io.files import save
from attnviz.model.sites.sites import at, put
from attnviz.model.spec.gate import Gate
from attnviz.model.text import shown_token
from attnviz.operations.terms import VALUE_DIGITS, Series, Term, digits, flat, plain
from attnviz.study.circuit_texts import formula_of


def shown(desk: Desk) -> CircuitsPanel:
    found = desk.window.panels["circuits"]
    assert isinstance(found, CircuitsPanel)
    return found


def rows(desk: Desk) -> PairRows:
    return desk.find(PairRows, "circuit_rows")


@pytest.fixture
def desk(make_desk: MakeDesk, qtbot: QtBot) -> Desk:
    desk = make_desk(load_preset("stories-induction"))
    desk.go("model")
    desk.store.look(site="layers.2.self", head=2)
    desk.bring("circuits")
    qtbot.waitUntil(lambda: bool(rows(desk).pairs))
    return desk


def choose(desk: Desk, qtbot: QtBot, kind: str) -> None:
    before = rows(desk).pairs
    button = shown(desk).findChild(object, f"segment_{kind}")
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: rows(desk).pairs != before)


def test_it_lists_the_pairs_of_the_library_and_opens_their_arithmetic(desk: Desk, qtbot: QtBot) -> None:
    for kind in ("qk", "ov"):
        if kind == "ov":
            choose(desk, qtbot, kind)
        wanted = analysis.circuit(desk.store.experiment, "layers.2.self", 2, kind, 30)
        found = rows(desk).pairs
        name = partial(shown_token, desk.store.experiment.vocabulary)
        named = [(name(pair.first), name(pair.second), pair.value) for pair in wanted]
        assert [(pair.first, pair.second, pair.value) for pair in found] == named
        qtbot.mouseClick(rows(desk), Qt.MouseButton.LeftButton, pos=rows(desk).row_rect(3).center().toPoint())
        page = desk.find(ExplanationPage, "circuit_arithmetic").toPlainText()
        assert page.startswith(explained(found[3], kind, 3).title)
        result, note = page.split("\n")
        assert result.endswith(f" = {digits(found[3].value, VALUE_DIGITS)}")
        assert note.startswith(f"{LETTERS[kind][0]} is the ")


@pytest.mark.parametrize("kind", ["qk", "ov"])
def test_the_products_of_a_pair_add_up_to_its_number(kind: str) -> None:
    pair = analysis.circuit(load_preset("stories-induction"), "layers.2.self", 2, kind, 1)[0]
    line, note = explained(pair, kind, 0).lines
    assert line.notes == () and note.steps == () and plain(note.notes[0]).startswith(LETTERS[kind][0])
    (series,) = line.steps[1]
    assert isinstance(series, Series)
    factors = [p.value for p in flat((series,), is_whole=True) if isinstance(p, Term)]
    pairs = np.array(factors).reshape(-1, 2)
    products = pairs[:, 0] * pairs[:, 1]
    assert products.sum() == pytest.approx(pair.value, rel=1e-5) == line.recomputed
    assert list(np.abs(products)) == sorted(np.abs(products), reverse=True)


def test_the_pairs_of_a_tab_that_is_in_front_again_take_clicks(desk: Desk, qtbot: QtBot) -> None:
    panel, page = shown(desk), desk.find(ExplanationPage, "circuit_arithmetic")
    panel.set_seen(False)
    panel.set_seen(True)
    place = rows(desk).row_rect(3).center().toPoint()
    qtbot.mouseClick(rows(desk), Qt.MouseButton.LeftButton, pos=place)
    assert page.toPlainText().startswith(explained(rows(desk).pairs[3], "qk", 3).title)
    speak()
    assert page.isVisible()


def test_another_head_has_other_pairs_and_another_text_the_same(desk: Desk, qtbot: QtBot) -> None:
    before, panel = rows(desk).pairs, shown(desk)
    due: list[object] = []
    panel.answer.changed.connect(lambda: due.append(panel.answer.asked) if panel.answer.is_due else None)
    desk.store.look(head=1)
    qtbot.waitUntil(lambda: bool(rows(desk).pairs) and rows(desk).pairs != before)
    desk.store.look(head=2)
    assert rows(desk).pairs == before and len(due) == 1  # kept: not computed again


def test_a_first_token_and_one_that_the_vocabulary_lacks(desk: Desk, qtbot: QtBot) -> None:
    line = shown(desk).findChild(object, "circuit_token")
    qtbot.keyClicks(line, " box")
    qtbot.keyClick(line, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: {pair.first for pair in rows(desk).pairs} == {"␣box"})
    line.clear()
    qtbot.keyClicks(line, "nosuchtoken")
    qtbot.keyClick(line, Qt.Key.Key_Return)
    empty = shown(desk).findChild(EmptyState)
    assert empty is not None
    qtbot.waitUntil(lambda: "token" in empty.accessibleName() and "nosuchtoken" in empty.accessibleName())


def test_rows_have_bars_by_their_numbers(desk: Desk) -> None:
    shown_rows = rows(desk)
    first, last = shown_rows.pairs[0], shown_rows.pairs[-1]
    ratio = shown_rows.bar_rect(29).width() / shown_rows.bar_rect(0).width()
    assert ratio == pytest.approx(last.value / first.value, rel=1e-6)
    assert shown_rows.part_at(QPointF(5, 25)) == 1


def test_the_export_has_the_same_pairs(desk: Desk) -> None:
    source = desk.window.handlers._exporter.source({})
    choice = Choice("csv", (("site", "layers.2.self"), ("head", "2"), ("circuit", "ov")))
    made = EXPORT_BY_ID["circuits"].make(source, choice, never_cancelled)
    table = list(csv.reader(io.StringIO(str(made.shown))))
    wanted = analysis.circuit(desk.store.experiment, "layers.2.self", 2, "ov", 30)
    assert table[1:] == [[pair.first, pair.second, repr(pair.value)] for pair in wanted]


def test_a_document_without_a_vocabulary_says_so(make_desk: MakeDesk) -> None:
    desk = make_desk("toy-attention")
    desk.go("model")
    desk.bring("circuits")
    empty = shown(desk).findChild(EmptyState)
    assert empty is not None and empty.isVisible() and "vocabulary" in empty.accessibleName()


def test_a_gate_that_ov_leaves_out_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = load_preset("stories-induction")
    site = at(plain.experiment, "layers.2.self")
    gated = put(plain.experiment, replace(site, gate=Gate()))
    made, sentence = at(gated, "layers.2.self"), "The gate of the querying token"
    assert sentence in formula_of("ov", made)
    assert sentence not in formula_of("qk", made) and sentence not in formula_of("ov", site)
    found = [analysis.circuit(one, "layers.2.self", 2, "ov", 5) for one in (plain.experiment, gated)]
    assert found[0] == found[1]
    path = tmp_path / "gated.safetensors"
    save(replace(plain, experiment=gated), path)
    for kind, is_said in (("ov", True), ("qk", False)):
        assert main(["circuits", str(path), "--site", "layers.2.self", "--kind", kind]) == 0
        assert (sentence in capsys.readouterr().err) == is_said
