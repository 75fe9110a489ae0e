"""`TASKS`: what a model learns, made by the program: texts whose answers are known exactly.

Texts are drawn with their targets, the tokens that follow; only the positions that a task asks about count.
Training and held-out texts never share a list, a pair or a line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from attnviz.errors import FieldError, among, must_be, whole_number
from attnviz.explain.scripts import code as scripts
from attnviz.explain.scripts.code import note
from attnviz.i18n import N_
from attnviz.training.batch import NOT_COUNTED

Ids = NDArray[np.int64]
Bools = NDArray[np.bool_]

HELD_OUT = 8
"""One text in eight is held out, where a task makes its texts."""
MOST_TOKENS = 16_384
"""Tokens of a text, at most."""
MOST_TRIES = 200
"""Draws until a text of the wanted side is found: one of eight is missed so often once in 10¹¹ texts."""


MOST_SIZE = 4096
"""Tokens, words and pairs at most."""


@dataclass(frozen=True)
class Size:
    """A size of a task: its title, a message, its usual value and its range."""

    name: str
    title: str
    value: int
    least: int
    most: int


def _size(value: int, title: str, least: int, most: int = MOST_SIZE) -> int:
    """A field of a task with its title and its range."""
    made: int = field(default=value, metadata={"title": title, "least": least, "most": most})
    return made


TOKENS, WORDS = N_("Tokens"), N_("Words")


class Texts(NamedTuple):
    """Texts of n tokens: `ids` (text, n), and those of the next tokens, `targets`; `NOT_COUNTED` where the
    task does not ask.
    """

    ids: Ids
    targets: Ids


class Sampler(Protocol):
    """A task with its sizes: `n_tokens` of a text, `n_words` of the vocabulary that it needs."""

    @property
    def n_tokens(self) -> int: ...
    @property
    def n_words(self) -> int: ...
    def texts(self, rng: np.random.Generator, count: int, *, is_held_out: bool = False) -> Texts:
        """`count` texts drawn from one side of the split."""

    def code(self, keep: scripts.Keep) -> scripts.Lines:
        """The same draws in a script: a function `draw(rng, count, is_held_out)`, which returns the texts
        (text, n_tokens + 1) and the asked positions (text, n_tokens). `keep` stores arrays of many numbers.
        """


def _shifted(texts: Ids, asked: Bools) -> Texts:
    """The first n of n + 1 tokens, and their targets; `asked` (text, n) are the positions that count."""
    return Texts(texts[:, :-1], np.where(asked, texts[:, 1:], NOT_COUNTED))


@dataclass(frozen=True)
class Copy:
    """A list of `shortest` to `longest` different words, said again and again: w₁ … w_k w₁ … w_k w₁ ….

    The length k of each list is drawn, so that no fixed distance finds the word. Asked is each word whose
    predecessor was said before: at w₁ for the second time the list is known.
    """

    n_tokens: int = _size(32, TOKENS, 4)
    n_words: int = _size(16, WORDS, 2)
    shortest: int = _size(5, N_("Shortest list"), 2)
    longest: int = _size(16, N_("Longest list"), 2)

    def __post_init__(self) -> None:
        _check("words", self.n_words, 2)
        _check("shortest", self.shortest, 2, self.n_words)
        _check("longest", self.longest, self.shortest, self.n_words)
        _check("tokens", self.n_tokens, self.longest + 2, MOST_TOKENS)

    def texts(self, rng: np.random.Generator, count: int, *, is_held_out: bool = False) -> Texts:
        """See `Sampler`."""
        lengths = rng.integers(self.shortest, self.longest + 1, count)
        lists = np.argsort(rng.random((count, self.n_words)), axis=1)
        for _try in range(MOST_TRIES):
            wrong = _is_held_out(lists[:, : self.shortest]) != is_held_out
            if not wrong.any():
                break
            lists[wrong] = np.argsort(rng.random((int(wrong.sum()), self.n_words)), axis=1)
        places = np.arange(self.n_tokens + 1)
        texts = np.take_along_axis(lists, places % lengths[:, None], axis=1)
        return _shifted(texts, places[1:] > lengths[:, None])

    def code(self, keep: scripts.Keep) -> scripts.Lines:
        """See `Sampler`."""
        n_words = self.n_words
        return (
            *_HELD_OUT_CODE,
            f"def draw(rng, count, is_held_out):{note(LISTS)}",
            f"    lengths = rng.integers({self.shortest}, {self.longest + 1}, count)",
            f"    lists = np.argsort(rng.random((count, {n_words})), axis=1)",
            f"    for _try in range({MOST_TRIES}):",
            f"        wrong = is_kept_apart(lists[:, :{self.shortest}]) != is_held_out",
            "        if not wrong.any():",
            "            break",
            f"        lists[wrong] = np.argsort(rng.random((wrong.sum(), {n_words})), axis=1)",
            f"    places = np.arange({self.n_tokens + 1})",
            "    drawn = np.take_along_axis(lists, places % lengths[:, None], axis=1)",
            f"    return drawn, places[1:] > lengths[:, None]{note(SAID)}",
        )


@dataclass(frozen=True)
class Lookup:
    """`pairs` of a key and its value, then one of the keys; asked is its value.

    The first half of the words are keys, the others values.
    """

    pairs: int = _size(6, N_("Pairs"), 2)
    n_words: int = _size(32, WORDS, 4)

    def __post_init__(self) -> None:
        _check("words", self.n_words, 4)
        _check("pairs", self.pairs, 2, self.n_words // 2)

    @property
    def n_tokens(self) -> int:
        """The pairs, and the key that is looked up."""
        return 2 * self.pairs + 1

    def texts(self, rng: np.random.Generator, count: int, *, is_held_out: bool = False) -> Texts:
        """See `Sampler`."""
        half = self.n_words // 2
        keys = np.zeros((count, self.pairs), np.int64)
        values, wrong = np.zeros_like(keys), np.ones(count, np.bool_)
        for _try in range(MOST_TRIES):
            many = int(wrong.sum())
            keys[wrong] = np.argsort(rng.random((many, half)), axis=1)[:, : self.pairs]
            values[wrong] = rng.integers(half, self.n_words, (many, self.pairs))
            wrong = _is_held_out(np.concatenate([keys, values], axis=1)) != is_held_out
            if not wrong.any():
                break
        asked = rng.integers(0, self.pairs, count)
        row = np.arange(count)
        texts = np.stack([keys, values], axis=2).reshape(count, -1)
        texts = np.concatenate([texts, keys[row, asked, None], values[row, asked, None]], axis=1)
        return _shifted(texts, _last(count, self.n_tokens))

    def code(self, keep: scripts.Keep) -> scripts.Lines:
        """See `Sampler`."""
        half, pairs = self.n_words // 2, self.pairs
        return (
            *_HELD_OUT_CODE,
            f"def draw(rng, count, is_held_out):{note(PAIRS)}",
            f"    keys, values = np.zeros((2, count, {pairs}), int)",
            "    wrong = np.ones(count, bool)",
            f"    for _try in range({MOST_TRIES}):",
            f"        keys[wrong] = np.argsort(rng.random((wrong.sum(), {half})), axis=1)[:, :{pairs}]",
            f"        values[wrong] = rng.integers({half}, {self.n_words}, (wrong.sum(), {pairs}))",
            "        wrong = is_kept_apart(np.concatenate([keys, values], axis=1)) != is_held_out",
            "        if not wrong.any():",
            "            break",
            f"    chosen = np.arange(count), rng.integers(0, {pairs}, count)",
            "    drawn = np.stack([keys, values], axis=2).reshape(count, -1)",
            "    drawn = np.column_stack([drawn, keys[chosen], values[chosen]])",
            *_last_code(self.n_tokens),
        )


@dataclass(frozen=True)
class Addition:
    """a + b modulo `modulus`, as the three tokens a, b and =; asked is the sum.

    Of all unordered pairs, half are trained, in both orders; the others are held out. `seed` draws them.
    """

    modulus: int = _size(59, N_("Modulus"), 2, 997)
    seed: int = _size(0, N_("Seed of the pairs"), 0, 2**31 - 1)

    def __post_init__(self) -> None:
        _check("modulus", self.modulus, 2, 997)

    n_tokens = 3

    @property
    def n_words(self) -> int:
        """The numbers, and the sign =."""
        return self.modulus + 1

    @cached_property
    def pairs(self) -> tuple[Ids, Ids]:
        """The unordered pairs (pair, 2) of both sides: trained, held out."""
        pairs = np.stack(np.triu_indices(self.modulus), axis=1)
        order = np.random.default_rng(self.seed).permutation(len(pairs))
        half = len(pairs) // 2
        return pairs[order[:half]], pairs[order[half:]]

    def texts(self, rng: np.random.Generator, count: int, *, is_held_out: bool = False) -> Texts:
        """See `Sampler`."""
        side = self.pairs[is_held_out]
        pairs = rng.permuted(side[rng.integers(0, len(side), count)], axis=1)
        sign = np.full(count, self.modulus)
        texts = np.column_stack([pairs, sign, pairs.sum(axis=1) % self.modulus])
        return _shifted(texts, _last(count, self.n_tokens))

    def code(self, keep: scripts.Keep) -> scripts.Lines:
        """See `Sampler`."""
        p = self.modulus
        return (
            f"pairs = np.stack(np.triu_indices({p}), axis=1){note(UNORDERED)}",
            f"pairs = pairs[np.random.default_rng({self.seed}).permutation(len(pairs))]",
            f"sides = pairs[: len(pairs) // 2], pairs[len(pairs) // 2 :]{note(SIDES)}",
            "",
            "",
            f"def draw(rng, count, is_held_out):{note(SUMS, p=p)}",
            "    side = sides[is_held_out]",
            "    both = rng.permuted(side[rng.integers(0, len(side), count)], axis=1)",
            f"    drawn = np.column_stack([both, np.full(count, {p}), both.sum(axis=1) % {p}])",
            *_last_code(self.n_tokens),
        )


@dataclass(frozen=True, eq=False)
class Lines:
    """Lines of a `text` as numbers of words; asked is each next token of a line.

    Every `HELD_OUT`th line is held out; of fewer lines the last part. A text is a window of `n_tokens` over
    the lines of a side in a row.
    """

    lines: tuple[tuple[int, ...], ...]
    n_words: int
    text: str
    n_tokens: int = _size(32, TOKENS, 2)

    def __post_init__(self) -> None:
        _check("tokens", self.n_tokens, 2, MOST_TOKENS)
        shortest = min(len(side) for side in self.sides)
        if shortest <= self.n_tokens:
            needed = must_be("a text whose held-out part has more than {n} tokens", n=self.n_tokens)
            raise FieldError("text", whole(shortest), needed)

    @cached_property
    def sides(self) -> tuple[Ids, Ids]:
        """The tokens of both sides in a row: trained, held out."""
        if len(self.lines) < HELD_OUT:
            row = np.array([token for line in self.lines for token in line], np.int64)
            cut = len(row) - len(row) // HELD_OUT
            return row[:cut], row[cut:]
        sides: tuple[list[int], list[int]] = ([], [])
        for number, line in enumerate(self.lines):
            sides[number % HELD_OUT == HELD_OUT - 1].extend(line)
        return np.array(sides[0], np.int64), np.array(sides[1], np.int64)

    def texts(self, rng: np.random.Generator, count: int, *, is_held_out: bool = False) -> Texts:
        """See `Sampler`."""
        side = self.sides[is_held_out]
        starts = rng.integers(0, len(side) - self.n_tokens, count)
        texts = side[starts[:, None] + np.arange(self.n_tokens + 1)]
        return _shifted(texts, np.ones((count, self.n_tokens), np.bool_))

    def code(self, keep: scripts.Keep) -> scripts.Lines:
        """See `Sampler`."""
        kept = [keep(name, side) for name, side in zip(("trained", "held_out"), self.sides, strict=True)]
        return (
            f"sides = {', '.join(f'{side}.astype(int)' for side in kept)}{note(SIDES)}",
            "",
            "",
            f"def draw(rng, count, is_held_out):{note(WINDOWS, n=self.n_tokens)}",
            "    side = sides[is_held_out]",
            f"    starts = rng.integers(0, len(side) - {self.n_tokens}, count)",
            f"    drawn = side[starts[:, None] + np.arange({self.n_tokens + 1})]",
            f"    return drawn, np.ones((count, {self.n_tokens}), bool){note(EACH)}",
        )


def _last(count: int, n_tokens: int) -> Bools:
    """Only the last position of each text is asked."""
    return np.broadcast_to(np.arange(n_tokens) == n_tokens - 1, (count, n_tokens))


def whole(number: int) -> str:
    """A number of tokens as an error quotes it."""
    return f"{number} tokens"


def _is_held_out(lists: Ids) -> Bools:
    """The side of each list (list, word), by a sum over its words that their order changes."""
    places = np.arange(1, lists.shape[1] + 1)
    return (lists * places).sum(axis=1) % HELD_OUT == 0


LISTS = N_("different words, said again and again")
SAID = N_("asked: each word whose predecessor was said before")
PAIRS = N_("keys with their values, then one of the keys")
LAST = N_("asked: the last token alone")
UNORDERED = N_("all unordered pairs")
SIDES = N_("trained, held out")
SUMS = N_("a, b, =, and a + b modulo {p}")
WINDOWS = N_("windows of {n} tokens and the next one")
EACH = N_("asked: every token")

_HELD_OUT_CODE = (
    "def is_kept_apart(lists):",
    f"    return (lists * np.arange(1, lists.shape[1] + 1)).sum(axis=1) % {HELD_OUT} == 0",
    "",
    "",
)


def _last_code(n_tokens: int) -> scripts.Lines:
    asked = f"np.tile(np.arange({n_tokens}) == {n_tokens - 1}, (count, 1))"
    return (f"    return drawn, {asked}{note(LAST)}",)


def _check(field: str, number: int, low: int, high: int | None = None) -> None:
    if number < low or (high is not None and number > high):
        raise FieldError(f"task.{field}", number, whole_number(low, high))


@dataclass(frozen=True)
class Task:
    """One task: its name, what it asks, its sampler with the usual sizes, and when it counts as solved.

    `solved` is the share of right answers on held-out texts.
    """

    id: str
    title: str
    help: str
    make: Callable[..., Sampler]
    solved: float

    @property
    def sizes(self) -> tuple[Size, ...]:
        """The sizes that can be chosen."""
        found: list[Any] = [one for one in fields(cast(Any, self.make)) if one.metadata]
        return tuple(Size(one.name, value=one.default, **one.metadata) for one in found)


TASKS: tuple[Task, ...] = (
    Task(
        "copy",
        N_("Say it again"),
        N_("A list of different words, said again and again: which word comes next?"),
        Copy,
        0.9,
    ),
    Task(
        "lookup",
        N_("Look up a key"),
        N_("Pairs of a key and its value, then a key: what is its value?"),
        Lookup,
        0.9,
    ),
    Task("addition", N_("Add modulo p"), N_("Two numbers: what is their sum modulo p?"), Addition, 0.99),
    Task("lines", N_("Your lines"), N_("Lines of your own text: which token comes next?"), Lines, 0.9),
)
TASK_BY_ID = {task.id: task for task in TASKS}

LINES = next(task.id for task in TASKS if task.make is Lines)
"""The task of a text of one's own."""


def made_task(id_: str, *given: Any, **sizes: int) -> Sampler:
    """A task with its sizes; `given` are the lines of a text, the number of words of a document, and the
    text, which the task of lines takes, and no other. Raises `FieldError` for another name or size.
    """
    takes_text = [task for task, row in TASK_BY_ID.items() if (row.make is Lines) == bool(given)]
    if id_ not in takes_text:
        raise FieldError("task", id_, among(takes_text))
    names = [one.name for one in TASK_BY_ID[id_].sizes]
    strange = next((name for name in sizes if name not in names), None)
    if strange is not None:
        raise FieldError("sizes", strange, among(names))
    return TASK_BY_ID[id_].make(*given, **sizes)


def task_of(sampler: Sampler) -> Task:
    """The task of a sampler."""
    return next(row for row in TASKS if row.make is type(sampler))
