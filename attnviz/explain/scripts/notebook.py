"""A document as a Jupyter notebook: the script with a cell for each stage, which shows its array."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from attnviz.core.text import in_markdown
from attnviz.explain.scripts.script import TOLD, Part, Program
from attnviz.i18n import _

_EMPTY: dict[str, dict[str, Any]] = {"markdown": {}, "code": {"execution_count": None, "outputs": []}}
"""Fields of each kind of cell besides its text (nbformat 4.5)."""


def notebook(made: Program, beside: str = "") -> str:
    """The text of an `.ipynb` file, in the order and the indents of Jupyter.

    `beside` is an expression: the path of the file of arrays that are too many for the notebook.
    """
    cells = [
        {
            "cell_type": kind,
            "id": f"cell-{index}",
            "metadata": {},
            "source": text.splitlines(keepends=True),
            **_EMPTY[kind],
        }
        for index, (kind, text) in enumerate(_cells(made, beside))
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    whole = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def _cells(made: Program, beside: str) -> Iterator[tuple[str, str]]:
    """Kind and text of each cell."""
    first, *others = made.about
    yield "markdown", "\n".join((f"# {in_markdown(first)}", *map(in_markdown, others)))
    yield "code", "\n".join(made.imports(beside))
    site = ""
    for part in made.parts:
        if part.site != site:
            site = part.site
            yield "markdown", f"## {in_markdown(made.titles[site])}"
        yield "markdown", _heading(part)
        yield "code", "\n".join((*part.lines, part.stage))
        if part.told:
            yield "markdown", f"**{_(TOLD)}**"
            yield "code", "\n".join(part.told)


def _heading(part: Part) -> str:
    formula = f"`{part.formula}`" if part.formula else ""
    return "\n\n".join(filter(None, (f"**{part.title}**", formula, part.shape.strip())))
