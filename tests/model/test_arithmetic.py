"""What an explanation shows is worked out here again, from its text: every formula gives the trace's number.

The text is read by a small translator of signs and Python's own arithmetic, so nothing of the package
takes part in the sum.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from experiments import SITES, SPREAD, STACKS, small
from msgspec.structs import replace

from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.i18n import set_language
from attnviz.model.arithmetic import LINES, exists, explain
from attnviz.model.arithmetic_pieces import (
    Explanation,
    Gap,
    Line,
    Pieces,
    Series,
    Term,
    digits,
    flat,
    plain,
)
from attnviz.model.arrays import Matrix
from attnviz.model.block_parts import Block, FeedForward, Norm, Vocabulary
from attnviz.model.experiment import Experiment
from attnviz.model.materialise import projection_array
from attnviz.model.parts import (
    Causal,
    Dropout,
    Explicit,
    ExplicitSinks,
    ExplicitVectors,
    Heads,
    Identity,
    NoScale,
    Padding,
    Painted,
    Projections,
    SeededVectors,
    Window,
)
from attnviz.model.provenance import sources
from attnviz.model.rows import WrittenRow
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace, Trace
from attnviz.model.view import Cell


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


def site_of(experiment: Experiment, dtype: str = "float64") -> SiteTrace:
    return run(NumpyEngine(dtype), experiment).only


def cells(site: SiteTrace) -> Iterator[Cell]:
    for stage in site.stages:
        for head, row, column in np.ndindex(*(1, *site.shape(stage))[-3:]):
            yield Cell(stage, row, column, head)


def number_at(site: SiteTrace, cell: Cell) -> float:
    return float(site.window(cell.stage, cell.head)[cell.row, cell.column])


# --- reading a formula -----------------------------------------------------------------------------

_SIGNS = {"−": "-", "×": "*", "÷": "/", "^": "**", ")(": ")*(", "∞": "inf", "NaN": "nan"}
_NAMES = {name: getattr(np, name) for name in ("exp", "tanh", "sin", "cos", "inf", "nan")} | {
    "abs": abs,
    "max": np.maximum,
    "min": np.minimum,
    "erf": math.erf,
}


def worked_out(formula: str, m: float) -> float:
    """The value of a formula in the notation of the inspector; `m` is what its `m` stands for."""
    text = re.sub(r"\|([^|]*)\|", r"abs(\1)", formula)
    for sign, python in _SIGNS.items():
        text = text.replace(sign, python)
    # Numbers become float64 scalars: 0 / 0 is NaN here, not an exception.
    text = re.sub(r"(?<![\w.])(\d+\.?\d*(?:e-?\d+)?)", r"f(\1)", text)
    with np.errstate(all="ignore"):
        return float(eval(text, {"__builtins__": {}, "f": np.float64, "m": m, **_NAMES}))


def exact(pieces: Pieces) -> str:
    """The formula with every number in full, whole sums included."""
    return "".join(
        repr(p.value).replace("-", "−") if isinstance(p, Term) else p.text for p in flat(pieces, True)
    )


def is_numeric(step: Pieces) -> bool:
    has_numbers = any(isinstance(piece, Term | Series) for piece in step)
    return has_numbers and "Σ" not in plain(step)


def maximum(line: Line) -> float:
    """The number that the line's notes call m."""
    for note in line.notes:
        terms = [piece for piece in note if isinstance(piece, Term)]
        if plain(note).startswith("m = "):
            return terms[0].value
    return math.nan


# --- the numbers -----------------------------------------------------------------------------------


def test_every_formula_gives_the_number_of_the_trace(site: SiteTrace) -> None:
    worked = 0
    for cell in cells(site):
        explanation = explain(site, cell)
        value = number_at(site, cell)
        close = pytest.approx(value, rel=1e-11, abs=1e-12, nan_ok=True)
        # A product of one row may round otherwise in its last place than one of all rows.
        ulps = 1e-14 if "relative" in site.stages else 0
        assert explanation.value == pytest.approx(value, rel=ulps, abs=ulps, nan_ok=True)
        assert explanation.recomputed == close, cell
        for line in explanation.lines:
            expected = pytest.approx(line.value, rel=1e-10, abs=1e-12, nan_ok=True)
            assert line.recomputed == expected, (cell, plain(line.name))
            for step in filter(is_numeric, line.steps):
                assert worked_out(exact(step), maximum(line)) == expected, (cell, exact(step))
                worked += 1
    assert worked > 100


