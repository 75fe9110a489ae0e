"""The words of a control are bound once: they follow the language, and outlive no control."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QLabel, QLineEdit, QToolButton, QWidget
from pytestqt.qtbot import QtBot
from services import served

from attnviz.errors import Message
from attnviz.gui.look import words
from attnviz.gui.look.words import composed, plain_tooltip, says, speak
from attnviz.gui.panels.mechanism.mechanism import MechanismPanel
from attnviz.gui.store import Store
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.empty_state import EmptyState
from attnviz.gui.widgets.panel_dock import PanelDock, Room
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.slider_field import SliderField
from attnviz.gui.widgets.toggle import Toggle
from attnviz.i18n import N_, _, set_language
from attnviz.model.io.presets import load_preset

KINDS: tuple[Callable[[], QWidget], ...] = (
    QLabel,
    QToolButton,
    lambda: Toggle(""),
    lambda: SliderField("", 0.0, 0.0, 1.0),
    lambda: EmptyState(""),
    lambda: PanelDock({"tokens": Room()}),
)
HEAD = Message("head {head}", head=3)


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    yield
    set_language("en")


def told(widget: QWidget) -> dict[str, str]:
    """The texts of a widget and of all inside it."""
    whole = (widget, *widget.findChildren(QWidget))
    texts = {f"{index} name": one.accessibleName() for index, one in enumerate(whole)}
    texts |= {f"{index} tip": one.toolTip() for index, one in enumerate(whole)}
    return texts | {f"{index} text": one.text() for index, one in enumerate(whole) if hasattr(one, "text")}


@pytest.mark.parametrize("kind", KINDS)
def test_a_control_says_in_a_new_language_what_a_new_control_says(
    qtbot: QtBot, kind: Callable[[], QWidget]
) -> None:
    def control() -> QWidget:
        widget = says(kind(), N_("Tokens"), id="it", tip=N_("Number of tokens"))
        qtbot.addWidget(widget)
        return widget

    old = control()
    english = told(old)
    assert any("Tokens" in text or "TOKENS" in text for text in english.values())
    set_language("zh_CN")
    speak()
    assert told(old) == told(control()) != english
    assert any("词元" in text for text in told(old).values())
    set_language("en")
    speak()
    assert told(old) == english and old.objectName() == "it"


def test_messages_functions_and_tips_that_repeat_the_name(qtbot: QtBot) -> None:
    line = says(QLineEdit(), name=HEAD, tip=True, placeholder=lambda: f"{_('Tokens')}!")
    qtbot.addWidget(line)
    assert (line.accessibleName(), line.toolTip()) == ("head 3", plain_tooltip("head 3"))
    assert line.placeholderText() == "Tokens!"
    label = says(QLabel(), composed("{} · {}".format, N_("Tokens"), HEAD))
    qtbot.addWidget(label)
    assert label.text() == "Tokens · head 3"
    set_language("zh_CN")
    speak()
    assert line.accessibleName() == HEAD.text() != "head 3"
    assert line.toolTip() == plain_tooltip(HEAD.text()) and line.placeholderText() == "词元!"
    assert label.text() == f"词元 · {HEAD.text()}"


@pytest.mark.parametrize("kind", [Combo, Segmented])
def test_the_chosen_option_stays_chosen(qtbot: QtBot, kind: type[Combo] | type[Segmented]) -> None:
    choice = kind(())
    qtbot.addWidget(choice)
    says(choice, options=(("a", N_("Tokens"), ""), ("b", "B", N_("Number of tokens"))))
    choice.set_value("b")
    set_language("zh_CN")
    speak()
    assert choice.value() == "b"


def test_an_action_says_its_tip_as_it_is() -> None:
    action = says(QAction(), N_("Tokens"), tip=N_("Number of tokens"))
    assert (action.text(), action.toolTip()) == ("Tokens", "Number of tokens")


def test_a_control_that_is_unavailable_keeps_its_reason(qtbot: QtBot) -> None:
    toggle = says(Toggle(""), N_("Tokens"), tip=N_("Number of tokens"))
    qtbot.addWidget(toggle)
    toggle.set_unavailable("because")
    set_language("zh_CN")
    speak()
    assert toggle.toolTip() == plain_tooltip("because")
    toggle.set_unavailable(None)
    assert toggle.toolTip() == plain_tooltip(_("Number of tokens")) != plain_tooltip("Number of tokens")


def test_later_words_replace_those_of_their_kind_alone(qtbot: QtBot) -> None:
    button = says(QToolButton(), N_("Tokens"), tip=N_("Number of tokens"))
    qtbot.addWidget(button)
    says(button, tip=N_("Tokens"))
    set_language("zh_CN")
    speak()
    assert button.text() == _("Tokens") and button.toolTip() == plain_tooltip(_("Tokens"))


def test_words_keep_no_control_alive() -> None:
    gc.collect()
    before = len(words._SAID)
    panel = served(MechanismPanel(Store(load_preset("toy-attention"))))
    panel.start()
    panel.open_all()
    assert len(words._SAID) > before + 100
    panel.deleteLater()
    del panel
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)  # type: ignore[arg-type]
    gc.collect()
    assert len(words._SAID) == before
