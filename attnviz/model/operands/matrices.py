"""The numbers behind a document: vectors in float64, weight matrices in float32 or float64.

A matrix that came in float32 or in 16 bits is float32; what computes with one outside an engine takes what it
needs of it `in_float64`.
Seeded arrays are drawn once and kept: drawing a 512 x 512 matrix takes longer than the attention of
a small experiment, and a drag asks for it again on every frame.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from attnviz.errors import FieldError, must_be
from attnviz.model.memo import Remembered
from attnviz.model.operands.draws import Drawn
from attnviz.model.spec.arrays import in_float64
from attnviz.model.spec.block import FeedForward, FeedForwardRole, Transform, Vocabulary
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.latent import LatentRole
from attnviz.model.spec.parts import (
    Explicit,
    ExplicitSinks,
    ExplicitVectors,
    Generator,
    Identity,
    Role,
    Seeded,
    Vectors,
)
from attnviz.model.spec.positions import Table, WrittenTable
from attnviz.model.spec.site import Site

Array = NDArray[np.float64]


def vectors_array(vectors: Vectors) -> Array:
    """(token, d_model), read-only, in float64."""
    if isinstance(vectors, ExplicitVectors):
        return in_float64(vectors.values.array)
    return _seeded_vectors(vectors.n, vectors.d_model, vectors.seed, vectors.generator)


def projection_array(site: Site, role: Role) -> Array:
    """W of one projection, (in, out), read-only; the output projection tied to another is its transpose."""
    source = getattr(site.projections, role)
    if isinstance(source, Explicit):
        return source.values.array
    shape = site.projection_shape(role)
    if isinstance(source, Identity):
        return _identity(shape)
    if isinstance(source, Seeded):
        return _seeded_projection(shape, source.seed)
    target: Array = projection_array(site, source.to)
    return target.T if (role == "output") != (source.to == "output") else target


def feed_forward_array(ffn: FeedForward, role: FeedForwardRole, d_model: int) -> Array:
    """W of one linear map of a feed-forward layer, (in, out), read-only."""
    source = getattr(ffn, role)
    if isinstance(source, Identity):
        return _identity(ffn.shape(role, d_model))
    if isinstance(source, Seeded):
        return _seeded_projection(ffn.shape(role, d_model), source.seed)
    values: Array = source.values.array
    return values


def transform_array(transform: Transform, d_model: int) -> Array:
    """W_T, (d_model, d_model), read-only."""
    source = transform.weights
    if isinstance(source, Identity):
        return _identity((d_model, d_model))
    if isinstance(source, Seeded):
        return _seeded_projection((d_model, d_model), source.seed)
    values: Array = source.values.array
    return values


def latent_array(site: Site, role: LatentRole) -> Array:
    """W of one of the matrices of a latent, (in, out), read-only. Raises `ValueError` without a latent."""
    latent = site.latent
    if latent is None:
        raise FieldError("latent", None, must_be("a latent for its matrices"))
    shape = latent.shape(role, site.d_model, site.d_keys, site.heads)
    source = getattr(latent, role)
    if isinstance(source, Identity):
        return _identity(shape)
    if isinstance(source, Seeded):
        return _seeded_projection(shape, source.seed)
    values: Array = source.values.array
    return values


def unembedding_array(vocabulary: Vocabulary) -> Array:
    """W of the logits, (d_model, token): its own, or the embedding transposed."""
    own = vocabulary.unembedding
    return vocabulary.embedding.array.T if own is None else own.array


def table_array(table: Table, shape: tuple[int, int]) -> Array:
    """A position's table, read-only; one that is written out has its own shape, which is checked."""
    if isinstance(table, WrittenTable):
        return table.values.array
    return _drawn_table(shape, table.seed, table.std)


def is_identity(site: Site, role: Role) -> bool:
    """Whether a projection passes its input on unchanged, so that nothing is multiplied."""
    rows, columns = site.projection_shape(role)
    return rows == columns and is_selection(site, role)


def is_selection(site: Site, role: Role) -> bool:
    """Whether every output of a projection is one of its inputs: an identity, perhaps of fewer columns."""
    if site.latent is not None and role in ("key", "value"):
        return False
    source = getattr(site.projections, role)
    target = source if isinstance(source, Identity | Seeded | Explicit) else None
    if target is None:
        target = getattr(site.projections, source.to)
    rows, columns = site.projection_shape(role)
    return isinstance(target, Identity) and columns <= rows


def sinks_array(site: Site) -> Array:
    """The sink of each head, (head,). Raises `ValueError` where the experiment has none."""
    sinks = site.sinks
    if sinks is None:
        raise FieldError("sinks", None, must_be("a number for each head"))
    if isinstance(sinks, ExplicitSinks):
        return np.asarray(sinks.values)
    return _drawn_sinks(site.heads.n_heads, sinks.seed)


@Remembered
def token_ids(vocabulary: Vocabulary) -> dict[str, int]:
    """The id of each token of a vocabulary."""
    return {token: id_ for id_, token in enumerate(vocabulary.tokens)}


def output_tokens(experiment: Experiment | Site) -> tuple[str, ...]:
    """What each column of the logits stands for: the vocabulary's tokens, or the distinct ones there are."""
    known = experiment.vocabulary
    return vocabulary(experiment)[0] if known is None or experiment.readout != "vocabulary" else known.tokens


def vocabulary(experiment: Experiment | Site) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The distinct tokens in order of first appearance, and the row where each first appears."""
    first: dict[str, int] = {}
    for row, token in enumerate(experiment.tokens):
        first.setdefault(token, row)
    return tuple(first), tuple(first.values())


@Drawn
def _seeded_vectors(n: int, d_model: int, seed: int, generator: Generator) -> Array:
    if generator == "mt19937":
        return np.random.RandomState(seed).standard_normal((n, d_model))
    return np.random.default_rng(seed).standard_normal((n, d_model))


@Drawn
def _seeded_projection(shape: tuple[int, int], seed: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape) / np.sqrt(shape[0])


@Drawn
def _drawn_table(shape: tuple[int, int], seed: int, std: float) -> Array:
    return np.random.default_rng(seed).standard_normal(shape) * std


@Drawn
def _drawn_sinks(n_heads: int, seed: int) -> Array:
    return np.random.default_rng(seed).standard_normal(n_heads)


@Drawn
def _identity(shape: tuple[int, int]) -> Array:
    return np.eye(*shape)
