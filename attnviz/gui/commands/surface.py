"""`Surface`: what commands, menus and the palette act on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from attnviz.gui.commands.menus import Commands
from attnviz.gui.panels.panel import Panel
from attnviz.gui.services.services import Services
from attnviz.gui.store import Store
from attnviz.gui.widgets.panel_dock import PanelDock
from attnviz.gui.workspaces.switcher import Workspaces


@dataclass(frozen=True)
class Surface:
    """The services, the commands, and the panels in their docks and workspaces.

    `panels` makes a panel at its first use, `complete` makes all. `export` opens the export dialog at a row
    of its table with chosen options, `explain` the help card of a target; `apply_settings` takes what the
    settings say.
    """

    services: Services
    commands: Commands
    panels: Mapping[str, Panel]
    docks: Mapping[str, PanelDock]
    workspaces: Workspaces
    complete: Callable[[], bool]
    export: Callable[..., None]
    explain: Callable[[Any], None]
    apply_settings: Callable[[], None]

    @property
    def store(self) -> Store:
        return self.services.store
