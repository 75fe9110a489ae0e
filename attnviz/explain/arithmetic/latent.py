"""The arithmetic of multi-head latent attention: latents, and the keys and values projected from them."""

from __future__ import annotations

from attnviz.explain.arithmetic.linear import Map, linear_line, projection_lines
from attnviz.explain.arithmetic.norms import normed_lines
from attnviz.i18n import _
from attnviz.model.operands.latent import PRODUCT_OF_STAGE, latent_norm, latent_of
from attnviz.model.operands.matrices import latent_array
from attnviz.model.provenance import sources
from attnviz.model.reading import Reading
from attnviz.model.spec.arrays import in_float64
from attnviz.model.spec.parts import Identity
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID
from attnviz.operations.terms import Line, words


def latent_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """A number of a latent or of the shared RoPE key: Σ x · W, or that after its norm."""
    if latent_norm(reading.experiment, cell.stage) is not None:
        return normed_lines(reading, cell)
    return (_product_line(reading, cell),)


def key_value_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """A number of a key or value: from its projection, or from the latent, or the key of all heads."""
    experiment = reading.experiment
    if experiment.latent is None:
        return projection_lines(reading, cell)
    d_head = experiment.heads.d_head
    if cell.column < d_head:
        return (_product_line(reading, cell),)
    (source,) = sources(reading.site, cell)
    origin = reading.link(Cell(source.stage, cell.row, cell.column - d_head))
    note = words(_("features from {n} on are the RoPE key, the same in every head").format(n=d_head))
    return (Line((reading.link(cell),), ((origin,),), reading.number(cell), origin.value, (note,)),)


def _product_line(reading: Reading, cell: Cell) -> Line:
    experiment = reading.experiment
    product = PRODUCT_OF_STAGE[cell.stage]
    matrix, stage = latent_array(experiment, product.role), STAGE_BY_ID[cell.stage]
    column = cell.column + (cell.head * experiment.heads.d_head if stage.per_head else 0)
    is_square = matrix.shape[0] == matrix.shape[1]
    is_passed_on = is_square and isinstance(getattr(latent_of(experiment), product.role), Identity)
    weights = None if is_passed_on else in_float64(matrix[:, column])
    return linear_line(reading, cell, Map(product.symbol, column, weights, None, stage.hue))
