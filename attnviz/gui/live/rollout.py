"""The map of attention rollout or flow, computed in the worker; the newest request wins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from attnviz.compute.scheduler import CancelToken, Scheduler
from attnviz.gui.failure import failure_message, is_expected

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from attnviz.gui.panels.rollout.panel import RolloutPanel
    from attnviz.model.trace import Trace

KEY = "rollout"


@dataclass(frozen=True)
class RolloutAsked:
    """A requested map: the trace, a site of the stack, the target token, and rollout or flow."""

    trace: Trace
    site: str
    token: int
    by_flow: bool


class RolloutLive(QObject):
    """Answers the panel's requests."""

    def __init__(self, panel: RolloutPanel, scheduler: Scheduler, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._panel, self._scheduler = panel, scheduler
        panel.asked.connect(self._on_asked)

    @Slot(object)
    def _on_asked(self, asked: RolloutAsked | None) -> None:
        """Compute another map; None stops."""
        if asked is None:
            self._scheduler.stop(KEY)
            return

        def job(token: CancelToken) -> tuple[RolloutAsked, tuple[str, ...], NDArray[np.float64]]:
            from attnviz.study.heads.rollout import layer_map

            by_flow = asked.by_flow
            names, rows = layer_map(
                asked.trace, asked.site, asked.token, by_flow=by_flow, check=token.progress
            )
            return asked, names, rows

        def failed(error: BaseException) -> None:
            self._panel.show_problem(asked, failure_message(error).text())
            if not is_expected(error):
                raise error

        self._scheduler.submit(job, self._on_done, failed, key=KEY)

    def _on_done(self, answered: tuple[RolloutAsked, tuple[str, ...], NDArray[np.float64]]) -> None:
        self._panel.show_map(*answered)
