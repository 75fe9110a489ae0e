"""The document as JSON text: read strictly, written for reading and editing by hand.

Reading raises errors for faults that JSON readers usually accept: a repeated key, an unknown key, NaN and the
infinities, and unlimited nesting. Writing keeps short objects on one line and each matrix row on a line of
its own. A matrix is a list of rows or, in a file with tensors, `{"tensor": name}`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, Literal

import msgspec
from msgspec import Struct, structs

from attnviz.errors import FieldError, InputError, Message, among, missing, must_be, quoted
from attnviz.i18n import N_
from attnviz.model.errors.conversion import field_error
from attnviz.model.first_picture import first_picture
from attnviz.model.io.migrations import MIGRATIONS, migrated, path_before
from attnviz.model.spec.arrays import WHERE, Matrix
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.image import Image
from attnviz.model.spec.origin import Link, Linked, nothing_linked
from attnviz.model.spec.value import as_matrix
from attnviz.model.spec.view import View

FORMAT = "attnviz"
VERSION = 3

MAX_TEXT = 16 * 2**20
"""Largest JSON text that is read, in bytes: a document with all its numbers inline is far below."""

OF_THE_READER = (
    N_("Expecting value"),
    N_("Expecting ',' delimiter"),
    N_("Expecting ':' delimiter"),
    N_("Expecting property name enclosed in double quotes"),
    N_("Illegal trailing comma before end of object"),
    N_("Illegal trailing comma before end of array"),
    N_("Unterminated string starting at"),
    N_("Invalid control character at"),
    N_("Extra data"),
)
"""Messages of Python's JSON reader about invalid text, which are in English."""

_WIDTH = 110
_MAX_DIGITS = 400
_MOST_NAMED = 5


class File(Struct, frozen=True, forbid_unknown_fields=True):
    """The outermost object of a document file."""

    format: Literal["attnviz"]
    version: Literal[3]
    experiment: Experiment
    view: View = View()
    title: str = ""
    caption: str = ""
    claims: tuple[str, ...] = ()
    image: Image | None = None
    trained_length: int | None = None
    checkpoint: Link | None = None


# --- reading ---------------------------------------------------------------------------------------


def parse(text: str) -> Any:
    """JSON text to dicts and lists. Raises `ValueError` on repeated keys, NaN, infinities, deep nesting."""
    if len(text) > MAX_TEXT:
        raise InputError(
            Message("The text must have at most {most:,} characters; got {n:,}.", most=MAX_TEXT, n=len(text))
        )
    try:
        return json.loads(
            text, object_pairs_hook=_object, parse_int=_whole_number, parse_constant=_refuse_constant
        )
    except RecursionError:
        raise InputError(
            Message("The text must be nested less deeply; got more levels than can be read.")
        ) from None
    except json.JSONDecodeError as error:
        raise InputError(
            Message(
                "The text must be JSON; line {line}, column {column}: {problem}.",
                line=error.lineno,
                column=error.colno,
                problem=Message(error.msg),
            )
        ) from None


def document_from(
    data: Any, tensors: Mapping[str, Callable[[], Matrix]], linked: Linked = nothing_linked
) -> Document:
    """The document in parsed JSON; `tensors` supplies the matrices that it may refer to by name, `linked`
    those of the checkpoint that it points at.

    Raises `ValueError`: one sentence with the JSON path, the value and the requirement.
    """
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        begins = f'{{"format": "{FORMAT}", "version": {VERSION}'
        raise InputError(
            Message(
                "The file must be an attnviz document, which begins {begins}; got something else.",
                begins=begins,
            )
        )
    version = data.get("version")
    if type(version) is not int or version != VERSION and version not in MIGRATIONS:
        reads = among((*sorted(MIGRATIONS), VERSION))
        raise FieldError("$.version", version, reads) if "version" in data else missing("$.version", reads)

    data = migrated(data)

    def path_in_file(error: FieldError) -> FieldError:
        """The error with the path that the field has in the version of the file."""
        path = path_before(version, error.path)
        return error if path == error.path else FieldError(path, error.value, error.requirement)

    weights = _weights(data.get("checkpoint"), linked)

    def decode(expected: type, value: Any) -> Any:
        if isinstance(value, dict) and value.keys() == {"tensor"}:
            return _tensor(tensors, value["tensor"])
        if isinstance(value, dict) and value.keys() == {"checkpoint"}:
            return _weight(weights, value["checkpoint"])
        return as_matrix(expected, value)

    try:
        file = msgspec.convert(data, File, dec_hook=decode)
    except UnicodeEncodeError as error:
        code = f"U+{ord(error.object[error.start]):04X}"
        half = Message("{code}, half of a character", code=code)
        raise FieldError("key", half, Message("must consist of whole characters")) from None
    except (msgspec.ValidationError, ValueError) as error:
        raise path_in_file(field_error(error, File, data, "$")) from None
    own = file.title, file.caption, file.claims, file.image, file.trained_length
    document = Document(file.experiment, file.view, *own)
    if "picture" in data.get("view", ()):
        return document
    return structs.replace(document, view=structs.replace(file.view, picture=first_picture(document)))


