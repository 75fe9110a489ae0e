"""The verdicts on the claims of a lesson, and the texts of their cards with computed numbers."""

from __future__ import annotations

from dataclasses import dataclass

from attnviz.core.progress import Check, never_cancelled
from attnviz.errors import InputError, Message, quoted
from attnviz.i18n import language
from attnviz.study.claims.verdict import VerdictId, verdict_of
from attnviz.study.lessons.checking import Run, scope_of
from attnviz.study.lessons.lesson import Lesson, Step
from attnviz.study.lessons.markup import markup
from attnviz.study.lessons.scene import Preset, has_words


@dataclass(frozen=True)
class Card:
    """The texts of a claim as HTML: the sentence, what is true of it, and the setting in which it holds."""

    sentence: str
    says: tuple[str, ...]
    cure: str = ""


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict; `cards` by language. It keeps no arrays of its runs."""

    step: Step
    verdict: VerdictId
    cards: dict[str, Card]

    def card(self, language: str) -> Card:
        """The texts in a language, or in the first one that the claim has."""
        return self.cards.get(language) or next(iter(self.cards.values()))


def judged(group: Lesson, preset: Preset, run: Run, check: Check = never_cancelled) -> tuple[Judged, ...]:
    """The claims of a group, each computed in its own scene. `check` is called between them and while one
    trains; it may raise.

    Raises `InputError` for a scene or a claim that is not valid.
    """
    verdicts = []
    for step in group.steps:
        if step.claim:
            check()
            verdicts.append(_judged(step, preset, run, check))
    return tuple(verdicts)


def _judged(step: Step, preset: Preset, run: Run, check: Check) -> Judged:
    cards: dict[str, Card] = {}
    for code, words in step.words.items():
        if not cards or has_words(step.scene):
            with language(code):
                scope = scope_of(step.scene, preset, run, check)
                cured = scope_of(step.cured, preset, run, check) if step.cures else None
        cards[code] = Card(
            markup(words.claim, scope, is_live=False),
            tuple(markup(text, scope, is_live=False) for text in words.paragraphs),
            markup(words.cure, cured, is_live=False),
        )
    return Judged(step, verdict_of(step.claim, scope, cured), cards)


def answer_of(text: str) -> float:
    """The number that a reader typed: `0.5`, `0,5`, `−2`, `50 %`. Raises `InputError`."""
    bare = text.strip().replace("−", "-").replace(" ", "")
    share = bare.endswith(("%", "％"))
    bare = bare.rstrip("%％")
    try:
        value = float(
            bare.replace(",", ".") if bare.count(",") == 1 and "." not in bare else bare.replace(",", "")
        )
    except ValueError:
        raise InputError(Message("The answer must be a number; got {text}.", text=quoted(text))) from None
    return value / 100 if share else value


def is_close(answer: float, value: float, tolerance: float) -> bool:
    """True if an answer lies within the tolerance; the last digit of a rounded value counts in full."""
    return abs(answer - value) <= tolerance * (1 + 1e-9)
