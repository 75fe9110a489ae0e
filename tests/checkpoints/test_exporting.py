"""An experiment as a Llama checkpoint: read back it is the same, and what is no Llama is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from first_layer import with_fields
from msgspec.structs import replace
from safetensors.numpy import save_file

from attnviz.bench.decoding.case import drawn_model
from attnviz.checkpoints import import_checkpoint
from attnviz.checkpoints.exporting import llama_config, llama_tensors
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.block import Norm
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Heads, NoPosition, Projections
from attnviz.model.spec.rows import DrawnRow, WrittenRow


def drawn(**changes: Any) -> Experiment:
    return with_fields(drawn_model(4, 16, 3, Heads(4, 2, 4), d_hidden=24, n_vocabulary=40), **changes)


def with_biases() -> Experiment:
    """Two layers whose projections have biases, and logits from a matrix of their own."""
    given = drawn_model(4, 16, 2, Heads(4, 2, 4), d_hidden=24, n_vocabulary=40)

    def biased(projections: Projections) -> Projections:
        sizes = {"query": 16, "key": 8, "value": 8, "output": 16}
        rows = {
            f"{role}_bias": WrittenRow(Matrix([[0.1 * i for i in range(n)]])) for role, n in sizes.items()
        }
        return replace(projections, **rows)

    assert given.vocabulary is not None
    own = Matrix(given.vocabulary.embedding.array.T * 0.5)
    layers = tuple(replace(layer, projections=biased(layer.projections)) for layer in given.layers)
    vocabulary = replace(given.vocabulary, unembedding=own)
    return replace(given, layers=layers, vocabulary=vocabulary)


@pytest.mark.parametrize("given", [drawn(), with_biases()], ids=["tied", "biases"])
def test_a_checkpoint_read_back_is_the_same_experiment(given: Experiment, tmp_path: Path) -> None:
    save_file(llama_tensors(given, 64), tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(llama_config(given, 64)))
    assert given.vocabulary is not None
    ids = tuple(given.vocabulary.tokens.index(token) for token in given.tokens)
    back = import_checkpoint(tmp_path, ids=ids, dtype="float32").experiment
    assert back.vocabulary is not None
    names = {"tokens": given.tokens, "vocabulary": replace(back.vocabulary, tokens=given.vocabulary.tokens)}
    assert with_fields(back, **names) == given


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (drawn(vocabulary=None, readout="none"), "vocabulary"),
        (drawn(position=NoPosition()), r"layers\[0\].position"),
        (drawn(cap=30.0), r"layers\[0\].cap"),
        (drawn(masks=()), r"layers\[0\].masks"),
        (drawn(final_norm=Norm("rms", 1e-6, drawn().final_norm.gain)), r"layers\[0\].block"),  # type: ignore[union-attr]
        (drawn(embedding_norm=Norm("rms")), "embedding_norm"),
        (drawn(final_norm=Norm("rms", 1e-5, DrawnRow())), "final_norm.gain"),
        (drawn(behind=(replace(drawn().layers[0], temperature=2.0),)), r"layers\[1\].temperature"),
    ],
)
def test_what_is_no_llama_is_refused_in_one_sentence(given: Experiment, said: str) -> None:
    with pytest.raises(ValueError, match=f"^{said.split(' is not')[0]} must be ") as refused:
        llama_tensors(given, 64)
    assert "\n" not in str(refused.value)
