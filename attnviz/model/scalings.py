"""`SCALINGS`: the closed set of RoPE scalings for longer sequences, each with its functions.

A row computes the frequencies, explains one of them, writes them as code, describes its value for a sequence,
and fixes the length that a decoding needs. All of it reads a `Rotation` and nothing else of the experiment.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from attnviz.core.positions import (
    dynamic_ntk_base,
    linear_scaling,
    llama3_scaling,
    rope_frequencies,
    yarn_attention_factor,
    yarn_ends,
    yarn_ramp,
    yarn_scaling,
)
from attnviz.core.text import number
from attnviz.i18n import N_, _
from attnviz.model.spec.positions import Rope
from attnviz.model.spec.scalings import (
    DynamicNtk,
    LinearScaling,
    Llama3Scaling,
    LongRope,
    NoScaling,
    Scaling,
    Stretch,
    Yarn,
)
from attnviz.operations.terms import Line, Pieces, Term, Text, constant, words

Floats = NDArray[np.float64]
Code = tuple[tuple[str, str], ...]
"""Lines of a script, each with its comment (a message) or ""."""


@dataclass(frozen=True)
class Rotation:
    """Input of a scaling: the record of RoPE, the number of rotated features of a head, and of positions.

    `length` is the last position of queries and keys, plus one.
    """

    rope: Rope
    n_rotated: int
    length: int

    @property
    def scaling(self) -> Any:
        return self.rope.scaling

    @property
    def made_for(self) -> int:
        """The length that the frequencies are made for: the scaling's own, or the sequence's."""
        return self.length if self.scaling.length is None else int(self.scaling.length)


@dataclass(frozen=True)
class PairFrequency:
    """One pair of a rotation, for an explanation.

    `plain` is base^(-2i/n), with the base after the scaling; `frequency` the frequency in the rotation.
    """

    rotation: Rotation
    pair: int
    base: float
    plain: float
    frequency: float

    @property
    def scaling(self) -> Any:
        return self.rotation.scaling

    @property
    def multiplier(self) -> float:
        """The dial's."""
        multipliers = self.rotation.rope.multipliers
        return multipliers[self.pair] if self.pair < len(multipliers) else 1.0

    @property
    def times(self) -> Pieces:
        """The multiplier and a sign after it; empty if it is 1."""
        turned = constant(self.multiplier, _("multiplier of the pair"))
        return () if self.multiplier == 1.0 else (turned, Text(" × "))

    @property
    def powers(self) -> Pieces:
        """The base and its exponent."""
        return constant(self.base, _("base")), Text(f"^(−2 × {self.pair} ÷ {self.rotation.n_rotated})")

    def line(self, numbers: Pieces, result: float, *behind: Pieces) -> Line:
        """The frequency; `behind` are steps after the first."""
        return Line(words(_("frequency")), (numbers, *behind), self.frequency, result)


# --- the rows --------------------------------------------------------------------------------------


def _own_base(rotation: Rotation) -> float:
    return rotation.rope.base


def _unscaled(rotation: Rotation, frequencies: Floats) -> Floats:
    return frequencies


def _one(scaling: Any) -> float:
    return 1.0


def _nothing(rotation: Rotation) -> str:
    return ""


def _no_code(rotation: Rotation, xp: str) -> Code:
    return ()


def _plain_lines(pair: PairFrequency) -> tuple[Line, ...]:
    return (pair.line((*pair.times, *pair.powers), pair.frequency),)


def _as_it_is(scaling: Any, length: int) -> Any:
    return scaling


def _own_length(scaling: Any, length: int) -> Any:
    """Of a scaling whose frequencies depend on the length: fixed at `length`, unless it is fixed already."""
    return replace(scaling, length=length) if scaling.length is None else scaling


