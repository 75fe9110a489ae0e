"""Numbers and names of the cells of one site, as explanations write them."""

from __future__ import annotations

from collections import Counter
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from attnviz.core.text import elide, isolated
from attnviz.i18n import _
from attnviz.model.sites.stages import has_names
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID, Axis
from attnviz.model.text import shown_token
from attnviz.model.trace import SiteTrace
from attnviz.operations.terms import Term, digits

LONGEST_TOKEN = 16
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_SEPARATORS = frozenset(" ,;[]()=")

Floats = NDArray[np.float64]


class Reading:
    """Reads one site in float64. Rows and columns are read alone, so that a long run stays cheap."""

    def __init__(self, site: SiteTrace) -> None:
        self.site = site
        self.experiment = site.experiment
        self._labels: dict[tuple[Axis, int], str] = {}

    def number(self, cell: Cell) -> float:
        """The trace's number in one cell."""
        rows, columns = slice(cell.row, cell.row + 1), slice(cell.column, cell.column + 1)
        return float(self.site.window(cell.stage, cell.head, rows, columns)[0, 0])

    def row(self, stage: str, head: int, row: int) -> Floats:
        """One row of a stage."""
        numbers = self.site.window(stage, head, slice(row, row + 1))[0]
        return np.asarray(numbers, dtype=np.float64)

    def column(self, stage: str, head: int, column: int) -> Floats:
        """One column of a stage."""
        numbers = self.site.window(stage, head, slice(None), slice(column, column + 1))[:, 0]
        return np.asarray(numbers, dtype=np.float64)

    def term(self, cell: Cell, value: float | None = None) -> Term:
        """The number in a cell, as a term that links to it; `value` if it has been read already."""
        value = self.number(cell) if value is None else float(value)
        return Term(value, digits(value), self.full_name(cell), cell, STAGE_BY_ID[cell.stage].hue)

    def link(self, cell: Cell) -> Term:
        """The cell by its name instead of its digits."""
        hue = STAGE_BY_ID[cell.stage].hue
        return Term(self.number(cell), self.name(cell), self.full_name(cell), cell, hue)

    def elsewhere(self, called: str, cell: Cell, value: float) -> Term:
        """The cell of another site that this site has under the name `called`, as a term that leads there.

        `layers.0.self · residual 2[creature, 3]`. The number is at hand: sites do not read each other. The
        token is one of this site's own: where a memory stands, the other site has it as a query.
        """
        origin = self.site.given[called]
        at = Cell(origin.stage, cell.row, cell.column, site=origin.site)
        token = self.label(STAGE_BY_ID[called].axes[-2], cell.row)
        name = f"{origin.site} · {stage_symbol(origin.stage)}[{token}, {cell.column}]"
        return Term(value, name, name, at)

    def name(self, cell: Cell) -> str:
        """`weights[creature, fluffy]`."""
        on_rows, on_columns = STAGE_BY_ID[cell.stage].axes[-2:]
        labels: tuple[str, ...] = self.label(on_rows, cell.row), self.label(on_columns, cell.column)
        if STAGE_BY_ID[cell.stage].by_token:
            labels = self.label("token", self.site.head_and_token(cell.stage, cell.head)[1]), *labels
        return f"{stage_symbol(cell.stage)}[{', '.join(labels)}]"

    def full_name(self, cell: Cell) -> str:
        """`weights[creature, fluffy], head 2`; a single head is left out."""
        name, heads, first = self.name(cell), self.experiment.heads, STAGE_BY_ID[cell.stage].axes[0]
        head = self.site.head_and_token(cell.stage, cell.head)[0] + 1
        if first == "kv_head" and heads.n_kv_heads > 1:
            return _("{cell}, KV head {head}").format(cell=name, head=head)
        if first == "head" and heads.n_heads > 1:
            return _("{cell}, head {head}").format(cell=name, head=head)
        return name

    def label(self, axis: Axis, index: int) -> str:
        """The token at an index of an axis, or the number of the feature.

        A repeated token has its position as a subscript; one that could be read as a part of the formula has
        quotation marks.
        """
        if not has_names(axis):
            return str(index)
        label = self._labels.get((axis, index))
        if label is None:
            label = self._labels[axis, index] = self._label(axis, index)
        return label

    def _label(self, axis: Axis, index: int) -> str:
        token = self.site.labels(axis)[index]
        shown = isolated(elide(shown_token(self.site.vocabulary, token), LONGEST_TOKEN))
        if not token or not _SEPARATORS.isdisjoint(token):
            shown = f"“{shown}”"
        is_repeated = axis != "vocabulary" and token in self._repeated[axis in ("key", "memory")]
        return shown + str(index).translate(_SUBSCRIPTS) if is_repeated else shown

    def title(self, cell: Cell) -> str:
        """The stage's name, and which head of how many the cell belongs to."""
        row = STAGE_BY_ID[cell.stage]
        title = _(row.title)
        if not row.per_head:
            return title
        head, count = self.site.head_and_token(cell.stage, cell.head)[0] + 1, self.site.shape(cell.stage)[0]
        if row.axes[0] == "kv_head":
            return _("{stage} · KV head {head} of {count}").format(stage=title, head=head, count=count)
        return _("{stage} · head {head} of {count}").format(stage=title, head=head, count=count)

    @cached_property
    def _repeated(self) -> tuple[frozenset[str], frozenset[str]]:
        """Tokens that stand more than once among (the queries, the keys)."""
        both = self.experiment.tokens, self.experiment.key_tokens
        counts = [Counter(tokens) for tokens in both]
        first, second = (frozenset(t for t, n in count.items() if n > 1) for count in counts)
        return first, second


def stage_symbol(stage: str) -> str:
    """Symbol of a stage in formulas, in the active language."""
    row = STAGE_BY_ID[stage]
    return row.symbol or _(row.title)
