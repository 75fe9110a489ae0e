"""Preferences: typed, checked, in one file, and never believed blindly."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from desk import MakeDesk
from PySide6.QtCore import QSettings, Qt
from PySide6.QtWidgets import QComboBox, QWidget
from pytestqt.qtbot import QtBot
from services import services_of

from attnviz.engines.table import ENGINES
from attnviz.gui.dialogs.preferences import PreferencesDialog
from attnviz.gui.panels.decoding.story.text import StoryText
from attnviz.gui.settings import RECENT_LIMIT, SETTINGS, Settings
from attnviz.gui.store import Store
from attnviz.gui.widgets.segmented import Segmented
from attnviz.gui.widgets.toggle import Toggle
from attnviz.model.io.presets import load_preset


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "settings.ini"


def opened(file: Path) -> Settings:
    return Settings(QSettings(str(file), QSettings.Format.IniFormat))


def test_defaults_are_legal_and_there_without_a_file(file: Path) -> None:
    settings = opened(file)
    for row in SETTINGS:
        assert settings[row.key] == row.default and isinstance(settings[row.key], row.kind)
        assert not row.choices or row.default in [choice for choice, _title in row.choices]


def test_what_was_chosen_is_there_in_the_next_session_with_its_type(file: Path) -> None:
    settings = opened(file)
    settings["theme"], settings["motion"] = "dark", False
    settings.set_geometry(b"\x00geometry\xff")
    settings.set_layout("explore", b"\x00state\xff")
    settings.set_workspace("compare")
    settings.sync()
    again = opened(file)
    assert again["theme"] == "dark" and again["motion"] is False
    assert again.geometry() == b"\x00geometry\xff" and again.layout("explore") == b"\x00state\xff"
    assert again.layout("compare") == b"" and again.workspace() == "compare"


@pytest.mark.parametrize(("key", "value"), [("theme", "plaid"), ("language", "tlh"), ("engine", "abacus")])
def test_a_stored_value_that_is_not_legal_counts_as_not_stored(file: Path, key: str, value: str) -> None:
    store = QSettings(str(file), QSettings.Format.IniFormat)
    store.setValue(f"preferences/{key}", value)
    default = next(row.default for row in SETTINGS if row.key == key)
    assert Settings(store)[key] == default


def test_an_unknown_key_is_a_mistake(file: Path) -> None:
    with pytest.raises(KeyError):
        opened(file)["colour"]
    with pytest.raises(KeyError):
        opened(file)["colour"] = 1


def test_a_broken_file_gives_the_defaults(file: Path) -> None:
    file.write_bytes(b"\x00\xff[preferences\ntheme=@ByteArray(\nwindow/state=nonsense")
    settings = opened(file)
    assert settings["theme"] == "system" and settings.recent() == ()
    assert (settings.geometry(), settings.layout("explore"), settings.workspace()) == (b"", b"", "")


def test_recent_files_latest_first_each_once_and_no_more_than_ten(file: Path, tmp_path: Path) -> None:
    settings = opened(file)
    for number in range(RECENT_LIMIT + 3):
        settings.add_recent(tmp_path / f"{number}.json")
    settings.add_recent(tmp_path / "5.json")
    settings.sync()
    names = [path.name for path in opened(file).recent()]
    assert names[:3] == ["5.json", "12.json", "11.json"]
    assert len(names) == RECENT_LIMIT == len(set(names))


def test_one_recent_file_reads_back_as_one(file: Path, tmp_path: Path) -> None:
    settings = opened(file)
    settings.add_recent(tmp_path / "a, b.json")
    settings.sync()
    assert [path.name for path in opened(file).recent()] == ["a, b.json"]


def test_preferences_offer_the_devices_of_the_chosen_engine(qtbot: QtBot, file: Path) -> None:
    settings = opened(file)
    settings["engine"], settings["device"] = "numpy", "cuda"
    window = QWidget()
    qtbot.addWidget(window)
    services = replace(services_of(Store(load_preset("toy-attention"))), settings=settings)
    dialog = PreferencesDialog(window, services)
    engine, device = (dialog.findChild(QComboBox, f"preference_{key}") for key in ("engine", "device"))
    for kind in ENGINES:
        engine.setCurrentIndex(engine.findData(kind.id))
        offered = [
            device.itemData(i)
            for i in range(device.count())
            if device.model().flags(device.model().index(i, 0)) & Qt.ItemFlag.ItemIsEnabled
        ]
        assert offered == [one for one in ("auto", "cpu", "cuda") if one in kind.devices]
    engine.setCurrentIndex(engine.findData("torch"))
    device.setCurrentIndex(device.findData("cuda"))
    engine.setCurrentIndex(engine.findData("numpy"))
    dialog.store()
    assert (settings["engine"], settings["device"]) == ("numpy", "auto")


def test_the_shading_and_the_rest_of_the_text_are_remembered(make_desk: MakeDesk) -> None:
    first = make_desk("causal-decode")
    first.settle_decoding()
    first.go("generate")
    first.choose("decode_shading", "weight")
    first.switch("decode_rest")
    first.close()
    second = make_desk("causal-decode")
    second.settle_decoding()
    second.go("generate")
    assert second.find(Segmented, "decode_shading").value() == "weight"
    assert second.find(Toggle, "decode_rest").isChecked()
    assert second.find(StoryText, "decode_text")._shows_rest
