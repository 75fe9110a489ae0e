"""A site reads the outputs that its inputs name: token vectors, the memory, or any site before it."""

from functools import partial

import numpy as np
import pytest
from experiments import STACKS
from msgspec.structs import replace
from numpy.testing import assert_array_equal

from attnviz import analysis
from attnviz.engines.backward.backward import backward
from attnviz.engines.decode.run import decode
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.model.sites import sites as module
from attnviz.model.sites.sites import at, site_names
from attnviz.model.spec.site import Inputs, Place

STACKED = {
    "encoder.0.self": Inputs(),
    "encoder.1.self": Inputs("encoder.0.self", "encoder.0.self"),
    "decoder.0.self": Inputs(),
    "decoder.0.cross": Inputs("decoder.0.self", "decoder.0.self", "encoder.1.self"),
}


def test_the_inputs_of_an_encoder_and_a_decoder() -> None:
    experiment = STACKS["encoder and decoder"]
    assert {name: at(experiment, name).inputs for name in STACKED} == STACKED
    assert [at(experiment, name).inputs.begins for name in STACKED] == [True, False, True, False]


def test_a_site_can_read_one_that_is_not_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last of three layers reads the first: its numbers and gradients are those of the two alone."""
    first, second = STACKS["two layers, pre"].layers
    two = replace(STACKS["two layers, pre"], readout="similarity")
    three = replace(two, layers=(first, replace(first, position=second.position), second))
    alone = run(NumpyEngine("float64"), two).site("layers.1.self")
    of_two = backward(NumpyEngine("float64"), two, "loss")[1].parameters

    def past_the_second(*counts: int) -> dict[Place, Inputs]:
        *others, last = counted(*counts).items()
        return dict(others) | {last[0]: Inputs("layers.0.self", "layers.0.self")}

    counted = module._counted
    monkeypatch.setattr(module, "_counted", past_the_second)
    skipping = replace(three)  # an experiment whose sites nobody has derived yet
    assert site_names(skipping) == ("layers.0.self", "layers.1.self", "layers.2.self")
    trace, gradient = backward(NumpyEngine("float64"), skipping, "loss")
    before, last = run(NumpyEngine("float64"), two), trace.site("layers.2.self")
    for stage in alone.stages:
        assert_array_equal(last[stage], alone[stage], err_msg=stage)
    for name in of_two:
        there = name.replace("layers.1", "layers.2")
        assert_array_equal(gradient.parameters[there], of_two[name], err_msg=name)
    assert not any(name.startswith("layers.1.") for name in gradient.parameters)
    for of_tokens in (analysis.rollout, partial(analysis.attention_flow, token=2)):
        assert_array_equal(of_tokens(trace)["layers.2.self"], of_tokens(before)["layers.1.self"])
    lens, of_both = analysis.logit_lens(skipping), analysis.logit_lens(two)
    assert lens.sites == ("layers.0.self", "layers.2.self")
    assert_array_equal(lens.probabilities, of_both.probabilities)
    target = analysis.Target(two.tokens[0])
    parts, of_pair = (analysis.contributions(one, target) for one in (skipping, two))
    assert (parts.start, parts.biases) == (of_pair.start, of_pair.biases)
    assert list(parts.heads) == ["layers.0.self", "layers.2.self"]
    assert_array_equal(np.hstack(list(parts.heads.values())), np.hstack(list(of_pair.heads.values())))
    together, apart = decode(NumpyEngine("float64"), skipping), decode(NumpyEngine("float64"), two)
    for one, other in zip(together.steps, apart.steps, strict=True):
        assert_array_equal(one.last["logits"], other.last["logits"])
