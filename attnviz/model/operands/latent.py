"""Operands of multi-head latent attention: the latent, its letters, and the cached numbers."""

from __future__ import annotations

from attnviz.errors import FieldError, must_be
from attnviz.model.spec.attention import Mixer
from attnviz.model.spec.latent import Latent
from attnviz.model.spec.site import Site
from attnviz.model.stages import STAGE_BY_ID, kept_for_later


def latent_of(attention: Mixer) -> Latent:
    """The latent. Raises `ValueError` without one."""
    if attention.latent is None:
        raise FieldError("latent", None, must_be("a latent for its stages"))
    return attention.latent


def latent_letters(attention: Mixer, stage: str) -> tuple[str, str] | None:
    """(formula, operation) of queries, keys and values beside a latent; None for the others."""
    latent = attention.latent
    if latent is None or stage not in ("q", "k", "v"):
        return None
    if stage == "q":
        return None if latent.d_q is None else ("q = c_Q W_UQ", "×W_UQ")
    if stage == "v":
        return "v = c W_UV", "×W_UV"
    return ("k = [c W_UK ; kᴿ]" if latent.d_rope else "k = c W_UK"), "×W_UK"


def cached_numbers(attention: Site) -> int:
    """Numbers that have to be kept of one token for later queries.

    2 · g · d_head, a key and a value for each key/value head; with a latent d_c + d_rope, whatever h is.
    """
    latent = attention.latent
    return expanded_numbers(attention) if latent is None else latent.d_c + latent.d_rope


def expanded_numbers(attention: Site) -> int:
    """Numbers of one token's keys and values in all heads: what there would be to keep without a latent."""
    widths = (STAGE_BY_ID[stage].width(attention) for stage in kept_for_later())
    return attention.heads.n_kv_heads * sum(widths)
