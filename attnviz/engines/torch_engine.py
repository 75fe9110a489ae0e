"""The Torch engine: the same program on PyTorch, on the CPU or on a CUDA device.

This is the only file that imports torch, and only once an engine is made: the import takes seconds.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.special import Special
from attnviz.engines.constants import Constants
from attnviz.engines.engine import DeviceLost, EngineError, ThreadSetter, Unwarned, Workers, one_by_one
from attnviz.engines.on_device import OnDevice, on_device
from attnviz.errors import FieldError, Message, among

TORCH_DTYPES = ("float16", "bfloat16", "float32", "float64")
TORCH_DEVICES = ("auto", "cpu", "cuda")
"""Supported devices; `cuda:N` names one of several CUDA devices. "auto" is CUDA if available."""

CUDA_CELLS = 1 << 24
"""Scores done at a time. Large enough to fill a GPU; temporaries stay within some hundred megabytes."""

CPU_BYTES = 512 * 1024
"""Size of the scores that are done at a time on the CPU, where they stay in a core's second-level cache."""

CPU_ROWS = 256
"""Rows of a product with a weight matrix that are worth handing over to another thread."""

SHARED_FROM = 2**12
"""Numbers of a constant from which on Torch reads them where NumPy has them, on the CPU."""

ALONE = Workers()

_CUDA_TROUBLE = re.compile(r"cuda|cublas|cudnn|nvrtc|nvidia", re.IGNORECASE)
_NO_MEMORY = re.compile(r"out of memory|can't allocate memory|not enough memory", re.IGNORECASE)

_import_failure: Message | None = None
_NOT_INSTALLED = Message("PyTorch is not installed; “pip install torch” adds it")


def torch_status() -> str:
    """Why Torch cannot be used, as one sentence, or "" if no fault is known.

    Does not import torch, so it answers at once. An installed package that fails to import is known as such
    after the first attempt.
    """
    failure = _failure()
    return "" if failure is None else failure.text()


def _failure() -> Message | None:
    if "torch" in sys.modules:
        return _import_failure
    try:
        found = importlib.util.find_spec("torch") is not None
    except (ImportError, ValueError):
        found = False
    return _import_failure if found else _NOT_INSTALLED


def load_torch() -> Any:
    """The torch module. Raises `EngineError` with the reason where it cannot be imported."""
    global _import_failure
    if _failure() is _NOT_INSTALLED:
        raise EngineError(_NOT_INSTALLED)
    try:
        torch = importlib.import_module("torch")
    except Exception as error:  # a broken installation raises anything: OSError for a missing library, ...
        _import_failure = Message("PyTorch failed to import: {reason}", reason=_first_line(error))
        raise EngineError(_import_failure) from error
    _import_failure = None
    return torch


