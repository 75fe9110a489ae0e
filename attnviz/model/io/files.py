"""Documents on disk: `load`, `save`, and the same as text.

A document with at most `INLINE_NUMBERS` numbers in its explicit arrays is JSON (`.json`); a larger one is a
safetensors file (`.safetensors`), which small ones may be as well. Neither can contain executable code.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from attnviz.errors import InputError, Message, MessageError, about, message_of, suffix_error, verbatim
from attnviz.i18n import N_
from attnviz.model.io.activations import document_of_arrays
from attnviz.model.io.carriers import npz
from attnviz.model.io.carriers.record import Record, Suppliers
from attnviz.model.io.carriers.table import is_carrier, record_in
from attnviz.model.io.json_text import MAX_TEXT, document_from, parse, write
from attnviz.model.io.lock import hold, is_held
from attnviz.model.io.regular_file import TooLarge, opened, read_text
from attnviz.model.io.stand_in import said_of_file
from attnviz.model.io.tensors import Attached, Progress, no_progress, read_tensors, write_tensors
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.origin import Link, Linked, nothing_linked

INLINE_NUMBERS = 16_384
"""Largest number of entries that a saved JSON file holds in all its explicit arrays together."""

JSON_SUFFIX = ".json"
TENSORS_SUFFIX = ".safetensors"
SURVEY_SUFFIX = ".parquet"

_Result = TypeVar("_Result")


class DiskError(MessageError, OSError):
    """The disk stored less than was written."""


class DocumentError(InputError):
    """A document could not be read or saved: one sentence that begins with the file's name."""


def loads(text: str, name: str = "document") -> Document:
    """The document in JSON text; `name` begins the message of a `DocumentError`."""
    return named(name, lambda: document_from(parse(text), {}))


def dumps(document: Document | Experiment) -> str:
    """A document, or an experiment with the default view, as JSON text with all its arrays inside."""
    return write(_document(document), {})


def load(
    path: str | os.PathLike[str],
    progress: Progress = no_progress,
    shipped: Suppliers = dict,
    linked: Linked = nothing_linked,
) -> Document:
    """Read a document: a `.safetensors` file, one that carries its document (a figure, a page,
    a table of this program), or JSON whatever else its name ends in.

    `progress` receives the read share of a large document; an exception from it ends the reading. `shipped`
    supplies matrices that a carried document names, `linked` those of the checkpoint that a document points
    at.

    Raises:
        DocumentError: the file is missing, damaged, too large, or invalid.
    """
    file = Path(path)
    return named(file.name or str(file), lambda: _read(file, progress, shipped, linked))


def save(
    document: Document | Experiment,
    path: str | os.PathLike[str],
    progress: Progress = no_progress,
    *,
    with_weights: bool = False,
    attached: Attached | None = None,
) -> Path:
    """Write a document and return its path.

    A document of an imported model points at the checkpoint, and has the numbers that are not in it;
    `with_weights` packs all of them. A `.safetensors` file also has `attached`, the run of the document.

    The suffix selects the format. Without one, `.json` is appended if the arrays fit, else `.safetensors`.
    The old file stays unchanged until the new one is complete on the disk. `progress` receives the written
    share of the document, and 1 when all is on the disk, just before the new file takes the place of the
    old one; an exception from it ends the saving, and the old file stays.

    Raises:
        DocumentError: another suffix, too many numbers for `.json`, or a failure of the disk.
    """
    file = Path(path)
    whole = _document(document)
    return named(file.name or str(file), lambda: _write(whole, file, progress, with_weights, attached))


def number_count(experiment: Experiment, *, with_weights: bool = False) -> int:
    """Count of the numbers that the file of an experiment has, without those in its checkpoint."""
    link = None if with_weights else link_of(experiment)
    return sum(math.prod(matrix.shape) for _name, matrix in _own(experiment, link))


def link_of(experiment: Experiment) -> Link | None:
    """The checkpoint that the weights of an experiment are in; None where they are its own."""
    origins = (matrix.origin for _name, matrix in matrices(experiment))
    return next((origin.link for origin in origins if origin is not None), None)


def _own(experiment: Experiment, link: Link | None) -> Iterator[tuple[str, Matrix]]:
    """The matrices that are not in a checkpoint, by name."""
    for name, matrix in matrices(experiment):
        if link is None or matrix.origin is None or matrix.origin.link != link:
            yield name, matrix


