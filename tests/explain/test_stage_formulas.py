"""The formula over a stage is what the experiment really does, as the table of the block has it."""

from __future__ import annotations

import pytest
from experiments import SPREAD, STACKS, sited, small
from first_layer import with_fields

from attnviz.core.block import ACTIVATIONS, GATED_UNITS
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.explain.formulas.stages import stage_formula, stage_operation
from attnviz.model.sites.sites import at
from attnviz.model.spec.block import Block, FeedForward, Norm
from attnviz.model.spec.rows import DrawnRow
from attnviz.model.stages import STAGE_BY_ID

LAYER = "({x} − mean) ÷ √(Σ ({x} − mean)² ÷ d + ε)"
RMS = "{x} ÷ √(Σ {x}² ÷ d + ε)"


@pytest.mark.parametrize(
    ("name", "stage", "formula"),
    [
        ("pre-norm", "norm_1", "gain · " + LAYER.format(x="x") + " + bias"),
        ("pre-norm", "norm_2", "gain · " + RMS.format(x="y")),
        ("pre-norm", "output", RMS.format(x="z")),
        ("post-norm", "x_normed", LAYER.format(x="x")),
        ("post-norm", "norm_1", "gain · " + LAYER.format(x="y") + " + bias"),
        ("post-norm", "norm_2", "gain · " + RMS.format(x="z")),
        ("post-norm", "residual_2", "z = norm(y) + f"),
        ("pre-norm", "residual_1", "y = x + o"),
        ("pre-norm", "residual_2", "z = y + f"),
        ("sandwich", "attention_normed", RMS.format(x="o")),
        ("sandwich", "residual_1", "y = x + norm(o)"),
        ("sandwich", "residual_2", "z = y + norm(f)"),
        ("parallel", "norm_2", "gain · " + RMS.format(x="x")),
        ("pre-norm", "ffn_gate", "g = x W_gate + b_gate"),
        ("pre-norm", "ffn_hidden", "h = gate · σ(gate) · up"),
        ("pre-norm", "ffn_output", "f = h W_down + b_down"),
        ("clamped", "ffn_up", "u = x W_up"),
        ("gelu by tanh", "ffn_hidden", "h = up · (1 + tanh(√(2 ÷ π) · (up + 0.044715 · up³))) ÷ 2"),
        ("biases", "q", "q = x W_Q + b_Q"),
        ("biases", "attention_output", "o = y W_O + b_O"),
        ("plain", "q", "q = x W_Q"),
        ("transform", "transform", "t = o W_T + b_T"),
        ("transform that passes on", "transform", "t = o W_T"),
        ("transform", "transform_hidden", "h = t · (1 + erf(t ÷ √2)) ÷ 2"),
        ("transform", "transform_normed", "gain · " + LAYER.format(x="h") + " + bias"),
        ("transform", "logits", "l = Σ norm(h) · W_U"),
        ("transform that passes on", "logits", "l = Σ h · W_U"),
        ("qk gains", "q_normed", "gain · " + RMS.format(x="q")),
        ("vocabulary", "logits", "l = cap · tanh(((Σ o · W_U + b_U) × scale) ÷ cap)"),
        ("plain", "logits", "l = o · eᵀ"),
    ],
)
def test_formulas_say_what_is_done(name: str, stage: str, formula: str) -> None:
    assert stage_formula(sited(SPREAD[name]), stage) == formula


def test_every_activation_and_unit_has_its_formula_and_its_name() -> None:
    for row in ACTIVATIONS:
        experiment = small(block=Block(feed_forward=FeedForward(3, row.id)))  # type: ignore[arg-type]
        assert stage_formula(sited(experiment), "ffn_hidden") == "h = " + row.formula.replace("z", "up")
        assert stage_operation(sited(experiment), "ffn_hidden") == row.title
    for unit in GATED_UNITS:
        ffn = FeedForward(3, unit.id, gated=True)  # type: ignore[arg-type]
        experiment = small(block=Block(feed_forward=ffn))
        assert stage_formula(sited(experiment), "ffn_hidden") == "h = " + unit.formula
        assert stage_operation(sited(experiment), "ffn_hidden") == unit.title


def test_operations_name_norms_and_biases() -> None:
    experiment = SPREAD["pre-norm"]
    assert [stage_operation(sited(experiment), stage) for stage in ("norm_1", "norm_2")] == ["layer", "RMS"]
    assert stage_operation(sited(experiment), "ffn_up") == "×W_up + b"
    assert stage_operation(sited(SPREAD["vocabulary"]), "logits") == "×W_U"


def test_no_formula_depends_on_what_a_site_does_not_have() -> None:
    """Every stage of every attention has a formula; without norms, biases and a block it is the table's."""
    for experiment in (SPREAD | STACKS).values():
        trace = run(NumpyEngine("float64"), experiment)
        for name in trace.sites:
            for stage in trace.site(name).stages:
                assert stage_formula(at(experiment, name), stage)
    bare = with_fields(small(), block=Block(norm_1=None, feed_forward=FeedForward(3)))
    for stage in ("q", "k", "v", "attention_output", "ffn_up", "ffn_output", "scores"):
        assert stage_formula(sited(bare), stage) == STAGE_BY_ID[stage].formula


def test_without_a_residual_connection_norms_read_what_was_made() -> None:
    block = Block("post", False, Norm("rms"), FeedForward(3), Norm("rms", gain=DrawnRow(1)))
    experiment = small(block=block)
    assert stage_formula(sited(experiment), "norm_1") == RMS.format(x="o")
    assert stage_formula(sited(experiment), "norm_2") == "gain · " + RMS.format(x="f")
