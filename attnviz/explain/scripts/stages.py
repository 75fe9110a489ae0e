"""The lines of NumPy or PyTorch that compute each stage of a site, as its operation writes them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.phrases import named
from attnviz.explain.formulas.stages import stage_axes, stage_formula
from attnviz.explain.scripts.code import Asked, Code, Keep, in_a_dictionary, note
from attnviz.explain.scripts.functions import GATED_CODE, activated, sigmoid, softmax
from attnviz.explain.scripts.library import Library
from attnviz.explain.scripts.masks import define_blocked
from attnviz.explain.scripts.positions import keys_of_heads, position_addend, position_code
from attnviz.explain.scripts.sources import parameter, table, vectors
from attnviz.i18n import N_, _
from attnviz.model.binding import bind
from attnviz.model.positions import magnitude, rope_of, rotation
from attnviz.model.scalings import row_of
from attnviz.model.sites.stages import site_stages, stage_shape
from attnviz.model.spec.edit import Edit
from attnviz.model.spec.site import Site
from attnviz.model.stages import STAGE_BY_ID

BY_HAND = N_("set by hand")

_SIGNS = {"set": "=", "add": "+=", "scale": "*="}


def edited_lines(site: Site, stage: str, library: Library) -> Iterator[str]:
    """A copy of the stage, and a line for each edit of what it has."""
    shape = stage_shape(site, stage)
    applied = [edit for edit in site.edits if edit.stage == stage and edit.fits(shape)]
    if not applied:
        return
    yield f"{stage} = {library.copy(stage)}"
    for edit in applied:
        number = repr(edit.value) if isinstance(edit.value, float) else library.array(str(list(edit.value)))
        yield f"{stage}[{_index(edit)}] {_SIGNS[edit.operation]} {number}{note(BY_HAND)}"


def _index(edit: Edit) -> str:
    """The index of the edited cells in public order."""
    heads = ":" if edit.head is None else str(edit.head)
    parts = [heads] if STAGE_BY_ID[edit.stage].per_head else []
    parts.append(str(edit.position))
    return ", ".join(parts if edit.column is None else [*parts, str(edit.column)])


def additive_mask_addend(asked: Asked) -> str:
    """The additive mask, 0 past its end."""
    site, mask = asked.site, asked.site.additive_mask
    assert mask is not None
    n_heads, n_queries, n_keys = site.heads.n_heads, site.n_queries, site.n_keys
    trained = asked.trained.get("additive_mask.values")
    if trained is None:
        return f" + {table(asked, 'M', mask.fitted(n_heads, n_queries, n_keys))}"
    n_tables, rows, columns = mask.array(n_heads).shape
    more = (0, max(0, n_keys - columns), 0, max(0, n_queries - rows))
    cut = f"({trained}.reshape({n_tables}, {rows}, {columns})[:, :{n_queries}, :{n_keys}], {more})"
    asked.define("M", f"M = torch.nn.functional.pad{cut}")
    return " + M"


PAIRS = N_("radians per position of each pair")
DIALS = N_("multiplier of each pair")
MAGNITUDE = N_("attention factor: q and k grow by it")


def _frequency(asked: Asked) -> None:
    turned = rotation(asked.site)
    rope, n_rotated = turned.rope, turned.n_rotated
    row = row_of(turned.scaling)
    base = float(row.base(turned))
    power = f"{base!r} ** (-2.0 * {asked.xp}.arange({n_rotated // 2}) / {n_rotated})"
    lines = [f"frequency = {power}{note(PAIRS)}"]
    lines += [line + (note(says) if says else "") for line, says in row.code(turned, asked.xp)]
    if rope.multipliers:
        dials = [*rope.multipliers, *[1.0] * (n_rotated // 2 - len(rope.multipliers))]
        lines.append(f"frequency = frequency * {asked.library.array(repr(dials))}{note(DIALS)}")
    asked.define("frequency", *lines)


def define_angles(asked: Asked, first: int) -> None:
    """Define cos and sin of the angles of a stage's tokens, (token, pair), numbered from `first` on."""
    _frequency(asked)
    n_tokens = asked.shape[-2]
    rope = rope_of(asked.site)
    start, positions = rope.start + first, f"{asked.xp}.arange({n_tokens})[:, None]"
    positions = f"({positions} + {start})" if start else positions
    scale = magnitude(rope)
    times = f"{scale!r} * " if scale != 1.0 else ""
    behind = note(MAGNITUDE) if times else ""
    asked.define(
        "cos, sin",
        f"angle = {positions} * frequency",
        f"cos, sin = {times}{asked.xp}.cos(angle), {times}{asked.xp}.sin(angle){behind}",
    )


ADDENDS: dict[str, Callable[[Asked], str]] = {
    "position": position_addend,
    "additive_mask": additive_mask_addend,
}
"""The term that is added to a score, by the operands of its stage."""


