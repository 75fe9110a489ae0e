"""Formulas cut into parts, each with its stage: hovering one highlights the other."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from attnviz.explain.formulas.stages import stage_formula
from attnviz.i18n import _
from attnviz.model.binding import bind
from attnviz.model.normalisers import NORMALISER_BY_ID
from attnviz.model.spec.site import Site, Surroundings
from attnviz.model.stages import STAGE_BY_ID, inputs


@dataclass(frozen=True)
class Part:
    """A piece of a formula, and the stage that it names or computes; empty without a stage."""

    text: str
    stage: str = ""


Parts = tuple[Part, ...]

_SYMBOL = re.compile("[A-Za-zα-ωᴿ]+(?:_[A-Za-z0-9]+)?[′\u0302]?")


def stage_parts(site: Site, stage: str, present: tuple[str, ...]) -> Parts:
    """The formula of a stage in parts; joined, their texts are `stage_formula`."""
    formula = stage_formula(site, stage)
    named = _named_inputs(stage, present)
    parts: list[Part] = []
    end = 0
    for match in _SYMBOL.finditer(formula):
        is_own = match.start() == 0 and formula[match.end() :].startswith(" = ")
        found = stage if is_own else named.get(match[0], "")
        if found:
            parts += [Part(formula[end : match.start()])] if end < match.start() else []
            parts.append(Part(match[0], found))
            end = match.end()
    return (*parts, Part(formula[end:])) if end < len(formula) else tuple(parts)


def _named_inputs(stage: str, present: tuple[str, ...]) -> dict[str, str]:
    """The stage behind each symbol of an input that the trace has."""
    row, before = STAGE_BY_ID[stage], present[: present.index(stage)] if stage in present else present
    named = {}
    for slot, symbols in enumerate(row.symbols):
        found = row.input(slot, before)
        named.update({symbol: found for symbol in symbols.split() if found})
    return named


def site_lines(site: Site, present: tuple[str, ...]) -> tuple[Parts, ...]:
    """Queries, keys and values as a formula, the attention as another, and its feed-forward layer.

    Such as `q k v = norm(x) W` and `y = x + softmax(mask(q kᵀ ÷ √4)) v W_O`; each part carries the stage
    that it makes.
    """
    lines = _projection_line(present), *(_line(site, first, present) for first in _FIRST if first in present)
    return tuple(line for line in lines if line)


_FIRST = {"scores": "y", "ffn_up": "z"}
"""The stages that begin a formula, what they read being letters; with the letter of its result in a block."""


def _projection_line(present: tuple[str, ...]) -> Parts:
    """Projections of queries, keys and values: `q = norm(x) W`, `k v = m W`, or all of one; and latents."""
    groups: dict[str, list[str]] = {}
    for name in ("q", "k", "v"):
        groups.setdefault(inputs(name, present)[0], []).append(name)
    lines = [(tuple(Part(name, name) for name in names), source) for source, names in groups.items()]
    for latent in ("q_latent", "latent"):
        if latent in present:
            lines.append(((Part(STAGE_BY_ID[latent].letter, latent),), _entering(latent, present)))
    parts: Parts = ()
    for made, source in lines:
        parts = (*parts, *_texts("   " if parts else "", ""))
        for part in made:
            parts = (*parts, part, Part(" "))
        parts = (*parts, Part("= "), *_source_parts(source, present), Part(" W"))
    return parts


def _source_parts(source: str, present: tuple[str, ...]) -> Parts:
    """Source of the projections in their formula."""
    if source == "norm_1":
        return (Part("norm(", source), Part("x", inputs(source, present)[0]), Part(")", source))
    row = STAGE_BY_ID[source]
    return (Part(row.letter if row.phase == "heads" or source == "memory" else "x", source),)


def _entering(latent: str, present: tuple[str, ...]) -> str:
    """Input of a latent: not the step before its norm."""
    source = inputs(latent, present)[0]
    return inputs(source, present)[0] if source == "latent_projected" else source


def _line(site: Site, first: str, present: tuple[str, ...]) -> Parts:
    """The formula of the last stage that goes on from `first`: each one wraps those before it."""
    last = first
    for stage in present[present.index(first) + 1 :]:
        if last in _wrapped(stage, present) and not _enters(site.layer, stage):
            last = stage
    result: Parts = () if site.layer.block is None else (Part(_FIRST[first], last), Part(" = "))
    return (*result, *_written(site, last, present))


_FIELD = re.compile(r"\{(\w+):?([^}]*)\}")


def _wrapped(stage: str, present: tuple[str, ...]) -> tuple[str, ...]:
    """The inputs whose expressions stand in the formula of a stage, not their letters."""
    fields = _FIELD.findall(STAGE_BY_ID[stage].wraps)
    slots = (int(name) for name, letter in fields if name.isdigit() and not letter)
    return tuple(_source(stage, slot, present) for slot in slots)


def _source(stage: str, slot: int, present: tuple[str, ...]) -> str:
    return STAGE_BY_ID[stage].input(slot, present[: present.index(stage)])


def _written(site: Site, stage: str, present: tuple[str, ...]) -> Parts:
    """A stage as its row wraps its inputs; what stands behind an input that the trace lacks goes with it."""
    parts: Parts = ()
    text, end, wraps, is_missing = "", 0, STAGE_BY_ID[stage].wraps, False
    for match in _FIELD.finditer(wraps):
        text += "" if is_missing else wraps[end : match.start()]
        (name, letter), end, is_missing = match.groups(), match.end(), False
        if name.isdigit():
            source = _source(stage, int(name), present)
            is_missing = not source
            inner: Parts = (
                (Part(letter, source),) if letter else () if is_missing else _written(site, source, present)
            )
        elif name == "entered":
            inner = _entered(site.layer, inputs(stage, present)[0], present)
        else:
            text, inner = text + _WORDS[name](site, stage), ()
        if inner:
            parts, text = (*parts, *_texts(text, stage), *inner), ""
    return (*parts, *_texts(text + ("" if is_missing else wraps[end:]), stage))


def _scale(site: Site, stage: str) -> str:
    heat = "" if site.temperature == 1.0 else f" ÷ {site.temperature:.3g}"
    sign, _number, written = site.scale.step(site.d_qk)
    return f" {sign} {written}{heat}" if sign else heat


def _factor(site: Site, stage: str) -> str:
    """The factor of what a residual connection adds, and a dot; empty for 1."""
    scale = 1.0 if site.layer.block is None else site.layer.block.residual_scale
    return "" if scale == 1.0 else f"{scale:g} · "


_WORDS: dict[str, Callable[[Site, str], str]] = {
    "op": lambda site, stage: _(STAGE_BY_ID[stage].operation),
    "scale": _scale,
    "normaliser": lambda site, stage: _(NORMALISER_BY_ID[site.normaliser].title),
    "activation": lambda site, stage: bind(site, stage).title,
    "factor": _factor,
}
"""Words of `Stage.wraps`."""


def _enters(layer: Surroundings, stage: str) -> bool:
    """True for a norm before the feed-forward layer, which belongs to the formula of that."""
    return stage == "norm_2" and layer.block is not None and layer.block.placement != "post"


def _entered(layer: Surroundings, read: str, present: tuple[str, ...]) -> Parts:
    """Input of the feed-forward layer: y, or the norm of it; in a parallel block of x."""
    assert layer.block is not None
    placement = layer.block.placement
    letter = "x" if placement == "parallel" else "y"
    if read not in ("norm_1", "norm_2") or placement == "post":
        return (Part(letter, read),)
    return (Part("norm(", read), Part(letter, inputs(read, present)[0]), Part(")", read))


def _texts(text: str, stage: str) -> Parts:
    return (Part(text, stage),) if text else ()
