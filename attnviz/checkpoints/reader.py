"""A checkpoint on the disk: `config.json` and safetensors files, read with nothing executed.

A folder holds `config.json` and `model.safetensors`, or, in several files, `model.safetensors.index.json`
that names the file of each tensor. Headers are read at once and checked against the files' sizes, a tensor's
numbers when they are asked for. Pickled weights (`pytorch_model.bin`) can run code and are refused.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.i18n import _
from attnviz.model.errors.faults import short
from attnviz.model.io.json_text import parse
from attnviz.model.io.tensors import LONGEST_AXIS, MOST_AXES, read_array, read_header
from attnviz.model.spec.arrays import PART_NUMBERS, STORED_DTYPES, widened

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"


class CheckpointError(ValueError):
    """A checkpoint cannot be imported: one sentence that begins with the file's name."""


@dataclass(frozen=True)
class StoredTensor:
    """One tensor of a file: its type, its shape, and the byte of the file where it begins."""

    file: Path
    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int

    def array(self) -> NDArray[Any]:
        """The numbers as they are stored, in an array of their own; of 16 bits, see `arrays.widened`.

        Raises `CheckpointError` where the file ends early, or a number is NaN or an infinity.
        """
        array = read_array(self.file, STORED_DTYPES[self.dtype], self.shape, self.begin)
        if array is None:
            raise CheckpointError(f"{self.file.name}: tensor {short(self.name)} ends early: it is damaged")
        flat = array.reshape(-1)
        parts = (flat[start : start + PART_NUMBERS] for start in range(0, flat.size, PART_NUMBERS))
        if not all(np.isfinite(widened(part)).all() for part in parts):
            raise CheckpointError(
                f"{self.file.name}: tensor {short(self.name)} ({shape_text(self.shape)}) holds NaN or an "
                "infinity; only finite numbers are legal"
            )
        return array


@dataclass(frozen=True)
class Checkpoint:
    """What a folder holds: the configuration's keys, and its tensors by name."""

    folder: Path
    config: dict[str, Any]
    tensors: dict[str, StoredTensor]

    @property
    def name(self) -> str:
        """What the folder is called, also where it was given as a dot."""
        return self.folder.resolve().name

    @property
    def weights_name(self) -> str:
        """The file that messages about tensors name: the only one there is, or the index."""
        files = {tensor.file.name for tensor in self.tensors.values()}
        return files.pop() if len(files) == 1 else INDEX


def read_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """The checkpoint in a folder, or the one that a file (config, weights or index) belongs to.

    Raises `CheckpointError`: one sentence that names the file and what is wrong with it.
    """
    given = Path(path)
    if not given.exists():
        raise CheckpointError(f"{given}: there is no such file or folder{_hub_hint(given)}")
    if given.is_file() and given.suffix.lower() in OTHER_FORMATS:
        raise CheckpointError(_other_format(given))
    folder = given if given.is_dir() else given.parent
    weights = given if given.suffix == ".safetensors" and given.is_file() else folder / WEIGHTS
    if not (folder / CONFIG).exists():
        _refuse_without_config(folder)
    config = _object(folder / CONFIG)
    if weights.is_file():
        tensors = _tensors(weights)
    elif (folder / INDEX).is_file():
        tensors = _sharded(folder / INDEX)
    else:
        raise CheckpointError(_nothing_to_read(folder))
    return Checkpoint(folder, config, tensors)


def shape_text(shape: tuple[int, ...]) -> str:
    """A shape as messages write it: 3x4, or "one number"."""
    return "x".join(map(str, shape)) or "one number"


OTHER_FORMATS = {".gguf": "GGUF", ".onnx": "ONNX", ".h5": "HDF5", ".msgpack": "Flax", ".tflite": "TFLite"}
"""Files of weights that are not read, by their suffix."""


def _other_format(file: Path) -> str:
    """The sentence for weights in another format, with the way out."""
    said = _("{file}: {format} files are not read; save the model by save_pretrained of transformers")
    return said.format(file=file.name, format=OTHER_FORMATS[file.suffix.lower()])


def _hub_hint(given: Path) -> str:
    """More words for what looks like a name of the model hub."""
    if given.is_absolute() or len(given.parts) != 2 or given.parts[0].startswith("."):
        return ""
    return _("; for a model of the hub, give the folder snapshots/… of its download")


def _refuse_without_config(folder: Path) -> None:
    """Say more than that a file is missing, where the folder says what it is."""
    if (folder / "snapshots").is_dir():
        said = _("{folder}: this is the cache of a download; give the folder in it that is named snapshots/…")
        raise CheckpointError(said.format(folder=folder.resolve().name))
    other = next((file for file in sorted(folder.iterdir()) if file.suffix.lower() in OTHER_FORMATS), None)
    if other is not None:
        raise CheckpointError(_other_format(other))


