"""`SUMS`: the gradient of one number of a parameter, as sums over the cells of the stage that it enters.

Of x W + b with the gradient δ by the result, that by W[i, j] is Σ x[t, i] δ[t, j] over the tokens t, that by
b[j] is Σ δ[t, j]. A gain has the normalised number in the place of x, a bias of the scores the pairs of its
bucket or its distances, a sink the share that it takes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np

from attnviz.core.matrix import cells
from attnviz.core.positions import sinusoidal
from attnviz.i18n import _
from attnviz.model.binding import bind, normaliser_of
from attnviz.model.gradient import GradientSite
from attnviz.model.operands.relative import relative_parts, relative_table
from attnviz.model.positions import buckets
from attnviz.model.provenance import kv_head
from attnviz.model.reading import Floats, Reading, stage_symbol
from attnviz.model.spec.differential import LAMBDA_ROWS, partners
from attnviz.model.spec.positions import Learned, T5Buckets, TransformerXl
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID, STAGES, inputs
from attnviz.model.weights import WEIGHT_BY_PATH, WEIGHTS, bias_path
from attnviz.operations.linear import Linear
from attnviz.operations.operation import NUMPY
from attnviz.operations.terms import Pieces, Series, Term, Text, constant, digits

Ints = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


@dataclass(frozen=True, eq=False)
class Factor:
    """A factor of each gradient of a sum: its letter, its numbers, and the name of each."""

    letter: str
    values: Floats
    name: Callable[[int], str]


@dataclass(frozen=True, eq=False)
class Sum:
    """Σ ∂/∂ cell · factors, over some cells of one stage: their heads, rows and columns."""

    stage: str
    heads: Ints
    rows: Ints
    columns: Ints
    factors: tuple[Factor, ...] = ()

    @property
    def letters(self) -> str:
        """`Σ x · ∂/∂q`."""
        names = (*(factor.letter for factor in self.factors), f"∂/∂{stage_symbol(self.stage)}")
        return f"Σ {' · '.join(names)}"

    def cell(self, index: int) -> Cell:
        """The cell of one term."""
        return Cell(self.stage, int(self.rows[index]), int(self.columns[index]), int(self.heads[index]))

    def gradients(self, site: GradientSite) -> Floats:
        """∂ target / ∂ cell of each term."""
        found = np.empty(len(self.rows))
        for head in np.unique(self.heads):
            mine = self.heads == head
            found[mine] = cells(site.matrix(self.stage, int(head)), self.rows[mine], self.columns[mine])
        return found

    def total(self, site: GradientSite) -> float:
        """The sum."""
        terms = self.gradients(site)
        for factor in self.factors:
            terms = terms * factor.values
        return float(terms.sum())

    def series(self, site: GradientSite) -> Series:
        """The terms: (factor)(gradient), a link to the cell."""
        gradients, reading = self.gradients(site), Reading(site.values)

        def item(index: int) -> Pieces:
            at = self.cell(index)
            called = f"∂ {site.target.name(site.name)} / ∂ {reading.full_name(at)}"
            slope = Term(
                float(gradients[index]), digits(gradients[index]), called, at, STAGE_BY_ID[at.stage].hue
            )
            terms = (
                *(constant(factor.values[index], factor.name(index)) for factor in self.factors),
                slope,
            )
            if len(terms) == 1:
                return terms
            joined = [piece for term in terms for piece in (Text(")("), term)]
            return (Text("("), *joined[1:], Text(")"))

        return Series(len(self.rows), item)


Rule = Callable[[Reading, int, int], tuple[Sum, ...]]
"""The sums of the number in a row and a column of a parameter, from the values of a site."""


def sums_of(site: GradientSite, path: str, row: int, column: int) -> tuple[Sum, ...] | None:
    """The sums of one number of a parameter; none if it is used nowhere, None without a derivative."""
    rule = SUMS.get(path)
    if path == f"position.{_TABLE}":
        rule = TABLES.get(type(site.experiment.position))
    return None if rule is None else rule(Reading(site.values), row, column)


# --- linear maps -----------------------------------------------------------------------------------


def _column(reading: Reading, stage: str, column: int) -> tuple[int, int]:
    """The head and the feature of a column of a matrix, whose heads stand side by side."""
    if not STAGE_BY_ID[stage].per_head:
        return 0, column
    return divmod(column, cast(Linear, bind(reading.experiment, stage)).width)


def _of_tokens(reading: Reading, stage: str, head: int, column: int, factors: tuple[Factor, ...] = ()) -> Sum:
    """Over all tokens, in one feature of one head."""
    rows = np.arange(reading.site.shape(stage)[-2])
    return Sum(stage, np.full_like(rows, head), rows, np.full_like(rows, column), factors)


def _input(reading: Reading, stage: str, column: int) -> Factor:
    """Feature `column` of the input of a linear map, of each token."""
    source = inputs(stage, reading.site.stages)[0]
    values = reading.column(source, 0, column)
    return Factor(stage_symbol(source), values, lambda token: reading.full_name(Cell(source, token, column)))


def _linear(*stages: str) -> tuple[Rule, Rule]:
    """The rules of W and of b of x W + b, which computes the first of `stages` that the site has."""

    def stage_of(reading: Reading) -> str:
        return next(stage for stage in stages if stage in reading.site.stages)

    def matrix(reading: Reading, row: int, column: int) -> tuple[Sum, ...]:
        stage = stage_of(reading)
        head, own = _column(reading, stage, column)
        return (_of_tokens(reading, stage, head, own, (_input(reading, stage, row),)),)

    def bias(reading: Reading, row: int, column: int) -> tuple[Sum, ...]:
        stage = stage_of(reading)
        return (_of_tokens(reading, stage, *_column(reading, stage, column)),)

    return matrix, bias


def _of_logits(has_input: bool) -> Rule:
    """W_U and its bias: scale and cap follow."""

    def rule(reading: Reading, row: int, column: int) -> tuple[Sum, ...]:
        known = reading.experiment.layer.vocabulary
        assert known is not None
        factors: tuple[Factor, ...] = (_input(reading, "logits", row),) if has_input else ()
        if known.logit_scale != 1.0 or known.cap is not None:
            passed = np.full(reading.site.shape("logits")[0], known.logit_scale)
            if known.cap is not None:
                passed *= 1 - (reading.column("logits", 0, column) / known.cap) ** 2
            name = Cell("logits", 0, column)
            factors += (Factor("l′", passed, lambda token: f"∂ {reading.name(name)} / ∂ (x W_U)"),)
        return (_of_tokens(reading, "logits", 0, column, factors),)

    return rule


# --- norms -----------------------------------------------------------------------------------------


def _bias_of_norm(stage: str) -> Rule:
    return lambda reading, row, column: (_of_tokens(reading, stage, 0, column),)


def _gain(stage: str) -> Rule:
    """Σ n · ∂/∂ (n gain), n the normalised number; over all heads if they share the gain."""

    def rule(reading: Reading, row: int, column: int) -> tuple[Sum, ...]:
        source, norm = inputs(stage, reading.site.stages)[0], bind(reading.experiment, stage)
        n_heads = reading.site.shape(source)[0] if STAGE_BY_ID[source].per_head else 1
        x = np.stack([_whole(reading, source, head) for head in range(n_heads)])
        numbers, heads = norm.plain(NUMPY, x), np.arange(n_heads)  # type: ignore[attr-defined]
        if norm.heads_with(0) is None:
            head, column = divmod(column, x.shape[-1])
            heads = heads[head : head + 1]
        found = numbers[heads, :, column].ravel()
        n_tokens = x.shape[1]
        rows = np.tile(np.arange(n_tokens), len(heads))
        of_heads = np.repeat(heads, n_tokens)

        def name(index: int) -> str:
            at = Cell(source, int(rows[index]), column, int(of_heads[index]))
            return _("{cell}, normalised").format(cell=reading.full_name(at))

        factor = Factor("n", found, name)
        return (Sum(stage, of_heads, rows, np.full_like(rows, column), (factor,)),)

    return rule


def _whole(reading: Reading, stage: str, head: int) -> Floats:
    """One head of a stage, (token, feature)."""
    return np.asarray(reading.site.window(stage, head), dtype=np.float64)


# --- positions and sinks ---------------------------------------------------------------------------


def _learned(reading: Reading, row: int, column: int) -> tuple[Sum, ...]:
    """The token at that position, if one stands there."""
    position = reading.experiment.position
    assert isinstance(position, Learned)
    token = row - position.start
    if not 0 <= token < reading.experiment.n_queries:
        return ()
    one = np.array([token])
    return (Sum("x", np.zeros_like(one), one, np.full_like(one, column)),)


def _distances(reading: Reading) -> tuple[Ints, Ints]:
    """Positions of the queries and of the keys."""
    site = reading.experiment
    return np.arange(site.n_queries) + site.query_offset, np.arange(site.n_keys)


def _pairs(stage: str, head: int, chosen: Floats | np.ndarray, *factors: Factor) -> Sum:
    rows, columns = np.nonzero(chosen)
    return Sum(stage, np.full_like(rows, head), rows, columns, factors)


def _t5(reading: Reading, row: int, column: int) -> tuple[Sum, ...]:
    """The pairs of its bucket, in its head."""
    position = reading.experiment.position
    assert isinstance(position, T5Buckets)
    return (_pairs("biased", column, buckets(position, *_distances(reading)) == row),)


def _slope(reading: Reading, row: int, column: int) -> tuple[Sum, ...]:
    """−|i − j| of every pair."""
    queries, keys = _distances(reading)
    away = -np.abs(queries[:, None] - keys[None, :]).astype(np.float64)
    factor = Factor("−|i − j|", away.ravel(), lambda index: "−|i − j|")
    return (_pairs("biased", column, np.ones(away.shape), factor),)


def _relative_rows(reading: Reading) -> Ints:
    return relative_parts(reading.experiment, np.array([0]), *_distances(reading)).rows


def _of_pairs(reading: Reading, side: str, pairs: Sum, feature: int) -> Factor:
    """The query, or the key, of each pair in one feature."""
    _score, query, key = inputs("relative", reading.site.stages)
    head = int(pairs.heads[0]) if len(pairs.heads) else 0
    stage = query if side == "query" else key
    own = head if side == "query" else kv_head(reading.experiment, head)
    rows = pairs.rows if side == "query" else pairs.columns
    values = reading.column(stage, own, feature)[rows]
    return Factor(
        stage_symbol(stage),
        values,
        lambda index: reading.full_name(Cell(stage, int(rows[index]), feature, own)),
    )


def _deberta(side: str) -> Rule:
    """A row of the keys of distances times the query, of their queries times the key."""

    def rule(reading: Reading, row: int, column: int) -> tuple[Sum, ...]:
        head, feature = divmod(column, reading.experiment.heads.d_head)
        pairs = _pairs("relative", head, _relative_rows(reading) == row)
        return (_with(pairs, _of_pairs(reading, side, pairs, feature)),)

    return rule


def _with(pairs: Sum, *factors: Factor) -> Sum:
    return Sum(pairs.stage, pairs.heads, pairs.rows, pairs.columns, factors)


def _all_pairs(reading: Reading, head: int) -> Sum:
    return _pairs("relative", head, np.ones((reading.experiment.n_queries, reading.experiment.n_keys)))


def _away(reading: Reading, pairs: Sum) -> Ints:
    """The distance i − j of each pair."""
    return pairs.rows + reading.experiment.query_offset - pairs.columns


def _xl_weights(reading: Reading, row: int, column: int) -> tuple[Sum, ...]:
    """r = R W_R is multiplied by the query and by v."""
    head, feature = divmod(column, reading.experiment.heads.d_head)
    position, pairs = reading.experiment.position, _all_pairs(reading, head)
    assert isinstance(position, TransformerXl)
    away = _away(reading, pairs)
    waves = sinusoidal(away, reading.experiment.d_model, position.base)[:, row]
    wave = Factor("R", waves, lambda index: f"R[{int(away[index])}, {row}]")
    v = float(relative_table(reading.experiment, "v")[head, feature])
    own = Factor("v", np.full(len(away), v), lambda index: f"v[{head}, {feature}]")
    query = _of_pairs(reading, "query", pairs, feature)
    return _with(pairs, query, wave), _with(pairs, own, wave)


def _xl_u(reading: Reading, row: int, column: int) -> tuple[Sum, ...]:
    pairs = _all_pairs(reading, row)
    return (_with(pairs, _of_pairs(reading, "key", pairs, column)),)


def _xl_v(reading: Reading, row: int, column: int) -> tuple[Sum, ...]:
    """r of the distance."""
    pairs = _all_pairs(reading, row)
    parts = relative_parts(reading.experiment, np.array([row]), *_distances(reading))
    away = _away(reading, pairs)
    values = parts.to_query[0][parts.rows[pairs.rows, pairs.columns], column]
    return (_with(pairs, Factor("r", values, lambda index: f"r[{int(away[index])}, {column}]")),)


def _sink(reading: Reading, row: int, column: int) -> tuple[Sum, ...]:
    """Σ −w · (share of the sink) · ∂/∂w: a higher sink takes from every weight of its row."""
    experiment, head, stage = reading.experiment, column, reading.site.raw_map
    pairs = _pairs(stage, head, np.ones((experiment.n_queries, experiment.n_keys)))
    before = inputs(stage, reading.site.stages)[0]
    normaliser = normaliser_of(experiment)
    p = np.empty((experiment.n_queries, experiment.n_keys))
    for query in range(experiment.n_queries):
        p[query] = normaliser.row(reading.row(before, head, query), Cell(stage, query, 0, head))
    share = 1 - p.sum(axis=1)
    if normaliser.late:  # cleared weights pass nothing
        every = reading.site.blocked(slice(None))
        p = p if every is None else np.where(every, 0.0, p)
    weight = Factor("w", p.ravel(), lambda index: reading.full_name(pairs.cell(index)))
    taken = Factor(
        "(−s)",
        -share[pairs.rows],
        lambda index: _("− share of the sink of {token}").format(
            token=reading.label("query", int(pairs.rows[index]))
        ),
    )
    return (_with(pairs, weight, taken),)


def _added(reading: Reading, row: int, column: int) -> tuple[Sum, ...]:
    """The score of one head, or that of every head where they share the numbers; none past the text."""
    site, mask = reading.experiment, reading.experiment.additive_mask
    assert mask is not None
    n_heads = site.heads.n_heads
    head, query = divmod(row, mask.values.shape[0] // n_heads) if mask.per_head else (0, row)
    if query >= site.n_queries or column >= site.n_keys:
        return ()
    heads = np.array([head]) if mask.per_head else np.arange(n_heads)
    return (Sum("added", heads, np.full_like(heads, query), np.full_like(heads, column)),)


_LAMBDAS = {name: f"λ_{name[0].upper()}{name[-1]}" for name in LAMBDA_ROWS}
"""The vectors of λ by their fields."""


def _every(reading: Reading) -> Floats:
    return np.ones((reading.experiment.n_queries, reading.experiment.n_keys))


def _subtracted(reading: Reading, pairs: Sum, other: int) -> Factor:
    """Minus the weights of the partner that is subtracted."""
    source = inputs(reading.site.map, reading.site.stages)[0]
    own = cells(reading.site.matrix(source, other), pairs.rows, pairs.columns)
    weights = np.nan_to_num(own.astype(np.float64), nan=0.0)

    def called(index: int) -> str:
        return f"−{reading.full_name(Cell(source, int(pairs.rows[index]), int(pairs.columns[index]), other))}"

    return Factor("(−w₂)", -weights, called)


def _of_lambda(name: str) -> Rule:
    """Σ −w₂ · ∂λ/∂ number · ∂/∂ (w₁ − λ w₂): both partners of a pair have the difference."""

    def rule(reading: Reading, row: int, column: int) -> tuple[Sum, ...]:
        experiment = reading.experiment
        of, n_heads = experiment.differential, experiment.heads.n_heads
        assert of is not None
        slope, every = of.slopes(experiment.heads.d_head)[name][column], _every(reading)
        sums = []
        for head in range(n_heads):
            pairs = _pairs(reading.site.map, head, every)
            by_number = Factor(
                "∂λ",
                np.full(len(pairs.rows), slope),
                lambda index: f"∂λ / ∂ {_LAMBDAS[name]}[{column}]",
            )
            sums.append(_with(pairs, _subtracted(reading, pairs, partners(head, n_heads)[1]), by_number))
        return tuple(sums)

    return rule


# --- the table -------------------------------------------------------------------------------------

_TABLE = "table"
_LINEAR: dict[str, tuple[Rule, Rule]] = {
    path: _linear(*(row.id for row in STAGES if path in row.operands.split()))
    for path in " ".join(row.operands for row in STAGES if row.made_by is Linear).split()
    if path in WEIGHT_BY_PATH
}
"""The matrices of linear maps, by path: the stage that each computes."""
_GAINS = {weight.path: weight.stage for weight in WEIGHTS if weight.path.endswith("gain")}
"""The gains of norms, by path: the stage that each multiplies."""

SUMS: dict[str, Rule] = {
    **{path: matrix for path, (matrix, _bias) in _LINEAR.items()},
    **{bias_path(path): bias for path, (_matrix, bias) in _LINEAR.items()},
    "vocabulary.unembedding": _of_logits(True),
    "vocabulary.bias": _of_logits(False),
    **{path: _gain(stage) for path, stage in _GAINS.items()},
    **{f"{path[:-4]}bias": _bias_of_norm(stage) for path, stage in _GAINS.items() if path.endswith(".gain")},
    "additive_mask.values": _added,
    "sinks": _sink,
    **{f"differential.{name}": _of_lambda(name) for name in LAMBDA_ROWS},
    "position.slopes": _slope,
    "position.weights": _xl_weights,
    "position.u": _xl_u,
    "position.v": _xl_v,
    "position.keys": _deberta("query"),
    "position.queries": _deberta("key"),
}
"""The sums of every parameter that has a derivative, by its path in the document."""

TABLES: dict[type, Rule] = {Learned: _learned, T5Buckets: _t5}
"""Of `position.table`, by the position that has it."""