class TorchEngine:
    """Computes with Torch in float16, bfloat16, float32 or float64 on one device.

    `device` is "auto" (CUDA if available), "cpu", "cuda" or "cuda:N". Float32 products stay in float32 unless
    `allow_tf32`. Arrays stay on the device; windows are transferred. `workers` may spread blocks over threads
    if the device is the CPU; `constants` are those of an earlier engine of the same dtype and device. Raises
    `ValueError` for an unsupported dtype or device and `EngineError` if Torch or the device is missing.
    """

    name = "torch"

    def __init__(
        self,
        dtype: str = "float32",
        device: str = "auto",
        allow_tf32: bool = False,
        workers: Workers = ALONE,
        constants: Constants | None = None,
    ) -> None:
        if dtype not in TORCH_DTYPES:
            raise FieldError("dtype", dtype, among(TORCH_DTYPES, on="Torch"))
        if not is_torch_device(device):
            raise FieldError("device", device, among((*TORCH_DEVICES, "cuda:N"), on="Torch"))
        self._torch = torch = load_torch()
        self.xp: Any = importlib.import_module("array_api_compat.torch")
        self.dtype = dtype
        setter: ThreadSetter = torch.get_num_threads, torch.set_num_threads
        self._one_thread = workers.alone((setter,))
        self._for_each = workers.for_each
        self.special: Special = TorchSpecial(torch)
        self.device = _find_device(torch, device)
        self._dtype = getattr(torch, dtype)
        is_cpu = self.device == "cpu"
        self.on_device: OnDevice | None = None if is_cpu else on_device(self.device, self._free)
        self.block_cells: int | None = CPU_BYTES // self._dtype.itemsize if is_cpu else CUDA_CELLS
        self.block_rows: int | None = CPU_ROWS if is_cpu else None
        self.spares_keys = is_cpu  # on a GPU, reading the masks takes longer than the product
        # torch rounds shorter ones, once, from the document's numbers.
        self._copied_in = np.dtype(dtype) if dtype in ("float32", "float64") else None
        self.constants = constants or Constants(self._converted)
        self._masks = Constants(lambda where: torch.tensor(where, device=self.device))
        self._precision = "high" if allow_tf32 else "highest"

    @contextmanager
    def active(self) -> Iterator[None]:
        torch = self._torch
        before = torch.get_float32_matmul_precision()
        if before != self._precision:
            torch.set_float32_matmul_precision(self._precision)
        try:
            with torch.inference_mode(), Unwarned(self._one_thread):
                yield
        except RuntimeError as error:
            failure = self._failure(error)
            if failure is None:
                raise
            raise failure from error
        finally:
            if before != self._precision:
                torch.set_float32_matmul_precision(before)

    def asarray(self, values: NDArray[Any]) -> Any:
        if self.shares(values):
            return self._torch.from_numpy(np.asarray(_Writable(values)))
        return self.constants(values)

    def shares(self, values: NDArray[Any]) -> bool:
        """True for a large constant, which Torch can read where it lies."""
        is_alike = self._copied_in is not None and values.dtype == self._copied_in
        is_here = self.device == "cpu" and is_alike and values.size >= SHARED_FROM
        return is_here and not values.flags.writeable and min(values.strides) > 0

    def _converted(self, values: NDArray[Any]) -> Any:
        # A copy, as torch warns of arrays that must not change; torch.tensor takes thrice as long for it.
        copied = self._torch.from_numpy(np.array(values, dtype=self._copied_in))
        return copied.to(device=self.device, dtype=self._dtype)

    def to_numpy(self, array: Any) -> NDArray[Any]:
        if array.dtype == self._torch.bfloat16:
            array = array.to(self._torch.float32)
        result: NDArray[Any] = array.detach().cpu().numpy()
        return result

    def empty(self, shape: tuple[int, ...]) -> Any:
        return self._torch.empty(shape, dtype=self._dtype, device=self.device)

    def zeros(self, shape: tuple[int, ...]) -> Any:
        if self.device != "cpu" or self._copied_in is None:
            return self._torch.zeros(shape, dtype=self._dtype, device=self.device)
        # Pages that nobody writes to are never fetched; torch's own zeros are all written.
        return self._torch.from_numpy(np.zeros(shape, dtype=self._copied_in))

    def workspace(self, part: Any) -> Any:
        return part if part.is_contiguous() else self.empty(part.shape)

    def matmul(self, a: Any, b: Any) -> Any:
        return a.mm(b)

    def matmul_into(self, out: Any, a: Any, b: Any) -> None:
        if a.ndim == b.ndim:
            self._torch.matmul(a, b, out=out)
        elif a.shape[2] == 1:
            # One query: the heads of a group are the rows of one product. Torch copies b for each of them.
            self._torch.bmm(a.squeeze(2), b, out=out.squeeze(2))
        elif a.shape[1] == 1:
            self._torch.bmm(a.squeeze(1), b, out=out.squeeze(1))
        else:
            self._torch.matmul(a, b.unsqueeze(1), out=out)

    def score_bound(self, q: Any, k: Any) -> float:
        return math.inf  # torch's softmax reads the scores once, whatever is known about them

    def softmax_(self, scores: Any, is_bounded: bool = False) -> None:
        # Writes where it reads: each row is read to its end before its first result is stored.
        self._torch.softmax(scores, dim=-1, out=scores)

    def fill_(self, array: Any, where: NDArray[np.bool_], value: float) -> None:
        array.masked_fill_(self._masks(where), value)

    def multiply_(self, array: Any, factors: NDArray[Any]) -> None:
        array.mul_(self.asarray(factors))

    def add_rows_(self, array: Any, rows: NDArray[np.int64], numbers: Any) -> None:
        array.index_add_(0, self._torch.as_tensor(rows, device=self.device), numbers)

    def for_each(self, function: Callable[[Any], None], items: Iterable[Any]) -> None:
        if self.device != "cpu":
            one_by_one(function, items)
            return
        inference_mode = self._torch.inference_mode

        def in_any_thread(item: Any) -> None:
            with inference_mode():  # a setting of each thread
                function(item)

        self._for_each(in_any_thread, items)

    def synchronise(self) -> None:
        if self.device != "cpu":
            self._torch.cuda.synchronize(self.device)

    def _free(self) -> int:
        """Bytes of the device that a run can take: those of nobody, and those that Torch holds unused."""
        cuda = self._torch.cuda
        unused: int = cuda.memory_reserved(self.device) - cuda.memory_allocated(self.device)
        free: int = cuda.mem_get_info(self.device)[0]
        return free + unused

    def _failure(self, error: RuntimeError) -> EngineError | None:
        """The error for a failure of the device; None for every other error."""
        torch = self._torch
        if isinstance(error, EngineError):
            return None
        text = _first_line(error)
        if isinstance(error, torch.OutOfMemoryError) or _NO_MEMORY.search(text):
            if self.device != "cpu":
                with contextlib.suppress(RuntimeError):
                    torch.cuda.empty_cache()
            return EngineError(
                Message("The device {device} must have free memory; got none.", device=self.device)
            )
        lost = isinstance(error, getattr(torch, "AcceleratorError", ()))
        if self.device != "cpu" and (lost or _CUDA_TROUBLE.search(text)):
            return DeviceLost(Message("{device} failed: {reason}", device=self.device, reason=text))
        return None


