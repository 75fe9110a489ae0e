"""The start page over a window: shown, left, fed with recent documents and pictures, and obeyed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs
from PySide6.QtCore import QEvent, QObject, QRect, Signal, Slot
from PySide6.QtWidgets import QMainWindow

from attnviz.compute.scheduler import CancelToken
from attnviz.gui.failure import is_expected
from attnviz.gui.player import Player
from attnviz.i18n import _

if TYPE_CHECKING:
    from attnviz.gui.commands.surface import Surface
    from attnviz.gui.start.page import StartPage
    from attnviz.gui.start.pictures import ArcsPicture, Picture, Pictures
    from attnviz.model.io.presets import Preset


class Start(QObject):
    """Shows the page over the panels of a window; it is made when it is shown first.

    The page goes when a document opens, something plays, a panel is chosen or enlarged, or a workspace is
    chosen.
    """

    left = Signal()
    """The document is shown again."""

    def __init__(self, window: QMainWindow, surface: Surface, progress: Callable[[], str]) -> None:
        super().__init__(window)
        self._window, self._surface, self._services = window, surface, surface.services
        self._progress = progress
        self.page: StartPage | None = None
        surface.store.opened.connect(self.leave)
        surface.store.player_changed.connect(self._on_player)
        surface.workspaces.switched.connect(self.leave)
        surface.workspaces.chosen.connect(self.leave)
        surface.workspaces.enlarged_changed.connect(self.leave)

    @property
    def is_shown(self) -> bool:
        """True while the page covers the panels."""
        return self.page is not None and self.page.isVisible()

    @Slot()
    def show(self) -> None:
        """Show the page, with the focus where Space plays, Esc leaves and a slash searches."""
        page = self.page or self._new_page()
        settings = self._services.settings
        page.begin(settings.recent(), settings["start"])
        self._show_progress(page)
        page.setGeometry(self._room())
        page.show()
        page.raise_()
        page.setFocus()
        self._services.status.hint(self.keys())
        self._read_days(settings.recent())
        self._read_pictures()

    @Slot()
    def leave(self) -> None:
        """Return to the document."""
        if self.page is not None and not self.page.isHidden():
            self.page.hide()
            self._services.status.hint(self.keys())
            self.left.emit()

    def keys(self) -> str:
        """The keys that work now: those of the page, or those of the workspace."""
        if self.page is not None and not self.page.isHidden():
            return _("Enter opens · / searches · Esc returns to the document")
        return _(self._surface.workspaces.present.keys)

    def retranslate(self) -> None:
        """Update the texts to the active language."""
        if self.page is not None:
            self._show_progress(self.page)

    def _show_progress(self, page: StartPage) -> None:
        page.set_note("workspace_learn", self._progress())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest) and self.is_shown:
            assert self.page is not None
            self.page.setGeometry(self._room())
            self.page.raise_()  # another arrangement of this width puts its panels on top
        return False

    def _new_page(self) -> StartPage:
        from attnviz.gui.start.page import StartPage

        window, documents = self._window, self._services.documents
        self.page = page = StartPage(window)
        page.preset_chosen.connect(documents.open_preset)
        page.recent_chosen.connect(documents.open)
        page.file_wanted.connect(documents.ask_open)
        page.entry_chosen.connect(self._on_entry)
        page.shown_at_start.connect(self._on_shown_at_start)
        page.left.connect(self.leave)
        window.installEventFilter(self)
        return page

    def _room(self) -> QRect:
        """Between the bar at the top and the status line."""
        window = self._window
        bar = window.menuWidget()
        top = bar.geometry().bottom() + 1 if bar is not None else 0
        return QRect(0, top, window.width(), window.statusBar().geometry().top() - top)

    # --- what the disk knows

    def _read_days(self, paths: tuple[Path, ...]) -> None:
        from attnviz.gui.start.recent import days_of

        def job(token: CancelToken) -> dict[Path, date | None]:
            return days_of(paths)

        self._services.schedulers.answers.submit(job, self._on_days, _ignore, key="recent_days")

    def _on_days(self, days: dict[Path, date | None]) -> None:
        if self.page is not None:
            self.page.recent.set_days(days)

    def _read_pictures(self) -> None:
        """Have the stored pictures read; the others are computed one after the other, behind other work."""
        from attnviz.gui.start.pictures import Pictures

        assert self.page is not None
        pictures = Pictures(picture_folder())
        missing = [card.preset for card in self.page.gallery.cards if not card.has_picture]

        def job(token: CancelToken) -> dict[str, Picture | ArcsPicture]:
            stored = {preset.id: pictures.stored(preset) for preset in missing}
            return {id_: picture for id_, picture in stored.items() if picture is not None}

        def done(stored: dict[str, Picture | ArcsPicture]) -> None:
            self._show_pictures(stored)
            self._make_next(pictures, [preset for preset in missing if preset.id not in stored])

        if missing:
            self._services.schedulers.answers.submit(job, done, _ignore, key="pictures")

    def _make_next(self, pictures: Pictures, missing: list[Preset]) -> None:
        """Have the first missing picture computed, then the next, while the page is shown."""
        if not missing or not self.is_shown:
            return
        preset, *rest = missing

        def job(token: CancelToken) -> Picture | ArcsPicture:
            return pictures.made(preset, token.check)

        def done(picture: Picture | ArcsPicture) -> None:
            self._show_pictures({preset.id: picture})
            self._make_next(pictures, rest)

        def failed(error: BaseException) -> None:
            """A preset that cannot be computed has no picture; the sentence comes when it is opened."""
            self._make_next(pictures, rest)
            if not is_expected(error):
                raise error

        self._services.schedulers.answers.submit(job, done, failed, key="pictures")

    def _show_pictures(self, pictures: dict[str, Picture | ArcsPicture]) -> None:
        for card in self.page.gallery.cards if self.page is not None else ():
            if card.preset.id in pictures:
                card.set_picture(pictures[card.preset.id])

    # --- acting

    @Slot(str)
    def _on_entry(self, action: str) -> None:
        self._surface.commands[action].trigger()

    @Slot(bool)
    def _on_shown_at_start(self, is_shown: bool) -> None:
        self._services.settings["start"] = is_shown

    @Slot(object, object)
    def _on_player(self, old: Player, new: Player) -> None:
        if (new.is_playing and not old.is_playing) or (new.is_awaited and not old.is_awaited):
            self.leave()


def picture_folder() -> Path:
    """The folder of the pictures: whatever is in it can be made again."""
    return Path(platformdirs.user_cache_dir("attnviz", appauthor=False)) / "presets"


def _ignore(error: BaseException) -> None:
    """A list without days is a list all the same."""
