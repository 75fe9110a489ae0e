"""Terms of the search: which controls a section has, and by which words they are found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from PySide6.QtWidgets import QWidget

from attnviz.gui.forms.fields import Choice
from attnviz.gui.forms.rows import Row
from attnviz.gui.panels.mechanism.families import FamilyTile
from attnviz.gui.panels.mechanism.norm import NormLine
from attnviz.i18n import in_all_languages


@dataclass(frozen=True)
class Term:
    """A control and the messages that name and describe it."""

    widget: QWidget
    texts: tuple[str, ...]

    def answers(self, words: str) -> bool:
        """True if every word is part of one message, in any of the languages, in any case."""
        wanted = words.casefold().split()
        return any(
            all(word in text.casefold() for word in wanted)
            for message in self.texts
            for text in in_all_languages(message)
        )


def terms_in(content: QWidget) -> Iterator[Term]:
    """The rows of forms, the lines of norms and the tiles of masks inside `content`."""
    for widget in content.findChildren(QWidget):
        texts = next((read(widget) for kind, read in _READ if isinstance(widget, kind)), ())
        if texts:
            yield Term(widget, texts)


def _of_row(row: Any) -> tuple[str, ...]:
    field = row.field
    options = field.options if isinstance(field, Choice) else ()
    lines = [line for _id, label, tip in options for line in (label, *tip.split("\n"))]
    return (field.label, field.hint, *lines)


_READ: tuple[tuple[type[Any], Any], ...] = (
    (Row, _of_row),
    (NormLine, lambda line: (line.slot.label, line.slot.hint)),
    (FamilyTile, lambda tile: (tile.family.title, tile.family.description)),
)
