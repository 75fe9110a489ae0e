"""The shell's commands of the analysis, on the small shipped model."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

import attnviz
from attnviz import analysis
from attnviz.checkpoints.presets import load_preset
from attnviz.cli import main
from attnviz.compute.execute import execute
from attnviz.core.progress import Progress
from attnviz.core.text import number
from attnviz.errors import InputError
from attnviz.figures.kinds.pairs import circuit_csv
from attnviz.model.edit.edits import set_tokens
from attnviz.model.stages import result_of
from attnviz.model.text import MODEL, split_text
from attnviz.study.ablation import PARTS
from attnviz.study.target import Target

DOC = "stories-induction"
CORRUPTED = 'Tom said: "The cat box is by the lake." Lily said: "The red'


def test_heads_are_listed_by_their_score(capsys: pytest.CaptureFixture[str]) -> None:
    """The model's card names the induction head 2.2."""
    assert main(["heads", DOC, "--top", "1"]) == 0
    best = capsys.readouterr().out.splitlines()[1].split("  ")
    assert [best[0], best[-1]] == ["layer 3 · head 3", "--site layers.2.self --head 2"]


def test_a_text_without_repeats_says_that_no_head_has_the_score(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["heads", "stories-en", "--text", "Once"]) == 0
    assert capsys.readouterr().err == "attnviz: No head has the score induction on this text.\n"


def test_contributions_name_the_part_that_bends_their_sum() -> None:
    experiment = load_preset("stories-en").experiment
    assert experiment.vocabulary is not None
    capped = replace(experiment, vocabulary=replace(experiment.vocabulary, cap=30.0))
    with pytest.raises(InputError, match=r"^vocabulary\.cap must be null for contributions .*; got 30\.0\.$"):
        analysis.contributions(capped, analysis.Target(" Lily"))


def test_all_scores_as_json_are_those_of_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["heads", DOC, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    for score, sites in analysis.head_scores(execute(load_preset(DOC).experiment)).items():
        for site, values in sites.items():
            shown = [np.nan if value is None else value for value in printed[score][site]]
            np.testing.assert_array_equal(shown, values)


def test_heads_are_listed_by_the_weight_of_names_that_the_shell_states(
    capsys: pytest.CaptureFixture[str],
) -> None:
    trace = execute(load_preset("stories-name").experiment)
    assert (
        main(["heads", "stories-name", "--score", "reference", "--refers", "20:4,13:6,13:8", "--json"]) == 0
    )
    printed = json.loads(capsys.readouterr().out)["reference"]
    for site in trace.sites:
        for head, weights in enumerate(trace.site(site)["weights"]):
            wanted = (weights[20, 4] + weights[13, 6] + weights[13, 8]) / 2
            assert printed[site][head] == pytest.approx(float(wanted))
    assert main(["heads", "stories-name", "--score", "reference", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["reference"] == printed  # those of the document


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "score needs a document with references, or --refers; got 'reference'."),
        (("--refers", "7"), "refers must be pairs of positions such as 7:2,9:2; got '7'."),
        (("--refers", "7:2:1"), "refers must be pairs of positions such as 7:2,9:2; got '7:2:1'."),
        (("--refers", "she:Lily"), "refers must be pairs of positions such as 7:2,9:2; got 'she:Lily'."),
        (("--refers", "7:99"), "--refers[0] must be two different positions from 0 to 19; got [7, 99]."),
    ],
)
def test_missing_and_wrong_references_are_one_sentence(
    options: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["heads", DOC, "--score", "reference", *options]) == 2
    assert capsys.readouterr().err == f"attnviz: {DOC}: {said}\n"


def test_the_lens_ends_with_the_answer_of_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lens", DOC, "--target", " box", "--top", "1"]) == 0
    *_layers, last = capsys.readouterr().out.splitlines()
    assert last.split()[:4] == ["layer", "4", "1", "␣box"]


