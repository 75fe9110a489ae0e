"""`ENGINES`: the engines there are, what each can do, and why one is not available."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from attnviz.engines.engine import Engine
from attnviz.engines.numpy_engine import NUMPY_DTYPES, ForEach, NumpyEngine
from attnviz.engines.torch_engine import (
    TORCH_DEVICES,
    TORCH_DTYPES,
    TorchEngine,
    is_torch_device,
    torch_status,
)


@dataclass(frozen=True)
class EngineKind:
    """One engine: its id and label, the dtypes and devices it takes.

    `unavailable()` says in one sentence why the engine cannot be used, "" where it can; it answers at
    once, without importing anything large. `make(dtype, device, for_each)` makes one; `for_each` spreads
    blocks over threads, for engines that leave this to the caller.
    """

    id: str
    label: str
    dtypes: tuple[str, ...]
    devices: tuple[str, ...]
    unavailable: Callable[[], str]
    is_device: Callable[[str], bool]
    make: Callable[[str, str, ForEach], Engine]


def _always_there() -> str:
    return ""


def _numpy(dtype: str, device: str, for_each: ForEach) -> Engine:
    return NumpyEngine(dtype, for_each, _CONSTANTS[dtype])


def _torch(dtype: str, device: str, for_each: ForEach) -> Engine:
    return TorchEngine(dtype, device)


_CONSTANTS = {dtype: NumpyEngine(dtype).constants for dtype in NUMPY_DTYPES}
"""One drag makes many engines; they convert the document's matrices once."""

_CPU = ("auto", "cpu")

ENGINES: tuple[EngineKind, ...] = (
    EngineKind("numpy", "NumPy", NUMPY_DTYPES, _CPU, _always_there, _CPU.__contains__, _numpy),
    EngineKind("torch", "Torch", TORCH_DTYPES, TORCH_DEVICES, torch_status, is_torch_device, _torch),
)

ENGINE_BY_ID = {kind.id: kind for kind in ENGINES}
