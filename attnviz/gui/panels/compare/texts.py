"""Texts of the panel: its title, the captions of A and B, and the lines of what differs."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QWidget

from attnviz.core.text import visible
from attnviz.engines.table import ENGINE_BY_ID
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.panels.compare.requests import OwnAnswer, Pinned, Where
from attnviz.gui.widgets.elided_label import ElidedLabel
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import _
from attnviz.model.io.titles import as_shown
from attnviz.model.sites.titles import label_among_several
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.stages import STAGE_BY_ID
from attnviz.study.claims.own import Answer

Line = tuple[str, str, str]
"""A title, and its values in A and in B."""

MOST_LINES = 40


class Differs(QWidget):
    """A table of three columns: the field, its value in A, its value in B."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(GRID)
        self._grid.setVerticalSpacing(4)
        for column, stretch in enumerate((5, 3, 3)):
            self._grid.setColumnStretch(column, stretch)
        self._labels: list[tuple[ElidedLabel, ElidedLabel, ElidedLabel]] = []
        self._note = QLabel()
        self._note.setObjectName("compare_note")
        self._note.setTextFormat(Qt.TextFormat.PlainText)
        self._note.setWordWrap(True)
        self._note.setFont(ui_font(TEXT_PX))
        self._note.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
        self._grid.addWidget(self._note, MOST_LINES + 1, 0, 1, 3)
        self._grid.setRowStretch(MOST_LINES + 2, 1)

    @property
    def lines(self) -> tuple[Line, ...]:
        """The shown lines."""
        shown = [row for row in self._labels if not row[0].isHidden()]
        return tuple((one.text(), a.text(), b.text()) for one, a, b in shown)

    def set_lines(self, lines: Sequence[Line], note: str) -> None:
        """Show other lines, and a sentence below them."""
        lines = lines[:MOST_LINES]
        while len(self._labels) < len(lines):
            self._add_row()
        for index, row in enumerate(self._labels):
            for column, label in enumerate(row):
                label.setVisible(index < len(lines))
                if index < len(lines):
                    label.set_line(lines[index][column])
        self._note.setText(note)
        self._note.setVisible(bool(note))

    def _add_row(self) -> None:
        row = ElidedLabel(), ElidedLabel(), ElidedLabel()
        for column, label in enumerate(row):
            label.setFont(ui_font(TEXT_PX, QFont.Weight.DemiBold if column == 2 else QFont.Weight.Normal))
            self._grid.addWidget(label, len(self._labels), column)
        set_tone("muted", row[1])
        set_tone("accent", row[2])
        self._labels.append(row)


def title(document: Document, called: str) -> str:
    """The document and the numbers: a stage, or a gradient by it."""
    return " · ".join(part for part in (as_shown(document.title), called) if part)


def captions(answer: OwnAnswer) -> tuple[str, str]:
    """The places of A and B, and what else tells them apart: document, engine, precision."""
    documents = answer.pinned.document, answer.document
    names = [as_shown(document.title) for document in documents]
    found = []
    for index, (document, where, first) in enumerate(
        zip(documents, answer.where, (_("pinned"), _("now")), strict=True)
    ):
        parts = [first]
        if names[0] != names[1]:
            parts.append(names[index])
        parts += _place(document.experiment, where, answer.contrast.sides[index].head, answer)
        if answer.engines[0] != answer.engines[1]:
            parts.append(_engine(answer.engines[index]))
        found.append(" · ".join(part for part in parts if part))
    return found[0], found[1]


def differing(answer: OwnAnswer) -> tuple[list[Line], str]:
    """The differing fields with both values, and a sentence about all others."""
    lines: list[Line] = []
    first, second = answer.pinned.document, answer.document
    if first.title != second.title:
        lines.append((_("Document"), as_shown(first.title), as_shown(second.title)))
    pairs = zip((first, second), answer.where, answer.contrast.sides, strict=True)
    places = [_place(one.experiment, where, side.head, answer) for one, where, side in pairs]
    for name, a, b in zip((_("Layer"), _("Head")), *places, strict=True):
        if a and b and a != b:
            lines.append((name, a, b))
    if answer.engines[0] != answer.engines[1]:
        lines.append((_("Engine"), _engine(answer.engines[0]), _engine(answer.engines[1])))
    lines += [(one.title(), *one.texts()) for one in answer.differences]
    lines += [(visible(a.claim), _held(a), _held(b)) for a, b in answer.claims if a.is_true != b.is_true]
    if not lines:
        return lines, _("A and B are the same state. Change anything in the window.")
    return lines, _("Everything else is equal.")


def _held(answer: Answer) -> str:
    """The answer to a claim in words."""
    words = {True: _("holds"), False: _("does not hold"), None: answer.problem_text()}
    return words[answer.is_true]


def _place(experiment: Experiment, where: Where, head: int, answer: OwnAnswer) -> tuple[str, str]:
    """The layer of several, and the head of a stage with heads; empty without them."""
    layer, row = label_among_several(experiment, where.site), STAGE_BY_ID[answer.contrast.stage]
    if not row.per_head:
        return layer, ""
    name = _("KV head {head}") if row.axes[0] == "kv_head" else _("head {head}")
    return layer, name.format(head=head + 1)


def _engine(engine: str) -> str:
    return ENGINE_BY_ID[engine].label


def name_of_pinned(pinned: Pinned) -> str:
    """The file, else the title, of the document of A."""
    named = as_shown(pinned.document.title) if pinned.path is None else pinned.path.name
    return visible(named)
