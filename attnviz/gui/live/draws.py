"""Several samples of the document, computed in the worker; the newest request wins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from attnviz.compute.scheduler import CancelToken, Scheduler
from attnviz.gui.failure import failure_message, is_expected
from attnviz.gui.live.trace import GUI_CORES, Live

if TYPE_CHECKING:
    from attnviz.compute.decoding import Decoded
    from attnviz.compute.draws import Draw
    from attnviz.gui.panels.decoding.draws.panel import DrawsPanel

KEY = "draws"


@dataclass(frozen=True, eq=False)
class DrawsAsked:
    """The seeds that are wanted, and the decoding of the document, whose prompt they share."""

    decoded: Decoded
    seeds: tuple[int, ...]


class DrawsLive(QObject):
    """Answers the panel's requests on the window's engine."""

    def __init__(
        self, panel: DrawsPanel, live: Live, scheduler: Scheduler, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._panel, self._live, self._scheduler = panel, live, scheduler
        panel.asked.connect(self._on_asked)

    @Slot(object)
    def _on_asked(self, asked: DrawsAsked | None) -> None:
        """Compute other draws; None stops."""
        if asked is None:
            self._scheduler.stop(KEY)
            return
        engine, device = self._live.engine, self._live.device

        def job(token: CancelToken) -> tuple[DrawsAsked, tuple[Draw, ...]]:
            from attnviz.compute.draws import draws

            given, earlier = asked.decoded.given, asked.decoded.decoding
            return asked, draws(given, asked.seeds, engine, device, token.progress, GUI_CORES, earlier)

        def failed(error: BaseException) -> None:
            self._panel.show_problem(asked, failure_message(error).text())
            if not is_expected(error):
                raise error

        self._scheduler.submit(job, self._panel.show_draws, failed, key=KEY)
