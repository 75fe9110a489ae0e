"""How tokens and numbers are written: nothing hidden, nothing rounded to a lie.

Token text is arbitrary: it may hold line feeds, zero-width joiners or marks that turn the reading direction
of the rest of a label. `visible` gives every such character a glyph of its own. `number` is the one rule by
which all panels, figures and tables write a float.
"""

from __future__ import annotations

import math
import re
import unicodedata

from attnviz.errors import FieldError, whole_number

_PICTURES = {code: 0x2400 + code for code in range(0x20)} | {0x7F: 0x2421}
_RIGHT_TO_LEFT = ("R", "AL", "AN")
_LARGE = 1e6
SPACE = "\u2423"
"""What is written for a space that would not show."""

_BYTE_TOKEN = re.compile(r"<0x([0-9A-F]{2})>")
_FORMULA_STARTS = (*"=+-@＝＋－＠\t\r\n",)

_PARTS = r"\s+|(?:[\u2e80-\uffff]|[^\s\u2e80-\uffff]+)[，。、；：）》”]*"


def visible(text: str) -> str:
    """`text` with each character that would not show replaced by one that does.

    C0 controls and DEL become their Unicode control pictures (line feed: U+240A). Format characters
    (zero-width, bidirectional), C1 controls, line and paragraph separators, lone surrogates and noncharacters
    (U+FFFE, which no XML file may hold) become `⟨U+202E⟩`. Spaces at the beginning and at the end become
    U+2423, so that " the" is not taken for "the", and a token of nothing but spaces is not an empty label. A
    token that vocabularies write for one byte, `<0xE4>`, is that byte: `⟨E4⟩`, or its character where it is
    one of ASCII. The rest is unchanged.
    """
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


def _visible_byte(byte: int) -> str:
    """As `BytePairs.shown` has it: a control character, but for the line end, is shown as a byte."""
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
    """`text` for a cell of a table, with an apostrophe before it where a spreadsheet would compute it.

    A cell is a formula where it begins with `=`, `+`, `-` or `@`, also in full width, or with a tab or a line
    end, which are cut away first (OWASP, CSV injection).
    """
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def isolated(shown: str) -> str:
    """A `visible` text for the middle of a sentence.

    Text that runs from right to left turns the numbers and signs beside it around (`k 1.5 = שלום`), unless
    it is isolated: U+2068 before, U+2069 after it (Unicode Annex 9). Other text is unchanged.
    """
    if any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in shown):
        return f"\u2068{shown}\u2069"
    return shown


def elide(text: str, n: int) -> str:
    """`text`, or its beginning and an ellipsis, in at most `n` characters (n >= 1)."""
    if n < 1:
        raise FieldError("n", n, whole_number(1))
    return text if len(text) <= n else text[: n - 1] + "\u2026"


def columns(text: str) -> int:
    """Number of columns of a terminal `text` takes: two for a Chinese character, one for a Latin one."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def wrapped(text: str, width: int) -> list[str]:
    """`text` in lines of at most `width` columns: a line ends at a space or beside a wide character.

    No line begins with a wide closing mark; a word that is wider than a line has one for itself.
    """
    lines, line, gap = [], "", ""
    for part in re.findall(_PARTS, text.strip()):  # slow to compile, and seldom wanted
        if part.isspace():
            gap = " "
        elif not line or columns(line + gap + part) <= width:
            line, gap = line + gap + part, ""
        else:
            lines.append(line)
            line, gap = part, ""
    return [*lines, line]


def number(value: float, digits: int = 3) -> str:
    """`value` with `digits` decimals, a true minus sign, and never a zero that is none.

    Exact zero is `0.000` (minus zero too). A value that would round to zero is written in scientific notation
    of the same width (`4e−5`; more digits give more of the mantissa), as is one from a million up, with
    `digits` decimals. NaN is `NaN`; infinities are `∞` and `−∞`.
    """
    value = float(value)
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


def _scientific(value: float, decimals: int) -> str:
    """Scientific notation without the padding of the exponent: 4e-5, not 4e-05."""
    mantissa, exponent = f"{value:.{decimals}e}".split("e")
    return f"{mantissa}e{int(exponent)}"
