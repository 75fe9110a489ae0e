"""Edits of differential attention: pure functions Site -> Site, on one site."""

from __future__ import annotations

from msgspec.structs import replace

from attnviz.model.edit.fitting import fitted_differential
from attnviz.model.spec.differential import Differential
from attnviz.model.spec.site import Site


def set_differential(site: Site, differential: Differential | None) -> Site:
    """Subtract the weights of partner heads, or do not; explicit vectors of λ are fitted.

    Raises `ValueError` for an odd number of heads.
    """
    return replace(site, differential=fitted_differential(differential, site.heads))
