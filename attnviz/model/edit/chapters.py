"""The history across documents: every open one is a chapter with an undo list of its own.

Undo goes from the first entry of a chapter to the chapter before it, redo the other way. Numbers are counted
once, however many entries share them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct

from attnviz.model.edit.history import History
from attnviz.model.edit.sharing import matrices_in, sharing
from attnviz.model.io.stamp import Stamp
from attnviz.model.io.tensors import Attached
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment

MOST_CHAPTERS = 10
"""Largest number of chapters when a document opens."""

MOST_NUMBERS = 5_000_000
"""Largest count of numbers in the arrays of all chapters but the present one, when a document opens."""


class RunRecord(Protocol):
    """A training run as far as it has come; a frozen value."""

    def attached(self) -> Attached:
        """The run as a file has it."""

    def with_text_of(self, trained: Experiment, present: Experiment) -> Experiment:
        """A trained experiment with the text of the present one."""

    def is_alike(self, one: Experiment, other: Experiment) -> bool:
        """True if two experiments differ in their texts alone, for the task of the run."""


@dataclass(frozen=True, eq=False)
class Begun:
    """The run of a document: its record, and the experiments that it belongs to.

    `pending` has the weights that are shown and that the document gets once its run is left or saved; None
    while it has them. `shown` is the step that is shown; None: that of the document.
    """

    record: RunRecord
    experiments: tuple[Experiment, ...]
    pending: Experiment | None = None
    shown: int | None = None

    def belongs_to(self, experiment: Experiment) -> bool:
        """True if the experiment is one of those, perhaps with another text."""
        return any(
            experiment is one or self.record.is_alike(experiment, one) for one in reversed(self.experiments)
        )


@dataclass(frozen=True)
class Chapter:
    """One document: its undo list, its file, and the content of the file (or of the opening).

    None where that content is not known, as after a crash whose journal is damaged: nothing counts as saved.
    """

    number: int
    """Identity of the chapter; it keeps its number wherever it moves."""
    history: History
    saved: Document | None
    path: Path | None = None
    edited: datetime | None = None
    """Time of the last edit; None before the first."""
    stamp: Stamp | None = None
    """The file as it was when it was read or written last."""
    stands_in: bool = False
    """Whether it only waits for another document to open: unedited, it leaves no trace."""
    is_exercise: bool = False
    """Whether a lesson has opened it, and only the lesson has edited it: nobody saves it."""
    run: Begun | None = None
    """Its training run."""
    saved_run: RunRecord | None = None
    """The run in the file."""

    @cached_property
    def document(self) -> Document:
        """The document in its present state."""
        return self.history.present

    @property
    def as_described(self) -> Document:
        """The document as it was when it got its caption: opened, or described later."""
        entries, first = self.history.entries, self.history.index
        while first and entries[first - 1].caption == self.document.caption:
            first -= 1
        return entries[first]

    @property
    def is_modified(self) -> bool:
        """True if the document differs from its file, or from the opened one, and is not a lesson's."""
        if self.is_exercise:
            return False
        has_new_run = self.run is not None and self.run.record is not self.saved_run
        return has_new_run or self.saved is None or not self.document.has_work_of(self.saved)

    @property
    def own_run(self) -> RunRecord | None:
        """The run, if the document is still the one that it belongs to."""
        run = self.run
        return run.record if run is not None and run.belongs_to(self.document.experiment) else None

    def with_saved_run(self, record: RunRecord | None, shown: int | None = None) -> Chapter:
        """The chapter with the run in the file of its document, of which a step was `shown`."""
        run = None if record is None else Begun(record, (self.document.experiment,), shown=shown)
        return replace(self, run=run, saved_run=record)

    @property
    def number_count(self) -> int:
        """Count of the numbers that the chapter keeps."""
        return _count(self._experiments, set())

    @property
    def is_too_large(self) -> bool:
        """True if the chapter is let go as soon as another document opens."""
        return self.number_count > MOST_NUMBERS

    @property
    def _experiments(self) -> tuple[Struct, ...]:
        documents = (*self.history.entries, self.saved)
        return tuple(document.experiment for document in documents if document is not None)


