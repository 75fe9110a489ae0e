"""`ENGINES`: the engines, their capabilities, and why one is not available."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from attnviz.engines.constants import Constants
from attnviz.engines.engine import Engine, Workers
from attnviz.engines.numpy_engine import NUMPY_DTYPES, NumpyEngine
from attnviz.engines.torch_engine import (
    TORCH_DEVICES,
    TORCH_DTYPES,
    TorchEngine,
    is_torch_device,
    torch_status,
)
from attnviz.i18n import _


@dataclass(frozen=True)
class EngineKind:
    """One engine: its id and label, the dtypes and devices it takes.

    `unavailable()` says in one sentence why the engine cannot be used, "" where it can; it answers at
    once, without importing anything large. `make(dtype, device, workers)` makes one; `workers` do
    its blocks.
    """

    id: str
    label: str
    dtypes: tuple[str, ...]
    devices: tuple[str, ...]
    unavailable: Callable[[], str]
    is_device: Callable[[str], bool]
    make: Callable[[str, str, Workers], Engine]

    def why_not(self, dtype: str) -> str:
        """Why the engine cannot compute in a dtype, "" where it can."""
        if dtype in self.dtypes:
            return ""
        return _("{engine} supports {dtypes}").format(engine=self.label, dtypes=", ".join(self.dtypes))


def _always_there() -> str:
    return ""


def _numpy(dtype: str, device: str, workers: Workers) -> Engine:
    return NumpyEngine(dtype, workers.for_each, _CONSTANTS[dtype], workers.alone)


def _torch(dtype: str, device: str, workers: Workers) -> Engine:
    made = TorchEngine(dtype, device, workers=workers, constants=_ON_DEVICE.get((dtype, device)))
    _ON_DEVICE.setdefault((dtype, device), made.constants)
    return made


_CONSTANTS = {dtype: NumpyEngine(dtype).constants for dtype in NUMPY_DTYPES}
"""One drag makes many engines; they convert the document's matrices once."""

_ON_DEVICE: dict[tuple[str, str], Constants] = {}
"""The same of Torch, by dtype and device."""

_CPU = ("auto", "cpu")

ENGINES: tuple[EngineKind, ...] = (
    EngineKind("numpy", "NumPy", NUMPY_DTYPES, _CPU, _always_there, _CPU.__contains__, _numpy),
    EngineKind("torch", "Torch", TORCH_DTYPES, TORCH_DEVICES, torch_status, is_torch_device, _torch),
)

ENGINE_BY_ID = {kind.id: kind for kind in ENGINES}
