"""A lesson on paper: its steps with their figures as one page of HTML, without scripts and addresses."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from html import escape

from attnviz.core.progress import Check, never_cancelled, progress_of
from attnviz.errors import InputError, about, verbatim
from attnviz.figures.figure import figure_of, kind_of
from attnviz.figures.files import figure_bytes
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject
from attnviz.i18n import _
from attnviz.i18n import language as speaking
from attnviz.model.spec.document import Document
from attnviz.study.claims.scope import Scope
from attnviz.study.claims.verdict import VERDICT_BY_ID, verdict_of
from attnviz.study.lessons.checking import Run, problems_of, scope_of
from attnviz.study.lessons.lesson import Lesson, Step, Words
from attnviz.study.lessons.markup import markup
from attnviz.study.lessons.scene import Preset, covered_cells


@dataclass(frozen=True)
class Sheet:
    """A step with its numbers: what a page of it is made from."""

    step: Step
    words: Words
    scope: Scope
    cured: Scope | None = None
    """The names in the setting in which the claim of the step holds; None without a cure."""

    @property
    def covered(self) -> frozenset[tuple[int, int]]:
        """The cells of the figure whose numbers this question, or a later one, asks for."""
        return covered_cells(self.step, self.scope)

    def figure(self, format_id: str, *, is_answered: bool = False, dpi: int = 150) -> bytes:
        """The stage of the step as a file; before the answer it hides the asked cells."""
        covered = frozenset() if is_answered else self.covered
        subject = Subject(self.scope.trace, self.scope.view, covered=covered)
        # Lines have no cells to cover.
        kind = "stage" if covered else kind_of(subject)
        return figure_bytes(figure_of(kind, subject, Style()), format_id, dpi=dpi)

    def marked(self, text: str) -> str:
        """A text with its numbers."""
        return markup(text, self.scope, is_live=False)


def sheets(
    lesson: Lesson, language: str, preset: Preset, run: Run, check: Check = never_cancelled
) -> tuple[Sheet, ...]:
    """The steps of a lesson, computed. Raises `InputError` with the first problem of a step."""
    progress, computed = progress_of(check), []
    for index, step in enumerate(lesson.steps):
        progress.at(index / len(lesson.steps))
        problem = next(problems_of(step, lesson, preset, run), None)
        if problem is not None:
            raise InputError(about(verbatim(step.id), problem))
        with speaking(language):
            computed.append(_sheet(step, language, preset, run))
    return tuple(computed)


def _sheet(step: Step, language: str, preset: Preset, run: Run) -> Sheet:
    cured = scope_of(step.cured, preset, run) if step.cures else None
    return Sheet(step, step.words_in(language), scope_of(step.scene, preset, run), cured)


def first_document(lesson: Lesson, language: str, computed: tuple[Sheet, ...]) -> Document:
    """The document of the first step, which the file of a lesson carries."""
    scope = computed[0].scope
    return Document(scope.trace.experiment, scope.view, title=lesson.title(language))


def lesson_page(
    lesson: Lesson,
    language: str,
    computed: tuple[Sheet, ...],
    font_rules: Callable[[str], str],
    *,
    is_slides: bool = False,
) -> str:
    """A whole page of HTML; on slides each step has a sheet of 16 : 9.

    `font_rules` are the rules of a style sheet with the glyphs of a text.
    """
    title = escape(lesson.title(language))
    about = escape(lesson.about(language))
    one = slide if is_slides else section
    body = "".join(one(sheet, number, _as_data) for number, sheet in enumerate(computed, 1))
    style = font_rules(title + about + body) + _STYLE + (_SLIDES if is_slides else "")
    return (
        f'<!doctype html>\n<html lang="{language.replace("_", "-")}"><head><meta charset="utf-8">'
        f"<title>{title}</title><style>{style}</style></head>"
        f"<body><header><h1>{title}</h1><p>{about}</p></header>{body}</body></html>\n"
    )


def section(sheet: Sheet, number: int, picture: Callable[[Sheet], str], *, is_folded: bool = True) -> str:
    """A step as HTML; `picture` supplies its figure. A folded answer opens by a click."""
    parts = (_heading(sheet, number), _told(sheet), picture(sheet), _asked(sheet, is_folded))
    return f"<section>{''.join(parts)}</section>\n"


def slide(sheet: Sheet, number: int, picture: Callable[[Sheet], str], *, is_folded: bool = True) -> str:
    """A step with its figure beside its text."""
    text, figure = _told(sheet) + _asked(sheet, is_folded), picture(sheet)
    beside = f'<td width="47%">{text}</td><td width="53%">{figure}</td>'
    table = f'<table class="slide" width="100%"><tr valign="top">{beside}</tr></table>'
    return f"<section>{_heading(sheet, number)}{table}</section>\n"


def _heading(sheet: Sheet, number: int) -> str:
    return f"<h2>{number}. {escape(sheet.words.title)}</h2>"


def _told(sheet: Sheet) -> str:
    """The paragraphs and the points."""
    told = "".join(f"<p>{sheet.marked(text)}</p>" for text in sheet.words.paragraphs)
    points = "".join(f"<li>{sheet.marked(text)}</li>" for text in sheet.words.points)
    return f"{told}<ol>{points}</ol>" if points else told


def _asked(sheet: Sheet, is_folded: bool) -> str:
    """The question, the claim and the task."""
    parts = [*_question(sheet, is_folded), *_claim(sheet)]
    if sheet.words.task:
        parts.append(f'<p class="task"><b>{escape(_("Try it"))}:</b> {sheet.marked(sheet.words.task)}</p>')
        if sheet.words.reveal and not sheet.words.question:
            parts.append(_revealed(f"<p>{sheet.marked(sheet.words.reveal)}</p>", is_folded))
    return "".join(parts)


def _revealed(reveal: str, is_folded: bool) -> str:
    """The text after an answer, on a page below a line that is clicked."""
    summary = escape(_("Reveal"))
    return f"<details><summary>{summary}</summary>{reveal}</details>" if is_folded else reveal


def _question(sheet: Sheet, is_folded: bool) -> list[str]:
    words = sheet.words
    if not words.question:
        return []
    asked = f'<p class="task"><b>{escape(_("Predict, then reveal"))}:</b> {sheet.marked(words.question)}</p>'
    answers = "".join(f"<li>{sheet.marked(answer)}</li>" for answer in words.answers)
    reveal = f"<p>{sheet.marked(words.reveal)}</p>"
    if is_folded and sheet.covered:
        reveal += _as_data(sheet, is_answered=True)
    return [asked, f"<ul>{answers}</ul>" if answers else "", _revealed(reveal, is_folded)]


def _claim(sheet: Sheet) -> list[str]:
    """The sentence with its verdict, the numbers that decide it, and the setting in which it holds."""
    words = sheet.words
    if not words.claim:
        return []
    verdict = VERDICT_BY_ID[verdict_of(sheet.step.claim, sheet.scope, sheet.cured)]
    said = f'<p class="task"><b>{escape(_("Claim"))}:</b> “{sheet.marked(words.claim)}” '
    said += f"<b>{verdict.sign} {escape(_(verdict.title))}</b></p>"
    cure = markup(words.cure, sheet.cured, is_live=False)
    return [said, *(f"<p>{text}</p>" for text in (sheet.marked(words.why), cure) if text)]


def _as_data(sheet: Sheet, *, is_answered: bool = False) -> str:
    """The figure inside the page itself."""
    data = base64.b64encode(sheet.figure("svg", is_answered=is_answered)).decode("ascii")
    return f'<figure><img alt="" src="data:image/svg+xml;base64,{data}"></figure>'


_STYLE = """
body { font: 17px/1.6 "Attnviz Sans", "Attnviz Sans SC", system-ui, sans-serif; color: #1c1d20;
  max-width: 46rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.9rem } h2 { font-size: 1.35rem; margin-top: 2.4rem }
figure { margin: 1rem 0; text-align: center } img { max-width: 100% } .strong, b { font-weight: 600 }
.query { color: #2562c4 } .key { color: #a3560c } .cell, .step { color: #2a67c9 }
.task { border-left: 3px solid #2a67c9; padding-left: .8rem } details { margin-bottom: 1rem }
summary { color: #2a67c9; cursor: pointer } section { break-inside: avoid-page }
"""
_SLIDES = """
@page { size: 320mm 180mm; margin: 12mm } body { max-width: none; font-size: 22px; padding: 0 3rem }
header, section { break-after: page; min-height: 88vh } h1 { margin-top: 30vh } h2 { margin-top: 0 }
.slide td { padding-right: 2rem } figure { margin: 0 } figure img { width: 100%; max-height: 72vh }
"""