def _weights(link: Any, linked: Linked) -> Mapping[str, Matrix]:
    """The matrices of the checkpoint that a document points at; none without a link."""
    if link is None:
        return {}
    try:
        return linked(msgspec.convert(link, Link))
    except msgspec.ValidationError as error:
        raise field_error(error, Link, link, "$.checkpoint") from None


def _weight(weights: Mapping[str, Matrix], name: object) -> Matrix:
    if not isinstance(name, str) or name not in weights:
        raise FieldError(WHERE + ".checkpoint", name, must_be("a matrix of the checkpoint"))
    return weights[name]


def _tensor(tensors: Mapping[str, Callable[[], Matrix]], name: object) -> Matrix:
    if not isinstance(name, str) or name not in tensors:
        known = Message("must be in a .safetensors file")
        if tensors:
            names = [quoted(name) for name in islice(tensors, _MOST_NAMED)]
            names += ["…"] if len(tensors) > _MOST_NAMED else []
            known = must_be("one of {choices}", choices=", ".join(names))
        raise FieldError(WHERE + ".tensor", name, known)
    return tensors[name]()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    for key in members:
        # msgspec quotes keys in backticks: a backtick inside a key would garble the path of the error.
        if "`" in key:
            raise InputError(Message("A key must not contain a backtick; got {key}.", key=quoted(key)))
    if len(members) != len(pairs):
        counts = Counter(key for key, _value in pairs)
        repeated = next(key for key, count in counts.items() if count > 1)
        raise InputError(Message("An object must have each key once; got {key} twice.", key=quoted(repeated)))
    return members


def _whole_number(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise InputError(
            Message("A number must have at most {most} digits; got {n:,}.", most=_MAX_DIGITS, n=len(digits))
        )
    return int(digits)


def _refuse_constant(constant: str) -> Any:
    raise InputError(Message("A number must be finite; got {value}.", value=constant))


# --- writing ---------------------------------------------------------------------------------------


def write(document: Document, names: Mapping[Matrix, str], link: Link | None = None) -> str:
    """The JSON text of a document; matrices in `names` become references to tensors of that name, those of
    the checkpoint `link` to it.
    """

    def encode(value: Any) -> Any:
        assert isinstance(value, Matrix)
        if link is not None and value.origin is not None and value.origin.link == link:
            return {"checkpoint": value.origin.name}
        return {"tensor": names[value]} if value in names else value.array.tolist()

    def plain(value: Struct) -> Any:
        return msgspec.to_builtins(value, enc_hook=encode)

    experiment = plain(document.experiment)
    if not document.experiment.references:
        del experiment["references"]  # programs from before the field read all other documents
    data = {
        "format": FORMAT,
        "version": VERSION,
        "title": document.title,
        **({"caption": document.caption} if document.caption else {}),
        **({"claims": document.claims} if document.claims else {}),
        **({"image": plain(document.image)} if document.image is not None else {}),
        **({} if document.trained_length is None else {"trained_length": document.trained_length}),
        **({} if link is None else {"checkpoint": msgspec.to_builtins(link)}),
        "experiment": experiment,
        "view": plain(document.view),
    }
    text = _pretty(data, "") + "\n"
    # Half a surrogate pair has no UTF-8, but a JSON escape.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _pretty(value: Any, indent: str) -> str:
    """`value` on one line if it fits, else a line for each key, item or matrix row."""
    inner = indent + " "
    if isinstance(value, dict) and not _fits(value, indent):
        members = (f"{inner}{_line(key)}: {_pretty(member, inner)}" for key, member in value.items())
        return "{\n" + ",\n".join(members) + "\n" + indent + "}"
    if isinstance(value, list | tuple) and not _is_row(value) and not _fits(value, indent):
        if any(isinstance(item, dict | list | tuple) for item in value):
            items = ",\n".join(inner + _pretty(item, inner) for item in value)
        else:
            items = _filled(value, inner)
        return "[\n" + items + "\n" + indent + "]"
    return _line(value)


def _fits(value: Any, indent: str) -> bool:
    return not _holds_matrix(value) and len(_line(value)) + len(indent) <= _WIDTH


def _holds_matrix(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_holds_matrix(member) for member in value.values())
    return isinstance(value, list) and any(_is_row(item) for item in value)


def _is_row(value: Any) -> bool:
    """True for a matrix row: its numbers are floats, those of painted cells are not."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], float)


def _filled(items: Sequence[Any], indent: str) -> str:
    """Plain items side by side on lines of `_WIDTH` characters."""
    lines = [indent]
    for number, item in enumerate(items):
        piece = _line(item) + ("," if number + 1 < len(items) else "")
        if len(lines[-1]) + 1 + len(piece) > _WIDTH and lines[-1] != indent:
            lines.append(indent)
        lines[-1] += piece if lines[-1] == indent else " " + piece
    return "\n".join(lines)


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
