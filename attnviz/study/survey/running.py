"""`survey`: all texts through one process, or through the workers of a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from attnviz.compute.budget import Estimate, available_memory, human_bytes
from attnviz.compute.estimate import estimate
from attnviz.core.progress import Check, Progress, never_cancelled, progress_of
from attnviz.engines.engine import ITEMSIZE
from attnviz.errors import FieldError, InputError, Message, must_be
from attnviz.model.edit.sharing import matrices_in
from attnviz.model.spec.experiment import Experiment
from attnviz.study.survey.cluster import Row, Where, measured_on
from attnviz.study.survey.measure import check_vocabulary, measure, open_model, with_text
from attnviz.study.survey.plan import Plan
from attnviz.study.survey.store import Store, encoded
from attnviz.study.survey.summary import numbers_of_highest
from attnviz.study.survey.texts import Text

BASE_BYTES = 400 * 2**20
"""Memory of a worker before it opens a model: Python and its packages."""
FIRST_TEXT = "a"
"""The text of a model before its first one."""
CHARACTERS = 64
"""Characters that are kept of a text for each of its tokens; a token seldom has as many."""


def survey(
    plan: Plan,
    texts: Sequence[Text],
    path: str | Path,
    where: Where | None = None,
    check: Check = never_cancelled,
    *,
    model: Experiment | None = None,
    reserve: int = 0,
) -> Path:
    """Measure every text and write the rows, one for each text and head, to a `.parquet` file.

    A survey that was interrupted goes on where it stopped; no text is counted twice. `where` None is this
    process, in which `reserve` cores stay free. `check` may raise: what is measured stays for the next time.
    `model` is the model of the plan if no file has it; its text does not count.

    Raises `InputError` for a plan, a text or a file that is not valid, and for too little memory; `OSError`.
    """
    if model is not None:
        check_vocabulary(model, plan.model)
        model = replace(with_text(model, FIRST_TEXT, plan.n_tokens), dtype=plan.dtype)
    assert model is None or where is None
    store = Store(path, plan, model)
    try:
        left = [text for text in texts if (text.number, text.key) not in store.done]
        n_done = len(texts) - len(left)
        rest = progress_of(check).part(n_done / len(texts), 1.0)
        measured = (
            _here(plan, left, model, rest, reserve) if where is None else measured_on(where, plan, left)
        )
        for count, (number, key, body) in enumerate(measured, 1):
            store.add(number, key, body)
            rest.at(count / len(left))
            check()
        table = store.table()
        return store.finish(table, excerpts(plan, table, texts))
    finally:
        store.close()


def _here(
    plan: Plan, texts: Sequence[Text], given: Experiment | None, progress: Progress, reserve: int
) -> Iterator[Row]:
    model = open_model(plan) if given is None and texts else given
    for at, text in enumerate(texts):
        assert model is not None
        own = progress.part(at / len(texts), (at + 1) / len(texts))
        yield text.number, text.key, encoded(plan, measure(plan, model, text, own, reserve))


def excerpts(plan: Plan, table: Any, texts: Sequence[Text]) -> dict[int, str]:
    """The texts with the highest scores, by number: as much of each as the model may have read."""
    wanted = numbers_of_highest(table)
    return {text.number: text.text[: CHARACTERS * plan.n_tokens] for text in texts if text.number in wanted}


def memory_needed(plan: Plan, model: Experiment, texts: Sequence[Text]) -> int:
    """Bytes that a worker needs: its base, the weights stored and converted, a pass of the longest text."""
    longest = max(texts, key=lambda text: len(text.text)).text
    size: Estimate = estimate(with_text(model, longest, plan.n_tokens), ITEMSIZE[plan.dtype])
    passes = 1 if plan.ablate is None else 3
    weights = list(matrices_in(model, set()))
    stored = sum(matrix.nbytes for matrix in weights)
    converted = ITEMSIZE[plan.dtype] * sum(int(np.prod(matrix.shape)) for matrix in weights)
    return BASE_BYTES + stored + converted + passes * size.bytes


def check_memory(needed: int, workers: int) -> None:
    """Raise `InputError` if this machine has less memory than that many workers need."""
    free = available_memory()
    room = {"each": human_bytes(needed), "free": human_bytes(free)}
    if needed > free:
        raise InputError(Message("A survey must fit in {free}, the free memory; got {each}.", **room))
    if workers * needed > free:
        rule = must_be(
            "at most {most}: each worker needs {each} and {free} are free", most=free // needed, **room
        )
        raise FieldError("workers", workers, rule)


def stated(needed: int, workers: int) -> Message:
    """The memory of the workers in a sentence."""
    return Message(
        "Memory of each worker: at most {each}; workers: {n}.", n=workers, each=human_bytes(needed)
    )
