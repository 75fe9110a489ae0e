"""Words that a run writes at its kept states, and the loss of each word of a held-out text."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFontMetricsF, QHelpEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QLabel, QSizePolicy, QToolTip, QWidget

from attnviz.core.text import number, visible
from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, TEXT_PX, Theme
from attnviz.gui.look.words import says
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.control import Control, active_theme
from attnviz.gui.widgets.linked_text import LinkedText, link
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.training.turns import Picture
from attnviz.training.written import Written

MOST_GIVEN = 3
"""Words of the beginning of a text that are shown."""
BAR_PX, LINE_PX, GAP_PX = 26, 16, 6
"""Height of the longest bar and of a word, and the space between two words."""
MOST_LINES = 4


class Place(NamedTuple):
    """A word on the line: its number, its left end, its line and its width."""

    word: int
    left: float
    line: int
    width: float


class LossLine(Control):
    """The words that a text asks for, each under a bar as high as its loss."""

    def __init__(self) -> None:
        super().__init__()
        tip = N_("A bar is −log p of its word: the higher, the less the model expects it")
        says(self, id="training_loss_line", name=N_("Loss of each word"), tip=tip)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._words: tuple[str, ...] = ()
        self.losses: tuple[float, ...] = ()
        self._placed: list[Place] = []
        self._placed_of: tuple[tuple[str, ...], int] = ((), 0)
        self._highest = 1.0

    def set_losses(self, words: Sequence[str], losses: Sequence[float], highest: float) -> None:
        """Show the asked words with −log p of each; `highest` fills a bar."""
        lines = self._lines()
        self._words, self.losses, self._highest = tuple(words), tuple(losses), max(highest, 1e-9)
        spoken = (f"{word} {number(loss, 2)}" for word, loss in zip(words, losses, strict=True))
        self.setAccessibleDescription(", ".join(spoken))
        if self._lines() != lines:
            self.updateGeometry()
        self.update()

    def places(self) -> list[Place]:
        """The places of the words in the first lines; measured once, because the bars change more often."""
        wanted = self._words, self.width()
        if wanted != self._placed_of:
            self._placed, self._placed_of = self._made_places(), wanted
        return self._placed

    def _made_places(self) -> list[Place]:
        metrics = QFontMetricsF(ui_font(TEXT_PX - 2))
        found, left, row = list[Place](), 0.0, 0
        for index, word in enumerate(self._words):
            width = max(metrics.horizontalAdvance(visible(word)), 6.0)
            if left and left + width > self.width():
                left, row = 0.0, row + 1
            if row == MOST_LINES:
                break
            found.append(Place(index, left, row, width))
            left += width + GAP_PX
        return found

    def _lines(self) -> int:
        return max((one.line + 1 for one in self.places()), default=1)

    def bar_rect(self, place: Place) -> QRectF:
        """The bar of a word."""
        bottom = place.line * (BAR_PX + LINE_PX + GAP_PX) + BAR_PX
        height = max(min(self.losses[place.word] / self._highest, 1.0) * BAR_PX, 1.0)
        return QRectF(place.left, bottom - height, place.width, height)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._lines() * (BAR_PX + LINE_PX + GAP_PX)

    def sizeHint(self) -> QSize:
        return QSize(240, self.heightForWidth(self.width()))

    def minimumSizeHint(self) -> QSize:
        return QSize(120, self.heightForWidth(self.width()))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self._theme
        painter.setFont(ui_font(TEXT_PX - 2))
        for place in self.places():
            bar = self.bar_rect(place)
            share = bar.height() / BAR_PX
            color = QColor(theme.error if share > 0.5 else theme.value)
            color.setAlphaF(0.35 + 0.65 * abs(2 * share - 1))
            painter.fillRect(bar, color)
            base = place.line * (BAR_PX + LINE_PX + GAP_PX) + BAR_PX
            painter.setPen(QPen(QColor(theme.line), 1))
            painter.drawLine(QPointF(place.left, base), QPointF(place.left + place.width, base))
            painter.setPen(QColor(theme.ink))
            room = QRectF(place.left - 2, base, place.width + 4, LINE_PX)
            painter.drawText(room, Qt.AlignmentFlag.AlignCenter, visible(self._words[place.word]))

    def event(self, event: QEvent) -> bool:
        place = self.place_at(event.pos()) if isinstance(event, QHelpEvent) else None
        if place is None or not isinstance(event, QHelpEvent):
            return super().event(event)
        loss = _("−log p = {loss}").format(loss=number(self.losses[place.word], 3))
        QToolTip.showText(event.globalPos(), f"{visible(self._words[place.word])}: {loss}", self)
        return True

    def place_at(self, at: QPoint) -> Place | None:
        """The word at a point, or none."""
        for place in self.places():
            bar = self.bar_rect(place)
            if bar.left() <= at.x() <= bar.right() and 0 <= at.y() - bar.bottom() + BAR_PX < BAR_PX + LINE_PX:
                return place
        return None


class WritesCard(QWidget):
    """`chosen` carries the step of a row."""

    chosen = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("training_writes")
        self._theme = active_theme()
        self._picture: Picture | None = None
        self._tokens: tuple[str, ...] = ()
        self._highest = 1.0
        self.given = QLabel()
        self.given.setObjectName("training_given")
        self.given.setWordWrap(True)
        self.given.setTextFormat(Qt.TextFormat.PlainText)
        set_tone("muted", self.given)
        self.rows = LinkedText("training_rows", TEXT_PX)
        self.rows.chosen.connect(self._on_row)
        self.title = QLabel()
        self.title.setObjectName("training_loss_title")
        set_tone("muted", self.title)
        self.line = LossLine()
        column = in_column(self, self.given, self.rows, self.title, self.line, spacing=GRID // 2)
        column.addStretch(1)

    def set_picture(self, picture: Picture | None, tokens: tuple[str, ...], highest: float) -> None:
        """Show a picture; `tokens` are those of the vocabulary, `highest` is the loss of a full bar."""
        self._picture, self._tokens, self._highest = picture, tokens, highest
        self._show()

    def apply_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._show()

    def retranslate(self) -> None:
        self._show()

    def _show(self) -> None:
        picture = self._picture
        self.setEnabled(picture is not None)
        if picture is None:
            for part in (self.given, self.title):
                part.setText("")
            self.rows.set_body("")
            self.line.set_losses((), (), 1.0)
            return
        prompt, wanted = picture.prompt, picture.prompt.wanted
        text, begin = prompt.places[0]
        given = self._said(prompt.ids[text, max(begin + 1 - MOST_GIVEN, 0) : begin + 1].tolist())
        dots = "… " if begin >= MOST_GIVEN else ""
        if len(prompt.ids) > 1:
            self.given.setText(_("after texts such as {words}").format(words=f"{dots}{given}"))
        else:
            self.given.setText(_("after {words}").format(words=f"{dots}{given}"))
        shown = max((one.step for one in picture.written if one.step <= picture.step), default=-1)
        rows = [self._row(one, wanted, is_shown=one.step == shown) for one in picture.written]
        ink = f"color: {self._theme.muted}"
        rows.append(
            f"<tr><td style='{ink}' align='right'>{escape(_('right'))}&nbsp;&nbsp;</td>"
            f"<td style='{ink}'>{escape(self._said(wanted))}</td></tr>"
        )
        self.rows.set_body(f"<table cellspacing='0' cellpadding='2' width='100%'>{''.join(rows)}</table>")
        asked = [at for at, target in enumerate(picture.targets) if target >= 0]
        self.title.setText(_("Loss of each word at step {step}").format(step=picture.step))
        self.line.set_losses(
            [self._tokens[picture.targets[at]] for at in asked],
            [picture.losses[at] for at in asked],
            self._highest,
        )

    def _said(self, ids: Sequence[int]) -> str:
        return " ".join(visible(self._tokens[one]) for one in ids)

    def _row(self, one: Written, wanted: Sequence[int], *, is_shown: bool) -> str:
        """The step, and its words: those that are right in green."""
        theme = self._theme
        words = " ".join(
            f"<span style='color: {theme.value if word == right else theme.error}'>"
            f"{escape(visible(self._tokens[word]))}</span>"
            for word, right in zip(one.ids, wanted, strict=True)
        )
        back = f" bgcolor='{theme.hover}'" if is_shown else ""
        step = link(str(one.step), str(one.step))
        step = f"<b>{step}</b>" if is_shown else step
        return f"<tr{back}><td align='right'>{step}&nbsp;&nbsp;</td><td>{words}</td></tr>"

    @Slot(str)
    def _on_row(self, address: str) -> None:
        if address.isdigit():
            self.chosen.emit(int(address))
