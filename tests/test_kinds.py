"""Behaviour of a kind of a closed set: a method of its struct or a function in its row, never a ladder."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from gaps import require_all

import attnviz
from attnviz.engines.decode.cache import STORES
from attnviz.explain import bills
from attnviz.gui.panels.decoding.slots import GROUPS
from attnviz.model.caches import CACHES, Cache
from attnviz.model.masks import MASKS
from attnviz.model.positions import POSITIONS
from attnviz.model.scalings import SCALINGS
from attnviz.model.spec.parts import AnyOf, Mask, Projection, Scale, Sinks, Vectors
from attnviz.model.spec.positions import Position
from attnviz.model.spec.rows import Row
from attnviz.model.spec.scalings import Scaling
from attnviz.model.spec.source import Table

PACKAGE = Path(attnviz.__file__).parent
CLOSED_SETS = (Position, Scaling, Projection, Vectors, Sinks, Scale, Mask, Table, Row, Cache)
SET_OF = {kind.__name__: index for index, union in enumerate(CLOSED_SETS) for kind in get_args(union)}


def functions(node: ast.AST) -> Iterator[ast.FunctionDef]:
    """Every function below a node, the ones inside of functions too."""
    yield from (child for child in ast.walk(node) if isinstance(child, ast.FunctionDef))


def kinds_asked(function: ast.FunctionDef) -> Iterator[int]:
    """The closed set of each test on a kind: `isinstance(x, Kind)`, `type(x) is Kind`, `case Kind()`."""
    for node in ast.walk(function):
        named: ast.AST | None = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            named = node.args[1]
        elif isinstance(node, ast.Compare) and isinstance(node.left, ast.Call):
            is_type = isinstance(node.left.func, ast.Name) and node.left.func.id == "type"
            named = ast.Tuple(node.comparators) if is_type else None
        elif isinstance(node, ast.MatchClass):
            named = node.cls
        names = {item.id for item in ast.walk(named) if isinstance(item, ast.Name)} if named else set()
        yield from {SET_OF[name] for name in names if name in SET_OF}


def ladders(source: str) -> list[str]:
    """The functions that ask twice or more which kind of one closed set they have."""
    found = []
    for function in functions(ast.parse(source)):
        asked = Counter(kinds_asked(function))
        found += [function.name for count in asked.values() if count > 1]
    return found


def test_a_ladder_is_found() -> None:
    ladder = "def f(p):\n if isinstance(p, Rope): return 1\n return isinstance(p, Alibi | Learned)"
    assert ladders(ladder) == ["f"]
    assert ladders("def f(p, m): return isinstance(p, Rope) and isinstance(m, Causal)") == []


def test_no_function_asks_twice_of_which_kind_something_is() -> None:
    files = sorted(PACKAGE.rglob("*.py"))
    found = {str(file.relative_to(PACKAGE)): ladders(file.read_text(encoding="utf-8")) for file in files}
    assert {name: functions for name, functions in found.items() if functions} == {}


def test_every_kind_is_a_public_name_of_its_module() -> None:
    for union in CLOSED_SETS:
        for kind in get_args(union):
            module = sys.modules[kind.__module__]
            public = {getattr(module, name) for name in module.__all__}
            require_all(f"__all__ of {kind.__module__}", public, (kind,))


def test_every_kind_has_its_row_in_every_table_by_kind() -> None:
    kinds = set(get_args(Cache))
    assert set(STORES) == set(GROUPS) == {row.kind for row in CACHES} == kinds
    assert {row.record for row in POSITIONS} == set(get_args(Position))
    assert {row.record for row in SCALINGS} == set(get_args(Scaling))
    assert {row.kind for row in MASKS} == set(get_args(Mask)) - {AnyOf}
    assert set(bills._BILLS) == set(bills.QUANTITY_BY_ID)
