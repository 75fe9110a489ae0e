"""`attnviz train`: the table, JSON, what is saved, and Ctrl+C."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import attnviz
from attnviz.cli.shell import main

SIZES = ["--new-words", "--sizes", "n_words=8,shortest=3,longest=5,n_tokens=12"]
Capture = pytest.CaptureFixture[str]


def test_a_document_is_trained_and_saved(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "after.safetensors"
    assert main(["train", "toy-attention", *SIZES, "--steps", "50", "--batch", "4", "-o", str(file)]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["step", "loss", "accuracy"]
    assert [row.split()[0] for row in rows] == ["0", "25", "50"]
    trained = attnviz.load(file)
    assert trained.experiment.vocabulary is not None and len(trained.experiment.tokens) == 12


def test_json_has_a_line_for_each_measured_state(capsys: Capture) -> None:
    assert main(["train", "toy-attention", *SIZES, "--steps", "30", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["step"] for line in lines] == [0, 25, 30]
    assert lines[0]["trained_accuracy"] is None and 0 <= lines[-1]["trained_accuracy"] <= 1
    assert {score["score"] for score in lines[0]["scores"]} == {"previous", "induction", "entropy"}


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("run.png", "suffix must be one of"),
        ("run.json", "A .json document must have at most"),
        ("missing/run.safetensors", "The folder"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_the_first_step(
    name: str, sentence: str, tmp_path: Path, capsys: Capture
) -> None:
    file = tmp_path / name
    assert main(["train", "induction-birth", "--steps", "1000000", "-o", str(file)]) == 2
    said = capsys.readouterr().err
    assert sentence in said and file.name in said


def test_a_document_with_dropout_says_that_it_draws_anew(capsys: Capture) -> None:
    assert main(["train", "dropout", *SIZES, "--steps", "1"]) == 0
    assert "Dropout drops other numbers in each step and text." in capsys.readouterr().err
    assert main(["train", "toy-attention", *SIZES, "--steps", "1"]) == 0
    assert "Dropout" not in capsys.readouterr().err


def test_a_text_of_ones_own_is_trained_by_its_characters(tmp_path: Path, capsys: Capture) -> None:
    text = tmp_path / "lines.txt"
    text.write_text("the cat sat on the mat\n" * 20, encoding="utf-8")
    options = ["--task", "lines", "--lines", str(text), "--new-words", "--steps", "25"]
    assert main(["train", "toy-attention", *options]) == 0
    assert capsys.readouterr().out.count("\n") == 3


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "vocabulary must be a vocabulary, made for a task or a model's"),
        (["--sizes", "words=4"], "--sizes must be one of 'n_tokens', 'n_words', 'shortest', 'longest'"),
        (["--sizes", "n_words=x"], "--sizes n_words must be a whole number; got 'x'"),
        (["--task", "lines"], "--task lines needs --lines"),
        (["--lines", "x.txt"], "--lines needs --task lines"),
        (["--new-words", "--rate", "0"], "rate must be a finite number above 0; got 0.0"),
        (["--task", "lines", "--lines", "no/such.txt"], "no/such.txt"),
    ],
)
def test_wrong_options_are_one_sentence(options: list[str], sentence: str, capsys: Capture) -> None:
    assert main(["train", "toy-attention", *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1 and sentence in captured.err


def test_a_run_goes_on_in_the_shell(tmp_path: Path, capsys: Capture) -> None:
    whole, part = (str(tmp_path / f"{name}.safetensors") for name in ("whole", "part"))
    begin = ["train", "toy-attention", *SIZES, "--batch", "4"]
    assert main([*begin, "--steps", "60", "-o", whole]) == 0
    table = capsys.readouterr().out
    assert main([*begin, "--steps", "50", "-o", part]) == 0
    capsys.readouterr()
    assert main(["train", part, "--resume", "--steps", "60"]) == 0
    assert capsys.readouterr().out == table
    one, other = attnviz.load_run(whole), attnviz.load_run(part)
    assert one.experiment == other.experiment and one.curves.moments == other.curves.moments
    assert one.steps == other.steps == (0, 25, 50)
    longer = str(tmp_path / "longer.safetensors")
    assert main(["train", part, "--resume", "--steps", "75", "--json", "-o", longer]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["step"] for line in lines] == [75]
    assert attnviz.load_run(longer).training.step == 75 and attnviz.load_run(part).training.step == 60
    assert main(["run", part]) == 0  # a document like any other


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "--steps must be a whole number of at least 11; got 10."),
        (["--steps", "10"], "--steps must be a whole number of at least 11; got 10."),
        (["--steps", "20", "--rate", "1"], "--rate must be left out with --resume"),
        (["--steps", "20", "--task", "copy"], "--task must be left out with --resume"),
        (["--steps", "20", "--dtype", "float64"], "--dtype must be left out with --resume"),
    ],
)
def test_a_run_keeps_what_it_began_with(
    options: list[str], sentence: str, tmp_path: Path, capsys: Capture
) -> None:
    file = str(tmp_path / "run.safetensors")
    assert main(["train", "toy-attention", *SIZES, "--steps", "10", "-o", file]) == 0
    capsys.readouterr()
    assert main(["train", file, "--resume", *options]) == 2
    assert sentence in capsys.readouterr().err


def test_a_document_without_a_run_has_nothing_to_go_on_from(capsys: Capture) -> None:
    assert main(["train", "toy-attention", "--resume"]) == 2
    said = capsys.readouterr().err
    assert "toy-attention: The file must have a run beside its document; it has none." in said


def test_ctrl_c_keeps_what_there_is(tmp_path: Path) -> None:
    file = tmp_path / "after.safetensors"
    command = [sys.executable, "-m", "attnviz", "train", "toy-attention", *SIZES, "--json"]
    command += ["--steps", "1000000", "-o", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        first = json.loads(running.stdout.readline())
        running.stdout.readline()
        running.send_signal(signal.SIGINT)
        rest, said = running.communicate(timeout=60)
    assert running.returncode == 0 and first["step"] == 0
    last = json.loads(rest.splitlines()[-1]) if rest.strip() else {"step": 25}
    assert f"stopped after {last['step']} steps" in said
    assert attnviz.load(file).experiment.vocabulary is not None
    run = attnviz.load_run(file)
    assert run.training.step == last["step"] == len(run.curves.moments)
