"""`OUTPUTS`: the kinds of files that hold a sequence."""

from __future__ import annotations

import io
import itertools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
"""Pixels per inch of a GIF and of a film."""
HELD = 3
"""Frames for which a GIF and a film show their last picture."""

NEEDS_FFMPEG = Message("A film needs the package imageio-ffmpeg: pip install 'attnviz[video]'.")


@dataclass(frozen=True)
class Made:
    """The pictures of a sequence, drawn one after the other, and how they are written."""

    figures: Iterator[Figure]
    count: int
    fps: float
    dpi: int
    record: Record | None


@dataclass(frozen=True)
class Output:
    """One kind of file: its suffix, its title, the function that writes the pictures, and its usual dpi."""

    suffix: str
    title: str
    write: Callable[[Made, Path], Path]
    dpi: int = DPI


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
    raise InputError(about(name.name, suffix_error(name.suffix, [row.suffix for row in OUTPUTS]).message))


# --- numbered files --------------------------------------------------------------------------------


def _numbered(made: Made, path: Path) -> Path:
    """`weights.png`: the folder `weights` with `weights-01.png` and so on; all files or none."""
    folder, suffix = path.with_suffix(""), path.suffix.lower()
    digits = len(str(made.count))
    _check_own(folder, suffix)
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        for index, figure in enumerate(made.figures, start=1):
            data = figure_bytes(figure, suffix.removeprefix("."), dpi=made.dpi)
            data = data if made.record is None else carrying(data, suffix, made.record)
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
            empty = must_be("a folder without files other than {name}", name=f"{folder.name}-1{suffix}")
            raise FieldError("output", str(folder), empty)


def _is_frame(file: Path, name: str, suffix: str) -> bool:
    number = file.name.removeprefix(f"{name}-").removesuffix(suffix)
    return number.isdigit() and file.name == f"{name}-{number}{suffix}"


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


# --- pages -----------------------------------------------------------------------------------------


def _pages(made: Made, path: Path) -> Path:
    """A PDF with a page for each picture."""
    from matplotlib.backends.backend_pdf import PdfPages

    from attnviz.figures.fonts import drawing

    stream = io.BytesIO()
    metadata = {"Creator": "attnviz", "Producer": None, "CreationDate": None}
    with drawing(), PdfPages(stream, metadata=metadata) as pages:  # type: ignore[arg-type]
        for figure in made.figures:
            pages.savefig(figure, dpi=made.dpi, facecolor=figure.get_facecolor())
    _write(path, stream.getvalue(), made)
    return path


# --- moving pictures -------------------------------------------------------------------------------


def _gif(made: Made, path: Path) -> Path:
    """A GIF that loops."""
    from PIL import Image

    pictures = _Pictures(made)
    palette = _palette(pictures)  # with one for each picture, colours flicker
    milliseconds = round(1000 / made.fps)
    times = [milliseconds] * (pictures.count - 1) + [HELD * milliseconds]
    first, *others = (one.quantize(palette=palette, dither=Image.Dither.NONE) for one in pictures)
    stream = io.BytesIO()
    first.save(stream, "GIF", save_all=True, append_images=others, duration=times, loop=0, optimize=False)
    _write(path, stream.getvalue(), made)
    return path


def _palette(pictures: _Pictures) -> Image:
    """256 colours for all pictures, chosen from the first, the middle and the last."""
    from PIL import Image

    width, height = pictures.size
    sheet = Image.new("RGB", (width, 3 * height))
    for place, index in enumerate((0, pictures.count // 2, pictures.count - 1)):
        sheet.paste(pictures[index], (0, place * height))
    return sheet.quantize(256)


def _film(made: Made, path: Path) -> Path:
    """An H.264 film that every player and slide program shows."""
    try:
        from imageio_ffmpeg import write_frames
    except ImportError:
        raise InputError(NEEDS_FFMPEG) from None
    pictures = _Pictures(made, even=True)
    settings: dict[str, Any] = {"fps": made.fps, "codec": "libx264", "macro_block_size": 2, "quality": 8}
    settings["output_params"] = ["-movflags", "+faststart", "-metadata", "comment=attnviz"]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "film.mp4"
        writer = write_frames(str(file), pictures.size, ffmpeg_log_level="error", **settings)
        writer.send(None)
        try:
            for one in itertools.chain(pictures, itertools.repeat(pictures[-1], HELD - 1)):
                writer.send(one.tobytes())
        finally:
            writer.close()
        _write(path, file.read_bytes(), made)
    return path


class _Pictures:
    """The pictures in the size of the largest, on their own ground; kept as PNG, which is small."""

    def __init__(self, made: Made, even: bool = False) -> None:
        self._kept = [figure_bytes(figure, "png", dpi=made.dpi) for figure in made.figures]
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


def _write(path: Path, data: bytes, made: Made) -> None:
    suffix = path.suffix.lower()
    replace_file(path, data if made.record is None else carrying(data, suffix, made.record))


OUTPUTS: tuple[Output, ...] = (
    Output(".gif", N_("GIF that loops"), _gif, MOVING_DPI),
    Output(".mp4", N_("MP4 film"), _film, MOVING_DPI),
    Output(".pdf", N_("PDF, a page each"), _pages),
    Output(".png", N_("PNG files in a folder"), _numbered),
    Output(".svg", N_("SVG files in a folder"), _numbered),
)
