"""The result of a survey: each head's scores over many texts, and the texts that excite a head most."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from attnviz.core.color_maps import Kind
from attnviz.core.head_scores import HEAD_SCORE_BY_ID
from attnviz.core.text import elide, isolated, number, visible
from attnviz.gui.look.colors import LEVELS, cell_colors, inks
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import GRID, RADIUS, TEXT_PX, Theme
from attnviz.gui.look.words import says
from attnviz.gui.panels.grid.canvas import GridCanvas, Place
from attnviz.gui.panels.grid.heads import GROUP_TITLES
from attnviz.gui.panels.grid.layout import Block
from attnviz.gui.panels.grid.survey.surveys import Surveys
from attnviz.gui.panels.panel import Panel
from attnviz.gui.services.services import Services
from attnviz.gui.store import Store
from attnviz.gui.widgets.along import Along
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.control import draw_focus_ring
from attnviz.gui.widgets.elided_label import ElidedLabel
from attnviz.gui.widgets.empty_state import EmptyState
from attnviz.gui.widgets.segmented import Option
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.sites.sites import site_names
from attnviz.model.sites.titles import KINDS, layer_title
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.site import Place as SitePlace

if TYPE_CHECKING:
    from attnviz.study.survey.summary import HeadSummary, Summary

LEAST_SIDE = 14.0
"""Smaller tiles have the colour alone."""
HIGHEST = 0.85
"""Height of the highest bar as a share of the tile."""
ALPHA = 150
"""Opacity of the bars, from 0 to 255."""


@dataclass(frozen=True)
class Distribution:
    """`mean` from `ends[0]` to `ends[1]`, NaN of no text; `counts` of the texts, from low to high scores."""

    counts: tuple[int, ...]
    mean: float
    ends: tuple[float, float]
    kind: Kind

    @property
    def level(self) -> int:
        """The place of the mean on the colour map."""
        low, high = self.ends
        return round((LEVELS - 1) * min(max((self.mean - low) / (high - low), 0.0), 1.0))

    def bar(self, at: int, box: QRectF) -> QRectF:
        """One bar of the histogram in a tile; the highest has `HIGHEST` of its height."""
        width = box.width() / len(self.counts)
        height = HIGHEST * box.height() * self.counts[at] / max(self.counts)
        return QRectF(box.left() + at * width, box.bottom() - height, width, height)

    def paint(self, painter: QPainter, box: QRectF, ratio: float, theme: Theme) -> None:
        """Paint the tile; one without a text stays empty."""
        if math.isnan(self.mean):
            return
        painter.fillRect(box, QColor(*map(int, cell_colors(self.kind, theme)[self.level])))
        if box.width() < LEAST_SIDE:
            return
        ink = QColor(inks(self.kind, theme)[self.level])
        ink.setAlpha(ALPHA)
        for at, count in enumerate(self.counts):
            if count:
                painter.fillRect(self.bar(at, box), ink)


ROW_PX = 24
NUMBER_PX = 56
LONGEST = 600
"""Characters of a text in its tooltip."""


class TextRows(Along):
    """`clicked` carries a row."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("survey_rows")
        self._texts: tuple[tuple[str, float], ...] = ()
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def texts(self) -> tuple[tuple[str, float], ...]:
        """The shown texts with their scores, the highest first."""
        return self._texts

    def set_texts(self, texts: tuple[tuple[str, float], ...]) -> None:
        """Show other texts."""
        if texts != self._texts:
            self._texts = texts
            self._current = min(self._current, len(texts) - 1)
            self.updateGeometry()
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(280, max(len(self._texts), 1) * ROW_PX)

    def minimumSizeHint(self) -> QSize:
        return QSize(120, self.sizeHint().height())

    def row_rect(self, row: int) -> QRectF:
        """The whole row."""
        return QRectF(0, row * ROW_PX, self.width(), ROW_PX)

    # --- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for row in range(len(self._texts)):
            self._paint_row(painter, row)
        if self.hasFocus() and self._texts:
            draw_focus_ring(painter, self.row_rect(max(self._current, 0)), self._theme)
        painter.end()

    def _paint_row(self, painter: QPainter, row: int) -> None:
        theme, (text, value), box = self._theme, self._texts[row], self.row_rect(row)
        if row == self._current:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.hover))
            painter.drawRoundedRect(box, RADIUS - 1, RADIUS - 1)
        painter.setPen(QColor(theme.ink))
        left, right = Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignRight
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.setFont(number_font(TEXT_PX))
        painter.drawText(QRectF(0, box.top(), NUMBER_PX, ROW_PX), right | middle, number(value, 3))
        painter.setFont(ui_font(TEXT_PX))
        room = box.adjusted(NUMBER_PX + GRID, 0, -GRID, 0)
        whole, mode = visible(elide(text, LONGEST)), Qt.TextElideMode.ElideRight
        shown = painter.fontMetrics().elidedText(whole, mode, int(room.width()))
        painter.drawText(room, left | middle, shown)

    # --- mouse and keys

    def count(self) -> int:
        return len(self._texts)

    def part_at(self, position: QPointF) -> int:
        row = int(position.y() // ROW_PX)
        return row if 0 <= row < len(self._texts) else -1

    def told(self, part: int) -> str:
        """The score with all digits that matter, and the text."""
        text, value = self._texts[part]
        return f"{number(value, 6)} · {isolated(visible(elide(text, LONGEST)))}"


OPEN = "open"
HEADS_SHARE, TEXTS_SHARE = 3, 2
SCORE_WIDTH = 140


class SurveyPanel(Panel):
    """Shows a summary; a click on a head goes there, one on a text makes it the document's."""

    follows = ("site", "head")

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._heads: dict[Place, HeadSummary] = {}
        self._place: Place | None = None
        self._listed: HeadSummary | None = None
        """The head whose texts are listed."""
        self._drawn: Summary | None = None
        self._title, self._legend, self._head, self._spread = (ElidedLabel() for _label in range(4))
        for label, name in (
            (self._title, "survey_title"),
            (self._legend, "survey_legend"),
            (self._head, "survey_head"),
            (self._spread, "survey_spread"),
        ):
            label.setObjectName(name)
            label.setFont(ui_font(TEXT_PX))
        says(self, name=N_("Survey"))
        self._score = says(Combo(()), id="survey_score", name=N_("Score of the survey"))
        self._score.setMinimumWidth(SCORE_WIDTH)
        self.canvas = says(GridCanvas(), id="survey_canvas", name=N_("Heads of the survey"))
        self.canvas.hovered.connect(self._say)
        self.canvas.chosen.connect(self._on_chosen)
        self.rows = says(TextRows(), name=N_("Texts with the highest scores"))
        self.rows.clicked.connect(self._on_text)
        self._empty = EmptyState("")
        self._full = QWidget()
        self._lay_out()
        set_tone("title", self._title)
        set_tone("muted", self._legend, self._spread)

    def serve(self, services: Services) -> None:
        super().serve(services)
        self.surveys = Surveys(services, self)
        self.surveys.changed.connect(self._show)
        self.surveys.wanted.connect(self.front_wanted)
        self._score.changed.connect(self.surveys.choose)
        self._empty.triggered.connect(self.surveys.ask)
        self._empty.chosen.connect(self.surveys.ask_file)

    def _lay_out(self) -> None:
        top, middle, side = QHBoxLayout(), QHBoxLayout(), QVBoxLayout()
        top.setSpacing(GRID)
        top.addWidget(self._title, 1)
        top.addWidget(self._score)
        side.setSpacing(GRID // 2)
        side.addWidget(self._head)
        side.addWidget(self._spread)
        side.addWidget(self.rows)
        side.addStretch(1)
        middle.setSpacing(GRID)
        middle.addWidget(self.canvas, HEADS_SHARE)
        middle.addLayout(side, TEXTS_SHARE)
        column = QVBoxLayout(self._full)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID // 2)
        column.addLayout(top)
        column.addLayout(middle, 1)
        column.addWidget(self._legend)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(self._full, 1)
        whole.addWidget(self._empty, 1)

    @property
    def summary(self) -> Summary | None:
        """The summary that is shown."""
        return self.surveys.summary

    def sizeHint(self) -> QSize:
        return QSize(560, 280)

    def _draw(self, summary: Summary) -> None:
        """Draw every head of a survey by one score."""
        self._drawn = summary
        groups: dict[tuple[str, str], dict[int, list[HeadSummary]]] = {}
        for one in summary.heads:
            place = _place_of(one.site)
            groups.setdefault((place.stack, place.kind), {}).setdefault(place.layer, []).append(one)
        self._heads = {
            (group, layer, one.head): one
            for group, layers in enumerate(groups.values())
            for layer, heads in enumerate(layers.values())
            for one in heads
        }
        blocks = [Block(len(layers), max(map(len, layers.values()))) for layers in groups.values()]
        titles = [_(GROUP_TITLES[key]) for key in groups]
        self.canvas.set_shape(blocks, titles, (_("Heads"), _("Layers")))
        self.canvas.clear()
        self.canvas.set_pictures(self._distributions(summary))
        if self._place not in self._heads:
            self._place = None
        self._mark(self.store.document)

    def on_document(self, old: Document | None, new: Document) -> None:
        self._mark(new)

    def retranslate(self) -> None:
        self._drawn = None
        self._show()

    # --- showing

    def _distributions(self, summary: Summary) -> dict[Place, Distribution]:
        """A tile for each head, all on one colour scale."""
        is_signed, most = summary.edges[0] < 0, _most(summary)
        ends = (-most if is_signed else 0.0, most)
        kind: Kind = "diverging" if is_signed else "sequential"
        return {place: Distribution(one.counts, one.mean, ends, kind) for place, one in self._heads.items()}

    @Slot()
    def _show(self) -> None:
        """Show the result, or that a survey runs."""
        summary = self.summary
        if summary is not None and summary is not self._drawn:
            self._draw(summary)
        self._full.setVisible(summary is not None)
        self._empty.setVisible(summary is None)
        self._say(self.canvas.current)
        if summary is None:
            self._show_empty()
            return
        title = _("{model} · texts: {n}")
        self._title.set_line(title.format(model=isolated(visible(summary.model)), n=f"{summary.n_texts:,}"))
        self._score.set_options(_scores(summary))
        self._score.set_value(summary.score)
        low, high, most = summary.edges[0], summary.edges[-1], _most(summary)
        legend = _("Colour: mean from {least} to {most}. Bars: texts by score, from {low} to {high}.")
        least = -most if low < 0 else 0.0
        self._legend.set_line(
            legend.format(
                least=number(least, 2), most=number(most, 2), low=number(low, 2), high=number(high, 2)
            )
        )

    def _show_empty(self) -> None:
        if self.surveys.is_measuring:
            self._empty.set_text(_("Measuring every head…"))
            self._empty.set_action("")
            self._empty.set_links("", ())
            return
        self._empty.set_text(
            _("A survey measures every head over many texts, and finds those that excite it most.")
        )
        self._empty.set_action(_("Survey texts…"))
        self._empty.set_links("", ((OPEN, _("Open a survey…"), _("Choose a .parquet file")),))

    def _mark(self, document: Document) -> None:
        """The selected head of the document, if the survey has it."""
        of_document = next(
            (
                place
                for place, one in self._heads.items()
                if (one.site, one.head) == (document.site, document.view.head)
            ),
            None,
        )
        self._place = of_document or self._place
        self.canvas.set_chosen(self._place)
        self._say(self.canvas.current)

    @Slot(object)
    def _say(self, place: Place | None) -> None:
        """The head under the pointer, else the selected one: its numbers and its texts."""
        summary, one = self.summary, self._heads.get(place or self._place or (-1, -1, -1))
        self._listed = one
        if summary is None or one is None:
            self._head.set_line(_("Hover a head to see the texts that excite it most."))
            self._spread.set_line("")
            self.rows.set_texts(())
            return
        line = _("{head} · mean {mean}").format(head=_head_title(one), mean=number(one.mean, 3))
        spread = _("Half of the texts: {low} to {high}").format(
            low=number(one.quantiles[1], 2), high=number(one.quantiles[3], 2)
        )
        if math.isnan(one.mean):
            line, spread = _head_title(one), _("The score has no meaning for these texts.")
        self._head.set_line(line)
        self._spread.set_line(spread)
        self.canvas.setAccessibleDescription(f"{line} · {spread}")
        numbered = _("text {n}")
        self.rows.set_texts(
            tuple((summary.texts.get(at) or numbered.format(n=at), value) for at, value in one.highest)
        )

    # --- choosing

    @Slot(object)
    def _on_chosen(self, place: Place) -> None:
        """Keep the texts of a head in sight, and select it in the document."""
        one = self._heads.get(place)
        if one is not None:
            self._place = place
            if one.site in site_names(self.store.experiment):
                self.store.look(site=one.site, head=one.head)
            self._mark(self.store.document)

    @Slot(int)
    def _on_text(self, row: int) -> None:
        """Make a text the document's, as much of it as the survey read."""
        summary, one = self.summary, self._listed
        if summary is None or one is None:
            return
        text = summary.texts.get(one.highest[row][0])
        if text is not None:
            self.store.edit(_reading, text, summary.most_tokens)


def _reading(experiment: Experiment, text: str, n_tokens: int) -> Experiment:
    """An experiment with a text of the survey. Raises `ValueError` for a model that reads none."""
    from attnviz.study.survey.measure import with_text

    return with_text(experiment, text, n_tokens)


def _place_of(site: str) -> SitePlace:
    """The place of a site by its public name."""
    stack, layer, kind = site.split(".")
    return SitePlace(stack, int(layer), kind)  # type: ignore[arg-type]


def _head_title(one: HeadSummary) -> str:
    place = _place_of(one.site)
    kind = (_(KINDS[place.kind]),) if place.kind == "cross" else ()
    return " · ".join((layer_title(place), *kind, _("head {head}").format(head=one.head + 1)))


def _most(summary: Summary) -> float:
    """The largest mean of a head, without its sign."""
    return max((abs(one.mean) for one in summary.heads if not math.isnan(one.mean)), default=1.0) or 1.0


def _scores(summary: Summary) -> tuple[Option, ...]:
    return tuple(
        (id_, _(HEAD_SCORE_BY_ID[id_].title), _(HEAD_SCORE_BY_ID[id_].hint))
        if id_ in HEAD_SCORE_BY_ID
        else (id_, _("effect"), _("Change of a logit when the head is ablated: orange heads support it"))
        for id_ in summary.columns
    )
