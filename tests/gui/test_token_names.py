"""The tokens of a byte-level model are named as a text has them: “␣the”, never “Ġthe”."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from desk import MakeDesk
from experiments import byte_level_names
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QWidget

import attnviz
from attnviz.gui.panels.table import PANELS
from attnviz.gui.workspaces.table import WORKSPACES
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import one_layer
from attnviz.model.spec.parts import Causal, SeededVectors
from attnviz.model.spec.pieces import Pieces
from attnviz.model.spec.vocabulary import Vocabulary

STORED = "Ġ"
WORDS = ("Ġthe", "Ġcat", "Ġand", "Ġdog")
SAID = ("text", "toolTip", "accessibleName", "accessibleDescription", "currentText")


def byte_level(readout: str) -> Document:
    names = byte_level_names(*WORDS)
    rows = Matrix(np.random.default_rng(0).standard_normal((len(names), 4)))
    return Document(
        one_layer(
            (*WORDS, WORDS[0]),
            SeededVectors(len(WORDS) + 1, 4),
            masks=(Causal(),),
            vocabulary=Vocabulary(names, rows, pieces=Pieces("byte_level")),
            readout=readout,
        )
    )


def said(widget: QWidget) -> set[str]:
    """The texts of a widget and of those inside it, painted or for screen readers."""
    found = set()
    for one in (widget, *widget.findChildren(QWidget)):
        for name in SAID:
            given = getattr(one, name, "")
            text = given() if callable(given) else given
            found.add(text if isinstance(text, str) else "")
    return found


@pytest.mark.parametrize("readout", ["vocabulary", "similarity"])
def test_no_panel_names_a_token_as_its_vocabulary_stores_it(
    make_desk: MakeDesk, monkeypatch: pytest.MonkeyPatch, readout: str
) -> None:
    painted: set[str] = set()
    draw = QPainter.drawText

    def drawn(painter: QPainter, *given: Any) -> Any:
        painted.update(one for one in given if isinstance(one, str))
        return draw(painter, *given)

    monkeypatch.setattr(QPainter, "drawText", drawn)
    desk = make_desk(byte_level(readout))
    desk.settle_decoding()
    desk.window.handlers.on_last_step()
    for row in WORKSPACES:
        desk.go(row.id)
        for panel in PANELS:
            if not desk.window.docks[panel.id].isHidden():
                desk.bring(panel.id)
                desk.settle()
                desk.window.docks[panel.id].grab()
        painted |= said(desk.window)
    assert any("␣cat" in text for text in painted)
    assert not {text for text in painted if STORED in text}


def test_the_loss_is_named_after_the_text_of_its_token() -> None:
    gradient = attnviz.backward(byte_level("vocabulary").experiment, "loss[1]")
    assert gradient.site(gradient.sites[0]).called("weights") == "∂ loss at “␣cat” / ∂ weights"
