"""The chooser of panels: all of them in their groups, with a sentence each, found by words."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QLabel, QSizePolicy, QVBoxLayout, QWidget

from attnviz.core.phrases import named
from attnviz.gui.commands.surface import Surface
from attnviz.gui.look.fonts import section_title_font, ui_font
from attnviz.gui.look.theme import GRID, RADIUS, TEXT_PX
from attnviz.gui.look.words import says
from attnviz.gui.palette.entry import Entry
from attnviz.gui.palette.match import search
from attnviz.gui.palette.overlay import SHADOW, Overlay
from attnviz.gui.panels.table import GROUPS, PANELS, PANELS_OF_GROUP, PanelRow, sharing
from attnviz.gui.widgets.boxes import in_column, in_row
from attnviz.gui.widgets.button import Button, PaintedButton
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _, in_every_language

WIDTH = 904
LINE, MARK, NAME = 34, 22, 124
"""Height of a line, width of its mark, and of its name."""
TOP = 44
"""Distance from the window's upper edge."""
_COLUMNS = (("input", "mechanism", "numbers"), ("generation", "study"))
"""The groups of the two columns."""
_STEPS = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}
_WRAPPED = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextWordWrap


def words_of(row: PanelRow) -> tuple[str, ...]:
    """Texts that find a panel: its id, its names, its sentence and further words, in every language."""
    texts = (text for text in (row.title, row.tab, row.part, row.help, row.words) if text)
    return row.id, *(word for text in texts for word in in_every_language(text))


def name_of(row: PanelRow) -> str:
    """The name of a panel: that of its tab, and within another panel its own."""
    return _(row.title) if row.within else _(row.tab or row.title)


class PanelLine(PaintedButton):
    """One panel: a mark where it is shown in this workspace, its name, its sentence."""

    def __init__(self, row: PanelRow) -> None:
        super().__init__()
        self.row = row
        self.setObjectName(f"choose_{row.id}")
        self.setFixedHeight(LINE)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the line above keeps it
        self.is_current = False
        """True for the one that Enter shows."""

    def nextCheckState(self) -> None:
        """Checked where the panel is shown: the click alone changes nothing."""

    def retranslate(self) -> None:
        self.setText(name_of(self.row))
        self.setAccessibleName(named(name_of(self.row), _(self.row.help)))

    def sizeHint(self) -> QSize:
        return QSize(WIDTH // 2 - 3 * GRID, LINE)

    def minimumSizeHint(self) -> QSize:
        return QSize(MARK + NAME + 80, LINE)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme, room = QPainter(self), self._theme, QRectF(self.rect())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.underMouse() or self.is_current:
            painter.setPen(QPen(QColor(theme.accent), 1) if self.is_current else Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.hover))
            painter.drawRoundedRect(room.adjusted(0.5, 0.5, -0.5, -0.5), RADIUS - 1, RADIUS - 1)
        if self.isChecked():
            painter.setPen(QPen(QColor(theme.accent), 1.8))
            middle = room.center().y()
            painter.drawPolyline(
                [QPoint(8, round(middle)), QPoint(11, round(middle) + 3), QPoint(17, round(middle) - 4)]
            )
        weight = QFont.Weight.DemiBold if self.isChecked() else QFont.Weight.Normal
        painter.setFont(ui_font(TEXT_PX + 1, weight))
        painter.setPen(QColor(theme.ink))
        metrics = QFontMetricsF(painter.font())
        name = metrics.elidedText(self.text(), Qt.TextElideMode.ElideRight, NAME - GRID)
        others = " · ".join(_(row.title) for row in sharing(self.row.id) if row.within)
        has_parts = bool(others) and not self.row.within
        painter.drawText(
            QRectF(MARK, 0, NAME - GRID, LINE / 2 + 3 if has_parts else LINE), int(_WRAPPED), name
        )
        painter.setFont(ui_font(TEXT_PX - 1))
        painter.setPen(QColor(theme.muted))
        if has_parts:
            others = QFontMetricsF(painter.font()).elidedText(
                f"+ {others}", Qt.TextElideMode.ElideRight, NAME - 4
            )
            painter.drawText(QRectF(MARK, LINE / 2, NAME - 4, LINE / 2), int(_WRAPPED), others)
        painter.drawText(room.adjusted(MARK + NAME, 0, -4, 0), int(_WRAPPED), _(self.row.help))


