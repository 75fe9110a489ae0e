"""Fitting of explicit matrices to other shapes: cut where they are too large, zeros where too small."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from attnviz.errors import FieldError, must_be
from attnviz.model.operands.matrices import projection_array
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.block import (
    FEED_FORWARD_ROLES,
    NORMS,
    Block,
    FeedForward,
    Norm,
    Transform,
    Vocabulary,
)
from attnviz.model.spec.latent import Latent
from attnviz.model.spec.parts import (
    ROLES,
    Alibi,
    Explicit,
    ExplicitSinks,
    Heads,
    Position,
    Projections,
    QKNorm,
    Role,
    Rope,
    Sinks,
    Tied,
)
from attnviz.model.spec.positions import Encoding, WrittenTable
from attnviz.model.spec.rows import WrittenRow
from attnviz.model.spec.site import Site

Array = NDArray[np.float64]
Encoded = TypeVar("Encoded", bound=Encoding)
Owner = TypeVar("Owner", Projections, QKNorm | None, Norm | None, FeedForward, Transform)
Shapes = dict[Role, tuple[int, int]]


def cut_or_filled(values: Array, shape: tuple[int, int]) -> Array:
    """`values` in another shape: old numbers keep their places, new ones are zero."""
    fitted = np.zeros(shape)
    rows, columns = min(shape[0], values.shape[0]), min(shape[1], values.shape[1])
    fitted[:rows, :columns] = values[:rows, :columns]
    return fitted


def fitted_tables(position: Encoded, d_model: int, heads: Heads) -> Encoded:
    """The position with every explicit table cut, or padded with zeros, to its required shape."""
    changes = {}
    for name, shape in position.table_shapes(d_model, heads.n_heads, heads.d_head).items():
        table = getattr(position, name)
        if isinstance(table, WrittenTable) and table.values.shape != shape:
            changes[name] = WrittenTable(Matrix(cut_or_filled(table.values.array, shape)))
    return replace(position, **changes)


def fitted_attention(site: Site, d_model: int, d_keys: int, heads: Heads) -> dict[str, Any]:
    """The fields of an attention and its block, fitted to other shapes.

    Its tokens have `d_model` features, the input of keys and values has `d_keys`.
    """
    latent = fitted_latent(site.latent, d_model, d_keys, heads)
    d_query, d_kv = heads.n_heads * heads.d_head, heads.n_kv_heads * heads.d_head
    d_rope = 0 if latent is None else latent.d_rope
    d_query_in = d_model if latent is None else latent.d_q or d_model
    shapes: Shapes = {
        "query": (d_query_in, d_query + heads.n_heads * d_rope),
        "key": (d_keys, d_kv),
        "value": (d_keys, d_kv),
        "output": (d_query, d_model),
    }
    return {
        "heads": heads,
        "projections": _fitted_projections(site, shapes),
        "latent": latent,
        "qk_norm": _fitted_rows(site.qk_norm, dict.fromkeys(("query_gain", "key_gain"), heads.d_head)),
        "position": _fitted_position(site.position, d_model, heads, latent),
        "sinks": fitting_sinks(site.sinks, heads),
        "block": fitted_block(site.block, d_model),
    }


def _fitted_projections(site: Site, shapes: Shapes) -> Projections:
    projections = site.projections
    for role in ROLES:
        source = getattr(projections, role)
        if isinstance(source, Explicit) and source.values.shape != shapes[role]:
            values = cut_or_filled(source.values.array, shapes[role])
            projections = replace(projections, **{role: Explicit(Matrix(values))})
        elif isinstance(source, Tied) and not has_tied_shape(shapes, role, source.to):
            values = cut_or_filled(projection_array(site, role), shapes[role])
            projections = replace(projections, **{role: Explicit(Matrix(values))})
    return _fitted_rows(projections, {f"{role}_bias": shapes[role][1] for role in ROLES})


def has_tied_shape(shapes: Shapes, role: Role, to: Role) -> bool:
    """True if W of `role` may be that of `to`; the output projection takes and provides a transpose."""
    target = shapes[to][::-1] if (role == "output") != (to == "output") else shapes[to]
    return target == shapes[role]


def fitted_latent(latent: Latent | None, d_model: int, d_keys: int, heads: Heads) -> Latent | None:
    """A latent whose explicit matrices, gains and biases are cut, or padded with zeros, to fit."""
    if latent is None:
        return None
    changes: dict[str, Any] = {"norm": fitted_norm(latent.norm, latent.d_c)}
    if latent.d_q is not None:
        changes["query_norm"] = fitted_norm(latent.query_norm, latent.d_q)
    for role in latent.roles():
        source, shape = getattr(latent, role), latent.shape(role, d_model, d_keys, heads)
        if isinstance(source, Explicit) and source.values.shape != shape:
            changes[role] = Explicit(Matrix(cut_or_filled(source.values.array, shape)))
    return replace(latent, **changes)


def _fitted_position(position: Position, d_model: int, heads: Heads, latent: Latent | None) -> Position:
    if isinstance(position, Rope):
        name, most = ("heads.d_head", heads.d_head) if latent is None else ("latent.d_rope", latent.d_rope)
        even = most - most % 2
        n_rotated = position.n_rotated
        if most % 2 or (n_rotated is not None and n_rotated > most):
            n_rotated = even or None
        if most < 2:
            raise FieldError(name, most, must_be("at least 2 with rotary positions"))
        pairs = (most if n_rotated is None else n_rotated) // 2
        multipliers, scaling = position.multipliers[:pairs], position.scaling.cut_to(pairs)
        return replace(position, n_rotated=n_rotated, multipliers=multipliers, scaling=scaling)
    if isinstance(position, Alibi) and position.slopes and len(position.slopes) != heads.n_heads:
        return replace(position, slopes=None)
    return fitted_tables(position, d_model, heads)


def fitted_block(block: Block | None, d_model: int) -> Block | None:
    """A block with explicit gains, biases and matrices cut, or padded with zeros, to d_model features."""
    if block is None:
        return None
    changes: dict[str, Any] = {name: fitted_norm(getattr(block, name), d_model) for name in NORMS}
    ffn = block.feed_forward
    if ffn is not None:
        shapes = {role: ffn.shape(role, d_model) for role in FEED_FORWARD_ROLES}
        for role, shape in shapes.items():
            source = getattr(ffn, role)
            if isinstance(source, Explicit) and source.values.shape != shape:
                values = cut_or_filled(source.values.array, shape)
                ffn = replace(ffn, **{role: Explicit(Matrix(values))})
        biases = {f"{role}_bias": shape[1] for role, shape in shapes.items()}
        changes["feed_forward"] = _fitted_rows(ffn, biases)
    return replace(block, **changes)


def fitted_norm(norm: Norm | None, features: int) -> Norm | None:
    """A norm whose explicit gain and bias are cut, or padded with zeros, to `features` features."""
    return _fitted_rows(norm, {"gain": features, "bias": features})


def fitted_vocabulary(vocabulary: Vocabulary | None, d_model: int) -> Vocabulary | None:
    """A vocabulary whose matrices and transform are cut, or padded with zeros, to d_model features."""
    if vocabulary is None or vocabulary.embedding.shape[1] == d_model:
        return vocabulary
    n, output = len(vocabulary.tokens), vocabulary.unembedding
    return replace(
        vocabulary,
        embedding=Matrix(cut_or_filled(vocabulary.embedding.array, (n, d_model))),
        unembedding=None if output is None else Matrix(cut_or_filled(output.array, (d_model, n))),
        transform=_fitted_transform(vocabulary.transform, d_model),
    )


def _fitted_transform(transform: Transform | None, d_model: int) -> Transform | None:
    if transform is None:
        return None
    weights = transform.weights
    if isinstance(weights, Explicit):
        weights = Explicit(Matrix(cut_or_filled(weights.values.array, (d_model, d_model))))
    changed = replace(transform, weights=weights, norm=fitted_norm(transform.norm, d_model))
    return _fitted_rows(changed, {"bias": d_model})


def _fitted_rows(owner: Owner, lengths: dict[str, int]) -> Owner:
    """`owner` with its explicit rows cut, or padded with zeros, to these lengths; null stays null."""
    if owner is None:
        return owner
    changes = {}
    for field, length in lengths.items():
        row = getattr(owner, field)
        if isinstance(row, WrittenRow) and row.values.shape[1] != length:
            changes[field] = WrittenRow(Matrix(cut_or_filled(row.values.array, (1, length))))
    return replace(owner, **changes) if changes else owner


def fitting_sinks(sinks: Sinks | None, heads: Heads) -> Sinks | None:
    """`sinks` for these heads: surplus numbers are cut, missing ones are 0."""
    if isinstance(sinks, ExplicitSinks) and len(sinks.values) != heads.n_heads:
        missing = max(0, heads.n_heads - len(sinks.values))
        return ExplicitSinks((*sinks.values, *(0.0,) * missing)[: heads.n_heads])
    return sinks
