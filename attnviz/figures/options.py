"""`OPTIONS`: the fields of a style as the shell and the window offer them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from attnviz.errors import FieldError, must_be, whole_number
from attnviz.figures.palette import PALETTES
from attnviz.figures.style import LEAST_DPI, MOST_DPI, Style, length
from attnviz.i18n import N_

Control = Literal["text", "switch", "choice"]


@dataclass(frozen=True)
class Option:
    """A field of `Style`: its title, a sentence about it, and how its text is read.

    `metavar` is its value in the help of the shell. `read` raises `ValueError` for a text that is no value.
    A switch has no text; the shell has `--no-NAME` for one that is on by default, and both words for one that
    depends on the width.
    """

    field: str
    title: str
    hint: str
    control: Control = "switch"
    metavar: str = ""
    read: Callable[[str], Any] = str
    choices: tuple[str, ...] = ()

    @property
    def default(self) -> Any:
        """The value of a style that sets nothing."""
        return getattr(Style(), self.field)

    @property
    def flag(self) -> str:
        """The option of the shell."""
        return self.word(is_on=not (self.control == "switch" and self.default))

    @property
    def is_by_width(self) -> bool:
        """True for a switch that the width decides unless it is set."""
        return self.control == "switch" and self.default is None

    def word(self, *, is_on: bool) -> str:
        """The option of the shell that turns a switch on or off."""
        return f"--{'' if is_on else 'no-'}{self.field.replace('_', '-')}"


def points(text: str) -> float:
    """A size of type in points."""
    try:
        return float(text.removesuffix("pt"))
    except ValueError:
        raise FieldError("font_size", text, must_be("a size in points, such as 8")) from None


def dots(text: str) -> int:
    """Pixels per inch."""
    if not text.isascii() or not text.isdigit():
        raise FieldError("dpi", text, whole_number(LEAST_DPI, MOST_DPI))
    return int(text)


OPTIONS = (
    Option(
        "width",
        N_("Width"),
        N_("The width of the file: 85mm, 3.5in, or column, page, slide"),
        "text",
        "LENGTH",
        length,
    ),
    Option("font_size", N_("Type size"), N_("The size of token labels in points"), "text", "PT", points),
    Option(
        "theme",
        N_("Theme"),
        N_("Light for paper, dark for a screen"),
        "choice",
        "NAME",
        str,
        tuple(row.name for row in PALETTES),
    ),
    Option("grey", N_("Greys"), N_("Numbers as grey shades, distinct on any printer")),
    Option("title", N_("Title"), N_("The name of the picture above it")),
    Option("formula", N_("Formula"), N_("The formula below the title")),
    Option("names", N_("Axis names"), N_("The names of the axes, of the colours and of the hatching")),
    Option("caption", N_("Caption"), N_("The document's caption below the picture")),
    Option("sums", N_("Row sums"), N_("The sum of each row of weights beside it")),
    Option("bar", N_("Colour bar"), N_("The scale of the colours beside the picture")),
    Option("square", N_("Square cells"), N_("Cells as wide as high")),
    Option("dpi", N_("Pixels per inch"), N_("Pixels per inch of a PNG"), "text", "N", dots),
)
