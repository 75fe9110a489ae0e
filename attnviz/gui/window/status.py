"""The status line: what was computed, how fast, and the one sentence when something is not right."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QStatusBar, QWidget

from attnviz.errors import Message, message_of
from attnviz.gui.live.trace import Live
from attnviz.gui.look.words import plain_tooltip
from attnviz.gui.services.status import Status
from attnviz.gui.store import Store
from attnviz.gui.widgets.tone import Tone, set_tone
from attnviz.i18n import N_, _, current_language, ngettext
from attnviz.model.errors.titles import in_words
from attnviz.model.spec.document import Document

if TYPE_CHECKING:
    from attnviz.model.trace import Trace

SHOWN_MS = 8000
"""Time for which a sentence stays."""

FACTS_STEP = 24
"""Pixels of which the width of the facts is a multiple: a digit more or less does not change it."""

_GAPS = 48
"""Pixels between the texts and beside them."""

_COMPUTING = N_("computing…")
_FAILED = N_("not computed: the numbers are from the previous state")


class StatusLine(QStatusBar):
    """Left: state, sizes and time of the present numbers. A warning takes its place for a while."""

    def __init__(self, store: Store, live: Live, status: Status, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("status_line")
        self._store = store
        self._facts, self._message, self._hint = QLabel(), QLabel(), QLabel()
        for label, name in (
            (self._facts, "status_facts"),
            (self._message, "status_message"),
            (self._hint, "status_hint"),
        ):
            label.setObjectName(name)
            label.setTextFormat(Qt.TextFormat.PlainText)
        self._message.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        # A long sentence is cut off at the window's edge; with its full width, it would widen the window.
        self._message.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._hint.setMinimumWidth(1)  # the keys go rather than hold the window wide
        self._error: Message | None = None
        """The error that is shown, to be said anew in another language."""
        self._said_in = ""
        """The language of a sentence that cannot be said anew; empty where none is shown."""
        self._state = ""
        """The sentence in place of the facts: a run is under way, or failed."""
        self.addWidget(self._facts)
        self.addWidget(self._message, 1)
        self.addPermanentWidget(self._hint)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(SHOWN_MS)
        self._timer.timeout.connect(self.clear)
        store.traced.connect(self._on_trace)
        store.changed.connect(self._on_changed)
        live.failed.connect(self._on_failed)
        live.late.connect(self._on_late)
        status.said.connect(self.say)
        status.warned.connect(self.warn)
        status.hinted.connect(self.hint)
        status.cleared.connect(self.clear)

    @Slot(object)
    def warn(self, error: BaseException | Message | None) -> None:
        """Show an error, in the present language while it is shown; the tooltip has its whole text.

        None takes an error away; any other sentence stays.
        """
        if error is None:
            if self._error is not None:
                self.clear()
            return
        message = error if isinstance(error, Message) else message_of(error)
        self._show(in_words(message), "error")
        self._error = message

    @Slot(str)
    def say(self, sentence: str) -> None:
        """Show what was done."""
        self._show(sentence, "said")
        self._said_in = current_language()

    def notice(self, sentence: str, details: str) -> None:
        """Show an unexpected error; `path` names the log file with the details."""
        self._show(sentence, "error", details)

    @Slot(str)
    def hint(self, keys: str) -> None:
        """Show the keys that work in the present workspace, at the right end."""
        self._hint.setText(keys)
        self._make_room()

    @Slot()
    def clear(self) -> None:
        """Take the sentence away."""
        self._error, self._said_in = None, ""
        self._message.clear()
        self._make_room()
        self._message.setAccessibleName("")
        self._message.setToolTip("")

    def message(self) -> str:
        """The sentence that is shown, or an empty text."""
        return self._message.text()

    def retranslate(self) -> None:
        """Set the texts again, in the present language; a sentence about what was done ends."""
        if self._store.trace is not None:
            self._show_facts(self._store.trace)
        if self._state:
            self._write_facts(_(self._state))
        if self._error is not None:
            self._write(in_words(self._error))
        elif self._said_in not in ("", current_language()):
            self.clear()

    def _show(self, sentence: str, tone: Tone, details: str = "") -> None:
        set_tone(tone, self._message)
        self._write(sentence, details)
        self._error, self._said_in = None, ""
        self._timer.start()

    def _write(self, sentence: str, details: str = "") -> None:
        line = " ".join(sentence.split())
        self._message.setText(line)
        self._make_room()
        self._message.setAccessibleName(line)
        whole = html.escape(details or sentence)
        self._message.setToolTip(f"<p style='white-space:pre-wrap'>{whole}</p>")

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._make_room()

    def _make_room(self) -> None:
        """The keys go while a sentence needs their room."""
        needed = self._message.fontMetrics().horizontalAdvance(self._message.text())
        taken = self._facts.width() + self._hint.sizeHint().width() + _GAPS
        self._hint.setVisible(not needed or needed + taken <= self.width())

    @Slot(object, object)
    def _on_changed(self, old: Document, new: Document) -> None:
        """An error is over with the next edit that is taken."""
        if old.experiment is not new.experiment:
            self.warn(None)

    @Slot(object)
    def _on_late(self, problem: Message) -> None:
        """A short run is over before anybody could read that it is under way."""
        self._show_state(_COMPUTING)

    @Slot(object)
    def _on_failed(self, error: BaseException) -> None:
        """Show, in place of the time, that the shown numbers are not the document's."""
        self._show_state(_FAILED)

    def _show_state(self, state: str) -> None:
        self._state = state
        self._write_facts(_(state))

    @Slot(object)
    def _on_trace(self, trace: Trace) -> None:
        self._state = ""
        self._show_facts(trace)

    def _show_facts(self, trace: Trace) -> None:
        experiment = trace.experiment
        heads = experiment.layers[0].heads
        where = trace.engine if trace.device == "cpu" else f"{trace.engine} {trace.device}"
        beyond = self._store.document.beyond_training(experiment.n_queries)
        notices = [*trace.notices, *([] if beyond is None else [beyond])]
        state = _("ready, with a notice · {time}") if notices else _("ready · {time}")
        parts = (
            state.format(time=_duration(trace.seconds)),
            " · ".join(
                (
                    ngettext("{n} token", "{n} tokens", experiment.n_queries).format(n=experiment.n_queries),
                    ngettext("{n} head", "{n} heads", heads.n_heads).format(n=heads.n_heads),
                    f"d_head {heads.d_head}",
                    experiment.dtype,
                    {"numpy": "NumPy", "torch": "Torch"}.get(where, where),
                )
            ),
        )
        self._write_facts("     ".join(parts))
        said = "\n".join(notice.text() for notice in notices)
        self._facts.setToolTip(plain_tooltip(said) if said else "")

    def _write_facts(self, text: str) -> None:
        """Write at the left end. The label has a fixed size: another time of a run moves nothing, so that the
        window is not laid out again after every edit.
        """
        metrics = self._facts.fontMetrics()
        width = -(-metrics.horizontalAdvance(text) // FACTS_STEP) * FACTS_STEP
        if (width, metrics.height()) != (self._facts.width(), self._facts.height()):
            self._facts.setFixedSize(width, metrics.height())
        self._facts.setText(text)


def _duration(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms" if seconds < 1 else f"{seconds:.2f} s"
