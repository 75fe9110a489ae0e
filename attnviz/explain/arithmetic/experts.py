"""The arithmetic of experts: the weight that a router gives to one, and its hidden features times that."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from attnviz.core.phrases import enumerated
from attnviz.core.routing import SHARES_BY_ID, pull_weights, weights
from attnviz.core.special import NUMPY_SPECIAL
from attnviz.explain.formulas.block import routing_letters
from attnviz.i18n import _
from attnviz.model.reading import Floats, Reading, stage_symbol
from attnviz.model.spec.block import FeedForward
from attnviz.model.spec.experts import Experts
from attnviz.model.spec.site import experts_of, ffn_of
from attnviz.model.spec.view import Cell
from attnviz.model.stages import inputs
from attnviz.operations.terms import Line, Pieces, Series, Text, constant, guarded, words


def routing_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """The share of an expert among those chosen or all; 0 of one that is not chosen."""
    experts, shown = experts_of(reading.experiment), reading.number(cell)
    link = (reading.link(cell),)
    if cell.column == experts.n:
        return (_shared_line(reading, cell),)
    is_chosen = chosen_of(experts, reading.row("routing", 0, cell.row))
    names = enumerated(str(index + 1) for index in np.flatnonzero(is_chosen))
    if not is_chosen[cell.column]:
        note = words(_("not chosen: this token uses the experts {names}").format(names=names))
        return (Line(link, ((constant(0.0, "0"),),), shown, 0.0, (note,)),)
    logits = reading.row("router", 0, cell.row)[: experts.n]
    shares = SHARES_BY_ID[experts.shares].function(np, logits, NUMPY_SPECIAL)
    made = weights(shares, is_chosen.astype(np.float64), experts.normalised, experts.scale, np)
    note = words(_("chosen: the experts {names}").format(names=names))
    steps = (words(f"{routing_letters(experts)}"), _numbers(reading, cell, experts, is_chosen))
    return (Line(link, steps, shown, float(made[cell.column]), (note,)),)


def chosen_of(experts: Experts, row: NDArray[np.floating]) -> NDArray[np.bool_]:
    """True for the experts of a token, by the row of weights."""
    return np.asarray(row[: experts.n] != 0)


def routing_jacobian(experts: Experts, logits: Floats, row: Floats) -> Floats:
    """The derivatives of the weights of a token by its logits, (weight, logit); the choice is constant."""
    made = np.zeros((experts.n_columns, experts.n_columns))
    kind = SHARES_BY_ID[experts.shares]
    shares = kind.function(np, logits[None, : experts.n], NUMPY_SPECIAL)
    is_chosen = chosen_of(experts, row)[None].astype(np.float64)
    for index in range(experts.n):
        unit = np.eye(experts.n)[index : index + 1]
        pulled = pull_weights(kind, shares, is_chosen, experts.normalised, experts.scale, unit, np)
        made[index, : experts.n] = pulled[0]
    if experts.shared_gate:
        made[experts.n, experts.n] = row[experts.n] * (1 - row[experts.n])
    return made


def routed_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """h · G, or g · G and u · G of weighted inputs; of a bias the weight of its expert alone."""
    ffn = ffn_of(reading.experiment)
    if cell.column >= ffn.width:
        own = reading.link(Cell("routing", cell.row, ffn.weight_of(cell.column)[0]))
        note = words(_("a hidden feature that is 1, for the bias of the expert"))
        return (Line((reading.link(cell),), ((own,),), reading.number(cell), own.value, (note,)),)
    source = inputs(cell.stage, reading.site.stages)[0]
    hidden = reading.term(Cell(source, cell.row, cell.column))
    weights = ffn.weight_of(cell.column)
    if not weights:
        note = words(_("every token uses the shared expert"))
        link = reading.link(Cell(source, cell.row, cell.column))
        return (Line((reading.link(cell),), ((link,),), reading.number(cell), hidden.value, (note,)),)
    weight = reading.term(Cell("routing", cell.row, weights[0]))
    letters = words(f"{stage_symbol(source)} · {stage_symbol('routing')}")
    steps = (letters, (hidden, Text(" × "), *guarded(weight)))
    notes = () if source == "ffn_hidden" else _input_notes(ffn, source)
    return (Line((reading.link(cell),), steps, reading.number(cell), hidden.value * weight.value, notes),)


def _input_notes(ffn: FeedForward, source: str) -> tuple[Pieces, ...]:
    """Why a product behind the matrix is one of the expert's input, where no bias stands between."""
    role = "gate" if source == "ffn_gate" else "up"
    if getattr(ffn, f"{role}_bias") is not None:
        return ()
    text = _("the weight multiplies the expert's input: {identity}")
    return (words(text.format(identity=f"G · (x W_{role}) = (G · x) W_{role}")),)


def _shared_line(reading: Reading, cell: Cell) -> Line:
    """The weight of the shared expert: the sigmoid of its logit."""
    link, shown = (reading.link(cell),), reading.number(cell)
    logit = reading.term(Cell("router", cell.row, cell.column))
    result = float(NUMPY_SPECIAL.sigmoid(np.asarray(logit.value)))
    steps = (words("1 ÷ (1 + exp(−r))"), _sigmoid(logit))
    return Line(link, steps, shown, result)


def _sigmoid(logit: object) -> Pieces:
    return (Text("1 ÷ (1 + exp(−"), *guarded(logit), Text("))"))  # type: ignore[arg-type]


def _numbers(reading: Reading, cell: Cell, experts: Experts, is_chosen: NDArray[np.bool_]) -> Pieces:
    """The share of a chosen expert with its digits, over the sum of the others."""
    term = reading.term(Cell("router", cell.row, cell.column))
    over = np.flatnonzero(is_chosen) if experts.normalised else np.arange(experts.n)
    is_softmax = experts.shares == "softmax"

    def share(column: int) -> Pieces:
        logit = reading.term(Cell("router", cell.row, column))
        return (Text("exp("), logit, Text(")")) if is_softmax else _sigmoid(logit)

    own = (Text("exp("), term, Text(")")) if is_softmax else _sigmoid(term)
    factor: Pieces = () if experts.scale == 1.0 else (Text(f"{experts.scale:g} × "),)
    if not is_softmax and not experts.normalised:
        return (*factor, *own)
    total = Series(len(over), lambda index: share(int(over[index])))
    return (*factor, *own, Text(" ÷ ("), total, Text(")"))
