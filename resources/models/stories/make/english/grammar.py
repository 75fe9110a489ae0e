"""English stories, exercises and questions."""

from __future__ import annotations

import re
from random import Random

from make.english import words
from make.english.cast import capitalised, cast, message, nonsense, people
from make.english.stories import LATER, OPENINGS, STORIES
from make.english.words import Noun, Person
from make.grammar import Language, Question, counted, fill, pair, signs


def story(rng: Random, split: str) -> str:
    """One story: an opening and an episode, and now and then a second one with the same two people."""
    slots = cast(rng, split)
    text = fill(rng.choice(OPENINGS) + rng.choice(STORIES), rng, slots)
    if rng.random() < 0.35:
        again = dict(zip("AB", rng.sample([slots["A"], slots["B"]], 2), strict=True))
        text += "\n" + fill(rng.choice(LATER) + rng.choice(STORIES), rng, {**cast(rng, split), **again})
    return capitalised(text.strip())


OWNING = (
    "{A} had {x.a} and {B} had {y.a}.",
    "{A} brought {x.a} to {p.name}. {B} brought {y.a}.",
    "{A} and {B} met {p}. {A} carried {x.a}, and {B} carried {y.a}.",
    "{p} {A} found {x.a}. {B} found {y.a}.",
)
USING = (
    "{C.she} [played with|was proud of|cleaned|showed us|looked at|put down|held up] {C.hers} ",
    "[soon|later|then|after that] {C.she} [dropped|hid|lost|painted|picked up] {C.hers} ",
)


def owners(rng: Random, split: str) -> str:
    """Two people with a thing each, then what each of them did with it, by pronoun and by name."""
    slots = cast(rng, split)
    own = [(slots["A"], slots["x"]), (slots["B"], slots["y"])]
    parts = [fill(rng.choice(OWNING), rng, slots)]
    for _ in range(rng.randint(1, 2)):
        rng.shuffle(own)
        for owner, thing in own:
            assert isinstance(thing, Noun)
            parts.append(fill(rng.choice(USING), rng, {"C": owner}) + thing.full + ".")
    owner, thing = rng.choice(own)
    assert isinstance(thing, Noun)
    parts.append(
        rng.choice((f"Who had the {thing.full}? {owner} did.", f"The {thing.full} was for {owner}.", ""))
    )
    return capitalised(" ".join(parts)).strip()


def pronouns(rng: Random, split: str) -> str:
    """Three sentences in which the pronoun follows from the text before."""
    return "\n".join(_pronoun_sentence(rng, split)[2] for _ in range(3))


PRONOUN = (
    ("{p} {A} met {B}. {A} was {why.mood}, so ", "{A.she}", " {why.deed}."),
    ("{p} {A} met {B}. {B} was {why.mood}, so ", "{B.she}", " {why.deed}."),
    ("{A} waved to {B}, and then ", "{A.she}", " {why.deed}."),
    ("{A} gave {x.a} to {B} and said that ", "{A.she}", " had another one."),
    ('"Look, {A}, I found {x.a}," said {B}, and ', "{B.she}", " held it up."),
    ("{A} could not see {B}, because ", "{B.she}", " was {s}."),
    ("{A} looked for {B}, but ", "{A.she}", " found only {x.a}."),
    ("{A} was {why.mood}, and {B} was {then.mood}. {A} {why.deed}, and ", "{A.she}", " felt better."),
)
"""(prompt, the pronoun that must follow, the rest of the sentence)."""


def _pronoun_sentence(rng: Random, split: str) -> tuple[str, tuple[str, str], str]:
    """A prompt, its (right, wrong) names, and the whole sentence."""
    slots = cast(rng, split)
    prompt, pronoun, rest = rng.choice(PRONOUN)
    right, wrong = ("A", "B") if pronoun == "{A.she}" else ("B", "A")
    whole = capitalised(fill(prompt + pronoun + rest, rng, slots))
    return (
        whole[: len(fill(prompt, rng, slots))],
        (str(slots[right]), str(slots[wrong])),
        whole,
    )


def _scene(rng: Random, slots: dict[str, object]) -> str:
    """A sentence or two about the two people of `slots`, its capitals not yet there."""
    one, other = rng.sample((("A", "x"), ("B", "y")), 2)
    draws = (
        lambda: fill(rng.choice(OWNING), rng, slots),
        lambda: fill("".join(rng.choice(PRONOUN)), rng, slots),
        lambda: fill(f"{rng.choice(OWNING)} {_using(rng, *one)} {_using(rng, *other)}", rng, slots),
    )
    return rng.choice(draws)()


