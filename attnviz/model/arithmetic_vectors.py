"""The arithmetic of token-shaped stages: vectors, projections, rotations, mixtures, the read-out."""

from __future__ import annotations

import numpy as np

from attnviz.core.positions import pair_of
from attnviz.i18n import _
from attnviz.model.arithmetic_pieces import Line, Pieces, Series, Text, constant, guarded, product, words
from attnviz.model.arithmetic_reading import Reading, stage_symbol
from attnviz.model.materialise import is_identity, projection_array, vectors_array
from attnviz.model.parts import Role, Rope, SeededVectors, Sinusoidal
from attnviz.model.provenance import Region, sources
from attnviz.model.stages import STAGE_BY_ID, Hue
from attnviz.model.view import Cell

ROLES: dict[str, tuple[Role, str, Hue]] = {
    "q": ("query", "W_Q", "query"),
    "k": ("key", "W_K", "key"),
    "v": ("value", "W_V", "value"),
    "attention_output": ("output", "W_O", ""),
}


def given_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """A number of the document itself."""
    experiment = reading.experiment
    memory = experiment.memory
    vectors = memory.vectors if cell.stage == "memory" and memory is not None else experiment.vectors
    value = float(vectors_array(vectors)[cell.row, cell.column])
    if isinstance(vectors, SeededVectors):
        says = _("drawn from seed {seed}; edit it in Vectors").format(seed=vectors.seed)
    else:
        says = _("given; edit it in Vectors")
    return (Line((reading.link(cell),), (), reading.number(cell), value, (words(says),)),)


def x_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """The token's vector plus a sine or cosine of its position."""
    experiment = reading.experiment
    position = experiment.position
    assert isinstance(position, Sinusoidal)
    pair, is_odd = divmod(cell.column, 2)
    exponent = f"−2 × {pair} ÷ {experiment.d_model}"
    frequency = _power(position.base, -2.0 * pair / experiment.d_model)
    angle = (cell.row + position.start) * frequency
    vector = reading.term(Cell("tokens_embedded", cell.row, cell.column))
    wave, function = ("cos", np.cos) if is_odd else ("sin", np.sin)
    steps = (
        words(f"e + {wave} θ"),
        (vector, Text(f" + {wave}("), constant(angle, "θ"), Text(")")),
    )
    result = vector.value + float(function(angle))
    return (
        Line((reading.link(cell),), steps, reading.number(cell), result),
        _angle_line(cell.row, position.start, angle, frequency),
        _frequency_line(position.base, exponent, 1.0, frequency),
    )


def projection_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """Σ x · W over the features of the input."""
    experiment = reading.experiment
    role, name, hue = ROLES[cell.stage]
    (source,) = sources(reading.site, cell)
    column = cell.column if role == "output" else cell.head * experiment.heads.d_head + cell.column
    if is_identity(experiment, role):
        origin = reading.link(Cell(source.stage, cell.row, column))
        note = words(_("{matrix} is the identity").format(matrix=name))
        return (Line((reading.link(cell),), ((origin,),), reading.number(cell), origin.value, (note,)),)
    x = reading.row(source.stage, 0, cell.row)
    w = projection_array(experiment, role)[:, column]

    def item(index: int) -> Pieces:
        return product(
            reading.term(Cell(source.stage, cell.row, index), x[index]),
            constant(w[index], f"{name}[{index}, {column}]", hue),
        )

    letters = (Text(f"Σ {stage_symbol(source.stage)} · "), Text(name, hue))
    steps = (letters, (Series(len(x), item),))
    return (Line((reading.link(cell),), steps, reading.number(cell), float(np.sum(x * w))),)


# --- rotation --------------------------------------------------------------------------------------


def rotated_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """One half of a pair turned by position × frequency."""
    experiment = reading.experiment
    rope = experiment.position
    assert isinstance(rope, Rope)
    source = sources(reading.site, cell)[0].stage
    n = experiment.heads.d_head if rope.n_rotated is None else rope.n_rotated
    pair = pair_of(cell.column, n, rope.pairing)
    if pair is None:
        origin = reading.link(Cell(source, cell.row, cell.column, cell.head))
        note = words(_("features from {n} on do not turn").format(n=n))
        return (Line((reading.link(cell),), ((origin,),), reading.number(cell), origin.value, (note,)),)
    number = pair[0] // 2 if rope.pairing == "interleaved" else pair[0]
    multiplier = rope.multipliers[number] if number < len(rope.multipliers) else 1.0
    frequency = multiplier * _power(rope.base, -2.0 * number / n)
    angle = (cell.row + rope.start) * frequency
    return (
        _turned(reading, cell, (source, pair), angle),
        _angle_line(cell.row, rope.start, angle, frequency),
        _frequency_line(rope.base, f"−2 × {number} ÷ {n}", multiplier, frequency),
    )