@dataclass(frozen=True)
class Writer:
    """The code of a stage, as its operation writes it."""

    asked: Asked

    @property
    def stage(self) -> str:
        return self.asked.stage

    @property
    def reads(self) -> tuple[str, ...]:
        return self.asked.reads

    @property
    def xp(self) -> str:
        return self.asked.xp

    @property
    def is_numpy(self) -> bool:
        return self.asked.library.is_numpy

    @property
    def shape(self) -> tuple[int, ...]:
        return self.asked.shape

    def define(self, name: str, *lines: str) -> str:
        """Add a definition before the lines; returns its name."""
        return self.asked.define(name, *lines)

    def of_numpy(self, expression: str) -> str:
        """The expression of an array that NumPy makes."""
        return self.asked.library.of_numpy(expression)

    def given(self, path: str, name: str) -> str:
        """Define a parameter of the document under a name; returns that."""
        return parameter(self.asked, path, name)

    def note(self, text: str, **named: Any) -> str:
        """A comment behind a line; `text` is a message."""
        return note(text, **named)

    def split_heads(self, product: str, width: int) -> str:
        """The expression of heads of some width that stand side by side, as an axis of their own."""
        n_heads, n_tokens, _features = self.asked.shape
        return self.asked.library.split_heads(product, n_tokens, n_heads, width)

    def side_by_side(self, array: str) -> str:
        """The expression of heads of the stage that stand side by side."""
        *heads, n_tokens, width = self.asked.shape
        return self.asked.library.join_heads(array, n_tokens, math.prod(heads) * width)

    def in_every_head(self, array: str) -> str:
        """The expression of an array that all heads share."""
        shape = self.asked.shape[0], *stage_shape(self.asked.site, array)
        return f"{self.xp}.broadcast_to({array}, {shape})"

    def angles(self, first: int) -> None:
        """Define cos and sin of the angles of the tokens, which are numbered from `first` on."""
        define_angles(self.asked, first)

    def copy(self, array: str) -> str:
        """The expression of a copy."""
        return self.asked.library.copy(array)

    def blank(self, array: str, where: str, value: str) -> str:
        """The expression of an array with one value in the cells of another one."""
        return self.asked.library.blank(array, where, value)

    def last(self, keeps: bool = True) -> str:
        """The arguments of a sum over the last axis."""
        return self.asked.library.last(keeps)

    def table(self, name: str, numbers: NDArray[np.float64]) -> str:
        """Define a table of numbers and −∞, (..., row, column); returns its expression."""
        return table(self.asked, name, numbers)

    def softmax(self, array: str) -> str:
        """The expression of the softmax over the last axis."""
        return softmax(self.asked, array)

    def sigmoid(self) -> str:
        """Define the sigmoid; returns its name."""
        return sigmoid(self.asked)

    def blocked(self) -> str:
        """Define the cells that the masks hide; returns their name."""
        return define_blocked(self.asked)

    def in_groups(self, array: str) -> str:
        """The expression of keys or values as every query head reads them."""
        return keys_of_heads(self.asked, array)

    def join(self, parts: tuple[str, ...]) -> str:
        """The expression of arrays joined along their features."""
        library = self.asked.library
        return f"{library.join}(({', '.join(parts)}), {library.axis}=-1)"

    def heads_of(self, parts: tuple[str, ...]) -> str:
        """The expression of the heads of arrays, one array after the other."""
        return f"{self.asked.library.join}(({', '.join(parts)}))"

    def activated(self, kind: str, array: str) -> str:
        """The expression of an activation, by its id."""
        return activated(self.asked, kind, array)

    def gated(self, kind: str, gate: str, up: str) -> str:
        """The expression of a gated unit, by its id."""
        return GATED_CODE[kind](self.asked, gate, up)

    @property
    def is_encoded(self) -> bool:
        """True if the memory is the output of another site."""
        return bool(self.asked.site.inputs.memory)

    def vectors(self, path: str) -> str:
        """The expression of vectors of the document, perhaps in several lines."""
        return vectors(self.asked, self.stage, attrgetter(path)(self.asked.site))

    def of_position(self) -> tuple[str, ...]:
        """The lines of the stage that the position of the document adds."""
        return position_code(self.asked).lines

    def addend(self) -> str:
        """Define what is added to a score; returns its expression with its sign."""
        return ADDENDS[STAGE_BY_ID[self.stage].operands](self.asked)


def stage_code(
    site: Site,
    stage: str,
    library: Library,
    *,
    keep: Keep = in_a_dictionary,
    trained: Mapping[str, str] = MappingProxyType({}),
) -> Code:
    """The code of one stage of a site in a library; earlier stages are variables of their names.

    `keep` stores arrays of many numbers; `trained` are the expressions of parameters, by path, that the code
    reads instead of their numbers. Raises `KeyError` for a stage that the site does not compute.
    """
    stages = site_stages(site)
    if stage not in stages:
        raise KeyError(stage)
    asked = Asked(site, stage, stages, library, keep, trained)
    code = asked.done(*bind(site, stage).code(Writer(asked)))
    return replace(code, lines=(*code.lines, *edited_lines(site, stage, library)))


def stage_text(site: Site, stage: str, library: Library) -> str:
    """The code of one stage to read alone: a heading, its definitions, its lines.

    Raises `KeyError` for a stage that the site does not compute.
    """
    code = stage_code(site, stage, library)
    title = "# " + named(_(STAGE_BY_ID[stage].title), stage_formula(site, stage))
    return "\n".join((title, f"# {stage_axes(stage)} = {stage_shape(site, stage)}", *code.all_lines))
