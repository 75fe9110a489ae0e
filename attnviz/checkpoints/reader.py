"""A checkpoint on the disk: `config.json` and safetensors files, read with nothing executed.

A folder holds `config.json` and `model.safetensors`, or, in several files, `model.safetensors.index.json`
that names the file of each tensor. Headers are read at once and checked against the files' sizes, a tensor's
numbers on demand. Pickled weights (`pytorch_model.bin`) can run code and are refused.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.errors import FieldError, InputError, Message, about, message_of, must_be, quoted, verbatim
from attnviz.errors import size as size_of
from attnviz.model.io.json_text import MAX_TEXT, parse
from attnviz.model.io.regular_file import length_of, opened, read_text
from attnviz.model.io.stand_in import said_of_file
from attnviz.model.io.tensors import LONGEST_AXIS, MOST_AXES, read_header
from attnviz.model.spec.arrays import PART_NUMBERS, STORED_DTYPES, widened
from attnviz.model.spec.codes import Codes
from attnviz.model.spec.memory_map import file_of, mapped

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"


class CheckpointError(InputError):
    """A checkpoint cannot be imported: one sentence that begins with the file's name."""


@dataclass(frozen=True)
class StoredTensor:
    """One tensor of a file: its type, its shape, and the byte of the file where it begins."""

    file: Path
    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int

    @property
    def size(self) -> int:
        """Count of its numbers."""
        return math.prod(self.shape)

    @property
    def is_made(self) -> bool:
        """True if its numbers are computed from stored ones, such as quantised ones, at every use."""
        return False

    def array(self) -> NDArray[Any]:
        """The stored numbers where they lie in the file, read-only; for 16 bits, see `arrays.widened`.

        Raises `CheckpointError` if the file ends early, or a number is NaN or an infinity.
        """
        try:
            file = mapped(self.file)
            array = file.array(STORED_DTYPES[self.dtype], self.shape, self.begin)
        except (OSError, ValueError, TypeError):
            whole = Message("must have {n:,} numbers", n=self.size)
            raise tensor_error(self.file, self.name, Message("fewer"), whole) from None
        check_finite(self, array)
        return array

    def rows(self, chosen: Any) -> NDArray[Any]:
        """Some rows of a tensor that is computed at every use."""
        return self.array()[chosen]

    def whole_rows(self, part: Callable[[NDArray[Any]], NDArray[Any]], axis: int) -> NDArray[Any] | None:
        """The rows that lie along an axis of a part of a tensor with codes; `part` takes it from the numbers.

        None for a tensor without codes, and for a part that does not consist of whole rows.
        """
        return None

    def codes(self, rows: NDArray[Any]) -> Codes | None:
        """The codes of some rows of a tensor whose `whole_rows` they are; None where they are not finite."""
        return None


def check_finite(tensor: StoredTensor, array: NDArray[Any]) -> None:
    """Raise `CheckpointError` for NaN and infinities: numbers whose bits of the exponent are all set."""
    integer, exponent = EXPONENTS[array.dtype]
    bits = array.reshape(-1).view(integer)
    for start in range(0, bits.size, PART_NUMBERS):
        part = bits[start : start + PART_NUMBERS]
        if (part & exponent).max() == exponent:
            numbers = widened(array.reshape(-1)[start : start + PART_NUMBERS])
            first = float(numbers[~np.isfinite(numbers)][0])
            raise tensor_error(tensor.file, tensor.name, first, Message("must hold finite numbers only"))
        file = file_of(part)
        if file is not None:
            file.let_go(part)


EXPONENTS = {
    STORED_DTYPES["F16"]: (np.uint16, np.uint16(0x7C00)),
    STORED_DTYPES["BF16"]: (np.uint16, np.uint16(0x7F80)),
    STORED_DTYPES["F32"]: (np.uint32, np.uint32(0x7F80_0000)),
    STORED_DTYPES["F64"]: (np.uint64, np.uint64(0x7FF0_0000_0000_0000)),
}
"""Of each precision, the whole numbers with its bits, and the bits of the exponent."""


@dataclass(frozen=True)
class Checkpoint:
    """Contents of a folder: the configuration's keys, and its tensors by name.

    A file that has it all has a `title`, a `tokenizer` and the settings of a `chat` of its own; `config_name`
    is where the keys stand.
    """

    folder: Path
    config: dict[str, Any]
    tensors: dict[str, StoredTensor]
    title: str = ""
    config_name: str = CONFIG
    tokenizer: dict[str, Any] | None = None
    chat: dict[str, Any] | None = None

    @property
    def name(self) -> str:
        """Its title, or the name of the folder, also if its path was a dot; of a download, the model's name.

        The hub's cache keeps a model in `models--owner--name/snapshots/<hash>`.
        """
        folder = self.folder.resolve()
        shots, model = folder.parent.name, folder.parent.parent.name
        if not self.title and shots == "snapshots" and model.startswith("models--"):
            return model.rpartition("--")[2]
        return self.title or folder.name

    @property
    def weights_name(self) -> str:
        """The file that messages about tensors name: the only one, or the index."""
        files = {tensor.file.name for tensor in self.tensors.values()}
        return files.pop() if len(files) == 1 else INDEX


