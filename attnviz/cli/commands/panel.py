"""`attnviz panel`: a panel of the window as a file, without a window."""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from pathlib import Path

from attnviz.cli.command import Command, Condition, Named
from attnviz.cli.options import add_document, document, recorded, written
from attnviz.errors import FieldError, Message, among, must_be
from attnviz.figures.palette import PALETTES
from attnviz.i18n import N_, _

LEAST, MOST = 80, 8192
EMPTY = {
    "compare": Message("The panel “compare” needs a second document: name it by --against."),
    "lesson": Message("The panel “lesson” needs an open lesson; attnviz lesson writes one to a file."),
    "patching": Message("The panel “patching” needs a second document: name the clean text by --against."),
    "survey": Message("The panel “survey” needs an open survey; the window opens what attnviz survey saved."),
}
"""The reasons for which a panel of any document alone would be empty, by its id."""
OF_TWO = ("compare", "patching")
"""Panels that show two documents."""
THEMES = tuple(row.name for row in PALETTES)


def add(command: ArgumentParser) -> None:
    """Add the options."""
    add_document(command)
    command.add_argument("-o", "--output", metavar="FILE", required=True, help=_(".svg, .pdf or .png"))
    command.add_argument(
        "--panel", metavar="ID", required=True, help=_("a panel, such as positions, cost or caches")
    )
    command.add_argument("--theme", choices=THEMES, default="light", help=_("the theme (default: light)"))
    command.add_argument(
        "--size", metavar="W×H", help=_("pixels, such as 640x400 (default: as in a large window)")
    )
    command.add_argument("--against", metavar="DOC", help=_("the state A of a comparison; DOC is B"))


def run(options: Namespace) -> int:
    """Paint a panel into a file."""
    from attnviz.figures.files import format_of
    from attnviz.gui.offscreen import Asked, panel_bytes
    from attnviz.gui.panels.table import PANEL_BY_ID
    from attnviz.model.io.carriers.table import carrying
    from attnviz.model.io.files import replace_file

    output = Path(options.output)
    written(options.output, lambda: format_of(output))
    if options.panel not in PANEL_BY_ID:
        raise FieldError("panel", options.panel, among(PANEL_BY_ID))
    size = None if options.size is None else _size(options.size)
    known = document(options)
    first = None
    if options.against is not None:
        first = document(Namespace(**{**vars(options), "document": options.against, "text": None}))
    if options.panel in EMPTY and first is None:
        raise Named(EMPTY[options.panel])
    asked = Asked(options.panel, options.theme, size, options.engine, options.device, first)
    suffix = output.suffix.lower()
    data = carrying(panel_bytes(known, asked, suffix[1:]), suffix, recorded(known))
    written(options.output, lambda: replace_file(output, data))
    return 0


def _size(text: str) -> tuple[int, int]:
    """Width and height in pixels."""
    match = re.fullmatch(r"(\d{1,5})[x×](\d{1,5})", text)
    sides = [] if match is None else [int(side) for side in match.groups()]
    if not sides or not all(LEAST <= side <= MOST for side in sides):
        needed = must_be("two sides from {least} to {most}, such as 640x400", least=LEAST, most=MOST)
        raise FieldError("size", text, needed)
    return sides[0], sides[1]


COMMAND = Command(
    "panel",
    N_("save a panel of the window as a picture"),
    add,
    run,
    conditions=(Condition("--against", "--panel", OF_TWO),),
)
