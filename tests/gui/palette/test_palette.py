"""The palette in the window: opened, typed into, run, closed; and every line runs."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from desk import WAIT_MS, Desk, MakeDesk
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QWidget

from attnviz.checkpoints.presets import PRESETS, load_preset
from attnviz.gui.commands.actions import ACTIONS
from attnviz.gui.export.table import EXPORTS
from attnviz.gui.palette.entry import Entry
from attnviz.gui.palette.palette import Palette
from attnviz.gui.palette.providers import ALSO, PROVIDERS, all_entries
from attnviz.gui.panels.table import PANELS
from attnviz.gui.settings import SETTINGS, Settings
from attnviz.gui.widgets.document_text import DocumentText
from attnviz.i18n import LANGUAGES, _, set_language
from attnviz.model.io.files import save
from attnviz.model.sites.sites import site_names
from attnviz.study.lessons.table import shipped_claims


def palette(desk: Desk) -> Palette:
    return desk.find(Palette, "palette")


def open_palette(desk: Desk) -> QLineEdit:
    desk.press_key(Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    assert palette(desk).isVisible() and palette(desk).line.hasFocus()
    return palette(desk).line


def keys(desk: Desk) -> list[str]:
    """The lines that show once all are made."""
    desk.qtbot.waitUntil(lambda: palette(desk).is_complete, timeout=WAIT_MS)
    return [entry.key for entry in palette(desk).found()]


def test_a_few_letters_and_enter_run_a_command(desk: Desk) -> None:
    desk.map.setFocus()
    line = open_palette(desk)
    desk.type_text(line, "dark th")
    assert keys(desk)[0] == "action:dark"
    QTest.keyClick(line, Qt.Key.Key_Return)
    assert desk.theme.is_dark and not palette(desk).isVisible() and desk.map.hasFocus()


@pytest.mark.reads
@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("dark mode", "action:dark"),
        ("bigger text", "action:scale_up"),
        ("export svg", "action:export_figure"),
        ("gif", "export:generation"),
        ("latex table", "export:table"),
        ("checkpoint", "action:import_model"),
        ("prompt", "panel:tokens"),
        ("kv cache", "panel:cost"),
        ("gpt-3", "panel:cost"),
        ("top-p", "panel:sampling"),
        ("temperature", "panel:sampling"),
        ("past key values", "panel:caches"),
        ("eviction", "panel:cache"),
        ("causal tracing", "panel:patching"),
        ("backpropagation", "panel:gradients"),
        ("温度", "panel:sampling"),
        ("second screen", "action:tear_off"),
        ("ablate", "frames:effect"),
        ("induction head", "frames:induction"),
        ("消融", "frames:effect"),
        ("深色", "action:dark"),
        ("放大字体", "action:scale_up"),
        ("显存", "panel:cost"),
        ("提示词", "panel:tokens"),
        ("动画", "action:export_sequence"),
        ("熵", "panel:heads"),
        ("decoding and the kv", "lesson:cache"),
        ("web page", "export:page"),
        ("page", "export:page"),
        ("notebook", "export:notebook"),
        ("jupyter", "export:notebook"),
        ("figure", "action:export_figure"),
        ("script", "export:script"),
        ("python script", "export:script"),
        ("网页", "export:page"),
        ("lesson softmax", "lesson:softmax"),
    ],
)
def test_words_of_a_newcomer_find_the_line_in_both_languages(desk: Desk, words: str, wanted: str) -> None:
    open_palette(desk).setText(words)
    assert wanted in keys(desk)[:3]
    assert set(ALSO) <= {row.id for row in (*ACTIONS, *EXPORTS)}
    palette(desk).line.setText("no such words at all")
    assert keys(desk) == []
    QTest.keyClick(palette(desk).line, Qt.Key.Key_Escape)


def test_a_score_of_all_heads_opens_the_grid_that_shows_it(desk: Desk) -> None:
    line = open_palette(desk)
    line.setText("score distance")
    assert keys(desk)[0] == "frames:distance"
    QTest.keyClick(line, Qt.Key.Key_Return)
    assert desk.window.docks["grid"].isVisible() and desk.store.document.view.grid.frames == "distance"


def test_a_claim_is_found_by_its_words_and_opens_among_its_own(desk: Desk) -> None:
    step = next(step for step in shipped_claims("softmax").steps if step.claim)
    line = open_palette(desk)
    line.setText(step.words["en"].title)
    assert keys(desk)[0] == f"claim:softmax:{step.id}"
    QTest.keyClick(line, Qt.Key.Key_Return)
    assert desk.find(QLineEdit, "claims_search").text() == step.words["en"].title


def test_no_line_shows_a_placeholder(desk: Desk) -> None:
    desk.store.open(load_preset("rope-pair"))
    desk.settle()
    assert [entry.text for entry in all_entries(desk.window.surface) if "{" in entry.text] == []


@pytest.mark.reads
@pytest.mark.parametrize("language", [language.code for language in LANGUAGES])
def test_no_two_lines_read_alike(desk: Desk, language: str) -> None:
    set_language(language)
    lines = [(entry.kind, entry.text) for entry in all_entries(desk.window.surface)]
    assert [line for line, count in Counter(lines).items() if count > 1] == []


def test_arrows_choose_and_escape_closes(desk: Desk) -> None:
    line = open_palette(desk)
    desk.type_text(line, "head 3")
    assert keys(desk)[0] == "head:2"
    QTest.keyClick(line, Qt.Key.Key_Backspace)
    chosen = [key for key in keys(desk) if key.startswith("head:")][1]
    for _row in range(keys(desk).index(chosen)):
        QTest.keyClick(line, Qt.Key.Key_Down)
    QTest.keyClick(line, Qt.Key.Key_Return)
    assert desk.store.document.view.head == int(chosen.split(":")[1])
    line = open_palette(desk)
    last = len(keys(desk)) - 1
    QTest.keyClick(line, Qt.Key.Key_Up)
    assert palette(desk).list.currentIndex().row() == last
    QTest.keyClick(line, Qt.Key.Key_Escape)
    assert not palette(desk).isVisible()


@pytest.mark.reads
def test_the_palette_opens_from_the_prompt_and_gives_the_focus_back(desk: Desk) -> None:
    prompt = desk.find(DocumentText, "token_line")
    prompt.setFocus()
    line = open_palette(desk)
    QTest.keyClick(line, Qt.Key.Key_Escape)
    assert prompt.hasFocus()


def test_a_click_on_a_line_runs_it_and_a_click_beside_closes(desk: Desk) -> None:
    line = open_palette(desk)
    desk.type_text(line, "masked")
    row = keys(desk).index("stage:masked")
    view = palette(desk).list
    at = view.visualRect(view.model().index(row, 0)).center()
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert desk.store.document.view.stage == "masked" and not palette(desk).isVisible()
    open_palette(desk)
    desk.click(desk.map)
    assert not palette(desk).isVisible()


def test_what_ran_last_comes_first(desk: Desk) -> None:
    line = open_palette(desk)
    desk.type_text(line, "scaled")
    QTest.keyClick(line, Qt.Key.Key_Return)
    open_palette(desk)
    assert keys(desk)[0] == "stage:scaled" and keys(desk).count("stage:scaled") == 1


@pytest.mark.reads
def test_nothing_found_is_said_and_enter_does_nothing(desk: Desk) -> None:
    line = open_palette(desk)
    desk.type_text(line, "xyzzy")
    assert keys(desk) == [] and palette(desk).findChild(object, "palette_empty").isVisible()
    QTest.keyClick(line, Qt.Key.Key_Return)
    assert palette(desk).isVisible()
    QTest.keyClick(line, Qt.Key.Key_Escape)


def test_the_palette_stays_inside_a_small_window(desk: Desk) -> None:
    desk.window.resize(1024, 640)
    open_palette(desk)
    assert desk.window.rect().contains(palette(desk).geometry())


def test_every_table_is_in_the_palette(make_desk: MakeDesk) -> None:
    desk = make_desk("encoder-decoder")
    found = {entry.key for entry in all_entries(desk.window.surface)}
    wanted = {f"action:{row.id}" for row in ACTIONS if desk.window.commands[row.id].isEnabled()}
    wanted |= {f"preset:{preset.id}" for preset in PRESETS}
    wanted |= {f"stage:{stage}" for stage in desk.store.site.stages}
    wanted |= {f"head:{head}" for head in range(desk.store.attention.heads.n_heads)}
    names = site_names(desk.store.experiment)
    wanted |= {f"site:{name}" for name in names if len(names) > 1}
    wanted |= {f"setting:{row.key}:{value}" for row in SETTINGS for value, _title in row.choices}
    missing = wanted - found - {"action:palette"}
    assert {key for key in missing if not key.startswith("setting:engine")} == set()
    assert {f"panel:{row.id}" for row in PANELS} <= found


@pytest.mark.reads
@pytest.mark.parametrize("language", [language.code for language in LANGUAGES])
def test_every_line_has_words_and_is_found_by_both_languages(desk: Desk, language: str) -> None:
    entries = list(all_entries(desk.window.surface))
    set_language(language)
    for entry in entries:
        assert entry.text and entry.kind and entry.key
        assert not entry.text.rstrip().endswith((":", "：")), "a control without a name has its section's"
    for row in ACTIONS:
        if desk.window.commands[row.id].isEnabled() and row.id != "palette":
            entry = next(entry for entry in entries if entry.key == f"action:{row.id}")
            assert _(row.text) in entry.words


def test_every_line_runs(
    make_desk: MakeDesk, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attnviz.gui.window.presentation.largest_scale", lambda window, percent: 200)
    monkeypatch.setattr("attnviz.gui.window.presentation.rescale", lambda windows, before, percent: True)
    desk = make_desk("encoder-decoder")
    settings.add_recent(saved(tmp_path / "kept.attnviz.json", desk))
    done, expected, kinds = _record_actions(desk), [], set()
    # What opens another document comes last: stages, heads and controls are those of the present one.
    later = ("preset:", "lesson:", "claim:")
    for entry in sorted(all_entries(desk.window.surface), key=lambda entry: entry.key.startswith(later)):
        kinds.add(entry.key.partition(":")[0])
        expected += _run(desk, entry)
    assert done == expected and len(done) > 30
    assert len(kinds) == len(PROVIDERS)


def saved(path: Path, desk: Desk) -> Path:
    """The document of the window as a file."""
    save(desk.store.document, path)
    return path


def _record_actions(desk: Desk) -> list[str]:
    """Commands open dialogs and close the window: here they only say that they ran."""
    done: list[str] = []
    for row in ACTIONS:
        action = desk.window.commands[row.id]
        action.triggered.disconnect()
        action.triggered.connect(partial(lambda id_, checked=False: done.append(id_), row.id))
    return done


def _run(desk: Desk, entry: Entry) -> list[str]:
    kind, _sep, id_ = entry.key.partition(":")
    if kind == "export":
        assert isinstance(entry.run, partial) and entry.run.args == (id_,)
        return []  # a dialog
    entry.run()
    if kind == "lesson":
        desk.settle()
        lesson = desk.window.lesson_live.lesson
        assert lesson is not None and lesson.id == id_ and desk.window.panels["lesson"].is_seen
    if kind == "claim":
        assert desk.window.panels["claims"].is_seen
    QApplication.processEvents()
    view = desk.store.document.view
    if kind == "action":
        return [id_]
    if kind == "preset":
        assert desk.store.document.title == next(preset.title for preset in PRESETS if preset.id == id_)
    if kind == "stage":
        assert view.stage == id_
    if kind == "head":
        assert view.head == int(id_)
    if kind == "site":
        assert desk.store.document.site == id_
    if kind == "recent":
        assert desk.store.path == Path(id_)
    if kind == "panel":
        assert desk.window.panels[id_].is_seen
    if kind == "control":
        section, _sep, name = id_.partition(":")
        control = desk.window.panels["mechanism"].findChild(QWidget, name)
        assert control is not None and not control.visibleRegion().isEmpty()
        focused = desk.window.focusWidget()
        has_focus = focused is not None and (focused is control or control.isAncestorOf(focused))
        assert has_focus == control.isEnabled()
    if kind == "range":
        assert view.range_of(view.stage) == id_
    if kind == "setting":
        key, _sep, value = id_.partition(":")
        assert str(desk.window.settings[key]) == value
    return []


def test_an_open_palette_follows_the_language(desk: Desk) -> None:
    line = open_palette(desk)
    desk.type_text(line, "dark th")
    desk.window.commands["language"].trigger()
    assert palette(desk).isVisible() and line.text() == "dark th"
    dark = next(entry for entry in palette(desk).found() if entry.key == "action:dark")
    assert dark.text == "深色主题"
    assert line.accessibleName() == "命令面板"


def test_enter_waits_for_lines_that_are_still_to_be_made(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attnviz.gui.palette.palette.AT_ONCE_S", 0.0)
    line = open_palette(desk)
    assert not palette(desk).is_complete
    line.setText("score temperature")
    assert not [entry for entry in palette(desk).found() if entry.key.startswith("control:")]
    QTest.keyClick(line, Qt.Key.Key_Return)
    assert not palette(desk).isVisible()
    assert [section.id for section in desk.window.panels["mechanism"].sections if section.is_open] == [
        "score"
    ]


def test_nothing_is_called_missing_before_all_lines_are_made(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attnviz.gui.palette.palette.AT_ONCE_S", 0.0)
    line, empty = open_palette(desk), desk.find(QLabel, "palette_empty")
    line.setText("qqqq zzzz")
    assert not palette(desk).is_complete and not palette(desk).found() and empty.isHidden()
    QTest.keyClick(line, Qt.Key.Key_Return)
    assert palette(desk).is_complete and not palette(desk).found() and empty.isVisible()


def test_the_chosen_line_stays_chosen_while_more_are_made(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attnviz.gui.palette.palette.AT_ONCE_S", 0.0)
    line = open_palette(desk)
    palette(desk)._make_some()
    assert not palette(desk).is_complete
    QTest.keyClick(line, Qt.Key.Key_Down)
    QTest.keyClick(line, Qt.Key.Key_Down)
    chosen = palette(desk).found()[2].key
    assert chosen == keys(desk)[palette(desk).list.currentIndex().row()]