@pytest.mark.parametrize("part", [row.id for row in PARTS])
def test_effects_are_sorted_by_their_size(part: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ablate", DOC, "--target", " box", "--against", " cup", "--part", part]) == 0
    rows = capsys.readouterr().out.splitlines()[2:]
    changes = [abs(float(row.split("  --site")[0].split()[-1].replace("−", "-"))) for row in rows]
    assert changes == sorted(changes, reverse=True) and changes[0] > 1


def test_the_word_that_differs_brings_the_answer_back(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["patch", DOC, "--target", " box", "--against", " cup", "--corrupted-text", CORRUPTED]
    assert main(arguments) == 0
    rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 2 + 4
    assert rows[2].split()[2:][6] == "1.00"
    assert rows[0].startswith("The corrupted text runs, with layer_input of the document: clean ")


def test_the_document_runs_with_stages_of_a_clean_text_as_in_the_window(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["patch", DOC, "--target", " box", "--against", " cup"]
    assert main([*arguments, "--clean-text", CORRUPTED]) == 0
    rows = capsys.readouterr().out.splitlines()
    document = load_preset(DOC)
    other = set_tokens(document.experiment, split_text(document.experiment, CORRUPTED, MODEL.id))
    found = analysis.patch(other, document, Target(" box", " cup"))
    assert rows[0] == (
        "The document runs, with layer_input of the clean text: "
        f"clean {number(found.clean, 4)}, corrupted {number(found.corrupted, 4)}"
    )
    shares = list(found.values.values())
    assert [row.split()[2:] for row in rows[2:]] == [[number(float(one), 2) for one in row] for row in shares]
    assert main([*arguments, "--clean-text", CORRUPTED, "--corrupted-text", CORRUPTED]) == 2
    assert "not allowed with" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["ablate", DOC, "--target", "nope"], "target must be a token of the vocabulary; got 'nope'."),
        (["ablate", "toy-attention", "--target", "x"], "readout must be a read-out to logits"),
        (["heads", DOC, "--score", "love"], "score must be one of 'previous', 'same', 'induction'"),
        (["ablate", DOC, "--target", " box", "--by", "other"], "--by other needs --other-text"),
        (
            ["lens", DOC, "--target", " box", "--position", "99"],
            "target.position must be a whole number from",
        ),
    ],
)
def test_bad_input_gets_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert sentence in said and said.count("\n") == 1


@pytest.mark.parametrize(
    "stage", ["q_rotated", "k", "v", "scores", "masked", "weights", "mixed", "ffn_output"]
)
@pytest.mark.parametrize("engine", ["numpy", "torch"])
def test_a_patch_with_its_own_numbers_changes_nothing(stage: str, engine: str) -> None:
    """And one of a stage of queries and keys is what the trace then shows."""
    if engine == "torch":
        pytest.importorskip("torch")
    from attnviz.engines.engine import Engine
    from attnviz.study.passes import Passes, on_engine

    experiment = load_preset(DOC).experiment

    def job(made: Engine) -> None:
        passes = Passes(made, experiment)
        site = passes.traces[2]
        if stage not in site.stages:
            pytest.fail(f"{stage} is no stage of {site.stages}")
        own = passes.patched([analysis.Patch(site.name, stage, site[stage])])
        for before, after in zip(passes.traces, (made.trace for made in own), strict=True):
            for name in ("weights", "attention_output"):
                np.testing.assert_allclose(after[name], before[name], atol=2e-5)
        other = passes.patched([analysis.Patch(site.name, stage, 0.125, positions=(4,))])[2].trace
        assert (other[stage][..., 4, :] == 0.125).all()
        result = result_of(site.stages)
        assert not np.allclose(other[result][4], site[result][4])

    on_engine(experiment, job, engine)


