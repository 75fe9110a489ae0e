"""`WEIGHTS`: every matrix, table and row of numbers of an attention, its block and its read-out.

The panel that edits them, and every user of all weights, reads this table. A weight is named by its path in
the document; unused ones have no numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from attnviz.model.operands.matrices import (
    Numbers,
    embedding_projection_numbers,
    feed_forward_numbers,
    gate_numbers,
    is_identity,
    latent_numbers,
    projection_numbers,
    sinks_array,
    table_array,
    transform_numbers,
    transform_shape,
    unembedding_numbers,
)
from attnviz.model.positions import slopes_of
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.block import FEED_FORWARD_ROLES, NORMS, FeedForwardRole
from attnviz.model.spec.differential import LAMBDA_ROWS
from attnviz.model.spec.latent import LatentRole
from attnviz.model.spec.parts import ROLES, AdditiveMask, Alibi, Explicit, ExplicitSinks, Tied, is_transposed
from attnviz.model.spec.positions import Deberta, Learned, T5Buckets, TransformerXl
from attnviz.model.spec.rows import DrawnRow, Row, WrittenRow, row_array
from attnviz.model.spec.site import Site, experts_of, ffn_of
from attnviz.model.spec.source import DrawnTable, WrittenTable
from attnviz.model.spec.value import Value
from attnviz.model.stages import STAGE_BY_ID, Stage

Array = NDArray[np.float64]
Part = TypeVar("Part", bound=Value)
Shape = Callable[[Site], tuple[int, int]]


@dataclass(frozen=True)
class Weight:
    """One weight: its path, its symbol in formulas, and the stage whose columns are its columns.

    `stage` is empty if a column of the weight is not a column of a stage. `numbers(attention)` is a function
    that returns them, two-dimensional, (in, out) or (1, features); it is called if `source` is not None.
    """

    path: str
    symbol: str
    stage: str
    numbers: Callable[[Site], Numbers]

    @property
    def is_row(self) -> bool:
        """True if it is one row by nature: a bias, a gain, one number for each head."""
        return self.path.endswith(_ROW_ENDS)

    def source(self, attention: Site) -> Any:
        """Source of the weight in the document: seeded, explicit, tied, identity; None if it is unused."""
        part: Any = attention
        for step in self.path.split("."):
            part = getattr(part, step, None)
        return part

    def origin(self, attention: Site) -> str:
        """The kind of that source."""
        return str(self.source(attention).__struct_config__.tag)

    def tied_to(self, attention: Site) -> str:
        """Symbol of the matrix whose numbers these are; empty if they are its own."""
        source = self.source(attention)
        return f"W_{_LETTERS[source.to]}" if isinstance(source, Tied) else ""

    def passes(self, attention: Site) -> bool:
        """True if it is an identity of equal sides, which returns its operand."""
        return False

    def array(self, attention: Site) -> Array:
        """The numbers, read-only."""
        return self.numbers(attention)()

    def shape(self, attention: Site) -> tuple[int, int]:
        """(rows, columns) of the numbers."""
        matrix = self.matrix(attention)
        rows, columns = self.array(attention).shape if matrix is None else matrix.shape
        return rows, columns

    def put(self, attention: Site, values: Array) -> Site:
        """The attention with these explicit numbers. Raises `ValueError` for another shape."""
        return self.put_matrix(attention, Matrix(values))

    def put_matrix(self, attention: Site, values: Matrix) -> Site:
        """The same with the numbers of a matrix."""
        written = _WRITTEN[type(self.source(attention))](values)
        return self.replaced(attention, written)

    def replaced(self, attention: Site, source: Any) -> Site:
        """The attention with another source of the weight."""
        return _replaced(attention, self.path.split("."), source)

    def put_cell(self, attention: Site, row: int, column: int, value: float) -> Site:
        """The attention with one number changed; the numbers of a matrix are not copied for it."""
        matrix = self.matrix(attention)
        if matrix is not None:
            return self.put_matrix(attention, matrix.replaced(row, column, value))
        values = self.array(attention).astype(np.float64)
        values[row, column] = value
        return self.put(attention, values)

    def matrix(self, attention: Site) -> Matrix | None:
        """The matrix in the document with exactly these numbers; None where they are computed."""
        written: Matrix | None = getattr(self.source(attention), "written", None)
        return written

    def follows(self, attention: Site) -> tuple[str, bool]:
        """The path of the matrix whose numbers these are, and whether they are transposed; empty for none."""
        return "", False

    def stored(self, attention: Site) -> tuple[Matrix | None, bool]:
        """The matrix in the document that has these numbers, perhaps transposed, and whether it is."""
        return self.matrix(attention), False


_ROW_ENDS = ("bias", "gain", "sinks", "slopes", "correction", *LAMBDA_ROWS)

_WRITTEN: Any = {
    WrittenRow: WrittenRow,
    DrawnRow: WrittenRow,
    WrittenTable: WrittenTable,
    DrawnTable: WrittenTable,
}


def _replaced(owner: Part, path: list[str], value: Any) -> Part:
    first, *rest = path
    return owner.changed(**{first: _replaced(getattr(owner, first), rest, value) if rest else value})


class _Projected(Weight):
    """A matrix of a linear map: it becomes explicit, whatever its source was."""

    def passes(self, attention: Site) -> bool:
        rows, columns = self.shape(attention)
        return bool(self.source(attention).is_identity) and rows == columns

    def put_matrix(self, attention: Site, values: Matrix) -> Site:
        return self.replaced(attention, Explicit(values))


class _OfAttention(_Projected):
    """A projection; keys and values that come from a latent have none."""

    def source(self, attention: Site) -> Any:
        is_unused = attention.latent is not None and self.path.endswith(("key", "value"))
        return None if is_unused else super().source(attention)

    def passes(self, attention: Site) -> bool:
        return is_identity(attention, self._role)

    def follows(self, attention: Site) -> tuple[str, bool]:
        to = attention.projections.tied_to(self._role)
        return ("", False) if to is None else (f"projections.{to}", is_transposed(self._role, to))

    def stored(self, attention: Site) -> tuple[Matrix | None, bool]:
        to, transposes = self.follows(attention)
        return attrgetter(to or self.path)(attention).written, transposes

    @property
    def _role(self) -> Any:
        return self.path.partition(".")[2]


class _BiasOfFirst(Weight):
    """A row of the projection of token vectors, which the first site of a stack has."""

    def source(self, attention: Site) -> Any:
        return super().source(attention) if attention.inputs.begins else None


class _OfFirst(_Projected):
    """The matrix of that projection."""

    def source(self, attention: Site) -> Any:
        return super().source(attention) if attention.inputs.begins else None


class _OfLatent(_Projected):
    """A matrix of a latent, where the latent uses it."""

    def source(self, attention: Site) -> Any:
        roles = () if attention.latent is None else attention.latent.roles()
        return super().source(attention) if self.path.partition(".")[2] in roles else None


class _Sinks(Weight):
    """One score for each head."""

    def put(self, attention: Site, values: Array) -> Site:
        return replace(attention, sinks=ExplicitSinks(tuple(map(float, values[0]))))


class _Slopes(Weight):
    """ALiBi's slopes: the published ones unless the document has its own."""

    def source(self, attention: Site) -> Any:
        return attention.position if isinstance(attention.position, Alibi) else None

    def origin(self, attention: Site) -> str:
        assert isinstance(attention.position, Alibi)
        return "alibi" if attention.position.slopes is None else "explicit"

    def put(self, attention: Site, values: Array) -> Site:
        return self.replaced(attention, tuple(map(float, values[0])))


