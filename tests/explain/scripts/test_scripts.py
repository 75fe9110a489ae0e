"""The script of a document computes what the program computes, without the program."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from cases import MASKS, SHORT
from cases import POSITIONS as EXAMPLES
from cases import experiment as example
from experiments import SPREAD, STACKS, experiments, small
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from ran_scripts import judge
from stacks import stacks

import attnviz
from attnviz.checkpoints.presets import load_preset, preset_ids
from attnviz.cli import main
from attnviz.core.block import ACTIVATIONS, GATED_UNITS
from attnviz.explain.scripts.functions import ACTIVATION_CODE, GATED_CODE
from attnviz.explain.scripts.library import LIBRARIES, LIBRARY_BY_ID, Library
from attnviz.explain.scripts.masks import MASK_CODE
from attnviz.explain.scripts.positions import BIAS_CODE, POSITION_CODE
from attnviz.explain.scripts.script import Wanted, program, script
from attnviz.explain.scripts.sources import SOURCE_CODE
from attnviz.explain.scripts.stages import stage_code
from attnviz.i18n import set_language
from attnviz.model.positions import POSITIONS
from attnviz.model.sites.sites import at, site_names
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import (
    ExplicitVectors,
    Heads,
    Mask,
    Padding,
    Projection,
    Projections,
    Sinks,
    Tied,
    Vectors,
)
from attnviz.model.spec.rows import Row
from attnviz.model.spec.source import Table
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.value_sum import value_sum
from attnviz.operations.operation import Operation

NUMPY, TORCH = LIBRARY_BY_ID["numpy"], LIBRARY_BY_ID["torch"]


def test_every_row_of_every_table_has_code() -> None:
    assert not [stage for stage, row in STAGE_BY_ID.items() if row.made_by.code is Operation.code]
    assert set(MASK_CODE) == set(get_args(Mask))
    rotations = {row.record for row in POSITIONS if row.changes == "rotation"}
    assert set(POSITION_CODE) | set(BIAS_CODE) | rotations == {row.record for row in POSITIONS}
    assert set(ACTIVATION_CODE) == {row.id for row in ACTIVATIONS}
    assert set(GATED_CODE) == {row.id for row in GATED_UNITS}
    sources = {kind for union in (Vectors, Projection, Row, Table, Sinks) for kind in get_args(union)}
    assert set(SOURCE_CODE) == sources - {Tied}


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.id)
@pytest.mark.parametrize("name", [*SPREAD, *STACKS])
def test_every_kind_of_document(name: str, library: Library) -> None:
    experiment = (SPREAD | STACKS)[name]
    judge(experiment, attnviz.run(experiment), library)


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.id)
@pytest.mark.parametrize("masks", MASKS)
def test_every_example_of_masks(masks: str, library: Library) -> None:
    experiment = example(masks, "none")
    judge(experiment, attnviz.run(experiment), library)


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.id)
@pytest.mark.parametrize("position", EXAMPLES)
def test_every_example_of_positions(position: str, library: Library) -> None:
    for fewer in ({}, SHORT):
        experiment = example("none", position, **fewer)
        judge(experiment, attnviz.run(experiment), library)


@pytest.mark.parametrize("name", preset_ids())
def test_every_preset(name: str) -> None:
    experiment = replace(load_preset(name).experiment, dtype="float64")
    judge(experiment, attnviz.run(experiment), NUMPY)


@given(st.one_of(stacks(), experiments()))
@settings(max_examples=300, deadline=None)
def test_any_document(experiment: Experiment) -> None:
    judge(experiment, attnviz.run(experiment), NUMPY)


@given(st.one_of(stacks(), experiments()))
@settings(max_examples=40, deadline=None)
def test_any_document_in_torch(experiment: Experiment) -> None:
    judge(experiment, attnviz.run(experiment), TORCH)


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.id)
def test_a_projection_tied_to_an_identity_passes_its_input_on(library: Library) -> None:
    """NaN in the first feature stays there: a product with the identity spreads it over the row."""
    vectors = ExplicitVectors(Matrix([[1.0, 2.0]]))
    tied = small(
        tokens=("a",),
        vectors=vectors,
        heads=Heads(2, 2, 1, (1,)),
        projections=Projections(output=Tied("query")),
        masks=(Padding((0,)),),
        fully_masked_row="nan",
    )
    trace = attnviz.run(tied)
    np.testing.assert_array_equal(trace["attention_output"], [[np.nan, 0.0]])
    judge(tied, trace, library)


def test_a_script_has_nothing_that_its_document_does_not_use() -> None:
    text = script(load_preset("toy-attention"), NUMPY)
    absent = ("blocked", "frequency", "np.repeat", "stored", "def mix", "norm(", "import base64")
    assert [word for word in absent if word in text] == []


def test_torch_has_the_names_of_its_tutorials() -> None:
    """Heads by view and permute, masks by masked_fill; the dropped cells are those of the document's seed."""
    said = {name: script(load_preset(name), LIBRARY_BY_ID["torch"]) for name in ("causal-order", "dropout")}
    assert "q = (tokens_embedded @ W_Q).view(3, 1, 4).permute(1, 0, 2)" in said["causal-order"]
    assert "masked = scaled.masked_fill(blocked, -torch.inf)" in said["causal-order"]
    assert "concatenated = mixed.permute(1, 0, 2).reshape(8, 8)" in said["dropout"]
    assert "# torch.nn.functional.dropout" in said["dropout"]


def test_lines_fit_a_page() -> None:
    for experiment in (SPREAD | STACKS).values():
        for library in LIBRARIES:
            lines = script(Document(experiment), library).splitlines()
            assert max(map(len, lines)) <= 120


