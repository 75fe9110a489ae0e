"""The script of a run, executed: its first ten losses are those of the run."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from msgspec.structs import replace
from readers import KINDS
from two_layers import model

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.cli.commands.train import COURSE, add_course
from attnviz.cli.shell import main
from attnviz.errors import FieldError
from attnviz.explain.scripts.notebook import notebook
from attnviz.explain.scripts.script import Program
from attnviz.model.sites.sites import sites
from attnviz.model.sites.stages import site_stages
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.training.file import save_run
from attnviz.training.optimiser import OPTIMISERS, SCHEDULES, Settings
from attnviz.training.record import Course
from attnviz.training.run import Run, train
from attnviz.training.script import training_program
from attnviz.training.tasks import TASKS, Addition, Copy, Lines, Lookup, Sampler
from attnviz.training.words import ids_of_words, with_words, words_for

STEPS = 10
USUAL, SMALL = Settings(steps=STEPS), Course(4)
DROPPING = {
    name
    for name, one in KINDS.items()
    if any("dropped" in stage for site in sites(one).values() for stage in site_stages(site))
}
WITHOUT_A_LOSS = {"fully masked as nan", "relu squared, as nan", "head off, dropout"}
"""Their rows without a key are NaN, and so is the loss."""


def printed(made: Program) -> dict[str, list[float]]:
    """The losses and held-out accuracies that a script prints."""
    return said(made.text("beside"), made)


def said(text: str, made: Program) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {"loss": [], "accuracy": []}

    def keep(line: str) -> None:
        name = "accuracy" if "held out" in line else "loss"
        found[name].append(float(line.split()[-1]))

    before = torch.get_default_dtype()
    try:
        exec(
            compile(text, "script", "exec"),
            {"print": keep, "beside": io.BytesIO(made.storage.npz())},
        )
    finally:
        torch.set_default_dtype(before)
    return found


def judge(
    experiment: Experiment, sampler: Sampler, course: Course = SMALL, settings: Settings = USUAL
) -> Run:
    """Raise unless the script of a run has its first losses, and its held-out accuracies."""
    made = training_program(Document(experiment), sampler, course, settings)
    run, found = train(experiment, sampler, course, settings), printed(made)
    np.testing.assert_allclose(found["loss"], [one.loss for one in run.curves.moments], atol=1e-5)
    assert found["accuracy"][0] == pytest.approx(run.curves.measures[0].accuracy, abs=1e-3)
    return run


@pytest.mark.parametrize("name", sorted(KINDS.keys() - DROPPING - WITHOUT_A_LOSS))
def test_every_kind_of_document_is_trained(name: str) -> None:
    """Of all positions, masks, norms, feed-forward layers, experts, gates, tied and shared matrices."""
    n_words = min(7, len(ids_of_words(KINDS[name])))
    sampler = Copy(n_tokens=5, n_words=n_words, shortest=2, longest=min(3, n_words))
    run = judge(KINDS[name], sampler)
    losses = [one.loss for one in run.curves.moments]
    assert (max(losses) - min(losses) > 1e-3) == (name != "large sink")  # which hides all keys


def test_float32_of_a_preset_is_met() -> None:
    run = judge(load_preset("induction-birth").experiment, Copy(), Course(16))
    assert run.experiment.dtype == "float32"


SAMPLERS: tuple[Sampler, ...] = (
    Copy(n_tokens=9, n_words=6, shortest=3, longest=6),
    Lookup(pairs=2, n_words=8),
    Addition(modulus=7, seed=3),
    Lines(tuple((1, 2, 3, 0, number % 4) for number in range(20)), 4, "", n_tokens=3),
)


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda one: type(one).__name__)
def test_every_task_draws_its_texts(sampler: Sampler) -> None:
    """In words of a vocabulary that has more, the begin of a text among them."""
    blank = with_words(replace(model(), final_norm=None), ("<s>", *words_for(sampler.n_words + 2)))
    assert blank.vocabulary is not None
    experiment = replace(blank, vocabulary=replace(blank.vocabulary, begin="<s>"), dtype="float64")
    judge(experiment, sampler, Course(6, seed=5, measured=3))


def test_every_task_has_its_sampler() -> None:
    assert {type(one) for one in SAMPLERS} == {row.make for row in TASKS}


SETTINGS = (
    Settings(0.05, "sgd", momentum=0.7, decay=0.1, clip=None, steps=STEPS),
    Settings(2e-2, warmup=3, schedule="cosine", decay=0.1, steps=STEPS),
    Settings(1e-2, beta_1=0.8, beta_2=0.9, epsilon=1e-4, clip=0.1, warmup=20, steps=STEPS),
)


@pytest.mark.parametrize("settings", SETTINGS, ids=["sgd", "cosine", "warm-up"])
def test_every_optimiser_and_schedule_is_met(settings: Settings) -> None:
    judge(model(dtype="float64"), SAMPLERS[0], settings=settings)


def test_every_optimiser_and_schedule_is_tried() -> None:
    assert {one.optimiser for one in SETTINGS} == {row.id for row in OPTIMISERS}
    assert {one.schedule for one in SETTINGS} == {row.id for row in SCHEDULES}


def test_a_notebook_has_the_same_cells() -> None:
    made = training_program(Document(model()), SAMPLERS[0], SMALL, USUAL)
    cells = json.loads(notebook(made))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    assert said(code, made) == printed(made)
    assert "``" not in notebook(made)


@pytest.mark.parametrize("name", sorted(DROPPING))
def test_dropout_is_refused(name: str) -> None:
    with pytest.raises(FieldError, match=r"^dropout must be null: the script of a training cannot repeat"):
        training_program(Document(KINDS[name]), Copy(5, 2, 2, 2), SMALL, USUAL)


def test_the_shell_writes_a_script_that_runs_alone(tmp_path: Path, capsys: Any) -> None:
    """With many numbers beside it; the file opens as the document, with the words of the task."""
    file = tmp_path / "train.py"
    sizes = "n_words=40,shortest=3,longest=5,n_tokens=12"
    options = ["--new-words", "--sizes", sizes, "--steps", "12", "--batch", "5", "--seed", "4"]
    given = ["--with", "torch", "--train", *options, "-o", str(file)]
    assert main(["script", "induction-birth", *given]) == 0
    losses = losses_of(file)
    experiment = attnviz.load(file).experiment
    assert experiment.vocabulary is not None and len(experiment.vocabulary.tokens) == 40
    run = train(
        experiment,
        Copy(n_words=40, shortest=3, longest=5, n_tokens=12),
        Course(5, 4),
        Settings(steps=12),
    )
    np.testing.assert_allclose(losses, [one.loss for one in run.curves.moments][:10], atol=1e-5)


def test_the_script_of_a_run_file_takes_the_steps_of_the_run(tmp_path: Path, capsys: Any) -> None:
    """From its first state on; with an option of a run, it begins another one at the trained weights."""
    course = Course(3, 2, measured=5, kept=5)
    run = train(model(), SAMPLERS[0], course, Settings(1e-2, steps=STEPS, warmup=4))
    file = str(save_run(Document(run.experiment), run.training.record(), tmp_path / "run.safetensors"))
    script = tmp_path / "again.py"
    assert main(["script", file, "--with", "torch", "--train", "-o", str(script)]) == 0
    assert losses_of(script) == pytest.approx([one.loss for one in run.curves.moments], abs=1e-5)
    other = ["--steps", "3", "--sizes", "n_tokens=9,n_words=6,shortest=3,longest=6"]
    assert main(["script", file, "--with", "torch", "--train", *other, "-o", str(script)]) == 0
    further = train(run.experiment, SAMPLERS[0], Course(), Settings(steps=3))
    assert losses_of(script) == pytest.approx([one.loss for one in further.curves.moments], abs=1e-5)


def losses_of(script: Path) -> list[float]:
    """The losses that a script prints, which runs without this package."""
    command = [sys.executable, "-I", str(script)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd="/")
    return [float(line.split()[-1]) for line in ran.stdout.splitlines() if line.startswith("step")]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--train"], "--train needs --with torch; got 'numpy'"),
        (["--with", "torch", "--steps", "5"], "--steps needs --train"),
        (["--with", "torch", "--train", "--stages", "all"], "--stages must be left out with --train"),
        (["--with", "torch", "--train"], "vocabulary must be a vocabulary"),
    ],
)
def test_wrong_options_are_one_sentence(options: list[str], sentence: str, capsys: Any) -> None:
    assert main(["script", "toy-attention", *options]) == 2
    assert sentence in capsys.readouterr().err


def test_the_options_of_a_run_are_named() -> None:
    parser = ArgumentParser(add_help=False)
    add_course(parser)
    assert tuple(action.option_strings[0] for action in parser._actions) == COURSE
