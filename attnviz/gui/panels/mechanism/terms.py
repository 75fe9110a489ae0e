"""Terms of the search: which controls a section has, and by which words they are found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtWidgets import QWidget

from attnviz.gui.forms.fields import Choice
from attnviz.gui.forms.rows import Row
from attnviz.gui.panels.mechanism.families import FamilyTile
from attnviz.gui.panels.mechanism.norm import NormLine
from attnviz.i18n import in_every_language


@dataclass(frozen=True)
class Term:
    """A control, the messages that name it or its options, and those that describe them."""

    widget: QWidget
    names: tuple[str, ...]
    hints: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """All messages of the control."""
        return (*self.names, *self.hints)


def answering(terms: Sequence[Term], words: str) -> list[Term]:
    """The terms with every word in one name; where no name has them, those with every word in one hint."""
    return [term for term in terms if _has(term.names, words)] or [
        term for term in terms if _has(term.hints, words)
    ]


def _has(messages: Iterable[str], words: str) -> bool:
    """True if every word is part of one message, in any of the languages, in any case."""
    wanted = words.casefold().split()
    return any(
        all(word in text.casefold() for word in wanted)
        for message in messages
        for text in in_every_language(message)
    )


def terms_in(content: QWidget) -> Iterator[Term]:
    """The rows of forms, the lines of norms and the tiles of masks inside `content`."""
    for widget in content.findChildren(QWidget):
        read = next((read for kind, read in _READ if isinstance(widget, kind)), None)
        if read is not None:
            yield Term(widget, *read(widget))


def _of_row(row: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    field = row.field
    options = field.options if isinstance(field, Choice) else ()
    labels = tuple(label for _id, label, _tip in options)
    tips = tuple(line for _id, _label, tip in options for line in tip.split("\n"))
    return (field.label, *labels), (field.hint, *tips)


_READ: tuple[tuple[type[Any], Any], ...] = (
    (Row, _of_row),
    (NormLine, lambda line: ((line.slot.label,), (line.slot.hint,))),
    (FamilyTile, lambda tile: ((tile.family.title,), (tile.family.description,))),
)