@dataclass(frozen=True)
class ScalingRow:
    """One scaling of RoPE for longer sequences: its record, its short title, and its effect.

    `base` is RoPE's base as the scaling changes it; `scale` maps the frequencies of that base, (pair,), to
    the scaled ones; `code` does so in a script, whose array library is called `xp`. `lines` explains the
    frequency of one pair. `magnitude` is the multiplier of cosines and sines. `note` describes the effect on
    a sequence; empty if the numbers suffice. `at_length` returns the scaling fixed to a sequence length.
    `fresh` returns the initial values of a form. `types` are its names in configurations of `transformers`,
    none if that lacks it. `dash` is the pattern of its curve: lengths of strokes and gaps, in line widths.
    """

    record: type[Stretch]
    title: str
    description: str
    dash: tuple[float, ...]
    fresh: Callable[[Rotation], Scaling]
    types: tuple[str, ...] = ()
    base: Callable[[Rotation], float] = _own_base
    scale: Callable[[Rotation, Floats], Floats] = _unscaled
    code: Callable[[Rotation, str], Code] = _no_code
    lines: Callable[[PairFrequency], tuple[Line, ...]] = _plain_lines
    magnitude: Callable[[Any], float] = _one
    note: Callable[[Rotation], str] = _nothing
    at_length: Callable[[Any, int], Any] = _as_it_is

    @property
    def id(self) -> str:
        """The record's `kind` in a document."""
        return str(self.record.__struct_config__.tag)


# --- linear ----------------------------------------------------------------------------------------


def _factor(pair: PairFrequency) -> Term:
    return constant(pair.scaling.factor, _("scaling factor"))


def _linear_lines(pair: PairFrequency) -> tuple[Line, ...]:
    numbers = (*pair.times, *pair.powers, Text(" ÷ "), _factor(pair))
    return (pair.line(numbers, pair.multiplier * pair.plain / pair.scaling.factor),)


def _linear_code(rotation: Rotation, xp: str) -> Code:
    return ((f"frequency = frequency / {rotation.scaling.factor!r}", N_("position interpolation")),)


# --- dynamic NTK -----------------------------------------------------------------------------------


def _ntk_base(rotation: Rotation) -> float:
    base, scaling = rotation.rope.base, rotation.scaling
    original = scaling.original_length
    return dynamic_ntk_base(base, scaling.factor, original, rotation.made_for, rotation.n_rotated)


def _ntk_lines(pair: PairFrequency) -> tuple[Line, ...]:
    return (*_plain_lines(pair), _ntk_base_line(pair))


def _ntk_base_line(pair: PairFrequency) -> Line:
    """The scaled base from RoPE's."""
    rotation, scaling = pair.rotation, pair.scaling
    n, length = rotation.n_rotated, rotation.made_for
    original = constant(rotation.rope.base, _("base"))
    if length <= scaling.original_length or n <= 2:
        says = _("a single pair keeps its frequency")
        if n > 2:
            says = _("{n} positions do not exceed the original length {original}")
        note = words(says.format(n=length, original=scaling.original_length))
        return Line(words(_("base")), ((original,),), pair.base, pair.base, (note,))
    factor = _factor(pair)
    stretch: Pieces = (
        Text("("),
        factor,
        Text(f" × {length} ÷ {scaling.original_length} − ("),
        factor,
        Text(f" − 1))^({n} ÷ ({n} − 2))"),
    )
    value = scaling.factor * length / scaling.original_length - (scaling.factor - 1.0)
    result = rotation.rope.base * float(np.float64(value) ** (n / (n - 2)))
    return Line(words(_("base")), ((original, Text(" × "), *stretch),), pair.base, result)


def _ntk_note(rotation: Rotation) -> str:
    length = rotation.made_for
    if length <= rotation.scaling.original_length:
        return _("{n} positions do not exceed the original length: the base is unchanged.").format(n=length)
    base = number(_ntk_base(rotation), 1)
    return _("{n} positions: the base becomes {base}.").format(n=length, base=base)


# --- YaRN and Llama 3: a mixture of the frequency and its quotient -----------------------------------


