"""A record in an NPZ file: one more array beside the others, of one text, without pickle."""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from attnviz.errors import InputError, Message
from attnviz.model.io.regular_file import opened

SUFFIX = ".npz"
NAME = "attnviz"
_MEMBER = f"{NAME}.npy"


def array(text: str) -> NDArray[np.bytes_]:
    """The array `NAME` of a record."""
    return np.array(text.encode("ascii"))


def put(data: bytes, text: str) -> bytes:
    """The arrays with the record as the array `attnviz`."""
    stream, member = io.BytesIO(data), io.BytesIO()
    np.lib.format.write_array(member, array(text), allow_pickle=False)
    with zipfile.ZipFile(stream, "a") as file:
        file.writestr(zipfile.ZipInfo(_MEMBER), member.getvalue())
    return stream.getvalue()


def is_of_arrays(path: Path) -> bool:
    """True for a file of arrays without a record. One that is no archive counts as another file: `find`
    refuses it.
    """
    return path.suffix.lower() == SUFFIX and not _carries(path)


def _carries(path: Path) -> bool:
    try:
        with opened(path) as stream, zipfile.ZipFile(stream) as file:
            return _MEMBER in file.namelist()
    except (ValueError, OSError, zipfile.BadZipFile, NotImplementedError):
        return True


def find(data: bytes) -> bytes | None:
    """The text of the record, or None. Raises `InputError` for a file that is no archive of arrays."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            if _MEMBER not in file.namelist():
                return None
            with file.open(_MEMBER) as stream:
                return _text(stream)
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError):
        raise InputError(Message("The file must be complete and contain NumPy arrays (NPZ).")) from None


def _text(stream: IO[bytes]) -> bytes:
    """The bytes of an array of one text. No array is allocated: its header may claim any size."""
    if np.lib.format.read_magic(stream) != (1, 0):
        return b""
    shape, _is_fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    return stream.read(min(dtype.itemsize, _MOST)) if shape == () and dtype.kind == "S" else b""


_MOST = 2**22
"""Bytes of the text that are read."""
