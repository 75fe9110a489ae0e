"""`LESSONS` and `CLAIMS`: what ships with the program, in the order in which it is taught."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from attnviz import resources
from attnviz.errors import InputError, about, among, quoted, verbatim
from attnviz.study.lessons.lesson import Lesson
from attnviz.study.lessons.reading import load_lesson
from attnviz.study.lessons.window import PanelNames

SUFFIX = ".md"

LESSONS: tuple[str, ...] = (
    "dot-product",
    "softmax",
    "by-hand",
    "masks",
    "padding",
    "projections",
    "heads",
    "architectures",
    "positions",
    "block",
    "cache",
    "sampling",
    "cost",
    "training",
    "induction",
    "recurrent",
    "history",
)
"""Their ids: `resources/lessons/<id>.md`."""


CLAIMS: tuple[str, ...] = (
    "similarity",
    "softmax",
    "scale",
    "masks",
    "heads",
    "positions",
    "block",
    "cost",
    "training",
)
"""Groups of claims of textbooks, right and wrong: `resources/claims/<id>.md`, a claim in each step."""


@cache
def shipped_claims(id_: str) -> Lesson:
    """A group of claims of the program."""
    return load_lesson(resources.path("claims", f"{id_}{SUFFIX}"))


@cache
def shipped_lesson(id_: str) -> Lesson:
    """A lesson of the program. Raises `InputError` naming the existing ones."""
    if id_ not in LESSONS:
        raise InputError(about(quoted(id_), among(LESSONS)))
    return load_lesson(resources.path("lessons", f"{id_}{SUFFIX}"))


def lesson_named(name: str, panels: PanelNames | None = None) -> Lesson:
    """A lesson by its file, which may name these panels, else by its id.

    Raises `InputError` with the name of the file, and `OSError`.
    """
    if name in LESSONS and not Path(name).is_file():
        return shipped_lesson(name)
    try:
        return load_lesson(name, panels)
    except InputError as error:
        raise InputError(about(verbatim(Path(name).name), error.message)) from None
