"""Real trained models against `transformers`: `.ci/run` downloads them and names their folder.

Skipped where ATTNVIZ_MODELS is not set.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tqdm

from attnviz.checkpoints import import_checkpoint
from attnviz.compute.execute import execute

tqdm.tqdm.monitor_interval = 0  # its thread would outlive the test

HOME = os.environ.get("ATTNVIZ_MODELS", "")

pytestmark = pytest.mark.skipif(not HOME, reason="ATTNVIZ_MODELS names no folder of downloaded models")

TEXTS = ("The capital of France is", "x=1234; print('héllo')\n  你好 world don't")


def found(pattern: str) -> Path:
    files = sorted(Path(HOME).rglob(pattern))
    assert files, f"{pattern} is not in {HOME}"
    return files[0]


@pytest.fixture(scope="module")
def quantised_llama() -> tuple[Path, Any, Any]:
    """The file, and the model and the tokenizer that `transformers` makes of it, once for all texts."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    file = found("SmolLM2*.gguf")
    model = AutoModelForCausalLM.from_pretrained(
        file.parent, gguf_file=file.name, dtype=torch.float32, attn_implementation="eager"
    )
    return file, model, AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)


@pytest.mark.parametrize("text", TEXTS)
def test_a_quantised_llama(text: str, quantised_llama: tuple[Path, Any, Any]) -> None:
    import torch

    file, theirs, tokenizer = quantised_llama
    ids = tokenizer(text)["input_ids"]
    document = import_checkpoint(file, text=text)
    assert document.experiment.vocabulary is not None
    known = {token: one for one, token in enumerate(document.experiment.vocabulary.tokens)}
    assert [known[token] for token in document.experiment.tokens] == ids
    with torch.no_grad():
        wanted = theirs(torch.tensor([ids]), output_attentions=True)
    trace = execute(document.experiment)
    for name, weights in zip(trace.sites, wanted.attentions, strict=True):
        assert np.allclose(trace.site(name)["weights"], weights[0], atol=1e-5)
    assert np.allclose(trace.site(trace.sites[-1])["logits"], wanted.logits[0], atol=1e-3)


@pytest.mark.parametrize("text", TEXTS)
def test_a_sentence_encoder(text: str) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    folder = found("config_sentence_transformers.json").parent
    theirs = AutoModel.from_pretrained(folder, attn_implementation="eager")
    ids = AutoTokenizer.from_pretrained(folder)(text)["input_ids"]
    document = import_checkpoint(folder, text=text)
    assert document.experiment == import_checkpoint(folder, ids=ids).experiment
    with torch.no_grad():
        wanted = theirs(torch.tensor([ids]), output_attentions=True)
    trace = execute(document.experiment)
    for name, weights in zip(trace.sites, wanted.attentions, strict=True):
        assert np.allclose(trace.site(name)["weights"], weights[0], atol=1e-5)
