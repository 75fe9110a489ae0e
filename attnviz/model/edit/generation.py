"""Edits of how a document is written on: pure functions, experiment in, experiment out.

Each takes the experiment as it is; where it does not write yet, an edit of its sampling or its cache begins
with `FRESH`.
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
from attnviz.model.spec.generation import Writing
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

FRESH = Writing(Sampling((Temperature(0.8),), stop=StopConditions(length=32)))
"""How writing begins where nobody has said how."""


def writing_of(experiment: Experiment) -> Writing:
    """How the experiment writes, or would."""
    return experiment.writing or FRESH


def set_writing(experiment: Experiment, writing: Writing | None) -> Experiment:
    """Write on as `writing` says; None: feed the document's tokens only."""
    return replace(experiment, writing=writing)


def differs_in_writing(one: Experiment, other: Experiment) -> bool:
    """True if how they are written on is all that may differ: the numbers of their tokens are the same."""
    fields = (field for field in Experiment.__struct_fields__ if field != "writing")
    pairs = ((getattr(one, field), getattr(other, field)) for field in fields)
    return all(a is b or a == b for a, b in pairs)


def set_operation(experiment: Experiment, operation: Operation) -> Experiment:
    """Apply `operation` with its number: in the place of the one of its kind, or where it is usually applied.

    That is before the first of those that stand behind it in `SAMPLING_OPERATIONS`.
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
    """Apply no operation of this kind."""
    present = writing_of(experiment).sampling.operations
    return _with_operations(experiment, [one for one in present if type(one) is not kind])


def move_operation(experiment: Experiment, kind: type, by: int) -> Experiment:
    """Apply the operation of this kind `by` places later (negative: earlier), as far as there are places."""
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
    """The operation of a row of the table with this number. Raises `FieldError` for one outside its range."""
    whole = isinstance(getattr(row.fresh, row.field), int)
    return replace(row.fresh, **{row.field: int(value) if whole else float(value)})


def set_seed(experiment: Experiment, seed: int) -> Experiment:
    """Draw by another seed."""
    return _with_sampling(experiment, seed=seed)


def set_stop(experiment: Experiment, /, **fields: Any) -> Experiment:
    """Replace fields of the stop conditions: `end_token`, `length`, `strings`."""
    return _with_sampling(experiment, stop=replace(writing_of(experiment).sampling.stop, **fields))


def set_cache(experiment: Experiment, cache: Cache) -> Experiment:
    """Keep keys and values in a cache of this kind."""
    return replace(experiment, writing=replace(writing_of(experiment), cache=cache))


def rewrite(experiment: Experiment, written: Sequence[str], index: int, tokens: Sequence[str]) -> Experiment:
    """Put `tokens` in the place of token `index` of the text that was written, prompt included.

    What was written before it becomes the document's; the document's tokens behind it stay.
    """
    require(0 <= index < len(written), "index", index, whole_number(0, len(written) - 1))
    return set_tokens(experiment, (*written[:index], *tokens, *experiment.tokens[index + 1 :]))


_ESCAPES = {"\\\\": "\\", "\\n": "\n", "\\|": "|"}
"""How the characters that a line of stop strings needs for itself are written in it."""


def shown_strings(strings: Sequence[str]) -> str:
    """Stop strings as one line of text: a bar between them, a line end as `\\n`, a backslash doubled."""
    written = {ord(character): escape for escape, character in _ESCAPES.items()}
    return "|".join(string.translate(written) for string in strings)


def strings_shown(line: str) -> tuple[str, ...]:
    """The stop strings that `shown_strings` writes so; empty ones count for nothing.

    A backslash before anything but a backslash, a bar or an n is itself, and so is one at the end.
    """
    texts = [""]
    for part in re.findall(r"\\[\\|n]|.", line, re.DOTALL):
        if part == "|":
            texts.append("")
        else:
            texts[-1] += _ESCAPES.get(part, part)
    return tuple(text for text in texts if text)


def _with_operations(experiment: Experiment, operations: Sequence[Operation]) -> Experiment:
    return _with_sampling(experiment, operations=tuple(operations))


def _with_sampling(experiment: Experiment, **fields: Any) -> Experiment:
    writing = writing_of(experiment)
    return replace(experiment, writing=replace(writing, sampling=replace(writing.sampling, **fields)))
