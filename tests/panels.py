"""One panel alone: a store that runs every edit at once, without window, threads or timers."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from documents import as_map
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot
from services import served

import attnviz
from attnviz.gui.look.style import color
from attnviz.gui.look.theme import Theme
from attnviz.gui.panels.panel import Panel
from attnviz.gui.store import Store
from attnviz.model.io.presets import load_preset
from attnviz.model.spec.document import Document

P = TypeVar("P", bound=Panel)
W = TypeVar("W", bound=QWidget)


class PanelBench(Generic[P]):
    """A panel, its store, and the sentences of refusals."""

    def __init__(self, qtbot: QtBot, kind: type[P], what: str | Document, width: int, height: int) -> None:
        self.store = Store(as_map(load_preset(what)) if isinstance(what, str) else what)
        self.panel = served(kind(self.store))
        self.header = self.panel.header()
        if self.header is not None:
            self.header.setParent(self.panel)
        qtbot.addWidget(self.panel)
        refused: list[str] = []
        self.refused = refused
        # Not over `self`: a signal keeps its lambda.
        self.store.rejected.connect(lambda error: refused.append(str(error)))
        self.panel.resize(width, height)
        self.panel.start()
        self.store.changed.connect(self._run)
        self._run(None, self.store.document)
        self.panel.show()
        qtbot.waitExposed(self.panel)

    def _run(self, old: Any, new: Document) -> None:
        if old is None or old.experiment != new.experiment:
            self.store.set_trace(attnviz.run(new.experiment))

    def find(self, kind: type[W], name: str) -> W:
        found = self.panel.findChild(kind, name)
        assert isinstance(found, kind), name
        return found


def recolor(widget: QWidget, theme: Theme) -> None:
    """Tell a theme to a widget and to all inside it, as the program does."""
    color([widget, *widget.findChildren(QWidget)], theme)
