"""The map of patching: the recovered share of each site and position, and a sentence for each cell."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QColor, QFontMetricsF, QPainter
from PySide6.QtWidgets import QWidget

from attnviz.core.text import isolated, number
from attnviz.gui.live.answer import Answer
from attnviz.gui.look.colors import LEVELS, cell_colors, inks
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX
from attnviz.gui.panels.patching.question import Question
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.elided_label import ElidedLabel
from attnviz.gui.widgets.token_table import At, ScrolledTable, TokenTable
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import _
from attnviz.model.sites.sites import at as site_at
from attnviz.model.sites.titles import site_label
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.text import shown_token, written_tokens

if TYPE_CHECKING:
    from attnviz.study.patching import Recovered

_MIDDLE = (LEVELS - 1) // 2


class PatchPicture(QWidget):
    """Sites upwards, or their heads one by one, tokens across."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.canvas = PatchCanvas()
        self.canvas.hovered.connect(self._say)
        self._scroll = ScrolledTable(self.canvas)
        self._says = ElidedLabel()
        self._says.setObjectName("patch_says")
        self._says.setFont(ui_font(TEXT_PX))
        self._found: Recovered | None = None
        self._of: Question | None = None
        self.rows: tuple[tuple[str, int], ...] = ()
        """(site, number of the row in it) of each row."""
        in_column(self, self._says, spacing=GRID // 2).addWidget(self._scroll, 1)
        set_tone("muted", self._says)

    def show_answer(self, document: Document, answer: Answer[Question, Recovered]) -> None:
        """Draw the shares, and mark the selected attention, head and query."""
        self._found, self._of = answer.result, answer.of
        self.canvas.setAccessibleName(_("Map of patching"))
        if self._found is None or self._of is None:
            self.rows = ()
            return
        experiment, n_tokens = self._of.experiment, self._of.experiment.n_queries
        parts = {
            site: shares.reshape(-1, n_tokens)
            for site, shares in self._found.values.items()
            if shares.shape[-1] == n_tokens
        }
        self.rows = tuple((site, row) for site, shares in parts.items() for row in range(len(shares)))
        titles = tuple(_title(experiment, *row, len(parts[row[0]]) > 1) for row in self.rows)
        shares = np.concatenate(list(parts.values())) if parts else np.empty((0, 0))
        words = written_tokens(experiment.vocabulary, experiment.tokens)
        self.canvas.show_shares(titles, words, shares)
        rows = [row for row, (site, _head) in enumerate(self.rows) if site == document.site]
        chosen = rows[min(document.view.head, len(rows) - 1)] if rows else None
        self._scroll.set_chosen(None if chosen is None else (chosen, document.view.query))
        self._say(self.canvas.current)

    @Slot(object)
    def _say(self, at: At | None) -> None:
        """The share of a cell, or both targets."""
        patched, of = self._found, self._of
        if patched is None or of is None:
            return
        if at is None:
            target, against = _named(of, patched.target.token), patched.target.against
            sentence = _("Logit {target}: clean {clean}, document {corrupted}; 1 restores the clean logit.")
            self._says.set_line(
                sentence.format(
                    target=target if against is None else f"{target} − {_named(of, against)}",
                    clean=number(patched.clean, 3),
                    corrupted=number(patched.corrupted, 3),
                )
            )
            return
        site, row = self.rows[at[0]]
        shares = patched.values[site].reshape(-1, of.experiment.n_queries)
        said = _("{site}, “{token}”: {stage} of the clean text recovers {share}").format(
            site=site_label(of.experiment, site)
            + (f" · {_('head {head}').format(head=row + 1)}" if len(shares) > 1 else ""),
            token=_named(of, of.experiment.tokens[at[1]]),
            stage=_(STAGE_BY_ID[of.stage].title),
            share=number(float(shares[row, at[1]]), 3),
        )
        self._says.set_line(said)
        self.canvas.setAccessibleDescription(said)


class PatchCanvas(TokenTable):
    """A number on its colour: diverging from −1 over 0 to 1, shares beyond in the last one."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("patch_canvas")
        self._shares: NDArray[np.float64] = np.empty((0, 0))

    def show_shares(
        self, titles: tuple[str, ...], tokens: tuple[str, ...], shares: NDArray[np.float64]
    ) -> None:
        """Show other shares (row, token)."""
        self._shares = shares
        self.set_table(titles, tokens)

    def color_at(self, at: At) -> QColor:
        """The colour of a cell."""
        return QColor(*cell_colors("diverging", self._theme)[self._level(at)][:3])

    def _level(self, at: At) -> int:
        share = float(self._shares[at])
        inside = 0.0 if math.isnan(share) else min(max(share, -1.0), 1.0)
        return round(_MIDDLE * (1 + inside))

    def _paint_cell(self, painter: QPainter, metrics: QFontMetricsF, at: At) -> None:
        box = self.cell(at)
        painter.fillRect(box, self.color_at(at))
        painter.setPen(QColor(inks("diverging", self._theme)[self._level(at)]))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, number(float(self._shares[at]), 2))


def _title(experiment: Experiment, site: str, head: int, has_heads: bool) -> str:
    place = site_at(experiment, site).place
    own = str(place.layer + 1) if place.stack == "layers" else site_label(experiment, site)
    return f"{own}.{head + 1}" if has_heads else own


def _named(of: Question, token: str) -> str:
    """A token of the vocabulary inside a sentence."""
    return isolated(shown_token(of.experiment.vocabulary, token))
