"""Write `docs/fields.md`, the fields of a document, from `FIELDS`: `python docs/list_fields.py`."""

from __future__ import annotations

from pathlib import Path

from attnviz.model.fields import FIELDS, FieldRow, bounds_of

PAGE = Path(__file__).with_name("fields.md")
HEAD = """# Fields of an experiment

Each field is declared and described once, at its struct in `attnviz/model/spec/`; this page is written from
there by `python docs/list_fields.py`. A path names the field in messages. Kinds of a part stand in
`attnviz schema`.

| field | title | range | meaning |
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


def page() -> str:
    """The text of the page."""
    rows = ((f"`{row.path}`", row.field.title, _range(row), row.field.hint) for row in FIELDS)
    lines = (" | ".join(cell.replace("|", "\\|") for cell in cells) for cells in rows)
    return HEAD + "".join(f"| {line} |\n" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