def test_the_digits_shown_are_enough_to_work_it_out_by_hand(site: SiteTrace) -> None:
    for cell in list(cells(site))[::3]:
        for line in explain(site, cell).lines:
            for step in filter(is_numeric, line.steps):
                terms = [piece for piece in flat(step, True) if isinstance(piece, Term)]
                if terms[0].text.endswith("]"):
                    continue  # the name of another cell
                found = worked_out(plain(step, is_whole=True), _shown(maximum(line)))
                size = max([1.0, *(abs(term.value) for term in terms if math.isfinite(term.value))])
                assert found == pytest.approx(line.value, rel=2e-3, abs=2e-3 * size, nan_ok=True), cell


def _shown(value: float) -> float:
    return float(digits(value).replace("−", "-")) if math.isfinite(value) else value


def test_every_term_is_the_number_of_the_cell_that_it_leads_to(trace: Trace, site: SiteTrace) -> None:
    for cell in list(cells(site))[::3]:
        for line in explain(site, cell).lines:
            for step in (line.name, *line.steps, *line.notes):
                for term in (p for p in flat(step, True) if isinstance(p, Term) and p.source is not None):
                    there = trace.site(term.source.site) if term.source.site else site
                    assert exists(there, term.source)
                    if term.name.startswith("exp("):
                        expected = math.exp(number_at(there, term.source) - maximum(line))
                    else:
                        expected = number_at(there, term.source)
                    assert term.value == pytest.approx(expected, rel=1e-14, nan_ok=True), (cell, term)


def test_the_first_line_leads_to_every_source_and_to_nothing_else(site: SiteTrace) -> None:
    """Sources whose value is decided without them (a fully masked row, an identity) may stay out.

    Cells of other sites are no sources in this one; another test has them.
    """
    for cell in cells(site):
        line = explain(site, cell).lines[0]
        regions = {region.stage: region for region in sources(site, cell)}
        found = {
            term.source
            for step in (*line.steps, *line.notes)
            for term in flat(step, True)
            if isinstance(term, Term) and term.source is not None and not term.source.site
        }
        for source in found:
            assert regions[source.stage].has(source.head, source.row, source.column), (cell, source)
        if STAGE_BY_ID[cell.stage].rule in ("qd,kd->qk", "qk,kd->qd", "qd,wd->qw", "same_cell"):
            expected = sum(
                np.prod(
                    [
                        size if chosen is None else len(chosen)
                        for size, chosen in zip(
                            (1, *site.shape(r.stage))[-3:], (r.heads, r.rows, r.columns), strict=True
                        )
                    ]
                )
                for r in regions.values()
            )
            assert len(found) == expected, cell


def test_weights_that_are_no_stage_are_named_and_lead_nowhere() -> None:
    experiment = small(heads=Heads(4, 2, 4))
    site = site_of(experiment)
    line = explain(site, Cell("k", 2, 1, head=1)).lines[0]
    weights = [p for p in flat(line.steps[1], True) if isinstance(p, Term) and p.source is None]
    assert [term.name for term in weights] == [f"W_K[{i}, 5]" for i in range(6)]
    assert [term.value for term in weights] == projection_array(experiment, "key")[:, 5].tolist()
    assert {term.hue for term in weights} == {"key"}


def test_every_stage_is_explained() -> None:
    assert set(LINES) == set(STAGE_BY_ID)


# --- what it looks like ----------------------------------------------------------------------------


def four() -> Experiment:
    """q, k and v are x; rows 0 and 1 are orthogonal."""
    rows = np.array([[3.0, 4.0], [-4.0, 3.0], [0.5, 0.25], [0.0, 0.0]])
    return Experiment(
        ("a", "fluffy", "<img src=x>", "the\ncat"),
        ExplicitVectors(Matrix(rows)),
        heads=Heads(1, 1, 2),
        masks=(Causal(),),
        dtype="float64",
    )


def shown(explanation: Explanation) -> list[str]:
    lines = []
    for line in explanation.lines:
        parts = [plain(line.name), *map(plain, line.steps)]
        notes = "; ".join(map(plain, line.notes))
        lines.append(" = ".join(parts) + (f" ({notes})" if notes else ""))
    return lines


