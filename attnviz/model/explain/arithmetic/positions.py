"""The arithmetic of positions: rows added to vectors, rotations with their frequencies, biases on scores."""

from __future__ import annotations

import math

import numpy as np

from attnviz.core.positions import pair_of
from attnviz.i18n import _
from attnviz.model.explain.arithmetic.reading import Reading, stage_symbol
from attnviz.model.explain.arithmetic.scores import below
from attnviz.model.explain.arithmetic.terms import Line, Pieces, Text, constant, guarded, words
from attnviz.model.positions import (
    bucket_table,
    buckets,
    learned_table,
    magnitude,
    n_rotated,
    pair_frequencies,
    ramp_ends,
    rotated_features,
    scaled_base,
    sequence_length,
    slopes_of,
)
from attnviz.model.provenance import sources
from attnviz.model.spec.positions import (
    Alibi,
    DynamicNtk,
    Learned,
    LinearScaling,
    Llama3Scaling,
    NoScaling,
    Rope,
    Sinusoidal,
    T5Buckets,
    Yarn,
)
from attnviz.model.spec.site import Site
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID

# --- added to vectors ------------------------------------------------------------------------------


def x_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """The token's vector plus a sine or cosine of its position, or plus a number of the learned table."""
    position = reading.experiment.position
    if isinstance(position, Learned):
        return _learned_lines(reading, cell, position)
    assert isinstance(position, Sinusoidal)
    d_model = reading.experiment.d_model
    pair, is_odd = divmod(cell.column, 2)
    exponent = f"−2 × {pair} ÷ {d_model}"
    frequency = _power(position.base, -2.0 * pair / d_model)
    angle = (cell.row + position.start) * frequency
    vector = reading.term(below(reading, cell))
    wave, function = ("cos", np.cos) if is_odd else ("sin", np.sin)
    steps = (
        words(f"{stage_symbol(below(reading, cell).stage)} + {wave} θ"),
        (vector, Text(f" + {wave}("), constant(angle, "θ"), Text(")")),
    )
    result = vector.value + float(function(angle))
    numbers = (constant(position.base, _("base")), Text(f"^({exponent})"))
    return (
        Line((reading.link(cell),), steps, reading.number(cell), result),
        _angle_line(cell.row, position.start, angle, frequency),
        Line(words(_("frequency")), (numbers,), frequency, frequency),
    )


def _learned_lines(reading: Reading, cell: Cell, position: Learned) -> tuple[Line, ...]:
    at = cell.row + position.start
    vector = reading.term(below(reading, cell))
    number = learned_table(position, reading.experiment.d_model)[at, cell.column]
    name = _("row {row} of {length}, feature {feature}")
    entry = constant(number, name.format(row=at, length=position.length, feature=cell.column))
    steps = (
        words(f"{stage_symbol(below(reading, cell).stage)} + P[{at}, {cell.column}]"),
        (vector, Text(" + "), *guarded(entry)),
    )
    note = words(_("P is the learned table: one row per position, {n} in all").format(n=position.length))
    result = vector.value + entry.value
    return (Line((reading.link(cell),), steps, reading.number(cell), result, (note,)),)


# --- rotation --------------------------------------------------------------------------------------


def rotated_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """One half of a pair turned by position × frequency."""
    experiment = reading.experiment
    rope = experiment.position
    assert isinstance(rope, Rope)
    source = sources(reading.site, cell)[0].stage
    turned = rotated_features(experiment)
    pair = pair_of(cell.column, len(turned), rope.pairing, turned.start)
    if pair is None:
        origin = reading.link(Cell(source, cell.row, cell.column, cell.head))
        is_before = cell.column < turned.start
        says = (
            _("features before {n} are not rotated")
            if is_before
            else _("features from {n} on are not rotated")
        )
        note = words(says.format(n=turned.start if is_before else turned.stop))
        return (Line((reading.link(cell),), ((origin,),), reading.number(cell), origin.value, (note,)),)
    place = pair[0] - turned.start
    number = place // 2 if rope.pairing == "interleaved" else place
    frequency = float(pair_frequencies(experiment)[number])
    angle = (cell.row + rope.start) * frequency
    return (
        _turned(reading, cell, (source, pair), angle),
        _angle_line(cell.row, rope.start, angle, frequency),
        *_frequency_lines(experiment, number, frequency),
    )