@dataclass(frozen=True)
class Chapters:
    """The chapters in the order of undo; `chapters[index]` is the present one."""

    chapters: tuple[Chapter, ...]
    index: int = 0

    @staticmethod
    def of(document: Document) -> Chapters:
        """One chapter with one entry."""
        return Chapters((Chapter(0, History((document,)), document),))

    @cached_property
    def present(self) -> Chapter:
        return self.chapters[self.index]

    @property
    def others(self) -> tuple[Chapter, ...]:
        """All but the present one, in the order of undo."""
        return self.chapters[: self.index] + self.chapters[self.index + 1 :]

    @property
    def can_undo(self) -> bool:
        return self.index > 0 or self.present.history.can_undo

    @property
    def can_redo(self) -> bool:
        return self.index < len(self.chapters) - 1 or self.present.history.can_redo

    @property
    def unsaved(self) -> tuple[Chapter, ...]:
        """The modified chapters besides the present one, the last edited first."""
        modified = [chapter for chapter in self.others if chapter.is_modified]
        return tuple(sorted(modified, key=_last_edit, reverse=True))

    @property
    def lost_by_leaving(self) -> tuple[Chapter, ...]:
        """The modified chapters, the present one among them, that are let go when another document opens."""
        ended = self._ended_by() if self.present.stands_in else self._ended_by(self.present)
        opened = self.join(Chapters.of(self.present.document)).trimmed()
        kept = {chapter.number for chapter in opened.chapters}
        return tuple(one for one in ended.chapters if one.is_modified and one.number not in kept)

    @property
    def is_worth_keeping(self) -> bool:
        """True if the end of the process would lose an edit, or one that undo has set aside."""
        return any(chapter.is_modified or chapter.history.can_redo for chapter in self.chapters)

    @property
    def most_at_risk(self) -> Chapter:
        """The chapter that such an end is about: the last edited of the modified, else of the undone ones.

        The present one if no chapter is worth keeping.
        """
        modified = [chapter for chapter in self.chapters if chapter.is_modified]
        undone = [chapter for chapter in self.chapters if chapter.history.can_redo]
        return max(modified or undone or [self.present], key=_last_edit)

    # --- changing

    def undo(self) -> Chapters:
        """One entry back, or to the chapter before; unchanged at the first entry of the first one."""
        history = self.present.history
        if history.can_undo:
            return self._with(replace(self.present, history=history.undo()))
        return replace(self, index=max(0, self.index - 1))

    def redo(self) -> Chapters:
        """One entry forward, or to the chapter after; unchanged at the last entry of the last one."""
        history = self.present.history
        if history.can_redo:
            return self._with(replace(self.present, history=history.redo()))
        return replace(self, index=min(len(self.chapters) - 1, self.index + 1))

    def push(self, document: Document, when: datetime) -> Chapters:
        """Add an entry to the present chapter; the redo entries are dropped, unsaved later chapters not."""
        history = self.present.history.push(document)
        edited = replace(self.present, history=history, edited=when, stands_in=False)
        return self._ended_by(edited)

    def amend(self, document: Document) -> Chapters:
        """Replace the present entry; used within one gesture and for changes of the view."""
        return self._with(replace(self.present, history=self.present.history.amend(document)))

    def open(
        self,
        document: Document,
        path: Path | None = None,
        stamp: Stamp | None = None,
        run: RunRecord | None = None,
    ) -> Chapters:
        """Begin a chapter with another document, perhaps with the `run` in its file, and drop what no longer
        fits.

        The document takes over the matrices of the others that equal its own: presets of one model share its
        weights.
        """
        if _count((document.experiment,), set()) <= MOST_NUMBERS:  # comparing more takes too long
            others = (part for chapter in self.chapters for part in chapter._experiments)
            shared = sharing(document.experiment, others)
            if shared is not document.experiment:
                document = msgspec.structs.replace(document, experiment=shared)
        chapter = Chapter(0, History((document,)), document, path, stamp=stamp).with_saved_run(run)
        return self.join(Chapters((chapter,))).trimmed()

    def join(self, others: Chapters) -> Chapters:
        """Add other chapters, whose present one becomes the present one. All stay until another opens."""
        number = 1 + max(chapter.number for chapter in self.chapters)
        added = (replace(one, number=number + place) for place, one in enumerate(others.chapters))
        left = () if self.present.stands_in else (self.present,)
        ended = self._ended_by(*left, *added)
        index = len(ended.chapters) - len(others.chapters) + others.index
        return replace(ended, index=index)

    def go_to(self, number: int) -> Chapters:
        """Make a chapter the last and the present one; unchanged if it was dropped."""
        chosen = [chapter for chapter in self.chapters if chapter.number == number]
        rest = tuple(chapter for chapter in self.chapters if chapter.number != number)
        return Chapters((*rest, *chosen), len(rest)) if chosen else self

    def with_run(self, run: Begun | None) -> Chapters:
        """Let the present document have a run, or none."""
        return self._with(replace(self.present, run=run))

    def mark_saved(
        self, path: Path, document: Document, stamp: Stamp | None = None, run: RunRecord | None = None
    ) -> Chapters:
        """Note that the file at `path` holds `document` with its `run`: the present chapter's, whoever else
        shares it.
        """
        here = self._with(replace(self.present, path=path, stands_in=False, is_exercise=False))
        marked = (
            replace(one, saved=document, stamp=stamp, saved_run=run) if one.path == path else one
            for one in here.chapters
        )
        return replace(here, chapters=tuple(marked))

    def reload(
        self, document: Document, stamp: Stamp | None, when: datetime, run: RunRecord | None = None
    ) -> Chapters:
        """Add the present content of the file as an entry, from which undo returns to the own edits."""
        path = self.present.path
        pushed = self.push(document, when)
        pushed = pushed._with(pushed.present.with_saved_run(run))
        return pushed if path is None else pushed.mark_saved(path, document, stamp, run)

    def stand_in(self) -> Chapters:
        """Mark the present document as one that only waits for another to open."""
        return self._with(replace(self.present, stands_in=True))

    def mark_exercise(self, *, is_one: bool) -> Chapters:
        """Mark the present document as one that a lesson has opened, or as work of its own."""
        return self._with(replace(self.present, is_exercise=is_one))

    def trimmed(self) -> Chapters:
        """Without the chapters past `MOST_CHAPTERS` and `MOST_NUMBERS`; unsaved and late ones stay first."""
        kept, seen, total = {self.present.number}, set[int](), 0
        latest_first = reversed(self.others)
        for chapter in sorted(latest_first, key=lambda one: not one.is_modified):
            its_own = set(seen)
            count = _count(chapter._experiments, its_own)
            if len(kept) < MOST_CHAPTERS and total + count <= MOST_NUMBERS:
                kept, seen, total = kept | {chapter.number}, its_own, total + count
        chapters = tuple(chapter for chapter in self.chapters if chapter.number in kept)
        return Chapters(chapters, chapters.index(self.present))

    def _with(self, present: Chapter) -> Chapters:
        chapters = (*self.chapters[: self.index], present, *self.chapters[self.index + 1 :])
        return replace(self, chapters=chapters)

    def _ended_by(self, *last: Chapter) -> Chapters:
        """`last` after the earlier chapters; later unsaved ones move before, so that undo reaches them."""
        # Undo left each later one at its first entry; the edits are in its last.
        later = [
            replace(chapter, history=chapter.history.at_end()) for chapter in self.chapters[self.index + 1 :]
        ]
        unsaved = (chapter for chapter in later if chapter.is_modified)
        chapters = (*self.chapters[: self.index], *unsaved, *last)
        return Chapters(chapters, len(chapters) - 1)


def _last_edit(chapter: Chapter) -> datetime:
    return chapter.edited or datetime.min


def _count(parts: Iterable[Struct], seen: set[int]) -> int:
    """Count of the numbers in the matrices of `parts` that are not in `seen` (identities), which grows."""
    return sum(matrix.shape[0] * matrix.shape[1] for part in parts for matrix in matrices_in(part, seen))
