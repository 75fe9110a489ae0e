"""`backward`: a full pass, then the gradients of a number by every stage and parameter, site by site."""

from __future__ import annotations

import time
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnviz.core.dims import Array
from attnviz.core.progress import Check, never_cancelled, progress_of
from attnviz.engines.backward.cells import Cells
from attnviz.engines.backward.parameters import Parameters, Terms
from attnviz.engines.backward.scores import Pulled
from attnviz.engines.backward.site import SiteGradients
from attnviz.engines.engine import Engine
from attnviz.engines.resolution import operands_of
from attnviz.engines.run import SiteRun, sites_of
from attnviz.errors import FieldError, must_be, quoted
from attnviz.model.gradient import Gradient, GradientSite, Target, cell_at, located
from attnviz.model.operands.matrices import classes_of
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.target import LOSS, TargetLoss, parsed
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import ANY_CELLS, Trace


def cell_seed(engine: Engine, run: SiteRun, stage: str, index: tuple[int, ...]) -> Array | Cells:
    """The gradient of a cell by its own stage: 1 there, else 0; shaped as `SiteGradients` keeps it."""
    shape, row = run.trace.shape(stage), STAGE_BY_ID[stage]
    seed = engine.zeros(shape)
    seed[index] = 1.0
    if row.axes[0] == "head":
        seed = engine.xp.reshape(seed, (*run.made.scores.qk[0].shape[:2], *shape[1:]))
    return Cells(seed) if row.score_shaped else seed


def loss_seed(engine: Engine, run: SiteRun, loss: TargetLoss) -> tuple[float, Array]:
    """Mean cross-entropy of the next token over m positions; its gradient by the logits, (token, vocabulary).

    The target of a position is the token after it ("shifted by one"): L = −1/m Σ log p_i[t_(i+1)], and
    ∂L/∂logits = (p − one-hot) / m. Raises `FieldError` without logits, with a single token, or for a position
    without a next token.
    """
    trace = run.trace
    if "logits" not in trace.stages:
        raise FieldError("target", LOSS, must_be("a cell: the experiment has no logits"))
    tokens, names = trace.labels("query"), trace.labels("vocabulary")
    if classes_of(run.site) is not None:
        raise FieldError("target", LOSS, must_be("a cell: a classifier has no next token"))
    if len(tokens) < 2:
        raise FieldError("target", LOSS, must_be("a cell: a loss needs two tokens"))
    strange = next((token for token in tokens[1:] if token not in names), None)
    if strange is not None:
        raise FieldError(
            "target", LOSS, must_be("a cell: {token} is no token of the vocabulary", token=quoted(strange))
        )
    rows = np.array(loss.positions(len(tokens)))
    columns = [names.index(tokens[row + 1]) for row in rows]
    logits = np.asarray(engine.to_numpy(run.features.tf["logits"]), dtype=np.float64)[rows]
    shifted = logits - logits.max(axis=1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    seed = np.zeros((len(tokens), len(names)))
    seed[rows] = np.exp(logs) / len(columns)
    seed[rows, columns] -= 1 / len(columns)
    return float(-logs[np.arange(len(rows)), columns].mean()), engine.asarray(seed)


class Found(NamedTuple):
    """The target of a pass: its site and stage, its cell (None for a loss), its number, and its gradient by
    the stage.
    """

    site: str
    stage: str
    cell: Cell | None
    value: float
    seed: Array | Cells


def target_of(engine: Engine, made: tuple[SiteRun, ...], target: str) -> Found:
    """The target in a pass. Raises `FieldError` for one that the experiment does not have."""
    wanted = parsed(target)
    if isinstance(wanted, TargetLoss):
        value, seed = loss_seed(engine, made[-1], wanted)
        return Found(made[-1].place.name, "logits", None, value, seed)
    traces = {site.place.name: site.trace for site in made}
    name, index = located(wanted, traces)
    cell = cell_at(traces[name], wanted.stage, index)
    run = next(site for site in made if site.place.name == name)
    value = float(traces[name][wanted.stage][index])
    return Found(name, wanted.stage, cell, value, cell_seed(engine, run, wanted.stage, index))


def value_of(engine: Engine, experiment: Experiment, target: str, check: Check = never_cancelled) -> float:
    """The target of a pass alone; see `backward`."""
    with engine.active():
        return target_of(engine, sites_of(engine, experiment, check), target).value


def backward(
    engine: Engine, experiment: Experiment, target: str, check: Check = never_cancelled
) -> tuple[Trace, Gradient]:
    """A pass, and the gradient of `target`: a cell such as "layers.0.self.weights[0, 2, 1]", "loss", or
    "loss[3]" at one position.

    Raises `FieldError` for a target that the experiment does not have.
    """
    parsed(target)  # before the pass
    started = time.perf_counter()
    with engine.active():
        made = sites_of(engine, experiment, progress_of(check).part(0.0, 0.3))
        traces = {site.place.name: site.trace for site in made}
        pulled = {
            site.place.name: SiteGradients(engine, operands_of(engine, experiment, site.site), site)
            for site in made
        }
        found = target_of(engine, made, target)
        pulled[found.site].add(found.stage, found.seed)
        _flow(made, pulled, progress_of(check).part(0.3, 1.0))
        parameters = _parameters(engine, made, pulled)
        engine.synchronise()
    where = {"engine": engine.name, "device": engine.device, "seconds": time.perf_counter() - started}
    of = Target(target, found.value, traces[found.site], found.cell)
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
