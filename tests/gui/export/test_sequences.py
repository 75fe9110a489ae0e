"""Sequences from the window: the dialog's choice, the written file, and what is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from desk import Desk, MakeDesk
from PIL import Image
from PySide6.QtWidgets import QComboBox, QDialog, QFileDialog, QLineEdit, QSpinBox

import attnviz
from attnviz.figures.sequences.frames import OVER
from attnviz.gui.dialogs.sequence import SequenceDialog
from attnviz.gui.export.sequences import Sequences
from attnviz.model.edit.sweep import Sweep


def dialog_of(desk: Desk) -> SequenceDialog:
    made = SequenceDialog(desk.window, desk.store.attention, has_layers=True)
    desk.qtbot.addWidget(made)
    return made


def test_every_choice_of_the_dialog_is_a_sequence(make_desk: MakeDesk) -> None:
    for preset in ("alibi-window", "yarn", "attention-sinks"):
        desk = make_desk(preset)
        dialog = dialog_of(desk)
        box = dialog.findChild(QComboBox, "sequence_over")
        for index in range(box.count()):
            box.setCurrentIndex(index)
            if dialog.over not in OVER:
                assert list(Sweep.parsed(dialog.over).frames(desk.store.experiment, desk.store.document.site))


def test_a_sweep_is_asked_for_and_written(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def choose(dialog: SequenceDialog) -> int:
        box = dialog.findChild(QComboBox, "sequence_over")
        box.setCurrentIndex(box.findData("temperature"))
        dialog.findChild(QLineEdit, "sequence_first").setText("0.5")
        dialog.findChild(QLineEdit, "sequence_last").setText("2")
        dialog.findChild(QSpinBox, "sequence_count").setValue(3)
        return QDialog.DialogCode.Accepted

    monkeypatch.setattr(SequenceDialog, "exec", choose)
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a: (str(tmp_path / "hot"), ""))
    desk.window.commands["export_sequence"].trigger()
    desk.settle()
    assert desk.said() == "Saved hot.gif"
    with Image.open(tmp_path / "hot.gif") as gif:
        assert gif.n_frames == 3
    assert attnviz.load(tmp_path / "hot.gif").experiment == desk.store.experiment


def test_what_cannot_be_written_is_said_in_one_sentence(desk: Desk, tmp_path: Path) -> None:
    sequences = Sequences(desk.window, desk.store, desk.window.scheduler)
    told: list[str] = []
    sequences.failed.connect(lambda error: told.append(str(error)))
    sequences.write(tmp_path / "x.gif", "temperature=-1:1:2")
    sequences.write(tmp_path / "x.gif", "layers")
    desk.settle()
    assert "temperature must be" in told[0] and "two layers or more" in told[1]
    assert list(tmp_path.glob("x*")) == []
