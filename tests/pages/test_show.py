"""Notebook output: our own traces, and the weights of other programs, in one line."""

from __future__ import annotations

import gzip
import html
import json
import re
from base64 import b64decode
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.errors import FieldError

RNG = np.random.default_rng(0)
WEIGHTS = RNG.dirichlet(np.ones(5), (2, 3, 5)).astype(np.float32)
"""(layer, head, query, key)."""
TOKENS = ["the", "<cat>", "sat", "on", "it"]


def read(shown: Any) -> tuple[dict[str, Any], bytes]:
    """The data and the numbers of a shown page, as the frame has them."""
    source = re.search(r'srcdoc="(.*?)" style', shown._repr_html_(), re.S)
    assert source is not None
    text = html.unescape(source[1])
    data = re.search(r'id="data">(.*?)</script>', text, re.S)
    numbers = re.search(r'id="numbers">(.*?)</script>', text, re.S)
    assert data is not None and numbers is not None
    return json.loads(data[1]), gzip.decompress(b64decode(numbers[1]))


def weights_in(shown: Any, layer: int) -> np.ndarray:
    data, block = read(shown)
    (stage,) = [one for one in data["sites"][layer]["stages"] if one["id"] == "weights"]
    return np.frombuffer(block, "<" + stage["type"], int(np.prod(stage["shape"])), stage["at"]).reshape(
        stage["shape"]
    )


def as_torch(weights: np.ndarray) -> Any:
    torch = pytest.importorskip("torch")
    return tuple(torch.from_numpy(layer[None].copy()).requires_grad_() for layer in weights)


@pytest.mark.parametrize(
    "given",
    [
        lambda: list(WEIGHTS),
        lambda: tuple(layer[None] for layer in WEIGHTS),
        lambda: as_torch(WEIGHTS),
        lambda: SimpleNamespace(attentions=as_torch(WEIGHTS)),
    ],
    ids=["arrays", "with a batch axis", "tensors", "an output of transformers"],
)
def test_the_weights_of_other_programs_are_shown_as_they_are(given: Any) -> None:
    shown = attnviz.show(given(), TOKENS, head=2)
    for layer in range(2):
        np.testing.assert_array_equal(weights_in(shown, layer), WEIGHTS[layer])
    data, _block = read(shown)
    assert data["sites"][1]["queries"] == TOKENS and data["head"] == 2 and data["stage"] == "weights"


def test_one_head_and_one_layer() -> None:
    np.testing.assert_array_equal(weights_in(attnviz.show(WEIGHTS[0, 1]), 0), WEIGHTS[0, 1:2])
    np.testing.assert_array_equal(weights_in(attnviz.show(WEIGHTS[0], TOKENS), 0), WEIGHTS[0])


def test_documents_experiments_and_traces() -> None:
    document = load_preset("grouped-query")
    wanted = attnviz.run(document)["weights"]
    for given in (document, document.experiment, attnviz.run(document)):
        np.testing.assert_array_equal(weights_in(attnviz.show(given, stage="weights"), 0), wanted)


@pytest.mark.parametrize(
    ("given", "named", "sentence"),
    [
        (WEIGHTS[0], {"tokens": ["a"]}, "tokens must be 5 texts; got 1."),
        (WEIGHTS[0][:, :3], {}, "weights must be floats of (query, key)"),
        (np.ones((2, 2), dtype=int), {}, "weights must be floats"),
        ([], {}, "weights must be one array for each layer"),
        (WEIGHTS[0], {"head": 3}, "head must be one of 0, 1, 2; got 3."),
        (WEIGHTS[0], {"stage": "q"}, "stage must be 'weights'; got 'q'."),
    ],
)
def test_other_shapes_get_one_sentence(given: Any, named: dict[str, Any], sentence: str) -> None:
    with pytest.raises(FieldError, match=re.escape(sentence)):
        attnviz.show(given, **named)


@pytest.mark.parametrize("kind", ["Document", "Experiment", "Trace"])
def test_documents_and_traces_are_pages_in_a_notebook(kind: str) -> None:
    document = load_preset("toy-attention")
    given = {"Document": document, "Experiment": document.experiment, "Trace": attnviz.run(document)}[kind]
    data, block = read(given)
    (stage,) = [one for one in data["sites"][0]["stages"] if one["id"] == "weights"]
    weights = np.frombuffer(block, "<" + stage["type"], 16, stage["at"])
    assert weights[:4] == pytest.approx([0.439654, 0.332075, 0.091669, 0.136602], abs=1e-6)
