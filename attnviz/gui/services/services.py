"""`Services`: what panels, dialogs and computations share. None is a widget or leads to one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attnviz.compute.scheduler import Scheduler
    from attnviz.gui.services.documents import Documents
    from attnviz.gui.services.status import Status
    from attnviz.gui.settings import Settings
    from attnviz.gui.store import Store


@dataclass(frozen=True)
class Schedulers:
    """The workers, each with a thread of its own: what waits for one does not wait for the others.

    `run` computes the numbers of the document and reads files, `answers` what panels ask; a survey and a
    training take minutes, and a claim may take seconds.
    """

    run: Scheduler
    answers: Scheduler
    survey: Scheduler
    claims: Scheduler
    training: Scheduler

    def __iter__(self) -> Iterator[Scheduler]:
        return iter((self.run, self.answers, self.survey, self.claims, self.training))


@dataclass(frozen=True)
class Services:
    """The services of one window. The engine and its device are settings."""

    store: Store
    schedulers: Schedulers
    documents: Documents
    settings: Settings
    status: Status
