"""Write `docs/fields.md`, the fields and kinds of a document, from their tables:
`python docs/list_fields.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from attnviz.model.caches import CACHES
from attnviz.model.fields import FIELDS, FieldRow, bounds_of
from attnviz.model.masks import MASKS
from attnviz.model.normalisers import NORMALISERS
from attnviz.model.positions import POSITIONS
from attnviz.model.scalings import SCALINGS
from attnviz.operations.norm import NORM_KINDS

PAGE = Path(__file__).with_name("fields.md")
HEAD = """# Fields of an experiment

Each field is declared and described once, at its struct in `attnviz/model/spec/`; this page is written from
there by `python docs/list_fields.py`. A path names the field in messages. The kinds of masks, positions and
other parts stand [below](#kinds).

| field | title | range | meaning |
|---|---|---|---|
"""
KINDS = """
## Kinds

| field | kind | title | meaning |
|---|---|---|---|
"""


def _range(row: FieldRow) -> str:
    said = row.field
    least, most = bounds_of(row.annotation)
    least, most = least if least is not None else said.least, most if most is not None else said.most
    words = [
        *([f"≥ {least:g}"] if least is not None else []),
        *([f"> {said.above:g}"] if said.above is not None else []),
        *([f"≤ {most:,g}" if most < 1e6 else ""] if most is not None else []),
        *([f"< {said.below:g}"] if said.below is not None else []),
        *(["even"] if said.even else []),
    ]
    return ", ".join(word for word in words if word)


def _kinds() -> Iterator[tuple[str, ...]]:
    """Field, kind, title and meaning of each row of the closed sets."""
    yield from (("`masks.kind`", f"`{row.tag}`", row.title, row.description) for row in MASKS)
    yield ("`masks.kind`", "`any_of`", "", "Several masks, of which one must let a query attend to a key")
    yield from (("`position.kind`", f"`{row.id}`", row.title, row.description) for row in POSITIONS)
    yield from (("`position.scaling.kind`", f"`{row.id}`", row.title, row.description) for row in SCALINGS)
    for field, rows in (
        ("`normaliser`", NORMALISERS),
        ("`qk_norm.kind`", NORM_KINDS),
        ("`cache.kind`", CACHES),
    ):
        yield from ((field, f"`{row.id}`", row.title, row.hint) for row in rows)


def _lines(rows: Iterator[tuple[str, ...]]) -> str:
    lines = (" | ".join(cell.replace("|", "\\|") for cell in cells) for cells in rows)
    return "".join(f"| {line} |\n" for line in lines)


def page() -> str:
    """The text of the page."""
    fields = ((f"`{row.path}`", row.field.title, _range(row), row.field.hint) for row in FIELDS)
    return HEAD + _lines(fields) + KINDS + _lines(_kinds())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
