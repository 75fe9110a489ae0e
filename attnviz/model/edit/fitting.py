"""Fitting of explicit matrices to other shapes: cut where they are too large, zeros where too small.

Key/value heads are shared among others instead: each is repeated, or several become their mean.
"""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec.structs import replace
from numpy.typing import NDArray

from attnviz.model.operands.matrices import projection_array
from attnviz.model.positions import is_additive
from attnviz.model.spec.arrays import Matrix, in_float64
from attnviz.model.spec.block import FEED_FORWARD_ROLES, NORMS, Block, FeedForward, Norm
from attnviz.model.spec.differential import LAMBDA_ROWS, Differential
from attnviz.model.spec.gate import Gate
from attnviz.model.spec.latent import Latent
from attnviz.model.spec.parts import ROLES, Explicit, Heads, Projections, QKNorm, Role, is_transposed
from attnviz.model.spec.site import Site, sizes
from attnviz.model.spec.vocabulary import EmbeddingProjection, Transform, Vocabulary

Owner = TypeVar(
    "Owner",
    Projections,
    QKNorm | None,
    Norm | None,
    FeedForward,
    Transform,
    EmbeddingProjection,
    Gate,
    Differential,
)
Keys = TypeVar("Keys", Projections, QKNorm)
Shapes = dict[Role, tuple[int, int]]


def fitted_attention(
    site: Site, d_model: int, d_keys: int, heads: Heads, d_embedding: int | None = None
) -> dict[str, Any]:
    """The fields of an attention and its block, fitted to other shapes.

    Its layers read `d_model` features, the input of keys and values has `d_keys`; token vectors have
    `d_embedding`, None: as many as they have.
    """
    latent, mask = fitted_latent(site.latent, d_model, d_keys, heads), site.additive_mask
    d_query, d_kv = heads.n_heads * heads.d_head, heads.n_kv_heads * heads.d_head
    d_rope = 0 if latent is None else latent.d_rope
    d_query_in = d_model if latent is None else latent.d_q or d_model
    is_added = is_additive(site.position)
    projections, qk_norm = _of_kv_heads(site, heads)
    d_position = d_model if not is_added else site.d_embedding if d_embedding is None else d_embedding
    shapes: Shapes = {
        "query": (d_query_in, d_query + heads.n_heads * d_rope),
        "key": (d_keys, d_kv),
        "value": (d_keys, d_kv),
        "output": (d_query, d_model),
    }
    return {
        "heads": heads,
        "projections": _fitted_projections(site, projections, shapes),
        "latent": latent,
        "qk_norm": fitted_qk_norm(qk_norm, heads),
        "differential": fitted_differential(site.differential, heads),
        "gate": fitted_gate(site.gate, d_model, heads),
        "position": site.position.fitted(sizes(site.n_queries, d_position, heads, latent)),
        "additive_mask": mask and mask.of_heads(site.heads.n_heads, heads.n_heads),
        "sinks": None if site.sinks is None else site.sinks.fitted(heads.n_heads),
        "block": fitted_block(site.layer.block, d_model),
    }


def _of_kv_heads(site: Site, heads: Heads) -> tuple[Projections, QKNorm | None]:
    """The projections and the norm with explicit keys and values of as many heads as `heads` has.

    Where one count divides the other, more heads repeat the present ones, which changes no number of the
    result, and fewer are the means of those that they replace (Ainslie et al. 2023, GQA).
    """
    projections, norm = site.projections, site.qk_norm
    old, new = site.heads.n_kv_heads, heads.n_kv_heads
    is_alike = (site.heads.n_heads, site.heads.d_head) == (heads.n_heads, heads.d_head)
    if old == new or not is_alike or max(old, new) % min(old, new) or site.latent is not None:
        return projections, norm
    for role in ("key", "value", "key_bias", "value_bias"):
        projections = _with_heads(projections, role, old, new)
    if norm is not None and norm.across:
        norm = _with_heads(norm, "key_gain", old, new)
    return projections, norm


def _with_heads(owner: Keys, name: str, old: int, new: int) -> Keys:
    """An owner whose explicit numbers of `old` heads in a field are those of `new` ones."""
    source = getattr(owner, name)
    written = getattr(source, "written", None)
    if written is None:
        return owner
    return replace(owner, **{name: replace(source, values=Matrix(_regrouped(written.array, old, new)))})


