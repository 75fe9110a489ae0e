"""The code of a stage below its arithmetic: lines of NumPy or PyTorch, to read and to copy."""

from __future__ import annotations

import numpy as np
from desk import Desk, MakeDesk
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QPlainTextEdit, QPushButton

from attnviz.gui.panels.inspector.inspector import CodeFold
from attnviz.gui.widgets.segmented import Segmented
from attnviz.model.spec.view import Cell


def opened(desk: Desk) -> QPlainTextEdit:
    """The text of the unfolded code."""
    desk.go("explore")
    desk.bring("inspector")
    desk.find(QPushButton, "code_fold").click()
    desk.settle()
    return desk.find(QPlainTextEdit, "code_text")


def test_the_code_of_the_shown_stage_unfolds_and_follows_the_cell(desk: Desk) -> None:
    text = opened(desk)
    assert "weights = softmax(" in text.toPlainText()
    desk.store.look(stage="mixed", locked=None)
    desk.settle()
    assert "mixed = weights @ " in text.toPlainText()
    desk.store.look(locked=Cell("scores", 1, 0, 0))
    desk.settle()
    assert text.toPlainText().splitlines()[-1].startswith("scores = q")
    assert desk.find(QPushButton, "code_fold").accessibleName() == "Code · scores"


def test_the_lines_run_and_give_the_numbers_of_the_window(desk: Desk) -> None:
    text = opened(desk)
    desk.find(QPushButton, "code_copy").click()
    code = QGuiApplication.clipboard().text()
    assert code == text.toPlainText()
    site = desk.store.site
    known = {stage: site[stage].astype(float) for stage in site.stages if stage != "weights"}
    names = {"np": np, **known}
    exec(code, names)
    np.testing.assert_allclose(names["weights"], site["weights"], rtol=1e-5)


def test_the_library_is_chosen(desk: Desk) -> None:
    text = opened(desk)
    library = desk.find(Segmented, "code_library")
    library.step(1)
    desk.settle()
    assert library.value() == "torch"
    assert "torch.softmax(" in text.toPlainText()


def test_unfolding_does_not_widen_the_dock(desk: Desk) -> None:
    fold = desk.find(CodeFold, "inspector_code")
    desk.go("explore")
    desk.bring("inspector")
    before = desk.window.docks["inspector"].width()
    opened(desk)
    assert fold.is_open
    assert desk.window.docks["inspector"].width() == before


def test_the_memory_of_an_encoder_is_its_result(make_desk: MakeDesk) -> None:
    desk = make_desk("encoder-decoder")
    desk.store.look(site="decoder.0.cross", stage="memory")
    text = opened(desk)
    assert "memory = encoded" in text.toPlainText()
