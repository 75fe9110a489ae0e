"""The English words of the grammar: people, things, animals, places, and the small phrases around them."""

from __future__ import annotations

from dataclasses import dataclass

GIRLS = tuple(
    "Anna Lily Mia Emma Rosa Ella Zoe Ruth Nina Clara Alice Sara Julia Kate Maria Eva Lucy"
    " Jane Grace Dora".split()
)
BOYS = tuple(
    "Ben Tom Max Leo Sam Jack Noah Paul Adam Luke Oscar Finn Peter Henry David Hugo Theo"
    " Carl Felix Mark".split()
)
PETS = tuple("Pip Dot Bella Coco Ginger Rusty Misty Socks Poppy Bruno Pepper Tiny Hazel Biscuit".split())

COLOURS = tuple("red blue green yellow white black brown golden pink purple grey orange".split())
LOOKS = tuple("small big little old new shiny round pretty soft heavy strange wooden".split())
ANIMAL_LOOKS = tuple("small big little old young clever friendly shy funny quiet".split())
MOODS = tuple("happy sad tired cold hungry proud brave excited worried thirsty sleepy lonely".split())
NUMBERS = tuple("one two three four five six seven eight nine ten eleven twelve".split())
DAYS = tuple("Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split())


@dataclass(frozen=True)
class Person:
    """Somebody with a name, and the pronouns for them."""

    name: str
    female: bool

    def __str__(self) -> str:
        return self.name

    @property
    def she(self) -> str:
        return "she" if self.female else "he"

    @property
    def her(self) -> str:
        return "her" if self.female else "him"

    @property
    def hers(self) -> str:
        return "her" if self.female else "his"

    @property
    def girl(self) -> str:
        return "girl" if self.female else "boy"

    @property
    def mother(self) -> str:
        return "mother" if self.female else "father"


@dataclass(frozen=True)
class Noun:
    """A noun with its plural, and the adjective that it wears in one story (or none)."""

    one: str
    many: str
    adjective: str = ""

    def __str__(self) -> str:
        return self.one

    @property
    def full(self) -> str:
        """Adjective and noun: `red ball`."""
        return f"{self.adjective} {self.one}".strip()

    @property
    def plural(self) -> str:
        """Adjective and plural: `red balls`."""
        return f"{self.adjective} {self.many}".strip()

    @property
    def a(self) -> str:
        """With its article: `a red ball`, `an old map`."""
        return ("an " if self.full[0] in "aeiou" else "a ") + self.full


@dataclass(frozen=True)
class Place:
    """A place with its article, and the preposition that goes with it."""

    preposition: str
    name: str

    def __str__(self) -> str:
        return f"{self.preposition} {self.name}"


@dataclass(frozen=True)
class Reason:
    """A person's state, and the reaction to it."""

    mood: str
    deed: str


def _nouns(text: str) -> tuple[Noun, ...]:
    """`"ball box/boxes"`: the plural after a slash, or the noun with an s."""
    pairs = (word.split("/") for word in text.split())
    return tuple(Noun(parts[0], parts[-1] if len(parts) > 1 else parts[0] + "s") for parts in pairs)


THINGS = _nouns(
    "ball kite drum book hat key lamp box/boxes cup boat bell ring coin doll map bag basket"
    " flute scarf/scarves"
    " clock shell stone feather blanket ladder spoon bottle brush/brushes pencil mirror"
)
ANIMALS = _nouns(
    "cat dog bird fox/foxes rabbit duck frog mouse/mice owl bear horse goat cow hen turtle squirrel"
    " hedgehog pony/ponies kitten puppy/puppies"
)
FOODS = _nouns(
    "apple pear plum cake cookie cherry/cherries carrot egg bun nut peach/peaches sandwich/sandwiches"
    " pancake tomato/tomatoes potato/potatoes berry/berries lemon pie"
)
FRUITS = _nouns("apple pear plum cherry/cherries peach/peaches lemon orange fig")
FLAVOURS = tuple("bread milk honey cheese soup rice jam butter tea salt".split())

PLACES = tuple(
    Place(*entry.split(" ", 1))
    for entry in (
        "in the park",
        "by the river",
        "on the hill",
        "in the garden",
        "at the market",
        "in the forest",
        "on the beach",
        "at the school",
        "by the lake",
        "on the farm",
        "in the village",
        "near the castle",
        "in the library",
        "on the bridge",
        "near the mill",
        "in the meadow",
        "at the harbour",
        "in the town",
    )
)
SPOTS = (
    "under the bed",
    "behind the door",
    "under the stairs",
    "on the shelf",
    "under the tree",
    "behind the chair",
    "near the gate",
    "in the grass",
    "beside the well",
    "under the table",
    "in the kitchen",
    "on the roof",
    "behind the wall",
    "next to the fire",
)
ACTIONS = tuple(
    tuple(entry.split("/"))
    for entry in "sing/sings run/runs jump/jumps sleep/sleeps play/plays swim/swims eat/eats dance/dances"
    " walk/walks rest/rests hide/hides wait/waits".split()
)
"""(plural form, singular form) in the present tense."""

RARE = tuple(
    "about above across again air already always answer any around away back because become"
    " better between body both"
    " bright brother business buy call change child city clear cloud country course dark"
    " decide different door dream"
    " early earth easy enough ever example face family far father feel field fight finger"
    " fire floor follow foot"
    " forget free front full game general glass great group hand heart heaven help history"
    " hope hour house idea"
    " important inside interest iron island journey just kind king language laugh learn"
    " letter life light line listen"
    " machine matter mean memory mind minute money month moon mountain music must natural"
    " night noise north number"
    " ocean often only open order outside paper part past peace pen people picture piece"
    " power problem question quick"
    " quiet rather reach read reason remember river room rule same science second sentence"
    " several shape ship short"
    " simple sister slow snow something soon sound space speak special spring stand star"
    " start station still stop"
    " storm strange street strong study summer sun surprise system table talk teacher thing"
    " think thought thousand"
    " time together tomorrow tower train travel treasure trouble true under until usual"
    " valley very visit voice"
    " water weather wheel while wind window winter wonderful word work world write wrong"
    " year yesterday".split()
)
"""Words of no story, only to be repeated: they are learnt in pieces."""

SYLLABLES = tuple(
    "ba be bi bo da do du fa fi go ka ki ko la le lo lu ma mi mo na ni no pa pi po ra ri"
    " ro sa so ta ti to tu va"
    " wo zi zu bim dor fen gal hup jin kem lom mip nar pon rel sut tam vel wix yop zan".split()
)
LETTERS = tuple("abcdefghijklmnopqrstuvwxyz")
DIGITS = tuple("0123456789")

REASONS = (
    Reason("tired", "sat down to rest"),
    Reason("tired", "went to bed early"),
    Reason("cold", "put on a warm coat"),
    Reason("cold", "sat down next to the fire"),
    Reason("hungry", "ate some bread"),
    Reason("hungry", "asked for more soup"),
    Reason("thirsty", "drank some water"),
    Reason("sad", "began to cry"),
    Reason("happy", "began to sing"),
    Reason("happy", "danced in the rain"),
    Reason("sleepy", "went home to sleep"),
    Reason("worried", "looked out of the window"),
    Reason("excited", "jumped up and down"),
    Reason("lonely", "wrote a letter"),
    Reason("late", "ran all the way home"),
    Reason("curious", "opened the box"),
)
