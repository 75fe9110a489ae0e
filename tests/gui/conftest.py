"""The window of the journeys: its own settings file, the program's own colours, and a clean end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from desk import Answers, Desk, MakeDesk, Shared
from documents import as_map
from PySide6.QtCore import QSettings, QSize, QTranslator
from PySide6.QtWidgets import QApplication, QMessageBox
from pytestqt.qtbot import QtBot
from short_trainings import short_trainings

from attnviz.gui.look import look
from attnviz.gui.look.fonts import load_fonts
from attnviz.gui.look.theme import THEME_PROPERTY
from attnviz.gui.panels.glance.opening import remember
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
        "window/test_presentation.py",
    }
)
"""Files whose windows have every panel and every section of controls from the beginning: they go through all.

Other windows begin as the program's own, and get a panel or a section once it is in sight or used.
"""


def settings_in(file: Path, *, is_first: bool = False) -> tuple[Settings, QSettings]:
    """The program's settings in a file, and what stores them: of a person who works in Explore and has folded
    the first glance, or of a first start.
    """
    stored = QSettings(str(file), QSettings.Format.IniFormat)
    made = Settings(stored)
    made["theme"], made["language"] = "light", "en"
    if not is_first:
        made.set_workspace("explore")
        remember(made, is_folded=True)
    return made, stored


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """The program's settings, in a file of this test."""
    return settings_in(tmp_path / "settings.ini")[0]


@pytest.fixture
def first_settings(tmp_path: Path) -> Settings:
    """Those of a first start."""
    return settings_in(tmp_path / "first.ini", is_first=True)[0]


@contextmanager
def own_look(qapp: QApplication) -> Iterator[None]:
    """Give the application back the look that it had."""
    palette, font, sheet = qapp.palette(), qapp.font(), qapp.styleSheet()
    theme, translators = qapp.property(THEME_PROPERTY), set(qapp.findChildren(QTranslator))
    yield
    for translator in set(qapp.findChildren(QTranslator)) - translators:
        qapp.removeTranslator(translator)
        translator.setParent(None)  # the next test finds none
        translator.deleteLater()
    qapp.setStyleSheet(sheet)
    qapp.setPalette(palette)
    qapp.setFont(font)
    qapp.setProperty(THEME_PROPERTY, theme)


@contextmanager
def desks(qapp: QApplication, qtbot: QtBot, settings: Settings, *, is_whole: bool) -> Iterator[MakeDesk]:
    """Make windows in the program's own colours; at the end they are closed, whatever is unsaved."""
    load_fonts()
    look.apply(qapp, settings)
    opened: list[Desk] = []

    def make(what: str | Document = "fluffy-blue-creature", *, inline: bool = True) -> Desk:
        document = as_map(load_preset(what)) if isinstance(what, str) else what
        look.apply(qapp, settings)
        window = Window(document, settings, inline=inline)
        window.resize(SIZE)
        desk = Desk(qtbot, window)
        opened.append(desk)
        look.apply(qapp, settings)
        window.show()
        window.begin(in_pauses=False)
        if is_whole:
            window.complete()
            window.panels["mechanism"].open_all()
        desk.activate()
        desk.settle()
        return desk

    yield make
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(QMessageBox, "exec", lambda box: QMessageBox.StandardButton.Discard)
        while opened:
            opened.pop().leave()


@pytest.fixture
def make_desk(
    qapp: QApplication,
    qtbot: QtBot,
    settings: Settings,
    request: pytest.FixtureRequest,
    _shared: Shared | None,
) -> Iterator[MakeDesk]:
    """Makes windows for one test."""
    is_whole = request.path.relative_to(Path(__file__).parent).as_posix() in WHOLE
    with own_look(qapp) if _shared is None else _shared.look(qapp):
        with desks(qapp, qtbot, settings, is_whole=is_whole) as make:
            yield make


# --- one window for the tests of a module that only read ---------------------------------------------


@pytest.fixture(scope="module", autouse=True)
def _short_trainings() -> Iterator[None]:
    """Claims and lessons train two steps here: their verdicts are tested without a window."""
    with short_trainings():
        yield


@pytest.fixture(scope="module", autouse=True)
def _shared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, _short_trainings: None
) -> Iterator[Shared | None]:
    """Opened, with all panels, before any test: what a test brings about is gone after it."""
    if not any(item.parent is request.node and reads(item) for item in request.session.items):
        yield None
        return
    qapp = request.getfixturevalue("qapp")
    settings, stored = settings_in(tmp_path_factory.mktemp("shared") / "settings.ini")
    with own_look(qapp), desks(qapp, QtBot(request), settings, is_whole=True) as make:
        shared = Shared(make(), stored)
        yield shared
        shared.__dict__.clear()


def reads(item: pytest.Item) -> bool:
    return item.get_closest_marker("reads") is not None


@pytest.fixture
def desk(request: pytest.FixtureRequest, _shared: Shared | None) -> Iterator[Desk]:
    """The window on the first preset: the shared one for a test that is marked `reads`."""
    if _shared is None or not reads(request.node):
        yield request.getfixturevalue("make_desk")()
        return
    if _shared.changed_by:
        pytest.fail(f"{_shared.changed_by} has changed the window", pytrace=False)
    _shared.desk.activate()
    yield _shared.desk
    _shared.put_back()
    _shared.desk.settle()
    if changes := _shared.changes():
        _shared.changed_by = request.node.nodeid
        pytest.fail(f"this test reads, and has changed: {', '.join(changes)}", pytrace=False)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    """Message boxes do not wait for a person: they get `answers.button`."""
    made = Answers()
    monkeypatch.setattr(QMessageBox, "exec", lambda box: made.exec(box))
    return made
