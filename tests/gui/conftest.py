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
from attnviz.gui.panels.mechanism.panel import MechanismPanel
from attnviz.gui.settings import Settings
from attnviz.gui.widgets.control import THEME_PROPERTY
from attnviz.gui.window import Window
from attnviz.model.io.presets import load_preset
from attnviz.model.spec.document import Document

SIZE = QSize(1920, 1080)
"""Of a usual screen, where nothing is folded; the offscreen one is smaller."""

LEAN = frozenset(
    {
        "export/test_sequences.py",
        "journeys/test_decoding.py",
        "journeys/test_decoding_links.py",
        "journeys/test_failures.py",
        "journeys/test_layers.py",
        "journeys/test_looking.py",
        "journeys/test_mechanism.py",
        "journeys/test_numbers.py",
        "journeys/test_text_undo.py",
        "journeys/test_tokens.py",
        "journeys/test_writing.py",
        "panels/compare/test_prepared.py",
        "panels/grid/test_panel.py",
        "panels/lesson/test_lesson.py",
        "panels/test_failures.py",
        "test_caption.py",
        "test_keys.py",
        "test_playing.py",
    }
)
"""Files whose windows begin with the panels in sight, and get others once they are in sight or used.

It saves half a second of each test. The other files have whole windows: some go through every widget.
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """The program's settings, in a file of this test."""
    made = Settings(QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat))
    made["theme"], made["language"] = "light", "en"
    return made


_plain_start = MechanismPanel.start


def _start_open(panel: MechanismPanel) -> None:
    """Start with every section open: what a test looks for may be in any of them."""
    _plain_start(panel)
    panel.open_all()


@pytest.fixture
def make_desk(
    qapp: QApplication,
    qtbot: QtBot,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Iterator[MakeDesk]:
    """Make windows in the program's own colours; at the end they are closed, whatever is unsaved."""
    is_lean = request.path.relative_to(Path(__file__).parent).as_posix() in LEAN
    palette, font = qapp.palette(), qapp.font()
    load_fonts()
    look.apply(qapp, settings)
    desks: list[Desk] = []
    monkeypatch.setattr(MechanismPanel, "start", _start_open)

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
        if not is_lean:
            window.complete()
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
