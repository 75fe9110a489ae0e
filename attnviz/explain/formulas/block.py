"""Formulas of a block and a read-out for one site, without its unused parts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

from attnviz.core.block import ACTIVATION_BY_ID, GATED_UNIT_BY_ID
from attnviz.errors import FieldError, must_be
from attnviz.i18n import _
from attnviz.model.operands.latent import latent_letters, latent_norm
from attnviz.model.qk_norms import QK_NORM_BY_ID
from attnviz.model.spec.block import Block, FeedForward, Norm, Transform, Vocabulary
from attnviz.model.spec.parts import QKNorm
from attnviz.model.spec.site import Site
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.weights import bias_symbol

Letters = tuple[str, str]
"""A formula, and the short label of its step."""

_IN_BLOCK = {"norm_1": "norm_1", "attention_normed": "after_1", "norm_2": "norm_2", "ffn_normed": "after_2"}


def norm_at(site: Site, stage: str) -> Norm | None:
    """The norm that computes a stage; None if the stage is no norm, or has none."""
    if STAGE_BY_ID[stage].phase == "heads":
        return latent_norm(site, stage)
    if stage == "transform_normed":
        return transform_of(site).norm
    if stage in ("x_normed", "output"):
        return site.embedding_norm if stage == "x_normed" else site.final_norm
    found = getattr(site.block, _IN_BLOCK[stage]) if site.block and stage in _IN_BLOCK else None
    assert found is None or isinstance(found, Norm)
    return found


def transform_of(site: Site) -> Transform:
    """The transform before the vocabulary's matrix. Raises `ValueError` without one."""
    known = site.vocabulary
    if known is None or known.transform is None:
        raise FieldError("vocabulary.transform", None, must_be("a transform for its stages"))
    return known.transform


def norm_letters(norm: Norm, x: str) -> str:
    """A norm of x, with its gain and its bias: `gain · x ÷ √(Σ x² ÷ d + ε)`."""
    gain = f"{_('gain')} · " if norm.gain is not None else ""
    bias = f" + {_('bias')}" if norm.bias is not None else ""
    return f"{gain}{_(QK_NORM_BY_ID[norm.kind].formula).replace('x', x)}{bias}"


def qk_norm_letters(norm: QKNorm, name: Literal["q", "k"]) -> str:
    """The norm of queries or keys, with its gain."""
    gain = norm.query_gain if name == "q" else norm.key_gain
    letters = _(QK_NORM_BY_ID[norm.kind].formula).replace("x", name)
    return letters if gain is None else f"{_('gain')} · {letters}"


def letter_of_norm(site: Site, stage: str) -> str:
    """Letter of a norm's input in formulas.

    x is the input, o the attention's output, y = x + o, f the feed-forward layer's output, z = y + f; after
    dropout o′ and f′.
    """
    block = site.block
    o, f = ("o", "f") if block is None else output_letters(block)
    fixed = {"x_normed": "x", "attention_normed": o, "ffn_normed": f, "latent": "c"}
    fixed |= {"q_latent_normed": "c_Q", "transform_normed": "h"}
    if stage in fixed or block is None:
        return fixed.get(stage, "x" if stage == "norm_1" else "o")
    y, z = ("y", "z") if block.residual else (o, f)
    if stage == "output":
        last, norm = (z, block.norm_2) if block.feed_forward is not None else (y, block.norm_1)
        return f"norm({last})" if block.placement == "post" and norm is not None else last
    if block.placement == "parallel":
        return "x"
    is_post = block.placement == "post"
    return (y if is_post else "x") if stage == "norm_1" else (z if is_post else y)


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
    norm = norm_at(site, stage)
    if norm is not None:
        return norm_letters(norm, letter_of_norm(site, stage)), _(QK_NORM_BY_ID[norm.kind].title)
    latent, row = latent_letters(site, stage), STAGE_BY_ID[stage]
    bias = bias_symbol(site, row)
    if bias:
        formula, operation = latent or (row.formula, row.operation)
        return f"{formula} + {bias}", f"{operation} + b"
    return latent or _LETTERS.get(stage, _none)(site)


def _none(site: Site) -> Letters:
    return "", ""


def _normed(name: Literal["q", "k"], site: Site) -> Letters:
    norm = site.qk_norm
    return ("", "") if norm is None else (qk_norm_letters(norm, name), _(QK_NORM_BY_ID[norm.kind].title))


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
    "q_normed": partial(_normed, "q"),
    "k_normed": partial(_normed, "k"),
    "residual_1": partial(_residual, "residual_1"),
    "residual_2": partial(_residual, "residual_2"),
    "ffn_hidden": _hidden,
    "transform_hidden": _transform_hidden,
    "logits": _logits,
}
"""Stages whose texts depend on more of the site than a norm, a bias or a latent."""
