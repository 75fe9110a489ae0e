"""ViT, CLIP's encoder of images, and Whisper against eager `transformers`, and pictures against its image
processors, on tiny models with random weights."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from checkpoints.reference_models import promoted, random_model  # noqa: E402  (skipped without it)
from PIL import Image  # noqa: E402
from transformers import (  # noqa: E402
    CLIPVisionConfig,
    CLIPVisionModel,
    CLIPVisionModelWithProjection,
    Dinov2Config,
    Dinov2ForImageClassification,
    Dinov2Model,
    SiglipVisionConfig,
    SiglipVisionModel,
    ViTConfig,
    ViTForImageClassification,
    ViTModel,
    WhisperConfig,
    WhisperForConditionalGeneration,
)
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil  # noqa: E402
from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil  # noqa: E402

import attnviz  # noqa: E402
from attnviz.checkpoints import CheckpointError, import_checkpoint, importing  # noqa: E402
from attnviz.checkpoints.importing import describe, head_words  # noqa: E402
from attnviz.checkpoints.signals.image import preparation_of, read_image  # noqa: E402
from attnviz.checkpoints.signals.patches import IMAGE  # noqa: E402
from attnviz.checkpoints.signals.reading import read_array  # noqa: E402
from attnviz.checkpoints.signals.signal import features_of  # noqa: E402
from attnviz.engines.engine import Engine  # noqa: E402
from attnviz.engines.numpy_engine import NumpyEngine  # noqa: E402
from attnviz.engines.run import run  # noqa: E402
from attnviz.engines.torch_engine import TorchEngine  # noqa: E402
from attnviz.errors import FieldError  # noqa: E402
from attnviz.model.io.files import dumps, load, loads, matrices, save  # noqa: E402
from attnviz.model.spec.image import Image as Patches  # noqa: E402
from attnviz.model.stages import result_of  # noqa: E402
from attnviz.model.trace import Trace  # noqa: E402

Floats = NDArray[np.float64]
TOLERANCE = 1e-10

IMAGES = {
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 40,
    "image_size": 14,
    "patch_size": 4,
}
"""Three patches a side, and two pixels that no patch covers."""
WHISPER = {
    "vocab_size": 13,
    "d_model": 24,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 3,
    "encoder_ffn_dim": 40,
    "decoder_ffn_dim": 36,
    "num_mel_bins": 6,
    "max_source_positions": 10,
    "max_target_positions": 12,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
}
IDS = (5, 2, 7, 7, 0, 11)
CASES = {
    "ViT": (ViTModel, ViTConfig, IMAGES, "layernorm"),
    "ViT without biases": (ViTModel, ViTConfig, {**IMAGES, "qkv_bias": False}, "layernorm"),
    "ViT with classes": (ViTForImageClassification, ViTConfig, IMAGES, "vit.layernorm"),
    "CLIP": (CLIPVisionModel, CLIPVisionConfig, IMAGES, "post_layernorm"),
    "CLIP with a projection": (
        CLIPVisionModelWithProjection,
        CLIPVisionConfig,
        IMAGES,
        "vision_model.post_layernorm",
    ),
}
DINO = {key: value for key, value in IMAGES.items() if key != "intermediate_size"} | {"mlp_ratio": 2}
CASES |= {
    "SigLIP": (SiglipVisionModel, SiglipVisionConfig, IMAGES, "post_layernorm"),
    "DINOv2": (Dinov2Model, Dinov2Config, DINO, "layernorm"),
    "DINOv2 with a gate": (Dinov2Model, Dinov2Config, {**DINO, "use_swiglu_ffn": True}, "layernorm"),
    "DINOv2 with classes": (Dinov2ForImageClassification, Dinov2Config, DINO, "dinov2.layernorm"),
}
ENGINES = {"numpy": NumpyEngine("float64"), "torch": TorchEngine("float64", "cpu")}


def saved(folder: Path, model: type[Any], config: Any) -> Any:
    """A random model, saved in `folder`."""
    made = random_model(model, config)
    made.save_pretrained(folder)
    return made


def outputs(trace: Trace, kind: str = "layers") -> list[Floats]:
    """The result of each layer of a stack."""
    last = {name.split(".")[1]: trace.site(name) for name in trace.sites if name.startswith(kind)}
    return [site[result_of(site.stages)] for site in last.values()]


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize("case", CASES)
def test_an_encoder_of_patches_is_that_of_transformers(tmp_path: Path, case: str, engine: Engine) -> None:
    model, config, sizes, norm = CASES[case]
    with promoted():
        theirs = saved(tmp_path, model, config(**sizes))
        pixels = torch.randn(1, 3, 14, 14)
        with torch.no_grad():
            made = theirs(pixels, output_hidden_states=True, output_attentions=True)
            last = theirs.get_submodule(norm)(made.hidden_states[-1])[0].numpy()
    trace = run(engine, import_checkpoint(tmp_path, features=pixels.numpy(), dtype="float64").experiment)
    assert len(trace.sites) == 3
    for name, weights in zip(trace.sites, made.attentions, strict=True):
        np.testing.assert_allclose(trace.site(name)["weights"], weights[0].numpy(), rtol=0, atol=TOLERANCE)
    expected = [state[0].numpy() for state in made.hidden_states[1:-1]] + [last]
    for ours, wanted in zip(outputs(trace), expected, strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
def test_whisper_is_that_of_transformers(tmp_path: Path, engine: Engine) -> None:
    with promoted():
        theirs = saved(tmp_path, WhisperForConditionalGeneration, WhisperConfig(**WHISPER))
        features = torch.randn(1, 6, 20)
        with torch.no_grad():
            made = theirs(features, decoder_input_ids=torch.tensor([IDS]), output_attentions=True)
    document = import_checkpoint(tmp_path, ids=IDS, features=features.numpy(), dtype="float64")
    trace = run(engine, document.experiment)
    assert document.experiment.memory is not None
    assert document.experiment.memory.tokens[:3] == ("0.00s", "0.02s", "0.04s")
    theirs_by_kind = {
        "encoder": made.encoder_attentions,
        "decoder.self": made.decoder_attentions,
        "decoder.cross": made.cross_attentions,
    }
    for kind, attentions in theirs_by_kind.items():
        stack, _, which = kind.partition(".")
        names = [name for name in trace.sites if name.startswith(stack) and name.endswith(which)]
        for name, weights in zip(names, attentions, strict=True):
            np.testing.assert_allclose(
                trace.site(name)["weights"], weights[0].numpy(), rtol=0, atol=TOLERANCE
            )
    logits = trace.site(trace.sites[-1])["logits"]
    np.testing.assert_allclose(logits, made.logits[0].numpy(), rtol=0, atol=TOLERANCE)
    encoded = outputs(trace, "encoder")[-1]
    np.testing.assert_allclose(encoded, made.encoder_last_hidden_state[0].numpy(), rtol=0, atol=TOLERANCE)


def picture(folder: Path, size: tuple[int, int] = (37, 29), name: str = "picture.png") -> Path:
    """The file of a picture of random colours, (width, height)."""
    pixels = np.random.default_rng(3).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(pixels).save(folder / name)
    return folder / name


PROCESSORS = {
    "ViT": ViTImageProcessorPil(size={"height": 14, "width": 14}),
    "bicubic": ViTImageProcessorPil(size={"height": 14, "width": 20}, resample=3, do_normalize=False),
    "CLIP": CLIPImageProcessorPil(
        size={"shortest_edge": 16}, crop_size={"height": 14, "width": 14}, resample=3
    ),
    "unscaled": ViTImageProcessorPil(size={"height": 14, "width": 14}, do_rescale=False),
    "small": CLIPImageProcessorPil(size={"shortest_edge": 8}, crop_size={"height": 14, "width": 14}),
}


@pytest.mark.parametrize("size", [(37, 29), (29, 37), (14, 14)])
@pytest.mark.parametrize("name", PROCESSORS)
def test_a_picture_is_prepared_as_by_transformers(tmp_path: Path, name: str, size: tuple[int, int]) -> None:
    file, processor = picture(tmp_path, size), PROCESSORS[name]
    processor.save_pretrained(tmp_path)
    expected = processor(Image.open(file), return_tensors="np")["pixel_values"][0]
    made = preparation_of(tmp_path, 14)
    ours = made.numbers(made.picture(read_image(file)))
    np.testing.assert_allclose(ours, expected, rtol=0, atol=2e-6)  # theirs are float32


def test_the_picture_stays_with_the_document(tmp_path: Path) -> None:
    saved(tmp_path, ViTModel, ViTConfig(**IMAGES))
    document = import_checkpoint(tmp_path, image=picture(tmp_path))
    assert document.experiment.tokens[:3] == ("[CLS]", "1,1", "1,2")
    kept = document.image
    assert kept is not None
    assert (kept.rows, kept.columns, kept.begin, kept.n_tokens) == (3, 3, 1, 10)
    assert kept.patch(0) is None
    assert kept.patch(5) == (1, 1)
    assert kept.token(1, 1) == 5
    save(document, tmp_path / "document.json", with_weights=True)
    again = load(tmp_path / "document.json")
    assert again.image == kept
    assert again.experiment == document.experiment
    shown = Image.open(io.BytesIO(kept.png))
    assert shown.size == (12, 12)  # the pixels that patches cover


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
def test_a_classifier_of_images_has_the_logits_of_its_classes(tmp_path: Path, engine: Engine) -> None:
    labels = {0: "cat", 1: "dog", 2: "owl"}
    with promoted():
        theirs = saved(tmp_path, ViTForImageClassification, ViTConfig(**IMAGES, id2label=labels))
        pixels = torch.randn(1, 3, 14, 14)
        with torch.no_grad():
            wanted = theirs(pixels).logits[0].numpy()
    document = import_checkpoint(tmp_path, features=pixels.numpy(), dtype="float64")
    experiment = document.experiment
    assert experiment.vocabulary.classes.labels == tuple(labels.values())
    assert experiment.vocabulary.classes.reads == "first" and experiment.tokens[0] == "[CLS]"
    trace = run(engine, experiment)
    logits = trace.site(trace.sites[-1])["logits"]
    np.testing.assert_allclose(logits[0], wanted, rtol=0, atol=TOLERANCE)
    (said,) = head_words(describe(tmp_path, part="image"))
    assert said.startswith("The logits are those of the classes cat, dog, owl;")
    again = loads(dumps(document))
    assert again.experiment == experiment
    found = importing.weights(
        next(matrix.origin.link for _name, matrix in matrices(experiment) if matrix.origin)
    )
    of_image = {name for name, matrix in matrices(experiment) if matrix.origin is None}
    assert of_image == {"vectors", "vocabulary.embedding"} and "vocabulary.unembedding" in found


POOLED = {
    "DINOv2": (Dinov2ForImageClassification, Dinov2Config(**DINO)),
    "CLIP": (transformers.CLIPForImageClassification, transformers.CLIPConfig(vision_config=IMAGES)),
    "SigLIP": (transformers.SiglipForImageClassification, transformers.SiglipConfig(vision_config=IMAGES)),
}
"""Classifiers that read the mean of all patches."""


@pytest.mark.parametrize("name", POOLED)
def test_a_head_over_all_patches_is_said_to_be_left_out(tmp_path: Path, name: str) -> None:
    saved(tmp_path, *POOLED[name])
    described = describe(tmp_path, part="image")
    assert described.left_out == ("classifier.bias", "classifier.weight")
    assert "The head for classes is not read: classifier.bias, classifier.weight." in head_words(described)
    pixels = np.zeros((3, 14, 14))
    assert import_checkpoint(tmp_path, features=pixels).experiment.vocabulary is None


def test_a_linked_document_finds_the_weights_of_its_image_model(tmp_path: Path) -> None:
    saved(tmp_path, ViTModel, ViTConfig(**IMAGES))
    document = import_checkpoint(tmp_path, image=picture(tmp_path))
    save(document, tmp_path / "document.json")
    assert attnviz.load(tmp_path / "document.json").experiment == document.experiment


def test_what_is_missing_or_needless_is_said(tmp_path: Path) -> None:
    vit, whisper = tmp_path / "vit", tmp_path / "whisper"
    saved(vit, ViTModel, ViTConfig(**IMAGES))
    saved(whisper, WhisperForConditionalGeneration, WhisperConfig(**WHISPER))
    assert describe(vit).signal == "image"
    assert describe(whisper).signal == "sound"
    file = picture(tmp_path)
    for fault, arguments in {
        "image must be an image file, or features must be given; got null.": {},
        "features must be 3x14x14 for this configuration; got 3x2x2.": {"features": np.zeros((3, 2, 2))},
        "ids must be null for ViT, which reads no text there; got [1, 2].": {"image": file, "ids": [1, 2]},
        f"none.png: The file must exist in {tmp_path}.": {"image": tmp_path / "none.png"},
        "config.json: The file must be an image.": {"image": vit / "config.json"},
    }.items():
        with pytest.raises(CheckpointError) as raised:
            import_checkpoint(vit, **arguments)
        assert str(raised.value).removeprefix("vit: ") == fault
    with pytest.raises(CheckpointError, match="image must be null for a model that reads text"):
        import_checkpoint(whisper, ids=IDS, image=file)
    with pytest.raises(CheckpointError, match="features must be an array of features"):
        import_checkpoint(whisper, ids=IDS)


@pytest.mark.parametrize(
    ("key", "value"),
    [("size", "large"), ("resample", 9), ("image_mean", [0.1]), ("image_std", [0, 1, 1]), ("do_resize", 3)],
)
def test_a_preparation_that_cannot_be_used_is_refused(tmp_path: Path, key: str, value: object) -> None:
    saved(tmp_path, ViTModel, ViTConfig(**IMAGES))
    (tmp_path / "preprocessor_config.json").write_text(json.dumps({key: value}))
    with pytest.raises(CheckpointError, match=f"preprocessor_config.json: {key}"):
        import_checkpoint(tmp_path, image=picture(tmp_path))


@pytest.mark.parametrize("fields", [{"png": b"GIF"}, {"rows": 0}, {"columns": 999}, {"begin": -1}])
def test_a_picture_of_a_document_is_checked(fields: dict[str, Any]) -> None:
    good = {"png": b"\x89PNG\r\n\x1a\n", "rows": 2, "columns": 2, "begin": 0}
    with pytest.raises(ValueError, match=r"image\."):
        Patches(**{**good, **fields})


def test_a_picture_for_dino_has_the_size_of_its_positions(tmp_path: Path) -> None:
    """Its file crops to a size for which other programs interpolate the positions."""
    with promoted():
        saved(tmp_path, Dinov2Model, Dinov2Config(**DINO))
    given = {"do_resize": True, "size": {"shortest_edge": 16}, "do_center_crop": True, "resample": 3}
    given["crop_size"] = {"height": 12, "width": 12}
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(given))
    picture = tmp_path / "picture.png"
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (30, 40, 3), dtype=np.uint8)).save(picture)
    experiment = import_checkpoint(tmp_path, image=picture).experiment
    assert len(experiment.tokens) == 1 + 3 * 3
    # 16 · 14 ÷ 12 pixels on the shorter side, of which the middle 14 are seen.
    scaled = CLIPImageProcessorPil(size={"shortest_edge": 19}, crop_size=14, do_normalize=False)
    wanted = scaled(Image.open(picture).convert("RGB"))["pixel_values"][0]
    made = preparation_of(tmp_path, 14).at(14)
    seen = np.asarray(made.picture(read_image(picture)), dtype=np.float64).transpose(2, 0, 1) / 255
    np.testing.assert_allclose(seen, wanted, atol=1e-6)


@pytest.mark.parametrize(
    ("case", "says"),
    [
        (
            "SigLIP",
            ("The attention pooling head is not read: one learned query that attends to all patches.",),
        ),
        (
            "CLIP with a projection",
            ("The projection into the common space of texts and images is not read.",),
        ),
        ("CLIP", ()),
    ],
)
def test_a_part_that_is_left_out_is_named(tmp_path: Path, case: str, says: tuple[str, ...]) -> None:
    model, config, sizes, _norm = CASES[case]
    saved(tmp_path, model, config(**sizes))
    described = describe(tmp_path)
    assert described.ignored == says and head_words(described) == says
    if case == "SigLIP":  # its own configuration says that it has none
        saved(tmp_path, model, config(**sizes, vision_use_head=False))
        assert describe(tmp_path).ignored == ()


@pytest.mark.parametrize("wrong", [np.ones((3, 4, 4), complex), np.full((3, 4, 4), "a")])
def test_features_that_are_no_real_numbers_are_refused(wrong: Any) -> None:
    with pytest.raises(
        FieldError, match=r"^features must be an array of real numbers; got '(complex128|<U1)'"
    ):
        features_of(IMAGE, {"num_channels": 3, "image_size": 4}, wrong)


def test_features_in_bfloat16_are_read_from_a_file(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([0x3F80, 0xC000], np.uint16).view("V2"))
    np.testing.assert_array_equal(read_array(tmp_path / "a.npy"), [1.0, -2.0])
