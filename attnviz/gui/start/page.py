"""The start page: entries and recent documents at the left, the gallery of presets at the right."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFont, QKeyEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QLabel, QLineEdit, QSizePolicy, QToolButton, QWidget

from attnviz.checkpoints.presets import PRESETS, grouped_presets
from attnviz.errors import Message
from attnviz.gui.look.fonts import section_title_font, ui_font
from attnviz.gui.look.icons import icon
from attnviz.gui.look.theme import DARK, GRID, RADIUS, Theme
from attnviz.gui.look.words import says
from attnviz.gui.start.gallery import Gallery
from attnviz.gui.start.recent import RecentList
from attnviz.gui.widgets.button import Button, PaintedButton, rove
from attnviz.gui.widgets.card import Card
from attnviz.gui.widgets.control import active_theme, draw_focus_ring
from attnviz.gui.widgets.flow_layout import flow
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.gui.widgets.tone import set_tone
from attnviz.gui.widgets.window_keys import LineEdit, typed
from attnviz.i18n import N_, _

_ENTRY_HEIGHT = 64
_TEXT_LEFT = 56


@dataclass(frozen=True)
class Entry:
    """A way to begin: the command that it runs, its name, and a sentence; the first one is filled."""

    action: str
    icon: str
    title: str
    hint: str
    is_filled: bool = False


ENTRIES: tuple[Entry, ...] = (
    Entry("workspace_learn", "learn", N_("Learn"), N_("Short lessons on the live program"), is_filled=True),
    Entry("import_model", "model", N_("Open a model"), N_("A folder of safetensors, or a GGUF file")),
    Entry("empty", "new", N_("Empty document"), N_("Your text, random numbers")),
)


class EntryButton(PaintedButton):
    """A row of `ENTRIES` as a button."""

    def __init__(self, entry: Entry) -> None:
        super().__init__()
        self.entry = entry
        self._note = ""
        says(self, id=f"entry_{entry.action}", name=entry.title)
        self.setFixedHeight(_ENTRY_HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.retranslate()

    def retranslate(self) -> None:
        """Update the texts to the active language."""
        self.setAccessibleDescription(self._note or _(self.entry.hint))
        self.update()

    def set_note(self, note: str) -> None:
        """Show a sentence in the place of the hint."""
        self._note = note
        self.retranslate()

    def sizeHint(self) -> QSize:
        return QSize(240, _ENTRY_HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        theme, is_filled = self._theme, self.entry.is_filled
        edge = theme.accent if self.underMouse() or is_filled else theme.line
        ground = theme.filled if is_filled else theme.panel
        first, second = (theme.on_filled,) * 2 if is_filled else (theme.ink, theme.muted)
        painter.setPen(QPen(QColor(edge), 1))
        painter.setBrush(QColor(theme.hover if self.isDown() and not is_filled else ground))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
        icon(self.entry.icon, DARK if is_filled else theme).paint(painter, 18, 13, 20, 20)
        room = QRectF(self.rect()).adjusted(_TEXT_LEFT, 12, -8, -12)
        painter.setFont(ui_font(15, QFont.Weight.DemiBold))
        painter.setPen(QColor(first))
        painter.drawText(room, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft, _(self.entry.title))
        painter.setFont(ui_font(12))
        painter.setPen(QColor(second))
        painter.drawText(
            room, Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignLeft, self._note or _(self.entry.hint)
        )
        if self.hasFocus():
            inner = 3 if is_filled else 0
            draw_focus_ring(
                painter,
                QRectF(self.rect()).adjusted(inner, inner, -inner, -inner),
                DARK if is_filled else theme,
            )


_CHIP_HEIGHT = 28
_GAP = 6


class GroupChips(QWidget):
    """`chosen` carries a group, empty for all. Left and Right go along the chips."""

    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.group = ""
        self._groups = ("", *(group for group, _presets in grouped_presets()))
        self._chips = [QToolButton(self) for _group in self._groups]
        for group, chip in zip(self._groups, self._chips, strict=True):
            says(chip, group or N_("All"), id="group_chip")
            chip.setCheckable(True)
            chip.setFont(ui_font(12))
            chip.setCursor(Qt.CursorShape.PointingHandCursor)
            chip.clicked.connect(self._on_chip)
        self.choose("")
        self.apply_theme(active_theme())

    @Slot(str)
    def choose(self, group: str) -> None:
        """Choose a group."""
        changed, self.group = group != self.group, group
        index = self._groups.index(group)
        for chip in self._chips:
            chip.setChecked(chip is self._chips[index])
        rove(self._chips, index)
        if changed:
            self.chosen.emit(group)

    def retranslate(self) -> None:
        self._arrange()

    def apply_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        self.setStyleSheet(
            f"QToolButton {{ border: 1px solid {theme.line}; border-radius: {_CHIP_HEIGHT // 2}px;"
            f" padding: 2px 9px; }}"
            f"QToolButton:checked {{ border-color: {theme.accent}; color: {theme.accent};"
            f" background: {theme.hover}; }}"
            f"QToolButton:focus {{ border: 2px solid {theme.accent}; padding: 1px 8px; }}"
        )
        self._arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def sizeHint(self) -> QSize:
        return QSize(400, self.height())

    def _arrange(self) -> None:
        widths = [chip.sizeHint().width() for chip in self._chips]
        places = flow(widths, _CHIP_HEIGHT, max(self.width(), max(widths)), _GAP)
        for chip, place in zip(self._chips, places, strict=True):
            chip.setGeometry(place)
        self.setFixedHeight(places[-1].bottom() + 1)

    @Slot()
    def _on_chip(self) -> None:
        chip = self.sender()
        assert isinstance(chip, QToolButton)
        self.choose(self._groups[self._chips.index(chip)])


LEFT_WIDTH = 312
_SEARCH_WIDTH = 320
_NARROW = 1120
"""Width of the page below which the sentence beside the title is left out."""


class StartPage(QWidget):
    """Covers the panels. Emits what was chosen; Esc asks to leave, a slash begins a search."""

    preset_chosen = Signal(str)
    entry_chosen = Signal(str)
    recent_chosen = Signal(Path)
    file_wanted = Signal()
    shown_at_start = Signal(bool)
    left = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        says(self, id="start_page", name=N_("Start page"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._theme = active_theme()
        purpose = N_("See how attention works, on your own text, down to the last number.")
        self._name, self._purpose = QLabel("attnviz"), says(QLabel(), purpose)
        self._recent_title, self._title = says(QLabel(), N_("RECENT")), says(QLabel(), N_("Presets"))
        subtitle = Message("{n}; a click opens one, and undo returns to the last document", n=len(PRESETS))
        self._subtitle = says(QLabel(), subtitle)
        self._entries = [EntryButton(entry) for entry in ENTRIES]
        self.recent = RecentList()
        self._open = says(Button(), N_("Open a file…"), id="start_open_button")
        self._at_start = says(QCheckBox(), N_("Show this page when the program starts"), id="start_check")
        self.search, self._chips, self.gallery = LineEdit(), GroupChips(), Gallery()
        self._glass = self.search.addAction(
            icon("search", self._theme), QLineEdit.ActionPosition.LeadingPosition
        )
        self._name_parts()
        row = QHBoxLayout(self)
        row.setContentsMargins(GRID, GRID, GRID, GRID)
        row.setSpacing(GRID)
        row.addWidget(self._left())
        row.addWidget(self._right(), 1)
        self._connect()
        self.apply_theme(self._theme)
        set_tone("muted", self._purpose, self._subtitle, self._recent_title)

    def set_note(self, action: str, note: str) -> None:
        """Show a sentence on the button of an entry."""
        for entry in self._entries:
            if entry.entry.action == action:
                entry.set_note(note)

    def begin(self, recent: tuple[Path, ...], is_at_start: bool) -> None:
        """Show the page anew: all presets, the present list of recent documents."""
        self.search.clear()
        self._chips.choose("")
        self.recent.set_paths(recent)
        self._recent_title.setVisible(bool(recent))
        self._at_start.setChecked(is_at_start)

    def apply_theme(self, theme: Theme) -> None:
        """Use the colours of `theme`."""
        self._theme = theme
        self._glass.setIcon(icon("search", theme))
        self.update()

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Tab stays on the page: the panels under it are not seen."""
        stops = [w for w in self.findChildren(QWidget) if w.isVisible() and _is_stop(w)]
        stops.sort(key=self._reading_order)
        here = self.focusWidget()
        if not stops:
            return False
        step = 1 if forward else -1
        index = stops.index(here) + step if here in stops else min(step, 0)
        stops[index % len(stops)].setFocus(
            Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
        )
        return True

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc clears the search, then leaves; a slash searches; an arrow enters the gallery.

        Enter opens: the first preset of a search, else the first way to begin, which is filled.
        """
        key = event.key()
        if key == Qt.Key.Key_Escape and self.search.text():
            self.search.clear()
        elif key == Qt.Key.Key_Escape:
            self.left.emit()
        elif typed(event) == "/":
            self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        elif key in (Qt.Key.Key_Down, Qt.Key.Key_Right):
            self.gallery.focus_first()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.search.hasFocus():
            self._open_first()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.hasFocus():
            self.entry_chosen.emit(self._entries[0].entry.action)
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._subtitle.setVisible(self.width() >= _NARROW)

    def paintEvent(self, event: QPaintEvent) -> None:
        QPainter(self).fillRect(self.rect(), QColor(self._theme.ground))

    # --- building

    def _name_parts(self) -> None:
        self._name.setFont(ui_font(26, QFont.Weight.DemiBold))
        self._purpose.setFont(ui_font(14))
        self._purpose.setWordWrap(True)
        self._title.setFont(ui_font(20, QFont.Weight.DemiBold))
        self._subtitle.setFont(ui_font(13))
        self._subtitle.setContentsMargins(0, 0, 0, 3)  # on the base line of the title
        self._recent_title.setFont(section_title_font())
        self._at_start.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        says(
            self.search,
            id="start_search",
            name=N_("Search the presets"),
            placeholder=N_("Search names and sentences"),
        )
        self.search.setFont(ui_font(13))
        self.search.setMaximumWidth(_SEARCH_WIDTH)
        self.search.setMinimumHeight(32)
        self.search.setClearButtonEnabled(True)

    def _left(self) -> QWidget:
        pane = Card("")
        pane.setFixedWidth(LEFT_WIDTH)
        column = pane.body
        column.setContentsMargins(GRID // 2, GRID, GRID // 2, GRID // 2)
        column.addWidget(self._name)
        column.addWidget(self._purpose)
        column.addSpacing(GRID)
        for entry in self._entries:
            column.addWidget(entry)
        column.addSpacing(GRID)
        column.addWidget(self._recent_title)
        column.addWidget(clear_scroll(self.recent, sideways=False), 1)
        column.addWidget(self._open, 0, Qt.AlignmentFlag.AlignLeft)
        column.addSpacing(GRID // 2)
        column.addWidget(self._at_start)
        return pane

    def _right(self) -> QWidget:
        pane = Card("")
        column = pane.body
        column.setContentsMargins(GRID, GRID, 0, 0)
        column.setSpacing(GRID)
        top = QHBoxLayout()
        top.setContentsMargins(0, 0, GRID, 0)
        top.setSpacing(GRID + GRID // 2)
        top.addWidget(self._title)
        top.addWidget(self._subtitle, 0, Qt.AlignmentFlag.AlignBottom)
        top.addStretch(1)
        top.addWidget(self.search, 2)
        column.addLayout(top)
        column.addWidget(self._chips)
        column.addWidget(self.gallery, 1)
        return pane

    def _connect(self) -> None:
        for entry in self._entries:
            entry.clicked.connect(self._on_entry)
        self.recent.chosen.connect(self.recent_chosen)
        self._open.clicked.connect(self.file_wanted)
        self._at_start.clicked.connect(self.shown_at_start)
        self.search.textChanged.connect(self._filter)
        self._chips.chosen.connect(self._filter)
        self.gallery.group_wanted.connect(self._chips.choose)
        self.gallery.chosen.connect(self.preset_chosen)

    def _reading_order(self, widget: QWidget) -> tuple[int, int, int]:
        """The left part first, then from the top to the bottom."""
        place = widget.mapTo(self, widget.rect().topLeft())
        return (0 if place.x() < LEFT_WIDTH else 1, place.y(), place.x())

    # --- acting

    @Slot()
    def _filter(self) -> None:
        self.gallery.show_only(self.search.text(), self._chips.group)

    @Slot()
    def _on_entry(self) -> None:
        button = self.sender()
        assert isinstance(button, EntryButton)
        self.entry_chosen.emit(button.entry.action)

    def _open_first(self) -> None:
        """Enter in the search opens the first preset that is found."""
        if self.gallery.shown:
            self.preset_chosen.emit(self.gallery.shown[0].preset.id)


def _is_stop(widget: QWidget) -> bool:
    return widget.isEnabled() and bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus)
