"""`SIZES`: the memory of another process, on systems that do not limit it themselves."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable


def by_ps(pid: int) -> int:
    """Resident bytes of a process, from `ps`; 0 if it has ended."""
    done = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True)
    return 1024 * int(done.stdout.strip() or 0)


class _Counters(ctypes.Structure):
    """PROCESS_MEMORY_COUNTERS of psapi.h."""

    _fields_ = [
        ("length", ctypes.c_uint32),
        ("page_faults", ctypes.c_uint32),
        *((name, ctypes.c_size_t) for name in ("peak", "resident", "a", "b", "c", "d", "committed", "e")),
    ]


_MAY_ASK = 0x1000
"""PROCESS_QUERY_LIMITED_INFORMATION."""


def by_windows(pid: int) -> int:
    """Committed bytes of a process; 0 if it has ended."""
    system = ctypes.windll.kernel32  # type: ignore[attr-defined]
    system.OpenProcess.restype = ctypes.c_void_p
    handle = ctypes.c_void_p(system.OpenProcess(_MAY_ASK, False, pid))
    counters = _Counters(length=ctypes.sizeof(_Counters))
    system.K32GetProcessMemoryInfo(handle, ctypes.byref(counters), counters.length)
    system.CloseHandle(handle)
    return int(counters.committed)


SIZES: dict[str, Callable[[int], int]] = {"darwin": by_ps, "win32": by_windows}
"""By `sys.platform`."""