def _mixture_lines(pair: PairFrequency, kept: Line) -> tuple[Line, ...]:
    """s f + (1 − s) f ÷ factor; the value of the line `kept` is s."""
    factor, share, f = _factor(pair), constant(kept.value, "s"), constant(pair.plain, "f")
    mixture: Pieces = (share, Text(" × "), f, Text(" + (1 − "), share, Text(") × "), f, Text(" ÷ "), factor)
    scaled = kept.value * pair.plain + (1.0 - kept.value) * pair.plain / pair.scaling.factor
    result, plain = pair.multiplier * scaled, Line(words("f"), (pair.powers,), pair.plain, pair.plain)
    if pair.times:
        return pair.line((*pair.times, Text("("), *mixture, Text(")")), result), kept, plain
    letters = words("s f + (1 − s) f ÷ " + _("scaling factor"))
    return pair.line(letters, result, mixture), kept, plain


def _share_line(steps: Pieces, value: float, exact: float, note: str) -> Line:
    """s: how much of the pair's frequency is kept, 1 for fast pairs and 0 for slow ones."""
    notes = (words(note),) if note else ()
    return (
        Line(words("s"), (steps,), value, exact, notes)
        if steps
        else Line(words("s"), (), value, value, notes)
    )


def _ramp_of(rotation: Rotation) -> tuple[int, float, int, float, float, bool]:
    """Inputs of YaRN's ramp."""
    yarn = rotation.scaling
    ends = yarn.original_length, yarn.beta_fast, yarn.beta_slow, yarn.truncate
    return rotation.n_rotated, rotation.rope.base, *ends


def _yarn_frequencies(rotation: Rotation, frequencies: Floats) -> Floats:
    return yarn_scaling(frequencies, yarn_ramp(*_ramp_of(rotation)), rotation.scaling.factor)


def _yarn_magnitude(scaling: Yarn) -> float:
    factor = scaling.attention_factor
    return yarn_attention_factor(scaling.factor) if factor is None else factor


def _yarn_lines(pair: PairFrequency) -> tuple[Line, ...]:
    scaling = pair.scaling
    low, high = yarn_ends(*_ramp_of(pair.rotation))
    share = (pair.pair - low) / (high - low)
    kept = 1.0 - min(max(share, 0.0), 1.0)
    says = _("a ramp from pair {low:g} ({fast:g} turns over {n} positions) to pair {high:g} ({slow:g})")
    n, fast, slow = scaling.original_length, scaling.beta_fast, scaling.beta_slow
    note = says.format(low=low, high=high, fast=fast, slow=slow, n=n)
    first, last = constant(low, _("first pair")), constant(high, _("last pair"))
    numbers = (Text(f"1 − ({pair.pair} − "), first, Text(") ÷ ("), last, Text(" − "), first, Text(")"))
    steps = () if kept in (0.0, 1.0) else numbers
    return _mixture_lines(pair, _share_line(steps, kept, 1.0 - share, note))


def _yarn_code(rotation: Rotation, xp: str) -> Code:
    low, high = yarn_ends(*_ramp_of(rotation))
    pairs = f"{xp}.arange({rotation.n_rotated // 2})"
    ramp = f"{xp}.clip(({pairs} - {low!r}) / ({high!r} - {low!r}), 0.0, 1.0)"
    mixture = f"frequency * (1 - ramp) + frequency / {rotation.scaling.factor!r} * ramp"
    return (f"ramp = {ramp}", N_("1: divided by the factor, 0: unchanged")), (f"frequency = {mixture}", "")


def _yarn_note(rotation: Rotation) -> str:
    low, high = yarn_ends(*_ramp_of(rotation))
    says = _(
        "Pairs up to {low:g} keep their frequency; pairs from {high:g} on are divided by the "
        "factor. cos and sin × {t}: q and k grow."
    )
    return says.format(low=low, high=high, t=number(_yarn_magnitude(rotation.scaling), 3))


