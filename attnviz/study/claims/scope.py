"""`Scope`: the names of expressions over one trace, seen as a view shows it.

A stage is the matrix of the shown head of the shown attention; `weights(1)` is that of head 1, and
`weights("layers.1.self", 0)` that of another attention.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import e, inf, pi
from typing import TYPE_CHECKING, Any

import numpy as np

from attnviz.core.matrix import taken
from attnviz.core.progress import Check
from attnviz.errors import NOTHING, InputError, Message, among, listed, quoted
from attnviz.i18n import N_
from attnviz.model.expressions.budget import AT_ONCE, Budget
from attnviz.model.expressions.expression import whole
from attnviz.model.expressions.kinds import (
    Absent,
    Grid,
    KindId,
    Value,
    as_number,
    floats,
    kind_of,
    must_be_number,
    must_be_truth,
    named,
)
from attnviz.model.expressions.parser import parse
from attnviz.model.operands.matrices import classes_of
from attnviz.model.sites.stages import has_names
from attnviz.model.spec.site import NAMED
from attnviz.model.spec.view import View, shown_head
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace, Trace
from attnviz.study.claims.functions import FUNCTION_BY_ID

if TYPE_CHECKING:
    from attnviz.training.record import Measures


def _has_next(site: SiteTrace) -> bool:
    """True if a site has the probabilities of next tokens."""
    return "probabilities" in site.stages and classes_of(site.experiment) is None


CONSTANTS: dict[str, Value] = {"pi": pi, "e": e, "inf": inf, "true": True, "false": False}
SIZES: dict[str, Callable[[SiteTrace], float]] = {
    "n": lambda site: site.experiment.n_queries,
    "n_keys": lambda site: site.experiment.n_keys,
    "n_heads": lambda site: site.experiment.heads.n_heads,
    "n_kv_heads": lambda site: site.experiment.heads.n_kv_heads,
    "d_head": lambda site: site.experiment.heads.d_head,
    "d_model": lambda site: site.experiment.d_model,
}
"""Sizes of the shown attention by name."""


@dataclass(frozen=True, eq=False)
class Scope:
    """The names over a trace; `view` chooses the attention and the head."""

    trace: Trace
    view: View
    budget: Budget = field(default_factory=Budget)
    """The work that all expressions over it may take; each is computed once."""
    measures: Measures | None = None
    """The measures at the end of the training that made the document; None for one that was not trained."""
    _known: dict[str, Value] = field(default_factory=dict, init=False)

    def afresh(self, check: Check) -> Scope:
        """The same names with a whole budget, and a check that is called between operations."""
        return replace(self, budget=Budget(check=check))

    def known(self, expression: str, check: Callable[[KindId], None]) -> Value:
        """The value of an expression, whose kind `check` accepts. Raises `InputError`."""
        node = parse(expression)
        check(node.kind(self))
        if expression not in self._known:
            self._known[expression] = node.value(self)
        return self._known[expression]

    @property
    def _computed(self) -> dict[str, Callable[[Scope], Value]]:
        return _COMPUTED if self.measures is None else _COMPUTED | _MEASURED

    @property
    def site(self) -> SiteTrace:
        return self.trace.shown(self.view.site)

    def kind(self, name: str) -> KindId:
        if name in CONSTANTS:
            return kind_of(CONSTANTS[name])
        if name in SIZES or name in self._computed or name in STAGE_BY_ID:
            return "numbers"
        return kind_of(self._field(name))

    def name(self, name: str) -> Value:
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name in SIZES:
            return float(SIZES[name](self.site))
        if name in self._computed:
            return self._computed[name](self)
        if name in STAGE_BY_ID:
            return self._stage(name, *self.site_and_head(name, ()))
        return self._field(name)

    def kind_of_call(self, name: str, kinds: Sequence[KindId]) -> KindId:
        if name in STAGE_BY_ID:
            if sorted(kinds) not in _OF_A_STAGE:
                raise InputError(
                    Message(
                        "The stage {name} must have an attention, a head or both in its brackets; got {got}.",
                        name=quoted(name),
                        got=named(kinds[-1]) if kinds else NOTHING,
                    )
                )
            return "numbers"
        if name not in FUNCTION_BY_ID:
            rule = among(FUNCTION_BY_ID)
            raise InputError(Message("The function {name} {rule}.", name=quoted(name), rule=rule))
        return FUNCTION_BY_ID[name].kind(kinds)

    def call(self, name: str, arguments: tuple[Value, ...]) -> Value:
        if name not in STAGE_BY_ID:
            return FUNCTION_BY_ID[name].value(self.budget, arguments)
        return self._stage(name, *self.site_and_head(name, arguments))

    def site_and_head(self, stage: str, arguments: tuple[Value, ...]) -> tuple[SiteTrace, int]:
        """The attention and the head of `weights("layers.1.self", 0)`: the shown ones where none is named.

        Raises `InputError` if the document has no such attention, or that no such stage or head.
        """
        sites = [one for one in arguments if isinstance(one, str)]
        heads = [one for one in arguments if not isinstance(one, str)]
        site = self.trace.site(sites[0]) if sites else self.site
        if stage not in site.stages:
            raise Absent(Message("The stage {name} {rule}.", name=quoted(stage), rule=among(site.stages)))
        if not heads:
            return site, shown_head(site.experiment, self.view, stage)
        return site, whole(heads[0], N_("head"), 0, site.n_matrices(stage) - 1)

    def member(self, part: Value, name: str) -> Value:
        fields = getattr(part, "__struct_fields__", ())
        if name not in fields:
            rule = among(fields) if fields else Message("must be left out, as the part has no fields")
            raise Absent(Message("The field {name} {rule}.", name=quoted(name), rule=rule))
        return _plain(getattr(part, name))

    def _field(self, name: str) -> Value:
        """A field of the attention."""
        site = self.site.experiment
        if name in NAMED:
            return _plain(getattr(site, name))
        fields = (field for field in NAMED if field not in STAGE_BY_ID)
        raise Absent(
            Message(
                "The name {name} must be one of {names}, or a field of the attention: {fields}.",
                name=quoted(name),
                names=listed((*self.site.stages, *SIZES, *self._computed, *CONSTANTS)),
                fields=listed(fields),
            )
        )

    def _stage(self, stage: str, site: SiteTrace, head: int) -> Grid:
        axes = STAGE_BY_ID[stage].axes[-2:]
        names = [site.labels(axis) if has_names(axis) else () for axis in axes]
        return floats(Grid(taken(site.matrix(stage, head)), *names))

    def _visible(self) -> Grid:
        """1 where a query may attend to a key, else 0."""
        site, blocked = self.site, self.site.unseen()
        shape = (site.experiment.n_queries, site.experiment.n_keys)
        array = np.ones(shape) if blocked is None else 1.0 - blocked
        return Grid(array, site.labels("query"), site.labels("key"))

    def _loss(self) -> float:
        """−mean of ln p over all positions but the last; p is the probability of the token that follows."""
        sites = map(self.trace.site, reversed(self.trace.sites))
        site = next((one for one in sites if _has_next(one)), None)
        if site is None:
            raise InputError(Message("A loss needs probabilities; this document has no read-out."))
        targets, names = site.labels("query")[1:], site.labels("vocabulary")
        strange = next((token for token in targets if token not in names), None)
        if not targets or strange is not None:
            raise InputError(Message("A loss needs a next token of the vocabulary at each position."))
        given = np.asarray(site.window("probabilities", 0), dtype=np.float64)
        columns = [names.index(token) for token in targets]
        with np.errstate(divide="ignore"):
            return float(-np.log(given[np.arange(len(columns)), columns]).mean())


_COMPUTED: dict[str, Callable[[Scope], Value]] = {
    "n_layers": lambda scope: float(len(scope.trace.experiment.layers)),
    "visible": Scope._visible,
    "loss": Scope._loss,
}
"""Further names of numbers."""

_MEASURED: dict[str, Callable[[Scope], Value]] = {
    "accuracy": lambda scope: scope.measures.accuracy,  # type: ignore[union-attr]
    "trained_accuracy": lambda scope: scope.measures.trained_accuracy,  # type: ignore[union-attr]
}
"""Names of numbers over a trained document: shares of right answers, on held-out texts and on those of the
last step.
"""

_OF_A_STAGE: tuple[list[KindId], ...] = (["numbers"], ["text"], ["numbers", "text"])
"""The kinds that may stand in the brackets of a stage."""


def scope_now(trace: Trace, view: View) -> Scope:
    """The names over a trace for a window, which computes their expressions before its next frame."""
    return Scope(trace, view, Budget(AT_ONCE))


def value_of(expression: str, scope: Scope) -> float:
    """The number that an expression has. Raises `InputError`."""
    return as_number(scope.known(expression, must_be_number))


def holds(expression: str, scope: Scope) -> bool:
    """True if a condition holds. Raises `InputError`."""
    return bool(scope.known(expression, must_be_truth))


def _plain(value: Any) -> Value:
    """A field of the document: whole numbers as floats, and of a list its length."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer | np.floating):
        return float(value)
    return float(len(value)) if isinstance(value, tuple) else value
