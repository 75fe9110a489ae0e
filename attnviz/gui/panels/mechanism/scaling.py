"""RoPE's scaling: its numbers, and a sentence about what it does to the present sequence."""

from __future__ import annotations

from typing import Any

from attnviz.core.text import number
from attnviz.gui.forms.fields import Number, Slider, Switch, replacing
from attnviz.i18n import N_, _
from attnviz.model.positions import magnitude, ramp_ends, scaled_base, sequence_length
from attnviz.model.spec.parts import Rope
from attnviz.model.spec.positions import DynamicNtk, LinearScaling, Llama3Scaling, NoScaling, Yarn
from attnviz.model.spec.site import Site

LONGEST = 1_000_000


def _scaling(experiment: Site) -> Any:
    position = experiment.position
    return position.scaling if isinstance(position, Rope) else None


def _shown_for(*kinds: type) -> Any:
    """Whether RoPE has one of these scalings."""

    def shown(experiment: Site) -> bool:
        return isinstance(_scaling(experiment), kinds)

    return shown


def _length(experiment: Site) -> int:
    """The length that dynamic NTK's frequencies are made for."""
    chosen = _scaling(experiment).length
    return sequence_length(experiment) if chosen is None else int(chosen)


def _set_own_length(experiment: Site, is_own: bool) -> Site:
    return replacing("position", "scaling", "length")(experiment, None if is_own else _length(experiment))


def _set_own_attention(experiment: Site, is_own: bool) -> Site:
    value = None if is_own else magnitude(experiment.position)  # type: ignore[arg-type]
    return replacing("position", "scaling", "attention_factor")(experiment, value)


def _has_fixed_length(experiment: Site) -> bool:
    scaling = _scaling(experiment)
    return isinstance(scaling, DynamicNtk) and scaling.length is not None


def _has_fixed_attention(experiment: Site) -> bool:
    scaling = _scaling(experiment)
    return isinstance(scaling, Yarn) and scaling.attention_factor is not None


SCALING_FIELDS = (
    Slider(
        name="rope_factor_field",
        label=N_("Factor"),
        read=lambda e: e.position.scaling.factor,
        edit=replacing("position", "scaling", "factor"),
        hint=N_("Ratio of the extended to the trained length"),
        shown=_shown_for(LinearScaling, DynamicNtk, Yarn, Llama3Scaling),
        minimum=1.0,
        maximum=64.0,
        lowest=1.0,
        highest=1e4,
        default=2.0,
        logarithmic=True,
    ),
    Number(
        name="rope_original_field",
        label=N_("Original length"),
        read=lambda e: e.position.scaling.original_length,
        edit=replacing("position", "scaling", "original_length"),
        hint=N_("Sequence length that the model was trained on"),
        shown=_shown_for(DynamicNtk, Yarn, Llama3Scaling),
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
        shown=_shown_for(DynamicNtk),
    ),
    Number(
        name="rope_length_field",
        label=N_("Length"),
        read=_length,
        edit=replacing("position", "scaling", "length"),
        hint=N_("Sequence length that the frequencies are computed for"),
        shown=_has_fixed_length,
        minimum=1,
        maximum=LONGEST,
        integer=True,
    ),
    Number(
        name="yarn_fast_field",
        label=N_("β fast, turns"),
        read=lambda e: e.position.scaling.beta_fast,
        edit=replacing("position", "scaling", "beta_fast"),
        hint=N_("Pairs that turn more often over the original length keep their frequency"),
        shown=_shown_for(Yarn),
        limits=lambda e: (e.position.scaling.beta_slow + 0.01, 1e6),  # type: ignore[union-attr]
        step=0.5,
    ),
    Number(
        name="yarn_slow_field",
        label=N_("β slow, turns"),
        read=lambda e: e.position.scaling.beta_slow,
        edit=replacing("position", "scaling", "beta_slow"),
        hint=N_("The factor divides the frequency of pairs that turn less often over the original length"),
        shown=_shown_for(Yarn),
        limits=lambda e: (0.01, e.position.scaling.beta_fast - 0.01),  # type: ignore[union-attr]
        step=0.05,
    ),
    Switch(
        name="yarn_truncate_toggle",
        label=N_("ramp between whole pairs"),
        read=lambda e: e.position.scaling.truncate,
        edit=replacing("position", "scaling", "truncate"),
        hint=N_("Rounds the ends of the ramp outwards to whole pairs; off, as in GPT-OSS: exact ends"),
        shown=_shown_for(Yarn),
    ),
    Switch(
        name="yarn_own_attention_toggle",
        label=N_("0.1 ln(factor) + 1"),
        read=lambda e: e.position.scaling.attention_factor is None,
        edit=_set_own_attention,
        hint=N_("The attention factor multiplies cosines and sines, so scores grow by its square"),
        shown=_shown_for(Yarn),
    ),
    Number(
        name="yarn_attention_field",
        label=N_("Attention factor"),
        read=lambda e: magnitude(e.position),
        edit=replacing("position", "scaling", "attention_factor"),
        hint=N_("Multiplier of cosines and sines"),
        shown=_has_fixed_attention,
        minimum=0.01,
        maximum=100.0,
        decimals=3,
        step=0.005,
    ),
    Number(
        name="llama3_low_field",
        label=N_("Low-frequency turns"),
        read=lambda e: e.position.scaling.low_freq_factor,
        edit=replacing("position", "scaling", "low_freq_factor"),
        hint=N_("The factor divides the frequency of pairs that turn less often over the original length"),
        shown=_shown_for(Llama3Scaling),
        limits=lambda e: (0.01, e.position.scaling.high_freq_factor - 0.01),  # type: ignore[union-attr]
        step=0.05,
    ),
    Number(
        name="llama3_high_field",
        label=N_("High-frequency turns"),
        read=lambda e: e.position.scaling.high_freq_factor,
        edit=replacing("position", "scaling", "high_freq_factor"),
        hint=N_("Pairs that turn more often over the original length keep their frequency"),
        shown=_shown_for(Llama3Scaling),
        limits=lambda e: (e.position.scaling.low_freq_factor + 0.01, 1e4),  # type: ignore[union-attr]
        step=0.05,
    ),
)


def scaling_note(experiment: Site) -> str:
    """What the scaling comes to for this sequence; empty where the dials say all."""
    scaling = _scaling(experiment)
    if scaling is None or isinstance(scaling, NoScaling | LinearScaling | Llama3Scaling):
        return ""
    if isinstance(scaling, DynamicNtk):
        length = _length(experiment)
        if length <= scaling.original_length:
            says = _("{n} positions do not exceed the original length: the base is unchanged.")
            return says.format(n=length)
        return _("{n} positions: the base becomes {base}.").format(
            n=length, base=number(scaled_base(experiment), 1)
        )
    low, high = ramp_ends(experiment)
    says = _(
        "Pairs up to {low:g} keep their frequency; pairs from {high:g} on are divided by the "
        "factor. cos and sin × {t}: q and k grow."
    )
    return says.format(low=low, high=high, t=number(magnitude(experiment.position), 3))  # type: ignore[arg-type]
