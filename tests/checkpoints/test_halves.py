"""Models of two encoders in one file: each half is the encoder of `transformers`, and is found again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

transformers = pytest.importorskip("transformers")
torch = pytest.importorskip("torch")

from checkpoints.reference_models import promoted, random_model  # noqa: E402

import attnviz  # noqa: E402
from attnviz.checkpoints import import_checkpoint  # noqa: E402
from attnviz.checkpoints.halves import HALVES  # noqa: E402
from attnviz.checkpoints.importing import describe  # noqa: E402
from attnviz.model.io.files import matrices  # noqa: E402
from attnviz.model.stages import result_of  # noqa: E402

TOLERANCE = 1e-10
IDS = [1, 5, 3, 9]
SIZES = {
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}
TEXTS = {**SIZES, "vocab_size": 13, "max_position_embeddings": 20, "eos_token_id": 9}
IMAGES = {**SIZES, "image_size": 14, "patch_size": 4}
MODELS = {
    "clip": (transformers.CLIPModel, transformers.CLIPConfig),
    "siglip": (transformers.SiglipModel, transformers.SiglipConfig),
}


def test_every_type_has_a_case() -> None:
    assert set(MODELS) == set(HALVES)


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A random whole model, saved in `tmp_path`."""
    kind, config = MODELS[request.param]
    with promoted():
        made = random_model(kind, config(text_config=TEXTS, vision_config=IMAGES))
        made.save_pretrained(tmp_path)
        yield made


def outputs(trace: attnviz.Trace) -> np.ndarray:
    """The states after the last layer and its norm."""
    site = trace.site(trace.sites[-1])
    return site[result_of(site.stages)]


def test_the_half_of_texts(model: Any, tmp_path: Path) -> None:
    with torch.no_grad():
        theirs = model.text_model(torch.tensor([IDS])).last_hidden_state[0].numpy()
    document = import_checkpoint(tmp_path, ids=IDS, dtype="float64")
    np.testing.assert_allclose(outputs(attnviz.run(document.experiment)), theirs, rtol=0, atol=TOLERANCE)
    assert describe(tmp_path).parts == ("text", "image")
    assert describe(tmp_path).signal is None


def test_the_half_of_images(model: Any, tmp_path: Path) -> None:
    pixels = torch.randn(1, 3, 14, 14, dtype=torch.float64)
    with torch.no_grad():
        made = model.vision_model(pixels, output_hidden_states=True)
        theirs = model.vision_model.post_layernorm(made.hidden_states[-1])[0].numpy()
    document = import_checkpoint(tmp_path, features=pixels.numpy()[0], dtype="float64")
    np.testing.assert_allclose(outputs(attnviz.run(document.experiment)), theirs, rtol=0, atol=TOLERANCE)
    assert describe(tmp_path, part="image").signal == "image"


def test_a_document_finds_its_half_again(model: Any, tmp_path: Path) -> None:
    (tmp_path / "saved").mkdir()
    pixels = torch.randn(3, 14, 14).numpy()
    for name, given in (("text", {"ids": IDS}), ("image", {"features": pixels})):
        document = import_checkpoint(tmp_path, **given)
        file = tmp_path / "saved" / f"{name}.safetensors"
        attnviz.save(document, file)
        again = attnviz.load(file).experiment
        assert again == document.experiment
        links = {matrix.origin.link for _name, matrix in matrices(again) if matrix.origin is not None}
        assert {link.part for link in links} <= {name}
