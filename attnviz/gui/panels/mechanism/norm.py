"""One norm in a form: which kind, its ε, and whether it has a gain and a bias."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from attnviz.core.phrases import named
from attnviz.errors import Message
from attnviz.gui.forms.marks import Mark
from attnviz.gui.forms.subject import S, Subject
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import composed, says
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column, in_row
from attnviz.gui.widgets.breaking_line import BreakingLine
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.toggle import Toggle
from attnviz.i18n import N_
from attnviz.model.edit.block import LastSeen, drawn_bias, drawn_gain, norm_of_kind
from attnviz.model.errors.titles import reason_in_words
from attnviz.model.fields import field_at
from attnviz.model.spec.block import Norm, bias_beside_kind
from attnviz.model.spec.rows import DrawnRow

KINDS = (
    ("none", N_("none"), N_("No norm")),
    ("layer", "LayerNorm", N_("Subtracts each row's mean and divides by its standard deviation")),
    ("rms", "RMSNorm", N_("Divides each row by the root of its mean square")),
)
EPS_DECIMALS = 6
_BIAS = DrawnRow()
"""A bias, for the words of its refusal."""


@dataclass(frozen=True, kw_only=True)
class NormSlot(Generic[S]):
    """A place for a norm. `id` names the controls and what `LastSeen` keeps; label and hint are messages."""

    id: str
    label: str
    hint: str
    read: Callable[[S], Norm | None]
    edit: Callable[[S, Norm | None], S]
    shown: Callable[[S], bool]
    path: str = ""

    @classmethod
    def at(cls, id: str, path: str, **functions: Any) -> NormSlot[S]:
        """The slot of the field at `path`, with the label and the hint that it has."""
        row = field_at(path)
        assert row is not None
        return cls(id=id, label=row.field.title, hint=row.field.hint, path=path, **functions)


class NormLine(QWidget, Generic[S]):
    """Kind on the first line; ε, gain and bias on a second one, if the norm exists."""

    def __init__(
        self, subject: Subject[S], slot: NormSlot[S], store: Store, last: Callable[[], LastSeen]
    ) -> None:
        super().__init__()
        self._subject, self.slot, self._last = subject, slot, last
        self.setObjectName(f"{slot.id}_line")
        self._label, self._eps_label = says(QLabel(), slot.label, tip=slot.hint), QLabel("ε")
        self.kind = says(Segmented(()), id=f"{slot.id}_kind", name=slot.label, options=KINDS)
        self.eps = DragNumber(minimum=0.0, maximum=1e6, decimals=EPS_DECIMALS, step=1e-6)
        says(self.eps, id=f"{slot.id}_eps_field", name=Message("ε of {norm}", norm=Message(slot.label)))
        self.gain = says(
            Toggle(""),
            N_("gain"),
            id=f"{slot.id}_gain_toggle",
            name=composed(named, slot.label, N_("gain")),
            tip=N_("Multiplies every feature by a number, initialised near 1; off: ones"),
        )
        self.bias = says(
            Toggle(""),
            N_("bias"),
            id=f"{slot.id}_bias_toggle",
            name=composed(named, slot.label, N_("bias")),
            tip=N_("Adds a number to every feature, initialised near 0; off: zeros"),
        )
        self._numbers = BreakingLine()
        self._lay_out()
        Mark(store, self, slot.path or slot.id)
        Mark(store, self.eps, f"{slot.path or slot.id}.eps")
        self.kind.changed.connect(self._on_kind)
        self.eps.changed.connect(self._on_eps)
        self.eps.rejected.connect(store.rejected)
        self.eps.gesture_started.connect(store.begin_gesture)
        self.eps.gesture_finished.connect(store.end_gesture)
        self.gain.changed.connect(self._on_gain)
        self.bias.changed.connect(self._on_bias)
        self.hide()

    def refresh(self) -> None:
        """Show the document's norm."""
        subject = self._subject.now()
        is_shown = self.slot.shown(subject)
        self.setVisible(is_shown)
        if not is_shown:
            return
        norm = self.slot.read(subject)
        self._last().note_norm(self.slot.id, norm)
        self.kind.set_value("none" if norm is None else norm.kind)
        self._numbers.setVisible(norm is not None)
        if norm is not None:
            self.eps.set_value(norm.eps)
            self.gain.set_value(norm.gain is not None)
            self.bias.set_value(norm.bias is not None)
            self.bias.set_unavailable(reason_in_words(bias_beside_kind(norm.kind, _BIAS)))

    def _lay_out(self) -> None:
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        first = BreakingLine()
        first.line.addWidget(self._label)
        first.line.addStretch(1)
        first.line.addWidget(self.kind)
        self._numbers.line.addWidget(_beside(self._eps_label, self.eps))
        self._numbers.line.addStretch(1)
        self._numbers.line.addWidget(_beside(self.gain, self.bias))
        in_column(self, first, self._numbers, spacing=GRID // 2)

    def _commit(self, change: Callable[[Norm | None], Norm | None]) -> None:
        def edited(subject: S) -> S:
            return self.slot.edit(subject, change(self.slot.read(subject)))

        self._subject.edit(edited)
        self.refresh()

    def _on_kind(self, kind: Any) -> None:
        id_, last = self.slot.id, self._last()
        self._commit(lambda norm: None if kind == "none" else norm_of_kind(id_, kind, last, norm))

    def _on_eps(self, eps: float) -> None:
        self._commit(lambda norm: _with(norm, eps=eps))

    def _on_gain(self, is_on: bool) -> None:
        gain = drawn_gain(self.slot.id, self._last()) if is_on else None
        self._commit(lambda norm: _with(norm, gain=gain))

    def _on_bias(self, is_on: bool) -> None:
        bias = drawn_bias(self.slot.id, self._last()) if is_on else None
        self._commit(lambda norm: _with(norm, bias=bias))


def _beside(*widgets: QWidget) -> QWidget:
    room = QWidget()
    in_row(room, *widgets, spacing=GRID)
    return room


def _with(norm: Norm | None, **fields: Any) -> Norm | None:
    """`norm` with other fields; where all layers are edited alike, one without a norm stays without."""
    if norm is None:
        return None
    kept = {name: getattr(norm, name) for name in norm.__struct_fields__}
    return Norm(**(kept | fields))
