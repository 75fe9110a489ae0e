"""The strip over the model: what heads that are off, or numbers by hand, change; nothing is pinned for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING
from weakref import ref

from msgspec.structs import replace
from PySide6.QtCore import QSize, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QWidget

from attnviz.core.head_scores import HEAD_SCORE_BY_ID
from attnviz.core.phrases import enumerated, sequenced
from attnviz.core.progress import Progress
from attnviz.core.text import number, signed
from attnviz.gui.live.answer import Answer, Outdated
from attnviz.gui.live.subject import Subject
from attnviz.gui.live.trace import GUI_CORES
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX, Theme
from attnviz.gui.look.words import plain_tooltip, says
from attnviz.gui.panels.ablation.tokens import NextTokens
from attnviz.gui.panels.panel import Panel
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column, in_row
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.linked_text import HEAD, LinkedText, head_link, head_of, line, link
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _, ngettext
from attnviz.model.edit.by_hand import all_edits, take_all
from attnviz.model.edit.edits import toggle_head
from attnviz.model.edit.intact import off_heads, switch_all_on
from attnviz.model.errors.titles import in_words
from attnviz.model.sites.sites import at, place_of, put
from attnviz.model.sites.titles import layer_title, row_title, site_title
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.trace import Trace

if TYPE_CHECKING:
    from attnviz.study.change import Change, OfHead

HEIGHT = 92
USUAL_SCORE = "induction"
"""The score of the best head while the frames of the grid show none."""
TITLE_PX, DELTA_PX = 14, 17
SWITCH_ON, SWITCH_ONE_ON, REPLACE, RESET = "on", "one", "by", "reset"
"""Addresses of the links that act; to that of one head its number and site are added."""
MOST_LISTED = 6
"""Heads that are off and named; the others are in the hint."""


@dataclass(frozen=True)
class AblationAsked:
    """A run, what replaces its heads that are off, and the score of its heads."""

    subject: Subject
    by: str
    score: str
    trace: ref[Trace] = field(compare=False)


def compute(asked: AblationAsked, check: Progress) -> Change:
    """The change, in a worker."""
    from attnviz.study.change import change

    trace = asked.trace()
    if trace is None:  # newer numbers took their place
        raise Outdated
    return change(trace, asked.by, asked.score, check=check, reserve=GUI_CORES)


class Column(QWidget):
    """A heading over a text with links or a picture; `least` is the width that it needs."""

    def __init__(self, name: str, heading: str, body: QWidget, least: int) -> None:
        super().__init__()
        self.setObjectName(f"ablation_{name}")
        self.least = least
        self.setMinimumWidth(least)
        self.heading = says(QLabel(), heading, id=f"ablation_{name}_heading") if heading else QLabel()
        self.heading.setFont(ui_font(TEXT_PX - 1))
        set_tone("muted", self.heading)
        in_column(self, self.heading, body, spacing=2).addStretch(1)
        self.heading.setVisible(bool(heading))  # without a parent it would be a window of its own


class AblationPanel(Panel):
    """Asks for the change of every run whose experiment is not intact."""

    follows = ("grid",)

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self.answer: Answer[AblationAsked, Change] = self.asks(
            Answer("ablation", compute, self, in_turn=True)
        )
        self.answer.changed.connect(self._show)
        says(self, name=N_("Ablation"))
        self.said, self.loss, self.best, self.maps = (
            LinkedText(f"ablation_{name}_text", TEXT_PX) for name in ("said", "loss", "best", "maps")
        )
        for text in (self.said, self.loss, self.best, self.maps):
            text.chosen.connect(self._on_link)
        self.tokens, self._why = NextTokens(), LinkedText("ablation_why", TEXT_PX)
        predicted = QWidget()
        in_column(predicted, self.tokens, self._why, spacing=0)
        self.columns = (
            Column("next", N_("Next token: before → now"), predicted, 300),
            Column("loss", N_("Loss on this text"), self.loss, 160),
            Column("score", N_("Best head"), self.best, 150),
            Column("changed", N_("Maps that changed most"), self.maps, 170),
        )
        self._title = Column("title", "", self.said, 230)
        tip = N_("Show the changes that have no room")
        self._more = says(Button(), N_("more"), id="ablation_more", name=N_("Further changes"), tip=tip)
        self._more.setCheckable(True)
        self._more.clicked.connect(self._arrange)
        self._rules = [self._rule() for _column in self.columns]
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID + GRID // 2)
        row.addWidget(self._title, 3)
        for rule, column, grows in zip(self._rules, self.columns, (6, 2, 2, 3), strict=True):
            row.addWidget(rule)
            row.addWidget(column, grows)
        row.addLayout(in_row(None, self._more, spacing=0))

    def _rule(self) -> QFrame:
        rule = QFrame()
        rule.setFrameShape(QFrame.Shape.VLine)
        rule.setObjectName("ablation_rule")
        return rule

    def sizeHint(self) -> QSize:
        return QSize(1000, HEIGHT - 2 * GRID)

    def minimumSizeHint(self) -> QSize:
        return QSize(320, HEIGHT - 2 * GRID)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        for rule in self._rules:
            rule.setStyleSheet(f"color: {theme.line}")
        self._show()

    def on_document(self, old: Document | None, new: Document) -> None:
        if old is not None and old.view.grid != new.view.grid and self.store.current_trace is not None:
            self._ask(self.store.current_trace)
        self._show()

    def on_trace(self, trace: Trace) -> None:
        self._ask(trace)

    def retranslate(self) -> None:
        self._show()

    def _ask(self, trace: Trace) -> None:
        grid = self.store.document.view.grid
        score = grid.frames if grid.frames in HEAD_SCORE_BY_ID else USUAL_SCORE
        by = grid.replaced_by if off_heads(trace.experiment) else "zero"
        is_changed = bool(off_heads(trace.experiment) or all_edits(trace.experiment))
        self.answer.ask(AblationAsked(Subject.of(trace), by, score, ref(trace)) if is_changed else None)

    @Slot()
    def _arrange(self) -> None:
        """Show the columns that have room; the others take their place while more is wanted."""
        room = self.width() - self._title.least - self._more.sizeHint().width() - 3 * GRID
        fitting = 0
        for column in self.columns:
            room -= column.least + 3 * GRID
            fitting += room >= 0
        fitting = max(fitting, 1)
        has_more = fitting < len(self.columns)
        wants_more = has_more and self._more.isChecked()
        for index, (rule, column) in enumerate(zip(self._rules, self.columns, strict=True)):
            is_shown = (index >= fitting) == wants_more
            rule.setVisible(is_shown)
            column.setVisible(is_shown)
        self._more.setVisible(has_more)

    # --- showing

    @Slot()
    def _show(self) -> None:
        experiment = self.store.experiment
        self.said.set_body(self._said(experiment))
        off = off_heads(experiment)
        titles = (f"{row_title(experiment, site)}·{head + 1}" for site, head in off)
        words = f"{enumerated(titles)}\n{self._replaced(len(off))}"
        self.said.setToolTip(plain_tooltip(words) if len(off) > 1 else "")
        change, problem = self.answer.result, self.answer.problem
        of = None if self.answer.of is None else self.answer.of.subject.experiment
        if change is None or of is None:
            waits = _("Computing the change…") if self.answer.is_due else ""
            self._show_tokens(None, waits if problem is None else in_words(problem))
            for text in (self.loss, self.best, self.maps):
                text.set_body("")
            return
        why = "" if change.why_no_text is None else change.why_no_text.text()
        self._show_tokens(change, why if not change.tokens else "")
        self.loss.set_body(self._of_loss(change, why))
        self.columns[2].heading.setText(
            _("Best head: {score}").format(score=_(HEAD_SCORE_BY_ID[change.score].title))
        )
        self.best.set_body(self._of_best(change, of))
        self.maps.set_body(self._of_maps(change, of))

    def _show_tokens(self, change: Change | None, why: str) -> None:
        self.tokens.set_tokens(() if change is None else change.tokens)
        self.tokens.setVisible(bool(self.tokens.tokens))
        self._why.set_body(self._muted(why) if why else "")
        self._why.setVisible(bool(why))

    def _said(self, experiment: Experiment) -> str:
        """The heads that are off, their replacement, and links that end it."""
        off, edits = off_heads(experiment), all_edits(experiment)
        by_mean = self.store.document.view.grid.replaced_by == "mean"
        does: list[tuple[str, str]] = []
        parts, sentence = [], _("All that follows is computed again.")
        if not off and not edits:
            parts, sentence = [_("All heads are on")], _("Switch a head off to see what changes.")
        if off:
            parts.append(self._off(experiment, off))
            does.append((SWITCH_ON, ngettext("Switch it on", "Switch them on", len(off))))
            does.append((REPLACE, _("zero instead of mean") if by_mean else _("mean instead of zero")))
            sentence = "" if len(off) > 1 else self._replaced(len(off))  # of several, the hint has it
        if edits:
            parts.append(ngettext("{n} edit by hand", "{n} edits by hand", len(edits)).format(n=len(edits)))
            does.append((RESET, _("Remove the edits by hand")))
        title = line(sequenced(parts), f"font-size: {TITLE_PX}px; font-weight: 600")
        if len(off) > 1:
            title += line(self._each_off(experiment, off))
        links = " &nbsp; ".join(link(address, text) for address, text in does)
        return title + (self._muted(sentence) if sentence else "") + line(links)

    def _replaced(self, n_off: int) -> str:
        """The numbers in the place of the outputs of the heads that are off."""
        if self.store.document.view.grid.replaced_by == "mean":
            return ngettext(
                "Here its output is its mean over the positions; the maps below have zero.",
                "Here their outputs are their means over the positions; the maps below have zero.",
                n_off,
            )
        return ngettext(
            "Its output is zero; all that follows is computed again.",
            "Their outputs are zero; all that follows is computed again.",
            n_off,
        )

    def _muted(self, text: str) -> str:
        return line(escape(text), f"color: {self.theme.muted}")

    def _off(self, experiment: Experiment, off: tuple[tuple[str, int], ...]) -> str:
        if len(off) == 1:
            (site, head), place = off[0], place_of(experiment, off[0][0])
            layer = (
                layer_title(place) if row_title(experiment, site).isdigit() else site_title(experiment, site)
            )
            title = f"{layer} · {self.store.head_names.title(experiment, site, head)}"
            return _("{head} is off").format(head=head_link(site, head, title))
        said = ngettext("{n} head is off", "{n} heads are off", len(off)).format(n=len(off))
        return escape(said)

    def _each_off(self, experiment: Experiment, off: tuple[tuple[str, int], ...]) -> str:
        """The heads that are off, each with a link that switches it on."""
        heads = [
            f"{self._head(experiment, site, head)}&nbsp;{link(f'{SWITCH_ONE_ON}:{head}:{site}', '×')}"
            for site, head in off[:MOST_LISTED]
        ]
        return enumerated([*heads, "…"] if len(off) > MOST_LISTED else heads)

    def _of_loss(self, change: Change, why: str) -> str:
        if change.losses is None:
            return self._muted(why)
        before, now = change.losses
        counted = ngettext("nats per token, {n} token", "nats per token, {n} tokens", change.n_predicted)
        return (
            self._delta(now - before, is_worse=now > before)
            + line(f"{number(before)} → {number(now)}")
            + self._muted(counted.format(n=change.n_predicted))
        )

    def _of_best(self, change: Change, of: Experiment) -> str:
        if change.best is None:
            why = "" if change.why_no_score is None else change.why_no_score.text()
            return line("–") + self._muted(why)
        before, now = change.best
        heads = f"{self._best_head(of, before)} → {self._best_head(of, now)}"
        return (
            self._delta(now.value - before.value, is_worse=now.value < before.value)
            + line(f"{number(before.value)} → {number(now.value)}")
            + line(heads)
        )

    def _best_head(self, of: Experiment, one: OfHead) -> str:
        return self._head(of, one.site, one.head)

    def _of_maps(self, change: Change, of: Experiment) -> str:
        if not change.maps:
            return self._muted(_("No map changed."))
        rows = (
            f"<tr><td>{self._head(of, one.site, one.head)}</td>"
            f'<td align="right">&nbsp; {_("by up to {value}").format(value=number(one.value))}</td></tr>'
            for one in change.maps
        )
        return f'<table cellspacing="0" cellpadding="1">{"".join(rows)}</table>'

    def _delta(self, value: float, *, is_worse: bool) -> str:
        color = self.theme.error if is_worse else self.theme.value if value else self.theme.ink
        return line(signed(value), f"color: {color}; font-size: {DELTA_PX}px")

    def _head(self, experiment: Experiment, site: str, head: int) -> str:
        """A head in few signs, as a link."""
        return head_link(site, head, f"{row_title(experiment, site)}·{head + 1}")

    # --- acting

    @Slot(str)
    def _on_link(self, address: str) -> None:
        kind = address.partition(":")[0]
        grid = self.store.document.view.grid
        acts: dict[str, Callable[[], object]] = {
            SWITCH_ON: lambda: self.store.edit(switch_all_on),
            RESET: lambda: self.store.edit(take_all),
            REPLACE: lambda: self.store.look(
                grid=replace(grid, replaced_by="zero" if grid.replaced_by == "mean" else "mean")
            ),
            SWITCH_ONE_ON: lambda: self._switch_on(address),
            HEAD: lambda: self._go(address),
        }
        acts[kind]()

    def _switch_on(self, address: str) -> None:
        site, head = head_of(address)
        self.store.edit(lambda experiment: put(experiment, toggle_head(at(experiment, site), head)))

    def _go(self, address: str) -> None:
        site, head = head_of(address)
        self.store.look(site=site, head=head)
