"""The claim checker: sentences of textbooks that ask, then tell the engine's verdict, and own claims."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from html import unescape

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from attnviz.checkpoints.presets import load_preset
from attnviz.core.progress import Progress
from attnviz.gui.live.answer import Answer
from attnviz.gui.look.fonts import section_title_font, ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.look.words import says
from attnviz.gui.panels.claims.detail import Detail
from attnviz.gui.panels.claims.own import ClaimLine, OwnClaims
from attnviz.gui.panels.panel import Panel
from attnviz.gui.services.services import Services
from attnviz.gui.store import Store
from attnviz.gui.widgets.control import MOUSE_ONLY
from attnviz.gui.widgets.holds_chip import holds_in
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.gui.widgets.toggle import Toggle
from attnviz.gui.widgets.tone import set_tone
from attnviz.gui.widgets.window_keys import LineEdit
from attnviz.i18n import N_, _, current_language
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import View
from attnviz.model.trace import Trace
from attnviz.study.claims.own import Answer as Verdict
from attnviz.study.claims.own import answers
from attnviz.study.claims.scope import Scope, scope_now
from attnviz.study.lessons.judging import Judged, judged
from attnviz.study.lessons.lesson import Lesson, Scene
from attnviz.study.lessons.scene import document_of
from attnviz.study.lessons.table import CLAIMS, shipped_claims


@dataclass(frozen=True)
class OwnAsked:
    """The claims of a document, over its run."""

    trace: Trace
    view: View
    claims: tuple[str, ...]


def judged_own(asked: OwnAsked, check: Progress) -> tuple[Verdict, ...]:
    """The verdicts on the claims of a document."""
    return answers(asked.claims, Scope(asked.trace, asked.view), check)


@dataclass(frozen=True)
class Group:
    """The judged claims of one file."""

    lesson: Lesson
    claims: tuple[Judged, ...]


_GROUPS: dict[str, Group] = {}
"""Textbooks' claims with their verdicts, in every language: they depend on no document of a window."""


def judged_group(id_: str, check: Progress) -> Group:
    """The claims of a file with their verdicts, computed once for all windows."""
    from attnviz.compute.execute import execute

    if id_ not in _GROUPS:
        lesson = shipped_claims(id_)
        _GROUPS[id_] = Group(lesson, judged(lesson, load_preset, execute, check))
    return _GROUPS[id_]


def shipped_document(scene: Scene, check: Progress) -> Document:
    """The document of a claim."""
    return document_of(scene, load_preset, check)


MOST_STEPS_BACK = 100


class WayBack(QObject):
    """Remembers the document before the first claim that was opened, until that is open again."""

    changed = Signal(bool)
    """Whether a document to go back to is known."""

    def __init__(self, store: Store, parent: QObject) -> None:
        super().__init__(parent)
        self._store = store
        self._before: Document | None = None
        store.changed.connect(self._on_changed)

    def open(self, document: Document) -> None:
        """Open the document of a claim, which leaves no chapter."""
        before = self._before if self._before is not None else self._store.document
        self._store.open(document)
        self._store.stand_in()
        self._before = before
        self.changed.emit(True)

    @Slot()
    def go(self) -> None:
        """Undo until the document before the claims is back."""
        store, before = self._store, self._before
        for _step in range(MOST_STEPS_BACK):
            if before is None or store.document == before or not store.can_undo:
                break
            store.undo()
        if before is not None and store.document != before:
            store.open(before)
        self._forget()

    @Slot(object, object)
    def _on_changed(self, old: Document, new: Document) -> None:
        if self._before is not None and new == self._before:
            self._forget()

    def _forget(self) -> None:
        self._before = None
        self.changed.emit(False)


_TAG = re.compile(r"<[^>]*>")


SHOW_ALL = "claims_show_all"
"""Name of the choice to see every verdict; its values are those of `_SHOWN`."""
_SHOWN = {"on": True, "off": False}


