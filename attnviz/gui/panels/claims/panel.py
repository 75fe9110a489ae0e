"""The claim checker: sentences of textbooks with verdicts from the engine, and claims of the document."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from html import unescape

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from attnviz.gui.look.fonts import section_title_font, ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.panels.claims.detail import Detail
from attnviz.gui.panels.claims.line import ClaimLine
from attnviz.gui.panels.claims.own import OwnClaims
from attnviz.gui.panels.panel import Panel
from attnviz.gui.store import Store
from attnviz.gui.widgets.holds_chip import holds_in
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.gui.widgets.tone import set_tone
from attnviz.gui.widgets.window_keys import LineEdit
from attnviz.i18n import _, current_language
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import View
from attnviz.model.trace import Trace
from attnviz.study.claims.own import Answer
from attnviz.study.claims.scope import scope_now
from attnviz.study.lessons.judging import Judged
from attnviz.study.lessons.lesson import Lesson, Scene

_TAG = re.compile(r"<[^>]*>")


@dataclass(frozen=True, eq=False)
class OwnAsked:
    """The claims of a document, to answer over its trace."""

    trace: Trace
    view: View
    claims: tuple[str, ...]


@dataclass(frozen=True)
class Group:
    """The judged claims of one file."""

    lesson: Lesson
    claims: tuple[Judged, ...]


class ClaimsPanel(Panel):
    """Own claims, then the claims of textbooks by groups; one of them is open at a time."""

    table_asked = Signal()
    """The verdicts on the textbooks' claims are wanted; `show_group` takes them group by group."""
    own_asked = Signal(object)
    """An `OwnAsked`, or None to stop; `show_answers` takes the answers."""
    scene_wanted = Signal(object)
    """A `Scene` to open."""
    return_wanted = Signal()

    follows = ("site", "head")

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._is_asked = False
        self._opened: tuple[str, View] | None = None
        """The id of the claim whose document is in the program, and the view in which it was opened."""
        self._sections: list[_Section] = []
        self.own, self.detail = OwnClaims(), Detail(self)
        self.own.changed.connect(self._on_own)
        self.detail.hide()
        self.detail.show_it.clicked.connect(self._on_show)
        self.detail.mend.clicked.connect(self._on_mend)
        self.detail.back.clicked.connect(self.return_wanted)
        self.search = LineEdit()
        self.search.setObjectName("claims_search")
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(self._on_search)
        self._note = QLabel()
        self._note.setWordWrap(True)
        self._note.setFont(ui_font(TEXT_PX))
        content = QWidget()
        self._column = QVBoxLayout(content)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(GRID // 2)
        for part in (self.own, self.search, self._note):
            self._column.addWidget(part)
        self._column.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(clear_scroll(content, sideways=False))
        set_tone("muted", self._note)

    # --- following

    def on_document(self, old: Document | None, new: Document) -> None:
        self.own.set_claims(new.claims)
        self._ask_own()

    def on_trace(self, trace: Trace) -> None:
        if not self._is_asked:
            self._is_asked = True
            self.table_asked.emit()
        self._ask_own()
        self._show_now()

    def looks_anew(self, old: Document, new: Document) -> bool:
        return old.claims != new.claims or super().looks_anew(old, new)

    def set_seen(self, is_seen: bool) -> None:
        """Behind another tab no claim is computed; in front all are again."""
        if not is_seen and self.is_seen:
            self.own_asked.emit(None)
            self.forget()
        super().set_seen(is_seen)

    def _ask_own(self) -> None:
        document, trace = self.store.document, self.store.trace
        if document.claims and trace is not None and trace.experiment is document.experiment:
            self.own_asked.emit(OwnAsked(trace, document.view, document.claims))

    # --- answers

    def show_answers(self, answers: tuple[Answer, ...]) -> None:
        """Show the verdicts on the claims of the document."""
        self.own.set_answers(answers)

    def show_group(self, group: Group) -> None:
        """Show the next group of textbooks' claims."""
        section = _Section(group)
        for judged, line in section.lines:
            line.clicked.connect(partial(self._on_line, judged, line))
        self._sections.append(section)
        self._column.insertWidget(self._column.count() - 1, section)
        section.retranslate()
        self._on_search(self.search.text())

    def set_left(self, has_left: bool) -> None:
        """Say whether a claim was opened in the program, from which one can return."""
        self.detail.set_left(has_left)
        judged = self.detail.judged
        self._opened = (judged.step.id, self.store.document.view) if has_left and judged else None
        self._show_now()

    def _show_now(self) -> None:
        """Say whether the open claim holds in the document that it opened, as that is edited."""
        judged, trace, opened = self.detail.judged, self.store.trace, self._opened
        if judged is None or trace is None or opened is None or opened[0] != judged.step.id:
            self.detail.now.hide()
            return
        if trace.experiment is self.store.experiment:  # else its numbers are on their way
            self.detail.now.set_verdict(holds_in(judged.step.claim, scope_now(trace, opened[1])))
            self.detail.now.show()

    def lines(self) -> list[tuple[Judged, ClaimLine]]:
        """The textbooks' claims with their lines, in order."""
        return [pair for section in self._sections for pair in section.lines]

    # --- looks

    def retranslate(self) -> None:
        self.setAccessibleName(_("Claims"))
        self.search.setPlaceholderText(_("Search the claims"))
        self.search.setAccessibleName(_("Search the claims"))
        self.own.retranslate()
        self.detail.retranslate()
        for section in self._sections:
            section.retranslate()
        if self.detail.judged is not None:
            self.detail.show_claim(self.detail.judged, self.detail.judged.card(current_language()))
        self._show_now()
        self._on_search(self.search.text())

    # --- acting

    @Slot(object)
    def _on_own(self, claims: tuple[str, ...]) -> None:
        self.store.claim(claims)
        self.own.set_claims(self.store.document.claims)

    @Slot(str)
    def _on_search(self, text: str) -> None:
        """Show the claims that contain the text."""
        count = sum(section.search(text.casefold().strip()) for section in self._sections)
        shown = [line for section in self._sections for _judged, line in section.lines if line.isChecked()]
        self.detail.setVisible(any(not line.isHidden() for line in shown))
        words = _("Computing the verdicts…") if not self._sections else _("No claim has these words.")
        self._note.setText(words)
        self._note.setVisible(count == 0)

    def _on_line(self, judged: Judged, line: ClaimLine) -> None:
        """Open a claim below its line, or close it."""
        for _other, one in self.lines():
            one.setChecked(one is line and line.isChecked())
        if not line.isChecked():
            self.detail.hide()
            return
        self.detail.show_claim(judged, judged.card(current_language()))
        self._show_now()
        next(section for section in self._sections if section.put_below(line, self.detail))
        self.detail.show()

    @Slot()
    def _on_show(self) -> None:
        self._open(is_cured=False)

    @Slot()
    def _on_mend(self) -> None:
        self._open(is_cured=True)

    def _open(self, is_cured: bool) -> None:
        judged = self.detail.judged
        if judged is not None:
            scene: Scene = judged.step.cured if is_cured else judged.step.scene
            self.scene_wanted.emit(scene)


class _Section(QWidget):
    """The title of a group and a line for each of its claims."""

    def __init__(self, group: Group) -> None:
        super().__init__()
        self._group = group
        self._title = QLabel()
        self._title.setFont(section_title_font())
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, GRID, 0, 0)
        self._column.setSpacing(0)
        self._column.addWidget(self._title)
        self.lines = [(judged, ClaimLine()) for judged in group.claims]
        for judged, line in self.lines:
            line.setObjectName(f"claim_{judged.step.id}")
            self._column.addWidget(line)
        set_tone("muted", self._title)

    def search(self, text: str) -> int:
        """Show the lines that contain a text; returns how many do."""
        count = 0
        for _judged, line in self.lines:
            is_found = text in line.sentence.casefold()
            line.setVisible(is_found)
            count += is_found
        self.setVisible(count > 0)
        return count

    def put_below(self, line: ClaimLine, detail: QWidget) -> bool:
        """Move the detail below a line; False if the line is another section's."""
        place = self._column.indexOf(line)
        if place >= 0:
            self._column.removeWidget(detail)
            self._column.insertWidget(self._column.indexOf(line) + 1, detail)
        return place >= 0

    def retranslate(self) -> None:
        language = current_language()
        self._title.setText(self._group.lesson.title(language))
        for judged, line in self.lines:
            line.set_claim(unescape(_TAG.sub("", judged.card(language).sentence)), judged.verdict)
