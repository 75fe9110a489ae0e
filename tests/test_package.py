"""The installed pieces under the program: the version, the metadata, and a Qt that keeps its references."""

from __future__ import annotations

import json
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version
from pytestqt.qtbot import QtBot

from attnviz.version import __version__

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def test_qt_calls_keep_the_reference_count_of_none(qtbot: QtBot) -> None:
    """A binding that drops one reference to None per call ends in `Fatal Python error: none_dealloc`."""
    from PySide6.QtCore import QObject, Qt, QTimer
    from PySide6.QtWidgets import QPushButton, QSlider, QWidget

    parent = QWidget()
    qtbot.addWidget(parent)
    button, slider, timer, plain = QPushButton(parent), QSlider(parent), QTimer(parent), QObject(parent)
    calls = {
        "setEnabled": lambda: button.setEnabled(True),
        "setVisible": lambda: button.setVisible(True),
        "setToolTip": lambda: button.setToolTip("tip"),
        "setText": lambda: button.setText("text"),
        "setObjectName": lambda: plain.setObjectName("name"),
        "setValue": lambda: slider.setValue(3),
        "setRange": lambda: slider.setRange(0, 10),
        "setOrientation": lambda: slider.setOrientation(Qt.Orientation.Horizontal),
        "resize": lambda: parent.resize(40, 30),
        "update": lambda: parent.update(),
        "setInterval": lambda: timer.setInterval(5),
        "setAccessibleName": lambda: button.setAccessibleName("name"),
        "blockSignals": lambda: button.blockSignals(False),
        "deleteLater of nothing": lambda: plain.setProperty("key", None),
    }
    drift = {}
    for name, call in calls.items():
        call()
        before = sys.getrefcount(None)
        for _ in range(200):
            call()
        drift[name] = sys.getrefcount(None) - before
    assert {name: change for name, change in drift.items() if abs(change) > 20} == {}


def test_installed_version_is_the_one_of_the_source() -> None:
    # Before `pip install` no metadata exists: the source tree alone cannot be wrong about it.
    try:
        installed = distribution("attnviz")
    except ImportError:
        pytest.skip("attnviz runs from its source tree, not installed")
    origin = json.loads(installed.read_text("direct_url.json") or "{}")
    if origin.get("dir_info", {}).get("editable") and origin["url"] != PROJECT.parent.as_uri():
        pytest.skip(f"the checkout that is installed is {origin['url']}, not this one")
    assert installed.version == __version__


@pytest.mark.parametrize(
    ("package", "good", "bad"),
    [
        ("PySide6-Essentials", ["6.10.2", "6.10.3"], ["6.9.2", "6.10.1", "6.11.0", "6.12.0"]),
        ("pyqtgraph", ["0.14.0"], ["0.13.7", "0.15.0"]),
        ("numpy", ["2.1.0", "2.4.6"], ["2.0.2", "1.26.4"]),
    ],
)
def test_pins_admit_what_was_tried_and_shut_out_what_fails(
    package: str, good: list[str], bad: list[str]
) -> None:
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    pins = {Requirement(line).name: Requirement(line).specifier for line in project["dependencies"]}
    assert all(Version(one) in pins[package] for one in good)
    assert not any(Version(one) in pins[package] for one in bad)


def test_the_citation_has_the_version_the_licence_and_the_authors_of_the_package() -> None:
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    lines = PROJECT.with_name("CITATION.cff").read_text(encoding="utf-8").splitlines()
    said = dict(line.strip(" -").split(": ", 1) for line in lines if ": " in line)
    assert said["version"] == __version__ and said["license"] == project["license"]
    assert said["name"].strip('"') == project["authors"][0]["name"]
    assert said["title"].strip('"').startswith("attnviz: ")
    words = [line.strip("- ") for line in lines[lines.index("keywords:") + 1 :]]
    assert words == project["keywords"]


def test_the_versions_of_python_are_those_that_the_gate_tries() -> None:
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    begin = "Programming Language :: Python :: 3."
    named = [name.removeprefix(begin) for name in project["classifiers"] if name.startswith(begin)]
    gate = (PROJECT.parent / ".ci/run").read_text(encoding="utf-8")
    assert f"for minor in {' '.join(named)}; do" in gate
    assert project["requires-python"] == f">=3.{named[0]}"


def test_torch_is_an_extra_only() -> None:
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    assert not any(Requirement(line).name == "torch" for line in project["dependencies"])
    assert project["optional-dependencies"]["torch"] == ["torch>=2.6"]
