"""No list of stages stands beside `STAGES`: literals of three or more of its ids are found in the source."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import attnviz.version
from attnviz.model.stages import STAGE_BY_ID, of_phase

PACKAGE = Path(attnviz.version.__file__).resolve().parent

LETTERS = {"q", "k", "v", "x", "output"}
"""Ids that are also names of other things: of three maps, of a cache's rows, of a variable."""

CHOSEN = {
    "core/cost/memory.py": "the arithmetic of shapes without a document",
    "gui/panels/axes/panel.py": "the stages that the panel offers",
    "gui/panels/decoding/errors.py": "the rows that a kind of cache keeps",
    "gui/panels/patching/patching.py": "the stages that the panel offers",
    "model/io/migrations.py": "names of older files",
}
"""Files with a list of their own, and its reason."""


ROOMS = "gui", "figures", "study", "cli", "pages", "explain"
"""Rooms that ask a site for its map."""

NOT_A_MAP = {
    "cli/commands/decode.py": "the names of what the shell writes",
    "gui/panels/circuits/arithmetic.py": "a number of the vocabulary, in a cell that no site has",
    "gui/panels/cost/fields.py": "the format of parameters",
    "gui/panels/mechanism/relative.py": "W_R, a table of a position",
    "gui/panels/mechanism/weighting.py": "a section of the form",
    "gui/panels/patching/patching.py": "the stages that the panel offers",
    "pages/arrays.py": "arrays of weights that are given by that name",
    "study/lessons/window.py": "sections of the form",
}
"""Files that say "weights" and mean no stage of a site, or no map."""


def texts(nodes: Iterable[ast.expr | None]) -> list[str]:
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def compared(node: ast.BoolOp) -> list[str]:
    """The texts that the parts of `a == "x" or a == "y"` compare with."""
    parts = (part for part in node.values if isinstance(part, ast.Compare))
    return [text for part in parts for text in texts((part.left, *part.comparators))]


def lists(source: str) -> Iterator[tuple[int, set[str]]]:
    """The line and the ids of each literal of three or more stages."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Tuple() | ast.Set() | ast.List():
                found = texts(node.elts)
            case ast.Dict():
                found = texts(node.keys)
            case ast.BoolOp():
                found = compared(node)
            case ast.MatchOr():
                found = texts(one.value for one in node.patterns if isinstance(one, ast.MatchValue))
            case _:
                continue
        ids = set(found) & set(STAGE_BY_ID)
        if len(ids) > 2 and ids - LETTERS:
            yield node.lineno, ids


def test_literals_are_found_in_every_form() -> None:
    ids = "scores", "scaled", "capped"
    one, two, three = ids
    compares = " or ".join(f"a == {name!r}" for name in ids)
    patterns = "match a:\n case " + " | ".join(map(repr, ids)) + ":\n  pass"
    forms = repr(ids), repr(set(ids)), repr(list(ids)), repr(dict.fromkeys(ids, 1)), compares, patterns
    assert all([set(ids)] == [found for _line, found in lists(form)] for form in (*forms, f"a in {ids!r}"))
    assert not list(lists(repr((one, two)))) and not list(lists("('q', 'k', 'v')")) and three


def test_no_list_of_stages_stands_outside_the_table() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix(): [line for line, _ids in lists(path.read_text("utf-8"))]
        for path in PACKAGE.rglob("*.py")
        if path != PACKAGE / "model" / "stages.py"
    }
    have = {name for name, lines in found.items() if lines}
    assert {name: found[name] for name in have - set(CHOSEN)} == {}


def test_no_room_names_the_stage_that_is_the_map() -> None:
    maps = set(of_phase("weights"))
    assert {"weights", "dropped", "combined"} <= maps
    found = {
        path.relative_to(PACKAGE).as_posix()
        for room in ROOMS
        for path in (PACKAGE / room).rglob("*.py")
        if maps & set(texts(ast.walk(ast.parse(path.read_text("utf-8")))))  # type: ignore[arg-type]
    }
    assert found == set(NOT_A_MAP)
