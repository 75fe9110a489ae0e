"""A document as a Jupyter notebook: the script with a cell for each stage, which shows its array."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attnviz.errors import InputError, Message
from attnviz.scripts.script import Part, Program

NEEDS_NBFORMAT = Message("A notebook needs the package nbformat: pip install 'attnviz[notebook]'.")


def notebook(made: Program, beside: str = "") -> str:
    """The text of an `.ipynb` file.

    `beside` is an expression: the path of the file of arrays that are too many for the notebook. Raises
    `InputError` without the package nbformat.
    """
    try:
        import nbformat
    except ImportError:
        raise InputError(NEEDS_NBFORMAT) from None
    v4: Any = nbformat.v4  # type: ignore[attr-defined]
    cells = [
        getattr(v4, f"new_{kind}_cell")(text, id=f"cell-{index}")
        for index, (kind, text) in enumerate(_cells(made, beside))
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    whole = v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    return str(nbformat.writes(whole)) + "\n"  # type: ignore[no-untyped-call]


def _cells(made: Program, beside: str) -> Iterator[tuple[str, str]]:
    """Kind and text of each cell."""
    first, *others = made.about
    yield "markdown", "\n".join((f"# {_plain(first)}", *map(_plain, others)))
    yield "code", "\n".join(made.imports(beside))
    site = ""
    for part in made.parts:
        if part.site != site:
            site = part.site
            yield "markdown", f"## {_plain(made.titles[site])}"
        yield "markdown", _heading(part)
        yield "code", "\n".join((*part.lines, part.stage))


def _heading(part: Part) -> str:
    return f"**{part.title}**\n\n`{part.formula}`\n\n{part.shape.strip()}"


def _plain(text: str) -> str:
    """A text in which Markdown finds no marks."""
    return "".join(f"\\{letter}" if letter in r"\`*_{}[]<>#|$" else letter for letter in text)