def _nothing_to_read(folder: Path) -> str:
    """The sentence for a folder without weights."""
    other = next((file for file in sorted(folder.iterdir()) if file.suffix.lower() in OTHER_FORMATS), None)
    if other is not None:
        return _other_format(other)
    pickled = [file.name for pattern in ("*.bin", "*.pt", "*.pth") for file in sorted(folder.glob(pattern))]
    if pickled:
        return f"{folder.resolve().name}: {pickled[0]} can run code when it is opened; legal is {WEIGHTS}"
    return f"{folder.resolve().name}: there is no {WEIGHTS} and no {INDEX} in this folder"


def _object(file: Path) -> dict[str, Any]:
    """The JSON object in a file."""
    try:
        data = parse(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise CheckpointError(f"{file.name}: there is no such file in {file.absolute().parent}") from None
    except OSError as error:
        raise CheckpointError(f"{file.name}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise CheckpointError(f"{file.name}: byte {error.start:,} is not UTF-8") from None
    except ValueError as error:
        raise CheckpointError(f"{file.name}: {error}") from None
    if not isinstance(data, dict):
        raise CheckpointError(f"{file.name}: it is not a JSON object")
    return data


def _sharded(index: Path) -> dict[str, StoredTensor]:
    """The tensors of several files, each where the index says that it is."""
    names = _object(index).get("weight_map")
    if not isinstance(names, dict) or not all(isinstance(file, str) for file in names.values()):
        raise CheckpointError(
            f"{index.name}: weight_map is {short(names)}; legal is a file name for each tensor"
        )
    found: dict[str, StoredTensor] = {}
    for file in sorted(set(names.values())):
        if Path(file).name != file or not file.endswith(".safetensors"):
            raise CheckpointError(f"{index.name}: file {short(file)}; legal is a .safetensors file beside it")
        if not (index.parent / file).is_file():
            raise CheckpointError(
                f"{index.name}: {file} is not in this folder; every file that it names is needed"
            )
        for name, tensor in _tensors(index.parent / file).items():
            if names.get(name) != file:
                there = f"in {names[name]}" if name in names else "nowhere"
                raise CheckpointError(f"{file}: tensor {short(name)} is here; by {index.name} it is {there}")
            found[name] = tensor
    for name, file in names.items():
        if name not in found:
            raise CheckpointError(
                f"{file}: tensor {short(name)} is missing; {index.name} says that it is here"
            )
    return found


def _tensors(file: Path) -> dict[str, StoredTensor]:
    """The tensors that a file's header describes."""
    try:
        with file.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            header, start = read_header(stream, size)
    except OSError as error:
        raise CheckpointError(f"{file.name}: {error.strerror or error}") from None
    except ValueError as error:
        raise CheckpointError(f"{file.name}: {error}") from None
    header.pop("__metadata__", None)
    return {name: _tensor(file, name, entry, start, size) for name, entry in header.items()}


def _tensor(file: Path, name: str, entry: Any, start: int, size: int) -> StoredTensor:
    """One tensor of a header, checked against the file's size."""

    def refused(what: str) -> CheckpointError:
        return CheckpointError(f"{file.name}: tensor {short(name)} {what}")

    if not isinstance(entry, dict) or not {"dtype", "shape", "data_offsets"} <= entry.keys():
        raise refused(f"has a broken entry in the header: {short(entry)}")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or not _counts(shape) or not _counts(offsets) or len(offsets) != 2:
        raise refused(f"has a broken entry in the header: {short(entry)}")
    if len(shape) > MOST_AXES:
        raise refused(_("has {n} axes; {most} at most are read").format(n=f"{len(shape):,}", most=MOST_AXES))
    if dtype not in STORED_DTYPES:
        # Buffers of booleans and whole numbers may stand there; whether one is needed, the family says.
        return StoredTensor(file, name, dtype, tuple(shape), start + offsets[0])
    length = math.prod(shape) * STORED_DTYPES[dtype].itemsize
    if offsets[1] - offsets[0] != length or start + offsets[1] > size:
        raise refused(
            f"({shape_text(tuple(shape))}) stands at bytes {short(offsets)} of {size - start:,}: "
            "it is damaged"
        )
    return StoredTensor(file, name, dtype, tuple(shape), start + offsets[0])


def _counts(value: Any) -> bool:
    return isinstance(value, list) and all(
        type(number) is int and 0 <= number <= LONGEST_AXIS for number in value
    )
