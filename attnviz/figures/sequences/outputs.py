"""`OUTPUTS`: the kinds of files that hold a sequence."""

from __future__ import annotations

import io
import itertools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
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
class Drawn:
    """The pictures of a sequence, drawn one after the other, and how they are written.

    `is_shown`: also as PNG, where the file has none.
    """

    figures: Iterator[Figure]
    fps: float
    dpi: int
    is_shown: bool = False


@dataclass(frozen=True)
class Files:
    """The content of the one file, or of each numbered file; and the pictures as PNG, where they exist."""

    contents: tuple[bytes, ...]
    pictures: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class Output:
    """One kind of file: its suffix, its title, the function that makes its content, and its usual dpi.

    `in_folder`: each picture is a file.
    """

    suffix: str
    title: str
    make: Callable[[Drawn], Files]
    dpi: int = DPI
    in_folder: bool = False

    def files(self, drawn: Drawn, record: Record | None = None) -> Files:
        """The files, each of which carries `record`."""
        made = self.make(drawn)
        if record is None:
            return made
        return replace(made, contents=tuple(carrying(data, self.suffix, record) for data in made.contents))

    def write(self, files: Files, path: Path) -> Path:
        """Write the file, or the folder of files, completely or not at all; returns it."""
        if self.in_folder:
            return _write_folder(files.contents, path)
        replace_file(path, files.contents[0])
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
    raise InputError(about(name.name, suffix_error(name.suffix, [row.suffix for row in OUTPUTS]).message))


# --- numbered files --------------------------------------------------------------------------------


def _numbered(drawn: Drawn, format_id: str) -> Files:
    """Each picture as a file."""
    shown: list[bytes] = []
    made = tuple(figure_bytes(figure, format_id, dpi=drawn.dpi) for figure in _seen(drawn, shown, format_id))
    return Files(made, made if format_id == "png" else tuple(shown))


def _seen(drawn: Drawn, shown: list[bytes], format_id: str) -> Iterator[Figure]:
    """The pictures, of which each is also drawn as pixels where that is wanted and the file has none."""
    for figure in drawn.figures:
        if drawn.is_shown and format_id != "png":
            shown.append(figure_bytes(figure, "png", dpi=MOVING_DPI))
        yield figure


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


def _pages(drawn: Drawn) -> Files:
    """A PDF with a page for each picture."""
    from matplotlib.backends.backend_pdf import PdfPages

    from attnviz.figures.fonts import drawing

    stream, shown = io.BytesIO(), list[bytes]()
    metadata = {"Creator": "attnviz", "Producer": None, "CreationDate": None}
    with drawing(), PdfPages(stream, metadata=metadata) as pages:  # type: ignore[arg-type]
        for figure in _seen(drawn, shown, "pdf"):
            pages.savefig(figure, dpi=drawn.dpi, facecolor=figure.get_facecolor())
    return Files((stream.getvalue(),), tuple(shown))


# --- moving pictures -------------------------------------------------------------------------------


def _gif(drawn: Drawn) -> Files:
    """A GIF that loops."""
    from PIL import Image

    pictures = _Pictures(drawn)
    palette = _palette(pictures)  # with one for each picture, colours flicker
    milliseconds = round(1000 / drawn.fps)
    times = [milliseconds] * (pictures.count - 1) + [HELD * milliseconds]
    first, *others = (one.quantize(palette=palette, dither=Image.Dither.NONE) for one in pictures)
    stream = io.BytesIO()
    first.save(stream, "GIF", save_all=True, append_images=others, duration=times, loop=0, optimize=False)
    return Files((stream.getvalue(),), pictures.kept)


def _palette(pictures: _Pictures) -> Image:
    """256 colours for all pictures, chosen from the first, the middle and the last."""
    from PIL import Image

    width, height = pictures.size
    sheet = Image.new("RGB", (width, 3 * height))
    for place, index in enumerate((0, pictures.count // 2, pictures.count - 1)):
        sheet.paste(pictures[index], (0, place * height))
    return sheet.quantize(256)


def _film(drawn: Drawn) -> Files:
    """An H.264 film that every player and slide program shows."""
    try:
        from imageio_ffmpeg import write_frames
    except ImportError:
        raise InputError(NEEDS_FFMPEG) from None
    pictures = _Pictures(drawn, even=True)
    settings: dict[str, Any] = {"fps": drawn.fps, "codec": "libx264", "macro_block_size": 2, "quality": 8}
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
        return Files((file.read_bytes(),), pictures.kept)


class _Pictures:
    """The pictures in the size of the largest, on their own ground; kept as PNG, which is small."""

    def __init__(self, drawn: Drawn, even: bool = False) -> None:
        self.kept = tuple(figure_bytes(figure, "png", dpi=drawn.dpi) for figure in drawn.figures)
        self.count = len(self.kept)
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

        return Image.open(io.BytesIO(self.kept[index]))


OUTPUTS: tuple[Output, ...] = (
    Output(".gif", N_("GIF that loops"), _gif, MOVING_DPI),
    Output(".mp4", N_("MP4 film"), _film, MOVING_DPI),
    Output(".pdf", N_("PDF, a page each"), _pages),
    Output(".png", N_("PNG files in a folder"), partial(_numbered, format_id="png"), in_folder=True),
    Output(".svg", N_("SVG files in a folder"), partial(_numbered, format_id="svg"), in_folder=True),
)
