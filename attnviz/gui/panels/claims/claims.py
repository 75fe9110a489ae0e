"""The claim checker: sentences of textbooks with verdicts from the engine, and claims of the document."""

from __future__ import annotations

import re
from functools import partial
from html import unescape

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from attnviz.gui.live.answer import Answer
from attnviz.gui.look.fonts import section_title_font, ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.look.words import says
from attnviz.gui.panels.claims import questions
from attnviz.gui.panels.claims.detail import Detail
from attnviz.gui.panels.claims.line import ClaimLine
from attnviz.gui.panels.claims.own import OwnClaims
from attnviz.gui.panels.claims.questions import Group, OwnAsked
from attnviz.gui.panels.claims.way_back import WayBack
from attnviz.gui.panels.panel import Panel
from attnviz.gui.services.services import Services
from attnviz.gui.store import Store
from attnviz.gui.widgets.holds_chip import holds_in
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.gui.widgets.tone import set_tone
from attnviz.gui.widgets.window_keys import LineEdit
from attnviz.i18n import N_, _, current_language
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import View
from attnviz.model.trace import Trace
from attnviz.study.claims.scope import scope_now
from attnviz.study.lessons.judging import Judged
from attnviz.study.lessons.table import CLAIMS

_TAG = re.compile(r"<[^>]*>")


class ClaimsPanel(Panel):
    """Own claims, then the claims of textbooks by groups; one of them is open at a time."""

    follows = ("site", "head")

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._to_come = list(CLAIMS)
        """The files of textbooks' claims whose verdicts are still to come."""
        self._table = Answer("claims", questions.group, self)
        self._table.answered.connect(self._on_group)
        self._own = self.asks(Answer("own_claims", questions.own, self))
        self._own.answered.connect(self._on_answers)
        self._document = Answer("lesson", questions.document, self)
        self._document.answered.connect(self._on_read)
        self._way_back = WayBack(store, self)
        self._way_back.changed.connect(self._set_left)
        self._opened: tuple[str, View] | None = None
        """The id of the claim whose document is in the program, and the view in which it was opened."""
        self._sections: list[_Section] = []
        self.own, self.detail = OwnClaims(), Detail(self)
        self.own.changed.connect(self._on_own)
        self.detail.hide()
        self.detail.show_it.clicked.connect(self._on_show)
        self.detail.mend.clicked.connect(self._on_mend)
        self.detail.back.clicked.connect(self._way_back.go)
        self.detail.set_left(False)
        says(self, name=N_("Claims"))
        search = N_("Search the claims")
        self.search = says(LineEdit(), id="claims_search", name=search, placeholder=search)
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

    def serve(self, services: Services) -> None:
        """Claims have a worker of their own: one may take seconds, and nothing else waits for it."""
        super().serve(services)
        for answer in (self._table, self._own):
            answer.serve(services.schedulers.claims)
        self._document.serve(services.schedulers.run)
        self.own.edit.recall(services.settings.lines("claims"))
        self.own.edit.remembered.connect(partial(services.settings.set_lines, "claims"))

    # --- following

    def on_document(self, old: Document | None, new: Document) -> None:
        self.own.set_claims(new.claims)
        self._ask_own()

    def on_trace(self, trace: Trace) -> None:
        if self._table.asked is None:
            self._ask_group()
        self._ask_own()
        self._show_now()

    def looks_anew(self, old: Document, new: Document) -> bool:
        return old.claims != new.claims or super().looks_anew(old, new)

    def set_seen(self, is_seen: bool) -> None:
        """Behind another tab no claim is computed; in front all are again."""
        if not is_seen and self.is_seen:
            self._own.clear()
            self.forget()
        super().set_seen(is_seen)

    def _ask_own(self) -> None:
        document, trace = self.store.document, self.store.current_trace
        if not document.claims:
            self._own.clear()
        elif trace is not None:
            self._own.ask(OwnAsked(trace, document.view, document.claims))

    def _ask_group(self) -> None:
        """Ask for the next group of textbooks' claims; an edit goes between two of them."""
        if self._to_come:
            self._table.ask(self._to_come.pop(0))

    # --- answers

    @Slot()
    def _on_answers(self) -> None:
        """Show the verdicts on the claims of the document."""
        if self._own.result is not None:
            self.own.set_answers(self._own.result)

    @Slot()
    def _on_group(self) -> None:
        """Show a group of textbooks' claims."""
        if self._table.result is None:
            return
        section = _Section(self._table.result)
        for judged, line in section.lines:
            line.clicked.connect(partial(self._on_line, judged, line))
        self._sections.append(section)
        self._column.insertWidget(self._column.count() - 1, section)
        section.retranslate()
        self._on_search(self.search.text())
        self._ask_group()

    @Slot()
    def _on_read(self) -> None:
        """Open the document of a claim, or say why it cannot be read."""
        if self._document.result is not None:
            self._way_back.open(self._document.result)
        elif self._document.problem is not None:
            self.services.status.warn(self._document.problem)
        self._document.clear()

    @Slot(bool)
    def _set_left(self, has_left: bool) -> None:
        """Say whether a claim was opened in the program, from which one can return."""
        self.detail.set_left(has_left)
        judged = self.detail.judged
        self._opened = (judged.step.id, self.store.document.view) if has_left and judged else None
        self._show_now()

    def _show_now(self) -> None:
        """Say whether the open claim holds in the document that it opened, as that is edited."""
        judged, opened = self.detail.judged, self._opened
        if judged is None or self.store.trace is None or opened is None or opened[0] != judged.step.id:
            self.detail.now.hide()
            return
        trace = self.store.current_trace
        if trace is not None:  # else it is on its way
            self.detail.now.set_verdict(holds_in(judged.step.claim, scope_now(trace, opened[1])))
            self.detail.now.show()

    def lines(self) -> list[tuple[Judged, ClaimLine]]:
        """The textbooks' claims with their lines, in order."""
        return [pair for section in self._sections for pair in section.lines]

    # --- looks

    def retranslate(self) -> None:
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
        if judged is not None and self.services.documents.may_leave():
            self._document.clear()
            self._document.ask(judged.step.cured if is_cured else judged.step.scene)


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