def _turned(reading: Reading, cell: Cell, pair: tuple[str, tuple[int, int]], angle: float) -> Line:
    source, columns = pair
    rope = reading.experiment.position
    assert isinstance(rope, Rope)
    length = magnitude(rope)
    a, b = (reading.term(Cell(source, cell.row, column, cell.head)) for column in columns)
    theta, hue = constant(angle, "θ"), STAGE_BY_ID[source].hue
    names = tuple(Text(f"{stage_symbol(source)}[{column}]", hue) for column in columns)
    cos, sin = float(np.cos(angle)), float(np.sin(angle))
    if cell.column == columns[0]:
        first, sign, second, result = "cos", "−", "sin", a.value * cos - b.value * sin
    else:
        first, sign, second, result = "sin", "+", "cos", a.value * sin + b.value * cos
    letters: Pieces = (names[0], Text(f" {first} θ {sign} "), names[1], Text(f" {second} θ"))
    numbers: Pieces = (
        a,
        Text(f" × {first}("),
        theta,
        Text(f") {sign} "),
        *guarded(b),
        Text(f" × {second}("),
        theta,
        Text(")"),
    )
    if length == 1.0:
        return Line((reading.link(cell),), (letters, numbers), reading.number(cell), result)
    letters = (Text("t ("), *letters, Text(")"))
    numbers = (constant(length, _("attention factor")), Text(" × ("), *numbers, Text(")"))
    note = words(_("t, YaRN's attention factor, multiplies q and k; scores grow by its square"))
    return Line((reading.link(cell),), (letters, numbers), reading.number(cell), length * result, (note,))


def _angle_line(row: int, start: int, angle: float, frequency: float) -> Line:
    position = f"({row} + {start})" if start else f"{row}"
    numbers = (Text(f"{position} × "), *guarded(constant(frequency, _("frequency"))))
    note = words(_("in radians"))
    steps = (words(_("position × frequency")), numbers)
    return Line(words("θ"), steps, angle, (row + start) * frequency, (note,))


def _frequency_lines(experiment: Site, pair: int, frequency: float) -> tuple[Line, ...]:
    """The frequency of a pair from the base, through the scaling and the dial's multiplier."""
    rope = experiment.position
    assert isinstance(rope, Rope)
    multiplier = rope.multipliers[pair] if pair < len(rope.multipliers) else 1.0
    base = scaled_base(experiment)
    plain = _power(base, -2.0 * pair / n_rotated(experiment))
    powers: Pieces = (
        constant(base, _("base")),
        Text(f"^(−2 × {pair} ÷ {n_rotated(experiment)})"),
    )
    turned = constant(multiplier, _("multiplier of the pair"))
    times: Pieces = () if multiplier == 1.0 else (turned, Text(" × "))
    scaling = rope.scaling
    name = words(_("frequency"))
    if isinstance(scaling, NoScaling):
        return (Line(name, ((*times, *powers),), frequency, frequency),)
    if isinstance(scaling, DynamicNtk):
        return (Line(name, ((*times, *powers),), frequency, frequency), _base_line(experiment, scaling, base))
    factor = constant(scaling.factor, _("scaling factor"))
    if isinstance(scaling, LinearScaling):
        numbers = (*times, *powers, Text(" ÷ "), factor)
        return (Line(name, (numbers,), frequency, multiplier * plain / scaling.factor),)
    kept = _kept_line(experiment, pair, plain)
    share = constant(kept.value, "s")
    f = constant(plain, "f")
    mixture: Pieces = (share, Text(" × "), f, Text(" + (1 − "), share, Text(") × "), f, Text(" ÷ "), factor)
    numbers = (*times, Text("("), *mixture, Text(")")) if times else mixture
    letters = words("s f + (1 − s) f ÷ " + _("scaling factor"))
    result = multiplier * (kept.value * plain + (1.0 - kept.value) * plain / scaling.factor)
    steps = (numbers,) if times else (letters, numbers)
    return (Line(name, steps, frequency, result), kept, Line(words("f"), (powers,), plain, plain))


def _base_line(experiment: Site, scaling: DynamicNtk, base: float) -> Line:
    """Dynamic NTK's base from RoPE's."""
    rope = experiment.position
    assert isinstance(rope, Rope)
    n = n_rotated(experiment)
    length = sequence_length(experiment) if scaling.length is None else scaling.length
    original = constant(rope.base, _("base"))
    if length <= scaling.original_length or n <= 2:
        says = _("a single pair keeps its frequency")
        if n > 2:
            says = _("{n} positions do not exceed the original length {original}")
        note = words(says.format(n=length, original=scaling.original_length))
        return Line(words(_("base")), ((original,),), base, base, (note,))
    factor = constant(scaling.factor, _("scaling factor"))
    stretch: Pieces = (
        Text("("),
        factor,
        Text(f" × {length} ÷ {scaling.original_length} − ("),
        factor,
        Text(f" − 1))^({n} ÷ ({n} − 2))"),
    )
    value = scaling.factor * length / scaling.original_length - (scaling.factor - 1.0)
    result = rope.base * _power(value, n / (n - 2))
    return Line(words(_("base")), ((original, Text(" × "), *stretch),), base, result)


