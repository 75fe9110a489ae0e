"""Formulas cut into parts, each with its stage: hovering one highlights the other."""

from __future__ import annotations

import re
from dataclasses import dataclass

from attnviz.explain.formulas.block import activation_title, residual_factor
from attnviz.explain.formulas.stages import stage_formula
from attnviz.i18n import _
from attnviz.model.normalisers import NORMALISER_BY_ID
from attnviz.model.spec.site import Site
from attnviz.model.stages import STAGE_BY_ID, as_read, inputs


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
    read = inputs(stage, present)
    named = {}
    row = STAGE_BY_ID[stage]
    for candidates, symbols in zip(row.reads, row.symbols, strict=False):
        found = next((source for source in read if source in candidates), "")
        named.update({symbol: found for symbol in symbols.split() if found})
    return named


def site_lines(site: Site, present: tuple[str, ...]) -> tuple[Parts, ...]:
    """Queries, keys and values as a formula, the attention as another, and its feed-forward layer.

    Such as `q k v = norm(x) W` and `x + softmax(mask(q kᵀ ÷ √4)) v W_O`; each part carries the stage that it
    makes.
    """
    attention = _attention_line(site, present)
    lines = _projection_line(present), attention, _ffn_line(site, present)
    return tuple(line for line in lines if line)


_LETTERS = {"memory": "m", "latent": "c", "q_latent": "c_Q", "q_latent_normed": "c_Q"}


def _projection_line(present: tuple[str, ...]) -> Parts:
    """Projections of queries, keys and values: `q = norm(x) W`, `k v = m W`, or all of one; and latents."""
    groups: dict[str, list[str]] = {}
    for name in ("q", "k", "v"):
        groups.setdefault(inputs(name, present)[0], []).append(name)
    lines = [(tuple(Part(name, name) for name in names), source) for source, names in groups.items()]
    for latent in ("q_latent", "latent"):
        if latent in present:
            lines.append(((Part(_LETTERS[latent], latent),), _entering(latent, present)))
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
    return (Part(_LETTERS.get(source, "x"), source),)


def _entering(latent: str, present: tuple[str, ...]) -> str:
    """Input of a latent: not the step before its norm."""
    source = inputs(latent, present)[0]
    return inputs(source, present)[0] if source == "latent_projected" else source


def _attention_line(site: Site, present: tuple[str, ...]) -> Parts:
    q, k = as_read("q", present), as_read("k", present)
    parts: Parts = (Part("q", q), Part(" ", "scores"), Part("kᵀ", k))
    for stage in ("relative", "scaled", "capped", "biased", "added", "masked", "weights", "dropped"):
        if stage in present:
            before, after = _wrapping(site, stage, present)
            parts = (*_texts(before, stage), *parts, *_texts(after, stage))
    if "combined" in present:
        parts = (Part("(", "combined"), *parts, Part(" − λ w₂)", "combined"))
    values = as_read("v", present)
    parts = (*parts, Part(" ", "mixed"), Part("v", values))
    if "mixed_normed" in present:
        parts = (Part("(1 − λ₀) norm(", "mixed_normed"), *parts, Part(")", "mixed_normed"))
    if "gated" in present:
        parts = (Part("(", "gated"), *parts, Part(") · ", "gated"), Part("σ(g)", "gate"))
    parts = (*parts, Part(" W_O", "attention_output"))
    followed_by = ("attention_dropped", "attention_normed", "residual_1", "norm_1")
    return _closed(site, parts, present, followed_by, "attention_output")


def _wrapping(site: Site, stage: str, present: tuple[str, ...]) -> tuple[str, str]:
    """Text before and after the scores in the formula of a stage."""
    if stage == "relative":
        return "(", f" {_('+ rel')})"
    if stage == "scaled":
        return "", _scale(site)
    if stage == "biased":
        return "", f" {_('+ bias')}"
    if stage == "added":
        return "", " + M"
    if stage == "weights":
        return f"{_(NORMALISER_BY_ID[site.normaliser].title)}(", ")"
    word = {"capped": _("cap"), "masked": _("mask"), "dropped": "dropout"}[stage]
    return f"{word}(", ")"


def _scale(site: Site) -> str:
    heat = "" if site.temperature == 1.0 else f" ÷ {site.temperature:.3g}"
    sign, _number, written = site.scale.step(site.d_qk)
    return f" {sign} {written}{heat}" if sign else heat


def _ffn_line(site: Site, present: tuple[str, ...]) -> Parts:
    block = site.block
    if block is None or block.feed_forward is None:
        return ()
    entered = _entered(inputs("ffn_up", present)[0], block.placement, present)
    up = (*entered, Part(" W_up", "ffn_up"))
    name = _(activation_title(block.feed_forward))
    gate = (*entered, Part(" W_gate", "ffn_gate"))
    if "ffn_up_routed" in present:
        up, gate = (*up, Part(" · G", "ffn_up_routed")), (*gate, Part(" · G", "ffn_gate_routed"))
    inner = (*gate, Part(", ", "ffn_hidden"), *up)
    parts = (
        Part(f"{name}(", "ffn_hidden"),
        *(inner if block.feed_forward.gated else up),
        Part(")", "ffn_hidden"),
        *((Part(" · G", "ffn_routed"),) if "ffn_routed" in present else ()),
        Part(" W_down", "ffn_output"),
    )
    followed_by = ("ffn_dropped", "ffn_normed", "residual_2", "norm_2")
    return _closed(site, parts, present, followed_by, "ffn_output")


def _entered(read: str, placement: str, present: tuple[str, ...]) -> Parts:
    """Input of the feed-forward layer: y, or the norm of it; in a parallel block of x."""
    letter = "x" if placement == "parallel" else "y"
    if read not in ("norm_1", "norm_2") or placement == "post":
        return (Part(letter, read),)
    return (Part("norm(", read), Part(letter, inputs(read, present)[0]), Part(")", read))


def _closed(site: Site, parts: Parts, present: tuple[str, ...], after: tuple[str, ...], made: str) -> Parts:
    """A formula with what follows the stage `made`, in its order: dropout, norm, residual connection."""
    for stage in present[present.index(made) + 1 :]:
        if stage not in after or made not in _reads_through(stage, present):
            continue
        if stage in ("residual_1", "residual_2"):
            source = inputs(stage, present)[0]
            letter = "x" if stage == "residual_1" else "y"
            factor = "" if site.block is None else residual_factor(site.block)
            parts = (Part(letter, source), Part(f" + {factor}", stage), *parts)
        else:
            word = "dropout" if stage.endswith("_dropped") else "norm"
            parts = (Part(f"{word}(", stage), *parts, Part(")", stage))
    return parts


def _reads_through(stage: str, present: tuple[str, ...]) -> tuple[str, ...]:
    """The inputs of a stage, and theirs, two steps back: enough from a norm over the sum to its terms."""
    near = inputs(stage, present)
    further = tuple(source for name in near for source in inputs(name, present))
    return (*near, *further, *(source for name in further for source in inputs(name, present)))


def _texts(text: str, stage: str) -> Parts:
    return (Part(text, stage),) if text else ()
