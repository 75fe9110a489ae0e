"""The pieces of which a model composes texts: the rule that joins a vocabulary's tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from attnviz.core.bpe import LONGEST_ADDED, BytePairs, LeadingSpace, fault_in
from attnviz.core.tokens import token_bytes
from attnviz.errors import FieldError, Message, must_be, of_length
from attnviz.i18n import N_
from attnviz.model.memo import WeakMemo
from attnviz.model.spec.field import Field
from attnviz.model.spec.tokenizer_file import TokenizerFile
from attnviz.model.spec.value import Value, require

if TYPE_CHECKING:
    from attnviz.model.spec.vocabulary import Vocabulary

PieceName = Literal["words", "metaspace", "byte_level"]

MOST_MERGES = 200_000
"""Most merges that a document holds: the JSON of a document has to stay one that is read back."""


class AddedToken(Value, frozen=True):
    """A token that is found in a text before it is split, with the flags of a tokenizer.json."""

    where: ClassVar[str] = "vocabulary.pieces.added."

    token: Annotated[str, Field(N_("Added token"), N_("A token that is found in a text before it is split"))]
    lstrip: Annotated[
        bool, Field(N_("Space before"), N_("The white space before the token belongs to it"))
    ] = False
    rstrip: Annotated[
        bool, Field(N_("Space behind"), N_("The white space behind the token belongs to it"))
    ] = False
    single_word: Annotated[bool, Field(N_("Single word"), N_("The token is not found inside a word"))] = False
    normalized: Annotated[
        bool, Field(N_("In normalised text"), N_("The token is found in the normalised text"))
    ] = False

    def check(self) -> None:
        n = len(self.token)
        bounded = Message("must have length {least} to {most}", least=1, most=LONGEST_ADDED)
        require(0 < n <= LONGEST_ADDED, self.where + "token", of_length(n), bounded)


class Pieces(Value, frozen=True):
    """Conversion of a text to tokens of a vocabulary and back; see `core/bpe.py`.

    `kind` names the rule by which a text is cut; `merges` are pairs of tokens, lowest rank first. With
    `whole_words` a word that is a token is not assembled from pieces. `leading_space` prepends a space to a
    text. `special` are tokens without a text of their own; one is found in a text as it is written, or as
    `added` defines, which also has the other tokens that are found before a text is split.
    """

    where: ClassVar[str] = "vocabulary.pieces."

    kind: Annotated[PieceName, Field(N_("Kind of pieces"), N_("The rule by which a text is split"))]
    merges: Annotated[
        tuple[tuple[str, str], ...],
        Field(N_("Merges"), N_("Pairs of tokens that merge, the first pair first")),
    ] = ()
    whole_words: Annotated[bool, Field(N_("Whole words"), N_("A word that is a token is not split"))] = False
    leading_space: Annotated[
        LeadingSpace, Field(N_("Leading space"), N_("Rule that adds a space before a text"))
    ] = "never"
    special: Annotated[
        tuple[str, ...], Field(N_("Special tokens"), N_("Tokens that stand for no text, found as written"))
    ] = ()
    added: Annotated[
        tuple[AddedToken, ...],
        Field(N_("Added tokens"), N_("Tokens that are found in a text before it is split, with their rules")),
    ] = ()

    def check(self) -> None:
        count = len(self.merges)
        at_most = Message("must have length {n:,} or less", n=MOST_MERGES)
        require(count <= MOST_MERGES, self.where + "merges", of_length(count), at_most)

    def check_tokens(self, tokens: tuple[str, ...]) -> None:
        """Refuse tokens that these pieces cannot write every text with. Raises `ValueError`."""
        fault = fault_in(tokens, self.merges, self.kind)
        if fault is not None:
            raise FieldError(f"{self.where}{fault.path}", fault.value, fault.requirement)
        known = set(tokens)
        for token in self.special:
            require(token in known, self.where + "special", token, must_be("one of vocabulary.tokens"))


def byte_pairs(vocabulary: Vocabulary | None) -> BytePairs | TokenizerFile | None:
    """The tokeniser of a vocabulary; None without one, or if the vocabulary does not store it."""
    return None if vocabulary is None else _encoder_of(vocabulary)


def text_tokens(vocabulary: Vocabulary, text: str, *, has_ends: bool = False) -> tuple[str, ...]:
    """The tokens of `text` for a model, with those that its tokenizer puts around it unless it `has_ends`.

    Raises `ValueError` if the vocabulary does not store its tokenisation, and for half of a surrogate pair.
    """
    pairs = byte_pairs(vocabulary)
    if pairs is None:
        raise FieldError("vocabulary.pieces", None, must_be("a rule that splits a text into tokens"))
    return tuple(vocabulary.tokens[one] for one in pairs.encode(text, has_ends=has_ends))


def own_tokens(vocabulary: Vocabulary, text: str) -> tuple[str, ...]:
    """The tokens of the vocabulary for a text in the middle of others, each with an embedding.

    A text that is a token, or the shown form of a token (⟨E4⟩ for a byte), is that one; any other is cut as
    the model would cut it there. Raises `ValueError` if the vocabulary does not store its tokenisation and
    lacks the token: it would have the vector of another; and for half of a surrogate pair.
    """
    pairs = byte_pairs(vocabulary)
    if pairs.has(text) if pairs is not None else text in vocabulary.tokens:
        return (text,)
    if pairs is None:
        raise FieldError("token", text, must_be("a token of the vocabulary, which has no rule to split it"))
    data = token_bytes(text)
    byte = pairs.byte_id(data[0]) if len(data) == 1 else None
    ids = pairs.encode_inside(text) if byte is None else [byte]
    if not ids:
        raise FieldError("token", text, must_be("a text that contains a token of the vocabulary"))
    return tuple(pairs.tokens[one] for one in ids)


def encoder(
    tokens: tuple[str, ...], pieces: Pieces | None, tokenizer: str | None, begin: str | None, end: str | None
) -> BytePairs | TokenizerFile | None:
    """The tokeniser of the tokens by id: of the `pieces`, else of the text of a tokenizer.json, if any."""
    if pieces is None:
        return None if tokenizer is None else TokenizerFile(tokens, tokenizer)
    special = frozenset((*pieces.special, *(token for token in (begin, end) if token is not None)))
    with_rules = {one.token for one in pieces.added}
    added = (*pieces.added, *(AddedToken(token) for token in pieces.special if token not in with_rules))
    leading = pieces.leading_space
    return BytePairs(tokens, pieces.merges, pieces.kind, pieces.whole_words, leading, special, added, begin)


def _encoder(known: Vocabulary) -> BytePairs | TokenizerFile | None:
    return encoder(known.tokens, known.pieces, known.tokenizer, known.begin, known.end)


def writes_alike(one: Vocabulary, other: Vocabulary) -> bool:
    """True if two vocabularies split every text into the same tokens: they differ in numbers at most."""
    fixed = one.pieces == other.pieces and one.begin == other.begin and one.end == other.end
    return fixed and one.tokenizer == other.tokenizer and one.tokens == other.tokens


_encoder_of = WeakMemo(_encoder, like=writes_alike)
"""`byte_pairs`, kept as long as the vocabulary, or one with other numbers, lives."""
