"""Direct contributions to a logit: what each head and each feed-forward layer adds to it.

In a stack with norms before the sublayers the residual stream is a sum: the token's vector, every head's
mixture times its rows of W_O, every feed-forward layer's output, and biases. With the scale of the last norm
held, the logit is linear in that sum (Elhage et al. 2021; Nanda 2022, "direct logit attribution").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnviz.engines.engine import Engine
from attnviz.engines.operands import Operands
from attnviz.engines.program import Check, never_cancelled
from attnviz.engines.resolution import operands_of
from attnviz.engines.run import SiteRun
from attnviz.errors import FieldError, must_be
from attnviz.model.sites.sites import at, path_to
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.stages import result_of
from attnviz.operations.logits import Logits
from attnviz.operations.norm import Norm
from attnviz.operations.operation import NUMPY
from attnviz.study.passes import Passes, experiment_of, on_engine
from attnviz.study.target import Target

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Contributions:
    """Parts of a logit (or of a difference) whose sum it is.

    `heads[site]` (head,), `ffn[site]`; `start` is the part of the token's vector, `biases` that of the output
    biases and of the read-out's own.
    """

    target: Target
    logit: float
    start: float
    heads: dict[str, Floats]
    ffn: dict[str, float]
    biases: float

    @property
    def total(self) -> float:
        """The sum of all parts."""
        return (
            self.start
            + self.biases
            + sum(map(float, (h.sum() for h in self.heads.values())))
            + sum(self.ffn.values())
        )


def contributions(
    given: Experiment | Document,
    target: Target,
    *,
    engine: str = "numpy",
    device: str = "auto",
    check: Check = never_cancelled,
) -> Contributions:
    """Split the target's logit into the parts of the token's vector, every head and every feed-forward layer.

    Raises `FieldError` for a model without logits, without residual connections, with norms after the
    connections, with norms after the sublayers, or with a transform or a cap before its logits: there the
    logit is no sum of parts.
    """

    def job(engine: Engine) -> Contributions:
        passes = Passes(engine, experiment_of(given), check)
        last = passes.base[-1]
        columns = target.columns(passes.traces[-1])
        operands = {s.place.name: _operands(engine, passes.experiment, s) for s in passes.base}
        path = path_to(passes.experiment, last.place.name)
        own = [site for site in passes.base if site.place.name in path]
        _check(own)
        read = _Read(engine, operands[last.place.name], last, target.position, columns)
        heads, ffn, biases = {}, {}, read.bias
        for site in own:
            name = site.place.name
            heads[name], bias = _of_heads(engine, site, operands[name], target.position, read.part)
            biases += bias
            added = _added_by_ffn(site)
            if added:
                ffn[name] = read.part(_row(engine, site, added, target.position))
        first = own[0].features.came_in()
        start = read.part(_row(engine, own[0], first, target.position))
        logit = target.read(engine, last, columns)
        return Contributions(target, logit, start, heads, ffn, biases)

    return on_engine(given, job, engine, device)


def _operands(engine: Engine, experiment: Experiment, site: SiteRun) -> Operands:
    return operands_of(engine, experiment, at(experiment, site.place.name))


def _check(own: list[SiteRun]) -> None:
    """Raises `FieldError` where the residual stream through these sites is no sum of the parts."""
    last = own[-1]
    known = last.site.layer.output_vocabulary
    for name in ("transform", "cap"):
        value = getattr(known, name, None)
        if value is not None:
            linear = must_be("null for contributions that sum to the logit")
            raise FieldError(f"vocabulary.{name}", value, linear)
    for site in own:
        block = site.site.layer.block
        if block is None or not block.residual or block.placement not in ("pre", "parallel"):
            wanted = must_be("pre or parallel, with residual connections")
            raise FieldError(f"{site.place.name}.block", block and block.placement, wanted)
        if block.residual_scale != 1.0:
            raise FieldError(f"{site.place.name}.block.residual_scale", block.residual_scale, must_be("1"))


class _Read:
    """From a vector of the residual stream to its part of the target, the last norm's scale held."""

    def __init__(
        self, engine: Engine, operands: Operands, last: SiteRun, position: int, columns: tuple[int, ...]
    ) -> None:
        logits = operands.operations["logits"]
        assert isinstance(logits, Logits)
        signs = (1.0, -1.0)[: len(columns)]
        matrix = operands.matrix(logits.path)
        assert matrix is not None
        self._direction = logits.scale * sum(
            sign * _numbers(engine, matrix[:, column]) for sign, column in zip(signs, columns, strict=True)
        )
        self.bias = 0.0
        if logits.bias is not None:
            row = _numbers(engine, operands.rows[logits.bias.path])
            of_columns = zip(signs, columns, strict=True)
            self.bias = logits.scale * float(sum(sign * row[column] for sign, column in of_columns))
        self._centre: Callable[[Floats], Floats] = lambda x: x
        norm = operands.operations.get("output")
        if isinstance(norm, Norm):
            self._hold(engine, operands, norm, last, position)

    def _hold(self, engine: Engine, operands: Operands, norm: Norm, last: SiteRun, position: int) -> None:
        """Fold the norm into the direction: its scale at this position, its gain and its bias."""
        before = last.features.order[: last.features.order.index("output")]
        x = _row(engine, last, result_of(tuple(before)), position)
        plain = _numbers(engine, norm.plain(engine, engine.asarray(x[None])))[0]
        if norm.kind.centred:
            self._centre = lambda vector: vector - vector.mean()
        used = self._centre(x)
        largest = int(np.argmax(np.abs(used)))
        gain = 1.0 if norm.gain is None else _numbers(engine, operands.rows[norm.gain.path])
        if norm.bias is not None:
            self.bias += float(_numbers(engine, operands.rows[norm.bias.path]) @ self._direction)
        self._direction = self._direction * gain * (plain[largest] / used[largest])

    def part(self, vector: Floats) -> float:
        """The part of a vector (d_model,)."""
        return float(self._centre(vector) @ self._direction)


