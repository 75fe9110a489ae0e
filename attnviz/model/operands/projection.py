"""Queries and keys of vectors at another position: from the input of a site to q and k."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from attnviz.model.operands.matrices import embedding_projection_numbers, latent_numbers, projection_array
from attnviz.model.provenance import kv_head
from attnviz.model.spec.block import Norm
from attnviz.model.spec.rows import Row, row_array
from attnviz.model.spec.site import Site
from attnviz.operations.norm import NORM_KIND_BY_ID

Floats = NDArray[np.float64]


def entered(site: Site, x: Floats) -> Floats:
    """Input of the projections, (n, d_model), for vectors with their positions already added."""
    block, widened = site.layer.block, site.layer.embedding_projection
    first = block.norm_1 if block is not None and block.placement != "post" else None
    x = normed(site.layer.embedding_norm, x)
    if widened is not None and site.inputs.begins:
        x = _plus(x @ embedding_projection_numbers(site)(), widened.bias)
    return normed(first, x)


def queries(site: Site, x: Floats, head: int) -> Floats:
    """q of one head as the scores would have it without RoPE, (n, d_qk)."""
    latent = site.latent
    if latent is not None and latent.d_q is not None:
        x = normed(latent.query_norm, x @ latent_numbers(site, "query_down")())
    weights, bias = projection_array(site, "query"), site.projections.query_bias
    columns = slice(head * site.d_qk, (head + 1) * site.d_qk)
    return _of_head(site, _plus(x @ weights, bias), columns, "query_gain")


def keys(site: Site, x: Floats, head: int) -> Floats:
    """k that query head `head` reads, (n, d_qk)."""
    d_head, group = site.heads.d_head, kv_head(site, head)
    columns = slice(group * d_head, (group + 1) * d_head)
    latent = site.latent
    if latent is not None:
        content = normed(latent.norm, x @ latent_numbers(site, "down")())
        content = (content @ latent_numbers(site, "up_key")())[:, columns]
        shared = x @ latent_numbers(site, "rope_key")() if latent.d_rope else content[:, :0]
        return np.concatenate((content, shared), axis=1)
    k = _plus(x @ projection_array(site, "key"), site.projections.key_bias)
    return _of_head(site, k, columns, "key_gain")


def _of_head(site: Site, heads: Floats, columns: slice, gain: str) -> Floats:
    """The columns of one head, normalised alone or with all the others."""
    norm = site.qk_norm
    if norm is None:
        return heads[:, columns]
    x = heads if norm.across else heads[:, columns]
    normalised = _times(NORM_KIND_BY_ID[norm.kind].function(np, x, norm.eps), getattr(norm, gain))
    return normalised[:, columns] if norm.across else normalised


def normed(norm: Norm | None, x: Floats) -> Floats:
    """Every row of `x` normalised, times the gain, plus the bias; `x` itself without a norm."""
    if norm is None:
        return x
    rows = NORM_KIND_BY_ID[norm.kind].function(np, x, norm.eps)
    return _plus(_times(rows, norm.gain), norm.bias)


def _times(rows: Floats, gain: Row | None) -> Floats:
    return rows if gain is None else rows * row_array(gain, rows.shape[-1])


def _plus(rows: Floats, bias: Row | None) -> Floats:
    return rows if bias is None else rows + row_array(bias, rows.shape[-1])