def test_weights_are_opened_down_to_the_product() -> None:
    assert shown(explain(site_of(four()), Cell("weights", 1, 0))) == [
        "weights[fluffy, a] = exp(0 − m) ÷ Σ = 2.102e−8 ÷ (2.102e−8 + 1 + 0 + 0)"
        " (m = 17.6777, the row's maximum)",
        "scaled = scores ÷ √2 = 0 ÷ 1.4142",
        "scores = q · k = (−4)(3) + (3)(4)",
        " = |q||k| cos θ = 5 × 5 × 0 (θ = 90.0°)",
    ]


def test_other_normalisers_are_opened_down_to_the_score() -> None:
    sigmoid = shown(explain(site_of(replace(four(), normaliser="sigmoid")), Cell("weights", 1, 1)))
    assert sigmoid[:2] == [
        "weights[fluffy, fluffy] = σ(s − log n) = 1 ÷ (1 + exp(0.6931 − 17.6777))"
        " (n = 2 keys that this query sees)",
        "scaled = scores ÷ √2 = 25 ÷ 1.4142",
    ]
    squared = shown(explain(site_of(replace(four(), normaliser="relu_squared")), Cell("weights", 2, 1)))
    assert squared[0] == (
        "weights[“<img src=x>”, fluffy] = max(0, s)² ÷ n = max(0, −0.8839)^2 ÷ 3"
        " (n = 3 keys that this query sees)"
    )


def test_a_sink_is_shown_with_what_it_takes() -> None:
    experiment = replace(four(), sinks=ExplicitSinks((17.0,)))
    assert shown(explain(site_of(experiment), Cell("weights", 1, 1)))[0] == (
        "weights[fluffy, fluffy] = exp(17.6777 − m) ÷ (exp(17 − m) + Σ)"
        " = 1 ÷ (0.5078 + 2.102e−8 + 1 + 0 + 0)"
        " (m = 17.6777, the row's maximum; the sink takes 0.3368; the weights of the row sum to 0.6632)"
    )


def test_a_blocked_score_says_what_blocks_it_and_what_it_would_be() -> None:
    masks = (Causal(), Padding((2,)), Window(1, 0), Painted(((0, 2),)))
    experiment = small(masks=masks, scale=NoScale(), heads=Heads(1, 1, 1))
    site = site_of(experiment)
    note = shown(explain(site, Cell("masked", 0, 2)))[0]
    would_be = digits(float(site.window("scores")[0, 2]))
    assert note == (
        "masked[the₀, the₂] (causal: key 2 comes after query 0; padding: nobody sees key 2;"
        " window: key 2 is 2 after query 0; 0 at most are seen; painted: blocked by hand;"
        f" in place of scores = {would_be})"
    )
    assert (
        "window: key 0 is 3 before query 3; 1 at most are seen"
        in shown(explain(site, Cell("masked", 3, 0)))[0]
    )
    assert "no mask blocks this cell" in shown(explain(site, Cell("masked", 1, 1)))[0]


def test_a_fully_masked_row_is_said_in_words() -> None:
    for kind, value, says in (("zeros", 0.0, "defines this row as 0"), ("nan", math.nan, "0 ÷ 0 is NaN")):
        site = site_of(small(masks=(Padding((0,)), Causal()), fully_masked_row=kind))
        explanation = explain(site, Cell("weights", 0, 3))
        assert explanation.value == pytest.approx(value, nan_ok=True)
        assert says in shown(explanation)[0]
        after = shown(explain(site, Cell("mixed", 0, 1)))[0]
        assert ("NaN, because a term is NaN" in after) == (kind == "nan")


def test_overflow_is_said_in_words() -> None:
    huge = ExplicitVectors(Matrix(np.array([[1e30, 0.0], [-1e30, 0.0]])))
    site = site_of(Experiment(("a", "b"), huge, heads=Heads(1, 1, 2), dtype="float32"), "float32")
    assert "too large for float32" in shown(explain(site, Cell("scores", 0, 0)))[0]
    assert "too large" not in shown(explain(site, Cell("scaled", 0, 0)))[0], "it was infinite before"
    assert "no softmax: scaled[a, a] = ∞" in shown(explain(site, Cell("weights", 0, 1)))[0]
    assert math.isnan(explain(site, Cell("weights", 0, 1)).recomputed)


