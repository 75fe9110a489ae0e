"""Write the lists of the manual from the tables of the program, between their marks:
`python docs/list_tables.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from attnviz.checkpoints.families.table import FAMILIES
from attnviz.model.stages import STAGES

MANUAL = Path(__file__).with_name("manual")


def _table(*rows: tuple[str, ...]) -> str:
    """A table of Markdown; the first row is its heading."""
    lines = [" | ".join(cell.replace("|", "\\|") for cell in row) for row in rows]
    lines.insert(1, "|".join("---" for _cell in rows[0]))
    return "".join(f"| {line} |\n" if index != 1 else f"|{line}|\n" for index, line in enumerate(lines))


def _stages() -> str:
    rows = ((f"`{row.id}`", row.title, ", ".join(row.axes), row.formula) for row in STAGES)
    return _table(("stage", "title", "axes", "formula"), *rows)


def _families() -> str:
    return _table(("family", "`model_type`"), *_types())


def _types() -> Iterator[tuple[str, str]]:
    for row in FAMILIES:
        yield row.title, ", ".join(f"`{name}`" for name in row.model_types)


LISTS: dict[str, tuple[str, Callable[[], str]]] = {
    "stages": ("python.md", _stages),
    "families": ("models.md", _families),
}
"""By the name in the marks: the page, and the text between them."""


def page(name: str) -> str:
    """The text of a page of the manual with its lists."""
    text = (MANUAL / name).read_text(encoding="utf-8")
    for mark, (of, write) in LISTS.items():
        if of == name:
            begin, end = f"<!-- {mark} -->\n", f"<!-- end of {mark} -->\n"
            text = re.sub(
                f"(?<={begin}).*?(?={end})", lambda _old, write=write: write(), text, flags=re.DOTALL
            )
    return text


if __name__ == "__main__":
    for name in {of for of, _write in LISTS.values()}:
        (MANUAL / name).write_text(page(name), encoding="utf-8")
