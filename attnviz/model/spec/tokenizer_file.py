"""A model's own tokenizer.json, run by the package `tokenizers`: for tokenizers that `Pieces` do not cover.

These are WordPiece, Unigram, and byte-pair encoding with steps that `core/bpe.py` does not have. Ids are
those of the vocabulary. What a token is shown as, and the text of several, need no package.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from attnviz.core.bpe import PIECE_KIND_BY_ID, check_text, shown_bytes
from attnviz.core.tokens import token_bytes
from attnviz.errors import FieldError, InputError, Message

LONGEST = 12 * 2**20
"""Most characters of a tokenizer.json that a document keeps: it stays one that is read back."""

NO_PACKAGE = Message(
    "A text needs the package tokenizers (pip install attnviz[models]), or ids must be given instead."
)
NO_FORM = Message("The file must be a tokenizer as the package tokenizers writes it; got something else.")


@dataclass(frozen=True)
class Marks:
    """Representation of spaces and bytes in a decoder's tokens.

    `bytes_of` returns the bytes of one token. `has_space(before, token)` is true if a text has a space
    between two neighbours that neither has in its bytes; `leads` if the first token's space is no text.
    """

    decoder: str
    bytes_of: Callable[[str], bytes]
    has_space: Callable[[str, str], bool]
    leads: bool


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
    Marks("ByteLevel", PIECE_KIND_BY_ID["byte_level"].bytes_of, _never, leads=False),
    Marks("Metaspace", _SPACED, _never, leads=True),
    Marks("Replace", _SPACED, _never, leads=True),
    Marks("WordPiece", _inside_bytes, _no_insides, leads=False),
    Marks("BPEDecoder", _end_bytes, _after_ends, leads=False),
)
"""By the type of the decoder, or of one of its steps."""

_WORDS = Marks("", _plain_bytes, _always, leads=False)
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
        return self._outline[0]

    @property
    def _marks(self) -> Marks:
        return self._outline[1]

    @cached_property
    def _outline(self) -> tuple[frozenset[str], Marks]:
        """The special tokens and the marks, all that is kept of the text: the package reads it anew."""
        found = json.loads(self.text)
        data = found if isinstance(found, dict) else {}
        added = data.get("added_tokens") or ()
        kinds = [step.get("type") for step in _steps(data.get("decoder"))]
        marks = next((marks for marks in MARKS if marks.decoder in kinds), _WORDS)
        return frozenset(one["content"] for one in added if one.get("special")), marks

    @cached_property
    def _tokenizer(self) -> Any:
        return library_tokenizer(self.text)

    def encode(self, text: str) -> list[int]:
        """The ids of a whole text, with the tokens that the tokenizer adds before and after.
        Raises `ValueError`.
        """
        return self._encoded(text, is_whole=True)

    def encode_inside(self, text: str) -> list[int]:
        """The ids of a part of a text. Raises `ValueError`."""
        return self._encoded(text, is_whole=False)

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
        return b"" if token in self._special else self._marks.bytes_of(token)

    def shown(self, one: int) -> str:
        """The shown form of a token: its text with its spaces; inside a word, the mark as well."""
        token = self.tokens[one]
        is_marked = self._marks.has_space is not _never
        return token if token in self._special or is_marked else shown_bytes(self.token_bytes(one))

    def join(self, tokens: Sequence[str]) -> str:
        """The text of tokens; special ones add nothing."""
        shown = [token for token in tokens if token not in self._special]
        data = b"".join(self._parts(shown))
        return shown_bytes(data[1:] if self._marks.leads and data[:1] == b" " else data)

    def _parts(self, tokens: list[str]) -> Iterator[bytes]:
        for index, (before, token) in enumerate(pairwise(["", *tokens])):
            if index and self._marks.has_space(before, token):
                yield b" "
            yield self._marks.bytes_of(token) if token in self._ids else token_bytes(token)

    def _encoded(self, text: str, *, is_whole: bool) -> list[int]:
        check_text(text)
        ids = self._tokenizer.encode(text, add_special_tokens=is_whole).ids
        beyond = next((one for one in ids if one >= len(self.tokens)), None)
        if beyond is not None:
            ids_below = Message("must give ids below {n}, the size of the vocabulary", n=len(self.tokens))
            raise FieldError("vocabulary.tokenizer", beyond, ids_below)
        return list(ids)


def can_encode() -> bool:
    """True if the optional package that runs a tokenizer.json is installed."""
    return importlib.util.find_spec("tokenizers") is not None


def library_tokenizer(text: str) -> Any:
    """The package's tokenizer of a tokenizer.json, which pads nothing and cuts nothing off.

    A file may ask for padding and truncation to one length: they serve batches and change what a model
    reads. Raises `ValueError` without the package, and for a text that it cannot read.
    """
    if not can_encode():
        raise InputError(NO_PACKAGE)
    from tokenizers import Tokenizer

    try:
        made = Tokenizer.from_str(text)
    except BaseException as error:  # plain Exception for every broken file; a panic is a BaseException
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        raise InputError(NO_FORM) from None
    made.no_padding()
    made.no_truncation()
    return made


def kept_text(data: dict[str, Any]) -> str | None:
    """A tokenizer.json in the form of a document, without padding and truncation; None if it is too long."""
    text = json.dumps(
        {**data, "padding": None, "truncation": None}, ensure_ascii=False, separators=(",", ":")
    )
    return text if len(text) <= LONGEST else None


def _steps(part: Any) -> list[dict[str, Any]]:
    """The steps of a decoder, one or a sequence of them."""
    if not isinstance(part, dict):
        return []
    return [step for step in part.get("decoders", [part]) if isinstance(step, dict)]
