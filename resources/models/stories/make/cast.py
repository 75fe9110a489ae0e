"""People and things of a story: the slots that are sampled alike in both languages.

The order of the random numbers determines the texts of a seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from types import ModuleType
from typing import TypeVar

Noun = TypeVar("Noun")


def who_and_what(
    rng: Random,
    words: ModuleType,
    people: Sequence[object],
    dressed: Callable[[Random, tuple[Noun, ...], int], Sequence[object]],
    most: int,
) -> tuple[dict[str, object], int]:
    """The slots of people, things, animals, places and food, and a number from 2 to `most`.

    `words` are those of a language; `dressed` draws nouns of it with their adjectives.
    """
    first, second = people
    x, y, w = dressed(rng, words.THINGS, 3)
    z, v = dressed(rng, words.ANIMALS, 2)
    p, q = rng.sample(words.PLACES, 2)
    f, g = rng.sample(words.FOODS, 2)
    spots = rng.sample(words.SPOTS, 3)
    number = rng.randint(2, most)
    slots: dict[str, object] = {"A": first, "B": second, "x": x, "y": y, "w": w, "z": z, "v": v}
    slots |= {"Z": rng.choice(words.PETS), "p": p, "q": q, "f": f, "g": g, "r": rng.choice(words.FRUITS)}
    return slots | dict(zip("stu", spots, strict=True)), number


def moods(rng: Random, words: ModuleType) -> dict[str, object]:
    """The slots of when, why and how."""
    return {
        "day": rng.choice(words.DAYS),
        "why": rng.choice(words.REASONS),
        "then": rng.choice(words.REASONS),
        "mood": rng.choice(words.MOODS),
    }
