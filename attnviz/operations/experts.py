"""A mixture of experts: `Routing`, the weight of each expert, and `Routed`, hidden features times these."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attnviz.core.dims import Array
from attnviz.core.phrases import enumerated
from attnviz.core.routing import Choice, Shares, chosen, measured_by, pull_weights, weights
from attnviz.i18n import N_, _
from attnviz.operations.operation import (
    NUMPY,
    Arrays,
    At,
    Bools,
    Cells,
    Floats,
    Forward,
    Numbers,
    Operation,
    Pulled,
    Reads,
    Use,
    Writer,
)
from attnviz.operations.terms import Line, Pieces, Series, Term, Text, constant, guarded, words

MEASURES = {
    "softmax": "{xp}.amax(groups, {last})",
    "sigmoid": "{sorted}[..., -2:].sum({last})",
}
"""By kind of the shares: the expression that measures groups of experts."""


@dataclass(frozen=True, eq=False)
class Routing(Operation):
    """The weight of each of `n` experts from the router's logits; 0 of those that are not chosen.

    `scale` times the `shares` of the chosen ones, over the sum of these if `normalised`. `correction` is
    added for the choice alone. With a `shared_gate`, one more logit has a sigmoid of its own. See
    `core/routing.py`.
    """

    n: int
    shares: Shares
    choice: Choice
    normalised: bool
    scale: float
    shared_gate: bool
    correction: Floats | None

    help = N_("The weight of each expert: 0 for all but the chosen ones.")
    cites = "experts"
    letters = "∂G ÷ ∂r"

    def formula(self, own: str, *inputs: str) -> str:
        return f"G = {self._weight_letters}"

    @property
    def _weight_letters(self) -> str:
        """The weight of a chosen expert; `Σ_C` is the sum over the chosen ones."""
        share = "exp(r)" if self._is_softmax else "σ(r)"
        over = f"Σ_C {share}" if self.normalised else "Σ exp(r)" if self._is_softmax else ""
        letters = f"{share} ÷ {over}" if over else share
        letters = letters if self.scale == 1.0 else f"{self.scale:g} · {letters}"
        return f"{letters} (top {self.choice.n_active})"

    @property
    def _is_softmax(self) -> bool:
        return self.shares.id == "softmax"

    def _chosen(self, arrays: Arrays, logits: Array) -> tuple[Array, Array]:
        """The shares of the routed experts, and 1 for the chosen ones, else 0; (token, expert).

        NumPy chooses for every engine, so that all choose alike among equal shares.
        """
        shares = self.shares.function(arrays.xp, logits[..., : self.n], arrays.special)
        numbers = arrays.to_numpy(logits[..., : self.n]), arrays.to_numpy(shares)
        found = chosen(self.shares, self.choice, measured_by(self.choice, *numbers, self.correction))
        return shares, arrays.asarray(found.astype(np.float64))

    def result(self, forward: Forward) -> Array:
        arrays, logits = forward.arrays, forward.input()
        shares, is_chosen = self._chosen(arrays, logits)
        made = weights(shares, is_chosen, self.normalised, self.scale, arrays.xp)
        if not self.shared_gate:
            return made
        return arrays.xp.concat((made, arrays.special.sigmoid(logits[..., self.n :])), axis=-1)

    def pull(self, g: Any, pulled: Pulled) -> None:
        """Of the routed experts by their shares; of the shared one by its own logit, if it has one."""
        arrays, xp = pulled.arrays, pulled.arrays.xp
        shares, is_chosen = self._chosen(arrays, pulled.input())
        given = g[..., : self.n]
        made = pull_weights(self.shares, shares, is_chosen, self.normalised, self.scale, given, xp)
        if self.shared_gate:
            own = pulled.result()[..., self.n :]
            made = xp.concat((made, g[..., self.n :] * own * (1 - own)), axis=-1)
        pulled.add(made)

    def made_of(self, place: int, cell: At) -> Cells:
        return (cell.row,), None

    def read_by(self, place: int, cell: At) -> Cells:
        return (cell.row,), None

    def derivatives(self, use: Use, reads: Reads) -> Floats:
        """Of each weight by a logit, where the chosen experts stay: the pull of a unit vector."""
        row = use.cell.row
        jacobian = self._jacobian(reads.row(0, 0, row), reads.own_row(0, row))
        return jacobian[list(use.columns), use.cell.column].reshape(use.shape)

    def _jacobian(self, logits: Floats, row: Floats) -> Floats:
        """The derivatives of the weights of a token by its logits, (weight, logit)."""
        n_columns = self.n + self.shared_gate
        made = np.zeros((n_columns, n_columns))
        shares = self.shares.function(np, logits[None, : self.n], NUMPY.special)
        is_chosen = self._are_used(row)[None].astype(np.float64)
        for index in range(self.n):
            unit = np.eye(self.n)[index : index + 1]
            pulled = pull_weights(self.shares, shares, is_chosen, self.normalised, self.scale, unit, np)
            made[index, : self.n] = pulled[0]
        if self.shared_gate:
            made[self.n, self.n] = row[self.n] * (1 - row[self.n])
        return made

    def _are_used(self, row: Floats) -> Bools:
        """True for the experts of a token, by its row of weights."""
        return np.asarray(row[: self.n] != 0)

    def corner(self, place: int, cell: At, reads: Reads) -> str:
        """A tie of the choice: another expert with the same share would be chosen as well."""
        if cell.column >= self.n:
            return ""
        logits = reads.row(0, 0, cell.row)[None, : self.n]
        shares = np.asarray(self.shares.function(np, logits, NUMPY.special))
        measured = measured_by(self.choice, logits, shares, self.correction)
        is_chosen = chosen(self.shares, self.choice, measured)[0]
        tied = measured[0] == measured[0][cell.column]
        if is_chosen[tied].all() or not is_chosen[tied].any():
            return ""
        return _("a tie: experts with the same share, of which some are chosen; the choice is held as it is")

    def lines(self, numbers: Numbers) -> tuple[Line, ...]:
        """The share of an expert among those chosen or all; 0 of one that is not chosen."""
        cell = numbers.cell
        if cell.column == self.n:
            return (self._shared_line(numbers),)
        is_chosen = self._are_used(numbers.own_row(0, cell.row))
        names = enumerated(str(index + 1) for index in np.flatnonzero(is_chosen))
        if not is_chosen[cell.column]:
            note = words(_("not chosen: this token uses the experts {names}").format(names=names))
            return (numbers.line(((constant(0.0, "0"),),), 0.0, note),)
        logits = numbers.row()[: self.n]
        shares = self.shares.function(np, logits, NUMPY.special)
        made = weights(shares, is_chosen.astype(np.float64), self.normalised, self.scale, np)
        note = words(_("chosen: the experts {names}").format(names=names))
        steps = (words(self._weight_letters), self._pieces(numbers, is_chosen))
        return (numbers.line(steps, float(made[cell.column]), note),)

    def _shared_line(self, numbers: Numbers) -> Line:
        """The weight of the shared expert: the sigmoid of its logit."""
        logit = numbers.term()
        result = float(NUMPY.special.sigmoid(np.asarray(logit.value)))
        return numbers.line((words("1 ÷ (1 + exp(−r))"), _sigmoid(logit)), result)

    def _pieces(self, numbers: Numbers, is_chosen: Bools) -> Pieces:
        """The share of a chosen expert with its digits, over the sum of the others."""
        logits, column = numbers.row(), numbers.cell.column
        over = np.flatnonzero(is_chosen) if self.normalised else np.arange(self.n)

        def share(expert: int) -> Pieces:
            logit = numbers.term_at(expert, logits[expert])
            return (Text("exp("), logit, Text(")")) if self._is_softmax else _sigmoid(logit)

        own = share(column)
        factor: Pieces = () if self.scale == 1.0 else (Text(f"{self.scale:g} × "),)
        if not self._is_softmax and not self.normalised:
            return (*factor, *own)
        total = Series(len(over), lambda index: share(int(over[index])))
        return (*factor, *own, Text(" ÷ ("), total, Text(")"))

    def code(self, writer: Writer) -> Sequence[str]:
        """The shares of the chosen experts; behind them the weight of the shared one."""
        (read,) = writer.reads
        logits = f"{read}[:, :{self.n}]" if self.shared_gate else read
        made = writer.softmax(logits) if self._is_softmax else f"{writer.sigmoid()}({logits})"
        measured = "shares"
        if self.correction is not None:
            measured += f" + {writer.given('block.feed_forward.experts.correction', 'correction')}"
        is_grouped = self.choice.n_active_groups < self.choice.n_groups
        if self.correction is None and not is_grouped:
            measured = logits
        lines = [f"shares = {made}"]
        if is_grouped:
            lines += self._best_groups(writer, measured)
            measured = "measured"
        lines.append(f"{writer.stage} = shares * {_top(writer)}({measured}, {self.choice.n_active})")
        if self.normalised:
            lines.append(f"{writer.stage} = {writer.stage} / {writer.stage}.sum({writer.last()})")
        if self.scale != 1.0:
            lines.append(f"{writer.stage} = {self.scale!r} * {writer.stage}")
        if self.shared_gate:
            own = f"{writer.sigmoid()}({read}[:, {self.n}:])"
            lines.append(f"{writer.stage} = {writer.join((writer.stage, own))}")
        return lines

    def _best_groups(self, writer: Writer, measured: str) -> list[str]:
        """Lines that leave the experts of the best groups to be chosen."""
        last, n_tokens = writer.last(keeps=False), writer.shape[0]
        ordered = f"{writer.xp}.sort(groups, {last}){'' if writer.is_numpy else '.values'}"
        best = MEASURES[self.shares.id].format(xp=writer.xp, last=last, sorted=ordered)
        return [
            f"groups = ({measured}).reshape({n_tokens}, {self.choice.n_groups}, -1)",
            f"best = {_top(writer)}({best}, {self.choice.n_active_groups})[:, :, None]",
            f"measured = {writer.xp}.where(best, groups, -{writer.xp}.inf).reshape({n_tokens}, -1)",
        ]


def _top(writer: Writer) -> str:
    """Define the choice of the largest of each row; of equal ones the first."""
    if writer.is_numpy:
        order = 'np.argsort(-values, axis=-1, kind="stable")'
        rank = f"np.argsort({order}, axis=-1)"
    else:
        rank = "torch.argsort(torch.argsort(-values, dim=-1, stable=True), dim=-1)"
    return writer.define("top", "def top(values, count):", f"    return {rank} < count", "")


def _sigmoid(logit: Term) -> Pieces:
    return (Text("1 ÷ (1 + exp(−"), *guarded(logit), Text("))"))


@dataclass(frozen=True)
class Routed(Operation):
    """Features times the weight of their expert: `d_hidden` of each of `n` experts, then `d_shared`.

    The shared ones have a weight with a `shared_gate` alone. With `biased`, a feature that is 1 for each
    expert follows, times its weight. `letter` is that of the features, `role` the map that makes them where
    nothing stands between it and the weights, so that these multiply the expert's input.
    """

    letter: str
    n: int
    d_hidden: int
    d_shared: int
    shared_gate: bool
    biased: bool
    role: str = ""

    help = N_("Each number is a hidden feature times the weight of its expert.")
    cites = "experts"
    pattern = "routed"

    @property
    def letters(self) -> str:  # type: ignore[override]
        return f"G, {self.letter}"

    @property
    def _width(self) -> int:
        return self.n * self.d_hidden + self.d_shared

    def result(self, forward: Forward) -> Array:
        """The features (token, width) times the weights (token, expert), then those of the biases."""
        xp, routing = forward.arrays.xp, forward.input(1)
        made = self._times(xp, forward.input(), routing)
        return xp.concat((made, routing[..., : self.n]), axis=-1) if self.biased else made

    def _times(self, xp: Any, hidden: Array, routing: Array) -> Array:
        own, behind = self._in_experts(xp, hidden)
        made = xp.reshape(own * routing[..., : self.n, None], (*hidden.shape[:-1], -1))
        if not self.d_shared:
            return made
        behind = behind * routing[..., self.n :] if self.shared_gate else behind
        return xp.concat((made, behind), axis=-1)

    def _in_experts(self, xp: Any, hidden: Array) -> tuple[Array, Array]:
        """Features of the routed experts, (token, expert, feature), and of the shared one."""
        width = hidden.shape[-1] - self.d_shared
        return xp.reshape(hidden[..., :width], (*hidden.shape[:-1], self.n, -1)), hidden[..., width:]

    def pull(self, g: Array, pulled: Pulled) -> None:
        """A product of each feature and the weight of its expert."""
        xp, hidden = pulled.arrays.xp, pulled.input(0)
        pulled.add(self._times(xp, g[..., : hidden.shape[-1]], pulled.input(1)), 0)
        own, behind = self._in_experts(xp, hidden * g[..., : hidden.shape[-1]])
        made = xp.sum(own, axis=-1)
        made = made + g[..., hidden.shape[-1] :] if self.biased else made
        if self.shared_gate:
            made = xp.concat((made, xp.sum(behind, axis=-1, keepdims=True)), axis=-1)
        pulled.add(made, 1)

    def _weight_of(self, feature: int) -> tuple[int, ...]:
        """The column of the weight of a feature's expert; none for a shared one without a gate."""
        if feature >= self._width:  # the one of a bias
            return (feature - self._width,)
        expert = min(feature // self.d_hidden, self.n)
        return (expert,) if expert < self.n + self.shared_gate else ()

    def _features_of(self, expert: int) -> tuple[int, ...]:
        """The features that an expert's weight multiplies, with the one of its bias."""
        first = expert * self.d_hidden
        if expert == self.n:
            return tuple(range(first, self._width))
        bias = (self._width + expert,) if self.biased else ()
        return (*range(first, first + self.d_hidden), *bias)

    def made_of(self, place: int, cell: At) -> Cells:
        own = (cell.column,) if cell.column < self._width else ()
        return (cell.row,), own if place == 0 else self._weight_of(cell.column)

    def read_by(self, place: int, cell: At) -> Cells:
        return (cell.row,), (cell.column,) if place == 0 else self._features_of(cell.column)

    def flops(self, shape: tuple[int, ...], *inputs: tuple[int, ...]) -> int:
        return math.prod(inputs[0])

    def derivatives(self, use: Use, reads: Reads) -> Floats:
        """The weight of the expert by a feature; the features of an expert by its weight."""
        row, column = use.cell.row, use.cell.column
        if use.place == 0:
            found = [reads.row(1, 0, row)[expert] for expert in self._weight_of(column)]
            return np.full(use.shape, found[0] if found else 1.0)
        made = np.append(reads.row(0, 0, row), np.ones(self.n))
        return made[list(use.columns)].reshape(use.shape)

    def lines(self, numbers: Numbers) -> tuple[Line, ...]:
        """h · G, or g · G and u · G of weighted inputs; of a bias the weight of its expert alone."""
        cell = numbers.cell
        experts = self._weight_of(cell.column)
        if cell.column >= self._width:
            own = numbers.link(1, experts[0])
            note = words(_("a hidden feature that is 1, for the bias of the expert"))
            return (numbers.line(((own,),), own.value, note),)
        hidden = numbers.term()
        if not experts:
            note = words(_("every token uses the shared expert"))
            return (numbers.line(((numbers.same(),),), hidden.value, note),)
        weights = numbers.row_of(1, 0, cell.row)
        weight = numbers.number_of(1, 0, cell.row, experts[0], weights[experts[0]])
        letters = words(f"{numbers.symbol(0)} · {numbers.symbol(1)}")
        steps = (letters, (hidden, Text(" × "), *guarded(weight)))
        return (numbers.line(steps, hidden.value * weight.value, *self._notes()),)

    def _notes(self) -> tuple[Pieces, ...]:
        """Why a product behind the matrix is one of the expert's input."""
        if not self.role:
            return ()
        text = _("the weight multiplies the expert's input: {identity}")
        return (words(text.format(identity=f"G · (x W_{self.role}) = (G · x) W_{self.role}")),)

    def code(self, writer: Writer) -> Sequence[str]:
        read, routing = writer.reads
        width, is_whole = self.n * self.d_hidden, not self.d_shared
        hidden = read if is_whole else f"{read}[:, :{width}]"
        weights = f"{routing}[:, :{self.n}]" if self.shared_gate else routing
        repeated = (
            f"np.repeat({weights}, {self.d_hidden}, axis=1)"
            if writer.is_numpy
            else f"torch.repeat_interleave({weights}, {self.d_hidden}, dim=1)"
        )
        product, lines, parts = f"{hidden} * {repeated}", list[str](), list[str]()
        if is_whole:
            parts.append(product)
        else:
            lines.append(f"routed = {product}")
            behind = f"{read}[:, {width}:]"
            parts += ["routed", f"{behind} * {routing}[:, {self.n}:]" if self.shared_gate else behind]
        if self.biased:
            parts.append(f"{routing}[:, :{self.n}]")
        return (*lines, f"{writer.stage} = {parts[0] if len(parts) == 1 else writer.join(tuple(parts))}")
