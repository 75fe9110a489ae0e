"""Build attnviz for people without Python: `python packaging/build.py --out DIR`.

DIR then holds the folder `attnviz` with the program of the same name, the same as a .tar.xz, and, where
appimagetool is installed, as an AppImage. Needs `python -m pip install '.[package]'`.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from attnviz import resources
from attnviz.version import __version__

HERE = Path(__file__).resolve().parent
NAME = f"attnviz-{__version__}-{platform.system().lower()}-{platform.machine().lower()}"
ICON_PIXELS = 512


def main() -> int:
    """Build all forms, and print their sizes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of the results")
    out = parser.parse_args().out.resolve()
    work = out / "work"
    work.mkdir(parents=True, exist_ok=True)
    draw_icon(work / "attnviz.png")
    command = [sys.executable, "-m", "PyInstaller", "--noconfirm", "--log-level", "WARN"]
    command += ["--distpath", str(out), "--workpath", str(work), str(HERE / "attnviz.spec")]
    subprocess.run(command, check=True, env={**os.environ, "PYINSTALLER_CONFIG_DIR": str(work / "cache")})
    built = [out / ("attnviz.app" if sys.platform == "darwin" else "attnviz")]
    built.append(packed(built[0], out / f"{NAME}.tar.xz"))
    if (tool := shutil.which("appimagetool")) is not None:
        built.append(image(built[0], out / f"{NAME}.AppImage", tool))
    elif sys.platform == "linux":
        print("no AppImage: appimagetool is not installed")
    for one in built:
        print(f"{size(one) / 1e6:.0f} MB {one}")
    return 0


def draw_icon(file: Path) -> None:
    """The icon of the program as PNG, of which PyInstaller makes those of Windows and macOS."""
    from PySide6.QtGui import QImage, QPainter
    from PySide6.QtSvg import QSvgRenderer

    picture = QImage(ICON_PIXELS, ICON_PIXELS, QImage.Format.Format_ARGB32)
    picture.fill(0)
    painter = QPainter(picture)
    QSvgRenderer(str(resources.path("icons", "attnviz.svg"))).render(painter)
    painter.end()
    picture.save(str(file))


def packed(folder: Path, file: Path) -> Path:
    """The folder in one compressed file, without the names of who built it."""

    def nobody(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        return entry

    with tarfile.open(file, "w:xz") as archive:
        archive.add(folder, folder.name, filter=nobody)
    return file


def image(folder: Path, file: Path, tool: str) -> Path:
    """The folder as an AppImage: one file that starts by a double click."""
    app = folder.parent / "work" / "AppDir"
    shutil.rmtree(app, ignore_errors=True)
    shutil.copytree(folder, app, symlinks=True)
    (app / "AppRun").symlink_to("attnviz")
    entry = resources.path("desktop", "attnviz.desktop").read_text(encoding="utf-8")
    (app / "attnviz.desktop").write_text(entry.replace("Exec=attnviz-gui", "Exec=attnviz"), encoding="utf-8")
    shutil.copy(resources.path("icons", "attnviz.svg"), app / "attnviz.svg")
    subprocess.run([tool, str(app), str(file)], check=True, env={**os.environ, "ARCH": platform.machine()})
    return file


def size(path: Path) -> int:
    """Bytes of a file, or of all files in a folder, each once."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file() and not file.is_symlink())


if __name__ == "__main__":
    sys.exit(main())
