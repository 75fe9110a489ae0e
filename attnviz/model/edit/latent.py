"""Edits of multi-head latent attention: pure functions Site -> Site, on one site.

Like other edits they keep what fits: explicit matrices are cut, or padded with zeros, head by head. A setting
that excludes a latent raises the experiment's own error.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from attnviz.model.edit.fitting import fitted_latent
from attnviz.model.operands.latent import latent_of
from attnviz.model.operands.matrices import latent_numbers, projection_array
from attnviz.model.positions import changes
from attnviz.model.spec.arrays import Matrix, cut_or_filled
from attnviz.model.spec.attention import edits_beside_latent
from attnviz.model.spec.block import Norm, Weights
from attnviz.model.spec.latent import Latent, LatentRole, qk_norm_beside_latent
from attnviz.model.spec.parts import ROLES, Explicit, Heads, Identity, Projection, Projections, Seeded
from attnviz.model.spec.rows import WrittenRow
from attnviz.model.spec.site import Site, sizes
from attnviz.model.spec.value import Refusal

Array = NDArray[np.float64]

RMS = Norm("rms", 1e-6)
"""Norm of both latents in DeepSeek-V2 and V3."""


def first_latent(site: Site) -> Latent:
    """The default latent, if none was seen before.

    d_c is half the width of all heads together; d_rope is half a head's, as in DeepSeek-V2, if the position
    is rotary, else 0.
    """
    heads = site.heads
    return Latent(max(heads.n_heads * heads.d_head // 2, 1), d_rope=_first_d_rope(site), norm=RMS)


def _first_d_rope(site: Site) -> int:
    return max(site.heads.d_head // 4 * 2, 2) if changes(site.position) == "rotation" else 0


def why_no_latent(site: Site) -> Refusal:
    """Why keys and values of a site cannot be projected from a latent that has features to rotate."""
    beside = site.position.beside_latent(_first_d_rope(site))
    return qk_norm_beside_latent(site.qk_norm) or beside or edits_beside_latent(site.edits)


def why_no_projections(site: Site) -> Refusal:
    """Why keys and values of a site cannot be projected from its input."""
    return site.position.at_sizes(sizes(site.n_queries, site.d_for(site.position), site.heads, None))


def set_latent(
    site: Site,
    latent: Latent | None,
    key: Projection | None = None,
    value: Projection | None = None,
) -> Site:
    """Project keys and values from a latent, or from x again.

    With a latent every head has its own keys and values, and W_K and W_V are removed; without one they are
    `key` and `value` if these still fit, else random.

    Raises:
        ValueError: the experiment has a setting that excludes a latent.
    """
    heads, projections = site.heads, _untied(site)
    if latent is None:
        sources = {"key": _fitting(site, key, 1), "value": _fitting(site, value, 2)}
    else:
        heads = Heads(heads.n_heads, heads.n_heads, heads.d_head, heads.off)
        sources = {"key": Identity(), "value": Identity()}
    projections = replace(projections, **sources, key_bias=None, value_bias=None)
    return _refitted(site, latent, heads, projections)


def set_latent_size(site: Site, **sizes: int | None) -> Site:
    """Change d_c, d_q (None: no latent of the query) or d_rope, which is rounded down to an even number."""
    latent = latent_of(site)
    d_rope = sizes.get("d_rope")
    if d_rope is not None:
        sizes["d_rope"] = d_rope - d_rope % 2
    if "d_q" in sizes and (sizes["d_q"] is None) != (latent.d_q is None):
        latent = replace(latent, query_norm=None if sizes["d_q"] is None else RMS, **sizes)
    else:
        latent = replace(latent, **sizes)
    is_width_of_query = sizes.keys() != {"d_c"}
    projections = _untied(site) if is_width_of_query else site.projections
    return _refitted(site, latent, site.heads, projections)


def set_latent_norm(site: Site, name: str, norm: Norm | None) -> Site:
    """Change `norm` or `query_norm` of the latents."""
    return replace(site, latent=replace(latent_of(site), **{name: norm}))


def set_latent_weights(site: Site, role: LatentRole, source: Weights) -> Site:
    """Choose the source of one of the latent's matrices."""
    return replace(site, latent=replace(latent_of(site), **{role: source}))


def latent_written_out(site: Site, role: LatentRole) -> Explicit:
    """One of the latent's matrices as explicit numbers."""
    return Explicit(Matrix(latent_numbers(site, role)()))


def _refitted(site: Site, latent: Latent | None, heads: Heads, projections: Projections) -> Site:
    """The site with another latent; W_Q, its bias and the position are fitted."""
    latent = fitted_latent(latent, site.d_model, site.d_keys, heads)
    rows = site.d_model if latent is None else latent.d_q or site.d_model
    widths = site.d_qk, heads.d_head + (0 if latent is None else latent.d_rope)
    changes: dict[str, Any] = {}
    query, bias = projections.query, projections.query_bias
    if query.written is not None:
        changes["query"] = Explicit(Matrix(_by_head(query.written.array, rows, heads.n_heads, widths)))
    if bias is not None and bias.written is not None:
        changes["query_bias"] = WrittenRow(Matrix(_by_head(bias.written.array, 1, heads.n_heads, widths)))
    return replace(
        site,
        latent=latent,
        heads=heads,
        projections=replace(projections, **changes),
        position=site.position.fitted(sizes(site.n_queries, site.d_for(site.position), heads, latent)),
    )


def _by_head(values: Array, rows: int, n_heads: int, widths: tuple[int, int]) -> Array:
    """Reshape (in, h·old) to (rows, h·new): each head keeps its first features, new ones are zero."""
    old, new = widths
    kept = cut_or_filled(values, (rows, n_heads * old)).reshape(rows, n_heads, old)
    fitted = np.zeros((rows, n_heads, new))
    width = min(old, new)
    fitted[:, :, :width] = kept[:, :, :width]
    return fitted.reshape(rows, n_heads * new)


def _untied(site: Site) -> Projections:
    """The projections, with shared matrices made explicit: shapes are about to change."""
    projections = site.projections
    tied = [role for role in ROLES if projections.tied_to(role) is not None]
    written = {role: Explicit(Matrix(projection_array(site, role))) for role in tied}
    return replace(projections, **written)


def _fitting(site: Site, source: Projection | None, seed: int) -> Projection:
    """`source` where it is no tie and still fits keys and values, else a drawn matrix."""
    if source is None or source.tied_to is not None:
        return Seeded(seed)
    fits = source.written is None or source.written.shape == site.projection_shape("key")
    return source if fits else Seeded(seed)
