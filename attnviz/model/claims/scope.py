"""`Scope`: the names of expressions over one trace, seen as a view shows it.

A stage is the matrix of the shown head of the shown attention; `weights(1)` is that of head 1, and
`weights("layers.1.self", 0)` that of another attention.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import e, inf, pi
from typing import Any

import numpy as np
from msgspec import Struct

from attnviz.errors import InputError, Message, among, listed, quoted
from attnviz.i18n import N_
from attnviz.model.claims.expression import Grid, Value, as_number, as_truth, whole
from attnviz.model.claims.functions import FUNCTION_BY_ID
from attnviz.model.claims.parser import parse
from attnviz.model.operands.matrices import classes_of
from attnviz.model.spec.view import View, shown_head
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace, Trace


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

    @property
    def site(self) -> SiteTrace:
        return self.trace.shown(self.view.site)

    def name(self, name: str) -> Value:
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name in SIZES:
            return float(SIZES[name](self.site))
        if name == "n_layers":
            return float(len(self.trace.experiment.layers))
        if name == "visible":
            return self._visible()
        if name == "loss":
            return self._loss()
        if name in STAGE_BY_ID:
            return self._stage(name, self.site, None)
        site = self.site.experiment
        if name in site.__struct_fields__:
            return _plain(getattr(site, name))
        fields = (field for field in site.__struct_fields__ if field not in STAGE_BY_ID)
        raise InputError(
            Message(
                "The name {name} must be one of {names}, or a field of the attention: {fields}.",
                name=quoted(name),
                names=listed((*self.site.stages, *SIZES, "n_layers", "visible", "loss", *CONSTANTS)),
                fields=listed(fields),
            )
        )

    def call(self, name: str, arguments: tuple[Value, ...]) -> Value:
        if arguments and isinstance(arguments[0], Struct):
            return _field(arguments[0], name)
        if name in STAGE_BY_ID:
            return self._called_stage(name, arguments)
        row = FUNCTION_BY_ID.get(name)
        if row is None:
            rule = among(FUNCTION_BY_ID)
            raise InputError(Message("The function {name} {rule}.", name=quoted(name), rule=rule))
        if not row.least <= len(arguments) <= row.most:
            raise InputError(
                Message(
                    "The function {name} must have {least} to {most} arguments; got {n}.",
                    name=name,
                    least=row.least,
                    most=row.most,
                    n=len(arguments),
                )
            )
        try:
            with np.errstate(all="ignore"):
                return _plain(row.compute(*arguments))
        except InputError:
            raise
        except (TypeError, ValueError, IndexError):
            raise InputError(
                Message("The function {name} must have arrays of compatible shapes.", name=name)
            ) from None

    def _called_stage(self, stage: str, arguments: tuple[Value, ...]) -> Value:
        names = [one for one in arguments if isinstance(one, str)]
        heads = [one for one in arguments if not isinstance(one, str)]
        site = self.trace.site(names[0]) if names else self.site
        return self._stage(stage, site, heads[0] if heads else None)

    def _stage(self, stage: str, site: SiteTrace, head: Value | None) -> Grid:
        row = STAGE_BY_ID[stage]
        if stage not in site.stages:
            raise InputError(Message("The stage {name} {rule}.", name=quoted(stage), rule=among(site.stages)))
        shown = shown_head(site.experiment, self.view, stage)
        if head is not None:
            n_heads = site.shape(stage)[0] if row.per_head else 1
            shown = whole(head, N_("head"), 0, n_heads - 1)
        array = site.window(stage, shown)
        names = [() if axis == "feature" else site.labels(axis) for axis in row.axes[-2:]]
        return Grid(array, *names)

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


def value_of(expression: str, scope: Scope) -> float:
    """The number that an expression has. Raises `InputError`."""
    return as_number(parse(expression).value(scope))


def holds(expression: str, scope: Scope) -> bool:
    """True if a condition holds. Raises `InputError`."""
    return as_truth(parse(expression).value(scope))


def _field(part: Struct, name: str) -> Value:
    if name not in part.__struct_fields__:
        known = among(part.__struct_fields__)
        raise InputError(Message("The field {name} {rule}.", name=quoted(name), rule=known))
    return _plain(getattr(part, name))


def _plain(value: Any) -> Value:
    """Whole numbers as floats; arrays without axes as numbers."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer | np.floating):
        return float(value)
    return len(value) if isinstance(value, tuple) else value
