"""The OV and QK circuits of a head, read through the vocabulary: the strongest pairs of tokens.

Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits". The input of the layer is each
token's vector as the first layer of its stack reads it: embedding × scale, then the norm and the projection
of the embeddings where the model has them. What is added to embeddings by position is left out, and with it
the row of a token type that BERT adds at every position; so are biases of distances, caps and masks.
QK: the score of a query token for a key token at the same position, where a rotation cancels. OV: what the
head adds to the logit of an output token if it attends to a source token alone; the last norm gives its gain,
without its division. A gate on the heads' output (Qwen3-Next), which multiplies the features of the mixture
by numbers of the query between 0 and 1, is left out of OV: `circuit_texts.py` has the sentence that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.progress import progress_of
from attnviz.engines.engine import Engine
from attnviz.engines.features import Features
from attnviz.engines.operands import Operands
from attnviz.engines.program import Check, never_cancelled
from attnviz.engines.resolution import operands_of
from attnviz.engines.steps import add
from attnviz.errors import FieldError, among, must_be, whole_number
from attnviz.i18n import N_
from attnviz.model.sites.sites import at, places
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.site import Site
from attnviz.model.spec.vocabulary import Vocabulary
from attnviz.model.stages import STAGE_BY_ID, made_by
from attnviz.operations.logits import Logits
from attnviz.operations.norm import Norm
from attnviz.operations.operation import Operation
from attnviz.operations.pointwise import PlusRow
from attnviz.operations.rotation import Rotation
from attnviz.study.passes import experiment_of, on_engine
from attnviz.study.target import column_of

Floats = NDArray[Any]

ROWS = 1024
"""Tokens whose features are computed at a time."""
PLACED = (*made_by(Rotation, "heads"), *made_by(PlusRow, "input"))
"""The stages that depend on positions alone."""
PRODUCTS = 2**24
"""Numbers of a block of products (row, token)."""


@dataclass(frozen=True)
class Pair:
    """Two tokens and the number that joins them: query and key, or source and output.

    The number is the sum of `left` × `right`, (d_head,): query × scale and key, or value and its weight in
    the output token's logit.
    """

    first: str
    second: str
    value: float
    left: Floats = field(compare=False, repr=False)
    right: Floats = field(compare=False, repr=False)


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
        raise FieldError(
            "vocabulary",
            None,
            must_be("that of a language model, as in the preset {preset}", preset="stories-en"),
        )
    names = [place.name for place in places(experiment)]
    if site not in names:
        raise FieldError("site", site, among(names))
    if not 0 <= head < (n_heads := at(experiment, site).heads.n_heads):
        raise FieldError("head", head, whole_number(0, n_heads - 1))
    if kind not in CIRCUIT_BY_ID:
        raise FieldError("kind", kind, among(CIRCUIT_BY_ID))
    only = None if token is None else column_of(vocabulary.tokens, token, "token")

    def job(engine: Engine) -> tuple[Pair, ...]:
        chosen = at(experiment, site)
        entry = operands_of(engine, experiment, at(experiment, chosen.inputs.embedded or site))
        own = operands_of(engine, experiment, chosen)
        last = operands_of(engine, experiment, at(experiment, names[-1]))
        first, second = CIRCUIT_BY_ID[kind].sides(
            _Head(engine, vocabulary, chosen, entry, own, last, head, check)
        )
        rows = range(len(first)) if only is None else [only]
        cells = _largest(first, second, np.asarray(rows), top, check)
        words = vocabulary.tokens
        return tuple(Pair(words[a], words[b], value, first[a], second[b]) for a, b, value in cells)

    return on_engine(experiment, job, engine, device)


class _Head:
    """One head over all tokens of the vocabulary."""

    def __init__(
        self,
        engine: Engine,
        vocabulary: Vocabulary,
        site: Site,
        entry: Operands,
        operands: Operands,
        last: Operands,
        head: int,
        check: Check,
    ) -> None:
        self.engine, self.vocabulary, self.last, self.head = engine, vocabulary, last, head
        self.check = check
        self.entry, self.operands, self.site = entry, operands, site
        # Every layer reads what the first one reads, without positions.
        own = [one for one in operands.entering if STAGE_BY_ID[one[0]].phase != "input"]
        self.entering = [one for one in entry.entering if STAGE_BY_ID[one[0]].phase == "input"], own

    def over_tokens(self, read: Callable[[Features], Any]) -> Floats:
        """The results of `read` for the vectors of all tokens, (token, feature)."""
        parts, embedding = [], self.vocabulary.embedding
        for begin in range(0, embedding.shape[0], ROWS):
            self.check()
            rows = embedding.rows(slice(begin, begin + ROWS))
            x = self.engine.asarray(rows) * self.vocabulary.embedding_scale
            here = np.zeros(len(rows), dtype=np.int64)
            features = Features(positions=here)
            features.add("tokens_embedded", x)
            for operands, steps in zip((self.entry, self.operands), self.entering, strict=True):
                self._add(operands, features, steps)
            parts.append(np.asarray(self.engine.to_numpy(read(features))))
        return np.concatenate(parts)

    def _add(self, operands: Operands, features: Features, steps: Iterable[tuple[str, Operation]]) -> None:
        """Add stages at one position, where a rotation leaves a score as it is."""
        used = tuple(one for one in steps if one[0] not in PLACED)
        add(self.engine, operands, features, used, np.zeros(features.n_tokens, dtype=np.int64))

    def queries(self, features: Features) -> Any:
        """The queries of the head, times the scale."""
        self._add(self.operands, features, self.operands.of_queries)
        group = self.operands.scoring.group_size
        factor = self.operands.scoring.factor
        return features.query()[self.head // group, self.head % group] * (1.0 if factor is None else factor)

    def keys(self, features: Features) -> Any:
        """The keys that the head reads."""
        self._add(self.operands, features, self.operands.of_keys)
        return features.key()[self.head // self.operands.scoring.group_size]

    def values(self, features: Features) -> Any:
        """The values that the head reads."""
        self._add(self.operands, features, self.operands.of_keys)
        return features.value()[self.head // self.operands.scoring.group_size]

    def output_rows(self, width: int) -> Floats:
        """The rows of W_O for the head's values of `width` features, (width, d_model), as they are added."""
        matrix, block = self.operands.matrix("projections.output"), self.site.layer.block
        part = slice(self.head * width, (self.head + 1) * width)
        if matrix is None:
            rows = np.eye(self.operands.scoring.group_size * self.operands.scoring.n_kv_heads * width)[part]
        else:
            rows = np.asarray(self.engine.to_numpy(matrix[part]))
        return rows if block is None else rows * block.residual_scale


