"""Every cell of every gradient, recomputed from the digits that its explanation shows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pytest
from experiments import SPREAD, STACKS, small
from msgspec.structs import replace

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.explain.gradients.cell import explain_gradient
from attnviz.model.gradient import Gradient, GradientSite
from attnviz.model.sites.sites import site_names
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.block import Block, FeedForward
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.experts import Experts
from attnviz.model.spec.parts import ExplicitVectors
from attnviz.model.spec.rows import WrittenRow
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGES, result_of
from attnviz.operations.operation import Operation
from attnviz.operations.terms import Series, Term, flat, plain

TOLERANCE = 1e-10
DOCUMENTS: dict[str, Experiment] = SPREAD | STACKS


SEVEN = WrittenRow(Matrix(np.full((1, 4), 7.0)))


def gradients(experiment: Experiment) -> Iterator[Gradient]:
    """Of a cell of the last result, and of the loss if the document has one."""
    experiment = replace(experiment, dtype="float64")
    last = site_names(experiment)[-1]
    stages = attnviz.run(experiment).site(last).stages
    targets = [f"{last}.{result_of(stages)}[0, 0]"]
    names = attnviz.run(experiment).site(last).labels("vocabulary") if "logits" in stages else ()
    if len(experiment.tokens) > 1 and set(experiment.tokens) <= set(names):
        targets.append("loss")
    for target in targets:
        yield attnviz.backward(experiment, target)


def sampled(site: GradientSite, stage: str, random: np.random.Generator) -> Iterator[Cell]:
    """Three cells of every stage, with the first and the last."""
    shape = (1, *site.shape(stage))[-3:]
    chosen = [(0, 0, 0), tuple(n - 1 for n in shape), tuple(int(random.integers(n)) for n in shape)]
    for head, row, column in dict.fromkeys(chosen):
        yield Cell(stage, row, column, head)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_digits_shown_give_the_stored_gradient(name: str) -> None:
    random = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for found in gradients(DOCUMENTS[name]):
            for site_name in found.sites:
                site = found.site(site_name)
                assert isinstance(site, GradientSite)
                for stage in site.stages:
                    size = max(1.0, float(np.nanmax(np.abs(site[stage]))))
                    for cell in sampled(site, stage, random):
                        line = explain_gradient(site, cell).lines[0]
                        assert line.recomputed == pytest.approx(
                            line.value, abs=TOLERANCE * size, nan_ok=True
                        ), cell


def test_every_computed_stage_has_its_derivatives() -> None:
    assert not [row.id for row in STAGES if row.reads and row.made_by.derivatives is Operation.derivatives]


def decoder(target: str) -> GradientSite:
    document = load_preset("decoder-only")
    site = attnviz.backward(document, target).site(document.site)
    assert isinstance(site, GradientSite)
    return site


def test_the_terms_of_a_softmax_are_products_of_both_weights() -> None:
    site = decoder("loss")
    cell = Cell("masked", 3, 1)
    line = explain_gradient(site, cell).lines[0]
    w, g = site.values["weights"][0, 3], site["weights"][0, 3]
    assert line.recomputed == pytest.approx(sum(g * w * (np.eye(6)[1] - w[1])), abs=1e-14)
    (series,) = (piece for piece in line.steps[-1] if isinstance(piece, Series))
    terms = [piece for piece in flat((series,), True) if isinstance(piece, Term)]
    assert [term.value for term in terms] == [x for j in range(6) for x in (g[j], w[j], w[1])]
    assert plain(line.steps[0]) == "Σ ∂/∂weights · w_i (δ_ij − w_j)"
    assert terms[0].source == Cell("weights", 3, 0)


def test_a_blocked_cell_is_zero_and_says_which_mask_blocks_it() -> None:
    line = explain_gradient(decoder("loss"), Cell("scaled", 1, 4)).lines[0]
    assert line.value == line.recomputed == 0
    assert plain(line.notes[0]) == "blocked: causal: key 4 comes after query 1"


def test_the_chain_ends_at_the_target() -> None:
    line = explain_gradient(decoder("layers.1.self.weights[0, 3, 1]"), Cell("weights", 3, 1))
    assert line.lines[0].value == 1.0
    of_loss = attnviz.backward(load_preset("decoder-only"), "loss").site("layers.1.self")
    assert isinstance(of_loss, GradientSite)
    (note,) = explain_gradient(of_loss, Cell("logits", 1, 2)).lines[0].notes
    assert plain(note) == "(p − 1) ÷ 5, p the probability; the next token here is “sat”"


def test_a_cell_that_another_attention_reads_is_called_by_its_own_tokens() -> None:
    experiment = load_preset("encoder-decoder").experiment
    gradient = attnviz.backward(experiment, "decoder.0.cross.attention_output[0, 0]")
    encoder = gradient.site("encoder.0.self")
    assert isinstance(encoder, GradientSite)
    for row, token in enumerate(encoder.labels("token")):
        sums = explain_gradient(encoder, Cell("norm_2", row, 1)).lines[0].steps[-1]
        names = [piece.name for piece in flat(sums, True) if isinstance(piece, Term)]
        assert any(f" / ∂ norm 2[{token}" in name for name in names), names


def test_the_loss_at_one_position_reads_that_position_alone() -> None:
    of_loss = attnviz.backward(load_preset("decoder-only"), "loss[1]").site("layers.1.self")
    assert isinstance(of_loss, GradientSite)
    (note,) = explain_gradient(of_loss, Cell("logits", 1, 2)).lines[0].notes
    assert plain(note) == "(p − 1) ÷ 1, p the probability; the next token here is “sat”"
    (note,) = explain_gradient(of_loss, Cell("logits", 2, 2)).lines[0].notes
    assert plain(note) == "the loss at another position does not read it"
    assert of_loss.called("weights") == "∂ loss at “cat” / ∂ weights"
    assert not of_loss["weights"][:, 2:].any() and of_loss["weights"][:, 1].any()


def test_a_product_opens_as_value_times_gradient_and_then_as_its_gradient() -> None:
    product = attnviz.backward(load_preset("decoder-only"), "loss").product.site("layers.0.self")
    assert isinstance(product, GradientSite)
    first, second, *_rest = explain_gradient(product, Cell("q", 2, 1)).lines
    assert first.recomputed == pytest.approx(first.value, abs=1e-15)
    assert second.recomputed == pytest.approx(second.value, abs=1e-12)
    assert first.value == pytest.approx(product.values["q"][0, 2, 1] * second.value)


@pytest.mark.parametrize(
    ("feed_forward", "stage", "said"),
    [
        (FeedForward(4, "relu"), "ffn_up", "ReLU has no derivative at 0"),
        (FeedForward(4, "relu", gated=True), "ffn_gate", "ReLU has no derivative at 0"),
        (FeedForward(4, "gelu", experts=Experts(4, 2)), "router", "experts with the same share"),
        (FeedForward(4, "clamped_swish", gated=True, gate_bias=SEVEN), "ffn_gate", "that of the inside"),
        (FeedForward(4, "gelu"), "ffn_up", ""),
    ],
    ids=["relu", "gated relu", "experts", "clamp", "smooth"],
)
def test_a_corner_says_that_it_has_no_derivative(feed_forward: FeedForward, stage: str, said: str) -> None:
    """Of zero vectors every number before the activation is 0, or its bias."""
    block = Block(norm_1=None, feed_forward=feed_forward)
    given = small(vectors=ExplicitVectors(Matrix(np.zeros((5, 6)))), block=block, dtype="float64")
    site = attnviz.backward(given, "residual_2[0, 0]").site("layers.0.self")
    assert isinstance(site, GradientSite)
    (line, *_rest) = explain_gradient(site, Cell(stage, 0, 1)).lines
    assert said in " ".join(map(plain, line.notes)) and bool(line.notes) == bool(said)


def test_a_copied_rope_key_is_no_product_in_letters() -> None:
    """Beside the features that W_UK makes, every head's k has the RoPE key as it is."""
    gradient = attnviz.backward(replace(SPREAD["mla"], dtype="float64"), "weights[0, 1, 0]")
    site = gradient.site("layers.0.self")
    said = {}
    for stage in ("latent", "rope_key"):
        lines = explain_gradient(site, Cell(stage, 0, 0)).lines
        said[stage] = "".join(plain(piece) for line in lines for piece in line.steps)
    assert "· W_UK" in said["latent"]
    assert "∂/∂k" in said["rope_key"] and "W_" not in said["rope_key"]