def _kept_line(experiment: Site, pair: int, plain: float) -> Line:
    """s: how much of the pair's frequency is kept, 1 for fast pairs and 0 for slow ones."""
    rope = experiment.position
    assert isinstance(rope, Rope)
    scaling = rope.scaling
    if isinstance(scaling, Yarn):
        return _yarn_line(experiment, scaling, pair)
    assert isinstance(scaling, Llama3Scaling)
    low, high = scaling.low_freq_factor, scaling.high_freq_factor
    turns = scaling.original_length * plain / (2.0 * math.pi)
    kept = float(np.clip((turns - low) / (high - low), 0.0, 1.0))
    turned = constant(turns, _("turns over the original length"))
    if not low < turns < high:
        says = _("{turns:.3g} turns over {n} positions: low is {low:g}, high is {high:g}")
        note = says.format(turns=turns, n=scaling.original_length, low=low, high=high)
        return Line(words("s"), (), kept, kept, (words(note),))
    first, last = constant(low, _("low-frequency turns")), constant(high, _("high-frequency turns"))
    numbers = (Text("("), turned, Text(" − "), first, Text(") ÷ ("), last, Text(" − "), first, Text(")"))
    return Line(words("s"), (numbers,), kept, (turns - low) / (high - low))


def _yarn_line(experiment: Site, scaling: Yarn, pair: int) -> Line:
    """1 before the ramp over the pairs, 0 after it."""
    low, high = ramp_ends(experiment)
    share = (pair - low) / (high - low)
    kept = 1.0 - min(max(share, 0.0), 1.0)
    says = _("a ramp from pair {low:g} ({fast:g} turns over {n} positions) to pair {high:g} ({slow:g})")
    note = says.format(
        low=low, high=high, fast=scaling.beta_fast, slow=scaling.beta_slow, n=scaling.original_length
    )
    if kept in (0.0, 1.0):
        return Line(words("s"), (), kept, kept, (words(note),))
    first, last = constant(low, _("first pair")), constant(high, _("last pair"))
    numbers = (Text(f"1 − ({pair} − "), first, Text(") ÷ ("), last, Text(" − "), first, Text(")"))
    return Line(words("s"), (numbers,), kept, 1.0 - share, (words(note),))


def _power(base: float, exponent: float) -> float:
    """base ** exponent; infinite where that is too large, as arrays have it."""
    return float(np.float64(base) ** exponent)


# --- biases ----------------------------------------------------------------------------------------


def biased_lines(reading: Reading, cell: Cell) -> tuple[Line, ...]:
    """The score and what the distance adds to it."""
    position = reading.experiment.position
    if isinstance(position, T5Buckets):
        return _bucket_lines(reading, cell, position)
    assert isinstance(position, Alibi)
    score = reading.term(below(reading, cell))
    name = _("slope of head {head}").format(head=cell.head + 1)
    slope = constant(slopes_of(reading.experiment)[cell.head], name)
    steps = (
        words(_("s − slope · |i − j|")),
        (score, Text(" − "), *guarded(slope), Text(f" × |{cell.row} − {cell.column}|")),
    )
    result = score.value - slope.value * abs(cell.row - cell.column)
    return (Line((reading.link(cell),), steps, reading.number(cell), result),)


def _bucket_lines(reading: Reading, cell: Cell, position: T5Buckets) -> tuple[Line, ...]:
    score = reading.term(below(reading, cell))
    bucket = int(buckets(position, np.array([cell.row]), np.array([cell.column]))[0, 0])
    table = bucket_table(position, reading.experiment.heads.n_heads)
    name = _("bucket {bucket} of head {head}").format(bucket=bucket, head=cell.head + 1)
    added = constant(table[bucket, cell.head], name)
    steps = (words(f"s + b[{bucket}, {cell.head}]"), (score, Text(" + "), *guarded(added)))
    says = _("distance j − i = {distance} falls into bucket {bucket} of {n}")
    note = words(says.format(distance=cell.column - cell.row, bucket=bucket, n=position.n_buckets))
    result = score.value + added.value
    return (Line((reading.link(cell),), steps, reading.number(cell), result, (note,)),)
