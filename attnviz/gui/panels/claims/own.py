"""The claims of the document: each with its live verdict, and a line for another one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QEvent, QRect, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from attnviz.core.text import elide, visible
from attnviz.gui.look.fonts import number_font, section_title_font, ui_font
from attnviz.gui.look.icons import icon
from attnviz.gui.look.theme import GRID, RADIUS, TEXT_PX, Theme
from attnviz.gui.look.words import plain_tooltip, says
from attnviz.gui.widgets.button import Button, PaintedButton
from attnviz.gui.widgets.control import active_theme, draw_focus_ring
from attnviz.gui.widgets.recall_line import RecallLine
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _
from attnviz.model.expressions.parser import LONGEST
from attnviz.model.spec.document import MOST_CLAIMS
from attnviz.study.claims.own import Answer
from attnviz.study.claims.verdict import VERDICT_BY_ID, VerdictId

SIGN_WIDTH = 20
_FLAGS = int(Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)


class ClaimLine(PaintedButton):
    """A button with a sign and plain text; it stays down while its claim is open."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._heights: dict[int, int] = {}
        self.setCheckable(True)
        self.setFont(ui_font(TEXT_PX))
        self._sentence = self._sign = ""
        self._verdict: VerdictId | None = None
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    @property
    def verdict(self) -> VerdictId | None:
        """The shown verdict; None while it is not known."""
        return self._verdict

    @property
    def sentence(self) -> str:
        """The shown sentence."""
        return self._sentence

    def set_claim(self, sentence: str, verdict: VerdictId | None, reason: str = "") -> None:
        """Show a sentence and its verdict; `reason` stands in place of the verdict's name."""
        row = VERDICT_BY_ID[verdict] if verdict is not None else None
        self._sentence, self._verdict = sentence, verdict
        self._sign = row.sign if row is not None else "?" if reason else "…"
        name = reason or (_(row.title) if row is not None else _("computing"))
        self.setAccessibleName(f"{sentence} — {name}")
        self.setToolTip(plain_tooltip(name))  # a reason quotes the claim
        self._heights.clear()
        self.updateGeometry()
        self.update()

    def heightForWidth(self, width: int) -> int:
        """Height of the sentence in a width; a layout wants it many times over."""
        if width not in self._heights:
            room = QRect(0, 0, max(width - SIGN_WIDTH - 2 * GRID, 1), 10_000)
            height = self.fontMetrics().boundingRect(room, _FLAGS, self._sentence).height()
            self._heights[width] = height + GRID
        return self._heights[width]

    def changeEvent(self, event: QEvent) -> None:
        if event.type() == QEvent.Type.FontChange:
            self._heights.clear()
        super().changeEvent(event)

    def sizeHint(self) -> QSize:
        width = max(self.width(), 160)
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:
        return QSize(80, self.heightForWidth(max(self.width(), 80)))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.underMouse() or self.isChecked():
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(self._theme.hover))
            painter.drawRoundedRect(QRectF(self.rect()), RADIUS - 1, RADIUS - 1)
        room = self.rect().adjusted(GRID, GRID // 2, -GRID, -GRID // 2)
        strong = QFont(self.font())
        strong.setWeight(QFont.Weight.DemiBold)
        painter.setFont(strong)
        painter.setPen(QColor(color_of(self._verdict, self._theme)))
        painter.drawText(room, _FLAGS, self._sign)
        painter.setFont(self.font())
        painter.setPen(QColor(self._theme.ink))
        painter.drawText(room.adjusted(SIGN_WIDTH, 0, 0, 0), _FLAGS, self._sentence)
        if self.hasFocus():
            draw_focus_ring(painter, QRectF(self.rect()), self._theme)


def color_of(verdict: VerdictId | None, theme: Theme) -> str:
    """The colour of a verdict, beside its sign."""
    colors = {"right": theme.value, "setting": theme.key, "wrong": theme.error}
    return theme.muted if verdict is None else colors[verdict]


SHOWN = 60
"""Characters of a problem below its claim; the tooltip has the whole."""


class OwnClaims(QWidget):
    """Emits the claims that the document shall have."""

    changed = Signal(object)
    """The wanted claims, a tuple of texts."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._claims: tuple[str, ...] = ()
        self._answers: tuple[Answer, ...] = ()
        """The verdicts on the shown claims; none while they are computed."""
        self._rows: list[_Row] = []
        self._theme = active_theme()
        self._title = says(QLabel(), N_("Document claims"))
        self._title.setFont(section_title_font())
        self.edit = says(RecallLine(), id="own_claim", name=N_("New claim"))
        self.edit.setPlaceholderText("weights[2].sum() == 1")
        self.edit.setFont(number_font(TEXT_PX))
        self.edit.setMaxLength(LONGEST)
        self.edit.returnPressed.connect(self._on_add)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(2)
        self._column.addWidget(self._title)
        self._column.addWidget(self.edit)
        set_tone("muted", self._title)

    def set_claims(self, claims: Sequence[str]) -> None:
        """Show these claims, without verdicts until they are computed."""
        if tuple(claims) == self._claims:
            return
        self._claims, self._answers = tuple(claims), ()
        while len(self._rows) > len(claims):
            row = self._rows.pop()
            self._column.removeWidget(row)
            row.setParent(None)
            row.deleteLater()
        while len(self._rows) < len(claims):
            row = _Row(len(self._rows))
            row.remove.clicked.connect(partial(self._on_remove, row.number))
            row.line.clicked.connect(partial(self._on_edit, row.number))
            row.apply_theme(self._theme)
            self._column.insertWidget(1 + len(self._rows), row)
            self._rows.append(row)
        self.edit.setEnabled(len(claims) < MOST_CLAIMS)
        self.retranslate()

    def set_answers(self, answers: Sequence[Answer]) -> None:
        """Show the verdicts on the shown claims; those of others are dropped."""
        if tuple(answer.claim for answer in answers) == self._claims:
            self._answers = tuple(answers)
            self._show()

    def _show(self) -> None:
        """Show the claims, with their verdicts in the present language where they are known."""
        answers = self._answers or (None,) * len(self._claims)
        for row, claim, answer in zip(self._rows, map(visible, self._claims), answers, strict=True):
            problem = "" if answer is None else answer.problem_text()
            text = f"{claim}\n{elide(problem, SHOWN)}" if problem else claim
            row.line.set_claim(text, None if answer is None else answer.verdict, problem)
            row.remove.setToolTip(_("Remove this claim"))
            row.remove.setAccessibleName(_("Remove {claim}").format(claim=claim))

    def lines(self) -> list[ClaimLine]:
        """The lines in order."""
        return [row.line for row in self._rows]

    def apply_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        self._theme = theme

    def retranslate(self) -> None:
        """Set the texts again."""
        full = _("A document has at most {most} claims.").format(most=MOST_CLAIMS)
        hint = _(
            "A condition over the stages, checked with every run; Enter adds it, Up recalls earlier ones"
        )
        self.edit.setToolTip(hint if self.edit.isEnabled() else full)
        self._show()

    @Slot()
    def _on_add(self) -> None:
        claim = self.edit.text().strip()
        if claim:
            self.edit.remember(claim)  # a refused one, too: it is tried again with a change
        if claim and claim not in self._claims:
            self.changed.emit((*self._claims, claim))
            if claim in self._claims:
                self.edit.clear()

    def _on_remove(self, number: int) -> None:
        self.changed.emit(tuple(one for index, one in enumerate(self._claims) if index != number))

    def _on_edit(self, number: int) -> None:
        """Take a claim back into the line."""
        self._rows[number].line.setChecked(False)
        self.edit.setText(self._claims[number])
        self.edit.setFocus(Qt.FocusReason.OtherFocusReason)


class _Row(QWidget):
    """One claim, and the button that removes it."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number
        self.line, self.remove = ClaimLine(), Button()
        self.line.setObjectName(f"own_claim_{number}")
        self.line.setFont(number_font(TEXT_PX))
        self.remove.setObjectName(f"own_claim_{number}_remove")
        self.remove.setFixedWidth(3 * GRID)
        self.remove.setFlat(True)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(2)
        row.addWidget(self.line, 1)
        row.addWidget(self.remove, 0, Qt.AlignmentFlag.AlignTop)

    def apply_theme(self, theme: Theme) -> None:
        self.remove.setIcon(icon("close", theme))
