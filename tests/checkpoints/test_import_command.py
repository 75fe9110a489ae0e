"""`attnviz import`: a checkpoint and a text become a document file that every other command reads."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from checkpoints.written import LLAMA_CONFIG, llama_arrays, write_folder

import attnviz
from attnviz.cli import main

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tiny").mkdir()
    return write_folder(tmp_path / "tiny", llama_arrays())


def test_the_document_is_the_one_of_the_library(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "made.safetensors"
    command = ["import", str(folder), "--ids", "1, 0,6", "-o", str(file), "--dtype", "float64"]
    assert main(command) == 0
    assert capsys.readouterr() == ("", "")
    document = attnviz.load(file)
    assert document == attnviz.import_checkpoint(folder, ids=[1, 0, 6], dtype="float64")
    assert document.title == "tiny"
    assert document.view.query == 2, "the first token of a causal model may attend to itself alone"
    assert main(["run", str(file), "-o", str(tmp_path / "out.npz"), "--stages", "logits"]) == 0
    with np.load(tmp_path / "out.npz") as read:
        assert read["layers.1.self.logits"].shape == (3, 7)


def test_a_text_and_the_attention_alone(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    tokenizer = {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordLevel", "vocab": {"?": 0, "cat": 3, "sat": 5}, "unk_token": "?"},
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    file = tmp_path / "made.json"
    assert main(["import", str(folder), "--text", "cat sat", "-o", str(file), "--attention-only"]) == 0
    experiment = attnviz.load(file).experiment
    assert experiment.tokens == ("cat", "sat")
    assert len(experiment.layers) == 1 and experiment.vocabulary is None


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--ids", "1,x"], "ids must be whole numbers with commas between them; got '1,x'."),
        (["--ids", ""], "ids must be whole numbers with commas between them; got ''."),
        (["--ids", "9"], "ids[0] must be a whole number from 0 to 6; got 9."),
        ([], "ids must be a list of token ids, or a text must be given; got null."),
        (
            ["--ids", "1", "--memory-ids", "2"],
            "memory_ids must be null for Llama, which has no encoder; got [2].",
        ),
        (
            ["--ids", "1", "--dtype", "int8"],
            "tiny: dtype must be one of 'float16', 'bfloat16', 'float32', 'float64'; got 'int8'.",
        ),
        (["--ids", "1", "-o", "nowhere/at/all.json"], "all.json: No such file or directory"),
    ],
)
def test_wrong_input_is_one_line(
    folder: Path, tmp_path: Path, capsys: Capture, arguments: list[str], says: str
) -> None:
    assert main(["import", str(folder), "-o", str(tmp_path / "made.json"), *arguments]) == 2
    out, error = capsys.readouterr()
    assert out == "" and error.startswith("attnviz: ") and error.count("\n") == 1
    assert says in error
    assert not (tmp_path / "made.json").exists()


def test_a_folder_that_is_wrong(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    write_folder(folder, llama_arrays(), {**LLAMA_CONFIG, "model_type": "mamba"})
    for given, says in (
        (folder, "; got 'mamba'."),
        (tmp_path / "no", "must be a file or a folder; got neither"),
    ):
        assert main(["import", str(given), "--ids", "1", "-o", str(tmp_path / "made.json")]) == 2
        assert says in capsys.readouterr().err


def test_an_import_reports_the_share_of_the_weights_and_can_be_stopped(folder: Path) -> None:
    shares: list[float] = []
    attnviz.import_checkpoint(folder, ids=[1], progress=shares.append)
    assert shares == sorted(shares) and shares[-1] == 1.0 and len(shares) > 10
    alone: list[float] = []
    attnviz.import_checkpoint(folder, ids=[1], attention_only=True, progress=alone.append)
    assert alone[-1] == 1.0 and len(alone) < len(shares)

    def stop(share: float) -> None:
        raise KeyError("stopped")

    with pytest.raises(KeyError):
        attnviz.import_checkpoint(folder, ids=[1], progress=stop)


def test_a_key_that_is_not_known_is_passed_over_when_asked(
    folder: Path, tmp_path: Path, capsys: Capture
) -> None:
    (folder / "config.json").write_text(json.dumps({**LLAMA_CONFIG, "frobnicate": 3}))
    command = ["import", str(folder), "--ids", "1,0", "-o", str(tmp_path / "made.json")]
    assert main(command) == 2
    assert "frobnicate must be a key of Llama" in capsys.readouterr().err
    assert main([*command, "--ignore-key", "frobnicate"]) == 0
