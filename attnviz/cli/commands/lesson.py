"""`attnviz lesson`: list the lessons, check one, and export one."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from attnviz.checkpoints.presets import load_preset
from attnviz.cli.command import Command, Condition, Named, Refused
from attnviz.cli.options import recorded, written
from attnviz.core.text import visible
from attnviz.errors import about, message_of, verbatim
from attnviz.gui.panels.table import PANEL_NAMES
from attnviz.i18n import N_, _, current_language
from attnviz.model.io.carriers.table import carrying
from attnviz.model.io.files import replace_file
from attnviz.study.lessons.lesson import Lesson
from attnviz.study.lessons.table import LESSONS, lesson_named, shipped_lesson

if TYPE_CHECKING:
    from attnviz.figures.lesson import Sheet

PROBLEMS = 1
"""Exit code of a lesson with problems."""


def add(command: ArgumentParser) -> None:
    """Add the action and the lesson."""
    actions = ("list", *ACTIONS)
    command.add_argument("action", choices=actions, help=_("list the lessons, check one, or export one"))
    command.add_argument("lesson", nargs="?", help=_("a lesson file, or the name of a lesson (see list)"))
    command.add_argument("-o", "--output", metavar="FILE", help=_("export: .html or .pdf"))
    command.add_argument("--slides", action="store_true", help=_("export: each step on a 16:9 slide"))


def run(options: Namespace) -> int:
    """Do what the action says."""
    if options.action == "list":
        if options.lesson is not None:
            raise Refused(
                _("lesson list must stand without a lesson; got {name}").format(name=options.lesson)
            )
        return list_lessons()
    if options.lesson is None:
        raise Refused(_("lesson {action} needs a file or the name of a lesson").format(action=options.action))
    return ACTIONS[options.action](_read(options.lesson), options)


def _read(name: str) -> Lesson:
    try:
        return lesson_named(name, PANEL_NAMES)
    except OSError as error:
        raise Named(about(verbatim(name), message_of(error))) from None
    except ValueError as error:
        raise Named(message_of(error)) from None


def list_lessons() -> int:
    """Print the id, the title and the number of steps of each lesson."""
    language, longest = current_language(), max(map(len, LESSONS))
    for id_ in LESSONS:
        one = shipped_lesson(id_)
        print(f"{id_:<{longest}}  {one.title(language)} · {one.about(language)}")
    return 0


def check(lesson: Lesson, options: Namespace) -> int:
    """Set up and compute every step; print what is wrong."""
    from attnviz.compute.execute import execute
    from attnviz.study.lessons.checking import problems

    count = 0
    for problem in problems(lesson, load_preset, execute):
        print(visible(f"{problem.step}: {problem.message.text()}"))
        count += 1
    if not count:
        print(_("no problem in {n} steps").format(n=len(lesson.steps)))
    return PROBLEMS if count else 0


def export(lesson: Lesson, options: Namespace) -> int:
    """Write a lesson with its figures, in the language of the shell."""
    from attnviz.compute.execute import execute
    from attnviz.figures.lesson import first_document, sheets

    suffix = Path(options.output or "").suffix.lower()
    if suffix not in WRITERS:
        raise Refused(
            _("lesson export needs --output with the suffix {suffixes}").format(suffixes=", ".join(WRITERS))
        )
    language = current_language()
    computed = sheets(lesson, language, load_preset, execute)
    data = WRITERS[suffix](lesson, computed, options.slides)
    data = carrying(data, suffix, recorded(first_document(lesson, language, computed)))
    written(options.output, lambda: replace_file(Path(options.output), data))
    return 0


def _html(lesson: Lesson, computed: tuple[Sheet, ...], is_slides: bool) -> bytes:
    from attnviz.figures.lesson import lesson_page
    from attnviz.pages.fonts import font_rules

    return lesson_page(lesson, current_language(), computed, font_rules, is_slides=is_slides).encode("utf-8")


def _pdf(lesson: Lesson, computed: tuple[Sheet, ...], is_slides: bool) -> bytes:
    from attnviz.gui.export.kinds.lesson import lesson_paper

    return lesson_paper(lesson, current_language(), computed, is_slides=is_slides).pdf


WRITERS: dict[str, Callable[[Lesson, tuple[Sheet, ...], bool], bytes]] = {".html": _html, ".pdf": _pdf}
"""The bytes of an exported lesson, by suffix."""

ACTIONS: dict[str, Callable[[Lesson, Namespace], int]] = {"check": check, "export": export}

COMMAND = Command(
    "lesson",
    N_("list the lessons, check one, or export one"),
    add,
    run,
    conditions=tuple(Condition(option, "action", ("export",)) for option in ("--output", "--slides")),
)
