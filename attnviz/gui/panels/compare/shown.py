"""The record that the Compare panel shows: the state of the document and of A, with the answer about both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from attnviz.gui.panels.compare.picture import Picture, of_compared, of_contrast
from attnviz.gui.panels.compare.requests import OwnAnswer
from attnviz.gui.panels.compare.texts import captions, title
from attnviz.gui.widgets.segmented import Option
from attnviz.i18n import N_, _
from attnviz.model.spec.document import Document
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace
from attnviz.model.why_not import WHY_NOT_BY_ID, WHY_NOTS

if TYPE_CHECKING:
    from attnviz.engines.why_not import Compared

OWN = "own"
"""Entry of the menu for a comparison of one's own."""
OWN_TITLE = N_("Pinned state")


@dataclass(frozen=True, eq=False)
class Comparison:
    """`row` is `OWN` or that of a prepared comparison; its answer, where it has one, is `own` or `compared`.

    `reason` says why it has none. `offered` is the stage to compare where A lacks the shown one, or empty.
    """

    document: Document
    row: str
    is_pinned: bool
    is_unrelated: bool
    own: OwnAnswer | None = None
    compared: Compared | None = None
    reason: str = ""
    offered: str = ""

    @property
    def is_own(self) -> bool:
        """True if A is the user's, not a prepared one."""
        return self.row == OWN

    @property
    def is_empty(self) -> bool:
        """True if nothing is pinned that could be compared."""
        return self.is_own and not self.is_pinned

    @cached_property
    def picture(self) -> Picture | None:
        """The maps; None without an answer."""
        if self.own is not None:
            return of_contrast(self.own.contrast, captions(self.own), self.document.view)
        return None if self.compared is None else of_compared(self.compared)

    @property
    def has_body(self) -> bool:
        """True if maps are shown, or the sentence of a prepared comparison, in place of the empty state."""
        return self.picture is not None or not self.is_own

    @property
    def offers_prepared(self) -> bool:
        """True if the prepared comparisons stand below the sentence: nothing of this document is pinned."""
        return not self.has_body and (self.is_empty or self.is_unrelated)

    @property
    def empty(self) -> tuple[str, str]:
        """The sentence of the empty state, and its button."""
        if self.is_empty:
            says = _(
                "Pin the present state as A, then change anything in the window: the text, the mask, a head."
            )
            return says, _("Pin as A")
        offer = (
            _("Compare “{stage}”").format(stage=_(STAGE_BY_ID[self.offered].title)) if self.offered else ""
        )
        return self.reason or _("Comparing…"), _("Pin as A") if self.is_unrelated else offer


def heading(document: Document, row: str, drawn: SiteTrace | None) -> str:
    """The document and the compared numbers, or the gradient alone; `drawn` are those of B."""
    if row != OWN:
        return title(document, _(STAGE_BY_ID[WHY_NOT_BY_ID[row].stage].title))
    assert drawn is not None
    called = drawn.called(drawn.shown_stage(document.view.stage))
    return title(document, called) if drawn.quantity == "value" else called


def options() -> tuple[Option, ...]:
    """All comparisons: one's own first."""
    return ((OWN, _(OWN_TITLE), _("The pinned state beside the present one")), *prepared())


def prepared() -> tuple[Option, ...]:
    """The prepared comparisons."""
    return tuple((row.id, _(row.title), _(row.title)) for row in WHY_NOTS)