def _turned(reading: Reading, cell: Cell, pair: tuple[str, tuple[int, int]], angle: float) -> Line:
    source, columns = pair
    a, b = (reading.term(Cell(source, cell.row, column, cell.head)) for column in columns)
    theta, hue = constant(angle, "θ"), STAGE_BY_ID[source].hue
    names = tuple(Text(f"{stage_symbol(source)}[{column}]", hue) for column in columns)
    cos, sin = float(np.cos(angle)), float(np.sin(angle))
    if cell.column == columns[0]:
        first, sign, second, result = "cos", "−", "sin", a.value * cos - b.value * sin
    else:
        first, sign, second, result = "sin", "+", "cos", a.value * sin + b.value * cos
    letters = (names[0], Text(f" {first} θ {sign} "), names[1], Text(f" {second} θ"))
    numbers = (
        a,
        Text(f" × {first}("),
        theta,
        Text(f") {sign} "),
        *guarded(b),
        Text(f" × {second}("),
        theta,
        Text(")"),
    )
    return Line((reading.link(cell),), (letters, numbers), reading.number(cell), result)


def _angle_line(row: int, start: int, angle: float, frequency: float) -> Line:
    position = f"({row} + {start})" if start else f"{row}"
    numbers = (Text(f"{position} × "), *guarded(constant(frequency, _("frequency"))))
    note = words(_("in radians"))
    steps = (words(_("position × frequency")), numbers)
    return Line(words("θ"), steps, angle, (row + start) * frequency, (note,))


def _frequency_line(base: float, exponent: str, multiplier: float, frequency: float) -> Line:
    times = () if multiplier == 1.0 else (constant(multiplier, _("multiplier of the pair")), Text(" × "))
    numbers = (*times, constant(base, _("base")), Text(f"^({exponent})"))
    return Line(words(_("frequency")), (numbers,), frequency, frequency)


def _power(base: float, exponent: float) -> float:
    """base ** exponent; infinite where that is too large, as arrays have it."""
    return float(np.float64(base) ** exponent)


# --- mixture and read-out --------------------------------------------------------------------------


def mixed_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """Σ w · v over the keys."""
    weights, values = sources(reading.site, cell)
    w_head, v_head = _head(weights), _head(values)
    w = reading.row(weights.stage, w_head, cell.row)
    v = reading.column(values.stage, v_head, cell.column)

    def item(index: int) -> Pieces:
        return product(
            reading.term(Cell(weights.stage, cell.row, index, w_head), w[index]),
            reading.term(Cell(values.stage, index, cell.column, v_head), v[index]),
        )

    letters = (Text("Σ w · "), Text(stage_symbol(values.stage), "value"))
    steps = (letters, (Series(len(w), item),))
    return (Line((reading.link(cell),), steps, reading.number(cell), float(np.sum(w * v))),)


def concatenated_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """The same number of one head."""
    origin = reading.link(origin_of(reading, cell))
    head = cell.column // reading.experiment.heads.d_head + 1
    note = words(_("from head {head}").format(head=head))
    return (Line((reading.link(cell),), ((origin,),), reading.number(cell), origin.value, (note,)),)


def origin_of(reading: Reading, cell: Cell) -> Cell:
    """The one cell of `mixed` that a cell of `concatenated` is."""
    (source,) = sources(reading.site, cell)
    return Cell(source.stage, cell.row, (source.columns or (0,))[0], _head(source))


def logit_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """The output's dot product with one token's vector."""
    output, vectors = sources(reading.site, cell)
    row = (vectors.rows or (0,))[0]
    o, e = reading.row(output.stage, 0, cell.row), reading.row(vectors.stage, 0, row)

    def item(index: int) -> Pieces:
        return product(
            reading.term(Cell(output.stage, cell.row, index), o[index]),
            reading.term(Cell(vectors.stage, row, index), e[index]),
        )

    letters = words(f"Σ {stage_symbol(output.stage)} · {stage_symbol(vectors.stage)}")
    steps = (letters, (Series(len(o), item),))
    return (Line((reading.link(cell),), steps, reading.number(cell), float(np.sum(o * e))),)


def _head(region: Region) -> int:
    return (region.heads or (0,))[0]
