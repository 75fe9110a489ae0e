"""The arithmetic of blocks, layers and vocabularies, with numbers computed on paper."""

from __future__ import annotations

import math
from typing import Any

import pytest
from experiments import STACKS
from explained import shown, site_of
from first_layer import stacked
from msgspec.structs import replace

from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.explain.arithmetic.cell import exists, explain
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.block import Block, FeedForward, Norm
from attnviz.model.spec.parts import Explicit, ExplicitVectors, Heads, Identity
from attnviz.model.spec.rows import WrittenRow
from attnviz.model.spec.view import Cell
from attnviz.model.spec.vocabulary import Transform, Vocabulary
from attnviz.model.trace import SiteTrace
from attnviz.operations.terms import Term, flat, plain


def block_of(**feed_forward: Any) -> SiteTrace:
    """Two features, weights that are the identity: rows of norm 2 are x normalised."""
    ffn = FeedForward(2, **feed_forward, up=Identity(), gate=Identity(), down=Identity())
    rows = Matrix([[1.0, -3.0], [2.0, 2.0]])
    norm = Norm("layer", 3.0, WrittenRow(Matrix([[2.0, -1.0]])), WrittenRow(Matrix([[0.5, 0.0]])))
    experiment = stacked(
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
    site = site_of(stacked(("a",), rows, heads=Heads(1, 1, 1, (0,)), block=block), "float32")
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
    assert "sampled with seed 8" in shown(explain(raw, Cell("memory", 0, 0)))[0]


def test_similarity_in_a_last_layer_leads_to_the_first() -> None:
    trace = run(NumpyEngine("float64"), STACKS["attentions alone"])
    step = explain(trace.site("layers.2.self"), Cell("logits", 0, 1)).lines[0].steps[1]
    sources_ = [term.source for term in flat(step) if isinstance(term, Term)]
    assert sources_[1] == Cell("tokens_embedded", 1, 0, site="layers.0.self")
    assert sources_[0] == Cell("attention_output", 0, 0)


def test_similarity_multiplies_the_numbers_that_the_run_had() -> None:
    """In float32 a token's vector is rounded, wherever the inspector reads it."""
    experiment = replace(STACKS["attentions alone"], dtype="float32")
    trace = run(NumpyEngine("float32"), experiment)
    embedded = trace.site("layers.0.self")["tokens_embedded"]
    line = explain(trace.site("layers.2.self"), Cell("logits", 0, 1)).lines[0]
    terms = [term for term in flat(line.steps[1]) if isinstance(term, Term)]
    vectors = [term for term in terms if term.source and term.source.stage == "tokens_embedded"]
    assert vectors and all(term.value == embedded[1, term.source.column] for term in vectors)  # type: ignore[union-attr]


def test_a_vocabulary_makes_logits_with_everything_it_has() -> None:
    known = Vocabulary(
        ("x", "y"),
        Matrix([[1.0, 2.0], [0.5, -1.0]]),
        bias=WrittenRow(Matrix([[0.5, -0.25]])),
        logit_scale=0.1,
        cap=30.0,
    )
    experiment = stacked(
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


def test_what_stands_before_a_vocabulary_has_its_own_lines() -> None:
    transform = Transform(
        Explicit(Matrix([[1.0, 2.0], [0.5, -1.0]])),
        WrittenRow(Matrix([[0.5, -0.25]])),
        "relu",
        Norm("rms", 0.0),
    )
    known = Vocabulary(("x", "y"), Matrix([[1.0, 2.0], [0.5, -1.0]]), transform=transform)
    experiment = stacked(
        ("a",), ExplicitVectors(Matrix([[3.0, 4.0]])), heads=Heads(1, 1, 2), vocabulary=known,
        readout="vocabulary", dtype="float64",
    )  # fmt: skip
    site = site_of(experiment)
    assert shown(explain(site, Cell("transform", 0, 1))) == [
        "transform[a, 1] = Σ attention output · W_T + b_T = (3)(2) + (4)(−1) + (−0.25)"
    ]
    assert shown(explain(site, Cell("transform_hidden", 0, 1))) == [
        "transform hidden[a, 1] = max(0, t) = max(0, 1.75)"
    ]
    # t is (5.5, 1.75), and no activation changes it; its root mean square is √16.65625.
    root = math.sqrt((5.5**2 + 1.75**2) / 2)
    assert explain(site, Cell("transform_normed", 0, 0)).value == pytest.approx(5.5 / root)
    assert explain(site, Cell("logits", 0, 1)).value == pytest.approx((0.5 * 5.5 - 1.75) / root)


def test_a_cell_of_another_attention_is_not_here() -> None:
    trace = run(NumpyEngine("float64"), STACKS["two layers, pre"])
    first, second = (trace.site(name) for name in trace.sites)
    elsewhere = Cell("weights", 1, 0, site="layers.0.self")
    assert exists(first, elsewhere) and not exists(second, elsewhere)
