"""Documents as records, each content once: what the documents of a history share is written once.

A document's record names those of its parts: one for each part of the experiment and for each layer, as JSON.
A matrix is a record that names its chunks of numbers. So an edit of one number of a large matrix adds one
chunk, and never the matrix.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args
from weakref import ref

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from attnviz.model.io.json_text import FORMAT, VERSION, document_from, parse
from attnviz.model.io.tensors import Attached, AttachedFile
from attnviz.model.journal.records import JournalError, Key, Records, altered
from attnviz.model.spec.arrays import MAX_NUMBERS, STORED_DTYPES, Matrix
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.field import fields_of
from attnviz.model.spec.image import Image
from attnviz.model.spec.origin import Link, Linked, nothing_linked

CHUNK_BYTES = 2**16
"""Bytes of a chunk of a matrix of up to `MOST_CHUNKS` chunks."""

MOST_CHUNKS = 256
"""Chunks of a larger matrix, about."""

LONG = 32
"""Items from which a list of tokens is a record of its own."""

_REFERENCE = "record"


class Full(Exception):
    """The documents need more bytes than they may have."""


class Packer:
    """Appends the records of documents to a file, each that it has not appended before.

    By identity: parts of documents never change, and documents of one history share most of them. It keeps
    none of them alive: a document may be a model of gigabytes.
    """

    def __init__(self, records: Records) -> None:
        self._records = records
        self._keys: dict[int, tuple[Callable[[], object], Key]] = {}
        self._newest: dict[Key, int] = {}
        self._children: dict[Key, tuple[Key, ...]] = {}
        self._room = 0
        self.live: dict[Key, None] = {}
        """The keys of all records that the documents since `begin` need."""

    def begin(self, most: int) -> None:
        """Begin to count the documents of a state: they may have `most` bytes."""
        self.live, self._room = {}, most

    def end(self) -> None:
        """Forget what no document since `begin` needs."""
        self._keys = {id_: pair for id_, pair in self._keys.items() if pair[1] in self.live}
        self._newest = {key: id_ for key, id_ in self._newest.items() if key in self.live}
        self._children = {key: children for key, children in self._children.items() if key in self.live}

    def knows(self, document: Document) -> bool:
        """True if the records of a document are in the file."""
        return self._known(document) is not None

    def document(self, document: Document) -> Key:
        """The key of a document, whose records are in the file then. Raises `Full` and `OSError`."""
        return self._key(document, self._write_document)

    def run(self, attached: Attached) -> Key:
        """The key of a training run, whose records are in the file then. Raises as `document` does."""
        children: list[Key] = []
        for array in attached.arrays.values():
            children.append(self._key(array, self._write_array))
        return self._put_json(
            {"text": attached.text, "arrays": dict(zip(attached.arrays, children, strict=True))}, children
        )

    def _write_array(self, array: NDArray[Any]) -> Key:
        content = self._put(np.ascontiguousarray(array).tobytes())
        return self._put_json({"dtype": array.dtype.str, "shape": array.shape, "content": content}, [content])

    def _key(self, value: Any, write: Callable[[Any], Key]) -> Key:
        known = self._known(value)
        if known is not None:
            self._use(known)
            return known
        key = write(value)
        # One object for each key: of equal ones, the newest is the one that comes again.
        self._keys.pop(self._newest.get(key, 0), None)
        self._keys[id(value)], self._newest[key] = (_held(value), key), id(value)
        return key

    def _known(self, value: Any) -> Key | None:
        """The key of a part that was appended before. A part that has gone may have had the same id."""
        known, key = self._keys.get(id(value), (None, None))
        return key if known is not None and known() is value else None

    def _use(self, key: Key) -> None:
        """Count a record and those that it names, each once."""
        if key in self.live:
            return
        self.live[key] = None
        self._room -= self._records.length(key)
        if self._room < 0:
            raise Full
        for child in self._children.get(key, ()):
            self._use(child)

    def _put(self, content: bytes, children: tuple[Key, ...] = ()) -> Key:
        key = self._records.put(content)
        self._children[key] = children
        self._use(key)
        return key

    def _put_json(self, data: Any, children: list[Key], hook: Callable[[Any], Any] | None = None) -> Key:
        try:
            content = msgspec.json.encode(data, enc_hook=hook)
        except UnicodeEncodeError:  # half of a surrogate pair has a JSON escape, but no UTF-8
            content = json.dumps(msgspec.to_builtins(data, enc_hook=hook)).encode("ascii")
        return self._put(content, tuple(children))

    def _write_document(self, document: Document) -> Key:
        children: list[Key] = []

        def shared(value: Any) -> Any:
            if isinstance(value, tuple) and value and isinstance(value[0], Struct):
                return [shared(item) for item in value]
            if isinstance(value, Struct) or (isinstance(value, tuple) and len(value) >= LONG):
                children.append(self._key(value, self._write_part))
                return {_REFERENCE: children[-1]}
            return value

        experiment = document.experiment
        data = {
            "version": VERSION,
            "title": document.title,
            "caption": document.caption,
            "claims": document.claims,
            "experiment": {name: shared(getattr(experiment, name)) for name in experiment.__struct_fields__},
            "view": msgspec.to_builtins(document.view),
            "image": shared(document.image),
            **({} if document.trained_length is None else {"trained_length": document.trained_length}),
        }
        return self._put_json(data, children)

    def _write_part(self, part: Any) -> Key:
        children: list[Key] = []

        def reference(value: Any) -> Any:
            assert isinstance(value, Matrix)
            children.append(self._key(value, self._write_matrix))
            return {"tensor": children[-1]}

        return self._put_json(part, children, reference)

    def _write_matrix(self, matrix: Matrix) -> Key:
        if matrix.origin is not None:
            return self._put_json({"link": matrix.origin.link, "name": matrix.origin.name}, [])
        chunks = [self._put(chunk) for chunk in _chunks(matrix)]
        return self._put_json({"stored": matrix.stored, "shape": matrix.shape, "chunks": chunks}, chunks)


class Unpacker:
    """Documents from records; parts that several documents share are one object, as they were."""

    def __init__(self, get: Callable[[Key], bytes], linked: Linked = nothing_linked) -> None:
        """`get` returns the content of a record, `linked` the matrices of a checkpoint; both raise
        `ValueError`.
        """
        self._get = get
        self._parts: dict[Key, Any] = {}
        self._documents: dict[Key, Document] = {}
        self._matrices = _Matrices(get, linked)

    def document(self, key: Key) -> Document:
        """The document of a key. Raises `ValueError`: one sentence."""
        if key not in self._documents:
            self._documents[key] = self._read(key)
        return self._documents[key]

    def run(self, key: Key) -> AttachedFile:
        """The training run of a key. Raises `ValueError`: one sentence."""
        data = _json(self._get(key))
        text, arrays = data.get("text"), data.get("arrays")
        if not isinstance(text, str) or not isinstance(arrays, dict):
            raise altered()
        read = {name: _array(_json(self._get(one)), self._get) for name, one in arrays.items()}
        shapes = {name: (array.shape[0], array.shape[1]) for name, array in read.items()}
        return AttachedFile(text, shapes, read.__getitem__)

    def _read(self, key: Key) -> Document:
        data = _json(self._get(key))
        if not isinstance(data.get("experiment"), dict):
            raise altered()
        is_present = data.get("version") == VERSION
        types = {field.name: field.type for field in fields_of(Experiment)}
        experiment = {
            name: self._restored(value, types.get(name) if is_present else None)
            for name, value in data["experiment"].items()
        }
        parts = {"experiment": experiment, "image": self._restored(data.get("image"), Image)}
        return document_from({**data, "format": FORMAT, **parts}, self._matrices)

    def _restored(self, value: Any, kind: Any) -> Any:
        """A part of an experiment; as plain data without a `kind`, for a document of an older version."""
        if isinstance(value, list):
            item = get_args(kind)[0] if get_args(kind) else None
            return [self._restored(one, item) for one in value]
        if not isinstance(value, dict) or value.keys() != {_REFERENCE}:
            return value
        key = value[_REFERENCE]
        if not isinstance(key, str):
            raise altered()
        if key not in self._parts:
            self._parts[key] = self._converted(parse(self._get(key).decode("utf-8")), kind)
        return self._parts[key]

    def _converted(self, data: Any, kind: Any) -> Any:
        if kind is None:
            return data

        def decode(expected: type, value: Any) -> Any:
            return self._matrices[value["tensor"]]() if expected is Matrix else value

        try:
            return msgspec.convert(data, kind, dec_hook=decode)
        except msgspec.ValidationError as error:
            if isinstance(error.__cause__, JournalError):
                raise error.__cause__ from None
            return data  # refused with a sentence, together with the whole document


class _Matrices(Mapping[str, Callable[[], Matrix]]):
    """The matrices by their keys, read where they are needed, each once."""

    def __init__(self, get: Callable[[Key], bytes], linked: Linked) -> None:
        self._get, self._linked = get, linked
        self._found: dict[Key, Matrix] = {}
        self._opened: dict[Link, Mapping[str, Matrix]] = {}

    def __getitem__(self, key: str) -> Callable[[], Matrix]:
        return lambda: self._matrix(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def _matrix(self, key: Key) -> Matrix:
        if key not in self._found:
            data = _json(self._get(key))
            self._found[key] = self._of_checkpoint(data) if "link" in data else _matrix(data, self._get)
        return self._found[key]

    def _of_checkpoint(self, data: dict[str, Any]) -> Matrix:
        try:
            link = msgspec.convert(data["link"], Link)
            if link not in self._opened:
                self._opened[link] = self._linked(link)
            return self._opened[link][data["name"]]
        except (KeyError, TypeError, msgspec.ValidationError) as error:
            raise altered() from error


def _held(value: Any) -> Callable[[], object]:
    """Returns `value` while it lives. Tuples have no weak references; those here hold no array."""
    return (lambda: value) if isinstance(value, tuple) else ref(value)


def _chunks(matrix: Matrix) -> Iterator[bytes]:
    """The numbers of a matrix in the precision they came in, in order."""
    step = max(CHUNK_BYTES, matrix.nbytes // MOST_CHUNKS)
    for part in matrix.parts():
        numbers = part.tobytes()
        for begin in range(0, len(numbers), step):
            yield numbers[begin : begin + step]


def _matrix(data: dict[str, Any], get: Callable[[Key], bytes]) -> Matrix:
    try:
        dtype, (rows, columns), chunks = STORED_DTYPES[data["stored"]], data["shape"], data["chunks"]
        if min(rows, columns) < 1 or rows * columns > MAX_NUMBERS:
            raise altered()
        array = np.empty((rows, columns), dtype)
        flat, place = array.reshape(-1).view(np.uint8).data, 0
        for key in chunks:
            chunk = get(key)
            flat[place : place + len(chunk)] = chunk
            place += len(chunk)
    except (KeyError, TypeError) as error:
        raise altered() from error
    if place != len(flat):
        raise altered()
    return Matrix.taken(array)


def _array(data: dict[str, Any], get: Callable[[Key], bytes]) -> NDArray[Any]:
    """An array (rows, columns) of a training run."""
    try:
        rows, columns = data["shape"]
        numbers = np.frombuffer(get(data["content"]), _OF_RUNS[data["dtype"]])
        return numbers.reshape(int(rows), int(columns))
    except (KeyError, TypeError, ValueError) as error:
        raise altered() from error


_OF_RUNS = {dtype: np.dtype(dtype) for dtype in ("|u1", "<f2", "<f4", "<f8")}


def _json(content: bytes) -> dict[str, Any]:
    record = parse(content.decode("utf-8"))
    if not isinstance(record, dict):
        raise altered()
    return record
