"""The player's controls: its buttons, its speed, the slider of the steps, and switches."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from attnviz.core.text import isolated
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import says
from attnviz.gui.panels.decoding.links import shown_step_site
from attnviz.gui.panels.decoding.names import names_of
from attnviz.gui.player import END, Event, GoBy, GoTo, Pace, Toggle
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.elided_label import ElidedLabel
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.widgets.slider_field import Track
from attnviz.gui.widgets.toggle import Toggle as Switch
from attnviz.gui.widgets.tone import set_tone
from attnviz.gui.widgets.transport import Transport
from attnviz.i18n import N_, _
from attnviz.model.edit.generation import FRESH, set_writing
from attnviz.model.sites.titles import label_among_several

EVENTS: dict[str, Event] = {
    "first": GoTo(0),
    "step_back": GoBy(-1),
    "play": Toggle(),
    "step_forward": GoBy(1),
    "last": GoTo(END),
}
"""The event of each button."""

WIDTH = 320


class PlayerControls(QWidget):
    """Plays the store's player. `rest_changed` carries whether the text after the step is shown."""

    rest_changed = Signal(bool)

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._last_writing = FRESH
        self._buttons = Transport("decode")
        self._buttons.pressed.connect(self._on_button)
        self._slider = says(Track(), id="decode_scrubber", name=N_("Step"))
        self._slider.valueChanged.connect(self._on_slid)
        self._speed = DragNumber(1.0, minimum=0.25, maximum=16.0, decimals=2, step=0.05)
        says(self._speed, id="decode_speed", name=N_("Speed"), tip=True)
        self._speed.changed.connect(self._on_speed)
        self._speed.rejected.connect(store.rejected)
        self._times, self._where = QLabel("×"), ElidedLabel()
        self._where.setObjectName("decode_where")
        tip = N_("The map, the heads and the plane show the tokens up to the present step")
        self._follow = says(Switch(""), N_("Follow"), id="decode_follow", tip=tip)
        self._follow.changed.connect(store.set_following)
        tip = N_("Show the text after the present step")
        self._rest = says(Switch(""), N_("Show the rest"), id="decode_rest", tip=tip)
        self._rest.changed.connect(self.rest_changed)
        tip = N_("Continue the tokens of the document: each step feeds the sampled token back")
        self._writes = says(Switch(""), N_("Generate"), id="decode_writes", tip=tip)
        self._writes.changed.connect(self._on_writes)
        self._lay_out()
        set_tone("muted", self._where, self._times)

    def refresh(self) -> None:
        """Show whether the document generates."""
        writing = self._store.experiment.writing
        if writing is not None:
            self._last_writing = writing
        self._writes.set_value(writing is not None)

    def show_step(self, step: int) -> None:
        """Show the present step of the player."""
        player = self._store.player
        self._slider.blockSignals(True)
        self._slider.setRange(0, max(0, player.n_steps - 1))
        self._slider.setValue(step)
        self._slider.blockSignals(False)
        self._buttons.set_usable(player.n_steps > 1)
        self._slider.setEnabled(player.n_steps > 1)
        self._where.set_line(self._place(step))

    def _place(self, step: int) -> str:
        decoded = self._store.player.decoded
        if decoded is None:
            return ""
        reached, count = decoded.decoding.steps[step], len(decoded.decoding.steps)
        text = _("step {step} of {count} · “{token}”")
        if reached.prefill is not None:
            text = _("step {step} of {count} · prefill · “{token}”")
        token = isolated(names_of(decoded.decoding).label(reached.token))
        where = text.format(step=step + 1, count=count, token=token)
        experiment = decoded.decoding.experiment
        site = label_among_several(experiment, shown_step_site(decoded, self._store.document.view.site))
        beyond = self._store.document.beyond_training(step + 1)
        return " · ".join(filter(None, (where, site, beyond and beyond.text())))

    def show_rest(self, shows: bool) -> None:
        """Show whether the text after the step is shown."""
        self._rest.set_value(shows)

    def show_player(self) -> None:
        """Show whether steps follow by themselves, and whether the panels follow them."""
        self._follow.set_value(self._store.player.follows)
        self._buttons.set_playing(self._store.player.is_playing)

    @Slot(str)
    def _on_button(self, name: str) -> None:
        self._store.play(EVENTS[name])

    @Slot(int)
    def _on_slid(self, step: int) -> None:
        self._store.play(GoTo(step))

    @Slot(object)
    def _on_speed(self, speed: float) -> None:
        self._store.play(Pace(speed))

    @Slot(bool)
    def _on_writes(self, writes: bool) -> None:
        self._store.edit(set_writing, self._last_writing if writes else None)

    def _lay_out(self) -> None:
        column = in_column(self, spacing=2)
        buttons, switches = QHBoxLayout(), QHBoxLayout()
        buttons.setSpacing(GRID // 2)
        buttons.addWidget(self._buttons, 1)
        for part in (self._speed, self._times):
            buttons.addWidget(part)
        switches.setSpacing(2 * GRID)
        for switch in (self._follow, self._rest, self._writes):
            switches.addWidget(switch)
        switches.addStretch(1)
        column.addLayout(buttons)
        column.addWidget(self._slider)
        column.addWidget(self._where)
        column.addLayout(switches)
        column.addStretch(1)
        self.setMinimumWidth(280)
