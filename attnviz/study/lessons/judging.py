"""The verdicts on the claims of a lesson, and the texts of their cards with computed numbers."""

from __future__ import annotations

from dataclasses import dataclass

from attnviz.core.progress import Check, never_cancelled
from attnviz.study.claims.verdict import VerdictId, verdict_of
from attnviz.study.lessons.checking import Run, scope_of
from attnviz.study.lessons.lesson import Lesson, Step
from attnviz.study.lessons.markup import markup
from attnviz.study.lessons.scene import Preset


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
    """The claims of a group, each computed in its own scene. `check` is called between them; it may raise.

    Raises `InputError` for a scene or a claim that is not valid.
    """
    found = []
    for step in group.steps:
        if step.claim:
            check()
            found.append(_judged(step, preset, run))
    return tuple(found)


def _judged(step: Step, preset: Preset, run: Run) -> Judged:
    scope = scope_of(step.scene, preset, run)
    cured = scope_of(step.cured, preset, run) if step.cures else None
    cards = {
        code: Card(
            markup(words.claim, scope, is_live=False),
            tuple(markup(text, scope, is_live=False) for text in words.paragraphs),
            markup(words.cure, cured, is_live=False),
        )
        for code, words in step.words.items()
    }
    return Judged(step, verdict_of(step.claim, scope, cured), cards)
