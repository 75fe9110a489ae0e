"""The number whose gradient is wanted: a cell of a stage, or the loss of the next token."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from attnviz.core.dims import Array
from attnviz.engines.engine import Engine
from attnviz.engines.run import SiteRun
from attnviz.errors import FieldError, among, listed, must_be, quoted, whole_number
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace

LOSS = "loss"
_CELL = re.compile(r"(?:(?P<site>[a-z]+\.\d+\.[a-z]+)\.)?(?P<stage>[a-z_0-9]+)\s*\[(?P<index>[^\]]*)\]")


@dataclass(frozen=True)
class Cell:
    """A cell of a stage in public order; `site` is empty for the last one that has the stage."""

    site: str
    stage: str
    index: tuple[int, ...]


def parsed(text: str) -> Cell | None:
    """`layers.0.self.weights[0, 2, 1]`, `logits[3, 17]`; None for "loss". Raises `FieldError` for others."""
    if text.strip() == LOSS:
        return None
    found = _CELL.fullmatch(text.strip())
    parts = [] if found is None else [part.strip() for part in found["index"].split(",")]
    if found is None or not all(re.fullmatch(r"-?\d+", part) for part in parts):
        wanted = must_be("'loss', or a cell such as layers.0.self.weights[0, 2, 1]")
        raise FieldError("target", text, wanted)
    return Cell(found["site"] or "", found["stage"], tuple(map(int, parts)))


def located(cell: Cell, sites: dict[str, SiteTrace]) -> tuple[str, tuple[int, ...]]:
    """The site and the index from 0 of a cell. Raises `FieldError` that says what exists."""
    if cell.site and cell.site not in sites:
        raise FieldError("target", cell.site, among(sites))
    having = [name for name, site in sites.items() if cell.stage in site.stages]
    if not having or (cell.site and cell.site not in having):
        known = (
            sites[cell.site].stages
            if cell.site
            else tuple(dict.fromkeys(s for of in sites.values() for s in of.stages))
        )
        raise FieldError("target", cell.stage, among(known))
    name = cell.site or having[-1]
    shape = sites[name].shape(cell.stage)
    if len(cell.index) != len(shape):
        axes = must_be("{n} numbers: {axes}", n=len(shape), axes=listed(STAGE_BY_ID[cell.stage].axes))
        raise FieldError("target", list(cell.index), axes)
    for number, size in zip(cell.index, shape, strict=True):
        if not -size <= number < size:
            raise FieldError("target", number, whole_number(0, size - 1))
    return name, tuple(number % size for number, size in zip(cell.index, shape, strict=True))


def cell_seed(engine: Engine, run: SiteRun, stage: str, index: tuple[int, ...]) -> Array:
    """The gradient of a cell by its own stage: 1 there, else 0; in the engine's shape."""
    shape = run.trace.shape(stage)
    seed = np.zeros(shape)
    seed[index] = 1.0
    axis = STAGE_BY_ID[stage].axes[0]
    if axis == "head":
        groups = run.made.scores.qk[0].shape[:2]
        seed = seed.reshape((*groups, *shape[1:]))
    return engine.asarray(seed)


def loss_seed(engine: Engine, run: SiteRun) -> tuple[float, Array]:
    """The mean cross-entropy of the next token over all positions but the last; its gradient by the logits.

    The target of a position is the token after it ("shifted by one"): L = −1/(n − 1) Σ log p_i[t_(i+1)], and
    ∂L/∂logits = (p − one-hot) / (n − 1). Raises `FieldError` without logits, or with a single token.
    """
    trace = run.trace
    if "logits" not in trace.stages:
        raise FieldError("target", LOSS, must_be("a cell: the experiment has no logits"))
    tokens, names = trace.labels("query"), trace.labels("vocabulary")
    if len(tokens) < 2:
        raise FieldError("target", LOSS, must_be("a cell: a loss needs two tokens"))
    strange = next((token for token in tokens[1:] if token not in names), None)
    if strange is not None:
        raise FieldError(
            "target", LOSS, must_be("a cell: {token} is no token of the vocabulary", token=quoted(strange))
        )
    columns = [names.index(token) for token in tokens[1:]]
    logits = np.asarray(engine.to_numpy(run.features.tf["logits"]), dtype=np.float64)[:-1]
    shifted = logits - logits.max(axis=1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    rows = np.arange(len(columns))
    seed = np.zeros((len(tokens), len(names)))
    seed[:-1] = np.exp(logs) / len(columns)
    seed[rows, columns] -= 1 / len(columns)
    return float(-logs[rows, columns].mean()), engine.asarray(seed)
