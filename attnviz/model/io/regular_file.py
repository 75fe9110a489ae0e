"""Files of a user, opened for reading: regular ones alone, and their size before their content.

A pipe in the place of a file waits for a writer that never comes, and a device has no end. Everything that
reads a file which the program does not ship opens it here.
"""

from __future__ import annotations

import os
import stat
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from attnviz.errors import InputError, Message, MessageError
from attnviz.i18n import N_

_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
"""Not to wait: a pipe may have taken the place of the file since its kind was read."""

_OTHER_KINDS = (
    (stat.S_ISDIR, N_("a folder")),
    (stat.S_ISFIFO, N_("a pipe")),
    (stat.S_ISSOCK, N_("a socket")),
)


class Missing(MessageError, FileNotFoundError):
    """No file has the name: one sentence with the folder."""


class NotRegular(MessageError, OSError):
    """A folder, a pipe, a socket or a device stands in the place of a file: one sentence."""


class TooLarge(InputError):
    """A file has more bytes than are read: one sentence."""


def opened(path: str | os.PathLike[str], most: int | None = None) -> BufferedReader:
    """The file, open for reading.

    Raises `TooLarge` for more than `most` bytes, `NotRegular`, at once, `Missing`, and `OSError`.
    """
    file = open(descriptor_of(path), "rb")
    try:
        _check_size(length_of(file), most)
    except TooLarge:
        file.close()
        raise
    return file


def descriptor_of(path: str | os.PathLike[str]) -> int:
    """The descriptor of the file, open for reading; who calls closes it. Raises as `opened` does."""
    try:
        state = os.stat(path)
    except FileNotFoundError:
        folder = Path(path).absolute().parent
        raise Missing(Message("The file must exist in {folder}.", folder=folder)) from None
    _check_regular(state.st_mode)  # before the opening, which alone may rewind a tape
    descriptor = os.open(path, _FLAGS)
    try:
        _check_regular(os.fstat(descriptor).st_mode)
    except NotRegular:
        os.close(descriptor)
        raise
    return descriptor


def length_of(file: BinaryIO) -> int:
    """Bytes of an open file."""
    return os.fstat(file.fileno()).st_size


def read_bytes(path: str | os.PathLike[str], most: int) -> bytes:
    """The content of a file of at most `most` bytes. Raises as `opened` does."""
    with opened(path, most) as file:
        data = file.read(most + 1)
    _check_size(len(data), most)  # it may have grown
    return data


def read_text(path: str | os.PathLike[str], most: int) -> str:
    """The text of a file of at most `most` bytes in UTF-8, perhaps with a byte order mark.

    Raises `InputError` for other bytes, and as `read_bytes` does.
    """
    try:
        return read_bytes(path, most).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        other = Message("The text must be UTF-8; byte {place:,} is not.", place=error.start)
        raise InputError(other) from None


def _check_size(n_bytes: int, most: int | None) -> None:
    if most is not None and n_bytes > most:
        raise TooLarge(Message("The file must have at most {most:,} bytes; got {n:,}.", most=most, n=n_bytes))


def _check_regular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = next((name for is_it, name in _OTHER_KINDS if is_it(mode)), N_("a device"))
        raise NotRegular(Message("The path must name a file; got {kind}.", kind=Message(kind)))
