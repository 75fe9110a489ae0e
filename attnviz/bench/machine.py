"""The machine of the measurement."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from typing import Any

from threadpoolctl import threadpool_info

from attnviz.compute.threads import available_cores
from attnviz.version import __version__

PACKAGES = ("numpy", "torch", "transformers", "PySide6-Essentials", "pyqtgraph")


def machine() -> dict[str, Any]:
    """System, interpreter, packages, cores, BLAS and its threads, and the load of the machine."""
    blas = [
        {key: library.get(key) for key in ("internal_api", "version", "num_threads", "architecture")}
        for library in threadpool_info()
        if library["user_api"] == "blas"
    ]
    return {
        "system": platform.platform(),
        "processor": platform.machine(),
        "cores": available_cores(),
        "load": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "attnviz": __version__,
        "packages": {name: _version(name) for name in PACKAGES},
        "blas": blas,
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
