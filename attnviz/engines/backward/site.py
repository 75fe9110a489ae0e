"""The gradients of one site: by each stage and by each parameter, summed as they come."""

from __future__ import annotations

from attnviz.core.block import NORM_PULLS
from attnviz.core.dims import Array
from attnviz.engines.engine import Engine
from attnviz.engines.operands import Linear, Norm, Operands
from attnviz.engines.product import product
from attnviz.engines.run import SiteRun
from attnviz.model.stages import inputs


class SiteGradients:
    """The gradients that flow back through a site.

    `stages` has the gradient by each stage that the target depends on, in the engine's shapes: (token,
    feature), (g[, r], token, d), (g, r, query, key). `parameters` has those by the operands, by name.
    """

    def __init__(self, engine: Engine, operands: Operands, run: SiteRun) -> None:
        self.engine, self.operands, self.run = engine, operands, run
        self.features = run.features
        self.present = tuple(run.features.order)
        self.stages: dict[str, Array] = {}
        self.parameters: dict[str, Array] = {}

    def add(self, stage: str, gradient: Array) -> None:
        """Add to the gradient by a stage."""
        known = self.stages.get(stage)
        self.stages[stage] = gradient if known is None else known + gradient

    def add_parameter(self, name: str, gradient: Array) -> None:
        """Add to the gradient by a parameter."""
        known = self.parameters.get(name)
        self.parameters[name] = gradient if known is None else known + gradient

    def inputs(self, stage: str) -> tuple[str, ...]:
        """The stages that a stage reads in this site."""
        return inputs(stage, self.present)

    def value(self, stage: str) -> Array:
        """The numbers of a stage of tokens or heads."""
        return self.features.tf[stage] if stage in self.features.tf else self.features.heads[stage]

    def pull_linear(self, name: str, by: Linear, x: Array, g: Array) -> Array:
        """The gradient by x of x W + b, (token, in); adds those by W, xᵀ g, and by b, the sum of the rows."""
        if by.bias is not None:
            self.add_parameter(f"{name}_bias", self.engine.xp.sum(g, axis=0))
        matrix = by.matrix
        if matrix is None:
            return g
        self.add_parameter(name, product(self.engine, x.mT, g))
        return product(self.engine, g, matrix.mT)

    def pull_norm(self, name: str, norm: Norm, x: Array, g: Array) -> Array:
        """The gradient by x (..., d) of norm(x) · gain + bias; adds those by gain and bias."""
        xp, rows = self.engine.xp, tuple(range(len(g.shape) - 1))
        if norm.bias is not None:
            self.add_parameter(f"{name}.bias", xp.sum(g, axis=rows))
        if norm.gain is not None:
            plain = norm.function(xp, x, eps=norm.eps)
            self.add_parameter(f"{name}.gain", xp.sum(g * plain, axis=rows))
            g = g * norm.gain
        return NORM_PULLS[norm.kind](xp, x, g, norm.eps)
