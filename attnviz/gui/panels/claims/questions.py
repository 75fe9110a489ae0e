"""The questions of the claim checker: verdicts on textbooks' claims, once, and on own ones with each run."""

from __future__ import annotations

from dataclasses import dataclass

from attnviz.checkpoints.presets import load_preset
from attnviz.core.progress import Progress
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import View
from attnviz.model.trace import Trace
from attnviz.study.claims.own import Answer as Verdict
from attnviz.study.claims.own import answers
from attnviz.study.claims.scope import Scope
from attnviz.study.lessons.judging import Judged, judged
from attnviz.study.lessons.lesson import Lesson, Scene
from attnviz.study.lessons.scene import document_of
from attnviz.study.lessons.table import shipped_claims


@dataclass(frozen=True)
class OwnAsked:
    """The claims of a document, over its run."""

    trace: Trace
    view: View
    claims: tuple[str, ...]


def own(asked: OwnAsked, check: Progress) -> tuple[Verdict, ...]:
    """The verdicts on the claims of a document."""
    return answers(asked.claims, Scope(asked.trace, asked.view), check)


@dataclass(frozen=True)
class Group:
    """The judged claims of one file."""

    lesson: Lesson
    claims: tuple[Judged, ...]


_GROUPS: dict[str, Group] = {}
"""Textbooks' claims with their verdicts, in every language: they depend on no document of a window."""


def group(id_: str, check: Progress) -> Group:
    """The claims of a file with their verdicts, computed once for all windows."""
    from attnviz.compute.execute import execute

    if id_ not in _GROUPS:
        lesson = shipped_claims(id_)
        _GROUPS[id_] = Group(lesson, judged(lesson, load_preset, execute, check))
    return _GROUPS[id_]


def document(scene: Scene, check: Progress) -> Document:
    """The document of a claim."""
    return document_of(scene, load_preset)
