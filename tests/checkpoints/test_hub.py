"""Downloads of the hub are found by their folder and by their name; nothing is downloaded without request."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from checkpoints.written import LLAMA_CONFIG, llama_arrays, write_folder

from attnviz.checkpoints import CheckpointError, import_checkpoint
from attnviz.checkpoints.hub import cache_folder, download, is_missing, located
from attnviz.checkpoints.opening import is_model
from attnviz.cli import main

IDS = [1, 2]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with two snapshots of a model, of which `main` names the older one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    model = tmp_path / "hub" / "models--owner--model"
    for number, name in enumerate(("0a1b", "2c3d")):
        shot = model / "snapshots" / name
        shot.mkdir(parents=True)
        write_folder(shot, {key: array + number for key, array in llama_arrays().items()}, LLAMA_CONFIG)
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text("0a1b\n")
    return model


def test_a_name_and_its_folders_are_the_snapshot_of_main(cache: Path) -> None:
    wanted = cache / "snapshots" / "0a1b"
    for given in ("owner/model", cache, wanted):
        assert located(given).resolve() == wanted
        assert import_checkpoint(given, ids=IDS) == import_checkpoint(wanted, ids=IDS)
        assert import_checkpoint(given, ids=IDS).title == "model"
    assert import_checkpoint(cache / "snapshots" / "2c3d", ids=IDS) != import_checkpoint(wanted, ids=IDS)


@pytest.mark.parametrize("main", [None, "", "../../..", "9999"])
def test_without_a_main_it_is_the_newest(cache: Path, main: str | None) -> None:
    refs = cache / "refs" / "main"
    refs.unlink() if main is None else refs.write_text(main)
    assert located(cache).parent == cache / "snapshots"


def test_a_name_without_a_download_is_refused_and_offered(cache: Path) -> None:
    with pytest.raises(CheckpointError, match=r"^owner/other: The cache .* must contain the model; got no"):
        import_checkpoint("owner/other", ids=IDS)
    assert is_missing("owner/other")
    assert not any(map(is_missing, ("owner/model", str(cache), "no such folder", "/a/b", "")))
    assert is_model("owner/model") and is_model(cache) and not is_model("owner/other")


def test_the_shell_opens_a_name_whose_download_is_cached(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the window; a command that computes asks for the text."""
    opened: list[str | None] = []
    window = "attnviz.cli.commands.gui.open_window"
    monkeypatch.setattr(window, lambda document, language: opened.append(document) or 0)
    assert main(["owner/model"]) == 0 and opened == ["owner/model"]
    assert main(["heads", "owner/model"]) == 2
    assert capsys.readouterr().err.startswith("attnviz: owner/model: --text must be the text that")
    assert main(["owner/other"]) == 2 and opened == ["owner/model"]


def test_an_empty_cache_is_refused(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "models--a--b" / "snapshots").mkdir(parents=True)
    with pytest.raises(CheckpointError, match=r"^models--a--b: The folder snapshots must contain"):
        located(tmp_path / "models--a--b")


def test_the_cache_is_that_of_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "hub"


def test_a_download_takes_the_files_that_are_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[tuple[str, list[str]]] = []

    def snapshot_download(name: str, allow_patterns: list[str]) -> str:
        asked.append((name, allow_patterns))
        if name == "a/gone":
            raise OSError("no such model\nmore")
        return str(tmp_path)

    monkeypatch.setitem(
        __import__("sys").modules,
        "huggingface_hub",
        SimpleNamespace(snapshot_download=snapshot_download, __spec__=SimpleNamespace()),
    )
    assert download("a/b") == tmp_path
    assert asked[0][0] == "a/b" and "*.bin" not in asked[0][1] and "*.safetensors" in asked[0][1]
    with pytest.raises(CheckpointError, match=r"^a/gone: The download failed: .*no such model"):
        download("a/gone")