def _of_heads(
    engine: Engine, site: SiteRun, operands: Operands, position: int, part: Callable[[Floats], float]
) -> tuple[Floats, float]:
    """The parts of a site's heads, (head,), and that of its output bias, after the residual dropout."""
    n_heads = operands.scoring.n_kv_heads * operands.scoring.group_size
    mixtures = _row(engine, site, "concatenated", position).reshape(n_heads, -1)
    matrix = operands.matrix("projections.output")
    width = mixtures.shape[1]
    whole = np.eye(n_heads * width) if matrix is None else _numbers(engine, matrix)
    kept = _kept(operands, site, position, whole.shape[1])
    parts = [
        part(mixtures[head] @ whole[head * width : (head + 1) * width] * kept) for head in range(n_heads)
    ]
    added = operands.rows.get("projections.output_bias")
    bias = 0.0 if added is None else part(_numbers(engine, added).reshape(-1) * kept)
    return np.array(parts), bias


def _kept(operands: Operands, site: SiteRun, position: int, width: int) -> Floats | float:
    """The factors of the dropout after an attention, (d_model,); 1 without one."""
    drop = operands.operations.get("attention_dropped")
    positions = site.features.positions
    if drop is None or positions is None:
        return 1.0
    return np.asarray(drop.of(NUMPY, np.ones((len(positions), width)), positions)[position])


def _added_by_ffn(site: SiteRun) -> str:
    """The stage that a feed-forward layer adds to the residual stream; empty without one."""
    return next((stage for stage in ("ffn_dropped", "ffn_output") if stage in site.features.tf), "")


def _row(engine: Engine, site: SiteRun, stage: str, position: int) -> Floats:
    return _numbers(engine, site.features.tf[stage][position])


def _numbers(engine: Engine, array: object) -> Floats:
    return np.asarray(engine.to_numpy(array), dtype=np.float64)
