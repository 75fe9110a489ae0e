"""The notebook of a document runs in Jupyter and shows every stage."""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest
from msgspec.structs import replace
from nbclient import NotebookClient

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.cli import main
from attnviz.explain.scripts.library import LIBRARY_BY_ID
from attnviz.explain.scripts.notebook import notebook
from attnviz.explain.scripts.script import program


def test_a_notebook_runs_and_shows_every_stage(tmp_path: Path) -> None:
    file = tmp_path / "causal.ipynb"
    assert main(["script", "causal-decode", "--notebook", "-o", str(file)]) == 0
    ran = nbformat.read(file, as_version=4)
    nbformat.validate(ran)
    assert attnviz.load(file) == load_preset("causal-decode")
    NotebookClient(ran, timeout=60, kernel_name="python3").execute()
    document = load_preset("causal-decode")
    trace = attnviz.run(replace(document.experiment, dtype="float64"))
    *stages, told = [cell.outputs[-1] for cell in ran.cells[2:] if cell.cell_type == "code"]
    shown = [output["data"]["text/plain"] for output in stages]
    weight = trace["weights"][document.view.head, document.view.query].max()
    assert f"{weight:.4f}" in told["text"] and "|Σ w·v|" in told["text"]
    assert len(shown) == len(trace.only.stages)
    for text, stage in zip(shown, trace.only.stages, strict=True):
        first = np.array2string(trace[stage].flat[0], precision=4, suppress_small=True)
        assert f"{float(first):.4f}".rstrip("0") in text


def test_a_notebook_has_a_heading_and_a_cell_for_each_stage() -> None:
    document = load_preset("encoder-decoder")
    read = nbformat.reads(notebook(program(document, LIBRARY_BY_ID["torch"])), as_version=4)
    trace = attnviz.run(document)
    stages = [stage for name in trace.sites for stage in trace.site(name).stages]
    code = [cell.source.split("\n")[-1] for cell in read.cells if cell.cell_type == "code"]
    assert [line for line in code[1:] if not line.startswith("    print")] == stages
    headings = [cell.source for cell in read.cells if cell.source.startswith("## ")]
    assert len(headings) == len(trace.sites)
    assert "import torch" in read.cells[1].source


def test_a_notebook_of_many_numbers_reads_a_file_beside_it(tmp_path: Path) -> None:
    assert main(["script", "stories-en", "-o", str(tmp_path / "stories.ipynb")]) == 0
    assert (tmp_path / "stories.npz").is_file()
    assert "np.load('stories.npz')" in (tmp_path / "stories.ipynb").read_text(encoding="utf-8")


def test_a_notebook_is_written_as_the_library_writes_it_and_without_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "nbformat", None)
        assert main(["script", "encoder-decoder", "--notebook"]) == 0
    text = capsys.readouterr().out
    read = nbformat.reads(text, as_version=4)
    nbformat.validate(read)
    assert (read.nbformat, read.nbformat_minor) == (4, 5)
    assert nbformat.writes(read) + "\n" == text
