"""`--text`: another text for a document that has a model's vocabulary."""

from __future__ import annotations

import json

import pytest

from attnviz.checkpoints.presets import load_preset
from attnviz.cli import main

Capture = pytest.CaptureFixture[str]


def test_a_story_goes_on_from_another_text(capsys: Capture) -> None:
    assert main(["decode", "stories-en", "--text", "Tom saw a 狼", "--steps", "7", "--json"]) == 0
    steps = json.loads(capsys.readouterr().out)["steps"]
    fed = [step["token"] for step in steps if not step["generated"]]
    assert fed[:4] == ["<|begin|>", "Tom", " saw", " a"] and len(steps) == 7
    assert "".join(fed).removeprefix("<|begin|>").startswith("Tom saw a ")


def test_stages_of_another_text_are_computed(capsys: Capture) -> None:
    assert (
        main(["run", "stories-zh", "--text", "小红", "--site", "layers.3.self", "--stages", "weights"]) == 0
    )
    heads = load_preset("stories-zh").experiment.layers[0].heads.n_heads
    assert f"layers.3.self.weights  {heads} × 3 × 3" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["decode", "toy-attention", "--text", "a"],
            "vocabulary must be a vocabulary with a rule that splits a text into tokens; got null.",
        ),
        (["decode", "stories-en", "--new", "0"], "--new must be a whole number of at least 1; got 0."),
        (
            ["decode", "stories-en", "--new", "100001"],
            "en: new must be a whole number from 1 to 100,000; got 100001.",
        ),
        (["decode", "stories-en", "--new", "1", "--steps", "2"], "--steps: not allowed with argument --new"),
        (
            ["run", "stories-en", "--text", "a\udce4"],
            "text must consist of whole characters; got U+DCE4, half of a character.",
        ),
    ],
)
def test_a_text_that_cannot_be_read_is_refused(arguments: list[str], sentence: str, capsys: Capture) -> None:
    assert main(arguments) == 2
    out, error = capsys.readouterr()
    assert out == "" and error.startswith("attnviz: ") and sentence in error and error.count("\n") == 1


def test_the_table_shows_pieces_as_bytes_and_ends_with_the_text(capsys: Capture) -> None:
    assert main(["decode", "stories-en", "--text", "Tom saw 𠀀", "--steps", "10"]) == 0
    lines = capsys.readouterr().out.splitlines()
    column = lines[0].index("token")
    fed = [line[column:].split("  ")[0] for line in lines[1:9]]
    assert fed == ["<|begin|>", "Tom", "␣saw", "␣", "⟨F0⟩", "⟨A0⟩", "⟨80⟩", "⟨80⟩"]
    assert lines[-2] == "* sampled from the previous step's probabilities"
    assert lines[-1].startswith("Tom saw 𠀀") and "\ufffd" not in lines[-1]


@pytest.mark.parametrize("prompt", ["Tom", "Tom saw a fox in the garden"])
def test_so_many_new_tokens_are_written_behind_any_prompt(prompt: str, capsys: Capture) -> None:
    given = ["decode", "stories-en", "--text", prompt]
    assert main([*given, "--new", "3", "--json"]) == 0
    read = json.loads(capsys.readouterr().out)
    drawn = [step["next_token"] for step in read["steps"]]
    n_prompt = sum(not step["generated"] for step in read["steps"])
    assert len(drawn) - n_prompt + 1 == 3, "the last one is drawn and not fed"
    assert main([*given, "--new", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "the limit of 3 new tokens was reached"
    assert lines[-2].startswith(prompt) and lines[-2] == prompt + "".join(drawn[n_prompt - 1 :])


def test_without_writing_the_new_ones_are_fed(capsys: Capture) -> None:
    assert main(["decode", "causal-decode", "--new", "2", "--json"]) == 0
    steps = json.loads(capsys.readouterr().out)["steps"]
    n = len(load_preset("causal-decode").experiment.tokens)
    assert [step["generated"] for step in steps] == [False] * n + [True] * 2
