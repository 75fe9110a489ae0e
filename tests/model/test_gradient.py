"""Gradients in the shape of a trace: names, signs, products, and which stages a target depends on."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.errors import FieldError
from attnviz.model.gradient import Gradient, GradientSite, located
from attnviz.model.ranges import range_ends
from attnviz.model.spec.target import LOSS, TargetCell, TargetLoss, parsed
from attnviz.model.spec.view import Ranges, View


@pytest.fixture(scope="module")
def gradient() -> Gradient:
    return attnviz.backward(load_preset("decoder-only"), "loss")


def test_a_target_is_written_as_it_is_read() -> None:
    for text in ("layers.0.self.weights[0, 2, 1]", "logits[3, 17]"):
        assert str(parsed(text)) == text
    assert parsed(LOSS) == TargetLoss() and parsed("loss[2]") == TargetLoss(2)
    assert parsed("logits[-1,0]") == TargetCell("", "logits", (-1, 0))


def test_a_view_refuses_a_target_that_is_none_and_names_its_field() -> None:
    with pytest.raises(FieldError, match=r"view\.target must be 'loss', or a cell such as .*; got 'w'"):
        View(target="w")


def test_every_stage_is_signed_named_as_a_derivative_and_drawn_about_zero(gradient: Gradient) -> None:
    site = gradient.site("layers.0.self")
    assert isinstance(site, GradientSite)
    for stage in site.stages:
        assert site.is_signed(stage)
        assert not site.has_shares(stage)
        low, high = range_ends(site, stage, "head", (0,))
        assert low == -high
    assert site.called("weights") == "∂ loss / ∂ weights"


def test_a_cell_of_another_attention_is_named_with_it() -> None:
    found = attnviz.backward(load_preset("decoder-only"), "layers.1.self.weights[1, 3, 2]")
    here, there = found.site("layers.1.self"), found.site("layers.0.self")
    assert here.called("v") == "∂ weights[on, sat], head 2 / ∂ v"
    assert there.called("v") == "∂ layers.1.self · weights[on, sat], head 2 / ∂ v"


def test_a_product_is_value_times_gradient_and_zero_where_the_gradient_is(gradient: Gradient) -> None:
    trace = attnviz.run(load_preset("decoder-only"))
    for name in trace.sites:
        for stage in trace.site(name).stages:
            value, slope = trace.site(name)[stage], gradient.site(name)[stage]
            with np.errstate(invalid="ignore"):
                wanted = np.where(slope == 0, 0.0, value * slope)
            np.testing.assert_array_equal(gradient.product.site(name)[stage], wanted)
    assert gradient.product.site("layers.0.self").called("v") == "v × ∂ loss / ∂ v"


def test_stages_behind_the_target_are_zero_and_known_as_such() -> None:
    site = attnviz.backward(load_preset("decoder-only"), "layers.0.self.scores[0, 1, 0]").site(
        "layers.0.self"
    )
    assert isinstance(site, GradientSite)
    before = site.stages[: site.stages.index("scores") + 1]
    assert {stage for stage in site.stages if site.depends(stage)} == set(before) - {"v"}
    assert all(not site[stage].any() for stage in site.stages if not site.depends(stage))


def test_a_cell_that_does_not_exist_gets_one_sentence_with_what_does() -> None:
    trace = attnviz.run(load_preset("decoder-only"))
    sites = {name: trace.site(name) for name in trace.sites}
    with pytest.raises(FieldError, match="from 0 to 5"):
        located(TargetCell("", "weights", (0, 6, 0)), sites)


def test_gradients_have_a_colour_range_of_their_own() -> None:
    view = View(target=LOSS, quantity="gradient")
    assert view.with_range("weights", "log") == Ranges(gradients="log")
    assert View(ranges=Ranges(gradients="log")).range_of("weights") == "head"


def test_twelve_layers_get_like_gradients_with_pre_norm_and_less_and_less_with_post() -> None:
    """The caption of the preset."""
    experiment = load_preset("twelve-layers").experiment

    def norms(**fields: object) -> list[float]:
        layers = tuple(replace(one, block=replace(one.block, **fields)) for one in experiment.layers)
        found = attnviz.backward(replace(experiment, layers=layers), "loss")
        return [found.norms[name, "attention_output"] for name in found.sites]

    pre, post = norms(), norms(placement="post")
    assert len(pre) == 12 and max(pre) / min(pre) < 2
    assert post[-1] / post[0] > 10
    bare = norms(residual=False, norm_1=None, norm_2=None)
    assert bare[0] / bare[-1] < 1e-5


def test_the_last_row_of_the_preset_of_the_loss_is_zero() -> None:
    document = load_preset("gradient-of-loss")
    assert document.view.target == "loss" and document.view.quantity == "gradient"
    assert not attnviz.backward(document, "loss").site(document.site)["weights"][:, -1].any()