def test_rounding_that_shows_is_said() -> None:
    rows = ExplicitVectors(Matrix(np.array([[4096.1, 1.0, -4096.1], [4096.1, 1.0, 4096.1]])))
    site = site_of(Experiment(("a", "b"), rows, heads=Heads(1, 1, 3), dtype="float32"), "float32")
    site64 = site_of(Experiment(("a", "b"), rows, heads=Heads(1, 1, 3), dtype="float64"))
    cell = Cell("scores", 0, 1)
    exact_line = explain(site64, cell).lines[0]
    assert exact_line.value == pytest.approx(1.0) and exact_line.notes == ()
    off = explain(site, cell)
    is_off = abs(off.value - off.recomputed) > 1e-5
    assert any("float32; the same terms in float64" in line for line in shown(off)[:1]) == is_off


def test_float32_traces_are_explained_to_their_precision() -> None:
    for experiment in SPREAD.values():
        site = site_of(experiment, "float32")
        for cell in list(cells(site))[::5]:
            explanation = explain(site, cell)
            close = pytest.approx(explanation.value, rel=1e-4, abs=1e-4, nan_ok=True)
            assert explanation.recomputed == close, cell


def test_long_sums_show_their_ends_and_keep_the_rest() -> None:
    tokens = tuple(f"t{i}" for i in range(40))
    site = site_of(small(tokens=tokens, vectors=SeededVectors(40, 6, 1)))
    step = explain(site, Cell("mixed", 3, 1)).lines[0].steps[1]
    pieces = list(flat(step))
    gaps = [p for p in pieces if isinstance(p, Gap)]
    terms = [p.source for p in pieces if isinstance(p, Term)]
    assert [gap.count for gap in gaps] == [34] and gaps[0].text == "… (34 more) …"
    assert [c.column for c in terms if c and c.stage == "weights"] == [0, 1, 2, 3, 4, 39]
    whole = [p for p in flat(step, is_whole=True) if isinstance(p, Term)]
    assert len(whole) == 80
    eight = explain(site_of(small(heads=Heads(1, 1, 8))), Cell("scores", 0, 0)).lines[0].steps[1]
    assert not any(isinstance(p, Gap) for p in flat(eight)), "eight terms are shown as they are"


def test_key_value_heads_are_counted_in_their_own_number() -> None:
    site = site_of(small(heads=Heads(4, 2, 2)))
    step = explain(site, Cell("scores", 0, 1, head=3)).lines[0].steps[1]
    terms = [piece for piece in flat(step) if isinstance(piece, Term)]
    assert [(t.source.stage, t.source.head) for t in terms if t.source] == [("q", 3), ("k", 1)] * 2
    assert terms[1].name == "k[cat, 0], KV head 2" and terms[0].name == "q[the₀, 0], head 4"
    assert [t.hue for t in terms] == ["query", "key"] * 2
    assert explain(site, Cell("v", 0, 1, head=1)).title == "v · KV head 2 of 2"


def test_identities_and_copies_are_said_as_such() -> None:
    site = site_of(small(projections=Projections(), heads=Heads(2, 2, 3)))
    assert shown(explain(site, Cell("q", 1, 2, head=1))) == ["q[cat, 2] = e[cat, 5] (W_Q is the identity)"]
    joined = shown(explain(site, Cell("concatenated", 1, 5)))[0]
    assert joined == "concatenated[cat, 5] = mixed[cat, 2] (from head 2)"
    assert shown(explain(site, Cell("tokens_embedded", 1, 5))) == [
        "e[cat, 5] (drawn from seed 7; edit it in Vectors)"
    ]


def block_of(**feed_forward: Any) -> SiteTrace:
    """Two features, weights that are the identity: rows of norm 2 are x normalised."""
    ffn = FeedForward(2, **feed_forward, up=Identity(), gate=Identity(), down=Identity())
    rows = Matrix([[1.0, -3.0], [2.0, 2.0]])
    norm = Norm("layer", 3.0, WrittenRow(Matrix([[2.0, -1.0]])), WrittenRow(Matrix([[0.5, 0.0]])))
    experiment = Experiment(
        ("a", "b"),
        ExplicitVectors(rows),
        heads=Heads(1, 1, 2, (0,)),
        block=Block(norm_1=None, feed_forward=ffn, norm_2=norm),
        dtype="float64",
    )
    return site_of(experiment)