def _using(rng: Random, owner: str, thing: str) -> str:
    """The template of what somebody did with a thing; both are names of slots."""
    return f"{rng.choice(USING)}{{{thing}.full}}.".replace("{C.", f"{{{owner}.")


def _scenes(rng: Random, split: str) -> tuple[str, dict[str, object]]:
    """One or two scenes with the same people, and their slots."""
    slots = cast(rng, split)
    text = _scene(rng, slots)
    if rng.random() < 0.4:
        again = dict(zip("AB", rng.sample([slots["A"], slots["B"]], 2), strict=True))
        text += " " + _scene(rng, {**cast(rng, split), **again})
    return capitalised(text), slots


def _named(rng: Random, slots: dict[str, object]) -> list[tuple[str, Person]]:
    """Different pronouns, each with the one of the two people for whom it stands."""
    found = set()
    for person in (slots["A"], slots["B"]):
        assert isinstance(person, Person)
        found |= {(word, person) for word in (person.she, person.she.capitalize(), person.her, person.hers)}
    return rng.sample(sorted(found, key=lambda one: one[0]), rng.randint(1, 4))


def naming(rng: Random, split: str) -> str:
    """Reference: after a few sentences, each pronoun and, right after it, the name that it refers to."""
    parts = []
    for _ in range(rng.randint(2, 4)):
        text, slots = _scenes(rng, split)
        key = ", ".join(f"{word} {one}" for word, one in _named(rng, slots))
        parts.append(f"{text} {rng.choice(('Names', 'Who is who'))}: {key}.")
    return "\n".join(parts)


def _counted(rng: Random) -> tuple[str, list[tuple[str, int]]]:
    """Words in a row up to their count, and the number of occurrences of each."""
    row, counts = counted(rng, rng.choice((_EVERY_WORD, _EVERY_WORD, words.LETTERS)))
    return f"Count: {' '.join(row)}. How often:", counts


def counting(rng: Random, split: str) -> str:
    """Words in a row, and their counts: each must be found at all its positions."""
    prompt, counts = _counted(rng)
    return f"{prompt} {', '.join(f'{word} {count}' for word, count in counts)}."


def agreement(rng: Random, split: str) -> str:
    """Sentences in the present tense, their verbs far from their subjects."""
    return " ".join(_agreement_sentence(rng, split)[2] for _ in range(rng.randint(3, 6)))


def _agreement_sentence(rng: Random, split: str) -> tuple[str, tuple[str, str], str]:
    """A prompt that ends after the subject, its (right, wrong) verbs, and the whole sentence."""
    i, j = pair(rng, len(words.ANIMALS), len(words.THINGS), split)
    animal, thing = words.ANIMALS[i], words.THINGS[j]
    plural = rng.random() < 0.5
    near = rng.choice((f"near the {thing.one}", f"near the {thing.many}", f"with the {thing.many}",
                       f"behind the {thing.one}"))  # fmt: skip
    adjective = rng.choice(("", "", rng.choice(words.COLOURS + words.ANIMAL_LOOKS) + " "))
    subject = f"The {adjective}{animal.many if plural else animal.one} {near}"
    many, one = rng.choice((*words.ACTIONS, ("are", "is"), ("are", "is"), ("are", "is"), ("have", "has")))
    right, wrong = (many, one) if plural else (one, many)
    rest = {"are": f" {rng.choice(words.MOODS)}", "have": f" {rng.choice(words.NUMBERS[1:])} {thing.many}"}
    return subject, (f" {right}", f" {wrong}"), f"{subject} {right}{rest.get(many, '')}."


COPY = (
    ('Say it again: "', '." "', '."'),
    ("Copy this line: ", "\nCopy this line: ", "\n"),
    ("First time: ", ". Second time: ", "."),
    ('{A} said: "', '." {B} said it again: "', '."'),
    ("The code is ", ". {A} wrote it down: ", "."),
    ("", "\n", "\n"),
)
"""(before the first copy, between the copies, after the second)."""


def sequence(rng: Random) -> str:
    """Something to be repeated: letters, digits, nonsense, things, words of all kinds, or a sentence."""
    count = rng.randint(4, 16)
    draws = (
        lambda: " ".join(rng.choices(words.LETTERS, k=count)),
        lambda: " ".join(rng.choices(words.DIGITS + words.LETTERS, k=count)),
        lambda: "".join(rng.choices(words.DIGITS, k=count)),
        lambda: nonsense(rng, rng.randint(2, 8)),
        lambda: ", ".join(
            f"{rng.choice(words.NUMBERS[1:])} {rng.choice(words.FOODS).many}" for _ in range(4)
        ),
        lambda: " ".join(rng.choices(_EVERY_WORD, k=count)),
        lambda: " ".join(rng.choices(_EVERY_WORD, k=count)),
        lambda: " ".join(rng.choices(words.RARE, k=count)),
        lambda: " ".join(rng.choices(words.RARE, k=count)),
        lambda: capitalised(message(rng)),
        lambda: capitalised(message(rng)),
        lambda: signs(rng, rng.randint(2, 6)),
    )
    return rng.choice(draws)()


