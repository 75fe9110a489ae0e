"""The OV and QK circuits of a head, read through the vocabulary: the strongest pairs of tokens.

Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits". Each token's embedding is taken as
the input of the layer. QK: the score of a query token for a key token at the same position, where a rotation
cancels; positions, biases of distances, caps and masks are left out. OV: what the head adds to the logit of
an output token if it attends to a source token alone; the last norm gives its gain, without its division.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.analysis.passes import experiment_of, on_engine
from attnviz.core.progress import progress_of
from attnviz.engines.block import before_attention
from attnviz.engines.engine import Engine
from attnviz.engines.features import Features
from attnviz.engines.operands import Operands
from attnviz.engines.program import Check, never_cancelled
from attnviz.engines.projecting import key_value_heads, query_heads
from attnviz.engines.resolution import operands_of
from attnviz.errors import FieldError, among, must_be, whole_number
from attnviz.i18n import N_
from attnviz.model.sites.sites import at, places
from attnviz.model.spec.block import Vocabulary
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment

Floats = NDArray[Any]

ROWS = 1024
"""Tokens of one block: a block of products is (ROWS, token)."""


@dataclass(frozen=True)
class Pair:
    """Two tokens and the number that joins them: query and key, or source and output."""

    first: str
    second: str
    value: float


def circuit(
    given: Experiment | Document,
    site: str,
    head: int,
    kind: str = "ov",
    top: int = 10,
    token: str | None = None,
    *,
    engine: str = "numpy",
    device: str = "auto",
    check: Check = never_cancelled,
) -> tuple[Pair, ...]:
    """The `top` pairs of tokens with the largest numbers, of all tokens or with `token` as the first.

    `kind` is an id of `CIRCUITS`. Raises `FieldError` for a model without a vocabulary, with a transform
    before its logits or a norm behind its attention (OV), and for an unknown site, head, kind or token.
    """
    experiment = experiment_of(given)
    vocabulary = experiment.vocabulary
    if vocabulary is None:
        raise FieldError("vocabulary", None, must_be("a vocabulary"))
    names = [place.name for place in places(experiment)]
    if site not in names:
        raise FieldError("site", site, among(names))
    if not 0 <= head < (n_heads := at(experiment, site).heads.n_heads):
        raise FieldError("head", head, whole_number(0, n_heads - 1))
    if kind not in CIRCUIT_BY_ID:
        raise FieldError("kind", kind, among(CIRCUIT_BY_ID))
    if token is not None and token not in vocabulary.tokens:
        raise FieldError("token", token, must_be("a token of the vocabulary"))

    def job(made: Engine) -> tuple[Pair, ...]:
        own = operands_of(made, experiment, at(experiment, site))
        last = operands_of(made, experiment, at(experiment, names[-1]))
        first, second = CIRCUIT_BY_ID[kind].sides(_Head(made, vocabulary, own, last, head))
        rows = range(len(first)) if token is None else [vocabulary.tokens.index(token)]
        found = _largest(first, second, np.asarray(rows), top, check)
        return tuple(Pair(vocabulary.tokens[a], vocabulary.tokens[b], value) for a, b, value in found)

    return on_engine(experiment, job, engine, device)


class _Head:
    """One head over all tokens of the vocabulary."""

    def __init__(
        self, engine: Engine, vocabulary: Vocabulary, operands: Operands, last: Operands, head: int
    ) -> None:
        self.engine, self.vocabulary, self.last, self.head = engine, vocabulary, last, head
        # At one position a rotation leaves the score as it is.
        self.operands = dataclasses.replace(operands, rotation=None)

    def over_tokens(self, read: Callable[[Features], Any]) -> Floats:
        """The results of `read` for the embeddings of all tokens, (token, feature)."""
        parts, embedding = [], self.vocabulary.embedding
        for begin in range(0, embedding.shape[0], ROWS):
            rows = embedding.rows(slice(begin, begin + ROWS))
            x = self.engine.asarray(rows) * self.vocabulary.embedding_scale
            features = Features(positions=np.zeros(len(rows), dtype=np.int64))
            features.add("layer_input", x)
            before_attention(self.engine, self.operands.block, features)
            parts.append(np.asarray(self.engine.to_numpy(read(features))))
        return np.concatenate(parts)

    def queries(self, features: Features) -> Any:
        """The queries of the head, times the scale."""
        query_heads(self.engine, self.operands, features, features.x(), _nowhere(features))
        group = self.operands.scoring.group_size
        factor = self.operands.scoring.factor
        return features.query()[self.head // group, self.head % group] * (1.0 if factor is None else factor)

    def keys(self, features: Features) -> Any:
        """The keys that the head reads."""
        key_value_heads(self.engine, self.operands, features, features.x(), _nowhere(features))
        return features.key()[self.head // self.operands.scoring.group_size]

    def added(self, features: Features) -> Any:
        """The vectors that the head adds to the residual stream for each value."""
        key_value_heads(self.engine, self.operands, features, features.x(), _nowhere(features))
        value = features.value()[self.head // self.operands.scoring.group_size]
        matrix, width = self.operands.output.matrix, value.shape[-1]
        part = slice(self.head * width, (self.head + 1) * width)
        if matrix is None:
            matrix = self.engine.asarray(
                np.eye(self.operands.scoring.group_size * len(features.value()) * width)
            )
        block = self.operands.block
        return value @ matrix[part] * (1.0 if block is None else block.residual_scale)


def _nowhere(features: Features) -> NDArray[np.int64]:
    return np.zeros(features.n_tokens, dtype=np.int64)


def _qk(head: _Head) -> tuple[Floats, Floats]:
    return head.over_tokens(head.queries), head.over_tokens(head.keys)


def _ov(head: _Head) -> tuple[Floats, Floats]:
    readout, block = head.last.readout, head.operands.block
    if readout is None or readout.transform is not None:
        raise FieldError("vocabulary", None, must_be("a read-out without a transform"))
    if block is not None and (block.after_1 is not None or block.placement not in ("pre", "parallel")):
        raise FieldError("block.placement", block.placement, must_be("pre or parallel"))
    assert readout.logits.matrix is not None
    unembedding = np.asarray(head.engine.to_numpy(readout.logits.matrix)).T * readout.scale
    norm, added = head.last.final_norm, head.over_tokens(head.added)
    if norm is not None and norm.kind == "layer":
        added = added - added.mean(axis=1, keepdims=True)
    if norm is not None and norm.gain is not None:
        added = added * np.asarray(head.engine.to_numpy(norm.gain)).reshape(-1)
    return added, unembedding


@dataclass(frozen=True)
class Circuit:
    """A product of two matrices (token, feature), which `sides` computes; `title` is a message."""

    id: str
    title: str
    sides: Callable[[_Head], tuple[Floats, Floats]]


CIRCUITS: tuple[Circuit, ...] = (
    Circuit("ov", N_("source token → output token"), _ov),
    Circuit("qk", N_("query token → key token"), _qk),
)
CIRCUIT_BY_ID = {row.id: row for row in CIRCUITS}


def _largest(
    first: Floats, second: Floats, rows: NDArray[np.intp], top: int, check: Check
) -> list[tuple[int, int, float]]:
    """The largest numbers of first @ secondᵀ in some rows, the largest first, in blocks of rows."""
    progress, found = progress_of(check), list[tuple[int, int, float]]()
    least = -np.inf
    for begin in range(0, len(rows), ROWS):
        progress.at(begin / len(rows))
        of_block = rows[begin : begin + ROWS]
        products = first[of_block] @ second.T
        # Few rows of later blocks reach the numbers that were found.
        for row in np.flatnonzero(products.max(axis=1) > least):
            numbers = products[row]
            best = np.argpartition(-numbers, min(top, numbers.size) - 1)[:top]
            found += [(int(of_block[row]), int(column), float(numbers[column])) for column in best]
        found = sorted(found, key=lambda pair: (-pair[2], pair[0], pair[1]))[:top]
        least = found[-1][2] if len(found) == top else -np.inf
    return found
