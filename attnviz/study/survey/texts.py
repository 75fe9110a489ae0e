"""Texts of a survey: the lines of a file, the records of a JSON Lines file, or the files of a folder."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from attnviz.core.text import visible
from attnviz.errors import FieldError, InputError, Message, about, message_of, must_be, verbatim
from attnviz.model.io.regular_file import opened, read_text

FIELD = "text"
"""The key of the text in a record of JSON Lines."""
SUFFIXES = (".txt", ".jsonl")
LONGEST = 2**20
"""Characters of a line, and about a quarter of the bytes of a file that is one text."""
MOST_BYTES = 2**30
"""Largest file with a text in each line."""


@dataclass(frozen=True)
class Text:
    """One text; `number` is its place among all, from 0."""

    number: int
    text: str

    @property
    def key(self) -> str:
        """The first 16 digits of the SHA-256 of its UTF-8: texts with equal keys are the same text."""
        return sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read_texts(path: str | Path) -> tuple[Text, ...]:
    """The texts of a `.txt` file (one in each line), of a `.jsonl` file (`{"text": …}` in each line), or of a
    folder (one in each `.txt` file, in the order of their names). Empty texts are left out.

    Raises `InputError`: one sentence with the line or with the file of a folder, and `OSError`.
    """
    try:
        texts = numbered(_texts_in(Path(path)))
    except UnicodeDecodeError:
        raise InputError(Message("The texts must be in UTF-8; got other bytes.")) from None
    if not texts:
        raise FieldError("texts", 0, must_be("at least one text"))
    return texts


def _texts_in(place: Path) -> Iterable[str]:
    if place.is_dir():
        return map(_whole, sorted(place.glob("*.txt")))
    lines = _lines(place)
    return _records(lines) if place.suffix == ".jsonl" else lines


def _whole(file: Path) -> str:
    """The text of a file, its lines ended as those of every system are."""
    try:
        return read_text(file, 4 * LONGEST).replace("\r\n", "\n").replace("\r", "\n")
    except (OSError, InputError) as error:
        raise InputError(about(verbatim(visible(file.name)), message_of(error))) from None


def _lines(file: Path) -> Iterator[str]:
    # Each end of a line is "\n" here; `splitlines` would also divide a text at a vertical tab or U+2028.
    with io.TextIOWrapper(opened(file, MOST_BYTES), encoding="utf-8-sig") as stream:
        number = 0
        while line := stream.readline(LONGEST + 1):
            number += 1
            if len(line) > LONGEST:
                raise InputError(
                    Message("Line {n} must have at most {most:,} characters.", n=number, most=LONGEST)
                )
            yield line.removesuffix("\n")


def numbered(texts: Iterable[str]) -> tuple[Text, ...]:
    """Texts with their numbers; empty ones are left out."""
    return tuple(Text(number, text) for number, text in enumerate(one for one in texts if one.strip()))


def _records(lines: Iterable[str]) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict) or not isinstance(record.get(FIELD), str):
            raise InputError(
                Message('Line {n} must be an object with "{field}", a text.', n=number, field=FIELD)
            )
        yield record[FIELD]
