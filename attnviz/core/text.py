"""The written form of tokens and numbers: nothing hidden, nothing rounded to a wrong number.

Token text is arbitrary: it may contain line feeds, zero-width joiners or marks that reverse the reading
direction of the rest of a label. `visible` gives every such character a glyph of its own. `number` is the one
rule by which all panels, figures and tables write a float.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from attnviz.errors import FieldError, whole_number

_PICTURES = {code: 0x2400 + code for code in range(0x20)} | {0x7F: 0x2421}
_RIGHT_TO_LEFT = ("R", "AL", "AN")
_LARGE = 1e6
KEPT_LENGTH = 64
"""Characters of the texts whose visible form is remembered."""
SPACE = "\u2423"
"""Glyph of a space that would be invisible."""

_BYTE_TOKEN = re.compile(r"<0x([0-9A-F]{2})>")
_FORMULA_STARTS = (*"=+-@＝＋－＠\t\r\n",)

_PARTS = r"\s+|(?:[\u2e80-\uffff]|[^\s\u2e80-\uffff]+)[，。、；：）》”]*"


def visible(text: str) -> str:
    """Replace each invisible character of `text` by a visible one.

    C0 controls and DEL become their Unicode control pictures (line feed: U+240A). Format characters
    (zero-width, bidirectional), C1 controls, line and paragraph separators, lone surrogates and noncharacters
    (U+FFFE, which no XML file may contain) become `⟨U+202E⟩`. Spaces at the beginning and at the end become
    U+2423, so that " the" differs from "the", and a token of spaces is not an empty label. A token that
    vocabularies write for one byte, `<0xE4>`, is that byte: `⟨E4⟩`, or its character if it is ASCII. The rest
    is unchanged.
    """
    return _kept(text) if len(text) <= KEPT_LENGTH else _made_visible(text)


def _made_visible(text: str) -> str:
    byte = _BYTE_TOKEN.fullmatch(text) if text[:1] == "<" else None
    if byte is not None:
        return _visible_byte(int(byte[1], 16))
    inside = text.strip(" ")
    if inside and inside.isascii() and inside.isprintable():
        shown = inside
    else:
        only_spaces = bool(text) and all(unicodedata.category(c) == "Zs" for c in text)
        shown = "".join(_visible_character(c, only_spaces) for c in inside)
    before = len(text) - len(text.lstrip(" "))
    after = len(text) - before - len(inside)
    return SPACE * before + shown + SPACE * after


_kept = lru_cache(maxsize=4096)(_made_visible)
"""The labels of an axis are written again with every frame."""


def _visible_byte(byte: int) -> str:
    """Show a byte as `BytePairs.shown` does: a control character other than the line end as its digits."""
    is_shown = 0x20 <= byte < 0x7F or byte == 0x0A
    return visible(chr(byte)) if is_shown else f"\u27e8{byte:02X}\u27e9"


def _visible_character(character: str, only_spaces: bool) -> str:
    code = ord(character)
    if code in _PICTURES:
        return chr(_PICTURES[code])
    category = unicodedata.category(character)
    if only_spaces and character == " ":
        return SPACE
    is_hidden = category in ("Cc", "Cf", "Cs", "Zl", "Zp") or (only_spaces and category == "Zs")
    if is_hidden or _is_noncharacter(code):
        return f"\u27e8U+{code:04X}\u27e9"
    return character


def _is_noncharacter(code: int) -> bool:
    """True if Unicode will never give this code a character (section 23.7 of the standard)."""
    return code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF


def spreadsheet_text(text: str) -> str:
    """`text` for a cell of a table, with an apostrophe before it if a spreadsheet would compute it.

    A cell is a formula if it begins with `=`, `+`, `-` or `@`, also in full width, or with a tab or a line
    end, which spreadsheets strip first (OWASP, CSV injection).
    """
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def isolated(shown: str) -> str:
    """A `visible` text for the middle of a sentence.

    Right-to-left text reorders the numbers and signs beside it (`k 1.5 = שלום`), unless it is isolated:
    U+2068 before, U+2069 after it (Unicode Annex 9). Other text is unchanged.
    """
    is_plain = shown.isascii()
    if not is_plain and any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in shown):
        return f"\u2068{shown}\u2069"
    return shown


def elide(text: str, n: int) -> str:
    """`text`, or its beginning and an ellipsis, in at most `n` characters. Raises `FieldError` for n < 1."""
    if n < 1:
        raise FieldError("n", n, whole_number(1))
    return text if len(text) <= n else text[: n - 1] + "\u2026"


def is_wide(character: str) -> bool:
    """True for a wide or full-width character (Unicode Annex 11), which stands upright in a vertical line."""
    return unicodedata.east_asian_width(character) in "WF"


def upright(text: str) -> tuple[str, ...]:
    """The characters of a label that stand one below the other where other labels are rotated.

    These are one letter alone, or wide characters, also in front of an ellipsis; of any other label none.
    """
    if len(text) == 1 or (text and all(map(is_wide, text.removesuffix("\u2026")))):
        return tuple(text)
    return ()


def columns(text: str) -> int:
    """Terminal columns of `text`: two for a Chinese character, one for a Latin one."""
    return sum(2 if is_wide(character) else 1 for character in text)


def wrapped(text: str, width: int) -> list[str]:
    """`text` in lines of at most `width` columns: a line ends at a space or beside a wide character.

    No line begins with a wide closing mark; a word wider than a line has a line of its own.
    """
    lines, line, gap = [], "", ""
    for part in re.findall(_PARTS, text.strip()):  # slow to compile, and rarely needed
        if part.isspace():
            gap = " "
        elif not line or columns(line + gap + part) <= width:
            line, gap = line + gap + part, ""
        else:
            lines.append(line)
            line, gap = part, ""
    return [*lines, line]


def number(value: float, digits: int = 3) -> str:
    """Format `value` with `digits` decimals and a true minus sign; only exact zero reads as zero.

    Exact zero is `0.000` (minus zero too). A value that would round to zero is written in scientific notation
    of the same width (`4e−5`; more digits show more of the mantissa), as is one of a million or more, with
    `digits` decimals. NaN is `NaN`; infinities are `∞` and `−∞`.
    """
    value = float(value)
    if 10.0**-digits <= abs(value) < _LARGE:  # most numbers: a map with numbers formats hundreds a frame
        return f"{value:.{digits}f}".replace("-", "\u2212")
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "\u221e" if value > 0 else "\u2212\u221e"
    if value == 0:
        return f"{0.0:.{digits}f}"
    fixed = f"{value:.{digits}f}"
    if abs(value) >= _LARGE:
        fixed = _scientific(value, digits)
    elif float(fixed) == 0:
        fixed = _scientific(value, max(0, digits - 3))
    return fixed.replace("-", "\u2212")


def signed(value: float, digits: int = 3) -> str:
    """`number` of a difference, a positive one with a plus sign."""
    return f"+{number(value, digits)}" if value > 0 else number(value, digits)


def numbers(values: Sequence[float], digits: int = 3) -> list[str]:
    """`number` of each value; those of a map, hundreds a frame, are mostly formatted all at once."""
    least = 10.0**-digits
    if not all(least <= abs(value) < _LARGE for value in values):
        return [number(value, digits) for value in values]
    return (f"%.{digits}f " * len(values) % tuple(values)).replace("-", "\u2212").split()


def _scientific(value: float, decimals: int) -> str:
    """Scientific notation without the padding of the exponent: 4e-5, not 4e-05."""
    mantissa, exponent = f"{value:.{decimals}e}".split("e")
    return f"{mantissa}e{int(exponent)}"
