"""Assignment of a checkpoint's tensors: a family's table compared with the names in the files.

Every tensor of a model with this configuration must exist in its shape, and every existing tensor must have a
place or a known reason for having none. A loader that ignored a missing bias would still return plausible
weights.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from attnviz.checkpoints.families.family import Array, Config, Family, Ignored, Sizes, Tensor, as_stored
from attnviz.checkpoints.reader import Checkpoint, StoredTensor, shape_text, tensor_error
from attnviz.errors import Message, must_be, quoted
from attnviz.model.spec.arrays import MAPPED_NUMBERS, PART_NUMBERS, widened
from attnviz.model.spec.codes import Codes
from attnviz.model.spec.memory_map import Computed, file_of


@dataclass(frozen=True)
class Place:
    """Destination of weights: a stack, a layer (None for tensors outside the layers), and the
    field's path there.
    """

    stack: str
    layer: int | None
    path: str


@dataclass(frozen=True)
class Planned:
    """One stored tensor and its row of the table; `layer` is its number, None outside the layers."""

    stored: StoredTensor
    row: Tensor
    layer: int | None

    def arrays(self, sizes: Sizes) -> Iterator[tuple[Place, Array | Computed]]:
        """Its numbers, in the layout of an experiment, for each place that it fills.

        Those that lie in the file are views of it; many that have to be made are `Computed`, at each use.
        """
        for path, array in zip(self.row.places, self._parts(sizes), strict=True):
            yield from ((place, array) for place in self._places(path, sizes))

    def _parts(self, sizes: Sizes) -> list[Array | Computed]:
        stored, is_large = self.stored, self.stored.size >= MAPPED_NUMBERS
        if stored.is_made and is_large:
            # Zeros that are not written to take no memory: they tell the shapes.
            parts = self.row.split(np.zeros(stored.shape, np.float32), sizes)
        else:
            parts = self.row.split(stored.array(), sizes)
        return [self._part(index, part, sizes) for index, part in enumerate(parts)]

    def _part(self, index: int, part: Array, sizes: Sizes) -> Array | Computed:
        """A part of the tensor: as it is if it lies in the file or is small."""
        stored, split = self.stored, self.row.split
        if part.size < MAPPED_NUMBERS or part.ndim != 2:
            return split(stored.array(), sizes)[index] if stored.is_made else part
        if file_of(part) is not None:
            return part
        is_plain = stored.is_made and split is as_stored
        rows_along = cache(partial(stored.whole_rows, lambda numbers: split(numbers, sizes)[index]))

        def codes(axis: int) -> Codes | None:
            rows = rows_along(axis)
            return None if rows is None else stored.codes(rows)

        return Computed(
            part.shape,
            part.dtype,
            lambda: split(stored.array(), sizes)[index],
            stored.rows if is_plain else None,
            codes,
        )

    def _places(self, path: str, sizes: Sizes) -> Iterator[Place]:
        stack, _, rest = path.partition(".")
        if self.layer is not None:
            inner = stack == "encoder"
            yield Place("encoder" if inner else "layers", self.layer, rest if inner else path)
        elif path.startswith("encoder.0."):
            yield Place("encoder", 0, path.removeprefix("encoder.0."))
        elif stack in ("layers", "encoder"):
            count = sizes["layers" if stack == "layers" else "encoder_layers"]
            yield from (Place(stack, layer, rest) for layer in range(count))
        else:
            yield Place("layers", None, path)


def plan(family: Family, config: Config, sizes: Sizes, checkpoint: Checkpoint) -> tuple[Planned, ...]:
    """Every tensor of the checkpoint with its place.

    Raises `CheckpointError` for a tensor that is missing, of another shape or type, or without a place.
    """
    checkpoint = replace(checkpoint, tensors=_by_present_names(family, checkpoint))
    stored = checkpoint.tensors
    prefix = _prefix(family, checkpoint)
    planned: dict[str, Planned] = {}
    for row in _for_each_expert(family.tensors, sizes):
        if not row.is_there(config) or (row.is_head and not has_head(checkpoint)):
            continue
        for name, layer in _names(row, config, family.prefix, prefix, sizes):
            planned[name] = Planned(_checked(checkpoint, name, row.shape_in(sizes)), row, layer)
    for name in stored:
        if name not in planned and not _is_of_classes(checkpoint, name):
            _check_ignored(family, config, prefix, checkpoint, name, sizes)
    return tuple(planned.values())


def _for_each_expert(rows: tuple[Tensor, ...], sizes: Sizes) -> Iterator[Tensor]:
    """The rows; one whose name has `{expert}` once for each expert."""
    for row in rows:
        if "{expert}" not in row.name:
            yield row
            continue
        for number in range(sizes["experts"]):
            name, place = (text.replace("{expert}", str(number)) for text in (row.name, row.places[0]))
            yield replace(row, name=name, place=place)


def _by_present_names(family: Family, checkpoint: Checkpoint) -> dict[str, StoredTensor]:
    """The tensors under the names that the tables have. Raises `CheckpointError` for two of one name."""
    tensors: dict[str, StoredTensor] = {}
    for name, tensor in checkpoint.tensors.items():
        for old, present in family.endings:
            name = name.removesuffix(old) + present if name.endswith(old) else name
        if name in tensors:
            alone = Message(
                "must have one name; {other} names the same numbers", other=quoted(tensors[name].name)
            )
            raise tensor_error(tensor.file, tensor.name, Message("two names"), alone)
        tensors[name] = tensor
    return tensors


def architecture(config: Mapping[str, Any]) -> str:
    """The class of `transformers` that was saved, such as `LlamaForCausalLM`; empty if it is not said."""
    named = config.get("architectures")
    architecture = named[0] if isinstance(named, list) and named else ""
    return architecture if isinstance(architecture, str) else ""


def has_head(checkpoint: Checkpoint) -> bool:
    """True if the checkpoint has an output head: `architectures` names such a model, or is missing."""
    named = architecture(checkpoint.config)
    if not named or _LANGUAGE_MODEL.search(named):
        return True
    return named.endswith("DoubleHeadsModel") or not (named.endswith("Model") or _CLASSES.search(named))


_LANGUAGE_MODEL = re.compile("LMHead|CausalLM|MaskedLM|MTModel$")
"""Architectures that end in logits of the vocabulary, whatever else their names say."""

_CLASSES = re.compile(
    r"For(Sequence|Token|Image|Audio)Classification$|ForQuestionAnswering(Simple)?$|ForMultipleChoice$|"
    r"DoubleHeads|ElectraForPreTraining$|ForNextSentencePrediction$"
)
"""Architectures that end in class scores; the model below the head is imported."""

_CLASS_HEADS = (
    "classification_head.",
    "classifier.",
    "discriminator_predictions.",
    "head.",
    "logits_proj.",
    "multiple_choice_head.",
    "pooler.dense.",
    "pre_classifier.",
    "qa_outputs.",
    "score.",
    "sequence_summary.",
)


def ends_in_classes(config: Mapping[str, Any]) -> bool:
    """True if the saved class ends in the scores of classes."""
    return bool(_CLASSES.search(architecture(config)))


def _is_of_classes(checkpoint: Checkpoint, name: str) -> bool:
    """True if a tensor belongs to a classification head, which is not imported."""
    return ends_in_classes(checkpoint.config) and name.startswith(_CLASS_HEADS)


def left_out(checkpoint: Checkpoint) -> tuple[str, ...]:
    """Tensors of a classification head, which are not imported."""
    return tuple(sorted(name for name in checkpoint.tensors if _is_of_classes(checkpoint, name)))


def ignored_words(family: Family, checkpoint: Checkpoint) -> tuple[str, ...]:
    """The messages about parts of the model that are left out, each once."""
    prefix, rows = _prefix(family, checkpoint), [row for row in family.ignored if row.says]
    words = (
        row.says
        for row in rows
        if any(re.fullmatch(_pattern(row, family.prefix, prefix), name) for name in checkpoint.tensors)
    )
    return tuple(dict.fromkeys(words))


def _prefix(family: Family, checkpoint: Checkpoint) -> str:
    """The prefix of the model's own tensors in this file; models under some classes have another one."""
    known = (family.prefix, *(("transformer.",) if ends_in_classes(checkpoint.config) else ()))
    there = (one for one in known if one and any(name.startswith(one) for name in checkpoint.tensors))
    return next(there, "")


