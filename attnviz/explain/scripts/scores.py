"""The stages between q, k and the mixture."""

from __future__ import annotations

from attnviz.explain.scripts.code import Asked, Code
from attnviz.explain.scripts.functions import NORM_CODE
from attnviz.explain.scripts.sources import table


def additive_mask_addend(asked: Asked) -> str:
    """The additive mask, 0 past its end."""
    site, mask = asked.site, asked.site.additive_mask
    assert mask is not None
    return f" + {table(asked, 'M', mask.fitted(site.heads.n_heads, site.n_queries, site.n_keys))}"


def mixed_normed(asked: Asked) -> Code:
    """The features of both heads of a pair, normalised together, times 1 − λ₀."""
    site, (read,), axis = asked.site, asked.reads, asked.library.axis
    of, half, d_head = site.differential, site.heads.n_heads // 2, site.heads.d_head
    assert of is not None
    joined = f"{asked.library.join}(({read}[:{half}], {read}[{half}:]), {axis}=-1)"
    return asked.done(
        f"pairs = {1.0 - of.initial!r} * {NORM_CODE['rms'](asked)}({joined}, {of.eps!r})",
        f"mixed_normed = {asked.library.join}((pairs[..., :{d_head}], pairs[..., {d_head}:]))",
    )