class _Additive(Weight):
    """M: free numbers of each score, the tables of the heads one below another."""

    def origin(self, attention: Site) -> str:
        return "explicit"

    def source(self, attention: Site) -> Any:
        return attention.additive_mask

    def put(self, attention: Site, values: Array) -> Site:
        mask = attention.additive_mask
        assert mask is not None
        return replace(attention, additive_mask=AdditiveMask.of(values, mask.per_head))


class _OfReadout(Weight):
    """A row of the vocabulary, at the site whose output it reads."""

    def source(self, attention: Site) -> Any:
        return None if attention.layer.output_vocabulary is None else super().source(attention)


class _Transform(_Projected, _OfReadout):
    """The matrix of the transform before the vocabulary."""


class _Unembedding(_OfReadout):
    """W_U: a matrix of its own, or the transposed embedding."""

    def passes(self, attention: Site) -> bool:
        return False

    def source(self, attention: Site) -> Any:
        known = attention.layer.output_vocabulary
        if known is None:
            return None
        return known.embedding if known.unembedding is None else known.unembedding

    def origin(self, attention: Site) -> str:
        return "tied" if self.tied_to(attention) else "explicit"

    def tied_to(self, attention: Site) -> str:
        known = attention.layer.vocabulary
        return "E" if known is not None and known.unembedding is None else ""

    def matrix(self, attention: Site) -> Matrix | None:
        known = attention.layer.vocabulary
        assert known is not None
        return known.embedding.turned() if known.unembedding is None else known.unembedding

    def stored(self, attention: Site) -> tuple[Matrix | None, bool]:
        known = attention.layer.vocabulary
        assert known is not None
        return (known.embedding, True) if known.unembedding is None else (known.unembedding, False)

    def put_matrix(self, attention: Site, values: Matrix) -> Site:
        return self.replaced(attention, values)


