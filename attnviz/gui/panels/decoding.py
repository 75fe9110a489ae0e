"""Decoding with a KV cache, step by step: what is read, what is appended, what comes out."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, QTimer, Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSlider, QToolButton, QVBoxLayout, QWidget

from attnviz.core.text import isolated, visible
from attnviz.gui.icons import icon
from attnviz.gui.panels.decoding_step import StepView, shown_step_site
from attnviz.gui.panels.panel import Panel
from attnviz.gui.site_names import shown_label
from attnviz.gui.store import Store
from attnviz.gui.theme import GRID, Theme
from attnviz.gui.widgets.drag_number import DragNumber
from attnviz.i18n import _
from attnviz.model.document import Document
from attnviz.model.view import Cell

STEPS_PER_SECOND = 1.5

SHOWN = ("step", "head", "site")
"""What of the view the picture follows."""


class DecodingPanel(Panel):
    """The player over the step view. It only ever changes `View.step`."""

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._on_tick)
        self._view = StepView(store)
        self._buttons: dict[str, QToolButton] = {}
        for name, slot in (
            ("first", self._on_first),
            ("step_back", self._on_back),
            ("play", self.toggle_play),
            ("step_forward", self._on_forward),
            ("last", self.go_to_end),
        ):
            button = QToolButton()
            button.setObjectName(f"decode_{name}")
            button.setIconSize(QSize(16, 16))
            button.clicked.connect(slot)
            self._buttons[name] = button
        self._slider = QSlider(Qt.Orientation.Horizontal)
        self._slider.setObjectName("decode_scrubber")
        self._slider.valueChanged.connect(self._on_scrubbed)
        self._speed = DragNumber(1.0, minimum=0.25, maximum=16.0, decimals=2, step=0.05)
        self._speed.setObjectName("decode_speed")
        self._speed.changed.connect(self._on_speed)
        self._speed.rejected.connect(store.rejected)
        self._where, self._speed_label = QLabel(), QLabel("×")
        self._where.setObjectName("decode_where")
        self._where.setTextFormat(Qt.TextFormat.PlainText)
        self._lay_out()
        store.decoded.connect(self._on_decoded)

    def header(self) -> QWidget:
        """The player's buttons stand in the title."""
        return self._player

    # --- the commands of the Decoding menu

    @Slot()
    def toggle_play(self) -> None:
        """Play to the end, or pause; from the end, play again from the start."""
        if self._timer.isActive():
            self._timer.stop()
        elif self._count() > 1:
            if self._step() >= self._count() - 1:
                self.go_to(0)
            self._on_speed(self._speed.value())
            self._timer.start()
        self._show_buttons()

    def step(self, by: int) -> None:
        """Some steps forward or back."""
        self.go_to(self._step() + by)

    def go_to(self, step: int) -> None:
        """To one step, or the nearest that there is."""
        self.store.look(step=max(0, min(step, self._count() - 1)))

    @Slot()
    def go_to_end(self) -> None:
        """To the last step."""
        self.go_to(self._count() - 1)

    @property
    def is_playing(self) -> bool:
        """Whether steps follow by themselves."""
        return self._timer.isActive()

    # --- following the store

    def on_document(self, old: Document | None, new: Document) -> None:
        if old is None or any(getattr(old.view, name) != getattr(new.view, name) for name in SHOWN):
            self._show()

    def on_hover(self, cell: Cell | None) -> None:
        self._view.light(cell)

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        self._where.setStyleSheet(f"color: {theme.muted}")
        self._speed_label.setStyleSheet(f"color: {theme.muted}")
        self._show_buttons()

    def retranslate(self) -> None:
        for name, text in (
            ("first", _("To the first step")),
            ("step_back", _("Step back")),
            ("play", _("Play or pause")),
            ("step_forward", _("Step")),
            ("last", _("To the last step")),
        ):
            self._buttons[name].setToolTip(text)
            self._buttons[name].setAccessibleName(text)
        self._slider.setAccessibleName(_("Step"))
        self._speed.setAccessibleName(_("Speed"))
        self._speed.set_tooltip(_("Speed"))
        self._view.retranslate()
        self._show()

    @Slot(object)
    def _on_decoded(self, decoded: object) -> None:
        self._show()

    def _count(self) -> int:
        decoded = self.store.decoded_now
        return len(decoded.decoding.steps) if decoded is not None else 0

    def _step(self) -> int:
        return max(0, min(self.store.document.view.step, self._count() - 1))

    def _show(self) -> None:
        decoded, count, step = self.store.decoded_now, self._count(), self._step()
        self._slider.blockSignals(True)
        self._slider.setRange(0, max(0, count - 1))
        self._slider.setValue(step)
        self._slider.blockSignals(False)
        for button in self._buttons.values():
            button.setEnabled(count > 1)
        if decoded is None:
            self._where.setText("")
        else:
            token = isolated(visible(decoded.decoding.steps[step].token))
            text = _("step {step} of {count} · “{token}”")
            where = text.format(step=step + 1, count=count, token=token)
            experiment = decoded.decoding.experiment
            site = shown_label(experiment, shown_step_site(decoded, self.store.document.view.site))
            self._where.setText(f"{where} · {site}" if site else where)
        self._view.show_step(decoded, step)

    def _show_buttons(self) -> None:
        for name, button in self._buttons.items():
            shown = "pause" if name == "play" and self._timer.isActive() else name
            button.setIcon(icon(shown, self.theme))

    # --- acting

    @Slot()
    def _on_tick(self) -> None:
        self.step(1)
        if self._step() >= self._count() - 1:
            self._timer.stop()
            self._show_buttons()

    @Slot(object)
    def _on_speed(self, speed: float) -> None:
        self._timer.setInterval(max(16, round(1000 / (STEPS_PER_SECOND * speed))))

    @Slot(int)
    def _on_scrubbed(self, step: int) -> None:
        self.go_to(step)

    @Slot()
    def _on_first(self) -> None:
        self.go_to(0)

    @Slot()
    def _on_back(self) -> None:
        self.step(-1)

    @Slot()
    def _on_forward(self) -> None:
        self.step(1)

    def _lay_out(self) -> None:
        self._player = QWidget()
        row = QHBoxLayout(self._player)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID // 2)
        row.addWidget(self._where)
        for button in self._buttons.values():
            row.addWidget(button)
        self._slider.setMinimumWidth(96)
        row.addWidget(self._slider)
        row.addWidget(self._speed)
        row.addWidget(self._speed_label)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._view)
