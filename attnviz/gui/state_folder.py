"""The folder in which the program keeps what it notes of its own accord."""

from __future__ import annotations

from pathlib import Path

import platformdirs


def state_folder() -> Path:
    """The user's folder for the state of this program; it may not exist yet."""
    return Path(platformdirs.user_state_dir("attnviz", appauthor=False))
