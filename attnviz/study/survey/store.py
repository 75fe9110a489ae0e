"""The file of a survey: Apache Parquet, and beside it the journal of one that is under way.

Each text is appended to the journal, `FILE.partial`, as it is measured: its length in bytes, its SHA-256, and
an Arrow stream. After an interruption the whole ones are read again and the rest is cut off, so that no text
is lost or counted twice; a second survey of the same file is refused as long as the first holds the lock. At
the end the rows are sorted by text and written at once.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnviz.errors import FieldError, InputError, Message, must_be, quoted, suffix_error
from attnviz.model.io.files import SURVEY_SUFFIX as SUFFIX
from attnviz.model.io.lock import Lock
from attnviz.model.io.regular_file import opened
from attnviz.model.spec.experiment import Experiment
from attnviz.study.survey.measure import Measured
from attnviz.study.survey.plan import Plan

if TYPE_CHECKING:
    import pyarrow

PARTIAL = ".partial"
LOCK = ".lock"
RECORD = b"attnviz"
"""The key of the plan in the schema's metadata."""
TEXTS = b"texts"
"""That of the texts with the highest scores, by number."""
COLUMNS = {"text": "int64", "key": "string", "n_tokens": "int32", "site": "string", "head": "int16"}
"""The columns that say what a row is of, with their types; every other column is a score."""
SCORE = "double"
_LENGTH, _DIGEST = 8, 32
NEEDS_PYARROW = Message("A survey needs the package pyarrow: pip install 'attnviz[cluster]'.")


def arrow() -> Any:
    """The package pyarrow. Raises `InputError` without it."""
    try:
        import pyarrow
    except ModuleNotFoundError:
        raise InputError(NEEDS_PYARROW) from None
    return pyarrow


