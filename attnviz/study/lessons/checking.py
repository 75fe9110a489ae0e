"""The checker of a lesson: every step is set up and computed, every number and condition in it too."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from attnviz.core.progress import Check, never_cancelled
from attnviz.errors import FieldError, InputError, Message, message_of, must_be, quoted, size
from attnviz.explain.arithmetic.cell import exists
from attnviz.i18n import language
from attnviz.model.spec.experiment import Experiment
from attnviz.model.trace import Trace
from attnviz.study.claims.scope import Scope, holds, value_of
from attnviz.study.claims.verdict import verdict_of
from attnviz.study.lessons.lesson import Lesson, Scene, Step, Words
from attnviz.study.lessons.scene import Preset, covered_cells, has_words, lit_cells, set_up
from attnviz.study.lessons.text import pieces

Run = Callable[[Experiment], Trace]
_DECIMAL = re.compile(r"(?<![\w.])\d*\.\d+")
_PIECE_OF_NUMBER = re.compile(r"\{[^{}]*\}|\([^()]*\)|`[^`]*`")


@dataclass(frozen=True)
class Problem:
    """A fault of a step."""

    step: str
    message: Message


def problems(lesson: Lesson, preset: Preset, run: Run) -> Iterator[Problem]:
    """The problems of a lesson, step by step. `preset` reads a preset and `run` computes an experiment."""
    for step in lesson.steps:
        for message in problems_of(step, lesson, preset, run):
            yield Problem(step.id, message)


def problems_of(step: Step, lesson: Lesson, preset: Preset, run: Run) -> Iterator[Message]:
    """The problems of one step of a lesson."""
    for code in lesson.languages:
        if code not in step.words:
            yield Message("The step must have texts in {language}.", language=code)
    if not has_words(step.scene):
        yield from _in_document(step, lesson, preset, run)
        return
    said: list[Message] = []
    for code, words in step.words.items():
        with language(code):
            said += _in_document(replace(step, words={code: words}), lesson, preset, run)
    yield from dict.fromkeys(said)


def _in_document(step: Step, lesson: Lesson, preset: Preset, run: Run) -> Iterator[Message]:
    """The problems of a step in one document, that of its scene in the active language."""
    ids = {one.id for one in lesson.steps}
    try:
        scope = scope_of(step.scene, preset, run)
        cured = scope_of(step.cured, preset, run) if step.cures else None
    except (ValueError, KeyError) as error:
        yield message_of(error)
        return
    yield from _in_step(step, scope, ids)
    yield from _claim(step, scope, cured, ids)


def scope_of(scene: Scene, preset: Preset, run: Run, check: Check = never_cancelled) -> Scope:
    """The names of the expressions of a scene; `check` is called while it trains, and may raise."""
    document, measures = set_up(scene, preset, check)
    return Scope(run(document.experiment), document.view, measures=measures)


def _in_step(step: Step, scope: Scope, ids: set[str]) -> Iterator[Message]:
    if scope.view.stage not in scope.site.stages:
        yield Message(
            "The attention of the step must have the stage {stage}; got {stages}.",
            stage=quoted(scope.view.stage),
            stages=", ".join(scope.site.stages),
        )
        return
    yield from _tried(lambda: lit_cells(step.scene, scope))
    yield from _tried(lambda: covered_cells(step, scope))
    locked = scope.view.locked
    if locked is not None and not exists(scope.site, locked):
        rows, columns = scope.site.shape(locked.stage)[-2:]
        inside = must_be("a cell of {shape}", shape=size((rows, columns)))
        yield FieldError("lock", step.scene.lock, inside).message
    for condition in step.holds:
        yield from _must_hold(condition, scope)
    yield from _question(step, scope)
    for code, words in step.words.items():
        yield from _in_words(code, words, scope, ids)


def _claim(step: Step, scope: Scope, cured: Scope | None, ids: set[str]) -> Iterator[Message]:
    """A claim has a verdict; one with a cure is wrong before it and right after it."""
    if not step.claim:
        return
    try:
        verdict = verdict_of(step.claim, scope, cured)
    except InputError as error:
        yield error.message
        return
    if cured is None:
        return
    if verdict != "setting":
        yield Message("The claim {claim} must hold with its cure, and only then.", claim=quoted(step.claim))
    for code, words in step.words.items():
        yield from _in_text(code, words.cure, cured, ids)


def _question(step: Step, scope: Scope) -> Iterator[Message]:
    if step.predict:
        yield from _tried(lambda: value_of(step.predict, scope))
    if step.task:
        yield from _task(step.task, scope)
    if step.choose:
        try:
            right = [condition for condition in step.choose if holds(condition, scope)]
        except InputError as error:
            yield error.message
            return
        if len(right) != 1:
            yield Message("Exactly one of the conditions choose must hold; got {n}.", n=len(right))


def _task(task: str, scope: Scope) -> Iterator[Message]:
    try:
        if holds(task, scope):
            yield Message("The task {task} must not be done at the beginning.", task=quoted(task))
    except InputError as error:
        yield error.message


def _must_hold(condition: str, scope: Scope) -> Iterator[Message]:
    try:
        if not holds(condition, scope):
            yield Message("The condition {condition} must hold.", condition=quoted(condition))
    except InputError as error:
        yield error.message


def _in_words(code: str, words: Words, scope: Scope, ids: set[str]) -> Iterator[Message]:
    for text in words.all:
        yield from _in_text(code, text, scope, ids)


def _in_text(code: str, text: str, scope: Scope, ids: set[str]) -> Iterator[Message]:
    bare = _DECIMAL.search(_PIECE_OF_NUMBER.sub("", text))
    if bare is not None:
        yield Message(
            "A number in {language} must be an expression in braces; got {number}.",
            language=code,
            number=bare[0],
        )
    try:
        parts = pieces(text)
    except InputError as error:
        yield error.message
        return
    for piece in parts:
        yield from _tried(partial(piece.check, scope, ids))


def _tried(job: Callable[[], object]) -> Iterator[Message]:
    try:
        job()
    except (ValueError, KeyError, IndexError) as error:
        yield message_of(error)
