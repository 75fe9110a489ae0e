"""Draws the pictures of the README and of the manual from the program itself: `python docs/pictures/make.py`.

The window is painted without a display; the page is opened in the machine's Chromium, by playwright.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SIZE = (1280, 800)
SETTLE_S = 4.0


SHOTS = (
    ("generate", "light", "stories-en"),
    ("explore", "dark", "stories-induction"),
    ("learn", "light", "stories-en"),
    ("compare", "light", "causal-order"),
    ("model", "light", "stories-induction"),
)
"""Of the window: the workspace, the theme, the preset."""


def windows() -> None:
    """The window in each workspace: in Generate a story is generated, in Learn a lesson is open."""
    from msgspec.structs import replace
    from PySide6.QtCore import QSettings
    from PySide6.QtGui import QAction
    from PySide6.QtWidgets import QApplication

    from attnviz.checkpoints.presets import load_preset
    from attnviz.gui.app import make_application
    from attnviz.gui.look import look
    from attnviz.gui.look.fonts import load_fonts
    from attnviz.gui.player import GoTo
    from attnviz.gui.settings import Settings
    from attnviz.gui.window.window import Window
    from attnviz.resources import path

    app = QApplication.instance() or make_application([])
    folder = Path(tempfile.mkdtemp())

    def settle() -> None:
        until = time.monotonic() + SETTLE_S
        while time.monotonic() < until:
            app.processEvents()
            time.sleep(0.01)

    for name, theme, preset in SHOTS:
        settings = Settings(QSettings(str(folder / f"{name}.ini"), QSettings.Format.IniFormat))
        settings["theme"], settings["language"] = theme, "en"
        load_fonts()
        look.apply(app, settings)
        window = Window(load_preset(preset), settings)
        look.apply(app, settings)  # once more, as the program does: now the window has its icons and colours
        window.resize(*SIZE)
        window.start()
        window.show()
        window.workspaces.switch(name)
        settle()
        if name == "generate":
            window.store.play(GoTo(24))
        if name == "learn":
            window.open_file(path("lessons", "softmax.md"))
        if name == "compare":
            next(action for action in window.findChildren(QAction) if action.text() == "Pin as A").trigger()
            window.store.edit_attention(replace, masks=())
        settle()
        file = HERE / f"{name}-{theme}.png"
        window.grab().save(str(file))
        window.hide()


def files() -> None:
    """A figure, a generation as a GIF, and a page in a browser."""
    from attnviz.cli import main

    os.chdir(HERE)
    main(
        [
            "render",
            "fluffy-blue-creature",
            "--head",
            "all",
            "--width",
            "150mm",
            "-o",
            "figure.png",
            "--dpi",
            "130",
        ]
    )
    main(
        [
            "animate",
            "xiaoshenyang",
            "--over",
            "decode",
            "-o",
            "generation.gif",
            "--fps",
            "2",
            "--width",
            "90mm",
        ]
    )
    page = Path(tempfile.mkdtemp()) / "page.html"
    main(["--language", "en", "page", "stories-induction", "-o", str(page)])
    _page(page)


def _page(page: Path) -> None:
    """A picture of a page with a locked cell. Needs playwright and Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        shown = browser.new_page(viewport={"width": 1180, "height": 860})
        shown.goto(page.as_uri())
        shown.wait_for_selector("html[data-ready]")
        shown.click("#strip button:has-text('weights')")
        shown.locator("#map").focus()
        for _column in range(8):
            shown.keyboard.press("ArrowRight")
        shown.evaluate("scrollTo(0, 0)")
        shown.screenshot(path=str(HERE / "page.png"))
        browser.close()


if __name__ == "__main__":
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    windows()
    files()
