"""The services of a panel alone: workers whose answers reach nobody, settings in no file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QSettings

from attnviz.compute.scheduler import Scheduler
from attnviz.gui.panels.panel import Panel
from attnviz.gui.services.documents import Documents
from attnviz.gui.services.services import Schedulers, Services
from attnviz.gui.services.status import Status
from attnviz.gui.settings import Settings
from attnviz.gui.store import Store

P = TypeVar("P", bound=Panel)


class Asleep(Scheduler):
    """A worker that begins with nothing."""

    def submit(self, *_job: object, **_key: object) -> int:  # type: ignore[override]
        return 0


def services_of(store: Store) -> Services:
    """Services around a store."""
    worker = Asleep(lambda call: None)
    # A file of the test: what is written replaces the file, and would replace a device, too.
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "services.ini"
    settings = Settings(QSettings(str(file), QSettings.Format.IniFormat))
    settings.is_first_run()  # the first one is over: nothing plays by itself
    schedulers = Schedulers(*[worker] * 5)
    return Services(store, schedulers, Documents(store, worker, settings), settings, Status())


def served(panel: P) -> P:
    """The panel, which may remember and say; what it asks of a worker stays unanswered."""
    panel.serve(services_of(panel.store))
    return panel
