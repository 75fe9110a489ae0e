"""Edits of the gate on the heads' output: pure functions Site -> Site, on one site."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from attnviz.errors import FieldError, must_be
from attnviz.model.edit.block import BIAS_SPREAD, LastSeen, seen_row
from attnviz.model.edit.fitting import fitted_gate
from attnviz.model.operands.matrices import gate_numbers
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.block import Weights
from attnviz.model.spec.gate import Gate
from attnviz.model.spec.parts import Explicit, Identity, Seeded
from attnviz.model.spec.rows import DrawnRow
from attnviz.model.spec.site import Site


def gate_of(site: Site) -> Gate:
    """The gate. Raises `ValueError` for an attention without one."""
    if site.gate is None:
        raise FieldError("gate", None, must_be("a gate, so that its parts can be set"))
    return site.gate


def set_gate(site: Site, is_on: bool, last: LastSeen) -> Site:
    """Add a gate on the output of each head, the former one if it was seen, or remove it."""
    gate = last.last("gate", Gate, Gate()) if is_on else None
    return replace(site, gate=fitted_gate(gate, site.d_model, site.heads))


def change_gate(site: Site, **fields: Any) -> Site:
    """Change fields of the gate; explicit numbers are fitted."""
    changed = replace(gate_of(site), **fields)
    return replace(site, gate=fitted_gate(changed, site.d_model, site.heads))


def gate_source(site: Site, kind: str, last: LastSeen) -> Weights:
    """W_G of one kind; the remembered seed and numbers are restored."""
    if kind == "identity":
        return Identity()
    if kind == "seeded":
        return last.last("gate.seeded", Seeded, Seeded(15))
    kept = last.last("gate.explicit", Explicit, Explicit(Matrix(gate_numbers(site)())))
    fits = kept.values.shape == gate_of(site).shape(site.d_model, site.heads)
    return kept if fits else Explicit(Matrix(gate_numbers(site)()))


def set_gate_bias(site: Site, is_on: bool, last: LastSeen) -> Site:
    """Add a bias to the gates before their sigmoid, or remove it."""
    row = seen_row(last, "gate.bias", DrawnRow(16, 0.0, BIAS_SPREAD))
    return change_gate(site, bias=row if is_on else None)