_EVERY_WORD = tuple(
    sorted(
        {
            *words.GIRLS, *words.BOYS, *words.COLOURS, *words.LOOKS, *words.MOODS, *words.NUMBERS,
            *words.DAYS, *words.FLAVOURS, *(n.one for n in words.THINGS), *(n.many for n in words.FOODS),
            *(n.one for n in words.ANIMALS), *(word for action in words.ACTIONS for word in action),
        }
    )
)  # fmt: skip


def _copy(rng: Random, split: str) -> tuple[str, str, str]:
    """The text up to the second copy, the copy, and what follows it."""
    slots = dict(zip("AB", people(rng, split), strict=True))
    before, between, after = (part.format_map(slots) for part in rng.choice(COPY))
    line = sequence(rng)
    return before + line + between, line, after


def repetition(rng: Random, split: str) -> str:
    """One or two lines, each said again exactly."""
    return "\n".join("".join(_copy(rng, split)).strip() for _ in range(rng.randint(1, 2)))


def ask_pronoun(rng: Random, split: str) -> Question:
    """Question for the next pronoun: that of the first name, or that of the second?"""
    prompt, names, whole = _pronoun_sentence(rng, split)
    right = re.match(r"\w+", whole[len(prompt) :])
    assert right is not None
    wrong = {"she": "he", "he": "she"}[right[0]]
    return Question("en", "pronoun", prompt.rstrip(), f" {right[0]}", f" {wrong}", names)


def ask_coreference(rng: Random, split: str) -> Question:
    """Whose thing comes next: that of the person for whom the pronoun stands, or that of the other?"""
    slots = cast(rng, split)
    own = [(slots["A"], slots["x"]), (slots["B"], slots["y"])]
    rng.shuffle(own)
    (owner, thing), (other, wrong) = own
    assert isinstance(thing, Noun) and isinstance(wrong, Noun) and isinstance(owner, Person)
    text = capitalised(f"{fill(rng.choice(OWNING), rng, slots)} {fill(USING[0], rng, {'C': owner})}").rstrip()
    return Question(
        "en",
        "coreference",
        text,
        f" {thing.adjective}",
        f" {wrong.adjective}",
        (str(owner), str(other)),
        " " + owner.she.capitalize(),
    )


def ask_naming(rng: Random, split: str) -> Question:
    """Whose name comes next: that of the person for whom the pronoun stands, or that of the other?"""
    text, slots = _scenes(rng, split)
    word, right = _named(rng, slots)[0]
    wrong = slots["B"] if right is slots["A"] else slots["A"]
    names = (str(right), str(wrong))
    return Question("en", "naming", f"{text} Names: {word}", f" {right}", f" {wrong}", names, f" {word}")


def ask_counting(rng: Random, split: str) -> Question:
    """Question for the count of a word: the right one, or one more or less?"""
    while True:
        prompt, counts = _counted(rng)
        word, count = counts[0]
        if count:
            wrong = count + (rng.choice((-1, 1)) if count < 9 else -1)
            return Question("en", "counting", f"{prompt} {word}", f" {count}", f" {wrong}", (word,))


def ask_agreement(rng: Random, split: str) -> Question:
    """Does the verb agree with its subject, whatever noun stands between them?"""
    subject, (right, wrong), _ = _agreement_sentence(rng, split)
    return Question("en", "agreement", subject, right, wrong)


def ask_repetition(rng: Random, split: str) -> Question:
    """A line and the beginning of its exact copy."""
    prompt, line, _ = _copy(rng, split)
    return Question("en", "repetition", prompt, line, "")


ENGLISH = Language(
    "en",
    (
        ("story", 0.44, story),
        ("owners", 0.13, owners),
        ("pronouns", 0.06, pronouns),
        ("naming", 0.10, naming),
        ("agreement", 0.05, agreement),
        ("repetition", 0.12, repetition),
        ("counting", 0.10, counting),
    ),
    (
        ("pronoun", ask_pronoun),
        ("coreference", ask_coreference),
        ("naming", ask_naming),
        ("agreement", ask_agreement),
        ("repetition", ask_repetition),
        ("counting", ask_counting),
    ),
)
