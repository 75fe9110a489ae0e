"""The folder `packaging`: licences, forms and icon of the built program, which `packaging/check.py` tries."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGING = ROOT / "packaging"


def script(name: str) -> ModuleType:
    """A script of `packaging`."""
    spec = importlib.util.spec_from_file_location(f"packaging_{name}", PACKAGING / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_licences_of_all_packages_lie_in_one_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entries = [
        ("numpy.linalg", "numpy/linalg/__init__.py", "PYMODULE"),
        ("PySide6/QtCore.abi3.so", "PySide6/QtCore.abi3.so", "EXTENSION"),
        ("array_api_compat", "array_api_compat/__init__.py", "PYMODULE"),
        ("attnviz/resources/icons/attnviz.svg", "attnviz.svg", "DATA"),
    ]
    if importlib.util.find_spec("PyInstaller") is None:
        with pytest.MonkeyPatch.context() as patch:
            carried = script("carried")
            own = carried.distribution
            patch.setattr(carried, "distribution", lambda name: own("pip" if name == "pyinstaller" else name))
            papers = carried.papers(entries, tmp_path)
    else:
        papers = script("carried").papers(entries, tmp_path)
    places = [place for place, _file, _kind in papers]
    assert len(set(places)) == len(places) and all(Path(file).is_file() for _place, file, _kind in papers)
    for name in ("numpy", "PySide6_Essentials", "array-api-compat", "Python"):
        assert [place for place in places if place.startswith(f"licences/{name}/")], name
    qt = {
        Path(file).name for place, file, _kind in papers if place.startswith("licences/PySide6_Essentials/")
    }
    assert qt == {"LGPL-3.0-only.txt", "GPL-3.0-only.txt"}  # the wheel has none
    assert f"numpy-{version('numpy')}.dist-info/METADATA" in places
    (listed,) = (Path(file) for place, file, _kind in papers if place == "licences/README.txt")
    assert f"PySide6_Essentials {version('PySide6-Essentials')}: LGPL-3.0-only OR" in listed.read_text(
        "utf-8"
    )
    assert capsys.readouterr().err == ""


def test_a_package_without_a_text_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    carried = script("carried")
    carried.TEXTS = tmp_path
    carried._distributions = lambda entries: [carried.distribution("array-api-compat")]
    carried.papers([], tmp_path)
    assert re.fullmatch(r"no text of a licence: array-api-compat \S+: MIT\n", capsys.readouterr().err)


def folder(tmp_path: Path) -> Path:
    built = tmp_path / "attnviz"
    built.mkdir()
    (built / "attnviz").write_text("#!/bin/sh\n")
    (built / "attnviz").chmod(0o755)
    return built


def test_the_folder_is_packed_without_the_names_of_who_built_it(tmp_path: Path) -> None:
    file = script("build").packed(folder(tmp_path), tmp_path / "a.tar.xz")
    with tarfile.open(file) as archive:
        entry = archive.getmember("attnviz/attnviz")
        assert (entry.uid, entry.gid, entry.uname, entry.gname) == (0, 0, "", "")
        assert entry.mode & 0o111
    assert file.read_bytes()[:6] == b"\xfd7zXZ\0"


@pytest.mark.skipif(os.name != "posix", reason="a script as the tool")
def test_an_image_is_made_of_the_folder_its_desktop_entry_and_its_icon(tmp_path: Path) -> None:
    tool = tmp_path / "appimagetool"
    tool.write_text(
        '#!/bin/sh\n(cd "$1" && ls && readlink AppRun && cat attnviz.desktop) > "$2"\necho "$ARCH" >> "$2"\n'
    )
    tool.chmod(0o755)
    image = script("build").image(folder(tmp_path), tmp_path / "attnviz.AppImage", str(tool))
    told = image.read_text("utf-8").splitlines()
    assert told[:5] == ["AppRun", "attnviz", "attnviz.desktop", "attnviz.svg", "attnviz"]
    assert "Exec=attnviz %f" in told and "Icon=attnviz" in told and told[-1]


def test_the_icon_is_drawn(tmp_path: Path, qapp: object) -> None:
    from PySide6.QtGui import QImage

    script("build").draw_icon(tmp_path / "icon.png")
    icon = QImage(str(tmp_path / "icon.png"))
    assert icon.width() == icon.height() == 512
    assert icon.pixelColor(256, 256).alpha() == 255 and icon.pixelColor(0, 0).alpha() == 0


def test_the_page_names_what_is_left_out_and_every_file() -> None:
    spec = (PACKAGING / "attnviz.spec").read_text("utf-8")
    page = (PACKAGING / "README.md").read_text("utf-8")
    for word, module in {"Torch": "torch", "numba": "numba", "Dask": "dask", "hf_xet": "hf_xet"}.items():
        assert word in page and f'"{module}"' in spec
    assert {path.name for path in PACKAGING.glob("*.*")} <= set(re.findall(r"`([\w.]+)`", page)) | {
        "README.md"
    }


def test_the_help_of_the_scripts_is_one_sentence_about_them() -> None:
    for name in ("build", "check"):
        done = subprocess.run(
            [sys.executable, PACKAGING / f"{name}.py", "--help"], capture_output=True, text=True
        )
        assert done.returncode == 0 and "DIR" in done.stdout, done.stderr
