"""Many passes of one experiment with patched stages, each from the first patched site on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from attnviz.compute.execute import execute_job
from attnviz.core.progress import progress_of
from attnviz.engines.engine import Engine
from attnviz.engines.patches import Patch
from attnviz.engines.program import Check, never_cancelled
from attnviz.engines.run import SiteRun, last_sites, sites_of
from attnviz.errors import FieldError, Message, must_be
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.study.target import Target

Result = TypeVar("Result")


MOST_KEPT = 2**24
"""Numbers of the inputs of a site, of all passes that enter it together."""

FIRST_SHARE = 0.05
"""Share of a job's progress that its passes without patches take."""


def check_alike(name: str, own: Experiment, other: Experiment) -> None:
    """Raises `FieldError` unless the text of `other` has as many tokens and layers as that of `own`."""
    if own.n_queries != other.n_queries or len(own.layers) != len(other.layers):
        raise FieldError(name, _measures(other), must_be(_measures(own)))


def _measures(experiment: Experiment) -> Message:
    return Message(
        "a text of {n} tokens through {layers} layers", n=experiment.n_queries, layers=len(experiment.layers)
    )


class Passes:
    """The passes of an experiment on one engine; `base` is the one without patches."""

    def __init__(self, engine: Engine, experiment: Experiment, check: Check = never_cancelled) -> None:
        self.engine, self.experiment = engine, experiment
        self.base: tuple[SiteRun, ...] = sites_of(engine, experiment, check)
        self.traces = tuple(site.trace for site in self.base)
        self._at = {site.place.name: index for index, site in enumerate(self.base)}

    def patched(self, patches: Sequence[Patch]) -> tuple[SiteRun, ...]:
        """The sites of a pass with patches. Raises `FieldError` for a part that the experiment lacks."""
        first = len(self.base)
        for patch in patches:
            index = self._at[patch.site]
            patch.check(self.traces[index])
            first = min(first, index)
        return sites_of(self.engine, self.experiment, patches=patches, kept=self.base[:first])

    def effects(
        self, target: Target, patches: Sequence[Patch], check: Check = never_cancelled
    ) -> tuple[float, list[float]]:
        """The target in the base, and its change by each patch alone."""
        columns = target.columns(self.traces[-1])
        base = target.read(self.engine, self.base[-1], columns)
        progress, changes = progress_of(check), list[float]()
        for patch in patches:
            patch.check(self.traces[self._at[patch.site]])
        at_once = self._at_once()
        for begin in range(0, len(patches), at_once):
            part = patches[begin : begin + at_once]
            step = progress.part(begin / len(patches), (begin + len(part)) / len(patches))
            patched = last_sites(self.engine, self.experiment, self.base, part, step)
            changes += [target.read(self.engine, one, columns) - base for one in patched]
        return base, changes

    def _at_once(self) -> int:
        """Number of passes whose results have room beside each other."""
        largest = max(math.prod(site.result.shape) for site in self.base)
        return max(1, MOST_KEPT // largest)


def on_engine(
    given: Experiment | Document,
    job: Callable[[Engine], Result],
    engine: str = "numpy",
    device: str = "auto",
    passes: int = 2,
) -> Result:
    """Run a job on an engine whose memory holds `passes` passes of the experiment."""

    def active(engine: Engine) -> Any:
        with engine.active():
            return job(engine)

    return execute_job(experiment_of(given), active, engine, device, passes)


def experiment_of(given: Experiment | Document) -> Experiment:
    """The experiment of a document, or the experiment itself."""
    return given.experiment if isinstance(given, Document) else given
