"""The arithmetic of the logits: by a vocabulary's own matrix, or by similarity to the tokens' vectors."""

from __future__ import annotations

import math

import numpy as np

from attnviz.explain.formulas.block import logit_letters
from attnviz.i18n import N_, _
from attnviz.model.operands.matrices import unembedding_array, vectors_array, vocabulary
from attnviz.model.provenance import sources
from attnviz.model.reading import Floats, Reading, stage_symbol
from attnviz.model.spec.arrays import in_float64
from attnviz.model.spec.rows import row_array
from attnviz.model.spec.view import Cell
from attnviz.model.spec.vocabulary import Vocabulary
from attnviz.operations.terms import (
    Line,
    Pieces,
    Series,
    Term,
    Text,
    constant,
    digits,
    guarded,
    product,
    words,
)


def logit_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """The output's product with a column of the vocabulary, or with one token's vector."""
    experiment = reading.experiment
    if experiment.readout == "vocabulary" and experiment.vocabulary is not None:
        return (_of_vocabulary(reading, cell, experiment.vocabulary),)
    return (_of_similarity(reading, cell),)


def _of_vocabulary(reading: Reading, cell: Cell, known: Vocabulary) -> Line:
    """cap · tanh((Σ o · W_U + b) × scale ÷ cap), without what this vocabulary does not use."""
    (output,) = sources(reading.site, cell)
    o = reading.row(output.stage, 0, cell.row)
    w = in_float64(unembedding_array(known)[:, cell.column])

    def item(index: int) -> Pieces:
        return product(
            reading.term(Cell(output.stage, cell.row, index), o[index]),
            constant(w[index], f"W_U[{index}, {cell.column}]"),
        )

    numbers: Pieces = (Series(len(o), item),)
    result = float(np.sum(o * w))
    if known.bias is not None:
        bias = float(row_array(known.bias, known.n_logits)[cell.column])
        numbers += (Text(" + "), *guarded(constant(bias, f"b_U[{cell.column}]")))
        result += bias
    if known.logit_scale != 1.0:
        scale = constant(known.logit_scale, _("scale"))
        numbers = (Text("("), *numbers, Text(") × "), *guarded(scale))
        result *= known.logit_scale
    if known.cap is not None:
        cap = constant(known.cap, _("cap"))
        numbers = (cap, Text(" × tanh(("), *numbers, Text(") ÷ "), cap, Text(")"))
        result = known.cap * math.tanh(result / known.cap)
    steps = (words(logit_letters(known, stage_symbol(output.stage))), numbers)
    return Line((reading.link(cell),), steps, reading.number(cell), result, _notes(known))


REPORTED: dict[str, str] = {
    "first": N_("the classifier reports the logits of the first token"),
    "last": N_("the classifier reports the logits of the last token"),
}
"""The note on a logit of a class, where one position counts."""


def _notes(known: Vocabulary) -> tuple[Pieces, ...]:
    if known.unembedding is None:
        return (words(_("W_U is the embedding, transposed")),)
    reads = "" if known.classes is None else known.classes.reads
    return (words(_(REPORTED[reads])),) if reads in REPORTED else ()


def _of_similarity(reading: Reading, cell: Cell) -> Line:
    """Σ o · e; the token's vector may be a stage of this site, or of the first of its stack."""
    output = sources(reading.site, cell)[0]
    row = vocabulary(reading.experiment)[1][cell.column]
    o = reading.row(output.stage, 0, cell.row)
    e = _elsewhere(reading, row) if _begins_elsewhere(reading) else _own(reading, row)

    def vector(index: int) -> Term:
        at = Cell("tokens_embedded", row, index)
        if not _begins_elsewhere(reading):
            return reading.term(at, e[index])
        there = reading.elsewhere("tokens_embedded", at, float(e[index]))
        return Term(there.value, digits(there.value), there.name, there.source)

    def item(index: int) -> Pieces:
        return product(reading.term(Cell(output.stage, cell.row, index), o[index]), vector(index))

    letters = words(f"Σ {stage_symbol(output.stage)} · {stage_symbol('tokens_embedded')}")
    steps = (letters, (Series(len(o), item),))
    return Line((reading.link(cell),), steps, reading.number(cell), float(np.sum(o * e)))


def _begins_elsewhere(reading: Reading) -> bool:
    return "tokens_embedded" in reading.site.given


def _elsewhere(reading: Reading, row: int) -> Floats:
    """The token's vector in the precision of the run, as the first site of the stack has it."""
    precision = reading.site.window("logits", 0, slice(1), slice(1)).dtype
    return vectors_array(reading.experiment.vectors)[row].astype(precision).astype(np.float64)


def _own(reading: Reading, row: int) -> Floats:
    return reading.row("tokens_embedded", 0, row)
