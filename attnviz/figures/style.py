"""The style of a figure: its width, the size of its type, its colours, and the parts around the picture."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from attnviz.core.shades import Shades
from attnviz.errors import FieldError, must_be, verbatim
from attnviz.figures.palette import palette
from attnviz.i18n import N_

POINTS = {"mm": 72 / 25.4, "cm": 72 / 2.54, "in": 72.0, "pt": 1.0}
"""Points of each unit of length."""
NARROWEST_MM, WIDEST_MM = 20, 1000
SMALLEST_TYPE, LARGEST_TYPE = 4, 48
LABEL = 9.0
"""Size in units of the labels of tokens; all other type is in proportion to it."""

DPI, LEAST_DPI, MOST_DPI = 200, 36, 1200
"""Pixels per inch of a PNG, and of the raster images in a vector figure."""


@dataclass(frozen=True)
class Width:
    """A usual width: its name in the shell, and its title. `text` is the length."""

    id: str
    text: str
    title: str


WIDTHS = (
    Width("column", "85mm", N_("one column, 85 mm")),
    Width("page", "180mm", N_("two columns, 180 mm")),
    Width("slide", "254mm", N_("a slide, 254 mm")),
)
NARROW_MM = 120
"""Width below which a picture has no title, formula and names unless they are chosen: its text has them."""

_LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*(mm|cm|in|pt)?")


def length(text: str) -> float:
    """A length in points: `85mm`, `3.5in`, a bare number of millimetres, or the id of one of `WIDTHS`.

    Raises `ValueError` for anything else.
    """
    named = {row.id: row.text for row in WIDTHS}
    match = _LENGTH.fullmatch(named.get(text, text).strip())
    if match is None:
        wanted = must_be("a length such as 85mm or 3.5in, or one of {names}", names=", ".join(named))
        raise FieldError("width", text, wanted)
    return float(match[1]) * POINTS[match[2] or "mm"]


@dataclass(frozen=True, kw_only=True)
class Style:
    """Options of a figure. Lengths are in points; None leaves the choice to the picture.

    `font_size` is that of the labels of tokens; titles are larger and numbers smaller in proportion.
    `title`, `formula` and `names`, those of the axes and of the marks, are left out of a narrow figure where
    they are None. `caption` draws the document's caption. `dpi` counts for PNG.
    """

    width: float | None = None
    font_size: float | None = None
    theme: str = "light"
    grey: bool = False
    title: bool | None = None
    formula: bool | None = None
    names: bool | None = None
    caption: bool = False
    sums: bool = True
    bar: bool = True
    square: bool = False
    dpi: int = DPI

    def __post_init__(self) -> None:
        palette(self.theme)
        least, most = (mm * POINTS["mm"] for mm in (NARROWEST_MM, WIDEST_MM))
        if self.width is not None and not least - 0.01 <= self.width <= most + 0.01:
            between = must_be("from {least} mm to {most} mm", least=NARROWEST_MM, most=WIDEST_MM)
            raise FieldError("width", verbatim(millimetres(self.width)), between)
        if self.font_size is not None and not SMALLEST_TYPE <= self.font_size <= LARGEST_TYPE:
            size = must_be("a size from {least} to {most} points", least=SMALLEST_TYPE, most=LARGEST_TYPE)
            raise FieldError("font_size", self.font_size, size)

    @cached_property
    def shades(self) -> Shades:
        """The colours."""
        return palette(self.theme, self.grey)

    @property
    def scale(self) -> float:
        """Points of one unit, in which every picture is laid out."""
        return 1.0 if self.font_size is None else self.font_size / LABEL

    @property
    def is_narrow(self) -> bool:
        """True for a width below `NARROW_MM`."""
        return self.width is not None and self.width < NARROW_MM * POINTS["mm"] - 0.01

    def shows(self, part: bool | None) -> bool:
        """True if a part is drawn: as it is chosen, else in a figure that is not narrow."""
        return not self.is_narrow if part is None else part

    @property
    def room(self) -> float | None:
        """The width in units, if it is set."""
        return None if self.width is None else self.width / self.scale

    def label(self, natural: float) -> float:
        """Size of the labels in units: `natural`, unless a size is set."""
        return natural if self.font_size is None else LABEL

    def too_narrow(self, least: float) -> FieldError:
        """The error of a picture that needs a width of `least` units."""
        assert self.width is not None
        need = must_be("at least {least} for this picture", least=millimetres(least * self.scale, up=True))
        return FieldError("width", verbatim(millimetres(self.width)), need)


def millimetres(points: float, up: bool = False) -> str:
    """A length in words: "85 mm"; a fraction is rounded to a tenth, or up to a whole number."""
    mm = points / POINTS["mm"]
    return f"{-int(-mm // 1)} mm" if up else f"{mm:.4g} mm"
