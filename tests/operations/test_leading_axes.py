"""Every operation with the leading axes (2, 3) in front, against single runs, on both engines.

The stages of the table say which operations exist, and the test documents have their operands: a new class
needs a row and a document that has it, and fails here by name without them.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from cases import MASKS
from experiments import SITES, SPREAD, STACKS
from numpy.typing import NDArray

import attnviz.operations
from attnviz.engines.backward.cells import Cells
from attnviz.engines.engine import Engine
from attnviz.engines.operands import Operands
from attnviz.engines.resolution import resolve
from attnviz.engines.table import ENGINES, EngineKind
from attnviz.engines.torch_engine import ALONE
from attnviz.model.binding import bind
from attnviz.model.masks import blocked_by_all
from attnviz.model.sites.sites import at
from attnviz.model.sites.stages import site_stages, stage_shape
from attnviz.model.spec.site import Site
from attnviz.model.stages import STAGE_BY_ID, STAGES, Stage, inputs
from attnviz.operations.mask import Hidden
from attnviz.operations.operation import Block, Operation, Seen

LEADING = (2, 3)
Numbers = NDArray[Any]
Gradients = dict[int | str, Any]
"""By the place of an input, or the name of a parameter."""


@dataclass(frozen=True)
class Given:
    """The inputs of an operation, the numbers of their heads, rows and columns, and what masks hide."""

    arrays: tuple[Numbers, ...]
    g: Numbers
    heads: Numbers
    rows: Numbers
    columns: Numbers
    hidden: Hidden | None
    n_leading: int

    def at(self, index: tuple[int, ...]) -> Given:
        """A single one of those in front."""
        one = (array[index] for array in (self.g, self.heads, self.rows, self.columns))
        return Given(tuple(array[index] for array in self.arrays), *one, self.hidden, 0)

    def part(self) -> Given:
        """Scores of some queries and keys alone."""
        (scores, *qk), rows, columns = self.arrays, slice(1, 4), slice(2, None)
        qk = [one[..., part, :] for one, part in zip(qk, (rows, columns), strict=False)]
        return replace(
            self,
            arrays=(scores[..., rows, columns], *qk),
            rows=self.rows[..., rows],
            columns=self.columns[..., columns],
        )

    def block(self) -> Block:
        """The places of scores."""
        rows, columns = (in_front_of(one, self.arrays[0]) for one in (self.rows, self.columns))
        every = slice(0, columns.shape[-1])
        hidden = None if self.hidden is None else self.hidden(rows, columns)
        if hidden is None or not hidden.any():
            return Block(self.heads, rows, columns, Seen(every))
        empty = hidden.all(axis=-1)
        seen = Seen(every, hidden, every, hidden, empty if empty.any() else None)
        return Block(self.heads, rows, columns, seen)


@dataclass
class Plain:
    """`Pulled` of whole arrays, which keeps the gradients."""

    arrays: Engine
    operands: Operands
    given: Given
    made: Callable[[Given], Any]
    found: Gradients = field(default_factory=dict)

    def result(self) -> Any:
        return self.made(self.given)

    def input(self, place: int = 0) -> Any:
        return self.arrays.asarray(self.given.arrays[place])

    def add(self, gradient: Any, place: int = 0) -> None:
        self._add(place, gradient.part() if isinstance(gradient, Cells) else gradient)

    def add_parameter(self, name: str, gradient: Any) -> None:
        self._add(name, gradient)

    def _add(self, name: int | str, gradient: Any) -> None:
        self.found[name] = self.found[name] + gradient if name in self.found else gradient

    def add_outer(self, rows: Any, columns: Any) -> None:
        self.add(rows @ columns[..., None, :, :].mT)

    def over_keys(self, cells: Any, columns: Any) -> Any:
        return cells.part() @ columns[..., None, :, :]

    def over_queries(self, cells: Any, rows: Any, without: tuple[int, ...] = ()) -> Any:
        cells = cells.part() if isinstance(cells, Cells) else cells
        products = cells.mT @ rows
        group_size = products.shape[-3]
        for head in without:
            products[..., head // group_size, head % group_size, :, :] = 0
        return self.arrays.xp.sum(products, axis=-3)

    def by_heads(self, array: Any) -> Numbers:
        found = np.asarray(self.arrays.to_numpy(array), dtype=np.float64)
        return found.reshape(*found.shape[: self.given.n_leading], -1, *found.shape[-2:])

    def row(self, path: str) -> Any:
        return self.operands.rows[path]

    def matrix(self, path: str) -> Any:
        return self.operands.matrix(path)

    def times(self, x: Any, path: str) -> Any:
        matrix = self.operands.matrix(path)
        return x if matrix is None else x @ matrix

    def product(self, path: str, x: Any, g: Any) -> Any:
        matrix = self.operands.matrix(path)
        if matrix is None:
            return g
        x_, g_ = (array.reshape(-1, array.shape[-1]) for array in (x, g))
        self.add_parameter(path, x_.mT @ g_)
        return g @ matrix.mT

    def positions(self) -> tuple[Numbers, Numbers]:
        return self.given.rows, self.given.columns

    def block(self) -> Block:
        return self.given.block()

    def in_tiles(self, made: Any, g: Any, pull_: Callable[[Any, Any, Block], None]) -> Any:
        gradient = self.arrays.xp.asarray(g.part() if isinstance(g, Cells) else g, copy=True)
        pull_(made, gradient, self.block())
        return gradient

    is_edited = is_from_weights = False

    def token_positions(self) -> Numbers:
        return in_front_of(self.given.rows, self.given.g)


def in_front_of(positions: Numbers, array: Numbers) -> Numbers:
    """Positions (..., token) that broadcast against an array (..., heads, token, feature)."""
    between = array.ndim - 1 - positions.ndim
    return positions.reshape(*positions.shape[:-1], *(1,) * between, -1) if positions.ndim > 1 else positions


def _in_place(operation: Any, operands: Operands, engine: Engine, given: Given) -> Any:
    scores = engine.xp.asarray(engine.asarray(given.arrays[0]), copy=True)
    qk = tuple(map(engine.asarray, given.arrays[1:]))
    operation.shape_(engine, scores, given.block()._replace(qk=qk))
    return scores


def _of_tokens(operation: Any, operands: Operands, engine: Engine, given: Given) -> Any:
    x = given.arrays[0]
    return operation.of(engine, engine.asarray(x), in_front_of(given.rows, x))


def _of_heads(operation: Any, operands: Operands, engine: Engine, given: Given) -> Any:
    arrays = map(engine.asarray, given.arrays)
    return operation.of_heads(engine, *arrays, *((given.block(),) if len(given.arrays) == 1 else ()))


def _of_inputs(operation: Any, operands: Operands, engine: Engine, given: Given) -> Any:
    return operation.result(Plain(engine, operands, given, lambda one: None))


Form = Callable[[Any, Operands, Engine, Given], Any]

FORMS: dict[str, Form] = {
    "shape_": _in_place,
    "result": _of_inputs,
    "of": _of_tokens,
    "of_heads": _of_heads,
}
"""The forms of an array function, by the name of the method."""


def has(operation: type[Operation], name: str) -> bool:
    """True if a class says more than the base."""
    own = getattr(operation, name, None)
    return own is not None and own is not getattr(Operation, name, None)


def form_of(stage: Stage) -> Form | None:
    """The array function of a stage, in place for scores; None where engines write it by hand."""
    forms = [form for name, form in FORMS.items() if has(stage.made_by, name)]
    if not stage.score_shaped:
        forms = [form for form in forms if form is not _in_place]
    return next(iter(forms), None)


# --- the cases ---------------------------------------------------------------------------------------


@cache
def cases() -> dict[str, tuple[tuple[str, Site], ...]]:
    """By stage: the sites of the test documents that have it, with their names."""
    found: dict[str, list[tuple[str, Site]]] = defaultdict(list)
    for document, name in SITES:
        site = at((SPREAD | STACKS)[document], name)
        for stage in site_stages(site):
            found[stage].append((f"{document}: {name}", site))
    return {row.id: tuple(found[row.id]) for row in STAGES}


def layout(site: Site, stage: str) -> tuple[int, ...]:
    """The shape of a stage in an engine: query heads by group and member."""
    shape, heads = stage_shape(site, stage), site.heads
    is_query = STAGE_BY_ID[stage].axes[0] == "head"
    return (heads.n_kv_heads, heads.group_size, *shape[1:]) if is_query else shape


def given_of(site: Site, stage: str, rng: np.random.Generator, varied: bool) -> Given:
    """Random numbers with leading axes; `varied`: other heads and positions in each."""
    stages = site_stages(site)
    arrays = tuple(rng.normal(size=(*LEADING, *layout(site, one))) for one in inputs(stage, stages))
    g = rng.normal(size=(*LEADING, *layout(site, stage)))
    numbers = np.arange(site.heads.n_heads).reshape(site.heads.n_kv_heads, -1)
    n_rows, n_columns = (*arrays, g)[0].shape[-2], g.shape[-1]
    heads, rows, columns = (
        np.broadcast_to(one, (*LEADING, *one.shape)).copy()
        for one in (numbers, np.arange(n_rows), np.arange(n_columns))
    )
    if varied:
        for index, at_ in enumerate(np.ndindex(LEADING)):
            heads[at_] = np.roll(numbers.ravel(), index).reshape(numbers.shape)
            rows[at_] += int(min(index, site.position.end - n_rows))  # a table ends
            columns[at_] += 2 * index
    return Given(arrays, g, heads, rows, columns, getattr(bind(site, stage), "hidden", None), len(LEADING))


def shared(given: Given) -> Given:
    """The same with one record of heads and positions for all in front."""
    return replace(given, heads=given.heads[0, 0], rows=given.rows[0, 0], columns=given.columns[0, 0])


def singly(given: Given, function: Callable[[Given], Any]) -> Iterator[tuple[tuple[int, ...], Any]]:
    for index in np.ndindex(LEADING):
        yield index, function(given.at(index))


def close(engine: Engine, found: Any, expected: Any, name: str) -> None:
    found, expected = engine.to_numpy(found), engine.to_numpy(expected)
    assert found.shape == expected.shape, name
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13, err_msg=name)


# --- the tests ---------------------------------------------------------------------------------------


def classes() -> set[type[Operation]]:
    """All operations of the package that are none but a kind of others."""
    found: list[type[Operation]] = [Operation]
    for module in pkgutil.iter_modules(attnviz.operations.__path__):
        importlib.import_module(f"attnviz.operations.{module.name}")
    for one in found:
        found += one.__subclasses__()
    return {one for one in found if not one.__subclasses__() and one.__module__.startswith("attnviz.")}


@pytest.mark.parametrize("operation", sorted(classes(), key=lambda one: one.__name__))
def test_each_operation_makes_a_stage_that_a_document_has(operation: type[Operation]) -> None:
    stages = [row.id for row in STAGES if row.made_by is operation]
    assert stages and all(cases()[stage] for stage in stages)


@pytest.mark.parametrize("varied", [False, True])
@pytest.mark.parametrize("engine", ENGINES, ids=lambda row: row.id)
@pytest.mark.parametrize("stage", cases())
def test_leading_axes_are_single_runs_side_by_side(stage: str, engine: EngineKind, varied: bool) -> None:
    arrays = engine.make("float64", "cpu", ALONE)
    for name, site in cases()[stage]:
        operation, row, rng = bind(site, stage), STAGE_BY_ID[stage], np.random.default_rng(7)
        each, form = given_of(site, stage, rng, varied), form_of(row)
        together = each if varied else shared(each)
        operands = resolve(arrays, site)
        computed = partial(form or _in_place, operation, operands, arrays)
        assert form is not None or has(type(operation), "pull"), name
        parts = [(each, together)] if form is not None else []
        if form is _in_place:
            parts.append((each.part(), together.part()))
        for apart, given in parts:
            made = computed(given)
            for index, one in singly(apart, computed):
                close(arrays, made[index], one, name)
        if has(type(operation), "pull"):
            pulled = partial(pull, operation, operands, arrays, computed, row.score_shaped)
            judge_pull(arrays, pulled(together), singly(each, pulled), name)


def pull(
    operation: Operation, operands: Operands, arrays: Engine, made: Any, is_scores: bool, given: Given
) -> Gradients:
    """The gradients by the inputs and the parameters."""
    asked = Plain(arrays, operands, given, made)
    g = arrays.asarray(given.g)
    operation.pull(Cells(g) if is_scores else g, asked)
    return asked.found


def judge_pull(
    arrays: Engine, found: Gradients, each: Iterator[tuple[tuple[int, ...], Gradients]], name: str
) -> None:
    """By inputs side by side; by parameters, summed."""
    sums: dict[str, Any] = {}
    for index, one in each:
        assert one.keys() == found.keys()
        for key, gradient in one.items():
            if isinstance(key, str):
                sums[key] = sums[key] + gradient if key in sums else gradient
            else:
                close(arrays, found[key][index], gradient, f"{name}, input {key}")
    for key, total in sums.items():
        close(arrays, found[key], total, f"{name}, {key}")


MANY = np.arange(6).reshape(*LEADING, 1) + np.arange(9), 2 * np.arange(6).reshape(*LEADING, 1) + np.arange(7)
"""Positions of queries and of keys."""


@pytest.mark.parametrize("masks", MASKS.values(), ids=MASKS)
def test_masks_of_positions_with_leading_axes(masks: Any) -> None:
    made = blocked_by_all(masks, *MANY)
    assert (made is None) == (not masks)
    for index in np.ndindex(*LEADING) if made is not None else ():
        expected = blocked_by_all(masks, MANY[0][index], MANY[1][index])
        np.testing.assert_array_equal(made[index], expected)