class Chooser(Overlay):
    """Lies over its window, below the bar. A click shows a panel in this workspace or closes it; Enter shows
    the one that is marked and goes there.
    """

    def __init__(self, window: QWidget, surface: Surface, anchor: Callable[[], QRect]) -> None:
        """`anchor` is the place in the window under which the chooser opens."""
        super().__init__(window)
        self._surface, self._anchor = surface, anchor
        self._shown: list[PanelLine] = []
        self._marked = 0
        self.setObjectName("panel_chooser")
        says(
            self.line,
            id="chooser_line",
            name=N_("Find a panel"),
            placeholder=N_("Find a panel: bytes, which head copies, why not"),
        )
        self.line.textChanged.connect(self._on_typed)
        self._reset = says(Button(), N_("Reset layout"), id="chooser_reset")
        self._reset.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._reset.clicked.connect(surface.commands["reset_layout"].trigger)
        self._reset.clicked.connect(self._mark)
        self.lines = {row.id: PanelLine(row) for row in PANELS}
        for id_, line in self.lines.items():
            line.clicked.connect(partial(self._on_line, id_))
        self._titles = {id_: says(QLabel(), title) for id_, title in GROUPS}
        self._empty = says(QLabel(), N_("No panel has these words"), id="chooser_empty")
        hint = N_("✓ stands in this workspace. A click shows a panel or closes it; Enter goes there.")
        self._hint = says(QLabel(), hint, id="chooser_hint")
        set_tone("muted", self._hint, self._empty)
        self._lay_out()
        surface.workspaces.switched.connect(self.vanish)
        surface.store.opened.connect(self.vanish)

    def _lay_out(self) -> None:
        content = QWidget()
        self._columns = (QVBoxLayout(), QVBoxLayout())
        row = in_row(content, spacing=3 * GRID)
        for column in self._columns:
            column.setSpacing(0)
            row.addLayout(column, 1)
        for part in (*self._titles.values(), *self.lines.values(), self._empty):
            part.setParent(content)
            part.hide()
        for title in self._titles.values():
            title.setFont(section_title_font())
            title.setFixedHeight(28)
            title.setAlignment(Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignLeft)
            title.setContentsMargins(0, 0, 0, 4)
        self._content = content
        self._scroll = clear_scroll(content, sideways=False)
        self._column = in_column(self, spacing=GRID)
        margin = SHADOW + 2 * GRID
        self._column.setContentsMargins(margin, margin - 4, margin, margin - 4)
        self._column.addLayout(in_row(None, self.line, self._reset, spacing=2 * GRID))
        self._column.addWidget(self._scroll, 1)
        self._column.addWidget(self._hint)

    # --- opening

    @Slot()
    def open(self) -> None:
        """Show the chooser with an empty line, or close it where it is open."""
        if self.isVisible():
            self.vanish()
            return
        self.appear()
        self._fill()

    def shown(self) -> tuple[str, ...]:
        """The panels whose lines are shown, in their order."""
        return tuple(line.row.id for line in self._shown)

    def retranslate(self) -> None:
        if self.isVisible():
            self._fill()

    # --- what is shown

    @Slot(str)
    def _on_typed(self, text: str) -> None:
        self._marked = 0
        self._fill()

    def _fill(self) -> None:
        """The groups, or the panels that have the words of the line, the closest first."""
        for column in self._columns:
            while column.count():
                column.takeAt(0)
        for part in (*self._titles.values(), *self.lines.values(), self._empty):
            part.hide()
        query = self.line.text().strip()
        self._shown = []
        if query:
            self._fill_found(query)
        else:
            for column, groups in zip(self._columns, _COLUMNS, strict=True):
                for group in groups:
                    self._add(column, self._titles[group])
                    for row in PANELS_OF_GROUP[group]:
                        self._add(column, self.lines[row.id])
        for column in self._columns:
            column.addStretch(1)
        self._mark()
        self.place()

    def _fill_found(self, query: str) -> None:
        entries = [Entry(row.id, name_of(row), lambda: None, words_of(row)) for row in PANELS]
        found = [self.lines[one.entry.key] for one in search(query, entries)]
        half = max(8, -(-len(found) // 2))
        for index, line in enumerate(found):
            self._add(self._columns[index >= half], line)
        if not found:
            self._add(self._columns[0], self._empty)

    def _add(self, column: QVBoxLayout, part: QWidget) -> None:
        column.addWidget(part)
        part.show()
        if isinstance(part, PanelLine):
            self._shown.append(part)

    @Slot()
    def _mark(self) -> None:
        """Check the panels that are shown in this workspace, and mark the line that Enter means."""
        has_query = bool(self.line.text().strip())
        for index, line in enumerate(self._shown):
            dock = self._surface.docks[line.row.id]
            is_part = has_query and len(sharing(line.row.id)) > 1
            line.setChecked(not dock.isHidden() and (not is_part or dock.front == line.row.id))
            line.is_current = index == self._marked and (has_query or self._marked > 0)
            line.retranslate()
            line.update()

    # --- what is done

    def _on_line(self, id_: str) -> None:
        line, workspaces = self.lines[id_], self._surface.workspaces
        if line.isChecked():
            workspaces.close(id_)
        else:
            workspaces.choose_here(id_)
            self.raise_()  # the panel that was shown came to the front
        self._mark()

    def _go(self) -> None:
        """Show the marked panel, and put the focus there."""
        if not self._shown:
            return
        id_ = self._shown[self._marked].row.id
        self.vanish()
        self._surface.workspaces.choose_here(id_)
        self._surface.panels[id_].setFocus(Qt.FocusReason.ShortcutFocusReason)

    def press(self, key: Qt.Key) -> bool:
        """Enter goes to the marked panel, arrows mark another."""
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._go()
            return True
        if key in _STEPS and self._shown:
            self._marked = (self._marked + _STEPS[key]) % len(self._shown)
            self._mark()
            self._scroll.ensureWidgetVisible(self._shown[self._marked])
        return key in _STEPS

    # --- place

    def place(self) -> None:
        """Below the anchor, inside the window, as high as its lines."""
        window, anchor = self.window(), self._anchor()
        width = min(WIDTH, window.width() - 2 * GRID) + 2 * SHADOW
        self._content.layout().activate()  # type: ignore[union-attr]
        lines = self._content.sizeHint().height()
        rest = self._column.totalSizeHint().height() - self._scroll.sizeHint().height()
        height = min(lines + 2 + rest, window.height() - TOP - GRID + 2 * SHADOW)
        left = min(anchor.right() - width // 2, window.width() - width + SHADOW - GRID)
        self.setGeometry(QRect(max(left, GRID - SHADOW), TOP - SHADOW, width, height))
