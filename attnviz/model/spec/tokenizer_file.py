"""A model's own tokenizer.json, run by the package `tokenizers`: for tokenizers that `Pieces` do not cover.

These are WordPiece, Unigram, and byte-pair encoding with steps that `core/bpe.py` does not have. Ids are
those of the vocabulary. What a token is shown as, and the text of several, need no package.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

from attnviz.core.bpe import LeadingSpace, check_text, joined, shown_bytes
from attnviz.core.piece_kinds import PIECE_KIND_BY_ID
from attnviz.core.tokens import token_bytes
from attnviz.errors import FieldError, InputError, Message
from attnviz.model.sandbox.process import Exceeded, TaskError, kept_process

LONGEST = 12 * 2**20
"""Most characters of a tokenizer.json that a document keeps: it stays one that is read back."""

NO_PACKAGE = Message(
    "A text needs the package tokenizers (pip install attnviz[models]), or ids must be given instead."
)
NO_FORM = Message("The file must be a tokenizer as the package tokenizers writes it; got something else.")


FORM_FAULTS = (KeyError, TypeError, IndexError, AttributeError, ValueError, RecursionError)
"""Exceptions from a file that lacks a required member, or has another type there."""


@dataclass(frozen=True)
class Marks:
    """Representation of spaces and bytes in a decoder's tokens.

    `bytes_of` returns the bytes of one token. `has_space(before, token)` is true if a text has a space
    between two neighbours that neither has in its bytes.
    """

    decoder: str
    bytes_of: Callable[[str], bytes]
    has_space: Callable[[str, str], bool]


def _never(before: str, token: str) -> bool:
    return False


def _no_insides(before: str, token: str) -> bool:
    return not token.startswith("##")


def _always(before: str, token: str) -> bool:
    return True


def _after_ends(before: str, token: str) -> bool:
    return before.endswith("</w>")


def _plain_bytes(token: str) -> bytes:
    return token.encode("utf-8", errors="surrogatepass")


def _inside_bytes(token: str) -> bytes:
    return _plain_bytes(token.removeprefix("##"))


def _end_bytes(token: str) -> bytes:
    return _plain_bytes(token.removesuffix("</w>"))


_SPACED = PIECE_KIND_BY_ID["metaspace"].bytes_of

MARKS = (
    Marks("ByteLevel", PIECE_KIND_BY_ID["byte_level"].bytes_of, _never),
    Marks("Metaspace", _SPACED, _never),
    Marks("Replace", _SPACED, _never),
    Marks("WordPiece", _inside_bytes, _no_insides),
    Marks("BPEDecoder", _end_bytes, _after_ends),
)
"""By the type of the decoder, or of one of its steps."""

_WORDS = Marks("", _plain_bytes, _always)
"""Of a tokenizer without a decoder: whole words."""


@dataclass(frozen=True)
class TokenizerFile:
    """The tokens of a vocabulary by id, and the text of the tokenizer.json that makes them.

    The same questions as `core.bpe.BytePairs` answers.
    """

    tokens: tuple[str, ...]
    text: str

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {token: one for one, token in enumerate(self.tokens)}

    @property
    def _special(self) -> frozenset[str]:
        return self._outline.special

    @property
    def _marks(self) -> Marks:
        return self._outline.marks

    @cached_property
    def _outline(self) -> _Outline:
        try:
            return _outline(json.loads(self.text))
        except FORM_FAULTS:
            return _Outline(frozenset(), {}, _WORDS, "never", (), ())

    @cached_property
    def _key(self) -> str:
        """The name of the tokenizer in the process that runs it."""
        return sha256(self.text.encode("utf-8", errors="surrogatepass")).hexdigest()

    def encode(self, text: str, *, has_ends: bool = False) -> list[int]:
        """The ids of a whole text, with the tokens that the tokenizer adds before and after unless the text
        `has_ends` of its own. Raises `ValueError`.
        """
        return self._encoded(text, adds=not has_ends)

    def encode_inside(self, text: str) -> list[int]:
        """The ids of a part of a text. Raises `ValueError`."""
        return self._encoded(text, adds=False)

    @property
    def first(self) -> tuple[str, ...]:
        """The tokens that the tokenizer puts before a whole text."""
        return self._outline.first

    def begun(self, text: str) -> str:
        """`text` unchanged: the tokenizer itself prepends its token."""
        return text

    def has(self, token: str) -> bool:
        """True if `token` is in the vocabulary."""
        return token in self._ids

    def byte_id(self, byte: int) -> int | None:
        """The id of the token that writes one byte, if the vocabulary writes bytes."""
        if self._marks.decoder != "ByteLevel":
            return self._ids.get(f"<0x{byte:02X}>")
        (written,) = PIECE_KIND_BY_ID["byte_level"].written(byte)
        return self._ids.get(written)

    def token_bytes(self, one: int) -> bytes:
        """The bytes of a token in a text; none for a special token."""
        token = self.tokens[one]
        return b"" if token in self._special else self._bytes_of(token)

    def shown(self, one: int) -> str:
        """The shown form of a token: its text with its spaces; inside a word, the mark as well."""
        token = self.tokens[one]
        is_marked = self._marks.has_space is not _never
        return token if token in self._special or is_marked else shown_bytes(self.token_bytes(one))

    def join(self, tokens: Sequence[str]) -> str:
        """The text that encodes to `tokens`, as far as one exists; special tokens are written as they are."""
        outline, inside = self._outline, list(tokens)
        if outline.first and tuple(inside[: len(outline.first)]) == outline.first:
            del inside[: len(outline.first)]
        if outline.last and tuple(inside[-len(outline.last) :]) == outline.last:
            del inside[-len(outline.last) :]

        def bytes_of(token: str) -> bytes:
            return self._bytes_of(token) if token in self._ids else token_bytes(token)

        marks = outline.marks
        return joined(inside, bytes_of, outline.leading, outline.added, outline.special, marks.has_space)

    def _bytes_of(self, token: str) -> bytes:
        """The bytes of a token that is not special; those of an added one are not written in an alphabet."""
        is_plain = self._marks.decoder == "ByteLevel" and token in self._outline.added
        return _plain_bytes(token) if is_plain else self._marks.bytes_of(token)

    def _encoded(self, text: str, *, adds: bool) -> list[int]:
        check_text(text)
        if not can_encode():
            raise InputError(NO_PACKAGE)
        ids = self._package_ids(text, adds)
        beyond = next((one for one in ids if one >= len(self.tokens)), None)
        if beyond is not None:
            ids_below = Message("must give ids below {n}, the size of the vocabulary", n=len(self.tokens))
            raise FieldError("vocabulary.tokenizer", beyond, ids_below)
        return ids

    def _package_ids(self, text: str, adds: bool) -> list[int]:
        """The ids that the package finds; the first text loads the tokenizer.

        One that has exceeded the limits once is refused at once: the window reads the text at every key.
        """
        if self._key in _refused:
            raise InputError(_refused[self._key])
        try:
            with kept_process() as process:
                ids = process.ask("encode", key=self._key, text=text, adds=adds)
                if ids is None:
                    process.ask("load", key=self._key, text=self.text)
                    ids = process.ask("encode", key=self._key, text=text, adds=adds)
        except Exceeded as error:
            needs = Message("The tokenizer needs {limits} for this text.", limits=error.message)
            _refused[self._key] = needs
            raise InputError(needs) from None
        except TaskError as error:
            says = Message("The tokenizer cannot encode this text; it says: {error}", error=error.message)
            raise InputError(NO_FORM if error.task == "load" else says) from None
        return list(ids)


_refused: dict[str, Message] = {}
"""The tokenizers that have exceeded the limits, with the sentence about each."""


def can_encode() -> bool:
    """True if the optional package that runs a tokenizer.json is installed."""
    return importlib.util.find_spec("tokenizers") is not None


def whole_text(data: Mapping[str, Any]) -> str:
    """A tokenizer.json as text, without padding and truncation.

    A file may ask for both, to one length: they serve batches and change what a model reads.
    """
    plain = {**data, "padding": None, "truncation": None}
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))


def kept_text(data: Mapping[str, Any]) -> str | None:
    """A tokenizer.json in the form of a document; None if it is too long."""
    text = whole_text(data)
    return text if len(text) <= LONGEST else None


@dataclass(frozen=True)
class _Outline:
    """All that is kept of a tokenizer.json beside its text: the package reads that in its own process.

    `added` has its added tokens, and whether each is found in the normalised text; `first` and `last` are the
    tokens that are put around a text.
    """

    special: frozenset[str]
    added: Mapping[str, bool]
    marks: Marks
    leading: LeadingSpace
    first: tuple[str, ...]
    last: tuple[str, ...]


def _outline(data: Mapping[str, Any]) -> _Outline:
    """The outline of a tokenizer.json. Raises one of the `FORM_FAULTS` for another form."""
    added = data.get("added_tokens") or ()
    kinds = [step.get("type") for step in _steps(data.get("decoder"), "decoders")]
    return _Outline(
        frozenset(one["content"] for one in added if one.get("special")),
        {one["content"]: bool(one.get("normalized")) for one in added},
        next((marks for marks in MARKS if marks.decoder in kinds), _WORDS),
        _leading(data),
        *_ends(data.get("post_processor")),
    )


def _leading(data: Mapping[str, Any]) -> LeadingSpace:
    """The rule by which a tokenizer.json prepends a space to a text."""
    if any(step.get("type") == "Prepend" for step in _steps(data.get("normalizer"), "normalizers")):
        return "always"
    for step in _steps(data.get("pre_tokenizer"), "pretokenizers"):
        if step.get("type") == "Metaspace":
            scheme = step.get("prepend_scheme", "always")
            return SCHEMES.get(scheme, "never")
        if step.get("type") == "ByteLevel" and step.get("add_prefix_space"):
            return "unless_there"
    return "never"


SCHEMES: dict[str, LeadingSpace] = {"first": "first", "always": "unless_there", "never": "never"}
"""By the scheme of a Metaspace; `first` leaves the parts behind an added token without a space."""


def _ends(part: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The tokens that a post-processor puts before a text and behind it."""
    first: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    for step in _steps(part, "processors"):
        if step.get("type") in ("RobertaProcessing", "BertProcessing"):
            first, last = (step["cls"][0],), (step["sep"][0],)
        elif step.get("type") == "TemplateProcessing":
            names = [
                str(one["SpecialToken"]["id"]) if "SpecialToken" in one else "" for one in step["single"]
            ]
            at = names.index("")
            first, last = tuple(names[:at]), tuple(names[at + 1 :])
    return first, last


def _steps(part: Any, members: str) -> list[dict[str, Any]]:
    """The steps of a part of a tokenizer, one or a sequence of them."""
    if not isinstance(part, dict):
        return []
    return [step for step in part.get(members, [part]) if isinstance(step, dict)]
