"""The one place where the version is written; the build and `attnviz.__version__` read it."""

from __future__ import annotations

__version__ = "0.3.0"
