"""An explanation is computed again from its text: each formula gives the trace's number."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from draw import Drawn
from experiments import SITES, SPREAD, STACKS, sited, small
from explained import exact, formulas, maximum, shown, site_of, worked_out
from first_layer import stacked, with_fields

from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.explain.arithmetic.cell import exists, explain
from attnviz.i18n import set_language
from attnviz.model.operands.matrices import projection_array
from attnviz.model.provenance import sources
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import (
    Causal,
    Dropout,
    ExplicitSinks,
    ExplicitVectors,
    Heads,
    NoScale,
    Padding,
    Painted,
    Projections,
    SeededVectors,
    Window,
)
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace, Trace
from attnviz.operations.operation import Operation
from attnviz.operations.terms import Explanation, Gap, Term, digits, flat, plain


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


@pytest.fixture(scope="module")
def explained(site: SiteTrace, drawn: Drawn) -> dict[Cell, Explanation]:
    """The cells of the site, explained once for the tests of this page."""
    rows = drawn([(cell.stage, cell.row, cell.column, cell.head) for cell in cells(site)])
    return {cell: explain(site, cell) for cell in itertools.starmap(Cell, rows)}


def near(found: float, expected: float, rel: float, abs_: float) -> bool:
    """Equality within a tolerance; NaN equals NaN. `pytest.approx` takes longer than the arithmetic."""
    both_nan = math.isnan(found) and math.isnan(expected)
    return both_nan or math.isclose(found, expected, rel_tol=0, abs_tol=max(rel * abs(expected), abs_))


def cells(site: SiteTrace) -> Iterator[Cell]:
    for stage in site.stages:
        for head, row, column in np.ndindex(*(1, *site.shape(stage))[-3:]):
            yield Cell(stage, row, column, head)


def number_at(site: SiteTrace, cell: Cell) -> float:
    return float(site.window(cell.stage, cell.head)[cell.row, cell.column])


# --- the numbers -----------------------------------------------------------------------------------


def test_every_formula_gives_the_number_of_the_trace(
    site: SiteTrace, explained: dict[Cell, Explanation]
) -> None:
    worked = 0
    # A product of one row may round otherwise in its last place than one of all rows.
    ulps = 1e-14 if "relative" in site.stages else 0
    for cell, explanation in explained.items():
        value = number_at(site, cell)
        assert near(explanation.value, value, ulps, ulps), cell
        assert near(explanation.recomputed, value, 1e-11, 1e-12), cell
        for line in explanation.lines:
            assert near(line.recomputed, line.value, 1e-10, 1e-12), (cell, plain(line.name))
            for step in formulas(line):
                found = worked_out(exact(step), maximum(line))
                assert near(found, line.value, 1e-10, 1e-12), (cell, exact(step))
                worked += 1
    assert worked > len(explained) / 2


def test_the_digits_shown_are_enough_to_work_it_out_by_hand(explained: dict[Cell, Explanation]) -> None:
    for cell, explanation in list(explained.items())[::3]:
        for line in explanation.lines:
            for step in formulas(line):
                terms = [piece for piece in step if isinstance(piece, Term)]
                if terms[0].text.endswith("]"):
                    continue  # the name of another cell
                found = worked_out(plain(tuple(step)), _shown(maximum(line)))
                size = max([1.0, *(abs(term.value) for term in terms if math.isfinite(term.value))])
                assert near(found, line.value, 2e-3, 2e-3 * size), cell


def _shown(value: float) -> float:
    return float(digits(value).replace("−", "-")) if math.isfinite(value) else value


def test_every_term_is_the_number_of_the_cell_that_it_leads_to(
    trace: Trace, site: SiteTrace, explained: dict[Cell, Explanation]
) -> None:
    for cell, explanation in list(explained.items())[::3]:
        for line in explanation.lines:
            for step in (line.name, *line.steps, *line.notes):
                for term in (p for p in flat(step, True) if isinstance(p, Term) and p.source is not None):
                    there = trace.site(term.source.site) if term.source.site else site
                    assert exists(there, term.source)
                    if term.name.startswith("exp("):
                        expected = math.exp(number_at(there, term.source) - maximum(line))
                    else:
                        expected = number_at(there, term.source)
                    assert near(term.value, expected, 1e-14, 1e-12), (cell, term)


def test_the_first_line_leads_to_every_source_and_to_nothing_else(
    site: SiteTrace, explained: dict[Cell, Explanation]
) -> None:
    """Sources whose value is decided without them (a fully masked row, an identity) may stay out.

    Cells of other sites are no sources in this one; another test has them.
    """
    for cell, explanation in explained.items():
        line = explanation.lines[0]
        regions = {region.stage: region for region in sources(site, cell)}
        found = {
            term.source
            for step in (*line.steps, *line.notes)
            for term in flat(step, True)
            if isinstance(term, Term) and term.source is not None and not term.source.site
        }
        for source in found:
            assert regions[source.stage].has(source.head, source.row, source.column), (cell, source)
        if STAGE_BY_ID[cell.stage].made_by.pattern in ("qd,kd->qk", "qk,kd->qd", "qd,wd->qw", "same_cell"):
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
    assert [term.value for term in weights] == projection_array(sited(experiment), "key")[:, 5].tolist()
    assert {term.hue for term in weights} == {"key"}


def test_every_stage_is_explained() -> None:
    assert not [stage for stage, row in STAGE_BY_ID.items() if row.made_by.lines is Operation.lines]


# --- what it looks like ----------------------------------------------------------------------------


def four() -> Experiment:
    """q, k and v are x; rows 0 and 1 are orthogonal."""
    rows = np.array([[3.0, 4.0], [-4.0, 3.0], [0.5, 0.25], [0.0, 0.0]])
    return stacked(
        ("a", "fluffy", "<img src=x>", "the\ncat"),
        ExplicitVectors(Matrix(rows)),
        heads=Heads(1, 1, 2),
        masks=(Causal(),),
        dtype="float64",
    )


def test_weights_are_opened_down_to_the_product() -> None:
    assert shown(explain(site_of(four()), Cell("weights", 1, 0))) == [
        "weights[fluffy, a] = exp(0 − m) ÷ Σ = 2.102e−8 ÷ (2.102e−8 + 1 + 0 + 0)"
        " (m = 17.6777, the row's maximum)",
        "scaled = scores ÷ √2 = 0 ÷ 1.4142",
        "scores = q · k = (−4)(3) + (3)(4)",
        " = |q||k| cos θ = 5 × 5 × 0 (θ = 90.0°)",
    ]


def test_other_normalisers_are_opened_down_to_the_score() -> None:
    sigmoid = shown(explain(site_of(with_fields(four(), normaliser="sigmoid")), Cell("weights", 1, 1)))
    assert sigmoid[:2] == [
        "weights[fluffy, fluffy] = σ(s − log n) = 1 ÷ (1 + exp(0.6931 − 17.6777))"
        " (n = 2 keys visible to this query)",
        "scaled = scores ÷ √2 = 25 ÷ 1.4142",
    ]
    squared = shown(explain(site_of(with_fields(four(), normaliser="relu_squared")), Cell("weights", 2, 1)))
    assert squared[0] == (
        "weights[“<img src=x>”, fluffy] = max(0, s)² ÷ n = max(0, −0.8839)^2 ÷ 3"
        " (n = 3 keys visible to this query)"
    )


def test_a_sink_is_shown_with_what_it_takes() -> None:
    experiment = with_fields(four(), sinks=ExplicitSinks((17.0,)))
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
        "masked[the₀, the₂] (causal: key 2 comes after query 0; padding: key 2 is hidden from every query;"
        " window: key 2 is 2 after query 0; the limit is 0; painted: blocked by hand;"
        f" instead of scores = {would_be})"
    )
    assert (
        "window: key 0 is 3 before query 3; the limit is 1" in shown(explain(site, Cell("masked", 3, 0)))[0]
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
    site = site_of(stacked(("a", "b"), huge, heads=Heads(1, 1, 2), dtype="float32"), "float32")
    assert "too large for float32" in shown(explain(site, Cell("scores", 0, 0)))[0]
    assert "too large" not in shown(explain(site, Cell("scaled", 0, 0)))[0], "it was infinite before"
    assert "no softmax: scaled[a, a] = ∞" in shown(explain(site, Cell("weights", 0, 1)))[0]
    assert math.isnan(explain(site, Cell("weights", 0, 1)).recomputed)


@pytest.mark.parametrize("normaliser", ["sigmoid", "relu_squared"])
def test_a_weight_that_is_set_to_0_is_no_product_with_nan(normaliser: Any) -> None:
    own = stacked(
        ("a",),
        SeededVectors(1, 2),
        heads=Heads(1, 1, 2),
        masks=(Padding((0,)),),
        fully_masked_row="nan",
        behind=(
            Layer(
                heads=Heads(1, 1, 2),
                normaliser=normaliser,
                masks=(Padding((0,)),),
                mask_placement="after_softmax",
            ),
        ),
        dtype="float64",
    )
    site = run(NumpyEngine("float64"), own).site("layers.1.self")
    assert np.isnan(site.window("scaled")).all() and (site.window("weights") == 0).all()
    explanation = explain(site, Cell("weights", 0, 0))
    assert explanation.value == explanation.recomputed == 0
    assert "NaN" not in shown(explanation)[0] and "set to 0 after the normaliser" in shown(explanation)[0]


def test_rounding_that_shows_is_said() -> None:
    rows = ExplicitVectors(Matrix(np.array([[4096.1, 1.0, -4096.1], [4096.1, 1.0, 4096.1]])))
    site = site_of(stacked(("a", "b"), rows, heads=Heads(1, 1, 3), dtype="float32"), "float32")
    site64 = site_of(stacked(("a", "b"), rows, heads=Heads(1, 1, 3), dtype="float64"))
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
            assert near(explanation.recomputed, explanation.value, 1e-4, 1e-4), cell


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
        "e[cat, 5] (sampled with seed 7; edit it in Vectors)"
    ]


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
