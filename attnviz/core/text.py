"""The written form of tokens and numbers: nothing hidden, nothing rounded to a wrong number.

Token text is arbitrary: it may contain line feeds, zero-width joiners or marks that reverse the reading
direction of the rest of a label. `visible` gives every such character a glyph of its own, `exposed` every one
but spaces. `number` is the one rule by which all panels, figures and tables write a float.
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

_BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
"""Letters and marks without ink: a joiner, fillers of Hangul, vowels of Khmer, the empty Braille pattern."""

_BYTE_TOKEN = re.compile(r"<0x([0-9A-F]{2})>")
_BEYOND_PRINTABLE = re.compile("[^\t\n\r -~]")
_FORMULA_STARTS = (*"=+-@＝＋－＠",)

_PARTS = r"\s+|(?:[\u2e80-\uffff]|[^\s\u2e80-\uffff]+)[，。、；：）》”]*"


def visible(text: str) -> str:
    """`exposed` of a label, whose outer spaces would be invisible too.

    Spaces at the beginning and at the end become U+2423, so that " the" differs from "the", and a token of
    spaces is not an empty label. A token that vocabularies write for one byte, `<0xE4>`, is that byte:
    `⟨E4⟩`, or its character if it is ASCII.
    """
    return _kept(text) if len(text) <= KEPT_LENGTH else _made_visible(text)


def _made_visible(text: str) -> str:
    byte = _BYTE_TOKEN.fullmatch(text) if text[:1] == "<" else None
    if byte is not None:
        return _visible_byte(int(byte[1], 16))
    inside = text.strip(" ")
    has_no_ink = all(unicodedata.category(c) == "Zs" or _is_selector(ord(c)) for c in inside)
    shown = "".join(SPACE if c == " " else _code(c) for c in inside) if has_no_ink else exposed(inside)
    before = len(text) - len(text.lstrip(" "))
    after = len(text) - before - len(inside)
    return SPACE * before + shown + SPACE * after


_kept = lru_cache(maxsize=4096)(_made_visible)
"""The labels of an axis are written again with every frame."""


def _visible_byte(byte: int) -> str:
    """Show a byte as `BytePairs.shown` does: a control character other than the line end as its digits."""
    is_shown = 0x20 <= byte < 0x7F or byte == 0x0A
    return visible(chr(byte)) if is_shown else f"\u27e8{byte:02X}\u27e9"


def exposed(text: str) -> str:
    """`text` with a visible character for each invisible one but spaces.

    C0 controls and DEL become their Unicode control pictures (line feed: U+240A). Format characters
    (zero-width, bidirectional), C1 controls, line and paragraph separators, fillers, lone surrogates and
    noncharacters (U+FFFE, which no XML file may contain) become `⟨U+202E⟩`. The rest is unchanged; so are the
    selectors that choose a glyph for the character before them.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_exposed(character) if _is_hidden(character) else character for character in text)


def in_json(text: str) -> str:
    """JSON whose texts have an escape for each invisible character; every reader reads the same."""
    return _BEYOND_PRINTABLE.sub(lambda match: _escaped(match[0]) if _is_hidden(match[0]) else match[0], text)


def _escaped(character: str) -> str:
    """The escapes of JSON: one for each unit of UTF-16 (RFC 8259, section 7)."""
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def in_markdown(text: str) -> str:
    """A label as Markdown shows it, without marks and formulas."""
    return re.sub(r"([\\`*_{}\[\]<>()#+\-.!|~&$])", r"\\\1", visible(text))


def _exposed(character: str) -> str:
    picture = _PICTURES.get(ord(character))
    return _code(character) if picture is None else chr(picture)


def _code(character: str) -> str:
    return f"\u27e8U+{ord(character):04X}\u27e9"


def _is_hidden(character: str) -> bool:
    is_blank = unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") or character in _BLANK
    return is_blank or _is_noncharacter(ord(character))


def _is_selector(code: int) -> bool:
    """True for a variation selector (section 23.4 of the standard)."""
    return 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF


def _is_noncharacter(code: int) -> bool:
    """True if Unicode will never give this code a character (section 23.7 of the standard)."""
    return code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF


def spreadsheet_text(text: str) -> str:
    """`exposed` for a cell of a table, with an apostrophe before it if a spreadsheet would compute it.

    A cell is a formula if it begins with `=`, `+`, `-` or `@`, also in full width (OWASP, CSV injection); the
    tab and the line end, which spreadsheets strip first, are exposed.
    """
    shown = exposed(text)
    return f"'{shown}" if shown.startswith(_FORMULA_STARTS) else shown


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
