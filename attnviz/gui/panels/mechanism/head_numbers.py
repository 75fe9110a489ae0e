"""One number for each head, each edited where it stands: attention sinks, ALiBi's slopes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from attnviz.errors import Message
from attnviz.gui.forms.marks import Mark
from attnviz.gui.forms.rows import Note
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import says
from attnviz.gui.store import Store
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.i18n import _
from attnviz.model.fields import field_at
from attnviz.model.spec.site import Site

MOST_HEADS = 64
COLUMNS = 2


class HeadNumbers(QWidget):
    """The numbers of the first 64 heads, and the count of heads if they are more.

    `name` begins the object name of each number; `path` is the field that holds them. `spoken` is the
    message that describes a number, with a field `{head}`. `edit` sets the number of one head, counted
    from 0, in the selected attention.
    """

    def __init__(
        self,
        store: Store,
        name: str,
        path: str,
        spoken: str,
        edit: Callable[[Site, int, float], Site],
    ) -> None:
        super().__init__()
        self._store, self._name, self._path, self._spoken, self._edit = store, name, path, spoken, edit
        self._labels: list[QLabel] = []
        self._numbers: list[DragNumber] = []
        self._rest = Note(f"{name}_rest_label")
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(GRID // 2)  # else the numbers of a narrow panel are cut
        self._grid.setVerticalSpacing(2)
        for gap in range(2, 3 * COLUMNS - 1, 3):
            self._grid.setColumnMinimumWidth(gap, GRID)
        self._grid.addWidget(self._rest, MOST_HEADS // COLUMNS, 0, 1, 3 * COLUMNS)

    def show_values(self, values: Sequence[float]) -> None:
        """Show the number of each head."""
        while len(self._numbers) < min(len(values), MOST_HEADS):
            self._add(len(self._numbers))
        for head, (label, box) in enumerate(zip(self._labels, self._numbers, strict=True)):
            label.setVisible(head < len(values))
            box.setVisible(head < len(values))
            if head < len(values):
                box.set_value(values[head])
        self._rest.setVisible(len(values) > MOST_HEADS)
        self._rest.setText(_("first {n} of {all} heads").format(n=MOST_HEADS, all=len(values)))

    def _add(self, head: int) -> None:
        described = field_at(self._path)
        assert described is not None
        label = says(QLabel(), Message("head {head}", head=head + 1))
        box = DragNumber(decimals=described.field.digits, step=described.field.step)
        says(box, id=f"{self._name}_{head}", name=Message(self._spoken, head=head + 1))
        Mark(self._store, box, f"{self._path}[{head}]")
        box.changed.connect(partial(self._on_changed, head))
        box.rejected.connect(self._store.rejected)
        box.gesture_started.connect(self._store.begin_gesture)
        box.gesture_finished.connect(self._store.end_gesture)
        row, column = divmod(head, COLUMNS)
        self._grid.addWidget(label, row, 3 * column)
        self._grid.addWidget(box, row, 3 * column + 1, Qt.AlignmentFlag.AlignRight)
        self._labels.append(label)
        self._numbers.append(box)

    def _on_changed(self, head: int, value: float) -> None:
        self._store.edit_attention(self._edit, head, value)
