"""`HALVES`: models of two encoders in one file, of texts and of images, each of which is imported alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

from attnviz.checkpoints.reader import Checkpoint
from attnviz.model.spec.origin import Part as Part


@dataclass(frozen=True)
class Half:
    """One encoder: its part, the configuration's key with its own, its type, its tensors' beginnings."""

    part: Part
    settings: str
    model_type: str
    prefixes: tuple[str, ...]


HALVES: dict[str, tuple[Half, ...]] = {
    "clip": (
        Half("text", "text_config", "clip_text_model", ("text_model.", "text_projection.")),
        Half("image", "vision_config", "clip_vision_model", ("vision_model.", "visual_projection.")),
    ),
    "siglip": (
        Half("text", "text_config", "siglip_text_model", ("text_model.",)),
        Half("image", "vision_config", "siglip_vision_model", ("vision_model.",)),
    ),
}
"""By the type of the whole model."""


def parts_of(checkpoint: Checkpoint) -> tuple[Part, ...]:
    """The parts of which one is imported; none for a model that is imported whole."""
    return tuple(half.part for half in _halves(checkpoint))


def part_read(*of_images: object) -> Part:
    """The part that reads an input: that of images if any of theirs, a file or features, is given."""
    return "text" if all(given is None for given in of_images) else "image"


def half_of(checkpoint: Checkpoint, part: Part) -> Checkpoint:
    """The checkpoint of one part; a model without parts as it is."""
    for half in _halves(checkpoint):
        if half.part == part:
            own = checkpoint.config.get(half.settings)
            config = {**(own if isinstance(own, dict) else {}), "model_type": half.model_type}
            tensors = {
                name: tensor for name, tensor in checkpoint.tensors.items() if name.startswith(half.prefixes)
            }
            return replace(checkpoint, config=config, tensors=tensors)
    return checkpoint


def _halves(checkpoint: Checkpoint) -> tuple[Half, ...]:
    kind = checkpoint.config.get("model_type")
    return HALVES.get(kind, ()) if isinstance(kind, str) else ()