def test_a_norm_is_opened_with_its_mean_and_variance() -> None:
    """Row (1, −3): mean −1, variance 4, and √(4 + 3) where ε is 3: 2 · 2 ÷ √7 + 0.5."""
    explanation = explain(block_of(), Cell("norm_2", 0, 0))
    assert explanation.value == pytest.approx(4 / math.sqrt(7) + 0.5)
    assert shown(explanation) == [
        "norm 2[a, 0] = gain · (residual 1 − mean) ÷ √(variance + ε) + bias"
        " = 2 × (1 − (−1)) ÷ (4 + 3)^0.5 + 0.5",
        "mean = Σ residual 1 ÷ d = (1 + (−3)) ÷ 2",
        "variance = Σ (residual 1 − mean)² ÷ d = ((1 − (−1))^2 + (−3 − (−1))^2) ÷ 2",
    ]


def test_a_hidden_feature_is_opened_by_its_activation() -> None:
    """A constant row normalised is its bias: gate and up of “b” are 0.5 and 0."""
    gated = explain(block_of(activation="silu", gated=True), Cell("ffn_hidden", 0, 1))
    z = 2 / math.sqrt(7)
    assert gated.value == pytest.approx(z / (1 + math.exp(-z)) * z)
    assert shown(gated) == [
        "hidden[a, 1] = gate · σ(gate) · up = (0.7559 ÷ (1 + exp(−0.7559))) × 0.7559",
    ]
    relu = shown(explain(block_of(activation="relu"), Cell("ffn_hidden", 1, 0)))
    assert relu == ["hidden[b, 0] = max(0, up) = max(0, 0.5)"]
    clamped = shown(explain(block_of(activation="clamped_swish", gated=True), Cell("ffn_hidden", 1, 0)))
    assert clamped == [
        "hidden[b, 0] = (clip(up, −7, 7) + 1) · g · σ(1.702 · g), g = min(gate, 7)"
        " = (max(−7, min(7, 0.5)) + 1) × min(7, 0.5) ÷ (1 + exp(−1.702 × min(7, 0.5)))"
    ]


def test_the_limit_of_an_activation_is_said_in_words() -> None:
    ffn = FeedForward(1, "silu", up=Explicit(Matrix([[10.0]])))
    rows = ExplicitVectors(Matrix([[-3e38]]))
    block = Block(norm_1=None, feed_forward=ffn)
    site = site_of(Experiment(("a",), rows, heads=Heads(1, 1, 1, (0,)), block=block), "float32")
    explanation = explain(site, Cell("ffn_hidden", 0, 0))
    assert explanation.value == explanation.recomputed == 0.0
    assert "the limit of the activation" in shown(explanation)[0]
    assert "too large for float32" in shown(explain(site, Cell("ffn_up", 0, 0)))[0]


def test_residual_connections_and_biases_are_sums() -> None:
    site = block_of(up_bias=WrittenRow(Matrix([[0.25, -4.0]])))
    assert shown(explain(site, Cell("residual_1", 0, 1))) == [
        "residual 1[a, 1] = e + attention output = −3 + 0"
    ]
    assert shown(explain(site, Cell("ffn_up", 1, 1))) == [
        "up[b, 1] = norm 2 + b_up = 0 + (−4) (W_up is the identity)"
    ]


def test_a_layers_input_names_the_cell_that_it_is() -> None:
    trace = run(NumpyEngine("float64"), STACKS["encoder and decoder"])
    line = explain(trace.site("decoder.1.self"), Cell("layer_input", 1, 2)).lines[0]
    assert plain(line.steps[0]) == "decoder.0.cross · residual 2[cat, 2]"
    (term,) = [piece for piece in line.steps[0] if isinstance(piece, Term)]
    assert term.source == Cell("residual_2", 1, 2, site="decoder.0.cross")
    memory = explain(trace.site("decoder.1.cross"), Cell("memory", 2, 4)).lines[0]
    assert plain(memory.steps[0]) == "encoder.1.self · output[!, 4]"
    raw = run(NumpyEngine("float64"), STACKS["cross over raw memory"]).site("layers.1.cross")
    assert "drawn from seed 8" in shown(explain(raw, Cell("memory", 0, 0)))[0]


