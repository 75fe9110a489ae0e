"""Sequences in the export dialog: every choice, the played preview, and the written file."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from dataclasses import replace as with_fields
from pathlib import Path

import numpy as np
import pytest
from desk import Desk, MakeDesk
from exporting import box, pick
from msgspec.structs import replace
from PIL import Image
from PySide6.QtCore import QTimer
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QDialogButtonBox, QFileDialog, QLabel, QPushButton, QSlider, QToolButton

import attnviz
from attnviz.figures.figure import figure_of
from attnviz.figures.files import figure_bytes
from attnviz.figures.kinds.table import KINDS
from attnviz.figures.sequences.frames import OVER
from attnviz.figures.sequences.sequence import Sequence
from attnviz.figures.style import DPI
from attnviz.figures.subject import Subject
from attnviz.gui.export.choices import STILL, over_of
from attnviz.gui.export.dialog import ExportDialog
from attnviz.gui.export.shell import OF_A_RUN
from attnviz.gui.export.table import EXPORT_BY_ID
from attnviz.gui.window.jobs import JOB_BY_KEY
from attnviz.model.edit.chapters import Begun
from attnviz.model.edit.sweep import Sweep
from attnviz.model.io.presets import load_preset
from attnviz.training.optimiser import Settings
from attnviz.training.record import Course
from attnviz.training.run import train
from attnviz.training.tasks import Copy


def in_dialog(desk: Desk, action: str, act: Callable[[ExportDialog], None], row: str = "") -> None:
    """Trigger an action, or the entry of a row in the menu, and act in the dialog that it opens."""

    def found() -> None:
        dialog = desk.window.findChild(ExportDialog)
        try:
            act(dialog)
        finally:
            if dialog.isVisible():
                dialog.reject()

    QTimer.singleShot(0, found)
    if row:
        desk.window.handlers._exporter.export(row)
    else:
        desk.window.commands[action].trigger()


def sweep(dialog: ExportDialog, first: str = "0.5", last: str = "2", count: str = "3") -> None:
    pick(dialog, "what", "sequence")
    pick(dialog, "over", "temperature")
    for name, text in (("first", first), ("last", last), ("count", count)):
        box(dialog, name).setText(text)


def test_an_animation_begins_with_the_picture_in_sight_and_the_temperature(make_desk: MakeDesk) -> None:
    desk = make_desk("causal-decode")
    desk.store.look(picture="arcs", stage="weights")
    subject = Subject(desk.store.shown_trace, desk.store.document.view)
    kinds = {row.id for row in KINDS if row.id not in STILL and row.why_not(subject) is None}

    def look(dialog: ExportDialog) -> None:
        for row in ("sequence", "generation"):
            pick(dialog, "what", row)
            pictures = box(dialog, "picture")
            assert {pictures.itemData(index) for index in range(pictures.count())} == kinds
            assert pictures.currentData() == "arcs"
        pick(dialog, "what", "sequence")
        assert box(dialog, "over").currentData() == "temperature"

    in_dialog(desk, "export_sequence", look)


def test_every_change_of_the_dialog_is_a_sequence(make_desk: MakeDesk) -> None:
    for preset in ("alibi-window", "yarn", "attention-sinks"):
        desk = make_desk(preset)

        def every(dialog: ExportDialog, desk: Desk = desk) -> None:
            for row, text in (("pull", "sum"), ("generation", "decode"), ("layer_by_layer", "layers")):
                if EXPORT_BY_ID[row].why_not(dialog._source) is None:
                    pick(dialog, "what", row)
                    assert over_of(dialog.choice) == text and text in OVER
                    assert box(dialog, "over").isHidden() and box(dialog, "first").isHidden()
            pick(dialog, "what", "sequence")
            over = box(dialog, "over")
            assert over.count() > 1
            for index in range(over.count()):
                over.setCurrentIndex(index)
                site = desk.store.document.site
                assert not box(dialog, "first").isHidden()
                assert list(Sweep.parsed(over_of(dialog.choice)).frames(desk.store.experiment, site))

        in_dialog(desk, "export_sequence", every)


def test_a_sweep_plays_in_the_preview_and_is_written(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a: (str(tmp_path / "hot"), ""))

    def save(dialog: ExportDialog) -> None:
        sweep(dialog)
        box(dialog, "fps").setText("50")
        desk.qtbot.waitUntil(lambda: dialog._shown is not None, timeout=20_000)
        slider = dialog.findChild(QSlider, "export_slider")
        assert slider.maximum() == 2
        first = dialog.findChild(QLabel, "export_preview").pixmap().toImage()
        dialog.findChild(QToolButton, "export_play_button").setChecked(True)
        desk.qtbot.waitUntil(lambda: slider.value() == 2)
        dialog.findChild(QToolButton, "export_play_button").setChecked(False)
        assert dialog.findChild(QLabel, "export_preview").pixmap().toImage() != first
        dialog.findChild(QPushButton, "export_save_button").click()

    in_dialog(desk, "export_sequence", save)
    desk.settle()
    assert desk.said() == "Saved hot.gif"
    with Image.open(tmp_path / "hot.gif") as gif:
        assert (gif.n_frames, gif.info["duration"]) == (3, 20)
    assert attnviz.load(tmp_path / "hot.gif").experiment == desk.store.experiment


def test_the_name_is_chosen_before_the_film_is_made(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    figure = Sequence.figure
    monkeypatch.setattr(Sequence, "figure", lambda self, index: (drawn.append(index), figure(self, index))[1])
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a: ("", ""))

    def refuse(dialog: ExportDialog) -> None:
        sweep(dialog, count="5")
        desk.qtbot.waitUntil(lambda: dialog._shown is not None, timeout=20_000)
        drawn.clear()
        dialog.findChild(QPushButton, "export_save_button").click()
        assert drawn == [] and dialog.isVisible() and dialog.made is None

    in_dialog(desk, "export_sequence", refuse)


def test_a_film_has_not_the_width_of_a_figure_for_paper(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a: (str(tmp_path / "a"), ""))

    def save(dialog: ExportDialog) -> None:
        box(dialog, "width").setEditText("120mm")
        desk.qtbot.waitUntil(lambda: dialog._shown is not None, timeout=20_000)
        dialog.findChild(QPushButton, "export_save_button").click()

    def film(dialog: ExportDialog) -> None:
        assert box(dialog, "width").currentText() == ""
        pick(dialog, "what", "pull")
        assert box(dialog, "width").currentText() == ""
        pick(dialog, "what", "heads")
        assert box(dialog, "width").currentText() == "120mm"
        pick(dialog, "what", "stage")
        assert box(dialog, "width").currentText() == "120mm"

    in_dialog(desk, "export_figure", save)
    desk.settle()
    in_dialog(desk, "export_sequence", film)


def test_the_preview_draws_the_picture_in_sight_alone(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    figure = Sequence.figure
    monkeypatch.setattr(Sequence, "figure", lambda self, index: (drawn.append(index), figure(self, index))[1])

    def turn(dialog: ExportDialog) -> None:
        sweep(dialog, count="5")
        dialog.findChild(QToolButton, "export_play_button").setChecked(False)
        desk.qtbot.waitUntil(lambda: dialog._shown is not None, timeout=20_000)
        note, slider = dialog.findChild(QLabel, "export_note"), dialog.findChild(QSlider, "export_slider")
        assert note.text() == "5 pictures" and slider.value() == 0
        slider.setValue(3)
        desk.qtbot.waitUntil(lambda: drawn[-1] == 3, timeout=20_000)
        drawn.clear()
        box(dialog, "grey").setChecked(True)
        desk.qtbot.waitUntil(lambda: dialog._shown is not None, timeout=20_000)
        assert drawn == [3] and slider.value() == 3  # the same picture, and no other one

    in_dialog(desk, "export_sequence", turn)


def test_the_dialog_says_that_a_film_has_no_room_for_the_row_sums(desk: Desk) -> None:
    document = load_preset("grouped-query")
    desk.store.open(replace(document, view=replace(document.view, stage="weights")))
    desk.settle()

    def narrow(dialog: ExportDialog) -> None:
        sweep(dialog)
        desk.qtbot.waitUntil(lambda: dialog._shown is not None, timeout=20_000)
        note, room = dialog.findChild(QLabel, "export_note"), dialog.findChild(QLabel, "export_room")
        assert note.text() == "3 pictures" and room.text() == ""
        box(dialog, "width").setEditText("85mm")
        desk.qtbot.waitUntil(lambda: bool(room.text()), timeout=20_000)
        assert room.text() == "Row sums: from 100 mm on." and box(dialog, "sums").isHidden()

    in_dialog(desk, "export_sequence", narrow)


def test_what_cannot_be_drawn_is_said_in_one_sentence(desk: Desk) -> None:
    def refused(dialog: ExportDialog) -> None:
        note = dialog.findChild(QLabel, "export_note")
        sweep(dialog, first="-1")
        error = dialog.findChild(QLabel, "export_over_error")
        desk.qtbot.waitUntil(lambda: "above 0 with equal ratios" in error.text(), timeout=20_000)
        pick(dialog, "spacing", "steps")
        desk.qtbot.waitUntil(lambda: "must be" in note.text(), timeout=20_000)
        assert "\n" not in note.text()
        box(dialog, "first").setText("1")
        box(dialog, "fps").setText("many")
        error = dialog.findChild(QLabel, "export_fps_error")
        desk.qtbot.waitUntil(lambda: "from 0.1 to 60" in error.text(), timeout=20_000)

    in_dialog(desk, "export_sequence", refused)


def test_without_a_file_the_dialog_stays(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a: ("", ""))

    def ask(dialog: ExportDialog) -> None:
        desk.qtbot.waitUntil(lambda: dialog._shown is not None, timeout=20_000)
        dialog.findChild(QPushButton, "export_save_button").click()
        assert dialog.isVisible() and dialog.made is None

    in_dialog(desk, "export_figure", ask)


def test_a_film_is_cancelled_half_way_and_the_program_goes_on(
    make_desk: MakeDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a: (str(folder / "hot"), ""))
    desk = make_desk("toy-attention", inline=False)
    for kind in ("gif", "mp4"):

        def cancel(dialog: ExportDialog, kind: str = kind) -> None:
            sweep(dialog, count="6")
            box(dialog, "dpi").setText("40")
            pick(dialog, "format", kind)
            desk.qtbot.waitUntil(lambda: dialog._shown is not None, timeout=20_000)
            dialog.findChild(QPushButton, "export_save_button").click()
            desk.qtbot.waitUntil(lambda: half_way(dialog), timeout=20_000)
            busy = dialog._scheduler.busy()
            assert busy is not None and JOB_BY_KEY[busy.key].title == "Exporting"
            buttons = dialog.findChild(QDialogButtonBox)
            desk.click(buttons.button(QDialogButtonBox.StandardButton.Cancel))
            assert not dialog.isVisible() and dialog.made is None

        in_dialog(desk, "export_sequence", cancel)
        desk.settle()
        assert list(folder.iterdir()) == []
    desk.store.look(stage="scores")
    desk.settle()
    scores = attnviz.run(desk.store.document).site(desk.store.document.site)["scores"][0]
    np.testing.assert_array_equal(desk.map.content.values, scores)


def half_way(dialog: ExportDialog) -> bool:
    """True once a part of the film is drawn."""
    return dialog._token is not None and (dialog._token.share or 0.0) > 0.5


def test_a_begun_training_has_its_curves_and_its_film(make_desk: MakeDesk) -> None:
    desk = make_desk("induction-birth")
    experiment = desk.store.document.experiment
    reasons = [desk.window.handlers._exporter.why_not(row) for row in OF_A_RUN]
    assert None not in reasons
    run = train(experiment, Copy(), Course(2, measured=5, kept=5), Settings(steps=10))
    desk.store.set_run(Begun(run.training.record(), (experiment,)))
    assert [desk.window.handlers._exporter.why_not(row) for row in OF_A_RUN] == [None, None]

    def look(dialog: ExportDialog) -> None:
        pick(dialog, "what", "curves")
        source, row = dialog._source, EXPORT_BY_ID["curves"]
        subject = Subject(source.trace, source.document.view, title=source.document.title, run=lambda: run)
        made = row.make(source, with_fields(dialog.choice, format="png"), lambda: None)
        expected = figure_bytes(figure_of("curves", subject, dialog.choice.style), "png", dpi=DPI)
        assert QImage.fromData(made.data) == QImage.fromData(expected)

    def play(dialog: ExportDialog) -> None:
        assert over_of(dialog.choice) == "training" and box(dialog, "picture").currentData() == "layers"
        assert box(dialog, "first").isHidden() and box(dialog, "site").isHidden()
        choice = with_fields(dialog.choice, format="gif")
        shown = EXPORT_BY_ID["training"].make(dialog._source, choice, lambda: None)
        with Image.open(io.BytesIO(shown.data)) as image:
            assert image.n_frames == 3  # type: ignore[attr-defined]

    in_dialog(desk, "export_sequence", look)
    in_dialog(desk, "", play, row="training")
