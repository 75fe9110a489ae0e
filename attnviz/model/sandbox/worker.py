"""The process in which libraries read what a downloaded file brings: its chat template, its tokenizer.json.

`process.py` starts this file as a program, with the memory that it may take and `sys.path` as arguments; so
it imports nothing of the package, neither Qt nor torch. A request is the JSON of a task with its arguments
and its longest time, an answer that of its result, each behind its length in bytes.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import socket
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NoReturn

LENGTH = struct.Struct(">Q")
"""Of a request or an answer, in bytes."""

MOST_CHARACTERS = 1_000_000
"""Most characters of a rendered conversation."""

MOST_TOKENIZERS = 4
"""Tokenizers that stay loaded: those of the documents that are open."""


def main(arguments: list[str]) -> None:
    """Answer requests until the other end closes, which it does as well when its program is killed."""
    sys.path[:] = arguments[1:]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C in a terminal is meant for the program
    limit_memory(int(arguments[0]))
    channel = _channel()
    send(channel, "ready")
    with open(os.devnull, "w") as nowhere:
        while (request := receive(channel)) is not None:
            # Its thread is none of Python's: it ends the process whatever a library does.
            faulthandler.dump_traceback_later(request["seconds"], exit=True, file=nowhere)
            answer = answered(request["task"], request["given"])
            faulthandler.cancel_dump_traceback_later()
            send(channel, answer)


def _channel() -> socket.socket:
    """The end of the pair of sockets that is this process's standard input, or is described there."""
    if sys.platform != "win32":
        return socket.socket(fileno=0)
    return socket.fromshare(sys.stdin.buffer.read())


def limit_memory(n_bytes: int) -> None:
    """Refuse this process more memory; `process.py` watches the size where the system has no such limit.

    An abort leaves no image of the memory, and Linux ends this process before others where memory is short.
    """
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if sys.platform == "darwin":
            return
        with suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
            score.write("1000")
        _soft, most = resource.getrlimit(resource.RLIMIT_AS)
        limit = n_bytes if most == resource.RLIM_INFINITY else min(n_bytes, most)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def send(channel: socket.socket, value: Any) -> None:
    """Send a value as JSON."""
    data = json.dumps(value).encode("ascii")
    channel.sendall(LENGTH.pack(len(data)) + data)


def receive(channel: socket.socket) -> Any:
    """The next value; None if the other end is closed."""
    data = b"".join(_read(channel, LENGTH.size))
    if len(data) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(data)
    data = b"".join(_read(channel, length))
    return json.loads(data) if len(data) == length else None


def _read(channel: socket.socket, count: int) -> Iterator[bytes]:
    while count:
        try:
            part = channel.recv(min(count, 2**20))
        except ConnectionError:
            return
        if not part:
            return
        count -= len(part)
        yield part


def answered(task: str, given: dict[str, Any]) -> dict[str, Any]:
    """The result of a task, or the reason why it fails: the library's own text, null if memory runs out."""
    try:
        return {"found": TASKS[task](**given)}
    except MemoryError:
        return {"failed": None}
    except BaseException as error:  # a panic of tokenizers is one
        return {"failed": (str(error) or type(error).__name__).strip().partition("\n")[0][:1000]}


# --- tokenizers ------------------------------------------------------------------------------------

_loaded: dict[str, Any] = {}


def load(key: str, text: str) -> None:
    """Keep the tokenizer of a tokenizer.json under a name."""
    from tokenizers import Tokenizer

    while len(_loaded) >= MOST_TOKENIZERS:
        del _loaded[next(iter(_loaded))]
    _loaded[key] = Tokenizer.from_str(text)


def encode(key: str, text: str, adds: bool) -> list[int] | None:
    """The ids of a text, with the tokens that the tokenizer `adds` around it; None if it is not loaded."""
    if key not in _loaded:
        return None
    return list(_loaded[key].encode(text, add_special_tokens=adds).ids)


# --- chat templates --------------------------------------------------------------------------------


def render(template: str, variables: Mapping[str, Any]) -> str:
    """The text of a template in Jinja's sandbox, as `transformers` renders it."""
    text, length = [], 0
    for part in _environment().from_string(template).generate(**variables):
        length += len(part)
        if length > MOST_CHARACTERS:
            raise ValueError(f"a text of more than {MOST_CHARACTERS:,} characters")
        text.append(part)
    return "".join(text)


def _environment() -> Any:
    """The sandbox in which `transformers` renders templates."""
    from jinja2 import ext, nodes, sandbox

    class Generation(ext.Extension):
        """`{% generation %}` marks an answer for training; the text inside stays."""

        tags = {"generation"}

        def parse(self, parser: Any) -> Any:
            line = next(parser.stream).lineno
            body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
            return nodes.Scope(body, lineno=line)

    environment = sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, ext.loopcontrols]
    )
    environment.globals.update(raise_exception=_refuse, strftime_now=_now)
    environment.filters["tojson"] = _as_json
    return environment


def _refuse(sentence: str) -> NoReturn:
    raise ValueError(sentence)


def _now(form: str) -> str:
    from datetime import datetime

    return datetime.now().strftime(form)


def _as_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """JSON without Jinja's escapes for pages, as templates of conversations expect it."""
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


TASKS: dict[str, Callable[..., Any]] = {"load": load, "encode": encode, "render": render}
"""By the name in a request."""


if __name__ == "__main__":
    main(sys.argv[1:])