def encoded(plan: Plan, measured: Measured) -> bytes:
    """The rows of one text as an Arrow stream."""
    pa = arrow()
    n = len(measured.heads)
    of_row = (
        [measured.text.number] * n,
        [measured.text.key] * n,
        [measured.n_tokens] * n,
        list(measured.sites),
        measured.heads,
    )
    columns = {name: pa.array(one, COLUMNS[name]) for name, one in zip(COLUMNS, of_row, strict=True)}
    # NaN, a score without a meaning for this text, is null: readers leave it out of means.
    columns |= {id_: pa.array(measured.numbers[id_], from_pandas=True) for id_ in plan.columns}
    batch = pa.record_batch(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    data: bytes = sink.getvalue().to_pybytes()
    return data


class Store:
    """The journal of a survey; `done` are the numbers and keys of the texts in it."""

    def __init__(self, path: str | Path, plan: Plan, model: Experiment | None = None) -> None:
        """Open or continue one, of `model` or of the model that the plan names.

        Raises `InputError` for a file of another survey or of one that is under way, and `OSError`.
        """
        self.path = Path(path)
        if self.path.suffix != SUFFIX:
            raise suffix_error(self.path.suffix, (SUFFIX,))
        arrow()
        self._record = plan.record(model).encode()
        self._journal = self.path.with_name(self.path.name + PARTIAL)
        self.done: set[tuple[int, str]] = set()
        with contextlib.ExitStack() as stack:
            lock = self._locked()
            if lock is not None:
                stack.callback(lock.release)
            head = _framed(self._record)
            if self._journal.exists():
                self._continue(head)
            else:
                self._journal.write_bytes(head)
            self._file = self._journal.open("ab")
            self._releasing = stack.pop_all()

    def _locked(self) -> Lock | None:
        """The lock of this survey; None on a file system without locks."""
        try:
            lock = Lock.take(self.path.with_name(self.path.name + LOCK))
        except OSError:
            return None
        if lock is None:
            alone = must_be("a file that no other survey is writing")
            raise FieldError("output", str(self.path), alone)
        return lock

    def _continue(self, head: bytes) -> None:
        """Keep the whole entries of a journal and cut off the rest."""
        data = self._whole()
        if head.startswith(data):  # its process ended before it had written the plan
            self._journal.write_bytes(head)
            return
        if not data.startswith(head):
            raise FieldError("output", str(self.path), _of_another(data, json.loads(self._record)))
        end = len(head)
        for body in _entries(data, end):
            rows = _read(body)
            self.done.add((rows["text"][0].as_py(), rows["key"][0].as_py()))
            end += _LENGTH + _DIGEST + len(body)
        os.truncate(self._journal, end)

    def _whole(self) -> bytes:
        with opened(self._journal) as file:
            return file.read()

    def add(self, number: int, key: str, body: bytes) -> None:
        """Append the rows of a text that the journal lacks."""
        if (number, key) in self.done:
            return
        self._file.write(_framed(body))
        self._file.flush()
        self.done.add((number, key))

    def close(self) -> None:
        """Keep the journal for later, and let others continue it."""
        self._end()
        self._releasing.close()

    def _end(self) -> None:
        if not self._file.closed:
            os.fsync(self._file.fileno())
            self._file.close()

    def table(self) -> pyarrow.Table:
        """All rows, sorted by text."""
        data = self._whole()
        head = len(_framed(self._record))
        tables = [_read(body) for body in _entries(data, head)]
        tables.sort(key=lambda rows: rows["text"][0].as_py())
        return arrow().concat_tables(tables).combine_chunks()

    def finish(self, table: pyarrow.Table, texts: dict[int, str]) -> Path:
        """Write the rows of `table`, with these texts by number, and remove the journal."""
        import pyarrow.parquet

        self._end()
        written = json.dumps({str(number): text for number, text in texts.items()})
        table = table.replace_schema_metadata({RECORD: self._record, TEXTS: written})
        aside = self.path.with_name(self.path.name + ".new")
        pyarrow.parquet.write_table(table, aside)
        os.replace(aside, self.path)
        self._journal.unlink()
        return self.path


def read_table(path: str | Path) -> pyarrow.Table:
    """The rows of a survey. Raises `InputError` for a file that is none, and `OSError`."""
    pa = arrow()
    import pyarrow.parquet

    with opened(path) as file:  # the system says why a file does not open; pyarrow repeats its name
        try:
            table = pyarrow.parquet.read_table(file)
        except (pa.ArrowException, OSError):
            raise not_a_survey(path) from None
    if not _has_columns(table) or RECORD not in (table.schema.metadata or {}):
        raise not_a_survey(path)
    return table


def not_a_survey(path: str | Path) -> InputError:
    """The error of a file that is no survey, or a damaged one."""
    return InputError(
        Message("The file must be a survey of attnviz; got {name}.", name=quoted(Path(path).name))
    )


def _has_columns(table: pyarrow.Table) -> bool:
    """True for the columns of a survey, each once: those of a row without gaps, and at least one score."""
    types = {name: str(table.schema.field(place).type) for place, name in enumerate(table.column_names)}
    is_whole = len(types) == table.num_columns > len(COLUMNS)
    return (
        is_whole
        and types == {**dict.fromkeys(types, SCORE), **COLUMNS}
        and not any(table[name].null_count for name in COLUMNS)
        and (table["head"].to_numpy() >= 0).all()
    )


def _of_another(data: bytes, present: dict[str, Any]) -> Message:
    """The requirement of a survey whose journal, `data`, is that of another plan or model."""
    try:
        begun = json.loads(next(iter(_entries(data, 0)), b""))
    except (ValueError, RecursionError):
        begun = None
    if not isinstance(begun, dict):
        return must_be("a new file, as the one beside it is no survey of attnviz")
    options = [key for key in present if key != "files" and key in begun and begun[key] != present[key]]
    if not options:
        return must_be("a new file, as the survey in it is of another model")
    key = options[0]
    return must_be(
        "a new file, as the survey in it was begun with {option} {value}",
        option=key,
        value=quoted(begun[key]),
    )


def _framed(body: bytes) -> bytes:
    return len(body).to_bytes(_LENGTH, "little") + sha256(body).digest() + body


def _entries(data: bytes, at: int) -> Iterable[bytes]:
    """The whole entries from a place on; the first damaged one ends them."""
    while at + _LENGTH + _DIGEST <= len(data):
        length = int.from_bytes(data[at : at + _LENGTH], "little")
        digest = data[at + _LENGTH : at + _LENGTH + _DIGEST]
        body = data[at + _LENGTH + _DIGEST : at + _LENGTH + _DIGEST + length]
        if len(body) < length or sha256(body).digest() != digest:
            return
        yield body
        at += _LENGTH + _DIGEST + length


def _read(body: bytes) -> Any:
    return arrow().ipc.open_stream(body).read_all()