def _names(
    row: Tensor, config: Config, prefix: str, there: str, sizes: Sizes
) -> Iterator[tuple[str, int | None]]:
    """The names that a row stands for, with the prefix of this file, and their layers."""
    name = there + row.name.removeprefix(prefix) if row.name.startswith(prefix) else row.name
    if "{layer}" not in name:
        yield name, None
        return
    stack = "encoder_layers" if row.places[0].startswith("encoder.") else "layers"
    for layer in range(sizes[stack]):
        if row.in_layer(config, layer):
            yield name.replace("{layer}", str(layer)), layer


def _checked(checkpoint: Checkpoint, name: str, shape: tuple[int, ...]) -> StoredTensor:
    """The tensor of that name. Raises `CheckpointError` if it is missing or of another shape or type."""
    tensor = checkpoint.tensors.get(name)
    if tensor is None:
        needed = Message("must have the shape {shape} of this configuration", shape=shape_text(shape))
        raise tensor_error(Path(checkpoint.weights_name), name, Message("nothing"), needed)
    if tensor.dtype not in FLOATS:
        floats = Message("must have a dtype of {choices}", choices=", ".join(FLOATS))
        raise tensor_error(tensor.file, name, tensor.dtype, floats)
    if tensor.shape != shape:
        needed = Message("must have the shape {shape} of this configuration", shape=shape_text(shape))
        raise tensor_error(tensor.file, name, shape_text(tensor.shape), needed)
    return tensor


