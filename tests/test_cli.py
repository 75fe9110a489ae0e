"""The shell: what each command writes, and one line for everything that is wrong."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import experiment
from documents import as_map
from experiments import STACKS
from first_layer import stacked

import attnviz
from attnviz.checkpoints.presets import load_preset, preset_ids
from attnviz.cli import main
from attnviz.cli.commands.decode import json_numbers
from attnviz.cli.options import Count
from attnviz.cli.shell import parser
from attnviz.compute.execute import forget_lost_devices
from attnviz.engines import torch_engine
from attnviz.figures.files import FORMATS
from attnviz.model.io.tables import TABLES, Table, table_bytes

Capture = pytest.CaptureFixture[str]


def shell(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "attnviz.cli", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        env={**os.environ, **environment},
    )


def test_presets_lists_every_preset_once(capsys: Capture) -> None:
    assert main(["presets"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert tuple(line.split()[0] for line in lines) == preset_ids()


def test_run_writes_the_arrays_of_a_document(tmp_path: Path, capsys: Capture) -> None:
    file = attnviz.save(experiment(), tmp_path / "seven words.json")
    assert main(["run", str(file), "-o", str(tmp_path / "out.npz")]) == 0
    trace = attnviz.run(experiment())
    with np.load(tmp_path / "out.npz", allow_pickle=False) as read:
        assert set(read) == {"attnviz", *(f"layers.0.self.{stage}" for stage in trace.only.stages)}
        np.testing.assert_array_equal(read["layers.0.self.weights"], trace["weights"])
    assert attnviz.load(tmp_path / "out.npz") == attnviz.load(file)
    assert capsys.readouterr() == ("", "")


def test_run_takes_stages_and_dtype(tmp_path: Path) -> None:
    out = tmp_path / "out.npz"
    command = ["run", "toy-attention", "-o", str(out), "--stages", "q, weights", "--dtype", "float32"]
    assert main(command) == 0
    with np.load(out) as read:
        names = "layers.0.self.q", "layers.0.self.weights"
        assert set(read) == {*names, "attnviz"}
        assert all(read[name].dtype.name == "float32" for name in names)
    assert attnviz.load(out).experiment.dtype == "float32"


def test_run_on_torch_gives_the_same_numbers(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    out = tmp_path / "out.npz"
    assert main(["run", "grouped-query", "-o", str(out), "--engine", "torch", "--device", "cpu"]) == 0
    expected = attnviz.run(load_preset("grouped-query"))["weights"]
    with np.load(out) as read:
        np.testing.assert_allclose(read["layers.0.self.weights"], expected, rtol=1e-5, atol=1e-6)


def test_run_without_a_file_says_what_there_is(capsys: Capture) -> None:
    assert main(["run", "cross-attention"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("numpy on cpu, float64, ")
    assert [line.split()[0] for line in out if line.endswith("1 × 6 × 4")] != []
    assert any(line.split() == ["layers.0.cross.weights", "1", "×", "6", "×", "4"] for line in out)


def test_run_shows_and_writes_all_sites_or_the_one_that_is_named(tmp_path: Path, capsys: Capture) -> None:
    trace = attnviz.run(load_preset("encoder-decoder"))
    every = {f"{name}.{stage}" for name in trace.sites for stage in trace.site(name).stages}
    assert main(["run", "encoder-decoder"]) == 0
    assert {line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]} == every
    assert main(["run", "encoder-decoder", "-o", str(tmp_path / "all.npz")]) == 0
    with np.load(tmp_path / "all.npz") as read:
        assert set(read) == {*every, "attnviz"}
        for name in trace.sites:
            np.testing.assert_array_equal(read[f"{name}.weights"], trace.site(name)["weights"])
    one = ["--site", "decoder.0.cross", "--stages", "memory,weights"]
    assert main(["run", "encoder-decoder", "-o", str(tmp_path / "one.npz"), *one]) == 0
    with np.load(tmp_path / "one.npz") as read:
        assert set(read) == {"decoder.0.cross.memory", "decoder.0.cross.weights", "attnviz"}
        assert read["decoder.0.cross.weights"].shape == (2, 4, 6)


def test_stages_that_only_some_sites_have_are_taken_from_those(tmp_path: Path, capsys: Capture) -> None:
    assert main(["run", "encoder-decoder", "--stages", "ffn_hidden"]) == 0
    lines = [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]]
    assert lines == ["encoder.0.self.ffn_hidden", "decoder.0.cross.ffn_hidden"]
    out = tmp_path / "a.npz"
    assert main(["run", "encoder-decoder", "--stages", "ffn_hidden", "-o", str(out)]) == 0
    with np.load(out) as read:
        assert list(read) == [*lines, "attnviz"]


@pytest.mark.parametrize("site", ["encoder.0.self", "all"])
def test_render_draws_the_site_that_is_named(tmp_path: Path, site: str) -> None:
    ours, theirs = tmp_path / "cli.svg", tmp_path / "api.svg"
    assert main(["render", "encoder-decoder", "--site", site, "-o", str(ours)]) == 0
    attnviz.render(as_map(load_preset("encoder-decoder")), theirs, site=site)
    assert ours.read_bytes() == theirs.read_bytes()
    text = ours.read_text(encoding="utf-8")
    assert ("36 + 16 + 24 = 76 pairs" in text) == (site == "all")
    assert ">猫<" in text if site == "all" else ">猫<" not in text


def test_render_draws_the_site_that_the_document_shows(tmp_path: Path) -> None:
    assert main(["render", "encoder-decoder", "-o", str(tmp_path / "a.svg")]) == 0
    assert "Decoder layer 1 · cross-attention" in (tmp_path / "a.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("suffix", [row.id for row in FORMATS])
def test_render_draws_what_the_library_draws(tmp_path: Path, suffix: str) -> None:
    ours, theirs = tmp_path / f"cli.{suffix}", tmp_path / f"api.{suffix}"
    command = ["render", "grouped-query", "--stage", "scores", "--head", "all", "--theme", "dark"]
    assert main([*command, "-o", str(ours)]) == 0
    attnviz.render(load_preset("grouped-query"), theirs, stage="scores", head="all", theme="dark")
    assert ours.read_bytes() == theirs.read_bytes()


def test_render_turns_and_ranges(tmp_path: Path) -> None:
    file = tmp_path / "a.svg"
    options = ["--orientation", "queries_as_columns", "--range", "log", "--head", "0"]
    assert main(["render", "cross-attention", "--stage", "weights", "-o", str(file), *options]) == 0
    text = file.read_text(encoding="utf-8")
    assert "weights · Logarithmic" in text and text.index(">cat<") < text.index(">猫<")


@pytest.mark.parametrize(
    ("width", "has_room"),
    [
        (["--width", "85mm"], False),
        (["--width", "174mm"], True),
        (["--width", "85mm", "--no-sums"], None),
        ([], True),
    ],
)
def test_render_says_that_the_row_sums_have_no_room(
    tmp_path: Path, capsys: Capture, width: list[str], has_room: bool | None
) -> None:
    file = tmp_path / "a.svg"
    assert (
        main(["render", "grouped-query", "--stage", "weights", "--head", "0", "-o", str(file), *width]) == 0
    )
    assert (">Σ " in file.read_text(encoding="utf-8")) == bool(has_room)
    said = "attnviz: Row sums: from 100 mm on.\n" if has_room is False else ""
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("over", ["decode", "layers", "temperature=0.5:2:3"])
def test_animate_refuses_equal_pictures_and_names_the_option(
    tmp_path: Path, capsys: Capture, over: str
) -> None:
    file = tmp_path / "a.gif"
    assert main(["animate", "alibi-window", "--over", over, "--kind", "cost", "-o", str(file)]) == 2
    name = over.partition("=")[0]
    said = f"attnviz: alibi-window: kind must be a picture that changes over {name}; got 'cost'.\n"
    assert capsys.readouterr().err == said and not file.exists()


def test_animate_draws_the_costs_of_a_sweep_that_changes_them(tmp_path: Path) -> None:
    command = ["animate", "alibi-window", "--over", "masks.window.left=1:3:2", "--kind", "cost"]
    assert main([*command, "--no-title", "-o", str(tmp_path / "a.svg")]) == 0
    first, second = sorted((tmp_path / "a").iterdir())
    assert re.findall(r' d="[^"]+"', first.read_text()) != re.findall(r' d="[^"]+"', second.read_text())


def test_errors_of_animate_name_the_option(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "a.gif"
    command = ["animate", "grouped-query", "--over", "temperature=0.5:2:2", "-o", str(file)]
    assert main([*command, "--kind", "pipeline", "--width", "30mm"]) == 2
    assert capsys.readouterr().err.startswith("attnviz: grouped-query: width must be at least ")
    assert main([*command, "--kind", "comparison"]) == 2
    assert capsys.readouterr().err == "attnviz: grouped-query: A comparison needs a second state A.\n"


@pytest.mark.parametrize(
    ("panel", "needed"),
    [
        ("compare", "--against"),
        ("lesson", "attnviz lesson"),
        ("patching", "--against"),
        ("survey", "attnviz survey"),
    ],
)
def test_panel_refuses_to_save_an_empty_one(tmp_path: Path, capsys: Capture, panel: str, needed: str) -> None:
    file = tmp_path / "a.png"
    assert main(["panel", "grouped-query", "--panel", panel, "-o", str(file)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"attnviz: The panel “{panel}” needs ") and needed in said and not file.exists()


@pytest.mark.parametrize(
    ("panel", "said"),
    [
        ("architecture", "This experiment has one attention."),
        ("circuits", "Circuits need a model with a vocabulary"),
        ("lens", "The logit lens needs a model with logits"),
    ],
)
def test_panel_refuses_a_document_without_its_content(
    tmp_path: Path, capsys: Capture, panel: str, said: str
) -> None:
    file = tmp_path / "a.png"
    assert main(["panel", "toy-attention", "--panel", panel, "-o", str(file)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"attnviz: toy-attention: {said}") and error.count("\n") == 1
    assert not file.exists()
    assert main(["panel", "encoder-only", "--panel", panel, "-o", str(file)]) == 0
    assert file.exists()


def test_render_draws_lines_of_one_query_or_of_all(tmp_path: Path, capsys: Capture) -> None:
    one, every = tmp_path / "one.svg", tmp_path / "all.svg"
    command = ["render", "grouped-query", "--stage", "weights", "--as", "lines"]
    assert main([*command, "--query", "1", "-o", str(one)]) == 0
    assert main([*command, "--query", "all", "--head", "all", "-o", str(every)]) == 0
    curves = [len(re.findall(r"\bC \d", file.read_text(encoding="utf-8"))) for file in (one, every)]
    assert 0 < curves[0] < curves[1]
    assert main([*command, "--query", "second", "-o", str(one)]) != 0
    assert "query must be a whole number of at least 0, or 'all'" in capsys.readouterr().err


def test_decode_prints_json_with_the_numbers_of_the_library(capsys: Capture) -> None:
    assert main(["decode", "causal-decode", "--steps", "14", "--json"]) == 0
    read = json.loads(capsys.readouterr().out)
    decoding = attnviz.decode(load_preset("causal-decode"), steps=14)
    assert (read["format"], read["version"], len(read["steps"])) == ("attnviz-decoding", 1, 14)
    assert read["vocabulary"] == list(decoding.vocabulary)
    for written, step in zip(read["steps"], decoding.steps, strict=True):
        np.testing.assert_array_equal(np.array(written["weights"]), step.weights)
        np.testing.assert_array_equal(np.array(written["probabilities"]), step.probabilities)
        assert (written["token"], written["next_token"]) == (step.token, step.next_token)
        assert written["generated"] is (step.index >= load_preset("causal-decode").experiment.n_queries)
    assert read["steps"][-1]["generated"] is True
    # K/V projections: one a step with a cache; 1 + 2 + … + 14 without.
    assert read["total"]["cached"]["kv_projections"] == 14
    assert read["total"]["uncached"]["kv_projections"] == 105


def test_decode_prints_every_attention_of_several(capsys: Capture, tmp_path: Path) -> None:
    file = tmp_path / "stack.json"
    attnviz.save(STACKS["encoder and decoder"], file)
    assert main(["decode", str(file), "--steps", "3", "--json"]) == 0
    read = json.loads(capsys.readouterr().out)
    for written, step in zip(
        read["steps"], attnviz.decode(STACKS["encoder and decoder"], steps=3).steps, strict=True
    ):
        assert list(written["sites"]) == list(step.sites)
        for name, site in step.sites.items():
            np.testing.assert_array_equal(np.array(written["sites"][name]["weights"]), site.weights)
            assert written["sites"][name]["read"] == site.read
        assert written["weights"] == written["sites"]["decoder.0.self"]["weights"]
    cost = read["total"]["cached"]
    assert cost["bytes_moved"] == cost["bytes_read"] + cost["bytes_written"] > 0


def test_one_attention_is_printed_without_a_name(capsys: Capture) -> None:
    assert main(["decode", "causal-decode", "--steps", "1", "--json"]) == 0
    (step,) = json.loads(capsys.readouterr().out)["steps"]
    assert set(step) == {
        *("index", "token", "generated", "prefill", "seconds", "read", "appended", "weights", "output"),
        *("probabilities", "next_token", "cached", "uncached"),
    }


def test_decode_says_what_was_read_in_one_pass(capsys: Capture) -> None:
    text = ["--text", "Tom saw a fox", "--steps", "8"]
    assert main(["decode", "stories-en", *text, "--json"]) == 0
    steps = json.loads(capsys.readouterr().out)["steps"]
    assert [step["prefill"] for step in steps] == [True] * 5 + [False] * 3
    assert len({step["seconds"] for step in steps[:5]}) == 1
    assert main(["decode", "stories-en", *text]) == 0
    assert "\nsteps 0 to 4: prefill, the prompt in one pass\n" in capsys.readouterr().out


def test_decode_prints_a_table(capsys: Capture) -> None:
    assert main(["decode", "xiaoshenyang", "--steps", "3"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split()[:2] == ["step", "token"]
    assert [row.split()[1] for row in rows[:3]] == ["Little", "Shen", "from"]
    assert rows[-1].split() == ["sum", "6", "10"]


def test_json_never_holds_what_json_does_not_have() -> None:
    values = np.array([[1.5, np.nan], [np.inf, -np.inf]], dtype=np.float32)
    assert json_numbers(values) == [[1.5, "NaN"], ["Infinity", "-Infinity"]]
    assert json_numbers(np.array([0.1], dtype=np.float32)) == [0.1]


REFUSED: tuple[tuple[list[str], str], ...] = (
    (
        ["run", "nope"],
        "The document must be a file, a trained model or a preset (",
    ),
    (["run", "nope.json"], "nope.json: The file must exist in "),
    (["run", "."], "config.json: The file must exist in "),
    (["run", "bad.json"], "bad.json: "),
    (["run", "field.json"], "field.json: "),
    (
        ["run", "encoder-decoder", "--site", "cross"],
        "encoder-decoder: site must be one of 'encoder.0.self', 'decoder.0.self', "
        "'decoder.0.cross'; got 'cross'.",
    ),
    (
        ["run", "toy-attention", "--site", "decoder.0.self"],
        "toy-attention: site must be 'layers.0.self'; got 'decoder.0.self'.",
    ),
    (
        ["run", "encoder-decoder", "--site", "decoder.0.self", "--stages", "memory"],
        "encoder-decoder: stage must be one of 'tokens_embedded', 'x', 'q', 'k', 'v', 'scores', "
        "'scaled', 'masked', 'weights', 'mixed', 'concatenated', 'attention_output', 'residual_1', "
        "'norm_1'; got 'memory'.",
    ),
    (
        ["render", "encoder-decoder", "--site", "all", "--head", "all", "-o", "a.svg"],
        "encoder-decoder: head must be one head for all attentions; got 'all'.",
    ),
    (["run", "toy-attention", "-o", "a.txt"], "a.txt: suffix must be '.npz'; got '.txt'."),
    (["run", "toy-attention", "-o", "absent/a.npz"], "absent/a.npz: No such file or directory"),
    (
        ["run", "toy-attention", "--stages", "w"],
        "toy-attention: stage must be one of 'tokens_embedded', 'q', 'k', 'v', 'scores', 'scaled', "
        "'weights', 'mixed', 'concatenated', 'attention_output'; got 'w'.",
    ),
    (
        ["run", "toy-attention", "--stages", ","],
        "toy-attention: stages must be one or more of 'tokens_embedded', 'q', 'k', 'v', 'scores', "
        "'scaled', 'weights', 'mixed', 'concatenated', 'attention_output'; got ','.",
    ),
    (
        ["run", "toy-attention", "--dtype", "int8"],
        "toy-attention: dtype must be one of 'float16', 'bfloat16', 'float32', 'float64'; got 'int8'.",
    ),
    (
        ["run", "toy-attention", "--dtype", "bfloat16"],
        "toy-attention: dtype must be one of 'float16', 'float32', 'float64' on NumPy; got 'bfloat16'.",
    ),
    (
        ["run", "toy-attention", "--engine", "jax"],
        "toy-attention: engine must be one of 'numpy', 'torch'; got 'jax'.",
    ),
    (
        ["run", "toy-attention", "--device", "tpu"],
        "toy-attention: device must be one of 'auto', 'cpu' on NumPy; got 'tpu'.",
    ),
    (["render", "toy-attention"], "the following arguments are required: -o/--output (see attnviz render"),
    (
        ["render", "toy-attention", "-o", "a.gif"],
        "a.gif: suffix must be one of '.svg', '.pdf', '.png'; got '.gif'.",
    ),
    (["render", "yarn", "-o", "."], ".: suffix must be one of '.svg', '.pdf', '.png'; got ''."),
    (["render", "yarn", "--plane", "1,1", "-o", "a.png"], "plane must be two different whole numbers"),
    (["render", "yarn", "--follow", "--step", "99", "-o", "a.png"], "step must be a whole number from 0 to"),
    (["table", "yarn", "--against", "yarn", "-o", "a.md"], "The table of a comparison must be CSV"),
    (
        ["table", "yarn", "--against", "yarn", "--against-head", "7", "-o", "a.csv"],
        "against_head must be 0; got '7'.",
    ),
    (
        ["render", "yarn", "--kind", "comparison", "--against", "yarn", "--against-site", "x", "-o", "a.png"],
        "against_site must be 'layers.0.self'; got 'x'.",
    ),
    (["render", "toy-attention", "-o", "absent/a.svg"], "absent/a.svg: No such file or directory"),
    (
        ["render", "toy-attention", "-o", "a.svg", "--stage", "w"],
        "toy-attention: stage must be one of 'tokens_embedded', 'q', 'k', 'v', 'scores', 'scaled', "
        "'weights', 'mixed', 'concatenated', 'attention_output'; got 'w'.",
    ),
    (
        ["render", "toy-attention", "-o", "a.svg", "--head", "1"],
        "attention: head must be a head of weights, 0 to 0, or 'all'; got 1.",
    ),
    (
        ["render", "toy-attention", "-o", "a.svg", "--head", "-1"],
        "toy-attention: head must be a whole number of at least 0, or 'all'; got '-1'.",
    ),
    (
        ["render", "toy-attention", "-o", "a.svg", "--theme", "x"],
        "toy-attention: theme must be one of 'light', 'dark'; got 'x'.",
    ),
    (["render", "toy-attention", "-o", "a.svg", "--range", "x"], "argument --range: invalid choice: 'x'"),
    (
        ["render", "toy-attention", "-o", "a.png", "--dpi", "9"],
        "a.png: dpi must be a whole number from 36 to 1,200; got 9.",
    ),
    (
        ["decode", "toy-attention", "--steps", "100001"],
        "attention: steps must be a whole number from 1 to 100,000; got 100001.",
    ),
    (
        ["render", "toy-attention", "-o", "a.svg", "--query", "4"],
        "query must be a whole number from 0 to 3; got 4.",
    ),
    (
        ["render", "yarn", "-o", "a.svg", "--kind", "dials", "--key", "24"],
        "key must be a whole number from 0 to 23",
    ),
    (
        ["render", "toy-attention", "-o", "a.svg", "--kind", "plane", "--plane", "0,3"],
        "plane must be two different whole numbers from 0 to 2; got '0,3'.",
    ),
    (
        ["render", "toy-attention", "-o", "a.svg", "--kind", "step", "--step", "4"],
        "step must be a whole number from 0",
    ),
    (
        ["run", "toy-attention", "--edit", "layers.0.self.zzz[0] = 1"],
        "edit must be one of 'tokens_embedded', 'q', 'k'",
    ),
    (["decode", "toy-attention", "--st", "2"], "unrecognized arguments: --st 2"),
    (
        ["circuits", "stories-en", "--head", "x"],
        "stories-en: head must be a whole number of at least 0; got 'x'.",
    ),
    (
        ["circuits", "toy-attention"],
        "vocabulary must be that of a language model, as in the preset stories-en; got null.",
    ),
    (["lens", "stories-en", "--position", "x"], "argument --position: must be a whole number; got 'x'"),
    (
        ["lens", "stories-en", "--position", "99"],
        "stories-en: position must be a whole number from -13 to 12; got 99.",
    ),
    (
        ["animate", "toy-attention", "-o", "a.gif", "--over", "layers", "--fps", "x"],
        "argument --fps: must be a number; got 'x'",
    ),
    (["run", ""], "The document must be a file, a trained model or a preset ("),
    (
        ["render", "yarn", "--kind", "comparison", "--against", "", "-o", "a.png"],
        "The document must be a file, a trained model or a preset (",
    ),
    (["gui", ""], "The document must be a file, a trained model or a preset ("),
    ([""], "argument COMMAND: invalid choice: ''"),
    (["import", "", "--text", "a", "-o", "a.json"], "'': The path must be a file or a folder; got neither."),
    (
        ["animate", "yarn", "-o", "a.gif", "--over", "temperature=1:inf:3"],
        "over must be a finite number; got inf.",
    ),
    (
        ["animate", "yarn", "-o", "a.gif", "--over", "temperature=nan:1:3"],
        "over must be a finite number; got nan.",
    ),
    (["survey", "nope"], "nope needs --texts"),
    (["survey", "stories-en"], "stories-en needs --texts"),
    (["survey", "nope.parquet"], "nope.parquet: The file must exist in "),
    (
        ["survey", "stories-en", "--texts", "a.txt", "-o", "a.csv"],
        "--output must be a file with the suffix .parquet; got 'a.csv'.",
    ),
    (
        ["table", "yarn", "--format", "npz", "-o", "a.csv"],
        "attnviz: a.csv: suffix must be '.npz'; got '.csv'.",
    ),
    (["table", "yarn", "--against-site", "x"], "--against-site needs --against"),
    (["render", "yarn", "--against-head", "9", "-o", "a.png"], "--against-head needs --against"),
    (["render", "yarn", "--target", "", "-o", "a.png"], "target must be 'loss', or a cell such as"),
    (["claims", "--claim", "1 == 1"], "--claim needs DOC"),
    (["run", "yarn", "--backward", "weights[0,1,1]", "--stages", "nope"], "yarn: stage must be one of "),
    (["run", "yarn", "--backward", "weights[0,1,1]", "--site", "nope"], "yarn: site must be 'layers.0.self'"),
    (["lens", "stories-en", "--target", "a", "--against", "b"], "unrecognized arguments: --against b"),
    (["circuits", "stories-en", "--square"], "unrecognized arguments: --square"),
    (["circuits", "stories-en", "--width", "9cm"], "attnviz: --width needs --output\n"),
    (
        ["circuits", "stories-en", "--grey", "-o", "a.csv"],
        "--grey needs --output with the suffix .svg, .pdf or .png",
    ),
    (
        ["heads", "stories-en", "--refers", "7:2"],
        "--refers needs --score reference or --json; got 'induction'",
    ),
    (
        ["panel", "yarn", "--panel", "cost", "--against", "yarn", "-o", "a.png"],
        "--against needs --panel compare or patching; got 'cost'",
    ),
    (
        ["render", "yarn", "--against", "yarn", "-o", "a.png"],
        "--against needs --kind comparison; got 'stage'",
    ),
    (["render", "yarn", "--step", "1", "-o", "a.png"], "--step needs --kind step or --follow; got 'stage'"),
    (
        ["render", "yarn", "--key", "1", "-o", "a.png"],
        "--key needs --kind plane, positions or dials; got 'stage'",
    ),
    (
        ["render", "yarn", "--kind", "plane", "--projection", "pair", "--plane", "0,1", "-o", "a.png"],
        "--plane needs --projection features; got 'pair'",
    ),
    (["render", "yarn", "--as", "lines", "--range", "log", "-o", "a.png"], "; got 'lines'"),
    (
        ["render", "yarn", "--follow", "--kind", "cost", "-o", "a.png"],
        "--follow must be left out with --kind cost",
    ),
    (
        ["render", "yarn", "--as", "mean", "--head", "0", "-o", "a.png"],
        "--as mean must be left out with --head",
    ),
    (
        ["animate", "yarn", "--over", "decode", "--step", "1", "-o", "a.gif"],
        "unrecognized arguments: --step 1",
    ),
    (["animate", "yarn", "--over", "decode", "--key", "1", "-o", "a.gif"], "--key needs --kind plane, "),
    (["lesson", "list", "softmax"], "lesson list must stand without a lesson; got softmax"),
    (["lesson", "list", "-o", "a.html"], "--output needs export"),
    (["lesson", "check", "softmax", "--slides"], "--slides needs export"),
    (["ablate", "stories-en", "--target", "Lily", "--other-text", "a"], "--other-text needs --by other"),
    (
        ["ablate", "stories-en", "--target", "Lily", "--by", "other", "--other-text", "a"],
        "stories-en: --other-text must be a text of 13 tokens through 4 layers; got a text of 2 tokens",
    ),
    (["frob"], "argument COMMAND: invalid choice: 'frob'"),
    (["gui", "nope.json"], "nope.json: no such file"),
    (["gui", "nope.gguf"], "nope.gguf: no such file"),
    (["gui", "nope"], "The document must be a file, a trained model or a preset ("),
    (["--language", "fr", "presets"], "language must be one of en, zh_CN; got 'fr'."),
)


@pytest.mark.parametrize(("arguments", "sentence"), REFUSED, ids=[" ".join(row[0]) for row in REFUSED])
def test_wrong_input_is_one_line_that_names_it(
    arguments: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.json").write_text('{"format": "attnviz",')
    (tmp_path / "field.json").write_text('{"format": "attnviz", "version": 1, "experiment": {"tokns": []}}')
    assert main(arguments) == 2
    out, error = capsys.readouterr()
    assert (out, error.count("\n")) == ("", 1)
    assert error.startswith("attnviz: ") and sentence in error
    assert {file.name for file in tmp_path.iterdir()} <= {"bad.json", "field.json"}


COUNTS = {
    (command, action.option_strings[0]): action.least
    for group in parser()._subparsers._group_actions  # type: ignore[union-attr]
    for command, options in group.choices.items()  # type: ignore[union-attr]
    for action in options._actions
    if isinstance(action, Count)
}
"""The least number of each option that counts."""


def test_the_counts_are_those_of_the_commands() -> None:
    assert COUNTS == {
        ("ablate", "--top"): 1,
        ("circuits", "--top"): 1,
        ("cost", "--batch"): 1,
        ("cost", "--context"): 1,
        ("cost", "--group"): 1,
        ("cost", "--memory"): 1,
        ("cost", "--window"): 0,
        ("decode", "--new"): 1,
        ("decode", "--steps"): 1,
        ("heads", "--top"): 1,
        ("lens", "--top"): 1,
        ("script", "--batch"): 1,
        ("script", "--seed"): 0,
        ("script", "--steps"): 1,
        ("script", "--warmup"): 0,
        ("step", "--steps"): 1,
        ("survey", "--tokens"): 2,
        ("survey", "--workers"): 1,
        ("train", "--batch"): 1,
        ("train", "--seed"): 0,
        ("train", "--steps"): 1,
        ("train", "--warmup"): 0,
    }


@pytest.mark.parametrize(("command", "option"), COUNTS)
@pytest.mark.parametrize("text", ["less", "-3", "x", "1.5", ""])
def test_a_count_names_its_least_number(command: str, option: str, text: str, capsys: Capture) -> None:
    least = COUNTS[command, option]
    text = str(least - 1) if text == "less" else text
    assert main([command, "stories-en", option, text]) == 2
    got = text if text.lstrip("-").isdigit() else f"'{text}'"
    sentence = f"{option} must be a whole number of at least {least}; got {got}."
    assert capsys.readouterr() == ("", f"attnviz: {sentence}\n")


@pytest.mark.parametrize(("command", "option"), COUNTS)
def test_the_least_number_is_a_count(command: str, option: str) -> None:
    needed = {"ablate": ["--target", "a"], "lens": ["--target", "a"]}.get(command, [])
    least = COUNTS[command, option]
    found = parser().parse_args([command, "stories-en", *needed, option, str(least)])
    assert getattr(found, option.strip("-")) == least


def test_a_file_name_with_a_line_feed_is_still_one_line(capsys: Capture) -> None:
    assert main(["run", "no\nsuch.json"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_run_that_would_not_fit_is_refused_with_its_arithmetic(tmp_path: Path, capsys: Capture) -> None:
    from attnviz import parts as p

    huge = stacked(("a",) * 100_000, p.SeededVectors(100_000, 4), heads=p.Heads(64, 64, 4))
    file = attnviz.save(huge, tmp_path / "huge.json")
    assert main(["run", str(file)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "64 heads × 100000 queries × 100000 keys × 4 bytes = 2.3 TiB; a text of " in error


def test_without_torch_numpy_computes_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    forget_lost_devices()  # and the engines that other tests have made
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(torch_engine, "_import_failure", None)  # which stays after a failure
    assert main(["run", "toy-attention", "--engine", "torch", "-o", str(tmp_path / "a.npz")]) == 0
    assert "computed with NumPy" in capsys.readouterr().err
    assert main(["run", "toy-attention", "--engine", "torch", "--device", "cpu"]) == 2
    assert capsys.readouterr().err.startswith("attnviz: toy-attention: ")


def test_ctrl_c_is_130_and_silent(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    def stop(*_arguments: Any, **_named: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("attnviz.compute.execute.execute", stop)
    assert main(["run", "toy-attention"]) == 130
    assert capsys.readouterr() == ("", "")


def test_version_and_language(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"attnviz {attnviz.__version__}\n"
    for arguments in (["--language", "zh_CN", "presets"], ["presets", "--language", "zh_CN"]):
        assert main(arguments) == 0
        assert "四个词元" in capsys.readouterr().out
    assert main(["presets", "--language=en"]) == 0
    assert "Four tokens" in capsys.readouterr().out


@pytest.mark.parametrize("language", [["--language", "zh_CN"], ["--language=zh_CN"]])
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["frob"], "参数 COMMAND：无效的选择：'frob'"),
        (["decode", "causal-decode", "--steps", "x"], "--steps 必须是不小于 1 的整数，实际为"),
        (["circuits", "stories-en", "--head", "x"], "stories-en：head 必须是不小于 0 的整数，实际为 'x'。"),
        (
            ["circuits", "toy-attention"],
            "toy-attention：vocabulary 必须是语言模型（例如预设 stories-en）的词表，实际为 null。",
        ),
        (["lens", "stories-en", "--position", "x"], "参数 --position：必须是整数，实际为 'x'"),
        (["animate", "a.json", "-o", "a.gif", "--over", "layers", "--fps", "x"], "参数 --fps：必须是数"),
        (["decode", "broken.json"], "broken.json：$.experiment.vectors 必须是"),
        (["gone.json"], "gone.json：没有这个文件"),
        (["render", "toy-attention", "-o", "folder.png"], "folder.png：这不是文件"),
    ],
)
def test_refusals_are_in_the_language_that_is_asked_for(
    language: list[str],
    arguments: list[str],
    sentence: str,
    capsys: Capture,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    broken = '{"format": "attnviz", "version": 1, "experiment": {"tokens": ["a"], "vectors": 3}}'
    Path("broken.json").write_text(broken, encoding="utf-8")
    Path("folder.png").mkdir()
    assert main([*language, *arguments]) == 2
    assert capsys.readouterr().err.startswith(f"attnviz: {sentence}")


@pytest.mark.parametrize("before", [[], ["--language", "en"], ["--language=en"]])
def test_a_file_in_place_of_a_command_is_opened(
    before: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[tuple[str | None, str | None]] = []

    def open_window(document: str | None, language: str | None) -> int:
        opened.append((document, language))
        return 0

    monkeypatch.setattr("attnviz.cli.commands.gui.open_window", open_window)
    file = tmp_path / "a document"
    file.write_text("{}", encoding="utf-8")
    assert main([*before, str(file)]) == 0 and main([*before, "gone.safetensors"]) == 0
    assert main([*before, "gui", str(file)]) == 0 and main(before) == 0
    assert main(["gui", *before]) == 0 and main(["gui", str(file), *before]) == 0
    assert main([*before, str(tmp_path)]) == 0 and main([*before, "toy-attention"]) == 0
    language = "en" if before else None  # the window has it, too
    names = (str(file), "gone.safetensors", str(file), None, None, str(file), str(tmp_path), "toy-attention")
    assert opened == [(name, language) for name in names]


def test_a_command_comes_before_a_file_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "presets").mkdir()
    assert main(["presets"]) == 0
    assert "toy-attention" in capsys.readouterr().out


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "attnviz", "--version"], capture_output=True, text=True)
    assert (done.stdout, done.stderr, done.returncode) == (f"attnviz {attnviz.__version__}\n", "", 0)


@pytest.mark.skipif(sys.platform == "win32", reason="no such pipes and devices")
def test_a_reader_that_leaves_and_a_full_disk_leave_no_traceback() -> None:
    command = f"{sys.executable} -m attnviz.cli decode causal-decode --steps 400 --json"
    left = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command} | head -c 1"], capture_output=True, text=True, timeout=120
    )
    assert (left.stdout, left.stderr, left.returncode) == ("{", "", 141)
    full = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m attnviz.cli presets > /dev/full"], capture_output=True, text=True
    )
    assert (full.returncode, full.stderr) == (2, "attnviz: standard output: No space left on device\n")


def test_no_command_imports_qt_or_needs_a_display_or_a_unicode_terminal(tmp_path: Path) -> None:
    code = (
        "import sys; from attnviz.cli import main\n"
        f"codes = [main(['presets']), main(['run', 'toy-attention', '-o', {str(tmp_path / 'a.npz')!r}]),\n"
        f"         main(['render', 'xiaoshenyang', '-o', {str(tmp_path / 'a.svg')!r}]),\n"
        "         main(['decode', 'xiaoshenyang', '--json'])]\n"
        "print(codes, [m for m in ('PySide6', 'pyqtgraph', 'torch') if m in sys.modules])\n"
    )
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "QT_QPA_PLATFORM")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**environment, "PYTHONIOENCODING": "ascii"},
    )
    assert done.stdout.splitlines()[-1] == "[0, 0, 0, 0] []", done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell closes the streams")
@pytest.mark.parametrize(
    ("command", "code", "closed"),
    [
        ("presets", 0, ">&-"),
        ("presets", 0, "2>&-"),
        ("run toy-attention", 0, ">&- 2>&-"),
        ("run nothing", 2, "2>&-"),
        ("run nothing", 2, ">&- 2>&-"),
    ],
)
def test_closed_streams_are_no_error(command: str, code: int, closed: str) -> None:
    line = f"{sys.executable} -m attnviz.cli {command} {closed}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=120)
    said = [] if code == 0 or "2>&-" in closed else ["attnviz: The doc"]
    assert (done.returncode, [text[:16] for text in done.stderr.splitlines()]) == (code, said)
    assert bool(done.stdout) == (code == 0 and closed == "2>&-")


def test_a_home_that_cannot_be_written_is_nobodys_concern(tmp_path: Path) -> None:
    home = tmp_path / "a file"
    home.write_text("")
    names = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "MPLCONFIGDIR")
    environment = {name: value for name, value in os.environ.items() if name not in names}
    done = subprocess.run(
        [sys.executable, "-m", "attnviz.cli", "render", "toy-attention", "-o", str(tmp_path / "a.svg")],
        capture_output=True,
        text=True,
        timeout=120,
        env={**environment, "HOME": str(home)},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "a.svg").exists()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems always have one")
@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({"QT_QPA_PLATFORM": "xcb", "DISPLAY": ":98"}, "Qt cannot connect to the display :98"),
        ({"QT_QPA_PLATFORM": "", "DISPLAY": ":98"}, "Qt cannot connect to the display :98"),
        ({"QT_QPA_PLATFORM": "nonsense"}, "; got nonsense"),
        (
            {"QT_QPA_PLATFORM": "", "DISPLAY": "", "WAYLAND_DISPLAY": "dead"},
            "Qt cannot use its platform plugin wayland here",
        ),
    ],
)
def test_a_display_that_does_not_answer_is_one_line(environment: dict[str, str], says: str) -> None:
    silent = {"WAYLAND_DISPLAY": "", "XDG_RUNTIME_DIR": "/tmp"}  # without it libwayland complains by itself
    done = shell("gui", **{**silent, **environment})
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert done.stderr.startswith("attnviz: the window cannot be opened: ")
    assert done.stderr.endswith(f"{says}\n")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems always have one")
def test_the_window_without_a_display_is_one_line() -> None:
    done = shell(DISPLAY="", WAYLAND_DISPLAY="", QT_QPA_PLATFORM="")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "needs a display" in done.stderr


def test_table_prints_and_writes_a_stage(tmp_path: Path, capsys: Capture) -> None:
    assert main(["table", "toy-attention", "--stage", "scores", "--digits", "2"]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == [",one,two,three,four", "one,4.23,3.74,1.51,2.21"]
    file = tmp_path / "x.tex"
    command = ["table", "grouped-query", "--stage", "k", "--head", "1", "--digits", "3", "-o", str(file)]
    assert main(command) == 0
    site = attnviz.run(load_preset("grouped-query")).only
    assert file.read_text().startswith(table_bytes(Table.of(site, "k", 1), "bmatrix", 3).decode())
    assert main([*command, "--format", "booktabs"]) == 0
    assert file.read_text().startswith(r"\begin{tabular}")


@pytest.mark.parametrize("suffix", list({row.suffix: None for row in TABLES}))
def test_a_written_table_opens_at_its_stage_and_head(suffix: str, tmp_path: Path) -> None:
    file, document = tmp_path / f"x{suffix}", load_preset("grouped-query")
    assert main(["table", "grouped-query", "--stage", "q", "--head", "5", "-o", str(file)]) == 0
    found = attnviz.load(file)
    assert found.experiment == document.experiment
    assert (found.view.stage, found.view.head) == ("q", 5)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["-o", "a.doc"], "a.doc: suffix must be one of '.csv', '.md', '.tex', '.npz'; got '.doc'."),
        (["--format", "npz"], "toy-attention: The format npz must have a file (-o)."),
        (["--digits", "x"], "toy-attention: digits must be a whole number from 0 to 17; got 'x'."),
        (["--stage", "w"], "toy-attention: stage must be one of"),
        (["--head", "all"], "toy-attention: head must be one head; got 'all'."),
    ],
)
def test_table_refuses_in_one_sentence(options: list[str], sentence: str, capsys: Capture) -> None:
    assert main(["table", "toy-attention", *options]) == 2
    assert sentence in capsys.readouterr().err