def _projection(role: Any, letter: str, stage: str) -> Weight:
    return _OfAttention(f"projections.{role}", f"W_{letter}", stage, lambda e: projection_numbers(e, role))


def _latent(role: LatentRole, symbol: str, stage: str) -> Weight:
    return _OfLatent(f"latent.{role}", symbol, stage, lambda e: latent_numbers(e, role))


def _linear(role: Any, symbol: str, stage: str) -> Weight:
    def numbers(e: Site) -> Numbers:
        return feed_forward_numbers(ffn_of(e.layer), role, e.d_model)

    return _Projected(f"block.feed_forward.{role}", symbol, stage, numbers)


def _row(
    path: str, symbol: str, stage: str, features: Callable[[Site], int], kind: type[Weight] = Weight
) -> Weight:
    def numbers(e: Site) -> Numbers:
        return partial(_of_row, weight.source(e), features(e))

    weight = kind(path, symbol, stage, numbers)
    return weight


def _of_row(row: Row, features: int) -> Array:
    return row_array(row, features)[None, :]


def _table(name: str, symbol: str, kind: type) -> Weight:
    def numbers(e: Site) -> Numbers:
        position = e.position
        shape = position.table_shapes(e.d_for(position), e.heads.n_heads, e.heads.d_head)[name]
        return partial(table_array, getattr(position, name), shape)

    return _OfPosition(f"position.{name}", symbol, "", numbers, kind)


@dataclass(frozen=True)
class _OfPosition(Weight):
    """A table that one kind of position has."""

    kind: type

    def source(self, attention: Site) -> Any:
        return super().source(attention) if isinstance(attention.position, self.kind) else None


_STAGES = {"query": "q", "key": "k", "value": "v", "output": "attention_output"}
_LETTERS = {"query": "Q", "key": "K", "value": "V", "output": "O"}
_NORM_STAGES = {
    "norm_1": "norm_1",
    "norm_2": "norm_2",
    "after_1": "attention_normed",
    "after_2": "ffn_normed",
}
_HIDDEN: dict[FeedForwardRole, str] = {
    "gate": "ffn_gate",
    "up": "ffn_up",
    "down": "ffn_output",
    "router": "router",
}


def _features_of_hidden(role: FeedForwardRole) -> Callable[[Site], int]:
    def features(e: Site) -> int:
        return ffn_of(e.layer).shape(role, e.d_model)[1]

    return features


def _gates(e: Site) -> int:
    assert e.gate is not None
    return e.gate.shape(e.d_model, e.heads)[1]


def _out(role: Any) -> Callable[[Site], int]:
    return lambda e: e.projection_shape(role)[1]


def _d_model(e: Site) -> int:
    return e.d_model


def _gain_width(name: str) -> Callable[[Site], int]:
    return lambda e: e.heads.d_head if e.qk_norm is None else e.qk_norm.gain_widths(e.heads)[name]


def _width(stage: str) -> Callable[[Site], int]:
    return STAGE_BY_ID[stage].width


def _numbers_of_heads(of: Callable[[Site], Any]) -> Callable[[Site], Numbers]:
    def numbers(e: Site) -> Numbers:
        row = np.array([of(e)])
        row.setflags(write=False)
        return lambda: row

    return numbers


def _unembedding(e: Site) -> Numbers:
    assert e.layer.vocabulary is not None
    return unembedding_numbers(e.layer.vocabulary)


def _of_transform(name: str, symbol: str, stage: str) -> Weight:
    path = f"vocabulary.transform.{name}"
    return _row(path, symbol, stage, lambda e: transform_shape(e)[1], _OfReadout)


def _n_logits(e: Site) -> int:
    assert e.layer.vocabulary is not None
    return e.layer.vocabulary.n_logits


def _added(e: Site) -> Numbers:
    assert e.additive_mask is not None
    return partial(_stacked, e.additive_mask, e.heads.n_heads)


def _stacked(mask: AdditiveMask, n_heads: int) -> Array:
    stacked = np.vstack(tuple(mask.array(n_heads)))
    stacked.setflags(write=False)
    return stacked


_LATENT: tuple[tuple[LatentRole, str, str], ...] = (
    ("query_down", "W_DQ", "q_latent"),
    ("down", "W_DKV", "latent"),
    ("rope_key", "W_KR", "rope_key"),
    ("up_key", "W_UK", "k"),
    ("up_value", "W_UV", "v"),
)