class _Writable:
    """The memory of an array that must not change, as Torch takes it without a warning.

    No step writes to its operands; the NumPy engine shares the same arrays and could not.
    """

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array  # kept alive by whoever has the interface
        interface = dict(array.__array_interface__)
        interface["data"] = (interface["data"][0], False)
        self.__array_interface__ = interface


class TorchSpecial:
    """The functions of `attnviz.core.special` for tensors, in their shape and dtype."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch

    def erf(self, x: Any) -> Any:
        return self._torch.erf(x)

    def sigmoid(self, z: Any) -> Any:
        return self._torch.sigmoid(z)

    def at_least(self, x: Any, least: float) -> Any:
        return self._torch.clamp(x, min=least)


def is_torch_device(device: str) -> bool:
    """True if `device` is the name of a device: auto, cpu, cuda or cuda:N."""
    return device in TORCH_DEVICES or re.fullmatch(r"cuda:\d+", device) is not None


def _find_device(torch: Any, device: str) -> str:
    """The device that is meant. Raises `EngineError` for a CUDA device that is not there."""
    if device == "cpu":
        return device
    if not torch.cuda.is_available():
        if device == "auto":
            return "cpu"
        raise EngineError(Message("The device must be a CUDA device; got none."))
    number = int(device.partition(":")[2] or 0)
    count = torch.cuda.device_count()
    if number >= count:
        message = Message(
            "The CUDA device must be one of {count}, counted from 0; got {number}.",
            count=count,
            number=number,
        )
        raise EngineError(message)
    return f"cuda:{number}"


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
