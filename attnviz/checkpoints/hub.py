"""Models of the hub: where their downloads are kept, and the download, which happens only on request.

The cache has a folder `models--owner--name` with `refs/main`, which names a folder in `snapshots`
(https://huggingface.co/docs/huggingface_hub/guides/manage-cache).
"""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path

from attnviz.checkpoints.reader import CheckpointError
from attnviz.errors import Message, about, quoted
from attnviz.model.io.regular_file import read_text

NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")
"""A name of the hub: owner/model."""

LONGEST_NAME = 1024
"""Bytes of a file that names a snapshot."""

FILES = (
    "config.json",
    "*.safetensors",
    "*.safetensors.index.json",
    "tokenizer*",
    "vocab*",
    "merges.txt",
    "special_tokens_map.json",
    "added_tokens.json",
    "spiece.model",
    "chat_template*",
)
"""The files of a model that are read; others are not downloaded."""


def cache_folder() -> Path:
    """The folder of all downloads, as the package huggingface_hub chooses it."""
    home = os.environ.get("HF_HOME") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser(), "huggingface"
    )
    return Path(os.environ.get("HF_HUB_CACHE") or os.path.join(home, "hub")).expanduser()


def located(path: str | os.PathLike[str]) -> Path:
    """The path, or the folder of a download that it means: a name of the hub, or the folder of a model in the
    cache.

    Raises `CheckpointError` for a path where nothing is.
    """
    given, name = Path(path), os.fspath(path)
    if name and given.exists():
        return _snapshot(given) if (given / "snapshots").is_dir() else given
    if NAME.fullmatch(name):
        if is_downloaded(name):
            return _snapshot(_download_of(name))
        absent = Message(
            "The cache {folder} must contain the model; got no model of this name.",
            folder=str(cache_folder()),
        )
        raise CheckpointError(about(name, absent))
    missing = Message("The path must be a file or a folder; got neither.")
    raise CheckpointError(about(name or quoted(name), missing))


def is_downloaded(path: str) -> bool:
    """True for a name of the hub whose download is cached."""
    return _is_name(path) and _download_of(path).is_dir()


def is_missing(path: str) -> bool:
    """True for a name of the hub without a download, which `download` could get."""
    return _is_name(path) and not _download_of(path).is_dir()


def _is_name(path: str) -> bool:
    """True for a name of the hub that is no path."""
    return NAME.fullmatch(path) is not None and not Path(path).exists()


def _download_of(name: str) -> Path:
    """The folder of a model in the cache."""
    return cache_folder() / f"models--{name.replace('/', '--')}"


def download(name: str) -> Path:
    """Download a model of the hub into the cache, and return its folder.

    Raises `CheckpointError` without the package huggingface_hub, without a connection, and for an unknown
    name.
    """
    if importlib.util.find_spec("huggingface_hub") is None:
        needed = Message("A download needs the package huggingface_hub (pip install attnviz[models]).")
        raise CheckpointError(about(name, needed))
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=list(FILES)))
    except (OSError, ValueError) as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        failed = Message("The download failed: {reason}", reason=first)
        raise CheckpointError(about(name, failed)) from error


def _snapshot(folder: Path) -> Path:
    """The newest snapshot of a model's folder in the cache: that of `main`, or the only one."""
    shots = folder / "snapshots"
    try:
        named = read_text(folder / "refs" / "main", LONGEST_NAME).strip()
        if named and Path(named).name == named and (shots / named).is_dir():
            return shots / named
    except (OSError, ValueError):
        pass
    snapshots = sorted((one for one in shots.iterdir() if one.is_dir()), key=lambda one: one.stat().st_mtime)
    if not snapshots:
        empty = Message("The folder snapshots must contain the downloaded files; it is empty.")
        raise CheckpointError(about(folder.name, empty))
    return snapshots[-1]
