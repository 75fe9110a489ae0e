"""Chinese stories, exercises and questions."""

from __future__ import annotations

from random import Random

from make.chinese import words
from make.chinese.cast import cast, message, people
from make.chinese.stories import LATER, OPENINGS, STORIES
from make.chinese.words import Noun, Person
from make.grammar import Language, Question, counted, fill, pair, signs


def story(rng: Random, split: str) -> str:
    """One story: an opening and an episode, and now and then a second one with the same two people."""
    slots = cast(rng, split)
    text = fill(rng.choice(OPENINGS) + rng.choice(STORIES), rng, slots)
    if rng.random() < 0.35:
        again = dict(zip("AB", rng.sample([slots["A"], slots["B"]], 2), strict=True))
        text += "\n" + fill(rng.choice(LATER) + rng.choice(STORIES), rng, {**cast(rng, split), **again})
    return text.strip()


OWNING = (
    "{A}有{x.one}，{B}有{y.one}。",
    "{A}带着{x.one}来到{p}。{B}带着{y.one}。",
    "{A}和{B}在{p}见面。{A}拿着{x.one}，{B}拿着{y.one}。",
    "在{p}，{A}找到{x.one}。{B}找到{y.one}。",
)
USING = (
    "{C.ta}[玩着|很喜欢|在看|擦干净了|放下了|拿起了|给我们看]{C.ta}的",
    "[后来|不久|然后]{C.ta}[弄丢了|藏好了|拿出了|画了画]{C.ta}的",
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
            parts.append(fill(rng.choice(USING), rng, {"C": owner}) + thing.full + "。")
    owner, thing = rng.choice(own)
    assert isinstance(thing, Noun)
    parts.append(rng.choice((f"谁有{thing.full}？{owner}。", f"{thing.full}是{owner}的。", "")))
    return "".join(parts)


PRONOUN = (
    ("在{p}，{A}遇见了{B}。{A}{why.mood}，所以", "{A.ta}", "{why.deed}。"),
    ("在{p}，{A}遇见了{B}。{B}{why.mood}，所以", "{B.ta}", "{why.deed}。"),
    ("{A}向{B}挥了挥手，然后", "{A.ta}", "{why.deed}。"),
    ("{A}送给{B}{x.one}，并且说", "{A.ta}", "还有一{x.measure}。"),
    ("“{A}，你看，我找到了{x.one}。”{B}说，", "{B.ta}", "把它举了起来。"),
    ("{A}看不见{B}，因为", "{B.ta}", "在{s}。"),
    ("{A}在找{B}，可是", "{A.ta}", "只找到了{x.one}。"),
    ("{A}{why.mood}，{B}{then.mood}。{A}{why.deed}，", "{A.ta}", "觉得好多了。"),
)
"""(prompt, the pronoun that must follow, the rest of the sentence)."""


def _pronoun_sentence(rng: Random, split: str) -> tuple[str, str, tuple[str, str], str]:
    """A prompt, the pronoun that follows, its (right, wrong) names, and the rest of the sentence."""
    slots = cast(rng, split)
    prompt, pronoun, rest = rng.choice(PRONOUN)
    right, wrong = ("A", "B") if pronoun == "{A.ta}" else ("B", "A")
    return (
        fill(prompt, rng, slots),
        pronoun.format_map(slots),
        (str(slots[right]), str(slots[wrong])),
        fill(rest, rng, slots),
    )


def pronouns(rng: Random, split: str) -> str:
    """Three sentences in which the pronoun follows from the text before."""
    drawn = (_pronoun_sentence(rng, split) for _ in range(3))
    return "\n".join(prompt + pronoun + rest for prompt, pronoun, _, rest in drawn)


def _scene(rng: Random, slots: dict[str, object]) -> str:
    """A sentence or two about the two people of `slots`."""
    one, other = rng.sample((("A", "x"), ("B", "y")), 2)
    draws = (
        lambda: fill(rng.choice(OWNING), rng, slots),
        lambda: fill("".join(rng.choice(PRONOUN)), rng, slots),
        lambda: fill(rng.choice(OWNING) + _using(rng, *one) + _using(rng, *other), rng, slots),
    )
    return rng.choice(draws)()


def _using(rng: Random, owner: str, thing: str) -> str:
    """The template of what somebody did with a thing; both are names of slots."""
    return f"{rng.choice(USING)}{{{thing}.full}}。".replace("{C.", f"{{{owner}.")


def _scenes(rng: Random, split: str) -> tuple[str, dict[str, object]]:
    """One or two scenes with the same people, and their slots."""
    slots = cast(rng, split)
    text = _scene(rng, slots)
    if rng.random() < 0.4:
        again = dict(zip("AB", rng.sample([slots["A"], slots["B"]], 2), strict=True))
        text += _scene(rng, {**cast(rng, split), **again})
    return text, slots


def naming(rng: Random, split: str) -> str:
    """Reference: after a few sentences, each pronoun and, right after it, the name that it refers to."""
    parts = []
    for _ in range(rng.randint(2, 4)):
        text, slots = _scenes(rng, split)
        both = [one for one in (slots["A"], slots["B"]) if isinstance(one, Person)]
        key = "，".join(f"{one.ta}{one}" for one in rng.sample(both, rng.randint(1, 2)))
        parts.append(f"{text}{rng.choice(('名字', '谁是谁'))}：{key}。")
    return "\n".join(parts)


_CHARACTERS = tuple(dict.fromkeys(words.CHARACTERS + words.SYLLABLES))
_TIMES = ("零", *words.NUMBERS)


def _counted(rng: Random) -> tuple[str, list[tuple[str, int]]]:
    """Characters in a row up to their count, and the number of occurrences of each."""
    row, counts = counted(rng, _CHARACTERS)
    return f"数一数：{''.join(row)}。各几次：", counts


def counting(rng: Random, split: str) -> str:
    """Characters in a row, and their counts: each must be found at all its positions."""
    prompt, counts = _counted(rng)
    return f"{prompt}{'、'.join(f'{word}{_TIMES[count]}' for word, count in counts)}。"


def _measured(rng: Random, split: str) -> tuple[str, Noun, Noun]:
    """Two nouns of a pair of `split`: the first counted, the second counted up to its measure word."""
    i, j = pair(rng, len(words.THINGS), len(words.ANIMALS), split)
    both = [words.THINGS[i], words.ANIMALS[j]]
    rng.shuffle(both)
    first, second = both
    a, b = rng.sample(words.COUNTS, 2)
    place = rng.choice((f"{rng.choice(words.PLACES)}有{first}和{second}。", ""))
    return f"{place}{first}有{a}{first.measure}，{second}有{b}", second, first


def agreement(rng: Random, split: str) -> str:
    """Nouns with their measure words, after the number, where the noun has already been named."""
    drawn = (_measured(rng, split) for _ in range(rng.randint(2, 4)))
    return "".join(f"{prompt}{noun.measure}。" for prompt, noun, _ in drawn)


COPY = (
    ("再说一遍：“", "。”“", "。”"),
    ("抄写这一行：", "\n抄写这一行：", "\n"),
    ("第一遍：", "。第二遍：", "。"),
    ("{A}说：“", "。”{B}又说了一遍：“", "。”"),
    ("密码是", "。{A}写了下来：", "。"),
    ("", "\n", "\n"),
)
"""(before the first copy, between the copies, after the second)."""

_EVERY_WORD = tuple(
    sorted(
        {
            *words.GIRLS, *words.BOYS, *words.FLAVOURS, *words.MOODS, *words.DAYS, *words.ACTIONS,
            *words.PLACES, *(noun.name for noun in words.THINGS + words.ANIMALS + words.FOODS),
        }
    )
)  # fmt: skip


def sequence(rng: Random) -> str:
    """Something to be repeated: characters, digits, sounds, counted things, words, or a sentence."""
    count = rng.randint(4, 16)
    draws = (
        lambda: "".join(rng.choices(words.CHARACTERS, k=count)),
        lambda: "".join(rng.choices(words.CHARACTERS, k=count)),
        lambda: "".join(rng.choices(words.NUMBERS, k=count)),
        lambda: "".join(rng.choices(words.SYLLABLES, k=rng.randint(3, 10))),
        lambda: "、".join(
            f"{rng.choice(words.COUNTS)}{food.measure}{food}" for food in rng.sample(words.FOODS, 4)
        ),
        lambda: "、".join(rng.choices(_EVERY_WORD, k=rng.randint(3, 7))),
        lambda: message(rng),
        lambda: message(rng),
        lambda: signs(rng, rng.randint(2, 6)),
    )
    return rng.choice(draws)()


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
    prompt, right, names, _ = _pronoun_sentence(rng, split)
    return Question("zh", "pronoun", prompt, right, {"她": "他", "他": "她"}[right], names)


def ask_coreference(rng: Random, split: str) -> Question:
    """Whose thing comes next: that of the person for whom the pronoun stands, or that of the other?"""
    slots = cast(rng, split)
    own = [(slots["A"], slots["x"]), (slots["B"], slots["y"])]
    rng.shuffle(own)
    (owner, thing), (other, wrong) = own
    assert isinstance(thing, Noun) and isinstance(wrong, Noun) and isinstance(owner, Person)
    text = fill(rng.choice(OWNING) + USING[0], rng, {**slots, "C": owner})
    return Question(
        "zh",
        "coreference",
        text,
        thing.adjective,
        wrong.adjective,
        (str(owner), str(other)),
        owner.ta,
    )


def ask_naming(rng: Random, split: str) -> Question:
    """Whose name comes next: that of the person for whom the pronoun stands, or that of the other?

    The two names begin differently, so that the answer must be known at the pronoun.
    """
    while True:
        text, slots = _scenes(rng, split)
        right = rng.sample([slots["A"], slots["B"]], 1)[0]
        wrong = slots["B"] if right is slots["A"] else slots["A"]
        assert isinstance(right, Person) and isinstance(wrong, Person)
        names = (str(right), str(wrong))
        if names[0][0] != names[1][0]:
            return Question("zh", "naming", f"{text}名字：{right.ta}", *names, names, right.ta)


def ask_counting(rng: Random, split: str) -> Question:
    """Question for the count of a character: the right one, or one more or less?"""
    while True:
        prompt, counts = _counted(rng)
        word, count = counts[0]
        if count:
            wrong = _TIMES[count + (rng.choice((-1, 1)) if count < 9 else -1)]
            return Question("zh", "counting", prompt + word, _TIMES[count], wrong, (word,))


def ask_agreement(rng: Random, split: str) -> Question:
    """Question for the measure word of the noun: its own, or that of the noun before it?"""
    while True:
        prompt, noun, other = _measured(rng, split)
        if noun.measure != other.measure:
            return Question("zh", "agreement", prompt, noun.measure, other.measure)


def ask_repetition(rng: Random, split: str) -> Question:
    """A line and the beginning of its exact copy."""
    prompt, line, _ = _copy(rng, split)
    return Question("zh", "repetition", prompt, line, "")


CHINESE = Language(
    "zh",
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
