"""Cast of a Chinese story: its people, things, places and messages, sampled together."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from make.cast import moods, who_and_what
from make.chinese import words
from make.chinese.stories import MESSAGES
from make.chinese.words import Noun, Person
from make.grammar import fill, pair, series


def listed(items: list[str]) -> str:
    """甲、乙和丙."""
    return "、".join(items[:-1]) + "和" + items[-1]


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
    spots = rng.sample(words.SPOTS, 2)
    return fill(
        rng.choice(MESSAGES),
        rng,
        {
            "x": thing,
            "y": other,
            "z": dressed(rng, words.ANIMALS, 1)[0],
            "f": rng.choice(words.FOODS),
            "n": rng.choice(words.COUNTS[1:]),
            "s": spots[0],
            "t": spots[1],
            "p": rng.choice(words.PLACES),
            "day": rng.choice(words.DAYS),
        },
    )


def cast(rng: Random, split: str) -> dict[str, object]:
    """The slots of one story: who is in it, and what, and where."""
    slots, number = who_and_what(rng, words, people(rng, split), dressed, 9)
    return {
        **slots,
        "n": words.COUNTS[number],
        "less": words.COUNTS[number - 1],
        "list": listed(series(rng, words.FLAVOURS, 2, 5)),
        "things": listed([noun.one for noun in dressed(rng, words.THINGS, rng.randint(2, 4))]),
        "count": "、".join(words.NUMBERS[: number + 1]),
        "song": "".join(rng.choices(words.SYLLABLES, k=rng.randint(3, 8))),
        "m": message(rng),
        **moods(rng, words),
    }