def test_a_definition_stands_once_while_it_holds() -> None:
    text = script(Document(STACKS["encoder and decoder"]), NUMPY)
    assert text.count("def rms_norm") == text.count("def softmax") == text.count("def gelu") == 1
    assert text.count("memory = encoded") == 1


def test_every_stage_has_lines_that_bind_its_name() -> None:
    for experiment in STACKS.values():
        for name in site_names(experiment):
            site = at(experiment, name)
            for stage in attnviz.run(experiment).site(name).stages:
                lines = stage_code(site, stage, NUMPY).all_lines
                assert any(line.strip().startswith((f"{stage} = ", f"{stage}[")) for line in lines)
    with pytest.raises(KeyError):
        stage_code(site, "relative", NUMPY)


def test_arrays_that_no_script_reads_are_not_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arrays, file = tmp_path / "tale.npz", tmp_path / "tale.py"
    arrays.write_bytes(b"mine")
    file.write_text("print('an own script')")
    command = ["script", "stories-en", "-o", str(file)]
    assert main(command) == 2
    sentence = "output must be a name beside which no other file tale.npz stands; got 'tale.py'."
    assert sentence in capsys.readouterr().err
    assert arrays.read_bytes() == b"mine" and file.read_text() == "print('an own script')"
    arrays.unlink()
    for _time in range(2):  # the second one replaces its own
        assert main(command) == 0 and arrays.stat().st_size > 2**16


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.id)
def test_a_script_runs_without_attnviz(library: Library, tmp_path: Path) -> None:
    file = tmp_path / "stories.py"
    command = ["script", "stories-en", "-o", str(file), "--with", library.id, "--stages", "weights"]
    assert main([*command, "--site", "layers.1.self"]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["stories.npz", "stories.py"]
    code = f"import runpy, sys; runpy.run_path({str(file)!r}); print('attnviz' in sys.modules)"
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    ran = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, cwd=tmp_path, env=environment
    )
    assert ran.stderr == ""
    name, shape, *numbers, known = ran.stdout.splitlines()
    assert (name, known) == ("layers.1.self.weights", "False")
    experiment = replace(load_preset("stories-en").experiment, dtype="float64")
    weights = attnviz.run(experiment).site("layers.1.self")["weights"]
    assert shape == str(weights.shape)
    assert f"{weights[0, 1, 0]:.4f}"[1:] in "".join(numbers)


def told(document: Document, library: Library) -> list[str]:
    """The lines that the script of a document prints by itself."""
    made = program(document, library)
    said = io.StringIO()
    with redirect_stdout(said):
        exec(compile(made.text("beside"), "script", "exec"), {"beside": io.BytesIO(made.storage.npz())})
    return said.getvalue().splitlines()


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.id)
def test_a_script_prints_the_numbers_of_the_window(library: Library) -> None:
    """Of the query of the view: its largest weights, the length of their sum of values, the next tokens."""
    document = load_preset("stories-name")
    trace = attnviz.run(replace(document.experiment, dtype="float64"))
    site, view = trace.site(document.site), document.view
    summed = value_sum(site, view.head, view.query)
    assert summed is not None
    order = np.argsort(-summed.weights, kind="stable")[:8]
    names = site.names("key")
    last = trace.site(trace.sites[-1])
    probable = last["probabilities"][view.query]
    first = int(probable.argmax())
    assert names[order[0]] == last.names("vocabulary")[first] == " Lily"
    lines = told(document, library)
    assert lines[0] == "Layer 3 · masked self-attention · weights · head 3 of 4 · query 21: ' she'"
    assert lines[1:9] == [f"{summed.weights[key]:10.4f}  {names[key]!r}" for key in order]
    assert lines[9] == f"length of the result, |Σ w·v|: {np.linalg.norm(summed.result):.4f}"
    assert lines[10:12] == ["most probable next tokens after ' she'", f"{probable[first]:10.4f}  ' Lily'"]


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.id)
@pytest.mark.parametrize("name", [*SPREAD, *STACKS])
def test_every_kind_of_document_prints_the_numbers_of_the_window(name: str, library: Library) -> None:
    document = Document((SPREAD | STACKS)[name])
    lines = told(document, library)
    assert any("query 1: " in line for line in lines) and "..." not in "".join(lines)


def test_the_command_prints_and_refuses(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["script", "toy-attention", "--stages", "all"]) == 0
    stages = attnviz.run(load_preset("toy-attention")).only.stages
    assert capsys.readouterr().out.count("print(") == len(stages)
    for arguments, says in (
        (["--stages", "nothing"], "stage must be one of"),
        (["--site", "nothing"], "site must be"),
        (["-o", str(tmp_path / "x.txt")], ".py"),
    ):
        assert main(["script", "toy-attention", *arguments]) == 2
        assert says in capsys.readouterr().err
    assert main(["script", "stories-en"]) == 2
    assert "16,384" in capsys.readouterr().err


@pytest.mark.parametrize("text", ['"""', "\\", '"', "a\nprint(1)", "\\u0041 \u202e", "'''"])
def test_no_text_of_a_user_leaves_its_comment(text: str) -> None:
    experiment = small(tokens=(text,) * 5)
    found: list[str] = []
    code = script(Document(experiment, title=text), NUMPY, Wanted(("weights",)))
    exec(compile(code, "script", "exec"), {"print": lambda name, *others, sep: found.append(name)})
    assert found == ["weights"]


def test_a_script_in_chinese_computes_the_same() -> None:
    set_language("zh_CN")
    experiment = SPREAD["masks"]
    assert "因果" in script(Document(experiment), NUMPY)
    judge(experiment, attnviz.run(experiment), NUMPY)
