"""Bytes and floating-point operations of a run, counted before anything is allocated.

An operating system grants far more memory than it has and kills the process that uses it, so catching
MemoryError protects nobody. Here the arithmetic comes first: `estimate_attention` counts, and `check` raises
an error that shows the arithmetic. All counts are Python integers and cannot overflow.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from attnviz.errors import FieldError, InputError, Message, verbatim, whole_number
from attnviz.i18n import _

UNKNOWN_MEMORY = 2 * 1024**3
"""Bytes assumed to be available if the system reports nothing."""

_NO_LIMIT = 2**60
"""Control groups of version 1 express "no limit" as a number near 2**63."""

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


Fitting = Callable[[int], Message]
"""From a number of bytes to the end of a sentence: what would fit into them."""


class EstimateLine(NamedTuple):
    """One array of an estimate: its name, the product with its digits, and its bytes."""

    label: str
    formula: str
    value: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """Requirements of a run: `bytes` is the sum over `lines`, whose texts are in the active language."""

    bytes: int
    flops: int
    lines: tuple[EstimateLine, ...]


class BudgetError(InputError):
    """A job needs more than half of the available memory; the message is one sentence of arithmetic."""

    def __init__(self, message: Message, estimate: Estimate, available: int) -> None:
        super().__init__(message)
        self.estimate = estimate
        self.available = available


def human_bytes(count: int) -> str:
    """`count` bytes in the binary unit that keeps the number below 1024: "512 B", "298.0 GiB".

    Integer arithmetic, rounded half up, so any size is exact to the digit shown; the largest unit is EiB.
    """
    if count < 0:
        return "−" + human_bytes(-count)
    if count < 1024:
        return f"{count} B"
    for power, unit in enumerate(_UNITS[1:], start=1):
        size = 1024**power
        tenths = (count * 20 + size) // (2 * size)
        if tenths < 10240 or unit == _UNITS[-1]:
            break
    return f"{tenths // 10}.{tenths % 10} {unit}"


def check(estimate: Estimate, available: int | None = None, fitting: Fitting | None = None) -> None:
    """Raise BudgetError when `estimate` needs more than half of `available` bytes (default: measured now).

    `fitting` says what would fit into a number of bytes; the message ends with it.

    Half, because thumbnails, the undo history and other programs need memory besides the stages of a run.
    """
    if available is None:
        available = available_memory()
    if 2 * estimate.bytes <= available:
        return
    largest = max(estimate.lines, key=lambda line: line.value)
    alone = 2 * largest.value > available
    needed = {
        "label": largest.label,
        "formula": largest.formula,
        "size": human_bytes(largest.value),
        "half": human_bytes(available // 2),
        "available": human_bytes(available),
        "fits": verbatim("") if fitting is None else fitting(available // 2),
    }
    message = (
        Message(
            "A run must fit in {half}, half of the {available} available; got {label}: {formula} = "
            "{size}{fits}.",
            **needed,
        )
        if alone
        else Message(
            "A run must fit in {half}, half of the {available} available; got {total}, with {label}: "
            "{formula} = {size}{fits}.",
            total=human_bytes(estimate.bytes),
            **needed,
        )
    )
    raise BudgetError(message, estimate, available)


def estimate_attention(
    n_heads: int,
    n_kv_heads: int,
    n_queries: int,
    n_keys: int,
    d_model: int,
    d_head: int,
    itemsize: int,
    stored_maps: int = 1,
) -> Estimate:
    """Bytes and FLOPs of one attention that stores `stored_maps` whole (head, query, key) arrays.

    Bytes: the maps, q and the per-head result (n_heads · n_queries · d_head each), k and v (n_kv_heads ·
    n_keys · d_head each), input and output rows (n_queries · d_model each), at `itemsize` bytes a number.

    FLOPs, a multiplication and an addition counted as two: 2 · n_heads · n_queries · n_keys · d_head for QKᵀ
    and as many for the weighted sums, 5 per score for softmax (maximum, subtraction, exponential, sum,
    division), and the four projections. Masking saves none of these. Raises ValueError for a negative number.
    """
    numbers = {
        "heads": n_heads,
        "kv_heads": n_kv_heads,
        "queries": n_queries,
        "keys": n_keys,
        "features": d_model,
        "d_head": d_head,
        "itemsize": itemsize,
        "maps": stored_maps,
    }
    for name, count in numbers.items():
        if count < 0:
            raise FieldError(name, count, whole_number(0))
    scores = n_heads * n_queries * n_keys
    maps = _("{heads} heads × {queries} queries × {keys} keys × {itemsize} bytes")
    if stored_maps != 1:
        maps = _("{heads} heads × {queries} queries × {keys} keys × {itemsize} bytes × {maps} arrays")
    per_head = _("2 × {heads} heads × {queries} queries × {d_head} features × {itemsize} bytes")
    cached = _("2 × {kv_heads} KV heads × {keys} keys × {d_head} features × {itemsize} bytes")
    rows = _("2 × {queries} queries × {features} features × {itemsize} bytes")
    lines = (
        EstimateLine(_("scores"), maps.format(**numbers), scores * itemsize * stored_maps),
        EstimateLine(
            _("q and mixed"), per_head.format(**numbers), 2 * n_heads * n_queries * d_head * itemsize
        ),
        EstimateLine(_("k and v"), cached.format(**numbers), 2 * n_kv_heads * n_keys * d_head * itemsize),
        EstimateLine(_("input and output"), rows.format(**numbers), 2 * n_queries * d_model * itemsize),
    )
    projections = 4 * d_model * d_head * (n_heads * n_queries + n_kv_heads * n_keys)
    flops = projections + 4 * scores * d_head + 5 * scores
    return Estimate(bytes=sum(line.value for line in lines), flops=flops, lines=lines)


def available_memory() -> int:
    """Bytes that this process can allocate without displacing others, measured now.

    Linux: the smaller of MemAvailable and the room in the process's control groups. Windows: free physical
    memory. macOS, which has no such figure within easy reach: half of the physical memory. If all fail:
    UNKNOWN_MEMORY.
    """
    if sys.platform.startswith("linux"):
        measured = linux_memory(Path("/proc"), Path("/sys/fs/cgroup"))
    elif sys.platform == "win32":
        measured = _windows_memory()
    else:
        measured = _posix_memory()
    return UNKNOWN_MEMORY if measured is None else measured


def linux_memory(proc: Path, cgroups: Path) -> int | None:
    """`available_memory` of a Linux with its /proc and control groups at the two paths; None if unknown."""
    left = list(_cgroup_memory(proc, cgroups))
    for line in _text(proc / "meminfo").splitlines():
        name, _colon, amount = line.partition(":")
        if name == "MemAvailable":
            left.append(int(amount.split()[0]) * 1024)
    return min(left, default=None)


def _cgroup_memory(proc: Path, cgroups: Path) -> list[int]:
    """Memory left by each control group above this process: limit − use + file pages it can drop."""
    left = []
    for line in _text(proc / "self" / "cgroup").splitlines():
        _number, controllers, place = line.split(":", 2)
        if controllers == "":
            root, limit, use, droppable = cgroups, "memory.max", "memory.current", "inactive_file"
        elif "memory" in controllers.split(","):
            root, limit, use = cgroups / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
            droppable = "total_inactive_file"
        else:
            continue
        # In a container the tree may be mounted from the group's own path: missing folders are skipped.
        steps = [part for part in place.split("/") if part]
        for depth in range(len(steps), -1, -1):
            folder = root.joinpath(*steps[:depth])
            most = _text(folder / limit).strip()
            # "max", or a number larger than any machine's memory
            if not most.isdigit() or int(most) > _NO_LIMIT:
                continue
            used = _text(folder / use).strip()
            if not used.isdigit():
                continue
            stat = dict(pair.split() for pair in _text(folder / "memory.stat").splitlines())
            left.append(max(0, int(most) - int(used) + int(stat.get(droppable, 0))))
    return left


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


def _posix_memory() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (ValueError, OSError):
        return None


class _WindowsMemory(ctypes.Structure):
    """MEMORYSTATUSEX of the Windows API, in its documented order."""

    _fields_ = (
        ("length", ctypes.c_uint32),
        ("load_percent", ctypes.c_uint32),
        ("total_physical", ctypes.c_uint64),
        ("available_physical", ctypes.c_uint64),
        ("total_page_file", ctypes.c_uint64),
        ("available_page_file", ctypes.c_uint64),
        ("total_virtual", ctypes.c_uint64),
        ("available_virtual", ctypes.c_uint64),
        ("available_extended_virtual", ctypes.c_uint64),
    )


def _windows_memory() -> int | None:
    status = _WindowsMemory(length=ctypes.sizeof(_WindowsMemory))
    windows = getattr(ctypes, "windll", None)
    if windows is None or not windows.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
        return None
    return int(status.available_physical)
