"""Cast of an English story: its people, things, places and messages, sampled together."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

from make.cast import moods, who_and_what
from make.english import words
from make.english.stories import MESSAGES
from make.english.words import Noun, Person
from make.grammar import fill, pair, series

_SENTENCE = re.compile(r'(^|[.!?] |\." |\n|(?:[:,.] |\n|^|\b(?:read|said) )")([a-z])')


def capitalised(text: str) -> str:
    """`text` with a capital at the beginning of each sentence, also of one that is quoted."""
    return _SENTENCE.sub(lambda match: match[1] + match[2].upper(), text)


def listed(items: list[str]) -> str:
    """`a, b, and c`; two items need no comma."""
    if len(items) < 3:
        return " and ".join(items)
    return ", ".join(items[:-1]) + ", and " + items[-1]


def people(rng: Random, split: str) -> tuple[Person, Person]:
    """A girl and a boy whose pair belongs to `split`, in a random order."""
    girl, boy = pair(rng, len(words.GIRLS), len(words.BOYS), split)
    both = (Person(words.GIRLS[girl], True), Person(words.BOYS[boy], False))
    return both if rng.random() < 0.5 else both[::-1]


def dressed(rng: Random, nouns: tuple[Noun, ...], count: int) -> list[Noun]:
    """`count` different nouns, each with an adjective that no other one of them has."""
    looks = words.ANIMAL_LOOKS if nouns is words.ANIMALS else words.LOOKS
    adjectives = rng.sample(words.COLOURS + looks, count)
    return [replace(n, adjective=a) for n, a in zip(rng.sample(nouns, count), adjectives, strict=True)]


def message(rng: Random) -> str:
    """A short sentence that somebody may carry to somebody else, without its full stop."""
    thing, other = dressed(rng, words.THINGS, 2)
    return fill(
        rng.choice(MESSAGES),
        rng,
        {
            "x": thing,
            "y": other,
            "z": dressed(rng, words.ANIMALS, 1)[0],
            "f": rng.choice(words.FOODS),
            "n": rng.choice(words.NUMBERS[1:]),
            "s": rng.choice(words.SPOTS),
            "p": rng.choice(words.PLACES),
            "day": rng.choice(words.DAYS),
        },
    )


def nonsense(rng: Random, count: int) -> str:
    """`count` made-up words of one to three syllables."""
    return " ".join("".join(rng.choices(words.SYLLABLES, k=rng.randint(1, 3))) for _ in range(count))


def cast(rng: Random, split: str) -> dict[str, object]:
    """The slots of one story: who is in it, and what, and where."""
    slots, number = who_and_what(rng, words, people(rng, split), dressed, 10)
    return {
        **slots,
        "n": words.NUMBERS[number],
        "less": words.NUMBERS[number - 1],
        "list": listed(series(rng, words.FLAVOURS + tuple(f.many for f in words.FOODS), 2, 5)),
        "things": listed([noun.a for noun in dressed(rng, words.THINGS, rng.randint(2, 4))]),
        "count": ", ".join(words.NUMBERS[: number + 1]),
        "song": nonsense(rng, rng.randint(3, 6)),
        "m": message(rng),
        **moods(rng, words),
    }
