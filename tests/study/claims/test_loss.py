"""`loss` in expressions: the mean cross-entropy of the next tokens, as torch computes it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import attnviz
from attnviz.errors import InputError
from attnviz.model.io.presets import load_preset
from attnviz.model.spec.view import View
from attnviz.study.claims.scope import Scope, value_of


@pytest.mark.parametrize("preset", ["answer-in-sight", "decoder-only", "gradient-of-loss", "encoder-decoder"])
def test_the_loss_is_the_cross_entropy_of_torch(preset: str) -> None:
    document = load_preset(preset)
    trace = attnviz.run(document.experiment)
    site = next(trace.site(name) for name in reversed(trace.sites) if "logits" in trace.site(name).stages)
    tokens, names = site.labels("query"), site.labels("vocabulary")
    targets = torch.tensor([names.index(token) for token in tokens[1:]])
    wanted = torch.nn.functional.cross_entropy(torch.from_numpy(np.array(site["logits"]))[:-1], targets)
    assert value_of("loss", Scope(trace, document.view)) == pytest.approx(float(wanted), abs=1e-12)
    assert attnviz.backward(document.experiment, target="loss").value == pytest.approx(float(wanted))


def test_a_document_without_probabilities_has_no_loss() -> None:
    trace = attnviz.run(load_preset("toy-attention").experiment)
    with pytest.raises(InputError, match="no read-out"):
        value_of("loss", Scope(trace, View()))
