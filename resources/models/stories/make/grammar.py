"""The training texts of the bundled model: short stories and exercises, in English and in Chinese.

Everything is sampled from a seeded `random.Random`, so a seed is a corpus. A text is a template with
alternatives in square brackets, `[one|another]`, which may nest, and slots in braces, `{A.she}`, which
are attributes of the people, things and places of one story.

The held-out half is new by construction: a girl and a boy for whom `held_out` is true never meet in a
training story, so every held-out story joins a pair of names to a template that never had them; the same
rule keeps pairs of nouns apart in the exercises on agreement and on measure words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import TypeVar

LANGUAGES = ("en", "zh")
"""The languages of the corpus, by their codes."""

SPLITS = ("train", "held_out")
"""Purpose of a text: `train` avoids the held-out pairs, `held_out` uses nothing else."""

_CHOICE = re.compile(r"\[([^\[\]]*)\]")

_SIGNS = (
    (0x0021, 0x007E),
    (0x0021, 0x007E),
    (0x00A1, 0x024F),
    (0x0391, 0x03C9),
    (0x0410, 0x044F),
    (0x05D0, 0x05EA),
    (0x0627, 0x064A),
    (0x0905, 0x0939),
    (0x2190, 0x22FF),
    (0x2600, 0x26FF),
    (0x3041, 0x3096),
    (0x4E00, 0x9FFF),
    (0xAC00, 0xD7A3),
    (0x1F400, 0x1F64F),
)
"""Signs and characters of other scripts, so that the model learns the bytes outside the vocabulary, too."""

Slots = Mapping[str, object]
Item = TypeVar("Item")


@dataclass(frozen=True)
class Document:
    """One text of the corpus: its language, what kind of text it is, and the text itself."""

    language: str
    kind: str
    text: str


@dataclass(frozen=True)
class Question:
    """A text that stops before a token with a right answer and a wrong one.

    `right` and `wrong` continue `prompt` and begin differently; where only a copy is right, `wrong` is
    empty. `names` are the words in `prompt` between which the reader must choose, the right one first, and
    `pronoun` is the word, at its last place in `prompt`, that stands for the right one.
    """

    language: str
    kind: str
    prompt: str
    right: str
    wrong: str
    names: tuple[str, ...] = ()
    pronoun: str = ""


@dataclass(frozen=True)
class Language:
    """A language of the corpus: its stories, exercises and questions, each drawn from a generator."""

    id: str
    kinds: tuple[tuple[str, float, Callable[[Random, str], str]], ...]
    """(kind, share, text of that kind for a generator and a split); the shares of a language sum to 1."""
    questions: tuple[tuple[str, Callable[[Random, str], Question]], ...]


def held_out(first: int, second: int) -> bool:
    """True if the pair of words with these indices in their lists is kept from training: one pair in five."""
    return (first + 2 * second) % 5 == 0


def pair(rng: Random, first: int, second: int, split: str) -> tuple[int, int]:
    """Two places, below `first` and below `second`, of a pair that belongs to `split`.

    Raises `ValueError` for a split that does not exist.
    """
    if split not in SPLITS:
        raise ValueError(f"split must be one of {', '.join(SPLITS)}; got {split!r}")
    while True:
        i, j = rng.randrange(first), rng.randrange(second)
        if held_out(i, j) == (split == "held_out"):
            return i, j


def fill(template: str, rng: Random, slots: Slots) -> str:
    """`template` with one alternative of every `[a|b]` taken, innermost first, and its slots filled.

    The brackets are gone before the slots are filled, so the words of a slot may hold any character.
    """
    while True:
        taken = _CHOICE.sub(lambda match: rng.choice(match[1].split("|")), template)
        if taken == template:
            return template.format_map(slots)
        template = taken


def documents(
    languages: tuple[Language, ...], split: str, seed: int, only: tuple[str, ...] = ()
) -> Iterator[Document]:
    """Texts of `split` without end, the languages in turn and their kinds by their shares.

    The same seed produces the same texts; the two splits of one seed share no generator. With `only`, all
    texts are of those kinds.
    """
    rng = Random(f"{split}-{seed}")
    while True:
        for language in languages:
            kinds = [kind for kind in language.kinds if not only or kind[0] in only]
            kind, _, write = rng.choices(kinds, [share for _, share, _ in kinds])[0]
            yield Document(language.id, kind, write(rng, split))


def questions(language: Language, kind: str, split: str, seed: int, count: int) -> tuple[Question, ...]:
    """`count` questions of one kind about `split`, drawn from `seed`.

    Raises `ValueError` for a kind that the language has no questions of.
    """
    asked = dict(language.questions)
    if kind not in asked:
        raise ValueError(f"kind must be one of {', '.join(asked)}; got {kind!r}")
    rng = Random(f"{language.id}-{kind}-{split}-{seed}")
    return tuple(asked[kind](rng, split) for _ in range(count))


def series(rng: Random, items: tuple[str, ...], least: int, most: int) -> list[str]:
    """Between `least` and `most` of `items` in a random order, each at most once."""
    return rng.sample(items, min(rng.randint(least, most), len(items)))


def counted(rng: Random, items: tuple[Item, ...]) -> tuple[list[Item], list[tuple[Item, int]]]:
    """Some of `items` in a row, most of them more than once, and the counts of some: 9 at most.

    A counted item may be absent.
    """
    kinds = rng.randint(1, 4)
    drawn = rng.sample(items, kinds + 2)
    row = rng.choices(drawn[:kinds], k=rng.randint(2, 9))
    return row, [(item, row.count(item)) for item in rng.sample(drawn, rng.randint(1, kinds + 2))]


def signs(rng: Random, count: int) -> str:
    """`count` signs, characters of other scripts, and emoji."""
    return "".join(chr(rng.randint(*rng.choice(_SIGNS))) for _ in range(count))
