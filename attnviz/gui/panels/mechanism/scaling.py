"""RoPE's scaling: its numbers, and a sentence about its effect on the present sequence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attnviz.gui.forms.fields import FormField, Slider, Switch
from attnviz.gui.forms.paths import row
from attnviz.i18n import N_
from attnviz.model.edit.paths import put_at, value_at
from attnviz.model.fields import rows_of
from attnviz.model.positions import magnitude, n_rotated, rotation
from attnviz.model.scalings import SCALINGS, row_of
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


def _divisors(name: str) -> dict[str, Any]:
    """The divisor of the slowest pair; those of the others follow in equal ratios, from 1 on."""
    path = f"position.scaling.{name}"

    def read(site: Any) -> float:
        written, pairs = value_at(site, path), n_rotated(site) // 2
        return float(written[-1]) if len(written) == pairs else 1.0

    def edit(site: Site, value: float) -> Site:
        pairs = n_rotated(site) // 2
        return put_at(site, path, tuple(value ** (pair / max(pairs - 1, 1)) for pair in range(pairs)))

    return {"kind": Slider, "read": read, "edit": edit}


def _within(limits: Callable[[Any], tuple[float, float]]) -> dict[str, Any]:
    """A number of rotations over the original length: one end of the ramp between unchanged and divided
    pairs.
    """
    return {"limits": lambda e: limits(e.position.scaling)}


_SPECIAL: dict[str, dict[str, Any]] = {
    "short_factor": _divisors("short_factor"),
    "long_factor": _divisors("long_factor"),
    "beta_fast": _within(lambda yarn: (yarn.beta_slow + 0.01, 1e6)),
    "beta_slow": _within(lambda yarn: (0.01, yarn.beta_fast - 0.01)),
    "low_freq_factor": _within(lambda llama: (0.01, llama.high_freq_factor - 0.01)),
    "high_freq_factor": _within(lambda llama: (llama.low_freq_factor + 0.01, 1e4)),
}
"""Settings of rows that no description of a field holds, by the name of the field."""

_USUAL: dict[str, Switch[Site]] = {
    "length": Switch(
        name="scaling_own_length_toggle",
        label=N_("Present length"),
        read=lambda e: e.position.scaling.length is None,
        edit=_set_own_length,
        hint=N_(
            "Computes the frequencies for the present number of positions; off: for a length of your choice"
        ),
        shown=lambda e: hasattr(_scaling(e), "length"),
    ),
    "attention_factor": Switch(
        name="scaling_own_attention_toggle",
        label=N_("Default factor"),
        read=lambda e: e.position.scaling.attention_factor is None,
        edit=_set_own_attention,
        hint=N_(
            "The attention factor multiplies cosines and sines, so scores grow by its square; off: a factor "
            "of your choice"
        ),
        shown=lambda e: hasattr(_scaling(e), "attention_factor"),
    ),
}
"""The switch above a nullable number."""


def _rows(name: str) -> tuple[FormField[Site], ...]:
    own = row(f"position.scaling.{name}", **_SPECIAL.get(name, {}))
    return (_USUAL[name], own) if name in _USUAL else (own,)


# The last scalings have the most fields: the order of theirs suits all.
_NAMES = dict.fromkeys(field.name for kind in reversed(SCALINGS) for field in rows_of(kind.record))
SCALING_FIELDS: tuple[FormField[Site], ...] = tuple(made for name in _NAMES for made in _rows(name))
"""The rows of every field of every scaling; a field that several have is one row."""


def scaling_note(site: Site) -> str:
    """Effect of the scaling on this sequence; empty if the dials suffice."""
    scaling = _scaling(site)
    return "" if scaling is None else row_of(scaling).note(rotation(site))
