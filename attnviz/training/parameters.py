"""The parameters of a document: every matrix, row and vector that a step may change, and its gradient.

A matrix that others follow is one parameter, whose gradient is the sum of all of its uses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from attnviz.model.edit.edits import read_vocabulary, set_vectors, tokens_of, vectors_of
from attnviz.model.gradient import Gradient
from attnviz.model.operands.matrices import embedded, token_ids, vectors_array
from attnviz.model.sites.links import Sequence
from attnviz.model.sites.sites import at, put, sites
from attnviz.model.spec.arrays import Matrix, in_float64
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.site import Site
from attnviz.model.spec.vocabulary import Vocabulary
from attnviz.model.weights import WEIGHT_BY_PATH, Weight, weights_of

Array = NDArray[np.float64]
EMBEDDING, UNEMBEDDING = "vocabulary.embedding", "vocabulary.unembedding"
VECTORS: dict[Sequence, str] = {"tokens": "vectors", "memory": "memory.vectors"}
"""The names of the vectors of both sequences, as gradients have them."""


Use = tuple[str, bool]
"""A gradient by its name, and whether it is transposed."""


@dataclass(frozen=True, eq=False)
class Parameter:
    """One parameter: its name as gradients have it, its symbol in formulas, and its site; none of vectors.

    `numbers()` are (rows, columns) in float64, of the `shape`; so are the `slopes(gradient)` of one that
    `is_read`. `put(experiment, numbers)` returns the experiment with others.
    `uses` are the gradients whose sum that is, by name, each with whether it is transposed; those by vectors
    that are rows of an embedding, `looked_up`, come on top. `weight` is that of the site; None of vectors.
    """

    name: str
    symbol: str
    site: str
    uses: tuple[Use, ...]
    shape: tuple[int, int]
    numbers: Callable[[], Array]
    slopes: Callable[[Gradient], Array]
    put: Callable[[Experiment, Array], Experiment]
    looked_up: tuple[str, ...] = ()
    weight: Weight | None = None

    def is_read(self, gradient: Gradient) -> bool:
        """True if the target depends on the parameter; nothing is computed for it."""
        names = (*(name for name, _is_turned in self.uses), *self.looked_up)
        return any(name in gradient.parameters for name in names)

    def gradient(self, gradient: Gradient) -> Array | None:
        """The derivatives by its numbers; None where the target does not depend on them."""
        return self.slopes(gradient) if self.is_read(gradient) else None


def size_of(parameters: Iterable[Parameter]) -> int:
    """The number of their numbers."""
    return sum(math.prod(one.shape) for one in parameters)


def parameters_of(experiment: Experiment) -> tuple[Parameter, ...]:
    """All parameters in data-flow order.

    The vectors of tokens are parameters themselves, unless they are rows of the vocabulary: then its
    embedding is one, together with the unembedding if that is its transpose. An identity is none.
    """
    given = [known for known in VECTORS if known == "tokens" or experiment.memory is not None]
    looked_up = [known for known in given if is_looked_up(experiment, known)]
    found = [_vectors(experiment, known) for known in given if known not in looked_up]
    tied = [place.name for place, site in sites(experiment).items() if _is_tied(site)]
    if looked_up or tied:
        found.insert(0, _embedding(experiment, looked_up, tied))
    for place, site in sites(experiment).items():
        used = weights_of(site)
        for weight in used:
            if _is_own(weight, site):
                followers = [other for other in used if other.follows(site)[0] == weight.path]
                found.append(_weight(place.name, site, weight, followers))
    return tuple(found)


def is_looked_up(experiment: Experiment, sequence: Sequence) -> bool:
    """True if the vectors of a sequence are the rows of the vocabulary's embedding."""
    vocabulary = read_vocabulary(experiment, sequence)
    if vocabulary is None:
        return False
    ids, tokens = token_ids(vocabulary), tokens_of(experiment, sequence)
    if not all(token in ids for token in tokens):
        return False
    rows = embedded(vocabulary, [ids[token] for token in tokens])
    vectors = vectors_array(vectors_of(experiment, sequence))
    return vectors.shape == rows.shape and bool(np.allclose(vectors, rows, rtol=1e-6))


