"""Forced tokens: they stand in the place of sampled ones, and the rest is computed as ever."""

from __future__ import annotations

import json

import numpy as np
import pytest
from experiments import small
from msgspec.structs import replace

from attnviz.compute.decoding import decode_and_compare
from attnviz.engines.decode.run import decode
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.program import never_cancelled
from attnviz.engines.torch_engine import TorchEngine
from attnviz.model.edit.generation import force, release
from attnviz.model.io.files import dumps, loads
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.generation import Forced, Writing
from attnviz.model.spec.sampling import Sampling, StopConditions, Temperature

ENGINES = [NumpyEngine("float64"), TorchEngine("float64")]
N_NEW = 6


def writes(*forced: Forced) -> Experiment:
    sampling = Sampling((Temperature(1.0),), 3, StopConditions(end_token=False, length=N_NEW))
    return small(readout="similarity", writing=Writing(sampling, forced=forced))


def tokens(experiment: Experiment) -> list[str]:
    decoding = decode(NumpyEngine("float64"), experiment)
    return [step.token for step in decoding.steps]


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_the_text_goes_on_from_a_forced_token_as_from_a_prompt_with_it(engine: object) -> None:
    plain = writes()
    n, own = plain.n_queries, decode(engine, plain)  # type: ignore[arg-type]
    drawn = [step.token for step in own.steps]
    other = next(token for token in plain.tokens if token != drawn[n + 1])
    branched = decode(engine, force(plain, n + 1, other))  # type: ignore[arg-type]
    made = [step.token for step in branched.steps]
    assert made[: n + 1] == drawn[: n + 1] and made[n + 1] == other and len(made) == len(drawn)
    assert branched.steps[n].next_token == other and branched.steps[n + 1].generated
    fed = replace(own.experiment, tokens=tuple(made), vectors=branched.experiment.vectors, writing=None)
    again = decode(engine, fed)  # type: ignore[arg-type]
    for one, two in zip(branched.steps[n + 1 :], again.steps[n + 1 :], strict=True):
        np.testing.assert_allclose(one.attention_output, two.attention_output, rtol=0, atol=1e-12)
    assert decode(engine, release(force(plain, n + 1, other), n + 1)).steps[-1].token == drawn[-1]  # type: ignore[arg-type]


@pytest.mark.parametrize("engine", ["numpy", "torch"])
def test_the_full_pass_over_a_forced_text_is_equal(engine: str) -> None:
    plain = writes()
    drawn = tokens(plain)
    other = next(token for token in plain.tokens if token != drawn[plain.n_queries])
    decoded = decode_and_compare(force(plain, plain.n_queries, other), engine, "cpu", never_cancelled, 0)
    assert decoded.decoding.steps[plain.n_queries].token == other
    assert decoded.is_equal


def test_a_branch_reuses_the_steps_before_it() -> None:
    plain = writes()
    engine = NumpyEngine("float64")
    own = decode(engine, plain)
    n = plain.n_queries
    other = next(token for token in plain.tokens if token != own.steps[n + 2].token)
    branched = decode(engine, force(plain, n + 2, other), earlier=own)
    fresh = decode(engine, force(plain, n + 2, other))
    assert branched.reused == n + 2
    for one, two in zip(branched.steps, fresh.steps, strict=True):
        assert one.token == two.token
        np.testing.assert_allclose(one.probabilities, two.probabilities, rtol=0, atol=1e-12)


def test_a_token_that_the_vocabulary_lacks_is_sampled_and_said() -> None:
    plain = writes()
    odd = writes(Forced(0, "nowhere"))
    found = decode(NumpyEngine("float64"), odd)
    assert [step.token for step in found.steps] == tokens(plain)
    assert [one.text() for one in found.notices][-1] == "The forced token “nowhere” is not in the vocabulary."


def test_forced_tokens_are_saved_and_older_files_have_none() -> None:
    document = Document(writes(Forced(1, "cat")))
    text = dumps(document)
    assert loads(text).experiment == document.experiment
    older = json.loads(dumps(Document(writes())))
    assert older["experiment"]["writing"].pop("forced", None) in (None, [])
    assert loads(json.dumps(older)).experiment == writes()
