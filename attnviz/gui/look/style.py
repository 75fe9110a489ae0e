"""The window's look in Qt's terms: Fusion, a palette and a style sheet, all derived from one `Theme`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import asdict

from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication, QWidget

from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import RADIUS, TEXT_PX, THEME_PROPERTY, Theme
from attnviz.resources import path


def apply_style(app: QApplication, theme: Theme) -> None:
    """Apply the look of `theme` to the whole program, now and for later widgets.

    Every living widget is told, see `color`. Plots of pyqtgraph that exist already keep their
    colours until their panel's `apply_theme` renews them.
    """
    if app.property(THEME_PROPERTY) is None:
        app.setStyle("fusion")
        app.setFont(ui_font(TEXT_PX))
    sheet = style_sheet(theme)
    # The same palette and sheet again would reach every widget again.
    if app.property(THEME_PROPERTY) != theme.name or app.styleSheet() != sheet:
        app.setProperty(THEME_PROPERTY, theme.name)
        # In place of another sheet, Qt would apply it to a widget once for each of its ancestors.
        app.setStyleSheet("")
        app.setPalette(palette(theme))
        app.setStyleSheet(sheet)
    if "pyqtgraph" in sys.modules:
        color_plots(theme)
    color(app.allWidgets(), theme)


def color(widgets: Iterable[QWidget], theme: Theme) -> None:
    """Tell the theme to the widgets that paint in its colours: they have an `apply_theme`."""
    for widget in widgets:
        renew = getattr(widget, "apply_theme", None)
        if renew is not None:
            renew(theme)


def color_plots(theme: Theme) -> None:
    """Let later plots of pyqtgraph have the colours of `theme`."""
    import pyqtgraph as pg

    pg.setConfigOptions(background=theme.panel, foreground=theme.muted, antialias=True)


def palette(theme: Theme) -> QPalette:
    """The Fusion palette of `theme`."""
    role = QPalette.ColorRole
    colors = {
        role.Window: theme.ground,
        role.WindowText: theme.ink,
        role.Base: theme.panel,
        role.AlternateBase: theme.ground,
        role.Text: theme.ink,
        role.PlaceholderText: theme.muted,
        role.Button: theme.panel,
        role.ButtonText: theme.ink,
        role.BrightText: theme.error,
        role.ToolTipBase: theme.panel,
        role.ToolTipText: theme.ink,
        role.Highlight: theme.filled,
        role.HighlightedText: theme.on_filled,
        role.Accent: theme.accent,
        role.Link: theme.accent,
        role.LinkVisited: theme.accent,
        role.Light: theme.panel,
        role.Midlight: theme.hover,
        role.Mid: theme.line,
        role.Dark: theme.line,
        role.Shadow: theme.line,
    }
    result = QPalette()
    for which, name in colors.items():
        result.setColor(which, QColor(name))
    for which in (role.WindowText, role.Text, role.ButtonText, role.HighlightedText):
        faded = QColor(theme.muted)
        faded.setAlphaF(0.6)
        result.setColor(QPalette.ColorGroup.Disabled, which, faded)
    result.setColor(QPalette.ColorGroup.Disabled, role.Highlight, QColor(theme.line))
    return result


def style_sheet(theme: Theme) -> str:
    """The style sheet of `theme`: everything that a palette cannot express."""
    names = {key: value for key, value in asdict(theme).items() if isinstance(value, str)}
    names |= {"radius": f"{RADIUS - 1}px"} | mixtures(theme)
    names |= {"tick": f'"{path("marks", f"tick_{theme.name}.svg").as_posix()}"'}
    return re.sub(r"@(\w+)", lambda match: names[match[1]], _SHEET)


def mixtures(theme: Theme) -> dict[str, str]:
    """Colours between two of a theme, by name: disabled texts, and the grounds of verdicts."""
    tints = {f"{name}_tint": _mixed(getattr(theme, name), theme.panel, 0.12) for name in ("error", "value")}
    return {"faded": _mixed(theme.muted, theme.ground), **tints}


def _mixed(first: str, second: str, share: float = 0.5) -> str:
    """The colour between two that has this share of the first."""
    a, b = QColor(first), QColor(second)
    channels = zip(a.getRgb()[:3], b.getRgb()[:3], strict=True)  # type: ignore[index]
    return QColor(*(round(share * x + (1 - share) * y) for x, y in channels)).name()


_SHEET = """
QToolTip { background: @panel; color: @ink; border: 1px solid @line; padding: 4px 6px; }

