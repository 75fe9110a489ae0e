"""`backward`: a full pass, then the gradients of a number by every stage and parameter, site by site."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.progress import Check, never_cancelled, progress_of
from attnviz.engines.backward.parameters import Parameters, Terms
from attnviz.engines.backward.scores import Pulled
from attnviz.engines.backward.site import SiteGradients
from attnviz.engines.backward.target import cell_seed, loss_seed
from attnviz.engines.engine import Engine
from attnviz.engines.resolution import operands_of
from attnviz.engines.run import SiteRun, sites_of
from attnviz.model.gradient import Gradient, GradientSite, Target, cell_at, located
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.target import TargetLoss, parsed
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import ANY_CELLS, Trace


def backward(
    engine: Engine, experiment: Experiment, target: str, check: Check = never_cancelled
) -> tuple[Trace, Gradient]:
    """A pass, and the gradient of `target`: a cell such as "layers.0.self.weights[0, 2, 1]", "loss", or
    "loss[3]" at one position.

    Raises `FieldError` for a target that the experiment does not have.
    """
    wanted, started = parsed(target), time.perf_counter()
    with engine.active():
        made = sites_of(engine, experiment, progress_of(check).part(0.0, 0.3))
        traces = {site.place.name: site.trace for site in made}
        pulled = {
            site.place.name: SiteGradients(engine, operands_of(engine, experiment, site.site), site)
            for site in made
        }
        if isinstance(wanted, TargetLoss):
            value, seed = loss_seed(engine, made[-1], wanted)
            name, stage, cell = made[-1].place.name, "logits", None
        else:
            name, index = located(wanted, traces)
            stage = wanted.stage
            cell = cell_at(traces[name], stage, index)
            value = float(traces[name][stage][index])
            seed = cell_seed(engine, next(site for site in made if site.place.name == name), stage, index)
        pulled[name].add(stage, seed)
        _flow(made, pulled, progress_of(check).part(0.3, 1.0))
        parameters = _parameters(engine, made, pulled)
        engine.synchronise()
    where = {"engine": engine.name, "device": engine.device, "seconds": time.perf_counter() - started}
    of = Target(target, value, traces[name], cell)
    sites = tuple(
        GradientSite(traces[site.place.name], HeldGradients(pulled[site.place.name]), of, site.given)
        for site in made
    )
    trace = Trace(experiment, tuple(traces.values()), **where)  # type: ignore[arg-type]
    return trace, Gradient(experiment, sites, of, parameters, **where)


def _flow(made: tuple[SiteRun, ...], pulled: dict[str, SiteGradients], check: Check) -> None:
    """From the last site to the first: through its stages, and on into the sites that it reads."""
    progress = progress_of(check)
    for done, run in enumerate(reversed(made)):
        progress.at(done / len(made))
        site = pulled[run.place.name]
        for stage in reversed(site.present):
            if stage in site.stages:
                site.cut(stage)
                site.operands.operations[stage].pull(site.stages[stage], Pulled(site, stage))
        for stage in run.given:
            if stage in site.stages:
                origin = run.given[stage]
                pulled[origin.site].add(origin.stage, site.stages[stage])


def _parameters(engine: Engine, made: tuple[SiteRun, ...], pulled: dict[str, SiteGradients]) -> Parameters:
    """All of them by name; the vectors of the tokens and of the memory are parameters too."""
    found: dict[str, Terms] = {}
    for run in made:
        site = pulled[run.place.name]
        found |= {f"{run.place.name}.{name}": terms for name, terms in site.parameters.items()}
        given = {"tokens_embedded": "memory.vectors" if run.place.stack == "encoder" else "vectors"}
        given |= {} if "memory" in run.given else {"memory": "memory.vectors"}
        for stage, name in given.items():
            if stage in site.stages and stage not in run.given:
                found.setdefault(name, []).append(partial(site.stages.__getitem__, stage))
    return Parameters(engine, found)


class HeldGradients:
    """The gradients of a site, read by windows as those of a run."""

    most_cells = ANY_CELLS

    def __init__(self, site: SiteGradients) -> None:
        self.site, self.stages = site, site.present

    def window(self, stage: str, head: int, rows: slice, columns: slice) -> NDArray[Any]:
        """Rows and columns of one head; zeros where the target does not depend on the stage."""
        array = self.site.stages.get(stage)
        trace = self.site.run.trace
        if array is None:
            return np.zeros(trace.shape(stage)[-2:])[rows, columns]
        with self.site.engine.active():
            if STAGE_BY_ID[stage].score_shaped:
                group_size = self.site.operands.scoring.group_size
                found = array.part((*divmod(head, group_size), rows, columns))
            elif STAGE_BY_ID[stage].per_head:
                found = self.site.engine.xp.reshape(array, (-1, *array.shape[-2:]))[head, rows, columns]
            else:
                found = array[rows, columns]
            return self.site.engine.to_numpy(found)

    def depends(self, stage: str) -> bool:
        """True if the target is computed from the stage."""
        return stage in self.site.stages

    def blocked(self, rows: slice, columns: slice) -> NDArray[np.bool_] | None:
        """The cells that the masks block."""
        return self.site.run.source.blocked(rows, columns)
