"""An image as a model reads it: resized, cropped and scaled as its preprocessor_config.json says.

The keys are those of the image processors of `transformers`, which resize with Pillow as well.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from attnviz.checkpoints.reader import CheckpointError, read_object
from attnviz.checkpoints.signals.signal import Floats
from attnviz.errors import (
    POSITIVE,
    FieldError,
    Message,
    about,
    among,
    message_of,
    must_be,
    size,
    verbatim,
    whole_number,
)
from attnviz.model.io.regular_file import opened

if TYPE_CHECKING:
    from PIL.Image import Image

FILE = "preprocessor_config.json"

Sides = tuple[int, int]
"""Rows and columns."""

MOST_PIXELS = 2**26
"""Largest image that is opened."""
LONGEST = 4096
"""Longest side that a preparation asks for, in pixels."""
RESAMPLINGS = range(6)
"""Numbers of Pillow's filters."""

HALF = (0.5, 0.5, 0.5)


@dataclass(frozen=True)
class Preparation:
    """From a picture to the numbers of a model: (pixel · factor − mean) / std after resizing and cropping.

    `sides` are rows and columns, or `shortest` is the shorter side; None: the picture's own. `resampling` is
    the number of a filter of Pillow: 2 is bilinear, 3 bicubic.
    """

    sides: Sides | None
    shortest: int | None = None
    crop: Sides | None = None
    resampling: int = 2
    factor: float = 1 / 255
    mean: tuple[float, ...] = HALF
    std: tuple[float, ...] = HALF

    def at(self, side: int) -> Preparation:
        """The same for a square of `side` pixels, its border cropped in the same proportion."""
        if self.crop is None or self.shortest is None:
            return replace(self, sides=(side, side), shortest=None, crop=None)
        return replace(self, shortest=round(self.shortest * side / self.crop[0]), crop=(side, side))

    def picture(self, given: Image) -> Image:
        """The picture that the model sees."""
        picture, sides = given.convert("RGB"), self._sides(given)
        if sides is not None:
            picture = picture.resize(sides[::-1], self.resampling)
        return picture if self.crop is None else _center(picture, self.crop)

    def numbers(self, picture: Image) -> Floats:
        """The features (channel, row, column) of a picture that has its size."""
        pixels = np.asarray(picture, dtype=np.float64) * self.factor
        return ((pixels - self.mean) / self.std).transpose(2, 0, 1)

    def _sides(self, given: Image) -> Sides | None:
        if self.shortest is None:
            return self.sides
        columns, rows = given.size
        if rows <= columns:
            return self.shortest, int(self.shortest * columns / rows)
        return int(self.shortest * rows / columns), self.shortest


def _center(picture: Image, crop: Sides) -> Image:
    """The middle of a picture, with black around it if it is smaller."""
    rows, columns = crop
    left, top = (picture.width - columns) // 2, (picture.height - rows) // 2
    return picture.crop((left, top, left + columns, top + rows))


def read_image(path: str | os.PathLike[str]) -> Image:
    """A picture of a file. Raises `CheckpointError` for a file that is none."""
    from PIL import Image, UnidentifiedImageError

    name = Path(path).name
    try:
        file = opened(path)
    except OSError as error:
        raise CheckpointError(about(name, message_of(error))) from None
    with file:
        try:
            picture = Image.open(file)
            n_pixels = picture.width * picture.height
            if n_pixels > MOST_PIXELS:
                most = must_be("at most {most:,} pixels", most=MOST_PIXELS)
                raise CheckpointError(about(name, FieldError("pixels", n_pixels, most).message))
            picture.load()
        except CheckpointError:
            raise
        except (UnidentifiedImageError, Image.DecompressionBombError, OSError, SyntaxError, ValueError):
            raise CheckpointError(about(name, Message("The file must be an image."))) from None
    return picture


def preparation_of(folder: Path, side: int) -> Preparation:
    """The preparation of a checkpoint's folder; without a file, for a square image of `side` pixels.

    Raises `CheckpointError` for a value that cannot be used.
    """
    file = folder / FILE
    if not file.is_file():
        return Preparation((side, side))
    values = read_object(file)
    try:
        return _preparation(values, side)
    except FieldError as error:
        raise CheckpointError(about(FILE, error.message)) from None


def _preparation(values: Mapping[str, Any], side: int) -> Preparation:
    sides, shortest = _size(values, side) if _flag(values, "do_resize") else (None, None)
    resampling = values.get("resample", 2)
    if type(resampling) is not int or resampling not in RESAMPLINGS:
        raise FieldError("resample", resampling, among(map(str, RESAMPLINGS)))
    normalises = _flag(values, "do_normalize")
    return Preparation(
        sides,
        shortest,
        _sides(values, "crop_size", side) if _flag(values, "do_center_crop", False) else None,
        resampling,
        _number(values, "rescale_factor", 1 / 255) if _flag(values, "do_rescale") else 1.0,
        _channels(values, "image_mean") if normalises else (0.0,) * 3,
        _channels(values, "image_std") if normalises else (1.0,) * 3,
    )


def _size(values: Mapping[str, Any], side: int) -> tuple[Sides | None, int | None]:
    """The sides, or the shortest one: a number is a square, or the shortest side if a crop follows."""
    given = values.get("size", side)
    if isinstance(given, Mapping) and "shortest_edge" in given:
        return None, _side("size.shortest_edge", given["shortest_edge"])
    if not isinstance(given, Mapping) and _flag(values, "do_center_crop", False):
        return None, _side("size", given)
    return _sides(values, "size", side), None


def _sides(values: Mapping[str, Any], name: str, side: int) -> Sides:
    given = values.get(name, side)
    if isinstance(given, Mapping):
        return tuple(_side(f"{name}.{key}", given.get(key)) for key in ("height", "width"))  # type: ignore[return-value]
    one = _side(name, given)
    return one, one


def _side(name: str, given: Any) -> int:
    if type(given) is not int or not 1 <= given <= LONGEST:
        raise FieldError(name, given, whole_number(1, LONGEST))
    return given


def _flag(values: Mapping[str, Any], name: str, default: bool = True) -> bool:
    given = values.get(name, default)
    given = default if given is None else given
    if type(given) is not bool:
        raise FieldError(name, given, must_be("true or false"))
    return given


def _number(values: Mapping[str, Any], name: str, default: float) -> float:
    given = values.get(name, default)
    if type(given) not in (int, float) or not 0 < given < np.inf:
        raise FieldError(name, given, POSITIVE)
    return float(given)


def _channels(values: Mapping[str, Any], name: str) -> tuple[float, ...]:
    given = values.get(name, HALF)
    is_std = name == "image_std"
    if not isinstance(given, list | tuple) or len(given) != len(HALF):
        raise FieldError(name, verbatim(str(given)), must_be("a list of three numbers"))
    for index, one in enumerate(given):
        if type(one) not in (int, float) or not abs(one) < np.inf or (is_std and one <= 0):
            raise FieldError(f"{name}[{index}]", one, POSITIVE if is_std else must_be("a finite number"))
    return tuple(map(float, given))


def fitting(picture: Image, shape: tuple[int, ...]) -> None:
    """Raise `FieldError` if a prepared picture has not the size of a model's images."""
    shape_of_picture = (picture.height, picture.width)
    if shape_of_picture != shape[1:] or shape[0] != len(HALF):
        wanted = must_be("{shape} pixels with three colours after the preparation", shape=size(shape[1:]))
        raise FieldError("image", Message("{shape}", shape=size(shape_of_picture)), wanted)
