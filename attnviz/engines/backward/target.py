"""The gradient with which a backward pass begins: that of the target by its own stage."""

from __future__ import annotations

import numpy as np

from attnviz.core.dims import Array
from attnviz.engines.backward.cells import Cells
from attnviz.engines.engine import Engine
from attnviz.engines.run import SiteRun
from attnviz.errors import FieldError, must_be, quoted
from attnviz.model.operands.matrices import classes_of
from attnviz.model.spec.target import LOSS, TargetLoss
from attnviz.model.stages import STAGE_BY_ID


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