def read_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """The checkpoint in a folder, or the one that a file (config, weights or index) belongs to.

    Raises `CheckpointError`: one sentence that names the file and its fault.
    """
    given = Path(path)
    if given.is_file() and given.suffix.lower() in OTHER_FORMATS:
        raise CheckpointError(_other_format(given))
    if given.is_file() and given.suffix.lower() in PICKLED:
        raise CheckpointError(_pickled(given))
    if given.is_file() and (said := said_of_file(given)) is not None:
        raise CheckpointError(about(given.name, said))
    folder = given if given.is_dir() else given.parent
    if given.name in ADAPTER or not ((folder / CONFIG).exists() and _has_weights(folder)):
        _refuse_adapter(folder)
    weights = given if given.suffix == ".safetensors" and given.is_file() else folder / WEIGHTS
    if not (folder / CONFIG).exists():
        _refuse_without_config(folder)
    config = read_object(folder / CONFIG)
    if weights.is_file():
        tensors = _tensors(weights)
    elif (folder / INDEX).is_file():
        tensors = _sharded(folder / INDEX)
    else:
        raise CheckpointError(_nothing_to_read(folder))
    if any(".lora_" in name for name in tensors):
        raise CheckpointError(about(folder.resolve().name, _adapter_of(None)))
    return Checkpoint(folder, config, _without_wrappers(tensors))


WRAPPERS = ("_orig_mod.", "module.", "base_model.model.")
"""Beginnings that torch.compile, DistributedDataParallel and PEFT put before the names of all tensors."""


def _without_wrappers(tensors: dict[str, StoredTensor]) -> dict[str, StoredTensor]:
    """The tensors under the names that the model itself gives them."""
    for wrapper in WRAPPERS:
        if tensors and all(name.startswith(wrapper) for name in tensors):
            return _without_wrappers({name.removeprefix(wrapper): one for name, one in tensors.items()})
    return tensors


def shape_text(shape: tuple[int, ...]) -> Message:
    """A shape in a message: 3x4, or "one number"."""
    return size_of(shape) if shape else Message("one number")


def tensor_error(file: Path, name: str, value: object, requirement: Message) -> CheckpointError:
    """The error of one tensor of a file."""
    return CheckpointError(about(file.name, FieldError(f"tensor {name!r:.200}", value, requirement).message))


OTHER_FORMATS = {".onnx": "ONNX", ".h5": "HDF5", ".msgpack": "Flax", ".tflite": "TFLite"}
"""Unsupported weight files, by suffix."""


CONVERSION = (
    "python -c \"import torch, safetensors.torch as s; t = torch.load('{file}', weights_only=True); "
    "s.save_file({{k: v.clone() for k, v in t.items()}}, 'model.safetensors')\""
)
"""The line that rewrites weights; it loads numbers and nothing else of the pickle."""


def _other_format(file: Path) -> Message:
    """The message for weights in another format, with a remedy."""
    return Message(
        "{file} must be a .safetensors or .gguf file; got {format} (save_pretrained of transformers "
        "saves .safetensors).",
        file=file.name,
        format=OTHER_FORMATS[file.suffix.lower()],
    )


ADAPTER = ("adapter_config.json", "adapter_model.safetensors")
"""The files of an adapter of another model, as PEFT saves them."""


def _has_weights(folder: Path) -> bool:
    return (folder / WEIGHTS).exists() or (folder / INDEX).exists()


def _adapter_of(base: object) -> Message:
    """The sentence about an adapter; `base` is the name of its model, if it is known."""
    return Message(
        "The weights are those of an adapter (LoRA) of {base}: merge_and_unload of PEFT merges them with "
        "that model, and save_pretrained saves the result.",
        base=quoted(base) if isinstance(base, str) else Message("another model"),
    )


def _refuse_adapter(folder: Path) -> None:
    """Raise for a folder that has an adapter in place of a model."""
    if any((folder / name).is_file() for name in ADAPTER):
        config = folder / ADAPTER[0]
        base = read_object(config).get("base_model_name_or_path") if config.is_file() else None
        raise CheckpointError(about(folder.resolve().name, _adapter_of(base)))


def _refuse_without_config(folder: Path) -> None:
    """Raise a message with a hint from the folder's contents instead of a mere missing file."""
    other = next((file for file in sorted(folder.iterdir()) if file.suffix.lower() in OTHER_FORMATS), None)
    if other is not None:
        raise CheckpointError(_other_format(other))


PICKLED = (".bin", ".pt", ".pth")
"""Suffixes of weights that torch.save wrote."""


def _pickled(file: Path) -> Message:
    """The message for weights that can run code, with the line that converts them."""
    unsafe = Message(
        "The weights must be in {file}; got {pickled}, which can run code when it is opened; in its "
        "folder, {command} converts it.",
        file=WEIGHTS,
        pickled=file.name,
        command=verbatim(CONVERSION.format(file=file.name)),
    )
    return about(file.absolute().parent.name, unsafe)


