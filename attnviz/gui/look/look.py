"""Colours and language of the running program, taken from the settings."""

from __future__ import annotations

from PySide6.QtCore import QLibraryInfo, QLocale, Qt, QTranslator
from PySide6.QtWidgets import QApplication

from attnviz.gui.look.style import apply_style
from attnviz.gui.look.theme import DARK, LIGHT, MOTION_PROPERTY, Theme
from attnviz.gui.look.words import speak
from attnviz.gui.settings import Settings
from attnviz.i18n import LANGUAGES, current_language, set_language, system_language


def application() -> QApplication:
    """The application."""
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    return app


def apply(app: QApplication, settings: Settings) -> Theme:
    """Set language, theme, transitions and Qt's own texts, now and for later widgets; returns the theme."""
    before = current_language()
    set_language(settings["language"] or system_language())
    _translate_qt(app)
    app.setProperty(MOTION_PROPERTY, settings["motion"])
    theme = chosen_theme(app, settings)
    apply_style(app, theme)
    if current_language() != before:
        speak()
    return theme


def chosen_theme(app: QApplication, settings: Settings) -> Theme:
    """Light or dark, as the user chose, or as the system defines."""
    choice = settings["theme"]
    if choice == "system":
        choice = "dark" if app.styleHints().colorScheme() == Qt.ColorScheme.Dark else "light"
    return DARK if choice == "dark" else LIGHT


def other_language() -> str:
    """The next language after the active one."""
    codes = [language.code for language in LANGUAGES]
    return codes[(codes.index(current_language()) + 1) % len(codes)]


def _translate_qt(app: QApplication) -> None:
    """Load the texts of Qt's own buttons and dialogs in the active language, unless they are loaded."""
    olds = app.findChildren(QTranslator, "qt_translator")
    if any(old.property("code") == current_language() for old in olds):
        return  # another translator sends an event to every widget
    for old in olds:
        app.removeTranslator(old)
        old.setParent(None)  # not found again before it is deleted
        old.deleteLater()
    translator = QTranslator(app)
    translator.setProperty("code", current_language())
    translator.setObjectName("qt_translator")
    folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
    if translator.load(QLocale(current_language()), "qtbase", "_", folder):
        app.installTranslator(translator)
