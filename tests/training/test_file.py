"""A run in a file: what is written is read, goes on exactly, and nothing wrong is taken."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from two_layers import COURSE, TASK, model

import attnviz
from attnviz.model.spec.document import Document
from attnviz.training.file import load_run, record_in, save_run
from attnviz.training.optimiser import Settings
from attnviz.training.parameters import parameters_of
from attnviz.training.record import Kept, Record
from attnviz.training.run import Run, train
from attnviz.training.words import characters_of, task_for, with_words

SETTINGS = Settings(steps=60, schedule="cosine", warmup=5)
Change = Callable[[dict[str, Any], dict[str, np.ndarray]], None]


@pytest.fixture(scope="module")
def run() -> Run:
    return train(model(), TASK, COURSE, replace(SETTINGS, steps=37))


@pytest.fixture
def file(run: Run, tmp_path: Path) -> Path:
    return run.save(tmp_path / "run.safetensors")


def same(one: Kept, other: Kept) -> None:
    assert one.numbers.keys() == other.numbers.keys() and len(one.moments) == len(other.moments)
    for mine, theirs in zip(
        (*one.numbers.values(), *one.moments), (*other.numbers.values(), *other.moments), strict=True
    ):
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs)


def same_records(one: Record, other: Record) -> None:
    assert one.moments == other.moments
    np.testing.assert_equal([m._asdict() for m in one.measures], [m._asdict() for m in other.measures])
    assert one.states.keys() == other.states.keys() and one.step == other.step
    for step, state in one.states.items():
        same(state, other.states[step])
    same(one.present, other.present)


def test_a_run_is_read_as_it_was_written(run: Run, file: Path) -> None:
    written, read = run.training.record(), attnviz.load_run(file).training.record()
    same_records(written, read)
    assert (read.sampler, read.course, read.settings) == (TASK, COURSE, replace(SETTINGS, steps=37))
    assert (read.step, read.spacing, tuple(read.states)) == (37, 10, (0, 10, 20, 30))


def test_the_file_is_the_document_of_the_trained_experiment(run: Run, file: Path) -> None:
    assert attnviz.load(file).experiment == run.experiment
    small = run.save(file.with_suffix(".json"))
    assert attnviz.load(small).experiment == run.experiment
    with pytest.raises(
        ValueError, match="run.json: The file must have a run beside its document; it has none"
    ):
        attnviz.load_run(small)


def test_a_state_of_a_file_is_that_of_a_fresh_run_to_its_step(file: Path) -> None:
    read = attnviz.load_run(file)
    assert read.steps == (0, 10, 20, 30)
    for step in (10, 30):
        settings = replace(SETTINGS, steps=37)
        fresh = train(model(), TASK, COURSE, settings, is_over=lambda run, end=step: run.step == end)
        for kept, made in zip(parameters_of(read.at(step)), parameters_of(fresh.experiment), strict=True):
            np.testing.assert_array_equal(kept.numbers(), made.numbers())


@pytest.mark.parametrize("engine", ["numpy", "torch"])
@pytest.mark.parametrize("optimiser", ["adamw", "sgd"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_run_goes_on_from_a_file_as_if_nothing_had_been(
    engine: str, optimiser: str, dtype: str, tmp_path: Path
) -> None:
    experiment, settings = model(dtype=dtype), replace(SETTINGS, optimiser=optimiser)
    whole = train(experiment, TASK, COURSE, settings, engine, "cpu")
    part = train(experiment, TASK, COURSE, settings, engine, "cpu", is_over=lambda run: run.step == 40)
    file = part.save(tmp_path / "part.safetensors")
    read = attnviz.load_run(file, 60, engine, "cpu")
    same_records(whole.training.record(), read.training.record())
    assert read.experiment == whole.experiment


def test_lines_of_a_text_are_read_with_their_text(tmp_path: Path) -> None:
    text = "the cat sat 在垫子上\n" * 30
    experiment = with_words(model(), characters_of(text))
    sampler = task_for(experiment, "lines", text, n_tokens=8)
    run = train(experiment, sampler, COURSE, Settings(steps=5))
    read = attnviz.load_run(run.save(tmp_path / "lines.safetensors")).training.record().sampler
    assert read.text == text  # type: ignore[attr-defined]
    for mine, theirs in zip(sampler.sides, read.sides, strict=True):  # type: ignore[attr-defined]
        np.testing.assert_array_equal(mine, theirs)


# --- wrong files


def rewritten(file: Path, change: Change) -> Path:
    """The file with another run beside its document; without checksums."""
    data = file.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    kinds = {"F64": np.float64, "F32": np.float32, "U8": np.uint8}
    metadata = header.pop("__metadata__")
    arrays = {
        name: np.frombuffer(
            data[8 + length + one["data_offsets"][0] : 8 + length + one["data_offsets"][1]],
            kinds[one["dtype"]],
        )
        .reshape(one["shape"])
        .copy()
        for name, one in header.items()
    }
    said = json.loads(metadata["run"])
    change(said, arrays)
    names = {np.dtype(kind): name for name, kind in kinds.items()}
    made: dict[str, Any] = {"__metadata__": {"attnviz": metadata["attnviz"], "run": json.dumps(said)}}
    end, parts = 0, []
    for name, one in arrays.items():
        begin, end = end, end + one.nbytes
        made[name] = {"dtype": names[one.dtype], "shape": list(one.shape), "data_offsets": [begin, end]}
        parts.append(one.tobytes())
    text = json.dumps(made).encode()
    changed = file.with_name("changed.safetensors")
    changed.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(parts))
    return changed


def said(*path: str | int, value: Any) -> Change:
    def change(said: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        part: Any = said
        for step in path[:-1]:
            part = part[step]
        part[path[-1]] = value

    return change


def without(name: str) -> Change:
    def change(said: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        del said[name]

    return change


def array(name: str, function: Callable[[np.ndarray], np.ndarray | None]) -> Change:
    def change(said: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        made = function(arrays.pop(f"run/{name}"))
        if made is not None:
            arrays[f"run/{name}"] = made

    return change


def at_place(value: float) -> Callable[[np.ndarray], np.ndarray]:
    def function(numbers: np.ndarray) -> np.ndarray:
        numbers[0, 1] = value
        return numbers

    return function


QUERY = "layers.0.self.projections.query"
WRONG: dict[str, tuple[Change, str]] = {
    "version": (said("version", value=2), "run.version must be 1; got 2."),
    "unknown field": (said("more", value=1), "run.more must be one of the keys version, task"),
    **{
        f"without {name}": (without(name), f"run.{name} must be")
        for name in ("task", "course", "settings", "step", "states", "moments", "measures", "kept")
    },
    "no object": (said("course", value=[]), "run.course must be an object with the keys batch, seed"),
    "task": (
        said("task", "id", value="chess"),
        "run.task.id must be one of 'copy', 'lookup', 'addition', 'lines'",
    ),
    "strange size": (said("task", "sizes", "depth", value=2), "run.task.sizes.depth must be one of the keys"),
    "size": (
        said("task", "sizes", "n_words", value=9),
        "vocabulary must be a vocabulary of at least 9 words",
    ),
    "huge size": (
        said("task", "sizes", "n_tokens", value=10**9),
        "run.task.tokens must be a whole number from 7 to",
    ),
    "no text": (
        said("task", value={"id": "lines", "sizes": {"n_tokens": 32}}),
        "run.text must be a text whose",
    ),
    "batch": (
        said("course", "batch", value=0),
        "run.course.batch must be a whole number of at least 1; got 0.",
    ),
    "batch of no number": (
        said("course", "batch", value="x"),
        "run.course.batch must be a whole number; got 'x'.",
    ),
    "rate": (
        said("settings", "rate", value=-1.0),
        "run.settings.rate must be a finite number above 0; got -1.0.",
    ),
    "optimiser": (
        said("settings", "optimiser", value="adam"),
        "run.settings.optimiser must be one of 'adamw', 'sgd'",
    ),
    "other optimiser": (
        said("settings", "optimiser", value="sgd"),
        "run.0/optimiser/1 must belong to a kept state; got 1x",
    ),
    "claimed steps": (
        said("step", value=10**9),
        "run.step must be a whole number from 0 to 10,000,000; got 1000000000.",
    ),
    "later step": (
        said("step", value=40),
        "run.moments must be one for each of the 40 steps, in order; got 37 of them.",
    ),
    "spacing": (said("spacing", value=0), "run.spacing must be a whole number from 1 to"),
    "states backwards": (
        said("states", value=[0, 20, 10]),
        "run.states must be ascending steps from 0 to 37 at most",
    ),
    "no first state": (said("states", value=[10, 20]), "run.states must be ascending steps"),
    "a state to come": (said("states", value=[0, 40]), "run.states must be ascending steps"),
    "many states": (said("states", value=list(range(38)) + [37]), "run.states must be ascending"),
    "missing state": (
        said("states", value=[0, 10, 11]),
        "run.states.11.vocabulary.embedding must be a tensor of 8x32; got",
    ),
    "unmentioned state": (said("states", value=[0, 10]), "run.kept.count must be 3; got 5."),
    "unmentioned tensor": (
        lambda said, arrays: arrays.update({"run/11/x": np.zeros((1, 1), np.float32)}),
        "run.11/x must belong to a kept state; got 1x1.",
    ),
    "count of states": (said("kept", "count", value=4), "run.kept.count must be 5; got 4."),
    "count": (
        said("moments", "count", value=10**9),
        "run.moments.count must be a whole number from 0 to 10,000,000",
    ),
    "other count": (
        said("moments", "count", value=36),
        "run.moments.step must be 36 plain numbers; got 37 numbers.",
    ),
    "field": (
        said("moments", "fields", "joy", value=None),
        "run.moments.fields must be one of 'step', 'loss'",
    ),
    "forms": (
        said("measures", "fields", "scores", value=None),
        "run.measures.scores must be an object with forms and runs",
    ),
    "runs": (
        said("measures", "fields", "scores", "runs", value=[[0, 10**9]]),
        "run.measures.scores.runs must be",
    ),
    "form": (
        said("measures", "fields", "scores", "forms", 0, value={"code": "x"}),
        "run.measures.scores.forms must be",
    ),
    "much of nothing": (
        said("measures", "fields", "scores", "forms", 0, value={"items": [None] * 10_000}),
        "run.measures.scores.forms must be a form of numbers, with few other parts",
    ),
    "deep form": (
        said("measures", "fields", "scores", "forms", 0, value=json.loads('{"items": [' * 99 + "]}" * 99)),
        "run.measures.scores.forms must be a form of at most 8 levels",
    ),
    "loss": (array("moments/loss", at_place(np.nan)), "run.moments.loss must be finite numbers; got nan."),
    "step order": (array("moments/step", at_place(5)), "run.moments must be one for each of the 37 steps"),
    "half step": (
        array("moments/step", at_place(0.5)),
        "run.moments.step[1] must be of the type int; got 0.5.",
    ),
    "measures order": (
        array("measures/step", at_place(-1)),
        "run.measures must be of ascending steps from 0 to 37",
    ),
    "missing curve": (
        array("moments/loss", lambda one: None),
        "run.moments.loss must be 37 plain numbers; got 0 numbers.",
    ),
    "missing scores": (
        array("measures/scores", lambda one: None),
        "run.measures.scores.forms must be a form of numbers, with few other parts",
    ),
    "fewer scores": (
        array("measures/scores", lambda one: one[:, :-1].copy()),
        "run.measures.scores must be as many numbers as its forms have",
    ),
    "more scores": (
        array("measures/scores", lambda one: np.repeat(one, 2, axis=1)),
        "run.measures.scores must be the values of 3 records",
    ),
    "NaN": (
        array(f"20/{QUERY}", at_place(np.nan)),
        f"run.states.20.{QUERY}[0, 1] must be a finite number; got nan.",
    ),
    "infinite": (
        array(f"37/{QUERY}", at_place(-np.inf)),
        f"run.states.37.{QUERY}[0, 1] must be a finite number",
    ),
    "NaN of the optimiser": (
        array("20/optimiser/0", at_place(np.nan)),
        "run.states.20.optimiser/0[0, 1] must be",
    ),
    "shape": (
        array(f"20/{QUERY}", lambda one: one.T[:5].copy()),
        f"run.states.20.{QUERY} must be of 32x32, as in the",
    ),
    "missing tensor": (
        array(f"20/{QUERY}", lambda one: None),
        f"run.states.20.{QUERY} must be a tensor of 32x32; got",
    ),
    "bytes": (
        array(f"20/{QUERY}", lambda one: one.astype(np.uint8)),
        f"run.states.20.{QUERY} must be floats; got",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_run_is_one_sentence(name: str, file: Path) -> None:
    change, sentence = WRONG[name]
    changed = rewritten(file, change)
    with pytest.raises(ValueError) as error:
        attnviz.load_run(changed)
    assert str(error.value).startswith("changed.safetensors: ") and sentence in str(error.value)
    assert "\n" not in str(error.value)
    assert attnviz.load(changed).experiment == attnviz.load(file).experiment  # the document is what it was


def test_an_unchanged_file_is_read_by_that_way(file: Path) -> None:
    assert attnviz.load_run(rewritten(file, lambda said, arrays: None)).steps == (0, 10, 20, 30)


def test_a_damaged_state_is_found_by_its_checksum(file: Path) -> None:
    data = bytearray(file.read_bytes())
    length = int.from_bytes(data[:8], "little")
    place = json.loads(data[8 : 8 + length])[f"run/20/{QUERY}"]["data_offsets"][0]
    data[8 + length + place] ^= 1
    file.write_bytes(bytes(data))
    with pytest.raises(
        ValueError, match=r"must have the numbers that were saved, by its checksum; got other"
    ):
        attnviz.load_run(file)


def test_tensors_of_a_run_without_a_run_are_refused(file: Path) -> None:
    data = file.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    del header["__metadata__"]["run"], header["__metadata__"]["crc32"]
    text = json.dumps(header).encode()
    file.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length :])
    with pytest.raises(ValueError, match="Every tensor must belong to the document; got 'run/"):
        attnviz.load(file)


def test_a_run_of_another_document_is_refused(run: Run, tmp_path: Path) -> None:
    file = save_run(Document(model(n_layers=1)), run.training.record(), tmp_path / "other.safetensors")
    with pytest.raises(ValueError, match=r"run.states.0.layers.0.self.vocabulary.unembedding must"):
        load_run(file, attnviz.load(file))


def test_other_files_have_no_run(tmp_path: Path) -> None:
    experiment = model()
    file = attnviz.save(experiment, tmp_path / "plain.safetensors")
    assert record_in(file, experiment) is None
