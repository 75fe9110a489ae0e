"""The generated text, and the player that reveals it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt, Slot
from PySide6.QtGui import (
    QColor,
    QFont,
    QHideEvent,
    QLinearGradient,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QBoxLayout, QFrame, QSizePolicy, QWidget

from attnviz.compute.decoding import Decoded
from attnviz.core.text import number
from attnviz.gui.live.clock import Clock
from attnviz.gui.live.playback import Playback
from attnviz.gui.look.fonts import number_font, ui_font
from attnviz.gui.look.theme import GRID, RADIUS, TEXT_PX, Theme
from attnviz.gui.look.words import says
from attnviz.gui.panels.decoding.counts import plain_label, reuse_words
from attnviz.gui.panels.decoding.links import shown_step_site
from attnviz.gui.panels.decoding.names import names_of, written_tokens
from attnviz.gui.panels.decoding.next_token import n_given_tokens
from attnviz.gui.panels.decoding.part import DecodingPart
from attnviz.gui.panels.decoding.story.controls import WIDTH, PlayerControls
from attnviz.gui.panels.decoding.story.text import LARGE_PX, LINE_PX, STORY_PX, Chip, StoryText, shade_color
from attnviz.gui.player import GoTo, Player
from attnviz.gui.services.services import Services
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_row
from attnviz.gui.widgets.button import Button
from attnviz.gui.widgets.chip_editor import ChipEditor
from attnviz.gui.widgets.control import active_theme
from attnviz.gui.widgets.elided_label import WholeLabel
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.edit.generation import forced_positions, rewrite
from attnviz.model.spec.view import View

MOST = 6
"""Tokens that are listed, with the one that was chosen."""
_ROW_PX = 22
_LABEL_PX, _BAR_PX, _NUMBER_PX = 88, 96, 56


@dataclass(frozen=True)
class Alternative:
    """One token, its probability, and whether it was chosen."""

    label: str
    probability: float
    is_chosen: bool = False


class Alternatives(QWidget):
    """A frame without a title bar that takes neither mouse nor keyboard."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.ToolTip)
        self.setObjectName("decode_alternatives")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating)
        self._theme = active_theme()
        self._title = ""
        self.rows: tuple[Alternative, ...] = ()

    def apply_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`."""
        self._theme = theme
        self.update()

    def show_at(self, place: QPoint, title: str, rows: Sequence[Alternative]) -> None:
        """Show the tokens below a place of the screen, or above it where the screen ends."""
        self._title, self.rows = title, tuple(rows)
        self.resize(self.sizeHint())
        room = self.screen().availableGeometry()
        x = min(place.x(), room.right() - self.width())
        y = place.y() if place.y() + self.height() <= room.bottom() else place.y() - self.height() - 32
        self.move(max(x, room.left()), max(y, room.top()))
        self.show()
        self.update()

    def sizeHint(self) -> QSize:
        title = self.fontMetrics().horizontalAdvance(self._title)
        width = max(title, _LABEL_PX + _BAR_PX + _NUMBER_PX) + 2 * GRID
        return QSize(width, (len(self.rows) + 1) * _ROW_PX + GRID)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self._theme
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), QColor(theme.panel))
        painter.setPen(QPen(QColor(theme.line), 1))
        painter.drawRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5))
        painter.setPen(QColor(theme.muted))
        title = QRectF(GRID, 0, self.width() - 2 * GRID, _ROW_PX + 2)
        painter.drawText(title, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, self._title)
        for place, row in enumerate(self.rows, start=1):
            self._paint_row(painter, row, place * _ROW_PX)

    def _paint_row(self, painter: QPainter, row: Alternative, top: int) -> None:
        theme = self._theme
        weight = QFont.Weight.DemiBold if row.is_chosen else QFont.Weight.Normal
        painter.setFont(ui_font(TEXT_PX + 1, weight))
        painter.setPen(QColor(theme.accent if row.is_chosen else theme.ink))
        room = _LABEL_PX - GRID
        label = painter.fontMetrics().elidedText(row.label, Qt.TextElideMode.ElideRight, room)
        middle = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(QRectF(GRID, top, room, _ROW_PX), middle, label)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.accent if row.is_chosen else theme.value_mark))
        room = self.width() - 2 * GRID - _LABEL_PX - _NUMBER_PX
        length = max(room * min(row.probability, 1.0), 1.0)
        bar = QRectF(GRID + _LABEL_PX, top + 6, length, _ROW_PX - 12)
        painter.drawRoundedRect(bar, min(RADIUS / 3, length / 2), 2)
        painter.setFont(number_font(TEXT_PX - 1))
        painter.setPen(QColor(theme.ink))
        after = QRectF(bar.right() + 6, top, _NUMBER_PX, _ROW_PX)
        painter.drawText(after, middle, number(row.probability, 4))


Shade = Callable[[int], float | None]
"""Position -> a number from 0 to 1, None where the token has none."""


@dataclass(frozen=True)
class ShadingRow:
    """One kind of shading: its id, its title, its sentence, the colour of the theme, and its function."""

    id: str
    title: str
    hint: str
    hue: str
    make: Callable[[Decoded, int, View], Shade]


def probability_then(decoded: Decoded, index: int) -> float | None:
    """The model's probability of a generated token at the step before it; None for one of the prompt."""
    steps, written = decoded.decoding.steps, decoded.decoding.steps[index - 1]
    if index < 1 or (index < len(steps) and not steps[index].generated):
        return None
    token = steps[index].token if index < len(steps) else written.next_token
    ids = names_of(decoded.decoding).ids
    if token is None or token not in ids:
        return None
    probability = float(written.probabilities[ids[token]])
    return probability if math.isfinite(probability) else None


def _probabilities(decoded: Decoded, step: int, view: View) -> Shade:
    known: dict[int, float | None] = {}

    def shade(index: int) -> float | None:
        if index not in known:
            known[index] = probability_then(decoded, index)
        return known[index]

    return shade


def _weights(decoded: Decoded, step: int, view: View) -> Shade:
    site = decoded.decoding.steps[step].site(shown_step_site(decoded, view.site))
    if site.experiment.memory is not None:  # its keys are not in the text
        return lambda index: None
    rows = site.weights if site.dropped is None else site.dropped
    row = rows[min(view.head, rows.shape[0] - 1)].tolist()
    weights: Mapping[int, float] = dict(zip(site.key_positions.tolist(), row, strict=True))

    def shade(index: int) -> float | None:
        weight = weights.get(index)
        return weight if weight is not None and math.isfinite(weight) else None

    return shade


SHADINGS: tuple[ShadingRow, ...] = (
    ShadingRow(
        "probability",
        N_("probability"),
        N_("Shade each generated token by the probability that the model gave it"),
        "accent",
        _probabilities,
    ),
    ShadingRow(
        "weight",
        N_("weight"),
        N_("Shade each token by the weight that the present step gives it in the selected head"),
        "key_mark",
        _weights,
    ),
)
SHADING_BY_ID = {row.id: row for row in SHADINGS}


class ShadeScale(QWidget):
    """The scale of the shades, from 0 to 1."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme, self._hue = active_theme(), "accent"
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def set_hue(self, hue: str) -> None:
        """Use a colour of the theme."""
        self._hue = hue
        self.update()

    def apply_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`."""
        self._theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(96, 20)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        bar = QRectF(14, 5, self.width() - 28, self.height() - 10)
        ramp = QLinearGradient(QPointF(bar.left(), 0), QPointF(bar.right(), 0))
        for value in (0.0, 1.0):
            ramp.setColorAt(value, shade_color(self._theme, self._hue, value))
        painter.fillRect(bar, ramp)
        painter.setFont(number_font(TEXT_PX - 1))
        painter.setPen(QColor(self._theme.muted))
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignLeft | middle, "0")
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignRight | middle, "1")


BESIDE_PX = 620
"""Width from which the controls stand beside the text; in a narrower panel they stand below it."""


SHADING, REST = "shading", "rest"
"""Names of the choices that are remembered."""

LARGE = QSize(1500, 120)
"""Size of the panel from which the letters are large."""


class TextPanel(DecodingPart):
    """The text as far as it was played. A click goes to a token's step, a double click rewrites it.

    Its choices are kept in the settings.
    """

    def __init__(self, store: Store, parent: QWidget | None = None, clock: Clock | None = None) -> None:
        super().__init__(store, parent)
        self.playback = Playback(store, self._is_written_in, clock, self)
        self._shown: Decoded | None = None
        self._text = says(StoryText(), id="decode_text", name=N_("Text"))
        self._text.chosen.connect(self._on_chosen)
        self._text.hovered.connect(self._on_hovered)
        self._text.rewritten.connect(self._on_rewritten)
        self._scroll = clear_scroll(self._text, sideways=False)
        self._scroll.setMinimumHeight(LINE_PX + 4)
        self._controls = PlayerControls(store)
        self._controls.rest_changed.connect(self._on_rest)
        self._alternatives = Alternatives(self)
        self._empty = plain_label("decode_empty")
        self._notice = WholeLabel()
        self._shading_title = plain_label("decode_shading_title", N_("shading"))
        self._notice.setObjectName("decode_notice")
        shadings = [(row.id, row.title, row.hint) for row in SHADINGS]
        self._shading = Segmented((), SHADINGS[0].id)
        says(self._shading, id="decode_shading", name=N_("shading"), options=shadings)
        self._shading.changed.connect(self._on_shading)
        self._scale = ShadeScale()
        tip = N_("Show or hide the operations and bytes of the steps, with and without a cache")
        self._details = says(Button(), N_("Details"), id="decode_details", tip=tip)
        self._details.clicked.connect(self._on_details)
        self._lay_out()
        set_tone("muted", self._notice, self._shading_title, self._empty)

    def header(self) -> QWidget:
        """The lengths of prompt and text, why it ended, and the shading, for the title."""
        return self._header

    def minimumSizeHint(self) -> QSize:
        return QSize(320, 92)

    # --- following

    def refresh(self) -> None:
        self._controls.refresh()

    def show_step(self) -> None:
        decoded, step = self.decoded, self.step
        self._empty.setText(self.why_empty)
        self._empty.setVisible(decoded is None)
        self._scroll.setVisible(decoded is not None)
        self._controls.show_step(step)
        self._notice.set_line("" if decoded is None else self._words(decoded, step))
        if decoded is None:
            self._shown = None
            self._text.clear()
            return
        self._show_text(decoded)
        self._text.set_current(step)
        self._show_shades()
        self._reveal(step)

    def on_player(self, old: Player, new: Player) -> None:
        if (old.is_playing, old.follows) != (new.is_playing, new.follows):
            self._controls.show_player()

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        self._rule.setStyleSheet(f"color: {theme.line}")

    def retranslate(self) -> None:
        self._controls.show_player()
        self._shown = None
        self.show_step()

    def _words(self, decoded: Decoded, step: int) -> str:
        """Lengths of the prompt and the text, why it ends, and remarks of the decoding."""
        decoding = decoded.decoding
        n_given, n_written = n_given_tokens(decoding), len(written_tokens(decoding))
        words = [_("prompt {n}").format(n=n_given)]
        if n_written > n_given:
            shown = min(max(step + 1, n_given), len(decoding.steps)) - n_given
            text = _("generated {shown} of {count}")
            words.append(text.format(shown=shown, count=n_written - n_given))
        is_last = step == len(decoding.steps) - 1
        if is_last and decoding.stopped is not None:
            words.append(_("stopped: {why}").format(why=decoding.stopped.text()))
        notices = (notice.text() for notice in decoding.notices)
        return " · ".join(word for word in (*words, reuse_words(decoded), *notices) if word)

    def _show_text(self, decoded: Decoded) -> None:
        if decoded is self._shown:
            return
        self._shown, decoding = decoded, decoded.decoding
        tokens, names, n_given = written_tokens(decoding), names_of(decoding), n_given_tokens(decoding)
        forced = forced_positions(decoding.experiment, n_given)
        chips = [
            Chip(names.written(token), index < n_given, index in forced, token.endswith("\n"))
            for index, token in enumerate(tokens)
        ]
        self._text.set_chips(chips, are_joined=names.are_joined, describe=self._describe)

    def _describe(self, index: int) -> str:
        decoded = self._shown
        if decoded is None:
            return ""
        decoding = decoded.decoding
        tokens = written_tokens(decoding)
        text = _("step {step} · position {index}: {token}")
        if index >= len(decoding.steps):  # sampled, not computed
            text = _("position {index}: {token}")
        said = text.format(step=index + 1, index=index, token=names_of(decoding).described(tokens[index]))
        p = probability_then(decoded, index)
        return said if p is None else f"{said} · p {number(p, 4)}"

    def _show_shades(self) -> None:
        row = SHADING_BY_ID[self._shading.value()]
        self._scale.set_hue(row.hue)
        if self._shown is not None:
            self._text.set_shades(row.make(self._shown, self.step, self.store.document.view), row.hue)

    def _reveal(self, step: int) -> None:
        """Scroll to the line of the present token."""
        bar, room = self._scroll.verticalScrollBar(), self._scroll.viewport().height()
        rect, line = self._text.token_rect(step), self._text.line_px
        if rect.bottom() > bar.value() + room or rect.top() < bar.value():
            bar.setMaximum(max(bar.maximum(), self._text.minimumHeight() - room))
            bar.setValue(max(rect.bottom() + 1 - room // line * line, 0))  # no line is cut at the top

    # --- acting

    def serve(self, services: Services) -> None:
        """Take the services, and the choices of an earlier start."""
        super().serve(services)
        choice = services.settings.choice
        shading = choice(SHADING, self._shading.value())
        self._shading.set_value(shading if shading in SHADING_BY_ID else self._shading.value())
        shows_rest = choice(REST, "") == REST
        self._controls.show_rest(shows_rest)
        self._text.set_shows_rest(shows_rest)
        self._show_shades()

    @Slot(str)
    def _on_shading(self, shading: str) -> None:
        self._show_shades()
        self.services.settings.set_choice(SHADING, shading)

    @Slot(bool)
    def _on_rest(self, shows: bool) -> None:
        self._text.set_shows_rest(shows)
        self.services.settings.set_choice(REST, REST if shows else "")

    @Slot(int)
    def _on_chosen(self, index: int) -> None:
        """Go to the step of a token; one of the prompt becomes the query, as a generated one is by itself."""
        self.store.play(GoTo(index))
        if self._shown is not None and index < n_given_tokens(self._shown.decoding):
            self.store.look(query=index, locked=None)

    @Slot()
    def _on_details(self) -> None:
        self.command_wanted.emit("details")

    @Slot(int, str)
    def _on_rewritten(self, index: int, text: str) -> None:
        """Another text in the place of a token: what was generated before it becomes the document's."""
        decoded = self.decoded
        if decoded is not None:
            tokens = names_of(decoded.decoding).tokens_of(text)
            self.store.edit(rewrite, written_tokens(decoded.decoding), index, tokens)

    @Slot(int)
    def _on_hovered(self, index: int) -> None:
        is_generated = self._shown is not None and index >= n_given_tokens(self._shown.decoding)
        rows = _alternatives(self._shown, index) if self._shown is not None and is_generated else []
        if not rows:
            self._alternatives.hide()
            return
        place = self._text.mapToGlobal(self._text.token_rect(index).bottomLeft() + QPoint(0, 4))
        self._alternatives.show_at(place, self._describe(index), rows)

    def _is_written_in(self) -> bool:
        """True if a token is being edited, here or in another panel of the window."""
        return isinstance(self.window().focusWidget(), ChipEditor)

    def hideEvent(self, event: QHideEvent) -> None:
        self._alternatives.hide()
        super().hideEvent(event)

    # --- building

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_beside = self.width() >= BESIDE_PX
        across, down = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom
        self._row.setDirection(across if is_beside else down)
        self._rule.setVisible(is_beside)
        self._controls.setMaximumWidth(WIDTH if is_beside else self.maximumWidth())
        is_large = self.width() >= LARGE.width() and self.height() >= LARGE.height()
        self._text.set_text_px(LARGE_PX if is_large else STORY_PX)

    def _lay_out(self) -> None:
        self._header = QWidget()
        shading = (self._shading_title, self._shading, self._scale)
        in_row(self._header, self._notice, *shading, self._details, spacing=GRID)
        self._rule = QFrame()
        self._rule.setFrameShape(QFrame.Shape.VLine)
        self._rule.setFrameShadow(QFrame.Shadow.Plain)
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(GRID * 3 // 2)
        self._row.addWidget(self._scroll, 1)
        self._row.addWidget(self._empty, 1)
        self._row.addWidget(self._rule)
        self._row.addWidget(self._controls)


def _alternatives(decoded: Decoded, index: int) -> list[Alternative]:
    """The most probable tokens at a position, with the one that stands there; empty without numbers."""
    decoding = decoded.decoding
    probabilities, names = decoding.steps[index - 1].probabilities, names_of(decoding)
    if not np.isfinite(probabilities).all():
        return []
    here = names.ids.get(written_tokens(decoding)[index], -1)
    order = np.argsort(-probabilities, kind="stable")[:MOST].tolist()
    if here >= 0 and here not in order:
        order[-1] = here
    return [
        Alternative(names.label(decoding.vocabulary[i]), float(probabilities[i]), i == here) for i in order
    ]
