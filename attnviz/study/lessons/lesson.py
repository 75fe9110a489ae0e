"""A lesson: steps that each set the program and say one thing, in one language or several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from attnviz.study.lessons.training import SceneTraining


@dataclass(frozen=True)
class Words:
    """The texts of a step in one language; see `text.py` for links and numbers in them.

    `question` belongs to a prediction, `answers` are its choices, `reveal` is shown after it, or after the
    task of a step without a question; `task` is something to try. `claim` is a sentence to check, `why` the
    numbers that decide it, and `cure` says under which setting it holds.
    """

    title: str
    paragraphs: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    question: str = ""
    answers: tuple[str, ...] = ()
    reveal: str = ""
    task: str = ""
    claim: str = ""
    why: str = ""
    cure: str = ""

    @property
    def all(self) -> tuple[str, ...]:
        """Every text, in the order in which it is read; its numbers are those of the scene.

        Without `cure`, whose numbers are those of the scene that is cured.
        """
        later = (self.question, *self.answers, self.reveal, self.task, self.claim, self.why)
        return tuple(text for text in (self.title, *self.paragraphs, *self.points, *later) if text)


@dataclass(frozen=True)
class Scene:
    """The state of the program at a step.

    `changes` are (path, value) in order, applied to the preset; `translated` are (language, path, value):
    other values of the same paths, such as tokens, in a language. `look` are fields of the view; `light` are
    cells (row, column) of the stage that the step speaks of, `cover` those that are hidden until its
    question is answered, or throughout a step without one, `lock` the one whose arithmetic is open; `panels`
    are those beside the lesson, of which Mechanism opens `section`, Gradients shows `curve`, and Cost counts
    `cost`: a quantity, and of which model. With `training` the changed
    document is trained first.
    """

    preset: str
    text: str = ""
    changes: tuple[tuple[str, object], ...] = ()
    translated: tuple[tuple[str, str, object], ...] = ()
    look: Mapping[str, object] = field(default_factory=dict)
    light: tuple[str, ...] = ()
    cover: tuple[str, ...] = ()
    lock: str = ""
    workspace: str = ""
    panels: tuple[str, ...] = ()
    section: str = ""
    curve: str = ""
    cost: tuple[str, str] | None = None
    training: SceneTraining | None = None


@dataclass(frozen=True)
class Step:
    """One step.

    `predict` is an expression whose value the reader predicts within `tolerance`; `choose` are conditions,
    one for each answer, of which one holds; `task` is a condition that the reader makes true; `holds` are
    conditions that are true of the scene, for the checker. `claim` is the condition of a sentence that may be
    right or wrong, and `cures` are changes of the scene under which a wrong one holds.
    """

    id: str
    scene: Scene
    words: Mapping[str, Words]
    predict: str = ""
    tolerance: float = 0.0
    choose: tuple[str, ...] = ()
    task: str = ""
    holds: tuple[str, ...] = ()
    claim: str = ""
    cures: tuple[tuple[str, object], ...] = ()

    @property
    def cured(self) -> Scene:
        """The scene under the setting in which the claim holds."""
        return replace(self.scene, changes=(*self.scene.changes, *self.cures))

    def words_in(self, language: str) -> Words:
        """The texts in a language, or in the first one that the step has."""
        return self.words.get(language) or next(iter(self.words.values()))


@dataclass(frozen=True)
class Lesson:
    """A lesson: its id, its title and a sentence about it by language, and its steps.

    `hides` are panels that no workspace shows while it is open.
    """

    id: str
    titles: Mapping[str, str]
    abouts: Mapping[str, str]
    steps: tuple[Step, ...]
    hides: tuple[str, ...] = ()

    def title(self, language: str) -> str:
        """The title in a language, or in the first one that the lesson has."""
        return self.titles.get(language) or next(iter(self.titles.values()))

    def about(self, language: str) -> str:
        """The sentence in a language, or in the first one; empty without one."""
        return self.abouts.get(language) or next(iter(self.abouts.values()), "")

    @property
    def languages(self) -> tuple[str, ...]:
        return tuple(self.titles)
