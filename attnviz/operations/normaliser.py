"""`Normaliser`: numbers to shares or weights, by one rule.

Over 500 lines because the rules share what masks, sinks and added numbers do to a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from attnviz.core.cost.flops import SOFTMAX_FLOPS
from attnviz.core.dims import Array
from attnviz.core.normalise import (
    pull_relu_squared_,
    pull_sigmoid_,
    pull_softmax_,
    relu_squared_,
    sigmoid_,
    softmax_with_sinks_,
)
from attnviz.core.phrases import sequenced
from attnviz.i18n import N_, _, ngettext
from attnviz.operations.mask import Hidden, Reasons, cleared, is_hidden
from attnviz.operations.operation import (
    NUMPY,
    Arrays,
    At,
    Block,
    Bools,
    Cells,
    Floats,
    Ints,
    Numbers,
    Operation,
    Pattern,
    Pulled,
    Reads,
    Seen,
    Use,
    Writer,
)
from attnviz.operations.terms import Line, Piece, Pieces, Series, Term, Text, constant, digits, guarded, words

NO_KEY = N_("queries without a key")
AFTER = N_("the mask after the softmax: rows no longer sum to 1")
ITS_SINK = N_("the sink is one more score, without a value")
N_VISIBLE = N_("keys visible to each query")


class Added(Protocol):
    """Numbers that are added to the scores before the masks; −∞ hides a key."""

    @property
    def cuts(self) -> bool:
        """True if a number is −∞."""

    @property
    def heads(self) -> Ints:
        """The heads with numbers of their own; 0 alone if all share them."""

    def at(self, heads: Ints, q_positions: Ints, k_positions: Ints) -> Floats:
        """The numbers (..., query, key) of some heads (...)."""


class Rule(NamedTuple):
    """One way from scores to weights.

    `is_shared`: the weights of a row share one, so that they sum to one and each depends on all scores of the
    row; otherwise each depends on its own score and on the number of keys that the row sees. `apply(xp,
    scores, n_visible)` works in place; None is the engine's own softmax. `pull_(xp, weights, gradient,
    n_visible)` turns the gradient by the weights into that by the scores, in place. `line` writes a cell from
    its row of scores, `code` the expressions of its array.
    """

    is_shared: bool
    apply: Callable[[Any, Array, Array], None] | None
    pull_: Callable[[Any, Array, Array, Array], None]
    line: Callable[[Normaliser, Numbers, Floats], Line]
    code: Callable[[Normaliser, Writer, str], tuple[str, ...]]


def n_visible(hidden: Bools | None, n_queries: int, n_keys: int) -> Floats:
    """Number of visible keys of each row, (..., query), from `hidden` (..., query, key); all of them if
    nothing is hidden from the normaliser.

    A fully masked row counts one here; `Normaliser.empty_row` determines its weights.
    """
    if hidden is None:
        return np.full(n_queries, float(n_keys))
    return np.maximum(n_keys - hidden.sum(axis=-1), 1).astype(np.float64)


def _seen(hidden: Bools | None, n_keys: int) -> Seen:
    """Visibility of all keys for a row, from its hidden cells (1, key)."""
    every = slice(0, n_keys)
    if hidden is None or not hidden.any():
        return Seen(every, hidden)
    empty = np.asarray(hidden.all(axis=-1))
    return Seen(every, hidden, every, hidden, empty if empty.any() else None)


def _nothing(queries: Ints, keys: Ints) -> None:
    """No cell is hidden."""


def _no_reason(cell: At) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, eq=False)
class Normaliser(Operation):
    """Numbers to weights by a `rule`, a row at a time. `letter` is that of a weight.

    `hidden` cells are −∞ before it, with `lowers` lower by a number; or, `late`, get the weight 0 after it.
    `sinks` (head,) are one more score of each row, without a value. `added` numbers may hide cells of some
    heads. `empty_row` are the weights of a row that sees no key. `texts` are its formula and its title.
    """

    rule: Rule
    letter: str
    hidden: Hidden = _nothing
    why: Reasons = _no_reason
    late: bool = False
    lowers: bool = False
    added: Added | None = None
    sinks: Floats | None = None
    empty_row: float = 0.0
    texts: tuple[str, str] = ("", "")

    help = N_("Each row is normalised by a quantity of the whole row.")
    cites = "attention"
    statistics = ("maximum", "sum", "visible keys")
    is_of_row = True
    goes_on = True

    def formula(self, own: str, *inputs: str) -> str:
        return _(self.texts[0]) if self.texts[0] else ""

    @property
    def title(self) -> str:
        return _(self.texts[1]) if self.texts[1] else ""

    @property
    def pattern(self) -> Pattern:  # type: ignore[override]
        return "row" if self.rule.is_shared else "same_cell"

    @property
    def letters(self) -> str:  # type: ignore[override]
        return f"{self.letter}_i (δ_ij − {self.letter}_j)"

    @property
    def cuts(self) -> bool:
        """True if a number hides a cell, so that a row may be −∞ as a whole without a mask."""
        return self.added is not None and self.added.cuts

    @property
    def empties(self) -> bool:
        """True if a row whose cells are all hidden has no weights of its own."""
        return not (self.late or self.lowers)

    def with_numbers(self, numbers: Mapping[str, Floats]) -> Normaliser | None:
        """Added numbers are functions of the document."""
        if self.added is not None:
            return None
        return self if self.sinks is None else replace(self, sinks=numbers["sinks"][0])

    # --- the array -------------------------------------------------------------------------------------

    def shape_(self, arrays: Arrays, scores: Array, block: Block) -> None:
        """Scores to weights; what a normaliser leaves to the masks is cleared."""
        seen = block.seen
        is_edited = block.is_edited and seen.empty is not None and self.empties
        empty = _without_scores(arrays, scores) if self.cuts or is_edited else None
        self.normalise_(arrays, scores, block)
        if empty is not None:
            scores[...] = arrays.xp.where(empty, self.empty_row, scores)
        if seen.hidden is None:
            return
        if self.late:
            assert seen.blocked is not None
            arrays.fill_(scores[..., seen.touched], seen.blocked, 0.0)
        elif seen.empty is not None and self.empties and not is_edited:
            arrays.fill_(scores, np.broadcast_to(seen.empty[..., None], seen.hidden.shape), self.empty_row)

    def normalise_(self, arrays: Arrays, scores: Array, block: Block) -> None:
        """The rule alone, in place."""
        if self.sinks is not None:
            sinks = self.sinks[block.heads][..., None, None]
            softmax_with_sinks_(arrays.xp, scores, arrays.asarray(sinks))
        elif self.rule.apply is None:
            arrays.softmax_(scores, block.is_bounded)
        else:
            self.rule.apply(arrays.xp, scores, arrays.asarray(self._visible(block)))

    def of(self, arrays: Arrays, x: Array, positions: Ints) -> Array:
        made = arrays.xp.asarray(x, copy=True)
        self.shape_(arrays, made, Block(np.array(0), positions, np.arange(made.shape[-1])))
        return made

    def _visible(self, block: Block) -> Floats:
        """The number of keys that the rule counts for each row, (..., query, 1)."""
        hidden = None if self.late else block.seen.hidden
        if self.cuts:
            assert self.added is not None
            cut = np.isneginf(self.added.at(block.heads, block.q_positions, block.k_positions))
            hidden = cut if hidden is None else cut | hidden
        return n_visible(hidden, block.q_positions.shape[-1], block.k_positions.shape[-1])[..., None]

    # --- backwards -------------------------------------------------------------------------------------

    def pull(self, g: Any, pulled: Pulled) -> None:
        """By the scores: the Jacobian of the rule; hidden cells pass nothing. By a sink −Σ rest · w g."""
        arrays, xp = pulled.arrays, pulled.arrays.xp
        cut = pulled.input() == -np.inf if self.cuts else None
        p = self._before_clearing(pulled, cut)
        if self.late:
            g = cleared(arrays, g, pulled.block().seen)
        clears = self.empties and not pulled.is_edited

        def pull_(weights: Array, gradient: Array, block: Block) -> None:
            seen = block.seen
            visible = gradient if self.rule.is_shared else arrays.asarray(self._visible(block))
            self.rule.pull_(xp, weights, gradient, visible)
            if clears and seen.blocked is not None:
                arrays.fill_(gradient[..., seen.touched], seen.blocked, 0.0)

        if self.sinks is not None:
            rest, along = 1 - xp.sum(p, axis=-1), xp.vecdot(p, g if self.late else g.part())
            of_heads = xp.reshape(-xp.sum(rest * along, axis=-1), (-1, len(self.sinks)))
            pulled.add_parameter("sinks", xp.sum(of_heads, axis=0))
        by_scores = pulled.in_tiles(p, g, pull_)  # perhaps in the place of g
        if cut is not None:
            by_scores = xp.where(cut, 0.0, by_scores)
        pulled.add(by_scores)

    def _before_clearing(self, pulled: Pulled, cut: Array | None) -> Array:
        """The weights as the rule leaves them, before a mask clears some; empty rows are zeros."""
        arrays, xp, block = pulled.arrays, pulled.arrays.xp, pulled.block()
        weights = pulled.result()
        if self.late and self.rule.apply is None:
            weights = xp.asarray(pulled.input(), copy=True)
            self.normalise_(arrays, weights, block)
        empty = block.seen.empty if self.empties else None
        if empty is not None and pulled.is_edited:
            return xp.where(_without_scores(arrays, pulled.input()), 0.0, weights)
        if empty is not None:
            weights = xp.asarray(weights, copy=True)
            rows = np.broadcast_to(empty[..., None], (*empty.shape, weights.shape[-1]))
            arrays.fill_(weights, rows, 0.0)
        return weights if cut is None else xp.where(cut, 0.0, weights)

    # --- one cell --------------------------------------------------------------------------------------

    def made_of(self, place: int, cell: At) -> Cells:
        return (cell.row,), None if self.rule.is_shared else (cell.column,)

    def read_by(self, place: int, cell: At) -> Cells:
        return self.made_of(place, cell)

    def row(self, scores: Floats, cell: At) -> Floats:
        """The row of a cell as the rule leaves it; zeros for one without a visible key."""
        block = self._row_block(cell, len(scores))
        if self._is_empty(scores, block.seen):
            return np.zeros(len(scores))
        made = scores[None].copy()
        self.normalise_(NUMPY, made, block)
        return np.asarray(made[0])

    def _row_block(self, cell: At, n_keys: int) -> Block:
        queries, keys = np.array([cell.row]), np.arange(n_keys)
        return Block(np.array(cell.head), queries, keys, _seen(self.hidden(queries, keys), n_keys))

    def _is_empty(self, scores: Floats, seen: Seen) -> bool:
        """True for a row that sees no key."""
        is_cut = self.added is not None and bool((scores == -math.inf).all())
        return is_cut or (seen.empty is not None and self.empties)

    def flops(self, shape: tuple[int, ...], *inputs: tuple[int, ...]) -> int:
        return SOFTMAX_FLOPS * math.prod(shape)

    def derivatives(self, use: Use, reads: Reads) -> Floats:
        """w_i (δ_ij − w_j) in a shared row; else the rule's own derivative. Cleared cells pass nothing."""
        cell, columns = use.cell, np.array(use.columns)
        scores = reads.row(0, cell.head, cell.row)
        p, block = self.row(scores, cell), self._row_block(cell, len(scores))
        if self.rule.is_shared:
            found = p[columns] * ((columns == cell.column) - p[cell.column])
        else:
            found = np.ones(len(columns))
            self.rule.pull_(np, p[columns], found, self._visible(block)[..., 0])
        if self.late and block.seen.hidden is not None:
            found = np.where(block.seen.hidden[0, columns], 0.0, found)
        return np.asarray(found).reshape(use.shape)

    def stops(self, derivatives: Floats) -> bool:
        return not derivatives.any()

    def lines(self, numbers: Numbers) -> tuple[Line, ...]:
        """The weight by its rule; or what is defined for a row without a key."""
        cell = numbers.cell
        scores = numbers.row_of(0, cell.head, cell.row)
        if self.sinks is None and self._is_empty(scores, self._row_block(cell, len(scores)).seen):
            return (self._empty_line(numbers),)
        return ((_sink_line if self.sinks is not None else self.rule.line)(self, numbers, scores),)

    def _empty_line(self, numbers: Numbers) -> Line:
        """A weight of a fully masked query: what the document defines, in words."""
        says = (
            _("every key is blocked: all exp(−∞) are 0, and 0 ÷ 0 is NaN")
            if math.isnan(self.empty_row)
            else _("every key is blocked: 0 ÷ 0 has no value, and the experiment defines this row as 0")
        )
        return numbers.line((), self.empty_row, words(says))

    def zeroed(self, cell: At, says: str) -> tuple[tuple[Piece, ...], tuple[Pieces, ...]]:
        """× 0 and why, where a mask after the normaliser takes the weight away; `says` begins the note."""
        if not (self.late and is_hidden(self.hidden, cell)):
            return (), ()
        return (Text(" × 0"),), (words(sequenced((says, *self.why(cell)))),)

    def visible_of(self, cell: At, n_keys: int) -> int:
        """The number of keys that the rule counts for the row of a cell."""
        return int(self._visible(self._row_block(cell, n_keys)).item())

    # --- scripts ---------------------------------------------------------------------------------------

    def code(self, writer: Writer) -> Sequence[str]:
        """Its lines; what a mask after it clears, and rows without a key."""
        (read,), stage = writer.reads, writer.stage
        is_empty = self._has_empty_rows(writer.shape)
        filled: tuple[str, ...] = ()
        if self.added is not None and is_empty:
            cut = f"({read} == -{writer.xp}.inf)"
            writer.define("empty", f"empty = {cut}.all({writer.last(keeps=False)}){writer.note(NO_KEY)}")
            read, filled = "filled", (f"filled = {writer.blank(read, 'empty[..., None]', '0.0')}",)
        lines = self.rule.code(self, writer, read)
        divides = self.rule.apply is None and self.sinks is None and self.added is None
        if writer.is_numpy and divides and is_empty:  # 0 ÷ 0 in a row without a key
            lines = ('with np.errstate(invalid="ignore"):', *(f"    {line}" for line in lines))
        lines = (*filled, *lines)
        if is_empty:
            value = f"{writer.xp}.nan" if math.isnan(self.empty_row) else "0.0"
            if self.added is None:
                every = f"empty = blocked.all({writer.last(keeps=False)}){writer.note(NO_KEY)}"
                writer.define("empty", every)
            lines = (*lines, f"{stage} = {writer.blank(stage, 'empty[..., None]', value)}")
        if self.late:
            cleared_cells = writer.blank(stage, writer.blocked(), "0.0")
            lines = (*lines, f"{stage} = {cleared_cells}{writer.note(AFTER)}")
        return lines

    def _table(self, shape: tuple[int, ...]) -> Floats:
        """The added numbers of all queries and keys, (head, query, key), (1, query, key) if shared."""
        assert self.added is not None
        return self.added.at(self.added.heads, np.arange(shape[-2]), np.arange(shape[-1]))

    def _has_empty_rows(self, shape: tuple[int, ...]) -> bool:
        """True if a mask before it, or an added number, leaves some query no key."""
        blocked = self.hidden(*map(np.arange, shape[-2:])) if self.empties else None
        cut = np.isneginf(self._table(shape)) if self.cuts else None
        both = [cells for cells in (blocked, cut) if cells is not None]
        return bool(both) and bool(np.logical_or(both[0], both[-1]).all(axis=-1).any())

    def count_code(self, writer: Writer) -> str:
        """Number of visible keys of each row, (query, 1); of all keys if the rule sees no mask."""
        visible = []
        if not self.late and self.hidden(*map(np.arange, writer.shape[-2:])) is not None:
            visible.append(f"~{writer.blocked()}")
        if self.cuts:
            visible.append(f"({writer.table('M', self._table(writer.shape))} > -{writer.xp}.inf)")
        if not visible:
            return str(writer.shape[-1])
        seen = f"({' & '.join(visible)}).sum({writer.last()})"
        least = f"np.maximum({seen}, 1)" if writer.is_numpy else f"{seen}.clip(min=1)"
        return writer.define("n_visible", f"n_visible = {least}{writer.note(N_VISIBLE)}")


def _without_scores(arrays: Arrays, scores: Array) -> Array:
    """True for rows whose scores are all −∞, (..., query, 1)."""
    return arrays.xp.all(scores == -np.inf, axis=-1, keepdims=True)


# --- the rules -------------------------------------------------------------------------------------


def _power(numbers: Numbers, index: int, power: float) -> Term:
    """exp(s − m) of a score of the row."""
    term = numbers.number_of(0, numbers.cell.head, numbers.cell.row, index, power)
    return replace(term, name=f"exp({term.name} − m)", hue="")


def _softmax_line(of: Normaliser, numbers: Numbers, row: Floats) -> Line:
    """exp(s − m) ÷ Σ exp(s − m) over the row, m its largest number; and the effect of masks."""
    cell = numbers.cell
    zeroed, notes = of.zeroed(cell, _("set to 0 after the softmax"))
    if not math.isfinite(row.max()):
        return _without_softmax(numbers, row, bool(zeroed))
    top = int(np.argmax(row))
    powers = np.exp(row - row[top])
    own, series = (
        numbers.number_of(0, cell.head, cell.row, cell.column, row[cell.column]),
        Series(len(row), lambda index: (_power(numbers, index, float(powers[index])),)),
    )
    share = _power(numbers, cell.column, float(powers[cell.column]))
    largest = numbers.number_of(0, cell.head, cell.row, top, row[top])
    steps: tuple[Pieces, ...] = (
        (Text("exp("), own, Text(" − m) ÷ Σ"), *zeroed),
        (share, Text(" ÷ ("), series, Text(")"), *zeroed),
    )
    result = float(powers[cell.column] / powers.sum()) * (0.0 if zeroed else 1.0)
    return numbers.line(steps, result, *notes, (Text("m = "), largest, Text(_(", the row's maximum"))))


def _without_softmax(numbers: Numbers, row: Floats, is_zeroed: bool) -> Line:
    """A row whose largest number is NaN or infinite has no softmax."""
    cell = numbers.cell
    culprit = int(np.argmax(~(np.isfinite(row) | (row == -math.inf)))) if row.max() != -math.inf else 0
    found = numbers.number_of(0, cell.head, cell.row, culprit, row[culprit])
    named = numbers.named(0, cell.head, cell.row, culprit)
    says: Pieces = (Text(_("no softmax: ")), named, Text(" = "), found)
    zero = words(_("set to 0 after the softmax"))
    return numbers.line((), 0.0 if is_zeroed else math.nan, *((zero, says) if is_zeroed else (says,)))


def _sink_line(of: Normaliser, numbers: Numbers, row: Floats) -> Line:
    """exp(s − m) ÷ (exp(sink − m) + Σ exp(s − m)), m the largest of the row and its sink."""
    cell = numbers.cell
    zeroed, notes = of.zeroed(cell, _("set to 0 after the normaliser"))
    if np.isnan(row).any() or row.max() == math.inf:
        return _without_softmax(numbers, row, bool(zeroed))
    assert of.sinks is not None
    sink = constant(float(of.sinks[cell.head]), _("sink"))
    top = int(np.argmax(row))
    is_sink = row[top] <= sink.value
    largest = sink if is_sink else numbers.number_of(0, cell.head, cell.row, top, row[top])
    powers, share = np.exp(row - largest.value), float(np.exp(sink.value - largest.value))
    own = numbers.number_of(0, cell.head, cell.row, cell.column, row[cell.column])
    total = share + float(powers.sum())
    series = Series(len(row), lambda index: (_power(numbers, index, float(powers[index])),))
    steps: tuple[Pieces, ...] = (
        (Text("exp("), own, Text(" − m) ÷ (exp("), sink, Text(" − m) + Σ)"), *zeroed),
        (
            _power(numbers, cell.column, float(powers[cell.column])),
            Text(" ÷ ("),
            constant(share, "exp(sink − m)"),
            Text(" + "),
            series,
            Text(")"),
            *zeroed,
        ),
    )
    whose = _(", the head's sink") if is_sink else _(", the row's maximum")
    takes = _("the sink takes {share}; the weights of the row sum to {sum}")
    told = takes.format(share=digits(share / total), sum=digits(float(powers.sum()) / total))
    result = 0.0 if zeroed else float(powers[cell.column]) / total
    return numbers.line(steps, result, *notes, (Text("m = "), largest, Text(whose)), words(told))


def _softmax_code(of: Normaliser, writer: Writer, read: str) -> tuple[str, ...]:
    if of.sinks is None:
        return (f"{writer.stage} = {writer.softmax(read)}",)
    shape = (*writer.shape[:-1], 1)
    column = f"{writer.xp}.broadcast_to({writer.given('sinks', 'sink')}[:, None, None], {shape})"
    joined = f"with_sink = {writer.join((read, column))}{writer.note(ITS_SINK)}"
    return (joined, f"{writer.stage} = {writer.softmax('with_sink')}[..., :-1]")


def _visible(n: int) -> Pieces:
    """Number of keys that a query attends to, in words."""
    counted = ngettext("n = {n} key visible to this query", "n = {n} keys visible to this query", n)
    return words(counted.format(n=n))


def _sigmoid_line(of: Normaliser, numbers: Numbers, row: Floats) -> Line:
    n, score = of.visible_of(numbers.cell, len(row)), numbers.term()
    bias = constant(math.log(n), "log n")
    zeroed, notes = of.zeroed(numbers.cell, _("set to 0 after the normaliser"))
    if zeroed and math.isnan(score.value):
        return numbers.line((), 0.0, *notes)  # set, not multiplied: 0 times NaN would be NaN
    pieces: Pieces = (Text("1 ÷ (1 + exp("), bias, Text(" − "), *guarded(score), Text("))"), *zeroed)
    result = 0.0 if zeroed else float(1 / (1 + np.exp(bias.value - score.value)))
    return numbers.line(((Text("σ(s − log n)"), *zeroed), pieces), result, *notes, _visible(n))


def _sigmoid_code(of: Normaliser, writer: Writer, read: str) -> tuple[str, ...]:
    counted = of.count_code(writer)
    log = f"{'math' if counted.isdigit() else writer.xp}.log({counted})"
    return (f"{writer.stage} = {writer.sigmoid()}({read} - {log})",)


def _relu_squared_line(of: Normaliser, numbers: Numbers, row: Floats) -> Line:
    n, score = of.visible_of(numbers.cell, len(row)), numbers.term()
    zeroed, notes = of.zeroed(numbers.cell, _("set to 0 after the normaliser"))
    if zeroed and not math.isfinite(score.value):
        return numbers.line((), 0.0, *notes)
    pieces: Pieces = (Text("max(0, "), score, Text(")^2 ÷ "), constant(n, "n"), *zeroed)
    result = 0.0 if zeroed else float(np.maximum(0.0, score.value) ** 2 / n)
    return numbers.line(((Text("max(0, s)² ÷ n"), *zeroed), pieces), result, *notes, _visible(n))


def _relu_squared_code(of: Normaliser, writer: Writer, read: str) -> tuple[str, ...]:
    positive = f"np.maximum({read}, 0)" if writer.is_numpy else f"torch.relu({read})"
    return (f"{writer.stage} = {positive} ** 2 / {of.count_code(writer)}",)


SOFTMAX = Rule(True, None, pull_softmax_, _softmax_line, _softmax_code)
SIGMOID = Rule(False, sigmoid_, pull_sigmoid_, _sigmoid_line, _sigmoid_code)
RELU_SQUARED = Rule(False, relu_squared_, pull_relu_squared_, _relu_squared_line, _relu_squared_code)
