"""Gradients in the shape of a trace: the same sites and stages, each array that of ∂ target / ∂ stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from attnviz.core.text import isolated, visible
from attnviz.errors import FieldError, among, listed, must_be, whole_number
from attnviz.i18n import _
from attnviz.model.reading import Reading
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.target import TargetCell, TargetLoss, parsed
from attnviz.model.spec.view import Cell, Quantity
from attnviz.model.stages import EMBEDDED, STAGE_BY_ID
from attnviz.model.trace import Numbers, Origin, SiteTrace, StageSource, Trace


def cell_at(site: SiteTrace, stage: str, index: tuple[int, ...]) -> Cell:
    """The cell at an index of a stage."""
    head, token, *_rest = (*index[:-2], 0, 0)
    return Cell(stage, index[-2], index[-1], site.number_of(stage, head, token))


def located(cell: TargetCell, sites: Mapping[str, SiteTrace]) -> tuple[str, tuple[int, ...]]:
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
    for axis, number, size in zip(STAGE_BY_ID[cell.stage].axes, cell.index, shape, strict=True):
        if not -size <= number < size:
            raise FieldError(f"target.{axis}", number, whole_number(0, size - 1))
    return name, tuple(number % size for number, size in zip(cell.index, shape, strict=True))


@dataclass(frozen=True, eq=False)
class Target:
    """The number whose gradient is taken: its text, its value, and its cell of a site; no cell for the loss.

    The loss is computed from the logits of `site`.
    """

    text: str
    value: float
    site: SiteTrace
    cell: Cell | None

    def name(self, seen_from: str = "") -> str:
        """`loss`, `weights[creature, fluffy], head 2`, or with its site, seen from another one."""
        if self.cell is None:
            return self._loss_name()
        name = Reading(self.site).full_name(self.cell)
        return name if seen_from in ("", self.site.name) else f"{self.site.name} · {name}"

    @property
    def positions(self) -> tuple[int, ...]:
        """The positions of the loss; none for a cell."""
        wanted = parsed(self.text)
        return wanted.positions(self.site.experiment.n_queries) if isinstance(wanted, TargetLoss) else ()

    def _loss_name(self) -> str:
        wanted = parsed(self.text)
        if not isinstance(wanted, TargetLoss) or wanted.position is None:
            return _("loss")
        token = self.site.names("query")[self.positions[0]]
        return _("loss at “{token}”").format(token=isolated(visible(token)))


class GradientSource(StageSource, Protocol):
    """Source of the gradients of a site."""

    def depends(self, stage: str) -> bool:
        """True if the target is computed from the stage."""


class GradientSite(SiteTrace):
    """The gradients of one attention. `values` are its stages."""

    quantity: Quantity = "gradient"

    def __init__(
        self, values: SiteTrace, source: GradientSource, target: Target, given: Mapping[str, Origin] | None
    ) -> None:
        super().__init__(values.name, values.experiment, source, given)
        self.values, self.target, self._gradients = values, target, source
        self.readers: tuple[tuple[GradientSite, str], ...] = ()
        """The attentions that read a stage of this one, and the name that it has there."""

    def is_signed(self, stage: str) -> bool:
        """True: a derivative of either sign."""
        return True

    def called(self, stage: str) -> str:
        """`∂ loss / ∂ weights`."""
        return f"∂ {self.target.name(self.name)} / ∂ {_(STAGE_BY_ID[stage].title)}"

    def depends(self, stage: str) -> bool:
        """True if the target is computed from the stage; its gradient is zero everywhere if not."""
        return self._gradients.depends(stage)

    def seed(self, cell: Cell) -> float | None:
        """The derivative of the target by a cell that it is, or that its loss reads; None for others."""
        if self.target.site.name != self.name:
            return None
        if self.target.cell is not None:
            return 1.0 if (self.target.cell == replace(cell, site="")) else None
        if cell.stage != "logits":
            return None
        if cell.row not in self.target.positions:
            return 0.0
        p = float(self.values.window("probabilities", 0, slice(cell.row, cell.row + 1))[0, cell.column])
        return (p - self._is_next(cell)) / len(self.target.positions)

    def why_seed(self, cell: Cell) -> str:
        """The derivative of the target by one of its own cells, in words."""
        if self.target.cell is not None:
            return _("this is the target")
        tokens = self.experiment.tokens
        if cell.row == len(tokens) - 1:
            return _("no token follows the last position: the loss does not read it")
        if cell.row not in self.target.positions:
            return _("the loss at another position does not read it")
        says = _("(p − {hit}) ÷ {n}, p the probability; the next token here is “{token}”")
        return says.format(
            hit=int(self._is_next(cell)), n=len(self.target.positions), token=visible(tokens[cell.row + 1])
        )

    def _is_next(self, cell: Cell) -> bool:
        return self.labels("vocabulary").index(self.experiment.tokens[cell.row + 1]) == cell.column


class ProductSite(GradientSite):
    """Value × gradient, cell by cell: to first order, the change of the target when a number is set to 0."""

    quantity: Quantity = "product"

    def __init__(self, gradient: GradientSite) -> None:
        super().__init__(gradient.values, gradient._gradients, gradient.target, gradient.given)
        self.gradient = gradient

    def called(self, stage: str) -> str:
        """`weights × ∂ loss / ∂ weights`."""
        return f"{_(STAGE_BY_ID[stage].title)} × {super().called(stage)}"

    def _read(self, stage: str, head: int, rows: slice, columns: slice) -> Numbers:
        gradient = self._source.window(stage, head, rows, columns)
        value = self.values.window(stage, head, rows, columns)
        # Where the gradient is 0 so is the product, of −∞ too: the target does not depend on that cell.
        product = np.multiply(value, gradient, out=np.zeros_like(gradient), where=gradient != 0)
        product.setflags(write=False)
        return product


class Gradient(Trace):
    """The gradient of one number: the sites and stages of a trace, each array that of ∂ target / ∂ stage.

    `parameters` has those by the matrices, biases and gains, computed as they are read and named as in the
    document, `layers.0.self.projections.query`; a
    matrix that is tied to another one counts where it is used. `value` is the number itself. A stage that
    the target does not depend on has zeros, and so have blocked cells. At a corner the
    derivative is that of one side: of ReLU at 0 that of the zeros, of a clamp at its limit that of the
    inside; among equal shares of experts the choice is held.
    """

    def __init__(
        self,
        experiment: Experiment,
        sites: tuple[GradientSite, ...],
        of: Target,
        parameters: Mapping[str, NDArray[Any]],
        **where: Any,
    ) -> None:
        super().__init__(experiment, sites, **where)
        for origin in sites:
            origin.readers = tuple(
                (site, called)
                for site in sites
                for called, read in site.given.items()
                if read.site == origin.name
            )
        self.of, self.parameters = of, parameters
        self._where = where

    @property
    def target(self) -> str:
        """The target as it was given."""
        return self.of.text

    @property
    def value(self) -> float:
        """The number whose gradient this is."""
        return self.of.value

    @cached_property
    def norms(self) -> dict[tuple[str, str], float]:
        """√(Σ g²) of every (site, stage), in data-flow order."""
        return {
            (name, stage): float(np.linalg.norm(np.asarray(self.site(name)[stage], dtype=np.float64)))
            for name in self.sites
            for stage in self.site(name).stages
        }

    @cached_property
    def token_norms(self) -> dict[tuple[str, int], float]:
        """√(Σ g²) of the gradient by the vector of each token, by (site, position); site: a first layer."""
        return {
            (name, position): float(norm)
            for name in self.sites
            if EMBEDDED in self.site(name).stages
            for position, norm in enumerate(
                np.linalg.norm(np.asarray(self.site(name)[EMBEDDED], dtype=np.float64), axis=-1)
            )
        }

    @cached_property
    def product(self) -> Trace:
        """Value × gradient of every stage."""
        sites = (self.site(name) for name in self.sites)
        products = tuple(ProductSite(site) for site in sites if isinstance(site, GradientSite))
        return Trace(self.experiment, products, **self._where)
