"""A run in one file: a `.safetensors` document, the trained experiment, and beside it all that goes on.

JSON has the task with its sizes, the course and the settings; tensors have the curves (see `columns`), the
text of a task, and of each kept state the parameters by name and what the optimiser remembers. Everything
that is read is checked before it is used: its shapes by the document, its steps by each other.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, get_type_hints

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from attnviz.compute.execute import execute_job
from attnviz.engines.engine import Engine
from attnviz.errors import FieldError, InputError, Message, among, missing, must_be, size, whole_number
from attnviz.model.errors.conversion import field_error
from attnviz.model.io.files import TENSORS_SUFFIX, named, save
from attnviz.model.io.json_text import parse
from attnviz.model.io.tensors import Attached, AttachedFile, Progress, no_progress, read_attached
from attnviz.model.sites.sites import at, site_names
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.training.columns import MOST_RECORDS, Columns, columns_of, records_of
from attnviz.training.optimiser import OPTIMISER_BY_ID, Settings
from attnviz.training.parameters import Parameter, parameters_of, size_of
from attnviz.training.record import Course, Kept, Measures, Moment, Record
from attnviz.training.run import KEPT_BYTES, Run, Training
from attnviz.training.tasks import TASK_BY_ID, Sampler, task_of
from attnviz.training.trainable import with_length
from attnviz.training.words import MOST_BYTES, ids_of_words, task_for

RUN = "run"
"""The beginning of the paths of fields in errors."""
TEXT, MOMENTS, MEASURES, KEPT = "text", "moments", "measures", "kept"
NUMBERS = ("numbers", "moments")
"""The fields of a kept state that are tensors of their own."""
LEAST_STATES = 3
"""States of a run whose every state is larger than the bytes for all: the first, the last, the present."""

Arrays = dict[str, NDArray[Any]]


class _Task(Struct, frozen=True, forbid_unknown_fields=True):
    """The task: its id, and its sizes by name."""

    id: str
    sizes: Any


class _Said(Struct, frozen=True, forbid_unknown_fields=True):
    """The JSON of a run; the parts that are `Any` follow the fields of their classes."""

    version: Literal[1]
    task: Any
    course: Any
    settings: Any
    step: int
    spacing: int
    states: tuple[int, ...]
    moments: Any
    measures: Any
    kept: Any


# --- writing ---------------------------------------------------------------------------------------


def attached(record: Record) -> Attached:
    """A run as a document file has it beside its document."""
    task, arrays = task_of(record.sampler), Arrays()
    text = getattr(record.sampler, "text", "").encode("utf-8", "surrogatepass")
    if text:
        arrays[TEXT] = np.frombuffer(text, np.uint8)[None]
    columns: dict[str, Columns] = {}
    for name, kind in _RECORDS.items():
        columns[name] = columns_of(getattr(record, name), kind)
    states = {**record.states, record.step: record.present}
    columns[KEPT] = columns_of([states[step] for step in sorted(states)], Kept, NUMBERS)
    for name, one in columns.items():
        arrays |= {f"{name}/{field}": row for field, row in one.rows.items()}
    for step, state in states.items():
        arrays |= {f"{step}/{name}": numbers for name, numbers in _of_state(state).items()}
    said = _Said(
        1,
        _Task(task.id, {one.name: getattr(record.sampler, one.name) for one in task.sizes}),
        dataclasses.asdict(record.course),
        dataclasses.asdict(record.settings),
        record.step,
        record.spacing,
        tuple(sorted(record.states)),
        *(one.said for one in columns.values()),
    )
    return Attached(json.dumps(msgspec.to_builtins(said)), arrays)


_RECORDS: dict[str, type[Any]] = {MOMENTS: Moment, MEASURES: Measures}


def _of_state(state: Kept) -> Arrays:
    """The numbers of a state, (rows, columns), by their names in the file."""
    moments = {_moment(index): one[None] for index, one in enumerate(state.moments)}
    return {**state.numbers, **moments}


def _moment(index: int) -> str:
    """The name of what the optimiser remembers; parameters have no slash."""
    return f"optimiser/{index}"


def save_run(
    document: Document | Experiment,
    record: Record,
    path: str | os.PathLike[str],
    progress: Progress = no_progress,
) -> Path:
    """Write a document with its run beside it, as `attnviz.save` does; a `.json` file has the document alone.

    Returns the path. Raises `DocumentError`.
    """
    return save(document, path, progress, attached=attached(record))


# --- reading ---------------------------------------------------------------------------------------


def record_in(path: str | os.PathLike[str], experiment: Experiment) -> Record | None:
    """The run beside the document of a file, whose `experiment` is known; None without one.

    Raises `FieldError` for a run that does not fit the experiment, and `OSError`.
    """
    file = Path(path)
    if file.suffix.lower() != TENSORS_SUFFIX:
        return None
    found = read_attached(file)
    return None if found is None else record_of(found, experiment)


def record_of(found: AttachedFile, experiment: Experiment) -> Record:
    """The run of a document with this `experiment`, as it is stored anywhere. Raises as `record_in` does."""
    said: _Said = _converted(parse(found.text), _Said, RUN)
    sampler = _sampler(said.task, found, experiment)
    course, settings = _of_class(said.course, Course), _of_class(said.settings, Settings)
    reader = _States(with_length(experiment, sampler.n_tokens), settings, found)
    _check_steps(said, reader.nbytes)
    moments, measures = (
        records_of(kind, getattr(said, name), _rows(found, name), f"{RUN}.{name}", is_finite=kind is Moment)
        for name, kind in _RECORDS.items()
    )
    _check_curves(said.step, moments, measures)
    steps = sorted({*said.states, said.step})
    tensors: dict[str, list[Any]] = {
        "numbers": [reader.numbers(step) for step in steps],
        "moments": [reader.moments(step) for step in steps],
    }
    kept = records_of(Kept, said.kept, _rows(found, KEPT), f"{RUN}.{KEPT}", given=tensors)
    reader.check_all_read(steps)
    known = dict(zip(steps, kept, strict=True))
    _check_off(known, experiment)
    states = {step: known[step] for step in said.states}
    present = known[said.step]
    return Record(sampler, course, settings, said.step, said.spacing, moments, measures, states, present)


def _rows(found: AttachedFile, name: str) -> Arrays:
    """The rows of the columns of some records."""
    return {one.partition("/")[2]: found.read(one) for one in found.shapes if one.startswith(f"{name}/")}


def run_beside(path: str | os.PathLike[str], experiment: Experiment) -> Record:
    """The same of a file that must have a run: raises `InputError` for one without."""
    record = record_in(path, experiment)
    if record is None:
        raise InputError(Message("The file must have a run beside its document; it has none."))
    return record


def load_run(
    path: str | os.PathLike[str], document: Document, engine: str = "numpy", device: str = "auto"
) -> Run:
    """The run of a file, whose `document` is known, on an engine, at its last step.

    Raises `DocumentError` for a file without a run, or with a wrong one.
    """
    experiment = document.experiment

    def read() -> Run:
        return begun(experiment, run_beside(path, experiment), engine, device)

    return named(Path(path).name, read)


def begun(experiment: Experiment, record: Record, engine: str = "numpy", device: str = "auto") -> Run:
    """A run that goes on from a record. Raises as `train` does."""

    def job(on: Engine) -> Run:
        training = Training(on, experiment, record.sampler, record.course, record.settings)
        training.restore(record)
        return Run(training.present(), training)

    with_its_length = with_length(experiment, record.sampler.n_tokens)
    return execute_job(with_its_length, job, engine, device, passes=6 * record.course.batch)


def _converted(data: Any, kind: type[Any], path: str) -> Any:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise field_error(error, kind, data, path) from None


def _of_class(data: Any, kind: type[Any]) -> Any:
    """An object of a data class, field by field. Raises `FieldError`."""
    path, hints = f"{RUN}.{kind.__name__.lower()}", get_type_hints(kind)
    fields = [
        (one.name, hints[one.name], msgspec.NODEFAULT if one.default is dataclasses.MISSING else one.default)
        for one in dataclasses.fields(kind)
    ]
    struct = msgspec.defstruct(kind.__name__, fields, forbid_unknown_fields=True)
    read = _converted(data, struct, path)
    try:
        return kind(**msgspec.structs.asdict(read))
    except FieldError as error:
        raise error.below(path) from None


def _sampler(data: Any, found: AttachedFile, experiment: Experiment) -> Sampler:
    """The task for the document."""
    task: _Task = _converted(data, _Task, f"{RUN}.task")
    if task.id not in TASK_BY_ID:
        raise FieldError(f"{RUN}.task.id", task.id, among(TASK_BY_ID))
    names = [(one.name, int) for one in TASK_BY_ID[task.id].sizes]
    struct = msgspec.defstruct("Sizes", names, forbid_unknown_fields=True)
    sizes = msgspec.structs.asdict(_converted(task.sizes, struct, f"{RUN}.task.sizes"))
    text = b""
    if TEXT in found.shapes:
        rows, columns = found.shapes[TEXT]
        if rows != 1 or columns > MOST_BYTES:
            at_most = must_be("a row of at most {n:,} bytes", n=MOST_BYTES)
            raise FieldError(f"{RUN}.text", size((rows, columns)), at_most)
        text = found.read(TEXT).tobytes()
    try:
        sampler = task_for(experiment, task.id, text.decode("utf-8", "surrogatepass"), **sizes)
        ids_of_words(experiment, sampler.n_words)
    except UnicodeDecodeError as error:
        strange = Message("another byte at {place:,}", place=error.start)
        raise FieldError(f"{RUN}.text", strange, must_be("text in UTF-8")) from None
    except FieldError as error:
        raise error.below(RUN) from None
    return sampler


class _States:
    """Reads the states of a run, whose parameters are those of an experiment."""

    def __init__(self, experiment: Experiment, settings: Settings, found: AttachedFile) -> None:
        self._parameters = {one.name: one for one in parameters_of(experiment)}
        self._shapes, self._read = found.shapes, found.read
        count = size_of(self._parameters.values())
        n_moments = OPTIMISER_BY_ID[settings.optimiser].n_moments
        self._moments = [_moment(index) for index in range(n_moments)]
        self._expected = {name: one.shape for name, one in self._parameters.items()}
        self._expected |= dict.fromkeys(self._moments, (1, count))
        self.nbytes = (1 + n_moments) * count * np.dtype(np.float32).itemsize
        """Bytes of one state, at least."""

    def numbers(self, step: int) -> dict[str, NDArray[Any]]:
        """The parameters at a step. Raises `FieldError` for other shapes, and for what is no number."""
        return {name: self._numbers(step, name) for name in self._parameters}

    def moments(self, step: int) -> tuple[NDArray[Any], ...]:
        """The memory of the optimiser at a step. Raises as `numbers` does."""
        return tuple(self._numbers(step, name)[0] for name in self._moments)

    def _numbers(self, step: int, name: str) -> NDArray[Any]:
        whole, path = f"{step}/{name}", f"{RUN}.states.{step}.{name}"
        shape = self._expected[name]
        if whole not in self._shapes:
            raise missing(path, must_be("a tensor of {size}", size=size(shape)))
        if self._shapes[whole] != shape:
            as_document = must_be("of {size}, as in the document", size=size(shape))
            raise FieldError(path, size(self._shapes[whole]), as_document)
        numbers = self._read(whole)
        if numbers.dtype.kind != "f":
            raise FieldError(path, str(numbers.dtype), must_be("floats"))
        if not np.isfinite(numbers).all():
            self._check_infinite(numbers, self._parameters.get(name), path)
        return numbers

    @staticmethod
    def _check_infinite(numbers: NDArray[Any], parameter: Parameter | None, path: str) -> None:
        """Refuse what is not finite; −∞ of a mask is, where the document has it."""
        given = np.zeros(numbers.shape) if parameter is None else parameter.numbers()
        wrong = ~np.isfinite(numbers) & ~(np.isneginf(numbers) & np.isneginf(given))
        if wrong.any():
            row, column = (int(one) for one in np.argwhere(wrong)[0])
            raise FieldError(
                f"{path}[{row}, {column}]", float(numbers[row, column]), must_be("a finite number")
            )

    def check_all_read(self, steps: Iterable[int]) -> None:
        """Raise `FieldError` for a tensor that no part of the run mentions."""
        known = {f"{step}/{name}" for step in steps for name in self._expected} | {TEXT}
        for name in self._shapes:
            if name not in known and name.partition("/")[0] not in (*_RECORDS, KEPT):
                shape = size(self._shapes[name])
                raise FieldError(f"{RUN}.{name}", shape, Message("must belong to a kept state"))


def _check_off(states: Mapping[int, Kept], experiment: Experiment) -> None:
    """Refuse a head that is off where the experiment has none."""
    names = site_names(experiment)
    for state in states.values():
        for site, head in state.off:
            if site not in names:
                raise FieldError(f"{RUN}.{KEPT}.off", site, among(names))
            n_heads = at(experiment, site).heads.n_heads
            if not 0 <= head < n_heads:
                raise FieldError(f"{RUN}.{KEPT}.off", head, whole_number(0, n_heads - 1))


def _check_steps(said: _Said, nbytes: int) -> None:
    """Refuse steps that cannot be, and more states than a run keeps."""
    for name, least in (("step", 0), ("spacing", 1)):
        value = getattr(said, name)
        if not least <= value <= MOST_RECORDS:
            raise FieldError(f"{RUN}.{name}", value, whole_number(least, MOST_RECORDS))
    states = said.states
    ascending = sorted(set(states))
    if list(states) != ascending or states[:1] != (0,) or states[-1] > said.step:
        steps = must_be("ascending steps from 0 to {step} at most", step=said.step)
        raise FieldError(f"{RUN}.states", states, steps)
    most = max(LEAST_STATES, KEPT_BYTES // nbytes)
    if len(states) > most:
        count = Message("{n:,} states", n=len(states))
        raise FieldError(f"{RUN}.states", count, must_be("at most {n:,} states of this size", n=most))


def _check_curves(step: int, moments: tuple[Moment, ...], measures: tuple[Measures, ...]) -> None:
    """Refuse curves that are not those of a run to a step."""
    if [one.step for one in moments] != list(range(step)):
        every = must_be("one for each of the {n:,} steps, in order", n=step)
        raise FieldError(f"{RUN}.moments", Message("{n:,} of them", n=len(moments)), every)
    steps = [one.step for one in measures]
    if steps != sorted(steps) or not all(0 <= one <= step for one in steps):
        order = must_be("of ascending steps from 0 to {step}", step=step)
        raise FieldError(f"{RUN}.measures", steps[-10:], order)