def _regrouped(matrix: NDArray[Any], old: int, new: int) -> NDArray[Any]:
    """Columns of `old` heads as those of `new` ones, (rows, heads · d_head)."""
    rows = len(matrix)
    if new > old:
        return matrix.reshape(rows, old, -1).repeat(new // old, axis=1).reshape(rows, -1)
    by_heads = in_float64(matrix).reshape(rows, new, old // new, -1)
    return by_heads.mean(axis=2).reshape(rows, -1)


def _fitted_projections(site: Site, projections: Projections, shapes: Shapes) -> Projections:
    for role in ROLES:
        to, source = projections.tied_to(role), getattr(projections, role)
        if to is not None and not has_tied_shape(shapes, role, to):
            source = Explicit(Matrix(projection_array(site, role)))
        projections = replace(projections, **{role: source.fitted(shapes[role])})
    return _fitted_rows(projections, {f"{role}_bias": shapes[role][1] for role in ROLES})


def has_tied_shape(shapes: Shapes, role: Role, to: Role) -> bool:
    """True if W of `role` may be the one of `to`; the output projection takes, and gives, a transpose."""
    target = shapes[to][::-1] if is_transposed(role, to) else shapes[to]
    return target == shapes[role]


def fitted_latent(latent: Latent | None, d_model: int, d_keys: int, heads: Heads) -> Latent | None:
    """A latent whose explicit matrices, gains and biases are cut, or padded with zeros, to fit."""
    if latent is None:
        return None
    changes: dict[str, Any] = {"norm": fitted_norm(latent.norm, latent.d_c)}
    if latent.d_q is not None:
        changes["query_norm"] = fitted_norm(latent.query_norm, latent.d_q)
    for role in latent.roles():
        changes[role] = getattr(latent, role).fitted(latent.shape(role, d_model, d_keys, heads))
    return replace(latent, **changes)


def fitted_block(block: Block | None, d_model: int) -> Block | None:
    """A block with explicit gains, biases and matrices cut, or padded with zeros, to d_model features."""
    if block is None:
        return None
    changes: dict[str, Any] = {name: fitted_norm(getattr(block, name), d_model) for name in NORMS}
    ffn = block.feed_forward
    if ffn is not None:
        shapes = {role: ffn.shape(role, d_model) for role in FEED_FORWARD_ROLES}
        for role, shape in shapes.items():
            ffn = replace(ffn, **{role: getattr(ffn, role).fitted(shape)})
        biases = {f"{role}_bias": shape[1] for role, shape in shapes.items()}
        changes["feed_forward"] = _fitted_rows(ffn, biases)
    return replace(block, **changes)


def fitted_norm(norm: Norm | None, features: int) -> Norm | None:
    """A norm whose explicit gain and bias are cut, or padded with zeros, to `features` features."""
    return _fitted_rows(norm, {"gain": features, "bias": features})


def fitted_projection(widened: EmbeddingProjection | None, d_embedding: int) -> EmbeddingProjection | None:
    """A projection of token vectors whose explicit weights fit `d_embedding` features."""
    if widened is None:
        return None
    weights = widened.weights.fitted((d_embedding, widened.d_model))
    return _fitted_rows(replace(widened, weights=weights), {"bias": widened.d_model})


def fitted_vocabulary(vocabulary: Vocabulary | None, d_embedding: int, d_model: int) -> Vocabulary | None:
    """A vocabulary whose matrices and transform are cut, or padded with zeros, to these features."""
    if vocabulary is None:
        return vocabulary
    n, output = len(vocabulary.tokens), vocabulary.unembedding
    n_logits = vocabulary.n_logits
    narrow = replace(vocabulary, embedding=_fitted_matrix(vocabulary.embedding, (n, d_embedding)))
    features = narrow.logit_features(d_model)
    return replace(
        narrow,
        unembedding=None if output is None else _fitted_matrix(output, (features, n_logits)),
        transform=_fitted_transform(vocabulary.transform, (d_model, features)),
    )


def _fitted_matrix(matrix: Matrix, shape: tuple[int, int]) -> Matrix:
    return matrix if matrix.shape == shape else matrix.fitted(shape)


def _fitted_transform(transform: Transform | None, shape: tuple[int, int]) -> Transform | None:
    if transform is None:
        return None
    weights = transform.weights.fitted(shape)
    changed = replace(transform, weights=weights, norm=fitted_norm(transform.norm, shape[1]))
    return _fitted_rows(changed, {"bias": shape[1]})


def fitted_qk_norm(norm: QKNorm | None, heads: Heads) -> QKNorm | None:
    """A norm of queries and keys with gains that fit these heads."""
    return None if norm is None else _fitted_rows(norm, norm.gain_widths(heads))


def fitted_differential(differential: Differential | None, heads: Heads) -> Differential | None:
    """A difference of weights whose explicit vectors are cut, or padded with zeros, to these heads."""
    if differential is None:
        return None
    return _fitted_rows(differential, dict.fromkeys(LAMBDA_ROWS, heads.d_head))


def fitted_gate(gate: Gate | None, d_model: int, heads: Heads) -> Gate | None:
    """A gate whose explicit matrix and bias are cut, or padded with zeros, to these heads."""
    if gate is None:
        return None
    shape = gate.shape(d_model, heads)
    return _fitted_rows(replace(gate, weights=gate.weights.fitted(shape)), {"bias": shape[1]})


def _fitted_rows(owner: Owner, lengths: dict[str, int]) -> Owner:
    """`owner` with its explicit rows cut, or padded with zeros, to these lengths; null stays null."""
    if owner is None:
        return owner
    rows = {field: getattr(owner, field) for field in lengths}
    return replace(owner, **{field: row and row.fitted((1, lengths[field])) for field, row in rows.items()})
