"""The window of the journeys: its own settings file, the program's own colours, and a clean end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from desk import WAIT_MS, Answers, Desk, MakeDesk
from PySide6.QtCore import QSettings, QSize, QTranslator
from PySide6.QtWidgets import QApplication, QMessageBox
from pytestqt.qtbot import QtBot

from attnviz.gui.look import look
from attnviz.gui.look.fonts import load_fonts
from attnviz.gui.look.theme import THEME_PROPERTY
from attnviz.gui.settings import Settings
from attnviz.gui.window.window import Window
from attnviz.model.io.presets import load_preset
from attnviz.model.spec.document import Document

SIZE = QSize(1920, 1080)
"""Of a usual screen, where nothing is folded; the offscreen one is smaller."""

WHOLE = frozenset(
    {
        "journeys/test_plain_text.py",
        "test_any_combination.py",
        "test_folded_panels.py",
        "test_nothing_is_cut.py",
        "test_presentation.py",
    }
)
"""Files whose windows have every panel and every section of controls from the beginning: they go through all.

Other windows begin as the program's own, and get a panel or a section once it is in sight or used.
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """The program's settings, in a file of this test."""
    made = Settings(QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat))
    made["theme"], made["language"] = "light", "en"
    return made


@pytest.fixture
def make_desk(
    qapp: QApplication,
    qtbot: QtBot,
    settings: Settings,
    request: pytest.FixtureRequest,
) -> Iterator[MakeDesk]:
    """Make windows in the program's own colours; at the end they are closed, whatever is unsaved."""
    is_whole = request.path.relative_to(Path(__file__).parent).as_posix() in WHOLE
    palette, font = qapp.palette(), qapp.font()
    load_fonts()
    look.apply(qapp, settings)
    desks: list[Desk] = []

    def make(what: str | Document = "fluffy-blue-creature", *, inline: bool = True) -> Desk:
        document = load_preset(what) if isinstance(what, str) else what
        look.apply(qapp, settings)
        window = Window(document, settings, inline=inline)
        window.resize(SIZE)
        desk = Desk(qtbot, window)
        desks.append(desk)
        look.apply(qapp, settings)
        window.show()
        window.begin(in_pauses=False)
        if is_whole:
            window.complete()
            window.panels["mechanism"].open_all()
        window.activateWindow()
        qtbot.waitUntil(window.isActiveWindow, timeout=WAIT_MS)
        desk.settle()
        return desk

    yield make
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(QMessageBox, "exec", lambda box: QMessageBox.StandardButton.Discard)
        while desks:
            desks.pop().leave()
    for translator in qapp.findChildren(QTranslator):
        qapp.removeTranslator(translator)
        translator.deleteLater()
    qapp.setStyleSheet("")
    qapp.setPalette(palette)
    qapp.setFont(font)
    qapp.setProperty(THEME_PROPERTY, None)


@pytest.fixture
def desk(make_desk: MakeDesk) -> Desk:
    """The window on the first preset."""
    return make_desk()


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    """Message boxes do not wait for a person: they get `answers.button`."""
    made = Answers()
    monkeypatch.setattr(QMessageBox, "exec", lambda box: made.exec(box))
    return made
