"""The memory sequence, from which cross-attention projects keys and values."""

from __future__ import annotations

from attnviz.core.tokens import SPLITTINGS, guess_splitting, join, split
from attnviz.gui.forms.fields import Choice, Switch, Text
from attnviz.gui.panels.mechanism.section import Section
from attnviz.i18n import N_, _, ngettext
from attnviz.model.edit.edits import set_memory, set_tokens
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Memory


def has_memory(experiment: Experiment) -> bool:
    """True if a memory sequence exists."""
    return experiment.memory is not None


class MemorySection(Section):
    """On or off, and its text. Switched on for the first time it is a copy of the first sequence."""

    id = "memory"
    heading = N_("Memory sequence")

    def fill(self) -> None:
        self._last: Memory | None = None
        self._splitting = "word"
        self.add_whole_form(
            (
                Switch(
                    name="memory_toggle",
                    path="memory",
                    label=N_("Cross-attention"),
                    read=has_memory,
                    edit=self._set_on,
                    hint=N_("Computes keys and values from a memory sequence"),
                ),
                Text(
                    name="memory_text_field",
                    path="memory.tokens",
                    label="",
                    read=lambda e: join(e.memory.tokens, self._splitting) if e.memory else "",
                    edit=self._set_text,
                    hint=N_("Memory text"),
                    placeholder=N_("Memory text"),
                    shown=has_memory,
                    from_start=True,
                ),
                Choice(
                    name="memory_split_segmented",
                    label=N_("Split by"),
                    read=lambda e: self._splitting,
                    edit=self._set_splitting,
                    options=tuple((splitting.id, splitting.title, "") for splitting in SPLITTINGS),
                    shown=has_memory,
                ),
            )
        )

    def present(self, document: Document) -> str:
        """The number of keys, or off."""
        memory = document.experiment.memory
        n = 0 if memory is None else len(memory.tokens)
        return ngettext("{n} key", "{n} keys", n).format(n=n) if n else _("off")

    def on_document(self, old: Document | None, new: Document) -> None:
        memory = new.experiment.memory
        if memory is not None:
            reads_back = memory.tokens == split(join(memory.tokens, self._splitting), self._splitting)
            if self._last is None or not reads_back:
                self._splitting = guess_splitting(memory.tokens)
            self._last = memory
        super().on_document(old, new)

    def _set_on(self, experiment: Experiment, is_on: bool) -> Experiment:
        if not is_on:
            return set_memory(experiment, None)
        return set_memory(experiment, self._last or Memory(experiment.tokens, experiment.vectors))

    def _set_text(self, experiment: Experiment, text: str) -> Experiment:
        return set_tokens(experiment, split(text, self._splitting), "memory")

    def _set_splitting(self, experiment: Experiment, splitting: str) -> Experiment:
        assert experiment.memory is not None
        text = join(experiment.memory.tokens, self._splitting)
        changed = set_tokens(experiment, split(text, splitting), "memory")
        self._splitting = splitting
        return changed
