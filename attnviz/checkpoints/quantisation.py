"""Quantised checkpoints, which are not read: told by the types and the names of their tensors."""

from __future__ import annotations

import re
from typing import Any

from attnviz.checkpoints.plan import FLOATS
from attnviz.checkpoints.reader import Checkpoint, CheckpointError, StoredTensor, tensor_error
from attnviz.errors import FieldError, Message, about, must_be, verbatim

KEYS = ("quantization_config", "quantization")
"""The configuration's keys that describe a quantisation; MLX writes the second one."""

TITLES = {"gptq": "GPTQ", "awq": "AWQ", "fp8": "FP8", "mxfp4": "MXFP4", "hqq": "HQQ", "aqlm": "AQLM"}
"""The titles of methods whose names are abbreviations."""

_BUFFERS = (*FLOATS, "BOOL", "I64")
"""Types of weights in full precision, and of tables beside them."""

_PARTS = re.compile(r"\.(qweight|qzeros|absmax|weight_packed)$")
"""Ends of the names of what quantised weights consist of."""


def check_full_precision(checkpoint: Checkpoint) -> None:
    """Raise `CheckpointError` for quantised weights: the method, and what is read instead."""
    tensors = checkpoint.tensors.values()
    key = next((one for one in KEYS if checkpoint.config.get(one)), None)
    if key is not None and any(one.dtype not in _BUFFERS for one in tensors):
        value = checkpoint.config[key]
        missing = must_be(
            "missing: weights quantised by {method} are not read, those in 16 or 32 bits and GGUF files are",
            method=_method(value),
        )
        raise CheckpointError(about(checkpoint.config_name, FieldError(key, value, missing).message))
    quantised = next((one for one in tensors if _is_part(one)), None)
    if quantised is not None:
        full = must_be("part of weights in 16 or 32 bits: quantised ones are read from GGUF files alone")
        raise tensor_error(quantised.file, quantised.name, verbatim(quantised.dtype), full)


def _is_part(tensor: StoredTensor) -> bool:
    return bool(_PARTS.search(tensor.name)) or tensor.dtype.startswith(("F8", "F4"))


def _method(value: Any) -> Message:
    named = value.get("quant_method") if isinstance(value, dict) else None
    method = named if isinstance(named, str) else "MLX"
    return verbatim(TITLES.get(method, method)[:40])