def test_similarity_in_a_last_layer_leads_to_the_first() -> None:
    trace = run(NumpyEngine("float64"), STACKS["attentions alone"])
    step = explain(trace.site("layers.2.self"), Cell("logits", 0, 1)).lines[0].steps[1]
    sources_ = [term.source for term in flat(step) if isinstance(term, Term)]
    assert sources_[1] == Cell("tokens_embedded", 1, 0, site="layers.0.self")
    assert sources_[0] == Cell("attention_output", 0, 0)


def test_a_vocabulary_makes_logits_with_everything_it_has() -> None:
    known = Vocabulary(
        ("x", "y"),
        Matrix([[1.0, 2.0], [0.5, -1.0]]),
        bias=WrittenRow(Matrix([[0.5, -0.25]])),
        logit_scale=0.1,
        cap=30.0,
    )
    experiment = Experiment(
        ("a",), ExplicitVectors(Matrix([[3.0, 4.0]])), heads=Heads(1, 1, 2), vocabulary=known,
        readout="vocabulary", dtype="float64",
    )  # fmt: skip
    explanation = explain(site_of(experiment), Cell("logits", 0, 1))
    assert explanation.value == pytest.approx(30 * math.tanh((1.5 - 4 - 0.25) * 0.1 / 30))
    assert shown(explanation) == [
        "logits[a, y] = cap · tanh(((Σ attention output · W_U + b_U) × scale) ÷ cap)"
        " = 30 × tanh((((3)(0.5) + (4)(−1) + (−0.25)) × 0.1) ÷ 30)"
        " (W_U is the embedding, transposed)"
    ]


def test_a_cell_of_another_attention_is_not_here() -> None:
    trace = run(NumpyEngine("float64"), STACKS["two layers, pre"])
    first, second = (trace.site(name) for name in trace.sites)
    elsewhere = Cell("weights", 1, 0, site="layers.0.self")
    assert exists(first, elsewhere) and not exists(second, elsewhere)


def test_dropout_says_which_way_it_fell() -> None:
    site = site_of(small(dropout=Dropout(0.5, seed=1)))
    whole = {shown(explain(site, cell))[0] for cell in cells(site) if cell.stage == "dropped"}
    assert any("kept: seed 1, p = 0.5" in line and "÷ (1 − 0.5)" in line for line in whole)
    assert any("× 0" in line and "dropped" in line for line in whole)


def test_tokens_are_written_so_that_they_can_be_told_apart() -> None:
    site = site_of(four())
    assert explain(site, Cell("scores", 2, 3)).lines[0].name[0] == Term(  # type: ignore[comparison-overlap]
        0.0, "scores[“<img src=x>”, the␊cat]", "scores[“<img src=x>”, the␊cat]", Cell("scores", 2, 3)
    )
    site = site_of(small())
    assert plain(explain(site, Cell("scores", 2, 4)).lines[0].name) == "scores[the₂, 猫]"


def test_a_cell_that_is_not_there_is_refused() -> None:
    site = site_of(small())
    with pytest.raises(KeyError, match="masked"):
        explain(site, Cell("masked", 0, 0))
    with pytest.raises(IndexError, match="shape"):
        explain(site, Cell("weights", 0, 5))
    assert not exists(site, Cell("weights", 0, 0, head=1)) and exists(site, Cell("weights", 4, 4))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (2.0, "2"),
        (-0.25, "−0.25"),
        (20.511712, "20.5117"),
        (0.08852391, "0.08852"),
        (math.pi, "3.1416"),
        (4.3141e-5, "4.314e−5"),
        (1234567.0, "1.235e6"),
        (-math.inf, "−∞"),
        (math.nan, "NaN"),
        (0.1 + 0.2, "0.3000"),
    ],
)
def test_digits(value: float, text: str) -> None:
    assert digits(value) == text


def test_words_come_in_the_language_of_the_moment() -> None:
    site = site_of(small())
    english = explain(site, Cell("weights", 0, 0)).title
    set_language("zh_CN")
    assert explain(site, Cell("weights", 0, 0)).title != english
