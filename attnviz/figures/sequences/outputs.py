"""`OUTPUTS`: the kinds of files that hold a sequence."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from attnviz.core.progress import Progress
from attnviz.errors import FieldError, InputError, Message, about, must_be, suffix_error
from attnviz.figures.files import figure_bytes
from attnviz.figures.style import DPI
from attnviz.i18n import N_
from attnviz.model.io.carriers.record import Record
from attnviz.model.io.carriers.table import carrying
from attnviz.model.io.files import replace_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL.Image import Image

LEAST_FPS, MOST_FPS = 0.1, 60.0
MOVING_DPI = 120
"""Pixels per inch of a GIF and of a video."""
HELD = 3
"""Frames for which a GIF and a video show their last picture."""

NEEDS_FFMPEG = Message("A video needs the package imageio-ffmpeg: pip install 'attnviz[video]'.")


@dataclass(frozen=True)
class Drawn:
    """The pictures of a sequence, drawn one after the other, and how they are written.

    `coding` is the progress of what follows the drawing.
    """

    figures: Iterator[Figure]
    fps: float
    dpi: int
    coding: Progress


@dataclass(frozen=True)
class Output:
    """One kind of file: its suffix, its title, the function that makes its content, and its usual dpi.

    `in_folder`: each picture is a file. `package` is the one that it needs.
    """

    suffix: str
    title: str
    make: Callable[[Drawn], tuple[bytes, ...]]
    dpi: int = DPI
    in_folder: bool = False
    package: str = ""

    def check_package(self) -> None:
        """Refuse a kind of file whose package is missing."""
        if self.package and find_spec(self.package) is None:
            raise InputError(NEEDS_FFMPEG)

    def files(self, drawn: Drawn, record: Record | None = None) -> tuple[bytes, ...]:
        """The one file, or each numbered file; `record` is in all of them."""
        self.check_package()
        files = self.make(drawn)
        return files if record is None else tuple(carrying(data, self.suffix, record) for data in files)

    def write(self, files: tuple[bytes, ...], path: Path) -> Path:
        """Write the file, or the folder of files, completely or not at all; returns it."""
        if self.in_folder:
            return _write_folder(files, path)
        replace_file(path, files[0])
        return path

    def check(self, path: Path) -> None:
        """Refuse a folder that has anything but an earlier sequence of this name."""
        if self.in_folder:
            _check_own(path.with_suffix(""), self.suffix)


def check_fps(fps: float) -> None:
    """Refuse a number of pictures per second that no player shows."""
    if not LEAST_FPS <= fps <= MOST_FPS:
        raise FieldError(
            "fps", fps, must_be("a number from {least} to {most}", least=LEAST_FPS, most=MOST_FPS)
        )


def output_of(path: str | os.PathLike[str]) -> Output:
    """The kind of file of a name. Raises `InputError` naming the suffixes."""
    name = Path(path)
    for row in OUTPUTS:
        if row.suffix == name.suffix.lower():
            return row
    raise InputError(
        about(name.name or name, suffix_error(name.suffix, [row.suffix for row in OUTPUTS]).message)
    )


# --- numbered files --------------------------------------------------------------------------------


def _numbered(drawn: Drawn, format_id: str) -> tuple[bytes, ...]:
    """Each picture as a file."""
    return tuple(figure_bytes(figure, format_id, dpi=drawn.dpi) for figure in drawn.figures)


def _write_folder(contents: tuple[bytes, ...], path: Path) -> Path:
    """`weights.png`: the folder `weights` with `weights-01.png` and so on; all files or none."""
    folder, suffix = path.with_suffix(""), path.suffix.lower()
    digits = len(str(len(contents)))
    _check_own(folder, suffix)
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        for index, data in enumerate(contents, start=1):
            (temporary / f"{folder.name}-{index:0{digits}}{suffix}").write_bytes(data)
        temporary.chmod(0o777 & ~_umask())
        if folder.exists():
            shutil.rmtree(folder)
        os.replace(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return folder


def _check_own(folder: Path, suffix: str) -> None:
    """Refuse a folder that has anything but an earlier sequence of this name."""
    if folder.is_dir():
        others = [file for file in folder.iterdir() if not _is_frame(file, folder.name, suffix)]
        if others:
            empty = must_be(
                "an empty folder, or one with files such as {name} only", name=f"{folder.name}-1{suffix}"
            )
            raise FieldError("output", str(folder), empty)


def _is_frame(file: Path, name: str, suffix: str) -> bool:
    number = file.name.removeprefix(f"{name}-").removesuffix(suffix)
    return number.isdigit() and file.name == f"{name}-{number}{suffix}"


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


# --- pages -----------------------------------------------------------------------------------------


def _pages(drawn: Drawn) -> tuple[bytes, ...]:
    """A PDF with a page for each picture."""
    from matplotlib.backends.backend_pdf import PdfPages

    from attnviz.figures.fonts import drawing

    stream = io.BytesIO()
    metadata = {"Creator": "attnviz", "Producer": None, "CreationDate": None}
    with drawing(), PdfPages(stream, metadata=metadata) as pages:  # type: ignore[arg-type]
        for figure in drawn.figures:
            pages.savefig(figure, dpi=drawn.dpi, facecolor=figure.get_facecolor())
    return (stream.getvalue(),)


# --- moving pictures -------------------------------------------------------------------------------


def _gif(drawn: Drawn) -> tuple[bytes, ...]:
    """A GIF that loops."""
    pictures = _Pictures(drawn)
    palette = _palette(pictures)  # with one for each picture, colours flicker
    milliseconds = round(1000 / drawn.fps)
    times = [milliseconds] * (pictures.count - 1) + [HELD * milliseconds]
    first, *others = (_in_palette(one, palette) for one in _checked(pictures, drawn.coding))
    stream = io.BytesIO()
    first.save(stream, "GIF", save_all=True, append_images=others, duration=times, loop=0, optimize=False)
    return (stream.getvalue(),)


def _checked(pictures: _Pictures, coding: Progress) -> Iterator[Image]:
    """The pictures, with a report and a check before each."""
    for index, one in enumerate(pictures):
        coding.at(index / pictures.count)
        yield one


def _palette(pictures: _Pictures) -> Image:
    """256 colours for all pictures, chosen from the first, the middle and the last."""
    from PIL import Image

    width, height = pictures.size
    sheet = Image.new("RGB", (width, 3 * height))
    for place, index in enumerate((0, pictures.count // 2, pictures.count - 1)):
        sheet.paste(pictures[index], (0, place * height))
    return sheet.quantize(256)


def _in_palette(picture: Image, palette: Image) -> Image:
    """The picture with the nearest colours of a palette.

    Pillow's own search rounds colours first, and gives white paper a tint.
    """
    from PIL import Image

    pixels = np.asarray(picture, dtype=np.int32) @ (1 << 16, 1 << 8, 1)
    packed, places = np.unique(pixels, return_inverse=True)
    colors = np.stack([packed >> 16, packed >> 8 & 255, packed & 255], axis=-1)
    known = np.reshape(palette.getpalette() or (), (-1, 3))
    distances = np.stack([((colors - one) ** 2).sum(axis=-1) for one in known])
    nearest = distances.argmin(axis=0).astype(np.uint8)[places.ravel()]
    paletted = Image.frombytes("P", picture.size, nearest.tobytes())
    paletted.putpalette(known.ravel().tolist())
    return paletted


def _video(drawn: Drawn) -> tuple[bytes, ...]:
    """An H.264 video that every player and slide program shows."""
    from imageio_ffmpeg import write_frames

    pictures = _Pictures(drawn, even=True)
    settings: dict[str, Any] = {"fps": drawn.fps, "codec": "libx264", "macro_block_size": 2, "quality": 8}
    settings["output_params"] = ["-movflags", "+faststart", "-metadata", "comment=attnviz"]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "video.mp4"
        writer = write_frames(str(file), pictures.size, ffmpeg_log_level="error", **settings)
        writer.send(None)
        try:
            for one in _checked(pictures, drawn.coding):
                writer.send(one.tobytes())
            for _again in range(HELD - 1):
                writer.send(one.tobytes())
        finally:
            writer.close()
        return (file.read_bytes(),)


class _Pictures:
    """The pictures in the size of the largest, on their own ground; kept as PNG, which is small."""

    def __init__(self, drawn: Drawn, even: bool = False) -> None:
        self._kept = tuple(figure_bytes(figure, "png", dpi=drawn.dpi) for figure in drawn.figures)
        self.count = len(self._kept)
        sizes = [self._opened(index).size for index in range(self.count)]
        width, height = (max(size[axis] for size in sizes) for axis in (0, 1))
        self.size = (width + width % 2, height + height % 2) if even else (width, height)

    def __iter__(self) -> Iterator[Image]:
        return (self[index] for index in range(self.count))

    def __getitem__(self, index: int) -> Image:
        from PIL import Image

        picture = self._opened(index).convert("RGB")
        if picture.size == self.size:
            return picture
        ground = Image.new("RGB", self.size, picture.getpixel((0, 0)))  # type: ignore[arg-type]
        ground.paste(picture, (0, 0))
        return ground

    def _opened(self, index: int) -> Image:
        from PIL import Image

        return Image.open(io.BytesIO(self._kept[index]))


OUTPUTS: tuple[Output, ...] = (
    Output(".gif", N_("GIF that loops"), _gif, MOVING_DPI),
    Output(".mp4", N_("MP4 video"), _video, MOVING_DPI, package="imageio_ffmpeg"),
    Output(".pdf", N_("PDF, one page each"), _pages),
    Output(".png", N_("PNG files in a folder"), partial(_numbered, format_id="png"), in_folder=True),
    Output(".svg", N_("SVG files in a folder"), partial(_numbered, format_id="svg"), in_folder=True),
)
