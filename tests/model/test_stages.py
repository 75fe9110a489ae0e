"""Every cell of every stage, recomputed in plain Python from the cells that its provenance names.

The recomputation reads through `Reader`, which refuses any cell that `sources` did not name and reports the
ones it named in vain. What is not a cell of a stage (weights, angles, masks, slopes) is computed here
again, without the package's numerics.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import get_args

import numpy as np
import pytest
from block_by_hand import (
    LATENT,
    MAPS,
    ROLES,
    before_vocabulary,
    comes_from,
    dot,
    entry_of,
    from_latent,
    hidden,
    known_logit,
    last_stage,
    matrix,
    norms,
    projected,
    routed_to,
    times_weight,
    transformed,
    widened,
)
from block_by_hand import normed as normed_row
from experiments import SITES, SPREAD, STACKS, sited
from mask_formulas import blocks_cell
from positions_by_hand import bucket, entry, related, rotated

from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.model.binding import bind
from attnviz.model.operands.matrices import vectors_array
from attnviz.model.positions import POSITIONS
from attnviz.model.provenance import consumers, sources
from attnviz.model.spec.parts import Alibi, ExplicitSinks, ScaleValue, Sinusoidal, SqrtDHead
from attnviz.model.spec.positions import Learned, T5Buckets
from attnviz.model.spec.site import Site
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID, STAGES, inputs
from attnviz.model.trace import Origin, SiteTrace, Trace
from attnviz.operations.operation import Pattern


@pytest.fixture(scope="module", params=SITES, ids="/".join)
def looked_at(request: pytest.FixtureRequest) -> tuple[Trace, str]:
    experiment, site = request.param
    return run(NumpyEngine("float64"), (SPREAD | STACKS)[experiment]), site


@pytest.fixture(scope="module")
def trace(looked_at: tuple[Trace, str]) -> Trace:
    return looked_at[0]


@pytest.fixture(scope="module")
def site(looked_at: tuple[Trace, str]) -> SiteTrace:
    trace, name = looked_at
    return trace.site(name)


class Reader:
    """The source cells of one cell, and nothing else."""

    def __init__(self, site: SiteTrace, cell: Cell) -> None:
        self._site = site
        self._regions = {region.stage: region for region in sources(site, cell)}
        self.stages = tuple(self._regions)
        self.read: set[tuple[str, int, int, int]] = set()

    def __call__(self, stage: str, head: int, row: int, column: int) -> float:
        region = self._regions[stage]
        assert region.has(head, row, column), f"{stage}[{head}, {row}, {column}] is not named as a source"
        self.read.add((stage, head, row, column))
        return float(self._site.window(stage, head)[row, column])

    def row(self, stage: str, head: int, row: int) -> list[float]:
        n = self._site.shape(stage)[-1]
        return [self(stage, head, row, column) for column in range(n)]

    def named(self) -> set[tuple[str, int, int, int]]:
        """All cells that the provenance names."""
        found = set()
        for region in self._regions.values():
            shape = self._site.shape(region.stage)
            ranges = [
                range(size) if chosen is None else chosen
                for chosen, size in zip(
                    (region.heads, region.rows, region.columns), (1, 1, 1, *shape)[-3:], strict=True
                )
            ]
            found |= {(region.stage, *index) for index in product(*ranges)}
        return found


# --- one function per kind of step -----------------------------------------------------------------


def recomputed(experiment: Site, cell: Cell, read: Reader) -> float:
    stage = cell.stage
    if stage in LATENT or (experiment.latent is not None and stage in ("k", "v")):
        norm = norms(experiment).get(stage)
        return from_latent(experiment, cell, read) if norm is None else normed_row(norm, cell, read)
    if stage in ROLES:
        return projected(experiment, cell, read)
    if stage in ("q_normed", "k_normed"):
        return normed(experiment, cell, read)
    norm = norms(experiment).get(stage)
    if norm is not None:
        return normed_row(norm, cell, read)
    if stage == "routing" or (stage.startswith("ffn") and stage.endswith("_routed")):
        assert experiment.block is not None and experiment.block.feed_forward is not None
        ffn = experiment.block.feed_forward
        assert ffn.experts is not None
        return routed_to(ffn.experts, cell, read) if stage == "routing" else times_weight(ffn, cell, read)
    if stage in MAPS or stage == "ffn_hidden":
        assert experiment.block is not None
        ffn = experiment.block.feed_forward
        assert ffn is not None
        is_map = stage in MAPS
        return transformed(ffn, experiment.d_model, cell, read) if is_map else hidden(ffn, cell, read)
    if stage == "x_projected":
        return widened(experiment, cell, read)
    if stage in ("transform", "transform_hidden"):
        return before_vocabulary(experiment, cell, read)
    if stage in ("residual_1", "residual_2"):
        past, made = (read(one, 0, cell.row, cell.column) for one in read.stages)
        assert experiment.block is not None
        return float(past + experiment.block.residual_scale * made)
    if stage in ("combined", "mixed_normed"):
        return of_partners(experiment, cell, read)
    if stage.endswith("_rotated"):
        return rotated(experiment, cell, read)
    if stage in ("weights", "probabilities"):
        return softmaxed(experiment, cell, read)
    if bind(experiment, stage).pattern == "same_cell":
        return pointwise(experiment, cell, read)
    first = read.stages[0] if read.stages else ""
    if stage == "relative":
        return related(experiment, cell, read)
    if stage == "scores":
        kv_head = cell.head // (experiment.heads.n_heads // experiment.heads.n_kv_heads)
        return dot(read.row(first, cell.head, cell.row), read.row(read.stages[1], kv_head, cell.column))
    if stage == "mixed" and cell.head in experiment.heads.off:
        return 0.0
    if stage == "mixed":
        weights = read.row(first, cell.head, cell.row)
        kv_head = cell.head // (experiment.heads.n_heads // experiment.heads.n_kv_heads)
        values = [read(read.stages[1], kv_head, key, cell.column) for key in range(len(weights))]
        return dot(weights, values)
    if stage == "gate":
        return gate(experiment, cell, read)
    if stage == "gated":
        assert experiment.gate is not None
        column = cell.column if experiment.gate.per == "feature" else 0
        opened = 1 / (1 + math.exp(-read("gate", cell.head, cell.row, column)))
        return float(read(first, cell.head, cell.row, cell.column) * opened)
    if stage == "concatenated":
        head, column = divmod(cell.column, experiment.heads.d_head)
        return read(first, head, cell.row, column)
    if stage == "logits" and experiment.readout == "vocabulary":
        return known_logit(experiment, cell, read)
    if stage == "logits":
        embedding = experiment.tokens.index(list(dict.fromkeys(experiment.tokens))[cell.column])
        token = vectors_array(experiment.vectors)[embedding].tolist()
        if len(read.stages) > 1:  # a later layer begins with something else
            token = read.row(read.stages[1], 0, embedding)
        return dot(read.row(first, 0, cell.row), token)
    given = (
        experiment.vectors if stage == "tokens_embedded" else experiment.memory and experiment.memory.vectors
    )
    assert given
    return float(vectors_array(given)[cell.row, cell.column])


def of_partners(experiment: Site, cell: Cell, read: Reader) -> float:
    """Ye et al. 2024, equations 1 to 3, with the two halves of a head as two heads."""
    of, half = experiment.differential, experiment.heads.n_heads // 2
    assert of is not None
    pair = (cell.head % half, cell.head % half + half)
    if cell.stage == "mixed_normed":
        row = [x for head in pair for x in read.row("mixed", head, cell.row)]
        own = row[pair.index(cell.head) * experiment.heads.d_head + cell.column]
        return (1 - of.initial) * own / math.sqrt(math.fsum(x * x for x in row) / len(row) + of.eps)
    d = experiment.heads.d_head
    q_1, k_1, q_2, k_2 = (
        [entry_of(row, d, index, 0.0) for index in range(d)]
        for row in (of.query_1, of.key_1, of.query_2, of.key_2)
    )
    share = math.exp(dot(q_1, k_1)) - math.exp(dot(q_2, k_2)) + of.initial
    kept, taken = (read(read.stages[0], head, cell.row, cell.column) for head in pair)
    return kept - share * taken


def gate(experiment: Site, cell: Cell, read: Reader) -> float:
    """x W_G + b_G, heads side by side: Qiu et al. 2025, equation 5, before its sigmoid."""
    gate, heads = experiment.gate, experiment.heads
    assert gate is not None
    row, width = read.row(read.stages[0], 0, cell.row), heads.d_head if gate.per == "feature" else 1
    shape, column = (len(row), heads.n_heads * width), cell.head * width + cell.column
    weights = matrix(gate.weights, shape)[:, column].tolist()
    return dot(row, weights) + entry_of(gate.bias, shape[1], column, 0.0)


def normed(experiment: Site, cell: Cell, read: Reader) -> float:
    norm = experiment.qk_norm
    assert norm is not None
    n_heads = experiment.heads.n_heads if cell.stage == "q_normed" else experiment.heads.n_kv_heads
    heads = range(n_heads) if norm.across else (cell.head,)
    row = [x for head in heads for x in read.row(read.stages[0], head, cell.row)]
    at = cell.column + (cell.head * experiment.heads.d_head if norm.across else 0)
    mean = math.fsum(row) / len(row) if norm.kind == "layer" else 0.0
    squares = math.fsum((x - mean) ** 2 for x in row) / (1 if norm.kind == "l2" else len(row))
    gain = entry_of(norm.query_gain if cell.stage == "q_normed" else norm.key_gain, len(row), at, 1.0)
    return gain * (row[at] - mean) / math.sqrt(squares + norm.eps)


def slope_bias(experiment: Site, cell: Cell) -> float:
    assert isinstance(experiment.position, Alibi)
    n, slopes = experiment.heads.n_heads, experiment.position.slopes
    if slopes is None:
        power = 2 ** (n.bit_length() - 1)
        slopes = tuple(2 ** (-8 * (h + 1) / power) for h in range(power))
        slopes += tuple(2 ** (-4 * (2 * h + 1) / power) for h in range(n - power))
    return -slopes[cell.head] * abs(cell.row + experiment.query_offset - cell.column)


def bucket_bias(experiment: Site, cell: Cell) -> float:
    t5 = experiment.position
    assert isinstance(t5, T5Buckets)
    row = bucket(t5, cell.column - cell.row - experiment.query_offset)
    return entry(t5.table, (t5.n_buckets, experiment.heads.n_heads), row, cell.head)


BIASES = {Alibi: slope_bias, T5Buckets: bucket_bias}
"""By position: its term of one score."""


def pointwise(experiment: Site, cell: Cell, read: Reader) -> float:
    value = read(read.stages[0], cell.head, cell.row, cell.column)
    if cell.stage == "x":
        position = experiment.position
        if isinstance(position, Learned):
            shape = (position.length, experiment.d_embedding)
            return value + entry(position.table, shape, cell.row + position.start, cell.column)
        assert isinstance(position, Sinusoidal)
        pair, odd = divmod(cell.column, 2)
        angle = (cell.row + position.start) / position.base ** (2 * pair / experiment.d_embedding)
        return value + (math.cos(angle) if odd else math.sin(angle))
    if cell.stage == "q_tempered":
        given = experiment.position_temperature
        assert given is not None
        steps = (cell.row + experiment.query_offset + 1) // given.interval
        return value * (1 + given.strength * math.log(1 + steps))
    if cell.stage == "scaled":
        scale = experiment.scale
        factor = scale.value if isinstance(scale, ScaleValue) else 1.0
        # DeepSeek-AI 2024, equation 17: the features beside the content count.
        d_qk = experiment.heads.d_head + (experiment.latent.d_rope if experiment.latent else 0)
        factor = 1 / math.sqrt(d_qk) if isinstance(scale, SqrtDHead) else factor
        return value * factor / experiment.temperature
    if cell.stage == "capped":
        assert experiment.cap is not None
        return experiment.cap * math.tanh(value / experiment.cap)
    if cell.stage == "biased":
        return value + BIASES[type(experiment.position)](experiment, cell)
    if cell.stage == "added":
        return value + number_of_mask(experiment, cell)
    if cell.stage == "masked":
        if not is_blocked(experiment, cell.row, cell.column):
            return value
        return -math.inf if experiment.mask_bias is None else value + experiment.mask_bias
    return value * is_kept(experiment, cell)


def number_of_mask(experiment: Site, cell: Cell) -> float:
    """M[head, query, key], 0 past its end; the least float32 stands for −∞."""
    mask = experiment.additive_mask
    assert mask is not None
    rows = mask.values.array.tolist()
    n_rows = len(rows) // (experiment.heads.n_heads if mask.per_head else 1)
    if cell.row >= n_rows or cell.column >= len(rows[0]):
        return 0.0
    number = rows[cell.row + (cell.head * n_rows if mask.per_head else 0)][cell.column]
    return -math.inf if number <= np.finfo(np.float32).min else number


def softmaxed(experiment: Site, cell: Cell, read: Reader) -> float:
    if cell.stage == "weights" and experiment.normaliser != "softmax":
        return alone(experiment, cell, read)
    row = read.row(read.stages[0], cell.head, cell.row)
    if cell.stage == "weights":
        hidden = [is_blocked(experiment, cell.row, key) for key in range(len(row))]
        if experiment.mask_placement == "after_softmax" and hidden[cell.column]:
            return 0.0
        is_cleared = experiment.mask_placement == "before_softmax" and experiment.mask_bias is None
        is_cut = experiment.additive_mask is not None and all(score == -math.inf for score in row)
        if (is_cleared and all(hidden) or is_cut) and experiment.sinks is None:
            return math.nan if experiment.fully_masked_row == "nan" else 0.0
        row += sink(experiment, cell.head)
    if any(math.isnan(value) for value in row):
        return math.nan
    top = max(row)
    return math.exp(row[cell.column] - top) / math.fsum(math.exp(value - top) for value in row)


def sink(experiment: Site, head: int) -> list[float]:
    """The sink of a head as one more score, if the site has sinks."""
    if experiment.sinks is None:
        return []
    if isinstance(experiment.sinks, ExplicitSinks):
        return [experiment.sinks.values[head]]
    drawn = np.random.default_rng(experiment.sinks.seed).standard_normal(experiment.heads.n_heads)
    return [float(drawn[head])]


def alone(experiment: Site, cell: Cell, read: Reader) -> float:
    """Sigmoid or squared ReLU of one score, among as many keys as the query sees."""
    hidden = [is_blocked(experiment, cell.row, key) for key in range(sited(experiment).n_keys)]
    score = read(read.stages[0], cell.head, cell.row, cell.column)
    n = len(hidden)
    is_cut = experiment.additive_mask is not None and all(
        read(read.stages[0], cell.head, cell.row, key) == -math.inf for key in range(n)
    )
    if is_cut:
        hidden_after = experiment.mask_placement == "after_softmax" and hidden[cell.column]
        return math.nan if experiment.fully_masked_row == "nan" and not hidden_after else 0.0
    if experiment.mask_placement == "before_softmax":
        n -= sum(hidden)
        if n == 0 and experiment.mask_bias is None:
            return math.nan if experiment.fully_masked_row == "nan" else 0.0
        n = max(n, 1)
    if hidden[cell.column] and (experiment.mask_placement == "after_softmax" or experiment.mask_bias is None):
        return 0.0
    if experiment.normaliser == "relu_squared":
        return max(0.0, score) ** 2 / n
    return 1 / (1 + n * math.exp(-score))


def is_blocked(experiment: Site, query: int, key: int) -> bool:
    return blocks_cell(experiment.masks, query + experiment.query_offset, key)


def is_kept(experiment: Site, cell: Cell) -> float:
    """0, or the factor of a survivor: SplitMix64 over the seed and the place of the cell, in Python integers.

    Weights have head, query and key; numbers of tokens a constant past all heads, token and feature.
    """
    first = {"dropped": cell.head, "attention_dropped": 2**32, "ffn_dropped": 2**32 + 1}[cell.stage]
    assert experiment.block is not None or cell.stage == "dropped"
    dropout = experiment.block.dropout if experiment.block and first >= 2**32 else experiment.dropout
    state = mixed(dropout.seed)
    for coordinate in (first, cell.row, cell.column):
        state = mixed(state ^ coordinate)
    if (state >> 11) / 2**53 < dropout.p:
        return 0.0
    return 1 / (1 - dropout.p) if dropout.rescale else 1.0


def mixed(z: int) -> int:
    z = (z + 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


# --- the tests -------------------------------------------------------------------------------------


def cells(site: SiteTrace, stage: str) -> Iterator[Cell]:
    shape = (1, *site.shape(stage))[-3:]
    for head, row, column in np.ndindex(*shape):
        yield Cell(stage, row, column, head)


def test_every_cell_is_what_its_sources_make(site: SiteTrace) -> None:
    """Stages of another site are for the test below."""
    for stage in (stage for stage in site.stages if stage not in site.given):
        for cell in cells(site, stage):
            read = Reader(site, cell)
            expected = recomputed(site.experiment, cell, read)
            found = float(site.window(stage, cell.head)[cell.row, cell.column])
            assert found == pytest.approx(expected, rel=1e-11, abs=1e-12, nan_ok=True), cell


def test_a_site_goes_on_with_what_the_one_before_has_made(trace: Trace, site: SiteTrace) -> None:
    makers = comes_from(trace, site.name)
    assert {stage: origin.site for stage, origin in site.given.items()} == makers
    for stage, maker in makers.items():
        made = "tokens_embedded" if stage == "tokens_embedded" else last_stage(trace, maker)
        assert site.given[stage] == Origin(maker, made)
        if stage in site.stages:
            np.testing.assert_array_equal(site[stage], trace.site(maker)[made])
    assert ("layer_input" in site.stages) == ("layer_input" in makers)
    assert ("tokens_embedded" in site.stages) != ("layer_input" in site.stages)


def test_no_cell_is_named_as_a_source_in_vain(site: SiteTrace) -> None:
    for stage in (stage for stage in site.stages if stage not in site.given):
        for cell in cells(site, stage):
            read = Reader(site, cell)
            recomputed(site.experiment, cell, read)
            assert read.read == read.named(), cell


def test_consumers_are_the_sources_read_backwards(site: SiteTrace) -> None:
    forwards, backwards = set(), set()
    for stage in site.stages:
        for cell in cells(site, stage):
            target = (stage, cell.head, cell.row, cell.column)
            forwards |= {(source, target) for source in Reader(site, cell).named()}
            for region in consumers(site, cell):
                for index in np.ndindex(*(1, *site.shape(region.stage))[-3:]):
                    if region.has(*index):
                        backwards.add((target, (region.stage, *index)))
    assert backwards == forwards


def test_every_bias_is_computed_by_hand() -> None:
    assert set(BIASES) == {row.record for row in POSITIONS if row.bias is not None}


def test_the_spread_has_every_stage_and_every_pattern() -> None:
    engine = NumpyEngine("float64")
    traces = [run(engine, one) for one in (SPREAD | STACKS).values()]
    sites = [trace.site(site) for trace in traces for site in trace.sites]
    seen = {(stage, bind(site.experiment, stage).pattern) for site in sites for stage in site.stages}
    assert {stage for stage, _pattern in seen} == set(STAGE_BY_ID)
    assert {pattern for _stage, pattern in seen} == set(get_args(Pattern))


def test_arrays_have_the_shapes_that_the_axes_say(site: SiteTrace) -> None:
    experiment, known = site.experiment, site.experiment.vocabulary
    lengths = {
        "head": experiment.heads.n_heads,
        "kv_head": experiment.heads.n_kv_heads,
        "token": len(experiment.tokens),
        "query": len(experiment.tokens),
        "key": len(experiment.key_tokens),
        "memory": len(experiment.key_tokens),
        "vocabulary": len(set(experiment.tokens)) if known is None else known.n_logits,
    }
    for stage in site.stages:
        array = site[stage]
        assert array.shape == site.shape(stage)
        assert array.dtype == np.float64 and not array.flags.writeable
        for axis, size in zip(STAGE_BY_ID[stage].axes, array.shape, strict=True):
            assert size == lengths.get(axis, size), (stage, axis)


def test_a_stage_reads_only_earlier_ones(site: SiteTrace) -> None:
    for place, stage in enumerate(site.stages):
        assert set(inputs(stage, site.stages)) <= set(site.stages[:place]), stage
    assert len({stage.id for stage in STAGES}) == len(STAGES)


def test_inputs_are_the_last_stages_before() -> None:
    assert inputs("weights", ("scores", "scaled", "weights")) == ("scaled",)
    assert inputs("weights", ("scores", "scaled", "masked", "weights")) == ("masked",)
    assert inputs("mixed", ("v", "v_rotated", "weights", "dropped", "mixed")) == ("dropped", "v_rotated")
    assert inputs("norm_1", ("x", "norm_1", "attention_output", "residual_1")) == ("x",)
    assert inputs("norm_1", ("x", "attention_output", "residual_1", "norm_1")) == ("residual_1",)
    assert inputs("k", ("tokens_embedded", "x", "memory")) == ("memory",)
    assert inputs("tokens_embedded", ("tokens_embedded",)) == ()
