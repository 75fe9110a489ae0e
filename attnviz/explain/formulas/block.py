"""Formulas of a block and a read-out for one site, without its unused parts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from attnviz.core.block import ACTIVATION_BY_ID, GATED_UNIT_BY_ID
from attnviz.errors import FieldError, must_be
from attnviz.i18n import _
from attnviz.model.binding import bind
from attnviz.model.operands.latent import latent_letters
from attnviz.model.sites.stages import Stages, site_stages
from attnviz.model.spec.block import Block, FeedForward
from attnviz.model.spec.site import Site
from attnviz.model.spec.vocabulary import Transform, Vocabulary
from attnviz.model.stages import STAGE_BY_ID, inputs
from attnviz.model.weights import bias_symbol

Letters = tuple[str, str]
"""A formula, and the short label of its step."""


def transform_of(site: Site) -> Transform:
    """The transform before the vocabulary's matrix. Raises `ValueError` without one."""
    known = site.vocabulary
    if known is None or known.transform is None:
        raise FieldError("vocabulary.transform", None, must_be("a transform for its stages"))
    return known.transform


def letter_of(stage: str, present: Stages) -> str:
    """Letter of the first input of a stage in formulas: x, o, f, what the formula of the input defines, or
    `norm(z)`; see `Stage.symbols`.
    """
    row, source = STAGE_BY_ID[stage], STAGE_BY_ID[inputs(stage, present)[0]]
    made, is_defined, _how = source.formula.partition(" = ")
    if source.phase == "input" or is_defined:
        return made if source.phase != "input" else "x"
    return f"norm({letter_of(source.id, present)})" if source.wraps else row.symbols[0].split()[-1]


def residual_factor(block: Block) -> str:
    """The factor of what a residual connection adds, and a dot; empty for 1."""
    return "" if block.residual_scale == 1.0 else f"{block.residual_scale:g} · "


def output_letters(block: Block) -> tuple[str, str]:
    """The outputs of attention and feed-forward layer: o and f, after dropout o′ and f′."""
    return ("o′", "f′") if block.dropout.active else ("o", "f")


def residual_letters(block: Block, stage: str) -> str:
    """y = x + o, or z = y + f, with the norms that stand between, and the factor."""
    factor, (o, f) = residual_factor(block), output_letters(block)
    if stage == "residual_1":
        return f"y = x + {factor}" + (f"norm({o})" if block.after_1 is not None else o)
    y = "norm(y)" if block.placement == "post" and block.norm_1 is not None else "y"
    return f"z = {y} + {factor}" + (f"norm({f})" if block.after_2 is not None else f)


def activation_letters(ffn: FeedForward) -> str:
    """The activation of up, or the gated unit of gate and up."""
    unit = GATED_UNIT_BY_ID[ffn.activation].formula
    letters = unit if ffn.gated else ACTIVATION_BY_ID[ffn.activation].formula.replace("z", "up")
    if ffn.experts is None or ffn.experts.weighted == "output":
        return letters
    return letters.replace("gate", "gate′").replace("up", "up′")


def activation_title(ffn: FeedForward) -> str:
    """The name of the activation, or of the gated unit: a message."""
    row = GATED_UNIT_BY_ID[ffn.activation] if ffn.gated else ACTIVATION_BY_ID[ffn.activation]
    return row.title


def logit_letters(vocabulary: Vocabulary, o: str) -> str:
    """Formula of a vocabulary's logit from the stage written `o`."""
    letters = f"Σ {o} · W_U" + (" + b_U" if vocabulary.bias is not None else "")
    if vocabulary.logit_scale != 1.0:
        letters = f"({letters}) × {_('scale')}"
    return letters if vocabulary.cap is None else f"cap · tanh(({letters}) ÷ cap)"


def block_letters(site: Site, stage: str) -> Letters:
    """(formula, operation) of a stage of linear maps, norms, residual connections or the read-out in this
    site, in the present language.

    Empty for others, and where the texts of `STAGES` suffice.
    """
    row = STAGE_BY_ID[stage]
    if row.made_by is not None and row.when(site):
        made = bind(site, stage)
        formula = made.formula(letter_of(stage, site_stages(site)))
        if formula:
            return formula, made.label
    latent = latent_letters(site, stage)
    bias = bias_symbol(site, row)
    if bias:
        formula, operation = latent or (row.formula, row.operation)
        return f"{formula} + {bias}", f"{operation} + b"
    return latent or _LETTERS.get(stage, _none)(site)


def _none(site: Site) -> Letters:
    return "", ""


def _residual(stage: str, site: Site) -> Letters:
    return "" if site.block is None else residual_letters(site.block, stage), ""


def _hidden(site: Site) -> Letters:
    ffn = None if site.block is None else site.block.feed_forward
    return ("", "") if ffn is None else (f"h = {activation_letters(ffn)}", _(activation_title(ffn)))


def _transform_hidden(site: Site) -> Letters:
    row = ACTIVATION_BY_ID[transform_of(site).activation]
    return f"h = {row.formula.replace('z', 't')}", _(row.title)


def _logits(site: Site) -> Letters:
    known = site.vocabulary
    if site.readout != "vocabulary" or known is None:
        return "", ""
    transform = known.transform
    read = "o" if transform is None else "h" if transform.norm is None else "norm(h)"
    return f"l = {logit_letters(known, read)}", "×W_U"


_LETTERS: dict[str, Callable[[Site], Letters]] = {
    "residual_1": partial(_residual, "residual_1"),
    "residual_2": partial(_residual, "residual_2"),
    "ffn_hidden": _hidden,
    "transform_hidden": _transform_hidden,
    "logits": _logits,
}
"""Stages whose texts depend on more of the site than a norm, a bias or a latent."""
