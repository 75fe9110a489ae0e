"""Location of the files under `resources/`: in the installed package, else beside it in a source checkout.

A wheel contains the folder as `attnviz/resources`; an editable install reads the one at the top of the
checkout. Standard library only, so that every layer may ask.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_ROOTS = (_PACKAGE / "resources", _PACKAGE.parent / "resources")

FONT_SANS = "Attnviz Sans"
"""Family of the shipped interface font, from Inter (regular and semi-bold; Latin, Greek, mathematics)."""

FONT_MONO = "Attnviz Mono"
"""Family of the shipped font for numbers, from JetBrains Mono: all characters have equal widths."""

FONT_CHINESE = "Attnviz Sans SC"
"""Family of the shipped Chinese font, the last fallback on the screen and in figures."""

_FONT_FILES = (
    "AttnvizSans-Regular.ttf",
    "AttnvizSans-SemiBold.ttf",
    "AttnvizMono-Regular.ttf",
    "AttnvizSansSC-Regular.ttf",
)


def root() -> Path:
    """The folder that holds presets, icons, fonts and catalogues.

    Raises:
        FileNotFoundError: neither place exists; the message names both.
    """
    for folder in _ROOTS:
        if folder.is_dir():
            return folder
    places = " nor ".join(str(folder) for folder in _ROOTS)
    raise FileNotFoundError(f"attnviz is installed without its resources: neither {places} exists")


def path(*parts: str) -> Path:
    """The file or folder `parts` under `root()`, e.g. `path("presets", "toy-attention.json")`.

    Raises:
        FileNotFoundError: the file or folder does not exist.
    """
    file = root().joinpath(*parts)
    if not file.exists():
        raise FileNotFoundError(f"attnviz has no resource {'/'.join(parts)} in {root()}")
    return file


def font_files() -> tuple[Path, ...]:
    """The shipped TrueType files, in the order in which the screen and figures fall back."""
    return tuple(path("fonts", name) for name in _FONT_FILES)
