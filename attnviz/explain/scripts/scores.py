"""The stages between q, k and the mixture."""

from __future__ import annotations

from attnviz.explain.scripts.code import Asked
from attnviz.explain.scripts.sources import table


def additive_mask_addend(asked: Asked) -> str:
    """The additive mask, 0 past its end."""
    site, mask = asked.site, asked.site.additive_mask
    assert mask is not None
    return f" + {table(asked, 'M', mask.fitted(site.heads.n_heads, site.n_queries, site.n_keys))}"