class ClaimsPanel(Panel):
    """Own claims, then the claims of textbooks by groups; one of them is open at a time.

    A claim of a textbook asks before it tells its verdict. What was answered stays told.
    """

    follows = ("site", "head")

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._to_come = list(CLAIMS)
        """The files of textbooks' claims whose verdicts are still to come."""
        self._table = Answer("claims", judged_group, self)
        self._table.answered.connect(self._on_group)
        self._own = self.asks(Answer("own_claims", judged_own, self))
        self._own.answered.connect(self._on_answers)
        self._document = Answer("lesson", shipped_document, self)
        self._document.answered.connect(self._on_read)
        self._way_back = WayBack(store, self)
        self._way_back.changed.connect(self._set_left)
        self._opened: tuple[str, View] | None = None
        """The id of the claim whose document is in the program, and the view in which it was opened."""
        self._sections: list[_Section] = []
        self._said: dict[str, bool] = {}
        """The reader's answers, by the ids of claims."""
        self.own, self.detail = OwnClaims(), Detail(self)
        self.detail.ask.answered.connect(self._on_said)
        self.own.changed.connect(self._on_own)
        self.detail.hide()
        self.detail.show_it.clicked.connect(self._on_show)
        self.detail.mend.clicked.connect(self._on_mend)
        self.detail.back.clicked.connect(self._way_back.go)
        self.detail.set_left(False)
        says(self, name=N_("Claims"))
        search = N_("Search the claims")
        self.search = says(LineEdit(), id="claims_search", name=search, placeholder=search)
        self.search.setProperty(MOUSE_ONLY, True)
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(self._on_search)
        tip = N_("Show the verdicts of all claims, answered or not")
        self.show_all = says(Toggle(""), N_("Show all answers"), id="claims_show_all", tip=tip)
        self.show_all.changed.connect(self._on_show_all)
        self._note = QLabel()
        self._note.setWordWrap(True)
        self._note.setFont(ui_font(TEXT_PX))
        content = QWidget()
        self._column = QVBoxLayout(content)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(GRID // 2)
        for part in (self.own, self.search):
            self._column.addWidget(part)
        self._column.addWidget(self.show_all, 0, Qt.AlignmentFlag.AlignLeft)
        self._column.addWidget(self._note)
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
        self.show_all.set_value(_SHOWN.get(services.settings.choice(SHOW_ALL, "off"), False))
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
        for told, line in section.lines:
            line.clicked.connect(partial(self._on_line, told, line))
        self._sections.append(section)
        self._column.insertWidget(self._column.count() - 1, section)
        section.show_lines(self._is_told)
        if section is self._sections[0] and not self.show_all.value():
            section.lines[0][1].click()  # what the room asks is seen at once
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
        """Say whether the open claim holds in the document that it opened, as that is edited.

        One about a training speaks of its run, which a document does not keep.
        """
        judged, opened = self.detail.judged, self._opened
        is_asking = self.store.trace is None or self.detail.is_asking
        is_of_run = judged is not None and judged.step.scene.training is not None
        if judged is None or opened is None or opened[0] != judged.step.id or is_asking or is_of_run:
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
        self._show_told()
        self._on_search(self.search.text())

    def _is_told(self, judged: Judged) -> bool:
        """True if the verdict of a claim is shown."""
        return self.show_all.value() or judged.step.id in self._said

    def _show_told(self) -> None:
        """Show the verdicts of the claims that were answered, or of all."""
        for section in self._sections:
            section.show_lines(self._is_told)
        if self.detail.judged is not None:
            self._show_detail(self.detail.judged)

    def _show_detail(self, judged: Judged) -> None:
        """Show a claim below its line, in the active language."""
        said, is_asked = self._said.get(judged.step.id), not self._is_told(judged)
        self.detail.show_claim(judged, judged.card(current_language()), said, is_asked=is_asked)
        self._show_now()

    # --- acting

    @Slot(bool)
    def _on_said(self, said: bool) -> None:
        """Tell the verdict on the open claim, which stays told."""
        judged = self.detail.judged
        if judged is not None:
            self._said[judged.step.id] = said
            had_focus = any(button.hasFocus() for button in self.detail.ask.buttons.values())
            self._show_told()
            if had_focus:
                line = next(line for told, line in self.lines() if told is judged)
                line.setFocus(Qt.FocusReason.OtherFocusReason)

    @Slot(bool)
    def _on_show_all(self, is_on: bool) -> None:
        name = next(name for name, value in _SHOWN.items() if value == is_on)
        self.services.settings.set_choice(SHOW_ALL, name)
        self._show_told()

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
        self._show_detail(judged)
        next(section for section in self._sections if section.put_below(line, self.detail))
        self.detail.show()
        if self.detail.is_asking and line.hasFocus():
            self.detail.ask.buttons[True].setFocus(Qt.FocusReason.TabFocusReason)

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
        self.lines = [(told, ClaimLine()) for told in group.claims]
        for told, line in self.lines:
            line.setObjectName(f"claim_{told.step.id}")
            self._column.addWidget(line)
        set_tone("muted", self._title)

    def search(self, text: str) -> int:
        """Show the lines whose sentence or title contains a text; returns how many do."""
        count = 0
        for told, line in self.lines:
            title = told.step.words_in(current_language()).title
            is_found = text in line.sentence.casefold() or text in title.casefold()
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

    def show_lines(self, is_told: Callable[[Judged], bool]) -> None:
        """Show the sentences in the active language, with the verdicts that are told."""
        language = current_language()
        self._title.setText(self._group.lesson.title(language))
        for told, line in self.lines:
            sentence = unescape(_TAG.sub("", told.card(language).sentence))
            if is_told(told):
                line.set_claim(sentence, told.verdict)
            else:
                line.set_claim(sentence, None, _("not answered yet"))
