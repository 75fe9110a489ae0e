"""The last words of a process that Qt ends: the reason, not the five lines of Qt."""

from __future__ import annotations

import pytest

from attnviz.gui import display

PLUGINS = "no Qt platform plugin could be initialized. Reinstalling the application may fix this problem.\n\n"
LAST = f"{PLUGINS}Available platform plugins are: xcb, offscreen.\n"
CURSOR = "From 6.5.0, xcb-cursor0 or libxcb-cursor0 is needed to load the Qt xcb platform plugin."
NOT_LOADED = 'Could not load the Qt platform plugin "xcb" in "" even though it was found.'


@pytest.mark.parametrize("is_there", [True, False])
def test_a_display_that_is_missing_is_not_blamed_on_a_library(
    monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    monkeypatch.setattr(display, "_loads", lambda library: is_there)
    messages = ["could not connect to display :9", CURSOR, NOT_LOADED, LAST]
    assert display.reason(messages) == "Qt cannot connect to the display :9"


def test_a_library_that_is_missing_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display, "_loads", lambda library: False)
    reason = display.reason([CURSOR, NOT_LOADED, LAST])
    assert "libxcb-cursor.so.0" in reason and "package libxcb-cursor0" in reason
    monkeypatch.setattr(display, "_loads", lambda library: True)
    assert display.reason([CURSOR, NOT_LOADED, LAST]) == "Qt cannot use its platform plugin xcb here"


def test_an_unknown_platform_is_answered_with_the_known_ones() -> None:
    unknown = 'Could not find the Qt platform plugin "nonsense" in ""'
    assert display.reason([unknown, LAST]) == "QT_QPA_PLATFORM must be one of xcb, offscreen; got nonsense"


def test_any_other_last_words_are_said_in_one_line() -> None:
    assert display.reason(["Out of threads\nand more"]) == "Out of threads"
