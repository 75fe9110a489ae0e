"""The table of the logit lens: the most probable token after each layer, tinted by its probability."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter
from PySide6.QtWidgets import QWidget

from attnviz.gui.widgets.token_table import At, TokenTable
from attnviz.model.sites.titles import row_title
from attnviz.model.spec.block import Vocabulary
from attnviz.model.spec.experiment import Experiment
from attnviz.model.text import shown_token, written_tokens
from attnviz.study.lens import Lens

DEEPEST = 0.45
"""Share of the accent in the cell of a certain token, on which ink is still readable."""


class LensCanvas(TokenTable):
    """Layers upwards, tokens across; a frame marks the token that follows in the text."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("lens_canvas")
        self._lens: Lens | None = None
        self._text: tuple[str, ...] = ()
        self._vocabulary: Vocabulary | None = None

    def show_lens(self, lens: Lens | None, experiment: Experiment | None) -> None:
        """Show another lens over the tokens of the experiment; None for none."""
        self._lens = lens
        self._text = () if experiment is None else experiment.tokens
        self._vocabulary = None if experiment is None else experiment.vocabulary
        rows: tuple[str, ...] = ()
        if lens is not None and experiment is not None:
            rows = tuple(row_title(experiment, site) for site in lens.sites)
        self.set_table(rows, written_tokens(self._vocabulary, self._text))

    def text_at(self, at: At) -> str:
        """The token that is shown in a cell."""
        assert self._lens is not None
        return shown_token(self._vocabulary, self._lens.vocabulary[self._lens.tokens[at][0]])

    def is_right(self, at: At) -> bool:
        """True if the cell's token is the one that follows in the text."""
        assert self._lens is not None
        following = self._text[at[1] + 1 : at[1] + 2]
        return following == (self._lens.vocabulary[self._lens.tokens[at][0]],)

    def _paint_cell(self, painter: QPainter, metrics: QFontMetricsF, at: At) -> None:
        assert self._lens is not None
        box, theme = self.cell(at), self._theme
        tint = QColor(theme.accent)
        tint.setAlphaF(DEEPEST * min(1.0, float(self._lens.probabilities[at][0])))
        painter.fillRect(box, tint)
        painter.setPen(QColor(theme.ink))
        inside = box.adjusted(4, 0, -4, 0)
        text = metrics.elidedText(self.text_at(at), Qt.TextElideMode.ElideRight, inside.width())
        painter.drawText(inside, Qt.AlignmentFlag.AlignVCenter, text)
        if self.is_right(at):
            self._outline(painter, box, theme.value, 2.0)
