"""The numbers behind a document: vectors in float64, weight matrices in float32 or float64.

A matrix stored in float32 or in 16 bits is float32; computations outside an engine convert it with
`in_float64`. Seeded arrays are sampled once and cached: sampling a 512 x 512 matrix takes longer than the
attention of a small experiment, and a drag needs it on every frame.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from attnviz.errors import FieldError, must_be
from attnviz.model.memo import WeakMemo
from attnviz.model.spec.arrays import in_float64
from attnviz.model.spec.block import FeedForward, FeedForwardRole
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.latent import LatentRole
from attnviz.model.spec.parts import Role, Vectors, is_transposed
from attnviz.model.spec.site import Site
from attnviz.model.spec.source import Source, Table
from attnviz.model.spec.vocabulary import Classes, Vocabulary

Array = NDArray[np.float64]
Numbers = Callable[[], Array]
"""A function that returns the numbers of a weight, (in, out), read-only: it holds their source, no site."""


def vectors_array(vectors: Vectors) -> Array:
    """(token, d_model), read-only, in float64."""
    return vectors.array()


def projection_array(site: Site, role: Role) -> Array:
    """W of one projection, (in, out), read-only."""
    return projection_numbers(site, role)()


def projection_numbers(site: Site, role: Role) -> Numbers:
    """W of one projection; the output projection tied to another is its transpose."""
    to = site.projections.tied_to(role)
    if to is None:
        return partial(getattr(site.projections, role).numbers, site.projection_shape(role))
    target = projection_numbers(site, to)
    return (lambda: target().T) if is_transposed(role, to) else target


def feed_forward_numbers(ffn: FeedForward, role: FeedForwardRole, d_model: int) -> Numbers:
    """W of one linear map of a feed-forward layer."""
    return partial(getattr(ffn, role).numbers, ffn.shape(role, d_model))


def transform_shape(site: Site) -> tuple[int, int]:
    """(in, out) of W_T."""
    return site.d_model, site.logit_features


def transform_numbers(site: Site) -> Numbers:
    """W_T, (d_model, features)."""
    known = site.layer.vocabulary
    assert known is not None and known.transform is not None
    return partial(known.transform.weights.numbers, transform_shape(site))


def gate_numbers(site: Site) -> Numbers:
    """W_G, (d_model, heads side by side). Raises `ValueError` without a gate."""
    if site.gate is None:
        raise FieldError("gate", None, must_be("a gate for its matrix"))
    return partial(site.gate.weights.numbers, site.gate.shape(site.d_model, site.heads))


def embedding_projection_numbers(site: Site) -> Numbers:
    """W_X, (features of a token vector, d_model)."""
    widened = site.layer.embedding_projection
    assert widened is not None
    return partial(widened.weights.numbers, (site.d_embedding, site.d_model))


def latent_numbers(site: Site, role: LatentRole) -> Numbers:
    """W of one of the matrices of a latent. Raises `ValueError` without a latent."""
    latent = site.latent
    if latent is None:
        raise FieldError("latent", None, must_be("a latent for its matrices"))
    shape = latent.shape(role, site.d_model, site.d_keys, site.heads)
    return partial(getattr(latent, role).numbers, shape)


def unembedding_numbers(vocabulary: Vocabulary) -> Numbers:
    """W of the logits, (d_model, token): its own, or the embedding transposed."""
    own, embedding = vocabulary.unembedding, vocabulary.embedding
    return lambda: embedding.array.T if own is None else own.array


def table_array(table: Table, shape: tuple[int, int]) -> Array:
    """A position's table, read-only; an explicit one has its own shape, which is checked."""
    return table.numbers(shape)


def is_identity(site: Site, role: Role) -> bool:
    """True if a projection returns its input unchanged, so that no product is needed."""
    rows, columns = site.projection_shape(role)
    return rows == columns and is_selection(site, role)


def is_selection(site: Site, role: Role) -> bool:
    """True if every output of a projection is one of its inputs: an identity, perhaps of fewer columns."""
    if site.latent is not None and role in ("key", "value"):
        return False
    target: Source = getattr(site.projections, site.projections.tied_to(role) or role)
    rows, columns = site.projection_shape(role)
    return target.is_identity and columns <= rows


def embedded(vocabulary: Vocabulary, ids: Sequence[int]) -> Array:
    """The vectors of tokens by their ids, rows of the embedding times its scale: (token, features)."""
    return in_float64(vocabulary.embedding.rows(list(ids))) * vocabulary.embedding_scale


def sinks_array(site: Site) -> Array:
    """The sink of each head, (head,). Raises `ValueError` without sinks."""
    sinks = site.sinks
    if sinks is None:
        raise FieldError("sinks", None, must_be("a number for each head"))
    return sinks.array(site.heads.n_heads)


def _ids(vocabulary: Vocabulary) -> dict[str, int]:
    return {token: id_ for id_, token in enumerate(vocabulary.tokens)}


token_ids = WeakMemo(_ids, like=lambda one, other: one.tokens == other.tokens)
"""The id of each token of a vocabulary."""


def output_tokens(experiment: Experiment | Site) -> tuple[str, ...]:
    """Names of the columns of the logits: classes, a vocabulary's tokens, or the distinct ones here."""
    known = _output_vocabulary(experiment)
    if known is None:
        return vocabulary(experiment)[0]
    return known.tokens if known.classes is None else known.classes.labels


def classes_of(experiment: Experiment | Site) -> Classes | None:
    """The classes whose logits are read out; None for another read-out, or none."""
    known = _output_vocabulary(experiment)
    return None if known is None else known.classes


def _output_vocabulary(experiment: Experiment | Site) -> Vocabulary | None:
    if isinstance(experiment, Site):
        return experiment.layer.output_vocabulary
    return experiment.vocabulary if experiment.readout == "vocabulary" else None


def vocabulary(experiment: Experiment | Site) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The distinct tokens in order of first appearance, and the row where each first appears."""
    first: dict[str, int] = {}
    for row, token in enumerate(experiment.tokens):
        first.setdefault(token, row)
    return tuple(first), tuple(first.values())


def _of_distinct(site: Site) -> Array:
    vectors = vectors_array(site.vectors)[list(vocabulary(site)[1])]
    vectors.setflags(write=False)
    return vectors


compared_vectors = WeakMemo(_of_distinct, most=4)
"""The vectors of the distinct tokens, which a similarity compares with, (token, feature), read-only."""
