"""The metadata and the licences of all that the program carries, for its folder `licences`."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distribution, packages_distributions
from pathlib import Path

Entry = tuple[str, str, str]
"""Of PyInstaller: the place in the folder, the file, the kind."""

TEXTS = Path(__file__).with_name("licences")
"""Texts of licences that packages name in their metadata and do not bring."""

PAPER = re.compile(r"\.dist-info/(.*/)?[^/]*(licen[cs]e|copying|notice|authors)[^/]*(/|$)", re.IGNORECASE)

HEAD = """Licences of what attnviz carries

The folder of each name holds the texts. attnviz itself is under the MIT licence, its fonts under the
SIL Open Font License.

Qt, PySide6 and Shiboken are used under the LGPL, version 3, as shared libraries that can be replaced by
others, in the folder PySide6. Their source: https://download.qt.io/official_releases/. The licences of what
they contain: https://doc.qt.io/qt-6/licenses-used-in-qt.html.

"""


def papers(entries: Iterable[Entry], work: Path) -> list[Entry]:
    """The metadata of each carried package, the texts of all licences, and `licences/README.txt`, their list.

    Prints the names of those whose text this machine does not have.
    """
    entries = list(entries)
    texts: dict[str, list[Path]] = {}
    metadata: list[Entry] = []
    for one in _distributions(entries):
        licence = _licence(one)
        own = [Path(str(one.locate_file(file))) for file in one.files or () if PAPER.search(file.as_posix())]
        texts[f"{one.name} {one.version}: {licence}"] = own or _shipped(one, licence)
        (table,) = (file for file in one.files or () if file.as_posix().endswith(".dist-info/METADATA"))
        metadata.append((table.as_posix(), str(one.locate_file(table)), "DATA"))
    texts[f"Python {sys.version.split()[0]}: PSF-2.0"] = _of_python()
    for package, file in _of_system(entries):
        texts[f"{package}: a library of the system"] = [file]
    page = work / "licences.txt"
    page.write_text(HEAD + "".join(f"{line}\n" for line in texts), encoding="utf-8")
    for line in (line for line, files in texts.items() if not files):
        print(f"no text of a licence: {line}", file=sys.stderr)
    return [
        *metadata,
        ("licences/README.txt", str(page), "DATA"),
        *(
            (f"licences/{re.split('[ :]', line)[0]}/{index}-{file.name}", str(file), "DATA")
            for line, files in texts.items()
            for index, file in enumerate(files, 1)
        ),
    ]


def _distributions(entries: list[Entry]) -> list[Distribution]:
    """The installed packages of which a file is carried, and PyInstaller, which brings the start."""
    owners = packages_distributions()
    tops = {re.split(r"[./\\]", place)[0] for place, _file, _kind in entries}
    names = {owner for top in tops for owner in owners.get(top, ())} | {"pyinstaller"}
    found = {one.name: one for one in map(distribution, names)}
    return [found[name] for name in sorted(found, key=str.lower)]


def _licence(one: Distribution) -> str:
    """The licence that a package names: an expression of SPDX, a line of its own, or classifiers."""
    line = (one.metadata.get("License") or "").strip()
    classes = [
        name.rpartition(" :: ")[2]
        for name in one.metadata.get_all("Classifier") or ()
        if "License ::" in name
    ]
    return one.metadata.get("License-Expression") or (
        line if line and "\n" not in line else ", ".join(classes)
    )


def _shipped(one: Distribution, licence: str) -> list[Path]:
    """The files in `TEXTS` of a package that brings no text; the LGPL adds to the text of the GPL."""
    names = [one.name, *(["LGPL-3.0-only", "GPL-3.0-only"] if "LGPL-3.0-only" in licence else [licence])]
    return [file for name in names if (file := TEXTS / f"{name}.txt").is_file()]


def _of_python() -> list[Path]:
    places = (Path(sysconfig.get_path("stdlib")), Path(sys.base_prefix))
    return [file for place in places if (file := place / "LICENSE.txt").is_file()][:1]


def _of_system(entries: list[Entry]) -> Iterator[tuple[str, Path]]:
    """The packages of Debian that own a carried library, with their file of copyrights."""
    if shutil.which("dpkg") is None:
        return
    own = (sys.prefix, sys.base_prefix)
    libraries = {
        str(Path(file).resolve())
        for _place, file, kind in entries
        if kind == "BINARY" and not file.startswith(own)
    }
    # dpkg knows a library of /lib by this name or by that of /usr/lib.
    both = [name for file in libraries for name in (file, file.removeprefix("/usr"))]
    done = subprocess.run(["dpkg", "-S", *both], capture_output=True, text=True)
    for package in sorted({line.partition(":")[0] for line in done.stdout.splitlines()}):
        file = Path("/usr/share/doc", package, "copyright")
        if file.is_file():
            yield package, file