def _is_tied(site: Site) -> bool:
    """True at the site whose logits come from the transposed embedding."""
    known = site.layer.output_vocabulary
    return known is not None and known.unembedding is None


def _is_own(weight: Weight, site: Site) -> bool:
    """True for a weight with numbers of its own."""
    is_embedding = weight is WEIGHT_BY_PATH[UNEMBEDDING] and _is_tied(site)
    return not (is_embedding or weight.passes(site) or weight.follows(site)[0])


def _vectors(experiment: Experiment, sequence: Sequence) -> Parameter:
    name = VECTORS[sequence]

    def put_vectors(given: Experiment, numbers: Array) -> Experiment:
        return set_vectors(given, numbers, sequence)

    return Parameter(
        name,
        "X" if sequence == "tokens" else "M",
        "",
        ((name, False),),
        vectors_of(experiment, sequence).shape,
        lambda: vectors_array(vectors_of(experiment, sequence)),
        lambda gradient: in_float64(gradient.parameters[name]),
        put_vectors,
    )


def _embedding(experiment: Experiment, looked_up: list[Sequence], tied: list[str]) -> Parameter:
    """The embedding, by the vectors that are looked up in it and by the logits that it makes."""
    vocabulary = experiment.vocabulary
    assert vocabulary is not None
    rows = {known: _rows(experiment, vocabulary, known) for known in looked_up}
    uses = tuple((f"{site}.{UNEMBEDDING}", True) for site in tied)

    def gradient_of(gradient: Gradient) -> Array:
        total = np.zeros(vocabulary.embedding.shape)
        for known, ids in rows.items():
            if VECTORS[known] in gradient.parameters:
                by_vectors = in_float64(gradient.parameters[VECTORS[known]])
                np.add.at(total, ids, by_vectors * vocabulary.embedding_scale)
        return sum(_summands(gradient, uses), total)

    def put_embedding(given: Experiment, numbers: Array) -> Experiment:
        known = replace(vocabulary, embedding=Matrix(numbers))
        given = replace(given, vocabulary=known)
        for sequence, ids in rows.items():
            given = set_vectors(given, numbers[ids] * known.embedding_scale, sequence)
        return given

    numbers = partial(in_float64, vocabulary.embedding.array)
    shape, by_vectors = vocabulary.embedding.shape, tuple(VECTORS[known] for known in looked_up)
    return Parameter(EMBEDDING, "E", "", uses, shape, numbers, gradient_of, put_embedding, by_vectors)


def _rows(experiment: Experiment, vocabulary: Vocabulary, sequence: Sequence) -> list[int]:
    ids = token_ids(vocabulary)
    return [ids[token] for token in tokens_of(experiment, sequence)]


def _weight(name: str, site: Site, weight: Weight, followers: list[Weight]) -> Parameter:
    """A weight of a site, with those that have its numbers."""
    turned = {weight.path: False} | {other.path: other.follows(site)[1] for other in followers}
    uses = tuple((f"{name}.{path}", is_turned) for path, is_turned in turned.items())

    shape = weight.shape(site)

    def gradient_of(gradient: Gradient) -> Array:
        return sum((one.reshape(shape) for one in _summands(gradient, uses)), np.zeros(shape))

    def put_weight(given: Experiment, numbers: Array) -> Experiment:
        return put(given, weight.put(at(given, name), numbers))

    def numbers() -> Array:
        return weight.array(site).astype(np.float64)

    own = f"{name}.{weight.path}"
    return Parameter(own, weight.symbol, name, uses, shape, numbers, gradient_of, put_weight, weight=weight)


def _summands(gradient: Gradient, uses: tuple[Use, ...]) -> list[Array]:
    """The gradients by all uses on which the target depends."""
    known = gradient.parameters
    found = ((in_float64(known[name]), is_turned) for name, is_turned in uses if name in known)
    return [one.T if is_turned else one for one, is_turned in found]
