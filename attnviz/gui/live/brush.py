"""The brush of painted masks: one stroke over the large map or over the small picture of the masks."""

from __future__ import annotations

from attnviz.gui.store import Store
from attnviz.model.edit import edits
from attnviz.model.masks import mask_of
from attnviz.model.spec.parts import Painted


class Brush:
    """Block or free cells of a store's attention. The first cell of a stroke decides which; all of it is one
    entry of the history, which `Store.end_gesture` ends.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._blocks = True

    def touch(self, row: int, column: int, *, starts: bool) -> None:
        """Paint the cell of query `row` and key `column`; `starts` with the first one of a stroke."""
        attention = self._store.attention
        if starts:
            painted = mask_of(attention, Painted)
            cell = row + attention.query_offset, column
            self._blocks = painted is None or cell not in painted.cells
            self._store.begin_gesture()
        self._store.edit_attention(edits.paint, row, column, self._blocks)
