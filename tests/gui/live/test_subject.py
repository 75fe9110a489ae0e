"""Analyses beside the map come from the engine that computes its numbers."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from desk import MakeDesk

from attnviz.checkpoints.presets import load_preset
from attnviz.gui.widgets.document_line import DocumentLine

CLEAN = 'Tom said: "The cat box is by the lake." Lily said: "The red'

ANALYSES = {
    "lens": ("lens", "logit_lens"),
    "circuits": ("circuits", "circuit"),
    "patching": ("patching", "patch"),
}
"""Module of `attnviz.study` and function, by the panel that shows its result."""


@pytest.mark.parametrize("panel", ANALYSES)
def test_another_engine_computes_again(
    make_desk: MakeDesk, panel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    room, name = ANALYSES[panel]
    module = importlib.import_module(f"attnviz.study.{room}")
    asked, function = list[str](), getattr(module, name)

    def noted(*given: Any, engine: str, **named: Any) -> Any:
        asked.append(engine)
        return function(*given, engine=engine, **named)

    monkeypatch.setattr(module, name, noted)
    desk = make_desk(load_preset("stories-induction"))
    desk.go("model")
    desk.bring(panel)
    if panel == "patching":
        line = desk.find(DocumentLine, "patch_clean")
        line.setText(CLEAN)
        line.editingFinished.emit()
    desk.qtbot.waitUntil(lambda: asked == ["numpy"])
    desk.window.store.choose_engine("torch", "cpu")
    desk.qtbot.waitUntil(lambda: asked == ["numpy", "torch"])
    desk.settle()
    assert asked == ["numpy", "torch"]