FLOATS = ("F16", "BF16", "F32", "F64")
"""The supported types of weights; 8 bits and integers belong to quantised models."""


def _check_ignored(
    family: Family, config: Config, prefix: str, checkpoint: Checkpoint, name: str, sizes: Sizes
) -> None:
    """Raise for a tensor that no row requests, unless it is known to have no effect."""
    tensor = checkpoint.tensors[name]
    for ignored in family.ignored:
        matches = re.fullmatch(_pattern(ignored, family.prefix, prefix), name)
        if not matches or not ignored.is_there(config):
            continue
        if ignored.same_as is None:
            return
        other = checkpoint.tensors.get(prefix + ignored.same_as.removeprefix(family.prefix))
        if other is not None and _are_equal(tensor, other):
            return
        tied = Message(
            "must equal {other}, to which this configuration ties it", other=quoted(ignored.same_as)
        )
        raise tensor_error(tensor.file, name, Message("other numbers"), tied)
    number = _layer_of(family, prefix, name)
    if number is not None and number >= sizes["layers"]:
        of_layers = must_be(
            "in one of the layers 0 to {last:,} of this configuration", last=sizes["layers"] - 1
        )
        raise tensor_error(tensor.file, name, Message("layer {number:,}", number=number), of_layers)
    unused = must_be("a tensor of this configuration")
    raise tensor_error(
        tensor.file, name, Message("one of shape {shape}", shape=shape_text(tensor.shape)), unused
    )


def _layer_of(family: Family, prefix: str, name: str) -> int | None:
    """The number in the name of a tensor of the main layers; None for other names."""
    rows = (row for row in family.tensors if not row.places[0].startswith("encoder."))
    of_layers = (row for row in rows if "{layer}" in row.name)
    matches = (re.fullmatch(_pattern(row, family.prefix, prefix), name) for row in of_layers)
    first = next((match for match in matches if match), None)
    return None if first is None else int(first[1][:9])


def _are_equal(first: StoredTensor, second: StoredTensor) -> bool:
    """True if two tensors have the same shape and numbers."""
    if first.shape != second.shape:
        return False
    mine, theirs = first.array().reshape(-1), second.array().reshape(-1)
    parts = (slice(start, start + PART_NUMBERS) for start in range(0, mine.size, PART_NUMBERS))
    return all(np.array_equal(widened(mine[part]), widened(theirs[part])) for part in parts)


def _pattern(row: Ignored | Tensor, prefix: str, there: str) -> str:
    name = row.name
    name = there + name.removeprefix(prefix) if name.startswith(prefix) else name
    return re.escape(name).replace(re.escape("{layer}"), r"(\d+)")
