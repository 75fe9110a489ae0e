"""A stand-in for a GPU: Torch computes on the machine, and refuses what it refuses on a GPU."""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map_only

from attnviz.engines import on_device, torch_engine

DEVICE = "cpu:0"
"""Torch has this device everywhere; to the engine it is not the machine, which is `cpu`."""

TAKE_BOTH = ("copy_", "__setitem__", "__getitem__")
"""Operations between the machine and a GPU: copies, and indices."""


class OnGpu(torch.Tensor):
    """A tensor of the device."""

    __torch_function__: Any = torch._C._disabled_torch_function_impl


class Gpu(TorchFunctionMode):
    """Tensors that are made for the device, or from its tensors, are `OnGpu` in this context.

    Raises `TypeError` where one becomes a NumPy array without `cpu()`, and `RuntimeError` where one meets a
    tensor of the machine that is not a single number.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs, name = kwargs or {}, func.__name__
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        is_here = any(isinstance(tensor, OnGpu) for tensor in tensors)
        if is_here and name in ("numpy", "__array__"):
            raise TypeError("can't convert a tensor of a device to numpy; use Tensor.cpu()")
        others = [tensor for tensor in tensors if not isinstance(tensor, OnGpu) and tensor.ndim]
        if is_here and others and name not in TAKE_BOTH:
            raise RuntimeError(f"Expected all tensors on the same device, but found two of them in {name}")
        made = func(*args, **kwargs)
        if name == "cpu":
            return made.as_subclass(torch.Tensor)
        if is_here or kwargs.get("device") == DEVICE:
            return tree_map_only(torch.Tensor, lambda tensor: tensor.as_subclass(OnGpu), made)
        return made


class Memory:
    """The memory of the device: `size` bytes, of which a run may take all that matrices do not."""

    size = 2**30

    @property
    def kept(self) -> on_device.OnDevice:
        """The matrices on the device."""
        return on_device._BY_DEVICE[DEVICE]

    def free(self) -> int:
        """Bytes that matrices do not take."""
        return self.size - self.kept.nbytes


def stand_in(monkeypatch: Any) -> Memory:
    """Replace every device of Torch by this one until the end of the test."""
    memory = Memory()
    monkeypatch.setattr(on_device, "_BY_DEVICE", {})
    monkeypatch.setattr(torch_engine, "_find_device", lambda torch, device: DEVICE)
    monkeypatch.setattr(torch_engine.TorchEngine, "_free", lambda engine: memory.free())
    monkeypatch.setattr(torch_engine.TorchEngine, "synchronise", lambda engine: None)
    return memory