def _document(document: Document | Experiment) -> Document:
    if isinstance(document, Experiment):
        return Document(document)
    if isinstance(document, Document):
        return document
    raise TypeError(f"document must be an Experiment or a Document; got a {type(document).__name__}.")


def named(name: str, action: Callable[[], _Result]) -> _Result:
    """Run `action`, and convert every expected error into a `DocumentError` about `name`."""
    try:
        return action()
    except OSError as error:
        raise DocumentError(about(name, message_of(error))) from error
    except ValueError as error:
        raise DocumentError(about(name, message_of(error))) from error


# --- reading ---------------------------------------------------------------------------------------


def _read(file: Path, progress: Progress, shipped: Suppliers, linked: Linked) -> Document:
    opened(file).close()  # whatever its name ends in
    suffix = file.suffix.lower()
    if suffix == TENSORS_SUFFIX:
        return read_tensors(file, progress, linked)
    if npz.is_of_arrays(file):
        return document_of_arrays(file)
    if is_carrier(file):
        return record_in(file).restored(shipped, linked)
    if (said := said_of_file(file)) is not None:
        raise InputError(said)
    if suffix == SURVEY_SUFFIX:
        raise InputError(
            Message("A survey contains scores and no document; the command attnviz survey summarises it.")
        )
    try:
        text = read_text(file, MAX_TEXT)
    except TooLarge:
        raise InputError(
            Message(
                "A JSON document must have at most {most:,} bytes, larger ones are {suffix} files; got more.",
                most=MAX_TEXT,
                suffix=TENSORS_SUFFIX,
            )
        ) from None
    return document_from(parse(text), {}, linked)


def record_of(document: Document, command: str = "", shipped: Mapping[Matrix, str] | None = None) -> Record:
    """The record of a document for a file that is made from it by `command`.

    `shipped` are matrices that are named instead of written.
    """
    names, link = shipped or {}, link_of(document.experiment)
    own = sum(math.prod(one.shape) for _name, one in _own(document.experiment, link) if one not in names)
    return Record.of(document, command, names, own, link)


# --- writing ---------------------------------------------------------------------------------------


def _write(
    document: Document, path: Path, progress: Progress, with_weights: bool, attached: Attached | None
) -> Path:
    count = number_count(document.experiment, with_weights=with_weights)
    link = None if with_weights else link_of(document.experiment)
    if path.name in ("", ".."):
        raise InputError(Message("A document must have a file name; got a folder."))
    is_small = count <= INLINE_NUMBERS and attached is None
    if not path.suffix:
        path = path.with_name(path.name + (JSON_SUFFIX if is_small else TENSORS_SUFFIX))
    suffix = path.suffix.lower()
    if suffix == TENSORS_SUFFIX:
        data = write_tensors(
            document,
            _own(document.experiment, link),
            lambda share: progress(WRITTEN_SHARE * share),
            link,
            attached,
        )
    else:
        _check_suffix(path, count)
        data = iter([write(document, {}, link).encode("utf-8")])
    replace_file(path, data, before=partial(progress, 1.0))
    return path


def check_target(path: str | os.PathLike[str], count: int) -> None:
    """Raise `DocumentError` for a file that cannot be written later: its folder is missing, or its suffix is
    none of a document with `count` numbers.
    """
    file = Path(path)

    def check() -> None:
        _check_suffix(file, count)
        if not file.absolute().parent.is_dir():
            raise InputError(Message("The folder {folder} must exist.", folder=verbatim(str(file.parent))))

    named(file.name or str(file), check)


def _check_suffix(path: Path, count: int) -> None:
    """Refuse another suffix than that of a document, and `.json` for too many numbers."""
    suffix = path.suffix.lower()
    if suffix in ("", TENSORS_SUFFIX):
        return
    if suffix != JSON_SUFFIX:
        raise suffix_error(path.suffix, (JSON_SUFFIX, TENSORS_SUFFIX))
    if count > INLINE_NUMBERS:
        raise InputError(
            Message(
                "A {suffix} document must have at most {most:,} numbers; got {n:,}. Save it as "
                "{larger} instead.",
                suffix=JSON_SUFFIX,
                most=INLINE_NUMBERS,
                larger=TENSORS_SUFFIX,
                n=count,
            )
        )


