"""RoPE's scaling: its numbers, and a sentence about its effect on the present sequence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attnviz.gui.forms.fields import FormField, Number, Slider, Switch
from attnviz.gui.forms.paths import row
from attnviz.i18n import N_
from attnviz.model.edit.paths import put_at, value_at
from attnviz.model.positions import magnitude, n_rotated, rotation
from attnviz.model.scalings import row_of
from attnviz.model.spec.site import Site


def _scaling(site: Site) -> Any:
    return getattr(site.position, "scaling", None)


def _length(site: Site) -> int:
    """The length that the frequencies are made for."""
    return rotation(site).made_for


def _set_own_length(site: Site, is_own: bool) -> Site:
    return put_at(site, "position.scaling.length", None if is_own else _length(site))


def _set_own_attention(site: Site, is_own: bool) -> Site:
    value = None if is_own else magnitude(site.position)  # type: ignore[arg-type]
    return put_at(site, "position.scaling.attention_factor", value)


def _divisors(name: str, field: str) -> Slider[Site]:
    """The divisor of the slowest pair; those of the others follow in equal ratios, from 1 on."""
    path = f"position.scaling.{field}"

    def read(site: Any) -> float:
        written, pairs = value_at(site, path), n_rotated(site) // 2
        return float(written[-1]) if len(written) == pairs else 1.0

    def edit(site: Site, value: float) -> Site:
        pairs = n_rotated(site) // 2
        return put_at(site, path, tuple(value ** (pair / max(pairs - 1, 1)) for pair in range(pairs)))

    made: Slider[Site] = row(path, Slider, name=name, read=read, edit=edit)
    return made


def _turns(name: str, field: str, limits: Callable[[Any], tuple[float, float]]) -> Number[Site]:
    """A number of rotations over the original length: one end of the ramp between unchanged and
    divided pairs.
    """
    made: Number[Site] = row(
        f"position.scaling.{field}", name=name, limits=lambda e: limits(e.position.scaling)
    )
    return made


SCALING_FIELDS: tuple[FormField[Site], ...] = (
    _divisors("longrope_short_field", "short_factor"),
    _divisors("longrope_long_field", "long_factor"),
    row("position.scaling.factor", name="rope_factor_field"),
    row("position.scaling.original_length", name="rope_original_field"),
    Switch(
        name="rope_own_length_toggle",
        label=N_("present length"),
        read=lambda e: e.position.scaling.length is None,
        edit=_set_own_length,
        hint=N_(
            "Computes the frequencies for the present number of positions; off: for a length of your choice"
        ),
        shown=lambda e: hasattr(_scaling(e), "length"),
    ),
    row("position.scaling.length", name="rope_length_field"),
    _turns("yarn_fast_field", "beta_fast", lambda yarn: (yarn.beta_slow + 0.01, 1e6)),
    _turns("yarn_slow_field", "beta_slow", lambda yarn: (0.01, yarn.beta_fast - 0.01)),
    row("position.scaling.truncate", name="yarn_truncate_toggle"),
    Switch(
        name="yarn_own_attention_toggle",
        label=N_("default factor"),
        read=lambda e: e.position.scaling.attention_factor is None,
        edit=_set_own_attention,
        hint=N_(
            "The attention factor multiplies cosines and sines, so scores grow by its square; off: a factor "
            "of your choice"
        ),
        shown=lambda e: hasattr(_scaling(e), "attention_factor"),
    ),
    row("position.scaling.attention_factor", name="yarn_attention_field"),
    _turns("llama3_low_field", "low_freq_factor", lambda llama: (0.01, llama.high_freq_factor - 0.01)),
    _turns("llama3_high_field", "high_freq_factor", lambda llama: (llama.low_freq_factor + 0.01, 1e4)),
)


def scaling_note(site: Site) -> str:
    """Effect of the scaling on this sequence; empty if the dials suffice."""
    scaling = _scaling(site)
    return "" if scaling is None else row_of(scaling).note(rotation(site))