def _qk(head: _Head) -> tuple[Floats, Floats]:
    return head.over_tokens(head.queries), head.over_tokens(head.keys)


def _ov(head: _Head) -> tuple[Floats, Floats]:
    logits, block = head.last.operations.get("logits"), head.site.layer.block
    if not isinstance(logits, Logits) or "transform" in head.last.operations:
        raise FieldError("vocabulary", None, must_be("a read-out without a transform"))
    if block is not None and (
        "attention_normed" in head.operands.operations or block.placement not in ("pre", "parallel")
    ):
        raise FieldError("block.placement", block.placement, must_be("pre or parallel"))
    unembedding = np.asarray(head.engine.to_numpy(head.last.matrix(logits.path))).T
    norm, values = head.last.operations.get("output"), head.over_tokens(head.values)
    rows = head.output_rows(values.shape[1]) * logits.scale
    if isinstance(norm, Norm) and norm.kind.centred:
        rows = rows - rows.mean(axis=1, keepdims=True)
    if isinstance(norm, Norm) and norm.gain is not None:
        rows = rows * np.asarray(head.engine.to_numpy(head.last.rows[norm.gain.path]))
    # (token, d_head): the products of two thin matrices cost less than those through d_model.
    return values, unembedding @ rows.astype(values.dtype).T


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
    """The largest numbers of first @ secondᵀ in some rows, the largest first, in blocks of rows.

    The longest rows come first: a product is at most |a| |b|, so that short rows and columns that cannot
    reach the numbers that were found are left out.
    """
    progress, largest = progress_of(check), list[tuple[int, int, float]]()
    lengths, widths = (np.linalg.norm(side, axis=1) for side in (first, second))
    rows, columns = rows[np.argsort(-lengths[rows], kind="stable")], np.argsort(-widths, kind="stable")
    widths, transposed = widths[columns], np.ascontiguousarray(second[columns].T)
    least, step = -np.inf, max(1, PRODUCTS // len(second))
    for begin in range(0, len(rows), step):
        progress.at(begin / len(rows))
        of_block = rows[begin : begin + step]
        # A little more than the bound, which is rounded too.
        reach = widths * float(lengths[of_block[0]]) * (1 + 1e-5) + 1e-30
        used = len(columns) if least <= 0 else int(np.searchsorted(-reach, -least, side="right"))
        if not used:
            break
        products = first[of_block] @ transposed[:, :used]
        for row in np.flatnonzero(products.max(axis=1) >= least):
            numbers = products[row]
            best = np.argpartition(-numbers, min(top, numbers.size) - 1)[:top]
            largest += [(int(of_block[row]), int(columns[at]), float(numbers[at])) for at in best]
        largest = sorted(largest, key=lambda pair: (-pair[2], pair[0], pair[1]))[:top]
        least = largest[-1][2] if len(largest) == top else -np.inf
    return largest
