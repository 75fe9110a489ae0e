"""The checkpoint that a matrix was read from: a document points at it, and need not hold the numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from attnviz.errors import InputError, Message
from attnviz.model.spec.field import LONGEST_TEXT
from attnviz.model.spec.value import Value, check_texts

if TYPE_CHECKING:
    from attnviz.model.spec.arrays import Matrix


Part = Literal["text", "image"]


class Link(Value, frozen=True):
    """A checkpoint: where it was, how it is told from others, and how it was imported.

    `size` is that of its files in bytes, `digest` a SHA-256 of their headers and of parts of their numbers;
    `part` is the encoder that was imported, of a model with one of texts and one of images.
    """

    path: str
    size: int
    digest: str
    attention_only: bool = False
    ignored_keys: tuple[str, ...] = ()
    part: Part = "text"

    def check(self) -> None:
        check_texts("path", (self.path,), LONGEST_TEXT)


class Origin(NamedTuple):
    """One matrix of a checkpoint: `name` is its place in the experiment that an import makes."""

    link: Link
    name: str


class CheckpointMissing(InputError):
    """The checkpoint of a document is not where it was, or is another one."""

    def __init__(self, message: Message, link: Link) -> None:
        super().__init__(message)
        self.link = link


Linked = Callable[[Link], Mapping[str, "Matrix"]]
"""The matrices of a checkpoint by name. Raises `CheckpointMissing`."""


def nothing_linked(link: Link) -> Mapping[str, Matrix]:
    """Refuse a document that points at a checkpoint, where none can be opened."""
    raise CheckpointMissing(
        Message("The weights must be in the document; they are in {path}.", path=link.path), link
    )