def _nothing_to_read(folder: Path) -> Message:
    """The message for a folder without weights."""
    other = next((file for file in sorted(folder.iterdir()) if file.suffix.lower() in OTHER_FORMATS), None)
    if other is not None:
        return _other_format(other)
    pickled = next((file for suffix in PICKLED for file in sorted(folder.glob(f"*{suffix}"))), None)
    if pickled is not None:
        return _pickled(pickled)
    return about(
        folder.resolve().name,
        Message("The folder must contain {weights} or {index}; got neither.", weights=WEIGHTS, index=INDEX),
    )


def read_object(file: Path) -> dict[str, Any]:
    """The JSON object in a file."""
    try:
        data = parse(read_text(file, MAX_TEXT))
    except (OSError, ValueError) as error:
        said = said_of_file(file) if file.is_file() else None
        raise CheckpointError(about(file.name, said or message_of(error))) from None
    if not isinstance(data, dict):
        raise CheckpointError(
            about(file.name, Message("The file must be a JSON object; got {value}.", value=quoted(data)))
        )
    return data


def _sharded(index: Path) -> dict[str, StoredTensor]:
    """The tensors of several files, each at the place in the index."""
    names = read_object(index).get("weight_map")
    if not isinstance(names, dict) or not all(isinstance(file, str) for file in names.values()):
        fault = FieldError("weight_map", names, Message("must have a file name for each tensor"))
        raise CheckpointError(about(index.name, fault.message))
    tensors: dict[str, StoredTensor] = {}
    for file in sorted(set(names.values())):
        if Path(file).name != file or not file.endswith(".safetensors"):
            fault = FieldError("weight_map", file, Message("must name .safetensors files beside it"))
            raise CheckpointError(about(index.name, fault.message))
        if not (index.parent / file).is_file():
            needed = Message("Every file that weight_map names must exist; got no {file}.", file=file)
            raise CheckpointError(about(index.name, needed))
        for name, tensor in _tensors(index.parent / file).items():
            if names.get(name) != file:
                as_said = Message("must be in the file that {index} names", index=index.name)
                raise tensor_error(index.parent / file, name, Message("this file"), as_said)
            tensors[name] = tensor
    for name, file in names.items():
        if name not in tensors:
            as_said = Message("must be in this file, as {index} says", index=index.name)
            raise tensor_error(index.parent / file, name, Message("nothing"), as_said)
    return tensors


def _tensors(file: Path) -> dict[str, StoredTensor]:
    """The tensors that a file's header describes."""
    try:
        with opened(file) as stream:
            size = length_of(stream)
            header, start = read_header(stream, size)
    except (OSError, ValueError) as error:
        raise CheckpointError(about(file.name, message_of(error))) from None
    header.pop("__metadata__", None)
    tensors = {name: _tensor(file, name, entry, start) for name, entry in header.items()}
    needed = start + max((entry["data_offsets"][1] for entry in header.values()), default=0)
    if needed > size:
        raise CheckpointError(about(file.name, _cut_off(size, needed)))
    return tensors


def _cut_off(size: int, needed: int) -> Message:
    """The message for a file that ends before its numbers do, such as one of a broken download."""
    return Message(
        "The file is too short: it must have {needed:,} bytes, as its header says; got {size:,}, so that "
        "{missing:,} are missing.",
        needed=needed,
        size=size,
        missing=needed - size,
    )


def _tensor(file: Path, name: str, entry: Any, start: int) -> StoredTensor:
    """One tensor of a header; its place must have the size of its shape."""

    described = must_be("an object with dtype, shape and data_offsets")
    if not isinstance(entry, dict) or not {"dtype", "shape", "data_offsets"} <= entry.keys():
        raise tensor_error(file, name, entry, described)
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or not _counts(shape) or not _counts(offsets) or len(offsets) != 2:
        raise tensor_error(file, name, entry, described)
    if len(shape) > MOST_AXES:
        at_most = Message("must have at most {most} axes", most=MOST_AXES)
        raise tensor_error(file, name, Message("{n:,} axes", n=len(shape)), at_most)
    if dtype not in STORED_DTYPES:
        # Such buffers of booleans and integers may exist; the family decides whether one is needed.
        return StoredTensor(file, name, dtype, tuple(shape), start + offsets[0])
    length = math.prod(shape) * STORED_DTYPES[dtype].itemsize
    if offsets[1] - offsets[0] != length:
        # A crafted shape has a length of hundreds of digits.
        needs = Message("must have {n} bytes inside the file, as its shape requires", n=f"{length:,}"[:60])
        raise tensor_error(file, name, offsets, needs)
    return StoredTensor(file, name, dtype, tuple(shape), start + offsets[0])


def _counts(value: Any) -> bool:
    return isinstance(value, list) and all(
        type(number) is int and 0 <= number <= LONGEST_AXIS for number in value
    )