def matrices(part: Struct, path: str = "") -> Iterator[tuple[str, Matrix]]:
    """Every explicit array of a part and of its parts, by the name of its tensor: the path of its source."""
    for field in part.__struct_fields__:
        value = getattr(part, field)
        if isinstance(value, Matrix):
            yield path.removesuffix(".") if field == "values" else f"{path}{field}", value
        elif isinstance(value, Struct):
            yield from matrices(value, f"{path}{field}.")
        elif isinstance(value, tuple) and value and isinstance(value[0], Struct):
            for index, item in enumerate(value):
                yield from matrices(item, f"{path}{field}[{index}].")


WRITTEN_SHARE = 0.9
"""Share of the saving of a large document until its last byte is written; the rest is the disk's."""

ABANDONED_S = 2.0
"""Seconds after which an unchanged temporary file that no process holds was left by an ended one: a fresh one
may not be locked yet.
"""

_STEM_BYTES = 80
"""Bytes of a file's name that its temporary file uses: names are limited in bytes, not in characters."""


def replace_file(
    path: Path, data: bytes | Iterable[bytes], before: Callable[[], object] = lambda: None
) -> None:
    """Write `data`, all of it or in parts, to the file `path` completely or not at all.

    The data is written beside it, flushed to the disk, its length compared, `before` called, and the new file
    renamed over the old one. A link keeps its target, and an existing file keeps its permissions and its
    owner. Temporary files that an ended process has left are removed. Raises `OSError`, also if the file is
    write-protected, or is a folder, a pipe or a device, and any exception of the parts or of `before`; the
    old file is then unchanged, and no temporary file remains.
    """
    target = Path(os.path.realpath(path))
    _check_replaceable(target)
    remove_abandoned(target)
    temporary = temporary_of(target)
    try:
        n_bytes = 0
        with temporary.open("xb") as file:
            hold(file)
            for part in (data,) if isinstance(data, bytes) else data:
                file.write(part)
                n_bytes += len(part)
            file.flush()
            os.fsync(file.fileno())
            written = os.fstat(file.fileno()).st_size
            if written != n_bytes:
                raise DiskError(
                    Message(
                        "{written:,} of {n:,} bytes were written; the old file is unchanged.",
                        written=written,
                        n=n_bytes,
                    )
                )
            if target.exists():
                _copy_owner(target, temporary)
            before()
            if sys.platform == "win32":  # which renames no open file
                file.close()
            os.replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and error.filename == str(temporary):
            error.filename = str(target)  # the name that somebody knows
        raise
    sync_folder(target.parent)


def replace_files(files: dict[Path, bytes]) -> tuple[Path, ...]:
    """Write several files, the last one first: the first never stands alone. Returns the paths."""
    for path, data in reversed(files.items()):
        replace_file(path, data)
    return tuple(files)


def temporary_of(target: Path) -> Path:
    """A new name beside a file, under which is written what takes its name when it is whole."""
    return target.with_name(f"{_stem(target)}{os.urandom(6).hex()}.tmp")


def _stem(target: Path) -> str:
    """The beginning of the names of a file's temporary files."""
    return f".{os.fsencode(target.name)[:_STEM_BYTES].decode('utf-8', 'ignore')}."


def remove_abandoned(target: Path) -> None:
    """Remove the temporary files that ended processes have left beside a file; never one that is held."""
    pattern = re.compile(re.escape(_stem(target)) + r"[0-9a-f]{12}\.tmp")
    with contextlib.suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            if pattern.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    is_old = time.time() - entry.stat().st_mtime > ABANDONED_S
                    if is_old and not is_held(Path(entry.path)):
                        os.unlink(entry.path)


def _check_replaceable(target: Path) -> None:
    """Raise for a target that a rename would replace although it is not writable, or that is no file."""
    if target.is_symlink():  # resolved, and still a link
        raise OSError(errno.ELOOP, N_("this link points to itself"))
    if not target.exists():
        return
    if not target.is_file():
        raise OSError(errno.EISDIR, N_("this is not a file"))
    # Mode bits too: an administrator may write to everything.
    if not target.stat().st_mode & 0o222 or not os.access(target, os.W_OK):
        raise OSError(errno.EACCES, N_("the file is write-protected"))


def _copy_owner(old: Path, new: Path) -> None:
    """Copy the old file's permissions and, if allowed, its owner to the new one."""
    state = old.stat()
    if hasattr(os, "chown"):
        with contextlib.suppress(OSError):
            os.chown(new, state.st_uid, state.st_gid)
    new.chmod(state.st_mode & 0o7777)


def sync_folder(folder: Path) -> None:
    """Flush a rename to the disk, if the system can open folders (Windows cannot)."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