QMenuBar { background: @ground; border: none; padding: 2px 0px; }
QMenuBar::item { background: transparent; padding: 4px 8px; border-radius: 4px; }
QMenuBar[narrow="true"]::item { padding: 4px 3px; }
QMenuBar::item:selected { background: @hover; }
#top_bar #qt_menubar_ext_button { border: none; padding: 0px; min-height: 0px; }
QMenu { background: @panel; border: 1px solid @line; padding: 4px; }
QMenu::item { padding: 5px 28px 5px 24px; border-radius: 4px; }
QMenu::item:selected { background: @hover; color: @ink; }
QMenu::item:disabled { color: @faded; }
QMenu::separator { height: 1px; background: @line; margin: 4px 6px; }

#layout_button::menu-indicator { width: 0px; }
#workspace_tabs::tab { padding: 8px 10px 8px 10px; margin: 0px; min-height: 20px; }
#workspace_tabs[narrow="true"]::tab { padding: 8px 6px 8px 6px; }
#workspace_tabs::tab:selected { background: @hover; color: @accent; }
QStatusBar { background: @ground; border: none; color: @muted; }
QStatusBar::item { border: none; }
QStatusBar QLabel { color: @muted; }
QMainWindow::separator { background: @ground; width: 8px; height: 8px; }
QMainWindow::separator:hover { background: @line; }

QLabel[tone="said"] { color: @ink; }
QLabel[tone="title"] { font-weight: 600; }
QLabel[tone="muted"] { color: @muted; }
QLabel[tone="accent"] { color: @accent; }
QLabel[tone="error"] { color: @error; }
QLabel[tone="warning"] { color: @warning; }
QLabel[tone="right"], QLabel[tone="value"] { color: @value; }
QLabel[chip="true"] { background: @hover; border-radius: 4px; padding: 3px 8px; font-weight: 600; }
QLabel[chip="true"][tone="error"] { background: @error_tint; }
QLabel[chip="true"][tone="right"] { background: @value_tint; }
QLabel[tone="query"] { color: @query; }
QLabel[tone="key"] { color: @key; }

QDialogButtonBox { dialogbuttonbox-buttons-have-icons: 0; }
QPushButton, #top_bar QToolButton, QToolButton[framed="true"] {
    background: @field; color: @ink; border: 1px solid @line; border-radius: @radius; padding: 3px 10px;
    min-height: 16px;
}
#top_bar #layout_button, #top_bar #undo_button, #top_bar #redo_button, #top_bar #dark_button {
    padding: 3px 6px; }
QPushButton:hover, #top_bar QToolButton:hover, QToolButton[framed="true"]:hover { background: @hover; }
QPushButton:pressed, #top_bar QToolButton:pressed { background: @line; }
QPushButton:checked, #top_bar QToolButton:checked,
QToolButton[framed="true"]:checked { border: 1px solid @accent; color: @accent; }
QPushButton:default { border: 1px solid @accent; }
QPushButton:disabled, #top_bar QToolButton:disabled { color: @faded; background: @ground; }
QPushButton:focus, QPushButton:checked:focus, #top_bar QToolButton:focus,
QToolButton[framed="true"]:focus { border: 2px solid @accent;
    padding: 2px 9px; }
QPushButton[narrow="true"] { padding: 3px 1px; }
QPushButton[narrow="true"]:focus { padding: 2px 0px; }
QPushButton[primary="true"], QToolButton[primary="true"] { background: @filled; color: @on_filled;
    border: 1px solid @filled; }
QPushButton[primary="true"]:focus { background: @panel; color: @accent; border: 2px solid @accent; }
QPushButton:flat { padding: 0px 6px; min-height: 0px; border: none; }
#job_cancel { min-height: 0px; }
QPushButton:flat:focus { padding: 0px 4px; border: 2px solid @accent; }
QPushButton::menu-indicator { width: 10px; subcontrol-position: right center; subcontrol-origin: padding;
    right: 5px; }
QToolButton::menu-indicator { width: 10px; subcontrol-position: right center; right: 4px; }
#top_bar QToolButton[popupMode="2"] { padding-right: 18px; }
QToolButton { background: transparent; color: @ink; border: 1px solid transparent; border-radius: @radius;
    padding: 3px; }
QToolButton:hover { background: @hover; }
QToolButton[primary="true"]:hover { background: @filled; }
QToolButton:focus { border: 2px solid @accent; padding: 2px; }
QToolButton[primary="true"]:focus { border: 2px solid @accent; background-clip: content; padding: 2px; }
QToolButton:disabled { color: @faded; }

QLineEdit, QPlainTextEdit, QTextEdit, QComboBox {
    background: @field; color: @ink; border: 1px solid @line; border-radius: @radius; padding: 3px 6px;
    selection-background-color: @filled; selection-color: @on_filled;
}
QLineEdit:focus, QPlainTextEdit:focus, QTextEdit:focus, QComboBox:focus {
    border: 2px solid @accent; padding: 2px 5px; }
