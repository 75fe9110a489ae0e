"""RoPE's scaling: its numbers, and a sentence about what it does to the present sequence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attnviz.gui.forms.fields import Number, Slider, Switch, replacing
from attnviz.i18n import N_
from attnviz.model.positions import magnitude, n_rotated, rotation
from attnviz.model.scalings import row_of
from attnviz.model.spec.site import Site

LONGEST = 1_000_000


def _scaling(site: Site) -> Any:
    return getattr(site.position, "scaling", None)


def _has(field: str) -> Any:
    """Whether RoPE's scaling has a field of this name: a row of the form serves every scaling that has it."""

    def shown(site: Site) -> bool:
        return hasattr(_scaling(site), field)

    return shown


def _has_fixed(field: str) -> Any:
    """Whether RoPE's scaling has a number of its own in a field that may be null."""

    def shown(site: Site) -> bool:
        return getattr(_scaling(site), field, None) is not None

    return shown


def _length(site: Site) -> int:
    """The length that the frequencies are made for."""
    return rotation(site).made_for


def _set_own_length(site: Site, is_own: bool) -> Site:
    return replacing("position", "scaling", "length")(site, None if is_own else _length(site))


def _set_own_attention(site: Site, is_own: bool) -> Site:
    value = None if is_own else magnitude(site.position)  # type: ignore[arg-type]
    return replacing("position", "scaling", "attention_factor")(site, value)


def _divisors(name: str, field: str, label: str) -> Slider[Site]:
    """The divisor of the slowest pair; those of the others follow in equal ratios, from 1 on."""

    def read(experiment: Any) -> float:
        written, pairs = getattr(_scaling(experiment), field), n_rotated(experiment) // 2
        return float(written[-1]) if len(written) == pairs else 1.0

    def edit(site: Site, value: float) -> Site:
        pairs = n_rotated(site) // 2
        divisors = tuple(value ** (pair / max(pairs - 1, 1)) for pair in range(pairs))
        return replacing("position", "scaling", field)(site, divisors)

    return Slider(
        name=name,
        label=label,
        read=read,
        edit=edit,
        hint=N_("Divisor of the slowest pair; the faster pairs follow in equal ratios, from 1 on"),
        shown=_has(field),
        minimum=1.0,
        maximum=64.0,
        lowest=1e-3,
        highest=1e4,
        default=1.0,
        logarithmic=True,
    )


def _turns(
    name: str, field: str, label: str, hint: str, limits: Callable[[Site], tuple[float, float]], step: float
) -> Number[Site]:
    """A number of turns over the original length: one end of the ramp between unchanged and divided pairs."""
    return Number(
        name=name,
        path=f"position.scaling.{field}",
        label=label,
        read=lambda e: getattr(_scaling(e), field),
        edit=replacing("position", "scaling", field),
        hint=hint,
        shown=_has(field),
        limits=limits,
        step=step,
    )


SCALING_FIELDS = (
    _divisors("longrope_short_field", "short_factor", N_("Short divisor")),
    _divisors("longrope_long_field", "long_factor", N_("Long divisor")),
    Slider(
        name="rope_factor_field",
        path="position.scaling.factor",
        label=N_("Factor"),
        read=lambda e: e.position.scaling.factor,
        edit=replacing("position", "scaling", "factor"),
        hint=N_("Ratio of the extended to the trained length"),
        shown=_has("factor"),
        minimum=1.0,
        maximum=64.0,
        lowest=1.0,
        highest=1e4,
        default=2.0,
        logarithmic=True,
    ),
    Number(
        name="rope_original_field",
        path="position.scaling.original_length",
        label=N_("Original length"),
        read=lambda e: e.position.scaling.original_length,
        edit=replacing("position", "scaling", "original_length"),
        hint=N_("Sequence length that the model was trained on"),
        shown=_has("original_length"),
        minimum=1,
        maximum=LONGEST,
        integer=True,
    ),
    Switch(
        name="rope_own_length_toggle",
        label=N_("present length"),
        read=lambda e: e.position.scaling.length is None,
        edit=_set_own_length,
        hint=N_(
            "Computes the frequencies for the present number of positions; off: for a length of your choice"
        ),
        shown=_has("length"),
    ),
    Number(
        name="rope_length_field",
        path="position.scaling.length",
        label=N_("Length"),
        read=_length,
        edit=replacing("position", "scaling", "length"),
        hint=N_("Sequence length that the frequencies are computed for"),
        shown=_has_fixed("length"),
        minimum=1,
        maximum=LONGEST,
        integer=True,
    ),
    _turns(
        "yarn_fast_field",
        "beta_fast",
        N_("β fast, turns"),
        N_("Pairs that turn more often over the original length keep their frequency"),
        limits=lambda e: (_scaling(e).beta_slow + 0.01, 1e6),
        step=0.5,
    ),
    _turns(
        "yarn_slow_field",
        "beta_slow",
        N_("β slow, turns"),
        N_("The factor divides the frequency of pairs that turn less often over the original length"),
        limits=lambda e: (0.01, _scaling(e).beta_fast - 0.01),
        step=0.05,
    ),
    Switch(
        name="yarn_truncate_toggle",
        label=N_("ramp between whole pairs"),
        read=lambda e: e.position.scaling.truncate,
        edit=replacing("position", "scaling", "truncate"),
        hint=N_("Rounds the ends of the ramp outwards to whole pairs; off, as in GPT-OSS: exact ends"),
        shown=_has("truncate"),
    ),
    Switch(
        name="yarn_own_attention_toggle",
        label=N_("default factor"),
        read=lambda e: e.position.scaling.attention_factor is None,
        edit=_set_own_attention,
        hint=N_(
            "The attention factor multiplies cosines and sines, so scores grow by its square; off: a factor "
            "of your choice"
        ),
        shown=_has("attention_factor"),
    ),
    Number(
        name="yarn_attention_field",
        path="position.scaling.attention_factor",
        label=N_("Attention factor"),
        read=lambda e: magnitude(e.position),
        edit=replacing("position", "scaling", "attention_factor"),
        hint=N_("Multiplier of cosines and sines"),
        shown=_has_fixed("attention_factor"),
        minimum=0.01,
        maximum=100.0,
        decimals=3,
        step=0.005,
    ),
    _turns(
        "llama3_low_field",
        "low_freq_factor",
        N_("Low-frequency turns"),
        N_("The factor divides the frequency of pairs that turn less often over the original length"),
        limits=lambda e: (0.01, _scaling(e).high_freq_factor - 0.01),
        step=0.05,
    ),
    _turns(
        "llama3_high_field",
        "high_freq_factor",
        N_("High-frequency turns"),
        N_("Pairs that turn more often over the original length keep their frequency"),
        limits=lambda e: (_scaling(e).low_freq_factor + 0.01, 1e4),
        step=0.05,
    ),
)


def scaling_note(site: Site) -> str:
    """What the scaling comes to for this sequence; empty where the dials say all."""
    scaling = _scaling(site)
    return "" if scaling is None else row_of(scaling).note(rotation(site))
