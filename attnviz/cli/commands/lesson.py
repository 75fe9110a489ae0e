"""`attnviz lesson`: list the lessons, and check one."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable

from attnviz.checkpoints.presets import load_preset
from attnviz.cli.command import Command, Named, Refused
from attnviz.errors import about, message_of, verbatim
from attnviz.i18n import N_, _, current_language
from attnviz.model.lessons.lesson import Lesson
from attnviz.model.lessons.table import LESSONS, lesson_named, shipped_lesson

PROBLEMS = 1
"""Exit code of a lesson with problems."""


def add(command: ArgumentParser) -> None:
    """Add the action and the lesson."""
    command.add_argument("action", choices=tuple(ACTIONS), help=_("list the lessons, or check one"))
    command.add_argument("lesson", nargs="?", help=_("a lesson file, or the name of a lesson (see list)"))


def run(options: Namespace) -> int:
    """Do what the action says."""
    if options.action == "list":
        return list_lessons()
    if options.lesson is None:
        raise Refused(_("lesson {action} needs a file or the name of a lesson").format(action=options.action))
    return ACTIONS[options.action](_read(options.lesson))


def _read(name: str) -> Lesson:
    try:
        return lesson_named(name)
    except OSError as error:
        raise Named(about(verbatim(name), message_of(error))) from None
    except ValueError as error:
        raise Named(message_of(error)) from None


def list_lessons(lesson: Lesson | None = None) -> int:
    """Print the id, the title and the number of steps of each lesson."""
    language, longest = current_language(), max(map(len, LESSONS))
    for id_ in LESSONS:
        one = shipped_lesson(id_)
        print(f"{id_:<{longest}}  {one.title(language)} · {one.about(language)}")
    return 0


def check(lesson: Lesson) -> int:
    """Set up and compute every step; print what is wrong."""
    from attnviz.compute.execute import execute
    from attnviz.model.lessons.checking import problems

    count = 0
    for problem in problems(lesson, load_preset, execute):
        print(f"{problem.step}: {problem.message.text()}")
        count += 1
    if not count:
        print(_("no problem in {n} steps").format(n=len(lesson.steps)))
    return PROBLEMS if count else 0


ACTIONS: dict[str, Callable[[Lesson], int]] = {"list": list_lessons, "check": check}

COMMAND = Command("lesson", N_("list the lessons, and check the file of one"), add, run)
