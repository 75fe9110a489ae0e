"""Edits of the generation: pure functions, experiment in, experiment out.

Each takes the experiment as it is; if it does not generate yet, an edit of its sampling or its cache starts
from `FRESH`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from attnviz.errors import among, whole_number
from attnviz.model.caches import Cache
from attnviz.model.edit.edits import set_tokens
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.generation import Forced, Writing
from attnviz.model.spec.sampling import (
    OPERATION_OF,
    SAMPLING_OPERATIONS,
    Operation,
    Sampling,
    SamplingOperation,
    StopConditions,
    Temperature,
)
from attnviz.model.spec.value import require

FRESH = Writing(Sampling((Temperature(0.0),), stop=StopConditions(length=32)))
"""Default generation: the most probable token at each step, as every panel shows it without one."""


def writing_of(experiment: Experiment) -> Writing:
    """Generation settings of the experiment, or their default."""
    return experiment.writing or FRESH


def set_writing(experiment: Experiment, writing: Writing | None) -> Experiment:
    """Generate as `writing` defines; None: compute the document's tokens only."""
    return replace(experiment, writing=writing)


def differs_in_writing(one: Experiment, other: Experiment) -> bool:
    """True if only the generation may differ: the numbers of their tokens are the same."""
    fields = (field for field in Experiment.__struct_fields__ if field != "writing")
    pairs = ((getattr(one, field), getattr(other, field)) for field in fields)
    return all(a is b or a == b for a, b in pairs)


def set_operation(experiment: Experiment, operation: Operation) -> Experiment:
    """Apply `operation` with its number: in the place of the one of its kind, or at its usual place.

    That is before the first of those that follow it in `SAMPLING_OPERATIONS`.
    """
    present = writing_of(experiment).sampling.operations
    kinds = [type(one) for one in present]
    if type(operation) in kinds:
        place = kinds.index(type(operation))
        return _with_operations(experiment, (*present[:place], operation, *present[place + 1 :]))
    rank = SAMPLING_OPERATIONS.index(OPERATION_OF[type(operation)])
    ranks = [SAMPLING_OPERATIONS.index(OPERATION_OF[kind]) for kind in kinds]
    place = next((index for index, one in enumerate(ranks) if one > rank), len(present))
    return _with_operations(experiment, (*present[:place], operation, *present[place:]))


def remove_operation(experiment: Experiment, kind: type) -> Experiment:
    """Remove the operation of this kind."""
    present = writing_of(experiment).sampling.operations
    return _with_operations(experiment, [one for one in present if type(one) is not kind])


def move_operation(experiment: Experiment, kind: type, by: int) -> Experiment:
    """Apply the operation of this kind `by` places later (negative: earlier), within the list."""
    present = list(writing_of(experiment).sampling.operations)
    place = next((index for index, one in enumerate(present) if type(one) is kind), -1)
    applied = among(one.__struct_config__.tag for one in present)
    require(place >= 0, "sampling.operations", OPERATION_OF[kind].id, applied)
    one = present.pop(place)
    present.insert(min(max(place + by, 0), len(present)), one)
    return _with_operations(experiment, present)


def operation_value(operation: Operation) -> float:
    """The one number of an operation."""
    return float(getattr(operation, OPERATION_OF[type(operation)].field))


def with_value(row: SamplingOperation, value: float) -> Operation:
    """The operation of a table row with this number. Raises `FieldError` for one outside its range."""
    whole = isinstance(getattr(row.fresh, row.field), int)
    return replace(row.fresh, **{row.field: int(value) if whole else float(value)})


def set_seed(experiment: Experiment, seed: int) -> Experiment:
    """Sample with another seed."""
    return _with_sampling(experiment, seed=seed)


def set_stop(experiment: Experiment, /, **fields: Any) -> Experiment:
    """Replace fields of the stop conditions: `end_token`, `length`, `strings`."""
    return _with_sampling(experiment, stop=replace(writing_of(experiment).sampling.stop, **fields))


def set_cache(experiment: Experiment, cache: Cache) -> Experiment:
    """Store keys and values in a cache of this kind."""
    return replace(experiment, writing=replace(writing_of(experiment), cache=cache))


def rewrite(experiment: Experiment, written: Sequence[str], index: int, tokens: Sequence[str]) -> Experiment:
    """Replace token `index` of the generated text, prompt included, by `tokens`.

    The text before it becomes the document's; the document's tokens after it stay.
    """
    require(0 <= index < len(written), "index", index, whole_number(0, len(written) - 1))
    if index >= experiment.n_queries and forced_positions(experiment):
        experiment = _with_forced(experiment, ())  # earlier ones become the document's, later ones are gone
    return set_tokens(experiment, (*written[:index], *tokens, *experiment.tokens[index + 1 :]))


def force(experiment: Experiment, index: int, token: str) -> Experiment:
    """Generate `token` at position `index`, and go on from it; forced tokens after it are dropped.

    Within the prompt, the prompt ends with it.
    """
    require(index >= 1, "index", index, whole_number(1, experiment.n_queries))
    step = index - experiment.n_queries
    if step < 0:
        shorter = set_tokens(experiment, (*experiment.tokens[:index], token))
        return _with_forced(shorter, ())
    return _with_forced(experiment, (*_forced_before(experiment, step), Forced(step, token)))


def release(experiment: Experiment, index: int) -> Experiment:
    """Sample the token at position `index` again, and go on from it; forced tokens after it are dropped."""
    return _with_forced(experiment, _forced_before(experiment, index - experiment.n_queries))


def forced_positions(experiment: Experiment, n_given: int | None = None) -> frozenset[int]:
    """Positions of the forced tokens behind a prompt of `n_given`, by default that of the experiment."""
    forced = () if experiment.writing is None else experiment.writing.forced
    start = experiment.n_queries if n_given is None else n_given
    return frozenset(start + one.step for one in forced)


_ESCAPES = {"\\\\": "\\", "\\n": "\n", "\\|": "|"}
"""Escapes of the characters that have a meaning in a line of stop strings."""


def shown_strings(strings: Sequence[str]) -> str:
    """Stop strings as one line of text: a bar between them, a line end as `\\n`, a backslash doubled."""
    written = {ord(character): escape for escape, character in _ESCAPES.items()}
    return "|".join(string.translate(written) for string in strings)


def strings_shown(line: str) -> tuple[str, ...]:
    """Parse the stop strings of `shown_strings`; empty ones are ignored.

    A backslash before anything but a backslash, a bar or an n is itself, and so is one at the end.
    """
    texts = [""]
    for part in re.findall(r"\\[\\|n]|.", line, re.DOTALL):
        if part == "|":
            texts.append("")
        else:
            texts[-1] += _ESCAPES.get(part, part)
    return tuple(text for text in texts if text)


def _forced_before(experiment: Experiment, step: int) -> tuple[Forced, ...]:
    return tuple(one for one in writing_of(experiment).forced if one.step < step)


def _with_forced(experiment: Experiment, forced: tuple[Forced, ...]) -> Experiment:
    return replace(experiment, writing=replace(writing_of(experiment), forced=forced))


def _with_operations(experiment: Experiment, operations: Sequence[Operation]) -> Experiment:
    return _with_sampling(experiment, operations=tuple(operations))


def _with_sampling(experiment: Experiment, **fields: Any) -> Experiment:
    writing = writing_of(experiment)
    return replace(experiment, writing=replace(writing, sampling=replace(writing.sampling, **fields)))