QLineEdit[bare="true"], QLineEdit[bare="true"]:focus { background: transparent; border: none;
    padding: 4px 16px 4px 16px; font-size: 15px; }
QListView[bare="true"] { background: transparent; border: none; border-top: 1px solid @line;
    border-radius: 0px; }
QTextEdit[bare="true"] { background: transparent; border: 2px solid transparent; padding: 0px; }
QTextEdit[bare="true"]:focus { border: 2px solid @accent; padding: 0px; }
QLineEdit:disabled, QComboBox:disabled { color: @faded; }
QLineEdit[compact="true"] { background: @panel; border-radius: 3px; padding: 0px 2px; }
QLineEdit[compact="true"]:focus { padding: 0px 1px; }
QLineEdit[invalid="true"] { border: 1px solid @error; }
QAbstractSpinBox QLineEdit { background: transparent; border: none; padding: 0px; }
QComboBox::drop-down { border: none; width: 18px; }
QComboBox::down-arrow { width: 0px; height: 0px; border: 4px solid @field; border-top: 5px solid @muted;
    border-bottom: none; margin-right: 6px; }
QComboBox { combobox-popup: 0; }
QComboBox QAbstractItemView::item { min-height: 22px; }
QComboBoxPrivateContainer { background: @panel; border: none; }
QComboBox QAbstractItemView { background: @panel; border: 1px solid @line; outline: none; padding: 2px;
    selection-background-color: @hover; selection-color: @ink; }

QCheckBox::indicator, QRadioButton::indicator { width: 12px; height: 12px; border: 1px solid @muted;
    background: @field; }
QCheckBox::indicator { border-radius: 3px; }
QRadioButton::indicator { border-radius: 6px; }
QCheckBox::indicator:checked, QRadioButton::indicator:checked { background: @filled;
    border: 1px solid @filled; }
QCheckBox::indicator:checked { image: url(@tick); }
QCheckBox::indicator:disabled, QRadioButton::indicator:disabled { border: 1px solid @line; }
QCheckBox::indicator:checked:disabled, QRadioButton::indicator:checked:disabled { background: @line; }
QCheckBox, QRadioButton { border: 2px solid transparent; border-radius: 4px; padding: 1px; }
QCheckBox:focus, QRadioButton:focus { border: 2px solid @accent; }

QTabWidget::pane { background: @panel; border: 1px solid @line; border-radius: @radius; top: -1px; }
QTabBar { background: transparent; qproperty-drawBase: 0; }
QTabBar::tab { background: transparent; color: @muted; padding: 5px 2px 5px 2px; margin: 0px 8px 0px 8px;
    border: none; border-bottom: 2px solid transparent; }
QMainWindow > QTabBar::tab { margin: 0px 4px 0px 4px; }
QTabBar::tab:hover { color: @ink; }
QTabBar::tab:selected { color: @ink; border-bottom: 2px solid @accent; font-weight: 600; }
QTabBar::tab:selected:focus { border: 2px solid @accent; border-radius: 4px; padding: 3px 0px 5px 0px; }
QTabBar::tab:disabled { color: @faded; }

QDockWidget { color: @muted; font-weight: 600; }
QDockWidget::title { background: @ground; padding: 4px 6px; text-align: left; }
QDockWidget::close-button, QDockWidget::float-button { border: none; background: transparent; padding: 0px; }
QDockWidget::close-button:hover, QDockWidget::float-button:hover { background: @hover; }

QScrollArea { background: transparent; border: none; }
QAbstractScrollArea::corner { background: transparent; border: none; }
QScrollBar:vertical { background: transparent; width: 10px; margin: 0px; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 0px; }
QScrollBar::handle { background: @line; border-radius: 3px; margin: 2px; }
QScrollBar::handle:vertical { min-height: 24px; }
QScrollBar::handle:horizontal { min-width: 24px; }
QScrollBar::handle:hover { background: @faded; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0px; height: 0px; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }

QSplitter::handle { background: transparent; }
QSplitter::handle:hover { background: @line; }
QProgressBar { background: @line; border: none; border-radius: 2px; height: 4px; text-align: center; }
QProgressBar::chunk { background: @accent; border-radius: 2px; }
QHeaderView::section { background: @panel; color: @muted; border: none; border-bottom: 1px solid @line;
    padding: 4px 6px; }
QTableView, QTreeView, QListView { background: @panel; border: 1px solid @line; border-radius: @radius;
    gridline-color: @line; outline: none; selection-background-color: @hover; selection-color: @ink; }
QGroupBox { border: 1px solid @line; border-radius: @radius; margin-top: 8px; padding-top: 8px; }
QGroupBox::title { color: @muted; subcontrol-origin: margin; left: 8px; }
"""