def _llama3_frequencies(rotation: Rotation, frequencies: Floats) -> Floats:
    scaling = rotation.scaling
    low, high = scaling.low_freq_factor, scaling.high_freq_factor
    return llama3_scaling(frequencies, scaling.factor, low, high, scaling.original_length)


def _llama3_lines(pair: PairFrequency) -> tuple[Line, ...]:
    scaling = pair.scaling
    low, high = scaling.low_freq_factor, scaling.high_freq_factor
    turns = scaling.original_length * pair.plain / (2.0 * math.pi)
    exact = (turns - low) / (high - low)
    kept = float(np.clip(exact, 0.0, 1.0))
    if not low < turns < high:
        says = _("{turns:.3g} turns over {n} positions: low is {low:g}, high is {high:g}")
        note = says.format(turns=turns, n=scaling.original_length, low=low, high=high)
        return _mixture_lines(pair, _share_line((), kept, kept, note))
    turned = constant(turns, _("turns over the original length"))
    first, last = constant(low, _("low-frequency turns")), constant(high, _("high-frequency turns"))
    numbers = (Text("("), turned, Text(" − "), first, Text(") ÷ ("), last, Text(" − "), first, Text(")"))
    return _mixture_lines(pair, _share_line(numbers, kept, exact, ""))


def _llama3_code(rotation: Rotation, xp: str) -> Code:
    scaling = rotation.scaling
    low, high = scaling.low_freq_factor, scaling.high_freq_factor
    turns = f"{scaling.original_length} * frequency / (2 * {xp}.pi)"
    return (
        (f"turns = {turns}", N_("turns over the original length")),
        (f"kept = {xp}.clip((turns - {low!r}) / ({high!r} - {low!r}), 0.0, 1.0)", ""),
        (f"frequency = kept * frequency + (1 - kept) * frequency / {scaling.factor!r}", ""),
    )


# --- LongRoPE --------------------------------------------------------------------------------------


