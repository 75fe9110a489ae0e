"""A process with limits of time and memory, for libraries that run what a downloaded file brings.

A chat template is a program, and a tokenizer.json can make the package `tokenizers` compute without end,
take all memory or abort. One process is kept for all of them and replaced when it has ended; a second one
runs only while two threads need it at the same moment. It ends with the program, also if that is killed: its
channel is its standard input, which then closes.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any

from attnviz.errors import InputError, Message, verbatim
from attnviz.model.sandbox import worker


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


SECONDS = {"load": 60.0, "encode": 10.0, "render": 10.0}
"""Longest time of each task of `worker.py`: the largest tokenizers take seconds to load."""
GIGABYTES = 2
"""Largest memory of the process, in GiB."""
WATCH_SECONDS = 0.1
"""Time between two checks of the process while it works."""
START_SECONDS = 20.0
"""Longest time of its start."""
GRACE_SECONDS = 5.0
"""Time after the longest one in which the process has to end by itself."""

NO_INTERPRETER = Message(
    "A chat template or a tokenizer.json needs a Python interpreter of its own, which could not be started."
)


class Exceeded(InputError):
    """A task took more time or memory than it has, or ended the process."""

    def __init__(self, task: str) -> None:
        limits = Message(
            "more than {seconds:g} seconds or {n} GB of memory", seconds=SECONDS[task], n=GIGABYTES
        )
        super().__init__(limits)


class TaskError(InputError):
    """The library refused what it was given at a task; the message is the library's own text."""

    def __init__(self, task: str, text: str) -> None:
        super().__init__(verbatim(text))
        self.task = task


class Process:
    """One process and the channel to it."""

    def __init__(self) -> None:
        self.channel, other = socket.socketpair()
        with other:
            try:
                self._popen = _started(other)
            except OSError:
                self.channel.close()
                raise InputError(NO_INTERPRETER) from None
        self._is_ready = False

    @property
    def lives(self) -> bool:
        """True if it has not ended."""
        return self._popen.poll() is None

    def ask(self, task: str, **given: Any) -> Any:
        """The result of a task. Raises `TaskError` and `Exceeded`."""
        if not self._is_ready and self._received(START_SECONDS) is None:
            raise InputError(NO_INTERPRETER)
        self._is_ready = True
        with suppress(OSError):  # it has ended or takes nothing, which the missing answer says
            self.channel.settimeout(SECONDS[task])
            worker.send(self.channel, {"task": task, "seconds": SECONDS[task], "given": given})
        answer = self._received(SECONDS[task])
        if answer is None or ("failed" in answer and answer["failed"] is None):
            raise Exceeded(task)
        if "failed" in answer:
            raise TaskError(task, answer["failed"])
        return answer["found"]

    def _received(self, seconds: float) -> Any:
        """The next answer, None if the process has ended; it is ended when it is too large or too late."""
        size, until = SIZES.get(sys.platform), monotonic() + seconds + GRACE_SECONDS
        self.channel.settimeout(WATCH_SECONDS)
        while True:
            try:
                self.channel.recv(1, socket.MSG_PEEK)
                break
            except TimeoutError:
                if monotonic() > until or (size and size(self._popen.pid) > GIGABYTES * 2**30):
                    self.end()
                    return None
            except ConnectionError:
                return None
        self.channel.settimeout(None)
        return worker.receive(self.channel)

    def end(self) -> None:
        """End it at once."""
        self.channel.close()
        self._popen.kill()
        self._popen.wait()


def _started(channel: socket.socket) -> subprocess.Popen[bytes]:
    """The process of `worker.py`, with its end of a pair of sockets. Raises `OSError` if it cannot start."""
    if not sys.executable:
        raise FileNotFoundError
    is_windows = sys.platform == "win32"
    # Not `multiprocessing`: it imports the main module again, which a notebook, `python -c` or a script
    # without a guard does not survive. -S leaves out the files that an environment runs at each start. A
    # program that carries its own Python has the worker inside, see `attnviz/__main__.py`.
    is_frozen = getattr(sys, "frozen", False)
    module = ["-m", worker.__name__] if is_frozen else ["-S", "-P", worker.__file__]
    started = subprocess.Popen(
        [sys.executable, *module, str(GIGABYTES * 2**30), *_paths()],
        stdin=subprocess.PIPE if is_windows else channel.fileno(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,  # a panic prints forty lines
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        env={**os.environ, "TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1"},
    )
    if is_windows:
        assert started.stdin is not None
        started.stdin.write(channel.share(started.pid))  # type: ignore[attr-defined]
        started.stdin.close()
    return started


_kept: list[Process] = []
"""At most one process. A list, as its methods need no lock between threads."""


@contextmanager
def kept_process() -> Iterator[Process]:
    """The kept process, for one thread alone; kept again unless it has ended or another one is kept.

    Raises `InputError` if it cannot be started.
    """
    process = None
    with suppress(IndexError):
        process = _kept.pop()
    if process is None or not process.lives:
        if process is not None:
            process.end()
        process = Process()
    try:
        yield process
    except TaskError:
        _keep(process)
        raise
    except BaseException:  # an answer that nobody has read may be under way
        process.end()
        raise
    _keep(process)


def _keep(process: Process) -> None:
    _kept.append(process)
    while len(_kept) > 1:
        with suppress(IndexError):
            _kept.pop(0).end()


def end_all() -> None:
    """End the kept process; the next task starts another."""
    while _kept:
        _kept.pop().end()


def _paths() -> list[str]:
    """Folders where this program finds packages; a relative one lies in the present folder."""
    return [str(Path(place).absolute()) for place in sys.path]


def _leave_to_parent() -> None:
    """Forget the process in a copy of this program, which must not share the channel."""
    while _kept:
        _kept.pop().channel.close()


atexit.register(end_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)
