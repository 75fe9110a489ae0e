"""Edits of a stage by hand: numbers set, added or multiplied, from which all that follows is computed."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from attnviz.errors import Message, must_be
from attnviz.i18n import N_
from attnviz.model.spec.field import Field, Index
from attnviz.model.spec.value import Value, require
from attnviz.model.stages import STAGE_BY_ID

Operation = Literal["set", "add", "scale"]

OPERATIONS: tuple[tuple[Operation, str, str], ...] = (
    ("set", N_("set to"), N_("The number stands in the place of the computed one")),
    ("add", N_("add"), N_("The number is added to the computed one")),
    ("scale", N_("multiply by"), N_("The computed number is multiplied")),
)
"""(id, title, hint) of each operation."""

EDITABLE = tuple(row.id for row in STAGE_BY_ID.values() if row.reads and not row.by_token)
"""The stages that can be edited: those that their site computes, and keeps or computes by rows."""

FROM_LATENT = tuple(stage.id for stage in STAGE_BY_ID.values() if stage.axes[0] == "kv_head")
"""Stages that decoding computes anew from the cached latent at every step."""


class Edit(Value, frozen=True):
    """One cell or one row of a stage, edited by hand: everything behind it is computed from the new numbers.

    An edit names an absolute position, and moves with its token as the text is edited. Where the pass has no
    such stage, head, position or column, and in a decoding step of another position, it changes nothing. The
    edits of a stage are applied in their order.

    Attributes:
        stage: A stage that the attention computes. The token vectors, the memory and a layer's input are
            edited where they come from.
        position: The row: the position of a query, token or key.
        head: The head of a stage with heads (a KV head for keys and values); None for all of them.
        column: The feature, key, token of the vocabulary or expert; None for the whole row.
        operation: `set` replaces, `add` adds to, `scale` multiplies the computed number.
        value: One number, or, for a row, one for each of its columns.

    Raises:
        FieldError: for a stage that is given to the attention and not computed by it.
    """

    where: ClassVar[str] = "edits."

    stage: Annotated[str, Field(N_("Edited stage"), N_("Stage whose numbers are edited by hand"))]
    position: Annotated[Index, Field(N_("Edited position"), N_("Row of the stage, counted from 0"))]
    value: Annotated[
        float | tuple[float, ...],
        Field(N_("Number by hand"), N_("One number, or one for each column of the row")),
    ]
    operation: Annotated[
        Operation,
        Field(N_("Operation"), N_("Change of the computed number"), options=OPERATIONS),
    ] = "set"
    head: Annotated[Index | None, Field(N_("Edited head"), N_("Head of the stage, or all of them"))] = None
    column: Annotated[Index | None, Field(N_("Edited column"), N_("Column of the row, or the whole row"))] = (
        None
    )

    def check(self) -> None:
        given = must_be(
            "a stage that the attention computes; token vectors, memory and layer input are edited where "
            "they come from"
        )
        require(self.stage in EDITABLE, "edits.stage", self.stage, given)
        if self.head is not None:
            without = must_be("null for a stage without heads")
            require(STAGE_BY_ID[self.stage].per_head, "edits.head", self.head, without)
        if not isinstance(self.value, float):
            one = must_be("one number for a single column")
            count = Message("{n} numbers", n=len(self.value))
            require(self.column is None and bool(self.value), "edits.value", count, one)
            growing = must_be("one number for a stage of queries and keys, whose rows grow with the text")
            require(not STAGE_BY_ID[self.stage].score_shaped, "edits.value", count, growing)

    def has(self, stage: str, head: int, row: int, column: int) -> bool:
        """True if the edit covers a cell; `head` counts only for a stage with heads."""
        return (
            self.stage == stage
            and self.position == row
            and self.head in (None, head)
            and self.column in (None, column)
        )

    def at(self, column: int) -> float:
        """The number for a column."""
        return self.value if isinstance(self.value, float) else self.value[column]

    def applied(self, number: float, column: int) -> float:
        """A computed number after the edit."""
        by = self.at(column)
        return by if self.operation == "set" else number + by if self.operation == "add" else number * by

    def slope(self, column: int) -> float:
        """The derivative of the edited number by the computed one."""
        return {"set": 0.0, "add": 1.0, "scale": self.at(column)}[self.operation]

    def fits(self, shape: tuple[int, ...]) -> bool:
        """True if a stage of this public shape has the edited cells."""
        n_heads, n_rows, n_columns = (1, *shape)[-3:]
        return (
            (self.head or 0) < n_heads
            and self.position < n_rows
            and (self.column or 0) < n_columns
            and (isinstance(self.value, float) or len(self.value) == n_columns)
        )
