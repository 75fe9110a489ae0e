"""Training: the document learns a task, seen head by head, and is rewound to any kept state.

Over 500 lines because all that a reader does with a run meets here.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, QSize, Qt, QTimer, Slot
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QLabel, QWidget

from attnviz.errors import InputError
from attnviz.gui.forms.rows import Note
from attnviz.gui.live.training import Other, Plan, TrainingLive, has_the_texts, other_of
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import says
from attnviz.gui.panels.panel import Panel
from attnviz.gui.panels.training.beside import Beside
from attnviz.gui.panels.training.choices import Choices, SpeedList
from attnviz.gui.panels.training.curves import AXIS_PX, HANDLE_PX, TrainingCurves, axis_end
from attnviz.gui.panels.training.heads import TrainedHeads
from attnviz.gui.panels.training.keys import asked
from attnviz.gui.panels.training.saying import LARGE, noted, place_of_run, said_of
from attnviz.gui.panels.training.untrainable import Untrainable
from attnviz.gui.services.services import Services
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column, in_row
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.elided_label import ElidedLabel
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.gui.widgets.slider_field import Track
from attnviz.gui.widgets.tone import set_tone
from attnviz.gui.widgets.transport import Transport
from attnviz.i18n import N_, _
from attnviz.model.edit.chapters import Begun
from attnviz.model.errors.titles import in_words
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.training.differences import DIFFERENCE_BY_ID, Difference
from attnviz.training.parameters import parameters_of, size_of
from attnviz.training.record import HeadPlace
from attnviz.training.trainable import check_trainable, with_length
from attnviz.training.words import with_text_of

if TYPE_CHECKING:
    from attnviz.training.record import Record

LEFT_PX, MIDDLE_PX = 216, 420
"""Widths of the column of choices, and of the pictures at least."""
MAPS_SHARE, CURVES_SHARE = 5, 6
"""Shares of the width that the maps and the curves have."""
LEAST_MAPS_PX = 160
WIDE_PX = 1160
"""Width of the panel from which on maps and curves stand side by side."""


class TrainingPanel(Panel):
    """Plays while it is seen; left, it gives the document the weights of the state that was shown."""

    follows = ("site", "head")

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self.live = TrainingLive(self)
        self.live.changed.connect(self._keep)
        self.live.changed.connect(self._show)
        store.opened.connect(self._forget)
        store.engine_chosen.connect(self._on_engine)
        self._of: Experiment | None = None
        """The experiment of the document that the panel knows."""
        self._given: Experiment | None = None
        """The trained experiment that the document got last, with its own text."""
        self._given_of: Experiment | None = None
        """The same with the text of the picture."""
        self._obstacle: InputError | None = None
        self._leaves_for: str | None = None
        """The command that follows once the document has its weights; None: nothing is to be given."""
        self._count = 0
        """The numbers that the run trains."""
        self._has_restarted = False
        self._dropped: Other | None = None
        """The run that another one has replaced, until that begins."""
        self._resumes = True
        """True until the document has shown the run that it came with."""
        self._is_given = False
        """True if the first state that such a run shows is that of the document."""
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(0)
        self._later.timeout.connect(self._catch_up)
        self._build()

    def _build(self) -> None:
        self.choices = Choices()
        self.choices.anew.connect(self._on_anew)
        self.choices.changed.connect(self._on_settings)
        self.choices.rejected.connect(self.store.rejected)
        self.note = Note("training_note")
        again = N_("Forget the run, and begin with the weights of the document")
        self.restart = says(Button(), N_("Start anew"), id="training_restart", tip=again)
        self.restart.clicked.connect(self._on_restart)
        tip = N_("Give the document the weights of this step, and look at them in Explore")
        self.explore = says(Button(), N_("Open in Explore"), id="training_explore", tip=tip)
        self.explore.clicked.connect(self._on_explore)
        left = QWidget()
        column = in_column(left, self.choices, self.note, spacing=GRID)
        column.addStretch(1)
        scroll = clear_scroll(left, sideways=False)
        side = QWidget()
        side.setFixedWidth(LEFT_PX)
        in_column(side, scroll, self.restart, self.explore, spacing=GRID // 2)
        self.said = QLabel()
        self.said.setObjectName("training_said")
        self.said.setTextFormat(Qt.TextFormat.PlainText)
        self.said.setWordWrap(True)
        self.heads = TrainedHeads()
        self.heads.chosen.connect(self._on_head)
        self.heads.switched.connect(self._on_switch)
        self._maps = clear_scroll(self.heads, sideways=False)
        self._maps.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self._maps.setMinimumWidth(LEAST_MAPS_PX)
        self._maps.viewport().installEventFilter(self)
        self.curves = TrainingCurves()
        self.curves.chosen.connect(self._on_place)
        self.track = says(Track(), id="training_track", name=N_("Kept states"), tip=N_("Go to a kept state"))
        self.track.valueChanged.connect(self._on_place)
        self.transport = Transport("training")
        self.transport.pressed.connect(self._on_button)
        self.where = ElidedLabel()
        self.where.setObjectName("training_where")
        set_tone("muted", self.where)
        self.pictures = QWidget()
        run = in_column(None, self.curves, spacing=GRID // 2)
        along = in_row(None, self.track, spacing=0)
        along.setContentsMargins(AXIS_PX - HANDLE_PX, 0, 0, 0)
        run.addLayout(along)
        self._views = in_row(None, self._maps, spacing=2 * GRID)
        self._views.setStretch(0, MAPS_SHARE)
        self._views.addLayout(run, CURVES_SHARE)
        middle = in_column(self.pictures, self.said, spacing=GRID)
        middle.addLayout(self._views, 1)
        self.speed = SpeedList()
        self.speed.changed.connect(self._on_speed)
        foot = in_row(None, self.transport, self.speed, spacing=GRID)
        foot.addWidget(self.where, 1)
        middle.addLayout(foot)
        self.empty = Untrainable(self.store, self.choices)
        row = in_row(self, side, spacing=2 * GRID)
        row.addWidget(self.pictures, 1)
        row.addWidget(self.empty, 1)
        self.beside = Beside()
        self.beside.writes.chosen.connect(self.live.look)
        self.beside.versus.chosen.connect(self._on_difference)
        row.addWidget(self.beside)
        self.pictures.setMinimumWidth(MIDDLE_PX)

    def serve(self, services: Services) -> None:
        super().serve(services)
        self.live.serve(services.schedulers.training)
        self.empty.serve(services)

    def sizeHint(self) -> QSize:
        return QSize(960, 640)

    # --- following the document

    def on_document(self, old: Document | None, new: Document) -> None:
        is_another = new.experiment is not self._of and not self._is_of(new.experiment)
        self._of = new.experiment
        run = self.store.run
        if run is not None and run.pending is None and new.experiment is run.experiments[-1]:
            self._given = new.experiment
        if is_another:
            self._has_restarted = self._is_begun
            self._begin(new.experiment)  # which shows it
        else:
            self._show()

    def _is_of(self, experiment: Experiment) -> bool:
        """True if the run is that of an experiment, or of the same one with another text."""
        plan, obstacle, other = self.live.plan, self._obstacle, self.live.other
        if plan is None or obstacle is not None:
            return False
        run, beside = self.store.run, None if other is None else other.plan.experiment
        known = [one for one in (plan.experiment, self._given, beside) if one is not None]
        known += [] if run is None else run.experiments
        if any(experiment is one for one in known):
            return True
        n = plan.sampler.n_tokens
        try:
            return any(with_length(experiment, n) == with_length(one, n) for one in known)
        except InputError:
            return False

    @property
    def _is_begun(self) -> bool:
        """True once a step was taken."""
        return self.live.picture is not None and bool(self.live.picture.moments)

    def _begin(self, experiment: Experiment) -> None:
        """Begin a run of an experiment, or go on with that of its document, or learn why it has none.

        The run before stays as run B.
        """
        self._given, self._given_of, self._leaves_for, self._is_given = None, None, None, False
        run, resumes = self.store.run, self._resumes
        self._resumes = False
        if not (resumes and run is not None and run.belongs_to(experiment)):
            self.store.set_run(run := None)
        kept, self._dropped = self.live.kept() or self._dropped or self.live.other, None
        difference = "" if self.live.other is None else self.live.other.difference
        try:
            self._obstacle = None
            check_trainable(experiment)
            plan = self._plan(experiment) if run is None else self._resumed(experiment, run)
            with_length(experiment, plan.sampler.n_tokens)
        except InputError as error:
            self._obstacle = error
            self.live.forget()
            return
        self._count = size_of(parameters_of(experiment))
        self.beside.versus.set_model(experiment, plan.settings)
        other = other_of(plan, DIFFERENCE_BY_ID.get(difference))
        if other is None and kept is not None and has_the_texts(kept.plan, plan):
            other = replace(kept, difference="")
        self.live.begin(plan, other, waits=run is None and self._count > LARGE)

    def _plan(self, experiment: Experiment) -> Plan:
        """The chosen run of an experiment. Raises `InputError` for a task that does not fit it."""
        choices, store = self.choices, self.store
        sampler = choices.sampler(experiment)
        where = store.engine, store.device
        return Plan(experiment, sampler, choices.course(), choices.settings(), *where)

    def _resumed(self, experiment: Experiment, run: Begun) -> Plan:
        """The run that the document came with."""
        record = cast("Record", run.record)
        self.choices.take(record)
        of_document = record.step_of(experiment)
        shown = of_document if run.shown not in {*record.states, record.step} else run.shown
        self._is_given = shown is not None and shown == of_document
        where = self.store.engine, self.store.device
        return Plan(experiment, record.sampler, record.course, record.settings, *where, record, shown)

    @Slot()
    def _keep(self) -> None:
        """Let the store have the run as far as it has come: it is saved with the document."""
        picture, plan, known = self.live.picture, self.live.plan, self.store.run
        if picture is None or plan is None or not picture.record.step:
            return
        if self._is_given:
            self._given = self._given_of = picture.experiment
            self._is_given = False
        experiments = tuple(one for one in (plan.experiment, self._given) if one is not None)
        is_given = picture.step == 0 or picture.experiment is self._given_of
        pending = None if is_given else picture.experiment
        is_known = known is not None and known.record is picture.record and known.pending is pending
        if known is None or not is_known or known.shown != picture.step:
            self.store.set_run(Begun(picture.record, experiments, pending, picture.step))

    @Slot()
    def _forget(self) -> None:
        """Another document opens: nothing of the run stays here."""
        self._resumes = True
        self.live.forget()
        self.beside.versus.forget()
        self._of = self._given = self._given_of = self._obstacle = self._leaves_for = None
        self._has_restarted = False
        self._later.start()

    @Slot()
    def _catch_up(self) -> None:
        """Begin with the run of a document whose experiment is that of the one before, and give weights."""
        if self._of is None and self.is_seen and self._is_started:
            self.on_document(None, self.store.document)
        self._give()

    @Slot(str, str)
    def _on_engine(self, engine: str, device: str) -> None:
        """The next run is on the engine; the present one goes on where it is."""
        if self._is_begun or self._of is None:
            return
        self._begin(self._of)

    def set_seen(self, is_seen: bool) -> None:
        """Left, the run pauses, and the document gets the weights of the state."""
        if not is_seen and self.is_seen:
            self.live.pause()
            self._leave("")
        super().set_seen(is_seen)

    def _leave(self, command: str) -> None:
        """Give the document its weights after the step under way; `command` follows."""
        self._leaves_for = command
        if not self.live.is_due:
            self._later.start()

    @Slot()
    def _give(self) -> None:
        """Give the document the weights that are shown, as one undo step."""
        command, picture = self._leaves_for, self.live.picture
        self._leaves_for = None
        if command is None:
            return
        is_new = picture is not None and picture.step > 0 and self._is_of(self.store.experiment)
        if is_new and picture is not None and picture.experiment is not self._given_of:
            self._given_of = picture.experiment
            self._given = trained = with_text_of(picture.experiment, self.store.experiment)
            self.store.edit(lambda _present: trained)
            self._keep()
        if command:
            self.command_wanted.emit(command)

    # --- acting

    def play_or_pause(self) -> None:
        """Play from the state that is shown, or pause."""
        self._has_restarted = False
        if self.live.is_playing:
            self.live.pause()
        else:
            self.live.play()

    def go(self, button: str) -> None:
        """Do what a button of the row does."""
        picture = self.live.picture
        if button == "play":
            self.play_or_pause()
        elif picture is not None:
            before = [step for step in picture.steps if step < picture.step]
            after = [step for step in picture.steps if step > picture.step]
            if button == "step_forward" and not after:
                self.live.step()
                return
            targets = {
                "first": picture.steps[0],
                "step_back": before[-1] if before else picture.step,
                "step_forward": after[0] if after else picture.step,
                "last": picture.steps[-1],
            }
            self.live.look(targets[button])

    def press(self, event: QKeyEvent) -> bool:
        """Do what a plain key does that no control wanted: False for another one."""
        do = asked(event)
        if not do or self.live.plan is None:
            return False
        if do == "step":
            self.live.step()
        elif do == "swap":
            self.live.swap()
        elif do == "switch":
            head = self._head()
            if head is not None:
                self._on_switch(*head)
        else:
            self.go(do)
        return True

    @Slot(str)
    def _on_button(self, button: str) -> None:
        self.go(button)

    @Slot(str, int)
    def _on_switch(self, site: str, head: int) -> None:
        self.live.switch((site, head))

    @Slot(str)
    def _on_speed(self, speed: str) -> None:
        self.live.set_speed(int(speed))

    @Slot(object)
    def _on_difference(self, row: Difference | None) -> None:
        """Another run B: one with a difference, or none."""
        plan = self.live.plan
        if plan is not None:
            self.live.compare(other_of(plan, row))

    @Slot(int)
    @Slot(float)
    def _on_place(self, step: float) -> None:
        picture = self.live.picture
        if picture is not None:
            self.live.look(min(picture.steps, key=lambda kept: abs(kept - step)))

    @Slot()
    def _on_anew(self) -> None:
        """Begin again; a run that took steps stays in the history, with its document, and as run B."""
        plan, document = self.live.plan, self.store.document
        if plan is not None and self._is_begun:
            self._dropped = self.live.kept()
            self.store.open(document.changed(experiment=plan.experiment))
            if self.live.plan is None:  # the same experiment is no change
                self.on_document(None, self.store.document)
            self._has_restarted = True
            self._show()
        elif self._of is not None:
            self._has_restarted = False
            self._begin(self._of if plan is None else plan.experiment)

    @Slot()
    def _on_restart(self) -> None:
        """Begin again, without the run before."""
        self.live.drop_before()
        self._on_anew()
        self._has_restarted = False
        self._show()

    @Slot()
    def _on_settings(self) -> None:
        """The next steps have other settings."""
        plan = self.live.plan
        if plan is not None:
            course, settings = self.choices.course(plan.course), self.choices.settings(plan.settings)
            self.live.change(replace(plan, course=course, settings=settings))
            self._show()

    @Slot()
    def _on_explore(self) -> None:
        self.live.pause()
        self._leave("workspace_explore")

    @Slot(str, int)
    def _on_head(self, site: str, head: int) -> None:
        trace = self.store.trace
        stage = {} if trace is None else {"stage": trace.shown(site).raw_map}
        self.store.look(site=site, head=head, **stage)

    # --- showing

    def retranslate(self) -> None:
        self._show()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """In a narrow window the curves stand below the maps."""
        self.beside.fit(self.height())
        is_wide = self.width() >= WIDE_PX
        way = QBoxLayout.Direction.LeftToRight if is_wide else QBoxLayout.Direction.TopToBottom
        self._views.setDirection(way)
        self._views.setSpacing(2 * GRID if is_wide else GRID // 2)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            room = self._maps.viewport().size()
            self.heads.set_room(room.width(), room.height())
        return super().eventFilter(watched, event)

    @Slot()
    def _show(self) -> None:
        live, picture = self.live, self.live.picture
        if self._leaves_for is not None and not live.is_due:
            self._later.start()
        problem = self._obstacle.message if self._obstacle is not None else live.problem
        for part in (self.pictures, self.beside):
            part.setVisible(problem is None)
        self.empty.setVisible(problem is not None)
        if problem is not None:
            self.empty.show_reason(in_words(problem))
        head = self._head()
        self.heads.set_picture(picture, head)
        n_steps = self.choices.settings().steps
        reached = 0 if picture is None else picture.steps[-1]
        n_shown = max(n_steps, reached)
        known = None if live.plan is None else live.plan.experiment.vocabulary
        tokens = () if known is None else known.tokens
        guessing = math.log(len(tokens)) if tokens else 0.0  # the loss of one who guesses
        self.curves.set_picture(picture, guessing, n_shown, head, live.beside)
        self.beside.writes.set_picture(picture, tokens, guessing)
        self.beside.versus.set_runs(live.plan, picture, live.other, live.beside)
        with QSignalBlocker(self.track):
            self.track.setRange(0, axis_end(reached, n_shown))
            self.track.setSingleStep(self.choices.course().kept)
            self.track.setValue(0 if picture is None else picture.step)
        self.track.update()
        self.transport.set_playing(live.is_playing)
        self.transport.set_usable(picture is not None)
        self.transport.set_usable((picture is not None or live.is_waiting) and live.can_go_on, "play")
        self.restart.setEnabled(self._is_begun)
        self.explore.setEnabled(picture is not None and picture.step > 0)
        self._say()

    def _head(self) -> HeadPlace | None:
        """The selected head of the document, where the run has it."""
        picture, view = self.live.picture, self.store.document.view
        if picture is None:
            return None
        place = (self.store.document.site, view.head)
        return place if place in picture.heads else None

    def _say(self) -> None:
        """Say the pattern that is seen, the place in the run, and its size."""
        picture, plan = self.live.picture, self.live.plan
        if picture is None or plan is None:
            waits = _("This model is large: press Space, and its first state is measured.")
            due = _("Measuring the first state…") if plan is not None else ""
            self.said.setText(waits if self.live.is_waiting else due)
            self.where.set_line("")
            self.note.setText(noted(None, plan.experiment, self._count, False) if plan else "")
            return
        set_tone("error" if picture.reason is not None else "title", self.said)
        self.said.setText(said_of(picture))
        self.where.set_line(place_of_run(picture, plan.settings.steps))
        self.note.setText(noted(picture, plan.experiment, self._count, self._has_restarted))