WEIGHTS: tuple[Weight, ...] = (
    *(_projection(role, _LETTERS[role], _STAGES[role]) for role in ROLES),
    *(_latent(role, symbol, stage) for role, symbol, stage in _LATENT),
    *(_row(f"projections.{role}_bias", f"b_{_LETTERS[role]}", _STAGES[role], _out(role)) for role in ROLES),
    _Projected("gate.weights", "W_G", "gate", gate_numbers),
    _row("gate.bias", "b_G", "gate", _gates),
    *(
        _row(f"differential.{name}", f"λ_{name[0].upper()}{name[-1]}", "", lambda e: e.heads.d_head)
        for name in LAMBDA_ROWS
    ),
    _row("latent.norm.gain", "γ c", "latent", _width("latent")),
    _row("latent.norm.bias", "β c", "latent", _width("latent")),
    _row("latent.query_norm.gain", "γ c_Q", "q_latent_normed", _width("q_latent_normed")),
    _row("latent.query_norm.bias", "β c_Q", "q_latent_normed", _width("q_latent_normed")),
    _row("qk_norm.query_gain", "γ_Q", "q_normed", _gain_width("query_gain")),
    _row("qk_norm.key_gain", "γ_K", "k_normed", _gain_width("key_gain")),
    _Additive("additive_mask.values", "M", "", _added),
    _Sinks("sinks", "sinks", "", _numbers_of_heads(sinks_array)),
    _Slopes("position.slopes", "slopes", "", _numbers_of_heads(slopes_of)),
    _table("table", "P", Learned),
    _table("table", "B", T5Buckets),
    _table("weights", "W_R", TransformerXl),
    _table("u", "u", TransformerXl),
    _table("v", "v", TransformerXl),
    _table("keys", "K_rel", Deberta),
    _table("queries", "Q_rel", Deberta),
    *(_row(f"block.{name}.gain", f"γ {name}", _NORM_STAGES[name], _d_model) for name in NORMS),
    *(_row(f"block.{name}.bias", f"β {name}", _NORM_STAGES[name], _d_model) for name in NORMS),
    *(_linear(role, f"W_{role}", stage) for role, stage in _HIDDEN.items()),
    *(
        _row(f"block.feed_forward.{role}_bias", f"b_{role}", stage, _features_of_hidden(role))
        for role, stage in _HIDDEN.items()
    ),
    _row("block.feed_forward.experts.correction", "b_choice", "routing", lambda e: experts_of(e.layer).n),
    _row("embedding_norm.gain", "γ x", "x_normed", lambda e: e.d_embedding),
    _row("embedding_norm.bias", "β x", "x_normed", lambda e: e.d_embedding),
    _OfFirst("embedding_projection.weights", "W_X", "x_projected", embedding_projection_numbers),
    _row("embedding_projection.bias", "b_X", "x_projected", _d_model, _BiasOfFirst),
    _row("final_norm.gain", "γ output", "output", _d_model),
    _row("final_norm.bias", "β output", "output", _d_model),
    _Transform("vocabulary.transform.weights", "W_T", "transform", transform_numbers),
    _of_transform("bias", "b_T", "transform"),
    _of_transform("norm.gain", "γ T", "transform_normed"),
    _of_transform("norm.bias", "β T", "transform_normed"),
    _Unembedding("vocabulary.unembedding", "W_U", "logits", _unembedding),
    _row("vocabulary.bias", "b_U", "logits", _n_logits, _OfReadout),
)


WEIGHT_BY_PATH = {weight.path: weight for weight in WEIGHTS}


def bias_path(path: str) -> str:
    """The path of the bias beside a matrix."""
    stem = path.removesuffix(".weights")
    return f"{path}_bias" if stem == path else f"{stem}.bias"


def bias_symbol(site: Site, stage: Stage) -> str:
    """The symbol of the bias of a linear map that the site has; empty without one."""
    paths = (bias_path(path) for path in stage.operands.split())
    biases = (WEIGHT_BY_PATH[path] for path in paths if path in WEIGHT_BY_PATH)
    return next((weight.symbol for weight in biases if weight.source(site) is not None), "")


def weights_of(attention: Site) -> tuple[Weight, ...]:
    """The weights that an attention uses; of the feed-forward layer those of its roles."""
    ffn = attention.layer.feed_forward
    unused = set(FEED_FORWARD_ROLES) - set(() if ffn is None else ffn.roles)
    paths = {f"block.feed_forward.{role}{end}" for role in unused for end in ("", "_bias")}
    return tuple(
        weight for weight in WEIGHTS if weight.source(attention) is not None and weight.path not in paths
    )
