"""The two places where `resources/` may be, and what is in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from attnviz import resources


def test_installed_folder_wins_over_the_one_beside_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, beside = tmp_path / "attnviz" / "resources", tmp_path / "resources"
    monkeypatch.setattr(resources, "_ROOTS", (inside, beside))
    beside.mkdir()
    assert resources.root() == beside
    inside.mkdir(parents=True)
    assert resources.root() == inside


def test_missing_resources_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError, match="no resource icons/nothing.svg"):
        resources.path("icons", "nothing.svg")
    monkeypatch.setattr(resources, "_ROOTS", (tmp_path / "a", tmp_path / "b"))
    with pytest.raises(FileNotFoundError, match="without its resources"):
        resources.root()


def test_every_font_of_the_list_is_there() -> None:
    assert [file.suffix for file in resources.font_files()] == [".ttf"] * 4
    assert all(file.read_bytes()[:4] == b"\x00\x01\x00\x00" for file in resources.font_files())
