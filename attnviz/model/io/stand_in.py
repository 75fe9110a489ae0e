"""`STAND_INS`: files that are found in the place of a document or of weights, told by their first bytes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from attnviz.errors import Message
from attnviz.model.io.regular_file import opened

N_BYTES = 256
"""Bytes from the beginning of a file that tell its kind."""

SUFFIXES = (".npy", ".pkl", ".pt", ".pth", ".bin")
"""Suffixes of arrays and pickles, which are opened for the sentence about them."""


@dataclass(frozen=True)
class StandIn:
    """A kind of files: a pattern of their beginning, and the sentence about them."""

    beginning: re.Pattern[bytes]
    said: Message


_PICKLE = Message(
    "The file is a pickle, which can run code when it is opened: save weights by save_pretrained of "
    "transformers, and arrays by numpy.savez."
)

STAND_INS: tuple[StandIn, ...] = (
    StandIn(
        re.compile(rb"version https://git-lfs"),
        Message(
            "The file is a pointer of Git LFS to the real one: git lfs pull in its folder downloads that."
        ),
    ),
    StandIn(
        re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype html|html|head|body)\b", re.IGNORECASE),
        Message("The file is a web page in place of the real one: download the file itself."),
    ),
    StandIn(
        re.compile(rb"\x93NUMPY"),
        Message(
            "The file is one array of NumPy without a name: numpy.savez(file, attentions=array) gives it one."
        ),
    ),
    StandIn(re.compile(rb"\x80[\x02-\x05]"), _PICKLE),
    StandIn(re.compile(rb"PK\x03\x04.{26}[^/]{1,80}/(?:data\.pkl|\.format_version)", re.DOTALL), _PICKLE),
)
"""In the order in which they are tried; torch.save writes the last kind."""


def said_of(beginning: bytes) -> Message | None:
    """The sentence about a file by its first bytes; None for one of no kind of the table."""
    return next((row.said for row in STAND_INS if row.beginning.match(beginning)), None)


def said_of_file(file: Path) -> Message | None:
    """The sentence about a file, which is read at its beginning. Raises `OSError`."""
    with opened(file) as stream:
        return said_of(stream.read(N_BYTES))
