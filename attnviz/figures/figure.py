"""`render`: a picture of a trace as a figure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from attnviz.errors import FieldError, Message, among, listed, must_be
from attnviz.figures.content import Head
from attnviz.figures.fonts import drawing
from attnviz.figures.kinds.table import KIND_BY_ID, OF_WORDS
from attnviz.figures.report import Report
from attnviz.figures.sheet import fonts_checks, sheet_of
from attnviz.figures.style import Style
from attnviz.figures.subject import ALL_SITES, Subject
from attnviz.model.links import LINED
from attnviz.model.spec.view import DRAWN, View
from attnviz.model.trace import Trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def render(
    trace: Trace,
    view: View | None = None,
    stage: str | None = None,
    head: Head = None,
    *,
    site: str | None = None,
    theme: str = "light",
    picture: str | None = None,
    caption: str = "",
    style: Style | None = None,
) -> Figure:
    """Draw one stage as a heat map with token labels, colour bar and, where they fit, numbers; or as lines or
    arcs.

    `view` determines colour range and orientation, and the site, stage and head where they are None. `head`
    counts from 0 (key/value heads for their stages); "all" draws every head, small, on one colour scale.
    `site` is the name of one attention; "all" draws one head of all of them side by side, with their numbers
    of pairs, for a stage of queries and keys. `theme` is "light" or "dark". `picture` is "map", "mean" (the
    mean of the heads as a map), "lines" between words or "arcs" over the sentence from the query of the
    view, which weights of one attention have; None: the one of the view, where the stage has it.
    `caption` is written below, without its links. `style` has all further options, its theme included.

    Returns a `matplotlib.figure.Figure` of one axes, whose unit is a point. Write it with
    `attnviz.figures.save_figure`. Raises `ValueError` for a site, stage, head, theme or picture that does not
    exist, and for a width that is too small.
    """
    style = style or Style(theme=theme, caption=bool(caption))
    view = view or View()
    if picture in DRAWN:
        view = replace(view, picture=picture)
    subject = Subject(trace, view, stage, head, site, caption=caption)
    return figure_of(kind_of(subject, picture), subject, style)


def figure_of(
    kind: str,
    subject: Subject,
    style: Style,
    say: Callable[[Message], object] | None = None,
) -> Figure:
    """A picture of the kind with this id. `say` is told that a wanted part has no room.

    Raises `ValueError` as `reported` does.
    """
    figure, report = reported(kind, subject, style)
    if report.without is not None and say is not None:
        say(report.without)
    return figure


def reported(kind: str, subject: Subject, style: Style) -> tuple[Figure, Report]:
    """A picture of the kind with this id, and how it fits its width, the fonts that it needs, its caption.

    Raises `ValueError` for a kind that does not exist or that the subject does not have, for a choice that it
    lacks, and for a width that is too small.
    """
    if kind not in KIND_BY_ID:
        raise FieldError("kind", kind, among(KIND_BY_ID))
    row = KIND_BY_ID[kind]
    row.check(subject)
    with drawing():
        picture = row.draw(subject, style)
        figure = sheet_of(picture, subject.caption if style.caption else "", style)
    checks = *picture.checks, *fonts_checks(figure)
    return figure, Report(checks, picture.without, picture.says or picture.title)


def kind_of(subject: Subject, picture: str | None = None) -> str:
    """Id of the kind that site, head and picture ask for: all attentions, lines, arcs or maps.

    Raises `ValueError` for another picture, and for a combination that has none.
    """
    if subject.site == ALL_SITES:
        if picture in OF_WORDS:
            raise FieldError("picture", picture, must_be("map for all attentions"))
        if subject.head == "all":
            raise FieldError("head", subject.head, must_be("one head for all attentions"))
        return "sites"
    wanted = _wanted(subject, picture)
    return wanted if wanted in OF_WORDS else "stage"


def _wanted(subject: Subject, picture: str | None) -> str:
    """`picture`, or else that of the view where the stage has it. Raises `ValueError` for another picture."""
    if picture is None:
        has_lines = subject.shown_site.quantity == "value" and subject.shown_stage in LINED
        return subject.view.picture if has_lines else "map"
    if picture not in DRAWN:
        raise FieldError("picture", picture, among(DRAWN))
    if picture == "mean" and subject.shown_stage not in LINED:
        raise FieldError(
            "picture", picture, must_be("map for a stage other than {stages}", stages=listed(LINED))
        )
    return picture