def _divisors(rotation: Rotation) -> Floats:
    """The divisor of each pair that counts at this length, (pair,)."""
    scaling, divisors = rotation.scaling, np.ones(rotation.n_rotated // 2)
    is_long = rotation.made_for > scaling.original_length
    written = scaling.long_factor if is_long else scaling.short_factor
    divisors[: len(written)] = written
    return divisors


def _longrope_magnitude(scaling: LongRope) -> float:
    """sqrt(1 + ln(factor) / ln(original length)), Ding et al. 2024, unless it is explicit."""
    if scaling.attention_factor is not None:
        return scaling.attention_factor
    return math.sqrt(1.0 + math.log(scaling.factor) / math.log(scaling.original_length))


def _longrope_lines(pair: PairFrequency) -> tuple[Line, ...]:
    divisor = float(_divisors(pair.rotation)[pair.pair])
    numbers = (*pair.times, *pair.powers, Text(" ÷ "), constant(divisor, _("divisor of the pair")))
    return (pair.line(numbers, pair.multiplier * pair.plain / divisor),)


def _longrope_code(rotation: Rotation, xp: str) -> Code:
    return ((f"frequency = frequency / {xp}.asarray({_divisors(rotation).tolist()!r})", ""),)


def _longrope_note(rotation: Rotation) -> str:
    scaling, length = rotation.scaling, rotation.made_for
    says = _("{n} positions do not exceed the original length: the short divisors apply.")
    if length > scaling.original_length:
        says = _("{n} positions exceed the original length: the long divisors apply.")
    t = number(_longrope_magnitude(scaling), 3)
    return says.format(n=length) + " " + _("cos and sin × {t}: q and k grow.").format(t=t)


def _fresh_longrope(rotation: Rotation) -> LongRope:
    """Long divisors from 1 for the fastest pair to the factor for the slowest, in equal ratios."""
    plain, n_pairs = LongRope(), rotation.n_rotated // 2
    shares = np.arange(n_pairs) / max(n_pairs - 1, 1)
    return LongRope(long_factor=tuple(float(divisor) for divisor in plain.factor**shares))


# --- the table -------------------------------------------------------------------------------------

SCALINGS: tuple[ScalingRow, ...] = (
    ScalingRow(
        NoScaling,
        N_("none"),
        N_("Frequencies of the base, unscaled"),
        types=("default",),
        dash=(),
        fresh=lambda rotation: NoScaling(),
    ),
    ScalingRow(
        LinearScaling,
        N_("linear"),
        N_("Divides every frequency by the factor: position interpolation"),
        types=("linear",),
        dash=(6.0, 2.5),
        fresh=lambda rotation: LinearScaling(),
        scale=lambda rotation, frequencies: linear_scaling(frequencies, rotation.scaling.factor),
        code=_linear_code,
        lines=_linear_lines,
    ),
    ScalingRow(
        DynamicNtk,
        N_("dynamic NTK"),
        N_("The base grows once the sequence exceeds the original length"),
        types=("dynamic",),
        dash=(2.5, 2.0),
        fresh=lambda rotation: DynamicNtk(),
        base=_ntk_base,
        lines=_ntk_lines,
        note=_ntk_note,
        at_length=_own_length,
    ),
    ScalingRow(
        Yarn,
        N_("YaRN"),
        N_("Divides slow pairs by the factor, leaves fast pairs unchanged, and scales q and k up"),
        types=("yarn",),
        dash=(7.0, 2.0, 1.5, 2.0),
        fresh=lambda rotation: Yarn(),
        scale=_yarn_frequencies,
        code=_yarn_code,
        lines=_yarn_lines,
        magnitude=_yarn_magnitude,
        note=_yarn_note,
    ),
    ScalingRow(
        Llama3Scaling,
        N_("Llama 3"),
        N_("Divides low frequencies by the factor; high frequencies are unchanged"),
        types=("llama3",),
        dash=(1.0, 2.0),
        fresh=lambda rotation: Llama3Scaling(),
        scale=_llama3_frequencies,
        code=_llama3_code,
        lines=_llama3_lines,
    ),
    ScalingRow(
        LongRope,
        N_("LongRoPE"),
        N_("Divides each pair by its own divisor: one list up to the original length, another past it"),
        types=("longrope", "su"),  # the first Phi-3 has `su`
        dash=(7.0, 2.0, 1.5, 2.0, 1.5, 2.0),
        fresh=_fresh_longrope,
        scale=lambda rotation, frequencies: frequencies / _divisors(rotation),
        code=_longrope_code,
        lines=_longrope_lines,
        magnitude=_longrope_magnitude,
        note=_longrope_note,
        at_length=_own_length,
    ),
)

SCALING_BY_RECORD = {row.record: row for row in SCALINGS}


def row_of(scaling: Scaling) -> ScalingRow:
    """The row of a scaling."""
    return SCALING_BY_RECORD[type(scaling)]


def pair_frequencies(rotation: Rotation) -> Floats:
    """Radians per position of each pair, (pair,): base and scaling, then the multipliers of the dials."""
    rope, row = rotation.rope, row_of(rotation.scaling)
    frequencies = row.scale(rotation, rope_frequencies(rotation.n_rotated, row.base(rotation)))
    frequencies[: len(rope.multipliers)] *= np.asarray(rope.multipliers)
    return frequencies


def frequency_lines(rotation: Rotation, pair: int, frequency: float) -> tuple[Line, ...]:
    """The frequency of a pair from the base, through the scaling and the dial's multiplier."""
    row = row_of(rotation.scaling)
    base = row.base(rotation)
    # Infinite where that is too large, as arrays have it.
    plain = float(np.float64(base) ** (-2.0 * pair / rotation.n_rotated))
    return row.lines(PairFrequency(rotation, pair, base, plain, frequency))