def test_passes_side_by_side_are_those_one_by_one() -> None:
    """Also with an encoder, whose patches reach the decoder through the memory."""
    from attnviz.engines.engine import Engine
    from attnviz.engines.run import last_sites
    from attnviz.study.passes import Passes, on_engine

    experiment = load_preset("encoder-decoder").experiment

    def job(made: Engine) -> None:
        passes = Passes(made, experiment)
        patches = [analysis.Patch(site.name, "mixed", 0.0, (1,)) for site in passes.traces]
        together = list(last_sites(made, experiment, passes.base, patches))
        assert len(together) == len(patches) == 3
        for patch, last in zip(patches, together, strict=True):
            (*_others, alone) = passes.patched((patch,))
            assert last.trace.stages == alone.trace.stages and last.given == alone.given
            for stage in last.trace.stages:
                np.testing.assert_array_equal(last.trace[stage], alone.trace[stage])
            result = result_of(alone.trace.stages)
            assert not np.array_equal(alone.trace[result], passes.traces[-1][result])

    on_engine(experiment, job)


def test_the_circuit_of_a_head_is_listed_by_its_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["circuits", DOC, "--site", "layers.2.self", "--head", "2", "--top", "4", "--token", " box"]
    assert main(arguments) == 0
    rows = capsys.readouterr().out.splitlines()[1:]
    found = analysis.circuit(load_preset(DOC), "layers.2.self", 2, "ov", 4, " box")
    assert [row.split()[0] for row in rows] == ["␣box"] * 4
    assert [float(row.split()[-1].replace("−", "-")) for row in rows] == pytest.approx(
        [pair.value for pair in found], abs=1e-3
    )


@pytest.mark.parametrize(
    ("option", "value"), [("--site", "layers.9.self"), ("--head", "4"), ("--kind", "kv"), ("--token", "xylo")]
)
def test_a_circuit_that_a_model_lacks_is_refused(
    option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = {"--site": "layers.2.self", "--head": "2", "--kind": "ov", "--token": " box", option: value}
    assert main(["circuits", DOC, *(part for pair in arguments.items() for part in pair)]) != 0
    assert option.removeprefix("--") in capsys.readouterr().err


def test_a_circuit_is_written_as_its_numbers_and_as_a_picture(tmp_path: Path) -> None:
    where = ["circuits", DOC, "--site", "layers.2.self", "--head", "2", "--kind", "qk", "--top", "5"]
    assert main([*where, "-o", str(tmp_path / "qk.csv")]) == 0
    rows = list(csv.reader((tmp_path / "qk.csv").read_text("utf-8-sig").splitlines()))
    found = analysis.circuit(load_preset(DOC), "layers.2.self", 2, "qk", 5)
    assert rows[1:] == [[pair.first, pair.second, repr(pair.value)] for pair in found]
    assert main([*where, "-o", str(tmp_path / "qk.svg"), "--width", "85mm"]) == 0
    svg = (tmp_path / "qk.svg").read_text("utf-8")
    assert svg.count("<svg") == 1 and re.search(r'width="(\d+\.?\d*)pt"', svg)[1] == "240.944882"
    opened = attnviz.load(tmp_path / "qk.svg")
    assert (opened.site, opened.view.head) == ("layers.2.self", 2)


def test_a_token_in_the_table_of_a_circuit_is_no_formula() -> None:
    lines = circuit_csv([("=1+1", "@a", 2.0)]).decode("utf-8-sig").splitlines()
    assert lines[1] == "'=1+1,'@a,2.0"


@pytest.mark.parametrize("name", ["ablate", "patch"])
def test_the_progress_grows_with_the_passes_and_not_with_the_first_alone(name: str) -> None:
    document, shares = load_preset(DOC), list[float]()
    check = Progress(lambda: None, shares.append)
    if name == "ablate":
        analysis.ablate(document, analysis.Target(" box"), check=check)
    else:
        other = set_tokens(document.experiment, ("One", *document.experiment.tokens[1:]))
        analysis.patch(document, other, analysis.Target(" box"), check=check)
    assert shares == sorted(shares)
    assert sum(0.1 < share < 0.9 for share in shares) > len(shares) / 2
