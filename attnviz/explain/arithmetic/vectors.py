"""The arithmetic of token-shaped stages without matrices: inputs of a site, mixtures, joined heads."""

from __future__ import annotations

import numpy as np

from attnviz.core.special import NUMPY_SPECIAL
from attnviz.i18n import _
from attnviz.model.operands.matrices import vectors_array
from attnviz.model.provenance import Region, sources
from attnviz.model.reading import Reading
from attnviz.model.spec.parts import SeededVectors
from attnviz.model.spec.view import Cell
from attnviz.operations.terms import Line, Text, guarded, words


def given_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """A number of the document itself, or one that another site has made."""
    if cell.stage in reading.site.given:
        value = reading.number(cell)
        return (Line((reading.link(cell),), ((reading.elsewhere(cell.stage, cell, value),),), value, value),)
    experiment = reading.experiment
    memory = experiment.memory
    vectors = memory.vectors if cell.stage == "memory" and memory is not None else experiment.vectors
    value = float(vectors_array(vectors)[cell.row, cell.column])
    if isinstance(vectors, SeededVectors):
        says = _("sampled with seed {seed}; edit it in Vectors").format(seed=vectors.seed)
    else:
        says = _("given; edit it in Vectors")
    return (Line((reading.link(cell),), (), reading.number(cell), value, (words(says),)),)


def gated_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """The mixture times the sigmoid of its gate."""
    mixed, gate = (
        reading.term(Cell(source.stage, cell.row, (source.columns or (0,))[0], _head(source)))
        for source in sources(reading.site, cell)
    )
    result = mixed.value * float(NUMPY_SPECIAL.sigmoid(np.asarray(gate.value)))
    letters, numbers = words("y · σ(g)"), (mixed, Text(" ÷ (1 + exp(−"), *guarded(gate), Text("))"))
    return (Line((reading.link(cell),), (letters, numbers), reading.number(cell), result),)


def concatenated_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """The same number of one head."""
    origin = reading.link(origin_of(reading, cell))
    head = cell.column // reading.experiment.heads.d_head + 1
    note = words(_("from head {head}").format(head=head))
    return (Line((reading.link(cell),), ((origin,),), reading.number(cell), origin.value, (note,)),)


def origin_of(reading: Reading, cell: Cell) -> Cell:
    """The one cell of `mixed`, or of `gated`, that a cell of `concatenated` is."""
    (source,) = sources(reading.site, cell)
    return Cell(source.stage, cell.row, (source.columns or (0,))[0], _head(source))


def _head(region: Region) -> int:
    return (region.heads or (0,))[0]
