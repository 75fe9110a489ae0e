"""No list of stages stands beside `STAGES`: literals of three or more of its ids are found in the source."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import attnviz.version
from attnviz.model.stages import STAGE_BY_ID, of_phase
from attnviz.operations.operation import Operation

PACKAGE = Path(attnviz.version.__file__).resolve().parent

LETTERS = {"q", "k", "v", "x", "output"}
"""Ids that are also names of other things: of three maps, of a cache's rows, of a variable."""

CHOSEN = {
    "core/cost/memory.py": "the arithmetic of shapes without a document",
    "gui/panels/axes/axes.py": "the stages that the panel offers",
    "gui/panels/decoding/cache.py": "the rows that a kind of cache keeps",
    "gui/panels/patching.py": "the stages that the panel offers",
    "model/io/migrations.py": "names of older files",
}
"""Files with a list of their own, and its reason."""


ROOMS = "gui", "figures", "study", "cli", "pages", "explain"
"""Rooms that ask a site for its map."""

NOT_A_MAP = {
    "cli/commands/cost.py": "the format of parameters, and their bytes",
    "cli/commands/decode.py": "the names of what the shell writes",
    "explain/scripts/positions.py": "W_R, a table of a position",
    "gui/panels/circuits.py": "a number of the vocabulary, in a cell that no site has",
    "gui/panels/cost/bar.py": "the bytes of the parameters, in a bar",
    "gui/panels/cost/fields.py": "the format of parameters",
    "gui/panels/mechanism/position.py": "W_R, a table of a position",
    "gui/panels/mechanism/weighting.py": "a section of the form",
    "gui/panels/patching.py": "the stages that the panel offers",
    "pages/arrays.py": "arrays of weights that are given by that name",
    "study/lessons/window.py": "sections of the form",
}
"""Files that say "weights" and mean no stage of a site, or no map."""


ASKS = {
    "compute/decoding.py": "the read-out, by the name of the comparison",
    "core/cost/lines.py": "the arithmetic of shapes without a document",
    "engines/backward/backward.py": "the loss is that of the logits",
    "engines/decode/cache.py": "the rows of a latent's cache",
    "engines/decode/step.py": "the read-out of the last site; the engine's own array of mixtures",
    "explain/formulas/symbols.py": "the letters of a whole site",
    "explain/gradients/cell.py": "logits by similarity, which read another site",
    "explain/scripts/headlines.py": "the result of the row that the window shows",
    "explain/position_curves.py": "the way in which a position changes numbers",
    "figures/heat.py": "a mark in a picture",
    "figures/kinds/comparison.py": "a mark in a picture",
    "gui/context/menu.py": "the read-out",
    "gui/panels/answer.py": "the read-out",
    "gui/panels/axes/axes.py": "the stages that the panel offers",
    "gui/panels/decoding/counts.py": "the read-out",
    "gui/panels/matrices.py": "the gate of a head, a parameter",
    "gui/panels/mechanism/block.py": "the norms of a block, fields of the document",
    "gui/panels/mechanism/heads.py": "the latent, a section of the form",
    "gui/panels/mechanism/latent_form.py": "the boxes of the latent's diagram",
    "gui/panels/mechanism/mask.py": "a way of masking, a field of the document",
    "gui/panels/pipeline/pipeline.py": "the label of the scale",
    "gui/panels/stage/gradients.py": "the read-out",
    "gui/panels/stage/stage.py": "the output beside the map",
    "gui/widgets/pictures/block_diagram.py": "the places of a diagram",
    "gui/widgets/pictures/block_layout.py": "the places of a diagram",
    "training/trainable.py": "numbers that each step drops anew",
    "training/site_pass.py": "the softmax that the loss makes itself; numbers that are dropped anew",
    "model/edit/tips.py": "what a block reads, in a sentence",
    "model/gradient.py": "the loss is that of the logits",
    "model/spec/block.py": "a role of a matrix",
    "pages/sites.py": "the read-out",
    "study/change.py": "the read-out",
    "study/circuits.py": "the last norm, folded into a direction",
    "study/claims/scope.py": "the read-out",
    "study/contributions.py": "the last norm, folded into a direction",
    "study/failures/checks.py": "a site that begins with the token vectors",
    "study/patching.py": "the input of a layer",
    "study/target.py": "the read-out",
}
"""Files that compare with the id of a stage or ask for the class of an operation; the list only shrinks."""

AMBIGUOUS = LETTERS | {"memory"}
"""Ids that are words of other tables too."""


def texts(nodes: Iterable[ast.expr | None]) -> list[str]:
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def compared(node: ast.BoolOp) -> list[str]:
    """The texts that the parts of `a == "x" or a == "y"` compare with."""
    parts = (part for part in node.values if isinstance(part, ast.Compare))
    return [text for part in parts for text in texts((part.left, *part.comparators))]


def subclasses(kind: type) -> Iterator[str]:
    for one in kind.__subclasses__():
        yield one.__name__
        yield from subclasses(one)


def asks(source: str) -> Iterator[str]:
    """The ids of stages that a source compares with, and the operations whose class it asks for."""
    ids, kinds = set(STAGE_BY_ID) - AMBIGUOUS, set(subclasses(Operation))
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Compare(left=ast.Attribute(attr="phase" | "kind")):
                continue
            case ast.Compare():
                sides = (node.left, *node.comparators)
                parts = [side.elts if isinstance(side, ast.Tuple | ast.Set) else (side,) for side in sides]
                yield from set(texts(part for group in parts for part in group)) & ids
            case ast.MatchValue():
                yield from set(texts((node.value,))) & ids
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass")):
                named = {one.id for one in ast.walk(node.args[1]) if isinstance(one, ast.Name)}
                yield from named & kinds


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


def test_questions_for_a_stage_or_an_operation_are_found() -> None:
    assert list(asks("a == 'masked' or isinstance(b, Difference)")) == ["masked", "Difference"]
    assert list(asks("stage in ('weights', 'mixed_normed') and stage != 'q'")) != []
    assert not list(asks("row.phase == 'weights' or row.kind != 'scores' or name == 'q'"))


def test_who_asks_for_a_stage_or_an_operation_gives_its_reason() -> None:
    own = {PACKAGE / "model" / "stages.py", *(PACKAGE / "operations").rglob("*.py")}
    found = {
        path.relative_to(PACKAGE).as_posix(): sorted(asks(path.read_text("utf-8")))
        for path in set(PACKAGE.rglob("*.py")) - own
    }
    found = {name: names for name, names in found.items() if names}
    assert {name: names for name, names in found.items() if name not in ASKS} == {}
    assert set(ASKS) - set(found) == set(), "these ask no longer: they leave the list"
