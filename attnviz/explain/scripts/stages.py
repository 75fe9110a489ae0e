"""`STAGE_CODE`: the lines of NumPy or PyTorch that compute each stage of a site."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.phrases import named
from attnviz.explain.formulas.block import transform_of
from attnviz.explain.formulas.stages import stage_axes, stage_formula
from attnviz.explain.scripts import scores
from attnviz.explain.scripts.code import Asked, Code, Keep, in_a_dictionary, note
from attnviz.explain.scripts.edits import edited_lines
from attnviz.explain.scripts.functions import GATED_CODE, activated, sigmoid, softmax
from attnviz.explain.scripts.library import Library
from attnviz.explain.scripts.masks import define_blocked
from attnviz.explain.scripts.positions import keys_of_heads, position_addend, position_code
from attnviz.explain.scripts.rotation import define_angles
from attnviz.explain.scripts.sources import explicit, parameter, table, vectors, with_row
from attnviz.i18n import N_, _
from attnviz.model.binding import bind
from attnviz.model.operands.matrices import vocabulary
from attnviz.model.sites.stages import site_stages, stage_shape
from attnviz.model.spec.block import FeedForward
from attnviz.model.spec.site import Site
from attnviz.model.stages import STAGE_BY_ID

Row = Callable[[Asked], Code]

BEFORE = N_("the result of the previous layer")
ENCODED = N_("the result of the encoder")
DISTINCT = N_("one column for each distinct token")


# --- inputs ----------------------------------------------------------------------------------------


def _tokens(asked: Asked) -> Code:
    return asked.done(
        *f"tokens_embedded = {vectors(asked, 'tokens_embedded', asked.site.vectors)}".split("\n")
    )


def _layer_input(asked: Asked) -> Code:
    return asked.done(f"layer_input = result{note(BEFORE)}")


def _memory(asked: Asked) -> Code:
    assert asked.site.memory is not None
    made = (
        f"encoded{note(ENCODED)}" if asked.is_encoded else vectors(asked, "memory", asked.site.memory.vectors)
    )
    asked.define("memory", *f"memory = {made}".split("\n"))
    return asked.done()


# --- after the mixture -----------------------------------------------------------------------------


def _gated(asked: Asked) -> Code:
    return asked.done(f"gated = {asked.reads[0]} * {sigmoid(asked)}(gate)")


def _concatenated(asked: Asked) -> Code:
    n_tokens, width = asked.shape
    return asked.done(f"concatenated = {asked.library.join_heads(asked.reads[0], n_tokens, width)}")


def _sum(asked: Asked) -> Code:
    block, (past, made) = asked.site.block, asked.reads
    assert block is not None
    factor = "" if block.residual_scale == 1.0 else f"{block.residual_scale!r} * "
    return asked.done(f"{asked.stage} = {past} + {factor}{made}")


def _ffn(asked: Asked) -> FeedForward:
    block = asked.site.block
    assert block is not None
    assert block.feed_forward is not None
    return block.feed_forward


def _ffn_hidden(asked: Asked) -> Code:
    ffn = _ffn(asked)
    if ffn.gated:
        return asked.done(f"ffn_hidden = {GATED_CODE[ffn.activation](asked, *asked.reads)}")
    return asked.done(f"ffn_hidden = {activated(asked, ffn.activation, asked.reads[0])}")


# --- read-out --------------------------------------------------------------------------------------


def _transform_hidden(asked: Asked) -> Code:
    made = activated(asked, transform_of(asked.site).activation, "transform")
    return asked.done(f"transform_hidden = {made}")


def _logits(asked: Asked) -> Code:
    site, read = asked.site, asked.reads[0]
    known = site.vocabulary
    if site.readout == "similarity" or known is None:
        rows = list(vocabulary(site)[1])
        chosen = "" if len(rows) == site.n_queries else f"[{rows}]"
        return asked.done(f"logits = {read} @ tokens_embedded{chosen}.T{note(DISTINCT)}")
    product = f"{read} @ {_unembedding(asked)}"
    lines = [f"logits = {with_row(asked, product, '+', 'b_U', known.bias, known.n_logits)}"]
    if known.logit_scale != 1.0:
        lines.append(f"logits = logits * {known.logit_scale!r}")
    if known.cap is not None:
        lines.append(f"logits = {known.cap!r} * {asked.xp}.tanh(logits / {known.cap!r})")
    return asked.done(*lines)


def _unembedding(asked: Asked) -> str:
    """Define W_U: a matrix of its own, or the embedding E transposed."""
    known = asked.site.vocabulary
    assert known is not None
    if known.unembedding is not None:
        return explicit(asked, "W_U", known.unembedding)
    return f"{explicit(asked, 'E', known.embedding)}.T"


# --- the table -------------------------------------------------------------------------------------

STAGE_CODE: dict[str, Row] = {
    "tokens_embedded": _tokens,
    "layer_input": _layer_input,
    "x": position_code,
    "memory": _memory,
    "gated": _gated,
    "concatenated": _concatenated,
    "residual_1": _sum,
    "ffn_hidden": _ffn_hidden,
    "residual_2": _sum,
    "transform_hidden": _transform_hidden,
    "logits": _logits,
}


ADDENDS: dict[str, Callable[[Asked], str]] = {
    "position": position_addend,
    "additive_mask": scores.additive_mask_addend,
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
        n_heads, n_tokens, width = self.asked.shape
        return self.asked.library.join_heads(array, n_tokens, n_heads * width)

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

    def of_position(self) -> tuple[str, ...]:
        """The lines of the stage that the position of the document adds."""
        return position_code(self.asked).lines

    def addend(self) -> str:
        """Define what is added to a score; returns its expression with its sign."""
        return ADDENDS[STAGE_BY_ID[self.stage].operands](self.asked)


def _by_operation(asked: Asked) -> Code:
    return asked.done(*bind(asked.site, asked.stage).code(Writer(asked)))


def stage_code(
    site: Site, stage: str, library: Library, *, is_encoded: bool = False, keep: Keep = in_a_dictionary
) -> Code:
    """The code of one stage of a site in a library; earlier stages are variables of their names.

    `is_encoded`: the memory is the result of an encoder. `keep` stores arrays of many numbers.
    Raises `KeyError` for a stage that the site does not compute.
    """
    stages = site_stages(site)
    if stage not in stages:
        raise KeyError(stage)
    asked = Asked(site, stage, stages, library, is_encoded, keep)
    code = STAGE_CODE.get(stage, _by_operation)(asked)
    return replace(code, lines=(*code.lines, *edited_lines(site, stage, library)))


def stage_text(site: Site, stage: str, library: Library, *, is_encoded: bool = False) -> str:
    """The code of one stage to read alone: a heading, its definitions, its lines.

    Raises `KeyError` for a stage that the site does not compute.
    """
    code = stage_code(site, stage, library, is_encoded=is_encoded)
    title = "# " + named(_(STAGE_BY_ID[stage].title), stage_formula(site, stage))
    return "\n".join((title, f"# {stage_axes(stage)} = {stage_shape(site, stage)}", *code.all_lines))
