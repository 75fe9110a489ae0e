"""The form of the masks: a row for each number or list that a kind of mask has, and what masks do."""

from __future__ import annotations

from attnviz.gui.forms.fields import Choice, FormField
from attnviz.gui.forms.paths import positions, row
from attnviz.i18n import N_
from attnviz.model.edit.masks import (
    bias_without_effect,
    has_pattern,
    joining,
    set_bias,
    set_fully_masked_row,
    set_joining,
    settled_row,
)
from attnviz.model.fields import FIELDS, FieldRow
from attnviz.model.spec.parts import AnyOf, Padding, Painted
from attnviz.model.spec.site import Site


def _longer(site: Site) -> int:
    return max(site.n_queries, site.n_keys)


def _row(field: FieldRow) -> FormField[Site]:
    form_field: FormField[Site] = row(field.path) if field.kind is int else positions(field.path, _longer)
    return form_field


PADDED = positions("masks.padding.tokens", lambda site: site.n_keys)

PARAMETERS: tuple[FormField[Site], ...] = tuple(
    _row(field)
    for field in FIELDS
    if field.path.startswith("masks.") and field.owner not in (Padding, Painted, AnyOf)
)

JOINING = Choice(
    name="mask_joining_segmented",
    label=N_("Pattern combination"),
    read=joining,
    edit=set_joining,
    options=(
        ("all", N_("and"), N_("A query attends to a key that every pattern allows")),
        ("any", N_("or"), N_("A query attends to a key that at least one pattern allows")),
    ),
    hint=N_("Combines the patterns, such as window and blocks; masks such as causal always apply"),
    shown=has_pattern,
)


EFFECT: tuple[FormField[Site], ...] = (
    row("mask_placement"),
    Choice(
        name="mask_bias_segmented",
        label=N_("Blocked scores"),
        read=lambda e: "infinite" if e.mask_bias is None else "added",
        edit=lambda e, kind: set_bias(e, kind == "added"),
        options=(
            ("infinite", "−∞", N_("A blocked score is −∞: its weight is exactly 0")),
            (
                "added",
                N_("+ number"),
                N_("Adds a large negative number instead of −∞; the weight becomes tiny, not zero"),
            ),
        ),
        reason=bias_without_effect,
    ),
    row("mask_bias", shown=lambda e: e.adds_to_blocked),
    row("fully_masked_row", edit=set_fully_masked_row, reason=settled_row),
)
