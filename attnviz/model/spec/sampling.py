"""Sampling of the next token: the operations in their order, the seed, and the stop conditions.

`SAMPLING_OPERATIONS` is the table of operations on the distribution. Adding an operation is one function
in `core.sampling`, its struct and one row here. Forms, the player and the tests iterate over this table.

A sample depends on the seed and the number of its step alone, so that going back and forth through a text
gives the same tokens.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnviz.core import sampling as core
from attnviz.core.text import visible
from attnviz.errors import Message, must_be, twice
from attnviz.i18n import N_
from attnviz.model.spec.bounds import LONGEST_TOKEN, Positive, Seed
from attnviz.model.spec.field import Field, field_of, fields_of
from attnviz.model.spec.value import Value, check_texts, require

__all__ = [
    "MinP",
    "RepetitionPenalty",
    "Sampling",
    "StopConditions",
    "Temperature",
    "TopK",
    "TopP",
]

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]


# --- the values ------------------------------------------------------------------------------------


class RepetitionPenalty(Value, frozen=True, tag_field="kind", tag="repetition_penalty"):
    """Tokens that were seen become less probable where `penalty` is above 1, more probable below."""

    where: ClassVar[str] = "sampling.repetition_penalty."

    penalty: Annotated[
        float,
        Field(
            N_("repetition penalty"),
            N_("Makes tokens that the text already contains less probable"),
            above=0,
            typed=(0.01, 1e6),
            usual=(1, 2),
            normal=1,
        ),
    ]


class Temperature(Value, frozen=True, tag_field="kind", tag="temperature"):
    """Logits divided by `value`; 0 is greedy: the most probable token, of equal ones the lowest id."""

    where: ClassVar[str] = "sampling.temperature."

    value: Annotated[
        float,
        Field(
            N_("temperature"),
            N_("A temperature below 1 sharpens the distribution, one above 1 flattens it, and 0 is greedy"),
            least=0,
            typed=(0, 1e6),
            usual=(0, 2),
            normal=1,
        ),
    ]


class TopK(Value, frozen=True, tag_field="kind", tag="top_k"):
    """Only the `k` most probable tokens, and those that equal the last of them."""

    where: ClassVar[str] = "sampling.top_k."

    k: Annotated[
        Positive,
        Field(N_("top-k"), N_("Keeps the k most probable tokens (ties included)"), usual=(1, 100), digits=0),
    ]


class TopP(Value, frozen=True, tag_field="kind", tag="top_p"):
    """Only the fewest most probable tokens whose probabilities sum to `p`; of equal ones the lowest ids."""

    where: ClassVar[str] = "sampling.top_p."

    p: Annotated[
        float,
        Field(
            N_("top-p (nucleus)"),
            N_("Keeps the fewest most probable tokens whose probabilities sum to p or more"),
            least=0,
            most=1,
            usual=(0, 1),
            normal=1,
        ),
    ]


class MinP(Value, frozen=True, tag_field="kind", tag="min_p"):
    """Only tokens that are at least `p` times as probable as the most probable one."""

    where: ClassVar[str] = "sampling.min_p."

    p: Annotated[
        float,
        Field(
            N_("min-p"),
            N_("Keeps tokens at least p times as probable as the most probable one"),
            least=0,
            most=1,
            usual=(0, 1),
            normal=0,
        ),
    ]


Operation = RepetitionPenalty | Temperature | TopK | TopP | MinP


class StopConditions(Value, frozen=True):
    """End of the generation: at the end token, after `length` new tokens, at any of these `strings`.

    All look at what was written after the prompt. A model without an end token never stops at one.
    """

    where: ClassVar[str] = "sampling.stop."

    end_token: Annotated[bool, Field(N_("Stop at end"), N_("Generation stops at the model's end token"))] = (
        True
    )
    length: Annotated[
        Positive, Field(N_("New tokens"), N_("Maximum number of generated tokens"), typed=(1, 10_000))
    ] = 256
    strings: Annotated[
        tuple[str, ...],
        Field(
            N_("Stop strings"),
            N_(
                "Generation stops when the new text contains one of these; "
                "| separates them, \\n is a line end"
            ),
        ),
    ] = ()

    def check(self) -> None:
        not_empty = must_be("a list of texts that are not empty")
        require("" not in self.strings, "sampling.stop.strings", list(self.strings), not_empty)
        check_texts("sampling.stop.strings[{index}]", self.strings, LONGEST_TOKEN)


class Sampling(Value, frozen=True):
    """The operations in the order in which they are applied, each kind once; without any, the model's own
    distribution is drawn from. `seed` decides all draws."""

    where: ClassVar[str] = "sampling."

    operations: Annotated[
        tuple[Operation, ...], Field(N_("Operations"), N_("Operations on the distribution, in their order"))
    ] = ()
    seed: Seed = 0
    stop: Annotated[StopConditions, Field(N_("Stop conditions"), N_("When generation ends"))] = (
        StopConditions()
    )

    def check(self) -> None:
        kinds = [operation.__struct_config__.tag for operation in self.operations]
        for kind in kinds:
            once = kinds.count(kind) == 1
            each_once = Message("must have each kind of operation once")
            require(once, "sampling.operations", twice(str(kind)), each_once)


# --- the table -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SamplingOperation:
    """One kind of operation. `short` is its title in a narrow column, a message, as are formula and source.

    Its title, its description and the range of its one number are those of the field.
    `apply(operation, logits, seen)` returns the logits after it.
    """

    kind: type[Operation]
    short: str
    formula: str
    source: str
    fresh: Operation
    apply: Callable[[Any, Floats, Sequence[int]], Floats]

    @property
    def id(self) -> str:
        """Tag in a document file."""
        return str(self.kind.__struct_config__.tag)

    @property
    def field(self) -> str:
        """The name of its one number."""
        return self.kind.__struct_fields__[0]

    @property
    def title(self) -> str:
        """Its name, a message."""
        return self._said.title

    @property
    def description(self) -> str:
        """Effect of the operation in one sentence; a message id."""
        return self._said.hint

    @property
    def _said(self) -> Field:
        said = field_of(fields_of(self.kind)[0].type)
        assert said is not None
        return said


SAMPLING_OPERATIONS: tuple[SamplingOperation, ...] = (
    SamplingOperation(
        RepetitionPenalty,
        N_("rep."),
        N_("seen: z > 0: z ÷ θ; z ≤ 0: z · θ"),
        N_("Keskar et al. 2019 (CTRL), which divides every z; negative ones multiplied, as is the custom"),
        fresh=RepetitionPenalty(1.2),
        apply=lambda operation, logits, seen: core.repetition_penalty(logits, operation.penalty, seen),
    ),
    SamplingOperation(
        Temperature,
        N_("temp."),
        "z ÷ T; T = 0: z < max z → −∞",
        "Ackley, Hinton, Sejnowski 1985",
        fresh=Temperature(0.8),
        apply=lambda operation, logits, seen: core.temperature(logits, operation.value),
    ),
    SamplingOperation(
        TopK,
        N_("top-k"),
        "z < z[k] → −∞; z[1] ≥ z[2] ≥ …",
        "Fan, Lewis, Dauphin 2018",
        fresh=TopK(40),
        apply=lambda operation, logits, seen: core.top_k(logits, operation.k),
    ),
    SamplingOperation(
        TopP,
        N_("top-p"),
        "π[1] + … + π[i−1] ≥ p: z[i] → −∞; π = softmax(z), π[1] ≥ π[2] ≥ …",
        "Holtzman et al. 2020",
        fresh=TopP(0.9),
        apply=lambda operation, logits, seen: core.top_p(logits, operation.p),
    ),
    SamplingOperation(
        MinP,
        N_("min-p"),
        "π < p · max π: z → −∞; π = softmax(z)",
        "Nguyen et al. 2024",
        fresh=MinP(0.05),
        apply=lambda operation, logits, seen: core.min_p(logits, operation.p),
    ),
)
"""In the order in which an order is usually chosen: `transformers` applies them so."""

OPERATION_OF: dict[type, SamplingOperation] = {row.kind: row for row in SAMPLING_OPERATIONS}


# --- the distribution, and a token of it -----------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Shaped:
    """The distribution after one operation; `operation` None: as the model gave it.

    `logits` and `probabilities` are (vocabulary,), float64, read-only; logits are −inf where a token is
    excluded. `removed` are the ids that this operation excluded, ascending.
    """

    operation: Operation | None
    logits: Floats
    probabilities: Floats
    removed: Ids


def shaped(sampling: Sampling, logits: ArrayLike, seen: Sequence[int]) -> tuple[Shaped, ...]:
    """The distribution before the first operation, and after each, in their order.

    `logits` (vocabulary,) are the model's, −inf where it excludes a token; `seen` are the ids of the text
    so far, prompt included. Raises `ValueError` with one sentence where a logit is NaN or +inf, where all
    are −inf, and where an id is not in the vocabulary.
    """
    distributions: list[Shaped] = []
    before = np.isneginf(np.asarray(logits, dtype=np.float64))
    for operation, row in _rows(sampling, logits, seen):
        probabilities = core.softmax(row)
        excluded = np.isneginf(row)
        removed = np.flatnonzero(excluded & ~before)
        for array in (row, probabilities, removed):
            array.setflags(write=False)
        distributions.append(Shaped(operation, row, probabilities, removed))
        before = excluded
    return tuple(distributions)


def choose(sampling: Sampling, logits: ArrayLike, seen: Sequence[int], step: int) -> int:
    """The id sampled at `step` (0 for the first new token); arguments and errors as in `shaped`.

    u = `default_rng([seed, step]).random()`: no draw depends on an earlier one. Two engines draw the same
    token unless u is as near to a border between two tokens as their logits differ by rounding.
    """
    require(step >= 0, "step", step, must_be("a whole number of at least {least}", least=0))
    *_before, (_operation, row) = _rows(sampling, logits, seen)
    excluded = np.isneginf(row)
    first = int(np.argmin(excluded))
    if np.count_nonzero(excluded) == row.size - 1 and math.isfinite(row[first]):
        return first  # the only one: whatever u is
    u = np.random.default_rng([sampling.seed, step]).random()
    return core.draw(core.softmax(row), u)


def _rows(
    sampling: Sampling, logits: ArrayLike, seen: Sequence[int]
) -> Iterator[tuple[Operation | None, Floats]]:
    """(operation, logits after it), beginning with the model's own; no two rows share memory."""
    row = np.array(logits, dtype=np.float64)
    yield None, row
    for operation in sampling.operations:
        row = OPERATION_OF[type(operation)].apply(operation, row, seen)
        yield operation, row


# --- the end ---------------------------------------------------------------------------------------


def stopped(stop: StopConditions, text: str, ids: Sequence[int], end_id: int | None) -> Message | None:
    """Why generation ends here, one sentence; None if it continues.

    `text` and `ids` were generated after the prompt; `end_id` is the model's end token, None without one. The
    end token comes first, then the stop string that ends first in the text, then the length. A stopped text
    stays stopped if more is appended.
    """
    if stop.end_token and end_id is not None and end_id in ids:
        return Message("the end token was generated")
    ends = [(text.find(string) + len(string), string) for string in stop.strings if string in text]
    if ends:
        string = min(ends, key=lambda end: end[0])[1]
        return Message("the text contains the stop string “{string}”", string=visible(string))
    if len(ids) >= stop.length:
        return Message("the limit of {n} new tokens was reached", n=stop.length)
    return None
